// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

#include <cmath>

/** @file Bodies (see parallel_for.h) that keep the null space of a singular matrix out of its solution. */
namespace PatchFEM::kernels
{
  /** x = x - c v with c = coefficient[0], which the back end has just computed. */
  template <typename Number>
  struct RemoveComponentBody
  {
    const double *coefficient;
    const Number *v;
    Number       *x;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      x[i] = static_cast<Number>(static_cast<double>(x[i]) - coefficient[0] * static_cast<double>(v[i]));
    }
  };
} // namespace PatchFEM::kernels
