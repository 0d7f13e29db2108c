// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/partitioner.h>
#include <patchfem/lac/matrix/compressed_pattern.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

namespace PatchFEM
{
  /**
   * Numbers of coarse nodes on a rank: first its own, then, ascending, those of others that it knows of. Of two that a
   * rank knows the order never changes, so that rows that are ascending stay so when others become known.
   */
  class CoarseNumbers
  {
  public:
    /** Collective: of this rank's @p n_own coarse nodes, and no other. */
    CoarseNumbers(const Communicator &ranks, int n_own);

    int          n_own() const { return static_cast<int>(end - begin); }
    std::int64_t first_of(const int rank) const { return first[rank]; } ///< of its own, among all
    std::int64_t n_global() const { return first.back(); }
    int          n() const { return n_own() + static_cast<int>(others.size()); }

    /** Among the coarse nodes of all ranks, which come rank by rank. */
    std::int64_t global(const int local) const { return local < n_own() ? begin + local : others[local - n_own()]; }

    /** Of one that is known. */
    int local(std::int64_t global) const;

    /** Those that are not this rank's, by their numbers from n_own() on: their global ones. */
    const std::vector<std::int64_t> &of_others() const { return others; }

    /** One of another rank as its owner knows it. */
    Partitioner::Ghost ghost(int local) const;

    /**
     * @p more, in any order and more than once, are known too; those below 0 are none. [k], the new number of what was
     * n_own() + k.
     */
    std::vector<int> add(std::vector<std::int64_t> more);

  private:
    std::vector<std::int64_t> first; ///< [rank + 1]
    std::int64_t              begin, end;
    std::vector<std::int64_t> others;
  };

  /**
   * Collective: aggregates of all nodes here, on @p place, from those of owned ones: numbers of @p numbers, to which it
   * adds what ghosts have, or -1.
   */
  Array<int>
  aggregates_with_ghosts(const Backend &place, const Partitioner &nodes, const Array<int> &own, CoarseNumbers &numbers);

  /**
   * The first @p n_rows rows of @p pattern, of @p n_blocks blocks, whose columns from @p first on become @p numbers, which
   * ascend with them, of @p n_columns.
   */
  CompressedPattern renumbered(const CompressedPattern &pattern,
                               int                      n_rows,
                               std::int64_t             n_blocks,
                               int                      first,
                               const Array<int>        &numbers,
                               int                      n_columns);

  /** The same of all rows, in place. */
  void renumber(CompressedPattern &pattern, int first, const Array<int> &numbers, int n_columns);

  /**
   * Rows of a matrix of blocks, one for each fine node, whose columns are coarse nodes: behind those of the nodes that a
   * rank owns come those of its ghosts, as their owners have them.
   */
  class GhostRows
  {
  public:
    /** Collective: adds them to @p pattern and their columns to @p numbers. Returns there what numbers.add() does. */
    Array<int> append(const Partitioner &nodes, CoarseNumbers &numbers, CompressedPattern &pattern);

    /** The first owned node whose row has entries and goes to others; their number if there is none. */
    int first() const { return first_row; }

    /** Blocks of rows of owned nodes. */
    std::int64_t n_own() const { return own_blocks; }

    /**
     * Collective: their values. @p values are those of rows of @p pattern from @p begin on, at most first(), in scalar
     * rows (see kernels/coarsening.h) of blocks of n_c x n_m.
     */
    template <typename Number>
    void update(
        const Partitioner &nodes, const CompressedPattern &pattern, int begin, int n_c, int n_m, Number *values) const;

    std::size_t memory_consumption() const
    {
      return memory_consumption_of(starts, places) + (travel != nullptr ? travel->memory_consumption() : 0);
    }

  private:
    int                      first_row  = 0;
    std::int64_t             own_blocks = 0; ///< of owned rows
    std::int64_t             n_sent     = 0; ///< blocks that go to others
    Array<std::int64_t>      starts;         ///< of the rows that go to others, in blocks, one behind the other
    Array<int>               places;         ///< of each block that comes, in its row here
    std::vector<Destination> destinations;   ///< of blocks, in the order of starts
    std::vector<Source>      sources;        ///< of blocks as they come

    mutable std::unique_ptr<Transport::Exchange> travel;          ///< of blocks of the size that was the last
    mutable std::size_t                          block_bytes = 0; ///< that size
  };

  /** The first owned node that others have as a ghost; their number if there is none. */
  int first_sent(const Partitioner &nodes);

  namespace of_ranks
  {
    // Steps of both back ends.

    /**
     * What of rows of a pattern goes to others. Rows of a border name the same few columns again and again: to each rank go
     * these, once, and places among them.
     */
    struct SentRows
    {
      /** What goes to a rank: what there is up to its end, and the first row that has a column. */
      struct End
      {
        std::int64_t blocks, names;
        int          first_row;
      };

