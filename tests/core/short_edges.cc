// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "multigrid_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>

#include <map>
#include <set>

using namespace PatchFEM;

/** What positions of nodes change: the edges along which aggregates grow. */
class ShortEdgesTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(ShortEdgesTest);

namespace
{
  using cases::Lists;

  /** [node][dim] of a grid with spacings @p h. */
  std::vector<double> positions(const int nx, const int ny, const int nz, const int dim, const std::vector<double> &h)
  {
    std::vector<double> points;
    for (int i = 0; i < nx * ny * nz; ++i)
    {
      const double x[] = {double(i % nx), double(i / nx % ny), double(i / nx / ny)};
      for (int d = 0; d < dim; ++d)
        points.push_back(h[d] * x[d]);
    }
    return points;
  }

  double squared_distance(const std::vector<double> &points, const int dim, const int i, const int j)
  {
    double sum = 0.;
    for (int d = 0; d < dim; ++d)
      sum += (points[i * dim + d] - points[j * dim + d]) * (points[i * dim + d] - points[j * dim + d]);
    return sum;
  }

  struct Kept
  {
    Lists            lists;
    std::vector<int> weights;
    int n_stretched = 0; ///< nodes with most of their neighbours farther away than factor times the nearest

    /** Whether edges are to be left out of @p graph. */
    bool fewer_than(const Lists &graph) const;
  };

  /** The definition in plain loops; without @p weights all edges weigh 1. */
  Kept reference(const Lists               &graph,
                 const std::vector<int>    &weights,
                 const int                  dim,
                 const std::vector<double> &points,
                 const double               factor)
  {
    std::vector<double> least(graph.size(), 0.);
    for (std::size_t i = 0; i < graph.size(); ++i)
      for (std::size_t k = 0; k < graph[i].size(); ++k)
      {
        const double d = squared_distance(points, dim, i, graph[i][k]);
        least[i]       = k == 0 ? d : std::min(least[i], d);
      }
    // A node that has near neighbours only by way of its neighbours reaches no farther than these.
    std::vector<double> reach = least;
    for (std::size_t i = 0; i < graph.size(); ++i)
    {
      double smallest = least[i];
      for (const int j : graph[i])
        smallest = std::min(smallest, least[j]);
      if (least[i] > 9. * smallest)
        reach[i] = smallest;
    }
    Kept result;
    result.lists.resize(graph.size());
    std::size_t e = 0;
    for (std::size_t i = 0; i < graph.size(); ++i)
    {
      std::size_t n_near = 0;
      for (const int j : graph[i])
      {
        const int weight = weights.empty() ? 1 : weights[e];
        ++e;
        n_near += squared_distance(points, dim, i, j) <= factor * factor * least[i];
        if (squared_distance(points, dim, i, j) <= factor * factor * std::max(reach[i], reach[j]))
        {
          result.lists[i].push_back(j);
          result.weights.push_back(weight);
        }
      }
      result.n_stretched += 2 * n_near < graph[i].size();
    }
    return result;
  }

  std::size_t n_entries(const Lists &graph)
  {
    std::size_t n = 0;
    for (const std::vector<int> &row : graph)
      n += row.size();
    return n;
  }

  bool Kept::fewer_than(const Lists &graph) const
  {
    return n_entries(lists) < n_entries(graph) && n_stretched >= 0.05 * static_cast<double>(graph.size());
  }

  /** A matrix of the pattern of @p graph, in blocks. */
  HostCSR<double> matrix_of(const Lists &graph, const int block_size)
  {
    HostCSR<double> pattern;
    pattern.n_rows = pattern.n_columns = static_cast<int>(graph.size());
    pattern.row_offsets.push_back(0);
    for (std::size_t i = 0; i < graph.size(); ++i)
    {
      std::vector<int> row = graph[i];
      row.insert(std::lower_bound(row.begin(), row.end(), int(i)), int(i));
      pattern.columns.insert(pattern.columns.end(), row.begin(), row.end());
      pattern.row_offsets.push_back(pattern.columns.size());
    }
    return cases::expand<double>(pattern, block_size, block_size, 3);
  }

