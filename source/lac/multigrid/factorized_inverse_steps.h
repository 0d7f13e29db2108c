// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "factorized_inverse_tools.h"

#include "kernels/factorized_inverse.h"
#include "kernels/hash.h"
#include "kernels/launch.h"
#include "kernels/pattern_of.h"
#include "kernels/unique_rows.h"
#include "lac/graph/graph_tools.h"
#include <patchfem/kernels/atomics.h>

#include <algorithm>
#include <limits>
#include <type_traits>

/** @file The steps (see launch.h) of factorized_inverse_tools.h. */
namespace PatchFEM::multigrid
{
  namespace
  {
    /** The values of @p G, whose rows have @p width blocks at most and are of @p nodes or, without, of those of A. */
    template <typename Number>
    void factorize_rows(const SlicedEllpackMatrix<Number> &A,
                        const int                         *nodes,
                        const int                          width,
                        SlicedEllpackMatrix<Number>       &G)
    {
      using Body              = kernels::FactorizedInverseBody<Number>;
      const Backend &place    = A.backend();
      const int      n_c      = A.block_rows();
      const double   rounding = static_cast<double>(std::numeric_limits<Number>::epsilon());
      const Body     body{A.view(), G.view(), nodes, 8. * rounding};
      const int      n_threads = width * n_c <= 32 ? 32 : width * n_c <= 64 ? 64 : 128;
      launch(place, [&](const Here where) {
        kernels::block_for(where, G.n_rows() / n_c, Body::size(width, n_c), n_threads, body);
      });
    }

    /// Least c_ij of preceding_couplings(), and the most of a row.
    constexpr double least_strength = 0.15;
    constexpr int    most_couplings = 8;

    /// Of preceding_neighbours(), which all count if they are few.
    constexpr float least_of_neighbours = 1e-30f;

    /// Threads of a row, each with every so manieth of its blocks.
    constexpr int n_lanes = std::is_same<Here, Host>::value ? 1 : 8;

    /** Of rows of A, those of @p nodes or, where that is nullptr, all: where what belongs to their blocks stands. */
    struct BlocksOfRows
    {
      const int          *nodes;
      int                 n_rows;
      const std::int64_t *offsets; ///< [row]

      PATCHFEM_INLINE int node(const int row) const { return nodes != nullptr ? nodes[row] : row; }
    };

    /** Of blocks before their row |A_ij|^2 / (|A_ii| |A_jj|), and a little more than 0 where that is 0; of others 0. */
    template <typename Number>
    struct NeighbourStrengths
    {
      SlicedEllpackView<Number> A;
      const double             *diagonal; ///< norms of diagonal blocks
      BlocksOfRows              rows;
      float                    *strengths;

      PATCHFEM_INLINE void operator()(const std::int64_t item) const
      {
        const int row = static_cast<int>(item % rows.n_rows), i = rows.node(row);
        for (int k = static_cast<int>(item / rows.n_rows); k < A.row_lengths[i]; k += n_lanes)
        {
          const int  j = A.column(i, k);
          const bool precedes =
              j < A.n_rows && j != i &&
              kernels::hash(static_cast<std::uint64_t>(j)) < kernels::hash(static_cast<std::uint64_t>(i));
          double sum = 0.;
          for (int a = 0; a < A.block_rows && precedes; ++a)
            for (int c = 0; c < A.block_columns; ++c)
            {
              const double value = static_cast<double>(A.values[A.value_index(i, k, a, c)]);
              sum += diagonal[i] > 0. && diagonal[j] > 0. ? value * value / (diagonal[i] * diagonal[j]) : 0.;
            }
          strengths[rows.offsets[row] + k] = precedes ? least_of_neighbours + static_cast<float>(sum) : 0.f;
        }
      }
    };

    /** c_ij^2 of the blocks of nodes before that of their row, else 0. @tparam size as in with_block_size() */
    template <int size, typename Number>
    struct CouplingStrengths
    {
      SlicedEllpackView<Number> A;
      BlockDiagonalView<Number> D;     ///< D^-1
      const int                *sizes; ///< [node] 2 log2 of the norm of the diagonal block
      BlocksOfRows              rows;
      float                    *strengths;

      /** The stiffer of two nodes comes last, and reaches all that gives way with it; of two alike the higher number. */
      PATCHFEM_INLINE bool precedes(const int j, const int i) const
      {
        return j < A.n_rows && (sizes[j] < sizes[i] || (sizes[j] == sizes[i] && j < i));
      }

      PATCHFEM_INLINE double inverse(const int i, const int a, const int c) const
      {
        const int high = a > c ? a : c, low = a > c ? c : a;
        return static_cast<double>(D.values[(high * (high + 1) / 2 + low) * D.stride + i]);
      }

