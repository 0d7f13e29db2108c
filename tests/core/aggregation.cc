// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "lac_cases.h"

#include <patchfem/lac/graph/aggregation.h>

#include <map>
#include <numeric>
#include <set>

using namespace PatchFEM;

namespace
{
  using AggregationTest = BackendTest;
  PATCHFEM_INSTANTIATE_BACKENDS(AggregationTest);

  using Data = Aggregation::AdditionalData;

  Data with_limit(const std::size_t patch_bytes)
  {
    Data data;
    data.patch_bytes = patch_bytes;
    return data;
  }

  /** Everything an aggregation says, in host memory. */
  struct Result
  {
    std::vector<int> aggregate, offsets, patch, patch_aggregates, patch_offsets, permutation;
    std::vector<int> nodes; ///< by aggregate, without the isolated ones
    cases::Lists     graph;
    std::vector<int> weights;

    explicit Result(const Aggregation &a)
        : aggregate(a.aggregate_of_node().to_vector()), offsets(a.aggregate_offsets().to_vector()),
          patch(a.patch_of_aggregate().to_vector()), patch_aggregates(a.patch_aggregate_offsets().to_vector()),
          patch_offsets(a.patch_offsets().to_vector()), permutation(a.permutation().to_vector()),
          nodes(permutation.begin(), permutation.begin() + offsets.back()), graph(cases::to_lists(a.aggregate_graph())),
          weights(a.aggregate_graph().weights().to_vector())
    {}

    bool operator==(const Result &other) const
    {
      return aggregate == other.aggregate && offsets == other.offsets && patch == other.patch &&
             patch_aggregates == other.patch_aggregates && patch_offsets == other.patch_offsets &&
             permutation == other.permutation && graph == other.graph && weights == other.weights;
    }
  };

  Aggregation aggregate(const Backend &backend, const cases::Lists &lists, const Data &data, const int block_size = 1)
  {
    const Adjacency graph = cases::to_adjacency(backend, lists);
    Aggregation     result;
    result.reinit({graph, graph, graph}, block_size, data);
    return result;
  }

  std::vector<int> iota(const int n)
  {
    std::vector<int> result(n);
    std::iota(result.begin(), result.end(), 0);
    return result;
  }

  /** Nodes reached from nodes[0] inside of @p nodes. */
  std::size_t reached_inside(const cases::Lists &lists, const std::vector<int> &nodes)
  {
    const std::set<int> inside(nodes.begin(), nodes.end());
    std::set<int>       seen{nodes[0]};
    std::vector<int>    stack{nodes[0]};
    while (!stack.empty())
    {
      const int i = stack.back();
      stack.pop_back();
      for (const int j : lists[i])
        if (inside.count(j) != 0 && seen.insert(j).second)
          stack.push_back(j);
    }
    return seen.size();
  }

  /** Layer by layer nodes without an aggregate join the one with most of their neighbours, the lowest if several. */
  void grow(const cases::Lists &lists, std::vector<int> &aggregate)
  {
    for (std::vector<int> before; before != aggregate;)
    {
      before = aggregate;
      for (std::size_t i = 0; i < lists.size(); ++i)
        if (before[i] < 0)
        {
          std::map<int, int> touched;
          for (const int j : lists[i])
            if (before[j] >= 0)
              ++touched[before[j]];
          int most = 0;
          for (const auto &[a, count] : touched)
            if (count > most)
            {
              most         = count;
              aggregate[i] = a;
            }
        }
    }
  }

