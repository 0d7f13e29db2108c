// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/boundary_conditions.h>

#include <deal.II/fe/fe_values.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/vector.h>

namespace PatchFEM
{
  /** What the section `Boundary conditions` gives of them, by boundary id. */
  struct NaturalConditionParameters
  {
    std::string loads_entry; ///< what the application calls `loads`
    std::string loads, pressure, robin;
  };

  /**
   * The conditions flux(u) n = g, of which g may be a load, a pressure p as g = -p n, or that of Robin's condition
   * flux(u) n + alpha u = g, or their sum. The flux of a scalar problem is a vector, g is a number and there is no pressure.
   */
  template <int dim>
  class NaturalConditions
  {
  public:
    NaturalConditions(const NaturalConditionParameters &parameters,
                      unsigned int                      n_components,
                      const Constants                  &constants);

    /** See BoundaryFormulas. */
    void resolve(const std::set<dealii::types::boundary_id> &present, const std::set<dealii::types::boundary_id> &held);

    unsigned int n_components() const { return n; }

    /** Whether there is a condition on faces of @p id. */
    bool contains(dealii::types::boundary_id id) const;

    /** Those of faces on which there is one. */
    std::set<dealii::types::boundary_id> ids() const;

    /** g at a point of the boundary, n_components() numbers. */
    void load(dealii::types::boundary_id    id,
              const dealii::Point<dim>     &point,
              const dealii::Tensor<1, dim> &normal,
              double                       *g) const;

    /** alpha of the Robin condition; throws Error if it is negative. */
    double robin_coefficient(dealii::types::boundary_id id, const dealii::Point<dim> &point) const;

    /** Adds the integrals over a face. */
    void add_face(const dealii::FEFaceValues<dim> &values,
                  dealii::types::boundary_id       id,
                  dealii::FullMatrix<double>      &matrix,
                  dealii::Vector<double>          &rhs) const;

  private:
    unsigned int          n;
    BoundaryFormulas<dim> loads, pressure;
    BoundaryFormulas<dim> robin; // alpha; g_1; g_2 ...
  };
} // namespace PatchFEM
