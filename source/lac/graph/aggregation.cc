// SPDX-License-Identifier: LGPL-2.1-or-later
#include "aggregation_steps.h"

namespace PatchFEM
{
  namespace
  {
    void check(const Aggregation::AdditionalData &data, const int block_size)
    {
      require(data.aggregate_distance >= 1 && data.patch_distance >= 1,
              "The distances of the independent sets of an aggregation must be at least 1.");
      require(data.min_aggregate_size >= 1, "The smallest size of an aggregate must be at least 1, not ",
              data.min_aggregate_size, ".");
      require(data.recentrings >= Aggregation::AdditionalData::automatic, "Aggregates cannot be grown again ",
              data.recentrings, " times.");
      require(data.patch_bytes >= 1, "The largest size of a patch must be at least 1 byte.");
      require(data.min_patch_share >= 0. && data.min_patch_share <= 1.,
              "The share of the largest patch under which patches are dissolved must be between 0 and 1, not ",
              std::to_string(data.min_patch_share), ".");
      require(block_size >= 1 && data.bytes_per_value >= 1, "Blocks and values need at least one entry and one byte.");
    }
  } // namespace

  template <typename Matrix>
  void Aggregation::reinit(const Matrix &matrix, const AdditionalData &data)
  {
    Adjacency pattern, strong;
    pattern.reinit(matrix);
    if (data.strength_threshold != 0.)
      strong.reinit(matrix, data.strength_threshold);
    const Adjacency &graph = data.strength_threshold != 0. ? strong : pattern;
    reinit({pattern, graph, graph}, matrix.block_rows(), data);
  }

  void Aggregation::reinit(const Graphs              &graphs,
                           const int                  block_size,
                           const AdditionalData      &data,
                           const Array<std::int64_t> &weights)
  {
    check(data, block_size);
    const std::size_t n     = graphs.pattern.n_nodes();
    const Backend    &place = graphs.pattern.backend();
    require(weights.empty() || (weights.size() == n && weights.backend() == place),
            "Not every node of an aggregation has a weight.");
    for (const Adjacency *graph : {&graphs.all, &graphs.strong})
      require(std::size_t(graph->n_nodes()) == n && graph->backend() == place,
              "The graphs of an aggregation do not have the same nodes.");
    dispatch(place, [&](auto where) { build(where, graphs, block_size, data, weights); });
  }

  template void Aggregation::reinit(const SlicedEllpackMatrix<float> &, const AdditionalData &);
  template void Aggregation::reinit(const SlicedEllpackMatrix<double> &, const AdditionalData &);
  template void Aggregation::reinit(const CSRMatrix<float> &, const AdditionalData &);
  template void Aggregation::reinit(const CSRMatrix<double> &, const AdditionalData &);
} // namespace PatchFEM
