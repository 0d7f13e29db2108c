// SPDX-License-Identifier: LGPL-2.1-or-later
#include "law_cases.h"

#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>
#include <patchfem/kernels/reduced_dimension.h>

using namespace PatchFEM;
using namespace PatchFEM::Materials;
using namespace PatchFEM::law_cases;

namespace
{
  const J2Plasticity::State plastic{{.001, .0005, 0., -.0004, 0., -.0006}, .002};

  TEST(ReducedDimension, TangentsAreDerivatives)
  {
    expect_tangents<PlaneStrain<NeoHookean>>({lambda, mu}, 0.2, {}, true);
    expect_tangents<PlaneStrain<J2Plasticity>>(steel, 0.01, plastic);
    expect_tangents<PlaneStress<NeoHookean>>({lambda, mu}, 0.2, {}, true);
    expect_tangents<PlaneStress<J2Plasticity>>(steel, 0.01, {plastic, 0.});
    expect_tangents<PlaneStress<FiniteStrainJ2Plasticity>>({kappa, mu, 240., 100., 16., 1000.}, 0.1, {}, true);
    expect_tangents<Axisymmetric<NeoHookean>>({lambda, mu}, 0.2, {});
    expect_tangents<Axisymmetric<J2Plasticity>>(steel, 0.01, plastic);
  }

  TEST(ReducedDimension, PlaneStrainIsTheSolidHeldAcross)
  {
    const auto data = data_of(steel);
    for (const auto &in : random_inputs<4>(5, 0.01))
    {
      J2Plasticity::State now, solid_now;
      const auto          s = flux<PlaneStrain<J2Plasticity>>(in, data, plastic, now);
      const auto solid = flux<J2Plasticity>({in[0], in[1], 0., in[2], in[3], 0., 0., 0., 0.}, data, plastic, solid_now);
      for (int e = 0; e < 4; ++e)
        EXPECT_EQ(s[e], solid[e / 2 * 3 + e % 2]) << e;
      EXPECT_EQ(now.accumulated, solid_now.accumulated);
    }
  }

  /** Plane stress against the solid whose thickness is found by bisection; @p shift moves the guess. */
  template <typename Law>
  void expect_free_thickness(const std::vector<double> &parameters,
                             const double               size,
                             const LawState<Law>       &old,
                             const double               shift)
  {
    const auto data = data_of(parameters);
    for (const auto &in : random_inputs<4>(10, size))
    {
      LawState<Law> solid_now;
      const auto    solid = [&](const double h33) {
        return flux<Law>({in[0], in[1], 0., in[2], in[3], 0., 0., 0., h33}, data, old, solid_now);
      };
      double least = -0.9, most = 3.;
      while (most - least > 1e-15)
        (solid(0.5 * (least + most))[8] < 0 ? least : most) = 0.5 * (least + most);
      LawState<PlaneStress<Law>> now;
      const auto                 s = flux<PlaneStress<Law>>(in, data, {old, shift}, now), P = solid(least);
      EXPECT_EQ(data.refusal, 0);
      EXPECT_NEAR(now.thickness, least, 1e-14);
      for (int e = 0; e < 4; ++e)
        EXPECT_NEAR(s[e], P[e / 2 * 3 + e % 2], 1e-13 * parameters[0]) << e;
      if constexpr (std::is_same_v<Law, J2Plasticity>)
      {
        EXPECT_NEAR(now.accumulated, solid_now.accumulated, 1e-14);
      }
    }
  }

  TEST(ReducedDimension, PlaneStressIsTheSolidWithFreeThickness)
  {
    for (const double shift : {0., 0.02, -0.02})
    {
      expect_free_thickness<NeoHookean>({lambda, mu}, 0.5, {}, shift);
      expect_free_thickness<J2Plasticity>(steel, 0.01, plastic, shift);
    }
    const double              stretch = 0.001, shear = 0.002;
    const std::vector<double> parameters = {lambda, mu};
    const auto                s = flux<PlaneStress<LinearElasticity>>({stretch, shear, shear, 0.}, data_of(parameters));
    EXPECT_NEAR(s[0], E / (1 - nu * nu) * stretch, 1e-11);
    EXPECT_NEAR(s[3], nu * E / (1 - nu * nu) * stretch, 1e-11);
    EXPECT_NEAR(s[1], 2 * mu * shear, 1e-11);
  }

  TEST(ReducedDimension, AMembraneStretchesFarInOneStep)
  {
    const std::vector<double> parameters = {16443., 335.6}; // a Poisson's ratio of 0.49
    const auto                data       = data_of(parameters);
    for (const double l : {0.3, 3., 10.})
    {
      LawState<PlaneStress<NeoHookean>> now;
      flux<PlaneStress<NeoHookean>>({l - 1, 0., 0., l - 1}, data, {}, now);
      EXPECT_EQ(data.refusal, 0) << l;
      EXPECT_NEAR(flux<NeoHookean>({l - 1, 0., 0., 0., l - 1, 0., 0., 0., now.thickness}, data)[8], 0., 1e-8) << l;
    }
  }

  TEST(ReducedDimension, AThicknessThatIsNotFoundIsRefused)
  {
    const std::vector<double> parameters = {lambda, mu};
    const auto                data       = data_of(parameters);
    flux<PlaneStress<NeoHookean>>({-1.5, 0., 0., 0.5}, data);
    EXPECT_EQ(data.refusal, static_cast<int>(Refusal::no_convergence));
  }

  TEST(ReducedDimension, AxisymmetryIsThePointOfTheBody)
  {
    const std::vector<double> parameters = {lambda, mu};
    const auto                data       = data_of(parameters);
    const double              r = data.position[0], c = std::cos(0.7), s = std::sin(0.7);
    // From (r, z, circumference) to (x, y, z), at an angle about z.
    const SmallMatrix<3, 3, double> Q{{{c, 0., -s}, {s, 0., c}, {0., 1., 0.}}};
    for (const auto &in : random_inputs<6>(5, 0.3))
    {
      const SmallMatrix<3, 3, double> H{{{in[0], in[1], 0.}, {in[2], in[3], 0.}, {0., 0., in[4] / r}}};
      const auto                      solid = Q * H * transpose(Q);
      SmallVector<9, double>          there;
      for (int e = 0; e < 9; ++e)
        there[e] = solid(e / 3, e % 3);
      const auto body = flux<NeoHookean>(there, data);
      const auto P    = transpose(Q) * matrix_of<3, 3>([&](const int i, const int j) { return body[3 * i + j]; }) * Q;
      const auto out  = flux<Axisymmetric<NeoHookean>>(in, data);
      for (int e = 0; e < 4; ++e)
        EXPECT_NEAR(out[e], r * P(e / 2, e % 2), 1e-14 * E) << e;
      EXPECT_NEAR(out[4], P(2, 2), 1e-14 * E);
      EXPECT_EQ(out[5], 0.);
    }
  }
} // namespace
