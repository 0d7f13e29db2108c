// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <functional>
#include <string>

/**
 * @file
 * What the classes need of the CUDA run time, without its header. Defined in cuda/runtime.cu; only used where
 * PATCHFEM_WITH_CUDA is defined. Failures throw Error with CUDA's own description. All of it is about the current device
 * of the calling thread. That of the first Backend on CUDA, which Backend::choose_cuda_device(), cudaSetDevice() or
 * CUDA_VISIBLE_DEVICES has chosen, is the device of all of them; they make it current in threads from which they are used.
 */
namespace PatchFEM::cuda_runtime
{
  bool device_works();
  int  n_devices();
  int  current_device();
  /** Does not throw, so that memory can be given back: what is asked of the device next reports a failure. */
  void        use_device(int device) noexcept;
  void        make_context(int device); ///< makes it current as well
  std::string device_name(int device);  ///< without a context there
  std::string device_uuid(int device);  ///< the same
  std::size_t shared_memory_per_block();
  std::size_t free_memory();

  struct DeviceProperties
  {
    std::string versions; ///< compute capability and driver
    int         n_processors;
    double      cache; ///< bytes of the second level
    double      rate;  ///< of reading, bytes per second: what 0.92 of the bus' is, which an H200 reaches
  };
  DeviceProperties device_properties();

  /** Counts @p bytes that a kernel took for its workspace, less than 0 given back, to memory::peak(). See memory.cc. */
  void count_workspace(std::ptrdiff_t bytes) noexcept;

  /** A stream of its own for one Backend. Blocks of threads of streams that are @p first come before those of others. */
  void *create_stream(bool first = false);
  void  destroy_stream(void *stream) noexcept;
  void  synchronize(void *stream);

  /**
   * What synchronize() calls every now and then, with the seconds that it has waited; it may throw. Others run meanwhile:
   * work on the device may need threads of the host that have to share a core with this one.
   */
  void while_waiting(void (*look)(double seconds));

  /** @p event is recorded in @p finished, and what @p waiting is given from here on begins after it. */
  void  wait(void *waiting, void *finished, void *event);
  void *create_event();
  void  destroy_event(void *event) noexcept;

  /** nullptr if it does not fit. */
  void *allocate(std::size_t bytes, void *stream);
  void  deallocate(void *pointer, void *stream) noexcept;

  void copy(void *destination, const void *source, std::size_t bytes, void *stream);

  /**
   * The same between the device and memory of the host that may be pageable, which is the caller's again on return. Of 8 MB
   * and more it goes by two pinned buffers, one of which @p on_host fills or empties while the other travels: the driver's
   * own copy does that with one thread. What is shorter is put aside in them, so that only who reads waits for the stream.
   * All is in the order of one stream, the same in each call.
   */
  void copy_staged(void       *destination,
                   const void *source,
                   std::size_t bytes,
                   bool        to_device,
                   void       *stream,
                   void (*on_host)(void *destination, const void *source, std::size_t bytes));
  void set_zero(void *pointer, std::size_t bytes, void *stream);

  /** Memory of the host that the device reaches under the same address. */
  void *allocate_pinned(std::size_t bytes);
  void  deallocate_pinned(void *pointer) noexcept;

  /** Memory of the device, zeroed, that processes of the same machine may open. It is never given back. */
  void *allocate_shared(std::size_t bytes);

  /** How other processes call memory of allocate_shared(). */
  struct SharedHandle
  {
    char bytes[64];
  };
  SharedHandle share(void *pointer);

  /** Memory of another process for kernels on the current device, or nullptr where these do not reach it. */
  void *open_shared(const SharedHandle &handle);

  /** Where a kernel writes 1 + the rank that it has waited for too long, before it fails; memory of the host. */
  int *late_rank();

  /** An executable graph of what @p function launches on @p stream, which is left as it was if the function throws. */
  void *record(void *stream, const std::function<void()> &function);
  void  launch_graph(void *graph, void *stream);
  void  destroy_graph(void *graph) noexcept;
} // namespace PatchFEM::cuda_runtime
