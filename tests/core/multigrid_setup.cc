// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include "kernels/dense_spd.h"
#include "kernels/multigrid_pattern_bodies.h"

#include <omp.h>

#include <algorithm>
#include <climits>
#include <set>

using namespace PatchFEM;
using cases::Dense;

class MultigridSetupTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(MultigridSetupTest);

namespace
{
  /** Everything of one coarsening, for a matrix of random blocks. */
  template <typename Number>
  struct Coarsening
  {
    SlicedEllpackMatrix<Number>     A;
    AggregateLists                  aggregates;
    TentativeProlongator            tentative;
    PreconditionBlockJacobi<Number> diagonal;
    LargestEigenvalue<Number>       lambda;
    SmoothedAggregation<Number>     step;

    Coarsening(const Backend             &backend,
               const HostCSR<Number>     &matrix,
               const int                  n_components,
               const std::vector<int>    &aggregate_of_node,
               const std::vector<double> &modes,
               const int                  n_modes,
               const int                  stretch = 0)
    {
      A.reinit(backend, matrix, n_components, n_components);
      aggregates = AggregateLists(backend, aggregate_of_node);
      tentative.compute(aggregates, Array<double>(backend, modes), n_components, n_modes);
      diagonal.initialize(A);
      lambda.compute(A, diagonal, 10);
      step.set_stretch(stretch);
      step.reinit(A, aggregates, n_modes);
      step.compute(A, aggregates, tentative, diagonal, lambda);
    }
  };

  /** Nodes in runs of 1 to 5, every eleventh without an aggregate. */
  std::vector<int> runs(const int n_nodes)
  {
    std::vector<int> result;
    int              aggregate = -1, left = 0;
    for (int i = 0; i < n_nodes; ++i)
      if (i % 11 == 7)
        result.push_back(-1);
      else
      {
        if (left == 0)
        {
          ++aggregate;
          left = 1 + (aggregate * 3) % 5;
        }
        result.push_back(aggregate);
        --left;
      }
    return result;
  }

  /** Q of a tentative prolongator as a matrix. */
  Dense tentative_matrix(const TentativeProlongator &tentative, const std::vector<int> &of_node, int nc, int nm)
  {
    const std::vector<double> values = tentative.values().to_vector();
    Dense result(static_cast<int>(of_node.size()) * nc, (*std::max_element(of_node.begin(), of_node.end()) + 1) * nm);
    for (std::size_t i = 0; i < of_node.size(); ++i)
      for (int a = 0; a < nc; ++a)
        for (int m = 0; m < nm; ++m)
        {
          const double value = values[(i * nc + a) * nm + m];
          if (of_node[i] >= 0)
            result(static_cast<int>(i) * nc + a, of_node[i] * nm + m) = value;
          else
            EXPECT_EQ(value, 0.);
        }
    return result;
  }

  Dense rows_of(const std::vector<double> &values, const int n_columns)
  {
    Dense result(static_cast<int>(values.size()) / n_columns, n_columns);
    result.values = values;
    return result;
  }

  /** A near-null space without those of nodes outside of aggregates. */
  std::vector<double> masked(std::vector<double> modes, const std::vector<int> &of_node, const int per_node)
  {
    for (std::size_t i = 0; i < of_node.size(); ++i)
      if (of_node[i] < 0)
        std::fill_n(modes.begin() + i * per_node, per_node, 0.);
    return modes;
  }
} // namespace

TEST_P(MultigridSetupTest, TentativeProlongatorByEye)
{
  // Two aggregates of one component: (1, 1) has length sqrt(2), (3, 4) length 5; the node between has none.
  const AggregateLists aggregates(backend(), {0, 0, -1, 1, 1});
  TentativeProlongator tentative;
  tentative.compute(aggregates, Array<double>(backend(), {1., 1., 9., 3., 4.}), 1, 1);
  EXPECT_LT(cases::difference(tentative.values().to_vector(), {std::sqrt(0.5), std::sqrt(0.5), 0., 0.6, 0.8}), 1e-15);
  EXPECT_LT(cases::difference(tentative.coarse_modes().to_vector(), {std::sqrt(2.), 5.}), 1e-15);
  EXPECT_EQ(tentative.n_dropped(), 0);
}

