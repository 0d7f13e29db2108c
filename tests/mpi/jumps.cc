// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/graph/graph_tools.h"
#include "lac/graph/rank_edges.h"
#include "rank_tables.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/kernels/weak_forms.h>

using namespace PatchFEM;

namespace
{
  /** What a rank finds in its part of a body, on the finest level. */
  struct Found
  {
    Adjacency                  edges;
    std::vector<unsigned char> kinds;   ///< [edge]
    std::vector<int>           largest; ///< [node] piece of a hinge
    std::vector<double>        points;  ///< [node][3]
    std::int64_t               n_hinges;

    Found(const Backend &backend, const ElementTables &tables)
    {
      Space                       space(backend, tables);
      Assembler<Elasticity<3>>    assembler(space);
      SlicedEllpackMatrix<double> A;
      Vector<double>              rhs;
      assembler.set_coefficients(CoefficientField::by_material({{0, {1., 1.}}, {1, {1e6, 1e6}}}));
      space.initialize_matrix(A);
      assembler.assemble(A, rhs);
      edges.reinit(A);
      points                         = space.rigid_body_modes().points().to_vector();
      const Partitioner *const ranks = A.partitioner().get();
      Adjacency                across;
      if (ranks != nullptr)
        across = rank_edges::across(A, 0.);
      const Adjacency *const outside = ranks != nullptr ? &across : nullptr;
      choose(backend, [&](auto where) {
        using namespace graph_tools;
        const Array<double> inner = couplings_of(where, A, edges);
        Array<double>       outer;
        if (ranks != nullptr)
          outer = couplings_of(where, A, across);
        Array<double> most = largest_couplings(where, edges, inner, outside, outer);
        if (ranks != nullptr)
          most = rank_edges::with_ghosts(backend, *ranks, most);
        Array<unsigned char> of_edges;
        graph_tools::find_jumps(where, edges, inner, outside, outer, most, of_edges);
        kinds = of_edges.to_vector();
        Hinges hinges;
        hinges.coupled = coupled_nodes(where, edges, of_edges, outside, outer, most);
        if (ranks != nullptr)
          hinges.rows = rank_edges::append_ghosts(*ranks, hinges.coupled);
        n_hinges = find_hinges(where, edges, outside, most, 3, hinges);
        largest  = hinges.largest.to_vector();
      });
    }

    /** The node at @p x. */
    int at(const double *x) const
    {
      for (int i = 0; i < edges.n_nodes(); ++i)
        if (std::equal(x, x + 3, points.begin() + 3 * std::ptrdiff_t(i)))
          return i;
      ADD_FAILURE() << "no node is there";
      return 0;
    }

    /** Nodes that an edge leads to, and its number, of node @p i. */
    std::map<int, std::size_t> of(const int i) const
    {
      std::map<int, std::size_t> result;
      for (std::int64_t e = edges.offsets().read(i); e < edges.offsets().read(i + 1); ++e)
        result[edges.neighbours().read(e)] = static_cast<std::size_t>(e);
      return result;
    }
  };
} // namespace

/** One block of 2^3 cells in five is stiff: where borders of ranks cut what nodes couple with, they are told from both sides. */
TEST(JumpsOfRanks, AreThoseOfOneRank)
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
  ASSERT_GT(all.n_hinges, 20);
  for (const Backend &backend : rank_tables::backends())
  {
    const Found      own(backend, rank_tables::part(tables, owner, communicator));
    std::vector<int> nodes;
    for (int i = 0; i < own.edges.n_nodes(); ++i)
      nodes.push_back(all.at(own.points.data() + 3 * std::size_t(i)));
    std::int64_t n_different = 0;
    for (int i = 0; i < own.edges.n_nodes(); ++i)
    {
      n_different += (own.largest[i] != 0) != (all.largest[nodes[i]] != 0);
      const auto there = all.of(nodes[i]);
      for (const auto &[j, e] : own.of(i))
        EXPECT_EQ(own.kinds[e], all.kinds[there.at(nodes[j])]) << "edge " << nodes[i] << " " << nodes[j];
    }
    // Where not all nodes of a cell couple, pieces depend on the order in which they grow.
    EXPECT_LE(static_cast<double>(communicator->sum(n_different)), 0.1 * static_cast<double>(all.n_hinges));
  }
}
