// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <omp.h>

using namespace PatchFEM;
using cases::Dense;

/** Levels in fp64, for what is compared with algebra in fp64. */
struct Data : PreconditionAMG<double>::AdditionalData
{
  Data() { single_precision = false; }
};
using Status = IterationResult::Status;

class PreconditionAMGTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(PreconditionAMGTest);

namespace
{
  template <int n_c>
  NearNullSpace grid_modes(const Backend &backend, const int n)
  {
    return n_c == 3 ? NearNullSpace::rigid_body_modes(3, Array<double>(backend, cases::grid_points(n)))
                    : NearNullSpace::constants(backend, n * n * n, n_c);
  }

  /** Q1 Laplace or elasticity on a grid under AMG. */
  template <int n_c, typename Number = double>
  struct GridProblem
  {
    SlicedEllpackMatrix<Number> matrix;
    PreconditionAMG<Number>     amg;

    GridProblem(const Backend &backend, const int n, const typename PreconditionAMG<Number>::AdditionalData &data = {})
    {
      const HostCSR<double> A = cases::grid_matrix<n_c>(n);
      matrix.reinit(backend,
                    HostCSR<Number>{A.n_rows, A.n_columns, A.row_offsets, A.columns, cases::to<Number>(A.values)}, n_c,
                    n_c);
      cases::GridAggregation aggregation(n);
      amg.initialize(matrix, grid_modes<n_c>(backend, n), aggregation, data);
    }
  };

  template <typename Number>
  IterationResult solve(const MatrixBase<Number>       &A,
                        const PreconditionBase<Number> &M,
                        const double                    reduction = 1e-8,
                        std::vector<double>            *solution  = nullptr)
  {
    Vector<Number>   x(A.backend(), A.n_rows());
    Vector<Number>   b(A.backend(), std::vector<Number>(A.n_rows(), Number(1)));
    IterationControl control;
    control.tolerance = 0.;
    control.reduction = reduction;
    ConjugateGradients<Number> cg;
    const IterationResult      result = cg.solve(A, x, b, M, control);
    EXPECT_EQ(result.status, Status::converged) << result.message(M.name());
    if (solution != nullptr)
      *solution = cases::widened(x.copy_to_host());
    return result;
  }

  Data with(const AMGSmoother smoother, const int sweeps, const AMGCycle cycle = AMGCycle::v)
  {
    Data data;
    data.smoother        = smoother;
    data.smoother_sweeps = sweeps;
    data.cycle           = cycle;
    return data;
  }

  /** M^-1 v, into a vector that held nothing of use. */
  template <typename Number>
  std::vector<Number> apply(const Backend &backend, const PreconditionAMG<Number> &M, const std::vector<Number> &v)
  {
    Vector<Number> x(backend, cases::not_a_number<Number>(v.size()));
    M.vmult(x, Vector<Number>(backend, v));
    return x.copy_to_host();
  }

  /** M^-1 column by column: symmetric to rounding, and its Cholesky factorisation exists. */
  void expect_symmetric_positive(const Backend &backend, const PreconditionAMG<double> &M, const int n)
  {
    Dense dense(n, n);
    for (int j = 0; j < n; ++j)
    {
      std::vector<double> unit(n, 0.);
      unit[j]                          = 1.;
      const std::vector<double> column = apply(backend, M, unit);
      for (int i = 0; i < n; ++i)
        dense(i, j) = column[i];
    }
    EXPECT_LT(cases::difference(dense.values, dense.transposed().values), 1e-14 * dense.magnitude());
    EXPECT_GT(cases::smallest_pivot(dense), 0.);
  }

  /** The same pattern with the symmetric scaling S A S and a few percent more on the diagonal. */
  HostCSR<double> perturbed(HostCSR<double> A)
  {
    const std::vector<double> s = cases::random_values(A.n_rows, 91);
    for (int row = 0; row < A.n_rows; ++row)
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        A.values[e] *= (1. + 0.1 * s[row]) * (1. + 0.1 * s[A.columns[e]]) * (A.columns[e] == row ? 1.02 : 1.);
    return A;
  }
} // namespace

