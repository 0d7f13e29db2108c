// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef undecorated_right_law_h
#define undecorated_right_law_h

#include <patchfem/kernels/laws.h>

/** The square of u. */
struct Right
{
  static constexpr int dimension    = 2;
  static constexpr int n_components = 1;
  static constexpr int n_parameters = 0;
  static constexpr int n_values     = 1;

  template <typename Number>
  static PATCHFEM_INLINE void evaluate(const PatchFEM::FieldPoint<2, 1, Number> &u, const Number *, Number *values)
  {
    values[0] = u.value[0] * u.value[0];
  }
};

#endif
