// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/host_device.h>

#include <algorithm>
#include <math.h> // and not <cmath>, which leaves the global abs() to integers
#include <type_traits>

namespace PatchFEM
{
#ifndef __CUDACC__ // which has them for doubles in the global namespace
  using std::max;
  using std::min;
#endif

  /**
   * A number x and its derivatives d in @p n directions; results of dual numbers carry their exact derivatives along.
   * Plain numbers mix with it at half of the work; comparisons look at x alone.
   */
  template <int n>
  struct Dual
  {
    double x, d[n];

    Dual() = default;

    template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
    PATCHFEM_INLINE Dual(const Number value) : x(value)
    {
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        d[k] = 0.;
    }

    /** The variable of @p direction. */
    PATCHFEM_INLINE Dual(const double value, const int direction) : x(value)
    {
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        d[k] = k == direction ? 1. : 0.;
    }

    /** The value @p f of a function of this number, whose derivative is @p df. */
    PATCHFEM_INLINE Dual chain(const double f, const double df) const
    {
      Dual result;
      result.x = f;
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        result.d[k] = df * d[k];
      return result;
    }

    /** The value @p f of a function of @p a and @p b, whose derivatives by them are @p da and @p db. */
    static PATCHFEM_INLINE Dual chain(const double f, const double da, const Dual &a, const double db, const Dual &b)
    {
      Dual result;
      result.x = f;
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        result.d[k] = da * a.d[k] + db * b.d[k];
      return result;
    }

    friend PATCHFEM_INLINE Dual operator+(const Dual &a, const Dual &b)
    {
      Dual result;
      result.x = a.x + b.x;
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        result.d[k] = a.d[k] + b.d[k];
      return result;
    }
    friend PATCHFEM_INLINE Dual operator-(const Dual &a, const Dual &b)
    {
      Dual result;
      result.x = a.x - b.x;
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        result.d[k] = a.d[k] - b.d[k];
      return result;
    }
    friend PATCHFEM_INLINE Dual operator*(const Dual &a, const Dual &b) { return chain(a.x * b.x, a.x, b, b.x, a); }
    friend PATCHFEM_INLINE Dual operator/(const Dual &a, const Dual &b)
    {
      const double inverse = 1. / b.x, quotient = a.x * inverse;
      Dual         result;
      result.x = quotient;
      PATCHFEM_UNROLL
      for (int k = 0; k < n; ++k)
        result.d[k] = (a.d[k] - quotient * b.d[k]) * inverse;
      return result;
    }
    friend PATCHFEM_INLINE Dual operator+(Dual a, const double b)
    {
      a.x += b;
      return a;
    }
    friend PATCHFEM_INLINE Dual operator-(Dual a, const double b)
    {
      a.x -= b;
      return a;
    }
    friend PATCHFEM_INLINE Dual operator+(const double a, const Dual &b) { return b + a; }
    friend PATCHFEM_INLINE Dual operator-(const double a, const Dual &b) { return b.chain(a - b.x, -1.); }
    friend PATCHFEM_INLINE Dual operator*(const Dual &a, const double b) { return a.chain(a.x * b, b); }
    friend PATCHFEM_INLINE Dual operator*(const double a, const Dual &b) { return b * a; }
    friend PATCHFEM_INLINE Dual operator/(const Dual &a, const double b) { return a * (1. / b); }
    friend PATCHFEM_INLINE Dual operator/(const double a, const Dual &b)
    {
      const double inverse = 1. / b.x, quotient = a * inverse;
      return b.chain(quotient, -quotient * inverse);
    }
    PATCHFEM_INLINE Dual operator-() const { return chain(-x, -1.); }

    template <typename Other>
    PATCHFEM_INLINE Dual &operator+=(const Other &b)
    {
      return *this = *this + b;
    }
    template <typename Other>
    PATCHFEM_INLINE Dual &operator-=(const Other &b)
    {
      return *this = *this - b;
    }
    template <typename Other>
    PATCHFEM_INLINE Dual &operator*=(const Other &b)
    {
      return *this = *this * b;
    }
    template <typename Other>
    PATCHFEM_INLINE Dual &operator/=(const Other &b)
    {
      return *this = *this / b;
    }

    // Plain numbers become dual ones here, whose zeros are never read.
    friend PATCHFEM_INLINE bool operator<(const Dual &a, const Dual &b) { return a.x < b.x; }
    friend PATCHFEM_INLINE bool operator>(const Dual &a, const Dual &b) { return a.x > b.x; }
    friend PATCHFEM_INLINE bool operator<=(const Dual &a, const Dual &b) { return a.x <= b.x; }
    friend PATCHFEM_INLINE bool operator>=(const Dual &a, const Dual &b) { return a.x >= b.x; }
    friend PATCHFEM_INLINE bool operator==(const Dual &a, const Dual &b) { return a.x == b.x; }
    friend PATCHFEM_INLINE bool operator!=(const Dual &a, const Dual &b) { return a.x != b.x; }

    friend PATCHFEM_INLINE Dual max(const Dual &a, const Dual &b) { return a.x < b.x ? b : a; }
    friend PATCHFEM_INLINE Dual min(const Dual &a, const Dual &b) { return b.x < a.x ? b : a; }
    friend PATCHFEM_INLINE Dual abs(const Dual &a) { return a.x < 0. ? -a : a; }
    friend PATCHFEM_INLINE Dual sqrt(const Dual &a)
    {
      const double root = ::sqrt(a.x);
      return a.chain(root, 0.5 / root);
    }
    friend PATCHFEM_INLINE Dual exp(const Dual &a)
    {
      const double power = ::exp(a.x);
      return a.chain(power, power);
    }
    friend PATCHFEM_INLINE Dual log(const Dual &a) { return a.chain(::log(a.x), 1. / a.x); }
    friend PATCHFEM_INLINE Dual pow(const Dual &a, const double b)
    {
      return a.chain(::pow(a.x, b), b == 0. ? 0. : b * ::pow(a.x, b - 1.));
    }
    friend PATCHFEM_INLINE Dual pow(const double a, const Dual &b)
    {
      const double power = ::pow(a, b.x);
      return b.chain(power, ::log(a) * power);
    }
    friend PATCHFEM_INLINE Dual pow(const Dual &a, const Dual &b)
    {
      return pow(a, b.x) + (pow(a.x, b) - ::pow(a.x, b.x));
    }
    friend PATCHFEM_INLINE Dual sin(const Dual &a) { return a.chain(::sin(a.x), ::cos(a.x)); }
    friend PATCHFEM_INLINE Dual cos(const Dual &a) { return a.chain(::cos(a.x), -::sin(a.x)); }
    friend PATCHFEM_INLINE Dual tan(const Dual &a)
    {
      const double tangent = ::tan(a.x);
      return a.chain(tangent, 1. + tangent * tangent);
    }
    friend PATCHFEM_INLINE Dual atan(const Dual &a) { return a.chain(::atan(a.x), 1. / (1. + a.x * a.x)); }
    friend PATCHFEM_INLINE Dual tanh(const Dual &a)
    {
      const double tangent = ::tanh(a.x);
      return a.chain(tangent, 1. - tangent * tangent);
    }
  };

  /** The number without its derivatives. */
  PATCHFEM_INLINE double value_of(const double x)
  {
    return x;
  }
  template <int n>
  PATCHFEM_INLINE double value_of(const Dual<n> &x)
  {
    return x.x;
  }
} // namespace PatchFEM