  /** Leaves of each aggregate the node with most neighbours in it, the lowest if several. */
  void keep_centres(const cases::Lists &lists, const int n_aggregates, std::vector<int> &aggregate)
  {
    std::vector<int> centre(n_aggregates, -1), most(n_aggregates, -1);
    for (std::size_t i = 0; i < lists.size(); ++i)
    {
      int inside = 0;
      for (const int j : lists[i])
        inside += aggregate[i] >= 0 && aggregate[j] == aggregate[i];
      if (aggregate[i] >= 0 && inside > most[aggregate[i]])
      {
        most[aggregate[i]]   = inside;
        centre[aggregate[i]] = static_cast<int>(i);
      }
    }
    aggregate.assign(lists.size(), -1);
    for (int a = 0; a < n_aggregates; ++a)
      aggregate[centre[a]] = a;
  }

  /** All that holds for every graph; @p edge_weights are those of the edges of @p lists, 1 if there are none. */
  void check_partition(const std::string  &name,
                       const cases::Lists &lists,
                       const Aggregation  &aggregation,
                       const Data         &data,
                       const int           block_size,
                       std::vector<int>    edge_weights = {})
  {
    SCOPED_TRACE(name);
    const Result r(aggregation);
    const auto  &stats = aggregation.statistics();
    const int    n = static_cast<int>(lists.size()), n_aggregates = aggregation.n_aggregates();
    ASSERT_EQ(aggregation.n_nodes(), n);
    ASSERT_EQ(r.aggregate.size(), lists.size());
    ASSERT_EQ(r.offsets.size(), std::size_t(n_aggregates) + 1);
    ASSERT_EQ(r.patch_offsets.size(), std::size_t(aggregation.n_patches()) + 1);
    ASSERT_EQ(r.patch_aggregates.size(), std::size_t(aggregation.n_patches()) + 1);
    ASSERT_EQ(r.patch.size(), std::size_t(n_aggregates));

    // Nodes with neighbours, and no others, are in one aggregate, which lists them in ascending order.
    std::vector<std::vector<int>> members(n_aggregates);
    for (int i = 0; i < n; ++i)
    {
      ASSERT_EQ(r.aggregate[i] < 0, lists[i].empty()) << "node " << i;
      ASSERT_TRUE(r.aggregate[i] >= -1 && r.aggregate[i] < n_aggregates);
      if (r.aggregate[i] >= 0)
        members[r.aggregate[i]].push_back(i);
    }
    std::vector<int> expected_nodes, expected_offsets{0};
    for (const std::vector<int> &nodes : members)
    {
      ASSERT_FALSE(nodes.empty());
      ASSERT_EQ(reached_inside(lists, nodes), nodes.size()) << "an aggregate is not connected";
      expected_nodes.insert(expected_nodes.end(), nodes.begin(), nodes.end());
      expected_offsets.push_back(expected_nodes.size());
    }
    ASSERT_EQ(r.nodes, expected_nodes);
    ASSERT_EQ(r.offsets, expected_offsets);

    // Edges between aggregates and inside.
    std::vector<std::map<int, int>> between(n_aggregates), weights_between(n_aggregates);
    std::vector<std::int64_t>       inside(n_aggregates, 0);
    auto                            weight_of_edge = edge_weights.begin();
    for (int i = 0; i < n; ++i)
      for (const int j : lists[i])
      {
        const int weight = edge_weights.empty() ? 1 : *weight_of_edge++;
        if (r.aggregate[i] == r.aggregate[j])
          ++inside[r.aggregate[i]];
        else
        {
          ++between[r.aggregate[i]][r.aggregate[j]];
          weights_between[r.aggregate[i]][r.aggregate[j]] += weight;
        }
      }
    cases::Lists     expected_graph(n_aggregates);
    std::vector<int> expected_weights;
    for (int a = 0; a < n_aggregates; ++a)
    {
      for (const auto &[neighbour, weight] : weights_between[a])
      {
        expected_graph[a].push_back(neighbour);
        expected_weights.push_back(weight);
      }
      // A small aggregate is a whole component.
      ASSERT_TRUE(static_cast<int>(members[a].size()) >= data.min_aggregate_size || between[a].empty())
          << "aggregate " << a << " has " << members[a].size() << " nodes";
    }
    ASSERT_EQ(r.graph, expected_graph);
    ASSERT_EQ(r.weights, expected_weights);

    // Patches hold whole aggregates in their order and stay within the limit.
    ASSERT_TRUE(std::is_sorted(r.patch.begin(), r.patch.end()));
    std::int64_t edges = 0, cut_by_aggregates = 0, cut_by_patches = 0, most_bytes = 0, all_bytes = 0;
    int          first = 0;
    for (int p = 0; p < aggregation.n_patches(); ++p)
    {
      ASSERT_EQ(r.patch_aggregates[p], first);
      ASSERT_EQ(r.patch_offsets[p], r.offsets[first]);
      const std::int64_t block = std::int64_t(block_size) * block_size * data.bytes_per_value + 2;
      std::int64_t       pairs = 0, bytes = 0;
      int                end = first;
      for (; end < n_aggregates && r.patch[end] == p; ++end)
      {
        bytes += block * static_cast<std::int64_t>(members[end].size());
        pairs += inside[end];
        edges += inside[end];
        for (const auto &[neighbour, weight] : between[end])
        {
          pairs += r.patch[neighbour] == p ? weight : 0;
          cut_by_patches += r.patch[neighbour] == p ? 0 : weight;
          cut_by_aggregates += weight;
        }
      }
      ASSERT_GT(end, first) << "patch " << p << " is empty";
      bytes += pairs * block;
      ASSERT_TRUE(bytes <= std::int64_t(data.patch_bytes) || end == first + 1) << bytes << " bytes in patch " << p;
      most_bytes = std::max(most_bytes, bytes);
      all_bytes += bytes;
      first = end;
    }
    ASSERT_EQ(first, n_aggregates);
    ASSERT_EQ(r.patch_aggregates.back(), n_aggregates);
    ASSERT_EQ(r.patch_offsets.back(), r.offsets.back());

    // Isolated nodes come after the others.
    for (int i = 0; i < n; ++i)
      if (lists[i].empty())
        expected_nodes.push_back(i);
    ASSERT_EQ(r.permutation, expected_nodes);

    ASSERT_EQ(stats.n_nodes, n);
    ASSERT_EQ(stats.n_isolated, n - r.offsets.back());
    ASSERT_EQ(stats.cut_by_aggregates, cut_by_aggregates / 2);
    ASSERT_EQ(stats.cut_by_patches, cut_by_patches / 2);
    ASSERT_EQ(stats.n_edges, (edges + cut_by_aggregates) / 2);
    ASSERT_EQ(stats.largest_patch_bytes, most_bytes);
    if (n_aggregates > 0)
    {
      std::size_t least = n, most = 0;
      for (const std::vector<int> &nodes : members)
      {
        least = std::min(least, nodes.size());
        most  = std::max(most, nodes.size());
      }
      ASSERT_EQ(stats.nodes_per_aggregate.minimum, static_cast<int>(least));
      ASSERT_EQ(stats.nodes_per_aggregate.maximum, static_cast<int>(most));
      ASSERT_DOUBLE_EQ(stats.ratio, double(r.offsets.back()) / n_aggregates);
      ASSERT_DOUBLE_EQ(stats.mean_patch_bytes, double(all_bytes) / stats.n_patches);
    }
  }
} // namespace

