// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cell_unknowns.h"

#include <patchfem/app/near_null_space.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  using dealii::Point;

  template <int dim>
  std::vector<double> near_null_space(const Discretisation<dim> &discretisation, const Equation<dim> &equation)
  {
    const dealii::DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
    const dealii::IndexSet        &owned       = dof_handler.locally_owned_dofs();
    const std::size_t              n_owned     = owned.n_elements();

    std::vector<Point<dim>>    points(n_owned);
    std::vector<unsigned char> components(n_owned);
    CellUnknowns<dim>          unknowns(discretisation);
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (!cell->is_artificial())
        unknowns.visit(cell, [&](const auto index, const Point<dim> &point, const unsigned int component) {
          if (!owned.is_element(index))
            return;
          points[owned.index_within_set(index)]     = point;
          components[owned.index_within_set(index)] = component;
        });

    Point<dim> centroid;
    for (const Point<dim> &point : points)
      centroid += point;
    for (unsigned int d = 0; d < dim; ++d)
      centroid[d] = dealii::Utilities::MPI::sum(centroid[d], discretisation.communicator) / dof_handler.n_dofs();

    const unsigned int  n_modes = equation.mode_names().size();
    std::vector<double> modes(n_modes * n_owned);
    for (unsigned int m = 0; m < n_modes; ++m)
      for (std::size_t k = 0; k < n_owned; ++k)
        modes[m * n_owned + k] = equation.mode(m, Point<dim>(points[k] - centroid), components[k]);
    return modes;
  }

  namespace
  {
    /** The free modes with ghosts. */
    template <int dim>
    std::vector<SolutionVector> mode_fields(const Discretisation<dim> &discretisation)
    {
      const dealii::IndexSet &owned = discretisation.dof_handler->locally_owned_dofs();
      dealii::IndexSet        relevant;
      dealii::DoFTools::extract_locally_relevant_dofs(*discretisation.dof_handler, relevant);
      std::vector<SolutionVector> fields(discretisation.free_modes.size());
      for (unsigned int m = 0; m < fields.size(); ++m)
      {
        fields[m].reinit(owned, relevant, discretisation.communicator);
        for (const dealii::types::global_dof_index i : owned)
          fields[m](i) = discretisation.free_modes[m][owned.index_within_set(i)];
        fields[m].update_ghost_values();
      }
      return fields;
    }

    /** x cross v, of which there is one component in 2D and none of scalars. */
    template <int dim>
    std::vector<double> moment(const Point<dim> &x, const dealii::Vector<double> &v)
    {
      if (v.size() < dim)
        return {};
      if (dim == 2)
        return {x[0] * v[1] - x[1] * v[0]};
      return {x[1] * v[2] - x[2] * v[1], x[2] * v[0] - x[0] * v[2], x[0] * v[1] - x[1] * v[0]};
    }
  } // namespace

  template <int dim>
  void find_inertia(Discretisation<dim> &discretisation)
  {
    if (discretisation.free_modes.empty())
      return;
    using Loads                                = dealii::TrilinosWrappers::MPI::Vector;
    const dealii::DoFHandler<dim>    &handler  = *discretisation.dof_handler;
    const dealii::IndexSet           &owned    = handler.locally_owned_dofs();
    const std::vector<SolutionVector> fields   = mode_fields(discretisation);
    const unsigned int                n_fields = handler.get_fe_collection().n_components();
    std::vector<Loads>                loads(fields.size(), Loads(owned, discretisation.communicator));
    for (auto &inertia : discretisation.inertia)
    {
      inertia.force.assign(n_fields, 0.);
      inertia.moment.assign(moment(Point<dim>(), dealii::Vector<double>(n_fields)).size(), 0.);
    }

    const dealii::hp::MappingCollection<dim>     mapping(*discretisation.mapping);
    dealii::hp::FEValues<dim>                    values(mapping, handler.get_fe_collection(), discretisation.quadrature,
                                                        dealii::update_values | dealii::update_JxW_values |
                                                            dealii::update_quadrature_points);
    std::vector<dealii::types::global_dof_index> indices;
    for (const auto &cell : handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        values.reinit(cell);
        const dealii::FEValues<dim> &at = values.get_present_fe_values();
        indices.resize(cell->get_fe().n_dofs_per_cell());
        cell->get_dof_indices(indices);
        for (unsigned int m = 0; m < fields.size(); ++m)
        {
          auto                  &inertia = discretisation.inertia[m];
          dealii::Vector<double> of_cell(indices.size()), nodal(indices.size());
          cell->get_dof_values(fields[m], nodal);
          if (nodal.all_zero())
            continue;
          for (const unsigned int q : at.quadrature_point_indices())
          {
            dealii::Vector<double> force(n_fields);
            const auto             component = [&](const unsigned int i) {
              return cell->get_fe().system_to_component_index(i).first;
            };
            for (unsigned int i = 0; i < indices.size(); ++i)
              force(component(i)) += at.JxW(q) * nodal(i) * at.shape_value(i, q);
            for (unsigned int i = 0; i < indices.size(); ++i)
              of_cell(i) += force(component(i)) * at.shape_value(i, q);
            for (unsigned int c = 0; c < n_fields; ++c)
              inertia.force[c] += force(c);
            const std::vector<double> turning = moment(at.quadrature_point(q), force);
            for (unsigned int c = 0; c < turning.size(); ++c)
              inertia.moment[c] += turning[c];
          }
          discretisation.constraints->distribute_local_to_global(of_cell, indices, loads[m]);
        }
      }
    for (unsigned int m = 0; m < fields.size(); ++m)
    {
      loads[m].compress(dealii::VectorOperation::add);
      auto &inertia = discretisation.inertia[m];
      for (const dealii::types::global_dof_index i : owned)
        inertia.load.push_back(loads[m](i));
      for (std::vector<double> *resultant : {&inertia.force, &inertia.moment})
        dealii::Utilities::MPI::sum(*resultant, discretisation.communicator, *resultant);
    }
  }

  template <int dim>
  void describe_imbalance(const Discretisation<dim> &discretisation, std::optional<NullSpaceReport> &found)
  {
    if (discretisation.free_modes.empty())
      return;
    if (!found)
      found.emplace();
    NullSpaceReport &report = *found;
    report.removed_load     = dealii::Utilities::MPI::broadcast(discretisation.communicator, report.removed_load);
    report.amounts          = dealii::Utilities::MPI::broadcast(discretisation.communicator, report.amounts);
    if (report.removed_load < 1e-10) // it is rounding
      return;
    auto &parts = report.out_of_balance;
    for (unsigned int m = 0; m < report.amounts.size(); ++m)
    {
      const auto &inertia = discretisation.inertia[m];
      auto        part =
          std::find_if(parts.begin(), parts.end(), [&](const auto &known) { return known.part == inertia.part; });
      if (part == parts.end())
        part = parts.insert(part, {inertia.part, std::vector<double>(inertia.force.size()),
                                   std::vector<double>(inertia.moment.size())});
      const auto add = [&](const std::vector<double> &values, std::vector<double> &sum) {
        for (unsigned int c = 0; c < sum.size(); ++c)
          sum[c] += report.amounts[m] * values[c];
      };
      add(inertia.force, part->force);
      add(inertia.moment, part->moment);
    }
    for (auto &part : parts)
      for (std::vector<double> *values : {&part.force, &part.moment})
      {
        double largest = 0.;
        for (const double value : *values)
          largest = std::max(largest, std::abs(value));
        for (double &value : *values)
          value = std::abs(value) > 1e-12 * largest ? value : 0.;
      }
  }

  template <int dim>
  SolutionVector find_inertia_density(const Discretisation<dim> &discretisation, const NullSpaceReport &report)
  {
    std::vector<SolutionVector> fields = mode_fields(discretisation);
    SolutionVector              result;
    result.reinit(fields[0]);
    for (unsigned int m = 0; m < fields.size(); ++m)
    {
      fields[m].zero_out_ghost_values();
      result.add(-report.amounts[m], fields[m]);
    }
    result.update_ghost_values();
    return result;
  }

  template <int dim>
  void remove_free_modes(const Discretisation<dim> &discretisation, SolutionVector &solution)
  {
    const dealii::DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
    const unsigned int             n           = discretisation.free_modes.size();
    if (n == 0)
      return;
    std::vector<SolutionVector> fields = mode_fields(discretisation); // and the solution behind them
    fields.push_back(solution);
    for (SolutionVector &field : fields) // a copy has no ghosts
      field.update_ghost_values();

    const dealii::hp::MappingCollection<dim> mapping(*discretisation.mapping);
    dealii::hp::FEValues<dim>                values(mapping, dof_handler.get_fe_collection(), discretisation.quadrature,
                                                    dealii::update_values | dealii::update_JxW_values);
    std::vector<std::vector<dealii::Vector<double>>> at_points(n + 1);
    dealii::FullMatrix<double>                       products(n, n + 1); // mode, field
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        values.reinit(cell);
        const dealii::FEValues<dim> &fe_values = values.get_present_fe_values();
        for (unsigned int f = 0; f <= n; ++f)
        {
          at_points[f].assign(fe_values.n_quadrature_points, dealii::Vector<double>(cell->get_fe().n_components()));
          fe_values.get_function_values(fields[f], at_points[f]);
        }
        for (const unsigned int q : fe_values.quadrature_point_indices())
          for (unsigned int m = 0; m < n; ++m)
            for (unsigned int f = 0; f <= n; ++f)
              products(m, f) += fe_values.JxW(q) * (at_points[m][q] * at_points[f][q]);
      }
    dealii::Utilities::MPI::sum(products, discretisation.communicator, products);

    dealii::FullMatrix<double> gram(n, n);
    dealii::Vector<double>     product(n), coefficients(n);
    gram.fill(products);
    for (unsigned int m = 0; m < n; ++m)
      product(m) = products(m, n);
    gram.gauss_jordan();
    gram.vmult(coefficients, product);
    solution.zero_out_ghost_values();
    for (unsigned int m = 0; m < n; ++m)
    {
      fields[m].zero_out_ghost_values();
      solution.add(-coefficients(m), fields[m]);
    }
    solution.update_ghost_values();
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                                 \
  template std::vector<double> near_null_space(const Discretisation<dim> &, const Equation<dim> &);               \
  template void                find_inertia(Discretisation<dim> &);                                               \
  template void                describe_imbalance(const Discretisation<dim> &, std::optional<NullSpaceReport> &); \
  template SolutionVector      find_inertia_density(const Discretisation<dim> &, const NullSpaceReport &);        \
  template void                remove_free_modes(const Discretisation<dim> &, SolutionVector &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
