// SPDX-License-Identifier: LGPL-2.1-or-later
#include "law_cases.h"

#include <patchfem/kernels/materials/heat.h>
#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>

using namespace PatchFEM;
using namespace PatchFEM::law_cases;
using namespace PatchFEM::Materials;

namespace
{
  TEST(Materials, TangentsAreDerivatives)
  {
    expect_tangents<LinearElasticity>({lambda, mu}, 0.01, {});
    const auto          moduli = orthotropic_moduli({{11e3, 0.9e3, 0.5e3}}, {{0.4, 0.5, 0.6}}, {{600., 700., 60.}});
    std::vector<double> wood(moduli.entries, moduli.entries + 9);
    wood.insert(wood.end(), {0.6, 0.8, 0., 0., 0., 1.});
    expect_tangents<OrthotropicElasticity>(wood, 0.01, {});
    expect_tangents<SaintVenantKirchhoff>({lambda, mu}, 0.2, {}, true);
    expect_tangents<NeoHookean>({lambda, mu}, 0.2, {}, true);
    expect_tangents<MooneyRivlin>({0.3, 0.1, 200.}, 0.2, {}, true);
    const J2Plasticity::State plastic{{.001, .0005, -.0002, -.0004, .0003, -.0006}, .002};
    expect_tangents<J2Plasticity>(steel, 1e-4, {});
    expect_tangents<J2Plasticity>(steel, 1e-2, plastic);
    auto warm = steel;
    warm.insert(warm.end(), {1e-5, 20.});
    expect_tangents<ThermalStrain<J2Plasticity>>(warm, 1e-2, plastic);
    const FiniteStrainJ2Plasticity::State stretched{{.02, .01, -.03, -.012, .004, -.007}, .05};
    expect_tangents<FiniteStrainJ2Plasticity>({kappa, mu, 240., 100., 16., 1000.}, 1e-2, stretched, true);
    expect_tangents<FiniteStrainJ2Plasticity>({kappa, mu, 1e9, 100., 16., 1000.}, 1e-2, {}, true);
    expect_tangents<Heat<2>>({15., 0.01, 4., 200., 0.5, 0.3}, 1., {});
    expect_tangents<Heat<3>>({15., 0.01, 4., 200., 0.5, 0.3}, 1., {});
  }

  /** The flux of @p Law against derivatives of the energy @p psi of F - I. */
  template <typename Law, typename Energy>
  void expect_energy(const std::vector<double> &parameters, const double size, const Energy &psi)
  {
    for (const auto &in : random_inputs<9>(5, size))
    {
      SmallMatrix<3, 3, Dual<9>> H;
      for (int e = 0; e < 9; ++e)
        H(e / 3, e % 3) = Dual<9>(in[e], e);
      const Dual<9> energy = psi(H);
      const auto    P      = flux<Law>(in, data_of(parameters));
      for (int e = 0; e < 9; ++e)
        EXPECT_NEAR(P[e], energy.d[e], 1e-10 * parameters.back()) << e;
    }
  }

  TEST(Materials, StressesAreDerivativesOfEnergies)
  {
    const auto C_of = [](const auto &H) { return transpose(plus_identity(H)) * plus_identity(H); };
    expect_energy<LinearElasticity>({lambda, mu}, 0.1, [](const auto &H) {
      const auto eps = 0.5 * (H + transpose(H));
      return 0.5 * lambda * trace(eps) * trace(eps) + mu * double_contraction(eps, eps);
    });
    expect_energy<SaintVenantKirchhoff>({lambda, mu}, 0.2, [&](const auto &H) {
      const auto strain = 0.5 * (C_of(H) - identity<3>());
      return 0.5 * lambda * trace(strain) * trace(strain) + mu * double_contraction(strain, strain);
    });
    expect_energy<NeoHookean>({lambda, mu}, 0.2, [&](const auto &H) {
      const auto ln = log(determinant(plus_identity(H)));
      return 0.5 * mu * (trace(C_of(H)) - 3.) - mu * ln + 0.5 * lambda * ln * ln;
    });
    expect_energy<MooneyRivlin>({0.3, 0.1, 200.}, 0.2, [&](const auto &H) {
      const auto C = C_of(H), squared = C * C;
      const auto J = determinant(plus_identity(H)), I2 = 0.5 * (trace(C) * trace(C) - trace(squared));
      return 0.3 * (trace(C) * pow(J, -2. / 3.) - 3.) + 0.1 * (I2 * pow(J, -4. / 3.) - 3.) + 100. * (J - 1.) * (J - 1.);
    });
  }

