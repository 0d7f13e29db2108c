// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/mis_aggregation.h>

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
    Aggregation next;
    if (level == 0)
    {
      next.reinit(A, parameters);
      if (next.n_aggregates() == 0 && data.strength_threshold > 0.)
      {
        Adjacency pattern;
        pattern.reinit(A);
        require(pattern.n_edges() == 0,
                "no two nodes are coupled strongly enough for a common aggregate; lower the strength threshold of " +
                    std::to_string(data.strength_threshold) + ".");
      }
    }
    else
    {
      const Adjacency &above  = aggregations.back().aggregate_graph();
      const bool       follow = above.n_edges() > 0;
      Adjacency        pattern;
      if (parameters.patches || !follow)
        pattern.reinit(A);
      next.reinit(parameters.patches || !follow ? pattern : above, follow ? above : pattern, A.block_rows(),
                  parameters);
    }
    aggregations.push_back(std::move(next));
    const Aggregation &made = aggregations.back();
    AggregateLists lists(copy(made.aggregate_of_node()), copy(made.aggregate_offsets()), copy(made.aggregate_nodes()));
    if (parameters.patches)
      lists.set_patches(copy(made.patch_offsets()), copy(made.permutation()));
    return lists;
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
