// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/array.h>
#include <patchfem/kernels/parallel_for.h>

/**
 * @file
 * Algorithms of many loops (orderings, graphs, patterns) are written once, in a header of steps that a source and a .cu
 * file include: the host compiler makes the loops of the host there, nvcc those of the device.
 * @code
 *   void invert(Here, const Array<int> &old, Array<int> &result)
 *   {
 *     launch(old.backend(), old.size(), [old = old.data(), to = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
 *       to[old[i]] = static_cast<int>(i);
 *     });
 *   }
 * @endcode
 * A step that others call takes Here first. It is declared once, as a template of that tag, and called through dispatch();
 * the header of steps specialises it for Here or, where it is a template of more, instantiates it, in a source of its own:
 * one that calls it would make the device's with the loops of the host. All else is in a namespace without a name, and
 * functions that steps give to launch() take Here. So the two compilers never make functions of one name. Lambdas capture
 * pointers, never arrays or an object's members, which would be followed on the host.
 */
#if defined(__CUDACC__)
#define PATCHFEM_DEVICE __device__
#else
#define PATCHFEM_DEVICE
#endif

namespace PatchFEM
{
#if defined(__CUDACC__)
  using Here = Cuda;
#else
  using Here = Host;
#endif

  /** How many low bits of a key matter if its values are below @p n. */
  inline int bits_for(const std::int64_t n)
  {
    int bits = 1;
    while ((std::int64_t(1) << bits) < n)
      ++bits;
    return bits;
  }

  /** Calls @p body(i), a lambda, for 0 <= i < n in a kernel of the back end that this compiler is for. */
  template <typename Body>
  void launch(const Backend &backend, const std::int64_t n, const Body &body)
  {
    if (n > 0)
      launch(backend, [&](const Here where) { kernels::parallel_for(where, n, body); });
  }
} // namespace PatchFEM
