// SPDX-License-Identifier: LGPL-2.1-or-later
// rubber [BACKEND]: a block of rubber, an eighth of it by symmetry, is pulled to twice its length in five steps. Its sides are free, so
// that the force has a closed form.
#include "rubber.h"

#include <deal.II/base/discrete_time.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/numerics/vector_tools.h>
#include <patchfem/patchfem.h>

#include <iostream>

void run(const std::string &backend_name)
{
  constexpr int                dim = 3;
  dealii::Triangulation<dim>   triangulation;
  const dealii::MappingQ1<dim> mapping;
  const dealii::FESystem<dim>  fe(dealii::FE_Q<dim>(1), dim);
  dealii::DoFHandler<dim>      dof_handler(triangulation);
  dealii::GridGenerator::hyper_cube(triangulation, 0., 1., true);
  triangulation.refine_global(2);
  dof_handler.distribute_dofs(fe);

  // Planes of symmetry have ids 0, 2 and 4; that with id 1 is moved.
  const auto constraints_at = [&](const double pull) {
    dealii::AffineConstraints<double> constraints;
    for (const unsigned int id : {0, 1, 2, 4})
      dealii::VectorTools::interpolate_boundary_values(
          mapping, dof_handler, id, dealii::Functions::ConstantFunction<dim>(id == 1 ? pull : 0., dim), constraints,
          fe.component_mask(dealii::FEValuesExtractors::Scalar(id / 2)));
    constraints.close();
    return constraints;
  };

  FESpace<dim> space(Backend(backend_name), mapping, dof_handler, constraints_at(0.));
  LawAssembler solid(space);
  solid.add_law<Rubber>(CoefficientField::constant({576.923, 384.615}));
  LawSystem      system(solid, space.rigid_body_modes());
  NewtonSolver<> newton;
  system.attach(newton);

  PatchFEM::Vector<double> u, forces;
  space.initialize_dof_vector(u);
  for (dealii::DiscreteTime time(0., 1., 0.2); !time.is_at_end(); time.advance_time())
  {
    solid.begin_step({time.get_next_time(), time.get_next_step_size()});
    space.update_inhomogeneities(constraints_at(time.get_next_time()));
    Converged converged = newton.solve(u);
    solid.reactions(u, forces);
    solid.commit(u, std::move(converged));
    std::cout << to_string(newton.history());
  }

  dealii::Vector<double> all(dof_handler.n_dofs());
  space.copy_to(forces, all);
  double force = 0.;
  for (const auto dof : dealii::DoFTools::extract_boundary_dofs(
           dof_handler, fe.component_mask(dealii::FEValuesExtractors::Scalar(0)), {1}))
    force += all(dof);
  std::cout << "Stretch 2, force " << force << std::endl;
}

int main(int argc, char **argv)
{
  try
  {
    run(argc > 1 ? argv[1] : "auto");
  }
  catch (const std::exception &error)
  {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
