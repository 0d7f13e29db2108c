// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cell_records.h>

#include <tuple>

namespace PatchFEM
{
  struct StrategyRow;

  namespace strategies
  {
    /** What strategies have whose kernels are of one template: for cells of extents known when compiling, and others. */
    template <template <typename, typename, typename> class Kernel>
    struct OfCells
    {
      template <typename Form, typename Number, typename Where>
      static auto kernels(Where)
      {
        using namespace PatchFEM::kernels;
        constexpr int dim = Form::dimension;
        return std::tuple<Kernel<Form, Number, LinearSimplex<dim>>, Kernel<Form, Number, MultilinearCube<dim>>,
                          Kernel<Form, Number, AnyExtents>>();
      }
    };
  } // namespace strategies
} // namespace PatchFEM
