// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "strategies/entry_sums.h"
#include "strategies/scatter.h"
#include <patchfem/kernels/parallel_for.h>

namespace PatchFEM::kernels
{
  /**
   * The integrals of single entries. Geometry and gradients at a point are computed from the cell's points when they
   * are needed and live in registers, anew for each of the n_shape^2 blocks of a cell and the n_shape rows of its load.
   *
   * From far memory a block needs 8 bytes of offset and 4 for each contribution, and is written twice, as zeros and as
   * the sum: 33 bytes for trilinear hexahedra with one component (64 / 27 contributions a block). Nodes and points come
   * from the caches, 4 n_geometry (1 + 2 dim) bytes a contribution. The work decides: there a contribution maps 8
   * points, some 150 multiply-adds each, for one product of gradients at each.
   */
  template <typename Form, typename Number, typename Extents>
  struct EntryIntegrals
  {
    static constexpr int dim = Form::dimension, n_comp = Form::n_components;
    using Block = SmallMatrix<n_comp, n_comp, Number>;
    using Cells = CellRecords<Form, Number, Extents>;

    TargetRows<n_comp, Number> rows;
    EntryLists<SortedLists>    lists;    ///< a cell's slot is its place in PatchesView::cells
    std::int64_t               n_blocks; ///< of the matrix, whose items come first; 0: only rows of the load

    PATCHFEM_INLINE PointGeometry<dim, Number> geometry(const Cells &cells, const int local, const int q) const
    {
      const int *nodes = cells.batch().geometry + std::int64_t(local) * cells.n_geometry();
      return geometry_at(cells, q, [this, nodes](const int g, const int d) {
        return rows.a.batches.points[std::int64_t(nodes[g]) * dim + d];
      });
    }

    PATCHFEM_INLINE Block integrate(const Cells &cells, const int local, const int i, const int j) const
    {
      const AssemblyArguments<Number> &a = rows.a;
      if constexpr (has_moments<Form>)
        if (!a.coefficients.varies_inside_cells())
        {
          typename Form::template Moments<Number> moments{};
          for (int q = 0; q < cells.n_quadrature(); ++q)
          {
            const auto point = geometry(cells, local, q);
            Form::add(moments, point.weight, shape_at(cells, point, q, i), shape_at(cells, point, q, j));
          }
          return Form::finish(a.coefficients.at(a.batches, a.computed_batch, local, 0), moments);
        }
      if constexpr (has_cell_moments<Form>)
      {
        typename Form::template CellMoments<Number> moments{};
        for (int q = 0; q < cells.n_quadrature(); ++q)
        {
          const auto point = geometry(cells, local, q);
          Form::add(moments, point.weight, a.coefficients.at(a.batches, a.computed_batch, local, q),
                    shape_at(cells, point, q, i), shape_at(cells, point, q, j));
        }
        return Form::finish(moments);
      }
      Block sum{};
      for (int q = 0; q < cells.n_quadrature(); ++q)
      {
        const auto point = geometry(cells, local, q);
        add(sum, point.weight,
            Form::matrix(a.coefficients.at(a.batches, a.computed_batch, local, q), shape_at(cells, point, q, i),
                         shape_at(cells, point, q, j)));
      }
      return sum;
    }

    static PATCHFEM_INLINE void add(Block &sum, const Number factor, const Block &value)
    {
      PATCHFEM_UNROLL
      for (int c = 0; c < n_comp; ++c)
        PATCHFEM_UNROLL
      for (int d = 0; d < n_comp; ++d)
        sum(c, d) += factor * value(c, d);
    }

    PATCHFEM_INLINE void put(Number &to, const Number value) const { to = rows.a.add ? to + value : value; }

