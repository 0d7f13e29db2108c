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
    // Other kernels than these are for symmetric forms of gradients on linear simplices, unless data vary inside cells.
    using OnSimplices = std::conditional_t<is_symmetric<Form> && depends_on_gradients_only<Form>, std::tuple<>,
                                           std::tuple<CellsKernel<Form, Number, LinearSimplex<dim>>>>;
    return std::tuple_cat(std::tuple<HexahedraKernel<Form, Number>, SimplicesKernel<Form, Number>>(), OnSimplices(),
                          std::tuple<CellsKernel<Form, Number, AnyExtents>>());
  }
} // namespace PatchFEM
