// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/sparsity.h>
#include <patchfem/kernels/patch_views.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace PatchFEM
{
  /** The lists of all strategies: see PatchesView. */
  struct PatchLists
  {
    /** A run of consecutive patches whose buffered and staged cells are in the buffer together. */
    struct Chunk
    {
      int          first_patch, end_patch;
      std::int64_t first_buffered = 0, end_buffered = 0;
      std::int64_t n_matrix_entries = 0, n_vector_entries = 0; ///< of the buffered cells
      std::int64_t first_staged = 0, end_staged = 0;
    };

    int                 n_rows = 0, rows_per_patch = 0;
    int                 place_width = 1, pair_bits = 0;
    bool                compact_places = false;
    Array<std::int64_t> cell_offsets, level_offsets;
    Array<int>          cells;        ///< of the patches: all of them, then those that the strategy computes in patches
    Array<int>          staged_cells; ///< global numbers, chunk by chunk
    Array<char>         places;
    Array<std::uint8_t> diagonal_places;
    std::vector<Chunk>  chunks;
    Array<BufferedCell> buffered_cells;
    Array<std::int64_t> fed_offsets, fed_pair_offsets, fed_pairs, fed_place_offsets;
    Array<int>          fed_rows;
    Array<char>         fed_places;

    int n_patches() const { return (n_rows + rows_per_patch - 1) / rows_per_patch; }

    /** Of a pair of a row and a cell with @p n_shape nodes. */
    int place_bytes(const int n_shape) const { return compact_places ? 2 : n_shape * place_width; }

    PlacesView places_view() const
    {
      return {{places.data(), compact_places ? 2 : place_width},
              diagonal_places.empty() ? nullptr : diagonal_places.data(),
              0,
              {},
              nullptr};
    }
  };

  /**
   * What brings the cells of one batch to the rows: the plan of a strategy, which derives from this class, see
   * assembly_strategies(). Of several batches the first overwrites all rows, and the others add.
   *
   * Owner computes: the rows, in their order, are cut into patches whose rows fit into fast memory; a patch sums all
   * contributions to its rows and writes each row once. All strategies share this cut, the cells with constraints or
   * boundary terms, which are resolved in a buffer first, chunk by chunk of consecutive patches, and the rows that
   * these feed, which add them last. They differ in how the other cells come to the rows.
   */
  class Patches
  {
  public:
    struct AdditionalData
    {
      std::string strategy       = "auto"; ///< or one of assembly_strategies(), whose results differ by rounding
      int         rows_per_patch = 0;      ///< 0: as many as fit; patches that only gather have 128 at most
      /// Largest share of the matrix that the buffer of cell matrices may take; at least 16 MiB and least_cells matrices
      /// are allowed. 0 takes the default of the kind of element, a tenth or a quarter.
      double buffer_share = 0.;
      /// Patches that share a multiprocessor, and so its fast memory: 0 takes the default of the kind of element.
      int concurrent = 0;
      /// Bytes of fast memory that patches on a multiprocessor share, or that a thread of the host has for one: 0 takes
      /// all that there is, Backend::patch_memory(); less shows what a device with less would do.
      std::size_t fast_memory = 0;

      bool operator==(const AdditionalData &other) const
      {
        return std::tie(strategy, rows_per_patch, buffer_share, concurrent, fast_memory) ==
               std::tie(other.strategy, other.rows_per_patch, other.buffer_share, other.concurrent, other.fast_memory);
      }
    };

    /** What a plan is made of, for the batch of @p row_cells. */
    struct Source
    {
      const ElementBatches &batches;
      const RowCells       &row_cells;
      const Sparsity       &sparsity;
      const AdditionalData &data;
      std::string           strategy;
      kernels::PatchRoom    room;
      double                most_redundant; ///< integrations of a cell above which the strategy does not serve
      bool                  alone;          ///< no other strategy may take the cells: what does not fit is an Error

      const Backend &backend() const { return batches.backend(); }
      BatchView      batch() const { return batches.view().batch[row_cells.batch()]; }

      /** @p n integrations for each cell of the batch. */
      double per_cell(const std::size_t n) const
      {
        return static_cast<double>(n) / std::max(1, batches.n_cells(row_cells.batch()));
      }
    };

    /** Of which a chunk has room at least: with fewer, those of high degree are staged for nearly every patch anew. */
    static constexpr std::int64_t least_cells = 64;

    virtual ~Patches() = default;

    /** Makes the plan; false if the strategy does not serve. */
    virtual bool reinit(const Source &source) = 0;

    using Chunk = PatchLists::Chunk;
    const std::vector<Chunk>  &chunks() const { return lists.chunks; }
    const Array<BufferedCell> &buffered() const { return lists.buffered_cells; }
    const Array<int>          &staged() const { return lists.staged_cells; }
    virtual PatchesView        view(const Sparsity &sparsity) const;

    /** The view of what the strategy has beside view(), of a type that its kernels know; nullptr: nothing. */
    virtual const void *own_lists() const { return nullptr; }

    /** Where phases of the plan's cells begin, and the last ends, if these are added in phases. */
    const std::vector<std::int64_t> &phases() const { return phase_offsets; }

    const std::string        &strategy() const { return name; }
    const kernels::PatchRoom &room() const { return patch_room; }
    int                       batch() const { return batch_number; }
    int                       n_patches() const { return lists.n_patches(); }
    int                       rows_per_patch() const { return lists.rows_per_patch; }
    int most_blocks() const { return most_blocks_of_patch; } ///< blocks of the rows of the largest patch
    int most_levels() const { return most_levels_of_patch; }

    /** How often a cell is integrated on average, buffered cells included; 0 if there are none. */
    double              redundancy() const { return integrations; }
    virtual std::size_t memory_consumption() const;

  protected:
    PatchLists                lists;
    std::vector<std::int64_t> phase_offsets;
    std::string               name;
    kernels::PatchRoom        patch_room{};
    int                       batch_number = 0, most_blocks_of_patch = 0, most_levels_of_patch = 0;
    double                    integrations = 0.;
  };
} // namespace PatchFEM