TEST_P(MultigridSetupTest, TentativeProlongatorGivesBackTheModes)
{
  for (const auto &sizes : {std::pair<int, int>{1, 1}, {2, 3}, {3, 6}, {6, 6}, {3, 1}, {4, 7}, {12, 12}})
  {
    const int                 nc = sizes.first, nm = sizes.second, n_nodes = 211;
    const std::vector<int>    of_node = runs(n_nodes);
    const std::vector<double> modes   = cases::random_values(std::size_t(n_nodes) * nc * nm, 5);
    const AggregateLists      aggregates(backend(), of_node);
    TentativeProlongator      tentative;
    tentative.compute(aggregates, Array<double>(backend(), modes), nc, nm);
    const Dense Q = tentative_matrix(tentative, of_node, nc, nm);
    const Dense R = rows_of(tentative.coarse_modes().to_vector(), nm);
    EXPECT_LT(cases::difference((Q * R).values, masked(modes, of_node, nc * nm)), 1e-13);

    // Columns have length 1 and stand on each other at right angles, except those that were dropped: 0.
    const Dense            QQ      = Q.transposed() * Q;
    const std::vector<int> dropped = tentative.dropped().to_vector();
    int                    count   = 0;
    for (int i = 0; i < QQ.n_rows; ++i)
    {
      const bool drop = (dropped[i / nm] >> (i % nm)) & 1;
      count += drop;
      for (int j = 0; j < QQ.n_columns; ++j)
        ASSERT_NEAR(QQ(i, j), i == j && !drop ? 1. : 0., 1e-13);
    }
    EXPECT_EQ(count, tentative.n_dropped());
    // Random modes have full rank, so that only aggregates with too few unknowns drop any.
    int expected = 0;
    for (int aggregate = 0; aggregate < aggregates.n_aggregates(); ++aggregate)
      expected += std::max<int>(0, nm - nc * int(std::count(of_node.begin(), of_node.end(), aggregate)));
    EXPECT_EQ(count, expected);
  }
}

TEST_P(MultigridSetupTest, NearlyDependentModesBecomeOrthogonal)
{
  // The modes differ by 1e-7 of their length: one pass of Gram-Schmidt would leave 1e-9 between them.
  const int                 n_nodes = 64, nm = 4;
  std::vector<double>       modes(std::size_t(n_nodes) * nm);
  const std::vector<double> base = cases::random_values(n_nodes, 1), more = cases::random_values(modes.size(), 2);
  for (int i = 0; i < n_nodes; ++i)
    for (int m = 0; m < nm; ++m)
      modes[i * nm + m] = base[i] + 1e-7 * more[i * nm + m];
  const std::vector<int> of_node(n_nodes, 0);
  TentativeProlongator   tentative;
  tentative.compute(AggregateLists(backend(), of_node), Array<double>(backend(), modes), 1, nm);
  EXPECT_EQ(tentative.n_dropped(), 0);
  const Dense Q  = tentative_matrix(tentative, of_node, 1, nm);
  Dense       QQ = Q.transposed() * Q;
  for (int m = 0; m < nm; ++m)
    QQ(m, m) -= 1.;
  EXPECT_LT(QQ.magnitude(), 1e-14);
  EXPECT_LT(cases::difference((Q * rows_of(tentative.coarse_modes().to_vector(), nm)).values, modes), 1e-14);
}

TEST_P(MultigridSetupTest, NodesOnALineDropTheRotationAboutIt)
{
  std::vector<double> points;
  for (int i = 0; i < 12; ++i)
    for (const double x : {1e3 + 0.1 * i, 5., -7.})
      points.push_back(x);
  for (const double x : {0., 0., 0.}) // the centroid is off the line
    points.push_back(x);
  const NearNullSpace  modes = NearNullSpace::rigid_body_modes(3, Array<double>(backend(), points));
  const AggregateLists aggregates(backend(), {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 3, -1});
  TentativeProlongator tentative;
  tentative.compute(aggregates, modes.array(), 3, 6);
  const std::vector<int> dropped = tentative.dropped().to_vector();
  // Three aggregates lack one rotation, the single node all three.
  EXPECT_EQ(tentative.n_dropped(), 3 * 1 + 3);
  EXPECT_EQ(dropped[3], 8 + 16 + 32);
}

