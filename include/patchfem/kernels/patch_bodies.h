// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/assembly.h>

#include <type_traits>

/**
 * @file
 * Owner computes: what surrounds the computed cells of a patch. Fast memory holds the sums of the patch's rows (blocks
 * [place][n_components][n_components] row after row, as in the sparsity) and their right-hand side. Phases share out
 * their items over @p size workers, with a barrier between them: clear; the computed cells level after level (pairs of
 * nodes summed once, then the other entry of each) or the rows' staged cells; the rows that buffered cells feed; write.
 */
namespace PatchFEM::kernels
{
  template <int n_comp, typename Number>
  struct PatchBody
  {
    static constexpr int n_block = n_comp * n_comp;

    AssemblyArguments<Number> a;

    /** Fast memory of one patch, in the order it lies there. */
    struct Scratch
    {
      Number        *blocks;
      Number        *rhs;
      int           *start;      ///< [row + 1], blocks of the rows before
      int           *level_ends; ///< [level], as in the plan
      unsigned char *diagonal;   ///< [row], place of the diagonal, if the plan has it
      void          *workers;    ///< what remains, from a multiple of 16 bytes on
    };

    /** Bytes before that of the workers. */
    PATCHFEM_HOST_DEVICE std::size_t row_bytes() const
    {
      const std::size_t numbers       = std::size_t(a.most_blocks) * n_block + a.patches.rows_per_patch * n_comp;
      const std::size_t numbers_bytes = numbers * sizeof(Number);
      const std::size_t index_bytes   = (a.patches.rows_per_patch + 1 + a.most_levels) * sizeof(int);
      return (numbers_bytes + index_bytes + (a.patches.places.diagonal != nullptr ? a.patches.rows_per_patch : 0) +
              15) /
             16 * 16;
    }

    PATCHFEM_INLINE Scratch scratch(void *memory) const
    {
      Scratch s;
      s.blocks     = static_cast<Number *>(memory);
      s.rhs        = s.blocks + std::int64_t(a.most_blocks) * n_block;
      s.start      = reinterpret_cast<int *>(s.rhs + a.patches.rows_per_patch * n_comp);
      s.level_ends = s.start + a.patches.rows_per_patch + 1;
      s.diagonal   = reinterpret_cast<unsigned char *>(s.level_ends + a.most_levels);
      s.workers    = static_cast<char *>(memory) + row_bytes();
      return s;
    }

    /** Whether none of the patch's rows has a cell of this batch. There may then be no room for its sums. */
    PATCHFEM_INLINE bool idle(const int patch) const { return a.batches.n_batches > 1 && a.patches.idle(patch); }

    /** All phases of an idle patch: zeros, unless its rows were begun before. */
    PATCHFEM_INLINE void pass_over(const int patch, const int rank, const int size) const
    {
      if (a.add)
        return;
      const PatchesView               &p     = a.patches;
      const SlicedEllpackView<Number> &A     = a.matrix.sliced_view;
      const int                        first = p.first_row(patch), end = p.end_row(patch);
      if (a.rhs != nullptr)
        for (std::int64_t i = std::int64_t(first) * n_comp + rank; i < std::int64_t(end) * n_comp; i += size)
          a.rhs[i] = Number(0);
      if (a.matrix.format == MatrixTarget<Number>::csr)
        for (std::int64_t i = p.row_offsets[first] * n_block + rank; i < p.row_offsets[end] * n_block; i += size)
          a.matrix.csr_view.values[i] = Number(0);
      else if (a.matrix.format == MatrixTarget<Number>::sliced_ellpack)
        for (int row = first + rank; row < end; row += size)
          for (int k = 0; k < A.slice_width(row / A.slice_height); ++k)
            for (int e = 0; e < n_block; ++e)
              A.values[A.value_index(row, k, 0, 0) + e * A.slice_height] = Number(0);
    }

    PATCHFEM_INLINE bool with_matrix() const { return a.matrix.format != MatrixTarget<Number>::none; }
    PATCHFEM_INLINE bool loaded() const { return a.rhs != nullptr && a.load.kind != CoefficientView<Number>::none; }

