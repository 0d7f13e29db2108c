// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cells_in_lanes.h>
#include <patchfem/kernels/patches_host.h>

#include <tuple>
#include <vector>

namespace PatchFEM::kernels
{
  /**
   * Adds computed cell number @p entry, with @p n nodes, to the rows of @p patch: @p block(i, j) of its matrix and
   * @p load(i, component).
   */
  template <int n_comp, typename Number, typename Block, typename Load>
  PATCHFEM_INLINE void add_cell(const PatchBody<n_comp, Number>                   &body,
                                const int                                          patch,
                                const std::int64_t                                 entry,
                                const int                                          n,
                                const typename PatchBody<n_comp, Number>::Scratch &s,
                                const Block                                       &block,
                                const Load                                        &load)
  {
    const PatchesView &p     = body.a.patches;
    const int          first = p.first_row(patch), n_rows = p.end_row(patch) - first;
    const BatchView   &batch = body.a.batches.batch[body.a.computed_batch];
    const int         *nodes = batch.nodes + std::int64_t(p.cells[entry] - batch.first_cell) * n;
    const bool         upper = p.places.upper();
    std::int64_t       pair  = upper ? 0 : p.pair_offsets[patch] + p.cell_pairs[entry];
    for (int i = 0; i < n; ++i)
    {
      const int row = nodes[i] - first;
      if (row < 0 || row >= n_rows)
        continue;
      if (body.with_matrix())
        for (int j = 0; j < n; ++j)
        {
          const int place = !upper   ? p.places(pair, n, nodes[i], i, j)
                            : i == j ? s.diagonal[row]
                                     : p.places.upper_place(entry, n, s.start[row], row, nodes[j] - first, i, j);
          if (place >= 0)
            body.add(row, place, block(i, j), s);
        }
      if (body.loaded())
        for (int c = 0; c < n_comp; ++c)
          s.rhs[row * n_comp + c] += load(i, c);
      ++pair;
    }
  }

  /** The same where the cell's records are staged in the patch's fast memory. */
  template <typename Form, typename Number, typename Extents>
  PATCHFEM_INLINE void add_cell(const PatchBody<Form::n_components, Number>                   &body,
                                const CellRecords<Form, Number, Extents>                      &cells,
                                const int                                                      patch,
                                const std::int64_t                                             entry,
                                const typename PatchBody<Form::n_components, Number>::Scratch &s)
  {
    const int n      = cells.n_shape();
    const int local  = body.a.patches.cells[entry] - cells.batch().first_cell;
    auto     *record = static_cast<Number *>(s.workers);
    for (int q = 0; q < cells.n_quadrature(); ++q)
      cells.stage(local, q, record + q * cells.point_size(n));
    add_cell(
        body, patch, entry, n, s, [&](const int i, const int j) { return cells.block(record, local, i, j); },
        [&](const int i, const int c) { return cells.load(record, local, i, c); });
  }

  /** add_cell() by Form::trial() of each function at each point, which all pairs with it share. @p trials is room for them. */
  template <typename Form, typename Number, typename Extents, typename Trial>
  void add_cell_by_trials(const PatchBody<Form::n_components, Number>                   &body,
                          const CellRecords<Form, Number, Extents>                      &cells,
                          const int                                                      patch,
                          const std::int64_t                                             entry,
                          const typename PatchBody<Form::n_components, Number>::Scratch &s,
                          std::vector<Trial>                                            &trials)
  {
    using Block = SmallMatrix<Form::n_components, Form::n_components, Number>;
    const int n = cells.n_shape(), n_q = cells.n_quadrature(), size = cells.point_size(n);
    const int local  = body.a.patches.cells[entry] - cells.batch().first_cell;
    auto     *record = static_cast<Number *>(s.workers);
    for (int q = 0; q < n_q; ++q)
      cells.stage(local, q, record + q * size);
    trials.resize(std::size_t(n_q) * n);
    for (int q = 0; q < n_q && body.with_matrix(); ++q)
      for (int j = 0; j < n; ++j)
      {
        Trial &trial = trials[std::size_t(q) * n + j];
        trial        = Form::trial(body.a.coefficients.at(body.a.batches, body.a.computed_batch, local, q),
                                   cells.shape(record + q * size, q, j));
        for (auto &row : trial.entries)
          for (Number &value : row)
            value *= record[q * size];
      }
    const auto sum = [&](const int i, const int j) {
      Block result{};
      for (int q = 0; q < n_q; ++q)
      {
        const Block pair = Form::pair(cells.shape(record + q * size, q, i), trials[std::size_t(q) * n + j]);
        for (int c = 0; c < Form::n_components; ++c)
          for (int d = 0; d < Form::n_components; ++d)
            result(c, d) += pair(c, d);
      }
      return result;
    };
    add_cell(
        body, patch, entry, n, s,
        [&](const int i, const int j) { return is_symmetric<Form> && j < i ? transpose(sum(j, i)) : sum(i, j); },
        [&](const int i, const int c) { return cells.load(record, local, i, c); });
  }

