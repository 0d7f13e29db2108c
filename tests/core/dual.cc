// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/material_law.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace PatchFEM;

namespace
{
  /** f of dual numbers in two directions against its values, and differences of them, at (x, y). */
  template <typename F>
  void expect_derivatives(const F &f, const double x, const double y, const char *name)
  {
    const double  h        = 1e-6;
    const Dual<2> computed = f(Dual<2>(x, 0), Dual<2>(y, 1));
    EXPECT_NEAR(computed.x, f(x, y), 1e-15 * (1. + std::fabs(f(x, y)))) << name;
    EXPECT_NEAR(computed.d[0], (f(x + h, y) - f(x - h, y)) / (2 * h), 1e-8) << name;
    EXPECT_NEAR(computed.d[1], (f(x, y + h) - f(x, y - h)) / (2 * h), 1e-8) << name;
  }
#define EXPECT_DERIVATIVES(f) expect_derivatives([](const auto &x, const auto &y) { return f; }, 0.7, 1.3, #f)

  TEST(Dual, HasTheDerivativesOfEachFunction)
  {
    EXPECT_DERIVATIVES(x + y - x * y / (y + x * x));
    EXPECT_DERIVATIVES(2. - x + (3. + y) * 2. - 1. / x + y / 4. - (x - 5) * (-y));
    EXPECT_DERIVATIVES(sqrt(x) * exp(y) + log(x * y));
    EXPECT_DERIVATIVES(pow(x, 2.5) + pow(2., y) + pow(y, x) + pow(x, 2));
    EXPECT_DERIVATIVES(sin(x) * cos(y) + tan(x * y) + atan(y) * tanh(x));
    EXPECT_DERIVATIVES(abs(x - y) + abs(y) + max(x, y) * min(x, y) + max(x, 0.9) * y + min(2., x));
    const auto assigned = [](auto a, const auto &b) {
      a += b, a *= a, a -= 2., a /= b, a += 1., a *= 3.;
      return a;
    };
    expect_derivatives(assigned, 0.7, 1.3, "assignments");
    EXPECT_EQ(pow(Dual<1>(0., 0), 2.).d[0], 0.);
    EXPECT_EQ(pow(Dual<1>(0., 0), 1.).d[0], 1.);
    EXPECT_EQ(pow(Dual<1>(0., 0), 0.).d[0], 0.);
  }

  TEST(Dual, ComparesValuesAlone)
  {
    const Dual<1> one(1., 0), also(1.), two(2.);
    EXPECT_TRUE(one == also && one <= also && one >= also && !(one != also) && !(one < also));
    EXPECT_TRUE(one < two && two > 1. && 1 <= two && one != 2. && one < 1.5 && 0.5 < one);
    EXPECT_EQ(value_of(one) + value_of(3.), 4.);
  }

  TEST(TensorAlgebra, MixesPlainAndDualMatrices)
  {
    const SmallMatrix<2, 2, double> a{{{1., 2.}, {3., 4.}}};
    SmallMatrix<2, 2, Dual<4>>      x;
    for (int e = 0; e < 4; ++e)
      x(e / 2, e % 2) = Dual<4>(e + 0.5, e);
    // d (a : a x) = (a^T a)^T : dx
    const auto   f         = double_contraction(a, a * x - identity<2>()) + trace(2. * symmetric_part(x));
    const double squares[] = {10. + 2., 14., 14., 20. + 2.};
    for (int e = 0; e < 4; ++e)
      EXPECT_DOUBLE_EQ(f.d[e], squares[e]);
    const auto inverse_of_x = inverse(x, determinant(x)), product = x * inverse_of_x;
    for (int e = 0; e < 4; ++e)
    {
      EXPECT_NEAR(product(e / 2, e % 2).x, e % 3 == 0, 1e-14);
      for (const double d : product(e / 2, e % 2).d)
        EXPECT_NEAR(d, 0., 1e-13);
    }
    EXPECT_EQ(plus_identity(a, 5.)(1, 1), 9.);
    EXPECT_EQ((a + 2. * a)(1, 0), 9.);
    const SmallVector<2, double> v{{1., 2.}};
    EXPECT_EQ((v + 2. * v - v)[1], 4.);
  }

  /** The only law that has all of it: a value, a rate, a source, a field and a state that starts elsewhere. */
  struct Reaction
  {
    static constexpr int n_parameters = 1, n_fields = 1;
    struct State
    {
      double largest;
    };
    static PATCHFEM_INLINE State initial(const PointData &data) { return {data.parameters[0]}; }

