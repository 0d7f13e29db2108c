// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "kernels/hash.h"
#include "multigrid_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>

#include <map>
#include <numeric>
#include <set>

using namespace PatchFEM;

/** What jumps of the coefficient change: the edges along which aggregates grow. */
class JumpsTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(JumpsTest);

namespace
{
  /**
   * nx x ny nodes whose cells, of coefficient K(x, y), couple along their edges. The diagonals of cells are in the
   * pattern and 0, as are the edges of trilinear hexahedra. A node has @p n_c unknowns that are alike. Cells are @p height
   * times as high as wide.
   */
  template <typename Coefficient>
  HostCSR<double> grid_matrix(const int nx, const int ny, const int n_c, const Coefficient &K, const double height = 1.)
  {
    std::vector<std::map<int, double>> rows(std::size_t(nx) * ny);
    for (int y = 0; y + 1 < ny; ++y)
      for (int x = 0; x + 1 < nx; ++x)
        for (int a = 0; a < 4; ++a)
          for (int b = 0; b < 4; ++b)
          {
            const bool   right = a % 2 != b % 2, up = a / 2 != b / 2;
            const double along_x = .5 * height, along_y = .5 / height;
            rows[(y + a / 2) * nx + x + a % 2][(y + b / 2) * nx + x + b % 2] += K(x, y) * (right && up ? 0.
                                                                                           : right     ? -along_x
                                                                                           : up        ? -along_y
                                                                                                : along_x + along_y);
          }
    HostCSR<double> result{nx * ny * n_c, nx * ny * n_c, {0}, {}, {}};
    for (const std::map<int, double> &row : rows)
      for (int a = 0; a < n_c; ++a)
      {
        std::vector<std::pair<int, double>> entries;
        for (const auto &[column, value] : row)
          for (int b = 0; b < n_c; ++b)
            entries.emplace_back(column * n_c + b, a == b ? value : 0.);
        result.append_row(entries);
      }
    return result;
  }

  Array<double> grid_points(const Backend &backend, const int nx, const int ny, const double height = 1.)
  {
    std::vector<double> points;
    for (int i = 0; i < nx * ny; ++i)
      points.insert(points.end(), {double(i % nx), height * (i / nx)});
    return Array<double>(backend, points);
  }

  /** The edges that jumps leave. */
  template <typename Coefficient>
  cases::Lists kept(
      const Backend &backend, const int nx, const int ny, const int n_c, const Coefficient &K, const double height = 1.)
  {
    const SlicedEllpackMatrix<double> matrix(backend, grid_matrix(nx, ny, n_c, K, height), n_c);
    Adjacency                         all;
    all.reinit(matrix);
    return cases::to_lists(cases::without_jumps(matrix, all, 2, grid_points(backend, nx, ny, height)));
  }

} // namespace

TEST_P(JumpsTest, LittleChangesOfTheCoefficientKeepAllEdges)
{
  for (const int n_c : {1, 3})
    EXPECT_EQ(kept(backend(), 7, 5, n_c, [](const int x, const int y) { return x < 3 || y > 2 ? 1. : 8.; }),
              cases::grid(7, 5, 1, 3));
}

TEST_P(JumpsTest, AreSeenFromSomeRows)
{
  const auto seen = [&](const int n_c, const double height, const auto &K) {
    const SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(41, 30, n_c, K, height), n_c);
    Adjacency                         all;
    all.reinit(matrix);
    return cases::may_jump(matrix, all, 2, grid_points(backend(), 41, 30, height));
  };
  for (const int n_c : {1, 3})
    for (const double height : {1., 10.})
    {
      EXPECT_FALSE(seen(n_c, height, [](int, int) { return 1e-9; }));
      EXPECT_FALSE(seen(n_c, height, [](const int x, const int y) { return 1. + 7. * ((x + y) % 2); }));
      EXPECT_TRUE(seen(n_c, height, [](int, const int y) { return y == 7 ? 1e-3 : 1.; }));
      EXPECT_TRUE(seen(n_c, height, [](const int x, int) { return x == 7 ? 1e-3 : 1.; }));
      EXPECT_TRUE(seen(n_c, height, [](const int x, const int y) { return x % 4 < 2 && y % 4 < 2 ? 1e3 : 1.; }));
    }
}

