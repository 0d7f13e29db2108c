// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "graph_cases.h"
#include "kernels/coarsening.h"
#include "lac/multigrid/multigrid_tools.h"
#include "multigrid_cases.h"

#include <set>

using namespace PatchFEM;
using cases::Dense;

/** Prolongators that are smoothed along short edges only. */
class ShortProlongatorTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(ShortProlongatorTest);

namespace
{
  /** One coarsening of a grid of n^3 nodes whose nodes with x = 0 are fixed and in no aggregate. */
  template <int n_c>
  struct GridCoarsening
  {
    int                             n, n_m;
    std::vector<int>                of_node;
    cases::Lists                    edges;
    HostCSR<double>                 matrix;
    std::vector<double>             modes;
    SlicedEllpackMatrix<double>     A;
    AggregateLists                  aggregates;
    TentativeProlongator            tentative;
    PreconditionBlockJacobi<double> diagonal;
    LargestEigenvalue<double>       lambda;
    SmoothedAggregation<double>     step;

    /** Aggregates of @p height nodes in z and @p width in y; short edges are those in z, and in y within an aggregate. */
    GridCoarsening(const Backend &backend, const int n, const int width, const int height, const bool short_edges)
        : n(n), matrix(cases::grid_matrix<n_c>(n))
    {
      const int per_column = (n + height - 1) / height, per_layer = (n + width - 1) / width;
      edges.resize(n * n * n);
      for (int i = 0; i < n * n * n; ++i)
      {
        const int x = i % n, y = i / n % n, z = i / n / n;
        of_node.push_back(x == 0 ? -1 : (x - 1) * per_layer * per_column + y / width * per_column + z / height);
        for (const int dz : {-1, 0, 1})
          for (const int dy : {-1, 0, 1})
            if (x > 0 && (dy != 0 || dz != 0) && y + dy >= 0 && y + dy < n && z + dz >= 0 && z + dz < n &&
                (y + dy) / width == y / width)
              edges[i].push_back(i + dz * n * n + dy * n);
      }
      A.reinit(backend, matrix, n_c, n_c);
      const NearNullSpace null = n_c == 3
                                     ? NearNullSpace::rigid_body_modes(3, Array<double>(backend, cases::grid_points(n)))
                                     : NearNullSpace::constants(backend, n * n * n, n_c);
      n_m                      = null.n_modes();
      modes                    = null.array().to_vector();
      for (std::size_t i = 0; i < of_node.size(); ++i)
        if (of_node[i] < 0)
          std::fill_n(modes.begin() + i * n_c * n_m, n_c * n_m, 0.);
      aggregates = AggregateLists(backend, of_node);
      if (short_edges)
        aggregates.set_short_edges(cases::to_adjacency(backend, edges));
      tentative.compute(aggregates, Array<double>(backend, modes), n_c, n_m);
      diagonal.initialize(A);
      lambda.compute(A, diagonal, 10);
      compute();
    }

    void compute()
    {
      step.reinit(A, aggregates, n_m);
      step.compute(A, aggregates, tentative, diagonal, lambda);
    }

    Dense prolongator() const { return Dense(step.prolongator().to_csr_host()); }

    /** P R_B, what the prolongator makes of the modes of the next level. */
    Dense modes_again() const
    {
      Dense R(aggregates.n_aggregates() * n_m, n_m);
      R.values = tentative.coarse_modes().to_vector();
      return prolongator() * R;
    }
  };
} // namespace