TEST_P(AggregationTest, CliquesAndIsolatedNodesByEye)
{
  // Node 0 and node 11 couple with nothing, 1..10 and 12..23 with all of their own.
  const cases::Lists lists = cases::beside(cases::beside(cases::Lists(1), cases::complete(10)),
                                           cases::beside(cases::Lists(1), cases::complete(12)));
  const Result       r(aggregate(backend(), lists, Data()));
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(r.aggregate[i], i == 0 || i == 11 ? -1 : (i < 11 ? 0 : 1));
  EXPECT_EQ(r.offsets, (std::vector<int>{0, 10, 22}));
  EXPECT_EQ(r.patch, (std::vector<int>{0, 1}));
  std::vector<int> order = iota(24);
  order.erase(order.begin() + 11);
  order.erase(order.begin());
  EXPECT_EQ(r.nodes, order);
  order.push_back(0);
  order.push_back(11);
  EXPECT_EQ(r.permutation, order);
  EXPECT_EQ(r.graph, cases::Lists(2));
}

TEST_P(AggregationTest, TinyGraphsByEye)
{
  // A component that is too small for an aggregate is one all the same.
  for (const int n : {2, 3, 5})
  {
    const Aggregation a = aggregate(backend(), cases::path(n), Data());
    const Result      r(a);
    EXPECT_EQ(r.aggregate, std::vector<int>(n, 0));
    EXPECT_EQ(r.permutation, iota(n));
    EXPECT_EQ(r.patch_offsets, (std::vector<int>{0, n}));
    // n diagonal values and 2 (n - 1) others of 4 bytes with columns of 2.
    EXPECT_EQ(a.statistics().largest_patch_bytes, 6 * (n + 2 * (n - 1)));
  }
  for (const int n : {0, 1, 70})
  {
    const Aggregation a = aggregate(backend(), cases::Lists(n), Data());
    const Result      r(a);
    EXPECT_EQ(a.n_aggregates(), 0);
    EXPECT_EQ(a.n_patches(), 0);
    EXPECT_EQ(r.aggregate, std::vector<int>(n, -1));
    EXPECT_EQ(r.offsets, std::vector<int>(1, 0));
    EXPECT_EQ(r.patch_offsets, std::vector<int>(1, 0));
    EXPECT_EQ(r.permutation, iota(n));
    EXPECT_EQ(a.statistics().n_isolated, n);
  }
}

