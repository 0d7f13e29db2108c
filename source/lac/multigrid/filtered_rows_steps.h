// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "multigrid_tools.h"

#include "kernels/run.h"

#include <cmath>
#include <type_traits>

/** @file The steps (see run.h) of multigrid_tools.h that leave blocks of a prolongator out. */
namespace PatchFEM::multigrid
{
  /// The most unit columns that a mode may take: a single node's row takes omega at most, below 2 as lambda_max >= 1.
  constexpr double most_folded = 2.;

  template <typename Number, typename Where>
  void fold_blocks(Where,
                   const CompressedPattern &all_blocks,
                   const CompressedPattern &kept_blocks,
                   const Array<int>        &aggregate_of_node,
                   const Array<double>     &coarse_modes,
                   const int                n_c,
                   const int                n_m,
                   const int                first,
                   const int                last,
                   const Array<Number>     &all_values,
                   Array<Number>           &kept_values)
  {
    // Item (i - first) * n_c + a is scalar row a of block row i.
    for_all(kept_values.backend(), std::int64_t(last - first) * n_c,
            [=, all = all_blocks.view(), kept = kept_blocks.view(), aggregate_of_node = aggregate_of_node.data(),
             modes = coarse_modes.data(), all_values = all_values.data(),
             kept_values = kept_values.data()] PATCHFEM_DEVICE(const std::int64_t item) {
              const std::int64_t i = first + item / n_c, begin = all.row_offsets[i], kept_begin = kept.row_offsets[i];
              const int          n = static_cast<int>(all.row_offsets[i + 1] - begin), a = static_cast<int>(item % n_c);
              const int     n_kept = static_cast<int>(kept.row_offsets[i + 1] - kept_begin), own = aggregate_of_node[i];
              const Number *from   = all_values + ((begin - all.row_offsets[first]) * n_c + std::int64_t(a) * n) * n_m;
              Number *const to     = kept_values + (kept_begin * n_c + std::int64_t(a) * n_kept) * n_m;
              Number       *to_own = nullptr;
              double        motion[kernels::max_block_size];
              for (int m = 0; m < n_m; ++m)
                motion[m] = 0.;
              for (int q = 0, p = 0; q < n; ++q, from += n_m)
              {
                const int aggregate = all.columns[begin + q];
                if (p < n_kept && kept.columns[kept_begin + p] == aggregate)
                {
                  for (int m = 0; m < n_m; ++m)
                    to[p * n_m + m] = from[m];
                  if (aggregate == own)
                    to_own = to + p * n_m;
                  ++p;
                  continue;
                }
                const double *R = modes + std::int64_t(aggregate) * n_m * n_m;
                for (int l = 0; l < n_m; ++l)
                  for (int m = l; m < n_m; ++m)
                    motion[m] += static_cast<double>(from[l]) * R[l * n_m + m];
              }
              if (to_own == nullptr || n == n_kept)
                return;
              const double *R = modes + std::int64_t(own) * n_m * n_m;
              for (int m = 0; m < n_m; ++m)
              {
                for (int l = 0; l < m; ++l)
                  motion[m] -= motion[l] * R[l * n_m + m];
                const double own_part = R[m * n_m + m], taken = own_part > 0. ? motion[m] / own_part : 0.;
                motion[m] = taken <= most_folded && taken >= -most_folded ? taken : 0.;
                to_own[m] = static_cast<Number>(static_cast<double>(to_own[m]) + motion[m]);
              }
            });
  }

  /// A mode whose part that others do not have is shorter than this, squared, over all blocks of a row depends on them.
  template <typename Number>
  constexpr double least_pivot = std::is_same<Number, double>::value ? 1e-10 : 1e-6;

