// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "coupling_steps.h"

/** @file The steps (see launch.h) of graph_tools.h for AggregateFit. */
namespace PatchFEM::graph_tools
{
  namespace
  {
    /// Of the largest weight of a node: it depends on nodes with at least so much, so across jumps of up to 1 : 20. Cells
    /// of a tenth 30 times as stiff take 1.4 times as many steps with aggregates of uniform material, 100 times 2.7.
    constexpr double least_dependence = 0.05;

    /// Aggregates that are looked at, at most.
    constexpr int n_samples = 512;

    /// Nodes of an aggregate are bits of a word. The few larger ones count as holding together.
    constexpr int most_nodes = 64;

    /** Calls @p use with the nodes that node @p i depends on. */
    template <typename Number>
    struct Dependences
    {
      SlicedEllpackView<Number> A;

      template <typename Use>
      PATCHFEM_INLINE void operator()(const int i, const Use &use) const
      {
        const BlockRow<Number> row(A, i);
        double                 largest = 0., least = 0.;
        for (int k = 0; k < row.length; ++k)
          if (row.column(k) != i)
          {
            const double trace = row.negative_trace(k, A.block_rows);
            largest            = std::fmax(largest, trace);
            least              = std::fmin(least, trace);
          }
        const double limit = least_dependence / no_tie * std::fmax(largest, weight_of(least, largest));
        for (int k = 0; k < row.length && limit > 0.; ++k)
          if (row.column(k) != i && weight_of(row.negative_trace(k, A.block_rows), largest) >= limit)
            use(row.column(k));
      }
    };

    /** The aggregates that are looked at, one of @p stride each. */
    struct SampledAggregates
    {
      const int *offsets, *nodes, *of_node;
      int        n_nodes, stride;

      PATCHFEM_INLINE int of(const std::int64_t sample) const
      {
        return static_cast<int>(sample * stride + static_cast<std::int64_t>(kernels::hash(sample) % stride));
      }

      /** Nodes of @p aggregate, none if they are too many. */
      PATCHFEM_INLINE int size(const int aggregate) const
      {
        const int n = offsets[aggregate + 1] - offsets[aggregate];
        return n <= most_nodes ? n : 0;
      }

      /** The bit of @p node, 0 if it is in another aggregate. */
      PATCHFEM_INLINE std::uint64_t bit(const int aggregate, const int node) const
      {
        if (node >= n_nodes || of_node[node] != aggregate)
          return 0;
        const int *const first = nodes + offsets[aggregate];
        return std::uint64_t(1) << (kernels::lower_bound(first, nodes + offsets[aggregate + 1], node) - first);
      }
    };

    /** Nodes of an aggregate that all lead to each other and to no others, and those that do not lead to these. */
    struct AggregateParts
    {
      std::uint64_t core, apart;
    };

    /** The nodes @p among all from which @p dependences, [node], lead to any of @p nodes, with these. */
    PATCHFEM_INLINE std::uint64_t
                    leading_to(std::uint64_t nodes, const std::uint64_t *dependences, const std::uint64_t among)
    {
      for (std::uint64_t before = 0; before != nodes;)
      {
        before = nodes;
        for (int p = 0; p < most_nodes && among >> p != 0; ++p)
          nodes |= (dependences[p] & nodes) != 0 ? std::uint64_t(1) << p & among : 0;
      }
      return nodes;
    }

    /** The nodes to which @p nodes lead, with these. */
    PATCHFEM_INLINE std::uint64_t
                    led_to_by(std::uint64_t nodes, const std::uint64_t *dependences, const std::uint64_t among)
    {
      for (std::uint64_t before = 0; before != nodes;)
      {
        before = nodes;
        for (int p = 0; p < most_nodes && among >> p != 0; ++p)
          nodes |= (nodes >> p & 1) != 0 ? dependences[p] & among : 0;
      }
      return nodes;
    }

