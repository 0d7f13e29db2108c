// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

/**
 * @file
 * Loads that say how often their data is used. Values and columns of a matrix pass once: they are read through neither
 * the first-level cache nor, as far as hints allow, at the cost of the source vector in the second.
 */
namespace PatchFEM
{
  /** @p n consecutive elements that are loaded with one instruction. */
  template <typename T, int n>
  struct alignas(sizeof(T) * n) Pack
  {
    T data[n];

    __device__ T       &operator[](const int i) { return data[i]; }
    __device__ const T &operator[](const int i) const { return data[i]; }
  };

  namespace loads
  {
    __device__ inline int stream(const int *p)
    {
      int v;
      asm volatile("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(v) : "l"(p));
      return v;
    }

    __device__ inline float stream(const float *p)
    {
      float v;
      asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));
      return v;
    }

    __device__ inline double stream(const double *p)
    {
      double v;
      asm volatile("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
      return v;
    }

    __device__ inline void stream(Pack<int, 1> &v, const int *p)
    {
      v[0] = stream(p);
    }
    __device__ inline void stream(Pack<float, 1> &v, const float *p)
    {
      v[0] = stream(p);
    }
    __device__ inline void stream(Pack<double, 1> &v, const double *p)
    {
      v[0] = stream(p);
    }

    __device__ inline void stream(Pack<int, 2> &v, const int *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.v2.s32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "l"(p));
    }

    __device__ inline void stream(Pack<float, 2> &v, const float *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "l"(p));
    }

    __device__ inline void stream(Pack<double, 2> &v, const double *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(v[0]), "=d"(v[1]) : "l"(p));
    }

    __device__ inline void stream(Pack<std::uint16_t, 1> &v, const std::uint16_t *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v[0]) : "l"(p));
    }

    __device__ inline void stream(Pack<std::uint16_t, 2> &v, const std::uint16_t *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.v2.u16 {%0, %1}, [%2];" : "=h"(v[0]), "=h"(v[1]) : "l"(p));
    }

    __device__ inline void stream(Pack<std::uint16_t, 4> &v, const std::uint16_t *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.v4.u16 {%0, %1, %2, %3}, [%4];"
                   : "=h"(v[0]), "=h"(v[1]), "=h"(v[2]), "=h"(v[3])
                   : "l"(p));
    }

    __device__ inline void stream(Pack<int, 4> &v, const int *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.v4.s32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                   : "l"(p));
    }

    __device__ inline void stream(Pack<float, 4> &v, const float *p)
    {
      asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
                   : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
                   : "l"(p));
    }

    /** Asks for @p n_bytes from @p p on, both multiples of 16, to be brought into the second-level cache. */
    __device__ inline void prefetch(const void *p, const unsigned int n_bytes)
    {
#if __CUDA_ARCH__ >= 900
      asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(n_bytes));
#endif
    }
  } // namespace loads
} // namespace PatchFEM
