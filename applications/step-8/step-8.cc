// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Adaptive finite elements for the elasticity equations on a square whose left side is held: two disks are pushed
// apart along x, a third is pushed along y. A program for those who know deal.II's tutorial; the lines marked with (*)
// assemble and solve on the GPU, or on the CPU where there is none, everything else is as they would write it.
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
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

/** The body force. */
template <int dim>
class BodyForce : public Function<dim>
{
public:
  BodyForce() : Function<dim>(dim) {}

  double value(const Point<dim> &point, const unsigned int component) const override
  {
    Point<dim> right, left;
    right[0] = 0.5;
    left[0]  = -0.5;
    if (component == 0)
      return (point.distance(right) < 0.2) - (point.distance(left) < 0.2);
    if (component == 1)
      return point.norm() < 0.2;
    return 0.;
  }

  void vector_value(const Point<dim> &point, Vector<double> &values) const override
  {
    for (unsigned int c = 0; c < dim; ++c)
      values(c) = value(point, c);
  }
};

template <int dim>
class Step8
{
public:
  explicit Step8(const std::string &backend_name)
      : backend(backend_name), fe(FE_Q<dim>(1), dim), dof_handler(triangulation)
  {}

  void run();

private:
  void setup_system();
  void assemble_system();
  void solve();
  void refine_grid();
  void output_results(unsigned int cycle) const;

  const PatchFEM::Backend          backend; // where matrices and vectors live: host, cuda, or auto
  const PatchFEM::CoefficientField moduli = PatchFEM::CoefficientField::constant({1., 1.}); // lambda and mu

  Triangulation<dim>        triangulation;
  const MappingQ1<dim>      mapping;
  const FESystem<dim>       fe;
  DoFHandler<dim>           dof_handler;
  AffineConstraints<double> constraints;
  Vector<double>            solution;

  PatchFEM::FESpace<dim>                space; // (*) DoFHandler and constraints there, instead of a SparsityPattern
  PatchFEM::SlicedEllpackMatrix<double> system_matrix;
  PatchFEM::Vector<double>              system_rhs;
};

template <int dim>
void Step8<dim>::setup_system()
{
  dof_handler.distribute_dofs(fe);
  solution.reinit(dof_handler.n_dofs());

  constraints.clear();
  DoFTools::make_hanging_node_constraints(dof_handler, constraints);
  VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, Functions::ZeroFunction<dim>(dim), constraints);
  constraints.close();

  space.reinit(backend, mapping, dof_handler, constraints); // (*) instead of make_sparsity_pattern()
  space.initialize_matrix(system_matrix);                   // (*) of dim x dim blocks, one for each pair of nodes
}

template <int dim>
void Step8<dim>::assemble_system()
{
  PatchFEM::Assembler<PatchFEM::Elasticity<dim>> assembler(space); // (*) instead of the loop over cells
  assembler.set_coefficients(moduli);
  assembler.set_body_load(space.evaluate(BodyForce<dim>())); // (*) any deal.II function
  assembler.assemble(system_matrix, system_rhs);
}

template <int dim>
void Step8<dim>::solve()
{
  SolverControl      solver_control(2000, 1e-10 * system_rhs.l2_norm());
  PatchFEM::SolverCG solver(solver_control);

  // (*) Multigrid, whose coarse levels represent translations and rotations: the near-null space of elasticity.
  const PatchFEM::PreconditionAMG<double> preconditioner(system_matrix, space.rigid_body_modes());
  PatchFEM::Vector<double>                x = solver.solve(system_matrix, system_rhs, preconditioner);
  space.copy_to(x, solution); // (*) in deal.II's numbering
  constraints.distribute(solution);
  space.constraints().distribute(x);
  using Fields       = PatchFEM::ElasticityFields<dim>; // (*) stresses and the like, where x lives
  const auto largest = PatchFEM::field_extremes<Fields>(space, x, moduli).most[Fields::n_fields - 1];
  std::cout << "   " << solver_control.last_step() << " iterations, von Mises stress up to " << largest.value << " at ("
            << largest.place[0] << ", " << largest.place[1] << ")" << std::endl;
}

template <int dim>
void Step8<dim>::refine_grid()
{
  Vector<float> estimated_error_per_cell(triangulation.n_active_cells());
  KellyErrorEstimator<dim>::estimate(mapping, dof_handler, QGauss<dim - 1>(fe.degree + 1), {}, solution,
                                     estimated_error_per_cell);
  GridRefinement::refine_and_coarsen_fixed_number(triangulation, estimated_error_per_cell, 0.3, 0.03);
  triangulation.execute_coarsening_and_refinement();
}

template <int dim>
void Step8<dim>::output_results(const unsigned int cycle) const
{
  DataOut<dim> data_out;
  data_out.attach_dof_handler(dof_handler);
  data_out.add_data_vector(solution, std::vector<std::string>(dim, "displacement"), DataOut<dim>::type_dof_data,
                           std::vector<DataComponentInterpretation::DataComponentInterpretation>(
                               dim, DataComponentInterpretation::component_is_part_of_vector));
  data_out.build_patches(mapping);
  std::ofstream output("step-8-" + std::to_string(cycle) + ".vtu");
  data_out.write_vtu(output);
}

template <int dim>
void Step8<dim>::run()
{
  GridGenerator::hyper_cube(triangulation, -1, 1, true);
  triangulation.refine_global(4);

  for (unsigned int cycle = 0; cycle < 6; ++cycle)
  {
    if (cycle > 0)
      refine_grid();
    setup_system();
    std::cout << "Cycle " << cycle << " on " << backend.name() << ": " << triangulation.n_active_cells() << " cells, "
              << dof_handler.n_dofs() << " degrees of freedom" << std::endl;
    assemble_system();
    solve();
    output_results(cycle);
  }

  // For the suite: mean values that do not depend on the back end.
  std::cout << "Mean displacement";
  for (unsigned int c = 0; c < dim; ++c)
    std::cout << ' ' << VectorTools::compute_mean_value(mapping, dof_handler, QGauss<dim>(2), solution, c);
  std::cout << std::endl;
}

int main(int argc, char **argv)
{
  if (argc > 1 && std::string(argv[1]).rfind("-", 0) == 0)
  {
    std::cout << "Usage: step-8 [auto | host | cuda]" << std::endl;
    return std::string(argv[1]) == "--help" ? 0 : 1;
  }
  try
  {
    Step8<2>(argc > 1 ? argv[1] : "auto").run();
  }
  catch (const std::exception &exception)
  {
    std::cerr << exception.what() << std::endl;
    return 1;
  }
  return 0;
}
