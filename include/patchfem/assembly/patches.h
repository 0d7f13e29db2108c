// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_assembly_patches_h
#define patchfem_assembly_patches_h

#include <patchfem/assembly/sparsity.h>
#include <patchfem/kernels/patch_views.h>

#include <vector>

namespace PatchFEM
{
  /** How the assembler gets the matrices of cells to the rows. The results differ by rounding at most. */
  enum class AssemblyStrategy
  {
    /// patches, unless a cell would be integrated more than most_redundant times on average: then gather
    automatic,
    /// A patch integrates every cell that touches one of its rows, in fast memory.
    patches,
    /// Cell matrices of a chunk go to a buffer, and rows gather from it.
    gather
  };

  /**
   * Owner computes: the rows, in their order, are cut into patches whose rows fit into fast memory; a patch sums
   * all contributions to its rows, in the order of the cells, and writes each row once. Cells with constraints or
   * boundary terms are resolved in a buffer first, chunk by chunk of consecutive patches; with the gather strategy
   * all cells are.
   */
  class Patches
  {
  public:
    struct AdditionalData
    {
      AssemblyStrategy strategy       = AssemblyStrategy::automatic;
      int              rows_per_patch = 0; ///< 0: as many as fit
      /// Integrations of a cell above which automatic takes gather. For vector problems only the geometry of a cell is
      /// integrated again, and on an H200 patches still win at 3.3 (16 rows, elasticity of degree 1).
      double most_redundant = 3.5;
      /// Largest share of the matrix that the buffer of cell matrices may take; at least 16 MiB are allowed.
      double buffer_share = 0.1;
      /// Patches that share a multiprocessor, and so its fast memory: 0 takes the default of the kind of element.
      int concurrent = 0;
    };

    /** What a strategy keeps in fast memory besides the rows: bytes of a computed cell, and of a matrix entry. */
    struct FastMemory
    {
      std::size_t bytes_per_cell;
      std::size_t bytes_per_entry;
      std::size_t available;
    };

    void reinit(const ElementBatches &batches,
                const RowCells       &row_cells,
                const Sparsity       &sparsity,
                const FastMemory     &memory,
                const AdditionalData &data);

    /** A run of consecutive patches whose buffered cells are in the buffer together. */
    struct Chunk
    {
      int          first_patch, end_patch;
      std::int64_t first_buffered, end_buffered;
      std::int64_t n_matrix_entries, n_vector_entries;
    };

    const std::vector<Chunk>  &chunks() const { return chunk_list; }
    const Array<BufferedCell> &buffered() const { return buffered_cells; }
    PatchesView                view(const Sparsity &sparsity) const;

    /** The batch whose cells patches compute: the one with the most cells. Cells of other batches are buffered. */
    static int computed_batch(const ElementBatches &batches);

    int              n_patches() const { return static_cast<int>(cell_offsets.size()) - 1; }
    int              rows_per_patch() const { return n_rows_per_patch; }
    int              most_cells() const { return most_cells_of_patch; }   ///< cells of the largest patch
    int              most_blocks() const { return most_blocks_of_patch; } ///< blocks of the rows of the largest patch
    int              most_pairs() const { return most_pairs_of_patch; }
    int              most_slots() const { return most_slots_of_patch; }
    AssemblyStrategy strategy() const { return chosen; }

    /** How often a cell is integrated on average, buffered cells included. */
    double      redundancy() const { return integrations; }
    std::size_t memory_consumption() const;

  private:
    void cut(const RowCells &row_cells, int rows);
    void plan_buffer(const ElementBatches &batches,
                     const RowCells       &row_cells,
                     const Sparsity       &sparsity,
                     const FastMemory     &memory,
                     const AdditionalData &data);
    void pack(const RowCells &row_cells, const Sparsity &sparsity, const Array<std::int64_t> &slot_starts);

    int n_rows = 0, n_rows_per_patch = 0, most_cells_of_patch = 0, most_blocks_of_patch = 0, most_pairs_of_patch = 0,
        most_slots_of_patch           = 0;
    AssemblyStrategy     chosen       = AssemblyStrategy::patches;
    double               integrations = 1.;
    Array<std::int64_t>  cell_offsets, pair_offsets, slot_offsets;
    Array<int>           cells;
    Array<std::uint32_t> row_pairs, row_slots;
    Array<char>          pairs, slots;
    int                  pair_width = 4, slot_width = 1, row_bits = 0;
    std::vector<Chunk>   chunk_list;
    Array<BufferedCell>  buffered_cells;
  };
} // namespace PatchFEM

#endif
