// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "factorized_inverse_tools.h"

#include "kernels/factorized_inverse.h"
#include "kernels/hash.h"
#include "kernels/run.h"
#include "lac/graph/graph_tools.h"
#include <patchfem/kernels/atomics.h>

#include <algorithm>
#include <limits>
#include <type_traits>

/** @file The steps (see run.h) of factorized_inverse_tools.h. */
namespace PatchFEM::multigrid
{
  /** The columns of rows of G. */
  template <typename Number>
  struct PrecedingNeighbours
  {
    SlicedEllpackView<Number> A;
    const double             *diagonal; ///< norms of diagonal blocks
    int                       most;

    PATCHFEM_INLINE bool precedes(const int j, const int i) const
    {
      return j < A.n_rows && j != i &&
             kernels::hash(static_cast<std::uint64_t>(j)) < kernels::hash(static_cast<std::uint64_t>(i));
    }

    /** The square of the norm of block @p k of row @p i over that of its column's diagonal block. */
    PATCHFEM_INLINE double strength(const int i, const int k, const int j) const
    {
      double sum = 0.;
      for (int a = 0; a < A.block_rows; ++a)
        for (int c = 0; c < A.block_columns; ++c)
        {
          const double value = static_cast<double>(A.values[A.value_index(i, k, a, c)]);
          sum += value * value;
        }
      return sum / diagonal[j];
    }

    /** Calls @p use(column) in ascending order; of strengths that rounding may make different the first columns count. */
    template <typename Use>
    PATCHFEM_INLINE void for_each(const int i, const Use &use) const
    {
      constexpr double rounding = 1e-6;
      int              n        = 0;
      for (int k = 0; k < A.row_lengths[i]; ++k)
        n += precedes(A.column(i, k), i);
      for (int k = 0; k < A.row_lengths[i]; ++k)
      {
        const int j    = A.column(i, k);
        bool      kept = j == i || precedes(j, i);
        if (kept && j != i && n > most)
        {
          const double own        = strength(i, k, j);
          int          n_stronger = 0;
          for (int l = 0; l < A.row_lengths[i]; ++l)
            if (const int other = A.column(i, l); l != k && precedes(other, i))
            {
              const double s = strength(i, l, other);
              n_stronger += s > (1. + rounding) * own || (l < k && s >= (1. - rounding) * own);
            }
          kept = n_stronger < most;
        }
        if (kept)
          use(j);
      }
    }
  };

  namespace
  {
    /** Bytes that rows of a factor are worked out in at once: on the host some that stay in fast memory. */
    constexpr std::int64_t workspace_bytes = std::is_same<Here, Host>::value ? 1 << 22 : 1 << 25;
  } // namespace

  template <typename Number, typename Where>
  CompressedPattern preceding_neighbours(Where where, const SlicedEllpackMatrix<Number> &matrix, const int most)
  {
    const Backend                    &place    = matrix.backend();
    const int                         n        = matrix.n_rows() / matrix.block_rows();
    const Array<double>               diagonal = graph_tools::diagonal_norms(where, matrix);
    const PrecedingNeighbours<Number> rows{matrix.view(), diagonal.data(), most};
    Array<int>                        lengths(place, n);
    CompressedPattern                 result;
    for_all(place, n, [=, lengths = lengths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
      int count = 0;
      rows.for_each(static_cast<int>(row), [&](int) { ++count; });
      lengths[row] = count;
    });
    launch(place, [&](const Here here) { result = CompressedPattern(here, n, lengths); });
    for_all(
        place, n,
        [=, offsets = result.offsets.data(), columns = result.columns.data()] PATCHFEM_DEVICE(const std::int64_t row) {
          std::int64_t to = offsets[row];
          rows.for_each(static_cast<int>(row), [&](const int j) { columns[to++] = j; });
        });
    place.synchronize();
    return result;
  }

  template <typename Number, typename Where>
  void factorize_inverse(Where,
                         const SlicedEllpackMatrix<Number> &A,
                         const int                          width,
                         SlicedEllpackMatrix<Number>       &lower,
                         SlicedEllpackMatrix<Number>       &upper)
  {
    using Body                = kernels::FactorizedInverseBody<Number>;
    const Backend     &place  = A.backend();
    const int          n      = A.n_rows() / A.block_rows();
    const std::int64_t stride = Body::size(width, A.block_rows());
    const int          n_at_once =
        static_cast<int>(std::clamp<std::int64_t>(workspace_bytes / (8 * stride + 1), 8, std::max(n, 8)));
    Array<double> workspace(place, std::size_t(std::min(n_at_once, n)) * stride);
    const double  tolerance = 8. * static_cast<double>(std::numeric_limits<Number>::epsilon());
    for (int first = 0; first < n; first += n_at_once)
    {
      const Body body{A.view(), lower.view(), first, workspace.data(), stride, tolerance};
      launch(place, [&](const Here where) { kernels::team_for(where, std::min(n_at_once, n - first), body); });
    }
    for_all(place, n, [G = lower.view(), T = upper.view()] PATCHFEM_DEVICE(const std::int64_t row) {
      const int j = static_cast<int>(row);
      for (int k = 0; k < T.row_lengths[j]; ++k)
      {
        const int i = T.column(j, k), p = G.find_block(i, j);
        for (int a = 0; a < T.block_rows; ++a)
          for (int c = 0; c < T.block_rows; ++c)
            T.values[T.value_index(j, k, c, a)] = G.values[G.value_index(i, p, a, c)];
      }
    });
    place.synchronize();
  }