TEST_P(PreconditionAMGTest, IsSymmetricAndPositiveDefinite)
{
  for (const AMGSmoother smoother : {AMGSmoother::block_jacobi, AMGSmoother::l1_jacobi, AMGSmoother::chebyshev})
    for (const int sweeps : {1, 3})
      for (const AMGCycle cycle : {AMGCycle::v, AMGCycle::w})
      {
        Data data        = with(smoother, sweeps, cycle);
        data.coarse_size = 6;
        const GridProblem<1> problem(backend(), 6, data);
        ASSERT_EQ(problem.amg.n_levels(), 3u);
        expect_symmetric_positive(backend(), problem.amg, problem.matrix.n_rows());
        const GridProblem<3> elasticity(backend(), 4, data);
        ASSERT_EQ(elasticity.amg.n_levels(), 3u);
        expect_symmetric_positive(backend(), elasticity.amg, elasticity.matrix.n_rows());
      }
}

TEST_P(PreconditionAMGTest, TwoGridCycleAgreesWithDenseAlgebra)
{
  // One cycle from x = 0 on b = A e leaves e - M^-1 A e = E e, E = S_post (I - P A_c^-1 P^T A) S_pre.
  const int n = 5, b = 3;
  for (const AMGSmoother smoother : {AMGSmoother::block_jacobi, AMGSmoother::l1_jacobi, AMGSmoother::chebyshev})
    for (const int sweeps : {1, 2, 4})
    {
      Data data        = with(smoother, sweeps);
      data.coarse_size = 60;
      const GridProblem<3> problem(backend(), n, data);
      const auto          &hierarchy = problem.amg.hierarchy();
      ASSERT_EQ(hierarchy.n_levels(), 2u);
      const Dense               A(problem.matrix.to_csr_host()), P(hierarchy.coarsening(0).prolongator().to_csr_host());
      const double              lambda = problem.amg.statistics()[0].lambda_max;
      const std::vector<double> e      = cases::random_values(A.n_rows, 33);
      Vector<double>            x(backend(), cases::not_a_number<double>(A.n_rows));
      problem.amg.vmult(x, Vector<double>(backend(), cases::times(A, e)));

      Dense M = A; // D^-1 A, or with the sums of the rows on the diagonal of D
      if (smoother == AMGSmoother::l1_jacobi)
      {
        Dense D(A.n_rows, A.n_rows);
        for (int i = 0; i < A.n_rows; ++i)
          for (int j = 0; j < A.n_rows; ++j)
            if (i / b == j / b)
              D(i, j) += A(i, j);
            else
              D(i, i) += std::abs(A(i, j));
        M = cases::scaled_by_block_diagonal(A, D, b);
      }
      else
        M = cases::scaled_by_block_diagonal(A, A, b);
      const auto smooth = [&](std::vector<double> v) {
        if (smoother != AMGSmoother::chebyshev)
          for (int k = 0; k < sweeps; ++k)
            v = cases::plus(v, smoother == AMGSmoother::l1_jacobi ? -1. : -4. / 3. / lambda, cases::times(M, v));
        else
        {
          // T_k(Z) v / T_k(sigma) by the three-term recurrence, Z = (theta I - D^-1 A) / delta.
          const double low = lambda / Data().smoothing_range, theta = 0.5 * (lambda + low),
                       delta = 0.5 * (lambda - low), sigma = theta / delta;
          const auto Z = [&](const std::vector<double> &u) {
            std::vector<double> result = cases::times(M, u);
            for (std::size_t i = 0; i < u.size(); ++i)
              result[i] = (theta * u[i] - result[i]) / delta;
            return result;
          };
          std::vector<double> before = v, now = Z(v);
          double              t_before = 1., t_now = sigma;
          for (int k = 1; k < sweeps; ++k)
          {
            std::vector<double> next = Z(now);
            for (std::size_t i = 0; i < next.size(); ++i)
              next[i] = 2. * next[i] - before[i];
            before              = now;
            now                 = next;
            const double t_next = 2. * sigma * t_now - t_before;
            t_before            = t_now;
            t_now               = t_next;
          }
          for (double &value : now)
            value /= t_now;
          v = now;
        }
        return v;
      };
      std::vector<double>       v        = smooth(e);
      const std::vector<double> residual = cases::times(P.transposed(), cases::times(A, v));
      v = cases::plus(v, -1., cases::times(P, cases::solve_dense(P.transposed() * (A * P), residual)));
      v = smooth(v);
      EXPECT_LT(cases::difference(cases::plus(e, -1., x.copy_to_host()), v), 1e-11) << sweeps;
    }
}