TEST_P(MultigridSetupTest, RigidBodyModesHaveNoStrain)
{
  const std::vector<double> points = cases::grid_points(4);
  const NearNullSpace       space  = NearNullSpace::rigid_body_modes(3, Array<double>(backend(), points));
  ASSERT_EQ(space.n_unknowns(), 192);
  const Dense  modes = rows_of(space.array().to_vector(), 6);
  const double h     = 1. / 3.;
  for (int m = 0; m < 6; ++m)
  {
    // The gradient of a linear field from its differences; node 0 is at the origin, 1, 4, 16 beside it.
    double gradient[3][3], sum = 0.;
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d)
        gradient[a][d] = (modes((d == 0 ? 1 : d == 1 ? 4 : 16) * 3 + a, m) - modes(a, m)) / h;
    for (int a = 0; a < 3; ++a)
      for (int d = 0; d < 3; ++d)
      {
        EXPECT_NEAR(gradient[a][d] + gradient[d][a], 0., 1e-14);
        sum += std::abs(gradient[a][d]);
      }
    EXPECT_NEAR(sum, m < 3 ? 0. : 2., 1e-13);
    double mean = 0.;
    for (int i = 0; i < 64; ++i)
      for (int a = 0; a < 3; ++a)
        mean += modes(3 * i + a, m);
    EXPECT_NEAR(mean, m < 3 ? 64. : 0., 1e-12); // rotations are about the centroid
  }
  const NearNullSpace plane = NearNullSpace::rigid_body_modes(2, Array<double>(backend(), {0., 0., 2., 0., 1., 3.}));
  EXPECT_LT(cases::difference(plane.array().to_vector(),
                              {1., 0., 1., 0., 1., -1., 1., 0., 1., 0., 1., 1., 1., 0., -2., 0., 1., 0.}),
            1e-15);
  const NearNullSpace constants = NearNullSpace::constants(backend(), 2, 2);
  EXPECT_EQ(constants.array().to_vector(), (std::vector<double>{1., 0., 0., 1., 1., 0., 0., 1.}));
  const NearNullSpace given = NearNullSpace::from_vectors(backend(), {{1., 2.}, {3., 4.}});
  EXPECT_EQ(given.array().to_vector(), (std::vector<double>{1., 3., 2., 4.}));
}

TEST_P(MultigridSetupTest, CoarseningAgreesWithDenseAlgebra)
{
  for (const auto &sizes : {std::pair<int, int>{1, 1}, {2, 2}, {2, 3}, {3, 3}, {3, 6}, {6, 6}, {3, 1}, {5, 7}})
    for (const int stretch : {0, 1, 7})
    {
      const int                 nc = sizes.first, nm = sizes.second, n_nodes = 79;
      const HostCSR<double>     matrix  = cases::spd_blocks(n_nodes, nc, 3);
      const std::vector<int>    of_node = runs(n_nodes);
      const std::vector<double> modes   = cases::random_values(std::size_t(n_nodes) * nc * nm, 8);
      Coarsening<double>        c(backend(), matrix, nc, of_node, modes, nm, stretch);

      const Dense  A(matrix), DA = cases::scaled_by_block_diagonal(A, A, nc);
      const Dense  Q     = tentative_matrix(c.tentative, of_node, nc, nm);
      const double omega = 1.5 / c.lambda.value();
      Dense        P     = DA * Q;
      for (std::size_t e = 0; e < P.values.size(); ++e)
        P.values[e] = Q.values[e] - omega * P.values[e];
      const Dense computed_P(c.step.prolongator().to_csr_host());
      ASSERT_LT(cases::difference(computed_P.values, P.values), 1e-14) << nc << "x" << nm;
      EXPECT_EQ(Dense(c.step.restrictor().to_csr_host()).values, computed_P.transposed().values);

      Dense                  coarse  = computed_P.transposed() * (A * computed_P);
      const std::vector<int> dropped = c.tentative.dropped().to_vector();
      for (int i = 0; i < coarse.n_rows; ++i)
        if ((dropped[i / nm] >> (i % nm)) & 1)
        {
          EXPECT_EQ(coarse(i, i), 0.);
          coarse(i, i) = 1.;
        }
      const Dense computed(c.step.coarse_matrix().to_csr_host());
      ASSERT_LT(cases::difference(computed.values, coarse.values), 1e-13 * A.magnitude()) << nc << "x" << nm;
      EXPECT_EQ(computed.values, computed.transposed().values);

      // P B_c = (I - omega D^-1 A) B on every row.
      const Dense B     = rows_of(masked(modes, of_node, nc * nm), nm);
      const Dense PB    = computed_P * rows_of(c.tentative.coarse_modes().to_vector(), nm);
      Dense       image = DA * B;
      for (std::size_t e = 0; e < image.values.size(); ++e)
        image.values[e] = B.values[e] - omega * image.values[e];
      EXPECT_LT(cases::difference(PB.values, image.values), 1e-13);
    }
}

