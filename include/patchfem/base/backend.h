// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/config.h>

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

/**
 * @file
 * Where work runs. Code that differs between back ends is an overload set on the tags Host and Cuda. Two functions call
 * it, the only places that know which back ends this build contains: dispatch() an algorithm, which runs on the host and
 * may return a result, and launch() kernels, which follow pointers to memory of the back end:
 * @code
 *   const int n_levels = dispatch(backend, [&](auto where) { return find_levels(where, graph); });
 *   launch(backend, [&](auto where) { kernels::vmult(where, view, src.data(), dst.data()); });
 * @endcode
 * With CUDA a missing overload or definition fails the build; without it the Cuda branch is never instantiated.
 */
namespace PatchFEM
{
  class RankGroup;

  /** Kernels run on the threads of this process (OpenMP). */
  struct Host
  {};

  /** Kernels run on the device, in order, on one stream (a cudaStream_t that only cuda/ looks into). */
  struct Cuda
  {
    void *stream;
  };

  enum class BackendKind
  {
    host,           ///< OpenMP threads on ordinary memory
    cuda,           ///< our own CUDA kernels on one device
    emulated_device ///< host kernels on memory that only kernels and explicit copies may touch: a missing copy traps
  };

  /**
   * A handle to one place where arrays live and kernels run. Handles of one kind are equal and denote the same place;
   * on CUDA that is one stream of this process on the device that was chosen or current when the first handle was made,
   * by a thread of its own: who needs it first waits, and gets the Error where the device cannot be used. Work given to it
   * from any thread runs there in the order given, and makes its device that thread's current one.
   *
   * Threads may share a Backend and what is only looked at: arrays, patterns, views, sizes. Vectors, matrices,
   * preconditioners and solvers have workspaces behind their const products and sums: each is used by one thread at a
   * time, a matrix also where a preconditioner multiplies with it.
   */
  class Backend
  {
  public:
    /**
     * @param name `auto` (a GPU if this build and machine have one, else the host), `host`, `cuda` or
     * `emulated_device`. Throws Error for another name, and for `cuda` without CUDA in this build or without a GPU.
     */
    explicit Backend(const std::string &name = "host");
    explicit Backend(BackendKind kind);

    /** The handle to @p place of ranks that share it, see RankGroup; @p group outlives it. */
    Backend(const Backend &place, const RankGroup *group) : place(place.place), ranks(group) {}

    BackendKind kind() const { return place; }

    /** The ranks that share it; null if there are no others. */
    const RankGroup *group() const { return ranks; }

    /** `host`, `cuda` or `emulated_device`. */
    std::string name() const;

    /** The processor's or the GPU's name, as the system gives it; waits for neither. */
    std::string device_name() const;

    /** Waits until all work given to this back end is done, and throws Error if any of it failed. */
    void synchronize() const;

    /** Bytes that can still be allocated there; on the host within this process' limits, see free_host_memory(). */
    std::size_t free_memory() const;

    /** Bytes of fast memory for a patch: opt-in shared memory of a GPU's block, a share of the host's level-2 cache. */
    std::size_t patch_memory() const;

    /** True if pointers of the two may be used in one kernel. */
    bool operator==(const Backend &other) const { return place == other.place; }
    bool operator!=(const Backend &other) const { return place != other.place; }

    /** The opaque stream, for work that the calling thread gives to it next; nullptr unless kind() is cuda. */
    void *stream() const;

    /** Whether this build has CUDA, and this machine a device that works. */
    static bool cuda_available();

    /** The UUIDs of the devices that CUDA shows to this process, in its order; none unless cuda_available(). */
    static std::vector<std::string> cuda_devices();

    /** Selects the existing cuda_devices()[@p number] for all handles on CUDA; to be called before the first is made. */
    static void choose_cuda_device(int number);

  private:
    BackendKind      place;
    const RankGroup *ranks = nullptr;
  };

  /** While one of these lives that was made for the emulated device, kernels may touch its memory. Scopes nest. */
  class KernelScope
  {
  public:
    explicit KernelScope(const Backend &backend);
    ~KernelScope();
    KernelScope(const KernelScope &)            = delete;
    KernelScope &operator=(const KernelScope &) = delete;

  private:
    const bool opens;
  };

  /** Returns @p function(tag of @p backend), which runs on the host and may not follow pointers to a device's memory. */
  template <typename Function>
  decltype(auto) dispatch(const Backend &backend, Function &&function)
  {
#ifdef PATCHFEM_WITH_CUDA
    if (backend.kind() == BackendKind::cuda)
      return function(Cuda{backend.stream()});
#endif
    static_cast<void>(backend);
    return function(Host());
  }

  /**
   * Calls @p function(tag of @p backend), in which kernels follow pointers to memory of @p backend. A @p function that takes
   * one of the tags only is for back ends of that one.
   */
  template <typename Function>
  void launch(const Backend &backend, Function &&function)
  {
    constexpr bool on_host = std::is_invocable_v<Function, Host>;
#ifdef PATCHFEM_WITH_CUDA
    if constexpr (std::is_invocable_v<Function, Cuda>)
      if (!on_host || backend.kind() == BackendKind::cuda)
      {
        function(Cuda{backend.stream()});
        return;
      }
#endif
    if constexpr (on_host)
    {
      const KernelScope scope(backend);
      function(Host());
    }
  }
} // namespace PatchFEM
