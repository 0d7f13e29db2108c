// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "strategies/entry_sums.h"
#include "strategies/of_cells.h"
#include <patchfem/base/threads.h>
#include <patchfem/kernels/target_rows.h>

#include <algorithm>
#include <vector>

namespace PatchFEM::kernels
{
  /**
   * Groups of cells that share points, which a block brings to fast memory once (P4, 4.2.2). A cell has its slot in the
   * buffer: its place among the cells of all groups, PatchesView::cells. Its geometry nodes are named by the places of
   * their points in the group, below 1024, so that three of them fit into a word (P4, 4.2.4). A group with n cells has
   * word w of its cell k at n_words * cell_offsets[group] + w * n + k.
   */
  struct ElementGroups
  {
    static constexpr int most_cells = 1024, most_points = 1024, place_bits = 10, a_word = 3;

    static PATCHFEM_INLINE int n_words(const int n_geometry) { return (n_geometry + a_word - 1) / a_word; }

    int                 n_groups, n_points; ///< the most points of a group
    const int          *cell_offsets;       ///< [group + 1]
    const int          *point_offsets;      ///< [group + 1]
    const int          *points;
    const unsigned int *words;
  };

  struct GroupedNZView : public EntryLists<ReductionArrays>
  {
    ElementGroups groups;
    std::int64_t  matrix_begin, vector_begin; ///< where slots begin in the buffers
  };

  /**
   * GlobalNZ's first pass (P4, algorithm 4). A group reads its points once, 8 dim + 4 bytes each, and 4 n_words for each
   * cell, where cells by themselves read n_geometry (8 dim + 4), though mostly from caches.
   */
  template <typename Form, typename Number, typename Extents>
  struct GroupBody
  {
    static constexpr int dim = Form::dimension, n_comp = Form::n_components;

    using value_type = Number;
    using Records    = CellRecords<Form, Number, Extents>;

    AssemblyArguments<Number> a;
    ElementGroups             groups;

    PATCHFEM_INLINE Records records() const { return {a}; }
    std::size_t             n_coordinates() const { return std::size_t(groups.n_points) * dim; }
    std::size_t record_size() const { return Records::record_size(records().n_shape(), records().n_quadrature()); }

    /** Coordinates [point][dim] relative to the group's first point: single precision keeps the digits of small cells. */
    PATCHFEM_INLINE void fetch(const int group, const int rank, const int size, Number *x) const
    {
      const int    *points = groups.points + groups.point_offsets[group];
      const int     n      = (groups.point_offsets[group + 1] - groups.point_offsets[group]) * dim;
      const double *origin = a.batches.points + std::int64_t(points[0]) * dim;
      for (int i = rank; i < n; i += size)
        x[i] = static_cast<Number>(a.batches.points[std::int64_t(points[i / dim]) * dim + i % dim] - origin[i % dim]);
    }

    /** As CellRecords::stage(), of cell @p k of a group that begins at slot @p begin and has @p n cells. */
    PATCHFEM_INLINE void
    stage(const std::int64_t begin, const int n, const int k, const int q, const Number *x, Number *record) const
    {
      const Records       cells = records();
      const unsigned int *words = groups.words + begin * ElementGroups::n_words(cells.n_geometry()) + k;
      const auto          point = geometry_at(cells, q, [&](const int g, const int d) {
        const unsigned int word = words[g / ElementGroups::a_word * n];
        return x[(word >> ElementGroups::place_bits * (g % ElementGroups::a_word) & (ElementGroups::most_points - 1)) *
                     dim +
                 d];
      });
      record[0]                 = point.weight;
      PATCHFEM_UNROLL
      for (int i = 0; i < cells.n_shape(); ++i)
      {
        const auto g = shape_at(cells, point, q, i).gradient;
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          record[1 + i * dim + d] = g[d];
      }
    }

    /** Warp number @p warp of @p n_warps takes @p a_warp cells at a time; its members share out points, then blocks. */
    template <typename Team>
    PATCHFEM_INLINE void compute(const int     group,
                                 const Team   &team,
                                 const int     warp,
                                 const int     n_warps,
                                 const int     a_warp,
                                 const Number *x,
                                 Number       *record) const
    {
      const Records      cells = records();
      const std::int64_t begin = groups.cell_offsets[group];
      const int          n = static_cast<int>(groups.cell_offsets[group + 1] - begin), s = cells.n_shape(),
                n_q = cells.n_quadrature(), size = cells.point_size(s);
      const WriteToBuffer<n_comp, Number> target{a};
      const bool                          with_matrix = a.matrix.format != MatrixTarget<Number>::none,
                 loaded = a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none;
      for (int first = warp * a_warp; first < n; first += n_warps * a_warp)
      {
        const int  n_here   = n - first < a_warp ? n - first : a_warp;
        const auto local_of = [&](const int k) {
          return a.patches.cells[begin + first + k] - cells.batch().first_cell;
        };
        for (int i = team.rank(); i < n_here * n_q; i += Team::size)
          stage(begin, n, first + i / n_q, i % n_q, x, record + i * size);
        team.sync();
        for (int e = team.rank(); e < n_here * s * s && with_matrix; e += Team::size)
        {
          const int k = e / (s * s), i = e / s % s, j = e % s;
          target.matrix(begin + first + k, nullptr, s, i, j, cells.block(record + k * n_q * size, local_of(k), i, j));
        }
        for (int e = team.rank(); e < n_here * s * n_comp && loaded; e += Team::size)
        {
          const int k = e / (s * n_comp), i = e / n_comp % s, c = e % n_comp;
          target.load(begin + first + k, nullptr, s, i, c, cells.load(record + k * n_q * size, local_of(k), i, c));
        }
        team.sync(); // records are overwritten
      }
    }
  };

  template <typename Body>
  void compute_groups(Host, const Body &body)
  {
    for_pieces(body.groups.n_groups, 4, [&](const auto &next) {
      std::vector<typename Body::value_type> x(body.n_coordinates()), record(body.record_size());
      next([&](const std::int64_t number) {
        const int group = static_cast<int>(number);
        body.fetch(group, 0, 1, x.data());
        body.compute(group, SerialTeam(), 0, 1, 1, x.data(), record.data());
      });
    });
  }

  template <typename Form, typename Number, typename Extents>
  struct GroupedNZKernel : public AnyKernel
  {
    using Sums = EntryKernel<Form, Number, ReductionArrays>;

    static constexpr const char *name = name_of_cells<Extents>();

    static bool      serves(const KernelRequest &r) { return r.strategy == "grouped_nz" && fits<Extents>(r); }
    static PatchRoom room(const KernelRequest &r) { return Sums::room(r); }

    template <typename Where>
    static void launch(const Where where, const AssemblyArguments<Number> &a)
    {
      const auto               &view = *static_cast<const GroupedNZView *>(a.own_lists);
      AssemblyArguments<Number> sums = a;
      sums.own_lists                 = static_cast<const EntryLists<ReductionArrays> *>(&view);
      sums.staged_matrix             = view.matrix_begin;
      sums.staged_vector             = view.vector_begin;
      if (view.groups.n_groups > 0)
        compute_groups(where, GroupBody<Form, Number, Extents>{sums, view.groups});
      Sums::launch(where, sums);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  namespace strategies
  {
    /** As GlobalNZ, but matrices of cells are formed by groups that METIS finds (P4, 4.2.2). */
    struct GroupedNZ : public OfCells<PatchFEM::kernels::GroupedNZKernel>
    {
      static StrategyRow row();
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "strategies/grouped_nz.cuh"
#endif