TEST_P(PreconditionAMGTest, WCycleVisitsTheNextLevelTwice)
{
  // Written out for the finest level, over V-cycles of a hierarchy that starts at the second one.
  const int n      = 10;
  Data      data   = with(AMGSmoother::block_jacobi, 1, AMGCycle::w);
  data.coarse_size = 30;
  const GridProblem<3> w(backend(), n, data);
  ASSERT_EQ(w.amg.n_levels(), 3u);
  const auto &levels = w.amg.hierarchy();

  struct FromSecondLevel : public AMGAggregation
  {
    cases::GridAggregation grid{10};
    AggregateLists         aggregate(unsigned int level, const SlicedEllpackMatrix<double> &A) override
    {
      return grid.aggregate(level + 1, A);
    }
    AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<float> &A) override
    {
      return grid.aggregate(level + 1, A);
    }
  };
  const HostCSR<double>  A       = w.matrix.to_csr_host();
  std::vector<double>    modes   = grid_modes<3>(backend(), n).array().to_vector();
  const std::vector<int> of_node = levels.aggregates(0).aggregate_of_node().to_vector();
  for (std::size_t i = 0; i < of_node.size(); ++i)
    if (of_node[i] < 0)
      std::fill_n(modes.begin() + 18 * i, 18, 0.);
  TentativeProlongator tentative;
  tentative.compute(levels.aggregates(0), Array<double>(backend(), modes), 3, 6);
  const std::vector<double>        coarse = tentative.coarse_modes().to_vector();
  std::vector<std::vector<double>> columns(6);
  for (std::size_t e = 0; e < coarse.size(); ++e)
    columns[e % 6].push_back(coarse[e]);
  PreconditionAMG<double> below;
  data.cycle = AMGCycle::v;
  FromSecondLevel from_second_level;
  below.initialize(levels.matrix(1), NearNullSpace::from_vectors(backend(), columns), from_second_level, data);
  ASSERT_EQ(below.n_levels(), 2u);

  PreconditionBlockJacobi<double> diagonal;
  LargestEigenvalue<double>       lambda;
  diagonal.initialize(w.matrix);
  lambda.compute(w.matrix, diagonal, data.eigenvalue_steps);
  PolynomialSmoother<double> smoother(AMGSmoother::block_jacobi, 1, 6.);
  smoother.initialize(w.matrix, diagonal, lambda);

  const Vector<double> b(backend(), cases::random_values(A.n_rows, 19));
  Vector<double>       x(backend(), A.n_rows), r(backend(), A.n_rows);
  const int            m = levels.matrix(1).n_rows();
  Vector<double>       b_1(backend(), m), x_1(backend(), m), r_1(backend(), m), e_1(backend(), m);
  smoother.pre_smooth(x, r, b);
  levels.coarsening(0).restrictor().vmult(b_1, r);
  below.vmult(x_1, b_1);
  levels.matrix(1).residual(r_1, x_1, b_1);
  below.vmult(e_1, r_1);
  x_1.add(1., e_1);
  levels.coarsening(0).prolongator().vmult_add(x, x_1);
  smoother.post_smooth(x, r, b);
  const std::vector<double> expected = x.copy_to_host(), computed = apply(backend(), w.amg, b.copy_to_host());
  double                    largest = 0.;
  for (const double value : expected)
    largest = std::max(largest, std::abs(value));
  EXPECT_LT(cases::difference(computed, expected), 1e-12 * largest);
}

