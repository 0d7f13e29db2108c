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
    data.bytes_per_value = sizeof(Number);
    Aggregation next;
    if (level == 0)
      next.reinit(A, data);
    else
    {
      const Adjacency &above = aggregations.back().aggregate_graph();
      Adjacency        pattern;
      // The pattern says how much patches take; without them it is only needed in place of a graph without edges.
      if (data.make_patches || above.n_edges() == 0)
        pattern.reinit(A);
      const Adjacency &strong = above.n_edges() > 0 ? above : pattern;
      next.reinit(data.make_patches ? pattern : strong, strong, A.block_rows(), data);
    }
    aggregations.push_back(std::move(next));
    const Aggregation &made = aggregations.back();
    AggregateLists lists(copy(made.aggregate_of_node()), copy(made.aggregate_offsets()), copy(made.aggregate_nodes()));
    if (data.make_patches)
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
