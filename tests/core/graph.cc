// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "lac_cases.h"

#include "kernels/touched_groups.h"
#include <patchfem/lac/graph/adjacency.h>

#include <cmath>
#include <map>

using namespace PatchFEM;

namespace
{
  using NodeGraph             = BackendTest;
  using MaximalIndependentSet = BackendTest;
  PATCHFEM_INSTANTIATE_BACKENDS(NodeGraph);
  PATCHFEM_INSTANTIATE_BACKENDS(MaximalIndependentSet);

  /** The definition, block by block from a dense copy. */
  cases::Lists reference_graph(const HostCSR<double> &A, const int b, const double threshold)
  {
    const int                        n = A.n_rows / b;
    std::vector<std::vector<double>> norm(n, std::vector<double>(n, 0.));
    std::vector<std::vector<char>>   stored(n, std::vector<char>(n, 0));
    for (int row = 0; row < A.n_rows; ++row)
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      {
        norm[row / b][A.columns[e] / b] += A.values[e] * A.values[e];
        stored[row / b][A.columns[e] / b] = 1;
      }
    std::vector<char> coupled(n, 0);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
      {
        norm[i][j] = std::sqrt(norm[i][j]);
        coupled[i] |= i != j && norm[i][j] > 0.;
      }
    cases::Lists result(n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (i != j && stored[i][j] && coupled[i] && coupled[j] &&
            (threshold == 0. || std::max(norm[i][j], norm[j][i]) > threshold * std::sqrt(norm[i][i] * norm[j][j])))
          result[i].push_back(j);
    return result;
  }

  template <typename Matrix>
  cases::Lists graph_of(const Matrix &matrix, const double threshold = 0.)
  {
    Adjacency graph;
    graph.reinit(matrix, threshold);
    return cases::to_lists(graph);
  }
} // namespace

TEST_P(NodeGraph, PatternWithoutDiagonalAndGhosts)
{
  // 0 - 1   2   3 - 0, node 2 holds only its diagonal; column 4 is a ghost.
  const Array<std::int64_t> offsets(backend(), std::vector<std::int64_t>{0, 3, 6, 7, 9});
  const Array<int>          columns(backend(), std::vector<int>{0, 1, 3, 0, 1, 4, 2, 0, 3});
  Adjacency                 graph;
  graph.reinit(backend(), SparsityView{4, 5, offsets.data(), columns.data()});
  EXPECT_EQ(graph.n_nodes(), 4);
  EXPECT_EQ(graph.n_edges(), 2);
  EXPECT_EQ(cases::to_lists(graph), (cases::Lists{{1, 3}, {0}, {}, {0}}));
}

TEST_P(NodeGraph, RowsThatAreZeroBesideTheDiagonalMakeNoEdges)
{
  // A path of 5 with node 2 eliminated: row 2 is stored in full, its column is 0 in row 1 but not in row 3.
  HostCSR<double> A = cases::laplacian<double>(5, 1);
  for (std::int64_t e = A.row_offsets[2]; e < A.row_offsets[3]; ++e)
    A.values[e] = A.columns[e] == 2 ? 1. : 0.;
  A.values[A.row_offsets[2] - 1] = 0.;
  const cases::Lists expected{{1}, {0}, {}, {4}, {3}};
  EXPECT_EQ(graph_of(SlicedEllpackMatrix<double>(backend(), A)), expected);
  EXPECT_EQ(graph_of(CSRMatrix<double>(backend(), A)), expected);
}

TEST_P(NodeGraph, BlocksOfBothFormats)
{
  for (const int b : {1, 2, 3, 6})
    for (const double threshold : {0., 0.1, 0.3})
    {
      const HostCSR<double> A        = cases::spd_blocks(67, b, 7 + b);
      const cases::Lists    expected = reference_graph(A, b, threshold);
      EXPECT_EQ(graph_of(SlicedEllpackMatrix<double>(backend(), A, b), threshold), expected) << b << " " << threshold;
      EXPECT_EQ(graph_of(CSRMatrix<double>(backend(), A, b), threshold), expected) << b << " " << threshold;
    }
}

TEST_P(NodeGraph, StrongNeighboursOfAnAnisotropicOperator)
{
  // 5 points with -1 along x and -0.01 along y, 4 on the diagonal: strong are |a| > 4 theta.
  HostCSR<float> A = cases::laplacian<float>(8, 5);
  for (int row = 0; row < A.n_rows; ++row)
    for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      if (std::abs(A.columns[e] - row) == 8)
        A.values[e] = -0.01f;
  const SlicedEllpackMatrix<float> matrix(backend(), A);
  cases::Lists                     lines = cases::path(8);
  for (int line = 1; line < 5; ++line)
    lines = cases::beside(lines, cases::path(8));
  EXPECT_EQ(graph_of(matrix, 0.), cases::grid(8, 5, 1, 1));
  EXPECT_EQ(graph_of(matrix, 0.08), lines);
  // What equals the threshold is weak.
  EXPECT_EQ(graph_of(matrix, 0.25), cases::Lists(40));
  EXPECT_THROW(graph_of(matrix, -0.1), Error);
}

TEST_P(NodeGraph, OfRectangularBlocksIsRefused)
{
  SlicedEllpackMatrix<double> matrix;
  matrix.reinit(backend(), cases::laplacian<double>(6, 1), 2, 3);
  EXPECT_THROW(graph_of(matrix), Error);
}

// Of two nodes no path of k edges or fewer joins, and no node can be added.
TEST_P(MaximalIndependentSet, IsIndependentAndMaximal)
{
  for (const auto &[name, lists] : cases::graphs())
    for (const int k : {1, 2, 3})
    {
      const Adjacency graph = cases::to_adjacency(backend(), lists);
      Array<int>      result(backend(), std::vector<int>(lists.size(), -1));
      EXPECT_GE(maximal_independent_set(graph, k, result), 1);
      const std::vector<int> members = result.to_vector();
      for (std::size_t i = 0; i < lists.size(); ++i)
      {
        ASSERT_TRUE(members[i] == 0 || members[i] == 1) << name << ", k = " << k << ", node " << i;
        if (lists[i].empty())
        {
          ASSERT_EQ(members[i], 0);
          continue;
        }
        const std::vector<int> distance = cases::distances(lists, static_cast<int>(i), k);
        int                    others   = 0;
        for (std::size_t j = 0; j < lists.size(); ++j)
          others += j != i && distance[j] > 0 && members[j];
        ASSERT_TRUE(members[i] ? others == 0 : others > 0) << name << ", k = " << k << ", node " << i;
      }
    }
}

TEST_P(MaximalIndependentSet, OfSmallDiameterHasOneMember)
{
  Array<int> members;
  for (const cases::Lists &lists : {cases::complete(40), cases::path(3), cases::grid(3, 3, 1, 1)})
  {
    maximal_independent_set(cases::to_adjacency(backend(), lists), 4, members);
    const std::vector<int> values = members.to_vector();
    EXPECT_EQ(std::count(values.begin(), values.end(), 1), 1);
  }
  EXPECT_THROW(maximal_independent_set(cases::to_adjacency(backend(), cases::path(3)), 0, members), Error);
}

TEST_P(MaximalIndependentSet, IsTheSameEverywhere)
{
  for (const auto &[name, lists] : cases::graphs())
    for (const int k : {1, 2})
    {
      Array<int> expected, members;
      {
        const cases::Threads one(1);
        maximal_independent_set(cases::to_adjacency(Backend("host"), lists), k, expected);
      }
      for (const int n_threads : {1, 2, 5})
      {
        const cases::Threads some(n_threads);
        maximal_independent_set(cases::to_adjacency(backend(), lists), k, members);
        ASSERT_EQ(members.to_vector(), expected.to_vector()) << name << ", k = " << k;
      }
    }
}

// More groups around a node than the table has room for, in every order.
TEST(GroupsOfANode, AreVisitedInOrderWithTheirWeights)
{
  std::mt19937 engine(11);
  for (int repetition = 0; repetition < 200; ++repetition)
  {
    const int                       n = engine() % 150, n_groups = 1 + engine() % 60;
    std::vector<int>                neighbours(n), weights(n), group(200);
    const std::vector<std::int64_t> offsets{0, n};
    std::map<int, int>              expected, result;
    for (int &g : group)
      g = static_cast<int>(engine() % (n_groups + 1)) - 1;
    for (int e = 0; e < n; ++e)
    {
      neighbours[e] = engine() % group.size();
      weights[e]    = 1 + engine() % 5;
      if (group[neighbours[e]] >= 0)
        expected[group[neighbours[e]]] += weights[e];
    }
    int last = -1;
    kernels::for_each_group(AdjacencyView{1, offsets.data(), neighbours.data(), weights.data()}, 0, group.data(),
                            [&](const int g, const int weight) {
                              EXPECT_GT(g, last);
                              last      = g;
                              result[g] = weight;
                            });
    ASSERT_EQ(result, expected);
  }
}
