// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

/** @file What storage formats need of a pattern, by bodies (see parallel_for.h): a few numbers for many rows. */
namespace PatchFEM::kernels
{
  /** Over groups of 1024 rows: blocks in slices of 1, 2, 4, ..., 1024 rows, padding past the end too; longest row. */
  struct PaddingBody
  {
    static constexpr int n_heights  = 11;
    static constexpr int group_size = 1 << (n_heights - 1);

    struct Group
    {
      std::int64_t stored[n_heights], longest_row;
    };

    int                 n_rows;
    const std::int64_t *row_offsets;
    Group              *groups;

    PATCHFEM_INLINE void operator()(const std::int64_t g) const
    {
      Group        group             = {};
      std::int64_t widths[n_heights] = {}; // of the slice of each height that is open
      for (std::int64_t r = 0; r < group_size; ++r)
      {
        const std::int64_t row    = g * group_size + r;
        const std::int64_t length = row < n_rows ? row_offsets[row + 1] - row_offsets[row] : 0;
        group.longest_row         = length > group.longest_row ? length : group.longest_row;
        for (int h = 0; h < n_heights; ++h)
        {
          widths[h] = length > widths[h] ? length : widths[h];
          if ((r + 1) % (std::int64_t(1) << h) == 0)
          {
            group.stored[h] += widths[h] << h;
            widths[h] = 0;
          }
        }
      }
      groups[g] = group;
    }
  };

  /** Over a sample of slices of 32 rows, cut apart by patches of @p patch_rows rows, a multiple of 32. */
  struct SampleSlicesBody
  {
    static constexpr int n_distances = 32;

    struct Slice
    {
      std::int64_t distances[n_distances]; ///< [k]: columns at most 2^k from their row, and more than the power below
      int          lengths[32];            ///< of the rows, -1 behind the last one
      int          is_short;               ///< whether all steps from one column of a row to the next fit into 16 bits
      int          on_diagonal;            ///< blocks
      int          inside;                 ///< blocks off the diagonal that are inside of the patch
      int          cut_rows;               ///< with others
    };

    SparsityView pattern;
    std::int64_t stride; ///< the i-th of the sample is slice i * stride
    int          patch_rows;
    Slice       *slices;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      Slice     slice = {};
      const int patch = static_cast<int>(i * stride * 32 / patch_rows);
      slice.is_short  = true;
      for (int r = 0; r < 32; ++r)
      {
        const std::int64_t row = i * stride * 32 + r;
        if (row >= pattern.n_rows)
        {
          slice.lengths[r] = -1;
          continue;
        }
        const std::int64_t begin = pattern.row_offsets[row], end = pattern.row_offsets[row + 1];
        bool               leaves = false;
        slice.lengths[r]          = static_cast<int>(end - begin);
        for (std::int64_t e = begin; e < end; ++e)
        {
          const std::int64_t distance = pattern.columns[e] > row ? pattern.columns[e] - row : row - pattern.columns[e];
          ++slice.distances[distance <= 1 ? 0 : bits(static_cast<unsigned int>(distance - 1))];
          if (e > begin && pattern.columns[e] - pattern.columns[e - 1] >= 65536)
            slice.is_short = false;
          const bool is_inside = pattern.columns[e] / patch_rows == patch;
          slice.on_diagonal += distance == 0;
          slice.inside += is_inside && distance != 0;
          leaves = leaves || !is_inside;
        }
        slice.cut_rows += leaves;
      }
      slices[i] = slice;
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
