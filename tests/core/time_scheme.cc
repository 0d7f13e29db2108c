// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"
#include "message_of.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/time_scheme.h>

#include <cmath>
#include <functional>

using namespace PatchFEM;

namespace
{
  using Values = std::vector<double>;

  const Values k{0.5, 1., 4.}; // of u' + k u = f and u'' + k u = f, component by component

  /** A step of @p size to @p time of the equation with the load @p f(k, time). */
  void solve(TimeScheme &scheme, Vector<double> &u, const double size, const std::function<double(double)> &f)
  {
    scheme.begin(size);
    const Values history = scheme.history().copy_to_host();
    Values       values(k.size());
    for (std::size_t i = 0; i < k.size(); ++i)
      values[i] = (f(k[i]) - history[i]) / (scheme.shift() + k[i]);
    u.copy_from_host(values);
  }

  /** The largest error at time 1.2 of u = sin t, in 12 n steps whose sizes differ by the factors of @p pattern. */
  template <typename Scheme>
  double error_of(const Backend &backend, Scheme scheme, const int n, const Values &pattern)
  {
    constexpr bool       first_order = std::is_base_of_v<FirstOrderScheme, Scheme>;
    Vector<double>       u(backend, k.size());
    const Vector<double> one(backend, Values(k.size(), 1.));
    if constexpr (first_order)
      scheme.initialize(u, one);
    else
      scheme.initialize(u, one, u);
    double sum = 0., time = 0.;
    for (const double part : pattern)
      sum += part;
    for (int step = 0; step < 12 * n; ++step)
    {
      const double size = 1.2 / (12 * n) * pattern.size() / sum * pattern[step % pattern.size()];
      time += size;
      solve(scheme, u, size, [&](const double k) {
        return first_order ? std::cos(time) + k * std::sin(time) : (k - 1.) * std::sin(time);
      });
      scheme.accept(u);
    }
    EXPECT_NEAR(time, 1.2, 1e-12);
    u.add(-std::sin(time), one);
    return u.linfty_norm();
  }

  template <typename Scheme>
  void expect_order(const Backend &backend, const Scheme &scheme, const double order, const Values &pattern = {1.})
  {
    const double coarse = error_of(backend, scheme, 4, pattern), fine = error_of(backend, scheme, 8, pattern);
    EXPECT_NEAR(std::log2(coarse / fine), order, 0.1) << coarse << " " << fine;
    EXPECT_EQ(scheme.order(), order);
    EXPECT_LT(fine, 0.02);
  }

  using TimeSchemes = BackendTest;

  TEST_P(TimeSchemes, HaveTheirOrders)
  {
    expect_order(backend(), ThetaScheme(), 1.);
    expect_order(backend(), ThetaScheme(0.7), 1.);
    expect_order(backend(), ThetaScheme(0.5), 2.);
    expect_order(backend(), BDF2(), 2.);
    expect_order(backend(), Newmark(), 2.);
    expect_order(backend(), Newmark(0.36, 0.7), 1.);
    for (const double rho : {0., 0.5, 0.8, 1.})
      expect_order(backend(), GeneralizedAlpha(rho), 2.);
  }

  TEST_P(TimeSchemes, KeepTheirOrdersWithVariableSteps)
  {
    const Values pattern{1., 1.7, 2.4, 0.6, 1., 0.5};
    expect_order(backend(), ThetaScheme(0.5), 2., pattern);
    expect_order(backend(), BDF2(), 2., pattern);
    expect_order(backend(), Newmark(), 2., pattern);
  }

  /** Steps of u = t^power from exact values, whose error is known. */
  template <typename Scheme>
  void expect_error_estimate(const Backend &backend, Scheme scheme, const int power)
  {
    const double         t = 1., w = 1.3, before = t - 0.1 / w, after = t + 0.1;
    const Vector<double> one(backend, Values(k.size(), 1.));
    const auto           value      = [&](const double t) { return std::pow(t, power); };
    const auto           derivative = [&](const double t, const int n) {
      return n == 1 ? power * std::pow(t, power - 1) : power * (power - 1) * std::pow(t, power - 2);
    };
    constexpr bool first_order = std::is_base_of_v<FirstOrderScheme, Scheme>;
    if constexpr (first_order)
      scheme.initialize(one, one);
    else
      scheme.initialize(one, one, one);
    // A checkpoint holds enough for the next step.
    scheme.last_size                            = t - before;
    const std::vector<Vector<double> *> vectors = scheme.state();
    vectors[0]->equ(value(t), one);
    vectors[1]->equ(first_order ? value(before) : derivative(t, 1), one);
    vectors[2]->equ(derivative(t, first_order ? 1 : 2), one);
    Vector<double> u(backend, k.size()), work, rate;
    const double   rate_after = derivative(after, first_order ? 1 : 2);
    solve(scheme, u, after - t, [&](const double k) {
      // Implicit in u: the k u of the left hand side is that of the u that comes out, so that u'(t) is exact.
      return rate_after + k * (rate_after - scheme.history().copy_to_host()[0]) / scheme.shift();
    });
    scheme.derivative(u, rate);
    rate.add(-rate_after, one);
    EXPECT_LT(rate.linfty_norm(), 1e-10 * scheme.shift());
    const double estimate = scheme.error(u, work);
    u.add(-value(after), one);
    EXPECT_GT(u.l2_norm(), 1e-5);
    EXPECT_NEAR(estimate, u.l2_norm(), 1e-8 * u.l2_norm());
  }