  /** One of an operator that is the same in all directions: couplings 1 / d^2 along the axes, and hardly any others. */
  HostCSR<double>
  isotropic_matrix(const Lists &graph, const int block_size, const int dim, const std::vector<double> &points)
  {
    const int       n = static_cast<int>(graph.size()) * block_size;
    HostCSR<double> result{n, n, {0}, {}, {}};
    for (int unknown = 0; unknown < n; ++unknown)
    {
      const int                           i = unknown / block_size, a = unknown % block_size;
      std::vector<std::pair<int, double>> row(1, {unknown, 1.});
      for (const int j : graph[i])
      {
        int n_different = 0;
        for (int d = 0; d < dim; ++d)
          n_different += points[i * dim + d] != points[j * dim + d];
        row.emplace_back(j * block_size + a, (n_different == 1 ? -1. : -1e-9) / squared_distance(points, dim, i, j));
        row[0].second -= row.back().second;
      }
      std::sort(row.begin(), row.end());
      result.append_row(row);
    }
    return result;
  }

  /** Aggregates of the first two levels, whose coarse matrix couples all neighbours alike. */
  struct TwoLevels
  {
    std::vector<int>            fine, coarse;
    int                         n_fine = 0, n_coarse = 0;
    MISAggregation              aggregation;
    SlicedEllpackMatrix<double> matrix;

    TwoLevels(const Backend             &backend,
              const Lists               &graph,
              const int                  block_size,
              const int                  dim,
              const std::vector<double> &points)
    {
      Aggregation::AdditionalData data;
      data.patches  = false;
      data.strength = Aggregation::Strength::distances;
      aggregation   = MISAggregation(data);
      matrix.reinit(backend, isotropic_matrix(graph, block_size, dim, points), block_size, block_size);
      aggregation.know_points(dim, Array<double>(backend, points));
      fine                          = aggregation.aggregate(0, matrix).aggregate_of_node().to_vector();
      n_fine                        = aggregation.levels()[0].n_aggregates();
      HostCSR<double> coarse_matrix = matrix_of(cases::to_lists(aggregation.levels()[0].aggregate_graph()), block_size);
      std::fill(coarse_matrix.values.begin(), coarse_matrix.values.end(), 1.);
      const SlicedEllpackMatrix<double> place(backend, coarse_matrix, block_size);
      coarse   = aggregation.aggregate(1, place).aggregate_of_node().to_vector();
      n_coarse = aggregation.levels()[1].n_aggregates();
    }
  };
} // namespace

TEST_P(ShortEdgesTest, StretchedGridByEye)
{
  // 3 x 3 nodes, 3 apart in x and 1 in y: columns of the grid are left. Weights are the numbers of the edges.
  for (const int dim : {2, 3})
  {
    const Lists      lists = cases::grid(3, 3, 1, 1);
    Adjacency        graph = cases::to_adjacency(backend(), lists), result;
    std::vector<int> weights(n_entries(lists));
    for (std::size_t e = 0; e < weights.size(); ++e)
      weights[e] = 100 + static_cast<int>(e);
    graph.set_weights(Array<int>(backend(), weights));
    const Array<double> points(backend(), positions(3, 3, 1, dim, {3., 1., 1.}));
    ASSERT_TRUE(find_short_edges(graph, dim, points, 2., result));
    EXPECT_EQ(cases::to_lists(result), (Lists{{3}, {4}, {5}, {0, 6}, {1, 7}, {2, 8}, {3}, {4}, {5}}));
    // The neighbours of node 0 are 1, 3, those of 1 are 0, 2, 4, of 2: 1, 5; of 3: 0, 4, 6; and so on.
    EXPECT_EQ(result.weights().to_vector(),
              (std::vector<int>{101, 104, 106, 107, 109, 110, 113, 114, 116, 117, 119, 122}));
    // As long as three times the shortest they stay, too.
    Adjacency untouched;
    EXPECT_FALSE(find_short_edges(graph, dim, points, 3., untouched));
  }
}

