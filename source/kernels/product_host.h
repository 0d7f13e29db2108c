// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/instantiate_products.h"
#include "kernels/reduce_host.h"

#include <patchfem/base/threads.h>

namespace PatchFEM::kernels
{
  /**
   * How products on the host share out their work and serve their targets (see product.h): @p items(begin, end, use) calls
   * use(row, sum) for the rows of items [begin, end), all within @p range, which are rows, slices or patches. @p threads:
   * whether there is enough work for more than one.
   */
  template <typename Target, typename Items>
  inline void
  share_items(const ItemRange &range, std::int64_t, const Target &target, const Items &items, const bool threads = true)
  {
    const auto share = [&](const std::int64_t begin, const std::int64_t end) {
      items(begin, end, [=](const std::int64_t row, const typename Target::Sum sum) { target.use(row, sum); });
    };
    if (threads)
      for_shares(range.last - range.first, [&](const std::int64_t begin, const std::int64_t end) {
        share(range.first + begin, range.first + end);
      });
    else
      share(range.first, range.last);
  }

  /** p.q is the sum of parts that depend on the number of items alone; @p weight as for sum_parts(). */
  template <typename Number, typename Items>
  inline void share_items(const ItemRange                  &range,
                          const std::int64_t                weight,
                          const ConjugateGradients<Number> &target,
                          const Items                      &items,
                          bool = true)
  {
    const CGView &cg = target.cg;
    if (cg.scalars->status != CGStatus::iterating)
    {
      cg.scalars->x_pending = 0;
      return;
    }
    double p_dot_q = 0.;
    sum_parts<1>(
        range, cg.partials, &p_dot_q,
        [&](const std::int64_t begin, const std::int64_t end, double *sums) {
          double total = 0.;
          items(begin, end, [&](const std::int64_t row, const Number sum) { total += target.use(row, sum); });
          sums[0] = total;
        },
        weight);
    if (range.is_end)
      cg_end_product(cg, p_dot_q);
  }
} // namespace PatchFEM::kernels
