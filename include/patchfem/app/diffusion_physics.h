// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/physics.h>

namespace PatchFEM
{
  /**
   * -div(K grad u) + r u = f with K a positive number or a symmetric positive definite tensor and r >= 0. On
   * the boundary u is given, or K du/dn = g (flux), or K du/dn + alpha u = g (Robin), or nothing flows.
   *
   * Several applications solve this equation and differ in what they call K and r.
   */
  struct DiffusionParameters : public PhysicsParameters
  {
    /** How an application speaks of its equation. */
    struct Words
    {
      std::string application;
      std::string coefficient;       ///< the entry for K
      std::string reaction;          ///< the entry for r
      std::string reaction_default;  ///< its default
      bool        positive_reaction; ///< whether r must be positive and not only at least 0
    };

    const Words                words;
    std::string                coefficient = "1", reaction, source = "0";
    bool                       unit_rhs = false; ///< the right-hand side has a 1 in every unknown
    NaturalConditionParameters natural{"Flux", "", "", ""};

    explicit DiffusionParameters(const Words &words) : words(words), reaction(words.reaction_default) {}

    std::string name() const override { return words.application; }
    bool        vector_valued() const override { return false; }

    void declare_parameters(dealii::ParameterHandler &prm) override;

    /** Throws Error if the right-hand side is to be all ones and loads are given as well. */
    void parse_parameters(dealii::ParameterHandler &prm) override;

    std::unique_ptr<Physics<2>> make_physics_2d(const Constants &constants) const override;
    std::unique_ptr<Physics<3>> make_physics_3d(const Constants &constants) const override;
  };

  template <int dim>
  class DiffusionPhysics : public Physics<dim>
  {
  public:
    DiffusionPhysics(const DiffusionParameters &parameters, const Constants &constants);

    void add_cell(const dealii::FEValues<dim> &values,
                  dealii::types::material_id   material,
                  dealii::FullMatrix<double>  &matrix,
                  dealii::Vector<double>      &rhs) const override;
    bool has_unit_rhs() const override { return unit_rhs; }

    std::unique_ptr<SystemAssembler<double>> make_double_assembler() const override { return make<double>(); }
    std::unique_ptr<SystemAssembler<float>>  make_single_assembler() const override { return make<float>(); }
    SystemFields                             evaluate_fields(const ElementTables &tables) const override;

    std::vector<std::string> mode_names() const override { return {"the constant"}; }
    double                   mode(unsigned int, const dealii::Point<dim> &, unsigned int) const override { return 1.; }
    bool is_definite_inside(const dealii::Point<dim> &point, dealii::types::material_id material) const override;

    std::vector<std::string> solution_names() const override { return {"solution"}; }

    /** K at a point; throws Error if it is not positive definite there. */
    dealii::SymmetricTensor<2, dim> conductivity(const dealii::Point<dim>  &point,
                                                 dealii::types::material_id material) const;

  protected:
    std::vector<const MaterialFunction<dim> *> material_functions() const override
    {
      return {&coefficient, &reaction, &source};
    }

  private:
    /** Laplace if K is a number and r = 0, else Diffusion. */
    template <typename Number>
    std::unique_ptr<SystemAssembler<Number>> make() const;

    /** Whether the form Laplace suffices. */
    bool is_plain() const { return coefficient.n_components() == 1 && reaction.is_zero(); }

    const std::string     coefficient_name; ///< of its entry
    const bool            unit_rhs;
    MaterialFunction<dim> coefficient;
    MaterialFunction<dim> reaction;
    MaterialFunction<dim> source;
    const bool            constant_coefficients; ///< inside of each cell
  };
} // namespace PatchFEM