TEST_P(MultigridSetupTest, PatternsHoldWhatTheProductsNeedAndNothingElse)
{
  const int              n_nodes = 130;
  const HostCSR<double>  matrix  = cases::spd_blocks(n_nodes, 1, 4);
  const std::vector<int> of_node = runs(n_nodes);
  Coarsening<double>     c(backend(), matrix, 1, of_node, std::vector<double>(n_nodes, 1.), 1);

  std::set<std::pair<int, int>> P, AP, coarse;
  for (int i = 0; i < n_nodes; ++i)
    for (std::int64_t e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e)
      if (of_node[matrix.columns[e]] >= 0)
        P.insert({i, of_node[matrix.columns[e]]});
  for (int i = 0; i < n_nodes; ++i)
    for (std::int64_t e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e)
      for (auto p = P.lower_bound({matrix.columns[e], 0}); p != P.end() && p->first == matrix.columns[e]; ++p)
        AP.insert({i, p->second});
  for (const auto &entry : P)
    for (auto p = AP.lower_bound({entry.first, 0}); p != AP.end() && p->first == entry.first; ++p)
      coarse.insert({entry.second, p->second});

  const auto entries = [](const HostCSR<double> &A) {
    std::set<std::pair<int, int>> result;
    for (int i = 0; i < A.n_rows; ++i)
      for (std::int64_t e = A.row_offsets[i]; e < A.row_offsets[i + 1]; ++e)
        result.insert({i, A.columns[e]});
    EXPECT_EQ(result.size(), A.columns.size());
    return result;
  };
  EXPECT_EQ(entries(c.step.prolongator().to_csr_host()), P);
  EXPECT_EQ(entries(c.step.coarse_matrix().to_csr_host()), coarse);
}

TEST_P(MultigridSetupTest, LargestEigenvalueIsABound)
{
  // The second difference: D = 2, eigenvalues 1 - cos(k pi / (n + 1)).
  const double pi = std::acos(-1.);
  for (const int n : {1, 2, 5, 33, 1000})
    for (const int steps : {5, 10, 20})
    {
      const auto                      A = cases::laplacian<double>(n, 1);
      SlicedEllpackMatrix<double>     matrix(backend(), A);
      PreconditionBlockJacobi<double> diagonal;
      diagonal.initialize(matrix);
      LargestEigenvalue<double> lambda;
      lambda.compute(matrix, diagonal, steps);
      const double exact = 1. - std::cos(n * pi / (n + 1));
      EXPECT_GT(lambda.value(), exact * (1. - 1e-12)) << n << " " << steps;
      EXPECT_LT(lambda.value(), exact * (n <= steps ? 1. + 1e-10 : steps == 5 ? 1.25 : 1.1)) << n << " " << steps;
    }
}

TEST_P(MultigridSetupTest, DenseInverseSolves)
{
  for (const int n : {1, 2, 31, 32, 33, 64, 129, 300})
  {
    HostCSR<double> A = cases::spd_blocks(n, 1, 7);
    if (n < 4) // the ring of spd_blocks needs more
    {
      A        = HostCSR<double>();
      A.n_rows = A.n_columns = n;
      A.row_offsets          = {0};
      for (int i = 0; i < n; ++i)
      {
        for (int j = 0; j < n; ++j)
        {
          A.columns.push_back(j);
          A.values.push_back(i == j ? 2. : 1.);
        }
        A.row_offsets.push_back(A.columns.size());
      }
    }
    DenseInverse<double>              inverse;
    const SlicedEllpackMatrix<double> matrix(backend(), A);
    inverse.compute(matrix);
    Dense M(n, n);
    M.values = inverse.array().to_vector();
    EXPECT_EQ(M.values, M.transposed().values);
    Dense product = Dense(A) * M;
    for (int i = 0; i < n; ++i)
      product(i, i) -= 1.;
    EXPECT_LT(product.magnitude(), 1e-12) << n;

    const std::vector<double> rhs = cases::random_values(n, 2);
    Vector<double>            x(backend(), cases::not_a_number<double>(n));
    inverse.vmult(x, Vector<double>(backend(), rhs));
    EXPECT_LT(cases::difference(cases::product(A, x.copy_to_host()), rhs), 1e-12);
  }
}

