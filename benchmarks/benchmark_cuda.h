// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "benchmark.h"
#include "check.cuh"

#include <patchfem/base/array.h>

/** Time and rates of a CUDA device; included by .cu files only. */
namespace benchmark
{
  using PatchFEM::Array;
  using PatchFEM::Backend;

  __global__ void copy_kernel(const double2 *__restrict__ from, double2 *__restrict__ to, const std::int64_t n)
  {
    const std::int64_t first = std::int64_t(blockIdx.x) * (4 * blockDim.x) + threadIdx.x;
    double2            values[4];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (first + j * blockDim.x < n)
        values[j] = from[first + j * blockDim.x];
#pragma unroll
    for (int j = 0; j < 4; ++j)
      if (first + j * blockDim.x < n)
        to[first + j * blockDim.x] = values[j];
  }

  __global__ void read_kernel(const double2 *__restrict__ from, double *to, const std::int64_t n)
  {
    const std::int64_t first = std::int64_t(blockIdx.x) * (8 * blockDim.x) + threadIdx.x;
    double             sum   = 0.;
#pragma unroll
    for (int j = 0; j < 8; ++j)
      if (first + j * blockDim.x < n)
      {
        const double2 value = from[first + j * blockDim.x];
        sum += value.x + value.y;
      }
    if (sum == 1e300) // never: keeps the loads alive
      *to = sum;
  }

  /** Times on the stream of one back end. */
  class DeviceTimer
  {
  public:
    explicit DeviceTimer(const Backend &backend)
        : stream(static_cast<cudaStream_t>(backend.stream())), flush(backend, 512 << 20)
    {
      PATCHFEM_CUDA_CHECK(cudaEventCreate(&start));
      PATCHFEM_CUDA_CHECK(cudaEventCreate(&stop));
    }

    ~DeviceTimer()
    {
      cudaEventDestroy(start);
      cudaEventDestroy(stop);
    }

    DeviceTimer(const DeviceTimer &)            = delete;
    DeviceTimer &operator=(const DeviceTimer &) = delete;

    double seconds(const std::function<void()> &function)
    {
      PATCHFEM_CUDA_CHECK(cudaEventRecord(start, stream));
      function();
      PATCHFEM_CUDA_CHECK(cudaEventRecord(stop, stream));
      PATCHFEM_CUDA_CHECK(cudaEventSynchronize(stop));
      float milliseconds = 0.f;
      PATCHFEM_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
      return 1e-3 * milliseconds;
    }

    /** Calls one after the other: caches hold what the call before has left. */
    std::vector<double> warm(const int n_repetitions, const std::function<void()> &function)
    {
      function();
      std::vector<double> result;
      for (int i = 0; i < n_repetitions; ++i)
        result.push_back(seconds(function));
      return result;
    }

    /** Before each call 512 MB are written, so that the caches hold nothing of use. */
    std::vector<double> cold(const int n_repetitions, const std::function<void()> &function)
    {
      function();
      std::vector<double> result;
      for (int i = 0; i < n_repetitions; ++i)
      {
        PATCHFEM_CUDA_CHECK(cudaMemsetAsync(flush.data(), i, flush.size(), stream));
        result.push_back(seconds(function));
      }
      return result;
    }

  private:
    cudaStream_t stream;
    cudaEvent_t  start, stop;
    Array<char>  flush;
  };

  /** Copy and read rates on 2 GB arrays, in bytes per second. */
  inline void measure_rates(const Backend &backend, Report &report)
  {
    const std::int64_t n = std::int64_t(1) << 27; // of 16 bytes
    Array<double2>     from(backend, n), to(backend, n);
    from.set_zero();
    DeviceTimer        timer(backend);
    const cudaStream_t stream = static_cast<cudaStream_t>(backend.stream());
    const double       copy =
        median(timer.warm(20, [&]() { copy_kernel<<<n / (4 * 256), 256, 0, stream>>>(from.data(), to.data(), n); }));
    const double read = median(timer.warm(20, [&]() {
      read_kernel<<<n / (8 * 256), 256, 0, stream>>>(from.data(), reinterpret_cast<double *>(to.data()), n);
    }));
    PATCHFEM_CUDA_CHECK_LAUNCH();
    report.copy_rate = 2. * 16. * n / copy;
    report.read_rate = 16. * n / read;
    report.print_rates();
  }
} // namespace benchmark
