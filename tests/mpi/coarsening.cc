// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/multigrid_cases.h"
#include "rank_tables.h"

#include <patchfem/lac/multigrid/gathered_matrix.h>

using namespace PatchFEM;
using cases::Dense;

namespace
{
  constexpr int n_nodes = 61;

  /** Nodes of a matrix on ranks of which the last, if there are more than two, has none. */
  struct Nodes
  {
    std::shared_ptr<const Communicator> ranks = rank_tables::world();
    std::vector<int>                    owner, number; ///< [node], and the number that it has there
    std::vector<int>                    here;          ///< nodes by local number, ghosts last
    int                                 n_owned = 0;
    std::shared_ptr<const Partitioner>  partitioner;

    explicit Nodes(const HostCSR<double> &A, const int nc)
    {
      const int        n_ranks = ranks->size() > 2 ? ranks->size() - 1 : ranks->size();
      std::vector<int> n_of(ranks->size(), 0);
      for (int i = 0; i < n_nodes; ++i)
      {
        owner.push_back((i * n_ranks / n_nodes + (i % 7 == 3)) % n_ranks);
        number.push_back(n_of[owner[i]]++);
        if (owner[i] == ranks->rank())
          here.push_back(i);
      }
      n_owned = static_cast<int>(here.size());
      std::map<Partitioner::Ghost, int> met;
      for (const int i : here)
        for (std::int64_t e = A.row_offsets[i * nc]; e < A.row_offsets[i * nc + 1]; ++e)
          if (const int j = A.columns[e] / nc; owner[j] != ranks->rank())
            met[{owner[j], number[j]}] = j;
      std::vector<Partitioner::Ghost> ghosts;
      for (const auto &[ghost, node] : met)
      {
        ghosts.push_back(ghost);
        here.push_back(node);
      }
      partitioner = std::make_shared<const Partitioner>(ranks, n_owned, ghosts);
    }

    /** Where each node stands if ranks follow each other. */
    int place(const int node) const
    {
      int result = number[node];
      for (int i = 0; i < n_nodes; ++i)
        result += owner[i] < owner[node];
      return result;
    }

    /** The rows of this rank. */
    template <typename Number>
    HostCSR<Number> rows(const HostCSR<double> &A, const int nc) const
    {
      std::vector<int> local(n_nodes, -1);
      for (std::size_t i = 0; i < here.size(); ++i)
        local[here[i]] = static_cast<int>(i);
      HostCSR<Number>                     result{0, static_cast<int>(here.size()) * nc, {0}, {}, {}};
      std::vector<std::pair<int, Number>> row;
      for (int i = 0; i < n_owned; ++i)
        for (int a = 0; a < nc; ++a)
        {
          const int from = here[i] * nc + a;
          row.clear();
          for (std::int64_t e = A.row_offsets[from]; e < A.row_offsets[from + 1]; ++e)
            row.emplace_back(local[A.columns[e] / nc] * nc + A.columns[e] % nc, static_cast<Number>(A.values[e]));
          std::sort(row.begin(), row.end());
          result.append_row(row);
          ++result.n_rows;
        }
      result.n_rows = n_owned * nc;
      return result;
    }
  };

  /** A matrix of all ranks with rows @p row_nodes and columns that its own partitioner has; the same on all. */
  template <typename Number>
  Dense gathered(const SlicedEllpackMatrix<Number> &A, const Partitioner &row_nodes)
  {
    struct Entry
    {
      int    row, column;
      double value;
    };
    const HostCSR<Number> own = A.to_csr_host();
    const int             br = A.block_rows(), bc = A.block_columns();
    std::vector<Entry>    entries;
    for (int i = 0; i < own.n_rows; ++i)
      for (std::int64_t e = own.row_offsets[i]; e < own.row_offsets[i + 1]; ++e)
        entries.push_back({static_cast<int>(row_nodes.global(i / br)) * br + i % br,
                           static_cast<int>(A.partitioner()->global(own.columns[e] / bc)) * bc + own.columns[e] % bc,
                           static_cast<double>(own.values[e])});
    Dense result(static_cast<int>(row_nodes.n_global()) * br, static_cast<int>(A.partitioner()->n_global()) * bc);
    for (const Entry &entry : row_nodes.communicator().concatenate(entries))
      result(entry.row, entry.column) = entry.value;
    return result;
  }

