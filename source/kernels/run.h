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
 *     for_all(old.backend(), old.size(), [old = old.data(), to = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
 *       to[old[i]] = static_cast<int>(i);
 *     });
 *   }
 * @endcode
 * What others call takes Here first. It is declared once, as a template of that tag, and called through choose(); the
 * steps specialise it for Here or, where it is a template of more, instantiate it, in a source of their own: one that calls
 * it would make the device's with the loops of the host. All else is in a namespace without a name. So, and with launch() in
 * place of dispatch(), the two compilers never make functions of one name. Lambdas capture pointers, never arrays or an
 * object's members, which would be followed on the host.
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

  template <typename Body>
  void run(const Backend &backend, const std::int64_t n, const Body &body)
  {
    if (n > 0)
      dispatch(backend, [&](auto where) { kernels::parallel_for(where, n, body); });
  }

  /** Calls @p function with Here; inside, memory of @p backend, which has to be one of Here, can be followed. */
  template <typename Function>
  void launch(const Backend &backend, Function &&function)
  {
#if defined(__CUDACC__)
    function(Cuda{backend.stream()});
#else
    const KernelScope scope(backend);
    function(Host());
#endif
  }

  /** Calls @p body(i), a lambda, for 0 <= i < n. */
  template <typename Body>
  void for_all(const Backend &backend, const std::int64_t n, const Body &body)
  {
    if (n > 0)
      launch(backend, [&](const Here where) { kernels::parallel_for(where, n, body); });
  }

  /** The algorithm @p function with the tag of @p backend; unlike in dispatch(), only its loops see memory there. */
  template <typename Function>
  decltype(auto) choose(const Backend &backend, Function &&function)
  {
#ifdef PATCHFEM_WITH_CUDA
    if (backend.kind() == BackendKind::cuda)
      return function(Cuda{backend.stream()});
#endif
    static_cast<void>(backend);
    return function(Host());
  }
} // namespace PatchFEM