    PATCHFEM_INLINE AggregateParts parts_of(const std::uint64_t *dependences, const std::uint64_t among)
    {
      // Of nodes that lead to none of these before them the last is led to by all others, if there is such a node.
      std::uint64_t seen = 0, last = 0, leading = 0;
      for (int p = 0; p < most_nodes && among >> p != 0; ++p)
        if (const std::uint64_t node = std::uint64_t(1) << p; (among & ~seen & node) != 0)
        {
          last    = node;
          leading = leading_to(node, dependences, among);
          seen |= leading;
        }
      return {led_to_by(last, dependences, among), seen & ~leading};
    }

    /** Whether there is at most one node. */
    PATCHFEM_INLINE bool is_lone(const std::uint64_t nodes)
    {
      return (nodes & (nodes - 1)) == 0;
    }
  } // namespace

  template <typename Number, typename Where>
  int count_dependences(Where, const SlicedEllpackMatrix<Number> &A, const AggregateLists &aggregates, int *counts)
  {
    const Backend            &place  = A.backend();
    const int                 stride = std::max(1, (aggregates.n_aggregates() + n_samples - 1) / n_samples);
    const std::int64_t        n      = aggregates.n_aggregates() / stride;
    const SampledAggregates   sampled{aggregates.aggregate_offsets().data(), aggregates.aggregate_nodes().data(),
                                    aggregates.aggregate_of_node().data(), A.n_rows() / A.block_rows(), stride};
    const Dependences<Number> depend{A.view()};
    Array<std::uint64_t>      inside(place, n * most_nodes);
    Array<AggregateParts>     parts(place, n);
    Array<int>                joined(place, n), ends(place, n);
    ends.set_zero();
    memory::set_zero(place, counts, 2 * sizeof(int));
    launch(place, n * most_nodes,
           [=, inside = inside.data(), ends = ends.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const int aggregate = sampled.of(i / most_nodes), p = static_cast<int>(i % most_nodes);
             if (p >= sampled.size(aggregate))
               return;
             std::uint64_t nodes  = 0;
             int           n_ends = 0;
             depend(sampled.nodes[sampled.offsets[aggregate] + p], [&](const int j) {
               nodes |= sampled.bit(aggregate, j);
               ++n_ends;
             });
             inside[i] = nodes;
             kernels::atomic_add(ends + i / most_nodes, n_ends);
           });
    launch(place, n,
           [=, inside = inside.data(), parts = parts.data(),
            joined = joined.data()] PATCHFEM_DEVICE(const std::int64_t s) {
             const std::uint64_t *const of_nodes = inside + s * most_nodes;
             const int                  size     = sampled.size(sampled.of(s));
             const std::uint64_t        all      = size > 0 ? ~std::uint64_t(0) >> (most_nodes - size) : 0;
             const AggregateParts       of       = parts_of(of_nodes, all);
             const std::uint64_t        others   = all & ~of.apart;
             parts[s]                            = of;
             joined[s] = is_lone(of.apart) || (is_lone(others) && parts_of(of_nodes, all & ~others).apart == 0);
           });
    launch(place, n * most_nodes,
           [=, parts = parts.data(), joined = joined.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const std::int64_t   s = i / most_nodes, p = i % most_nodes;
             const AggregateParts of = parts[s];
             if (of.apart == 0 || (of.core >> p & 1) == 0)
               return;
             const int aggregate = sampled.of(s);
             depend(sampled.nodes[sampled.offsets[aggregate] + p], [&](const int j) {
               if (j < sampled.n_nodes && sampled.of_node[j] != aggregate)
                 depend(j, [&](const int k) {
                   if ((sampled.bit(aggregate, k) & of.apart) != 0)
                     raise_flag(joined + s);
                 });
             });
           });
    launch(place, n, [=, joined = joined.data(), ends = ends.data()] PATCHFEM_DEVICE(const std::int64_t s) {
      if (joined[s] == 0)
        kernels::atomic_increment(counts);
      kernels::atomic_add(counts + 1, ends[s]);
    });
    return static_cast<int>(n);
  }

#define INSTANTIATE(Number) \
  template int count_dependences(Here, const SlicedEllpackMatrix<Number> &, const AggregateLists &, int *)
  INSTANTIATE(float);
  INSTANTIATE(double);
#undef INSTANTIATE
} // namespace PatchFEM::graph_tools
