// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/graph/adjacency.h>
#include <patchfem/lac/graph/mis_aggregation.h>

/**
 * @file Edges of a graph that lead to nodes of other ranks. As an Adjacency `across` they are, of each owned node, the
 * local numbers of ghosts; the graph of owned nodes alone is another one. All functions are collective.
 */
namespace PatchFEM::rank_edges
{
  /** Those of a matrix: its blocks between rows that couple, above @p threshold (see Adjacency), on its back end. */
  template <typename Number>
  Adjacency across(const SlicedEllpackMatrix<Number> &A, double threshold);

  /** Of @p nodes, the aggregates of @p edges: their ghosts have all that these lead to. */
  Adjacency across(const Partitioner &nodes, const AggregateEdges &edges);

  /**
   * Those of the graph of @p aggregates, which weigh what the edges @p across between their nodes do, and couple what
   * these do if @p couplings of them are known, in sum. @p lists learn what aggregates ghosts
   * have.
   */
  AggregateEdges between_aggregates(const Partitioner   &nodes,
                                    const Adjacency     &across,
                                    const Array<double> &couplings,
                                    const Aggregation   &aggregates,
                                    AggregateLists      &lists);

  /**
   * find_short_edges() of the graph that @p own and @p across are together; all ranks find some or none does. @p points
   * are those of owned nodes, [node][width].
   */
  bool find_short(const Partitioner   &nodes,
                  const Adjacency     &own,
                  const Adjacency     &across,
                  int                  dim,
                  int                  width,
                  const Array<double> &points,
                  double               factor,
                  Adjacency           &short_own,
                  Adjacency           &short_across);

  /**
   * The graph of all nodes of all ranks, in the order of ranks, everywhere; and what its edges couple, the weaker of
   * what their two ends know, or 0 if @p couplings of own edges and those across are not known.
   */
  Adjacency of_all_ranks(const Partitioner   &nodes,
                         const Adjacency     &own,
                         const Adjacency     &across,
                         const Array<double> &couplings,
                         const Array<double> &couplings_across,
                         Array<double>       &couplings_of_all);

  /** @p values of all nodes here, [node][width], from those of owned ones. */
  template <typename T>
  Array<T> with_ghosts(const Backend &place, const Partitioner &nodes, const Array<T> &values, const int width = 1)
  {
    Array<T> result(place, std::size_t(nodes.n_local()) * width);
    if (!values.empty())
      memory::copy(place, result.data(), values.backend(), values.data(), values.size() * sizeof(T));
    if (place.kind() == BackendKind::host)
      nodes.update_ghosts(result.data(), width);
    else
    {
      nodes.start_and_finish(place, result.data(), width * sizeof(T));
    }
    return result;
  }
} // namespace PatchFEM::rank_edges
