// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/graph/aggregation.h>
#include <patchfem/lac/multigrid/amg_hierarchy.h>

#include <memory>
#include <vector>

namespace PatchFEM
{
  /** Edges from this rank's aggregates to those of others. */
  struct AggregateEdges
  {
    Adjacency                 graph;     ///< of this rank's; a neighbour is their number + its place in others
    std::vector<std::int64_t> others;    ///< ascending, their numbers among the aggregates of all ranks
    Array<double>             couplings; ///< of the edges, if the coefficient jumps, see MISAggregation
  };

  /**
   * Aggregates by one strength of connection that sees the shape of cells, tensors and materials alike, on all levels. On
   * the finest level an edge weighs w_ij = -tr A_ij, or 0 if that is negative: of the block of an element the trace is
   * (lambda + (d + 1) mu) int grad phi_i . grad phi_j, that of a scalar Laplacian in any axes. Below, aggregates I and J
   * weigh the sum of the edges between their nodes, the Galerkin product of that graph with piecewise constants: neither
   * a coarse matrix nor a position is read. An edge is strong if w_ij >= threshold sqrt(m_i m_j), m_i the largest weight
   * at node i.
   *
   * Where masses are much larger than stiffness, as those of stiff films and supports, they weigh as well.
   *
   * Trilinear bricks stretched without limit have weights of 1 along the short side and 1/4 on slanted edges (0.35 of the
   * geometric mean at free sides), cubes 1, 1/2 for corners and 0 across faces, so that the threshold lies between. On the
   * finest level an edge is strong as well if its ends have strong edges to a third node, which brings diagonals of cells
   * back that an element leaves at 0. Where the strong edges are so few that aggregates are hardly fewer than nodes, the
   * threshold is lowered.
   *
   * Of several ranks each makes aggregates of its own nodes. Edges to nodes of others join none, but count for m_i, and
   * prolongators are smoothed along them.
   */
  class CouplingAggregation : public AMGAggregation
  {
  public:
    explicit CouplingAggregation(const Aggregation::AdditionalData &data);

    /** The graph of the finest matrix, if it is known already. */
    void know_pattern(Adjacency &&graph) { pattern = std::move(graph); }

    AggregateLists aggregate(const unsigned int level, const SlicedEllpackMatrix<double> &A) override
    {
      return aggregate_level(level, A);
    }
    AggregateLists aggregate(const unsigned int level, const SlicedEllpackMatrix<float> &A) override
    {
      return aggregate_level(level, A);
    }

    std::unique_ptr<AMGAggregation> gather(unsigned int level, const Partitioner &nodes) const override;

    /** What was made for each level so far. */
    const std::vector<Aggregation> &levels() const { return aggregations; }

  private:
    Aggregation::AdditionalData data;
    Adjacency                   pattern; ///< of the finest level
    std::vector<Aggregation>    aggregations;
    std::vector<AggregateEdges> edges_across;     ///< of the graph of aggregates of each level
    std::vector<Array<double>>  weights;          ///< of the edges of the graph of aggregates of each level
    unsigned int                levels_above = 0; ///< of the hierarchy that gather() continues
    Adjacency                   graph_above;      ///< of the aggregates of the last of these
    Array<double>               weights_above;

    template <typename Number>
    AggregateLists aggregate_level(unsigned int level, const SlicedEllpackMatrix<Number> &A);
  };
} // namespace PatchFEM
