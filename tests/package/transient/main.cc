// SPDX-License-Identifier: LGPL-2.1-or-later
// transient_consumer BACKEND [REFINEMENTS]: the heat equation with boundary values that move, by Crank and Nicolson's rule
// on adaptive meshes, with two forms on one space; compared in every step with the same program in plain deal.II.
// Exit code 77: there is no CUDA device.
#include <patchfem/patchfem.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_refinement.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/numerics/error_estimator.h>
#include <deal.II/numerics/matrix_tools.h>
#include <deal.II/numerics/solution_transfer.h>
#include <deal.II/numerics/vector_tools.h>

#include <chrono>
#include <cmath>
#include <iostream>

using namespace dealii;

constexpr double       step      = 1. / 64.; // the rule's two halves are step / 2
constexpr unsigned int n_steps   = 30;
constexpr unsigned int per_mesh  = 10;
constexpr double       tolerance = 1e-13; // of both solvers, relative

class BoundaryValues : public Function<2>
{
public:
  double value(const Point<2> &p, const unsigned int) const override
  {
    return std::sin(3. * get_time() + 4. * p[0] * p[1]);
  }
};

using Clock = std::chrono::steady_clock;

class Heat
{
public:
  Heat(const std::string &backend, const unsigned int n_refinements)
      : backend(backend), fe(1), dof_handler(triangulation)
  {
    GridGenerator::hyper_cube(triangulation);
    triangulation.refine_global(n_refinements);
  }

  /** The largest difference of the two solutions in all steps, over the largest value. */
  double run();

private:
  void           make_constraints(double time);
  void           new_mesh();
  Vector<double> reference_step(const Vector<double> &old);

  const PatchFEM::Backend   backend;
  Triangulation<2>          triangulation;
  const MappingQ1<2>        mapping;
  const FE_Q<2>             fe;
  DoFHandler<2>             dof_handler;
  AffineConstraints<double> constraints;
  double                    set_up = 0.;

  // Ours: the constrained system for the solver, and the whole products for right-hand sides.
  PatchFEM::FESpace<2>                  space;
  PatchFEM::SlicedEllpackMatrix<double> mass, stiffness, whole, system;
  PatchFEM::PreconditionJacobi<double>  jacobi;
  PatchFEM::Vector<double>              source;

  // deal.II's.
  SparsityPattern      pattern;
  SparseMatrix<double> their_mass, their_stiffness;
  Vector<double>       their_source;
};

void Heat::make_constraints(const double time)
{
  BoundaryValues boundary_values;
  boundary_values.set_time(time);
  constraints.clear();
  DoFTools::make_hanging_node_constraints(dof_handler, constraints);
  VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, boundary_values, constraints);
  constraints.close();
}

void Heat::new_mesh()
{
  const auto start = Clock::now();
  space.reinit(backend, mapping, dof_handler, constraints);
  const PatchFEM::Space                       free = space.unconstrained();
  PatchFEM::Assembler<PatchFEM::Laplace<2>>   laplace(free);
  PatchFEM::Assembler<PatchFEM::Diffusion<2>> reaction(free), both(space);
  laplace.set_coefficients(PatchFEM::CoefficientField::constant({1.}));
  laplace.set_body_load(PatchFEM::CoefficientField::constant({1.}));
  reaction.set_coefficients(PatchFEM::CoefficientField::constant({0., 0., 0., 1.}));
  both.set_coefficients(PatchFEM::CoefficientField::constant({step / 2, 0., step / 2, 1.}));
  for (PatchFEM::SlicedEllpackMatrix<double> *matrix : {&mass, &stiffness, &whole})
    free.initialize_matrix(*matrix);
  space.initialize_matrix(system);
  laplace.assemble(stiffness, source);
  reaction.assemble_matrix(mass);
  both.assemble_matrix(system);
  jacobi.initialize(system);
  whole.copy_from(mass);
  whole.add(step / 2, stiffness);
  backend.synchronize();
  set_up += std::chrono::duration<double>(Clock::now() - start).count();

  DynamicSparsityPattern dynamic(dof_handler.n_dofs());
  DoFTools::make_sparsity_pattern(dof_handler, dynamic, constraints, true);
  pattern.copy_from(dynamic);
  their_mass.reinit(pattern);
  their_stiffness.reinit(pattern);
  their_source.reinit(dof_handler.n_dofs());
  MatrixCreator::create_mass_matrix(mapping, dof_handler, QGauss<2>(2), their_mass);
  MatrixCreator::create_laplace_matrix(mapping, dof_handler, QGauss<2>(2), their_stiffness);
  VectorTools::create_right_hand_side(mapping, dof_handler, QGauss<2>(2), Functions::ConstantFunction<2>(1.),
                                      their_source);
}

