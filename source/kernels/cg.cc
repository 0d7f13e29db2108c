// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/instantiate.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/cg.h>

#include "reduce_host.h"

namespace PatchFEM::kernels
{
  namespace
  {
    /** The new residual of one unknown; @p factor is alpha, or the scale of q. */
    template <typename Number>
    inline Number new_residual(const bool update, const Number factor, const Number q, const Number r)
    {
      return update ? r - factor * q : factor * q;
    }

    /** x = x + alpha p, p = z + beta p in one sweep. */
    template <typename Number>
    void move_both(const std::int64_t n, const Number alpha, const Number beta, const Number *z, Number *x, Number *p)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
      {
        x[i] += alpha * p[i];
        p[i] = z[i] + beta * p[i];
      }
    }
    /** x = x + alpha p, rounded as in move_both(). */
    template <typename Number>
    void move_solution(const std::int64_t n, const Number alpha, const Number *p, Number *x)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        x[i] += alpha * p[i];
    }
  } // namespace

  template <typename Number, typename Where>
  void cg_step_length(Where, const std::int64_t n, const Number *p, const Number *q, const CGView &cg)
  {
    if (cg.scalars->status != CGStatus::iterating)
    {
      cg.scalars->x_pending = 0;
      return;
    }
    double p_dot_q = 0.;
    sum_parts<1>(n, cg.partials, &p_dot_q, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
      sums[0] = dot_of_range(p, q, begin, end);
    });
    cg_finish_product(cg, p_dot_q);
  }

  template <typename Value, typename Number, typename Where>
  void cg_residual(Where,
                   const CGResidual                mode,
                   const std::int64_t              n,
                   const BlockDiagonalView<Value> &D,
                   const Number                   *q,
                   Number                         *r,
                   Number                         *z,
                   const CGView                   &cg)
  {
    if (cg.scalars->status != CGStatus::iterating)
      return;
    const bool   update  = mode == CGResidual::update;
    const bool   first   = mode == CGResidual::start;
    const Number factor  = static_cast<Number>(update ? cg.scalars->alpha : cg.scalars->scale);
    double       sums[2] = {0., 0.};
    if (D.block_size <= 1)
      sum_parts<2>(n, cg.partials, sums, [=](const std::int64_t begin, const std::int64_t end, double *part) {
        if (D.block_size == 0)
          part[0] = part[1] = update ? residual_of_range<true>(factor, q, r, begin, end)
                                     : residual_of_range<false>(factor, q, r, begin, end);
        else if (update)
          residual_of_range<true>(factor, D.values, q, r, z, begin, end, part);
        else
          residual_of_range<false>(factor, D.values, q, r, z, begin, end, part);
      });
    else
      with_block_size(D.block_size, [&](auto size) {
        constexpr int static_size = decltype(size)::value;
        const int     b           = static_size > 0 ? static_size : D.block_size;
        sum_parts<2>(D.n_blocks, cg.partials, sums,
                     [&](const std::int64_t begin, const std::int64_t end, double *part) {
                       double r_dot_r = 0., r_dot_z = 0.;
                       for (std::int64_t i = begin; i < end; ++i)
                       {
                         Number r_block[max_block_size], z_block[max_block_size];
                         for (int a = 0; a < b; ++a)
                           r_block[a] = r[i * b + a] = new_residual(update, factor, q[i * b + a], r[i * b + a]);
                         apply_block<static_size>(D, i, r_block, z_block);
                         for (int a = 0; a < b; ++a)
                         {
                           z[i * b + a] = z_block[a];
                           r_dot_r += static_cast<double>(r_block[a]) * static_cast<double>(r_block[a]);
                           r_dot_z += static_cast<double>(r_block[a]) * static_cast<double>(z_block[a]);
                         }
                       }
                       part[0] = r_dot_r;
                       part[1] = r_dot_z;
                     });
      });
    cg_finish_residual(cg, sums[0], first);
    cg_finish_preconditioner(cg, sums[1], first);
  }

  template <typename Number, typename Where>
  void
  cg_residual_norm(Where, const CGResidual mode, const std::int64_t n, const Number *q, Number *r, const CGView &cg)
  {
    if (cg.scalars->status != CGStatus::iterating)
      return;
    const bool   update  = mode == CGResidual::update;
    const Number factor  = static_cast<Number>(update ? cg.scalars->alpha : cg.scalars->scale);
    double       r_dot_r = 0.;
    sum_parts<1>(n, cg.partials, &r_dot_r, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
      sums[0] = update ? residual_of_range<true>(factor, q, r, begin, end)
                       : residual_of_range<false>(factor, q, r, begin, end);
    });
    cg_finish_residual(cg, r_dot_r, mode == CGResidual::start);
  }

  template <typename Number, typename Where>
  void cg_preconditioned(
      Where, const CGResidual mode, const std::int64_t n, const Number *r, const Number *z, const CGView &cg)
  {
    if (cg.scalars->status != CGStatus::iterating)
      return;
    double r_dot_z = 0.;
    sum_parts<1>(n, cg.partials, &r_dot_z, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
      sums[0] = dot_of_range(r, z, begin, end);
    });
    cg_finish_preconditioner(cg, r_dot_z, mode == CGResidual::start);
  }

  template <typename Number, typename Where>
  void cg_direction(Where, const std::int64_t n, const Number *z, Number *x, Number *p, const CGView &cg)
  {
    const CGScalars &s      = *cg.scalars;
    const bool       move_x = x != nullptr && s.x_pending != 0;
    const bool       move_p = z != nullptr && s.status == CGStatus::iterating;
    const Number     alpha  = static_cast<Number>(s.x_step);
    const Number     beta   = static_cast<Number>(s.beta);
    const bool       p_is_z = s.beta == 0.; // then p may not have been set yet
    if (move_x && move_p && !p_is_z)
      return move_both(n, alpha, beta, z, x, p);
    if (move_x)
      move_solution(n, alpha, p, x);
    if (move_p && p_is_z)
      equ(Host(), n, Number(1), z, p);
    else if (move_p)
      sadd(Host(), n, beta, Number(1), z, p);
  }

  PATCHFEM_INSTANTIATE_CG(Host)
} // namespace PatchFEM::kernels
