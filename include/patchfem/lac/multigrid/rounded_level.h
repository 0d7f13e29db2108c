// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/level_smoother.h>
#include <patchfem/lac/multigrid/smoothed_aggregation.h>

namespace PatchFEM
{
  /**
   * A level that was made in fp64, in fp32 above another in fp64: its smoother and its transfers. Rounding these
   * afterwards is no more than what vectors in fp32 are rounded by.
   */
  struct RoundedLevel : LevelSmoothing<float>
  {
    SlicedEllpackMatrix<float> P, R;
    mutable Vector<double>     in_double; ///< room for r and for P x

    /** Takes P and R of @p made over, again after new values. */
    void round(const SmoothedAggregation<double> &made)
    {
      P.copy_from(made.prolongator());
      R.copy_from(made.restrictor());
    }

    /** @p coarse_b = R r */
    void restrict_residual(Vector<double> &coarse_b) const
    {
      in_double.copy_from(r);
      product_with_ghosts(R, in_double, kernels::Overwrite<double>{coarse_b.data()});
    }

    /** @p x + P coarse_x, by way of r */
    void add_correction(Vector<float> &x, const Vector<double> &coarse_x) const
    {
      product_with_ghosts(P, coarse_x, kernels::Overwrite<double>{in_double.data()});
      r.copy_from(in_double);
      x.add(1.f, r);
    }

    std::size_t memory_consumption() const
    {
      return LevelSmoothing<float>::memory_consumption() + P.values_memory_consumption() +
             R.values_memory_consumption() + in_double.memory_consumption();
    }
  };
} // namespace PatchFEM
