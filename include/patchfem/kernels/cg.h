// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/reduction.h>

#include <cmath>
#include <cstdint>

/**
 * @file
 * Preconditioned conjugate gradients in three kernels whose scalars never leave the back end:
 *
 *   product     q = A p,            p.q               -> alpha = r.z / p.q (x is scaled back: see CGScalars)
 *   residual    r = r - alpha q, z = M^-1 r, r.r, r.z -> beta, residual of this step, has it converged
 *   direction   x = x + alpha p, p = z + beta p
 *
 * The update of x waits for the kernel that reads p anyway. With a diagonal M the vectors cost 12 streams of 8 bytes an
 * unknown (product: p, q; residual: r, q, D in, r, z out; direction: z, p, x in, p, x out), that is 96 bytes beside
 * the matrix: 780 in all for Q1 elasticity in blocks of 3.
 *
 * Sums are finished by the block that comes last, from partial sums in their order. Every kernel first looks at the
 * status, so that what is launched after the end does nothing.
 */
namespace PatchFEM
{
  enum class CGStatus : int
  {
    iterating,
    converged,
    matrix_not_positive,         ///< p.Ap <= 0
    matrix_not_finite,           ///< p.Ap is not a number
    preconditioner_not_positive, ///< r.z <= 0
    preconditioner_not_finite,   ///< r.z is not a number while r.r is
    residual_not_finite          ///< r.r is not a number
  };

  /** What the iteration remembers between kernels; lives on the back end. */
  struct CGScalars
  {
    double       tolerance; ///< absolute, on |r|
    double       scale;     ///< a power of two: r = scale (b - A x), so that its square neither overflows nor vanishes
    double       r_dot_z;
    double       p_dot_q;
    double       alpha;
    double       x_step; ///< alpha / scale, of x
    double       beta;
    int          step; ///< steps done
    CGStatus     status;
    int          x_pending; ///< x still waits for alpha p
    unsigned int ticket;    ///< counts finished blocks of the running kernel; 0 between kernels
    double       parts[2];  ///< of several ranks: this one's part of the sums of a kernel, then those of all
  };

  /** What a kernel of the iteration is given. The norm of r of step k stands at history[k % history_length]. */
  struct CGView
  {
    CGScalars *scalars;
    double    *history;
    int        history_length;
    double    *partials; ///< [cg_n_partials()]

    /// Of several ranks: kernels leave their sums in CGScalars::parts, for two reductions an iteration, p.q, and r.r with
    /// r.z; cg_finish() follows each.
    bool of_ranks = false;
  };

  namespace kernels
  {
    /** Scalar rows per partial sum of a product on the device, at least: 256 threads, half of them past the rows. */
    constexpr int cg_rows_per_partial = 128;

    /** Partial sums a matrix of @p n_rows scalar rows may need. */
    inline std::size_t cg_n_partials(const std::int64_t n_rows)
    {
      const std::int64_t n = n_rows / cg_rows_per_partial + 1;
      return static_cast<std::size_t>(n < 2 * reduction::max_parts ? 2 * reduction::max_parts : n);
    }

    PATCHFEM_INLINE bool cg_is_finite(const double x)
    {
      return x - x == 0.;
    }

    /** What happens once p.q is known. */
    PATCHFEM_INLINE void cg_finish_product(const CGView &cg, const double p_dot_q)
    {
      CGScalars &s = *cg.scalars;
      s.p_dot_q    = p_dot_q;
      s.x_pending  = 0;
      if (!cg_is_finite(p_dot_q))
        s.status = CGStatus::matrix_not_finite;
      else if (!(p_dot_q > 0.))
        s.status = CGStatus::matrix_not_positive;
      else
      {
        s.alpha     = s.r_dot_z / p_dot_q;
        s.x_step    = s.alpha / s.scale;
        s.x_pending = 1;
      }
    }

    /** What happens once r.r is known; @p first: this is the residual the iteration (re)starts from. */
    PATCHFEM_INLINE void cg_finish_residual(const CGView &cg, const double r_dot_r, const bool first)
    {
      CGScalars   &s        = *cg.scalars;
      const double residual = std::sqrt(r_dot_r);
      if (!first)
        ++s.step;
      cg.history[s.step % cg.history_length] = residual;
      if (!cg_is_finite(r_dot_r))
        s.status = CGStatus::residual_not_finite;
      else if (residual <= s.tolerance)
        s.status = CGStatus::converged;
    }

