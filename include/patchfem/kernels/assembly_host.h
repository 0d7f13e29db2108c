// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/strategies.h>
#include <patchfem/base/threads.h>
#include <patchfem/kernels/cells_in_lanes.h>
#include <patchfem/kernels/element_bodies.h>

#include <vector>

/** @file Host definitions of the assembly kernels: threads over cells and patches, one worker each. */
namespace PatchFEM::kernels
{
  /** Cells of a chunk's buffer, resolved or staged. */
  template <typename Form, typename Number>
  struct HostElements : public AnyKernel
  {
    static constexpr bool stages = true;

    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const ElementBody<Form, Number> body{a};
      for_shares(body.n_cells(), [&](const std::int64_t begin, const std::int64_t end) {
        if constexpr (Cells::possible)
          if (!a.coefficients.varies_inside_cells())
            return integrate_in_lanes(body, begin, end);
        std::vector<typename ElementBody<Form, Number>::Point> scratch(body.n_points(a.batches));
        for (std::int64_t k = begin; k < end; ++k)
        {
          const BufferedCell cell = body.cell(static_cast<int>(k));
          body.geometry(cell, 0, 1, scratch.data());
          body.integrate(cell, 0, 1, scratch.data());
          body.boundary(cell, 0, 1);
          body.resolve(cell, 0, 1);
        }
      });
    }

  private:
    using Cells = CellsInLanes<Form, Number, AnyExtents>;

    /** Cells [@p begin, @p end), several of a batch at a time. */
    static void
    integrate_in_lanes(const ElementBody<Form, Number> &body, const std::int64_t begin, const std::int64_t end)
    {
      const AssemblyArguments<Number> &a     = body.a;
      std::size_t                      bytes = 0;
      for (int b = 0; b < a.batches.n_batches; ++b)
        bytes = std::max(bytes, Cells::bytes(a.batches.batch[b].reference));
      std::vector<double> memory(bytes / sizeof(double) + 1);
      BufferedCell        group[Cells::n_cells];
      int                 local[Cells::n_cells];
      for (std::int64_t k = begin; k < end;)
      {
        int  n           = 0;
        bool with_matrix = false;
        for (; n < Cells::n_cells && k < end; ++n, ++k)
        {
          group[n] = body.cell(static_cast<int>(k));
          if (group[n].batch != group[0].batch)
            break;
          local[n]    = group[n].cell - a.batches.batch[group[n].batch].first_cell;
          with_matrix = with_matrix || body.needs_matrix(group[n]);
        }
        Cells cells(a, group[0].batch, memory.data());
        cells.integrate(local, n, with_matrix);
        for (int lane = 0; lane < n; ++lane)
        {
          body.store(
              group[lane], 0, 1, [&](const int i, const int j) { return cells.block(lane, i, j); },
              [&](const int i, const int c) { return cells.load(lane, i, c); });
          body.boundary(group[lane], 0, 1);
          body.resolve(group[lane], 0, 1);
        }
      }
    }
  };

  template <typename Form, typename Number>
  AssemblyKernel<Number> needs_patchfem_add_weak_form::assembly_kernel(const Host where, const KernelRequest &request)
  {
    return find_kernel<Form, Number, HostElements<Form, Number>>(where, request);
  }
} // namespace PatchFEM::kernels

/** Compiles the host kernels of a weak form. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form) PATCHFEM_INSTANTIATE_ASSEMBLY_ON(Host, Form)
