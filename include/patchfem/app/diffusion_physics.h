// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/application.h>

namespace PatchFEM
{
  /**
   * -div(K grad u) + r u = f with K a positive number or a symmetric positive definite tensor and r >= 0. On
   * the boundary u is given, or K du/dn = g (flux), or K du/dn + alpha u = g (Robin), or nothing flows.
   *
   * Several applications solve this equation and differ in what they call K and r.
   */
  struct DiffusionApplication : public FiniteElementApplication
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

    explicit DiffusionApplication(const Words &words) : words(words), reaction(words.reaction_default) {}

    std::string name() const override { return words.application; }

    /** Throws Error if the right-hand side is to be all ones and loads are given as well. */
    ParametersInUse parse_parameters(dealii::ParameterHandler &prm) override;

  protected:
    void                        declare_physics(dealii::ParameterHandler &prm) override;
    bool                        vector_valued() const override { return false; }
    std::unique_ptr<Physics<2>> make_physics_2d() const override;
    std::unique_ptr<Physics<3>> make_physics_3d() const override;
  };
} // namespace PatchFEM
