// SPDX-License-Identifier: LGPL-2.1-or-later
// reactions [BACKEND]: heat through the wall of a tube, whose inner side is held at 100 degrees and its outer one at 20. The
// flow at each side comes from the residual of the equations without supports, as accurate as the energy.
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/numerics/vector_tools.h>
#include <patchfem/patchfem.h>

#include <cmath>
#include <iostream>

using namespace dealii;

constexpr int    dim          = 2;
constexpr double conductivity = 45;

void run(const std::string &backend_name)
{
  const PatchFEM::Backend backend(backend_name);

  // With colors the inner side is 0 and the outer one 1. Cells at the inner side are refined: there are hanging nodes.
  const types::boundary_id inner = 0, outer = 1;
  Triangulation<dim>       triangulation;
  GridGenerator::hyper_shell(triangulation, Point<dim>(), 1., 2., 12, true);
  triangulation.refine_global(2);
  for (const auto &cell : triangulation.active_cell_iterators())
    if (cell->at_boundary() && cell->center().norm() < 1.5)
      cell->set_refine_flag();
  triangulation.execute_coarsening_and_refinement();

  const MappingQ<dim> mapping(2);
  const FE_Q<dim>     fe(2);
  DoFHandler<dim>     dof_handler(triangulation);
  dof_handler.distribute_dofs(fe);
  AffineConstraints<double> continuity; // constraints that hold nothing
  DoFTools::make_hanging_node_constraints(dof_handler, continuity);
  AffineConstraints<double> constraints;
  constraints.copy_from(continuity);
  continuity.close();
  VectorTools::interpolate_boundary_values(mapping, dof_handler, inner, Functions::ConstantFunction<dim>(100.),
                                           constraints);
  VectorTools::interpolate_boundary_values(mapping, dof_handler, outer, Functions::ConstantFunction<dim>(20.),
                                           constraints);
  constraints.close();

  const PatchFEM::FESpace<dim>                space(backend, mapping, dof_handler, constraints);
  PatchFEM::Assembler<PatchFEM::Laplace<dim>> assembler(space);
  assembler.set_coefficients(PatchFEM::CoefficientField::constant({conductivity}));
  PatchFEM::SlicedEllpackMatrix<double> matrix;
  PatchFEM::Vector<double>              rhs;
  space.initialize_matrix(matrix);
  assembler.assemble(matrix, rhs);
  SolverControl                              control(1000, 1e-10 * rhs.l2_norm());
  PatchFEM::SolverCG                         solver(control);
  LinearAlgebra::distributed::Vector<double> u(dof_handler.n_dofs());
  space.copy_to(solver.solve(matrix, rhs, PatchFEM::PreconditionAMG<double>(matrix, space.constants())), u);
  constraints.distribute(u);

  // The equation at points: its law, the law's parameters, and loads, of which there are none.
  const PatchFEM::PointwiseEquation<dim> equation{
      PatchFEM::FieldLaw::of<PatchFEM::DiffusionFields<dim, true>>(),
      [](const Point<dim> &, types::material_id, double *parameters) { parameters[0] = conductivity; },
      {},
      {}};
  const auto flows = PatchFEM::reactions(dof_handler, space.tables(), continuity,
                                         {{inner, ComponentMask()}, {outer, ComponentMask()}}, equation, u);
  std::cout << "Flow " << flows.at(inner).force[0] << " and " << flows.at(outer).force[0] << ", by formula "
            << 2. * numbers::PI * conductivity * 80. / std::log(2.) << std::endl;
}

int main(int argc, char **argv)
{
  try
  {
    run(argc > 1 ? argv[1] : "auto");
  }
  catch (const std::exception &exception)
  {
    std::cerr << exception.what() << std::endl;
    return 1;
  }
  return 0;
}
