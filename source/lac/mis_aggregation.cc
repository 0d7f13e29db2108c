// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../assembly/structure_tools.h"

#include <patchfem/kernels/distance_bodies.h>
#include <patchfem/lac/mis_aggregation.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    Array<int> copy(const Array<int> &array)
    {
      Array<int> result;
      result.copy_from(array.backend(), array);
      return result;
    }
  } // namespace

  template <typename Number>
  AggregateLists MISAggregation::aggregate_level(const unsigned int level, const SlicedEllpackMatrix<Number> &A)
  {
    require(level <= aggregations.size(),
            "Aggregates of level " + std::to_string(level) + " were asked for before those of the level above.");
    aggregations.resize(level);
    Aggregation::AdditionalData parameters = data;
    parameters.patches                     = data.patches || patches_wanted;
    parameters.bytes_per_value             = sizeof(Number);
    if (patches_wanted)
      parameters.patch_storage = patch_storage;
    const bool follow     = level > 0 && aggregations.back().aggregate_graph().n_edges() > 0;
    const bool by_entries = level == 0 && data.strength_threshold != 0.;
    Adjacency  pattern, strong;
    if (!follow || parameters.patches)
      pattern.reinit(A);
    if (by_entries)
    {
      strong.reinit(A, data.strength_threshold);
      require(strong.n_edges() > 0 || pattern.n_edges() == 0,
              "no two nodes are coupled strongly enough for a common aggregate; lower the strength threshold of " +
                  std::to_string(data.strength_threshold) + ".");
    }
    const Adjacency &all         = follow ? aggregations.back().aggregate_graph() : by_entries ? strong : pattern;
    const bool       by_distance = n_coordinates > 0 && data.distance_factor > 0. && !by_entries &&
                             find_short_edges(all, n_coordinates, points, data.distance_factor, strong);
    if (by_distance && A.block_rows() == 1)
    {
      // Nodes in lines: as long as aggregates of cubes are wide. Those of vectors keep their size, for coarse unknowns are six.
      const std::int64_t neighbours = (2 * strong.n_edges() + strong.n_nodes() / 2) / std::max(strong.n_nodes(), 1);
      parameters.min_aggregate_size =
          static_cast<int>(std::min<std::int64_t>(parameters.min_aggregate_size, 1 + 2 * neighbours));
    }
    const bool  stretched = by_distance && 2 * strong.n_edges() < all.n_edges();
    Aggregation next;
    next.reinit(parameters.patches || !follow ? pattern : all, all, by_distance ? strong : all, A.block_rows(),
                parameters);
    if (n_coordinates > 0)
    {
      Array<double> centroids(A.backend(), std::size_t(next.n_aggregates()) * n_coordinates);
      run(A.backend(), next.n_aggregates(),
          kernels::CentroidBody{next.aggregate_offsets().data(),
                                next.aggregate_nodes().data(),
                                {points.data(), n_coordinates},
                                centroids.data()});
      A.backend().synchronize();
      points.swap(centroids);
    }
    aggregations.push_back(std::move(next));
    const Aggregation &made = aggregations.back();
    AggregateLists lists(copy(made.aggregate_of_node()), copy(made.aggregate_offsets()), copy(made.aggregate_nodes()));
    if (stretched)
      lists.set_short_edges(std::move(strong));
    if (parameters.patches)
      lists.set_patches(copy(made.patch_offsets()), copy(made.permutation()));
    return lists;
  }

  void MISAggregation::know_points(const int dim, const Array<double> &node_points)
  {
    n_coordinates = node_points.empty() ? 0 : dim;
    points.copy_from(node_points.backend(), node_points);
  }

  AggregateLists MISAggregation::aggregate(const unsigned int level, const SlicedEllpackMatrix<double> &A)
  {
    return aggregate_level(level, A);
  }

  AggregateLists MISAggregation::aggregate(const unsigned int level, const SlicedEllpackMatrix<float> &A)
  {
    return aggregate_level(level, A);
  }
} // namespace PatchFEM
