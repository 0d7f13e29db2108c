// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/reactions.h>

#include <deal.II/hp/fe_values.h>

namespace PatchFEM
{
  /** A point that a user gave a name. */
  template <int dim>
  struct NamedPoint
  {
    std::string        name;
    dealii::Point<dim> point;
  };

  /** A solution with the law of its equation, to be evaluated cell by cell on the host. */
  template <int dim>
  class SolutionValues
  {
  public:
    using Cell           = typename dealii::DoFHandler<dim>::active_cell_iterator;
    using SolutionVector = dealii::LinearAlgebra::distributed::Vector<double>;

    /** All but @p rules are to live as long as this. @p rules are those of the weak form, one for each element. */
    SolutionValues(const dealii::Mapping<dim>         &mapping,
                   const dealii::DoFHandler<dim>      &dof_handler,
                   const dealii::hp::QCollection<dim> &rules,
                   const PointwiseEquation<dim>       &equation,
                   const SolutionVector               &u)
        : mapping(mapping), dof_handler(dof_handler), equation(equation), u(u), mappings(mapping),
          at_rules(
              mappings, dof_handler.get_fe_collection(), rules, dealii::update_gradients | dealii::update_JxW_values)
    {}

    /** Values of a cell for at(). */
    static dealii::UpdateFlags update_flags()
    {
      return dealii::update_values | dealii::update_gradients | dealii::update_quadrature_points;
    }

    /** The law's values at the points of @p values, which has been given @p cell; [point][value]. */
    std::vector<std::vector<double>> at(const dealii::FEValuesBase<dim> &values, const Cell &cell) const;

    /** The mean gradient on a cell, [component][dim], if the law needs it; else empty. By one thread at a time. */
    std::vector<double> mean_gradient(const Cell &cell) const;

    /**
     * The law's values at named points, [point][value], on all ranks: the mean over all cells that a point touches, so
     * that one on faces has one value. Throws Error, naming it, for a point outside of the body. Collective.
     */
    std::vector<std::vector<double>> at(const std::vector<NamedPoint<dim>> &points) const;

    /** A part of the boundary: its area, the integrals of all values, and the sum of F n, F as in FieldLaw. */
    struct OnBoundary
    {
      double              area = 0.;
      std::vector<double> integrals;
      Resultant           traction;
    };

    /** Of the faces with one of @p ids. Collective. */
    OnBoundary on_boundary(const std::set<dealii::types::boundary_id> &ids,
                           const dealii::hp::QCollection<dim - 1>     &face_rules) const;

  private:
    const dealii::Mapping<dim>    &mapping;
    const dealii::DoFHandler<dim> &dof_handler;
    const PointwiseEquation<dim>  &equation;
    const SolutionVector          &u;

    const dealii::hp::MappingCollection<dim> mappings;
    mutable dealii::hp::FEValues<dim>        at_rules; ///< of the last cell that a mean was asked for
  };

  /** Throws Error for the first of @p points that is in no cell of any rank. Collective. */
  template <int dim>
  void require_inside(const dealii::Mapping<dim>         &mapping,
                      const dealii::Triangulation<dim>   &mesh,
                      const std::vector<NamedPoint<dim>> &points);
} // namespace PatchFEM
