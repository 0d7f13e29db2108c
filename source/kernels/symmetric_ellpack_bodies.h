// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_symmetric_ellpack_bodies_h
#define patchfem_source_kernels_symmetric_ellpack_bodies_h

#include "kernels/structure_bodies.h"
#include "kernels/unique_rows.h"
#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/symmetric_ellpack.h>

/** @file Bodies (see parallel_for.h) that make a SymmetricEllpackView from sliced block ELLPACK. */
namespace PatchFEM
{
  namespace kernels
  {
    /** The largest magnitude of each block row. */
    template <typename Number>
    struct RowMagnitudeBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      double                   *magnitude; ///< [block row]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row  = static_cast<int>(i);
        double    most = 0.;
        for (int k = 0; k < lengths[row]; ++k)
          for (int a = 0; a < A.block_rows; ++a)
            for (int b = 0; b < A.block_columns; ++b)
            {
              const double value = static_cast<double>(A.values[A.value_index(row, k, a, b)]);
              most               = value > most ? value : (-value > most ? -value : most);
            }
        magnitude[row] = most;
      }
    };

    /**
     * The first block row with an entry that differs from its mirror image by more than @p tolerance of the smaller of
     * the magnitudes of the two rows, is not a number, or has no image in the pattern.
     */
    template <typename Number>
    struct SymmetryCheckBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      const double             *magnitude;
      double                    tolerance;
      int                      *bad_row; ///< starts at INT_MAX

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = static_cast<int>(i);
        for (int k = 0; k < lengths[row]; ++k)
        {
          const int column = A.columns[A.block_index(row, k)];
          const int mirror = find_block(A, lengths[column], column, row);
          if (mirror < 0)
          {
            atomic_min(bad_row, row);
            return;
          }
          if (column < row)
            continue;
          const double m = magnitude[column] < magnitude[row] ? magnitude[column] : magnitude[row];
          for (int a = 0; a < A.block_rows; ++a)
            for (int b = 0; b < A.block_columns; ++b)
            {
              const double difference = static_cast<double>(A.values[A.value_index(row, k, a, b)]) -
                                        static_cast<double>(A.values[A.value_index(column, mirror, b, a)]);
              if (!(difference <= tolerance * m && -difference <= tolerance * m))
                atomic_min(bad_row, row);
            }
        }
      }
    };

    /**
     * What becomes of each block of the source: the kind, and for the two that share storage the number of the block
     * that is stored among those of its row.
     */
    struct SymmetricCode
    {
      enum Kind
      {
        outer,
        diagonal,
        stored,  ///< inside the patch, and kept
        mirrored ///< inside the patch, the transpose of one that is kept
      };

      PATCHFEM_INLINE static std::uint16_t pack(const Kind kind, const int rank = 0)
      {
        return static_cast<std::uint16_t>(kind << 14 | rank);
      }
      PATCHFEM_INLINE static Kind kind(const std::uint16_t code) { return static_cast<Kind>(code >> 14); }
      PATCHFEM_INLINE static int  rank(const std::uint16_t code) { return code & 16383; }
    };

    /**
     * Which blocks are outside of the patch, and how many of a row are inside of it, with another row there or with one behind
     * this, and outside.
     */
    template <typename Number>
    struct SymmetricKindsBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      int                       patch_rows;
      std::uint16_t            *codes; ///< like the columns of A
      int                      *n_inner, *n_pairs, *n_outer;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row   = static_cast<int>(i);
        int       inner = 0, pairs = 0, outer = 0;
        for (int k = 0; k < lengths[row]; ++k)
        {
          const std::int64_t at      = A.block_index(row, k);
          const int          column  = A.columns[at];
          const bool         outside = column / patch_rows != row / patch_rows;
          outer += outside;
          inner += !outside && column != row;
          pairs += !outside && column > row;
          codes[at] = SymmetricCode::pack(
              outside ? SymmetricCode::outer : (column == row ? SymmetricCode::diagonal : SymmetricCode::mirrored));
        }
        n_inner[row] = inner;
        n_pairs[row] = pairs;
        n_outer[row] = outer;
      }
    };

    /** List p: the columns outside of patch p of its rows. */
    struct SymmetricHalo
    {
      static constexpr int team_size = 32, table_size = 1024, n_kept = 0;

      int                 n_rows, patch_rows, slice_height;
      const std::int64_t *slice_offsets;
      const int          *columns;
      const int          *lengths;

      template <typename Emit>
      PATCHFEM_INLINE void visit(const int p, const int rank, const int size, const Emit &emit) const
      {
        const std::int64_t end   = (std::int64_t(p) + 1) * patch_rows;
        const int          first = p * patch_rows, last = static_cast<int>(end < n_rows ? end : n_rows);
        for (int row = first + rank; row < last; row += size)
          for (int k = 0; k < lengths[row]; ++k)
          {
            const int column =
                columns[slice_offsets[row / slice_height] + std::int64_t(k) * slice_height + row % slice_height];
            if (column < first || column >= last)
              emit(column);
          }
      }
    };

    /** Two blocks of a patch that mirror each other, by their rows there, the smaller one first, and which has the block. */
    struct SymmetricPair
    {
      PATCHFEM_INLINE static std::uint32_t pack(const int row, const int column)
      {
        return static_cast<std::uint32_t>(row) | static_cast<std::uint32_t>(column) << 15;
      }
      PATCHFEM_INLINE static int  row(const std::uint32_t pair) { return static_cast<int>(pair & 32767u); }
      PATCHFEM_INLINE static int  column(const std::uint32_t pair) { return static_cast<int>(pair >> 15 & 32767u); }
      PATCHFEM_INLINE static bool first_has(const std::uint32_t pair) { return pair >> 31 != 0; }
      PATCHFEM_INLINE static std::uint32_t give(const std::uint32_t pair, const bool first)
      {
        return (pair & 0x7fffffffu) | static_cast<std::uint32_t>(first) << 31;
      }
    };

    /** The pairs of each row with rows behind it, in the order of its blocks. */
    template <typename Number>
    struct SymmetricPairsBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      int                       patch_rows;
      const std::int64_t       *pair_offsets; ///< [row]
      std::uint32_t            *pairs;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int    row = static_cast<int>(i);
        std::int64_t at  = pair_offsets[row];
        for (int k = 0; k < lengths[row]; ++k)
        {
          const int column = A.columns[A.block_index(row, k)];
          if (column > row && column / patch_rows == row / patch_rows)
            pairs[at++] = SymmetricPair::pack(row % patch_rows, column % patch_rows);
        }
      }
    };

    /**
     * For each patch: which of two blocks that mirror each other is stored. First the row gets it that is further from
     * storing half of its own, and in further passes a block goes to the other row where that makes the numbers of
     * blocks of the two, those outside of the patch included, more alike. So slices have little padding, and
     * all warps as much to do. No row stores many more than half, which bounds the number of chunks. One thread goes through
     * the pairs of a patch, which lie side by side: each step waits for the one before.
     */
    struct SymmetricOwnersBody
    {
      static constexpr int n_passes = 4, most_above_half = 2;

      int                 n_rows, patch_rows;
      const std::int64_t *pair_offsets; ///< [row + 1]
      const int          *n_inner, *n_outer;
      std::uint32_t      *pairs;
      int                *n_stored; ///< [row], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t patch) const
      {
        const std::int64_t first = patch * patch_rows, end = first + patch_rows;
        const std::int64_t last_pair = pair_offsets[end < n_rows ? end : n_rows];
        const auto         gives     = [this](const std::int64_t from, const std::int64_t to) {
          return n_stored[from] + n_outer[from] - n_stored[to] - n_outer[to] > 1 &&
                 2 * n_stored[to] < n_inner[to] + 2 * most_above_half;
        };
        for (int pass = 0; pass < n_passes; ++pass)
          for (std::int64_t at = pair_offsets[first]; at < last_pair; ++at)
          {
            const std::uint32_t pair = pairs[at];
            const std::int64_t  row = first + SymmetricPair::row(pair), column = first + SymmetricPair::column(pair);
            const bool          had = pass > 0 && SymmetricPair::first_has(pair);
            bool                gets;
            if (pass == 0)
              gets = 2 * n_stored[row] - n_inner[row] <= 2 * n_stored[column] - n_inner[column];
            else
              gets = had ? !gives(row, column) : gives(column, row);
            if (pass > 0 && gets == had)
              continue;
            pairs[at] = SymmetricPair::give(pair, gets);
            n_stored[row] += gets - had;
            n_stored[column] += pass == 0 ? !gets : had - gets;
          }
      }
    };

    /** The codes of the two blocks of each pair. */
    template <typename Number>
    struct SymmetricPairCodesBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      int                       patch_rows;
      const std::int64_t       *pair_offsets;
      const std::uint32_t      *pairs;
      std::uint16_t            *codes;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int    row = static_cast<int>(i);
        std::int64_t at  = pair_offsets[row];
        for (int k = 0; k < lengths[row]; ++k)
        {
          const std::int64_t here   = A.block_index(row, k);
          const int          column = A.columns[here];
          if (column <= row || column / patch_rows != row / patch_rows)
            continue;
          const bool         first = SymmetricPair::first_has(pairs[at++]);
          const std::int64_t there = A.block_index(column, find_block(A, lengths[column], column, row));
          codes[here]              = SymmetricCode::pack(first ? SymmetricCode::stored : SymmetricCode::mirrored);
          codes[there]             = SymmetricCode::pack(first ? SymmetricCode::mirrored : SymmetricCode::stored);
        }
      }
    };

    /** Numbers the stored blocks of each row. */
    template <typename Number>
    struct SymmetricRanksBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      std::uint16_t            *codes;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = static_cast<int>(i);
        int       n   = 0;
        for (int k = 0; k < lengths[row]; ++k)
        {
          std::uint16_t &code = codes[A.block_index(row, k)];
          if (SymmetricCode::kind(code) == SymmetricCode::stored)
            code = SymmetricCode::pack(SymmetricCode::stored, n++);
        }
      }
    };

    /** Mirrored blocks learn the number of the one that is stored. */
    template <typename Number>
    struct SymmetricPartnersBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      std::uint16_t            *codes;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = static_cast<int>(i);
        for (int k = 0; k < lengths[row]; ++k)
        {
          const std::int64_t at = A.block_index(row, k);
          if (SymmetricCode::kind(codes[at]) != SymmetricCode::mirrored)
            continue;
          const int           column = A.columns[at];
          const int           mirror = find_block(A, lengths[column], column, row);
          const std::uint16_t code   = codes[A.block_index(column, mirror)];
          codes[at]                  = SymmetricCode::pack(SymmetricCode::mirrored, SymmetricCode::rank(code));
        }
      }
    };

    /** Sort key of a row: its patch, then many blocks first, then few outer ones. */
    struct SymmetricKeyBody
    {
      int            patch_rows;
      const int     *n_stored, *n_outer;
      std::uint64_t *keys;
      int           *rows;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int outer = n_outer[i] < 65535 ? n_outer[i] : 65535;
        const int all   = n_stored[i] + n_outer[i] < 65535 ? n_stored[i] + n_outer[i] : 65535;
        keys[i] = static_cast<std::uint64_t>(i / patch_rows) << 32 | static_cast<std::uint64_t>(65535 - all) << 16 |
                  static_cast<std::uint64_t>(outer);
        rows[i] = static_cast<int>(i);
      }
    };

    /** For each slice: 32 times its width, and the words of its rows. */
    struct SymmetricSliceBody
    {
      int            n_rows, patch_rows;
      const int     *row_at; ///< [position]
      const int     *n_stored, *n_outer;
      int           *counts; ///< [slice]
      std::uint32_t *rows;

      PATCHFEM_INLINE void operator()(const std::int64_t slice) const
      {
        int width = 0;
        for (std::int64_t q = slice * 32; q < slice * 32 + 32; ++q)
        {
          rows[q] = 0;
          if (q >= n_rows)
            continue;
          const int row = row_at[q], n = n_stored[row] + n_outer[row];
          width   = n > width ? n : width;
          rows[q] = SymmetricRow::pack(row % patch_rows, n);
        }
        counts[slice] = width * 32;
      }
    };

    /** Chunks of each patch: as many as the row that stores most inside needs. */
    struct SymmetricChunksBody
    {
      int        n_rows, patch_rows, chunk;
      const int *n_stored;
      int       *n_chunks; ///< [patch]

      PATCHFEM_INLINE void operator()(const std::int64_t patch) const
      {
        int most = 0;
        for (std::int64_t row = patch * patch_rows; row < (patch + 1) * patch_rows && row < n_rows; ++row)
          most = n_stored[row] > most ? n_stored[row] : most;
        n_chunks[patch] = (most + chunk - 1) / chunk;
      }
    };

    /**
     * For each row, the slots it collects: 32 times how many there are in each chunk and slice, or with @p counts nullptr
     * the slots themselves.
     */
    template <typename Number>
    struct SymmetricMirrorsBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      int                       patch_rows, chunk;
      const std::uint16_t      *codes;
      const int                *position; ///< [row]
      const std::int64_t       *chunk_offsets;
      int                      *counts;         ///< [chunk][slice of the patch], starts at 0
      const std::int64_t       *mirror_offsets; ///< like counts
      std::uint16_t            *mirrors;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int          row = static_cast<int>(i), patch = row / patch_rows;
        const int          slices = patch_rows / 32, at = position[row] % patch_rows;
        const std::int64_t first = chunk_offsets[patch] * slices + at / 32;
        for (int k = 0; k < lengths[row]; ++k)
        {
          const std::int64_t  e    = A.block_index(row, k);
          const std::uint16_t code = codes[e];
          if (SymmetricCode::kind(code) != SymmetricCode::mirrored)
            continue;
          const int rank = SymmetricCode::rank(code), c = rank / chunk;
          int       m = 0; // how many of this chunk came before
          for (int l = 0; l < k; ++l)
          {
            const std::uint16_t before = codes[A.block_index(row, l)];
            m += SymmetricCode::kind(before) == SymmetricCode::mirrored && SymmetricCode::rank(before) / chunk == c;
          }
          if (counts != nullptr)
            atomic_max(counts + first + std::int64_t(c) * slices, 32 * (m + 1));
          else
            mirrors[mirror_offsets[first + std::int64_t(c) * slices] + 32 * m + at % 32] =
                static_cast<std::uint16_t>((rank - c * chunk) * patch_rows + position[A.columns[e]] % patch_rows);
        }
      }
    };

    /** values[i] = value, 16 bits. */
    struct FillShortBody
    {
      std::uint16_t *values;
      std::uint16_t  value;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { values[i] = value; }
    };

    /** Columns and values of each position; values start at 0. */
    template <typename Number>
    struct SymmetricFillBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      int                       patch_rows;
      const std::uint16_t      *codes;
      const int                *row_at, *n_stored;
      const std::int64_t       *offsets, *halo_offsets;
      const int                *halo;
      std::uint16_t            *columns;
      Number                   *diagonal, *values;

      PATCHFEM_INLINE void operator()(const std::int64_t q) const
      {
        const std::int64_t slice = q / 32, begin = offsets[slice], end = offsets[slice + 1];
        const int          r   = static_cast<int>(q % 32);
        const int          b   = A.block_rows;
        const int          row = q < A.n_rows ? row_at[q] : 0;
        const int *first = halo + halo_offsets[row / patch_rows], *last = halo + halo_offsets[row / patch_rows + 1];
        const auto copy = [&](const int k, const std::int64_t at, const int column) {
          columns[at + r] = static_cast<std::uint16_t>(column);
          for (int a = 0; a < b; ++a)
            for (int c = 0; c < b; ++c)
              values[at * b * b + 32 * (a * b + c) + r] = A.values[A.value_index(row, k, a, c)];
        };
        std::int64_t inner = begin, outer = begin + (q < A.n_rows ? 32 * n_stored[row] : 0);
        for (int k = 0; q < A.n_rows && k < lengths[row]; ++k)
        {
          const std::int64_t at     = A.block_index(row, k);
          const int          column = A.columns[at];
          switch (SymmetricCode::kind(codes[at]))
          {
          case SymmetricCode::stored:
            copy(k, inner, column % patch_rows);
            inner += 32;
            break;
          case SymmetricCode::outer:
            copy(k, outer, patch_rows + static_cast<int>(lower_bound(first, last, column) - first));
            outer += 32;
            break;
          case SymmetricCode::diagonal:
            for (int a = 0, e = 0; a < b; ++a)
              for (int c = a; c < b; ++c, ++e)
                diagonal[slice * 32 * (b * (b + 1) / 2) + 32 * e + r] = A.values[A.value_index(row, k, a, c)];
            break;
          case SymmetricCode::mirrored:
            break;
          }
        }
        for (; outer < end; outer += 32)
          columns[outer + r] = static_cast<std::uint16_t>(row % patch_rows);
      }
    };

    /**
     * The diagonal blocks, or with @p block_size 1 the diagonal, for each position that has a row: entry (a, c) of block i
     * at (a * block_size + c) * n_blocks + i.
     */
    template <typename Number>
    struct SymmetricBlockDiagonalBody
    {
      SymmetricEllpackView<Number> A;
      int                          block_size;
      Number                      *blocks;

      PATCHFEM_INLINE void operator()(const std::int64_t q) const
      {
        const int          b   = A.block_size;
        const std::int64_t row = q / A.patch_rows * A.patch_rows + SymmetricRow::row(A.rows[q]);
        const Number      *d   = A.diagonal + q / 32 * 32 * (b * (b + 1) / 2) + q % 32;
        for (int a = 0, e = 0; a < b; ++a)
          for (int c = a; c < b; ++c, ++e)
            if (block_size > 1)
              blocks[std::int64_t(a * b + c) * A.n_rows + row] = blocks[std::int64_t(c * b + a) * A.n_rows + row] =
                  d[32 * e];
            else if (a == c)
              blocks[row * b + a] = d[32 * e];
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