    template <typename T>
    static PATCHFEM_INLINE Fluxes<2, 1, T>
    flux(const PointInput<2, 1, T, Reads::value | Reads::rate> &u, const PointData &data, const State &old, State &now)
    {
      const T k   = old.largest + u.value[0] * u.value[0];
      now.largest = max(old.largest, value_of(u.value[0]));
      return {k * u.gradient, {{u.rate[0] * data.fields[0]}}};
    }
  };

  struct OnlyRead
  {
    static constexpr bool symmetric = true;
    struct State
    {};
    template <typename T>
    static PATCHFEM_INLINE auto
    flux(const PointInput<2, 1, T, Reads::value> &u, const PointData &, const State &, State &)
    {
      return u.value[0] * u.gradient;
    }
  };

  TEST(MaterialLaw, TraitsComeFromTheTypeOfTheFlux)
  {
    using Traits = LawTraits<Reaction>;
    static_assert(Traits::dimension == 2 && Traits::n_components == 1 && Traits::n_inputs == 3 && Traits::has_source &&
                  Traits::has_value && Traits::n_parameters == 1 && Traits::n_fields == 1 && !Traits::symmetric &&
                  Traits::n_tangent == 9 && Traits::n_state_words == 1);
    using Other = LawTraits<OnlyRead>;
    static_assert(Other::n_inputs == 3 && !Other::has_source && Other::n_parameters == 0 && Other::n_fields == 0 &&
                  Other::symmetric && Other::n_tangent == 6 && Other::n_state_words == 0);
    for (int r = 0, k = 0; r < 9; ++r)
      for (int c = r; c < 9; ++c, ++k)
        EXPECT_TRUE(packed_index(9, r, c) == k && packed_index(9, c, r) == k);
  }

  TEST(MaterialLaw, RatesAndSourcesHaveTheirPlaceInTheTangent)
  {
    const double parameters[] = {3.}, fields[] = {0.5}, in[] = {1., 2., 4.}, history[] = {-7.}, shift = 10.;
    PointData    data;
    data.parameters     = parameters;
    data.fields         = fields;
    const auto      old = initial_state<Reaction>(data);
    Reaction::State now;
    double          out[3], tangent[3][3];
    const auto      put = [&](const int r, const int c, const double v) { tangent[r][c] = v; };
    for_tangent<Reaction, 2>(in, shift, history, data, old, now, out, put);
    const double expected[3][3] = {{19., 0., 8.}, {0., 19., 16.}, {0., 0., 5.}};
    for (int e = 0; e < 9; ++e)
      EXPECT_EQ(tangent[e / 3][e % 3], expected[e / 3][e % 3]) << e;
    EXPECT_EQ(out[1], 38.);
    EXPECT_EQ(out[2], 16.5);
    EXPECT_EQ(old.largest, 3.);
    EXPECT_EQ(now.largest, 4.);

    OnlyRead::State none;
    for_tangent<OnlyRead, 3>(in, 0., nullptr, data, none, none, out, put);
    const double padded[3][3] = {{4., 0., 1.}, {0., 4., 2.}, {0., 0., 0.}};
    for (int e = 0; e < 9; ++e)
      EXPECT_EQ(tangent[e / 3][e % 3], padded[e / 3][e % 3]) << e;
    EXPECT_EQ(out[2], 0.);
  }

  TEST(MaterialLaw, ARootHasTheDerivativesOfTheImplicitFunction)
  {
    // x^2 + x a_0 = a_1
    const auto              f = [](const auto &x, const auto &a) { return x * x + x * a[0] - a[1]; };
    SmallVector<2, Dual<2>> a{{Dual<2>(0.5, 0), Dual<2>(3., 1)}};
    const PointData         data;
    const auto              x    = implicit_root(f, 1., a, 1e-12, data);
    const double            root = std::sqrt(0.0625 + 3.);
    EXPECT_NEAR(x.x, root - 0.25, 1e-15);
    EXPECT_NEAR(x.d[0], -(root - 0.25) / (2. * root), 1e-15);
    EXPECT_NEAR(x.d[1], 1. / (2. * root), 1e-15);
    EXPECT_EQ(data.refusal, 0);
    // Its first step goes to -13, where there is no logarithm.
    EXPECT_NEAR(implicit_root([](const auto &y, const auto &b) { return log(y) - b; }, 10., 0., 1e-12, data), 1.,
                1e-15);
    EXPECT_EQ(data.refusal, 0);
    implicit_root([](const auto &y, const auto &b) { return y * y + b; }, 1., 2., 1e-12, data);
    EXPECT_EQ(data.refusal, static_cast<int>(Refusal::no_convergence));
    data.refuse(Refusal::inverted); // the first stays
    EXPECT_EQ(data.refusal, static_cast<int>(Refusal::no_convergence));
  }
} // namespace
