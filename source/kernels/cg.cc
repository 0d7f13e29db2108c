// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/instantiate.h"
#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/cg.h>

#include "product_host.h"

namespace PatchFEM::kernels
{
  namespace
  {
    template <typename Number>
    double product_of(const std::int64_t n, const Number *x, const Number *y, const CGView &cg)
    {
      double result = 0.;
      dot(Host(), n, x, y, cg.partials, &result);
      return result;
    }
  } // namespace

  template <typename Where>
  void cg_finish(Where, const CGSums sums, const CGView &cg)
  {
    cg_finish_sums(cg, sums);
  }

  template void cg_finish(Host, CGSums, const CGView &);

  template <typename Number, typename Where>
  void cg_step_length(Where, const std::int64_t n, const Number *p, const Number *q, const CGView &cg)
  {
    if (cg.scalars->status != CGStatus::iterating)
    {
      cg.scalars->x_pending = 0;
      return;
    }
    cg_end_product(cg, product_of(n, p, q, cg));
  }

  template <typename Value, typename Number, typename Where>
  void cg_residual(
      Where, const CGResidual mode, const BlockDiagonalView<Value> &D, const CGVectors<Number> &v, const CGView &cg)
  {
    if (cg.scalars->status != CGStatus::iterating)
      return;
    const bool    update = mode == CGResidual::update;
    const bool    first  = mode == CGResidual::start;
    const Number  factor = static_cast<Number>(update ? cg.scalars->alpha : cg.scalars->scale);
    const Number *q      = v.q;
    Number *const r = v.r, *const z = v.z;
    double sums[2] = {0., 0.};
    if (z == nullptr || D.block_size <= 1)
      sum_parts<2>(v.n, cg.partials, sums, [=](const std::int64_t begin, const std::int64_t end, double *part) {
        const auto walk = [&](auto is_update) {
          if (z != nullptr && D.block_size == 1)
            residual_of_range<decltype(is_update)::value, true>(factor, D.values, q, r, z, begin, end, part);
          else
            residual_of_range<decltype(is_update)::value, false>(factor, D.values, q, r, z, begin, end, part);
        };
        if (update)
          walk(std::true_type());
        else
          walk(std::false_type());
      });
    else
      with_block_size(D.block_size, [&](auto size) {
        constexpr int static_size = decltype(size)::value;
        const int     b           = static_size > 0 ? static_size : D.block_size;
        sum_parts<2>(
            D.n_blocks, cg.partials, sums, [&](const std::int64_t begin, const std::int64_t end, double *part) {
              double r_dot_r = 0., r_dot_z = 0.;
              for (std::int64_t i = begin; i < end; ++i)
              {
                Number r_block[max_block_size], z_block[max_block_size];
                for (int a = 0; a < b; ++a)
                  r_block[a] = r[i * b + a] = update ? r[i * b + a] - factor * q[i * b + a] : factor * q[i * b + a];
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
    cg_end_residual(cg, sums[0], first);
    if (z != nullptr)
      cg_end_preconditioner(cg, sums[1], first);
  }

  template <typename Number, typename Where>
  void cg_preconditioned(Where, const CGResidual mode, const CGVectors<Number> &v, const CGView &cg)
  {
    if (cg.scalars->status != CGStatus::iterating)
      return;
    cg_end_preconditioner(cg, product_of(v.n, v.r, v.z, cg), mode == CGResidual::start);
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
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
      {
        x[i] += alpha * p[i];
        p[i] = z[i] + beta * p[i];
      }
      return;
    }
    if (move_x)
    {
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        x[i] += alpha * p[i]; // rounded as above
    }
    if (move_p && p_is_z)
      equ(Host(), n, Number(1), z, p);
    else if (move_p)
      sadd(Host(), n, beta, Number(1), z, p);
  }

  PATCHFEM_INSTANTIATE_CG(Host)
} // namespace PatchFEM::kernels
