// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "elasticity.h"

#include <patchfem/app/powers_of_two.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  /**
   * Stress tensor and von Mises stress of a displacement field. The out-of-plane stress is
   * nu (sigma_xx + sigma_yy) in plane strain and 0 in plane stress.
   */
  template <int dim>
  class StressPostprocessor : public dealii::DataPostprocessor<dim>
  {
  public:
    explicit StressPostprocessor(const ElasticityPhysics<dim> &physics) : physics(physics) {}

    void evaluate_vector_field(const dealii::DataPostprocessorInputs::Vector<dim> &inputs,
                               std::vector<dealii::Vector<double>>                &computed_quantities) const override
    {
      const dealii::types::material_id material = inputs.template get_cell<dim>()->material_id();
      for (unsigned int q = 0; q < inputs.solution_gradients.size(); ++q)
      {
        const LameModuli       moduli = physics.moduli(inputs.evaluation_points[q], material);
        dealii::Tensor<2, dim> gradient;
        for (unsigned int d = 0; d < dim; ++d)
          gradient[d] = inputs.solution_gradients[q][d];
        const dealii::SymmetricTensor<2, dim> strain = dealii::symmetrize(gradient);
        const dealii::SymmetricTensor<2, dim> sigma =
            moduli.lambda * dealii::trace(strain) * dealii::unit_symmetric_tensor<dim>() + 2. * moduli.mu * strain;

        double sigma_zz = 0.;
        if (dim == 3)
          sigma_zz = sigma[dim - 1][dim - 1];
        else if (!physics.plane_stress())
          sigma_zz = moduli.nu * dealii::trace(sigma);

        // 2 sigma_v^2 = sum of squared differences of the normal stresses + 6 sum of squared shear stresses
        double largest = std::abs(sigma_zz);
        for (unsigned int i = 0; i < dim; ++i)
          for (unsigned int j = i; j < dim; ++j)
            largest = std::max(largest, std::abs(sigma[i][j]));
        const int    exponent = binary_exponent(largest);
        const auto   scaled   = [&](const double stress) { return std::ldexp(stress, -exponent); };
        const double xx = scaled(sigma[0][0]), yy = scaled(sigma[1][1]), zz = scaled(sigma_zz);
        double       shear = std::pow(scaled(sigma[0][1]), 2);
        if (dim == 3)
          shear += std::pow(scaled(sigma[0][dim - 1]), 2) + std::pow(scaled(sigma[1][dim - 1]), 2);
        const double von_mises = std::ldexp(
            std::sqrt(0.5 * ((xx - yy) * (xx - yy) + (yy - zz) * (yy - zz) + (zz - xx) * (zz - xx)) + 3. * shear),
            exponent);

        unsigned int c = 0;
        for (unsigned int i = 0; i < dim; ++i)
          for (unsigned int j = 0; j < dim; ++j)
            computed_quantities[q](c++) = sigma[i][j];
        computed_quantities[q](c++) = sigma_zz;
        computed_quantities[q](c)   = von_mises;
      }
    }

    std::vector<std::string> get_names() const override
    {
      std::vector<std::string> names(dim * dim, "stress");
      names.push_back("stress_zz");
      names.push_back("von_mises");
      return names;
    }

    std::vector<dealii::DataComponentInterpretation::DataComponentInterpretation>
    get_data_component_interpretation() const override
    {
      namespace Interpretation = dealii::DataComponentInterpretation;
      std::vector<Interpretation::DataComponentInterpretation> result(dim * dim,
                                                                      Interpretation::component_is_part_of_tensor);
      result.resize(dim * dim + 2, Interpretation::component_is_scalar);
      return result;
    }

    dealii::UpdateFlags get_needed_update_flags() const override
    {
      return dealii::update_gradients | dealii::update_quadrature_points;
    }

  private:
    const ElasticityPhysics<dim> &physics;
  };
} // namespace PatchFEM
