// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "kernels/hash.h"
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
} // namespace

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
  // thousand times as much as others do.
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
          odd.values[e] += odd.columns[e] == row ? 999. : odd.columns[e] == other ? -999. : 0.;
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

/** What a level says of its couplings, with and without some of the rules. */
TEST_P(JumpsTest, StrengthIsThatOfTheCoefficientOrOfDistances)
{
  const auto facts = [&](const std::string &rules, const int n, const double height, const auto &K) {
    const SlicedEllpackMatrix<double> matrix(backend(), grid_matrix(n, n, 1, K, height), 1);
    MISAggregation                    aggregation;
    aggregation.know_points(2, grid_points(backend(), n, n, height));
    aggregation.disable(amg_rules_of(rules));
    const AggregateLists lists = aggregation.aggregate(0, matrix);
    EXPECT_EQ(lists.by_couplings(), lists.facts().strength == "couplings");
    EXPECT_EQ(lists.stretched(), lists.facts().strength == "distances");
    return lists.facts();
  };
  constexpr int n       = 20;
  const auto    halves  = [](const int x, int) { return x < 10 ? 1e3 : 1.; };
  const auto    uniform = [](int, int) { return 1.; };

  AggregationFacts level = facts("", n, 1., halves);
  EXPECT_EQ(level.strength, "couplings");
  EXPECT_EQ(level.n_couplings, 2 * n * (n - 1) + 2 * (n - 1) * (n - 1));
  EXPECT_EQ(level.n_weak, n + 2 * (n - 1)); // from one column of nodes to the next
  EXPECT_EQ(level.distance, 2);
  EXPECT_EQ(level.least_size, 4);
  level = facts("couplings at discontinuities", n, 1., halves);
  EXPECT_EQ(level.strength, "pattern");
  EXPECT_EQ(level.n_weak, 0);
  EXPECT_EQ(level.least_size, 9);

  // Short edges are a column's.
  level = facts("", n, 20., uniform);
  EXPECT_EQ(level.strength, "distances");
  EXPECT_EQ(level.n_couplings - level.n_weak, n * (n - 1));
  EXPECT_EQ(facts("mode-preserving dropping", n, 20., uniform).n_weak, level.n_weak);
  EXPECT_EQ(facts("mesh distances", n, 20., uniform).strength, "pattern");
}