      /** The trace of D_i^-1 A_ij D_j^-1 A_ij^T over n_c, block @p k = (i, j). */
      PATCHFEM_INLINE double strength(const int i, const int k, const int j) const
      {
        constexpr int most = size > 0 ? size : kernels::max_block_size;
        const int     n_c  = size > 0 ? size : A.block_rows;
        double        block[most * most], sum = 0.;
        for (int a = 0; a < n_c; ++a)
          for (int c = 0; c < n_c; ++c)
            block[a * most + c] = static_cast<double>(A.values[A.value_index(i, k, a, c)]);
        for (int c = 0; c < n_c; ++c)
        {
          double column[most]; // c of A_ij D_j^-1
          for (int a = 0; a < n_c; ++a)
            column[a] = 0.;
          for (int e = 0; e < n_c; ++e)
          {
            const double d = inverse(j, e, c);
            for (int a = 0; a < n_c; ++a)
              column[a] += block[a * most + e] * d;
          }
          for (int a = 0; a < n_c; ++a)
            for (int e = 0; e < n_c; ++e)
              sum += block[a * most + c] * inverse(i, a, e) * column[e];
        }
        return sum / n_c;
      }

      PATCHFEM_INLINE void operator()(const std::int64_t item) const
      {
        const int row = static_cast<int>(item % rows.n_rows), i = rows.node(row);
        for (int k = static_cast<int>(item / rows.n_rows); k < A.row_lengths[i]; k += n_lanes)
        {
          const int j                      = A.column(i, k);
          strengths[rows.offsets[row] + k] = precedes(j, i) ? static_cast<float>(strength(i, k, j)) : 0.f;
        }
      }
    };

    template <typename Number>
    struct KeptBlocks
    {
      SlicedEllpackView<Number> A;
      BlocksOfRows              rows;
      const char               *kept; ///< [block]

      template <typename Use>
      PATCHFEM_INLINE void for_each(const int row, const Use &use) const
      {
        const int i = rows.node(row);
        for (int k = 0; k < A.row_lengths[i]; ++k)
          if (kept[rows.offsets[row] + k] != 0)
            use(A.column(i, k));
      }
    };

    template <typename Number>
    void lengths_of_rows(const SlicedEllpackMatrix<Number> &matrix, const BlocksOfRows &rows, Array<int> &lengths)
    {
      launch(matrix.backend(), rows.n_rows,
             [=, A = matrix.view(), lengths = lengths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
               lengths[row] = A.row_lengths[rows.node(static_cast<int>(row))];
             });
    }

    /** A strength for each block of rows. */
    struct StrengthsOfRows
    {
      Array<std::int64_t> offsets;
      Array<float>        of_block;
      BlocksOfRows        rows;

      template <typename Number>
      StrengthsOfRows(const SlicedEllpackMatrix<Number> &matrix, const int *nodes, const int n_rows)
          : offsets(matrix.backend(), std::size_t(n_rows) + 1), rows{nodes, n_rows, offsets.data()}
      {
        Array<int> lengths(matrix.backend(), n_rows);
        lengths_of_rows(matrix, rows, lengths);
        of_block.reinit(matrix.backend(), graph_tools::scan(lengths, offsets));
      }
    };

    /**
     * The pattern of each row's own node and of the @p most strongest blocks of at least @p least in it. Of strengths that rounding
     * may make different the first columns count.
     */
    template <typename Number>
    CompressedPattern strongest_of_rows(const SlicedEllpackMatrix<Number> &matrix,
                                        const StrengthsOfRows             &strengths,
                                        const float                        least,
                                        const int                          most)
    {
      const Backend     &place = matrix.backend();
      const BlocksOfRows rows  = strengths.rows;
      Array<char>        kept(place, strengths.of_block.size());
      launch(place, std::int64_t(rows.n_rows) * n_lanes,
             [=, A = matrix.view(), of_block = strengths.of_block.data(),
              kept = kept.data()] PATCHFEM_DEVICE(const std::int64_t item) {
               constexpr float    tie = 1e-4f;
               const int          row = static_cast<int>(item % rows.n_rows), i = rows.node(row), n = A.row_lengths[i];
               const float *const own = of_block + rows.offsets[row];
               for (int k = static_cast<int>(item / rows.n_rows); k < n; k += n_lanes)
               {
                 int n_stronger = 0;
                 for (int l = 0; own[k] >= least && l < n; ++l)
                   n_stronger += own[l] > (1.f + tie) * own[k] || (l < k && own[l] >= (1.f - tie) * own[k]);
                 kept[rows.offsets[row] + k] = A.column(i, k) == i || (own[k] >= least && n_stronger < most);
               }
             });
      return pattern_of(place, rows.n_rows, matrix.n_rows() / matrix.block_rows(),
                        KeptBlocks<Number>{matrix.view(), rows, kept.data()});
    }

