// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_run_h
#define patchfem_source_kernels_run_h

#include <patchfem/base/array.h>
#include <patchfem/kernels/parallel_for.h>

namespace PatchFEM
{
  /** How many low bits of a key matter if its values are below @p n. */
  inline int bits_for(const std::int64_t n)
  {
    int bits = 1;
    while ((std::int64_t(1) << bits) < n)
      ++bits;
    return bits;
  }

  /** Runs @p body for 0 <= i < n on @p backend. */
  template <typename Body>
  void run(const Backend &backend, const std::int64_t n, const Body &body)
  {
    if (n > 0)
      dispatch(backend, [&](auto where) { kernels::parallel_for(where, n, body); });
  }
} // namespace PatchFEM

#endif
