// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/** @file Products of small matrices in double precision by the instructions of a warp. */
namespace PatchFEM::kernels
{
  /**
   * d += a b for a 16 x 8 and an 8 x 8 matrix. With g = lane / 4 and t = lane % 4 a lane holds a(g, t), a(g + 8, t),
   * a(g, t + 4), a(g + 8, t + 4); b(t, g), b(t + 4, g); d(g, 2 t), d(g, 2 t + 1), d(g + 8, 2 t), d(g + 8, 2 t + 1).
   * The 8 x 8 x 4 instruction of earlier devices took about 7 clocks of a multiprocessor on an H200, fewer
   * multiply-adds a clock than plain instructions give.
   */
  __device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[4], const double (&b)[2])
  {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
        "%3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
    for (int half = 0; half < 2; ++half)
      for (int k = 0; k < 2; ++k)
        asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
            : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
            : "d"(a[half + 2 * k]), "d"(b[k]));
#endif
  }

  /** Likewise for a 16 x 4 and a 4 x 8 matrix: a(g, t), a(g + 8, t) and b(t, g). */
  __device__ __forceinline__ void multiply_add(double (&d)[4], const double (&a)[2], const double b)
  {
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
        : "d"(a[0]), "d"(a[1]), "d"(b));
#else
    for (int half = 0; half < 2; ++half)
      asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
          : "+d"(d[2 * half]), "+d"(d[2 * half + 1])
          : "d"(a[half]), "d"(b));
#endif
  }
} // namespace PatchFEM::kernels