  template <typename Number, typename Where>
  void project_blocks(Where,
                      const CompressedPattern &all_blocks,
                      const CompressedPattern &kept_blocks,
                      const Array<double>     &coarse_modes,
                      const int                n_c,
                      const int                n_m,
                      const int                first,
                      const int                last,
                      const Array<Number>     &all_values,
                      Array<Number>           &kept_values)
  {
    for_all(kept_values.backend(), last - first,
            [=, all = all_blocks.view(), kept = kept_blocks.view(), modes = coarse_modes.data(),
             all_values = all_values.data(), kept_values = kept_values.data()] PATCHFEM_DEVICE(const std::int64_t row) {
              constexpr int      most = kernels::max_block_size;
              const std::int64_t i = first + row, begin = all.row_offsets[i], kept_begin = kept.row_offsets[i];
              const int          n      = static_cast<int>(all.row_offsets[i + 1] - begin);
              const int          n_kept = static_cast<int>(kept.row_offsets[i + 1] - kept_begin);
              const Number      *from   = all_values + (begin - all.row_offsets[first]) * n_c * n_m;
              Number *const      to     = kept_values + kept_begin * n_c * n_m;
              const auto R_of = [=](const int q) { return modes + std::int64_t(all.columns[begin + q]) * n_m * n_m; };
              const auto is_kept = [=](const int p, const int q) {
                return p < n_kept && kept.columns[kept_begin + p] == all.columns[begin + q];
              };
              // C^T C of the modes C of the blocks that are kept, scaled to unit diagonal.
              double L[most * (most + 1) / 2], scale[most];
              for (int m = 0; m < n_m * (n_m + 1) / 2; ++m)
                L[m] = 0.;
              for (int q = 0, p = 0; q < n && n > n_kept; ++q)
                if (is_kept(p, q))
                {
                  ++p;
                  const double *const R = R_of(q);
                  for (int m = 0, e = 0; m < n_m; ++m)
                    for (int c = 0; c <= m; ++c, ++e)
                      for (int l = 0; l <= c; ++l)
                        L[e] += R[l * n_m + m] * R[l * n_m + c];
                }
              for (int m = 0; m < n_m && n > n_kept; ++m)
              {
                const double square = L[m * (m + 1) / 2 + m];
                scale[m]            = square > 0. ? 1. / std::sqrt(square) : 0.;
              }
              // Cholesky, which leaves out what depends on the modes before.
              for (int m = 0; m < n_m && n > n_kept; ++m)
              {
                double *const L_m = L + m * (m + 1) / 2;
                for (int c = 0; c <= m; ++c)
                {
                  const double *const L_c = L + c * (c + 1) / 2;
                  double              sum = L_m[c] * scale[m] * scale[c];
                  for (int l = 0; l < c; ++l)
                    sum -= L_m[l] * L_c[l];
                  if (c < m)
                    L_m[c] = sum * L_c[c];
                  else
                    L_m[m] = sum > least_pivot<Number> ? 1. / std::sqrt(sum) : 0.;
                }
              }
              for (int a = 0; a < n_c; ++a)
              {
                double X[most];
                for (int m = 0; m < n_m; ++m)
                  X[m] = 0.;
                for (int q = 0, p = 0; q < n; ++q)
                {
                  const Number *const block = from + (std::int64_t(a) * n + q) * n_m;
                  if (is_kept(p, q))
                  {
                    for (int m = 0; m < n_m; ++m)
                      to[(std::int64_t(a) * n_kept + p) * n_m + m] = block[m];
                    ++p;
                    continue;
                  }
                  const double *const R = R_of(q);
                  for (int l = 0; l < n_m; ++l)
                    for (int m = l; m < n_m; ++m)
                      X[m] += static_cast<double>(block[l]) * R[l * n_m + m];
                }
                if (n == n_kept)
                  continue;
                for (int m = 0; m < n_m; ++m)
                {
                  const double *const L_m = L + m * (m + 1) / 2;
                  X[m] *= scale[m];
                  for (int c = 0; c < m; ++c)
                    X[m] -= L_m[c] * X[c];
                  X[m] *= L_m[m];
                }
                for (int m = n_m - 1; m >= 0; --m)
                {
                  for (int c = m + 1; c < n_m; ++c)
                    X[m] -= L[c * (c + 1) / 2 + m] * X[c];
                  X[m] *= L[m * (m + 1) / 2 + m];
                }
                for (int m = 0; m < n_m; ++m)
                  X[m] *= scale[m];
                for (int q = 0, p = 0; q < n; ++q)
                  if (is_kept(p, q))
                  {
                    const double *const R     = R_of(q);
                    Number *const       block = to + (std::int64_t(a) * n_kept + p) * n_m;
                    for (int l = 0; l < n_m; ++l)
                    {
                      double sum = static_cast<double>(block[l]);
                      for (int m = l; m < n_m; ++m)
                        sum += R[l * n_m + m] * X[m];
                      block[l] = static_cast<Number>(sum);
                    }
                    ++p;
                  }
              }
            });
  }

#define INSTANTIATE(Number)                                                                                            \
  template void fold_blocks(Here, const CompressedPattern &, const CompressedPattern &, const Array<int> &,            \
                            const Array<double> &, int, int, int, int, const Array<Number> &, Array<Number> &);        \
  template void project_blocks(Here, const CompressedPattern &, const CompressedPattern &, const Array<double> &, int, \
                               int, int, int, const Array<Number> &, Array<Number> &);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM::multigrid