    /** preceding_couplings() of @p n_rows rows, those of @p nodes or all. */
    template <typename Number>
    CompressedPattern couplings_of_rows(const SlicedEllpackMatrix<Number> &A,
                                        const BlockDiagonalView<Number>   &D,
                                        const int                         *nodes,
                                        const int                          n_rows)
    {
      const Backend      &place = A.backend();
      const Array<double> norms = graph_tools::diagonal_norms(Here(), A);
      Array<int>          sizes(place, norms.size());
      launch(place, sizes.size(), [norms = norms.data(), sizes = sizes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        sizes[i] = norms[i] > 0. ? static_cast<int>(std::floor(2. * std::log2(norms[i]))) : -10000;
      });
      StrengthsOfRows strengths(A, nodes, n_rows);
      kernels::with_block_size(A.block_rows(), [&](auto size) {
        launch(place, std::int64_t(n_rows) * n_lanes,
               CouplingStrengths<decltype(size)::value, Number>{A.view(), D, sizes.data(), strengths.rows,
                                                                strengths.of_block.data()});
      });
      return strongest_of_rows(A, strengths, static_cast<float>(least_strength * least_strength), most_couplings);
    }
  } // namespace

  template <typename Number, typename Where>
  CompressedPattern preceding_neighbours(Where, const SlicedEllpackMatrix<Number> &A, const int most)
  {
    const int           n        = A.n_rows() / A.block_rows();
    const Array<double> diagonal = graph_tools::diagonal_norms(Here(), A);
    StrengthsOfRows     strengths(A, nullptr, n);
    launch(A.backend(), std::int64_t(n) * n_lanes,
           NeighbourStrengths<Number>{A.view(), diagonal.data(), strengths.rows, strengths.of_block.data()});
    return strongest_of_rows(A, strengths, least_of_neighbours, most);
  }

  template <typename Number, typename Where>
  CompressedPattern preceding_couplings(Where, const SlicedEllpackMatrix<Number> &A, const BlockDiagonalView<Number> &D)
  {
    return couplings_of_rows<Number>(A, D, nullptr, A.n_rows() / A.block_rows());
  }

  template <typename Number, typename Where>
  std::int64_t count_soft_nodes(Where,
                                const SlicedEllpackMatrix<Number> &A,
                                const BlockDiagonalView<Number>   &D,
                                std::int64_t                      &n_looked_at)
  {
    constexpr int    least_sample = 2048, one_in = 16;
    constexpr double softness = 4.;
    const Backend   &place    = A.backend();
    const int        n_c = A.block_rows(), n = A.n_rows() / n_c;
    const int        n_samples = std::max(std::min(n, least_sample), n / one_in);
    n_looked_at                = n_samples;
    Array<int> nodes(place, n_samples), count(place, 1);
    count.set_zero();
    launch(place, n_samples, [=, nodes = nodes.data()] PATCHFEM_DEVICE(const std::int64_t s) {
      const std::int64_t begin = s * n / n_samples, end = (s + 1) * n / n_samples;
      nodes[s] = static_cast<int>(
          begin + static_cast<std::int64_t>(kernels::hash(s) % static_cast<std::uint64_t>(end - begin)));
    });
    const CompressedPattern pattern = couplings_of_rows<Number>(A, D, nodes.data(), n_samples);
    if (pattern.width <= 1)
      return 0;
    SlicedEllpackMatrix<Number> G;
    G.reinit(place, pattern.view(), n_c, n_c);
    factorize_rows(A, nodes.data(), pattern.width, G);
    // With S the Schur complement of the node, what is left of its block A_ii if neighbours give way, the diagonal block
    // of G has G^T G = S^-1.
    launch(place, n_samples,
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
    launch(place, lower.n_rows() / A.block_rows(),
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
    launch(from.backend(), from.size(),
           [=, z = from.data(), d = direction.data(), x = to.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const double step = c[1] * static_cast<double>(z[i]) + (first_d ? 0. : c[0] * static_cast<double>(d[i]));
             d[i]              = static_cast<Number>(step);
             x[i]              = static_cast<Number>(step + (first_x ? 0. : static_cast<double>(x[i])));
           });
  }

#define INSTANTIATE(Number)                                                                                            \
  template CompressedPattern preceding_neighbours(Here, const SlicedEllpackMatrix<Number> &, int);                     \
  template std::int64_t count_soft_nodes(Here, const SlicedEllpackMatrix<Number> &, const BlockDiagonalView<Number> &, \
                                         std::int64_t &);                                                              \
  template CompressedPattern preceding_couplings(Here, const SlicedEllpackMatrix<Number> &,                            \
                                                 const BlockDiagonalView<Number> &);                                   \
  template void factorize_inverse(Here, const SlicedEllpackMatrix<Number> &, int, SlicedEllpackMatrix<Number> &,       \
                                  SlicedEllpackMatrix<Number> &);                                                      \
  template void direction_step(Here, const double *, const Vector<Number> &, bool, bool, Vector<Number> &,             \
                               Vector<Number> &);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM::multigrid
