// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "kernels/coarsening.h"
#include "kernels/hash.h"
#include "lac/multigrid/factorized_inverse_tools.h"
#include "lac/multigrid/multigrid_tools.h"
#include "message_of.h"
#include "multigrid_cases.h"
#include "spring_matrix.h"

#include <numeric>

#include <patchfem/lac/graph/mis_aggregation.h>

#include <map>
#include <set>

using namespace PatchFEM;
using cases::Dense;
using cases::Lists;
using cases::spring_matrix;
using cases::Springs;

/** Strength of connection by couplings: the graph, its aggregates, and the steps of multigrid that follow it. */
class CouplingsTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(CouplingsTest);

namespace
{
  using Graph = std::pair<Lists, std::vector<int>>; ///< with weights of edges

  /** Between neighbours i < j of a grid. */
  template <typename Stiffness>
  Springs grid_springs(const int nx, const int ny, const int nz, const Stiffness &k)
  {
    Springs     springs;
    const Lists graph = cases::grid(nx, ny, nz, 3);
    for (int i = 0; i < nx * ny * nz; ++i)
      for (const int j : graph[i])
        if (i < j)
          springs[{i, j}] = k(i, j);
    return springs;
  }

  Graph told(const Adjacency &graph)
  {
    return {cases::to_lists(graph), graph.weights().to_vector()};
  }

  std::size_t n_different(const std::vector<int> &values)
  {
    return std::set<int>(values.begin(), values.end()).size();
  }

  /** How many aggregates have nodes of each part, together. */
  template <typename Part>
  std::size_t n_pieces(const std::vector<int> &of_node, const Part &part)
  {
    std::set<std::pair<int, int>> pieces;
    for (std::size_t i = 0; i < of_node.size(); ++i)
      pieces.emplace(of_node[i], part(static_cast<int>(i)));
    return pieces.size();
  }
} // namespace

TEST_P(CouplingsTest, EdgesByEye)
{
  // The trace of the blocks of a spring of 1.5 is -3, and that of another sign does not count.
  const Adjacency path = cases::to_adjacency(backend(), cases::path(4));
  const Springs   springs{{{0, 1}, 1.5}, {{1, 2}, -1.5}, {{2, 3}, 2.}};
  const auto      weights = [&](const auto &A) {
    return dispatch(backend(), [&](auto where) { return graph_tools::trace_weights(where, A, path); }).to_vector();
  };
  EXPECT_EQ(weights(spring_matrix(backend(), 4, 2, springs)), (std::vector<double>{3., 3., 0., 0., 4., 4.}));
  EXPECT_EQ(weights(spring_matrix<float>(backend(), 4, 2, springs)), (std::vector<double>{3., 3., 0., 0., 4., 4.}));

  const auto strong = [&](const std::vector<double> &of_edges, const std::vector<double> &largest,
                          const double threshold) {
    return told(dispatch(backend(), [&](auto where) {
      return graph_tools::strong_edges(where, path, Array<double>(backend(), of_edges),
                                       Array<double>(backend(), largest), threshold);
    }));
  };
  const std::vector<double> of_edges{1., 1., .5, .5, 4., 4.}, largest{1., 1., 4., 4.}; // .5 / sqrt(1 * 4) = .25
  EXPECT_EQ(strong(of_edges, largest, 0.3), Graph({{1}, {0}, {3}, {2}}, {1025, 1025, 1025, 1025}));
  EXPECT_EQ(strong(of_edges, largest, 0.25), Graph(cases::path(4), {1025, 1025, 257, 257, 1025, 1025}));
  EXPECT_EQ(strong({1., 1., 0., 0., 1., 1.}, {1., 1., 1., 1.}, 0.),
            Graph(cases::path(4), {1025, 1025, 1, 1, 1025, 1025}));
  EXPECT_EQ(strong({1., 1., 0., 0., 0., 0.}, {1., 1., 0., 0.}, 0.3), Graph({{1}, {0}, {}, {}}, {1025, 1025}))
      << "no weight at all";
  EXPECT_EQ(strong({1., 1., .249, .25, 1., 1.}, {1., 1., 1., 1.}, 0.25),
            Graph(cases::path(4), {1025, 1025, 257, 257, 1025, 1025}))
      << "both ends decide alike";

  // 0 - 1 - 2 - 3 and 0 - 3; groups {0, 2} and {1}; node 3 is in none.
  const Adjacency      ring = cases::to_adjacency(backend(), {{1, 3}, {0, 2}, {1, 3}, {0, 2}});
  const AggregateLists lists(backend(), {0, 1, 0, -1});
  const Array<double>  sums = dispatch(backend(), [&](auto where) {
    return graph_tools::sums_between_groups(where, ring, Array<double>(backend(), {1., 9., 1., 2., 2., 9., 9., 9.}),
                                             lists.aggregate_offsets(), lists.aggregate_nodes(),
                                             lists.aggregate_of_node(), cases::to_adjacency(backend(), {{1}, {0}}));
  });
  EXPECT_EQ(sums.to_vector(), (std::vector<double>{3., 3.}));
}