      Array<std::int64_t> starts; ///< of each row, in blocks, one row behind the other
      Array<int>          places; ///< [block], of its column among those that go to the same rank
      std::vector<End>    ends;   ///< [rank]
      std::vector<int>    names;  ///< the different columns of each rank, ascending
    };

    /** Of @p rows, ascending for each rank, of which those of the d-th end before ends[d]; columns are below @p n. */
    template <typename Where>
    SentRows
    read_rows(Where, const CompressedPattern &pattern, const Array<int> &rows, const std::vector<int> &ends, int n);

    /** How many entries each row has. */
    template <typename Where>
    void row_lengths(Where, const CompressedPattern &pattern, int *lengths);

    /** Where rows of @p lengths start, [row + 1], and, from @p first on, to @p there as well. */
    template <typename Where>
    Array<std::int64_t>
    row_starts(Where, const Backend &place, int n, const int *lengths, std::int64_t first, std::int64_t *there);

    /** The values of @p rows, @p values those of rows from @p begin on, of @p n_blocks blocks of @p size numbers. */
    template <typename Number, typename Where>
    Array<Number> read_values(Where,
                              const CompressedPattern   &pattern,
                              int                        begin,
                              const Array<int>          &rows,
                              const Array<std::int64_t> &starts,
                              std::int64_t               n_blocks,
                              int                        size,
                              const Number              *values);

    /**
     * The rows of ghosts, from row @p n_owned of @p pattern on, whose first value is values[0]: @p received has their
     * blocks as owners have them, of which block k of all is block places[k] of its row here.
     */
    template <typename Number, typename Where>
    void place_values(Where,
                      const CompressedPattern &pattern,
                      int                      n_owned,
                      const Array<int>        &places,
                      int                      n_c,
                      int                      n_m,
                      const Array<Number>     &received,
                      Number                  *values);

    /** Where the rows of blocks of @p A start, in blocks, and numbers[column] of their columns, one row behind the other. */
    template <typename Where>
    void read_blocks(Where,
                     const Backend           &place,
                     const SlicedPatternView &A,
                     const std::vector<int>  &numbers,
                     Array<std::int64_t>     &offsets,
                     Array<int>              &columns);

    /** Blocks of @p A one behind the other, each with its entries by rows; the k-th of all is block places[k] of its row. */
    template <typename Number, typename Where>
    void pack_blocks(Where,
                     const SlicedEllpackMatrix<Number> &A,
                     const Array<std::int64_t>         &offsets,
                     const Array<int>                  &places,
                     Array<Number>                     &packed);

    /** The reverse, blocks in order: those from block @p first on are @p own, those before and behind are @p others. */
    template <typename Number, typename Where>
    void unpack_blocks(Where,
                       const Array<std::int64_t>   &offsets,
                       std::int64_t                 first,
                       const Array<Number>         &own,
                       const Array<Number>         &others,
                       SlicedEllpackMatrix<Number> &A);

    /**
     * Rows [offsets[g], offsets[g + 1]) of different @p columns, ascending, to @p sorted; places[e] becomes the place of
     * column e in its row.
     */
    template <typename Where>
    void
    sort_rows(Where, const Array<std::int64_t> &offsets, const Array<int> &columns, Array<int> &places, int *sorted);

    /** The different ones of @p n values from 0 to @p limit - 1, ascending; others do not count. */
    template <typename Where>
    std::vector<std::int64_t>
    distinct(Where, const Backend &place, std::int64_t n, const std::int64_t *values, std::int64_t limit);

    /** result[i] = first + the place of global[i] in @p others, ascending, which has it; what is below 0 is -1. */
    template <typename Where>
    void local_numbers(Where,
                       const Backend                   &place,
                       std::int64_t                     n,
                       const std::int64_t              *global,
                       const std::vector<std::int64_t> &others,
                       int                              first,
                       int                             *result);

    /** Rows aggregate[nodes[k]] of @p values, [row][size]; 0 where that is below 0. */
    template <typename Where>
    Array<double>
    of_aggregates(Where, const Array<int> &nodes, const Array<int> &aggregate, int size, const Array<double> &values);

    /** Row rows[g] of @p values, [row][size], becomes row g of @p from where it is at @p first or behind. */
    template <typename Where>
    void set_rows(Where, const int *rows, int first, int size, const Array<double> &from, Array<double> &values);

    /** to[i] = numbers[from[i] - first], i < n, or from[i] where that is below @p first */
    template <typename Where>
    void renumber(Where, const Backend &place, std::int64_t n, int first, const int *numbers, const int *from, int *to);

    /** used[c - first] = 1 for the first @p n columns c that are not below @p first. */
    template <typename Where>
    void mark(Where, std::int64_t n, const Array<int> &columns, int first, Array<int> &used);

    /** to[i] = begin + from[i], i < n; what is below 0 becomes -1. */
    template <typename Where>
    void
    global_numbers(Where, const Backend &place, std::int64_t n, const int *from, std::int64_t begin, std::int64_t *to);
  } // namespace of_ranks
} // namespace PatchFEM
