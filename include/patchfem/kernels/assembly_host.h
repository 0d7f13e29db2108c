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
        std::vector<Point> scratch(body.n_points(a.batches));
        std::vector<Block> blocks;
        for (std::int64_t k = begin; k < end; ++k)
        {
          const BufferedCell cell = body.cell(static_cast<int>(k));
          body.geometry(cell, 0, 1, scratch.data());
          if constexpr (has_trial<Form>)
            integrate_by_trials(body, cell, scratch.data(), blocks);
          else
            body.integrate(cell, 0, 1, scratch.data());
          body.boundary(cell, 0, 1);
          body.resolve(cell, 0, 1);
        }
      });
    }

  private:
    using Cells = CellsInLanes<Form, Number, AnyExtents>;
    using Point = typename ElementBody<Form, Number>::Point;
    using Block = SmallMatrix<Form::n_components, Form::n_components, Number>;

    /** A cell by Form::trial() of each function at each point, which all pairs with it share. @p blocks is room. */
    static void integrate_by_trials(const ElementBody<Form, Number> &body,
                                    const BufferedCell              &cell,
                                    const Point                     *points,
                                    std::vector<Block>              &blocks)
    {
      const AssemblyArguments<Number> &a     = body.a;
      const BatchView                 &batch = a.batches.batch[cell.batch];
      const ReferenceView             &r     = batch.reference;
      const int                        n = r.n_shape, local = cell.cell - batch.first_cell;
      blocks.assign(std::size_t(n) * n, Block{});
      for (int q = 0; q < r.n_quadrature && body.needs_matrix(cell); ++q)
      {
        const Number *coefficients = a.coefficients.at(a.batches, cell.batch, local, q);
        for (int j = 0; j < n; ++j)
        {
          auto trial = Form::trial(coefficients, body.shape(r, points, q, j));
          for (auto &row : trial.entries)
            for (Number &entry : row)
              entry *= points[q].weight;
          for (int i = 0; i < (is_symmetric<Form> ? j + 1 : n); ++i)
          {
            const Block pair = Form::pair(body.shape(r, points, q, i), trial);
            Block      &sum  = blocks[std::size_t(i) * n + j];
            for (int c = 0; c < Form::n_components; ++c)
              for (int d = 0; d < Form::n_components; ++d)
                sum(c, d) += pair(c, d);
          }
        }
      }
      body.store(
          cell, 0, 1,
          [&](const int i, const int j) {
            const bool mirrored = is_symmetric<Form> && j < i;
            return mirrored ? transpose(blocks[std::size_t(j) * n + i]) : blocks[std::size_t(i) * n + j];
          },
          [&](const int i, const int c) { return body.load(cell, points, i, c); });
    }

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
#define PATCHFEM_INSTANTIATE_ASSEMBLY_IN_DOUBLE(Form) PATCHFEM_INSTANTIATE_ASSEMBLY_OF_NUMBER_ON(Host, Form, double)
