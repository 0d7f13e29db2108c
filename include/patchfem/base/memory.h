// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <cstddef>

/**
 * Untyped memory of a back end. On CUDA, allocation is stream-ordered from the device's pool, which keeps
 * what is freed, so that allocating again costs no synchronisation. Array is what everybody else uses.
 */
namespace PatchFEM::memory
{
  /** @p bytes aligned to 256, content undefined. Throws Error with the request and what is available if too large. */
  void *allocate(const Backend &backend, std::size_t bytes);

  /** Gives back what allocate() returned; never throws. */
  void deallocate(const Backend &backend, void *pointer, std::size_t bytes) noexcept;

  /**
   * Copies between any back ends. To `host` it is complete on return; from `host` @p source is the caller's again, and the
   * rest happens in stream order, as copies within one device do.
   */
  void copy(const Backend &to, void *destination, const Backend &from, const void *source, std::size_t bytes);

  /** Sets bytes to zero, in stream order. */
  void set_zero(const Backend &backend, void *pointer, std::size_t bytes);

  /** Bytes now allocated, and the most at any time since reset_peak(), over all backends of a kind. */
  std::size_t in_use(BackendKind kind);
  std::size_t peak(BackendKind kind);
  void        reset_peak(BackendKind kind);
} // namespace PatchFEM::memory