TEST_P(PreconditionAMGTest, ConvergesByItself)
{
  // The factor by which a cycle reduces the error in the energy norm, by power iteration.
  const auto factor = [&](const auto &problem) {
    const std::size_t n = problem.matrix.n_rows();
    Vector<double>    e(backend(), cases::random_values(n, 4)), Ae(backend(), n), z(backend(), n);
    double            before = 1., ratio = 0.;
    for (int k = 0; k < 30; ++k)
    {
      problem.matrix.vmult(Ae, e);
      const double energy = std::sqrt(e.dot(Ae));
      ratio               = energy / before;
      problem.amg.vmult(z, Ae);
      e.add(-1., z);
      e *= 1. / energy;
      before = 1.;
    }
    return ratio;
  };
  Data two_grid       = with(AMGSmoother::chebyshev, 2);
  two_grid.max_levels = 2;
  EXPECT_LT(factor(GridProblem<1>(backend(), 14, two_grid)), 0.2);
  EXPECT_LT(factor(GridProblem<3>(backend(), 9, two_grid)), 0.45);
  Data many        = two_grid;
  many.max_levels  = 20;
  many.coarse_size = 20;
  EXPECT_LT(factor(GridProblem<1>(backend(), 14, many)), 0.25);
}

TEST_P(PreconditionAMGTest, CountsHardlyGrow)
{
  const auto counts = [&](auto components, const std::vector<int> &sizes, const Data &data) {
    std::vector<unsigned int> result;
    for (const int n : sizes)
    {
      const GridProblem<decltype(components)::value> problem(backend(), n, data);
      result.push_back(solve(problem.matrix, problem.amg).n_iterations);
      EXPECT_LT(problem.amg.operator_complexity(), 1.2);
      EXPECT_LT(problem.amg.grid_complexity(), 1.12);
    }
    return result;
  };
  const std::integral_constant<int, 1> laplace;
  const std::integral_constant<int, 3> elasticity;

  std::vector<unsigned int> n = counts(laplace, {10, 19, 37}, with(AMGSmoother::chebyshev, 2));
  EXPECT_LE(n[0], 7u);
  EXPECT_LE(n[2], n[0] + 2);
  n = counts(laplace, {10, 19, 37}, with(AMGSmoother::block_jacobi, 1));
  EXPECT_LE(n[0], 10u);
  EXPECT_LE(n[2], n[0] + 3);
  n = counts(elasticity, {7, 13, 19}, with(AMGSmoother::chebyshev, 2));
  EXPECT_LE(n[0], 10u);
  EXPECT_LE(n[2], n[0] + 2);
  n = counts(elasticity, {7, 13, 19}, with(AMGSmoother::l1_jacobi, 2));
  EXPECT_LE(n[0], 18u);
  EXPECT_LE(n[2], n[0] + 5);
}

TEST_P(PreconditionAMGTest, CountsAreThoseOfTheHost)
{
  for (const AMGSmoother smoother : {AMGSmoother::block_jacobi, AMGSmoother::l1_jacobi, AMGSmoother::chebyshev})
  {
    const Data           data = with(smoother, 2);
    const GridProblem<3> here(backend(), 11, data), host(Backend("host"), 11, data);
    std::vector<double>  x, x_host;
    const int            n = solve(here.matrix, here.amg, 1e-8, &x).n_iterations;
    EXPECT_NEAR(n, int(solve(host.matrix, host.amg, 1e-8, &x_host).n_iterations), 1.);
    double largest = 0.;
    for (const double value : x_host)
      largest = std::max(largest, std::abs(value));
    EXPECT_LT(cases::difference(x, x_host), 1e-6 * largest);
  }
}

