// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "solver_tools.h"

#include <patchfem/kernels/blas1.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

/** @file The steps (see launch.h) of solver_tools.h. */
namespace PatchFEM::solver
{
  namespace
  {
    /** result = x.y, over all ranks, both memory of the back end. */
    template <typename Number>
    void dot(const Vector<Number> &x, const Vector<Number> &y, double *partials, double *result)
    {
      launch(x.backend(), [&](const Here where) {
        kernels::dot(where, static_cast<std::int64_t>(x.size()), x.data(), y.data(), partials, result);
      });
      if (x.partitioner() != nullptr)
        x.partitioner()->sum(x.backend(), result, 1);
    }

    /**
     * *largest = the maximum of componentwise_backward_error() over rows whose denominator is not 0, as the bits of a
     * double, whose order is that of numbers that are not negative, with what is not a number behind them. 0 before.
     */
    template <typename View, typename Number>
    void find_errors(const View &A, const Vector<Number> &x, const Vector<Number> &b, std::uint64_t *largest)
    {
      launch(b.backend(), b.size(), [=, x = x.data(), b = b.data()] PATCHFEM_DEVICE(const std::int64_t row) {
        double residual = static_cast<double>(b[row]), size = residual < 0. ? -residual : residual;
        A.for_each_entry(row, [&](const int column, const Number value) {
          const double term = static_cast<double>(value) * static_cast<double>(x[column]);
          residual -= term;
          size += term < 0. ? -term : term;
        });
        if (size != 0.)
          kernels::atomic_max(largest, kernels::magnitude_bits(residual / size));
      });
    }

    /**
     * r = b - A x, summed as if in twice the precision of double and rounded once: rounding is kept of products by
     * fused multiply-adds, of sums by Knuth's TwoSum (Ogita, Rump, Oishi 2005, Dot2). The product is a fused one too,
     * of which compilers make no further ones that would count its rounding twice.
     */
    template <typename View>
    void find_residual(const View &A, const Vector<double> &x, const Vector<double> &b, Vector<double> &r)
    {
      launch(b.backend(), b.size(),
             [=, x = x.data(), b = b.data(), r = r.data()] PATCHFEM_DEVICE(const std::int64_t row) {
               double sum = b[row], rest = 0.;
               A.for_each_entry(row, [&](const int column, const double value) {
                 const double product = fma(-value, x[column], 0.), product_rest = fma(-value, x[column], -product);
                 const double before = sum, added = (sum = before + product) - before;
                 rest += ((before - (sum - added)) + (product - added)) + product_rest;
               });
               r[row] = sum + rest;
             });
    }
  } // namespace

  template <typename Number, typename Where>
  bool componentwise_backward_error(
      Where, const Operator<Number> &A, const Vector<Number> &x, const Vector<Number> &b, double &result)
  {
    Array<std::uint64_t> largest(A.backend(), 1);
    largest.set_zero();
    const bool          done = with_rows(A, [&](const auto &view) { find_errors(view, x, b, largest.data()); });
    const std::uint64_t bits = largest.read(0);
    std::memcpy(&result, &bits, sizeof(result));
    return done;
  }

  template <>
  bool compensated_residual(
      Here, const Operator<double> &A, const Vector<double> &x, const Vector<double> &b, Vector<double> &r)
  {
    return with_rows(A, [&](const auto &view) { find_residual(view, x, b, r); });
  }

  template <typename Number, typename Where>
  void divide(Where, const Vector<Number> &v, const Vector<Number> &d, Vector<Number> &result)
  {
    launch(v.backend(), v.size(),
           [v = v.data(), d = d.data(), result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             result[i] = d[i] != Number(0) ? v[i] / d[i] : Number(0);
           });
  }

  template <typename Number, typename Where>
  void remove_component(Where, const Vector<Number> &v, Array<double> &sums, Vector<Number> &x)
  {
    double *const product = sums.data() + kernels::reduction::max_parts;
    dot(v, x, sums.data(), product);
    launch(x.backend(), x.size(), [=, v = v.data(), x = x.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      x[i] = static_cast<Number>(static_cast<double>(x[i]) - product[0] * static_cast<double>(v[i]));
    });
  }