TEST_P(JumpsTest, SingleRowsOfManyAreNone)
{
  // Of 281 thousand rows that are looked at three have to see a jump: here two or four, each of another pair that couples a
  // hundred times as much as others do.
  const int             n = 1500, one_of = 8;
  const HostCSR<double> A    = cases::laplacian<double>(n, n);
  bool                  seen = false;
  const auto            look = [&](const int n_odd) {
    HostCSR<double> odd = A;
    for (int k = 0; k < n_odd; ++k)
    {
      const std::int64_t piece = 1000 + 100 * k;
      const int          i = static_cast<int>(piece * one_of + kernels::hash(piece) % one_of), j = i + 1;
      ASSERT_LT(i % n + 1, n);
      for (const auto &[row, other] : {std::pair<int, int>{i, j}, {j, i}})
        for (std::int64_t e = odd.row_offsets[row]; e < odd.row_offsets[row + 1]; ++e)
          odd.values[e] += odd.columns[e] == row ? 99. : odd.columns[e] == other ? -99. : 0.;
    }
    const SlicedEllpackMatrix<double> matrix(backend(), odd, 1);
    Adjacency                         all;
    all.reinit(matrix);
    seen = cases::may_jump(matrix, all, 2, grid_points(backend(), n, n));
  };
  look(2);
  EXPECT_FALSE(seen);
  look(4);
  EXPECT_TRUE(seen);
}

TEST_P(JumpsTest, LongEdgesAreComparedWithLongOnes)
{
  const int          nx = 6, ny = 9;
  const cases::Lists all = cases::grid(nx, ny, 1, 3);
  EXPECT_EQ(kept(
                backend(), nx, ny, 1, [](int, int) { return 3.; }, 20.),
            all);
  cases::Lists expected(all.size()); // cells above node row 4 are soft
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const int j : all[i])
      if ((j / nx <= 4) == (static_cast<int>(i) / nx <= 4))
        expected[i].push_back(j);
  EXPECT_EQ(kept(
                backend(), nx, ny, 1, [](int, const int y) { return y < 4 ? 1e3 : 1.; }, 20.),
            expected);
}

TEST_P(JumpsTest, GroupsCoupleAsTheirStrongestEdge)
{
  // 0 - 1 - 2 - 3 - 4 - 5 and 0 - 3; groups 0: {0, 2}, 1: {1, 3}, 2: {5}; node 4 is in none.
  cases::Lists graph = cases::path(6);
  cases::connect(graph, 0, 3);
  const std::vector<double> couplings = {1., 4., /*1*/ 1., 2., /*2*/ 2., 3., /*3*/ 4., 3., 9., /*4*/ 9., 8., /*5*/ 8.};
  EXPECT_EQ(cases::couplings_between_groups(cases::to_adjacency(backend(), graph), couplings, {0, 1, 0, 1, -1, 2},
                                            cases::to_adjacency(backend(), {{1}, {0}, {}})),
            (std::vector<double>{4., 4.}));
}

TEST_P(JumpsTest, PiecesOfStiffMaterialAreNotTied)
{
  // Cells of columns 0, 1 and 4, 5 are stiff, so that nodes of column 3 are the only soft ones.
  const cases::Lists all  = cases::grid(7, 3, 1, 3);
  const auto         part = [](const int node) { return node % 7 < 3 ? 0 : node % 7 > 3 ? 2 : 1; };
  for (const int n_c : {1, 2})
  {
    cases::Lists expected(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const int j : all[i])
        if (part(j) == part(static_cast<int>(i)))
          expected[i].push_back(j);
    for (const double stiff : {1e2, 1e6})
      EXPECT_EQ(kept(backend(), 7, 3, n_c, [=](const int x, int) { return x == 2 || x == 3 ? 1. : stiff; }), expected);
  }
}

TEST_P(JumpsTest, WhatIsSoftAmongStiffNodesHangsFromOne)
{
  const cases::Lists edges =
      kept(backend(), 5, 5, 1, [](const int x, const int y) { return x > 0 && x < 3 && y > 0 && y < 3 ? 1. : 1e4; });
  EXPECT_EQ(edges[12], std::vector<int>{7}); // the first of four alike
  EXPECT_EQ(edges[7].size(), 8u);
  EXPECT_EQ(edges[11].size(), 7u);
}

