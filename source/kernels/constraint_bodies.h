// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/batch_views.h>

/**
 * @file
 * What constraints x_i = sum_j w_j x_j + k_i do to vectors, and how new k reach the cells. Masters are not constrained
 * themselves, so that lines are independent of each other.
 */
namespace PatchFEM::kernels
{
  /** Line l: dense[constrained] = k. */
  struct ScatterInhomogeneitiesBody
  {
    const int    *constrained;
    const double *inhomogeneity;
    double       *dense;

    PATCHFEM_INLINE void operator()(const std::int64_t l) const { dense[constrained[l]] = inhomogeneity[l]; }
  };

  /** The k of a constrained cell's local unknowns, of a vector with the k of all unknowns. */
  struct CellInhomogeneities
  {
    BatchesView   batches;
    int           n_components;
    const int    *cells; ///< [constrained cell] -> global number
    const double *dense; ///< [unknown]

    /** Calls @p use(local unknown, k) for all, and returns their number. */
    template <typename Use>
    PATCHFEM_INLINE int for_unknowns(const std::int64_t cell, const Use &use) const
    {
      const int        global = cells[cell];
      const BatchView &batch  = batches.batch[batches.batch_of(global)];
      const int        n      = batch.reference.n_shape;
      const int       *nodes  = batch.nodes + std::int64_t(global - batch.first_cell) * n;
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < n_components; ++c)
          use(i * n_components + c, dense[std::int64_t(nodes[i]) * n_components + c]);
      return n * n_components;
    }
  };

  /** How many k a constrained cell keeps: those of all its unknowns if one is not 0. */
  struct CountInhomogeneitiesBody
  {
    CellInhomogeneities source;
    int                *counts;

    PATCHFEM_INLINE void operator()(const std::int64_t cell) const
    {
      bool      any = false;
      const int n   = source.for_unknowns(cell, [&any](int, const double k) { any |= k != 0.; });
      counts[cell]  = any ? n : 0;
    }
  };

  /** Where they start, ConstrainedCellsView::inhomogeneity_offset, and their values. */
  struct WriteInhomogeneitiesBody
  {
    CellInhomogeneities source;
    const std::int64_t *offsets; ///< of the counts
    std::int64_t       *starts;
    double             *values;

    PATCHFEM_INLINE void operator()(const std::int64_t cell) const
    {
      const bool any = offsets[cell + 1] > offsets[cell];
      starts[cell]   = any ? offsets[cell] : -1;
      if (any)
      {
        double *to = values + offsets[cell];
        source.for_unknowns(cell, [to](const int local, const double k) { to[local] = k; });
      }
    }
  };

  /** Line l: x_i = sum_j w_j x_j + k_i. */
  template <typename Number>
  struct DistributeBody
  {
    ConstraintLinesView lines;
    Number             *x;

    PATCHFEM_INLINE void operator()(const std::int64_t l) const
    {
      double sum = lines.inhomogeneity[l];
      for (std::int64_t m = lines.offsets[l]; m < lines.offsets[l + 1]; ++m)
        sum += lines.weights[m] * x[lines.masters[m]];
      x[lines.constrained[l]] = static_cast<Number>(sum);
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
