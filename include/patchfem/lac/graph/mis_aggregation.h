// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/graph/coupling_aggregation.h>

#include <vector>

namespace PatchFEM
{
  /**
   * The aggregates of a hierarchy from Aggregation, whose roots are a maximal independent set (MIS). On the finest
   * level neighbours are those of the matrix. On coarser ones they are aggregates whose nodes are neighbours: the
   * pattern of a coarse matrix is some layers wider, by the smoothed prolongator, and aggregates in it would take in so
   * many nodes that iterations grow with the problem. It is taken only if a strength threshold leaves no edge.
   *
   * Where positions of the nodes are known, aggregates grow along short edges only (find_short_edges()), on every level
   * anew, the finest one too unless there is a strength threshold: coarse nodes are at the centroids of their
   * aggregates, and their graph is that of all edges. Where the matrix couples much more in one direction than in another
   * on 5 % of the nodes, as with tensors, edges are measured in its metric (graph_tools::with_metric()), which aggregates
   * have the mean of.
   *
   * Where the coefficient jumps, which a sample of the rows of the finest level tells, a CouplingAggregation takes its
   * place; with Strength::distances it does not.
   *
   * Of several ranks each makes aggregates of its own nodes. Edges to nodes of others join none, but they count where
   * it is decided which edges are short, and prolongators are smoothed along them.
   */
  class MISAggregation : public AMGAggregation
  {
  public:
    /** Patches are made if @p data asks for them, which it does not by default, or the smoother works on them. */
    MISAggregation() { data.patches = false; }
    explicit MISAggregation(const Aggregation::AdditionalData &data) : data(data) {}

    AggregateLists aggregate(const unsigned int level, const SlicedEllpackMatrix<double> &A) override
    {
      return aggregate_level(level, A);
    }
    AggregateLists aggregate(const unsigned int level, const SlicedEllpackMatrix<float> &A) override
    {
      return aggregate_level(level, A);
    }

    void want_patches(const bool wanted, const PatchStorage storage) override
    {
      patches_wanted = wanted;
      patch_storage  = storage;
    }

    void disable(const AMGRules &rules) override { disabled = rules; }

    void know_points(int dim, const Array<double> &points) override;

    std::unique_ptr<AMGAggregation> gather(unsigned int level, const Partitioner &nodes) const override;

    /** What was made for each level so far. */
    const std::vector<Aggregation> &levels() const { return by_couplings ? by_couplings->levels() : aggregations; }

  private:
    Aggregation::AdditionalData data;
    AMGRules                    disabled;
    bool                        patches_wanted = false;
    PatchStorage                patch_storage  = PatchStorage::both;
    std::vector<Aggregation>    aggregations;
    std::vector<AggregateEdges> edges_across;      ///< of the graph of aggregates of each level
    unsigned int                levels_above = 0;  ///< of the hierarchy that gather() continues
    Adjacency                   graph_above;       ///< of the aggregates of the last of these
    int                         n_coordinates = 0; ///< 0: positions are not known
    int                         width         = 0; ///< n_coordinates, or more where there is a metric
    Array<double>               points;            ///< of the nodes of the next level, [node][width]

    bool has(const AMGRule rule) const { return !disabled[static_cast<std::size_t>(rule)]; }

    std::unique_ptr<CouplingAggregation> by_couplings; ///< in place of all that is here, where coefficients jump

    template <typename Number>
    bool is_for_couplings(const SlicedEllpackMatrix<Number> &A, const Adjacency &all) const;

    template <typename Number>
    void find_metric(const SlicedEllpackMatrix<Number> &A);

    template <typename Number>
    AggregateLists aggregate_level(unsigned int level, const SlicedEllpackMatrix<Number> &A);
  };
} // namespace PatchFEM
