// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/lac/vector.h>

#include <omp.h>

#include <cmath>

using namespace PatchFEM;

class VectorTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(VectorTest);

TEST_P(VectorTest, IsZeroAfterReinit)
{
  Vector<double> v(backend(), 5);
  EXPECT_EQ(v.copy_to_host(), std::vector<double>(5, 0.));
  v = 2.5;
  EXPECT_EQ(v.copy_to_host(), std::vector<double>(5, 2.5));
  v.reinit(backend(), 3);
  EXPECT_EQ(v.copy_to_host(), std::vector<double>(3, 0.));
}

TEST_P(VectorTest, TinyOperations)
{
  const Backend        where = backend();
  const Vector<double> x(where, {1., 2., 3.});
  Vector<double>       y(where, {10., 20., 30.});
  y.add(2., x);
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{12., 24., 36.}));
  y.sadd(0.5, -1., x);
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{5., 10., 15.}));
  y.scale(x);
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{5., 20., 45.}));
  y *= 2.;
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{10., 40., 90.}));
  EXPECT_EQ(x.dot(y), 360.);
  EXPECT_EQ(x * y, 360.);
  y.equ(3., x);
  EXPECT_EQ(y.copy_to_host(), (std::vector<double>{3., 6., 9.}));
  EXPECT_EQ(Vector<double>(where, {3., 4.}).l2_norm(), 5.);
}

TEST_P(VectorTest, SwapCopyAndConvert)
{
  const Backend  where = backend();
  Vector<double> x(where, {1., 2.5}), y(where, {7., 8., 9.}), z;
  x.swap(y);
  EXPECT_EQ(x.size(), 3u);
  z.copy_from(y);
  EXPECT_EQ(z.copy_to_host(), (std::vector<double>{1., 2.5}));
  Vector<float> f;
  f.copy_from(z);
  EXPECT_EQ(f.copy_to_host(), (std::vector<float>{1.f, 2.5f}));
  Vector<double> here{Backend("host"), 1};
  here.copy_from(x);
  EXPECT_EQ(here.backend().name(), "host");
  EXPECT_EQ(here.data()[2], 9.);
}

TEST_P(VectorTest, EqualsOverwritesNaN)
{
  const Backend  where = backend();
  Vector<double> y(where, cases::not_a_number<double>(1000));
  y.equ(2., Vector<double>(where, std::vector<double>(1000, 1.)));
  EXPECT_EQ(y.copy_to_host(), std::vector<double>(1000, 2.));
}

TEST_P(VectorTest, SumsOfManySizes)
{
  const Backend where = backend();
  for (const int n : {0, 1, 31, 33, 255, 257, 4095, 4097, 100003})
  {
    const std::vector<double> a = cases::random_values(n, 1), b = cases::random_values(n, 2);
    double                    expected = 0., magnitude = 1e-300;
    for (int i = 0; i < n; ++i)
    {
      expected += a[i] * b[i];
      magnitude += std::abs(a[i] * b[i]);
    }
    EXPECT_NEAR(Vector<double>(where, a).dot(Vector<double>(where, b)), expected, 1e-13 * magnitude) << n;
  }
}

TEST_P(VectorTest, SumsRepeatForAnyNumberOfThreads)
{
  const Backend        where = backend();
  const Vector<double> a(where, cases::random_values(123457, 3)), b(where, cases::random_values(123457, 4));
  const double         first   = a.dot(b);
  const int            threads = omp_get_max_threads();
  for (const int n : {1, 2, 3, 5})
  {
    omp_set_num_threads(n);
    EXPECT_EQ(a.dot(b), first) << n << " threads";
  }
  omp_set_num_threads(threads);
}

