// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/face_quadrature.h>
#include <patchfem/assembly/field_summary.h>
#include <patchfem/kernels/field_laws.h>

#include <deal.II/dofs/dof_handler.h>
#include <deal.II/fe/component_mask.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/la_parallel_vector.h>

#include <array>
#include <functional>
#include <map>
#include <set>

/** @file What holds a body: forces and moments, or flows, at parts of its boundary. */
namespace PatchFEM
{
  /**
   * A sum of forces f at points x and of their moments x cross f about the origin: a moment about z in 2D, three in 3D.
   * Of scalar equations the sum of a flow, without moments.
   */
  struct Resultant
  {
    std::vector<double>   force, moment;
    std::array<double, 2> magnitudes{}; ///< the sums of |f| and |x| |f|, which do not cancel

    Resultant() = default;
    Resultant(const int n_components, const int dim)
        : force(n_components, 0.), moment(n_components == 1 ? 0
                                          : dim == 2        ? 1
                                                            : 3,
                                          0.)
    {}

    /** Adds @p f at @p x. */
    void add(const double *f, const double *x);

    Resultant &operator+=(const Resultant &other);

    /** Whether a number differs from 0. */
    bool is_there() const;

    /** Names of all numbers, `force_x` or `flow`, and where they are. */
    std::vector<std::pair<std::string, double *>> numbers();
  };

  /** One of the laws of field_laws.h, or one like them, without its type. */
  struct FieldLaw
  {
    int  n_parameters, n_fields, n_values;
    bool needs_mean; ///< see needs_mean_gradient

    decltype(&integrate_fields<LoadMoments<2, 1>>) integrate;
    decltype(&field_extremes<LoadMoments<2, 1>>)   extremes;

    /** At a point: u, its gradient and, for laws that need it, its mean on the cell, [component][dim]. */
    struct Point
    {
      const double *value, *gradient, *mean_gradient, *parameters;
    };
    void (*evaluate)(const Point &at, double *values);

    /** F and s of the weak form int F : grad v + s v, [component][dim] and [component], from the values. */
    void (*weak_flux)(const double *values, double *flux, double *source);

    template <typename Law>
    static FieldLaw of()
    {
      constexpr int dim = Law::dimension, n_comp = Law::n_components;
      return {Law::n_parameters,
              Law::n_fields,
              Law::n_values,
              needs_mean_gradient<Law>,
              &integrate_fields<Law>,
              &field_extremes<Law>,
              [](const Point &at, double *values) {
                FieldPoint<dim, n_comp, double> u{};
                for (int c = 0; c < n_comp; ++c)
                {
                  u.value[c] = at.value[c];
                  for (int d = 0; d < dim; ++d)
                  {
                    u.gradient[c][d] = at.gradient[c * dim + d];
                    if (needs_mean_gradient<Law>)
                      u.mean_gradient[c][d] = at.mean_gradient[c * dim + d];
                  }
                }
                Law::evaluate(u, at.parameters, values);
              },
              Law::weak_flux};
    }
  };

  /** An equation as its reactions see it. */
  template <int dim>
  struct PointwiseEquation
  {
    using Evaluate = std::function<void(const dealii::Point<dim> &, dealii::types::material_id, double *)>;

    FieldLaw  law;
    Evaluate  coefficients; ///< writes the law's parameters
    Evaluate  body_load;    ///< writes n_components numbers; empty: none
    FaceTerms face_terms;   ///< on ElementTables::faces

    /**
     * All values of the law, with coefficients from a little inside of the cell around @p center: at its boundary formulas
     * may jump, or have no value.
     */
    std::vector<double> values_at(const dealii::Point<dim>                  &point,
                                  const dealii::Point<dim>                  &center,
                                  dealii::types::material_id                 material,
                                  const dealii::Vector<double>              &u,
                                  const std::vector<dealii::Tensor<1, dim>> &gradients,
                                  const std::vector<double>                 &mean_gradient) const;
  };

  /** How far inside of a cell, as a part of the way to its centre. */
  constexpr double inside_of_cell = 1e-6;

  /** Force that holds a part of the boundary, and how many unknowns it holds of each component. */
  struct Reaction : public Resultant
  {
    std::vector<std::int64_t> n_held;

    Reaction() = default;
    Reaction(const int n_components, const int dim) : Resultant(n_components, dim), n_held(n_components, 0) {}
  };

  /**
   * The reactions at parts of the boundary where components of the solution are given: r = A u - f, of the system without
   * constraints, at the unknowns there. An unknown of several parts belongs to that with the least id. Only cells that
   * touch such unknowns are integrated.
   *
   * @param tables Those of @p dof_handler, on each rank its own, with the faces of the equation's face terms.
   * @param continuity Constraints that are no supports, closed: hanging nodes, periodicity. Their unknowns' residuals
   *                   go to their masters.
   * @param held The given components of each part.
   * @param u With constraints and ghosts up to date. All unknowns that are relevant to a rank are its ghosts.
   * @param inertia Forces per volume, as nodal values like @p u, beside those of the equation; empty: none.
   * @return the sums of all ranks, for each part in @p held. Collective.
   */
  template <int dim>
  std::map<dealii::types::boundary_id, Reaction>
  reactions(const dealii::DoFHandler<dim>                                     &dof_handler,
            const ElementTables                                               &tables,
            const dealii::AffineConstraints<double>                           &continuity,
            const std::map<dealii::types::boundary_id, dealii::ComponentMask> &held,
            const PointwiseEquation<dim>                                      &equation,
            const dealii::LinearAlgebra::distributed::Vector<double>          &u,
            const dealii::LinearAlgebra::distributed::Vector<double>          &inertia = {});

  /** Loads on a part of the boundary by the terms of a weak form. */
  struct FaceResultants
  {
    Resultant load;   ///< of g
    Resultant spring; ///< of - alpha u: elastic supports, films
  };

  /** Those of @p terms on the faces of @p tables, for each of @p ids. The sums of all ranks. Collective. */
  template <int dim>
  std::map<dealii::types::boundary_id, FaceResultants>
  face_resultants(const ElementTables                                      &tables,
                  const std::set<dealii::types::boundary_id>               &ids,
                  const FaceTerms                                          &terms,
                  const dealii::LinearAlgebra::distributed::Vector<double> &u);
} // namespace PatchFEM
