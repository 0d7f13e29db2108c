// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "strategies/of_cells.h"
#include <patchfem/base/threads.h>
#include <patchfem/kernels/target_rows.h>
#include <patchfem/kernels/team.h>

#include <algorithm>
#include <vector>

namespace PatchFEM::kernels
{
  /** Computes cells [@p begin, @p end) of what @p target names, in the records of CellRecords. */
  template <typename Form, typename Number, typename Extents, typename Target>
  void compute_cells(Host,
                     const AssemblyArguments<Number> &a,
                     const std::int64_t               begin,
                     const std::int64_t               end,
                     const bool                       with_matrix,
                     const bool                       loaded,
                     const Target                    &target)
  {
    const CellRecords<Form, Number, Extents> cells{a};
    for_shares(end - begin, [&](const std::int64_t first, const std::int64_t last) {
      const int           n = cells.n_shape(), size = cells.point_size(n);
      std::vector<Number> record(cells.record_size(n, cells.n_quadrature()));
      for (std::int64_t entry = begin + first; entry < begin + last; ++entry)
      {
        const int  local = target.cell(entry) - cells.batch().first_cell;
        const int *nodes = cells.batch().nodes + std::int64_t(local) * n;
        for (int q = 0; q < cells.n_quadrature(); ++q)
          cells.stage(local, q, record.data() + q * size);
        for (int i = 0; i < n; ++i)
        {
          for (int j = 0; j < n && with_matrix; ++j)
            target.matrix(entry, nodes, n, i, j, cells.block(record.data(), local, i, j));
          for (int c = 0; c < Form::n_components && loaded; ++c)
            target.load(entry, nodes, n, i, c, cells.load(record.data(), local, i, c));
        }
      }
    });
  }

  /** Zeros, unless another batch was there before. */
  template <int n_comp, typename Number>
  void clear(Host, const TargetRows<n_comp, Number> &rows)
  {
    if (rows.with_matrix())
      for_shares(rows.a.matrix.n_values, [&](const std::int64_t begin, const std::int64_t end) {
        std::fill(rows.values() + begin, rows.values() + end, Number(0));
      });
    if (rows.a.rhs != nullptr)
      std::fill_n(rows.a.rhs, std::int64_t(rows.a.patches.n_rows) * n_comp, Number(0));
  }

  /** What buffered cells feed, of the chunk's patches. */
  template <int n_comp, typename Number>
  void add_buffered(Host, const TargetRows<n_comp, Number> &rows)
  {
    const PatchesView &p = rows.a.patches;
    if (p.fed_offsets == nullptr)
      return;
    const std::int64_t begin = p.fed_offsets[rows.a.first_patch], end = p.fed_offsets[rows.a.end_patch];
    PatchFEM::parallel_for(end - begin, [&](const std::int64_t k) { rows.add_buffered(begin + k, SerialTeam()); });
  }

  inline bool scatters(const KernelRequest &request)
  {
    return request.strategy == "colour" || request.strategy == "atomics";
  }

  /** Cells add to the matrix and the load where these are stored: those of a phase at once, or all with atomics. */
  template <typename Form, typename Number, typename Extents>
  struct ScatterKernel : public AnyKernel
  {
    static constexpr const char *name = name_of_cells<Extents>();

    static bool      serves(const KernelRequest &r) { return scatters(r) && fits<Extents>(r); }
    static PatchRoom room(const KernelRequest &r) { return {r.fast_memory}; }

    template <typename Where>
    static void launch(const Where where, const AssemblyArguments<Number> &a)
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
  namespace strategies
  {
    /** Cells of one colour share no row and add to the matrix where it is stored, colour after colour (P4, 4.1). */
    struct Colour : public OfCells<PatchFEM::kernels::ScatterKernel>
    {
      static inline int pieces = 1; ///< that plans made from now on cut each colour into, as if there were more of them

      static StrategyRow row();
    };

    /** All cells add at once by atomics, through Colour's kernels: the last bits of sums differ from run to run. */
    struct Atomics
    {
      static StrategyRow row();

      template <typename Form, typename Number, typename Where>
      static auto kernels(Where)
      {
        return std::tuple<>();
      }
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "cells_of_warps.cuh"
#include "strategies/target_rows.cuh"
#endif
