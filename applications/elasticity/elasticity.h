// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/application.h>
#include <patchfem/app/bending_stiffness.h>
#include <patchfem/app/field_evaluation.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/fe/fe_values.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace PatchFEM
{
  using dealii::Point;
  using dealii::types::material_id;

  /**
   * -div sigma(u) = f with sigma = lambda tr(eps) I + 2 mu eps, eps = (grad u + grad u^T) / 2, isotropic in every
   * material. In two dimensions plane strain or plane stress. On the boundary displacement components are given, or
   * sigma n = g (traction), sigma n = -p n (pressure), or sigma n + alpha u = g (Robin: elastic support).
   */
  struct ElasticityApplication : public FiniteElementApplication
  {
    std::string                youngs_modulus = "1", poissons_ratio = "0.3", body_force;
    bool                       plane_stress = false, mean_dilatation = false;
    NaturalConditionParameters natural{"Traction", "", "", ""};

    std::string name() const override { return "elasticity"; }

    void declare_physics(dealii::ParameterHandler &prm) override
    {
      prm.enter_subsection("Finite element");
      prm.declare_entry(
          "Volumetric", "full", dealii::Patterns::Selection("full|reduced"),
          "How the energy of changes of volume is integrated: full, or reduced to that of the mean "
          "divergence on each cell (B-bar), with which quadrilaterals and hexahedra of degree 1 do not lock "
          "as Poisson's ratio approaches 1/2.");
      prm.leave_subsection();
      prm.enter_subsection("Boundary conditions");
      prm.add_parameter("Traction", natural.loads, "Force per area by boundary: '2: 0; -1e6, 3 4: x; y'.");
      prm.add_parameter("Pressure", natural.pressure, "Pressure p, a traction -p n, by boundary: '2: 1e5'.");
      prm.add_parameter("Robin", natural.robin,
                        "Elastic support: alpha and g of sigma n + alpha u = g by boundary: '2: 1e9; 0; 0'.");
      prm.leave_subsection();
      prm.enter_subsection("Material");
      prm.add_parameter("Young's modulus", youngs_modulus,
                        "E > 0: a formula, or one per material ('1: 70e9, 2 3: 210e9*(1+x), default: 1e9').");
      prm.add_parameter("Poisson's ratio", poissons_ratio, "-1 < nu < 0.5: a formula, or one per material.");
      prm.declare_entry("Plane state", "plane strain", dealii::Patterns::Selection("plane strain|plane stress"),
                        "What two dimensions mean.");
      prm.leave_subsection();
      prm.enter_subsection("Loads");
      prm.add_parameter(
          "Body force", body_force,
          "Force per volume, by components '0; 0; -9.81*7850', or such a list per material; empty is none.");
      prm.leave_subsection();
    }

    ParametersInUse parse_parameters(dealii::ParameterHandler &prm) override
    {
      const ParametersInUse result = FiniteElementApplication::parse_parameters(prm);
      plane_stress                 = prm.get({"Material"}, "Plane state") == "plane stress";
      mean_dilatation              = prm.get({"Finite element"}, "Volumetric") == "reduced";
      require(!plane_stress || prm.get_integer("Dimension") == 2,
              "The entry Material/Plane state = plane stress would be without effect, as it is for Dimension = 2; "
              "remove it.");
      return result;
    }

  protected:
    bool                        vector_valued() const override { return true; }
    std::unique_ptr<Physics<2>> make_physics_2d() const override;
    std::unique_ptr<Physics<3>> make_physics_3d() const override;
  };

  /** Lame's parameters as they stand in the weak form. */
  struct LameModuli
  {
    double lambda = 0.; ///< modified in plane stress: E nu / (1 - nu^2)
    double mu     = 0.;
  };

  template <int dim>
  class ElasticityPhysics : public Physics<dim>
  {
  public:
    explicit ElasticityPhysics(const ElasticityApplication &application)
        : Physics<dim>(NaturalConditions<dim>(application.natural, dim, application.constants())),
          youngs_modulus(application.youngs_modulus, {1}, {0.}, application.constants(), "Material/Young's modulus"),
          poissons_ratio(
              application.poissons_ratio, {1}, {-1., false, 0.5}, application.constants(), "Material/Poisson's ratio"),
          body_force(application.body_force.empty() ? std::string("0; 0; 0").substr(0, 3 * dim - 2)
                                                    : application.body_force,
                     {dim},
                     {},
                     application.constants(),
                     "Loads/Body force"),
          constant_moduli(youngs_modulus.is_piecewise_constant() && poissons_ratio.is_piecewise_constant()),
          is_plane_stress(dim == 2 && application.plane_stress), is_reduced(application.mean_dilatation)
    {}

    void check_elements(const dealii::hp::FECollection<dim> &elements) const override
    {
      require(
          !is_reduced || (elements.max_degree() == 1 && elements[0].reference_cell().is_hyper_cube()),
          "Finite element/Volumetric = reduced is for quadrilaterals and hexahedra of degree 1: on simplices of degree "
          "1 the divergence is constant already, and elements of higher degree do not lock; choose full.");
    }

    std::string caution(const dealii::DoFHandler<dim> &dof_handler) const override
    {
      if (is_reduced)
        return "";
      const auto locks = [&](const Point<dim> &point, const material_id material) {
        const LameModuli m = moduli(point, material);
        return m.lambda > 24. * m.mu;
      };
      std::map<material_id, bool> of_material;
      for (const auto &cell : dof_handler.active_cell_iterators())
        if (cell->is_locally_owned() && cell->get_fe().degree == 1)
        {
          const material_id material = cell->material_id();
          if (constant_moduli && of_material.count(material) == 0)
            of_material[material] = locks(cell->center(), material);
          if (constant_moduli ? of_material[material] : locks(cell->center(), material))
            return "elements of degree 1 lock where Poisson's ratio is above 0.48, and displacements are too small; "
                   "choose "
                   "Finite element/Volumetric = reduced, on quadrilaterals and hexahedra, or Degree = 2";
        }
      return "";
    }

    std::string caution_after(const Discretisation<dim> &discretisation, const SolutionVector &solution) const override
    {
      const double share = bending_stiffness_share<dim>(
          discretisation, solution,
          [&](const Point<dim> &point, const material_id material) {
            const LameModuli m = moduli(point, material);
            return std::make_pair(m.lambda, m.mu);
          },
          is_reduced);
      if (share <= 0.1)
        return "";
      return text_of(
          "cells of degree 1 bend and twist too little where few lie across a body, and displacements may be "
          "only about ",
          std::max(1., std::round(100. * (1. - share))),
          " % of the right ones; choose more cells across or, for bending, Finite element/Degree = 2");
    }

    void add_cell(const dealii::FEValues<dim> &values,
                  const material_id            material,
                  dealii::FullMatrix<double>  &matrix,
                  dealii::Vector<double>      &rhs) const override
    {
      const unsigned int                  n  = values.dofs_per_cell;
      const dealii::FiniteElement<dim>   &fe = values.get_fe();
      std::vector<dealii::Tensor<1, dim>> gradients(n);
      std::vector<unsigned int>           component(n);
      for (unsigned int i = 0; i < n; ++i)
        component[i] = fe.system_to_component_index(i).first;

      std::vector<dealii::Tensor<1, dim>> means(n); // of gradients, if they count
      double                              volume = 0.;
      for (const unsigned int q : values.quadrature_point_indices())
      {
        volume += values.JxW(q);
        for (unsigned int i = 0; i < n && is_reduced; ++i)
          means[i] += values.JxW(q) * values.shape_grad(i, q);
      }
      for (dealii::Tensor<1, dim> &mean : means)
        mean /= volume;

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
            const unsigned int b          = component[j];
            const auto        &divergence = is_reduced ? means : gradients;
            double entry = m.lambda * divergence[i][a] * divergence[j][b] + m.mu * gradients[i][b] * gradients[j][a];
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

    AssemblerBase<double> make_assembler(double) const override { return make_assembler_of<double>(); }
    AssemblerBase<float>  make_assembler(float) const override { return make_assembler_of<float>(); }

    SystemFields evaluate_fields(const ElementTables &tables) const override
    {
      SystemFields fields;
      fields.coefficients = make_field<dim>(tables, 2, constant_moduli,
                                            [&](const Point<dim> &point, const material_id material, double *values) {
                                              coefficients_at(point, material, values);
                                            });
      fields.body_load    = make_field(tables, body_force);
      fields.face_terms   = make_face_terms(tables, this->natural);
      return fields;
    }

    std::vector<std::string> mode_names() const override { return names_of_rigid_body_modes(dim); }

    double mode(const unsigned int m, const Point<dim> &point, const unsigned int c) const override
    {
      return rigid_body_mode(m, point, c);
    }

    bool is_definite_inside(const Point<dim> &, material_id) const override { return false; }

    FieldLaw law() const override
    {
      if (is_reduced)
        return is_plane_stress ? FieldLaw::of<ElasticityFields<2, true, true>>()
                               : FieldLaw::of<ElasticityFields<dim, false, true>>();
      return is_plane_stress ? FieldLaw::of<ElasticityFields<2, true>>() : FieldLaw::of<ElasticityFields<dim>>();
    }

    std::vector<std::string> value_names() const override
    {
      std::vector<std::string> names;
      const auto               add_tensor = [&](const std::string &name) {
        for (int i = 0; i < dim; ++i)
          for (int j = i; j < dim; ++j)
            names.push_back(name + "xyz"[i] + "xyz"[j]);
      };
      for (int d = 0; d < dim; ++d)
        names.push_back(std::string("displacement_") + "xyz"[d]);
      names.push_back("displacement_magnitude");
      add_tensor("stress_");
      if (dim == 2)
        names.push_back("stress_zz");
      names.push_back("von_mises");
      add_tensor("strain_");
      names.push_back("energy");
      return names;
    }

    void coefficients_at(const Point<dim> &point, const material_id material, double *values) const override
    {
      const LameModuli m = moduli(point, material);
      values[0]          = m.lambda;
      values[1]          = m.mu;
    }

    bool has_constant_coefficients() const override { return constant_moduli; }

    const MaterialFunction<dim> &body_load() const override { return body_force; }

    std::vector<typename Physics<dim>::Picture> pictures() const override
    {
      namespace Interpretation = dealii::DataComponentInterpretation;
      using Fields             = ElasticityFields<dim>;
      std::vector<int> stress(dim * dim);
      for (int i = 0, k = Fields::first_stress; i < dim; ++i)
        for (int j = i; j < dim; ++j, ++k)
          stress[i * dim + j] = stress[j * dim + i] = k;
      return {{"stress", stress, Interpretation::component_is_part_of_tensor},
              {"stress_zz", {Fields::n_fields - 2}, Interpretation::component_is_scalar},
              {"von_mises", {Fields::n_fields - 1}, Interpretation::component_is_scalar}};
    }

    std::vector<MaterialFunction<dim> *> material_functions() override
    {
      return {&youngs_modulus, &poissons_ratio, &body_force};
    }

  private:
    MaterialFunction<dim> youngs_modulus, poissons_ratio, body_force;
    const bool            constant_moduli; ///< inside of each cell
    const bool            is_plane_stress, is_reduced;

    template <typename Number>
    AssemblerBase<Number> make_assembler_of() const
    {
      if (is_reduced)
        return Assembler<ElasticityMeanDilatation<dim>, Number>();
      return Assembler<Elasticity<dim>, Number>();
    }

    LameModuli moduli(const Point<dim> &point, const material_id material) const
    {
      const double e  = youngs_modulus.value(point, material);
      const double nu = poissons_ratio.value(point, material);
      LameModuli   result;
      result.mu     = e / (2. * (1. + nu));
      result.lambda = is_plane_stress ? e * nu / (1. - nu * nu) : e * nu / ((1. + nu) * (1. - 2. * nu));
      return result;
    }
  };

  inline std::unique_ptr<Physics<2>> ElasticityApplication::make_physics_2d() const
  {
    return std::make_unique<ElasticityPhysics<2>>(*this);
  }

  inline std::unique_ptr<Physics<3>> ElasticityApplication::make_physics_3d() const
  {
    return std::make_unique<ElasticityPhysics<3>>(*this);
  }
} // namespace PatchFEM