namespace
{
  /** Couplings of a grid: entry(dx, dy) of neighbours, dx and dy in {-1, 0, 1}, and the diagonal of rows without sum. */
  template <typename Entry>
  HostCSR<double> grid_matrix(const int n, const Entry &entry)
  {
    HostCSR<double> result{n * n, n * n, {0}, {}, {}};
    for (int i = 0; i < n * n; ++i)
    {
      std::vector<std::pair<int, double>> row;
      double                              sum = 0.;
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
        {
          const int x = i % n + dx, y = i / n + dy;
          if (x < 0 || x >= n || y < 0 || y >= n || (dx == 0 && dy == 0) || entry(dx, dy) == 0.)
            continue;
          row.emplace_back(y * n + x, entry(dx, dy));
          sum += std::abs(entry(dx, dy));
        }
      row.emplace_back(i, sum);
      std::sort(row.begin(), row.end());
      result.append_row(row);
    }
    return result;
  }
} // namespace

TEST_P(ShortEdgesTest, MetricsByEye)
{
  const Array<double> points(backend(), positions(3, 3, 1, 2, {1., 1.}));
  const auto          metrics = [&](const auto &entry, const std::int64_t expected) {
    SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(3, entry));
    std::int64_t                n      = -1;
    const std::vector<double>   result = cases::with_metric(matrix, 2, points, n).to_vector();
    EXPECT_EQ(n, expected);
    EXPECT_EQ(result.size(), 45u);
    return std::vector<double>(result.begin() + 20, result.begin() + 25); // of the node in the middle
  };
  const auto near = [](const std::vector<double> &a, const std::vector<double> &b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], 1e-10) << i;
  };
  // Couplings of K = diag(1, 1 / 100), of K = 1, and of so little that it does not count. Neighbours of the
  // middle, which are of the boundary, have its metric.
  near(metrics([](const int dx, const int dy) { return dx * dy != 0 ? 0.
                                                       : dx != 0    ? -1.
                                                                    : -.01; }, 5),
       {1., 1., 1., 0., 100.});
  near(metrics([](const int dx, const int dy) { return dx * dy != 0 ? 0. : -1.; }, 0), {1., 1., 1., 0., 1.});
  near(metrics([](const int dx, const int dy) { return dx * dy != 0 ? 0.
                                                       : dx != 0    ? -1.
                                                                    : -.6; }, 0),
       {1., 1., 1., 0., 1.});
  // Turned by 45 degrees: 1 along (1, 1) and 1 / 100 along (1, -1).
  near(metrics([](const int dx, const int dy) { return dx * dy == 0  ? 0.
                                                       : dx * dy > 0 ? -1.
                                                                     : -.01; }, 5),
       {1., 1., 50.5, -49.5, 50.5});
}

TEST_P(ShortEdgesTest, AggregatesFollowStrongCouplings)
{
  constexpr int  n = 12;
  MISAggregation aggregation;
  aggregation.know_points(2, Array<double>(backend(), positions(n, n, 1, 2, {1., 1.})));
  const SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(n, [](const int dx, const int dy) {
                                             return dx * dy != 0 ? 0. : dx != 0 ? -1. : -1e-3;
                                           }));
  const AggregateLists              lists     = aggregation.aggregate(0, matrix);
  const std::vector<int>            aggregate = lists.aggregate_of_node().to_vector();
  std::map<int, std::set<int>>      lines;
  for (int i = 0; i < n * n; ++i)
    lines[aggregate[i]].insert(i / n);
  EXPECT_TRUE(lists.stretched());
  EXPECT_LE(2 * lines.size(), aggregate.size());
  for (const auto &[number, its] : lines)
    EXPECT_EQ(its.size(), 1u) << number;
}