  template <typename Number, typename Where>
  void direction_step(Where,
                      const double         *c,
                      const Vector<Number> &from,
                      const bool            first_d,
                      const bool            first_x,
                      Vector<Number>       &direction,
                      Vector<Number>       &to)
  {
    for_all(from.backend(), from.size(),
            [=, z = from.data(), d = direction.data(), x = to.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              const double step = c[1] * static_cast<double>(z[i]) + (first_d ? 0. : c[0] * static_cast<double>(d[i]));
              d[i]              = static_cast<Number>(step);
              x[i]              = static_cast<Number>(step + (first_x ? 0. : static_cast<double>(x[i])));
            });
  }

  template <>
  void add_isochoric_modes(Here, const int dim, Array<double> &modes)
  {
    const int     n_rigid = dim * (dim + 1) / 2, n_modes = n_rigid + dim * (dim + 1) / 2 - 1;
    Array<double> all(modes.backend(), modes.size() / n_rigid * n_modes);
    for_all(all.backend(), modes.size() / (std::size_t(n_rigid) * dim),
            [=, rigid = modes.data(), all = all.data()] PATCHFEM_DEVICE(const std::int64_t node) {
              const double *const from = rigid + node * dim * n_rigid;
              double *const       to   = all + node * dim * n_modes;
              double              x[3] = {};
              for (int d = 0; d < dim; ++d) // rotation r has coordinate r + 1 in component r + 2
              {
                const int r = (d + 2) % 3;
                x[d] = dim == 3 ? from[(d + 1) % 3 * n_rigid + 3 + r] : (d == 0 ? 1. : -1.) * from[(1 - d) * 3 + 2];
              }
              for (int d = 0; d < dim; ++d)
                for (int m = 0; m < n_modes; ++m)
                  to[d * n_modes + m] = m < n_rigid ? from[d * n_rigid + m] : 0.;
              int m = n_rigid;
              for (int d = 0; d < dim; ++d)
                for (int e = d + 1; e < dim; ++e, ++m)
                {
                  to[d * n_modes + m] = x[e];
                  to[e * n_modes + m] = x[d];
                }
              for (int d = 0; d + 1 < dim; ++d, ++m)
              {
                to[d * n_modes + m]       = x[d];
                to[(d + 1) * n_modes + m] = -x[d + 1];
              }
            });
    modes.swap(all);
  }

  template <typename Number, typename Where>
  std::int64_t count_nearly_incompressible(Where,
                                           const SlicedEllpackMatrix<Number> &matrix,
                                           const Array<double>               &positions,
                                           const int                          n_known)
  {
    constexpr double least_ratio = 6.; // lambda / mu
    Array<int>       count(matrix.backend(), 1);
    count.set_zero();
    for_all(matrix.backend(), matrix.n_rows() / matrix.block_rows(),
            [=, A = matrix.view(), points = positions.data(),
             count = count.data()] PATCHFEM_DEVICE(const std::int64_t row) {
              const int           i = static_cast<int>(row), dim = A.block_rows;
              const double *const x   = points + row * dim;
              double              sum = 0., size = 0., first[3] = {}, first_size[3] = {}, isotropic = 0., along = 0.;
              for (int k = 0; k < A.row_lengths[i]; ++k)
              {
                const int j = A.column(i, k);
                if (j >= n_known)
                  return;
                double y[3] = {}, square = 0., trace = 0.;
                for (int a = 0; a < dim; ++a)
                {
                  y[a] = points[std::int64_t(j) * dim + a] - x[a];
                  square += y[a] * y[a];
                  trace += static_cast<double>(A.values[A.value_index(i, k, a, a)]);
                }
                sum += trace;
                size += std::fabs(trace);
                isotropic -= 0.5 * trace * square;
                for (int a = 0; a < dim; ++a)
                {
                  first[a] += trace * y[a];
                  first_size[a] += std::fabs(trace * y[a]);
                  for (int c = 0; c < dim; ++c)
                    along -= 0.5 * static_cast<double>(A.values[A.value_index(i, k, a, c)]) * y[a] * y[c];
                }
              }
              bool inside = std::fabs(sum) < 1e-2 * size;
              for (int a = 0; a < dim; ++a)
                inside = inside && std::fabs(first[a]) <= 0.1 * first_size[a];
              const double bound =
                  (dim * (dim + 1) * least_ratio + dim * (dim + 3)) / (2. * dim * least_ratio + 2. * dim * (dim + 1));
              if (inside && (isotropic > 0. ? along > bound * isotropic : along < bound * isotropic))
                kernels::atomic_increment(count);
            });
    return count.read(0);
  }

#define INSTANTIATE(Number)                                                                                              \
  template CompressedPattern preceding_neighbours(Here, const SlicedEllpackMatrix<Number> &, int);                       \
  template void         factorize_inverse(Here, const SlicedEllpackMatrix<Number> &, int, SlicedEllpackMatrix<Number> &, \
                                          SlicedEllpackMatrix<Number> &);                                                \
  template void         direction_step(Here, const double *, const Vector<Number> &, bool, bool, Vector<Number> &,       \
                                       Vector<Number> &);                                                                \
  template std::int64_t count_nearly_incompressible(Here, const SlicedEllpackMatrix<Number> &, const Array<double> &,    \
                                                    int);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM::multigrid
