// SPDX-License-Identifier: LGPL-2.1-or-later
#include "elasticity.h"

#include "stress_postprocessor.h"

#include <patchfem/app/field_evaluation.h>
#include <patchfem/base/exceptions.h>

namespace PatchFEM
{
  using dealii::Point;
  using dealii::types::boundary_id;
  using dealii::types::material_id;

  void ElasticityParameters::declare_parameters(dealii::ParameterHandler &prm)
  {
    using dealii::Patterns::Anything;
    prm.enter_subsection("Boundary conditions");
    prm.add_parameter("Traction", natural.loads, "Force per area by boundary id: '2: 0; -1e6, 3 4: x; y'.", Anything());
    prm.add_parameter("Pressure", natural.pressure, "Pressure p, a traction -p n, by boundary id: '2: 1e5'.",
                      Anything());
    prm.add_parameter("Robin", natural.robin,
                      "Elastic support: alpha and g of sigma n + alpha u = g by boundary id: '2: 1e9; 0; 0'.",
                      Anything());
    prm.leave_subsection();
    prm.enter_subsection("Material");
    prm.add_parameter("Young's modulus", youngs_modulus,
                      "E > 0: a formula, or one per material id ('1: 70e9, 2 3: 210e9*(1+x), default: 1e9').",
                      Anything());
    prm.add_parameter("Poisson's ratio", poissons_ratio, "-1 < nu < 0.5: a formula, or one per material id.",
                      Anything());
    prm.declare_entry("Plane state", "plane strain", dealii::Patterns::Selection("plane strain|plane stress"),
                      "What two dimensions mean.");
    prm.leave_subsection();
    prm.enter_subsection("Loads");
    prm.add_parameter(
        "Body force", body_force,
        "Force per volume, by components '0; 0; -9.81*7850', or such a list per material id; empty is none.",
        Anything());
    prm.leave_subsection();
  }

  void ElasticityParameters::parse_parameters(dealii::ParameterHandler &prm)
  {
    plane_stress = prm.get({"Material"}, "Plane state") == "plane stress";
    require(!plane_stress || prm.get_integer("Dimension") == 2,
            "The entry Material/Plane state = plane stress would be without effect, as it is for Dimension = 2; remove "
            "it.");
  }

  std::unique_ptr<Physics<2>> ElasticityParameters::make_physics_2d(const Constants &constants) const
  {
    return std::make_unique<ElasticityPhysics<2>>(*this, constants);
  }

  std::unique_ptr<Physics<3>> ElasticityParameters::make_physics_3d(const Constants &constants) const
  {
    return std::make_unique<ElasticityPhysics<3>>(*this, constants);
  }

  template <int dim>
  ElasticityPhysics<dim>::ElasticityPhysics(const ElasticityParameters &parameters, const Constants &constants)
      : Physics<dim>(NaturalConditions<dim>(parameters.natural, dim, constants)),
        youngs_modulus(parameters.youngs_modulus, {1}, {0.}, constants, "Material/Young's modulus"),
        poissons_ratio(parameters.poissons_ratio, {1}, {-1., 0.5, false}, constants, "Material/Poisson's ratio"),
        body_force(parameters.body_force.empty() ? std::string("0; 0; 0").substr(0, 3 * dim - 2)
                                                 : parameters.body_force,
                   {dim},
                   {},
                   constants,
                   "Loads/Body force"),
        constant_moduli(youngs_modulus.is_piecewise_constant() && poissons_ratio.is_piecewise_constant()),
        is_plane_stress(dim == 2 && parameters.plane_stress),
        stresses(std::make_unique<StressPostprocessor<dim>>(*this))
  {}

  template <int dim>
  LameModuli ElasticityPhysics<dim>::moduli(const Point<dim> &point, const material_id material) const
  {
    const double e  = youngs_modulus.value(point, material);
    const double nu = poissons_ratio.value(point, material);
    LameModuli   result;
    result.nu     = nu;
    result.mu     = e / (2. * (1. + nu));
    result.lambda = is_plane_stress ? e * nu / (1. - nu * nu) : e * nu / ((1. + nu) * (1. - 2. * nu));
    return result;
  }