Vector<double> Heat::reference_step(const Vector<double> &old)
{
  Vector<double>       rhs(old.size()), product(old.size()), result(old.size());
  SparseMatrix<double> matrix(pattern);
  their_mass.vmult(rhs, old);
  their_stiffness.vmult(product, old);
  rhs.add(-step / 2, product, step, their_source);
  matrix.copy_from(their_mass);
  matrix.add(step / 2, their_stiffness);
  constraints.condense(matrix, rhs);
  SolverControl                          control(2000, tolerance * rhs.l2_norm());
  PreconditionSSOR<SparseMatrix<double>> ssor;
  ssor.initialize(matrix, 1.2);
  SolverCG<>(control).solve(matrix, result, rhs, ssor);
  constraints.distribute(result);
  return result;
}

double Heat::run()
{
  Vector<double>           theirs, copy;
  PatchFEM::Vector<double> ours, rhs, product;
  double                   worst = 0.;
  for (unsigned int n = 0; n < n_steps; ++n)
  {
    if (n % per_mesh == 0)
    {
      if (n == 0)
        dof_handler.distribute_dofs(fe);
      else
      {
        Vector<float> estimate(triangulation.n_active_cells());
        KellyErrorEstimator<2>::estimate(mapping, dof_handler, QGauss<1>(2), {}, theirs, estimate);
        GridRefinement::refine_and_coarsen_fixed_number(triangulation, estimate, 0.1, 0.2);
        triangulation.prepare_coarsening_and_refinement();
        SolutionTransfer<2> transfer(dof_handler);
        transfer.prepare_for_coarsening_and_refinement(theirs);
        triangulation.execute_coarsening_and_refinement();
        dof_handler.distribute_dofs(fe);
        const Vector<double> old = theirs;
        theirs.reinit(dof_handler.n_dofs());
        transfer.interpolate(old, theirs);
      }
      theirs.reinit(dof_handler.n_dofs(), n > 0);
      make_constraints(n * step);
      constraints.distribute(theirs);
      new_mesh();
      space.copy_from(theirs, ours);
      space.initialize_dof_vector(rhs);
      space.initialize_dof_vector(product);
    }
    make_constraints((n + 1) * step);
    theirs = reference_step(theirs);

    // rhs = (M - step/2 K) u + step f, less what the new boundary values do.
    mass.vmult(rhs, ours);
    stiffness.vmult(product, ours);
    rhs.add(-step / 2, product, step, source);
    const auto start = Clock::now();
    space.update_inhomogeneities(constraints);
    backend.synchronize();
    set_up += std::chrono::duration<double>(Clock::now() - start).count();
    space.constraints().condense(whole, rhs);
    SolverControl      control(2000, tolerance * rhs.l2_norm());
    PatchFEM::SolverCG solver(control);
    ours = solver.solve(system, rhs, jacobi);
    space.constraints().distribute(ours);

    space.copy_to(ours, copy);
    copy -= theirs;
    const double difference = copy.linfty_norm() / theirs.linfty_norm();
    if (!(difference <= worst)) // true for a NaN
      worst = difference;
  }
  std::cout << "heat on " << backend.name() << ": " << dof_handler.n_dofs() << " unknowns in the end, set-up " << set_up
            << " s in " << n_steps << " steps, largest difference " << worst << std::endl;
  return worst;
}

int main(int argc, char **argv)
{
  try
  {
    const std::string name = argc > 1 ? argv[1] : "auto";
    if (name == "cuda" && !PatchFEM::Backend::cuda_available())
    {
      std::cout << "skipped: there is no CUDA device" << std::endl;
      return 77;
    }
    return Heat(name, argc > 2 ? std::stoi(argv[2]) : 4).run() < 1e-10 ? 0 : 1;
  }
  catch (const std::exception &error)
  {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
