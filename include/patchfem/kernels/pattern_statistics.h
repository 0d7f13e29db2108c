// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

/**
 * @file
 * What storage formats need of a pattern, by bodies (see parallel_for.h) that write a few numbers for many rows.
 */
namespace PatchFEM::kernels
{
  /**
   * Over groups of 1024 rows: the blocks that slices of 1, 2, 4, ..., 1024 rows store, padding included, and the longest
   * row. A slice of the last group that reaches behind the last row is stored in full.
   */
  struct PaddingBody
  {
    static constexpr int n_heights = 11;
    static constexpr int group     = 1 << (n_heights - 1);

    int                 n_rows;
    const std::int64_t *row_offsets;
    std::int64_t       *stored; ///< [n_heights + 1][n_groups], the last of which is the longest row
    std::int64_t        n_groups;

    PATCHFEM_INLINE void operator()(const std::int64_t g) const
    {
      std::int64_t sums[n_heights] = {}, longest = 0;
      std::int64_t widths[n_heights] = {}; // of the slice of each height that is open
      const auto   first             = g * group;
      for (std::int64_t r = 0; r < group; ++r)
      {
        const std::int64_t row    = first + r;
        const std::int64_t length = row < n_rows ? row_offsets[row + 1] - row_offsets[row] : 0;
        longest                   = length > longest ? length : longest;
        for (int h = 0; h < n_heights; ++h)
        {
          widths[h] = length > widths[h] ? length : widths[h];
          if ((r + 1) % (std::int64_t(1) << h) == 0)
          {
            sums[h] += widths[h] << h;
            widths[h] = 0;
          }
        }
      }
      for (int h = 0; h < n_heights; ++h)
        stored[h * n_groups + g] = sums[h];
      stored[n_heights * n_groups + g] = longest;
    }
  };

  /**
   * Over a sample of slices of 32 rows: whether all steps from one column of a row to the next fit into 16 bits, the
   * lengths of the rows, how many columns lie at most 1, 2, 4, ... from their row, in whole powers of two, and what
   * patches of @p patch_rows rows, a multiple of 32, cut apart.
   */
  struct SampleSlicesBody
  {
    static constexpr int n_distances = 32;

    SparsityView  pattern;
    std::int64_t  stride;    ///< the i-th of the sample is slice i * stride
    int          *is_short;  ///< [sample]
    int          *lengths;   ///< [sample][32], -1 behind the last row
    std::int64_t *distances; ///< [n_distances][sample]
    std::int64_t  n_samples;
    int           patch_rows;
    int          *cuts; ///< [3][sample]: blocks on the diagonal, those off it inside of the patch, rows with others

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      std::int64_t counts[n_distances] = {};
      bool         all_short           = true;
      const int    patch               = static_cast<int>(i * stride * 32 / patch_rows);
      int          on_diagonal = 0, inside = 0, cut_rows = 0;
      for (int r = 0; r < 32; ++r)
      {
        const std::int64_t row = i * stride * 32 + r;
        if (row >= pattern.n_rows)
        {
          lengths[i * 32 + r] = -1;
          continue;
        }
        const std::int64_t begin = pattern.row_offsets[row], end = pattern.row_offsets[row + 1];
        lengths[i * 32 + r] = static_cast<int>(end - begin);
        bool leaves         = false;
        for (std::int64_t e = begin; e < end; ++e)
        {
          const std::int64_t distance = pattern.columns[e] > row ? pattern.columns[e] - row : row - pattern.columns[e];
          ++counts[distance <= 1 ? 0 : bits(static_cast<unsigned int>(distance - 1))];
          all_short            = all_short && (e == begin || pattern.columns[e] - pattern.columns[e - 1] < 65536);
          const bool is_inside = pattern.columns[e] / patch_rows == patch;
          on_diagonal += distance == 0;
          inside += is_inside && distance != 0;
          leaves = leaves || !is_inside;
        }
        cut_rows += leaves;
      }
      cuts[i]                 = on_diagonal;
      cuts[n_samples + i]     = inside;
      cuts[2 * n_samples + i] = cut_rows;
      is_short[i]             = all_short;
      for (int d = 0; d < n_distances; ++d)
        distances[d * n_samples + i] = counts[d];
    }

  private:
    /** How many of a number that is not 0. */
    PATCHFEM_INLINE static int bits(const unsigned int n)
    {
#if defined(__CUDA_ARCH__)
      return 32 - __clz(static_cast<int>(n));
#else
      return 32 - __builtin_clz(n);
#endif
    }
  };

  /** Reads n_pieces of memory, which is 0 everywhere, and does nothing with them: the rate at which the memory can be read. */
  struct ReadBody
  {
    struct alignas(16) Piece
    {
      std::int64_t values[2];
    };
    static constexpr int n_pieces = 8, bytes = n_pieces * sizeof(Piece);

    Piece       *memory; ///< [n_pieces][n]
    std::int64_t n;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      std::int64_t seen = 0;
      for (int k = 0; k < n_pieces; ++k)
      {
        const Piece piece = memory[k * n + i];
        seen |= piece.values[0] | piece.values[1];
      }
      if (seen != 0) // so that no compiler leaves reads out
        memory[i].values[0] = 0;
    }
  };
} // namespace PatchFEM::kernels