  TEST(Materials, IncompressibleStretchHasItsClosedForm)
  {
    const double l = 3., t = std::sqrt(1. / l);
    const auto   difference = [&](const SmallVector<9, double> &P) {
      return l * P[0] - t * P[4];
    }; // of Cauchy stresses along and across
    const SmallVector<9, double> in = {l - 1, 0, 0, 0, t - 1, 0, 0, 0, t - 1};
    EXPECT_NEAR(difference(flux<NeoHookean>(in, data_of({lambda, mu}))), mu * (l * l - 1 / l), 1e-12 * mu);
    EXPECT_NEAR(difference(flux<MooneyRivlin>(in, data_of({0.3, 0.1, 200.}))), 2 * (l * l - 1 / l) * (0.3 + 0.1 / l),
                1e-12);
  }

  TEST(Materials, AnInvertedPointIsRefused)
  {
    const std::vector<double>    parameters = {1., 1., 1., 1., 1., 1.};
    const auto                   data       = data_of(parameters);
    const SmallVector<9, double> in         = {-2., 0, 0, 0, 0, 0, 0, 0, 0};
    const auto                   refusal    = [&](auto law) {
      data.refusal = 0;
      flux<decltype(law)>(in, data);
      return data.refusal;
    };
    EXPECT_EQ(refusal(NeoHookean()), static_cast<int>(Refusal::inverted));
    EXPECT_EQ(refusal(MooneyRivlin()), static_cast<int>(Refusal::inverted));
    EXPECT_EQ(refusal(FiniteStrainJ2Plasticity()), static_cast<int>(Refusal::inverted));
    EXPECT_EQ(refusal(SaintVenantKirchhoff()), 0);
  }

  TEST(Materials, WoodFollowsItsAxes)
  {
    const double        E1 = 11e3, nu12 = 0.4, nu13 = 0.5, G12 = 600., s = 7., gamma = 0.01;
    const auto          moduli = orthotropic_moduli({{E1, 0.9e3, 0.5e3}}, {{nu12, nu13, 0.6}}, {{G12, 700., 60.}});
    std::vector<double> parameters(moduli.entries, moduli.entries + 9);
    const double        axes[3][3] = {{0.6, 0.8, 0.}, {0., 0., 1.}, {0.8, -0.6, 0.}};
    parameters.insert(parameters.end(), axes[0], axes[2]);
    SmallVector<9, double> pulled, sheared;
    for (int e = 0; e < 9; ++e)
    {
      const auto pair = [&](const int a, const int b) { return axes[a][e / 3] * axes[b][e % 3]; };
      pulled[e]       = s / E1 * (pair(0, 0) - nu12 * pair(1, 1) - nu13 * pair(2, 2));
      sheared[e]      = gamma * pair(0, 1);
    }
    const auto along  = flux<OrthotropicElasticity>(pulled, data_of(parameters)),
               across = flux<OrthotropicElasticity>(sheared, data_of(parameters));
    for (int e = 0; e < 9; ++e)
    {
      EXPECT_NEAR(along[e], s * axes[0][e / 3] * axes[0][e % 3], 1e-12);
      EXPECT_NEAR(across[e], G12 * gamma * (axes[0][e / 3] * axes[1][e % 3] + axes[1][e / 3] * axes[0][e % 3]), 1e-12);
    }
  }

  TEST(Materials, HeatStrainsWhatIsFreeAndStressesWhatIsHeld)
  {
    const double              alpha = 1.2e-5, temperature = 120., rise = 100.;
    const std::vector<double> parameters = {lambda, mu, alpha, 20.};
    auto                      data       = data_of(parameters);
    data.fields                          = &temperature;
    const double free                    = alpha * rise;
    const auto   at_ease = flux<ThermalStrain<LinearElasticity>>({free, 0, 0, 0, free, 0, 0, 0, free}, data);
    const auto   held    = flux<ThermalStrain<LinearElasticity>>({}, data);
    for (int e = 0; e < 9; ++e)
    {
      EXPECT_NEAR(at_ease[e], 0., 1e-12);
      EXPECT_NEAR(held[e], e % 4 == 0 ? -E * alpha * rise / (1 - 2 * nu) : 0., 1e-11);
    }
  }

