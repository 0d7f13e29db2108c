// SPDX-License-Identifier: LGPL-2.1-or-later
// The device's way to set up smoothed aggregation, run here by teams of threads, against the host's loops.
#include "multigrid_cases.h"
#include "thread_team.h"

#include "kernels/coarsening.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

using namespace PatchFEM;
using cases::Dense;

namespace
{
  struct Threads
  {};
} // namespace

namespace PatchFEM::kernels
{
  /** Where what coarsening.h does by teams runs here. */
  template <typename Body>
  void team_for(Threads, const std::int64_t n, const Body &body)
  {
    cases::run_team<4>(n, body);
  }
  template <typename Body>
  void parallel_for(Threads, const std::int64_t n, const Body &body)
  {
    parallel_for(Host(), n, body);
  }
} // namespace PatchFEM::kernels

namespace
{
  /** Lists of random values. */
  struct Lists
  {
    static constexpr int team_size = 4, table_size = 32, n_kept = 20;

    const std::vector<int> *lists;

    template <typename Emit>
    void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      for (std::size_t k = rank; k < lists[i].size(); k += size)
        emit(lists[i][k]);
    }
  };

  std::vector<int> aggregates_of(const int n_nodes, const int per_aggregate)
  {
    std::vector<int> result;
    int              next = 0;
    for (int i = 0; i < n_nodes; ++i)
      result.push_back(i % 11 == 7 ? -1 : next++ / per_aggregate);
    return result;
  }
} // namespace

TEST(Teams, UniqueRowsByEye)
{
  const std::vector<int>          lists[] = {{3, 1, 3}, {}, {-1, 7}};
  std::vector<int>                counts(3, -5), columns(3, -5), kept(3 * Lists::n_kept, -5);
  const std::vector<std::int64_t> offsets{0, 2, 2, 3};
  cases::run_team<4>(3, kernels::UniqueRowBody<Lists>{{lists}, 8, counts.data(), nullptr, nullptr, kept.data()});
  EXPECT_EQ(counts, (std::vector<int>{2, 0, 1}));
  cases::run_team<4>(3,
                     kernels::UniqueRowBody<Lists>{{lists}, 8, nullptr, offsets.data(), columns.data(), kept.data()});
  EXPECT_EQ(columns, (std::vector<int>{1, 3, 7}));
}

TEST(Teams, UniqueRowsOfAnyLength)
{
  // The table of a team has room for 28 values: longer lists are visited in intervals. Up to 20 are kept.
  std::mt19937                  engine(5);
  std::vector<std::vector<int>> lists;
  for (const int n : {0, 1, 2, 20, 27, 28, 29, 60, 300})
    for (const int range : {5, 28, 29, 1000000})
    {
      lists.emplace_back(n);
      for (int &value : lists.back())
        value = static_cast<int>(engine() % range) - 1;
    }
  const int                 n = static_cast<int>(lists.size());
  std::vector<int>          expected, counts(n, -5);
  std::vector<std::int64_t> offsets(1, 0);
  for (const std::vector<int> &list : lists)
  {
    std::set<int> values(list.begin(), list.end());
    values.erase(-1);
    expected.insert(expected.end(), values.begin(), values.end());
    offsets.push_back(static_cast<std::int64_t>(expected.size()));
  }
  std::vector<int> columns(expected.size(), -5);
  std::vector<int> kept(n * Lists::n_kept, -5);
  const Lists      rows{lists.data()};
  cases::run_team<4>(n, kernels::UniqueRowBody<Lists>{rows, 1000000, counts.data(), nullptr, nullptr, kept.data()});
  cases::run_team<4>(
      n, kernels::UniqueRowBody<Lists>{rows, 1000000, nullptr, offsets.data(), columns.data(), kept.data()});
  const CompressedPattern on_host = kernels::unique_rows(Host(), Backend(BackendKind::host), n, 1000000, rows);
  for (int i = 0; i < n; ++i)
    EXPECT_EQ(counts[i], offsets[i + 1] - offsets[i]);
  EXPECT_EQ(on_host.offsets.to_vector(), offsets);
  EXPECT_EQ(columns, expected);
  EXPECT_EQ(on_host.columns.to_vector(), expected);
}

TEST(Teams, TentativeProlongatorIsThatOfOneThread)
{
  // The second aggregate does not fit the scratch memory.
  const int           nc = 3, nm = 6, n_nodes = 130;
  std::vector<int>    offsets{0, 4, 124, 125}, nodes, dropped(3, -1);
  std::vector<double> Q = cases::not_a_number<double>(n_nodes * nc * nm), R = cases::not_a_number<double>(3 * nm * nm);
  const std::vector<int> fit{0, 1};
  for (int i = 0; i < 125; ++i)
    nodes.push_back(i * 7 % n_nodes);
  const std::vector<double> modes = cases::random_values(Q.size(), 3);
  ASSERT_GT((offsets[2] - offsets[1]) * nc * nm, kernels::AggregateQRBody::capacity);
  std::vector<double> expected_Q = Q, expected_R = R;
  std::vector<int>    expected_dropped = dropped;
  int                 n_dropped = 0, expected_n_dropped = 0;
  kernels::team_for(Host(), 3,
                    kernels::AggregateQRBody{offsets.data(), nodes.data(), nc, nm, modes.data(), expected_Q.data(),
                                             expected_R.data(), expected_dropped.data(), &expected_n_dropped, 1e-10});
  cases::run_team<8>(3, kernels::AggregateQRBody{offsets.data(), nodes.data(), nc, nm, modes.data(), Q.data(), R.data(),
                                                 dropped.data(), &n_dropped, 1e-10});
  EXPECT_EQ(n_dropped, 3);
  EXPECT_EQ(n_dropped, expected_n_dropped);
  EXPECT_EQ(dropped, expected_dropped);
  EXPECT_LT(cases::difference(R, expected_R), 1e-13);
  for (const int i : nodes)
    for (int e = i * nc * nm; e < (i + 1) * nc * nm; ++e)
      ASSERT_NEAR(Q[e], expected_Q[e], 1e-13);
}

