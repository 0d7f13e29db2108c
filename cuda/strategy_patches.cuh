// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_hexahedra.cuh"
#include "assembly_pairs.cuh"

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::Patches::kernels(Cuda)
  {
    using namespace PatchFEM::kernels;
    constexpr int dim = Form::dimension;
    // Forms of values need more than one point, and those that are symmetric have kernels of their own.
    using OnSimplices = std::conditional_t<depends_on_gradients_only<Form> && !is_symmetric<Form>,
                                           std::tuple<CellsKernel<Form, Number, LinearSimplex<dim>>>, std::tuple<>>;
    return std::tuple_cat(
        std::tuple<MultilinearKernel<Form, Number>, HexahedraKernel<Form, Number>, SimplicesKernel<Form, Number>>(),
        OnSimplices(), std::tuple<CellsKernel<Form, Number, AnyExtents>>());
  }
} // namespace PatchFEM