  TEST(Materials, CyclicPlasticityFollowsTheExactCurve)
  {
    const double        y0 = 240., r = 100., b = 16., H = 1000., H_kinematic = 500.;
    const auto          data = data_of(steel);
    J2Plasticity::State old{}, now;
    double              plastic = 0, accumulated = 0;
    for (const double target : {0.002, 0.004, 0.03, 0.025, -0.01, -0.04, -0.02, 0.02, 0.05})
    {
      const double sign = target > plastic ? 1. : -1.;
      accumulated += std::fabs(target - plastic);
      plastic = target;
      const double stress =
          sign * (y0 + r * (1 - std::exp(-b * accumulated)) + H * accumulated) + H_kinematic * plastic;
      const double along = stress / E + plastic, across = -nu * stress / E - plastic / 2;
      const auto   s = flux<J2Plasticity>({along, 0, 0, 0, across, 0, 0, 0, across}, data, old, now);
      for (int e = 0; e < 9; ++e)
        EXPECT_NEAR(s[e], e == 0 ? stress : 0., 1e-12 * kappa * std::fabs(along)) << target;
      EXPECT_NEAR(now.accumulated, accumulated, 1e-14);
      EXPECT_NEAR(now.plastic[0], plastic, 1e-14);
      old = now;
    }
  }

  /** A second step at the place of the first finds all of its stress, elastically. */
  template <typename Law>
  void expect_rest(const std::vector<double> &parameters, const SmallVector<9, double> &in)
  {
    const auto    data = data_of(parameters);
    LawState<Law> old{}, now, after;
    const auto    stress = flux<Law>(in, data, old, now), again = flux<Law>(in, data, now, after);
    EXPECT_GT(now.accumulated, 1e-3);
    EXPECT_NEAR(after.accumulated, now.accumulated, 1e-12);
    for (int e = 0; e < 9; ++e)
      EXPECT_NEAR(stress[e], again[e], 1e-11 * kappa) << e;
  }

  TEST(Materials, PlasticStepsComeToRest)
  {
    const SmallVector<9, double> in = {0.03, 0.01, -0.02, 0.005, -0.01, 0.004, 0.01, 0., -0.007};
    const std::vector<double>    finite(steel.begin(), steel.end() - 1);
    expect_rest<J2Plasticity>(steel, in);
    expect_rest<FiniteStrainJ2Plasticity>(finite, in);
    // Strains so small that both are one.
    std::vector<double>    soft = {kappa, mu, 0.024, 0.01, 16e4, 1000., 0.};
    SmallVector<9, double> small;
    for (int e = 0; e < 9; ++e)
      small[e] = 1e-5 * in[e];
    LawState<J2Plasticity>             now;
    LawState<FiniteStrainJ2Plasticity> other;
    const auto                         one = flux<J2Plasticity>(small, data_of(soft), {}, now);
    soft.pop_back();
    const auto two = flux<FiniteStrainJ2Plasticity>(small, data_of(soft), {}, other);
    EXPECT_NEAR(now.accumulated, other.accumulated, 1e-5 * now.accumulated);
    for (int e = 0; e < 9; ++e)
      EXPECT_NEAR(one[e], two[e], 1e-5) << e;
  }

  TEST(Materials, MeltingTakesTheLatentHeat)
  {
    const std::vector<double> parameters = {15., 0.01, 4., 200., 1500., 20.};
    const auto                data       = data_of(parameters);
    double                    heat       = 0;
    for (int T = 1300; T < 1700; ++T)
      heat += flux<Heat<2>>({0., 0., T + 0.5}, data)[2] / (T + 0.5); // whose rate is T
    EXPECT_NEAR(heat, 400 * 4. + 200., 1e-9);
    EXPECT_NEAR((flux<Heat<2>>({2., -3., 100.}, data)[1]), -3. * (15. + 1.), 1e-12);
  }

  /** Laws with one fault each. */
  template <bool forgets, bool remembers>
  struct Wrong
  {
    static constexpr bool symmetric = true;
    template <typename T>
    static auto flux(const PointInput<2, 2, T> &u, const PointData &, const NoState &, NoState &)
    {
      static int n_calls = 0;
      const T    factor  = 1. + u.gradient(0, 1) * u.gradient(0, 1);
      auto       result  = (forgets ? T(value_of(factor)) : factor) * u.gradient;
      result(1, 1) += remembers ? ++n_calls : 0.;
      return result;
    }
  };

  TEST(CheckTangent, FindsWhatIsWrongWithALaw)
  {
    const SmallVector<4, double> in = {0.1, 0.2, 0.3, 0.4};
    const auto skew = check_tangent<Wrong<false, false>>(in, {}), forgetful = check_tangent<Wrong<true, false>>(in, {}),
               impure = check_tangent<Wrong<false, true>>(in, {});
    EXPECT_TRUE(skew.passes(false) && !skew.passes(true) && skew.asymmetry > 0.01) << skew.difference;
    EXPECT_TRUE(!forgetful.passes(false) && forgetful.difference > 0.01 && forgetful.is_pure);
    EXPECT_FALSE(impure.is_pure || impure.passes(false));
  }
} // namespace
