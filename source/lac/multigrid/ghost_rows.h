// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/partitioner.h>
#include <patchfem/lac/matrix/compressed_pattern.h>

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

    int n_own() const { return static_cast<int>(end - begin); }
    int n() const { return n_own() + static_cast<int>(others.size()); }

    /** Among the coarse nodes of all ranks, which come rank by rank. */
    std::int64_t global(const int local) const { return local < n_own() ? begin + local : others[local - n_own()]; }

    /** Of one that is known. */
    int local(std::int64_t global) const;

    /** One of another rank as its owner knows it. */
    Partitioner::Ghost ghost(int local) const;

    /** @p more, in any order and more than once, are known too; those below 0 are none. [old number], the new ones. */
    std::vector<int> add(std::vector<std::int64_t> more);

  private:
    std::vector<std::int64_t> first; ///< [rank + 1]
    std::int64_t              begin, end;
    std::vector<std::int64_t> others;
  };

  /** The first @p n_rows rows of @p pattern with @p numbers for its columns, which ascend with them, of @p n_columns. */
  CompressedPattern
  renumbered(const CompressedPattern &pattern, int n_rows, const std::vector<int> &numbers, int n_columns);

  /**
   * Rows of a matrix of blocks, one for each fine node, whose columns are coarse nodes: behind those of the nodes that a
   * rank owns come those of its ghosts, as their owners have them.
   */
  class GhostRows
  {
  public:
    /** Collective: adds them to @p pattern and their columns to @p numbers. Returns what numbers.add() does. */
    std::vector<int> append(const Partitioner &nodes, CoarseNumbers &numbers, CompressedPattern &pattern);

    /**
     * Collective: their values. @p values are those of rows from @p first on, at most first_sent(), on @p place, in
     * scalar rows (see kernels/coarsening.h) of blocks of n_c x n_m.
     */
    template <typename Number>
    void update(const Partitioner &nodes, int first, int n_c, int n_m, const Backend &place, Number *values) const;

    std::size_t memory_consumption() const
    {
      return offsets.size() * sizeof(std::int64_t) + places.size() * sizeof(int);
    }

  private:
    std::vector<std::int64_t> offsets; ///< [node here + 1], in blocks
    std::vector<int>          places;  ///< of each block that comes, in its row here
  };

  /** The first owned node that others have as a ghost; their number if there is none. */
  int first_sent(const Partitioner &nodes);
} // namespace PatchFEM
