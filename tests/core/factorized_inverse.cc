// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include "kernels/launch.h"
#include "lac/multigrid/factorized_inverse_tools.h"
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <numeric>

using namespace PatchFEM;
using cases::Dense;
using Data = PreconditionAMG<double>::AdditionalData;

class FactorizedInverseTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(FactorizedInverseTest);

namespace
{
  HostCSR<double> dense_rows(const int n, const std::vector<double> &values)
  {
    HostCSR<double> A;
    A.n_rows = A.n_columns = n;
    A.values               = values;
    for (int i = 0; i <= n; ++i)
      A.row_offsets.push_back(std::int64_t(i) * n);
    for (int e = 0; e < n * n; ++e)
      A.columns.push_back(e % n);
    return A;
  }

  template <typename Number>
  SlicedEllpackMatrix<Number> matrix_of(const Backend &backend, const HostCSR<double> &A, const int b)
  {
    return SlicedEllpackMatrix<Number>(
        backend, HostCSR<Number>{A.n_rows, A.n_columns, A.row_offsets, A.columns, cases::to<Number>(A.values)}, b);
  }

  /** A smoother on A as a level has it. */
  struct Smoother
  {
    SlicedEllpackMatrix<double>       A;
    PreconditionBlockJacobi<double>   D;
    LargestEigenvalue<double>         lambda;
    FactorizedInverseSmoother<double> smoother{2, 7., 10};

    Smoother(const Backend &backend, const HostCSR<double> &matrix, const int b)
        : A(matrix_of<double>(backend, matrix, b))
    {
      D.initialize(A);
      smoother.initialize(A, D, lambda);
    }

    std::vector<double> pre(const std::vector<double> &b) const
    {
      Vector<double> x(A.backend(), cases::not_a_number<double>(b.size())), r(A.backend(), b.size());
      smoother.pre_smooth(x, r, Vector<double>(A.backend(), b));
      return x.copy_to_host();
    }
  };

  unsigned int steps(const Backend &backend, const int n, const double nu, const AMGSmoother smoother)
  {
    const SlicedEllpackMatrix<double> A = matrix_of<double>(backend, cases::grid_matrix<3>(n, nu), 3);
    Data                              data;
    data.smoother = smoother;
    const PreconditionAMG<double> amg(
        A, NearNullSpace::rigid_body_modes(3, Array<double>(backend, cases::grid_points(n))), data);
    Vector<double>   x(backend, A.n_rows()), b(backend, cases::random_values(A.n_rows(), 5));
    IterationControl control;
    control.tolerance = 0.;
    control.reduction = 1e-8;
    ConjugateGradients<double> cg;
    const IterationResult      result = cg.solve(A, x, b, amg, control);
    EXPECT_EQ(result.status, IterationResult::Status::converged);
    return result.n_iterations;
  }
} // namespace

/** Of a matrix whose rows all couple the factor is that of Cholesky, in some order: 1/16 [5 -2; -2 4] of [4 2; 2 5]. */
TEST_P(FactorizedInverseTest, InvertsWhatCouplesAllByEye)
{
  const auto inverse_of = [&](const int n, const int b, const std::vector<double> &values) {
    const auto                A = matrix_of<double>(backend(), dense_rows(n, values), b);
    FactorizedInverse<double> M;
    M.initialize(A);
    Dense result(n, n);
    for (int j = 0; j < n; ++j)
    {
      std::vector<double> unit(n, 0.);
      unit[j] = 1.;
      Vector<double> x(backend(), cases::not_a_number<double>(n));
      M.vmult(x, Vector<double>(backend(), unit));
      const std::vector<double> column = x.copy_to_host();
      for (int i = 0; i < n; ++i)
        result(i, j) = column[i];
    }
    return result.values;
  };
  EXPECT_LT(cases::difference(inverse_of(2, 1, {4., 2., 2., 5.}), {5. / 16., -2. / 16., -2. / 16., 4. / 16.}), 1e-15);
  const std::vector<double> A{4., 2., 0., 1., 2., 5., 1., 0., 0., 1., 3., 1., 1., 0., 1., 6.};
  Dense                     matrix(4, 4), inverse(4, 4), unit(4, 4);
  matrix.values = A;
  for (int i = 0; i < 4; ++i)
    unit(i, i) = 1.;
  for (const int b : {1, 2})
  {
    inverse.values = inverse_of(4, b, A);
    EXPECT_LT(cases::difference((matrix * inverse).values, unit.values), 1e-14) << b;
  }
}

