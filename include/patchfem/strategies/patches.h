// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cell_records.h>
#include <patchfem/kernels/patches_host.h>

#include <tuple>

namespace PatchFEM::kernels
{
  /** Adds computed cell number @p position of a patch to the patch's rows. */
  template <typename Form, typename Number, typename Extents>
  PATCHFEM_INLINE void add_cell(const PatchBody<Form::n_components, Number>                   &body,
                                const CellRecords<Form, Number, Extents>                      &cells,
                                const int                                                      patch,
                                const std::int64_t                                             entry,
                                const typename PatchBody<Form::n_components, Number>::Scratch &s)
  {
    const AssemblyArguments<Number> &a     = cells.a;
    const PatchesView               &p     = a.patches;
    const int                        first = p.first_row(patch), n_rows = p.end_row(patch) - first;
    const int                        n      = cells.n_shape();
    const int                        local  = p.cells[entry] - cells.batch().first_cell;
    const int                       *nodes  = cells.batch().nodes + std::int64_t(local) * n;
    Number                          *record = static_cast<Number *>(s.workers);
    const bool                       upper  = p.places.upper();
    const std::uint64_t              word   = upper ? p.places.upper_word(entry) : 0;
    std::int64_t                     pair   = upper ? 0 : p.pair_offsets[patch] + p.cell_pairs[entry];
    for (int q = 0; q < cells.n_quadrature(); ++q)
      cells.stage(local, q, record + q * cells.point_size(n));
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
                                     : p.places.upper_place(word, n, row, nodes[j] - first, i, j);
          if (place >= 0)
            body.add(row, place, cells.block(record, local, i, j), s);
        }
      if (body.loaded())
        for (int c = 0; c < Form::n_components; ++c)
          s.rhs[row * Form::n_components + c] += cells.load(record, local, i, c);
      ++pair;
    }
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
        for (std::int64_t entry = p.cell_offsets[patch]; entry < p.cell_offsets[patch + 1]; ++entry)
          add_cell(body, cells, patch, entry, scratch);
        if (body.with_matrix() && p.places.upper())
          body.mirror(patch, 0, 1, scratch);
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
        return std::tuple<HostCells<Form, Number, LinearSimplex<dim>>, HostCells<Form, Number, MultilinearCube<dim>>,
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