    /**
     * Phase 1. What a worker reads of far memory is on its way while it zeroes the sums: as many as the largest patch
     * has, since the number of this one's would have to be read before.
     */
    PATCHFEM_INLINE void clear(const int patch, const int rank, const int size, const Scratch &s) const
    {
      const PatchesView  &p     = a.patches;
      const int           first = p.first_row(patch), n_rows = p.end_row(patch) - first;
      const std::int64_t *offsets     = p.row_offsets + first;
      const std::uint8_t *places      = p.places.diagonal != nullptr ? p.places.diagonal + first : nullptr;
      const int          *ends        = p.level_ends + p.level_offsets[patch];
      const int           n_levels    = static_cast<int>(p.level_offsets[patch + 1] - p.level_offsets[patch]);
      const std::int64_t  first_block = offsets[0];
      const bool          has_second  = rank + size <= n_rows;
      const std::int64_t  offset = rank <= n_rows ? offsets[rank] : 0, second = has_second ? offsets[rank + size] : 0;
      const std::uint8_t  place     = places != nullptr && rank < n_rows ? places[rank] : 0;
      const int           level_end = rank < n_levels ? ends[rank] : 0;
      for (int i = rank; i < a.most_blocks * n_block; i += size)
        s.blocks[i] = Number(0);
      for (int i = rank; i < n_rows * n_comp; i += size)
        s.rhs[i] = Number(0);
      if (rank <= n_rows)
        s.start[rank] = static_cast<int>(offset - first_block);
      if (has_second)
        s.start[rank + size] = static_cast<int>(second - first_block);
      for (int i = rank + 2 * size; i <= n_rows; i += size)
        s.start[i] = static_cast<int>(offsets[i] - first_block);
      for (int i = rank; i < n_levels; i += size)
        s.level_ends[i] = i == rank ? level_end : ends[i];
      if (places != nullptr)
        for (int i = rank; i < n_rows; i += size)
          s.diagonal[i] = i == rank ? place : places[i];
    }

    /** Adds @p value to the block at place @p place of row @p row of the patch. */
    PATCHFEM_INLINE void
    add(const int row, const int place, const SmallMatrix<n_comp, n_comp, Number> &value, const Scratch &s) const
    {
      Number *to = s.blocks + (s.start[row] + place) * n_block;
      PATCHFEM_UNROLL
      for (int c = 0; c < n_comp; ++c)
        PATCHFEM_UNROLL
      for (int d = 0; d < n_comp; ++d)
        to[c * n_comp + d] += value(c, d);
    }

    /**
     * Where one row of a pair sums for both, the other takes what it has; nothing of what is read is written. @p meet()
     * returns when all sums are there; the first of what is to be copied is on its way before.
     */
    template <typename Meet>
    PATCHFEM_INLINE void
    mirror(const int patch, const int rank, const int size, const Scratch &s, const Meet &meet) const
    {
      const PlacesView  &p     = a.patches.places;
      const std::int64_t begin = p.copy_offsets[patch];
      const int          n     = static_cast<int>(p.copy_offsets[patch + 1] - begin);
      if (p.copies.width == 2)
        copy_blocks(static_cast<const Copy<std::uint16_t> *>(p.copies.data) + begin, n, rank, size, s, meet);
      else
        copy_blocks(static_cast<const Copy<std::uint32_t> *>(p.copies.data) + begin, n, rank, size, s, meet);
    }

    template <typename Index>
    struct alignas(2 * sizeof(Index)) Copy
    {
      Index from, to;
    };

    template <typename Index, typename Meet>
    PATCHFEM_INLINE void copy_blocks(const Copy<Index> *copies,
                                     const int          n,
                                     const int          rank,
                                     const int          size,
                                     const Scratch     &s,
                                     const Meet        &meet) const
    {
      constexpr int at_once = 8; // reads from far memory that are under way together
      Copy<Index>   copy[at_once];
      const auto    read = [&](const int begin) {
        PATCHFEM_UNROLL
        for (int k = 0; k < at_once; ++k)
          if (begin + k * size < n)
            copy[k] = copies[begin + k * size];
      };
      read(rank);
      meet();
      for (int begin = rank; begin < n; begin += at_once * size)
      {
        if (begin > rank)
          read(begin);
        PATCHFEM_UNROLL
        for (int k = 0; k < at_once; ++k)
          if (begin + k * size < n)
            s.blocks[copy[k].to] = s.blocks[copy[k].from];
      }
    }

