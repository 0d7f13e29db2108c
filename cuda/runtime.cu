// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"

#include <patchfem/kernels/runtime.h>

#include <cstdint>

namespace PatchFEM
{
  namespace cuda_runtime
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

      int attribute(const cudaDeviceAttr which)
      {
        int value = 0;
        PATCHFEM_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, current_device()));
        return value;
      }
    } // namespace

    int n_devices()
    {
      int n = 0;
      PATCHFEM_CUDA_CHECK(cudaGetDeviceCount(&n));
      return n;
    }

    int current_device()
    {
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

    std::string device_name()
    {
      cudaDeviceProp properties;
      PATCHFEM_CUDA_CHECK(cudaGetDeviceProperties(&properties, current_device()));
      return properties.name;
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

    void *create_stream()
    {
      std::uint64_t keep = UINT64_MAX; // freed memory stays in the pool
      PATCHFEM_CUDA_CHECK(cudaMemPoolSetAttribute(pool(), cudaMemPoolAttrReleaseThreshold, &keep));
      cudaStream_t stream;
      PATCHFEM_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      return stream;
    }

    void destroy_stream(void *const stream) noexcept
    {
      cudaStreamDestroy(static_cast<cudaStream_t>(stream));
    }

    void synchronize(void *const stream)
    {
      PATCHFEM_CUDA_CHECK(cudaStreamSynchronize(static_cast<cudaStream_t>(stream)));
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

    void set_zero(void *const pointer, const std::size_t bytes, void *const stream)
    {
      PATCHFEM_CUDA_CHECK(cudaMemsetAsync(pointer, 0, bytes, static_cast<cudaStream_t>(stream)));
    }

    void begin_capture(void *const stream)
    {
      PATCHFEM_CUDA_CHECK(cudaStreamBeginCapture(static_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal));
    }

    void *end_capture(void *const stream)
    {
      cudaGraph_t graph;
      PATCHFEM_CUDA_CHECK(cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph));
      cudaGraphExec_t   executable;
      const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
      cudaGraphDestroy(graph);
      PATCHFEM_CUDA_CHECK(status);
      return executable;
    }

    void abandon_capture(void *const stream) noexcept
    {
      cudaGraph_t graph = nullptr;
      cudaStreamEndCapture(static_cast<cudaStream_t>(stream), &graph);
      if (graph != nullptr)
        cudaGraphDestroy(graph);
      cudaGetLastError();
    }

    void launch_graph(void *const graph, void *const stream)
    {
      PATCHFEM_CUDA_CHECK(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), static_cast<cudaStream_t>(stream)));
    }

    void destroy_graph(void *const graph) noexcept
    {
      cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
    }
  } // namespace cuda_runtime
} // namespace PatchFEM