  template <int dim>
  void ElasticityPhysics<dim>::add_cell(const dealii::FEValues<dim> &values,
                                        const material_id            material,
                                        dealii::FullMatrix<double>  &matrix,
                                        dealii::Vector<double>      &rhs) const
  {
    const unsigned int                  n  = values.dofs_per_cell;
    const dealii::FiniteElement<dim>   &fe = values.get_fe();
    std::vector<dealii::Tensor<1, dim>> gradients(n);
    std::vector<unsigned int>           component(n);
    for (unsigned int i = 0; i < n; ++i)
      component[i] = fe.system_to_component_index(i).first;

    // What is constant in a cell is looked up once.
    LameModuli             m;
    dealii::Tensor<1, dim> f;
    for (const unsigned int q : values.quadrature_point_indices())
    {
      const Point<dim> &point = values.quadrature_point(q);
      const double      dx    = values.JxW(q);
      if (q == 0 || !constant_moduli)
        m = moduli(point, material);
      if (q == 0 || !body_force.is_piecewise_constant())
        for (unsigned int d = 0; d < dim; ++d)
          f[d] = body_force.value(point, material, d);
      for (unsigned int i = 0; i < n; ++i)
        gradients[i] = values.shape_grad(i, q);

      // sigma(phi_j e_b) : grad(phi_i e_a)
      //   = lambda d_a phi_i d_b phi_j + mu d_b phi_i d_a phi_j + delta_ab mu grad phi_i . grad phi_j
      for (unsigned int i = 0; i < n; ++i)
      {
        const unsigned int a = component[i];
        for (unsigned int j = 0; j <= i; ++j)
        {
          const unsigned int b = component[j];
          double entry = m.lambda * gradients[i][a] * gradients[j][b] + m.mu * gradients[i][b] * gradients[j][a];
          if (a == b)
            entry += m.mu * (gradients[i] * gradients[j]);
          matrix(i, j) += entry * dx;
        }
        rhs(i) += f[a] * values.shape_value(i, q) * dx;
      }
    }
    for (unsigned int i = 0; i < n; ++i)
      for (unsigned int j = i + 1; j < n; ++j)
        matrix(i, j) = matrix(j, i);
  }

  template <int dim>
  SystemFields ElasticityPhysics<dim>::evaluate_fields(const ElementTables &tables) const
  {
    SystemFields fields;
    fields.coefficients = make_field<dim>(tables, 2, constant_moduli,
                                          [&](const Point<dim> &point, const material_id material, double *values) {
                                            const LameModuli m = moduli(point, material);
                                            values[0]          = m.lambda;
                                            values[1]          = m.mu;
                                          });
    fields.body_load    = make_field(tables, body_force);
    fields.face_terms   = make_face_terms(tables, this->natural);
    return fields;
  }

  template <int dim>
  std::vector<std::string> ElasticityPhysics<dim>::mode_names() const
  {
    if (dim == 2)
      return {"translation in x", "translation in y", "rotation"};
    return {"translation in x", "translation in y", "translation in z",
            "rotation about x", "rotation about y", "rotation about z"};
  }

  template <int dim>
  double ElasticityPhysics<dim>::mode(const unsigned int m, const Point<dim> &point, const unsigned int c) const
  {
    if (m < dim)
      return m == c ? 1. : 0.;
    if (dim == 2)
      return c == 0 ? -point[1] : point[0];
    // e_k x point for the axis k
    const unsigned int k = m - dim;
    if (c == (k + 1) % 3)
      return -point[(k + 2) % 3];
    if (c == (k + 2) % 3)
      return point[(k + 1) % 3];
    return 0.;
  }

  template class ElasticityPhysics<2>;
  template class ElasticityPhysics<3>;
} // namespace PatchFEM
