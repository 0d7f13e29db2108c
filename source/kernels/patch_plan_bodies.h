// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/structure_bodies.h"
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/patch_views.h>

/** @file What the steps of plans share: places of entries, sizes of buffered cells, and the cells of patches. */
namespace PatchFEM::kernels
{
  /** Stores @p value as number @p i of width bytes. */
  PATCHFEM_INLINE void store_packed(void *data, const int width, const std::int64_t i, const unsigned int value)
  {
    if (width == 1)
      static_cast<std::uint8_t *>(data)[i] = static_cast<std::uint8_t>(value);
    else if (width == 2)
      static_cast<std::uint16_t *>(data)[i] = static_cast<std::uint16_t>(value);
    else
      static_cast<std::uint32_t *>(data)[i] = value;
  }

  /** Patch @p p of those whose entries start at @p offsets is the last that starts at or before @p entry and is not empty. */
  PATCHFEM_INLINE int patch_of(const std::int64_t *offsets, const int n_patches, const std::int64_t entry)
  {
    return static_cast<int>(lower_bound(offsets, offsets + n_patches + 1, entry + 1) - offsets) - 1;
  }

  /** The lists (see unique_rows.h) of the cells of patches' rows, by their places in the order of the sums. */
  struct PatchRanksLists
  {
    const std::int64_t *pair_offsets; ///< [row]
    const std::int64_t *pairs;
    const int          *ranks; ///< [cell]; nullptr: cells follow their numbers
    int                 rows_per_patch, n_rows;

    int n_patches() const { return (n_rows + rows_per_patch - 1) / rows_per_patch; }

    PATCHFEM_INLINE int rank_of(const std::int64_t pair) const
    {
      const int cell = Pair::cell(pairs[pair]);
      return ranks != nullptr ? ranks[cell] : cell;
    }

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int patch, const int rank, const int size, const Emit &emit) const
    {
      const int begin = patch * rows_per_patch;
      const int end   = begin + rows_per_patch < n_rows ? begin + rows_per_patch : n_rows;
      for (std::int64_t pair = pair_offsets[begin] + rank; pair < pair_offsets[end]; pair += size)
        emit(rank_of(pair));
    }
  };

  /** The pairs of rows with cells, and which cells are buffered. */
  struct RowPairs
  {
    CellRows             rows;
    const std::int64_t  *offsets; ///< [row]
    const std::int64_t  *pairs;
    const unsigned char *buffered; ///< [cell]

    /** Calls @p function(cell, row of the cell) for the pairs of @p row with cells that are @p wanted, buffered or not. */
    template <typename Function>
    PATCHFEM_INLINE void visit(const std::int64_t row, const bool wanted, const Function &function) const
    {
      for (std::int64_t p = offsets[row]; p < offsets[row + 1]; ++p)
        if (buffered[Pair::cell(pairs[p])] == wanted)
          function(Pair::cell(pairs[p]), Pair::row(pairs[p]));
    }
  };

  /** Which block of @p row stands in @p column. */
  PATCHFEM_INLINE int place_of(const SparsityView &sparsity, const int row, const int column)
  {
    const int *columns = sparsity.columns + sparsity.row_offsets[row];
    return static_cast<int>(lower_bound(columns, sparsity.columns + sparsity.row_offsets[row + 1], column) - columns);
  }

  /** Finds and stores the places of a pair's columns. */
  struct PlacesWriter
  {
    SparsityView  sparsity;
    PlacesView    places;
    void         *packed_places;
    std::uint8_t *diagonal;

    /** Of pair number @p pair: the row of node @p i of a cell with @p n_shape nodes. */
    PATCHFEM_INLINE void write(const std::int64_t pair, const int *nodes, const int n_shape, const int i) const
    {
      const int   *begin = sparsity.columns + sparsity.row_offsets[nodes[i]];
      const int   *end   = sparsity.columns + sparsity.row_offsets[nodes[i] + 1];
      unsigned int word = 0, shift = 0;
      for (int j = 0; j < n_shape; ++j)
      {
        const auto k = static_cast<unsigned int>(lower_bound(begin, end, nodes[j]) - begin);
        if (!places.compact())
          store_packed(packed_places, places.view.width, pair * n_shape + j, k);
        else if (j == i)
          diagonal[nodes[i]] = static_cast<std::uint8_t>(k); // the same from every cell
        else
        {
          word |= k << shift;
          shift += 5;
        }
      }
      if (places.compact())
        store_packed(packed_places, 2, pair, word);
    }
  };

  /** Entries of the buffer that a cell needs, for its matrix. */
  PATCHFEM_INLINE int buffered_matrix_size(const CellRows &rows, const int cell, const int n_components)
  {
    const int n_free = rows.n_free(cell), n_rows = rows.n_rows(cell);
    int       n = (n_free * n_free + n_rows - n_free) * n_components * n_components;
    if (rows.index(cell) >= 0)
    {
      const int n_raw = rows.batches.batch[rows.batches.batch_of(cell)].reference.n_shape * n_components;
      n += n_raw * n_raw;
    }
    return n;
  }

  PATCHFEM_INLINE int buffered_vector_size(const CellRows &rows, const int cell, const int n_components)
  {
    int n = rows.n_rows(cell) * n_components;
    if (rows.index(cell) >= 0)
      n += rows.batches.batch[rows.batches.batch_of(cell)].reference.n_shape * n_components;
    return n;
  }
} // namespace PatchFEM::kernels