TEST_P(PreconditionAMGTest, UpdateIsWhatANewHierarchyWouldBe)
{
  const int                 n     = 10;
  const NearNullSpace       modes = grid_modes<3>(backend(), n);
  cases::GridAggregation    aggregation(n);
  const HostCSR<double>     A = cases::grid_matrix<3>(n), B = perturbed(A);
  const std::vector<double> v = cases::random_values(A.n_rows, 71);
  for (const bool single_precision : {false, true})
    for (const bool csr : {false, true})
    {
      Data data                                   = with(AMGSmoother::chebyshev, 2);
      data.coarse_size                            = 20;
      data.single_precision                       = single_precision;
      const SlicedEllpackMatrix<double> sliced[2] = {SlicedEllpackMatrix<double>(backend(), A, 3),
                                                     SlicedEllpackMatrix<double>(backend(), B, 3)};
      const CSRMatrix<double>   rows[2] = {CSRMatrix<double>(backend(), A, 3), CSRMatrix<double>(backend(), B, 3)};
      const MatrixBase<double> &first   = csr ? static_cast<const MatrixBase<double> &>(rows[0]) : sliced[0];
      const MatrixBase<double> &second  = csr ? static_cast<const MatrixBase<double> &>(rows[1]) : sliced[1];
      PreconditionAMG<double>   updated, fresh;
      updated.initialize(first, modes, aggregation, data);
      fresh.initialize(second, modes, aggregation, data);
      ASSERT_EQ(fresh.n_levels(), 4u);
      const std::vector<double> before = apply(backend(), updated, v), expected = apply(backend(), fresh, v);
      EXPECT_NE(before, expected);
      updated.update(second);
      EXPECT_EQ(apply(backend(), updated, v), expected);
      updated.update(first);
      EXPECT_EQ(apply(backend(), updated, v), before);
    }
}

TEST_P(PreconditionAMGTest, RepeatsBitByBit)
{
  const std::vector<double> v      = cases::random_values(3 * 9 * 9 * 9, 72);
  const int                 before = omp_get_max_threads();
  std::vector<double>       first;
  for (const int threads : {1, 2, 5})
  {
    omp_set_num_threads(threads);
    const GridProblem<3>      problem(backend(), 9, with(AMGSmoother::chebyshev, 2));
    const std::vector<double> result = apply(backend(), problem.amg, v);
    if (first.empty())
      first = result;
    EXPECT_EQ(result, first);
    EXPECT_EQ(apply(backend(), problem.amg, v), first);
  }
  omp_set_num_threads(before);
}

TEST_P(PreconditionAMGTest, RowsAndBlocksGiveTheSame)
{
  const int                 n     = 8;
  const HostCSR<double>     A     = cases::grid_matrix<3>(n);
  const NearNullSpace       modes = grid_modes<3>(backend(), n);
  const CSRMatrix<double>   rows(backend(), A, 3);
  PreconditionAMG<double>   from_rows;
  const GridProblem<3>      blocks(backend(), n);
  const std::vector<double> v = cases::random_values(A.n_rows, 73);
  cases::GridAggregation    aggregation(n);
  from_rows.initialize(rows, modes, aggregation);
  EXPECT_EQ(apply(backend(), from_rows, v), apply(backend(), blocks.amg, v));
}

TEST_P(PreconditionAMGTest, SinglePrecisionUnderDoubleTakesAsManySteps)
{
  const GridProblem<3> mixed(backend(), 13), fp64(backend(), 13, Data());
  EXPECT_EQ(mixed.amg.hierarchy().n_levels(), 0u); // the default
  EXPECT_EQ(mixed.amg.single_hierarchy().n_levels(), fp64.amg.hierarchy().n_levels());
  // The copy in fp32 has no pattern of its own, and all else is half as large, except for Q.
  EXPECT_LT(mixed.amg.memory_consumption(),
            fp64.amg.memory_consumption() + mixed.matrix.values_memory_consumption() / 2);
  const int expected = solve(fp64.matrix, fp64.amg, 1e-12).n_iterations;
  EXPECT_NEAR(int(solve(mixed.matrix, mixed.amg, 1e-12).n_iterations), expected, 1.);
  // The size of the residual does not matter, down to what fp32 cannot hold.
  const std::vector<double> v = cases::random_values(mixed.matrix.n_rows(), 5);
  std::vector<double>       small(v.size());
  for (std::size_t i = 0; i < v.size(); ++i)
    small[i] = std::ldexp(v[i], -400);
  const std::vector<double> result = apply(backend(), mixed.amg, v), result_small = apply(backend(), mixed.amg, small);
  for (std::size_t i = 0; i < v.size(); ++i)
    ASSERT_EQ(std::ldexp(result_small[i], 400), result[i]);
  const std::vector<double> zero(v.size(), 0.);
  EXPECT_EQ(apply(backend(), mixed.amg, zero), zero);
}

