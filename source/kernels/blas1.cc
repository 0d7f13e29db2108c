// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/blas1.h>

#include "reduce_host.h"

namespace PatchFEM::kernels
{
  namespace
  {
    /** @p body is a copy, so that the compiler keeps in registers what it captures. */
    template <typename Body>
    void share_of_thread(const std::int64_t n, const Body body)
    {
#pragma omp for simd schedule(static) nowait
      for (std::int64_t i = 0; i < n; ++i)
        body(i);
    }

    template <typename Body>
    void for_each(Host, const std::int64_t n, const Body &body)
    {
#pragma omp parallel
      share_of_thread(n, body);
    }

    template <typename Term>
    void sum(Host, const std::int64_t n, const Term &term, double *partials, double *result)
    {
      sum_parts<1>(n, partials, result, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
        sums[0] = sum_of_range(begin, end, term);
      });
    }
  } // namespace

  template <typename Number, typename Where>
  void linfty_norm(Where, const std::int64_t n, const Number *x, double *result)
  {
    std::uint64_t largest = 0;
#pragma omp parallel for simd schedule(static) reduction(max : largest)
    for (std::int64_t i = 0; i < n; ++i)
      largest = std::max(largest, magnitude_bits(static_cast<double>(x[i])));
    std::memcpy(result, &largest, sizeof(largest));
  }
} // namespace PatchFEM::kernels

#include "kernels/blas1_steps.h"
