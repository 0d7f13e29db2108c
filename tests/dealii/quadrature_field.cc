// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"
#include "../core/laws.h"
#include "assembly_problems.h"

#include <patchfem/patchfem.h>

using namespace PatchFEM;
using namespace AssemblyProblems;

namespace
{
  /**
   * Values, gradients and positions as FEValues has them, and int u v + grad u . grad v as its loop with
   * distribute_local_to_global() makes it, of a field that satisfies the constraints.
   */
  template <int dim, int n_comp>
  void check(const Backend &backend, const Problem &problem)
  {
    SCOPED_TRACE(problem.name());
    const Setup<dim>       setup(problem);
    const FESpace<dim>     space(backend, *setup.mapping, setup.dof_handler, setup.constraints);
    dealii::Vector<double> theirs(setup.dof_handler.n_dofs());
    for (unsigned int i = 0; i < theirs.size(); ++i)
      theirs(i) = std::sin(1. + 7. * i);
    Vector<double> u;
    space.copy_from(theirs, u);
    setup.constraints.distribute(theirs);
    space.constraints().distribute(u);

    QuadratureField<double> field(space, Probe<dim, n_comp>::n_values);
    field.template evaluate<Probe<dim, n_comp>>(u);
    const auto                               ours = field.copy_to_host();
    const dealii::hp::QCollection<dim>       rules(Reference::gauss_rules(setup.dof_handler).cell);
    const dealii::hp::MappingCollection<dim> mappings(*setup.mapping);
    dealii::hp::FEValues<dim>                fe_values(mappings, setup.dof_handler.get_fe_collection(), rules,
                                                       dealii::update_values | dealii::update_gradients |
                                                           dealii::update_quadrature_points | dealii::update_JxW_values);

    dealii::Vector<double>                       expected(theirs.size()), expected_free(theirs.size()), cell_rhs, found;
    std::vector<dealii::types::global_dof_index> dofs;
    double                                       worst = 0.;
    std::vector<std::pair<int, int>>             place(setup.triangulation.n_active_cells()); // batch, cell
    for (std::size_t b = 0; b < space.tables().batches.size(); ++b)
      for (int c = 0; c < space.tables().batches[b].n_cells; ++c)
        place[space.tables().batches[b].active_index[c]] = {static_cast<int>(b), c};
    for (const auto &cell : setup.dof_handler.active_cell_iterators())
    {
      fe_values.reinit(cell);
      const dealii::FEValues<dim> &values = fe_values.get_present_fe_values();
      const auto                  &fe     = cell->get_fe();
      dofs.resize(fe.n_dofs_per_cell());
      cell->get_dof_indices(dofs);
      cell_rhs.reinit(fe.n_dofs_per_cell());
      const auto [b, c] = place[cell->active_cell_index()];
      for (const unsigned int q : values.quadrature_point_indices())
      {
        std::vector<double> at(field.n_values());
        for (unsigned int i = 0; i < dofs.size(); ++i)
        {
          const int component = fe.system_to_component_index(i).first;
          at[component] += theirs(dofs[i]) * values.shape_value(i, q);
          for (int d = 0; d < dim; ++d)
            at[n_comp + component * dim + d] += theirs(dofs[i]) * values.shape_grad(i, q)[d];
        }
        for (int d = 0; d < dim; ++d)
          at[n_comp * (dim + 1) + d] = values.quadrature_point(q)[d];
        const double *const our = ours[b].data() + (std::size_t(c) * values.n_quadrature_points + q) * at.size();
        for (std::size_t k = 0; k < at.size(); ++k)
        {
          const double apart = std::abs(our[k] - at[k]);
          worst              = apart <= worst ? worst : (apart > worst ? apart : HUGE_VAL);
        }
        for (unsigned int i = 0; i < dofs.size(); ++i)
        {
          const int component = fe.system_to_component_index(i).first;
          double    sum       = at[component] * values.shape_value(i, q);
          for (int d = 0; d < dim; ++d)
            sum += at[n_comp + component * dim + d] * values.shape_grad(i, q)[d];
          cell_rhs(i) += sum * values.JxW(q);
        }
      }
      setup.constraints.distribute_local_to_global(cell_rhs, dofs, expected);
      expected_free.add(dofs, cell_rhs);
    }
    EXPECT_LE(worst, 1e-11); // gradients are up to 1e2

    const auto expect_near = [&](const Space &domain, const dealii::Vector<double> &reference) {
      Vector<double> rhs;
      integrate(domain, field.components(0, n_comp), field.components(n_comp, n_comp * dim), rhs);
      space.copy_to(rhs, found);
      const double scale = reference.linfty_norm();
      found -= reference;
      for (const double difference : found) // the largest one alone would not see what is not a number
        ASSERT_LE(std::abs(difference), 1e-12 * scale);
    };
    expect_near(space, expected);
    expect_near(space.unconstrained(), expected_free);
  }
} // namespace

class QuadratureFieldDealIITest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(QuadratureFieldDealIITest);

TEST_P(QuadratureFieldDealIITest, AgreesWithFEValues)
{
  check<2, 1>(backend(), {"laplace", 2, "adaptive_cube", 0, 2, "dirichlet", "random"});
  check<2, 2>(backend(), {"elasticity", 2, "shell", 0, 2, "normal_flux", "component_wise"});
  check<2, 1>(backend(), {"laplace", 2, "simplices", 2});
  check<3, 1>(backend(), {"laplace", 3, "coarsened_cube", 0, 2, "dirichlet"});
  check<3, 3>(backend(), {"elasticity", 3, "adaptive_cube", 0, 2, "one_component", "component_wise"});
}