TEST_P(CouplingsTest, ThirdNodesCloseTrianglesByEye)
{
  const auto graph = [&](const Graph &of) {
    Adjacency result = cases::to_adjacency(backend(), of.first);
    result.set_weights(Array<int>(backend(), of.second));
    return result;
  };
  // A square, whose diagonals weigh as the better way round, and a node that hangs from it.
  Lists all = cases::beside(cases::complete(4), Lists(1));
  cases::connect(all, 3, 4);
  Adjacency strong = graph({{{1, 3}, {0, 2}, {1, 3}, {0, 2}, {}}, {10, 5, 10, 20, 20, 30, 5, 30}}), across;
  dispatch(backend(), [&](auto where) {
    graph_tools::close_triangles(where, cases::to_adjacency(backend(), all), Adjacency(), strong, across);
  });
  EXPECT_EQ(told(strong),
            Graph({{1, 2, 3}, {0, 2, 3}, {0, 1, 3}, {0, 1, 2}, {}}, {10, 10, 5, 10, 20, 20, 10, 20, 30, 5, 20, 30}));
  // Of several ranks: ghost 3 joins nodes 0 and 2, and node 0 joins it to node 1.
  strong = graph({{{1}, {0}, {}}, {5, 5}});
  across = graph({{{3}, {}, {3}}, {7, 2}});
  dispatch(backend(), [&](auto where) {
    graph_tools::close_triangles(where, cases::to_adjacency(backend(), cases::complete(3)),
                                 cases::to_adjacency(backend(), {{3}, {3}, {3, 4}}), strong, across);
  });
  EXPECT_EQ(told(strong), Graph({{1, 2}, {0}, {0}}, {5, 2, 5, 2}));
  EXPECT_EQ(told(across), Graph({{3}, {3}, {3}}, {7, 5, 2}));
}

/** Inside of bricks that are stretched without limit: 1 up, 1/4 on slanted edges, 1/16 across, and 0 beside. */
TEST_P(CouplingsTest, FlatBricksHaveColumns)
{
  const Springs          springs = grid_springs(6, 5, 13, [](const int i, const int j) {
    return i / 30 == j / 30 ? 0. : (i % 6 == j % 6 ? 1. : 0.25) * (i / 6 % 5 == j / 6 % 5 ? 1. : 0.25);
  });
  CouplingAggregation    aggregation({});
  const AggregateLists   lists   = aggregation.aggregate(0, spring_matrix(backend(), 6 * 5 * 13, 3, springs));
  const std::vector<int> of_node = lists.aggregate_of_node().to_vector();
  EXPECT_EQ(n_pieces(of_node, [](const int i) { return i % 30; }), n_different(of_node));
  EXPECT_LE(n_different(of_node), 30u * 3u);
  EXPECT_EQ(told(lists.short_edges()).second.size(), 2u * 30 * 12);
}

