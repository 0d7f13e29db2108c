// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "ghost_rows.h"
#include "kernels/launch.h"
#include "kernels/structure_bodies.h"

#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <climits>
#include <iterator>

/** @file The steps (see launch.h) of ghost_rows.h: what of patterns with many rows is looked at where they are. */
namespace PatchFEM::of_ranks
{
  namespace
  {
    /** The first one that ends behind row @p k. */
    PATCHFEM_INLINE std::int64_t rank_of_row(const int *ends, const std::int64_t n_ranks, const std::int64_t k)
    {
      return kernels::lower_bound(ends, ends + n_ranks, static_cast<int>(k) + 1) - ends;
    }
  } // namespace

  template <>
  SentRows
  read_rows(Here, const CompressedPattern &pattern, const Array<int> &rows, const std::vector<int> &ends, const int n)
  {
    const Backend     &place   = rows.backend();
    const std::int64_t n_rows  = static_cast<std::int64_t>(rows.size()),
                       n_ranks = static_cast<std::int64_t>(ends.size());
    const Array<int>    end_of_rank(place, ends);
    Array<int>          lengths(place, n_rows), flags(place, n_ranks * n);
    Array<std::int64_t> before(place, n_ranks * n + 1);
    SentRows            result;
    result.starts.reinit(place, n_rows + 1);
    flags.set_zero();
    launch(place, n_rows,
           [=, view = pattern.view(), rows = rows.data(), ends = end_of_rank.data(), lengths = lengths.data(),
            flags = flags.data()] PATCHFEM_DEVICE(const std::int64_t k) {
             const std::int64_t begin = view.row_offsets[rows[k]], end = view.row_offsets[rows[k] + 1];
             lengths[k]         = static_cast<int>(end - begin);
             int *const of_rank = flags + rank_of_row(ends, n_ranks, k) * n;
             for (std::int64_t e = begin; e < end; ++e)
               of_rank[view.columns[e]] = 1;
           });
    launch(place, [&](const Here where) {
      kernels::exclusive_scan(where, n_rows, lengths.data(), result.starts.data());
      kernels::exclusive_scan(where, n_ranks * n, flags.data(), before.data());
    });
    Array<SentRows::End> found(place, n_ranks);
    launch(place, n_ranks,
           [=, rows = rows.data(), ends = end_of_rank.data(), starts = result.starts.data(), before = before.data(),
            found = found.data()] PATCHFEM_DEVICE(const std::int64_t rank) {
             const int           begin = rank > 0 ? ends[rank - 1] : 0;
             const std::int64_t *after =
                 kernels::lower_bound(starts + begin, starts + ends[rank] + 1, starts[begin] + 1);
             const std::int64_t row = after - starts - 1; // the first one that is not empty
             found[rank] = {starts[ends[rank]], before[(rank + 1) * n], row < ends[rank] ? rows[row] : INT_MAX};
           });
    result.ends = found.to_vector();
    result.places.reinit(place, result.ends.empty() ? 0 : result.ends.back().blocks);
    Array<int> names(place, result.ends.empty() ? 0 : result.ends.back().names);
    launch(place, n_rows,
           [=, view = pattern.view(), rows = rows.data(), ends = end_of_rank.data(), starts = result.starts.data(),
            before = before.data(), places = result.places.data()] PATCHFEM_DEVICE(const std::int64_t k) {
             const int          *from    = view.columns + view.row_offsets[rows[k]];
             const std::int64_t *of_rank = before + rank_of_row(ends, n_ranks, k) * n;
             for (std::int64_t e = starts[k]; e < starts[k + 1]; ++e)
               places[e] = static_cast<int>(of_rank[from[e - starts[k]]] - of_rank[0]);
           });
    launch(
        place, n_ranks * n,
        [=, flags = flags.data(), before = before.data(), names = names.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          if (flags[i] != 0)
            names[before[i]] = static_cast<int>(i % n);
        });
    result.names = names.to_vector();
    return result;
  }

