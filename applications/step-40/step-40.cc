// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adaptive finite elements in parallel: -div grad u = f in a square, u = 0 on its boundary, where f is 1 above a wavy
// line and -1 below. Each rank has its part of the mesh, as deal.II's tutorial has it; everything is as its readers would
// write it, except for the lines marked with (*). To be run as mpirun -n 16 step-40.
#include <deal.II/base/conditional_ostream.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/distributed/grid_refinement.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/numerics/data_out.h>
#include <deal.II/numerics/error_estimator.h>
#include <deal.II/numerics/vector_tools.h>

#include <patchfem/patchfem.h>

#include <cmath>
#include <iostream>

using namespace dealii;

template <int dim>
class RightHandSide : public Function<dim>
{
public:
  double value(const Point<dim> &p, const unsigned int = 0) const override
  {
    return p[1] > 0.5 + 0.25 * std::sin(4. * numbers::PI * p[0]) ? 1. : -1.;
  }
};

template <int dim>
class Step40
{
public:
  explicit Step40(const std::string &backend_name)
      : backend(PatchFEM::backend_of_ranks(backend_name, communicator)), triangulation(communicator), mapping(1), fe(2),
        dof_handler(triangulation), pcout(std::cout, Utilities::MPI::this_mpi_process(communicator) == 0)
  {}

  void run();

private:
  void setup_system();
  void assemble_system();
  void solve();
  void refine_grid();
  void output_results(unsigned int cycle) const;

  const MPI_Comm          communicator = MPI_COMM_WORLD;
  const PatchFEM::Backend backend; // (*) where matrices and vectors live; ranks may share devices

  parallel::distributed::Triangulation<dim>  triangulation;
  const MappingQ<dim>                        mapping;
  const FE_Q<dim>                            fe;
  DoFHandler<dim>                            dof_handler;
  AffineConstraints<double>                  constraints;
  LinearAlgebra::distributed::Vector<double> solution; // with ghosts

  PatchFEM::FESpace<dim>                space; // (*) DoFHandler and constraints there, instead of a SparsityPattern
  PatchFEM::SlicedEllpackMatrix<double> system_matrix;
  PatchFEM::Vector<double>              system_rhs;

  ConditionalOStream pcout;
};

template <int dim>
void Step40<dim>::setup_system()
{
  dof_handler.distribute_dofs(fe);
  IndexSet relevant;
  DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);
  solution.reinit(dof_handler.locally_owned_dofs(), relevant, communicator);

  constraints.clear();
  constraints.reinit(relevant);
  DoFTools::make_hanging_node_constraints(dof_handler, constraints);
  VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, Functions::ZeroFunction<dim>(), constraints);
  constraints.close();

  space.reinit(backend, mapping, dof_handler, constraints); // (*) instead of distribute_sparsity_pattern()
  space.initialize_matrix(system_matrix);                   // (*)
}

template <int dim>
void Step40<dim>::assemble_system()
{
  PatchFEM::Assembler<PatchFEM::Laplace<dim>> assembler(space); // (*) instead of the loop over cells
  assembler.set_coefficients(PatchFEM::CoefficientField::constant({1.}));
  assembler.set_body_load(space.evaluate(RightHandSide<dim>()));
  assembler.assemble(system_matrix, system_rhs);
}

template <int dim>
void Step40<dim>::solve()
{
  SolverControl      solver_control(1000, 1e-10 * system_rhs.l2_norm());
  PatchFEM::SolverCG solver(solver_control);

  const PatchFEM::PreconditionAMG<double> preconditioner(system_matrix, space.constants()); // (*)
  auto                                    x = solver.solve(system_matrix, system_rhs, preconditioner);
  space.constraints().distribute(x); // (*) also lines whose masters only other ranks know
  space.copy_to(x, solution);        // (*) the elements that this rank owns
  solution.update_ghost_values();
  pcout << "   " << solver_control.last_step() << " iterations" << std::endl;
}

template <int dim>
void Step40<dim>::refine_grid()
{
  Vector<float> estimated_error_per_cell(triangulation.n_active_cells());
  KellyErrorEstimator<dim>::estimate(mapping, dof_handler, QGauss<dim - 1>(fe.degree + 1), {}, solution,
                                     estimated_error_per_cell);
  parallel::distributed::GridRefinement::refine_and_coarsen_fixed_number(triangulation, estimated_error_per_cell, 0.3,
                                                                         0.03);
  triangulation.execute_coarsening_and_refinement();
}

template <int dim>
void Step40<dim>::output_results(const unsigned int cycle) const
{
  Vector<float> subdomain(triangulation.n_active_cells());
  subdomain = static_cast<float>(triangulation.locally_owned_subdomain());
  DataOut<dim> data_out;
  data_out.attach_dof_handler(dof_handler);
  data_out.add_data_vector(solution, "u");
  data_out.add_data_vector(subdomain, "subdomain");
  data_out.build_patches(mapping, fe.degree);
  data_out.write_vtu_with_pvtu_record("./", "step-40", cycle, communicator, 1);
}

template <int dim>
void Step40<dim>::run()
{
  GridGenerator::hyper_cube(triangulation);
  triangulation.refine_global(4);

  for (unsigned int cycle = 0; cycle < 5; ++cycle)
  {
    if (cycle > 0)
      refine_grid();
    setup_system();
    pcout << "Cycle " << cycle << " on " << backend.name() << ": " << triangulation.n_global_active_cells()
          << " cells, " << dof_handler.n_dofs() << " degrees of freedom on "
          << Utilities::MPI::n_mpi_processes(communicator) << " ranks" << std::endl;
    assemble_system();
    solve();
    output_results(cycle);
  }

  // For the suite: a norm that does not depend on the number of ranks.
  Vector<double> cellwise(triangulation.n_active_cells());
  VectorTools::integrate_difference(mapping, dof_handler, solution, Functions::ZeroFunction<dim>(), cellwise,
                                    QGauss<dim>(fe.degree + 1), VectorTools::L2_norm);
  const double norm = VectorTools::compute_global_error(triangulation, cellwise, VectorTools::L2_norm);
  pcout << "Norm " << norm << std::endl;
}

int main(int argc, char **argv)
{
  Utilities::MPI::MPI_InitFinalize mpi(argc, argv, 1);
  if (argc > 1 && std::string(argv[1]).rfind("-", 0) == 0)
  {
    std::cout << "Usage: mpirun -n RANKS step-40 [auto | host | cuda]" << std::endl;
    return std::string(argv[1]) == "--help" ? 0 : 1;
  }
  try
  {
    Step40<2>(argc > 1 ? argv[1] : "host").run();
  }
  catch (const std::exception &exception)
  {
    std::cerr << exception.what() << std::endl;
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return 0;
}
