// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/blas1.h>

#include "reduce_host.h"

namespace PatchFEM::kernels
{
  namespace
  {
    /** Each thread has a body of its own, whose captures the compiler keeps in registers. */
    template <typename Body>
    void for_each(Host, const std::int64_t n, const Body &body)
    {
      Body of_thread = body;
#pragma omp parallel for simd firstprivate(of_thread) schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        of_thread(i);
    }

    template <typename Term>
    void sum(Host, const std::int64_t n, const Term &term, double *partials, double *result)
    {
      sum_parts<1>(n, partials, result, [=](const std::int64_t begin, const std::int64_t end, double *sums) {
        const Term of_part = term;
        double     sum     = 0.;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t i = begin; i < end; ++i)
          sum += of_part(i);
        sums[0] = sum;
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
