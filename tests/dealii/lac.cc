// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/numerics/matrix_tools.h>
#include <patchfem/lac/dof_numbering_dealii.h>
#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/solver/solver_cg_dealii.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace PatchFEM;

namespace
{
  /** Mass plus stiffness matrix of Q2 on a distorted square: symmetric, positive definite, well conditioned. */
  struct System
  {
    dealii::SparsityPattern      pattern;
    dealii::SparseMatrix<double> matrix, mass;
    dealii::Vector<double>       rhs;
    std::vector<unsigned int>    permutation;
    DoFNumbering                 plain, shuffled;

    System()
    {
      dealii::Triangulation<2> triangulation;
      dealii::GridGenerator::hyper_ball(triangulation);
      triangulation.refine_global(2);
      const dealii::FE_Q<2>   element(2);
      dealii::DoFHandler<2>   dof_handler(triangulation);
      const dealii::QGauss<2> quadrature(3);
      dof_handler.distribute_dofs(element);
      dealii::DynamicSparsityPattern dynamic(dof_handler.n_dofs());
      dealii::DoFTools::make_sparsity_pattern(dof_handler, dynamic);
      pattern.copy_from(dynamic);
      matrix.reinit(pattern);
      mass.reinit(pattern);
      dealii::MatrixCreator::create_laplace_matrix(dof_handler, quadrature, matrix);
      dealii::MatrixCreator::create_mass_matrix(dof_handler, quadrature, mass);
      matrix.add(1., mass);
      rhs.reinit(dof_handler.n_dofs());
      for (unsigned int i = 0; i < rhs.size(); ++i)
        rhs(i) = 1. + i % 13;
      permutation.resize(rhs.size());
      std::iota(permutation.begin(), permutation.end(), 0u);
      std::shuffle(permutation.begin(), permutation.end(), std::mt19937(5));
      plain    = DoFNumbering(rhs.size());
      shuffled = DoFNumbering(permutation);
    }
  };

  const System &the_system()
  {
    static const System system;
    return system;
  }

  /** Solves with deal.II's vectors, numbered as the matrix; x is the initial guess. */
  void solve(SolverCG                       &solver,
             const MatrixBase<double>       &matrix,
             dealii::Vector<double>         &x,
             const dealii::Vector<double>   &b,
             const PreconditionBase<double> &preconditioner)
  {
    const DoFNumbering numbering(b.size());
    Vector<double>     x_there(matrix.backend()), b_there(matrix.backend());
    numbering.copy_from(x, x_there);
    numbering.copy_from(b, b_there);
    try
    {
      solver.solve(matrix, x_there, b_there, preconditioner);
    }
    catch (const dealii::SolverControl::NoConvergence &)
    {
      numbering.copy_to(x_there, x);
      throw;
    }
    numbering.copy_to(x_there, x);
  }

  void solve_under(dealii::SolverControl          &control,
                   const MatrixBase<double>       &matrix,
                   dealii::Vector<double>         &x,
                   const dealii::Vector<double>   &b,
                   const PreconditionBase<double> &preconditioner)
  {
    SolverCG solver(control);
    solve(solver, matrix, x, b, preconditioner);
  }
} // namespace

class DealIISolver : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(DealIISolver);

TEST_P(DealIISolver, ServesAMatrixFromDealII)
{
  const System           &system = the_system();
  const CSRMatrix<double> csr(backend(), system.plain.import_matrix(system.matrix));
  EXPECT_EQ(csr.n_nonzero_elements(), std::int64_t(system.matrix.n_nonzero_elements()));
  PreconditionJacobi<double> jacobi;
  jacobi.initialize(csr);

  // Ours and deal.II's iteration take the same steps to the same solution.
  dealii::Vector<double>                                   ours(system.rhs.size()), theirs(system.rhs.size());
  dealii::PreconditionJacobi<dealii::SparseMatrix<double>> their_jacobi;
  dealii::SolverControl                                    our_control(500, 1e-10), their_control(500, 1e-10);
  their_jacobi.initialize(system.matrix);
  our_control.enable_history_data();
  SolverCG solver(our_control);
  solve(solver, csr, ours, system.rhs, jacobi);
  dealii::SolverCG<>(their_control).solve(system.matrix, theirs, system.rhs, their_jacobi);
  EXPECT_EQ(our_control.last_step(), their_control.last_step());
  EXPECT_LE(our_control.last_value(), 1e-10);
  EXPECT_EQ(our_control.get_history_data(), solver.last_result().history);
  ours -= theirs;
  EXPECT_LE(ours.linfty_norm(), 1e-11 * theirs.linfty_norm());
}