/** A row that depends on another counts as its diagonal alone: the result is finite and positive definite. */
TEST_P(FactorizedInverseTest, HoldsRowsThatDependOnOthers)
{
  const auto                A = matrix_of<double>(backend(), dense_rows(2, {1., -1., -1., 1.}), 1);
  FactorizedInverse<double> M;
  M.initialize(A);
  const HostCSR<double> G = M.factor().to_csr_host();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(std::abs(G.values[G.row_offsets[i + 1] - 1]), 1.);
}

/** G A is 0 in the pattern of G but in diagonal blocks, and those of G A G^T are I: what makes G unique to rotations. */
TEST_P(FactorizedInverseTest, SatisfiesItsEquations)
{
  constexpr int             n    = 4;
  const HostCSR<double>     rows = cases::grid_matrix<3>(n, 0.49);
  const auto                A    = matrix_of<double>(backend(), rows, 3);
  FactorizedInverse<double> M;
  M.initialize(A);
  const HostCSR<double> factor = M.factor().to_csr_host();
  const Dense           G(factor), GA = G * Dense(rows), GAG = GA * G.transposed();
  for (int i = 0; i < factor.n_rows; ++i)
    for (std::int64_t e = factor.row_offsets[i]; e < factor.row_offsets[i + 1]; ++e)
    {
      const int j = factor.columns[e];
      EXPECT_LE((factor.row_offsets[i + 1] - factor.row_offsets[i]) / 3, 21);
      if (i / 3 != j / 3)
        EXPECT_NEAR(GA(i, j), 0., 1e-12 * GA.magnitude());
      else
        EXPECT_NEAR(GAG(i, j), i == j ? 1. : 0., 1e-12);
    }
  // In single precision, and with other values on the same pattern.
  const auto               single = matrix_of<float>(backend(), rows, 3);
  FactorizedInverse<float> rounded;
  rounded.initialize(single);
  EXPECT_LT(cases::difference(cases::widened(rounded.factor().to_csr_host().values), factor.values),
            1e-4 * G.magnitude());
  FactorizedInverse<double> updated;
  updated.initialize(matrix_of<double>(backend(), cases::grid_matrix<3>(n), 3));
  updated.update(A);
  EXPECT_EQ(updated.factor().to_csr_host().values, factor.values);
}

/** Pre- and post-smoother are symmetric, and their error falls in the energy norm. */
TEST_P(FactorizedInverseTest, SmoothsSymmetrically)
{
  constexpr int             n = 4, size = 3 * n * n * n;
  const HostCSR<double>     matrix = cases::grid_matrix<3>(n, 0.499);
  const Smoother            s(backend(), matrix, 3);
  const Dense               A(matrix);
  const std::vector<double> x = cases::random_values(size, 1), y = cases::random_values(size, 2), Sx = s.pre(x),
                            Sy = s.pre(y);
  const auto dot               = [](const std::vector<double> &a, const std::vector<double> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
  };
  EXPECT_NEAR(dot(Sx, y), dot(x, Sy), 1e-12 * std::sqrt(dot(Sx, Sx) * dot(y, y)));
  Vector<double> e(backend(), x), r(backend(), size);
  s.smoother.post_smooth(e, r, Vector<double>(backend(), size));
  const std::vector<double> after = e.copy_to_host(), expected = cases::plus(x, -1., s.pre(cases::times(A, x)));
  EXPECT_LT(cases::difference(after, expected), 1e-12);
  EXPECT_LT(dot(after, cases::times(A, after)), dot(x, cases::times(A, x)));
}

TEST_P(FactorizedInverseTest, GivesTheBitsOfTheHost)
{
  const HostCSR<double> matrix = cases::grid_matrix<3>(6, 0.49);
  const Smoother        here(backend(), matrix, 3), host(Backend("host"), matrix, 3);
  const auto            b = cases::random_values(matrix.n_rows, 3);
  EXPECT_EQ(here.pre(b), here.pre(b));
  if (backend().kind() != BackendKind::cuda)
  {
    EXPECT_EQ(here.smoother.approximate_inverse().factor().to_csr_host().values,
              host.smoother.approximate_inverse().factor().to_csr_host().values);
    EXPECT_EQ(here.pre(b), host.pre(b));
  }
}

/** Nearly incompressible cubes take fewer steps with it. */
TEST_P(FactorizedInverseTest, NearlyIncompressibleSolidsTakeFewSteps)
{
  constexpr int n = 16;
  for (const double nu : {0.49, 0.499})
  {
    const unsigned int with    = steps(backend(), n, nu, AMGSmoother::factorized_inverse),
                       without = steps(backend(), n, nu, AMGSmoother::chebyshev);
    std::cout << nu << ": " << with << " for " << without << " steps" << std::endl;
    EXPECT_LT(1.5 * with, without);
  }
}
