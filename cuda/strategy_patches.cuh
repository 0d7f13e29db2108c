// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_hexahedra.cuh"
#include "assembly_simplices.cuh"

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::Patches::kernels(Cuda)
  {
    using namespace PatchFEM::kernels;
    constexpr int dim = Form::dimension;
    return std::tuple<HexahedraKernel<Form, Number>, SimplicesKernel<Form, Number>,
                      CellsKernel<Form, Number, LinearSimplex<dim>>, CellsKernel<Form, Number, MultilinearCube<dim>>,
                      CellsKernel<Form, Number, AnyExtents>>();
  }
} // namespace PatchFEM