    /** Phase 2 where rows gather: row @p row of the patch adds its staged cells; @p team shares out their columns. */
    template <typename Team>
    PATCHFEM_INLINE void add_staged(const int patch, const int row, const Team &team, const Scratch &s) const
    {
      const PatchesView &p       = a.patches;
      const std::int64_t global  = p.first_row(patch) + row;
      const int          n_shape = a.batches.batch[a.computed_batch].reference.n_shape;
      for (std::int64_t k = p.staged_offsets[global]; k < p.staged_offsets[global + 1]; ++k)
      {
        const std::int64_t pair = p.staged_pairs[k];
        if (with_matrix())
        {
          const int     i = static_cast<int>(pair % n_shape), n_columns = PatchRoom::even(n_shape);
          const Number *from = a.buffer_matrix + a.staged_matrix + pair * n_columns * n_block;
          for (int j = team.rank(); j < n_shape; j += Team::size)
          {
            Number *to = s.blocks + (s.start[row] + p.places(k, n_shape, global, i, j)) * n_block;
            for (int e = 0; e < n_block; ++e)
              to[e] += from[e * n_columns + j];
          }
        }
        if (loaded())
          for (int c = team.rank(); c < n_comp; c += Team::size)
            s.rhs[row * n_comp + c] += a.buffer_vector[a.staged_vector + pair * n_comp + c];
        team.sync(); // the next cell may add to the same entries through other workers
      }
    }

    /** Phase 3: a fed row adds its buffered cells one after the other; @p team shares out the entries of each. */
    template <typename Team>
    PATCHFEM_INLINE void add_buffered(const int patch, const std::int64_t fed, const Team &team, const Scratch &s) const
    {
      const PatchesView &p     = a.patches;
      const int          row   = p.fed_rows[fed] - p.first_row(patch);
      std::int64_t       place = p.fed_place_offsets[fed];
      Number            *sums  = s.blocks + s.start[row] * n_block;
      for (std::int64_t k = p.fed_pair_offsets[fed]; k < p.fed_pair_offsets[fed + 1]; ++k)
      {
        const BufferedCell &cell     = a.buffered[p.fed_pairs[k] >> 16];
        const int           i        = static_cast<int>(p.fed_pairs[k] & 65535);
        const bool          couples  = i < cell.n_free;
        const int           n_places = couples ? cell.n_free : 1;
        if (with_matrix())
        {
          const std::int64_t row_of_cell =
              couples ? std::int64_t(i) * cell.n_free : std::int64_t(cell.n_free) * cell.n_free + i - cell.n_free;
          const Number *from = a.buffer_matrix + cell.matrix_offset + row_of_cell * n_block;
          for (int e = team.rank(); e < n_places * n_block; e += Team::size)
            sums[p.fed_places[place + e / n_block] * n_block + e % n_block] += from[e];
        }
        if (a.rhs != nullptr)
          for (int c = team.rank(); c < n_comp; c += Team::size)
            s.rhs[row * n_comp + c] += a.buffer_vector[cell.vector_offset + i * n_comp + c];
        place += n_places;
        team.sync(); // the next cell may add to the same entries through other workers
      }
    }