  template <typename Number, typename Where>
  void lanczos(Where,
               const Operator<Number>         &A,
               const PreconditionBase<Number> &D_inverse,
               const int                       n_steps,
               const bool                      jumps,
               kernels::LanczosScalars        *scalars)
  {
    const Backend     &place = A.backend();
    const std::int64_t n     = A.n_rows();
    Vector<Number>     r, r_previous, q, z;
    for (Vector<Number> *vector : {&r, &r_previous, &q, &z})
      A.initialize_vector(*vector, true);
    Array<double> partials(place, kernels::reduction::max_parts);
    auto *const   product =
        reinterpret_cast<double *>(reinterpret_cast<char *>(scalars) + offsetof(kernels::LanczosScalars, product));

    // r and z = D^-1 r become unit vectors in the inner product r . z; zero if its root, beta[step], is 0.
    const auto to_unit_length = [&](const int step) {
      D_inverse.vmult(z, r);
      dot(r, z, partials.data(), product);
      launch(place, 1, [=] PATCHFEM_DEVICE(std::int64_t) {
        scalars->beta[step] = scalars->product > 0. ? std::sqrt(scalars->product) : 0.;
      });
      launch(place, n, [=, r = r.data(), z = z.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        const double beta = scalars->beta[step], factor = beta > 0. ? 1. / beta : 0.;
        r[i] = static_cast<Number>(factor * r[i]);
        z[i] = static_cast<Number>(factor * z[i]);
      });
    };

    Array<double> found(place, 1);
    for (int balanced = jumps ? 1 : 0; balanced >= 0; --balanced)
    {
      // Of random numbers s the inner product r . D^-1 r sees hardly those where D is large, and few steps miss an
      // eigenvalue of stiff material. Of D^(1/2) s it sees all alike: D is s / D^-1 s, of blocks up to factors about 1.
      launch(place, [&](const Here where) { kernels::set_scattered(where, n, r.data(), r.first_index()); });
      if (balanced != 0)
      {
        constexpr double most = std::numeric_limits<Number>::max();
        D_inverse.vmult(z, r);
        launch(place, n, [=, r = r.data(), z = z.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          const double s = static_cast<double>(r[i]), D = s / static_cast<double>(z[i]);
          const double root = std::sqrt(D > 0. ? D : -D);
          if (root > 0. && root <= most)
            r[i] = static_cast<Number>(root * s);
        });
      }
      const auto advance = [&](const int step) {
        A.vmult(q, z);
        dot(z, q, partials.data(), product);
        // q = A z becomes q - alpha r - beta r_previous, with alpha = z . q.
        launch(place, std::max<std::int64_t>(n, 1), // a rank without rows has alpha, too
               [=, r = r.data(), before = step > 0 ? r_previous.data() : nullptr,
                q = q.data()] PATCHFEM_DEVICE(const std::int64_t i) {
                 const double alpha = scalars->product;
                 if (i == 0)
                   scalars->alpha[step] = alpha;
                 if (i >= n)
                   return;
                 double value = static_cast<double>(q[i]) - alpha * static_cast<double>(r[i]);
                 if (before != nullptr)
                   value -= scalars->beta[step] * static_cast<double>(before[i]);
                 q[i] = static_cast<Number>(value);
               });
        r_previous.swap(r);
        r.swap(q);
        to_unit_length(step + 1);
      };
      const auto others = [&] {
        for (int step = 1; step < n_steps; ++step)
          advance(step);
      };
      to_unit_length(0);
      advance(0); // with what exchanges and products make when they are first used
      r.partitioner() != nullptr ? r.partitioner()->communicator().poll_errors(others) : others();
      launch(place, 1, [=, found = found.data()] PATCHFEM_DEVICE(std::int64_t) {
        scalars->find_largest(n_steps);
        if (balanced != 0)
          *found = scalars->largest;
        else if (jumps && *found > scalars->largest)
          scalars->largest = *found;
      });
    }
  }

#define INSTANTIATE(Number)                                                                          \
  template bool componentwise_backward_error(Here, const Operator<Number> &, const Vector<Number> &, \
                                             const Vector<Number> &, double &);                      \
  template void divide(Here, const Vector<Number> &, const Vector<Number> &, Vector<Number> &);      \
  template void remove_component(Here, const Vector<Number> &, Array<double> &, Vector<Number> &);   \
  template void lanczos(Here, const Operator<Number> &, const PreconditionBase<Number> &, int, bool, \
                        kernels::LanczosScalars *);

  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM::solver