TEST_P(AggregationTest, IsAPartition)
{
  // One object for all, so that what an earlier graph left behind would be seen.
  Aggregation aggregation;
  for (const auto &[name, lists] : cases::graphs())
    for (const int block_size : {1, 3})
      for (const std::size_t patch_bytes : {49152, 4000, 1})
      {
        const Data      data  = with_limit(patch_bytes);
        const Adjacency graph = cases::to_adjacency(backend(), lists);
        aggregation.reinit({graph, graph, graph}, block_size, data);
        check_partition(name + ", limit " + std::to_string(patch_bytes), lists, aggregation, data, block_size);
        if (HasFatalFailure())
          return;
      }
}

TEST_P(AggregationTest, IsAPartitionForOtherParameters)
{
  const cases::Lists lists = cases::shuffled(cases::grid(12, 12, 12, 3), 8);
  for (const int k : {1, 2, 3})
    for (const int least : {1, 9, 60})
    {
      Data data               = with_limit(20000);
      data.aggregate_distance = k;
      data.patch_distance     = k;
      data.min_aggregate_size = least;
      data.min_patch_share    = 0.1 * k;
      check_partition("k = " + std::to_string(k), lists, aggregate(backend(), lists, data, 2), data, 2);
      if (HasFatalFailure())
        return;
    }
}

// Roots from the set, then layers: who has no aggregate joins the one with most of its neighbours, the lowest if
// several. Then again from the node of each aggregate with most neighbours in it, the lowest if several.
TEST_P(AggregationTest, AggregatesGrowAroundTheIndependentSet)
{
  for (const auto &[name, lists] : cases::graphs())
    for (const int recentrings : {0, 1, 2})
    {
      Data data;
      data.min_aggregate_size = 1;
      data.recentrings        = recentrings;
      Array<int> set;
      maximal_independent_set(cases::to_adjacency(backend(), lists), 2, set);
      const std::vector<int> members = set.to_vector();
      std::vector<int>       expected(lists.size(), -1);
      int                    n_aggregates = 0;
      for (std::size_t i = 0; i < lists.size(); ++i)
        if (members[i])
          expected[i] = n_aggregates++;
      for (int round = 0; round <= recentrings; ++round)
      {
        if (round > 0)
          keep_centres(lists, n_aggregates, expected);
        grow(lists, expected);
      }

      // The same up to the numbers of aggregates, which follow the patches.
      const Result     r(aggregate(backend(), lists, data));
      std::vector<int> number(n_aggregates, -1);
      ASSERT_EQ(r.offsets.size(), std::size_t(n_aggregates) + 1) << name;
      for (std::size_t i = 0; i < lists.size(); ++i)
        if (expected[i] < 0)
          ASSERT_EQ(r.aggregate[i], -1);
        else
        {
          int &a = number[expected[i]];
          a      = a < 0 ? r.aggregate[i] : a;
          ASSERT_EQ(r.aggregate[i], a) << name << ", node " << i;
        }
    }
}

