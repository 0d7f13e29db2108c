// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/level_smoother.h>
#include <patchfem/lac/multigrid/smoothed_aggregation.h>

namespace PatchFEM
{
  /**
   * The finest of levels in fp64, in fp32: what it is smoothed with, and its transfers. Those were made in fp64, as coarse
   * matrices were of them; rounding them afterwards is no more than what vectors in fp32 are rounded by.
   */
  struct RoundedFinest : LevelSmoothing<float>
  {
    SlicedEllpackMatrix<float> P, R;

    /** Takes P and R of @p made over, again after new values. */
    void round(const SmoothedAggregation<double> &made)
    {
      P.copy_from(made.prolongator());
      R.copy_from(made.restrictor());
    }

    /**
     * x = M^-1 b by way of @p residual, a vector of the level in fp64: @p solve finds the correction of the next level from
     * what stands in @p coarse_b, and @p report is told the phases.
     */
    template <typename Solve, typename Report>
    void cycle(Vector<float>       &x,
               const Vector<float> &b,
               Vector<double>      &residual,
               Vector<double>      &coarse_b,
               const Solve         &solve,
               const Report        &report) const
    {
      smoother->pre_smooth(x, r, b);
      report("pre-smoothing");
      residual.copy_from(r);
      product_with_ghosts(R, residual, kernels::Overwrite<double>{coarse_b.data()});
      report("restriction");
      const Vector<double> &coarse_x = solve();
      product_with_ghosts(P, coarse_x, kernels::Overwrite<double>{residual.data()});
      r.copy_from(residual);
      x.add(1.f, r);
      report("prolongation");
      smoother->post_smooth(x, r, b);
      report("post-smoothing");
    }

    std::size_t memory_consumption() const
    {
      return LevelSmoothing<float>::memory_consumption() + P.values_memory_consumption() +
             R.values_memory_consumption();
    }
  };
} // namespace PatchFEM