  template <>
  void row_lengths(Here, const CompressedPattern &pattern, int *const lengths)
  {
    launch(pattern.offsets.backend(), pattern.n_rows,
           [=, offsets = pattern.offsets.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             lengths[i] = static_cast<int>(offsets[i + 1] - offsets[i]);
           });
  }

  template <>
  Array<std::int64_t> row_starts(Here,
                                 const Backend      &place,
                                 const int           n,
                                 const int *const    lengths,
                                 const std::int64_t  first,
                                 std::int64_t *const there)
  {
    Array<std::int64_t> result(place, std::size_t(n) + 1);
    launch(place, [&](const Here where) { kernels::exclusive_scan(where, n, lengths, result.data()); });
    launch(place, std::int64_t(n) + 1,
           [=, starts = result.data()] PATCHFEM_DEVICE(const std::int64_t i) { there[i] = first + starts[i]; });
    return result;
  }

  namespace
  {
    /// Threads for a row: on a device they read and write its numbers side by side.
#if defined(__CUDACC__)
    constexpr int lanes = 32;
#else
    constexpr int lanes = 1;
#endif
  } // namespace

  template <typename Number, typename Where>
  Array<Number> read_values(Where,
                            const CompressedPattern   &pattern,
                            const int                  begin,
                            const Array<int>          &rows,
                            const Array<std::int64_t> &starts,
                            const std::int64_t         n_blocks,
                            const int                  size,
                            const Number              *values)
  {
    Array<Number> result(rows.backend(), n_blocks * size);
    launch(rows.backend(), static_cast<std::int64_t>(rows.size()) * lanes,
           [=, offsets = pattern.offsets.data(), rows = rows.data(), starts = starts.data(),
            result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const std::int64_t k = i / lanes, from = (offsets[rows[k]] - offsets[begin] - starts[k]) * size;
             for (std::int64_t e = starts[k] * size + i % lanes; e < starts[k + 1] * size; e += lanes)
               result[e] = values[from + e];
           });
    return result;
  }

  template <typename Number, typename Where>
  void place_values(Where,
                    const CompressedPattern &pattern,
                    const int                n_owned,
                    const Array<int>        &places,
                    const int                n_c,
                    const int                n_m,
                    const Array<Number>     &received,
                    Number                  *values)
  {
    const std::int64_t n_ghosts = pattern.n_rows - n_owned;
    launch(places.backend(), n_ghosts * lanes,
           [=, offsets = pattern.offsets.data() + n_owned, places = places.data(),
            received = received.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const std::int64_t *row   = offsets + i / lanes;
             const std::int64_t  start = row[0] - offsets[0], begin = start * (n_c * n_m);
             const int           n = static_cast<int>(row[1] - row[0]);
             for (int e = static_cast<int>(i % lanes); e < n * n_c * n_m; e += lanes)
             {
               const int a = e / (n * n_m), p = e / n_m % n, m = e % n_m;
               values[begin + (a * n + places[start + p]) * n_m + m] = received[begin + e];
             }
           });
  }

  template <>
  void read_blocks(Here,
                   const Backend           &place,
                   const SlicedPatternView &A,
                   const std::vector<int>  &numbers,
                   Array<std::int64_t>     &offsets,
                   Array<int>              &columns)
  {
    const Array<int> map(place, numbers);
    offsets.reinit(place, std::size_t(A.n_rows) + 1);
    launch(place, [&](const Here where) { kernels::exclusive_scan(where, A.n_rows, A.row_lengths, offsets.data()); });
    columns.reinit(place, offsets.read(A.n_rows));
    launch(place, A.n_rows,
           [=, map = map.data(), offsets = offsets.data(),
            columns = columns.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             for (int p = 0; p < A.row_lengths[i]; ++p)
               columns[offsets[i] + p] = map[A.column(static_cast<int>(i), p)];
           });
  }

