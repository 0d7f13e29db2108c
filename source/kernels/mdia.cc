// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/mdia.h>

#include "reduce_host.h"

#include <algorithm>

namespace PatchFEM
{
  namespace kernels
  {
    namespace
    {
      constexpr int columns_ahead = 1024; ///< how far ahead memory is asked for, see csr.cc

      /**
       * Calls @p use(row, sum) for the rows of slice @p s. The innermost loop runs over rows, so that columns are read
       * contiguously and only the source is gathered.
       */
      template <typename Sum, typename Value, typename Number, typename Use>
      inline void slice_product(const MDIAView<Value> &A, const int s, const Number *__restrict__ x, const Use &use)
      {
        constexpr int      h      = MDIAView<Value>::slice_height;
        const std::int64_t first  = std::int64_t(s) * h;
        const int          n      = static_cast<int>(std::min<std::int64_t>(h, A.n_rows - first));
        const int          width  = A.slice_width(s);
        const int *__restrict__ c = A.columns + A.slice_offsets[s];
        Sum sums[h]               = {};
        for (int k = 0; k < width; ++k, c += h)
        {
          __builtin_prefetch(c + columns_ahead);
          __builtin_prefetch(c + columns_ahead + 16);
          // Behind the end of a row something is read that is there, so that gathers need no mask.
#pragma omp simd
          for (int r = 0; r < h; ++r)
          {
            const Sum value = static_cast<Sum>(x[c[r] < 0 ? 0 : c[r]]);
            sums[r] += c[r] < 0 ? Sum(0) : value;
          }
        }
        for (int r = 0; r < n; ++r)
          use(first + r, static_cast<Sum>(A.diagonal[first + r]) * static_cast<Sum>(x[first + r]) +
                             static_cast<Sum>(A.constant) * sums[r]);
      }

      template <typename Sum, typename Value, typename Number, typename Use>
      inline void product(const MDIAView<Value> &A, const Number *x, const Use &use)
      {
        const int n_slices = A.n_slices();
#pragma omp parallel for schedule(static)
        for (int s = 0; s < n_slices; ++s)
          slice_product<Sum>(A, s, x, use);
      }
    } // namespace

    template <typename Value, typename Number>
    void vmult(Host, const MDIAView<Value> &A, const Number *src, Number *dst)
    {
      product<Number>(A, src, [=](const std::int64_t row, const Number sum) { dst[row] = sum; });
    }

    template <typename Value, typename Number>
    void vmult_add(Host, const MDIAView<Value> &A, const Number *src, Number *dst)
    {
      product<Number>(A, src, [=](const std::int64_t row, const Number sum) { dst[row] += sum; });
    }

    template <typename Value, typename Number>
    void residual(Host, const MDIAView<Value> &A, const Number *x, const Number *b, Number *r)
    {
      product<double>(A, x, [=](const std::int64_t row, const double sum) {
        r[row] = static_cast<Number>(static_cast<double>(b[row]) - sum);
      });
    }

    template <typename Number>
    void cg_product(Host, const MDIAView<Number> &A, const Number *p, Number *q, const CGView &cg)
    {
      if (cg.scalars->status != CGStatus::iterating)
      {
        cg.scalars->x_pending = 0;
        return;
      }
      double p_dot_q = 0.;
      sum_parts<1>(
          A.n_slices(), cg.partials, &p_dot_q,
          [&](const std::int64_t begin, const std::int64_t end, double *sums) {
            double total = 0.;
            for (std::int64_t s = begin; s < end; ++s)
              slice_product<Number>(A, static_cast<int>(s), p, [&](const std::int64_t row, const Number sum) {
                q[row] = sum;
                total += static_cast<double>(p[row]) * static_cast<double>(sum);
              });
            sums[0] = total;
          },
          MDIAView<Number>::slice_height * 4); // a row costs more than an element of a vector
      cg_finish_product(cg, p_dot_q);
    }

    template <typename Value, typename Number>
    void polynomial_step(Host, const MDIAView<Value> &A, const PolynomialStep<Number> &step)
    {
      product<Number>(A, step.y, [=](const std::int64_t row, const Number sum) { step(row, sum); });
    }

#define INSTANTIATE_PRODUCTS(Value, Number)                                                                       \
  template void vmult<Value, Number>(Host, const MDIAView<Value> &, const Number *, Number *);                    \
  template void vmult_add<Value, Number>(Host, const MDIAView<Value> &, const Number *, Number *);                \
  template void residual<Value, Number>(Host, const MDIAView<Value> &, const Number *, const Number *, Number *); \
  template void polynomial_step<Value, Number>(Host, const MDIAView<Value> &, const PolynomialStep<Number> &);
    INSTANTIATE_PRODUCTS(float, float)
    INSTANTIATE_PRODUCTS(float, double)
    INSTANTIATE_PRODUCTS(double, double)
#undef INSTANTIATE_PRODUCTS

#define INSTANTIATE(Number) \
  template void cg_product<Number>(Host, const MDIAView<Number> &, const Number *, Number *, const CGView &);
    INSTANTIATE(float)
    INSTANTIATE(double)
#undef INSTANTIATE
  } // namespace kernels
} // namespace PatchFEM
