// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac/graph/graph_tools.h"

#include "kernels/multigrid_pattern_bodies.h"
#include "kernels/structure_bodies.h"
#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/symmetric_ellpack.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

#include <climits>

/** @file The steps (see launch.h) that make a SymmetricEllpackView from sliced block ELLPACK. */
namespace PatchFEM
{
  namespace kernels
  {
    /** The kind of each block of the source and, of two that share storage, the number of the stored one in its row. */
    struct SymmetricCode
    {
      enum Kind : std::uint16_t
      {
        outer,
        diagonal,
        stored,  ///< inside the patch, and kept
        mirrored ///< inside the patch, the transpose of one that is kept
      };
      Kind          kind : 2;
      std::uint16_t rank : 14;
    };

    /** List p: the columns outside of patch p of its rows. */
    struct SymmetricHalo
    {
      static constexpr int team_size = 32, table_size = 1024, n_kept = 0;

      int               patch_rows;
      SlicedPatternView A;

      template <typename Emit>
      PATCHFEM_INLINE void visit(const int p, const int rank, const int size, const Emit &emit) const
      {
        const std::int64_t end   = (std::int64_t(p) + 1) * patch_rows;
        const int          first = p * patch_rows, last = static_cast<int>(end < A.n_rows ? end : A.n_rows);
        for (int row = first + rank; row < last; row += size)
          A.for_each_block(row, [&](std::int64_t, const int column) {
            if (column < first || column >= last)
              emit(column);
          });
      }
    };

    /** Two blocks of a patch that mirror each other, by their rows, the smaller one first, and which is stored. */
    struct SymmetricPair
    {
      std::uint32_t row : 15, column : 15, first_has : 1;
    };
  } // namespace kernels

  namespace internal
  {
    template <typename Number>
    int asymmetric_row(Cuda, const Backend &, const SlicedEllpackView<Number> &, double);

    /**
     * The first block row of @p A with an entry that differs from its mirror image by more than @p tolerance of the
     * smaller of the largest magnitudes in the two rows, is not a number, or has no image in the pattern; else INT_MAX.
     */
    template <typename Number>
    int asymmetric_row(Here, const Backend &place, const SlicedEllpackView<Number> &A, const double tolerance)
    {
      Array<double> magnitudes(place, A.n_rows);
      Array<int>    first(place, std::vector<int>{INT_MAX});
      double *const magnitude = magnitudes.data();
      int *const    bad_row   = first.data();
      launch(place, A.n_rows, [=] PATCHFEM_DEVICE(const std::int64_t i) {
        const int row  = static_cast<int>(i);
        double    most = 0.;
        for (int k = 0; k < A.row_lengths[row]; ++k)
          for (int a = 0; a < A.block_rows; ++a)
            for (int b = 0; b < A.block_columns; ++b)
            {
              const double value = static_cast<double>(A.values[A.value_index(row, k, a, b)]);
              most               = value > most ? value : (-value > most ? -value : most);
            }
        magnitude[row] = most;
      });
      launch(place, A.n_rows, [=] PATCHFEM_DEVICE(const std::int64_t i) {
        const int row = static_cast<int>(i);
        for (int k = 0; k < A.row_lengths[row]; ++k)
        {
          const int column = A.column(row, k);
          const int mirror = A.find_block(column, row);
          if (mirror < 0)
          {
            kernels::atomic_min(bad_row, row);
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
                kernels::atomic_min(bad_row, row);
            }
        }
      });
      return first.read(0);
    }

    template <typename Number>
    void build_symmetric(Cuda, const SlicedEllpackMatrix<Number> &, SymmetricPattern &, Array<Number> &values);

