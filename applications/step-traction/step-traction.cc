// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tractions and materials: a beam of two layers is clamped at its left end and carries a load on its upper side that
// grows towards the right end. The program goes on from step-8; the lines marked with (*) are what is new.
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/solver_control.h>
#include <deal.II/numerics/data_out.h>
#include <deal.II/numerics/vector_tools.h>

#include <patchfem/patchfem.h>

#include <fstream>
#include <iostream>

using namespace dealii;

constexpr int dim = 2;

/** Force per length of the boundary, (*) any deal.II function with a component for each displacement. */
class Load : public Function<dim>
{
public:
  Load() : Function<dim>(dim) {}

  void vector_value(const Point<dim> &point, Vector<double> &values) const override
  {
    values(0) = 0.;
    values(1) = -1e5 * point[0];
  }
};

void run(const std::string &backend_name)
{
  const PatchFEM::Backend backend(backend_name);

  // With colors the sides of the rectangle have the ids 0 left, 1 right, 2 below, 3 above.
  const types::boundary_id clamped = 0, loaded = 3;
  Triangulation<dim>       triangulation;
  GridGenerator::subdivided_hyper_rectangle(triangulation, {40, 8}, Point<dim>(0, 0), Point<dim>(2, 0.2), true);

  // Degree 2: cells of degree 1 would need to be smaller, since they bend too little.
  const MappingQ1<dim> mapping;
  const FESystem<dim>  fe(FE_Q<dim>(2), dim);
  DoFHandler<dim>      dof_handler(triangulation);
  dof_handler.distribute_dofs(fe);
  AffineConstraints<double> constraints;
  VectorTools::interpolate_boundary_values(mapping, dof_handler, clamped, Functions::ZeroFunction<dim>(dim),
                                           constraints);
  constraints.close();

  // (*) A space knows the boundary faces that it is told of.
  PatchFEM::ExtractionData<dim> extraction;
  extraction.boundary_ids = {loaded};
  const PatchFEM::FESpace<dim> space(backend, mapping, dof_handler, constraints, extraction);

  // (*) The lower layer is of steel, the upper one of aluminium: Lame's parameters in plane stress.
  const auto moduli = [](const auto &cell) {
    const double E = cell->center()[1] < 0.1 ? 210e9 : 70e9, nu = 0.3;
    return std::vector<double>{E * nu / (1. - nu * nu), E / (2. * (1. + nu))};
  };
  PatchFEM::Assembler<PatchFEM::Elasticity<dim>> assembler(space);
  assembler.set_coefficients(PatchFEM::CoefficientField::by_cell(space, moduli));
  assembler.set_face_terms(space.evaluate_on_faces(Load(), {loaded})); // (*)

  PatchFEM::SlicedEllpackMatrix<double> matrix;
  PatchFEM::Vector<double>              rhs;
  space.initialize_matrix(matrix);
  assembler.assemble(matrix, rhs);

  SolverControl                           solver_control(1000, 1e-10 * rhs.l2_norm());
  PatchFEM::SolverCG                      solver(solver_control);
  const PatchFEM::PreconditionAMG<double> preconditioner(matrix, space.rigid_body_modes());
  Vector<double>                          solution(dof_handler.n_dofs());
  space.copy_to(solver.solve(matrix, rhs, preconditioner), solution);
  constraints.distribute(solution);

  DataOut<dim> data_out;
  data_out.attach_dof_handler(dof_handler);
  data_out.add_data_vector(solution, std::vector<std::string>(dim, "displacement"), DataOut<dim>::type_dof_data,
                           std::vector<DataComponentInterpretation::DataComponentInterpretation>(
                               dim, DataComponentInterpretation::component_is_part_of_vector));
  data_out.build_patches(mapping, 2);
  std::ofstream output("step-traction.vtu");
  data_out.write_vtu(output);

  Vector<double> end(dim);
  VectorTools::point_value(mapping, dof_handler, solution, Point<dim>(2, 0.2), end);
  std::cout << dof_handler.n_dofs() << " degrees of freedom, " << solver_control.last_step() << " iterations on "
            << backend.name() << "\nDeflection " << -end(1) << std::endl;
}

int main(int argc, char **argv)
{
  if (argc > 1 && std::string(argv[1]).rfind("-", 0) == 0)
  {
    std::cout << "Usage: step-traction [auto | host | cuda]" << std::endl;
    return std::string(argv[1]) == "--help" ? 0 : 1;
  }
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
