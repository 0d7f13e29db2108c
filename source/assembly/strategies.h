// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/patch_plan_bodies.h"
#include "kernels/run.h"
#include "lac/graph/graph_tools.h"
#include <patchfem/assembly/assembly_strategy.h>

/**
 * @file
 * What plans of strategies share. A strategy is a class template whose loops (see run.h) the host compiler makes for Host
 * and nvcc for Cuda, in the source and the .cu file of its name.
 */
namespace PatchFEM
{
  using graph_tools::maximum;
  using graph_tools::scan;
  using Source = Patches::Source;

  /** Different cells of each chunk, ascending. */
  struct ChunkCells
  {
    Array<int>          cells;
    Array<std::int64_t> offsets; ///< [chunk + 1]
  };

  inline kernels::RowPairs row_pairs(const Source &source)
  {
    const RowCells &cells = source.row_cells;
    return {cells.cell_rows(), cells.offsets().data(), cells.pairs().data(), source.buffered.data()};
  }

  inline kernels::PlacesWriter places_writer(const Source &source, PatchLists &lists)
  {
    return {source.sparsity.view(), lists.places_view(), lists.places.data(), lists.diagonal_places.data()};
  }

  /** The steps of all strategies. */
  template <typename Where>
  struct PatchSteps
  {
    /** Which cells are resolved in the buffer: those with constraints or boundary terms. */
    static Array<unsigned char> mark_buffered(const ElementBatches &batches);

    /** The most blocks of a patch of @p rows rows that has cells. */
    static int most_blocks(const Source &source, int rows);

    /** The cells that touch each patch, by their @p cell_ranks, ascending, or by their numbers if there are none. */
    static void find_cells(const Source &source, const Array<int> &cell_ranks, PatchLists &lists);

    /** Matrix entries that the buffered, or @p all, cells of a patch need, in units of 1024, rounded up. */
    static std::vector<int> buffer_sizes(const Source &source, bool all, const PatchLists &lists);

    /** The cells of each chunk that are buffered, or not. */
    static ChunkCells
    chunk_cells(const Source &source, bool wanted, const Array<int> &chunk_of_patch, const PatchLists &lists);

    /** The lists of buffered cells, and of the rows that they feed. */
    static void plan_buffer(const Source &source, const Array<int> &chunk_of_patch, PatchLists &lists);
  };
#if !defined(__CUDACC__)
  extern template struct PatchSteps<Cuda>;
#endif
} // namespace PatchFEM