/** Of cubes: 1 and 1/2 on diagonals, 0 on edges. Layers of 3, 3 and 2 nodes are stiff, stiff and soft, and 1 between them. */
TEST_P(CouplingsTest, AggregatesDoNotStraddleLayers)
{
  const auto layer = [](const int i) { return i / 64 / 8 * 3 + i / 64 % 8 / 3; };
  const auto even  = [](const int i, const int j) {
    const int n_steps = (i % 8 != j % 8) + (i / 8 % 8 != j / 8 % 8) + (i / 64 != j / 64);
    return n_steps == 1 ? 0. : n_steps == 2 ? 1. : 0.5;
  };
  const auto layers = [&](const int i, const int j) {
    return even(i, j) * (layer(i) == layer(j) && layer(i) % 3 < 2 ? 1e6 : 1.);
  };
  const auto lists_of = [&](const Backend &place, const auto &k, const Aggregation::Strength strength) {
    std::vector<double> points;
    for (int i = 0; i < 1024; ++i)
      points.insert(points.end(), {i % 8 * 1., i / 8 % 8 * 1., i / 64 * 1.});
    Aggregation::AdditionalData data;
    data.patches  = false;
    data.strength = strength;
    MISAggregation aggregation(data);
    aggregation.know_points(3, Array<double>(place, points));
    AggregateLists lists = aggregation.aggregate(0, spring_matrix(place, 1024, 3, grid_springs(8, 8, 16, k)));
    EXPECT_EQ(lists.by_couplings(), lists.facts().strength == "couplings");
    aggregation.aggregate(1, spring_matrix(place, lists.n_aggregates(), 6, {}));
    EXPECT_EQ(aggregation.levels().size(), 2u);
    EXPECT_EQ(aggregation.levels()[0].aggregate_of_node().to_vector(), lists.aggregate_of_node().to_vector());
    return lists;
  };
  using Strength                 = Aggregation::Strength;
  const AggregateLists   lists   = lists_of(backend(), layers, Strength::automatic);
  const std::vector<int> of_node = lists.aggregate_of_node().to_vector();
  EXPECT_TRUE(lists.by_couplings());
  EXPECT_EQ(n_pieces(of_node, layer), n_different(of_node));
  EXPECT_LT(n_different(of_node), 1024u / 8);
  EXPECT_FALSE(lists_of(backend(), even, Strength::automatic).by_couplings());
  EXPECT_TRUE(lists_of(backend(), even, Strength::couplings).by_couplings());
  EXPECT_FALSE(lists_of(backend(), layers, Strength::distances).by_couplings());
  for (const Backend &place : {backend(), Backend("host")})
  {
    const AggregateLists again = lists_of(place, layers, Strength::automatic);
    EXPECT_EQ(again.aggregate_of_node().to_vector(), of_node);
    EXPECT_EQ(told(again.short_edges()), told(lists.short_edges()));
  }
}

/** Chains of 3 or 4 nodes, joined by little, are few enough; of 2 they are not, and every two have 0.01 between them. */
TEST_P(CouplingsTest, FewStrongEdgesLowerTheThreshold)
{
  for (const int length : {2, 3, 4})
    for (const double between : {0.01, 1e-9})
    {
      Springs springs;
      for (int i = 0; i < 59; ++i)
        springs[{i, i + 1}] = i % length + 1 < length ? 1. : length == 2 && i % 4 == 1 ? 0.01 : between;
      CouplingAggregation    aggregation({});
      const AggregateLists   lists   = aggregation.aggregate(0, spring_matrix(backend(), 60, 1, springs));
      const AggregationFacts facts   = lists.facts();
      const std::vector<int> of_node = lists.aggregate_of_node().to_vector();
      const int size = length == 2 ? 4 : length, n_weak = length == 2 && between == 0.01 ? 0 : 60 / size - 1;
      EXPECT_TRUE(lists.by_couplings());
      EXPECT_EQ(facts.strength, "couplings");
      EXPECT_EQ(facts.n_couplings, 59);
      EXPECT_EQ(facts.n_weak, n_weak);
      EXPECT_EQ(facts.distance, 2);
      EXPECT_EQ(facts.least_size, 4);
      EXPECT_LE(n_different(of_node), 60u / size);
      for (int i = 0; i < 60 && n_weak > 0; ++i)
        EXPECT_EQ(of_node[i], of_node[i / size * size]);
    }
  for (const double threshold : {-0.25, 1., std::nan("")})
  {
    Aggregation::AdditionalData data;
    data.coupling_threshold = threshold;
    EXPECT_NE(message_of([&] { CouplingAggregation aggregation(data); }).find("is between 0 and 1, not "),
              std::string::npos);
  }
}