TEST_P(ShortEdgesTest, CubesKeepAll)
{
  const Lists         lists = cases::grid(5, 4, 6, 3);
  const Adjacency     graph = cases::to_adjacency(backend(), lists);
  const Array<double> points(backend(), positions(5, 4, 6, 3, {0.1, 0.1, 0.1}));
  Adjacency           result = cases::to_adjacency(backend(), cases::path(7));
  EXPECT_FALSE(find_short_edges(graph, 3, points, 2., result));
  EXPECT_EQ(cases::to_lists(result), cases::path(7)) << "the result was touched";
  EXPECT_FALSE(find_short_edges(graph, 3, points, 1.74, result));
  // Without the diagonals of cubes nodes still have most of their neighbours, so these stay, too; with those of faces gone
  // they have 6 of 26, the nearest, and then none.
  const Array<double> unit(backend(), positions(5, 4, 6, 3, {1., 1., 1.}));
  EXPECT_FALSE(find_short_edges(graph, 3, unit, 1.73, result));
  ASSERT_TRUE(find_short_edges(graph, 3, unit, 1.41, result));
  EXPECT_EQ(cases::to_lists(result), cases::grid(5, 4, 6, 1));
  ASSERT_TRUE(find_short_edges(graph, 3, unit, 1., result));
  EXPECT_EQ(cases::to_lists(result), cases::grid(5, 4, 6, 1));
  ASSERT_TRUE(find_short_edges(graph, 3, unit, 0.99, result));
  EXPECT_EQ(cases::to_lists(result), Lists(120));
}

TEST_P(ShortEdgesTest, NodesOfLinesCountByEye)
{
  // Six nodes in a line, one apart, and nodes 6 to 9 beside the first four of them, 5, 10, 20 and 8 away: 3, 6, 12 and 4.8
  // nodes would be enough, which 4 and 9 bound. Nodes 4 and 5 have no long edge, 6 to 9 no short one.
  Lists               all{{1, 6}, {0, 2, 7}, {1, 3, 8}, {2, 4, 9}, {3, 5}, {4}, {0}, {1}, {2}, {3}};
  Lists               shorts{{1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4}, {}, {}, {}, {}};
  const Array<double> points(
      backend(), std::vector<double>{0., 0., 0., 1., 0., 2., 0., 3., 0., 4., 0., 5., 5., 0., 10., 1., 20., 2., 8., 3.});
  const auto weights = [&]() {
    return cases::line_weights(cases::to_adjacency(backend(), all), cases::to_adjacency(backend(), shorts), 2, points,
                               4, 9, 0.6)
        .to_vector();
  };
  // 12 * 9 over 4, 6, 9, 5, 4, 4 nodes, rounded up.
  EXPECT_EQ(weights(), (std::vector<std::int64_t>{27, 18, 12, 22, 27, 27, 12, 12, 12, 12}));
  // A third short edge, and neither a node nor its neighbours are of a line.
  shorts[1].push_back(7);
  EXPECT_EQ(weights(), (std::vector<std::int64_t>{12, 12, 12, 22, 27, 27, 12, 12, 12, 12}));
}

TEST_P(ShortEdgesTest, NodesOfLinesCountTheSameEverywhere)
{
  std::vector<double> points = positions(13, 11, 17, 3, {1., 1., 0.06});
  for (std::size_t i = 0; i < points.size(); i += 3)
    points[i + 2] *= 1. + 2. * points[i + 2]; // layers that grow
  const auto weights = [&](const Backend &place) {
    const Adjacency     all = cases::to_adjacency(place, cases::grid(13, 11, 17, 3));
    const Array<double> at(place, points);
    Adjacency           shorts;
    EXPECT_TRUE(find_short_edges(all, 3, at, 2., shorts));
    return cases::line_weights(all, shorts, 3, at, 4, 9, 0.6).to_vector();
  };
  const std::vector<std::int64_t> expected = weights(Backend("host"));
  EXPECT_GT(std::set<std::int64_t>(expected.begin(), expected.end()).size(), 2u);
  EXPECT_EQ(weights(backend()), expected);
}

