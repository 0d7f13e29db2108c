// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/batch_views.h>

/** @file What constraints x_i = sum_j w_j x_j + k_i do to vectors. No master is constrained: lines are independent. */
namespace PatchFEM::kernels
{
  /** Line l: x_i = sum_j w_j x_j + k_l. */
  template <typename Number>
  struct DistributeBody
  {
    ConstraintLinesView lines;
    const double       *k;
    Number             *x;

    PATCHFEM_INLINE void operator()(const std::int64_t l) const
    {
      double sum = k[l];
      for (std::int64_t m = lines.offsets[l]; m < lines.offsets[l + 1]; ++m)
        sum += lines.weights[m] * x[lines.masters[m]];
      x[lines.constrained[l]] = static_cast<Number>(sum);
    }
  };

  /** Line l: k_i + sum_j w_j u_j - u_i, the k of corrections that bring u to the constraints. */
  struct MotionBody
  {
    ConstraintLinesView lines;
    const double       *u;
    double             *motion;

    PATCHFEM_INLINE void operator()(const std::int64_t l) const
    {
      double sum = lines.inhomogeneity[l] - u[lines.constrained[l]];
      for (std::int64_t m = lines.offsets[l]; m < lines.offsets[l + 1]; ++m)
        sum += lines.weights[m] * u[lines.masters[m]];
      motion[l] = sum;
    }
  };

  /** Line l: x_i = 0. */
  template <typename Number>
  struct SetConstrainedZeroBody
  {
    ConstraintLinesView lines;
    Number             *x;

    PATCHFEM_INLINE void operator()(const std::int64_t l) const { x[lines.constrained[l]] = Number(0); }
  };

  /** Receiver m: b_m += sum of w b_i of the lines it is a master of. */
  template <typename Number>
  struct CondenseBody
  {
    ConstraintLinesView lines;
    Number             *b;

    PATCHFEM_INLINE void operator()(const std::int64_t m) const
    {
      double sum = b[lines.receivers[m]];
      for (std::int64_t l = lines.feeding_offsets[m]; l < lines.feeding_offsets[m + 1]; ++l)
        sum += lines.feeding_weights[l] * b[lines.feeding[l]];
      b[lines.receivers[m]] = static_cast<Number>(sum);
    }
  };
} // namespace PatchFEM::kernels