/** Squares in a row: four springs of 0.05 lead to the next, but from each fourth square one does. */
TEST_P(CouplingsTest, CoarseLevelsFollowSums)
{
  Springs springs;
  for (int i = 0; i < 80; ++i)
  {
    for (int j = i + 1; j < i / 4 * 4 + 4; ++j)
      springs[{i, j}] = 1.;
    if (i < 76 && (i / 4 % 4 != 3 || i % 4 == 0))
      springs[{i, i + 4}] = 0.05;
  }
  CouplingAggregation    aggregation({});
  const std::vector<int> squares =
      aggregation.aggregate(0, spring_matrix(backend(), 80, 1, springs)).aggregate_of_node().to_vector();
  ASSERT_EQ(n_different(squares), 20u);
  const AggregateLists   lists = aggregation.aggregate(1, spring_matrix(backend(), 20, 1, {})); // which couples nothing
  const std::vector<int> rows  = lists.aggregate_of_node().to_vector();
  for (int i = 0; i < 80; ++i)
    EXPECT_EQ(rows[squares[i]], rows[squares[i / 16 * 16]]);
  EXPECT_EQ(n_different(rows), 5u);
  EXPECT_EQ(lists.facts().n_couplings, 19);
  EXPECT_EQ(lists.facts().n_weak, 4);
}

namespace
{
  /** 97 nodes of 40 aggregates, of which each fourth has dropped its last mode, the first again. */
  struct ProjectedRows
  {
    static constexpr int n = 97, n_aggregates = 40;

    int                 n_c, n_m;
    HostCSR<double>     A;          ///< of scalars
    std::vector<int>    own;        ///< aggregates
    std::vector<double> Q, D, R, P; ///< D: whole blocks of D^-1; P: that of all blocks, (I - D^-1 A) Q, by blocks
    Lists               all, kept;  ///< aggregates of the blocks of each row

    ProjectedRows(const int n_c, const int n_m) : n_c(n_c), n_m(n_m), all(n), kept(n)
    {
      const HostCSR<double> nodes = cases::random_pattern(n, n, 24, 3);
      A                           = cases::expand<double>(nodes, n_c, n_c, 5);
      Q                           = cases::random_values(n * n_c * n_m, 6);
      D                           = cases::random_values(n * n_c * n_c, 7);
      for (double &value : D) // so that no row changes much
        value /= 100.;
      R = cases::random_values(n_aggregates * n_m * n_m, 4);
      for (int i = 0; i < n; ++i)
        own.push_back(i % 12 == 5 ? -1 : i % n_aggregates);
      for (int e = 0; e < n * n_c * n_c; ++e)
        if (const int a = e / n_c % n_c, c = e % n_c; a < c)
          D[e] = D[e + (c - a) * (n_c - 1)];
      for (int e = 0; e < n_aggregates * n_m * n_m; ++e)
      {
        const int  l = e / n_m % n_m, m = e % n_m;
        const bool again = dropped(e / n_m / n_m, m);
        R[e] = m < l || (again && (l > 0 || m == 0)) ? 0. : again ? R[e - m] : (R[e] + (m == l ? 3. : 0.)) / 2.;
      }
      for (int i = 0; i < n; ++i)
        find_row(nodes, i);
    }