  template <typename Number, typename Where>
  void pack_blocks(Where,
                   const SlicedEllpackMatrix<Number> &A,
                   const Array<std::int64_t>         &offsets,
                   const Array<int>                  &places,
                   Array<Number>                     &packed)
  {
    const int b = A.block_rows(), size = b * b;
    launch(
        A.backend(), static_cast<std::int64_t>(packed.size()),
        [=, A = A.view(), offsets = offsets.data(), places = places.data(),
         packed = packed.data()] PATCHFEM_DEVICE(const std::int64_t e) {
          const std::int64_t k     = e / size;
          const std::int64_t row   = kernels::lower_bound(offsets, offsets + A.n_rows, k + 1) - offsets - 1;
          const int          entry = static_cast<int>(e % size);
          packed[(offsets[row] + places[k]) * size + entry] =
              A.values[A.value_index(static_cast<int>(row), static_cast<int>(k - offsets[row]), entry / b, entry % b)];
        });
  }

  template <typename Number, typename Where>
  void unpack_blocks(Where,
                     const Array<std::int64_t>   &offsets,
                     const std::int64_t           first,
                     const Array<Number>         &own,
                     const Array<Number>         &others,
                     SlicedEllpackMatrix<Number> &A)
  {
    const int          b = A.block_rows(), size = b * b;
    const std::int64_t n = own.size(), begin = first * size;
    launch(A.backend(), n + static_cast<std::int64_t>(others.size()),
           [=, A = A.view(), offsets = offsets.data(), own = own.data(),
            others = others.data()] PATCHFEM_DEVICE(const std::int64_t e) {
             const std::int64_t k     = e / size;
             const std::int64_t row   = kernels::lower_bound(offsets, offsets + A.n_rows, k + 1) - offsets - 1;
             const int          entry = static_cast<int>(e % size);
             A.values[A.value_index(static_cast<int>(row), static_cast<int>(k - offsets[row]), entry / b, entry % b)] =
                 e < begin ? others[e] : (e < begin + n ? own[e - begin] : others[e - n]);
           });
  }

#define INSTANTIATE(Number)                                                                                    \
  template Array<Number> read_values(Here, const CompressedPattern &, int, const Array<int> &,                 \
                                     const Array<std::int64_t> &, std::int64_t, int, const Number *);          \
  template void          place_values(Here, const CompressedPattern &, int, const Array<int> &, int, int,      \
                                      const Array<Number> &, Number *);                                        \
  template void          pack_blocks(Here, const SlicedEllpackMatrix<Number> &, const Array<std::int64_t> &,   \
                                     const Array<int> &, Array<Number> &);                                     \
  template void          unpack_blocks(Here, const Array<std::int64_t> &, std::int64_t, const Array<Number> &, \
                                       const Array<Number> &, SlicedEllpackMatrix<Number> &);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE

  template <>
  Array<double>
  of_aggregates(Here, const Array<int> &nodes, const Array<int> &aggregate, const int size, const Array<double> &values)
  {
    Array<double> result(nodes.backend(), nodes.size() * size);
    launch(nodes.backend(), static_cast<std::int64_t>(result.size()),
           [=, nodes = nodes.data(), aggregate = aggregate.data(), values = values.data(),
            result = result.data()] PATCHFEM_DEVICE(const std::int64_t e) {
             const int row = aggregate[nodes[e / size]];
             result[e]     = row >= 0 ? values[std::int64_t(row) * size + e % size] : 0.;
           });
    return result;
  }

  /** Where several rows of @p from are for one of @p values they are equal. */
  template <>
  void
  set_rows(Here, const int *rows, const int first, const int size, const Array<double> &from, Array<double> &values)
  {
    launch(from.backend(), static_cast<std::int64_t>(from.size()),
           [=, from = from.data(), values = values.data()] PATCHFEM_DEVICE(const std::int64_t e) {
             if (const int row = rows[e / size]; row >= first)
               values[std::int64_t(row) * size + e % size] = from[e];
           });
  }

  template <>
  void renumber(Here,
                const Backend     &place,
                const std::int64_t n,
                const int          first,
                const int *const   numbers,
                const int *const   from,
                int *const         to)
  {
    launch(place, n,
           [=] PATCHFEM_DEVICE(const std::int64_t i) { to[i] = from[i] < first ? from[i] : numbers[from[i] - first]; });
  }