  template <typename Number>
  void check(const BackendKind kind, const int nc, const int nm, const int stretch, const bool filtered)
  {
    const std::string     what   = std::to_string(nc) + " x " + std::to_string(nm) + (filtered ? ", filtered" : "");
    const Backend         place  = Backend(kind);
    const HostCSR<double> matrix = cases::spd_blocks(n_nodes, nc, 3);
    const Nodes           nodes(matrix, nc);
    const Communicator   &ranks = *nodes.ranks;

    SlicedEllpackMatrix<Number> A;
    A.reinit(place, nodes.rows<Number>(matrix, nc), nc, nc);
    A.set_partitioner(nodes.partitioner);

    // Aggregates of three nodes of a rank; every eleventh has none, and of two ranks or more the second has no other.
    std::vector<int>    of_node, neighbours, across;
    std::vector<double> modes;
    const auto          all_modes = cases::random_values(std::size_t(n_nodes) * nc * nm, 8);
    for (int i = 0, n = 0; i < nodes.n_owned; ++i)
    {
      of_node.push_back(nodes.here[i] % 11 == 7 || ranks.rank() == 1 ? -1 : n++ / 3);
      modes.insert(modes.end(), all_modes.begin() + std::size_t(nodes.here[i]) * nc * nm,
                   all_modes.begin() + std::size_t(nodes.here[i] + 1) * nc * nm);
    }
    AggregateLists       aggregates(place, of_node);
    TentativeProlongator tentative;
    tentative.compute(aggregates, Array<double>(place, modes), nc, nm);
    if (filtered && ranks.rank() == 0) // edges of every other neighbour are short, also to other ranks
    {
      std::vector<std::int64_t> offsets(1, 0), offsets_across(1, 0);
      const auto                rows = nodes.rows<double>(matrix, nc);
      for (int i = 0; i < nodes.n_owned; ++i)
      {
        for (std::int64_t e = rows.row_offsets[i * nc]; e < rows.row_offsets[i * nc + 1]; e += nc)
          if (const int j = rows.columns[e] / nc; j != i && (nodes.here[i] + nodes.here[j]) % 2 == 0)
            (j < nodes.n_owned ? neighbours : across).push_back(j);
        offsets.push_back(static_cast<std::int64_t>(neighbours.size()));
        offsets_across.push_back(static_cast<std::int64_t>(across.size()));
      }
      Adjacency edges, edges_across;
      edges.reinit(Array<std::int64_t>(place, offsets), Array<int>(place, neighbours));
      edges_across.reinit(Array<std::int64_t>(place, offsets_across), Array<int>(place, across));
      aggregates.set_short_edges(std::move(edges), std::move(edges_across));
    }

    PreconditionBlockJacobi<Number> diagonal;
    LargestEigenvalue<Number>       lambda;
    SmoothedAggregation<Number>     step;
    diagonal.initialize(A);
    lambda.compute(A, diagonal, 10);
    step.set_stretch(stretch);
    step.reinit(A, aggregates, nm);
    step.compute(A, aggregates, tentative, diagonal, lambda);

    const double       rounding = std::is_same<Number, float>::value ? 2e-5 : 1e-13;
    const Partitioner &coarse   = *step.coarse_matrix().partitioner();
    const Dense        whole = gathered(A, *nodes.partitioner), P = gathered(step.prolongator(), *nodes.partitioner),
                C = gathered(step.coarse_matrix(), coarse), R = gathered(step.restrictor(), coarse);
    EXPECT_EQ(R.values, P.transposed().values) << what;
    Dense expected = P.transposed() * (whole * P);
    for (int i = 0; i < expected.n_rows; ++i)
      if (expected(i, i) == 0.) // a mode that was dropped
        expected(i, i) = 1.;
    EXPECT_LT(cases::difference(C.values, expected.values), 20. * rounding * whole.magnitude()) << what;

    // Q and P = (I - omega D^-1 A) Q, or, where blocks are left out, P B_c = (I - omega D^-1 A) Q B_c.
    Dense                     Q(n_nodes * nc, C.n_rows), B(C.n_rows, nm);
    const std::vector<double> all_Q = ranks.concatenate(tentative.values().to_vector()),
                              all_B = ranks.concatenate(tentative.coarse_modes().to_vector());
    std::vector<int> aggregate;
    for (const int i : of_node)
      aggregate.push_back(i < 0 ? -1 : static_cast<int>(coarse.first()) + i);
    aggregate = ranks.concatenate(aggregate);
    for (int i = 0; i < n_nodes * nc; ++i)
      for (int m = 0; m < nm && aggregate[i / nc] >= 0; ++m)
        Q(i, aggregate[i / nc] * nm + m) = all_Q[std::size_t(i) * nm + m];
    B.values              = all_B;
    Dense        smoothed = cases::scaled_by_block_diagonal(whole, whole, nc) * Q;
    const double omega    = 1.5 / lambda.value();
    for (std::size_t e = 0; e < smoothed.values.size(); ++e)
      smoothed.values[e] = Q.values[e] - omega * smoothed.values[e];
    if (!filtered)
    {
      EXPECT_LT(cases::difference(P.values, smoothed.values), 10. * rounding) << what;
    }
    Dense PB = P * B, image = smoothed * B;
    for (int i = 0; i < n_nodes * nc; ++i)
      if (const int of = aggregate[i / nc]; filtered && of < 0)
        for (int m = 0; m < nm; ++m)
          PB(i, m) = image(i, m) = 0.;
    EXPECT_LT(cases::difference(PB.values, image.values), 100. * rounding) << what;

    // The same bits again, in the memory that is there.
    step.compute(A, aggregates, tentative, diagonal, lambda);
    EXPECT_EQ(gathered(step.coarse_matrix(), coarse).values, C.values) << what;

    GatheredMatrix<Number> on_all;
    on_all.reinit(step.coarse_matrix());
    on_all.update(step.coarse_matrix());
    EXPECT_EQ(Dense(on_all.matrix().to_csr_host()).values, C.values) << what;
  }

  TEST(CoarseningOfRanks, AgreesWithDenseAlgebra)
  {
    for (const BackendKind kind : {BackendKind::host, BackendKind::emulated_device})
      for (const bool filtered : {false, true})
        for (const auto &[nc, nm] : {std::pair<int, int>{1, 1}, {3, 6}, {4, 7}})
          for (const int stretch : {0, 3})
          {
            check<double>(kind, nc, nm, stretch, filtered);
            check<float>(kind, nc, nm, stretch, filtered);
          }
  }
} // namespace