    bool dropped(const int J, const int l) const { return J % 4 == 3 && l == n_m - 1; }

    void find_row(const HostCSR<double> &nodes, const int i)
    {
      std::set<int> reached;
      for (std::int64_t e = nodes.row_offsets[i]; e < nodes.row_offsets[i + 1]; ++e)
        reached.insert(own[nodes.columns[e]]);
      reached.erase(-1);
      for (const int J : reached)
      {
        all[i].push_back(J);
        if (i % 11 == 0 || J == own[i] ||
            (own[i] >= 0 && kernels::hash(static_cast<std::uint64_t>(40 * i + J)) % 3 == 0))
          kept[i].push_back(J);
      }
      for (int a = 0; a < n_c; ++a)
        for (const int J : all[i])
          for (int m = 0; m < n_m; ++m)
          {
            double value = J == own[i] ? Q[(i * n_c + a) * n_m + m] : 0.;
            for (int b = 0; b < n_c; ++b)
              for (std::int64_t e = A.row_offsets[i * n_c + b]; e < A.row_offsets[i * n_c + b + 1]; ++e)
                if (own[A.columns[e] / n_c] == J)
                  value -= D[(i * n_c + a) * n_c + b] * A.values[e] * Q[A.columns[e] * n_m + m];
            P.push_back(value);
          }
    }

    template <typename Number>
    std::vector<double> values(const Backend &place) const
    {
      CompressedPattern pattern;
      const Adjacency   graph = cases::to_adjacency(place, kept);
      pattern.n_rows          = n;
      pattern.n_columns       = n_aggregates;
      pattern.offsets.copy_from(place, graph.offsets());
      pattern.columns.copy_from(place, graph.neighbours());
      std::vector<Number> packed, first;
      for (int a = 0; a < n_c; ++a)
        for (int c = 0; c <= a; ++c)
          for (int i = 0; i < n; ++i)
            packed.push_back(static_cast<Number>(D[(i * n_c + a) * n_c + c]));
      for (auto [i, at] = std::make_pair(0, P.begin()); i < n; ++i)
        for (int a = 0; a < n_c; ++a)
          for (const int J : all[i])
            for (int m = 0; m < n_m; ++m, ++at)
              if (std::binary_search(kept[i].begin(), kept[i].end(), J))
                first.push_back(static_cast<Number>(*at));
      first.push_back(std::numeric_limits<Number>::quiet_NaN());
      const SlicedEllpackMatrix<Number> matrix(
          place, HostCSR<Number>{A.n_rows, A.n_columns, A.row_offsets, A.columns, cases::to<Number>(A.values)}, n_c);
      const Array<Number> tentative(place, cases::to<Number>(Q)), blocks(place, packed);
      const Array<int>    aggregates(place, own);
      const Array<double> omega(place, std::vector<double>{1.}), modes(place, R);
      Array<Number>       to(place, first);
      dispatch(place, [&](auto where) {
        const kernels::TentativeView<Number> view{
            aggregates.data(), tentative.data(), {n, n_c, n, blocks.data()}, omega.data()};
        multigrid::project_rows(where, matrix, view, pattern, modes, n_m, to);
      });
      place.synchronize();
      std::vector<double> result = cases::widened(to.to_vector());
      EXPECT_TRUE(std::isnan(result.back())) << "more was written than there are blocks";
      result.pop_back();
      return result;
    }
  };