TEST_P(AggregationTest, LinesAreCutIntoShortAggregates)
{
  // 14 nodes in a line behind a plate of 9 x 9, as behind the end of a refined part of a beam.
  cases::Lists lists = cases::grid(9, 9, 1, 3);
  for (int i = 80; i < 94; ++i)
  {
    lists.resize(i + 2);
    lists[i].push_back(i + 1);
    lists[i + 1].push_back(i);
  }
  Data data;
  data.patches = false;
  EXPECT_GE(aggregate(backend(), lists, data).statistics().nodes_per_aggregate.minimum, 9);
  const auto cut = [&](const Backend &place) {
    const Adjacency           graph   = cases::to_adjacency(place, lists);
    const Array<std::int64_t> weights = cases::line_weights(graph, graph, 0, Array<double>(place, 0), 3, 9, 1.);
    Aggregation               aggregation;
    aggregation.reinit({graph, graph, graph}, 1, data, weights);
    EXPECT_THROW(aggregation.reinit({graph, graph, graph}, 1, data, Array<std::int64_t>(place, 7)), Error);
    return Result(aggregation);
  };
  const Result     result = cut(backend());
  std::vector<int> in_line(result.offsets.size() - 1, 0);
  for (int i = 81; i < 95; ++i)
    ++in_line[result.aggregate[i]];
  for (std::size_t a = 0; a < in_line.size(); ++a)
  {
    EXPECT_LE(in_line[a], 5);
    EXPECT_GE(result.offsets[a + 1] - result.offsets[a], in_line[a] > 0 ? 3 : 9);
  }
  EXPECT_EQ(cut(Backend("host")), result);
}

TEST_P(AggregationTest, IsTheSameEverywhere)
{
  for (const auto &[name, lists] : cases::graphs())
  {
    const Data   data = with_limit(9000);
    const Result expected([&, one = lists]() {
      const cases::Threads single(1);
      return aggregate(Backend("host"), one, data, 2);
    }());
    for (const int n_threads : {1, 2, 5})
    {
      const cases::Threads some(n_threads);
      ASSERT_TRUE(Result(aggregate(backend(), lists, data, 2)) == expected) << name << ", " << n_threads << " threads";
    }
  }
}

TEST_P(AggregationTest, PatchesAreFullEnough)
{
  // 8000 nodes of about 130 bytes and of 830 in blocks of 3.
  const cases::Lists lists = cases::grid(20, 20, 20, 3);
  for (const int block_size : {1, 3})
    EXPECT_GT(aggregate(backend(), lists, Data(), block_size).statistics().mean_patch_bytes, 0.6 * Data().patch_bytes);
}

