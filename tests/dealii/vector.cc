// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"
#include "../core/lac_cases.h"

#include <deal.II/lac/solver_bicgstab.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/solver_gmres.h>
#include <deal.II/lac/solver_minres.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/vector_dealii.h>

using namespace PatchFEM;

namespace
{
  constexpr int side = 17, n = side * side;

  /** Diffusion, and with @p wind also transport from the left and from below. */
  template <typename Number>
  HostCSR<Number> transport(const double wind)
  {
    HostCSR<Number> result = cases::laplacian<Number>(side, side);
    for (int row = 0; row < n; ++row)
      for (std::int64_t e = result.row_offsets[row]; e < result.row_offsets[row + 1]; ++e)
        if (result.columns[e] < row)
          result.values[e] -= Number(wind);
        else if (result.columns[e] == row)
          result.values[e] += Number(2. * wind);
    return result;
  }

  /** Steps of @p SolverType of deal.II with our vectors; the solution is checked against the matrix in plain loops. */
  template <template <typename> class SolverType, typename Number>
  unsigned int
  solve(const MatrixBase<Number> &A, const HostCSR<Number> &host, const PreconditionBase<Number> &preconditioner)
  {
    SCOPED_TRACE(__PRETTY_FUNCTION__ + (" with " + preconditioner.name()));
    const double              tolerance = std::is_same<Number, float>::value ? 1e-3 : 1e-9;
    const std::vector<double> rhs       = cases::random_values(n, 1);
    const Vector<Number>      b(A.backend(), cases::to<Number>(rhs));
    Vector<Number>            x(A.backend(), n);
    dealii::SolverControl     control(300, tolerance);
    SolverType<Vector<Number>>(control).solve(A, x, b, preconditioner);

    const std::vector<Number> solution = x.copy_to_host();
    const std::vector<double> Ax       = cases::product(host, std::vector<double>(solution.begin(), solution.end()));
    double                    square   = 0.;
    for (int i = 0; i < n; ++i)
      square += (rhs[i] - Ax[i]) * (rhs[i] - Ax[i]);
    EXPECT_LE(std::sqrt(square), 10. * tolerance); // of some solvers the preconditioned residual is what was asked for
    return control.last_step();
  }

  /** The same with deal.II's vectors on the host. */
  template <template <typename> class SolverType>
  unsigned int their_steps(const HostCSR<double> &host)
  {
    const CSRMatrix<double>    A(Backend("host"), host);
    PreconditionJacobi<double> jacobi;
    jacobi.initialize(A);
    dealii::Vector<double>    x(n), b(n);
    const std::vector<double> rhs = cases::random_values(n, 1);
    std::copy(rhs.begin(), rhs.end(), b.begin());
    dealii::SolverControl control(300, 1e-9);
    SolverType<dealii::Vector<double>>(control).solve(A, x, b, jacobi);
    return control.last_step();
  }
} // namespace

class DealIIVector : public BackendTest
{
protected:
  /** All four, with matrices of two formats and two preconditioners. */
  template <typename Number>
  void check()
  {
    const HostCSR<Number>             symmetric = transport<Number>(0.), windy = transport<Number>(3.);
    const CSRMatrix<Number>           A(backend(), symmetric), C(backend(), windy);
    const SlicedEllpackMatrix<Number> B(backend(), symmetric), D(backend(), windy);
    PreconditionJacobi<Number>        jacobi, jacobi_of_windy;
    PreconditionAMG<Number>           amg;
    jacobi.initialize(A);
    jacobi_of_windy.initialize(C);
    amg.initialize(B, NearNullSpace::constants(backend(), n, 1));

    const unsigned int cg = solve<dealii::SolverCG>(A, symmetric, jacobi);
    EXPECT_LT(solve<dealii::SolverCG>(B, symmetric, amg), cg);
    solve<dealii::SolverMinRes>(B, symmetric, jacobi);
    const unsigned int gmres = solve<dealii::SolverGMRES>(C, windy, jacobi_of_windy);
    // A cycle in fp32 is linear to 1e-7 only.
    solve<dealii::SolverFGMRES>(B, symmetric, amg);
    typename PreconditionAMG<Number>::AdditionalData unrounded;
    unrounded.single_precision = false;
    amg.initialize(B, NearNullSpace::constants(backend(), n, 1), unrounded);
    solve<dealii::SolverGMRES>(B, symmetric, amg);
    const unsigned int bicgstab = solve<dealii::SolverBicgstab>(D, windy, jacobi_of_windy);
    if (std::is_same<Number, double>::value)
    {
      EXPECT_NEAR(cg, their_steps<dealii::SolverCG>(transport<double>(0.)), 1.);
      EXPECT_NEAR(gmres, their_steps<dealii::SolverGMRES>(transport<double>(3.)), 1.);
      EXPECT_NEAR(bicgstab, their_steps<dealii::SolverBicgstab>(transport<double>(3.)), 3.);
    }
  }
};
PATCHFEM_INSTANTIATE_BACKENDS(DealIIVector);

TEST_P(DealIIVector, ServesTheirSolversInDouble)
{
  check<double>();
}

TEST_P(DealIIVector, ServesTheirSolversInFloat)
{
  check<float>();
}

TEST_P(DealIIVector, WorkVectorsFollowTheBackEnd)
{
  // The pool of the host's solution serves the one after it.
  for (const Backend &where : {Backend("host"), backend(), Backend("host")})
  {
    const HostCSR<double>      host = transport<double>(1.);
    const CSRMatrix<double>    A(where, host);
    PreconditionJacobi<double> jacobi;
    jacobi.initialize(A);
    solve<dealii::SolverGMRES>(A, host, jacobi);
  }
}
