// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/** @file Decorations of functions for both compilers; arithmetic that kernels share is tested without a GPU. */
#if defined(__CUDACC__)
#define PATCHFEM_HOST_DEVICE __host__ __device__
#define PATCHFEM_INLINE __host__ __device__ __forceinline__
#else
#define PATCHFEM_HOST_DEVICE
#define PATCHFEM_INLINE inline __attribute__((always_inline))
#endif

#if defined(__CUDA_ARCH__)
#define PATCHFEM_UNROLL _Pragma("unroll")
#else
#define PATCHFEM_UNROLL
#endif
