// SPDX-License-Identifier: LGPL-2.1-or-later
// -div grad u = -4 on a mesh of p4est with hanging nodes, u = x^2 + y^2 on the boundary: quadratic elements have that
// solution, so that the only errors are those of rounding and of the iteration.
#include <deal.II/base/function_lib.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/numerics/vector_tools.h>

#include <patchfem/patchfem.h>

#include <iostream>

using namespace dealii;

/** Returns the largest error in an unknown. */
double solve(const std::string &backend_name)
{
  const PatchFEM::Backend                 backend = PatchFEM::backend_of_ranks(backend_name, MPI_COMM_WORLD);
  parallel::distributed::Triangulation<2> triangulation(MPI_COMM_WORLD);
  GridGenerator::hyper_cube(triangulation);
  triangulation.refine_global(3);
  for (const auto &cell : triangulation.active_cell_iterators())
    if (cell->is_locally_owned() && cell->center().norm() < 0.6)
      cell->set_refine_flag();
  triangulation.execute_coarsening_and_refinement();

  const MappingQ<2> mapping(1);
  const FE_Q<2>     fe(2);
  DoFHandler<2>     dof_handler(triangulation);
  dof_handler.distribute_dofs(fe);
  IndexSet relevant;
  DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);
  const Functions::SquareFunction<2> exact;
  AffineConstraints<double>          constraints(relevant);
  DoFTools::make_hanging_node_constraints(dof_handler, constraints);
  VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, exact, constraints);
  constraints.close();

  PatchFEM::FESpace<2> space;
  space.reinit(backend, mapping, dof_handler, constraints);
  PatchFEM::SlicedEllpackMatrix<double> matrix;
  PatchFEM::Vector<double>              rhs;
  space.initialize_matrix(matrix);
  PatchFEM::Assembler<PatchFEM::Laplace<2>> assembler(space);
  assembler.set_coefficients(PatchFEM::CoefficientField::constant({1.}));
  assembler.set_body_load(space.evaluate(Functions::ConstantFunction<2>(-4.)));
  assembler.assemble(matrix, rhs);

  SolverControl                           control(1000, 1e-12 * rhs.l2_norm());
  PatchFEM::SolverCG                      solver(control);
  const PatchFEM::PreconditionAMG<double> preconditioner(matrix, space.constants());
  auto                                    x = solver.solve(matrix, rhs, preconditioner);
  space.constraints().distribute(x);

  LinearAlgebra::distributed::Vector<double> solution(dof_handler.locally_owned_dofs(), relevant, MPI_COMM_WORLD),
      error(solution);
  space.copy_to(x, solution);
  VectorTools::interpolate(mapping, dof_handler, exact, error);
  error -= solution;
  return error.linfty_norm();
}

int main(int argc, char **argv)
{
  Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  try
  {
    const double error = solve(argc > 1 ? argv[1] : "host");
    if (Utilities::MPI::this_mpi_process(MPI_COMM_WORLD) == 0)
      std::cout << "The solution on " << Utilities::MPI::n_mpi_processes(MPI_COMM_WORLD) << " ranks is "
                << (error < 1e-9 ? "right" : "wrong") << ", largest error " << error << std::endl;
    return error < 1e-9 ? 0 : 1;
  }
  catch (const std::exception &exception)
  {
    std::cerr << exception.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}
