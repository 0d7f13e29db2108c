// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly/extraction_steps_dealii.h"

#include <patchfem/base/versions_dealii.h>

#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>

#include <cmath>
#include <memory>

namespace PatchFEM::internal
{
  namespace
  {
    /** The values [point][shape] and gradients [point][shape][dim] of a scalar element. */
    template <int dim>
    void tabulate(const dealii::FiniteElement<dim>      &fe,
                  const std::vector<dealii::Point<dim>> &points,
                  std::vector<double>                   &values,
                  std::vector<double>                   *gradients)
    {
      for (const dealii::Point<dim> &point : points)
        for (unsigned int i = 0; i < fe.n_dofs_per_cell(); ++i)
        {
          values.push_back(fe.shape_value(i, point));
          if (gradients != nullptr)
          {
            const dealii::Tensor<1, dim> gradient = fe.shape_grad(i, point);
            for (unsigned int d = 0; d < dim; ++d)
              gradients->push_back(gradient[d]);
          }
        }
    }

    /** Refuses a rule that was made for another cell: its weights must add up to the cell's volume. */
    void check_rule(const std::vector<double> &weights,
                    const double               volume,
                    const std::string         &what,
                    const std::string         &cell,
                    const std::string         &remedy)
    {
      double sum = 0;
      for (const double weight : weights)
        sum += weight;
      if (weights.empty() || !(std::abs(sum - volume) <= 1e-10 * volume))
        throw Error("The " + what + " with " + std::to_string(weights.size()) + " points has weights of sum " +
                    std::to_string(sum) + ", but " + cell + " has volume " + std::to_string(volume) + ": use " +
                    remedy + ".");
    }
  } // namespace

  template <int dim>
  ReferenceElement make_reference_element(const dealii::FiniteElement<dim>  &fe,
                                          const unsigned int                 mapping_degree,
                                          const dealii::Quadrature<dim>     &quadrature,
                                          const dealii::Quadrature<dim - 1> &face_quadrature)
  {
    const dealii::ReferenceCell       cell = fe.reference_cell();
    const dealii::FiniteElement<dim> &base = fe.base_element(0);

    const auto lagrange = [&](const unsigned int degree) -> std::unique_ptr<dealii::FiniteElement<dim>> {
      if (cell.is_simplex())
        return std::make_unique<dealii::FE_SimplexP<dim>>(degree);
      return std::make_unique<dealii::FE_Q<dim>>(degree);
    };
    const auto geometry = lagrange(mapping_degree);

    ReferenceElement reference;
    reference.name              = base.get_name();
    reference.dim               = dim;
    reference.degree            = base.degree;
    reference.simplex           = cell.is_simplex();
    reference.n_shape           = base.n_dofs_per_cell();
    reference.n_geometry        = geometry->n_dofs_per_cell();
    reference.n_quadrature      = quadrature.size();
    reference.constant_jacobian = cell.is_simplex() && mapping_degree == 1;

    const std::string rule = cell.is_simplex() ? "QGaussSimplex" : "QGauss";
    check_rule(quadrature.get_weights(), cell.volume(), "quadrature", "the reference cell of " + base.get_name(),
               rule + "<" + std::to_string(dim) + ">");

    reference.weights = quadrature.get_weights();
    tabulate(base, quadrature.get_points(), reference.shape_values, &reference.shape_gradients);
    tabulate(*geometry, quadrature.get_points(), reference.geometry_values, &reference.geometry_gradients);
    const std::vector<dealii::Point<dim>> &nodes = base.get_unit_support_points();
    tabulate<dim>(*geometry, nodes, reference.support_geometry_values, nullptr);
    tabulate<dim>(*lagrange(1), nodes, reference.linear_values, nullptr);
    for (const unsigned int v : cell.vertex_indices())
      for (unsigned int i = 0; i < nodes.size(); ++i)
        if (nodes[i].distance(cell.template vertex<dim>(v)) < 1e-10)
          reference.vertex_shapes.push_back(static_cast<int>(i));
    if (reference.vertex_shapes.size() != cell.n_vertices())
      reference.vertex_shapes.clear();

    reference.n_faces           = cell.n_faces();
    reference.n_face_quadrature = face_quadrature.size();
    reference.face_weights      = face_quadrature.get_weights();
    check_rule(face_quadrature.get_weights(), cell.is_simplex() && dim == 3 ? 0.5 : 1.0, "face quadrature",
               "a face of the reference cell of " + base.get_name(),
               (dim == 2 ? "QGauss" : rule) + "<" + std::to_string(dim - 1) + ">");

    // A face is xi(t) = v_0 + sum_k t_k (v_k - v_0) with its first dim vertices v: an edge, a triangle, or, as
    // v_3 = v_1 + v_2 - v_0 on the reference cube, a square.
    for (const unsigned int face : cell.face_indices())
    {
      const auto face_vertex = [&](const unsigned int v) {
        return cell.vertex<dim>(cell.face_to_cell_vertices(face, v, standard_orientation));
      };
      std::vector<dealii::Point<dim>> points;
      for (const dealii::Point<dim - 1> &t : face_quadrature.get_points())
      {
        dealii::Point<dim> xi = face_vertex(0);
        for (unsigned int k = 0; k < dim - 1; ++k)
          xi += t[k] * (face_vertex(k + 1) - face_vertex(0));
        points.push_back(xi);
        for (unsigned int d = 0; d < dim; ++d)
          for (unsigned int k = 0; k < dim - 1; ++k)
            reference.face_tangents.push_back(face_vertex(k + 1)[d] - face_vertex(0)[d]);
      }
      tabulate(base, points, reference.face_shape_values, &reference.face_shape_gradients);
      tabulate(*geometry, points, reference.face_geometry_values, &reference.face_geometry_gradients);
      const dealii::Tensor<1, dim> normal = cell.unit_normal_vectors<dim>(face);
      for (unsigned int d = 0; d < dim; ++d)
        reference.face_normals.push_back(normal[d]);
    }
    return reference;
  }

  void check_line(const dealii::AffineConstraints<double>::ConstraintLine &line,
                  const dealii::AffineConstraints<double>                 &constraints,
                  const Index                                              n_dofs)
  {
    const auto check_index = [&](const Index index) {
      if (index >= n_dofs)
        throw Error("The constraints speak of degree of freedom ", index, ", but the DoFHandler has ", n_dofs,
                    ": build the constraints after the last distribute_dofs() of this DoFHandler.");
    };
    check_index(line.index);
    if (!std::isfinite(line.inhomogeneity))
      throw Error("The value prescribed for degree of freedom ", line.index,
                  " is not finite: check the function that gives it.");
    for (const auto &[master, weight] : line.entries)
    {
      check_index(master);
      if (!std::isfinite(weight))
        throw Error("The constraint of degree of freedom ", line.index, " has the weight of ", master,
                    " not finite: check how it was computed.");
      if (constraints.is_constrained(master))
        throw Error("Degree of freedom ", line.index, " is constrained to ", master,
                    ", which is constrained itself: call AffineConstraints::close() after adding the last line.");
    }
  }

  template ReferenceElement make_reference_element<2>(const dealii::FiniteElement<2> &,
                                                      const unsigned int,
                                                      const dealii::Quadrature<2> &,
                                                      const dealii::Quadrature<1> &);
  template ReferenceElement make_reference_element<3>(const dealii::FiniteElement<3> &,
                                                      const unsigned int,
                                                      const dealii::Quadrature<3> &,
                                                      const dealii::Quadrature<2> &);
} // namespace PatchFEM::internal
