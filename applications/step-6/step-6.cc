// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adaptive finite elements for -div(a grad u) = 1 in a disk, u = 0 on its boundary, where a is 20 in the middle and 1
// outside: a program for those who know deal.II's tutorial. Everything is as they would write it, except for the lines
// marked with (*): they assemble and solve on the GPU, or on the CPU where there is none.
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_refinement.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/numerics/data_out.h>
#include <deal.II/numerics/error_estimator.h>
#include <deal.II/numerics/vector_tools.h>

#include <patchfem/patchfem.h>

#include <fstream>
#include <iostream>

using namespace dealii;

template <int dim>
class Step6
{
public:
  explicit Step6(const std::string &backend_name) : backend(backend_name), mapping(2), fe(2), dof_handler(triangulation)
  {}

  void run();

private:
  void setup_system();
  void assemble_system();
  void solve();
  void refine_grid();
  void output_results(unsigned int cycle) const;

  const PatchFEM::Backend backend; // where matrices and vectors live: host, cuda, or auto

  Triangulation<dim>        triangulation;
  const MappingQ<dim>       mapping;
  const FE_Q<dim>           fe;
  DoFHandler<dim>           dof_handler;
  AffineConstraints<double> constraints;
  Vector<double>            solution;

  PatchFEM::FESpace<dim>                space; // (*) DoFHandler and constraints there, instead of a SparsityPattern
  PatchFEM::SlicedEllpackMatrix<double> system_matrix;
  PatchFEM::Vector<double>              system_rhs;
};

template <int dim>
void Step6<dim>::setup_system()
{
  dof_handler.distribute_dofs(fe);
  solution.reinit(dof_handler.n_dofs());

  constraints.clear();
  DoFTools::make_hanging_node_constraints(dof_handler, constraints);
  VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, Functions::ZeroFunction<dim>(), constraints);
  constraints.close();

  space.reinit(backend, mapping, dof_handler, constraints); // (*) instead of make_sparsity_pattern()
  space.initialize_matrix(system_matrix);                   // (*)
}

template <int dim>
void Step6<dim>::assemble_system()
{
  PatchFEM::Assembler<PatchFEM::Laplace<dim>> assembler(space); // (*) instead of the loop over cells
  assembler.set_coefficients(PatchFEM::CoefficientField::by_material({{0, {1.}}, {1, {20.}}}));
  assembler.set_body_load(PatchFEM::CoefficientField::constant({1.}));
  assembler.assemble(system_matrix, system_rhs);
}

template <int dim>
void Step6<dim>::solve()
{
  SolverControl      solver_control(1000, 1e-10 * system_rhs.l2_norm());
  PatchFEM::SolverCG solver(solver_control);

  const PatchFEM::PreconditionJacobi<double> preconditioner(system_matrix);         // (*) names of deal.II
  space.copy_to(solver.solve(system_matrix, system_rhs, preconditioner), solution); // (*) in deal.II's numbering
  constraints.distribute(solution);
  std::cout << "   " << solver_control.last_step() << " iterations" << std::endl;
}

template <int dim>
void Step6<dim>::refine_grid()
{
  Vector<float> estimated_error_per_cell(triangulation.n_active_cells());
  KellyErrorEstimator<dim>::estimate(mapping, dof_handler, QGauss<dim - 1>(fe.degree + 1), {}, solution,
                                     estimated_error_per_cell);
  GridRefinement::refine_and_coarsen_fixed_number(triangulation, estimated_error_per_cell, 0.3, 0.03);
  triangulation.execute_coarsening_and_refinement();
}

template <int dim>
void Step6<dim>::output_results(const unsigned int cycle) const
{
  DataOut<dim> data_out;
  data_out.attach_dof_handler(dof_handler);
  data_out.add_data_vector(solution, "solution");
  data_out.build_patches(mapping, fe.degree);
  std::ofstream output("step-6-" + std::to_string(cycle) + ".vtu");
  data_out.write_vtu(output);
}

template <int dim>
void Step6<dim>::run()
{
  GridGenerator::hyper_ball(triangulation);
  triangulation.refine_global(2);

  for (unsigned int cycle = 0; cycle < 6; ++cycle)
  {
    if (cycle > 0)
      refine_grid();
    for (const auto &cell : triangulation.active_cell_iterators())
      cell->set_material_id(cell->center().norm() < 0.5 ? 1 : 0);

    setup_system();
    std::cout << "Cycle " << cycle << " on " << backend.name() << ": " << triangulation.n_active_cells() << " cells, "
              << dof_handler.n_dofs() << " degrees of freedom" << std::endl;
    assemble_system();
    solve();
    output_results(cycle);
  }

  // For the suite: a mean value that does not depend on the back end.
  std::cout << "Mean value "
            << VectorTools::compute_mean_value(mapping, dof_handler, QGauss<dim>(fe.degree + 1), solution, 0)
            << std::endl;
}

int main(int argc, char **argv)
{
  if (argc > 1 && std::string(argv[1]).rfind("-", 0) == 0)
  {
    std::cout << "Usage: step-6 [auto | host | cuda]" << std::endl;
    return std::string(argv[1]) == "--help" ? 0 : 1;
  }
  try
  {
    Step6<2>(argc > 1 ? argv[1] : "auto").run();
  }
  catch (const std::exception &exception)
  {
    std::cerr << exception.what() << std::endl;
    return 1;
  }
  return 0;
}