TEST_P(MultigridSetupTest, DenseInverseNamesTheRowThatFails)
{
  for (const int bad : {0, 31, 32, 38})
  {
    HostCSR<double> A = cases::spd_blocks(39, 1, 7);
    for (std::int64_t e = A.row_offsets[bad]; e < A.row_offsets[bad + 1]; ++e)
      if (A.columns[e] == bad)
        A.values[e] = -1.;
    DenseInverse<double> inverse;
    try
    {
      inverse.compute(SlicedEllpackMatrix<double>(backend(), A));
      FAIL();
    }
    catch (const Error &error)
    {
      EXPECT_NE(std::string(error.what()).find("row " + std::to_string(bad) + " of 39"), std::string::npos)
          << error.what();
    }
  }
}

TEST(DenseInverse, DoesNotDependOnTheStrip)
{
  // The device takes columns of four, the host pieces of eight by eight; bodies that disagree would show on one of them
  // alone.
  for (const int n : {1, 5, 32, 33, 61, 128})
  {
    const Dense         A(cases::spd_blocks(n, 1, 9));
    std::vector<double> results[2];
    for (int k = 0; k < 2; ++k)
    {
      std::vector<double> values    = A.values,
                          workspace = cases::not_a_number<double>(kernels::inverse_workspace(n, k == 0 ? 1 : 8));
      for (int i = 0; i < n; ++i) // the upper half is not read
        std::fill(values.begin() + std::int64_t(i) * n + i + 1, values.begin() + std::int64_t(i + 1) * n, std::nan(""));
      results[k]  = cases::not_a_number<double>(values.size());
      int failure = INT_MAX;
      if (k == 0)
        kernels::invert_dense_spd<4, 1>(Host(), n, values.data(), workspace.data(), results[k].data(), &failure);
      else
        kernels::invert_dense_spd<8, 8>(Host(), n, values.data(), workspace.data(), results[k].data(), &failure);
      EXPECT_EQ(failure, INT_MAX);
    }
    EXPECT_LT(cases::difference(results[0], results[1]), 1e-14);
  }
}

TEST_P(MultigridSetupTest, CoarseningOfAGridInSinglePrecision)
{
  const int              n      = 8;
  const HostCSR<double>  matrix = cases::grid_matrix<3>(n);
  HostCSR<float>         single{matrix.n_rows, matrix.n_columns, matrix.row_offsets, matrix.columns,
                        cases::to<float>(matrix.values)};
  const std::vector<int> of_node = cases::GridAggregation(n).lists(0, Backend("host")).aggregate_of_node().to_vector();
  const std::vector<double> modes =
      NearNullSpace::rigid_body_modes(3, Array<double>(Backend("host"), cases::grid_points(n))).array().to_vector();
  Coarsening<double> fp64(backend(), matrix, 3, of_node, modes, 6);
  Coarsening<float>  fp32(backend(), single, 3, of_node, modes, 6);
  EXPECT_NEAR(fp32.lambda.value(), fp64.lambda.value(), 1e-4);
  const Dense a(fp64.step.coarse_matrix().to_csr_host()), b(fp32.step.coarse_matrix().to_csr_host());
  EXPECT_LT(cases::difference(a.values, b.values), 1e-4 * a.magnitude());
}

TEST_P(MultigridSetupTest, RepeatsForAnyNumberOfThreads)
{
  const int              n        = 7;
  const HostCSR<double>  matrix   = cases::grid_matrix<3>(n);
  const std::vector<int> of_node  = cases::GridAggregation(n).lists(0, Backend("host")).aggregate_of_node().to_vector();
  const std::vector<double> modes = cases::random_values(std::size_t(n) * n * n * 18, 12);
  const int                 before = omp_get_max_threads();
  std::vector<double>       first;
  for (const int threads : {1, 2, 5})
  {
    omp_set_num_threads(threads);
    Coarsening<double>        c(backend(), matrix, 3, of_node, modes, 6);
    const std::vector<double> values = c.step.coarse_matrix().to_csr_host().values;
    if (first.empty())
      first = values;
    EXPECT_EQ(values, first);
  }
  omp_set_num_threads(before);
}