    /** All but the halo, which @p made has, and the values. */
    template <typename Number>
    void
    build_symmetric(Here, const SlicedEllpackMatrix<Number> &matrix, SymmetricPattern &made, Array<Number> &all_values)
    {
      using Code = kernels::SymmetricCode;
      using graph_tools::scan;
      const Backend                  &place = matrix.backend();
      const SlicedEllpackView<Number> A     = matrix.view();
      const int                       n = A.n_rows, block_size = A.block_rows;
      const int patch_rows = kernels::symmetric_patch_rows(block_size), chunk = kernels::symmetric_chunk(block_size);
      const int n_patches = n / patch_rows + (n % patch_rows != 0), slices_per_patch = patch_rows / 32;
      const std::int64_t n_slices = std::int64_t(n_patches) * slices_per_patch, n_positions = n_slices * 32;

      // Which blocks are outside of the patch, and how many of a row are, or inside with another row, or one behind it.
      Array<Code> all_codes(place,
                            matrix.n_stored_elements() / (block_size * block_size)); // like the columns of A
      Array<int>  inner_of_rows(place, n), outer_of_rows(place, n), stored_of_rows(place, n);
      Code *const codes  = all_codes.data();
      int *const n_inner = inner_of_rows.data(), *const n_outer = outer_of_rows.data();
      int *const n_stored = stored_of_rows.data();
      stored_of_rows.set_zero();
      {
        Array<int>          pairs_of_rows(place, n);
        Array<std::int64_t> offsets_of_pairs;
        launch(place, n, [=, n_pairs = pairs_of_rows.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          const int row   = static_cast<int>(i);
          int       inner = 0, pairs = 0, outer = 0;
          A.for_each_block(row, [&](const std::int64_t at, const int column) {
            const bool outside = column / patch_rows != row / patch_rows;
            outer += outside;
            inner += !outside && column != row;
            pairs += !outside && column > row;
            codes[at] = {outside ? Code::outer : (column == row ? Code::diagonal : Code::mirrored), 0};
          });
          n_inner[row] = inner;
          n_pairs[row] = pairs;
          n_outer[row] = outer;
        });

        // The pairs of each row with rows behind it, in the order of its blocks.
        Array<kernels::SymmetricPair> all_pairs(place, scan(pairs_of_rows, offsets_of_pairs));
        const std::int64_t *const     pair_offsets = offsets_of_pairs.data();
        kernels::SymmetricPair *const pairs        = all_pairs.data();
        launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
          const int    row = static_cast<int>(i);
          std::int64_t at  = pair_offsets[row];
          A.for_each_block(row, [&](std::int64_t, const int column) {
            if (column > row && column / patch_rows == row / patch_rows)
              pairs[at++] = {unsigned(row % patch_rows), unsigned(column % patch_rows), 0};
          });
        });

