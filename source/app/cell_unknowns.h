// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>

#include <deal.II/hp/fe_values.h>

namespace PatchFEM
{
  template <int dim>
  using CellIterator = typename dealii::DoFHandler<dim>::active_cell_iterator;

  /** The unknowns of cells, at the support points of their shape functions in space. */
  template <int dim>
  class CellUnknowns
  {
  public:
    explicit CellUnknowns(const Discretisation<dim> &discretisation)
        : mapping(*discretisation.mapping), values(mapping,
                                                   discretisation.dof_handler->get_fe_collection(),
                                                   rules(discretisation.dof_handler->get_fe_collection()),
                                                   dealii::update_quadrature_points)
    {}

    /** Calls @p visitor(index, point, component) for each unknown of @p cell. */
    template <typename Visitor>
    void visit(const CellIterator<dim> &cell, const Visitor &visitor)
    {
      values.reinit(cell);
      const std::vector<dealii::Point<dim>> &points = values.get_present_fe_values().get_quadrature_points();
      indices.resize(points.size());
      cell->get_dof_indices(indices);
      for (unsigned int i = 0; i < indices.size(); ++i)
        visitor(indices[i], points[i], cell->get_fe().system_to_component_index(i).first);
    }

  private:
    static dealii::hp::QCollection<dim> rules(const dealii::hp::FECollection<dim> &elements)
    {
      dealii::hp::QCollection<dim> result;
      for (unsigned int i = 0; i < elements.size(); ++i)
        result.push_back(dealii::Quadrature<dim>(elements[i].get_unit_support_points()));
      return result;
    }

    const dealii::hp::MappingCollection<dim>     mapping;
    dealii::hp::FEValues<dim>                    values; // points to mapping
    std::vector<dealii::types::global_dof_index> indices;
  };
} // namespace PatchFEM
