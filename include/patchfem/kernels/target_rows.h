// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/assembly.h>
#include <patchfem/kernels/atomics.h>

/** @file Rows that are summed where the matrix stores them, cell after cell. */
namespace PatchFEM::kernels
{
  template <int n_comp, typename Number>
  struct TargetRows
  {
    static constexpr int n_block = n_comp * n_comp;

    AssemblyArguments<Number> a;

    /** The entries of a row of blocks: entry (c, d) of block k is at k * block + c * row + d * column. */
    struct Row
    {
      Number      *values;
      std::int64_t block, row, column;

      PATCHFEM_INLINE Number &operator()(const int k, const int c, const int d) const
      {
        return values[k * block + c * row + d * column];
      }
    };

    PATCHFEM_INLINE bool with_matrix() const { return a.matrix.format != MatrixTarget<Number>::none; }
    PATCHFEM_INLINE bool loaded() const { return a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none; }

    PATCHFEM_INLINE Row row(const int i) const
    {
      if (a.matrix.format == MatrixTarget<Number>::csr)
      {
        const std::int64_t begin = a.patches.row_offsets[i], length = a.patches.row_offsets[i + 1] - begin;
        return {a.matrix.csr_view.values + begin * n_block, n_comp, length * n_comp, 1};
      }
      const SlicedEllpackView<Number> &A      = a.matrix.sliced_view;
      const std::int64_t               height = A.slice_height;
      return {A.values + A.value_index(i, 0, 0, 0), height * n_block, height * n_comp, height};
    }

    /** Adds the buffered cells of fed row number @p fed one after the other; @p team shares out the entries of each. */
    template <typename Team>
    PATCHFEM_INLINE void add_buffered(const std::int64_t fed, const Team &team) const
    {
      const PatchesView &p     = a.patches;
      const int          i     = p.fed_rows[fed];
      std::int64_t       place = p.fed_place_offsets[fed];
      for (std::int64_t k = p.fed_pair_offsets[fed]; k < p.fed_pair_offsets[fed + 1]; ++k)
      {
        const BufferedCell &cell     = a.buffered[p.fed_pairs[k] >> 16];
        const int           r        = static_cast<int>(p.fed_pairs[k] & 65535);
        const bool          couples  = r < cell.n_free;
        const int           n_places = couples ? cell.n_free : 1;
        if (with_matrix())
        {
          const std::int64_t row_of_cell =
              couples ? std::int64_t(r) * cell.n_free : std::int64_t(cell.n_free) * cell.n_free + r - cell.n_free;
          const Number *from = a.buffer_matrix + cell.matrix_offset + row_of_cell * n_block;
          const Row     to   = row(i);
          for (int e = team.rank(); e < n_places * n_block; e += Team::size)
            to(p.fed_places[place + e / n_block], e % n_block / n_comp, e % n_comp) += from[e];
        }
        if (a.rhs != nullptr)
          for (int c = team.rank(); c < n_comp; c += Team::size)
            a.rhs[std::int64_t(i) * n_comp + c] += a.buffer_vector[cell.vector_offset + r * n_comp + c];
        place += n_places;
        team.sync(); // the next cell may add to the same entries through other workers
      }
    }

    /** Where values begin, and how many there are: what the first batch clears. */
    Number *values() const
    {
      return a.matrix.format == MatrixTarget<Number>::csr ? a.matrix.csr_view.values : a.matrix.sliced_view.values;
    }
  };

  /**
   * Adds blocks and loads of the computed cells of a plan (PatchesView::cells, whose pair of entry k and node i has
   * number k * n_shape + i) to the rows where they are stored.
   */
  template <int n_comp, typename Number, bool atomic>
  struct AddToRows
  {
    TargetRows<n_comp, Number> rows;

    PATCHFEM_INLINE int cell(const std::int64_t entry) const { return rows.a.patches.cells[entry]; }

    PATCHFEM_INLINE void matrix(const std::int64_t                         entry,
                                const int                                 *nodes,
                                const int                                  n,
                                const int                                  i,
                                const int                                  j,
                                const SmallMatrix<n_comp, n_comp, Number> &value) const
    {
      const auto to    = rows.row(nodes[i]);
      const int  place = rows.a.patches.places(entry * n + i, n, nodes[i], i, j);
      PATCHFEM_UNROLL
      for (int c = 0; c < n_comp; ++c)
        PATCHFEM_UNROLL
      for (int d = 0; d < n_comp; ++d)
        add(to(place, c, d), value(c, d));
    }

    PATCHFEM_INLINE void load(std::int64_t, const int *nodes, int, const int i, const int c, const Number value) const
    {
      add(rows.a.rhs[std::int64_t(nodes[i]) * n_comp + c], value);
    }

    static PATCHFEM_INLINE void add(Number &to, const Number value)
    {
      if constexpr (atomic)
        atomic_add_number(&to, value);
      else
        to += value;
    }
  };

  /** Writes them to the slots of staged cells in the chunk's buffer. */
  template <int n_comp, typename Number>
  struct WriteToBuffer
  {
    AssemblyArguments<Number> a;

    PATCHFEM_INLINE int cell(const std::int64_t slot) const { return a.staged[slot]; }

    PATCHFEM_INLINE void matrix(const std::int64_t slot,
                                const int *,
                                const int                                  n,
                                const int                                  i,
                                const int                                  j,
                                const SmallMatrix<n_comp, n_comp, Number> &value) const
    {
      PATCHFEM_UNROLL
      for (int e = 0; e < n_comp * n_comp; ++e)
        a.buffer_matrix[a.staged_entry(slot, n, i, j, n_comp * n_comp, e)] = value(e / n_comp, e % n_comp);
    }

    PATCHFEM_INLINE void
    load(const std::int64_t slot, const int *, const int n, const int i, const int c, const Number value) const
    {
      a.buffer_vector[a.staged_vector + (slot * n + i) * n_comp + c] = value;
    }
  };
} // namespace PatchFEM::kernels