TEST_P(PreconditionAMGTest, WorksInSinglePrecision)
{
  PreconditionAMG<float>::AdditionalData data;
  data.coarse_size = 60;
  const GridProblem<1, float> problem(backend(), 13, data);
  EXPECT_LE(solve<float>(problem.matrix, problem.amg, 1e-4).n_iterations, 8u);
}

TEST(AMGParametersTest, CoarseSizeFollowsTheMatrix)
{
  AMGParameters parameters;
  EXPECT_EQ(parameters.coarse_size_for(0), 500);
  EXPECT_EQ(parameters.coarse_size_for(2000000), 500);
  EXPECT_EQ(parameters.coarse_size_for(8000000), 782); // 782^3 <= 60 x 8 M
  EXPECT_EQ(parameters.coarse_size_for(std::int64_t(1) << 40), 1000);
  parameters.coarse_size = 20;
  EXPECT_EQ(parameters.coarse_size_for(std::int64_t(1) << 40), 20);
}

TEST_P(PreconditionAMGTest, SmallMatricesAreSolvedAtOnce)
{
  const GridProblem<3> problem(backend(), 4, Data());
  EXPECT_EQ(problem.amg.n_levels(), 1u);
  EXPECT_EQ(problem.amg.operator_complexity(), 1.);
  EXPECT_LE(solve(problem.matrix, problem.amg, 1e-10).n_iterations, 1u);
}

TEST_P(PreconditionAMGTest, WithoutAggregatesTheSmootherIsLeft)
{
  HostCSR<double> A;
  A.n_rows = A.n_columns = 700;
  A.row_offsets          = {0};
  for (int i = 0; i < A.n_rows; ++i)
  {
    A.columns.push_back(i);
    A.values.push_back(1. + i);
    A.row_offsets.push_back(i + 1);
  }
  const SlicedEllpackMatrix<double> matrix(backend(), A);
  PreconditionAMG<double>           amg;
  cases::FixedAggregation           none(std::vector<int>(700, -1));
  amg.initialize(matrix, NearNullSpace::constants(backend(), 700, 1), none, with(AMGSmoother::l1_jacobi, 1));
  EXPECT_EQ(amg.n_levels(), 1u);
  EXPECT_LE(solve(matrix, amg).n_iterations, 2u);
}

TEST_P(PreconditionAMGTest, DroppedModesDoNoHarm)
{
  // Aggregates of 2 or 3 nodes on a line: each lacks the rotation about it.
  const int        n = 6;
  std::vector<int> aggregate_of_node;
  for (int i = 0; i < n * n * n; ++i)
    aggregate_of_node.push_back(i % n == 0 ? -1 : 2 * (i / n) + (i % n > 3));
  const SlicedEllpackMatrix<double> matrix(backend(), cases::grid_matrix<3>(n), 3);
  PreconditionAMG<double>           amg;
  cases::FixedAggregation           aggregation(aggregate_of_node);
  amg.initialize(matrix, grid_modes<3>(backend(), n), aggregation, Data());
  ASSERT_EQ(amg.n_levels(), 2u);
  EXPECT_EQ(amg.statistics()[0].n_dropped_modes, 2 * n * n);
  EXPECT_LE(solve(matrix, amg).n_iterations, 10u);
  expect_symmetric_positive(backend(), amg, matrix.n_rows());
}