TEST_P(ShortProlongatorTest, ProjectionByEye)
{
  // One mode, Q = 1 and D = 2. Node 0 couples with all by 1, -1, 4 and has blocks of its own aggregate 0 and of
  // 2, where A B of node 1 is -1 * 4: row 0 gains 0.5 / 2 * 4 in proportion to the modes 2 and 1. Row 1 has all
  // blocks, row 2 none; the number behind stays.
  HostCSR<double> A;
  A.n_rows = A.n_columns = 3;
  A.row_offsets          = {0, 3, 5, 6};
  A.columns              = {0, 1, 2, 0, 1, 2};
  A.values               = {1., -1., 4., -1., 5., 3.};
  CompressedPattern P;
  P.n_rows = P.n_columns = 3;
  P.offsets.copy_from(backend(), {0, 2, 4, 4});
  P.columns.copy_from(backend(), {0, 2, 0, 1});
  const SlicedEllpackMatrix<double> matrix(backend(), A, 1);
  const Array<int>                  own(backend(), {0, 1, 2});
  const Array<double>               Q(backend(), {1., 1., 1.}), D(backend(), {0.5, 0.5, 0.5}),
      omega(backend(), std::vector<double>{0.5}), R(backend(), {2., 4., 1.});
  Array<double> values(backend(), {7., 8., 9., 10., 11.});
  dispatch(backend(), [&](auto where) {
    const kernels::TentativeView<double> view{own.data(), Q.data(), {3, 1, 3, D.data()}, omega.data()};
    multigrid::project_rows(where, matrix, view, P, R, 1, values);
  });
  backend().synchronize();
  EXPECT_EQ(values.to_vector(), (std::vector<double>{7. + 2. / 5., 8. + 1. / 5., 9., 10., 11.}));

  // Aggregates 0 and 2 hardly have the mode: the row would change by 1 / (0.25^2 + 0.25^2)^(1/2) > 2.
  const Array<double> small(backend(), {0.25, 4., 0.25});
  dispatch(backend(), [&](auto where) {
    const kernels::TentativeView<double> view{own.data(), Q.data(), {3, 1, 3, D.data()}, omega.data()};
    multigrid::project_rows(where, matrix, view, P, small, 1, values);
  });
  backend().synchronize();
  EXPECT_EQ(values.to_vector(), (std::vector<double>{7. + 2. / 5., 8. + 1. / 5., 9., 10., 11.}));
}

TEST_P(ShortProlongatorTest, BlocksAreThoseOfShortEdges)
{
  const GridCoarsening<1> grid(backend(), 9, 1, 3, true);
  const Dense             P = grid.prolongator();
  for (int i = 0; i < P.n_rows; ++i)
  {
    std::set<int> wanted{grid.of_node[i]};
    for (const int j : grid.edges[i])
      wanted.insert(grid.of_node[j]);
    for (int a = 0; a < P.n_columns; ++a)
      if (wanted.count(a) == 0)
      {
        ASSERT_EQ(P(i, a), 0.);
      }
  }
  const GridCoarsening<1> whole(backend(), 9, 1, 3, false);
  EXPECT_LT(2 * grid.step.prolongator().n_nonzero_elements(), whole.step.prolongator().n_nonzero_elements());
  EXPECT_LT(2 * grid.step.coarse_matrix().n_nonzero_elements(), whole.step.coarse_matrix().n_nonzero_elements());
}

TEST_P(ShortProlongatorTest, StretchesDoNotShow)
{
  const auto check = [](auto grid) {
    const std::vector<double> whole = grid.prolongator().values;
    grid.step.set_stretch(50);
    grid.compute();
    EXPECT_EQ(grid.prolongator().values, whole);
  };
  check(GridCoarsening<1>(backend(), 9, 1, 3, true));
  check(GridCoarsening<3>(backend(), 8, 2, 3, true));
}

TEST_P(ShortProlongatorTest, ModesStayWhatTheyAre)
{
  // In planes of nodes no mode is dropped, so that every row gives back what it did.
  const GridCoarsening<1> scalar(backend(), 9, 1, 3, true), scalar_whole(backend(), 9, 1, 3, false);
  EXPECT_LT(cases::difference(scalar.modes_again().values, scalar_whole.modes_again().values), 1e-13);
  const GridCoarsening<3> planes(backend(), 8, 2, 3, true), planes_whole(backend(), 8, 2, 3, false);
  EXPECT_EQ(planes.tentative.n_dropped(), 0);
  EXPECT_LT(cases::difference(planes.modes_again().values, planes_whole.modes_again().values), 1e-12);
}

TEST_P(ShortProlongatorTest, ModesOfLinesStayWhereNothingStrains)
{
  // A line has no rotation about itself; where A B = 0 the rest of the row has none of it, either.
  const GridCoarsening<3> lines(backend(), 7, 1, 7, true);
  EXPECT_EQ(lines.tentative.n_dropped(), lines.aggregates.n_aggregates());
  const Dense again = lines.modes_again();
  for (int i = 0; i < 7 * 7 * 7; ++i)
    for (int e = 0; e < 18 && i % 7 > 1; ++e) // no neighbour is fixed
      ASSERT_NEAR(again.values[i * 18 + e], lines.modes[i * 18 + e], 1e-12) << "node " << i;
}

TEST_P(ShortProlongatorTest, IsThatOfTheHostAndRepeats)
{
  GridCoarsening<3>       here(backend(), 13, 2, 4, true);
  const GridCoarsening<3> host(Backend("host"), 13, 2, 4, true);
  const Dense             P = here.prolongator();
  EXPECT_LT(cases::difference(P.values, host.prolongator().values), 1e-12);
  here.compute();
  EXPECT_EQ(here.prolongator().values, P.values);
}