    /** Block number @p number of the matrix. A contribution tells its row. */
    PATCHFEM_INLINE void block(const std::int64_t number) const
    {
      const PatchesView &p = rows.a.patches;
      const Cells        cells{rows.a};
      const auto         n   = static_cast<unsigned int>(cells.n_shape());
      Block              sum = {};
      int                row = -1;
      for (std::int64_t k = lists.matrix.offsets[number]; k < lists.matrix.offsets[number + 1]; ++k)
      {
        const unsigned int pair = lists.matrix.contributions[k] / n;
        const int          i = static_cast<int>(pair % n), j = static_cast<int>(lists.matrix.contributions[k] % n),
                  cell     = p.cells[pair / n];
        const bool  mirror = is_symmetric<Form> && j < i;
        const Block value  = integrate(cells, cell - cells.batch().first_cell, mirror ? j : i, mirror ? i : j);
        add(sum, Number(1), mirror ? transpose(value) : value);
        row = cells.batch().nodes_of(cell)[i];
      }
      if (row < 0)
        return;
      const auto to    = rows.row(row);
      const int  place = static_cast<int>(number - p.row_offsets[row]);
      PATCHFEM_UNROLL
      for (int c = 0; c < n_comp; ++c)
        PATCHFEM_UNROLL
      for (int d = 0; d < n_comp; ++d)
        put(to(place, c, d), sum(c, d));
    }

    PATCHFEM_INLINE void load(const std::int64_t row) const
    {
      const AssemblyArguments<Number> &a = rows.a;
      const Cells                      cells{a};
      const auto                       n           = static_cast<unsigned int>(cells.n_shape());
      Number                           sum[n_comp] = {};
      for (std::int64_t k = lists.load.offsets[row]; k < lists.load.offsets[row + 1]; ++k)
      {
        const int local = a.patches.cells[lists.load.contributions[k] / n] - cells.batch().first_cell,
                  i     = static_cast<int>(lists.load.contributions[k] % n);
        for (int q = 0; q < cells.n_quadrature(); ++q)
        {
          const Number  weight = geometry(cells, local, q).weight * cells.shape_value(q, i);
          const Number *f      = a.load.at(a.batches, a.computed_batch, local, q);
          PATCHFEM_UNROLL
          for (int c = 0; c < n_comp; ++c)
            sum[c] += weight * f[c];
        }
      }
      PATCHFEM_UNROLL
      for (int c = 0; c < n_comp; ++c)
        put(a.rhs[row * n_comp + c], sum[c]);
    }

    PATCHFEM_INLINE void operator()(const std::int64_t item) const
    {
      if (item < n_blocks)
        block(item);
      else
        load(item - n_blocks);
    }
  };

  struct LocalNZView : public EntryLists<SortedLists>
  {
    std::int64_t n_blocks; ///< of the sparsity
  };

  /** A worker for each block of the matrix and for each row of the load, on both back ends. */
  template <typename Form, typename Number, typename Extents>
  struct LocalNZKernel : public AnyKernel
  {
    static constexpr const char *name = name_of_cells<Extents>();

    static bool      serves(const KernelRequest &r) { return r.strategy == "local_nz" && fits<Extents>(r); }
    static PatchRoom room(const KernelRequest &r) { return {r.fast_memory}; }

    template <typename Where>
    static void launch(const Where where, const AssemblyArguments<Number> &a)
    {
      const TargetRows<Form::n_components, Number> rows{a};
      if (a.first_patch == 0)
      {
        const auto        &lists    = *static_cast<const LocalNZView *>(a.own_lists);
        const std::int64_t n_blocks = rows.with_matrix() ? lists.n_blocks : 0;
        if (!a.add)
          clear(where, rows);
        parallel_for(where, n_blocks + (rows.loaded() ? a.patches.n_rows : 0),
                     EntryIntegrals<Form, Number, Extents>{rows, lists, n_blocks});
      }
      add_buffered(where, rows);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  namespace strategies
  {
    /** A thread for each block of the matrix integrates all that adds to it in registers (P4, 3.4 and 4.4: LocalNZ). */
    struct LocalNZ : public OfCells<PatchFEM::kernels::LocalNZKernel>
    {
      static StrategyRow row();
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "parallel_for.cuh"
#include "strategies/target_rows.cuh"
#endif