  /** One thread for each column: rows are short, and how many are smaller says where it belongs. */
  template <>
  void sort_rows(Here, const Array<std::int64_t> &offsets, const Array<int> &columns, Array<int> &places, int *sorted)
  {
    const Backend &place = columns.backend();
    launch(place, static_cast<std::int64_t>(columns.size()),
           [=, n_rows = offsets.size() - 1, offsets = offsets.data(), columns = columns.data(),
            places = places.data()] PATCHFEM_DEVICE(const std::int64_t e) {
             const std::int64_t *row     = kernels::lower_bound(offsets, offsets + n_rows, e + 1) - 1;
             int                 smaller = 0;
             for (std::int64_t k = row[0]; k < row[1]; ++k)
               smaller += columns[k] < columns[e];
             places[e]                = smaller;
             sorted[row[0] + smaller] = columns[e];
           });
  }

  template <>
  std::vector<std::int64_t>
  distinct(Here, const Backend &place, const std::int64_t n, const std::int64_t *values, const std::int64_t limit)
  {
    std::vector<std::int64_t> result;
    if (n == 0)
      return result;
#if defined(__CUDACC__)
    Array<std::uint64_t> sorted(place, n);
    Array<int>           flags(place, n);
    Array<std::int64_t>  before(place, n + 1);
    std::uint64_t *const keys = sorted.data();
    launch(place, n, [=, end = static_cast<std::uint64_t>(limit)] PATCHFEM_DEVICE(const std::int64_t i) {
      keys[i] = values[i] < 0 ? end : static_cast<std::uint64_t>(values[i]);
    });
    launch(place,
           [&](const Here where) { kernels::stable_sort_by_key(where, n, keys, flags.data(), bits_for(limit + 1)); });
    launch(place, n,
           [=, flags = flags.data(), end = static_cast<std::uint64_t>(limit)] PATCHFEM_DEVICE(const std::int64_t i) {
             flags[i] = keys[i] < end && (i == 0 || keys[i] != keys[i - 1]);
           });
    launch(place, [&](const Here where) { kernels::exclusive_scan(where, n, flags.data(), before.data()); });
    Array<std::int64_t> different(place, before.read(n));
    launch(
        place, n,
        [=, flags = flags.data(), before = before.data(), to = different.data()] PATCHFEM_DEVICE(const std::int64_t i) {
          if (flags[i] != 0)
            to[before[i]] = static_cast<std::int64_t>(keys[i]);
        });
    result = different.to_vector();
#else
    launch(place, [&](Here) {
      std::copy_if(values, values + n, std::back_inserter(result),
                   [=](const std::int64_t value) { return value >= 0 && value < limit; });
      std::sort(result.begin(), result.end());
      result.erase(std::unique(result.begin(), result.end()), result.end());
    });
#endif
    return result;
  }

  template <>
  void local_numbers(Here,
                     const Backend                   &place,
                     const std::int64_t               n,
                     const std::int64_t              *global,
                     const std::vector<std::int64_t> &others,
                     const int                        first,
                     int                             *result)
  {
    const Array<std::int64_t> known(place, others);
    launch(place, n,
           [=, known = known.data(), end = known.data() + known.size()] PATCHFEM_DEVICE(const std::int64_t i) {
             result[i] =
                 global[i] < 0 ? -1 : first + static_cast<int>(kernels::lower_bound(known, end, global[i]) - known);
           });
  }

  template <>
  void mark(Here, const std::int64_t n, const Array<int> &columns, const int first, Array<int> &used)
  {
    launch(columns.backend(), n,
           [=, columns = columns.data(), used = used.data()] PATCHFEM_DEVICE(const std::int64_t e) {
             if (columns[e] >= first)
               used[columns[e] - first] = 1;
           });
  }

  template <>
  void global_numbers(Here,
                      const Backend      &place,
                      const std::int64_t  n,
                      const int *const    from,
                      const std::int64_t  begin,
                      std::int64_t *const to)
  {
    launch(place, n, [=] PATCHFEM_DEVICE(const std::int64_t i) { to[i] = from[i] < 0 ? -1 : begin + from[i]; });
  }
} // namespace PatchFEM::of_ranks