  template <typename Number>
  void check_projection(const Backend &backend, const int n_c, const int n_m)
  {
    const ProjectedRows       rows(n_c, n_m);
    const Lists              &all = rows.all, &kept = rows.kept;
    const std::vector<double> P = cases::widened(cases::to<Number>(rows.P)), R = rows.R,
                              values = rows.values<Number>(backend);
    const double bound               = std::is_same_v<Number, double> ? 1e-11 : 1e-4;
    EXPECT_LT(cases::difference(values, rows.values<Number>(Backend("host"))), bound);
    auto now    = values.begin();
    auto before = P.begin();
    for (int i = 0; i < 97; ++i)
      for (int a = 0; a < n_c; ++a)
      {
        const int n_kept = static_cast<int>(kept[i].size());
        const int rank   = n_m - std::all_of(kept[i].begin(), kept[i].end(), [](const int J) { return J % 4 == 3; });
        Dense     change(1, n_kept * n_m), C(n_kept * n_m, rank), lost(1, rank); // of P R
        int       k = 0;
        for (const int J : all[i])
          for (int l = 0; l < n_m; ++l, ++before)
          {
            const bool stays = std::binary_search(kept[i].begin(), kept[i].end(), J);
            for (int m = 0; m < rank; ++m)
              lost(0, m) += (*before - (stays ? *now : 0.)) * R[(J * n_m + l) * n_m + m];
            for (int m = 0; m < rank && stays; ++m)
              C(k, m) = R[(J * n_m + l) * n_m + m];
            if (stays)
              change(0, k++) = *now++ - *before;
            EXPECT_TRUE(!stays || !rows.dropped(J, l) || change(0, k - 1) == 0.);
          }
        if (n_kept == 0)
          continue;
        const std::vector<double> X = cases::solve_dense(C.transposed() * C, (change * C).values);
        EXPECT_LT(cases::difference(cases::times(C, X), change.values), bound) << "there is a smaller change";
        EXPECT_LT(lost.magnitude(), bound);
      }
    EXPECT_TRUE(now == values.end() && before == P.end());
  }
} // namespace

/** Modes of a row that depend on others in all that it keeps do not count. */
TEST_P(CouplingsTest, ProjectionsKeepModesByTheLeastChange)
{
  for (const auto &[n_c, n_m] : {std::make_pair(1, 1), {2, 3}, {3, 6}, {6, 6}})
  {
    check_projection<double>(backend(), n_c, n_m);
    check_projection<float>(backend(), n_c, n_m);
  }
}

namespace
{
  /** The columns of rows, and how many the longest has. */
  template <typename Number>
  std::pair<std::vector<int>, int> preceding(const SlicedEllpackMatrix<Number> &A)
  {
    PreconditionBlockJacobi<Number> D;
    D.initialize(A);
    const CompressedPattern pattern = dispatch(
        A.backend(), [&](auto where) { return multigrid::preceding_couplings(where, A, *D.block_diagonal()); });
    return {pattern.columns.to_vector(), pattern.width};
  }
} // namespace

/** c of the springs of the chain is 0.72, 0.01, 0.41 and 0.69; the stiffest node is 1, the softest 3. */
TEST_P(CouplingsTest, PrecedingNodesByEye)
{
  const Springs                          chain{{{0, 1}, 1000.}, {{1, 2}, 1.}, {{2, 3}, 1.}, {{1, 4}, 900.}};
  const std::pair<std::vector<int>, int> expected{{0, /**/ 0, 1, 4, /**/ 2, 3, /**/ 3, /**/ 4}, 3};
  EXPECT_EQ(preceding(spring_matrix(backend(), 5, 3, chain, 1.)), expected);
  EXPECT_EQ(preceding(spring_matrix<float>(backend(), 5, 3, chain, 1.)), expected);
  Springs star; // of its centre, node 19, with the others; c is 0.16, 0.02 of node 2 and 0.25 of node 9
  for (int j = 0; j < 19; ++j)
    star[{j, 19}] = j == 2 ? 0.1 : j == 9 ? 2. : 1.;
  const std::vector<int> columns = preceding(spring_matrix(backend(), 20, 1, star)).first;
  std::vector<int>       expected_columns(19);
  std::iota(expected_columns.begin(), expected_columns.end(), 0);
  for (const int j : {0, 1, 3, 4, 5, 6, 7, 9}) // the 8 strongest, of those that tie the first
    expected_columns.push_back(j);
  expected_columns.push_back(19);
  EXPECT_EQ(columns, expected_columns);
}