    /** What happens once r.z is known, unless the iteration ended with r.r. */
    PATCHFEM_INLINE void cg_finish_preconditioner(const CGView &cg, const double r_dot_z, const bool first)
    {
      CGScalars &s = *cg.scalars;
      if (s.status != CGStatus::iterating)
        return;
      if (!cg_is_finite(r_dot_z))
        s.status = CGStatus::preconditioner_not_finite;
      else if (!(r_dot_z > 0.))
        s.status = CGStatus::preconditioner_not_positive;
      s.beta    = first ? 0. : r_dot_z / s.r_dot_z;
      s.r_dot_z = r_dot_z;
    }

    // At the end of kernels, which know the sums over their rows.

    PATCHFEM_INLINE void cg_end_product(const CGView &cg, const double p_dot_q)
    {
      if (cg.of_ranks)
        cg.scalars->parts[0] = p_dot_q;
      else
        cg_finish_product(cg, p_dot_q);
    }

    PATCHFEM_INLINE void cg_end_residual(const CGView &cg, const double r_dot_r, const bool first)
    {
      if (cg.of_ranks)
        cg.scalars->parts[0] = r_dot_r;
      else
        cg_finish_residual(cg, r_dot_r, first);
    }

    PATCHFEM_INLINE void cg_end_preconditioner(const CGView &cg, const double r_dot_z, const bool first)
    {
      if (cg.of_ranks)
        cg.scalars->parts[1] = r_dot_z;
      else
        cg_finish_preconditioner(cg, r_dot_z, first);
    }

    /** What CGScalars::parts are sums of. */
    enum class CGSums
    {
      product,       ///< p.q
      residual,      ///< r.r and r.z of a step
      first_residual ///< the same of the residual that the iteration (re)starts from
    };

    /** Once parts are those of all ranks. */
    PATCHFEM_INLINE void cg_finish_sums(const CGView &cg, const CGSums sums)
    {
      CGScalars &s = *cg.scalars;
      if (s.status != CGStatus::iterating)
        return;
      if (sums == CGSums::product)
        return cg_finish_product(cg, s.parts[0]);
      cg_finish_residual(cg, s.parts[0], sums == CGSums::first_residual);
      cg_finish_preconditioner(cg, s.parts[1], sums == CGSums::first_residual);
    }

    /** cg_finish_sums() where the scalars live. */
    template <typename Where>
    void cg_finish(Where, CGSums sums, const CGView &cg);

    /** How the residual of a step comes about. */
    enum class CGResidual
    {
      update,  ///< r = r - alpha q
      replace, ///< r = scale q: q holds b - A x of the x of this step, recomputed against drift
      start    ///< r = scale q, as above, without counting a step and with p = z next
    };

    /** alpha for operators without a fused product: q = A p has been computed. */
    template <typename Number, typename Where>
    void cg_step_length(Where, std::int64_t n, const Number *p, const Number *q, const CGView &cg);

    /** Of n entries each. */
    template <typename Number>
    struct CGVectors
    {
      std::int64_t  n;
      const Number *q;
      Number       *r, *z;
    };

    /**
     * r, z = D r and all scalars of the step. D.block_size = 0 is the identity: z is not written. Without z only r and its
     * norm, for preconditioners that are kernels of their own; cg_preconditioned() follows.
     */
    template <typename Value, typename Number, typename Where>
    void cg_residual(
        Where, CGResidual mode, const BlockDiagonalView<Value> &D, const CGVectors<Number> &v, const CGView &cg);

    /** beta, once z = M^-1 r has been computed. */
    template <typename Number, typename Where>
    void cg_preconditioned(Where, CGResidual mode, const CGVectors<Number> &v, const CGView &cg);

    /** x = x + alpha p if @p x is given and waits for it; p = z + beta p if @p z is given. */
    template <typename Number, typename Where>
    void cg_direction(Where, std::int64_t n, const Number *z, Number *x, Number *p, const CGView &cg);
  } // namespace kernels
} // namespace PatchFEM