namespace
{
  /** A graph whose nodes couple if they have a stiff cell in common. */
  struct StiffCells
  {
    std::map<int, std::map<int, unsigned char>> kinds; // [node][neighbour]: 2, or 1 and 0 of further edges
    std::set<int>                               soft;  // nodes that couple a thousandth of what others do

    void connect(const int i, const int j, const unsigned char kind) { kinds[i][j] = kinds[j][i] = kind; }

    void add(const std::vector<int> &cell)
    {
      for (const int i : cell)
        for (const int j : cell)
          if (i != j)
            connect(i, j, 2);
    }

    /** The edges that are cut, and how many hinges there are. */
    std::pair<std::set<std::pair<int, int>>, std::int64_t> hinged(const Backend &backend, const int n_dims) const
    {
      cases::Lists               lists;
      std::vector<unsigned char> before;
      for (const auto &[i, row] : kinds)
      {
        lists.resize(i + 1);
        for (const auto &[j, kind] : row)
        {
          lists[i].push_back(j);
          before.push_back(kind);
        }
      }
      const Adjacency     graph = cases::to_adjacency(backend, lists);
      std::vector<double> largest;
      for (std::size_t i = 0; i < lists.size(); ++i)
        largest.push_back(soft.count(static_cast<int>(i)) > 0 ? 1e-3 : 1.);
      const Array<double>              most(backend, largest);
      Array<unsigned char>             changed(backend, before);
      const auto                       n_hinges = choose(backend, [&](auto where) {
        graph_tools::Hinges hinges;
        const Array<double> none(backend, 0);
        hinges.coupled = graph_tools::coupled_nodes(where, graph, changed, nullptr, none, most);
        const auto result = graph_tools::find_hinges(where, graph, nullptr, most, n_dims, hinges);
        if (result > 0)
          graph_tools::cut_at_hinges(where, graph, hinges, n_dims, changed);
        return result;
      });
      const std::vector<unsigned char> after    = changed.to_vector();
      std::set<std::pair<int, int>>    cut;
      std::size_t                      e = 0;
      for (std::size_t i = 0; i < lists.size(); ++i)
        for (const int j : lists[i])
        {
          EXPECT_TRUE(after[e] == before[e] || after[e] == 0);
          if (after[e] != before[e])
            cut.emplace(static_cast<int>(i), j);
          ++e;
        }
      return {cut, n_hinges};
    }
  };

  using Cut = std::set<std::pair<int, int>>;

  Cut both_ways(const Cut &edges)
  {
    Cut result = edges;
    for (const auto &[i, j] : edges)
      result.emplace(j, i);
    return result;
  }
} // namespace

/** Squares 0 1 2 3 and 3 4 5 6, and a soft node 7 beside 3; nodes 2 and 4 are of a soft square, too. */
TEST_P(JumpsTest, SquaresTurnAboutANode)
{
  StiffCells cells;
  cells.add({0, 1, 2, 3});
  cells.add({3, 4, 5, 6});
  cells.connect(3, 7, 0);
  cells.connect(2, 4, 1);
  const auto [cut, n] = cells.hinged(backend(), 2);
  EXPECT_EQ(n, 1);
  EXPECT_EQ(cut, both_ways({{3, 4}, {3, 5}, {3, 6}, {2, 4}})) << "node 3 goes with the first of two that are as large";
  cells.soft = {3}; // and all that it couples with: what is stiff is node 7
  EXPECT_EQ(cells.hinged(backend(), 2), (std::pair<Cut, std::int64_t>{{}, 0}));
  cells.soft = {};
  cells.add({2, 3, 4, 8}); // ties them
  EXPECT_EQ(cells.hinged(backend(), 2), (std::pair<Cut, std::int64_t>{{}, 0}));
}

/** Cubes 0 to 7 and 6 to 13 share an edge, or four nodes; node 14 is soft. */
TEST_P(JumpsTest, CubesTurnAboutAnEdge)
{
  const auto with = [&](const std::vector<int> &second) {
    StiffCells cells;
    cells.add({0, 1, 2, 3, 4, 5, 6, 7});
    cells.add(second);
    for (const int i : {4, 5, 6, 7})
      cells.connect(i, 14, 0);
    cells.connect(5, 8, 1);
    return cells.hinged(backend(), 3);
  };
  Cut expected{{5, 8}};
  for (const int hinge : {6, 7})
    for (int other = 8; other < 14; ++other)
      expected.emplace(hinge, other);
  const auto [cut, n] = with({6, 7, 8, 9, 10, 11, 12, 13});
  EXPECT_EQ(n, 2);
  EXPECT_EQ(cut, both_ways(expected));
  EXPECT_EQ(with({4, 5, 6, 7, 9, 10, 11, 12}).second, 0);
}

