// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace PatchFEM::kernels
{
  /** A vector register of a core; where it is stored it needs no more alignment than its numbers. */
  template <typename Number>
  struct LanesRegister;
  template <>
  struct LanesRegister<double>
  {
    typedef double Type __attribute__((vector_size(32), aligned(8)));
  };
  template <>
  struct LanesRegister<float>
  {
    typedef float Type __attribute__((vector_size(32), aligned(4)));
  };

  /** Numbers side by side, one for each of several cells, with the arithmetic that geometry.h asks of a number. */
  template <typename Number>
  class Lanes
  {
  public:
    static constexpr int size = 32 / sizeof(Number);

    Lanes() = default;
    explicit Lanes(const double value) : values{}
    {
      for (int lane = 0; lane < size; ++lane)
        values[lane] = static_cast<Number>(value);
    }

    Number operator[](const int lane) const { return values[lane]; }
    void   set(const int lane, const Number value) { values[lane] = value; }

    friend Lanes operator+(const Lanes a, const Lanes b) { return Lanes(a.values + b.values); }
    friend Lanes operator-(const Lanes a, const Lanes b) { return Lanes(a.values - b.values); }
    friend Lanes operator*(const Lanes a, const Lanes b) { return Lanes(a.values * b.values); }
    friend Lanes operator/(const Lanes a, const Lanes b) { return Lanes(a.values / b.values); }
    Lanes        operator-() const { return Lanes(-values); }
    Lanes       &operator+=(const Lanes b) { return *this = *this + b; }
    Lanes       &operator*=(const Lanes b) { return *this = *this * b; }

  private:
    using Register = typename LanesRegister<Number>::Type;

    explicit Lanes(const Register values) : values(values) {}

    Register values;
  };
} // namespace PatchFEM::kernels
