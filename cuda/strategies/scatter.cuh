// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "cells_of_warps.cuh"
#include "strategies/target_rows.cuh"

namespace PatchFEM::kernels
{
  /** See HostScatter. */
  template <typename Form, typename Number, typename Extents>
  struct ScatterKernel : public AnyKernel
  {
    static constexpr const char *name = name_of_cells<Extents>();

    static bool      serves(const KernelRequest &r) { return scatters(r) && fits<Extents>(r); }
    static PatchRoom room(const KernelRequest &r) { return {r.fast_memory}; }

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      constexpr int                    n_comp = Form::n_components;
      const TargetRows<n_comp, Number> rows{a};
      if (a.first_patch == 0)
      {
        if (!a.add)
          clear(where, rows);
        for (int phase = 0; phase < a.n_phases; ++phase)
        {
          const auto compute = [&](const auto &target) {
            compute_cells<Form, Number, Extents>(where, a, a.phases[phase], a.phases[phase + 1], rows.with_matrix(),
                                                 rows.loaded(), target);
          };
          if (a.n_phases == 1)
            compute(AddToRows<n_comp, Number, true>{rows});
          else
            compute(AddToRows<n_comp, Number, false>{rows});
        }
      }
      add_buffered(where, rows);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  template <typename Form, typename Number>
  auto strategies::Colour::kernels(Cuda)
  {
    using namespace PatchFEM::kernels;
    constexpr int dim = Form::dimension;
    return std::tuple<ScatterKernel<Form, Number, LinearSimplex<dim>>,
                      ScatterKernel<Form, Number, MultilinearCube<dim>>, ScatterKernel<Form, Number, AnyExtents>>();
  }
} // namespace PatchFEM