/** Of a node between springs of 1000 and 1, 1001 + ground - 1e6 / (1000 + ground) is left if the first one gives way. */
TEST_P(CouplingsTest, CountsSoftNodesByEye)
{
  using Counts     = std::pair<std::int64_t, std::int64_t>; // soft, of how many
  const auto count = [&](const double ground, const int n_chains) {
    Springs springs;
    for (int i = 0; i < 3 * n_chains; i += 3)
      springs.insert({{{i, i + 1}, 1000.}, {{i + 1, i + 2}, 1.}});
    const auto                      A = spring_matrix(backend(), 3 * n_chains, 2, springs, ground);
    PreconditionBlockJacobi<double> D;
    D.initialize(A);
    Counts result;
    result.first = dispatch(backend(), [&](auto where) {
      return multigrid::count_soft_nodes(where, A, *D.block_diagonal(), result.second);
    });
    return result;
  };
  // (1001 + ground) / (1001 + ground - 1e6 / (1000 + ground)) is 4.09 for 150 and 3.88 for 160.
  EXPECT_EQ(count(150., 80), Counts(80, 240));
  EXPECT_EQ(count(160., 80), Counts(0, 240));
  EXPECT_EQ(count(1e6, 1), Counts(0, 3)) << "none has neighbours";
  const auto [n, of] = count(1., 13000);
  EXPECT_EQ(of, 39000 / 16);
  EXPECT_NEAR(static_cast<double>(n), 39000 / 16 / 3., 100.);
}

/** The axes of unknowns do not count, and G A G^T has unit blocks on the diagonal. */
TEST_P(CouplingsTest, FactorsAreThoseOfTheHostInAnyUnknowns)
{
  const HostCSR<double> plain = cases::grid_matrix<3>(6, 0.49);
  Dense                 T(plain.n_rows, plain.n_rows);
  for (int i = 0; i < plain.n_rows; i += 3)
  {
    T(i, i) = T(i + 1, i + 1) = std::cos(i);
    T(i + 1, i)               = std::sin(i);
    T(i, i + 1)               = -T(i + 1, i);
    T(i + 2, i + 2)           = 1.;
  }
  const Dense     dense  = T * Dense(plain) * T.transposed();
  HostCSR<double> turned = plain;
  for (int i = 0; i < plain.n_rows; ++i)
    for (std::int64_t e = plain.row_offsets[i]; e < plain.row_offsets[i + 1]; ++e)
      turned.values[e] = dense(i, plain.columns[e]);
  const auto [columns, width] = preceding(SlicedEllpackMatrix<double>(backend(), turned, 3));
  EXPECT_EQ(columns, preceding(SlicedEllpackMatrix<double>(Backend("host"), plain, 3)).first);
  EXPECT_EQ(width, 9);
  const auto factor_of = [&](const Backend &place) {
    const SlicedEllpackMatrix<double> A(place, turned, 3);
    PreconditionBlockJacobi<double>   D;
    FactorizedInverse<double>         M;
    D.initialize(A);
    M.initialize(A, FactorizedInverseRows::couplings, &D);
    M.update(A, &D);
    return M.factor().to_csr_host();
  };
  const HostCSR<double> G = factor_of(backend()), host = factor_of(Backend("host"));
  EXPECT_EQ(G.columns, host.columns);
  EXPECT_EQ(G.columns.size(), 9 * columns.size());
  EXPECT_LT(cases::difference(G.values, host.values), 1e-12);
  const Dense GAG = Dense(G) * dense * Dense(G).transposed();
  for (int i = 0; i < G.n_rows; ++i)
    for (int j = i / 3 * 3; j < i / 3 * 3 + 3; ++j)
      EXPECT_NEAR(GAG(i, j), i == j ? 1. : 0., 1e-10);
}