TEST(Teams, CoarseningIsThatOfTheHost)
{
  // Rows over aggregates of one node have more blocks than a team of blocks of any size sums up at once.
  for (const auto &sizes : {std::array<int, 3>{1, 1, 5},
                            {2, 2, 5},
                            {2, 3, 5},
                            {3, 3, 5},
                            {3, 6, 5},
                            {6, 6, 5},
                            {3, 1, 5},
                            {5, 7, 5},
                            {3, 3, 1},
                            {3, 1, 1},
                            {7, 5, 1}})
  {
    constexpr int                   stretch = 13;
    const int                       nc = sizes[0], nm = sizes[1], n_nodes = 31;
    const std::vector<int>          of_node = aggregates_of(n_nodes, sizes[2]);
    const std::vector<double>       modes   = cases::random_values(std::size_t(n_nodes) * nc * nm, 8);
    const Backend                   host("host");
    SlicedEllpackMatrix<double>     A;
    TentativeProlongator            tentative;
    PreconditionBlockJacobi<double> diagonal;
    LargestEigenvalue<double>       lambda;
    SmoothedAggregation<double>     step;
    const AggregateLists            aggregates(host, of_node);
    A.reinit(host, cases::spd_blocks(n_nodes, nc, 3), nc, nc);
    tentative.compute(aggregates, Array<double>(host, modes), nc, nm);
    diagonal.initialize(A);
    lambda.compute(A, diagonal, 10);
    step.reinit(A, aggregates, nm);
    step.compute(A, aggregates, tentative, diagonal, lambda);

    auto view = step.view(A, nullptr);
    // The host has neither pattern where it makes the coarse matrix by rows.
    const int               n_coarse = aggregates.n_aggregates();
    const CompressedPattern AP =
        kernels::unique_rows(Host(), host, n_nodes, n_coarse, kernels::ProductRows{{view.A, view.P}, 0});
    view.AP = AP.view();
    const CompressedPattern RAP =
        kernels::unique_rows(Host(), host, n_coarse, n_coarse, kernels::CoarseRows{{view.R, view.AP}});
    view.C_pattern                                = RAP.view();
    const double                         omega    = 1.5 / lambda.value();
    const std::size_t                    n_values = view.P.row_offsets[n_nodes] * nc * nm;
    std::vector<double>                  expected = cases::not_a_number<double>(n_values), P = expected;
    const kernels::TentativeView<double> Q{aggregates.aggregate_of_node().data(), tentative.values().data(),
                                           *diagonal.block_diagonal(), &omega};
    view.P_values = expected.data();
    kernels::prolongator(Host(), view, Q);
    view.P_values = P.data();
    kernels::by_teams<kernels::ProlongatorBody>(Threads(), n_nodes, view, Q);
    EXPECT_LT(cases::difference(P, expected), 1e-15);

    const Dense C(step.coarse_matrix().to_csr_host());
    std::fill_n(view.C.values, step.coarse_matrix().n_stored_elements(), 0.);
    for (int first = 0; first < n_nodes; first += stretch)
    {
      const int           last     = std::min(n_nodes, first + stretch);
      const std::int64_t  n_blocks = view.AP.row_offsets[last] - view.AP.row_offsets[first];
      std::vector<double> product  = cases::not_a_number<double>(n_blocks * nc * nm);
      // The first stretch in one part, the others in three.
      const int           n_parts = first == 0 ? 1 : 3;
      std::vector<double> partial =
          cases::not_a_number<double>(n_parts * view.C_pattern.row_offsets[C.n_rows / nm] * nm * nm);
      const kernels::ProductStretch<double> rows{first, last, product.data(), n_parts,
                                                 n_parts == 1 ? nullptr : partial.data()};
      kernels::by_teams<kernels::MatrixProlongatorBody>(Threads(), last - first, view, rows);
      kernels::coarse_matrix_by_teams(Threads(), view, rows);
    }
    // What lies below the diagonal is left to the mirror.
    Dense after = C, upper(step.coarse_matrix().to_csr_host());
    for (int i = 0; i < C.n_rows; ++i)
      for (int j = 0; j < i; ++j)
      {
        if (i / nm != j / nm)
        {
          EXPECT_EQ(upper(i, j), 0.);
        }
        after(i, j) = upper(i, j) = 0.;
      }
    for (int i = 0; i < C.n_rows; ++i) // so is the diagonal of dropped modes
      after(i, i) = upper(i, i) == 0. ? 0. : after(i, i);
    EXPECT_LT(cases::difference(upper.values, after.values), 1e-14 * C.magnitude());
  }
}
