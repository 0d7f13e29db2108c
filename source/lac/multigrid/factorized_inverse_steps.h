// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "factorized_inverse_tools.h"

#include "kernels/factorized_inverse.h"
#include "kernels/hash.h"
#include "kernels/pattern_of.h"
#include "kernels/run.h"
#include "kernels/unique_rows.h"
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

  /** Couplings of nodes, see preceding_at_hinges(). */
  template <typename Number>
  struct HingeRows
  {
    static constexpr int team_size = 32, table_size = 512, n_kept = 64;

    /// Of the largest coupling of either node, which a strong one is.
    static constexpr double least_coupling = 0.05;

    SlicedEllpackView<Number> A;
    const double             *largest  = nullptr; ///< [node] see coupling()
    const double             *diagonal = nullptr; ///< norms of diagonal blocks
    const std::uint64_t      *order    = nullptr;
    const unsigned char      *reaches  = nullptr; ///< whether a row has more than itself

    /** The largest entry of block @p k of row @p i. */
    PATCHFEM_INLINE double coupling(const int i, const int k) const
    {
      double result = 0.;
      for (int a = 0; a < A.block_rows; ++a)
        for (int c = 0; c < A.block_columns; ++c)
          result = std::fmax(result, std::fabs(static_cast<double>(A.values[A.value_index(i, k, a, c)])));
      return result;
    }

    PATCHFEM_INLINE double largest_coupling(const int i) const
    {
      double result = 0.;
      for (int k = 0; k < A.row_lengths[i]; ++k)
        if (A.column(i, k) != i)
          result = std::fmax(result, coupling(i, k));
      return result;
    }

    /** Whether node @p i couples more than @p factor times what some neighbour does at most; @p of_node tells that. */
    template <typename OfNode>
    PATCHFEM_INLINE bool is_at_jump(const int i, const double factor, const OfNode &of_node) const
    {
      const double own = of_node(i);
      for (int k = 0; k < A.row_lengths[i]; ++k)
        if (const int j = A.column(i, k); // which couples with i, too
            j < A.n_rows && own > factor * coupling(i, k) && own > factor * of_node(j) && of_node(j) > 0.)
          return true;
      return false;
    }

    PATCHFEM_INLINE bool precedes(const int j, const int i) const { return j < A.n_rows && order[j] < order[i]; }

    /** What block @p k of row @p i couples over both diagonal blocks, or 0 where that is not strong. */
    PATCHFEM_INLINE double strong(const int i, const int k) const
    {
      const int j = A.column(i, k);
      if (j == i || j >= A.n_rows || !reaches[j])
        return 0.;
      const double value = coupling(i, k);
      return value > least_coupling * std::fmax(largest[i], largest[j]) ? value / std::sqrt(diagonal[i] * diagonal[j])
                                                                        : 0.;
    }

    template <typename Emit>
    PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
    {
      if (rank == 0)
        emit(i);
      for (int k = rank; reaches[i] && k < A.row_lengths[i]; k += size)
      {
        const int j = A.column(i, k);
        if (precedes(j, i))
          emit(j);
        if (strong(i, k) > 0.)
          for (int l = 0; l < A.row_lengths[j]; ++l)
            if (precedes(A.column(j, l), i) && strong(j, l) > 0.)
              emit(A.column(j, l));
      }
    }

    /** How much nodes @p i and @p p have to do with each other: neighbours more than those that others tie. */
    PATCHFEM_INLINE double strength(const int i, const int p) const
    {
      constexpr double of_neighbours = 100.;
      double           sum           = 0.;
      for (int k = 0; k < A.row_lengths[i]; ++k)
      {
        const int j = A.column(i, k);
        if (j == p)
          sum += of_neighbours * coupling(i, k) / std::sqrt(diagonal[i] * diagonal[p]);
        else if (const double own = strong(i, k); own > 0.)
          if (const int l = A.find_block(j, p); l >= 0)
            sum += own * strong(j, l);
      }
      return sum;
    }
  };

  /** Of the columns of a pattern those that are strongest, and the row's own. */
  struct StrongestColumns
  {
    SparsityView  pattern;
    const double *strengths; ///< [entry]
    int           most;

    /** Calls @p use(column) in ascending order; of strengths that rounding may make different the first columns count. */
    template <typename Use>
    PATCHFEM_INLINE void for_each(const int i, const Use &use) const
    {
      constexpr double   rounding = 1e-6;
      const std::int64_t begin = pattern.row_offsets[i], end = pattern.row_offsets[i + 1];
      for (std::int64_t e = begin; e < end; ++e)
      {
        int n_stronger = 0;
        for (std::int64_t f = begin; f < end && end - begin > most + 1 && pattern.columns[e] != i; ++f)
          if (f != e && pattern.columns[f] != i)
            n_stronger += strengths[f] > (1. + rounding) * strengths[e] ||
                          (f < e && strengths[f] >= (1. - rounding) * strengths[e]);
        if (n_stronger < most)
          use(pattern.columns[e]);
      }
    }
  };

  namespace
  {
    /** Bytes that rows of a factor are worked out in at once: on the host some that stay in fast memory. */
    constexpr std::int64_t workspace_bytes = std::is_same<Here, Host>::value ? 1 << 22 : 1 << 25;

    /** The values of @p G, whose rows have @p width blocks at most and are of @p nodes or, without, of those of A. */
    template <typename Number>
    void factorize_rows(const SlicedEllpackMatrix<Number> &A,
                        const int                         *nodes,
                        const int                          width,
                        SlicedEllpackMatrix<Number>       &G)
    {
      using Body                = kernels::FactorizedInverseBody<Number>;
      const Backend     &place  = A.backend();
      const int          n      = G.n_rows() / A.block_rows();
      const std::int64_t stride = Body::size(width, A.block_rows());
      const int          n_at_once =
          static_cast<int>(std::clamp<std::int64_t>(workspace_bytes / (8 * stride + 1), 8, std::max(n, 8)));
      Array<double> workspace(place, std::size_t(std::min(n_at_once, n)) * stride);
      const double  tolerance = 8. * static_cast<double>(std::numeric_limits<Number>::epsilon());
      for (int first = 0; first < n; first += n_at_once)
      {
        const Body body{A.view(), G.view(), nodes, first, workspace.data(), stride, tolerance};
        launch(place, [&](const Here where) { kernels::team_for(where, std::min(n_at_once, n - first), body); });
      }
      place.synchronize();
    }
  } // namespace

  template <typename Number, typename Where>
  CompressedPattern preceding_neighbours(Where where, const SlicedEllpackMatrix<Number> &matrix, const int most)
  {
    const Backend                    &place    = matrix.backend();
    const int                         n        = matrix.n_rows() / matrix.block_rows();
    const Array<double>               diagonal = graph_tools::diagonal_norms(where, matrix);
    const PrecedingNeighbours<Number> rows{matrix.view(), diagonal.data(), most};
    return pattern_of(place, n, n, rows);
  }

  template <typename Number, typename Where>
  CompressedPattern
  preceding_at_hinges(Where where, const SlicedEllpackMatrix<Number> &A, const bool at_jumps, const int most)
  {
    constexpr double     jump  = 4.; // all of a cell with a few stiff points, which those further away couple with less
    const Backend       &place = A.backend();
    const int            n     = A.n_rows() / A.block_rows();
    const Array<double>  diagonal = graph_tools::diagonal_norms(where, A);
    Array<double>        largest(place, n);
    Array<std::uint64_t> order(place, n);
    Array<unsigned char> reaches(place, n);
    HingeRows<Number>    rows{A.view(), largest.data(), diagonal.data(), order.data(), reaches.data()};
    for_all(place, n, [=, largest = largest.data(), order = order.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      constexpr double above = 4096.; // 2 log2 of doubles is
      const double     size  = rows.diagonal[i];
      const auto       step  = static_cast<std::uint64_t>(size > 0. ? above + 2. * std::log2(size) : 0.);
      order[i]               = step << 48 | kernels::hash(static_cast<std::uint64_t>(i)) >> 16;
      largest[i]             = rows.largest_coupling(static_cast<int>(i));
    });
    for_all(place, n, [=, reaches = reaches.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      reaches[i] =
          !at_jumps || rows.is_at_jump(static_cast<int>(i), jump, [=](const int j) { return rows.largest[j]; });
    });
    CompressedPattern all;
    launch(place, [&](const Here here) { all = kernels::unique_rows(here, place, n, n, rows); });
    Array<double> strengths(place, all.columns.size());
    for_all(place, n, [=, all = all.view(), strengths = strengths.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      const std::int64_t begin = all.row_offsets[i], end = all.row_offsets[i + 1];
      for (std::int64_t e = begin; e < end && end - begin > most + 1; ++e)
        strengths[e] = rows.strength(static_cast<int>(i), all.columns[e]);
    });
    return pattern_of(place, n, n, StrongestColumns{all.view(), strengths.data(), most});
  }

  namespace
  {
    /** Itself and all neighbours of sampled nodes at a jump; others have themselves. */
    template <typename Number>
    struct SampledRows
    {
      HingeRows<Number>    hinges;
      const int           *nodes;
      const unsigned char *reaches;

      template <typename Use>
      PATCHFEM_INLINE void for_each(const int s, const Use &use) const
      {
        const int i = nodes[s];
        for (int k = 0; k < hinges.A.row_lengths[i]; ++k)
          if (const int j = hinges.A.column(i, k); j == i || (reaches[s] && j < hinges.A.n_rows))
            use(j);
      }
    };
  } // namespace

  template <typename Number, typename Where>
  std::int64_t count_hinges(Where, const SlicedEllpackMatrix<Number> &A, std::int64_t &n_rows)
  {
    constexpr int    most = 256, most_neighbours = 40; // of spaces of higher degree rows are long and not looked at
    constexpr double jump = 20., softness = 10.;
    const Backend   &place = A.backend();
    const int        n_c = A.block_rows(), n = A.n_rows() / n_c, n_samples = std::min(n, most);
    n_rows = n_samples;
    Array<int>           nodes(place, n_samples), count(place, 1);
    Array<unsigned char> reaches(place, n_samples);
    count.set_zero();
    for_all(place, n_samples,
            [=, rows = HingeRows<Number>{A.view()}, nodes = nodes.data(), reaches = reaches.data(),
             count = count.data()] PATCHFEM_DEVICE(const std::int64_t s) {
              const std::int64_t begin = s * n / n_samples, end = (s + 1) * n / n_samples;
              const int          i = static_cast<int>(
                  begin + static_cast<std::int64_t>(kernels::hash(s) % static_cast<std::uint64_t>(end - begin)));
              nodes[s]   = i;
              reaches[s] = rows.A.row_lengths[i] <= most_neighbours &&
                           rows.is_at_jump(i, jump, [&](const int j) { return rows.largest_coupling(j); });
              if (reaches[s])
                kernels::atomic_increment(count);
            });
    if (count.read(0) == 0)
      return 0;
    count.set_zero();
    const CompressedPattern pattern =
        pattern_of(place, n_samples, n, SampledRows<Number>{HingeRows<Number>{A.view()}, nodes.data(), reaches.data()});
    SlicedEllpackMatrix<Number> G;
    G.reinit(place, pattern.view(), n_c, n_c);
    factorize_rows(A, nodes.data(), pattern.width, G);
    // With S the Schur complement of the node, what is left of its block A_ii if neighbours give way, the diagonal block
    // of G has G^T G = S^-1.
    for_all(place, n_samples,
            [=, A = A.view(), G = G.view(), nodes = nodes.data(),
             count = count.data()] PATCHFEM_DEVICE(const std::int64_t sample) {
              const int s = static_cast<int>(sample), i = nodes[s], p = G.find_block(s, i), k = A.find_block(i, i);
              double    trace = 0.;
              for (int a = 0; a < n_c; ++a)
                for (int c = 0; c < n_c; ++c)
                  for (int l = 0; l < n_c; ++l)
                    trace += static_cast<double>(A.values[A.value_index(i, k, a, c)]) *
                             static_cast<double>(G.values[G.value_index(s, p, l, a)]) *
                             static_cast<double>(G.values[G.value_index(s, p, l, c)]);
              if (trace > softness * n_c)
                kernels::atomic_increment(count);
            });
    return count.read(0);
  }

  template <typename Number, typename Where>
  void factorize_inverse(Where,
                         const SlicedEllpackMatrix<Number> &A,
                         const int                          width,
                         SlicedEllpackMatrix<Number>       &lower,
                         SlicedEllpackMatrix<Number>       &upper)
  {
    const Backend &place = A.backend();
    factorize_rows(A, nullptr, width, lower);
    for_all(place, lower.n_rows() / A.block_rows(),
            [G = lower.view(), T = upper.view()] PATCHFEM_DEVICE(const std::int64_t row) {
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
  template CompressedPattern preceding_at_hinges(Here, const SlicedEllpackMatrix<Number> &, bool, int);                  \
  template std::int64_t      count_hinges(Here, const SlicedEllpackMatrix<Number> &, std::int64_t &);                    \
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
