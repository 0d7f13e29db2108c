// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "ghost_rows.h"
#include "kernels/run.h"
#include "kernels/structure_bodies.h"

#include <patchfem/kernels/primitives.h>

/** @file The steps (see run.h) of ghost_rows.h: what of patterns with many rows is looked at where they are. */
namespace PatchFEM::of_ranks
{
  template <>
  void read_rows(
      Here, const CompressedPattern &pattern, const Array<int> &rows, Array<std::int64_t> &starts, Array<int> &columns)
  {
    const Backend     &place = pattern.offsets.backend();
    const std::int64_t n     = static_cast<std::int64_t>(rows.size());
    Array<int>         lengths(place, n);
    starts.reinit(place, n + 1);
    for_all(place, n,
            [offsets = pattern.offsets.data(), rows = rows.data(), lengths = lengths.data()] PATCHFEM_DEVICE(
                const std::int64_t k) { lengths[k] = static_cast<int>(offsets[rows[k] + 1] - offsets[rows[k]]); });
    launch(place, [&](const Here where) { kernels::exclusive_scan(where, n, lengths.data(), starts.data()); });
    columns.reinit(place, starts.read(n));
    for_all(place, n,
            [view = pattern.view(), rows = rows.data(), starts = starts.data(),
             columns = columns.data()] PATCHFEM_DEVICE(const std::int64_t k) {
              const int *from = view.columns + view.row_offsets[rows[k]];
              for (std::int64_t e = starts[k]; e < starts[k + 1]; ++e)
                columns[e] = from[e - starts[k]];
            });
  }

  /** One thread for each block's worth of numbers, neighbours in neighbouring ones. */
  template <typename Number, typename Where>
  Array<Number> read_values(Where,
                            const CompressedPattern   &pattern,
                            const int                  begin,
                            const Array<int>          &rows,
                            const Array<std::int64_t> &starts,
                            const int                  size,
                            const Number              *values)
  {
    const Backend     &place    = rows.backend();
    const std::int64_t n_rows   = static_cast<std::int64_t>(rows.size());
    const std::int64_t n_blocks = n_rows > 0 ? starts.read(n_rows) : 0;
    Array<Number>      result(place, n_blocks * size);
    for_all(place, n_blocks * size,
            [=, offsets = pattern.offsets.data(), rows = rows.data(), starts = starts.data(),
             result = result.data()] PATCHFEM_DEVICE(const std::int64_t e) {
              const std::int64_t block = e / size;
              const std::int64_t k     = kernels::lower_bound(starts, starts + n_rows, block + 1) - starts - 1;
              result[e]                = values[(offsets[rows[k]] - offsets[begin] - starts[k]) * size + e];
            });
    return result;
  }

  /** One thread for each number that comes. */
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
    const int n_ghosts = pattern.n_rows - n_owned, size = n_c * n_m;
    for_all(places.backend(), static_cast<std::int64_t>(received.size()),
            [=, offsets = pattern.offsets.data() + n_owned, places = places.data(),
             received = received.data()] PATCHFEM_DEVICE(const std::int64_t e) {
              const std::int64_t *row =
                  kernels::lower_bound(offsets, offsets + n_ghosts, offsets[0] + e / size + 1) - 1;
              const std::int64_t start = row[0] - offsets[0];
              const int          n = static_cast<int>(row[1] - row[0]), local = static_cast<int>(e - start * size);
              const int          a = local / (n * n_m), p = local / n_m % n, m = local % n_m;
              values[start * size + (a * n + places[start + p]) * n_m + m] = received[e];
            });
  }

#define INSTANTIATE(Number)                                                                               \
  template Array<Number> read_values(Here, const CompressedPattern &, int, const Array<int> &,            \
                                     const Array<std::int64_t> &, int, const Number *);                   \
  template void          place_values(Here, const CompressedPattern &, int, const Array<int> &, int, int, \
                                      const Array<Number> &, Number *);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE

  template <>
  Array<double>
  of_aggregates(Here, const Array<int> &nodes, const Array<int> &aggregate, const int size, const Array<double> &values)
  {
    Array<double> result(nodes.backend(), nodes.size() * size);
    for_all(nodes.backend(), static_cast<std::int64_t>(result.size()),
            [=, nodes = nodes.data(), aggregate = aggregate.data(), values = values.data(),
             result = result.data()] PATCHFEM_DEVICE(const std::int64_t e) {
              const int row = aggregate[nodes[e / size]];
              result[e]     = row >= 0 ? values[std::int64_t(row) * size + e % size] : 0.;
            });
    return result;
  }

  /** Where several rows of @p from are for one of @p values they are equal. */
  template <>
  void set_rows(
      Here, const Array<int> &rows, const int first, const int size, const Array<double> &from, Array<double> &values)
  {
    for_all(rows.backend(), static_cast<std::int64_t>(from.size()),
            [=, rows = rows.data(), from = from.data(), values = values.data()] PATCHFEM_DEVICE(const std::int64_t e) {
              if (const int row = rows[e / size]; row >= first)
                values[std::int64_t(row) * size + e % size] = from[e];
            });
  }

  template <>
  void renumber(Here, const std::int64_t n, const std::vector<int> &numbers, const int *from, Array<int> &to)
  {
    const Array<int> map(to.backend(), numbers);
    for_all(to.backend(), n,
            [=, map = map.data(), to = to.data()] PATCHFEM_DEVICE(const std::int64_t i) { to[i] = map[from[i]]; });
    to.backend().synchronize(); // the map goes
  }

  template <>
  void mark(Here, const std::int64_t n, const Array<int> &columns, const int first, Array<int> &used)
  {
    for_all(columns.backend(), n,
            [=, columns = columns.data(), used = used.data()] PATCHFEM_DEVICE(const std::int64_t e) {
              if (columns[e] >= first)
                used[columns[e] - first] = 1;
            });
  }

  template <>
  void global_numbers(Here, const Array<int> &own, const std::int64_t begin, Array<std::int64_t> &result)
  {
    for_all(own.backend(), own.size(),
            [=, own = own.data(), result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              result[i] = own[i] < 0 ? -1 : begin + own[i];
            });
  }
} // namespace PatchFEM::of_ranks
