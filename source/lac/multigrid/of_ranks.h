// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "ghost_rows.h"
#include "multigrid_tools.h"

namespace PatchFEM
{
  /** What SmoothedAggregation needs beside patterns if the matrix has several ranks. */
  class OfRanks
  {
  public:
    /** Collective: of @p n coarse nodes here, and no others. */
    OfRanks(const Communicator &ranks, const int n) : numbers(ranks, n) {}

    /** Collective: with aggregate_of_node on @p place, and numbers for the aggregates of ghosts. */
    OfRanks(const Backend &place, const Partitioner &nodes, const AggregateLists &aggregates);

    CoarseNumbers numbers;
    Array<int>    aggregate_of_node; ///< [node here], as columns of the patterns of P, A P and the coarse matrix; or -1
    Array<int>    is_sent; ///< [owned node], not 0 where its row of A P goes to others; empty where that is by_rows
    GhostRows     rows_of_P, rows_of_product;

    /** What has become of numbers, as CoarseNumbers::add() says it. */
    void renumber(const Partitioner &nodes, const Array<int> &new_numbers);

    /**
     * [k], of number n_own() + k the one among those, @p ghosts, that the first @p n_blocks blocks of @p P and @p C have for
     * columns; else -1.
     */
    static std::vector<int> used_numbers(const CoarseNumbers             &numbers,
                                         std::int64_t                     n_blocks,
                                         const CompressedPattern         &P,
                                         const CompressedPattern         &C,
                                         std::vector<Partitioner::Ghost> &ghosts);

    /** Collective: @p Q of all nodes here, [node][n_values], from those of owned ones. */
    template <typename Number>
    static Array<Number>
    with_ghosts(const Partitioner &nodes, const Backend &place, const Array<double> &Q, int n_values);

    /**
     * Collective: the modes of aggregates, [number][mode][mode], from those of own ones. Of others there are those of
     * ghosts; it is empty if @p wanted on no rank.
     */
    Array<double> modes_of_aggregates(
        const Partitioner &nodes, const Array<double> &own, int n_modes, int n_numbers, bool wanted) const;

    std::size_t memory_consumption() const
    {
      return memory_consumption_of(aggregate_of_node, is_sent, rows_of_P, rows_of_product) +
             (travel != nullptr ? travel->memory_consumption() : 0);
    }

  private:
    // Of modes: the nodes that go to others, in the order of these.
    mutable std::vector<Destination>             destinations;
    mutable std::unique_ptr<Transport::Exchange> travel;
  };
} // namespace PatchFEM