  /** Patches compute cells of such extents. */
  template <typename Form, typename Number, typename Extents>
  struct HostCells : public AnyKernel
  {
    static constexpr const char *name = name_of_cells<Extents>();

    static bool serves(const KernelRequest &r) { return r.strategy == "patches" && fits<Extents>(r); }

    static std::size_t worker_bytes(const ReferenceView &r)
    {
      return CellRecords<Form, Number, Extents>::record_size(r.n_shape, r.n_quadrature) * sizeof(Number);
    }

    static PatchRoom room(const KernelRequest &r)
    {
      return {r.fast_memory / std::max(1, r.concurrent), worker_bytes(r.reference)};
    }

    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const PatchBody<Form::n_components, Number> body{a};
      const CellRecords<Form, Number, Extents>    cells{a};
      const PatchesView                          &p = a.patches;
      sum_patches(body, worker_bytes(cells.batch().reference), [&](const int patch, const auto &scratch) {
        const std::int64_t begin = p.cell_offsets[patch], end = p.cell_offsets[patch + 1];
        if constexpr (has_trial<Form>)
        {
          using Shape = ShapeFunction<Form::dimension, Number>;
          std::vector<decltype(Form::trial(static_cast<const Number *>(nullptr), Shape()))> trials;
          for (std::int64_t entry = begin; entry < end; ++entry)
            add_cell_by_trials(body, cells, patch, entry, scratch, trials);
        }
        else
          for (std::int64_t entry = begin; entry < end; ++entry)
            add_cell(body, cells, patch, entry, scratch);
        if (body.with_matrix() && p.places.upper())
          body.mirror(patch, 0, 1, scratch, [] {});
      });
    }
  };

  /** The same, several cells side by side. Their working memory lies beside that of the patch. */
  template <typename Form, typename Number, typename Extents>
  struct HostCellsInLanes : public HostCells<Form, Number, Extents>
  {
    using Cells = CellsInLanes<Form, Number, Extents>;

    static constexpr bool possible = Cells::possible;

    static bool serves(const KernelRequest &r)
    {
      return Cells::serves(r) && HostCells<Form, Number, Extents>::serves(r);
    }

    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const PatchBody<Form::n_components, Number> body{a};
      const PatchesView                          &p     = a.patches;
      const BatchView                            &batch = a.batches.batch[a.computed_batch];
      const int n_shape = Extents::n_shape > 0 ? Extents::n_shape : batch.reference.n_shape;
      sum_patches(body, Cells::bytes(batch.reference), [&](const int patch, const auto &scratch) {
        Cells cells(a, a.computed_batch, scratch.workers);
        int   local[Cells::n_cells];
        for (std::int64_t begin = p.cell_offsets[patch], end = p.cell_offsets[patch + 1]; begin < end;
             begin += Cells::n_cells)
        {
          const int n = static_cast<int>(std::min<std::int64_t>(end - begin, Cells::n_cells));
          for (int lane = 0; lane < n; ++lane)
            local[lane] = p.cells[begin + lane] - batch.first_cell;
          cells.integrate(local, n, body.with_matrix());
          for (int lane = 0; lane < n; ++lane)
            add_cell(
                body, patch, begin + lane, n_shape, scratch,
                [&](const int i, const int j) { return cells.block(lane, i, j); },
                [&](const int i, const int c) { return cells.load(lane, i, c); });
        }
        if (body.with_matrix() && p.places.upper())
          body.mirror(patch, 0, 1, scratch, [] {});
      });
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  struct StrategyRow;

  namespace strategies
  {
    /** Each patch of rows integrates all cells that touch it. */
    struct Patches
    {
      static StrategyRow row();

      template <typename Form, typename Number>
      static auto kernels(Host)
      {
        using namespace PatchFEM::kernels;
        constexpr int dim = Form::dimension;
        return std::tuple<HostCells<Form, Number, LinearSimplex<dim>>,
                          HostCellsInLanes<Form, Number, MultilinearCube<dim>>,
                          HostCells<Form, Number, MultilinearCube<dim>>, HostCellsInLanes<Form, Number, AnyExtents>,
                          HostCells<Form, Number, AnyExtents>>();
      }

      template <typename Form, typename Number>
      static auto kernels(Cuda);
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "strategy_patches.cuh"
#endif