        // For each patch: which of two blocks that mirror each other is stored. First the row gets it that is further
        // from storing half of its own, and in further passes a block goes to the other row where that makes the
        // numbers of blocks of the two, those outside of the patch included, more alike. So slices have little padding,
        // and all warps as much to do. No row stores many more than half, which bounds the number of chunks. One thread
        // goes through the pairs of a patch, which lie side by side: each step waits for the one before.
        constexpr int n_passes = 4, most_above_half = 2;
        launch(place, n_patches, [=] PATCHFEM_DEVICE(const std::int64_t patch) {
          const std::int64_t first = patch * patch_rows, end = first + patch_rows;
          const std::int64_t last_pair = pair_offsets[end < n ? end : n];
          const auto         gives     = [&](const std::int64_t from, const std::int64_t to) {
            return n_stored[from] + n_outer[from] - n_stored[to] - n_outer[to] > 1 &&
                   2 * n_stored[to] < n_inner[to] + 2 * most_above_half;
          };
          for (int pass = 0; pass < n_passes; ++pass)
            for (std::int64_t at = pair_offsets[first]; at < last_pair; ++at)
            {
              const std::int64_t row = first + pairs[at].row, column = first + pairs[at].column;
              const bool         had = pass > 0 && pairs[at].first_has;
              bool               gets;
              if (pass == 0)
                gets = 2 * n_stored[row] - n_inner[row] <= 2 * n_stored[column] - n_inner[column];
              else
                gets = had ? !gives(row, column) : gives(column, row);
              if (pass > 0 && gets == had)
                continue;
              pairs[at].first_has = gets;
              n_stored[row] += gets - had;
              n_stored[column] += pass == 0 ? !gets : had - gets;
            }
        });
        launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
          const int    row = static_cast<int>(i);
          std::int64_t at  = pair_offsets[row];
          A.for_each_block(row, [&](const std::int64_t here, const int column) {
            if (column <= row || column / patch_rows != row / patch_rows)
              return;
            const bool         first = pairs[at++].first_has;
            const std::int64_t there = A.block_index(column, A.find_block(column, row));
            codes[here].kind         = first ? Code::stored : Code::mirrored;
            codes[there].kind        = first ? Code::mirrored : Code::stored;
          });
        });
      }
      // The stored blocks of each row are numbered, and mirrored ones learn the number of the one that is stored.
      launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
        int rank = 0;
        A.for_each_block(static_cast<int>(i), [&](const std::int64_t at, int) {
          if (codes[at].kind == Code::stored)
            codes[at].rank = rank++;
        });
      });
      launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
        const int row = static_cast<int>(i);
        A.for_each_block(row, [&](const std::int64_t at, const int column) {
          if (codes[at].kind == Code::mirrored)
            codes[at].rank = codes[A.block_index(column, A.find_block(column, row))].rank;
        });
      });

      // Positions in the patches: many blocks first, then few outer ones.
      Array<int> rows_at(place, n), positions(place, n);
      int *const row_at = rows_at.data(), *const position = positions.data();
      {
        Array<std::uint64_t> sorted(place, n);
        launch(place, n, [=, keys = sorted.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          const int outer = n_outer[i] < 65535 ? n_outer[i] : 65535;
          const int all   = n_stored[i] + n_outer[i] < 65535 ? n_stored[i] + n_outer[i] : 65535;
          keys[i] = static_cast<std::uint64_t>(i / patch_rows) << 32 | static_cast<std::uint64_t>(65535 - all) << 16 |
                    static_cast<std::uint64_t>(outer);
          row_at[i] = static_cast<int>(i);
        });
        launch(place, [&](const Here where) {
          kernels::stable_sort_by_key(where, n, sorted.data(), row_at, 32 + bits_for(std::int64_t(n_patches) + 1));
        });
      }
      launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { position[row_at[i]] = static_cast<int>(i); });

      // For each slice: 32 times its width, and the words of its rows.
      made.rows.reinit(place, n_positions);
      Array<int> slice_counts(place, n_slices), chunks_of_patches(place, n_patches);
      launch(place, n_slices,
             [=, counts = slice_counts.data(), rows = made.rows.data()] PATCHFEM_DEVICE(const std::int64_t slice) {
               int width = 0;
               for (std::int64_t q = slice * 32; q < slice * 32 + 32; ++q)
               {
                 rows[q] = 0;
                 if (q >= n)
                   continue;
                 const int row = row_at[q], n_blocks = n_stored[row] + n_outer[row];
                 width   = n_blocks > width ? n_blocks : width;
                 rows[q] = SymmetricRow::pack(row % patch_rows, n_blocks);
               }
               counts[slice] = width * 32;
             });
      // Chunks of each patch: as many as the row that stores most inside needs.
      launch(place, n_patches, [=, n_chunks = chunks_of_patches.data()] PATCHFEM_DEVICE(const std::int64_t patch) {
        int most = 0;
        for (std::int64_t row = patch * patch_rows; row < (patch + 1) * patch_rows && row < n; ++row)
          most = n_stored[row] > most ? n_stored[row] : most;
        n_chunks[patch] = (most + chunk - 1) / chunk;
      });
      const std::int64_t        size = scan(slice_counts, made.offsets);
      Array<int>                mirror_counts(place, scan(chunks_of_patches, made.chunk_offsets) * slices_per_patch);
      const std::int64_t *const chunk_offsets = made.chunk_offsets.data();

      // For each row, the slots it collects: 32 times how many there are in each chunk and slice, then the slots.
      const auto find_mirrors = [&](int *counts, const std::int64_t *mirror_offsets, std::uint16_t *mirrors) {
        launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) {
          const int          row = static_cast<int>(i), patch = row / patch_rows, at = position[row] % patch_rows;
          const std::int64_t first = chunk_offsets[patch] * slices_per_patch + at / 32;
          for (int k = 0; k < A.row_lengths[row]; ++k)
          {
            const std::int64_t e = A.block_index(row, k);
            if (codes[e].kind != Code::mirrored)
              continue;
            const int rank = codes[e].rank, c = rank / chunk;
            int       m = 0; // how many of this chunk came before
            for (int l = 0; l < k; ++l)
            {
              const Code before = codes[A.block_index(row, l)];
              m += before.kind == Code::mirrored && before.rank / chunk == c;
            }
            if (counts != nullptr)
              kernels::atomic_max(counts + first + std::int64_t(c) * slices_per_patch, 32 * (m + 1));
            else
              mirrors[mirror_offsets[first + std::int64_t(c) * slices_per_patch] + 32 * m + at % 32] =
                  static_cast<std::uint16_t>((rank - c * chunk) * patch_rows + position[A.columns[e]] % patch_rows);
          }
        });
      };
      mirror_counts.set_zero();
      find_mirrors(mirror_counts.data(), nullptr, nullptr);
      made.mirrors.reinit(place, scan(mirror_counts, made.mirror_offsets));
      launch(place, made.mirrors.size(), [=, mirrors = made.mirrors.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        mirrors[i] = static_cast<std::uint16_t>(chunk * patch_rows);
      });
      find_mirrors(nullptr, made.mirror_offsets.data(), made.mirrors.data());

      made.columns.reinit(place, size);
      all_values.reinit(place, made.n_on_diagonal() + size * block_size * block_size);
      all_values.set_zero();
      const std::int64_t *const offsets = made.offsets.data(), *const halo_offsets = made.halo_offsets.data();
      const int *const     halo    = made.halo.data();
      std::uint16_t *const columns = made.columns.data();
      Number *const diagonal = all_values.data(), *const values = diagonal + made.n_on_diagonal();
      launch(place, n_positions, [=] PATCHFEM_DEVICE(const std::int64_t q) {
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
        for (int k = 0; q < A.n_rows && k < A.row_lengths[row]; ++k)
        {
          const std::int64_t at     = A.block_index(row, k);
          const int          column = A.columns[at];
          switch (codes[at].kind)
          {
          case Code::stored:
            copy(k, inner, column % patch_rows);
            inner += 32;
            break;
          case Code::outer:
            copy(k, outer, patch_rows + static_cast<int>(kernels::lower_bound(first, last, column) - first));
            outer += 32;
            break;
          case Code::diagonal:
            for (int a = 0, e = 0; a < b; ++a)
              for (int c = a; c < b; ++c, ++e)
                diagonal[slice * 32 * (b * (b + 1) / 2) + 32 * e + r] = A.values[A.value_index(row, k, a, c)];
            break;
          case Code::mirrored:
            break;
          }
        }
        for (; outer < end; outer += 32)
          columns[outer + r] = static_cast<std::uint16_t>(row % patch_rows);
      });
    }

    template <typename Number>
    void block_diagonal(Cuda, const SymmetricEllpackView<Number> &, int, Array<Number> &);

    /** See MatrixBase::extract_block_diagonal(), for the size of the format's blocks or 1. */
    template <typename Number>
    void block_diagonal(Here, const SymmetricEllpackView<Number> &A, const int block_size, Array<Number> &result)
    {
      launch(result.backend(), A.n_rows, [=, blocks = result.data()] PATCHFEM_DEVICE(const std::int64_t q) {
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
      });
    }
  } // namespace internal
} // namespace PatchFEM
