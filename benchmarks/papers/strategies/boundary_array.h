// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "strategies/scatter.h"
#include <patchfem/kernels/parallel_for.h>
#include <patchfem/strategies/patches.h>

namespace PatchFEM
{
  /**
   * What patches sum for rows of others. A *boundary row* is a row together with a patch that does not own it but has
   * cells there, and of the row's blocks those that these cells add to. They are sorted by patches, then rows, and each
   * has its blocks, ascending, and its load in the *boundary array*: in the buffers of matrices and of loads, behind
   * what chunks need there.
   *
   * In a patch they follow its own rows: row r of patch p has number p * rows_per_patch + r of these *extended rows*,
   * which have no blocks between the patch's last one and those of the next.
   */
  struct BoundaryArrayView
  {
    int                 rows_per_patch; ///< extended ones
    const std::int64_t *row_offsets;    ///< [extended row + 1], blocks
    const int          *nodes;   ///< [cell of the batch][shape], extended rows; those of buffered cells are not used
    const int          *offsets; ///< [patch + 1], boundary rows
    const std::int64_t *block_offsets;              ///< [boundary row + 1], blocks of the array
    PackedView          places;                     ///< [block of the array], in the row that it is added to
    const std::int64_t *copy_offsets;               ///< [row + 1], into copies
    const int          *copies;                     ///< boundary rows of each row in the order in which they are added
    std::int64_t        matrix_begin, vector_begin; ///< where the array begins in the buffers
  };
} // namespace PatchFEM

namespace PatchFEM::kernels
{
  /** The patches of @p a with extended rows. */
  template <typename Number>
  AssemblyArguments<Number> extended(const AssemblyArguments<Number> &a, const BoundaryArrayView &lists)
  {
    AssemblyArguments<Number> result             = a;
    result.patches.rows_per_patch                = lists.rows_per_patch;
    result.patches.n_rows                        = a.patches.n_patches * lists.rows_per_patch;
    result.patches.row_offsets                   = lists.row_offsets;
    result.batches.batch[a.computed_batch].nodes = lists.nodes;
    return result;
  }

  template <typename Number>
  const BoundaryArrayView &boundary_array_of(const AssemblyArguments<Number> &a)
  {
    return *static_cast<const BoundaryArrayView *>(a.own_lists);
  }

  /** A PatchBody, or one with more, that sums extended rows. The patch's own ones go where they always do. */
  template <typename Base, int n_comp, typename Number>
  struct BoundaryBody : public Base
  {
    using Scratch                = typename Base::Scratch;
    static constexpr int n_block = n_comp * n_comp;

    PatchBody<n_comp, Number> own; ///< its own rows alone
    BoundaryArrayView         lists;

    PATCHFEM_INLINE void pass_over(const int patch, const int rank, const int size) const
    {
      own.pass_over(patch, rank, size);
    }

    template <typename Team>
    PATCHFEM_INLINE void add_buffered(const int patch, const std::int64_t fed, const Team &team, const Scratch &s) const
    {
      own.add_buffered(patch, fed, team, s);
    }

    PATCHFEM_INLINE void write(const int patch, const int rank, const int size, const Scratch &s, const bool add) const
    {
      own.write(patch, rank, size, s, add);
      const std::int64_t first = lists.offsets[patch], end = lists.offsets[patch + 1],
                         block = lists.block_offsets[first];
      const int     n_own      = own.a.patches.end_row(patch) - own.a.patches.first_row(patch);
      const Number *sums = s.blocks + s.start[n_own] * n_block, *loads = s.rhs + n_own * n_comp;
      if (own.with_matrix())
        for (int i = rank; i < (lists.block_offsets[end] - block) * n_block; i += size)
          own.a.buffer_matrix[lists.matrix_begin + block * n_block + i] = sums[i];
      if (own.loaded())
        for (int i = rank; i < (end - first) * n_comp; i += size)
          own.a.buffer_vector[lists.vector_begin + first * n_comp + i] = loads[i];
    }
  };

