// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"

#include <patchfem/kernels/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

namespace PatchFEM::cuda_runtime
{
  namespace
  {
    /** The pool that cudaMallocAsync() takes from. */
    cudaMemPool_t pool()
    {
      cudaMemPool_t result;
      PATCHFEM_CUDA_CHECK(cudaDeviceGetMemPool(&result, current_device()));
      return result;
    }

    /**
     * Before CUDA's first call: kernels are loaded with the context, which Backend makes while programs read meshes, and not each when
     * it is first launched, where 200 of a first assembly and set-up took some 60 ms. A user's choice stays.
     */
    void load_kernels_with_context()
    {
      static const int chosen = setenv("CUDA_MODULE_LOADING", "EAGER", 0);
      static_cast<void>(chosen);
    }

    int attribute(const cudaDeviceAttr which)
    {
      int value = 0;
      PATCHFEM_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, current_device()));
      return value;
    }
  } // namespace

  int n_devices()
  {
    load_kernels_with_context();
    int n = 0;
    PATCHFEM_CUDA_CHECK(cudaGetDeviceCount(&n));
    return n;
  }

  int current_device()
  {
    load_kernels_with_context();
    int device = 0;
    PATCHFEM_CUDA_CHECK(cudaGetDevice(&device));
    return device;
  }

  void use_device(const int device) noexcept
  {
    int now = -1;
    if (cudaGetDevice(&now) != cudaSuccess || now != device)
      cudaSetDevice(device);
  }

  bool device_works()
  {
    load_kernels_with_context();
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0)
    {
      cudaGetLastError(); // a machine without a GPU is not an error of a later call
      return false;
    }
    int device = 0, pools = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, device) == cudaSuccess && pools != 0;
  }

  void make_context(const int device)
  {
    PATCHFEM_CUDA_CHECK(cudaSetDevice(device));
  }

  std::string device_name(const int device)
  {
    cudaDeviceProp properties;
    PATCHFEM_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    return properties.name;
  }

  std::string device_uuid(const int device)
  {
    cudaDeviceProp properties;
    PATCHFEM_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    std::string result = "GPU"; // as nvidia-smi writes it: GPU-8-4-4-4-12 digits
    for (unsigned int i = 0; i < sizeof(properties.uuid.bytes); ++i)
    {
      const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
      result += i == 0 || (i >= 4 && i <= 10 && i % 2 == 0) ? "-" : "";
      for (const int digit : {byte / 16, byte % 16})
        result += "0123456789abcdef"[digit];
    }
    return result;
  }

  DeviceProperties device_properties()
  {
    const int  major  = attribute(cudaDevAttrComputeCapabilityMajor);
    const auto number = [](const int n) { return std::to_string(n); };
    int        driver = 0;
    PATCHFEM_CUDA_CHECK(cudaDriverGetVersion(&driver));
    // Two transfers in each cycle of the memory. Where its clock is not told: what A100, H100 and B200 reach.
    const double bus = 2e3 * attribute(cudaDevAttrMemoryClockRate) * attribute(cudaDevAttrGlobalMemoryBusWidth) / 8;
    return {number(major) + "." + number(attribute(cudaDevAttrComputeCapabilityMinor)) + ", driver " + number(driver),
            attribute(cudaDevAttrMultiProcessorCount), double(attribute(cudaDevAttrL2CacheSize)),
            bus > 0. ? 0.92 * bus
                     : (major < 9    ? 1.4e12
                        : major == 9 ? 3.1e12
                                     : 7e12)};
  }

  std::size_t shared_memory_per_block()
  {
    return static_cast<std::size_t>(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin));
  }

  std::size_t free_memory()
  {
    std::size_t free = 0, total = 0;
    PATCHFEM_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    // What the pool keeps but nobody uses can be allocated as well.
    std::uint64_t reserved = 0, used = 0;
    PATCHFEM_CUDA_CHECK(cudaMemPoolGetAttribute(pool(), cudaMemPoolAttrReservedMemCurrent, &reserved));
    PATCHFEM_CUDA_CHECK(cudaMemPoolGetAttribute(pool(), cudaMemPoolAttrUsedMemCurrent, &used));
    return free + (reserved - used);
  }

  void *create_stream(const bool first)
  {
    std::uint64_t keep = UINT64_MAX; // freed memory stays in the pool
    PATCHFEM_CUDA_CHECK(cudaMemPoolSetAttribute(pool(), cudaMemPoolAttrReleaseThreshold, &keep));
    cudaStream_t stream;
    int          lowest, highest;
    PATCHFEM_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    PATCHFEM_CUDA_CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, first ? highest : lowest));
    return stream;
  }

  void destroy_stream(void *const stream) noexcept
  {
    cudaStreamDestroy(static_cast<cudaStream_t>(stream));
  }

  namespace
  {
    void (*look_while_waiting)(double) = nullptr;
  }

  void while_waiting(void (*const look)(double))
  {
    look_while_waiting = look;
  }

  void synchronize(void *const opaque_stream)
  {
    const auto stream = static_cast<cudaStream_t>(opaque_stream);
    if (look_while_waiting != nullptr)
    {
      using Clock                 = std::chrono::steady_clock;
      constexpr auto now_and_then = std::chrono::milliseconds(1);
      const auto     begin        = Clock::now();
      for (auto looked = begin; cudaStreamQuery(stream) == cudaErrorNotReady; std::this_thread::yield())
        if (const auto now = Clock::now(); now - looked > now_and_then)
        {
          looked = now;
          cudaGetLastError(); // not what calls of a library are to find
          look_while_waiting(std::chrono::duration<double>(now - begin).count());
        }
      cudaGetLastError(); // that it was not ready is no error; others are said once more
    }
    PATCHFEM_CUDA_CHECK(cudaStreamSynchronize(stream));
  }

  void wait(void *const waiting, void *const finished, void *const event)
  {
    PATCHFEM_CUDA_CHECK(cudaEventRecord(static_cast<cudaEvent_t>(event), static_cast<cudaStream_t>(finished)));
    PATCHFEM_CUDA_CHECK(cudaStreamWaitEvent(static_cast<cudaStream_t>(waiting), static_cast<cudaEvent_t>(event), 0));
  }

  void *create_event()
  {
    cudaEvent_t event;
    PATCHFEM_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
  }

  void destroy_event(void *const event) noexcept
  {
    cudaEventDestroy(static_cast<cudaEvent_t>(event));
  }

  void *allocate(const std::size_t bytes, void *const stream)
  {
    void             *pointer = nullptr;
    const cudaError_t status  = cudaMallocAsync(&pointer, bytes, static_cast<cudaStream_t>(stream));
    if (status == cudaErrorMemoryAllocation)
    {
      cudaGetLastError();
      return nullptr;
    }
    PATCHFEM_CUDA_CHECK(status);
    return pointer;
  }

  void deallocate(void *const pointer, void *const stream) noexcept
  {
    cudaFreeAsync(pointer, static_cast<cudaStream_t>(stream));
  }

  void copy(void *const destination, const void *const source, const std::size_t bytes, void *const stream)
  {
    PATCHFEM_CUDA_CHECK(
        cudaMemcpyAsync(destination, source, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream)));
  }

  namespace
  {
    /** Pinned memory that copies of pageable one pass through; all are in the order of one stream. */
    struct Stage
    {
      static constexpr std::size_t piece = std::size_t(8) << 20;

      std::mutex        one_at_a_time;
      char *const       memory       = static_cast<char *>(allocate_pinned(2 * piece));
      const cudaEvent_t travelled[2] = {static_cast<cudaEvent_t>(create_event()),
                                        static_cast<cudaEvent_t>(create_event())};
      std::size_t       used         = 0; ///< bytes that the device may not have read yet

      void empty(void *const stream)
      {
        if (used > 0)
          synchronize(stream);
        used = 0;
      }
    };
  } // namespace

  void copy_staged(void *const       destination,
                   const void *const source,
                   const std::size_t bytes,
                   const bool        to_device,
                   void *const       opaque_stream,
                   void (*on_host)(void *, const void *, std::size_t))
  {
    // Never given back: arrays may outlive every other static object.
    static Stage                     &stage = *new Stage;
    const std::lock_guard<std::mutex> lock(stage.one_at_a_time);
    constexpr std::size_t             piece  = Stage::piece;
    const auto                        stream = static_cast<cudaStream_t>(opaque_stream);
    cudaStreamCaptureStatus           capture;
    PATCHFEM_CUDA_CHECK(cudaStreamIsCapturing(stream, &capture));
    require(capture == cudaStreamCaptureStatusNone, "A graph does not hold copies of the host's own memory.");
    if (bytes < piece)
    {
      const std::size_t size = (bytes + 255) / 256 * 256;
      if (stage.used + size > 2 * piece)
        stage.empty(stream);
      char *const here = stage.memory + stage.used;
      stage.used += size;
      if (to_device)
        std::memcpy(here, source, bytes);
      copy(to_device ? destination : here, to_device ? here : source, bytes, stream);
      if (to_device)
        return;
      stage.empty(stream);
      std::memcpy(destination, here, bytes);
      return;
    }
    if (look_while_waiting != nullptr) // who waits for events does not look
      synchronize(stream);
    stage.empty(stream);
    char *const       to        = static_cast<char *>(destination);
    const char *const from      = static_cast<const char *>(source);
    const std::size_t n_pieces  = (bytes + piece - 1) / piece;
    const auto        length    = [&](const std::size_t k) { return std::min(piece, bytes - k * piece); };
    const auto        buffer    = [&](const std::size_t k) { return stage.memory + k % 2 * piece; };
    const auto       &travelled = stage.travelled;
    // Step k sends piece k to the device and reuses the buffer of piece k - 2, or empties the buffer of piece k - 1.
    for (std::size_t k = 0; k < n_pieces + !to_device; ++k)
    {
      if (to_device && k >= 2)
        PATCHFEM_CUDA_CHECK(cudaEventSynchronize(travelled[k % 2]));
      if (to_device)
        on_host(buffer(k), from + k * piece, length(k));
      if (k < n_pieces)
      {
        copy(to_device ? to + k * piece : buffer(k), to_device ? buffer(k) : from + k * piece, length(k), stream);
        PATCHFEM_CUDA_CHECK(cudaEventRecord(travelled[k % 2], stream));
      }
      if (!to_device && k >= 1)
      {
        PATCHFEM_CUDA_CHECK(cudaEventSynchronize(travelled[(k - 1) % 2]));
        on_host(to + (k - 1) * piece, buffer(k - 1), length(k - 1));
      }
    }
    synchronize(stream);
  }

  void set_zero(void *const pointer, const std::size_t bytes, void *const stream)
  {
    PATCHFEM_CUDA_CHECK(cudaMemsetAsync(pointer, 0, bytes, static_cast<cudaStream_t>(stream)));
  }

  void *allocate_pinned(const std::size_t bytes)
  {
    void *pointer = nullptr;
    PATCHFEM_CUDA_CHECK(cudaMallocHost(&pointer, bytes));
    return pointer;
  }

  void deallocate_pinned(void *const pointer) noexcept
  {
    cudaFreeHost(pointer);
  }

  void *allocate_shared(const std::size_t bytes)
  {
    void *pointer = nullptr;
    PATCHFEM_CUDA_CHECK(cudaMalloc(&pointer, bytes));
    PATCHFEM_CUDA_CHECK(cudaMemset(pointer, 0, bytes));
    PATCHFEM_CUDA_CHECK(cudaDeviceSynchronize());
    return pointer;
  }

  SharedHandle share(void *const pointer)
  {
    static_assert(sizeof(SharedHandle) == sizeof(cudaIpcMemHandle_t), "a handle of CUDA");
    SharedHandle result;
    PATCHFEM_CUDA_CHECK(cudaIpcGetMemHandle(reinterpret_cast<cudaIpcMemHandle_t *>(&result), pointer));
    return result;
  }

  void *open_shared(const SharedHandle &handle)
  {
    cudaIpcMemHandle_t known;
    std::memcpy(&known, &handle, sizeof(known));
    void *pointer = nullptr;
    if (cudaIpcOpenMemHandle(&pointer, known, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess)
      return pointer;
    cudaGetLastError();
    return nullptr;
  }

  namespace
  {
    int *late = nullptr;
  }

  int *late_rank()
  {
    if (late == nullptr)
    {
      late  = static_cast<int *>(allocate_pinned(sizeof(int)));
      *late = 0;
    }
    return late;
  }

  std::string what_failed()
  {
    return late != nullptr && *late > 0
               ? ": owner " + std::to_string(*late - 1) + " of GPUs, counted from 0, was waited for too long"
               : "";
  }

  void *record(void *const opaque_stream, const std::function<void()> &function)
  {
    const auto  stream = static_cast<cudaStream_t>(opaque_stream);
    cudaGraph_t graph  = nullptr;
    PATCHFEM_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    try
    {
      function();
    }
    catch (...)
    {
      cudaStreamEndCapture(stream, &graph);
      if (graph != nullptr)
        cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    PATCHFEM_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t   executable;
    const cudaError_t status = cudaGraphInstantiate(&executable, graph, cudaGraphInstantiateFlagUseNodePriority);
    cudaGraphDestroy(graph);
    PATCHFEM_CUDA_CHECK(status);
    return executable;
  }

  void launch_graph(void *const graph, void *const stream)
  {
    PATCHFEM_CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
  }

  void destroy_graph(void *const graph) noexcept
  {
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
  }
} // namespace PatchFEM::cuda_runtime
