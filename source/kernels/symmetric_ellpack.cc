// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/symmetric_ellpack.h>

#include "reduce_host.h"

#include <algorithm>
#include <type_traits>
#include <vector>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      /**
       * Calls @p use(row, sum) for the rows of patch @p p. The sums of the patch, @p y, and its part of the source stay in
       * the first-level cache, so both products of a block are added as soon as it is read.
       */
      template <int b, typename Sum, typename Number, typename Use>
      inline void patch_product(
          const SymmetricEllpackView<Number> &A, const int p, const Number *__restrict__ x, Sum *y, const Use &use)
      {
        constexpr int      h = SymmetricEllpackView<Number>::slice_height, n_diagonal = b * (b + 1) / 2;
        const int          n           = A.n_rows_of(p);
        const std::int64_t first_row   = std::int64_t(p) * A.patch_rows;
        const Number *__restrict__ own = x + first_row * b;
        std::fill(y, y + std::size_t(n) * b, Sum(0));
        for (int first = 0; first < n; first += h)
        {
          const std::int64_t   s       = (first_row + first) / h;
          const std::uint32_t *rows    = A.rows + s * h;
          const int            n_lanes = std::min(h, n - first);
          int                  row[h], n_inner[h], n_outer[h];
          const std::int64_t   inner = A.inner_offsets[s], outer = A.outer_offsets[s];
          const int            inner_width = static_cast<int>((A.inner_offsets[s + 1] - inner) / h);
          const int            outer_width = static_cast<int>((A.outer_offsets[s + 1] - outer) / h);
          for (int r = 0; r < n_lanes; ++r)
          {
            row[r]     = SymmetricRow::row(rows[r]);
            n_inner[r] = SymmetricRow::n_inner(rows[r], inner_width);
            n_outer[r] = SymmetricRow::n_outer(rows[r], outer_width);
            int e      = 0;
            for (int a = 0; a < b; ++a)
              for (int c = a; c < b; ++c, ++e)
              {
                const Sum value = static_cast<Sum>(A.diagonal[s * h * n_diagonal + e * h + r]);
                y[row[r] * b + a] += value * static_cast<Sum>(own[row[r] * b + c]);
                if (c != a)
                  y[row[r] * b + c] += value * static_cast<Sum>(own[row[r] * b + a]);
              }
          }
          for (int k = 0; k < inner_width; ++k)
          {
            const std::uint16_t *columns = A.inner_columns + inner + k * h;
            const Number        *values  = A.inner_values + (inner + k * h) * (b * b);
            for (int r = 0; r < n_lanes; ++r)
              if (k < n_inner[r])
              {
                const int i = row[r] * b, j = columns[r] * b;
                for (int a = 0; a < b; ++a)
                  for (int c = 0; c < b; ++c)
                  {
                    const Sum value = static_cast<Sum>(values[(a * b + c) * h + r]);
                    y[i + a] += value * static_cast<Sum>(own[j + c]);
                    y[j + c] += value * static_cast<Sum>(own[i + a]);
                  }
              }
          }
          for (int k = 0; k < outer_width; ++k)
          {
            const int    *columns = A.outer_columns + outer + k * h;
            const Number *values  = A.outer_values + (outer + k * h) * (b * b);
            for (int r = 0; r < n_lanes; ++r)
              if (k < n_outer[r])
                for (int a = 0; a < b; ++a)
                {
                  Sum sum = 0;
                  for (int c = 0; c < b; ++c)
                    sum += static_cast<Sum>(values[(a * b + c) * h + r]) *
                           static_cast<Sum>(x[std::int64_t(columns[r]) * b + c]);
                  y[row[r] * b + a] += sum;
                }
          }
        }
        for (int i = 0; i < n * b; ++i)
          use(first_row * b + i, y[i]);
      }

      /** Calls @p function with the size of blocks as a constant. */
      template <typename Function>
      void with_symmetric_block_size(const int block_size, const Function &function)
      {
        using std::integral_constant;
        switch (block_size)
        {
        case 1:
          return function(integral_constant<int, 1>());
        case 2:
          return function(integral_constant<int, 2>());
        case 3:
          return function(integral_constant<int, 3>());
        case 6:
          return function(integral_constant<int, 6>());
        }
      }

      template <typename Sum, typename Number, typename Use>
      void product(const SymmetricEllpackView<Number> &A, const Number *x, const Use &use)
      {
        const int n_patches = A.n_patches();
        with_symmetric_block_size(A.block_size, [&](auto b) {
#pragma omp parallel
          {
            std::vector<Sum> y(std::size_t(A.patch_rows) * b);
#pragma omp for schedule(static)
            for (int p = 0; p < n_patches; ++p)
              patch_product<b>(A, p, x, y.data(), use);
          }
        });
      }
    } // namespace

    template <typename Number>
    void vmult(Host, const SymmetricEllpackView<Number> &A, const Number *src, Number *dst)
    {
      product<Number>(A, src, [=](const std::int64_t row, const Number sum) { dst[row] = sum; });
    }

    template <typename Number>
    void vmult_add(Host, const SymmetricEllpackView<Number> &A, const Number *src, Number *dst)
    {
      product<Number>(A, src, [=](const std::int64_t row, const Number sum) { dst[row] += sum; });
    }

    template <typename Number>
    void residual(Host, const SymmetricEllpackView<Number> &A, const Number *x, const Number *b, Number *r)
    {
      product<double>(A, x, [=](const std::int64_t row, const double sum) {
        r[row] = static_cast<Number>(static_cast<double>(b[row]) - sum);
      });
    }

    template <typename Number>
    void cg_product(Host, const SymmetricEllpackView<Number> &A, const Number *p, Number *q, const CGView &cg)
    {
      if (cg.scalars->status != CGStatus::iterating)
      {
        cg.scalars->x_pending = 0;
        return;
      }
      double p_dot_q = 0.;
      with_symmetric_block_size(A.block_size, [&](auto b) {
        sum_parts<1>(
            A.n_patches(), cg.partials, &p_dot_q,
            [&](const std::int64_t begin, const std::int64_t end, double *sums) {
              std::vector<Number> y(std::size_t(A.patch_rows) * b);
              double              total = 0.;
              for (std::int64_t patch = begin; patch < end; ++patch)
                patch_product<b>(A, static_cast<int>(patch), p, y.data(),
                                 [&](const std::int64_t row, const Number sum) {
                                   q[row] = sum;
                                   total += static_cast<double>(p[row]) * static_cast<double>(sum);
                                 });
              sums[0] = total;
            },
            A.patch_rows * 8); // a row costs more than an element of a vector
      });
      cg_finish_product(cg, p_dot_q);
    }

    template <typename Number>
    void polynomial_step(Host, const SymmetricEllpackView<Number> &A, const PolynomialStep<Number> &step)
    {
      product<Number>(A, step.y, [=](const std::int64_t row, const Number sum) { step(row, sum); });
    }

#define INSTANTIATE(Number)                                                                                  \
  template void vmult<Number>(Host, const SymmetricEllpackView<Number> &, const Number *, Number *);         \
  template void vmult_add<Number>(Host, const SymmetricEllpackView<Number> &, const Number *, Number *);     \
  template void residual<Number>(Host, const SymmetricEllpackView<Number> &, const Number *, const Number *, \
                                 Number *);                                                                  \
  template void cg_product<Number>(Host, const SymmetricEllpackView<Number> &, const Number *, Number *,     \
                                   const CGView &);                                                          \
  template void polynomial_step<Number>(Host, const SymmetricEllpackView<Number> &, const PolynomialStep<Number> &);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