TEST_P(AggregationTest, AggregatesFollowStrongNeighboursAndPatchesAllEntries)
{
  HostCSR<double> A = cases::laplacian<double>(40, 12);
  for (int row = 0; row < A.n_rows; ++row)
    for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      if (std::abs(A.columns[e] - row) == 40)
        A.values[e] = -0.001;
  Data data               = with_limit(1000);
  data.strength_threshold = 0.05;
  Aggregation sliced, csr;
  sliced.reinit(SlicedEllpackMatrix<double>(backend(), A), data);
  csr.reinit(CSRMatrix<double>(backend(), A), data);
  const Result r(sliced);
  EXPECT_TRUE(r == Result(csr));
  for (std::size_t k = 1; k < r.nodes.size(); ++k)
    EXPECT_TRUE(r.aggregate[r.nodes[k]] != r.aggregate[r.nodes[k - 1]] || r.nodes[k] == r.nodes[k - 1] + 1)
        << "an aggregate leaves its line";
  EXPECT_EQ(sliced.statistics().n_edges, 39 * 12 + 40 * 11);
  EXPECT_LE(sliced.statistics().largest_patch_bytes, 1000);
  EXPECT_LT(sliced.n_patches(), sliced.n_aggregates());

  // The same graphs by hand.
  Adjacency pattern, strong;
  pattern.reinit(SlicedEllpackMatrix<double>(backend(), A));
  strong.reinit(SlicedEllpackMatrix<double>(backend(), A), 0.05);
  csr.reinit({pattern, strong, strong}, 1, data);
  EXPECT_TRUE(r == Result(csr));
}

TEST_P(AggregationTest, EdgesAreCountedWithAndWithoutPatches)
{
  // Five edges, of which those between the aggregates of a path are one less than these.
  Data data               = with_limit(1000);
  data.min_aggregate_size = 3;
  data.patches            = false;
  const Aggregation path  = aggregate(backend(), cases::path(6), data);
  EXPECT_EQ(path.statistics().n_edges, 5);
  EXPECT_EQ(path.statistics().cut_by_aggregates, path.n_aggregates() - 1);
  EXPECT_EQ(path.statistics().ratio, 6. / path.n_aggregates());

  const cases::Lists lists = cases::grid(20, 20, 20, 3);
  const auto         alone = aggregate(backend(), lists, data).statistics();
  data.patches             = true;
  const auto with_patches  = aggregate(backend(), lists, data).statistics();
  EXPECT_GT(alone.cut_by_aggregates, 0);
  EXPECT_EQ(alone.cut_by_aggregates, with_patches.cut_by_aggregates);
  EXPECT_EQ(alone.n_edges, with_patches.n_edges);
  EXPECT_EQ(alone.cut_by_patches, 0);
}

TEST_P(AggregationTest, NextLevelFromTheGraphOfAggregates)
{
  const cases::Lists lists = cases::grid(20, 20, 20, 3);
  const Aggregation  fine  = aggregate(backend(), lists, Data());
  const Adjacency   &graph = fine.aggregate_graph();
  Aggregation        coarse;
  coarse.reinit({graph, graph, graph}, 1, Data());
  EXPECT_EQ(coarse.n_nodes(), fine.n_aggregates());
  check_partition("coarse", cases::to_lists(graph), coarse, Data(), 1, graph.weights().to_vector());
}

TEST_P(AggregationTest, ParametersOutOfRangeAreRefused)
{
  const auto refused = [&](const auto &set) {
    Data data;
    set(data);
    EXPECT_THROW(aggregate(backend(), cases::path(4), data), Error);
  };
  refused([](Data &data) { data.aggregate_distance = 0; });
  refused([](Data &data) { data.patch_distance = 0; });
  refused([](Data &data) { data.min_aggregate_size = 0; });
  refused([](Data &data) { data.recentrings = -2; });
  refused([](Data &data) { data.patch_bytes = 0; });
  refused([](Data &data) { data.min_patch_share = 1.5; });
  refused([](Data &data) { data.bytes_per_value = 0; });
  const Adjacency four = cases::to_adjacency(backend(), cases::path(4)),
                  five = cases::to_adjacency(backend(), cases::path(5));
  Aggregation aggregation;
  EXPECT_THROW(aggregation.reinit({four, five, five}, 1, Data()), Error);
}
