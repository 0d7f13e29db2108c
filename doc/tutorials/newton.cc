// SPDX-License-Identifier: LGPL-2.1-or-later
// newton [BACKEND]: the surface of least area over a square, -div F(grad u) = 0 with F(g) = g / sqrt(1 + |g|^2), by Newton's
// method with a law. With Scherk's surface on the boundary, u = log(cos y / cos x), it is the solution.
#include "minimal_surface.h"

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/numerics/vector_tools.h>
#include <patchfem/patchfem.h>

#include <cmath>
#include <iostream>

using namespace dealii;

constexpr int dim = 2;
using Law         = MinimalSurface<dim>;

class Scherk : public Function<dim>
{
public:
  double value(const Point<dim> &p, const unsigned int) const override
  {
    return std::log(std::cos(p[1]) / std::cos(p[0]));
  }
};

void run(const std::string &backend_name)
{
  const PatchFEM::Backend backend(backend_name);

  Triangulation<dim> triangulation;
  GridGenerator::hyper_cube(triangulation, -1., 1.);
  triangulation.refine_global(5);
  const MappingQ1<dim> mapping;
  const FE_Q<dim>      fe(2);
  DoFHandler<dim>      dof_handler(triangulation);
  dof_handler.distribute_dofs(fe);
  AffineConstraints<double> constraints;
  VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, Scherk(), constraints);
  constraints.close();
  const PatchFEM::FESpace<dim> space(backend, mapping, dof_handler, constraints);

  PatchFEM::QuadratureField<double>             field(space, Law::n_values); // at each point the tangent and the flux F
  PatchFEM::Assembler<PatchFEM::Diffusion<dim>> assembler(space);
  PatchFEM::SlicedEllpackMatrix<double>         tangent;
  PatchFEM::Vector<double>                      u, rhs;
  assembler.set_coefficients(field.components(0, Law::n_tangent)); // a view: values of later evaluations are seen
  space.initialize_matrix(tangent);
  space.initialize_dof_vector(u);
  for (unsigned int step = 0; step <= 10; ++step)
  {
    field.evaluate<Law>(u); // of a vector to which constraints are distributed
    // u = 0 does not have the boundary values yet, which are in the first right-hand side.
    if (step == 0)
      assembler.assemble(tangent, rhs);
    else
    {
      integrate(space, {}, field.components(Law::n_tangent, dim), rhs); // int F . grad phi, constraints condensed
      rhs *= -1.;
      std::cout << "Step " << step << ", residual " << rhs.l2_norm() << std::endl;
      if (rhs.l2_norm() < 1e-12)
        break;
      assembler.assemble_matrix(tangent);
    }
    SolverControl      control(1000, std::max(1e-8 * rhs.l2_norm(), 1e-15));
    PatchFEM::SolverCG solver(control);
    u.add(1., solver.solve(tangent, rhs, PatchFEM::PreconditionAMG<double>(tangent, space.constants())));
    space.constraints().distribute(u);
  }

  Vector<double> solution(dof_handler.n_dofs()), errors(triangulation.n_active_cells());
  space.copy_to(u, solution);
  VectorTools::integrate_difference(mapping, dof_handler, solution, Scherk(), errors, QGauss<dim>(5),
                                    VectorTools::L2_norm);
  std::cout << "Error in L2 " << errors.l2_norm() << std::endl;
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
