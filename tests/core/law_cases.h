// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/check_tangent.h>

#include <gtest/gtest.h>

#include <random>
#include <vector>

/** @file Material laws at points, for tests. */
namespace PatchFEM::law_cases
{
  constexpr double E = 200000., nu = 0.3, lambda = E * nu / ((1 + nu) * (1 - 2 * nu)), mu = E / (2 * (1 + nu)),
                   kappa = lambda + 2 * mu / 3;

  /** Of J2Plasticity. */
  const std::vector<double> steel = {kappa, mu, 240., 100., 16., 1000., 500.};

  template <typename Law>
  using Numbers = SmallVector<LawTraits<Law>::n_inputs, double>;

  /** @p parameters live at least as long. */
  inline PointData data_of(const std::vector<double> &parameters)
  {
    PointData data;
    data.parameters  = parameters.data();
    data.position[0] = 2.; // a radius
    return data;
  }

  /** The flux of @p Law at @p in, and its next state. */
  template <typename Law>
  auto flux(const Numbers<Law> &in, const PointData &data, const LawState<Law> &old, LawState<Law> &now)
  {
    return LawAtPoint<Law>{data, old}(in, now);
  }
  template <typename Law>
  auto flux(const Numbers<Law> &in, const PointData &data)
  {
    LawState<Law> now;
    return flux<Law>(in, data, initial_state<Law>(data), now);
  }

  /** @p n entries of -size to size each. */
  template <int n>
  std::vector<SmallVector<n, double>> random_inputs(const int n_points, const double size)
  {
    std::mt19937                           generator(1);
    std::uniform_real_distribution<double> uniform(-size, size);
    std::vector<SmallVector<n, double>>    result(n_points);
    for (auto &in : result)
      for (double &x : in.entries)
        x = uniform(generator);
    return result;
  }

  /** @p Law at twenty points with gradients of up to @p size; @p objective where it has an F. */
  template <typename Law>
  void expect_tangents(const std::vector<double> &parameters,
                       const double               size,
                       const LawState<Law>       &old,
                       const bool                 objective = false)
  {
    const double temperature = 300.;
    PointData    data        = data_of(parameters);
    data.fields              = &temperature;
    ASSERT_EQ(parameters.size(), static_cast<std::size_t>(LawTraits<Law>::n_parameters));
    for (const auto &in : random_inputs<LawTraits<Law>::n_inputs>(20, size))
    {
      const TangentCheck check = check_tangent<Law>(in, data, old, 100.);
      EXPECT_TRUE(check.passes(LawTraits<Law>::symmetric))
          << check.difference << ' ' << check.asymmetry << ' ' << check.chunks << ' ' << check.is_pure << check.refusal;
      if (LawTraits<Law>::n_components == LawTraits<Law>::dimension && !LawTraits<Law>::with_values)
      {
        EXPECT_EQ(objective, check.rotation < 1e-12) << check.rotation;
      }
    }
  }
} // namespace PatchFEM::law_cases