    /** Phase 4: stream the finished rows out, padding included, or add them to what is there: @p add is a.add. */
    template <typename Bool>
    PATCHFEM_INLINE void write(const int patch, const int rank, const int size, const Scratch &s, const Bool add) const
    {
      const auto         put   = [add](Number &to, const Number value) { to = add ? to + value : value; };
      const int          first = a.patches.first_row(patch), n_rows = a.patches.end_row(patch) - first;
      const std::int64_t first_block = a.patches.row_offsets[first];
      if (a.rhs != nullptr)
        for (int i = rank; i < n_rows * n_comp; i += size)
          put(a.rhs[std::int64_t(first) * n_comp + i], s.rhs[i]);

      if (a.matrix.format == MatrixTarget<Number>::csr)
      {
        if constexpr (n_comp == 1)
        {
          for (int i = rank; i < s.start[n_rows]; i += size)
            put(a.matrix.csr_view.values[first_block + i], s.blocks[i]);
        }
        else
          // Scalar row (row, c) holds its entries block by block; rows of a node follow each other.
          for (int row = 0; row < n_rows; ++row)
          {
            const int length = s.start[row + 1] - s.start[row];
            Number   *to     = a.matrix.csr_view.values + (first_block + s.start[row]) * n_block;
            for (int k = rank; k < length * n_block; k += size)
            {
              const int c = k / (length * n_comp), rest = k % (length * n_comp);
              put(to[k], s.blocks[(s.start[row] + rest / n_comp) * n_block + c * n_comp + rest % n_comp]);
            }
          }
      }
      else if (a.matrix.format == MatrixTarget<Number>::sliced_ellpack)
      {
        // Slice after slice, workers take (k, row): neighbours write neighbouring rows, entry after entry. Where patches
        // are whole slices of the default height they keep to a row, and take parts of slices side by side.
        const SlicedEllpackView<Number> &A      = a.matrix.sliced_view;
        const int                        height = A.slice_height;
        if (height == 32 && first % 32 == 0 && size % 32 == 0)
        {
          const int    n_slices = (n_rows + 31) / 32, n_warps = size / 32;
          const int    parts  = n_warps > 2 * n_slices ? n_warps / n_slices : 2; // of a slice
          std::int64_t offset = 0, end = 0;                                      // of the next part's slice
          const auto   look_up = [&](const int part) {
            if (part >= n_slices * parts)
              return;
            offset = A.slice_offsets[first / 32 + part / parts];
            end    = A.slice_offsets[first / 32 + part / parts + 1];
          };
          look_up(rank / 32);
          for (int part = rank / 32; part < n_slices * parts; part += n_warps)
          {
            const int row = part / parts * 32 + rank % 32, begin = part % parts;
            const int width = static_cast<int>((end - offset) / 32);
            Number   *to    = A.values + (offset + begin * 32) * n_block + rank % 32;
            look_up(part + n_warps);
            if (row >= n_rows)
              continue;
            const int     length = s.start[row + 1] - s.start[row];
            const Number *from   = s.blocks + (s.start[row] + begin) * n_block;
            const auto    stream = [&](const auto adds) {
              constexpr int at_once = n_comp == 1 ? 4 : 1; // blocks that are on their way together
              for (int k = begin; k < width; k += at_once * parts)
              {
                Number value[at_once][n_block];
                PATCHFEM_UNROLL
                for (int b = 0; b < at_once; ++b)
                  PATCHFEM_UNROLL
                for (int e = 0; e < n_block; ++e)
                {
                  value[b][e] = k + b * parts < length ? from[b * parts * n_block + e] : Number(0);
                  if (adds && k + b * parts < width)
                    value[b][e] = to[(b * parts * n_block + e) * 32] + value[b][e];
                }
                PATCHFEM_UNROLL
                for (int b = 0; b < at_once; ++b)
                  if (k + b * parts < width)
                    PATCHFEM_UNROLL
                for (int e = 0; e < n_block; ++e)
                  to[(b * parts * n_block + e) * 32] = value[b][e];
                from += at_once * parts * n_block;
                to += at_once * parts * n_block * 32;
              }
            };
            if (add)
              stream(std::true_type());
            else
              stream(std::false_type());
          }
          return;
        }
        for (int begin = 0, end; begin < n_rows; begin = end)
        {
          const int          slice  = (first + begin) / height;
          const int          above  = first + begin - slice * height; // rows of the slice before
          const std::int64_t offset = A.slice_offsets[slice], blocks = A.slice_offsets[slice + 1] - offset;
          const int          width  = static_cast<int>(blocks / height);
          Number            *values = A.values + offset * n_block + above;
          const int          n      = height - above < n_rows - begin ? height - above : n_rows - begin;
          end                       = begin + n;
          for (int i = rank; i < n * width; i += size)
          {
            const int     in_slice = i % n, k = i / n, row = begin + in_slice, length = s.start[row + 1] - s.start[row];
            const Number *from = s.blocks + (s.start[row] + k) * n_block;
            Number       *to   = values + std::int64_t(k) * height * n_block + in_slice;
            PATCHFEM_UNROLL
            for (int e = 0; e < n_block; ++e)
              put(to[std::int64_t(e) * height], k < length ? from[e] : Number(0));
          }
        }
      }
    }
  };
} // namespace PatchFEM::kernels