TEST_P(VectorTest, LengthsNeitherOverflowNorVanish)
{
  const auto length = [&](const std::vector<double> &values) { return Vector<double>(backend(), values).l2_norm(); };
  // 3 : 4 : 5 in units of powers of two is exact to the last bit, but for the smallest numbers.
  for (const int exponent : {0,    300,  449,  450,  451,  511,  512,  700,  1000,  1021,  -300,
                             -449, -450, -451, -511, -512, -537, -538, -700, -1000, -1022, -1074})
    EXPECT_EQ(length({std::ldexp(3., exponent), 0., std::ldexp(-4., exponent)}), std::ldexp(5., exponent)) << exponent;
  EXPECT_DOUBLE_EQ(length({1e200}), 1e200);
  EXPECT_DOUBLE_EQ(length({1e-200, 1e-200, 1e-200, 1e-200}), 2e-200);
  EXPECT_DOUBLE_EQ(length({-1e308, 1e308}), std::sqrt(2.) * 1e308);
  EXPECT_DOUBLE_EQ(length({1e200, 1e-200}), 1e200);
  EXPECT_DOUBLE_EQ(length({1., 1e-200, 1e-300}), 1.);
  EXPECT_EQ(length({std::numeric_limits<double>::denorm_min()}), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(length({0., 0., -0.}), 0.);
  EXPECT_EQ(length({}), 0.);
  EXPECT_EQ(length({1., -std::numeric_limits<double>::infinity()}), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(length({1., std::nan(""), 1e300})));

  // Long enough for several partial sums.
  std::vector<double> values = cases::random_values(100003, 5);
  const double        one    = length(values);
  for (const int exponent : {900, -900})
  {
    std::vector<double> scaled = values;
    for (double &value : scaled)
      value = std::ldexp(value, exponent);
    EXPECT_EQ(length(scaled), std::ldexp(one, exponent));
  }

  // Squares of fp32 are summed in double.
  EXPECT_DOUBLE_EQ(Vector<float>(backend(), {3e38f, 0.f}).l2_norm(), double(3e38f));
  EXPECT_DOUBLE_EQ(Vector<float>(backend(), {1e-45f, 0.f}).l2_norm(), double(1e-45f));
}

TEST_P(VectorTest, RefusesWhatDoesNotFit)
{
  Vector<double> x(backend(), 3), y(backend(), 4);
  EXPECT_THROW(x.add(1., y), Error);
  EXPECT_THROW(x.dot(y), Error);
  EXPECT_THROW(x.copy_from_host({1., 2.}), Error);
}

TEST_P(VectorTest, CopiesLiveWhereTheirOriginalDoes)
{
  const Vector<double> x(backend(), {1., 2., 3.});
  Vector<double>       copy(x), assigned(Backend("host"), 7);
  assigned.l2_norm(); // has a workspace on the host
  assigned = x;
  copy *= 2.;
  for (const Vector<double> *v : {&copy, &assigned})
    EXPECT_EQ(v->backend(), backend());
  EXPECT_EQ(copy.copy_to_host(), (std::vector<double>{2., 4., 6.}));
  EXPECT_EQ(assigned.norm_sqr(), 14.);
  copy = *&copy;
  EXPECT_EQ(copy.size(), 3u);
  copy.reinit(2);
  EXPECT_EQ(copy.backend(), backend());
  EXPECT_EQ(copy.copy_to_host(), (std::vector<double>{0., 0.}));
  EXPECT_EQ(Vector<double>(Vector<double>()).size(), 0u);
}

TEST_P(VectorTest, TinyOperationsOfSolvers)
{
  const Backend        where = backend();
  const Vector<double> x(where, {1., 2., 3.}), y(where, {1., 0., -1.});
  Vector<double>       z(where, {10., 20., 30.});
  z.add(2., x, -3., y);
  EXPECT_EQ(z.copy_to_host(), (std::vector<double>{9., 24., 39.}));
  z += y;
  EXPECT_EQ(z.copy_to_host(), (std::vector<double>{10., 24., 38.}));
  z -= x;
  z /= 2.;
  EXPECT_EQ(z.copy_to_host(), (std::vector<double>{4.5, 11., 17.5}));
  EXPECT_EQ(z.add_and_dot(-0.5, x, y), -12.);
  EXPECT_EQ(z.copy_to_host(), (std::vector<double>{4., 10., 16.}));
  EXPECT_EQ(z.add_and_dot(-4., x, z), 20.); // of the new z: 0, 2, 4
  EXPECT_EQ(z.add_and_dot(1., z, z), 80.);
  EXPECT_EQ(y.linfty_norm(), 1.);
  EXPECT_FALSE(y.all_zero());
  EXPECT_TRUE(Vector<double>(where, {0., -0.}).all_zero());
  EXPECT_TRUE(Vector<double>(where).all_zero());
}

TEST_P(VectorTest, AddAndDotIsTheTwoAfterEachOther)
{
  const auto check = [&](auto number) {
    using Number = decltype(number);
    for (const int n : {1, 31, 33, 255, 257, 4095, 4097, 100003})
    {
      const Vector<Number> x(backend(), cases::to<Number>(cases::random_values(n, 6)));
      const Vector<Number> y(backend(), cases::to<Number>(cases::random_values(n, 7)));
      Vector<Number>       fused(y), plain(y);
      const double         sum = fused.add_and_dot(Number(0.3), x, y);
      plain.add(Number(0.3), x);
      // One rounding or two in each element, as the compiler contracts.
      const double unit = std::numeric_limits<Number>::epsilon();
      EXPECT_NEAR(sum, plain.dot(y), 4. * unit * n) << n;
      EXPECT_NEAR(fused.add_and_dot(Number(-0.3), x, fused), y.norm_sqr(), 8. * unit * n) << n;
      fused -= y;
      EXPECT_LE(fused.linfty_norm(), 4. * unit) << n;
    }
  };
  check(0.f);
  check(0.);
}

TEST_P(VectorTest, LargestElement)
{
  const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
  for (const int n : {1, 33, 4097, 100003})
  {
    std::vector<double> values = cases::random_values(n, 8);
    values[n / 2]              = -2.5;
    EXPECT_EQ(Vector<double>(backend(), values).linfty_norm(), 2.5) << n;
    EXPECT_EQ(Vector<float>(backend(), cases::to<float>(values)).linfty_norm(), 2.5) << n;
    for (const int place : {0, n / 2, n - 1})
    {
      std::vector<double> bad = values;
      bad[place]              = -infinity;
      EXPECT_EQ(Vector<double>(backend(), bad).linfty_norm(), infinity) << n << " " << place;
      bad[place] = -nan; // above what is infinite elsewhere
      bad[n / 3] = n / 3 == place ? bad[place] : infinity;
      EXPECT_TRUE(std::isnan(Vector<double>(backend(), bad).linfty_norm())) << n << " " << place;
      EXPECT_TRUE(std::isnan(Vector<float>(backend(), cases::to<float>(bad)).linfty_norm())) << n << " " << place;
      EXPECT_FALSE(Vector<double>(backend(), bad).all_zero());
    }
  }
}