  /** Adds a row's boundary rows to it, one after the other; the members of a team share out their entries. */
  template <int n_comp, typename Number>
  struct AddBoundaryRows
  {
    static constexpr int n_block = n_comp * n_comp, team_size = n_comp == 1 ? 16 : 32;
    struct Scratch
    {};

    TargetRows<n_comp, Number> rows;
    BoundaryArrayView          lists;

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t row, Scratch &) const
    {
      for (std::int64_t k = lists.copy_offsets[row]; k < lists.copy_offsets[row + 1]; ++k)
      {
        const int copy = lists.copies[k];
        if (rows.with_matrix())
        {
          const std::int64_t first = lists.block_offsets[copy];
          const int          n     = static_cast<int>(lists.block_offsets[copy + 1] - first);
          const Number      *from  = rows.a.buffer_matrix + lists.matrix_begin + first * n_block;
          const auto         to    = rows.row(static_cast<int>(row));
          for (int e = team.rank(); e < n * n_block; e += Team::size)
            to(lists.places[first + e / n_block], e % n_block / n_comp, e % n_comp) += from[e];
        }
        if (rows.loaded())
          for (int c = team.rank(); c < n_comp; c += Team::size)
            rows.a.rhs[row * n_comp + c] += rows.a.buffer_vector[lists.vector_begin + copy * std::int64_t(n_comp) + c];
        team.sync(); // the next one may add to the same entries through other members
      }
    }
  };

  /** After the last chunk: what all patches have for others' rows. */
  template <typename Form, typename Number, typename Where>
  void add_boundary_rows(const Where where, const AssemblyArguments<Number> &a)
  {
    if (a.end_patch == a.patches.n_patches)
      team_for(where, a.patches.n_rows, AddBoundaryRows<Form::n_components, Number>{{a}, boundary_array_of(a)});
  }

  /** Patches compute the cells that belong to them, of such extents. */
  template <typename Form, typename Number, typename Extents>
  struct HostBoundaryArray : public HostCells<Form, Number, Extents>
  {
    static bool serves(const KernelRequest &r) { return r.strategy == "boundary_array" && fits<Extents>(r); }

    static void launch(Host where, const AssemblyArguments<Number> &a)
    {
      constexpr int n_comp                           = Form::n_components;
      using Base                                     = PatchBody<n_comp, Number>;
      const BoundaryArrayView                 &lists = boundary_array_of(a);
      const BoundaryBody<Base, n_comp, Number> body{{extended(a, lists)}, {a}, lists};
      const CellRecords<Form, Number, Extents> cells{body.a};
      sum_patches(body, HostBoundaryArray::worker_bytes(cells.batch().reference),
                  [&](const int patch, const auto &scratch) {
                    for (std::int64_t k = a.patches.cell_offsets[patch]; k < a.patches.cell_offsets[patch + 1]; ++k)
                      add_cell(body, cells, patch, k, scratch);
                  });
      add_boundary_rows<Form>(where, a);
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  namespace strategies
  {
    /**
     * Each cell belongs to the patch of its first node and is integrated there, once. The patch sums what its cells add
     * to rows of others, too, and writes it to an array, which a second kernel adds to the finished rows (P3, section
     * 4: values_B). P3 adds to both by atomics; here cells of a colour add together, and each row adds its entries of
     * the array in a fixed order.
     *
     * A number of the array is written, read, and added to one in far memory, which is 4 numbers moved. With 128 rows a
     * patch it has 0.42 of the matrix's numbers for trilinear hexahedra and 0.45 for linear tetrahedra, which lie in
     * fast memory, too: in double precision 360 and 215 bytes a row are moved, beside 216 and 120 of the matrix. That
     * buys the integrations of `patches`, which has no array but takes each cell 1.8 and 1.6 times there.
     */
    struct BoundaryArray
    {
      static StrategyRow row();

      template <typename Form, typename Number>
      static auto kernels(Host)
      {
        return OfCells<PatchFEM::kernels::HostBoundaryArray>::kernels<Form, Number>(Host());
      }

      template <typename Form, typename Number>
      static auto kernels(Cuda);
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "strategies/boundary_array.cuh"
#endif