TEST_P(ShortEdgesTest, TheLongerNeighbourDecides)
{
  // Gaps of 1, 3, 9, 27: each is the least of the node after it, so all are short.
  const Adjacency     graph = cases::to_adjacency(backend(), cases::grid(5, 1, 1, 1));
  const Array<double> points(backend(), std::vector<double>{0., 1., 4., 13., 40.});
  Adjacency           result;
  EXPECT_FALSE(find_short_edges(graph, 1, points, 3., result));
  EXPECT_FALSE(find_short_edges(graph, 1, points, 1., result));
  // Between two close pairs the gap of 10 is long for all.
  const Adjacency     four = cases::to_adjacency(backend(), cases::complete(4));
  const Array<double> pairs(backend(), std::vector<double>{0., 1., 11., 12.});
  ASSERT_TRUE(find_short_edges(four, 1, pairs, 9.9, result));
  EXPECT_EQ(cases::to_lists(result), (Lists{{1}, {0}, {3}, {2}}));
  ASSERT_TRUE(find_short_edges(four, 1, pairs, 10., result));
  EXPECT_EQ(cases::to_lists(result), (Lists{{1}, {0, 2}, {1, 3}, {2}})) << "a tie is short";
  // Nodes at one place are near each other, whatever the factor, and all others are far.
  const Array<double> double_nodes(backend(), std::vector<double>{0., 0., 1., 1.});
  ASSERT_TRUE(find_short_edges(four, 1, double_nodes, 2., result));
  EXPECT_EQ(cases::to_lists(result), (Lists{{1}, {0}, {3}, {2}}));
}

TEST_P(ShortEdgesTest, FewStretchedCellsAreNoReason)
{
  // The pairs of above, beside a grid: four nodes of 68 have most neighbours far away, or of 129.
  for (const int n : {4, 5})
  {
    const Lists         lists  = cases::beside(cases::grid(n, n, n, 3), cases::complete(4));
    std::vector<double> points = positions(n, n, n, 3, {1., 1., 1.});
    for (const double x : {0., 1., 11., 12.})
      points.insert(points.end(), {x, -100., 0.});
    Adjacency  result;
    const bool found =
        find_short_edges(cases::to_adjacency(backend(), lists), 3, Array<double>(backend(), points), 2., result);
    EXPECT_EQ(found, n == 4);
    if (found)
    {
      EXPECT_EQ(cases::to_lists(result),
                cases::beside(cases::grid(n, n, n, 3), cases::beside(cases::path(2), cases::path(2))));
    }
  }
}

TEST_P(ShortEdgesTest, SomeOfManyNodesTell)
{
  // So many that only groups of them are looked at first: columns of cells 10 : 1 in a grid of squares, some 6 and 3 %.
  constexpr int   n = 260, m = 256;
  const Adjacency graph = cases::to_adjacency(backend(), cases::grid(n, m, 1, 2));
  for (const int n_stretched : {16, 8})
  {
    std::vector<double> points;
    for (int i = 0; i < n * m; ++i)
    {
      const int x = i % n, left = std::min(x, n_stretched);
      points.insert(points.end(), {10. * left + (x - left), double(i / n)});
    }
    Adjacency result;
    EXPECT_EQ(find_short_edges(graph, 2, Array<double>(backend(), points), 2., result), n_stretched == 16);
  }
}