/** Two columns of two cubes share the nodes 0, 1, 2 of an edge; node 1, in its middle, is beside a soft one. */
TEST_P(JumpsTest, ColumnsTurnAboutAnEdge)
{
  StiffCells cells;
  for (const int column : {3, 12})
    for (const int level : {0, 1})
    {
      std::vector<int> cell{level, level + 1};
      for (int k = 0; k < 6; ++k)
        cell.push_back(column + 3 * level + k);
      cells.add(cell);
    }
  cells.connect(1, 21, 0);
  EXPECT_EQ(cells.hinged(backend(), 3).second, 1);
  cells.add({1, 2, 3, 4, 5, 6, 12, 15}); // ties them
  EXPECT_EQ(cells.hinged(backend(), 3).second, 0);
}

/** One cube in eight of 9^3 is stiff: what is cut is that of the host, on both sides of each edge. */
TEST_P(JumpsTest, HingesAreThoseOfTheHost)
{
  constexpr int n = 10;
  StiffCells    cells;
  for (int z = 0; z < n - 1; ++z)
    for (int y = 0; y < n - 1; ++y)
      for (int x = 0; x < n - 1; ++x)
      {
        std::vector<int> cell;
        for (int corner = 0; corner < 8; ++corner)
          cell.push_back((x + corner % 2) + n * ((y + corner / 2 % 2) + n * (z + corner / 4)));
        for (const int i : cell)
          for (const int j : cell)
            if (i != j)
              cells.kinds[i].emplace(j, static_cast<unsigned char>((i + j) % 2)); // alike from both ends
        if ((x * 31 + y * 57 + z * 91 + x * y * z) % 8 == 0)
          cells.add(cell);
      }
  const auto here = cells.hinged(backend(), 3), host = cells.hinged(Backend("host"), 3);
  EXPECT_EQ(here, host);
  EXPECT_EQ(here.first, both_ways(here.first));
  EXPECT_GT(here.second, 100);
}

TEST_P(JumpsTest, AggregatesDoNotStraddleThem)
{
  // Fibres of 2 x 12 cells with 2 soft ones between.
  const auto                        stiff = [](const int x, int) { return x % 4 < 2 ? 1e6 : 1.; };
  const SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(15, 13, 1, stiff));
  MISAggregation                    aggregation;
  aggregation.know_points(2, grid_points(backend(), 15, 13));
  const std::vector<int>       aggregates = aggregation.aggregate(0, matrix).aggregate_of_node().to_vector();
  std::map<int, std::set<int>> fibres; // of each aggregate
  for (int i = 0; i < 15 * 13; ++i)
  {
    ASSERT_GE(aggregates[i], 0);
    if (i % 15 % 4 < 3)
      fibres[aggregates[i]].insert(i % 15 / 4);
  }
  for (const auto &[aggregate, of] : fibres)
    EXPECT_EQ(of.size(), 1u) << aggregate;
}

/** Of layers of one cell most edges between aggregates cross jumps, beside one stiff block few do. */
TEST_P(JumpsTest, AreManyOrFewOnCoarserLevels)
{
  constexpr int nx = 40, ny = 40;
  const auto    many = [&](const auto &K) {
    const SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(nx, ny, 3, K), 3);
    MISAggregation                    aggregation;
    aggregation.know_points(2, grid_points(backend(), nx, ny));
    const AggregateLists lists = aggregation.aggregate(0, matrix);
    EXPECT_EQ(lists.joint_motions(), JointMotions::none) << "the finest level";
    HostCSR<double> rows; // of a coarse matrix, whose graph is that of the aggregates
    rows.n_columns = rows.n_rows = 3 * lists.n_aggregates();
    for (int i = 0; i < rows.n_rows; ++i)
    {
      rows.columns.push_back(i);
      rows.values.push_back(1.);
    }
    rows.row_offsets.resize(rows.n_rows + 1);
    std::iota(rows.row_offsets.begin(), rows.row_offsets.end(), 0);
    return aggregation.aggregate(1, SlicedEllpackMatrix<double>(backend(), rows, 3)).joint_motions() ==
           JointMotions::jumps;
  };
  EXPECT_TRUE(many([](int, const int y) { return y % 2 == 0 ? 1e6 : 1.; }));
  EXPECT_FALSE(many([](const int x, const int y) { return x < 10 && y < 10 ? 1e6 : 1.; }));
  EXPECT_FALSE(many([](int, int) { return 1.; }));
}