TEST_P(PreconditionAMGTest, FixedComponentsStayOutOfTheCoarseSpace)
{
  // Rollers: the second component is fixed at y = 0, whose nodes still move otherwise.
  const int       n     = 10;
  HostCSR<double> A     = cases::grid_matrix<3>(n);
  const auto      fixed = [&](const int row) { return row % 3 == 1 && row / 3 / n % n == 0; };
  for (int row = 0; row < A.n_rows; ++row)
    for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      if (A.columns[e] != row && (fixed(row) || fixed(A.columns[e])))
        A.values[e] = 0.;
  const SlicedEllpackMatrix<double> matrix(backend(), A, 3);
  PreconditionAMG<double>           amg;
  cases::GridAggregation            aggregation(n);
  amg.initialize(matrix, grid_modes<3>(backend(), n), aggregation);
  EXPECT_LE(solve(matrix, amg).n_iterations, 14u);
  const HostCSR<float> P = amg.single_hierarchy().coarsening(0).prolongator().to_csr_host();
  for (int row = 0; row < P.n_rows; ++row)
    for (std::int64_t e = P.row_offsets[row]; e < P.row_offsets[row + 1] && fixed(row); ++e)
      ASSERT_EQ(P.values[e], 0.);
}

TEST_P(PreconditionAMGTest, ErrorsNameTheLevelAndTheCause)
{
  const int                         n = 6;
  const HostCSR<double>             A = cases::grid_matrix<3>(n);
  const SlicedEllpackMatrix<double> matrix(backend(), A, 3);
  const NearNullSpace               modes = grid_modes<3>(backend(), n);
  cases::GridAggregation            aggregation(n);
  const auto                        message = [&](const auto &action) {
    try
    {
      action();
    }
    catch (const Error &error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto has = [](const std::string &text, const char *part) { return text.find(part) != std::string::npos; };
  PreconditionAMG<double> amg;
  EXPECT_TRUE(
      has(message([&]() { amg.initialize(matrix, grid_modes<3>(backend(), n + 1), aggregation); }), "near-null"));
  EXPECT_TRUE(has(message([&]() { amg.update(matrix); }), "before it was initialized"));

  std::vector<int> alone(n * n * n);
  for (int i = 0; i < n * n * n; ++i)
    alone[i] = i;
  cases::FixedAggregation stalling(alone);
  EXPECT_TRUE(
      has(message([&]() { amg.initialize(matrix, modes, stalling); }), "level 0 (648 rows): coarsening stalls"));

  // A stiffness that turns negative on smooth fields shows on the coarse level only.
  HostCSR<double> indefinite = A;
  for (int row = 0; row < A.n_rows; ++row)
    for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      if (A.columns[e] == row && row / 3 % n > 0)
        indefinite.values[e] *= 0.8;
  const SlicedEllpackMatrix<double> bad(backend(), indefinite, 3);
  EXPECT_TRUE(has(message([&]() { amg.initialize(bad, modes, aggregation); }), "level 1 ("))
      << message([&]() { amg.initialize(bad, modes, aggregation); });

  // The host makes the coarse matrix of scalars of half of the fine one; the other half is to have the same places.
  if (backend().kind() == BackendKind::cuda)
    return;
  const int              m     = 9; // more than are inverted at once
  const HostCSR<double>  whole = cases::grid_matrix<1>(m);
  cases::GridAggregation blocks(m);
  HostCSR<double>        lacking{whole.n_rows, whole.n_columns, {0}, {}, {}};
  for (int row = 0; row < whole.n_rows; ++row)
  {
    std::vector<std::pair<int, double>> entries;
    for (std::int64_t e = whole.row_offsets[row]; e < whole.row_offsets[row + 1]; ++e)
      if (whole.columns[e] != row - 1)
        entries.emplace_back(whole.columns[e], whole.values[e]);
    lacking.append_row(entries);
  }
  const SlicedEllpackMatrix<double> half(backend(), lacking);
  EXPECT_TRUE(has(message([&]() { amg.initialize(half, grid_modes<1>(backend(), m), blocks); }), "not symmetric"));
}