TEST_P(ShortEdgesTest, AgreesWithPlainLoops)
{
  for (const auto &[name, lists] : cases::graphs())
    for (const int dim : {2, 3})
    {
      const int                 n      = static_cast<int>(lists.size());
      const std::vector<double> points = cases::random_values(std::size_t(n) * dim, 21 + dim);
      std::vector<int>          weights(n_entries(lists));
      for (std::size_t e = 0; e < weights.size(); ++e)
        weights[e] = 1 + static_cast<int>(e * 7919 % 1000);
      for (const double factor : {0.5, 1., 1.3, 2., 1000.})
      {
        SCOPED_TRACE(name + ", dimension " + std::to_string(dim) + ", factor " + std::to_string(factor));
        Adjacency graph = cases::to_adjacency(backend(), lists), result;
        graph.set_weights(Array<int>(backend(), weights));
        const Kept expected = reference(lists, weights, dim, points, factor);
        const bool fewer    = expected.fewer_than(lists);
        ASSERT_EQ(find_short_edges(graph, dim, Array<double>(backend(), points), factor, result), fewer);
        if (fewer)
        {
          ASSERT_EQ(cases::to_lists(result), expected.lists);
          ASSERT_EQ(result.weights().to_vector(), expected.weights);
        }
      }
    }
}

TEST_P(ShortEdgesTest, AgreesWithPlainLoopsOnAMesh)
{
  // A grid that is finer towards x = 0, with cells from needles to plates; spacings are powers of two, so ties are exact.
  const Lists         lists = cases::grid(17, 16, 15, 3);
  std::vector<double> points;
  for (int i = 0; i < 17 * 16 * 15; ++i)
    points.insert(points.end(), {std::ldexp(1., i % 17 - 8), 4. * (i / 17 % 16), 0.5 * (i / 17 / 16)});
  for (const double factor : {1., 2., 4.})
  {
    const Kept expected = reference(lists, {}, 3, points, factor);
    Adjacency  result;
    ASSERT_TRUE(
        find_short_edges(cases::to_adjacency(backend(), lists), 3, Array<double>(backend(), points), factor, result));
    ASSERT_EQ(cases::to_lists(result), expected.lists);
    ASSERT_EQ(result.weights().to_vector(), expected.weights);
  }
}

TEST_P(ShortEdgesTest, PointsThatDoNotFitAreRefused)
{
  const Adjacency graph = cases::to_adjacency(backend(), cases::path(4));
  Adjacency       result;
  EXPECT_THROW(find_short_edges(graph, 2, Array<double>(backend(), std::vector<double>(9, 0.)), 2., result), Error);
}