/** What a level says of its couplings without some of the rules. */
TEST_P(JumpsTest, RulesCanBeDisabled)
{
  const auto facts = [&](const std::string &rules, const int n, const double height, const auto &K, const int n_c = 1) {
    const SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(n, n, n_c, K, height), n_c);
    MISAggregation                    aggregation;
    aggregation.know_points(2, grid_points(backend(), n, n, height));
    aggregation.disable(amg_rules_of(rules));
    const AggregateLists lists = aggregation.aggregate(0, matrix);
    EXPECT_EQ(lists.has_jumps(), lists.facts().strength.find("coefficients") != std::string::npos);
    EXPECT_EQ(lists.stretched(), lists.facts().strength.find("distances") != std::string::npos);
    EXPECT_EQ(lists.has_short_edges(), lists.stretched() && rules != "mode-preserving dropping");
    return lists.facts();
  };
  constexpr int n       = 20;
  const auto    halves  = [](const int x, int) { return x < 10 ? 1e3 : 1.; };
  const auto    uniform = [](int, int) { return 1.; };

  AggregationFacts level = facts("", n, 1., halves);
  EXPECT_EQ(level.strength, "coefficients");
  EXPECT_EQ(level.n_couplings, 2 * n * (n - 1) + 2 * (n - 1) * (n - 1));
  EXPECT_EQ(level.n_weak, n + 2 * (n - 1)); // from one column of nodes to the next
  EXPECT_EQ(level.distance, 2);
  EXPECT_EQ(level.least_size, 9);
  level = facts("weak couplings", n, 1., halves);
  EXPECT_EQ(level.strength, "pattern");
  EXPECT_EQ(level.n_weak, 0);
  EXPECT_EQ(facts("sampled discontinuities", n, 1., uniform).strength, "pattern");
  // Diagonals couple nothing here, so that a body of such cells has mechanisms everywhere.
  EXPECT_EQ(facts("mechanism nodes", n, 1., halves, 2).n_weak, n + 2 * (n - 1));
  EXPECT_GT(facts("", n, 1., halves, 2).n_weak, n + 2 * (n - 1));

  // Short edges are a column's.
  level = facts("", n, 20., uniform);
  EXPECT_EQ(level.strength, "distances");
  EXPECT_EQ(level.n_couplings - level.n_weak, n * (n - 1));
  EXPECT_EQ(facts("mode-preserving dropping", n, 20., uniform).n_weak, level.n_weak);
  EXPECT_EQ(facts("mesh distances", n, 20., uniform).strength, "pattern");

  // Long edges are weak between materials alone, or all of them.
  const auto layers = [](int, const int y) { return y < 10 ? 1e3 : 1.; };
  EXPECT_EQ(facts("mesh distances", n, 20., layers).n_weak, n + 2 * (n - 1));
  EXPECT_GT(facts("mesh distances, weak by length", n, 20., layers).n_weak, n * (n - 1));
}

/** A stiff cell that no sampled row sees is seen if all rows are looked at. */
TEST_P(JumpsTest, WithoutASampleAllRowsAreLookedAt)
{
  constexpr int n      = 40;
  const auto    n_weak = [&](const int x, const std::string &rules) {
    const auto                        K = [=](const int i, const int j) { return i == x && j == 20 ? 1e3 : 1.; };
    const SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(n, n, 1, K));
    MISAggregation                    aggregation;
    aggregation.know_points(2, grid_points(backend(), n, n));
    aggregation.disable(amg_rules_of(rules));
    return aggregation.aggregate(0, matrix).facts().n_weak;
  };
  int x = 2;
  while (x < n - 2 && n_weak(x, "") > 0)
    ++x;
  ASSERT_LT(x, n - 2) << "every one is seen";
  EXPECT_GT(n_weak(x, "sampled discontinuities"), 0);
}