TEST_P(DealIISolver, PermutesThere)
{
  const System                     &system = the_system();
  const HostCSR<double>             host   = system.shuffled.import_matrix(system.matrix);
  const SlicedEllpackMatrix<double> matrix(backend(), host);
  Vector<double>                    x(backend()), b(backend());
  system.shuffled.copy_from(system.rhs, b);
  x.reinit(b);
  matrix.vmult(x, b);
  dealii::Vector<double> result, expected(system.rhs.size());
  system.shuffled.copy_to(x, result);
  system.matrix.vmult(expected, system.rhs);
  result -= expected;
  EXPECT_LE(result.linfty_norm(), 1e-13 * expected.linfty_norm());
}

TEST_P(DealIISolver, ExportsAreTheOriginal)
{
  const System                          &system = the_system();
  const SlicedEllpackMatrix<double>      matrix(backend(), system.shuffled.import_matrix(system.matrix));
  dealii::SparsityPattern                pattern;
  dealii::SparseMatrix<double>           copy;
  dealii::TrilinosWrappers::SparseMatrix trilinos;
  system.shuffled.export_matrix(matrix, pattern, copy);
  system.shuffled.export_matrix(matrix, trilinos);
  ASSERT_EQ(copy.n_nonzero_elements(), system.matrix.n_nonzero_elements());
  ASSERT_EQ(trilinos.n_nonzero_elements(), system.matrix.n_nonzero_elements());
  for (const auto &entry : system.matrix)
  {
    EXPECT_EQ(copy.el(entry.row(), entry.column()), entry.value());
    EXPECT_EQ(trilinos.el(entry.row(), entry.column()), entry.value());
  }
  // And back from Trilinos.
  const HostCSR<double> a = system.plain.import_matrix(trilinos), b = system.plain.import_matrix(system.matrix);
  EXPECT_EQ(a.row_offsets, b.row_offsets);
  EXPECT_EQ(a.columns, b.columns);
  EXPECT_EQ(a.values, b.values);
}

TEST_P(DealIISolver, ControlsOfAllKinds)
{
  const System                      &system = the_system();
  const SlicedEllpackMatrix<double>  matrix(backend(), system.plain.import_matrix(system.matrix));
  const PreconditionIdentity<double> identity;
  dealii::Vector<double>             x(system.rhs.size()), expected(system.rhs.size());

  dealii::ReductionControl reduction(500, 1e-300, 1e-6), their_reduction(500, 1e-300, 1e-6);
  solve_under(reduction, matrix, x, system.rhs, identity);
  dealii::SolverCG<>(their_reduction).solve(system.matrix, expected, system.rhs, dealii::PreconditionIdentity());
  EXPECT_EQ(reduction.last_step(), their_reduction.last_step());

  dealii::IterationNumberControl number(17, 1e-300);
  x = 0.;
  solve_under(number, matrix, x, system.rhs, identity);
  EXPECT_EQ(number.last_step(), 17u);

  // Two steps in a row below the tolerance: a rule of its own, asked at each step.
  dealii::ConsecutiveControl consecutive(500, 1e-6, 2), their_consecutive(500, 1e-6, 2);
  x        = 0.;
  expected = 0.;
  consecutive.enable_history_data();
  solve_under(consecutive, matrix, x, system.rhs, identity);
  dealii::SolverCG<>(their_consecutive).solve(system.matrix, expected, system.rhs, dealii::PreconditionIdentity());
  const std::vector<double> &history = consecutive.get_history_data();
  const unsigned int         last    = consecutive.last_step();
  for (unsigned int step = 1; step <= last; ++step)
    EXPECT_EQ(history[step] <= 1e-6 && history[step - 1] <= 1e-6, step == last) << "step " << step;
  // A hundred steps without a preconditioner carry the rounding of sums, whose order is not deal.II's.
  EXPECT_NEAR(last, their_consecutive.last_step(), 1.);

  dealii::SolverControl few(5, 1e-10);
  x = 0.;
  EXPECT_THROW(solve_under(few, matrix, x, system.rhs, identity), dealii::SolverControl::NoConvergence);
  EXPECT_EQ(few.last_step(), 5u);
  EXPECT_GT(x.l2_norm(), 0.);
}