TEST_P(ShortEdgesTest, AggregatesAreLinesAlongTheShortDirection)
{
  // Needles, whose cells couple all of their nodes.
  for (const int dim : {2, 3})
    for (const auto &[block_size, stretch] :
         std::vector<std::pair<int, double>>{{1, 10.}, {1, 40.}, {3, 10.}, {3, 40.}})
    {
      SCOPED_TRACE(std::to_string(dim) + "D, blocks of " + std::to_string(block_size) +
                   ", 1 : " + std::to_string(stretch));
      const int                 nx = 12, ny = dim == 2 ? 40 : 7, nz = dim == 2 ? 1 : 30;
      const Lists               graph = cases::grid(nx, ny, nz, 3);
      const std::vector<double> h =
          dim == 2 ? std::vector<double>{stretch, 1.} : std::vector<double>{stretch, stretch, 1.};
      const std::vector<double>     points = positions(nx, ny, nz, dim, h);
      const TwoLevels               levels(backend(), graph, block_size, dim, points);
      std::vector<std::vector<int>> members(levels.n_fine);
      for (std::size_t i = 0; i < graph.size(); ++i)
      {
        ASSERT_GE(levels.fine[i], 0);
        members[levels.fine[i]].push_back(static_cast<int>(i));
      }
      for (const std::vector<int> &nodes : members)
      {
        for (const int i : nodes)
          for (int d = 0; d + 1 < dim; ++d)
            ASSERT_EQ(points[i * dim + d], points[nodes[0] * dim + d]) << "an aggregate is not a line";
        // Nodes of a line are next to each other; those of vectors need the more, the longer cells are.
        ASSERT_GE(nodes.size(), block_size == 1 ? 3u : stretch < 20. ? 4u : 9u);
        ASSERT_DOUBLE_EQ(points[nodes.back() * dim + dim - 1] - points[nodes.front() * dim + dim - 1],
                         nodes.size() - 1.);
      }

      if (block_size > 1 && stretch < 20.)
      {
        EXPECT_LE(levels.fine.size(), 7u * levels.n_fine) << "lines of cells stretched little are as long as others";
      }

      // The second level: the graph of all edges between aggregates, of which those between near centroids count.
      std::vector<double> centroids(std::size_t(levels.n_fine) * dim, 0.);
      Lists               coarse_graph(levels.n_fine);
      for (int a = 0; a < levels.n_fine; ++a)
        for (int d = 0; d < dim; ++d)
        {
          for (const int i : members[a])
            centroids[a * dim + d] += points[i * dim + d];
          centroids[a * dim + d] /= static_cast<double>(members[a].size());
        }
      std::vector<std::map<int, int>> edges(levels.n_fine);
      for (std::size_t i = 0; i < graph.size(); ++i)
        for (const int j : graph[i])
          if (levels.fine[i] != levels.fine[j])
            ++edges[levels.fine[i]][levels.fine[j]];
      std::vector<int> weights;
      for (int a = 0; a < levels.n_fine; ++a)
        for (const auto &[other, weight] : edges[a])
        {
          coarse_graph[a].push_back(other);
          weights.push_back(weight);
        }
      Adjacency all = cases::to_adjacency(backend(), coarse_graph), strong;
      all.set_weights(Array<int>(backend(), weights));
      const Kept kept  = reference(coarse_graph, weights, dim, centroids, 2. * (dim == 2 ? 1. + 1e-6 : 1. - 1e-6));
      const bool fewer = kept.fewer_than(coarse_graph);
      if (stretch == 40.)
      {
        ASSERT_TRUE(fewer) << "lines are as long as they are far from each other";
      }
      strong = cases::to_adjacency(backend(), kept.lists);
      strong.set_weights(Array<int>(backend(), kept.weights));
      Aggregation::AdditionalData data;
      data.patches = false;
      // Smaller ones in lines of scalars, and where vectors have few neighbours without lines.
      const auto smaller = [&](const Lists &edges, const bool in_lines) {
        const int neighbours = (int(n_entries(edges)) + levels.n_fine / 2) / levels.n_fine;
        if (block_size == 1 ? in_lines && neighbours <= 2 : !in_lines && neighbours <= 4)
        {
          data.aggregate_distance = 1;
          data.min_aggregate_size = block_size == 1 ? 3 : 4;
        }
      };
      const bool in_lines = fewer && 2 * n_entries(kept.lists) < n_entries(coarse_graph);
      smaller(fewer ? kept.lists : coarse_graph, in_lines);
      const int           most  = data.min_aggregate_size;
      const Adjacency    &along = fewer ? strong : all;
      const Array<double> at(backend(), centroids);
      Aggregation         expected;
      expected.reinit({all, all, along}, block_size, data, cases::line_weights(all, along, dim, at, 3, most, 0.35));
      EXPECT_EQ(levels.coarse, expected.aggregate_of_node().to_vector());
    }
}

