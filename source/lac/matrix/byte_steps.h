// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"

#include <patchfem/kernels/jacobi.h>
#include <patchfem/lac/matrix/byte_matrix.h>

#include <cmath>

/** @file The steps (see launch.h) of ByteMatrix. */
namespace PatchFEM::bytes
{
  template <typename Where>
  void find_scales(Where, Vector<float> &diagonal, Vector<float> &inverses);
  template <typename Where>
  void
  round_values(Where, const SlicedEllpackView<float> &A, const Vector<float> &inverses, Array<std::int8_t> &values);

  /** The largest whole number of 8 bits whose opposite is one, too. */
  constexpr float largest = 127.f;

  /** s = sqrt(a_ii / 127) in place of a_ii, and 1 / s. */
  template <>
  void find_scales(Here, Vector<float> &diagonal, Vector<float> &inverses)
  {
    launch(diagonal.backend(), diagonal.size(),
           [=, s = diagonal.data(), inverse = inverses.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             s[i]       = std::sqrt(s[i] / largest);
             inverse[i] = 1.f / s[i];
           });
  }

  /**
   * A row of slices in whole numbers, 0 behind the last row of the matrix: reads each value once, with a quarter of its
   * bytes out. @tparam size as in kernels::with_block_size()
   */
  template <int size>
  struct RoundRow
  {
    SlicedEllpackView<float> A;
    const float             *inverses; ///< 1 / s
    std::int8_t             *to;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      constexpr int      room  = size > 0 ? size : kernels::max_block_size;
      const int          block = size > 0 ? size : A.block_rows, height = A.slice_height;
      const int          slice = static_cast<int>(i / height), r = static_cast<int>(i % height);
      const bool         works = i < A.n_rows;
      const std::int64_t end   = A.slice_offsets[slice + 1];
      const float *const row   = inverses + (works ? i * block : 0);
      for (std::int64_t at = A.slice_offsets[slice] + r; at < end; at += height)
      {
        const float *const column = inverses + std::int64_t(A.columns[at]) * block;
        const std::int64_t first  = (at - r) * block * block + r;
        std::int8_t        h[room * room]; // all are read before one is written: bytes might lie anywhere
        PATCHFEM_UNROLL
        for (int a = 0; a < block; ++a)
          PATCHFEM_UNROLL
        for (int b = 0; b < block; ++b)
        {
          // The smaller factor first: the same number with rows and columns exchanged, and none leaves the range of fp32.
          const float s_a = row[works ? a : 0], s_b = column[b];
          const float value = works ? A.values[first + std::int64_t(a * block + b) * height] : 0.f;
          const float whole = std::rint(value * (s_a < s_b ? s_a : s_b) * (s_a < s_b ? s_b : s_a));
          h[a * block + b] =
              static_cast<std::int8_t>(whole > largest ? largest : (whole < -largest ? -largest : whole));
        }
        PATCHFEM_UNROLL
        for (int e = 0; e < block * block; ++e)
          to[first + std::int64_t(e) * height] = h[e];
      }
    }
  };

  template <>
  void round_values(Here, const SlicedEllpackView<float> &A, const Vector<float> &inverses, Array<std::int8_t> &values)
  {
    launch(values.backend(), [&](const Here where) {
      kernels::with_block_size(A.block_rows, [&](auto size) {
        kernels::parallel_for(where, std::int64_t(A.n_slices()) * A.slice_height,
                              RoundRow<decltype(size)::value>{A, inverses.data(), values.data()});
      });
    });
  }
} // namespace PatchFEM::bytes
