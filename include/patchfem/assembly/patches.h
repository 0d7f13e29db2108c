// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_assembly_patches_h
#define patchfem_assembly_patches_h

#include <patchfem/assembly/sparsity.h>
#include <patchfem/kernels/patch_views.h>

#include <tuple>
#include <vector>

namespace PatchFEM
{
  /** How the assembler gets the matrices of cells to the rows. The results differ by rounding at most. */
  enum class AssemblyStrategy
  {
    /// patches, unless a cell would be integrated more often on average than pays for its kind: then gather
    automatic,
    /// A patch integrates every cell that touches one of its rows, in fast memory. Of several degrees, those gather whose
    /// patches do not fit.
    patches,
    /// The matrices of a chunk's cells are staged in a buffer, each once, and rows gather from it.
    gather
  };

  /**
   * What brings the cells of one batch to the rows. Of several batches the first overwrites all rows, and the others add.
   *
   * Owner computes: the rows, in their order, are cut into patches whose rows fit into fast memory; a patch sums
   * all contributions to its rows and writes each row once. It computes cells itself, in an order that is a property of
   * the mesh and lets cells that share no row follow each other, so that they are added at the same time and sums do
   * not depend on the cut. Then it adds the cells with constraints or boundary terms, which are resolved in a buffer
   * first, chunk by chunk of consecutive patches. With the gather strategy the matrices of the other cells are put
   * into that buffer too, and rows add them in the order of the cells.
   */
  class Patches
  {
  public:
    struct AdditionalData
    {
      AssemblyStrategy strategy       = AssemblyStrategy::automatic;
      int              rows_per_patch = 0; ///< 0: as many as fit; patches that only gather have 128 at most
      /// Largest share of the matrix that the buffer of cell matrices may take; at least 16 MiB are allowed. 0 takes the
      /// default of the kind of element, a tenth or a quarter.
      double buffer_share = 0.;
      /// Patches that share a multiprocessor, and so its fast memory: 0 takes the default of the kind of element.
      int concurrent = 0;

      bool operator==(const AdditionalData &other) const
      {
        return std::tie(strategy, rows_per_patch, buffer_share, concurrent) ==
               std::tie(other.strategy, other.rows_per_patch, other.buffer_share, other.concurrent);
      }
    };

    /** Fast memory: what the workers of a patch need besides its rows, and a matrix entry's bytes. */
    struct FastMemory
    {
      std::size_t worker_bytes;
      std::size_t bytes_per_entry;
      std::size_t available; ///< for a patch that computes cells
      std::size_t total;     ///< of the multiprocessor: patches that only gather have no workers
      double      most_redundant;
      std::size_t worker_bytes_per_row   = 0;
      std::size_t worker_bytes_per_level = 0;
      bool        symmetric              = false; ///< entry (i, j) of a matrix is entry (j, i), and a number
      double      buffer_share           = 0.1;   ///< where AdditionalData names none

      bool operator==(const FastMemory &other) const
      {
        const auto all = [](const FastMemory &m) {
          return std::tie(m.worker_bytes, m.bytes_per_entry, m.available, m.total, m.most_redundant,
                          m.worker_bytes_per_row, m.worker_bytes_per_level, m.symmetric, m.buffer_share);
        };
        return all(*this) == all(other);
      }
    };

    /** For the batch of @p row_cells. */
    void reinit(const ElementBatches &batches,
                const RowCells       &row_cells,
                const Sparsity       &sparsity,
                const FastMemory     &memory,
                const AdditionalData &data);

    /** A run of consecutive patches whose buffered and staged cells are in the buffer together. */
    struct Chunk
    {
      int          first_patch, end_patch;
      std::int64_t first_buffered, end_buffered;
      std::int64_t n_matrix_entries, n_vector_entries; ///< of the buffered cells
      std::int64_t first_staged, end_staged;
    };

    const std::vector<Chunk>  &chunks() const { return chunk_list; }
    const Array<BufferedCell> &buffered() const { return buffered_cells; }
    const Array<int>          &staged() const { return staged_cells; } ///< global numbers, chunk by chunk
    PatchesView                view(const Sparsity &sparsity) const;

    int              batch() const { return batch_number; }
    int              n_patches() const { return static_cast<int>(cell_offsets.size()) - 1; }
    int              rows_per_patch() const { return n_rows_per_patch; }
    int              most_blocks() const { return most_blocks_of_patch; } ///< blocks of the rows of the largest patch
    int              most_levels() const { return most_levels_of_patch; }
    AssemblyStrategy strategy() const { return chosen; }

    /** How often a cell is integrated on average, buffered cells included. */
    double      redundancy() const { return integrations; }
    std::size_t memory_consumption() const;

  private:
    /** The different cells of each chunk: keys chunk << 32 | cell, ascending, and which is the first of its kind. */
    struct CellsOfChunks
    {
      Array<std::uint64_t> keys;
      Array<int>           first;
      Array<std::int64_t>  positions; ///< scan of first
      std::int64_t         n_unique = 0;
    };

    CellsOfChunks
    find_cells(const Array<unsigned char> &buffered, unsigned char wanted, const Array<int> &chunk_of_patch) const;
    Array<unsigned char> mark_buffered(const ElementBatches &batches) const;
    void                 order_cells(const RowCells &row_cells, const Array<unsigned char> &buffered);
    void                 cut(const RowCells &row_cells, int rows);
    void                 plan_buffer(const ElementBatches       &batches,
                                     const RowCells             &row_cells,
                                     const Sparsity             &sparsity,
                                     const FastMemory           &memory,
                                     const AdditionalData       &data,
                                     const Array<unsigned char> &buffered);
    void                 plan_fed_rows(const RowCells             &row_cells,
                                       const Sparsity             &sparsity,
                                       const Array<unsigned char> &buffered,
                                       const Array<int>           &chunk_of_patch,
                                       const Array<std::int64_t>  &chunk_offsets);
    void                 plan_staged(const ElementBatches       &batches,
                                     const RowCells             &row_cells,
                                     const Sparsity             &sparsity,
                                     const Array<unsigned char> &buffered,
                                     const Array<int>           &chunk_of_patch);
    void plan_computed(const ElementBatches &batches, const Sparsity &sparsity, const Array<unsigned char> &buffered);
    void plan_places(const ElementBatches &batches, const Sparsity &sparsity);

    /// Levels that room is kept for: mostly there are a few more than cells at a node.
    int expected_levels = 128;

    int                  batch_number = 0;
    int                  n_rows = 0, n_rows_per_patch = 0, most_blocks_of_patch = 0, most_levels_of_patch = 0;
    AssemblyStrategy     chosen       = AssemblyStrategy::patches;
    double               integrations = 1.;
    Array<int>           cell_order, cell_ranks; ///< while the plan is made: the order of sums and its inverse
    Array<std::int64_t>  cell_offsets, pair_offsets, level_offsets;
    Array<int>           cells, level_ends;
    Array<char>          cell_pairs, places, sums;
    Array<unsigned char> diagonal_places;
    int                  cell_pair_width = 4, place_width = 1, pair_bits = 0, word_width = 4, sum_width = 2;
    bool                 compact_places = false;
    Array<std::int64_t>  fed_offsets, fed_pair_offsets, fed_pairs, fed_place_offsets;
    Array<int>           fed_rows;
    Array<char>          fed_places;
    std::vector<Chunk>   chunk_list;
    Array<BufferedCell>  buffered_cells;
    Array<int>           staged_cells;
    Array<std::int64_t>  staged_offsets;
    Array<unsigned int>  staged_pairs;
  };
} // namespace PatchFEM

#endif
