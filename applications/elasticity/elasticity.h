// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/physics.h>

namespace PatchFEM
{
  /**
   * -div sigma(u) = f with sigma = lambda tr(eps) I + 2 mu eps, eps = (grad u + grad u^T) / 2, isotropic in
   * every material. In two dimensions plane strain or plane stress. On the boundary displacement components
   * are given, or sigma n = g (traction), sigma n = -p n (pressure), or sigma n + alpha u = g (Robin: elastic
   * support).
   */
  struct ElasticityParameters : public PhysicsParameters
  {
    std::string                youngs_modulus = "1", poissons_ratio = "0.3", body_force;
    bool                       plane_stress = false;
    NaturalConditionParameters natural{"Traction", "", "", ""};

    std::string name() const override { return "elasticity"; }
    bool        vector_valued() const override { return true; }

    void declare_parameters(dealii::ParameterHandler &prm) override;
    void parse_parameters(dealii::ParameterHandler &prm) override;

    std::unique_ptr<Physics<2>> make_physics_2d(const Constants &constants) const override;
    std::unique_ptr<Physics<3>> make_physics_3d(const Constants &constants) const override;
  };

  /** Lame's parameters as they stand in the weak form, and what a post-processor needs besides. */
  struct LameModuli
  {
    double lambda = 0.; ///< modified in plane stress: E nu / (1 - nu^2)
    double mu     = 0.;
    double nu     = 0.;
  };

  template <int dim>
  class ElasticityPhysics : public Physics<dim>
  {
  public:
    ElasticityPhysics(const ElasticityParameters &parameters, const Constants &constants);

    void add_cell(const dealii::FEValues<dim> &values,
                  dealii::types::material_id   material,
                  dealii::FullMatrix<double>  &matrix,
                  dealii::Vector<double>      &rhs) const override;

    std::unique_ptr<SystemAssembler<double>> make_double_assembler() const override
    {
      return std::make_unique<SystemAssemblerFor<Elasticity<dim>, double>>();
    }
    std::unique_ptr<SystemAssembler<float>> make_single_assembler() const override
    {
      return std::make_unique<SystemAssemblerFor<Elasticity<dim>, float>>();
    }
    SystemFields evaluate_fields(const ElementTables &tables) const override;

    std::vector<std::string> mode_names() const override;
    double                   mode(unsigned int m, const dealii::Point<dim> &point, unsigned int c) const override;
    bool is_definite_inside(const dealii::Point<dim> &, dealii::types::material_id) const override { return false; }

    std::vector<std::string> solution_names() const override { return std::vector<std::string>(dim, "displacement"); }
    const dealii::DataPostprocessor<dim> *postprocessor() const override { return stresses.get(); }

    LameModuli moduli(const dealii::Point<dim> &point, dealii::types::material_id material) const;

    bool plane_stress() const { return is_plane_stress; }

  protected:
    std::vector<const MaterialFunction<dim> *> material_functions() const override
    {
      return {&youngs_modulus, &poissons_ratio, &body_force};
    }

  private:
    MaterialFunction<dim> youngs_modulus;
    MaterialFunction<dim> poissons_ratio;
    MaterialFunction<dim> body_force;
    const bool            constant_moduli; ///< inside of each cell
    const bool            is_plane_stress;

    std::unique_ptr<dealii::DataPostprocessor<dim>> stresses;
  };
} // namespace PatchFEM