TEST_P(DealIISolver, MultigridWithModesFromDealII)
{
  // Scaled unknowns, whose mode of least energy is not the constant but known to the user.
  const System                       &system = the_system();
  const std::size_t                   n      = system.rhs.size();
  dealii::SparseMatrix<double>        scaled(system.pattern);
  dealii::Vector<double>              x(n), residual(n);
  std::vector<dealii::Vector<double>> modes(1, dealii::Vector<double>(n));
  const auto                          weight = [](const std::size_t i) { return 1. + 9. * (i % 7 == 0); };
  for (std::size_t i = 0; i < n; ++i)
    modes[0](i) = 1. / weight(i);
  for (const auto &entry : system.matrix)
    scaled.set(entry.row(), entry.column(), weight(entry.row()) * entry.value() * weight(entry.column()));
  const SlicedEllpackMatrix<double> matrix(backend(), system.shuffled.import_matrix(scaled));

  PreconditionAMG<double>::AdditionalData data;
  data.coarse_size   = 20;
  const auto n_steps = [&](const NearNullSpace &near_null) {
    PreconditionAMG<double> amg;
    MISAggregation          aggregation;
    amg.initialize(matrix, near_null, aggregation, data);
    EXPECT_GE(amg.n_levels(), 2u);
    dealii::SolverControl control(200, 1e-8 * system.rhs.l2_norm());
    Vector<double>        there(backend()), rhs(backend());
    system.shuffled.copy_from(system.rhs, rhs);
    there.reinit(rhs);
    SolverCG(control).solve(matrix, there, rhs, amg);
    system.shuffled.copy_to(there, x);
    EXPECT_LE(scaled.residual(residual, x, system.rhs), 1.01e-8 * system.rhs.l2_norm());
    return control.last_step();
  };
  const unsigned int with_modes = n_steps(system.shuffled.near_null_space(modes, backend()));
  EXPECT_LE(with_modes, 25u);
  EXPECT_LT(with_modes, n_steps(NearNullSpace::constants(backend(), static_cast<int>(n), 1)));
  EXPECT_THROW(system.plain.near_null_space({dealii::Vector<double>(n), dealii::Vector<double>(n + 1)}, backend()),
               Error);
}

TEST_P(DealIISolver, BreakdownNamesItsCause)
{
  HostCSR<double> indefinite = the_system().plain.import_matrix(the_system().matrix);
  for (double &value : indefinite.values)
    value = -value;
  const CSRMatrix<double> matrix(backend(), indefinite);
  dealii::SolverControl   control(100, 1e-10);
  dealii::Vector<double>  x(the_system().rhs.size());
  try
  {
    solve_under(control, matrix, x, the_system().rhs, PreconditionIdentity<double>());
    FAIL();
  }
  catch (const NotPositiveDefinite &error)
  {
    EXPECT_NE(std::string(error.what()).find("the matrix is not positive definite"), std::string::npos);
  }
}

TEST(DealIIInterface, OursInsideTheirSolver)
{
  const System                     &system = the_system();
  const SlicedEllpackMatrix<double> sell(Backend("host"), system.plain.import_matrix(system.matrix));
  const CSRMatrix<double>           csr(Backend("host"), system.plain.import_matrix(system.matrix));
  PreconditionJacobi<double>        jacobi;
  jacobi.initialize(sell);
  dealii::Vector<double> x(system.rhs.size()), y(system.rhs.size());
  dealii::SolverControl  control(500, 1e-10);
  dealii::SolverCG<>(control).solve(sell, x, system.rhs, jacobi);
  dealii::SolverCG<>(control).solve(csr, y, system.rhs, jacobi);
  dealii::Vector<double> residual(x);
  EXPECT_LE(system.matrix.residual(residual, x, system.rhs), 1.1e-10);
  EXPECT_LE(system.matrix.residual(residual, y, system.rhs), 1.1e-10);
}

TEST(DealIIInterface, RefusesMapsThatAreNoPermutation)
{
  const System             &system = the_system();
  std::vector<unsigned int> map    = system.permutation;
  map[1]                           = map[0];
  EXPECT_THROW((DoFNumbering(map)), Error);
  const DoFNumbering shorter(system.rhs.size() - 1);
  EXPECT_THROW(shorter.import_matrix(system.matrix), Error);
  Vector<double> x(Backend("host"));
  EXPECT_THROW(shorter.copy_from(system.rhs, x), Error);
}