TEST_P(ShortEdgesTest, CubesHaveTheAggregatesTheyHaveWithoutPoints)
{
  for (const int block_size : {1, 3})
  {
    const Lists                 graph  = cases::grid(14, 13, 12, 3);
    const std::vector<double>   points = positions(14, 13, 12, 3, {0.5, 0.5, 0.5});
    MISAggregation              with, without;
    SlicedEllpackMatrix<double> matrix(backend(), matrix_of(graph, block_size), block_size);
    with.know_points(3, Array<double>(backend(), points));
    const std::vector<int> plain = without.aggregate(0, matrix).aggregate_of_node().to_vector();
    EXPECT_EQ(with.aggregate(0, matrix).aggregate_of_node().to_vector(), plain);
    EXPECT_EQ(cases::to_lists(with.levels()[0].aggregate_graph()),
              cases::to_lists(without.levels()[0].aggregate_graph()));
    // Points of a hierarchy before are forgotten, and a factor of 0 does not look at them.
    with.know_points(3, Array<double>(backend(), positions(14, 13, 12, 3, {10., 1., 1.})));
    EXPECT_NE(with.aggregate(0, matrix).aggregate_of_node().to_vector(), plain);
    with.know_points(0, Array<double>());
    EXPECT_EQ(with.aggregate(0, matrix).aggregate_of_node().to_vector(), plain);
    Aggregation::AdditionalData data;
    data.patches         = false;
    data.distance_factor = 0.;
    MISAggregation ignoring(data);
    ignoring.know_points(3, Array<double>(backend(), positions(14, 13, 12, 3, {10., 1., 1.})));
    EXPECT_EQ(ignoring.aggregate(0, matrix).aggregate_of_node().to_vector(), plain);
  }
}

TEST_P(ShortEdgesTest, SizesOutOfRangeAreRefused)
{
  const SlicedEllpackMatrix<double> matrix(backend(), matrix_of(cases::grid(3, 9, 1, 1), 3), 3);
  for (const int size : {0, -1})
  {
    Aggregation::AdditionalData data;
    data.min_aggregate_size = size;
    MISAggregation aggregation(data);
    aggregation.know_points(2, Array<double>(backend(), positions(3, 9, 1, 2, {10., 1., 1.})));
    EXPECT_THROW(aggregation.aggregate(0, matrix), Error);
  }
}

TEST_P(ShortEdgesTest, ComponentsAreAggregates)
{
  // Layers of nodes that are near each other across the layers only: what is on top of each other is an aggregate.
  for (const int block_size : {1, 3})
    for (const int layers : {2, 3})
    {
      const Lists     graph = cases::grid(11, 10, layers, 3);
      const TwoLevels levels(backend(), graph, block_size, 3, positions(11, 10, layers, 3, {10., 10., 1.}));
      ASSERT_EQ(levels.n_fine, 110);
      for (std::size_t i = 0; i < graph.size(); ++i)
        ASSERT_EQ(levels.fine[i], levels.fine[i % 110]);
      EXPECT_LE(levels.n_coarse, 40) << "where layers are one they are coarsened as any surface";
    }
}

TEST_P(ShortEdgesTest, WhatHasNoNearNeighbourWaits)
{
  // Two columns of five nodes, 10 apart, and between them a node alone, as one above hanging nodes is. All nodes of different ones are neighbours.
  std::vector<double> points;
  for (int i = 0; i < 10; ++i)
    points.insert(points.end(), {i < 5 ? 0. : 10., double(i % 5)});
  points.insert(points.end(), {5., 4.});
  Lists lists(11);
  for (int i = 0; i < 11; ++i)
    for (int j = 0; j < 11; ++j)
      if (i != j && (i / 5 != j / 5 || std::abs(i - j) == 1))
        lists[i].push_back(j);
  const Adjacency graph = cases::to_adjacency(backend(), lists);
  Adjacency       result;
  // Its nearest neighbours are 5 away, and theirs 1.
  ASSERT_TRUE(find_short_edges(graph, 2, Array<double>(backend(), points), 2., result));
  Lists expected = cases::beside(cases::path(5), cases::path(5));
  expected.emplace_back();
  EXPECT_EQ(cases::to_lists(result), expected);
  // At three times that distance it is a coarser part of the same mesh.
  points[20] = 3.;
  ASSERT_TRUE(find_short_edges(graph, 2, Array<double>(backend(), points), 2., result));
  EXPECT_EQ(cases::to_lists(result)[10], (Lists::value_type{0, 1, 2, 3, 4}));

  Aggregation::AdditionalData data;
  data.patches = false;
  Aggregation alone;
  alone.reinit({graph, graph, cases::to_adjacency(backend(), expected)}, 1, data);
  EXPECT_EQ(alone.n_aggregates(), 3) << "both columns and the node between them";
}
