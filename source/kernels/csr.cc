// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/cg.h>
#include <patchfem/kernels/csr.h>
#include <patchfem/kernels/polynomial.h>

#include "reduce_host.h"

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      /// Entries of a row that are multiplied side by side: a vector of doubles at the widest.
      constexpr int lanes = 8;

      /// How many entries ahead memory is asked for: 4 KB of values in double. From 2 to 8 KB it makes no difference.
      constexpr int entries_ahead = 512;

      /**
       * The sum of one row. Rows are short, and beside their gathers the processor's own prefetching does not keep the
       * streams of values and columns at the rate of memory: asking for them early raised the product from 72 to 106 %
       * of STREAM's triad with 81 entries a row and from 80 to 88 % with 27 (two cores of a Sapphire Rapids). Requests
       * past the end of the arrays are ignored.
       */
      template <typename Sum, typename Value, typename Number>
      inline Sum row_sum(const CSRView<Value> &A, const std::int64_t row, const Number *x)
      {
        const std::int64_t begin       = A.row_offsets[row];
        const int          width       = static_cast<int>(A.row_offsets[row + 1] - begin);
        const int         *c           = A.columns + begin;
        const Value       *v           = A.values + begin;
        Sum                sums[lanes] = {};
        int                k           = 0;
        const auto         request     = [&]() {
          __builtin_prefetch(v + k + entries_ahead);
          __builtin_prefetch(c + k + entries_ahead);
        };
        for (; k + lanes <= width; k += lanes)
        {
          request();
#pragma omp simd
          for (int j = 0; j < lanes; ++j)
            sums[j] += static_cast<Sum>(v[k + j]) * static_cast<Sum>(x[c[k + j]]);
        }
        request();
        Sum rest = 0;
        for (; k < width; ++k)
          rest += static_cast<Sum>(v[k]) * static_cast<Sum>(x[c[k]]);
        for (int n = lanes / 2; n > 0; n /= 2)
          for (int j = 0; j < n; ++j)
            sums[j] += sums[j + n];
        return sums[0] + rest;
      }
    } // namespace

    template <typename Value, typename Number>
    void vmult(Host, const CSRView<Value> &A, const Number *src, Number *dst)
    {
#pragma omp parallel for schedule(static)
      for (int row = 0; row < A.n_rows; ++row)
        dst[row] = row_sum<Number>(A, row, src);
    }

    template <typename Value, typename Number>
    void vmult_add(Host, const CSRView<Value> &A, const Number *src, Number *dst)
    {
#pragma omp parallel for schedule(static)
      for (int row = 0; row < A.n_rows; ++row)
        dst[row] += row_sum<Number>(A, row, src);
    }

    template <typename Value, typename Number>
    void residual(Host, const CSRView<Value> &A, const Number *x, const Number *b, Number *r)
    {
#pragma omp parallel for schedule(static)
      for (int row = 0; row < A.n_rows; ++row)
        r[row] = static_cast<Number>(static_cast<double>(b[row]) - row_sum<double>(A, row, x));
    }

    template <typename Number>
    void cg_product(Host, const CSRView<Number> &A, const Number *p, Number *q, const CGView &cg)
    {
      if (cg.scalars->status != CGStatus::iterating)
      {
        cg.scalars->x_pending = 0;
        return;
      }
      double p_dot_q;
      sum_parts<1>(
          A.n_rows, cg.partials, &p_dot_q,
          [&](const std::int64_t begin, const std::int64_t end, double *sums) {
            double sum = 0.;
            for (std::int64_t row = begin; row < end; ++row)
            {
              q[row] = row_sum<Number>(A, row, p);
              sum += static_cast<double>(p[row]) * static_cast<double>(q[row]);
            }
            sums[0] = sum;
          },
          16);
      cg_finish_product(cg, p_dot_q);
    }

    template <typename Value, typename Number>
    void polynomial_step(Host, const CSRView<Value> &A, const PolynomialStep<Number> &step)
    {
#pragma omp parallel for schedule(static)
      for (int row = 0; row < A.n_rows; ++row)
        step(row, row_sum<Number>(A, row, step.y));
    }

    void expand_pattern(Host,
                        const SparsityView &pattern,
                        const int           block_rows,
                        const int           block_columns,
                        std::int64_t       *row_offsets,
                        int                *columns)
    {
      row_offsets[std::int64_t(pattern.n_rows) * block_rows] =
          pattern.row_offsets[pattern.n_rows] * block_rows * block_columns;
#pragma omp parallel for schedule(static)
      for (int i = 0; i < pattern.n_rows; ++i)
      {
        const std::int64_t begin = pattern.row_offsets[i];
        const std::int64_t m     = pattern.row_offsets[i + 1] - begin;
        for (int a = 0; a < block_rows; ++a)
        {
          const std::int64_t offset                     = begin * block_rows * block_columns + a * m * block_columns;
          row_offsets[std::int64_t(i) * block_rows + a] = offset;
          for (std::int64_t k = 0; k < m; ++k)
            for (int c = 0; c < block_columns; ++c)
              columns[offset + k * block_columns + c] = pattern.columns[begin + k] * block_columns + c;
        }
      }
    }

#define INSTANTIATE_PRODUCTS(Value, Number)                                                                      \
  template void vmult<Value, Number>(Host, const CSRView<Value> &, const Number *, Number *);                    \
  template void vmult_add<Value, Number>(Host, const CSRView<Value> &, const Number *, Number *);                \
  template void residual<Value, Number>(Host, const CSRView<Value> &, const Number *, const Number *, Number *); \
  template void polynomial_step<Value, Number>(Host, const CSRView<Value> &, const PolynomialStep<Number> &);
    INSTANTIATE_PRODUCTS(float, float)
    INSTANTIATE_PRODUCTS(float, double)
    INSTANTIATE_PRODUCTS(double, double)
#undef INSTANTIATE_PRODUCTS

#define INSTANTIATE(Number) \
  template void cg_product<Number>(Host, const CSRView<Number> &, const Number *, Number *, const CGView &);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
