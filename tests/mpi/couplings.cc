// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/graph/graph_tools.h"
#include "lac/graph/rank_edges.h"
#include "rank_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/kernels/weak_forms.h>

#include <algorithm>
#include <set>

using namespace PatchFEM;

namespace
{
  /** Strong edges of a rank's part of a body, on the finest level. */
  struct Found
  {
    Adjacency           strong, closed; ///< by weights alone, and with those that close triangles
    std::vector<double> points;         ///< [node][3]

    Found(const Backend &backend, const ElementTables &tables)
    {
      Space                       space(backend, tables);
      Assembler<Elasticity<3>>    assembler(space);
      SlicedEllpackMatrix<double> A;
      Vector<double>              rhs;
      assembler.set_coefficients(CoefficientField::by_material({{0, {1., 1.}}, {1, {1e6, 1e6}}}));
      space.initialize_matrix(A);
      assembler.assemble(A, rhs);
      points                         = space.rigid_body_modes().points().to_vector();
      const Partitioner *const ranks = A.partitioner().get();
      Adjacency                all, across, strong_across;
      all.reinit(A);
      if (ranks != nullptr)
        across = rank_edges::across(A, 0.);
      dispatch(backend, [&](auto where) {
        using namespace graph_tools;
        constexpr double    theta = 0.3;
        const Array<double> inner = trace_weights(where, A, all);
        Array<double>       outer;
        if (ranks != nullptr)
          outer = trace_weights(where, A, across);
        Array<double> most = largest_couplings(where, all, inner, ranks != nullptr ? &across : nullptr, outer);
        if (ranks != nullptr)
        {
          most          = rank_edges::with_ghosts(backend, *ranks, most);
          strong_across = strong_edges(where, across, outer, most, theta);
        }
        strong = strong_edges(where, all, inner, most, theta);
        closed = strong_edges(where, all, inner, most, theta);
        close_triangles(where, all, across, closed, strong_across);
      });
    }

    /** The node at @p x. */
    int at(const double *x) const
    {
      for (int i = 0; i < strong.n_nodes(); ++i)
        if (std::equal(x, x + 3, points.begin() + 3 * std::ptrdiff_t(i)))
          return i;
      ADD_FAILURE() << "no node is there";
      return 0;
    }

    /** Nodes that edges of @p graph lead to from node @p i, in the numbers of @p names, or their own. */
    static std::set<int> ends(const Adjacency &graph, const int i, const std::vector<int> &names = {})
    {
      std::set<int> result;
      for (std::int64_t e = graph.offsets().read(i); e < graph.offsets().read(i + 1); ++e)
      {
        const int j = graph.neighbours().read(e);
        result.insert(names.empty() ? j : names[j]);
      }
      return result;
    }
  };
} // namespace

/**
 * One block of 2^3 cells in five is stiff. Strong edges inside of ranks are those of one rank; of those that close triangles
 * some are missing, whose third nodes are of others.
 */
TEST(CouplingsOfRanks, AreThoseOfOneRank)
{
  constexpr int n      = 12;
  ElementTables tables = synthetic::cube_of_hexahedra(n, 3);
  CellTable    &cells  = tables.batches[0];
  for (int c = 0; c < cells.n_cells; ++c)
  {
    const int x = c % n / 2, y = c / n % n / 2, z = c / (n * n) / 2;
    cells.material_ids[c] = (x * 31 + y * 57 + z * 91 + x * y * z) % 5 == 0;
  }
  const auto             communicator = rank_tables::world();
  const std::vector<int> owner        = rank_tables::owners(tables, communicator->size());
  const Found            all(Backend(), tables);
  ASSERT_GT(all.closed.n_edges(), all.strong.n_edges());
  for (const Backend &backend : rank_tables::backends())
  {
    const Found      own(backend, rank_tables::part(tables, owner, communicator));
    std::vector<int> nodes;
    for (int i = 0; i < own.strong.n_nodes(); ++i)
      nodes.push_back(all.at(own.points.data() + 3 * std::size_t(i)));
    const std::set<int> inside(nodes.begin(), nodes.end());
    std::int64_t        counts[2] = {0, 0}; // edges that close triangles, and those that are missing
    for (int i = 0; i < own.strong.n_nodes(); ++i)
    {
      std::set<int> strong, closed;
      for (const int j : Found::ends(all.strong, nodes[i]))
        if (inside.count(j) > 0)
          strong.insert(j);
      for (const int j : Found::ends(all.closed, nodes[i]))
        if (inside.count(j) > 0)
          closed.insert(j);
      EXPECT_EQ(Found::ends(own.strong, i, nodes), strong) << "node " << nodes[i];
      const std::set<int> here = Found::ends(own.closed, i, nodes);
      EXPECT_TRUE(std::includes(closed.begin(), closed.end(), here.begin(), here.end())) << "node " << nodes[i];
      counts[0] += static_cast<std::int64_t>(closed.size() - strong.size());
      counts[1] += static_cast<std::int64_t>(closed.size() - here.size());
    }
    communicator->sum(counts, 2);
    EXPECT_LE(static_cast<double>(counts[1]), 0.05 * static_cast<double>(counts[0]));
  }
}
