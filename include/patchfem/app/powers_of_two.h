// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cmath>

/**
 * @file Scaling by powers of two, which changes no digit of a number: what squares values, such as norms do, neither
 * overflows nor underflows on values that were brought to the order of 1, whatever units they have.
 */
namespace PatchFEM
{
  /** The e with 2^(e-1) <= @p largest < 2^e; 0 for zero and for what is not finite. */
  inline int binary_exponent(const double largest)
  {
    int exponent = 0;
    if (std::isfinite(largest))
      std::frexp(largest, &exponent);
    return exponent;
  }

  /** Multiplies @p object, a number, vector or matrix, by 2^@p exponent, which itself need not be a double. */
  template <typename Object>
  void multiply_by_power_of_two(Object &object, const int exponent)
  {
    for (const int part : {exponent / 2, exponent - exponent / 2})
      if (part != 0)
        object *= std::ldexp(1., part);
  }
} // namespace PatchFEM
