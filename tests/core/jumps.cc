// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "multigrid_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>

#include <map>
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
