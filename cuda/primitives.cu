// SPDX-License-Identifier: LGPL-2.1-or-later
#include "workspace.cuh"

#include <patchfem/kernels/primitives.h>
#include <patchfem/kernels/runtime.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_sort.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace PatchFEM::kernels
{
  namespace
  {
    struct Widen
    {
      __device__ std::int64_t operator()(const int x) const { return x; }
    };
  } // namespace

  template <>
  void exclusive_scan(Cuda where, const std::int64_t n, const int *counts, std::int64_t *offsets)
  {
    PATCHFEM_CUDA_CHECK(cudaMemsetAsync(offsets, 0, sizeof(std::int64_t), stream_of(where)));
    if (n == 0)
      return;
    const auto wide = thrust::make_transform_iterator(counts, Widen());
    with_workspace(where, [&](void *workspace, std::size_t &bytes) {
      return cub::DeviceScan::InclusiveSum(workspace, bytes, wide, offsets + 1, n, stream_of(where));
    });
  }

  template <typename Key, typename Value, typename Where>
  void stable_sort_by_key(Where where, const std::int64_t n, Key *keys, Value *values, const int n_bits)
  {
    const Scratch<Key>       other_keys(where, n);
    const Scratch<Value>     other_values(where, n);
    cub::DoubleBuffer<Key>   key_buffer(keys, other_keys.get());
    cub::DoubleBuffer<Value> value_buffer(values, other_values.get());
    with_workspace(where, [&](void *workspace, std::size_t &bytes) {
      return cub::DeviceRadixSort::SortPairs(workspace, bytes, key_buffer, value_buffer, n, 0, n_bits,
                                             stream_of(where));
    });
    if (key_buffer.Current() != keys)
    {
      PATCHFEM_CUDA_CHECK(
          cudaMemcpyAsync(keys, key_buffer.Current(), n * sizeof(Key), cudaMemcpyDeviceToDevice, stream_of(where)));
      PATCHFEM_CUDA_CHECK(cudaMemcpyAsync(values, value_buffer.Current(), n * sizeof(Value), cudaMemcpyDeviceToDevice,
                                          stream_of(where)));
    }
  }

  template void stable_sort_by_key(Cuda, std::int64_t, std::uint64_t *, int *, int);
  template void stable_sort_by_key(Cuda, std::int64_t, int *, std::int64_t *, int);

  template <>
  void sort_segments(Cuda where, const std::int64_t n, const int n_segments, const std::int64_t *offsets, int *keys)
  {
    const Scratch<int>     other(where, n);
    cub::DoubleBuffer<int> buffer(keys, other.get());
    with_workspace(where, [&](void *workspace, std::size_t &bytes) {
      return cub::DeviceSegmentedSort::SortKeys(workspace, bytes, buffer, n, n_segments, offsets, offsets + 1,
                                                stream_of(where));
    });
    if (buffer.Current() != keys)
      PATCHFEM_CUDA_CHECK(
          cudaMemcpyAsync(keys, buffer.Current(), n * sizeof(int), cudaMemcpyDeviceToDevice, stream_of(where)));
  }

  template <>
  int maximum(Cuda where, const std::int64_t n, const int *values)
  {
    if (n == 0)
      return 0;
    const Scratch<int> result(where, 1);
    with_workspace(where, [&](void *workspace, std::size_t &bytes) {
      return cub::DeviceReduce::Max(workspace, bytes, values, result.get(), n, stream_of(where));
    });
    int value;
    cuda_runtime::copy_staged(&value, result.get(), sizeof(int), false, where.stream, nullptr);
    return value > 0 ? value : 0;
  }
} // namespace PatchFEM::kernels