  TEST_P(TimeSchemes, EstimateTheirErrors)
  {
    expect_error_estimate(backend(), ThetaScheme(1.), 2);
    expect_error_estimate(backend(), ThetaScheme(0.7), 2);
    expect_error_estimate(backend(), ThetaScheme(0.5), 3);
    expect_error_estimate(backend(), BDF2(), 3);
    expect_error_estimate(backend(), Newmark(), 3);
    expect_error_estimate(backend(), Newmark(0.3), 3);
  }

  TEST_P(TimeSchemes, EstimateNothingInTheFirstStep)
  {
    BDF2           scheme;
    Vector<double> u(backend(), k.size()), work;
    scheme.initialize(u);
    solve(scheme, u, 0.1, [](const double) { return 1.; });
    EXPECT_GT(u.l2_norm(), 0.1);
    EXPECT_EQ(scheme.error(u, work), 0.);
  }

  /** A motion far faster than the steps falls by rho in each. */
  TEST_P(TimeSchemes, DampWhatIsFast)
  {
    for (const double rho : {0.5, 0.8, 1.})
    {
      GeneralizedAlpha scheme(rho);
      Vector<double>   u(backend(), Values(k.size(), 1.)), zero(backend(), k.size()), a(backend(), k);
      a *= -1.;
      scheme.initialize(u, zero, a);
      Values energy;
      for (int step = 0; step <= 120; ++step)
      {
        solve(scheme, u, 1e5, [](const double) { return 0.; });
        scheme.accept(u);
        energy.push_back(u.l2_norm() + 1e-5 * scheme.velocity().l2_norm());
      }
      // A double eigenvalue: n rho^n.
      EXPECT_NEAR(std::pow(energy[120] / energy[60], 1. / 60.), rho, 0.02) << rho;
    }
  }

  /** 1000 steps of a string, whose fastest vibration takes a fraction of a step. */
  TEST_P(TimeSchemes, NewmarkKeepsEnergyToRounding)
  {
    const int         n    = 20;
    const double      mass = 1e-3, size = 0.3;
    HostCSR<double>   host = cases::laplacian<double>(n, 1);
    CSRMatrix<double> K(backend(), host), dynamic;
    Newmark           scheme;
    Vector<double> u(backend(), cases::random_values(n, 1)), v(backend(), cases::random_values(n, 2)), a(backend(), n),
        rhs(backend(), n);
    K.vmult(a, u);
    a *= -1. / mass;
    scheme.initialize(u, v, a);
    scheme.begin(size);
    for (int row = 0; row < n; ++row)
      for (std::int64_t e = host.row_offsets[row]; e < host.row_offsets[row + 1]; ++e)
        host.values[e] += host.columns[e] == row ? mass * scheme.shift() : 0.;
    dynamic.reinit(backend(), host);
    PreconditionIC<double> inverse; // exact, without fill
    inverse.initialize(dynamic, {0, 0.});
    const auto energy = [&] {
      K.vmult(rhs, u);
      return 0.5 * (u * rhs) + 0.5 * mass * scheme.velocity().norm_sqr();
    };
    const double before = energy();
    double       least = before, most = before;
    for (int step = 0; step < 1000; ++step)
    {
      scheme.begin(size);
      rhs.equ(-mass, scheme.history());
      inverse.vmult(u, rhs);
      scheme.accept(u);
      const double now = energy();
      least            = std::min(least, now);
      most             = std::max(most, now);
    }

    EXPECT_GT(least, before * (1. - 1e-12));
    EXPECT_LT(most, before * (1. + 1e-12));
  }

  PATCHFEM_INSTANTIATE_BACKENDS(TimeSchemes);

  TEST(TimeScheme, RefusesWhatIsNotStable)
  {
    EXPECT_EQ(message_of([] { ThetaScheme(0.4); }),
              "Theta must be from 0.5 to 1, not 0.4: the scheme is not stable below.");
    EXPECT_EQ(message_of([] { GeneralizedAlpha(1.5); }), "The factor of what is fast must be from 0 to 1, not 1.5.");
    EXPECT_EQ(message_of([] { Newmark(0.25, 0.6); }),
              "Newmark's beta = 0.25 and gamma = 0.6 are not stable for all steps; "
              "take 2 beta >= gamma >= 1/2.");
  }
} // namespace
