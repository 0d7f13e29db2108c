// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/sort_distinct.h"

#include <patchfem/base/threads.h>
#include <patchfem/kernels/atomics.h>
#include <patchfem/kernels/team.h>
#include <patchfem/lac/matrix/compressed_pattern.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

/**
 * @file
 * Rows of patterns and graphs as the distinct values of lists. A type of lists has visit(i, rank, size, emit), which
 * calls emit for the share of member @p rank of a team of @p size in list i; values come in any order, and negative ones
 * do not count. team_size and table_size are what the device takes for a list: one with more distinct values than
 * table_size - team_size is visited several times. Rows of n_kept values at most are found once there, longer ones a
 * second time when they are written.
 */
namespace PatchFEM::kernels
{
  /** The share of @p rank in a list of lists: @p most members walk along one of them together. */
  struct RowShare
  {
    int width, row, n_rows, entry;

    PATCHFEM_INLINE RowShare(const int rank, const int size, const int most)
        : width(size < most ? size : most), row(rank / width), n_rows(size / width), entry(rank % width)
    {}
  };

  /** A set of at most n_values non-negative values that a team fills together. */
  template <int table_size, int n_values>
  struct TeamSet
  {
    static_assert((table_size & (table_size - 1)) == 0 && n_values < table_size, "a table has free places");

    int table[table_size]; ///< by hash, -1 where free
    int list[table_size];  ///< what it holds
    int n;                 ///< how many
    int n_listed;
    int is_full; ///< a value was left out

    template <typename Team>
    PATCHFEM_INLINE void clear(const Team &team)
    {
      team.sync();
      for (int e = team.rank(); e < table_size; e += Team::size)
        table[e] = -1;
      if (team.rank() == 0)
        n = n_listed = is_full = 0;
      team.sync();
    }

    PATCHFEM_INLINE void insert(const int value)
    {
      // Multiples of the golden ratio spread runs of neighbouring values.
      unsigned int place = (static_cast<unsigned int>(value) * 2654435769u) >> 16;
      while (true)
      {
        place &= table_size - 1;
        const int seen = atomic_load(table + place);
        if (seen == value)
          return;
        if (seen < 0)
        {
          if (atomic_load(&n) >= n_values)
          {
            atomic_compare_exchange(&is_full, 0, 1);
            return;
          }
          const int before = atomic_compare_exchange(table + place, -1, value);
          if (before == value)
            return;
          if (before < 0)
          {
            atomic_increment(&n);
            return;
          }
        }
        ++place;
      }
    }

    /** Writes all values, ascending. */
    template <typename Team>
    PATCHFEM_INLINE void write(const Team &team, int *out)
    {
      for (int e = team.rank(); e < table_size; e += Team::size)
        if (table[e] >= 0)
          list[atomic_increment(&n_listed)] = table[e];
      team.sync();
      for (int e = team.rank(); e < n; e += Team::size)
      {
        int smaller = 0;
        for (int f = 0; f < n; ++f)
          smaller += list[f] < list[e];
        out[smaller] = list[e];
      }
    }
  };

  /** counts[i] = distinct values of list i, or, with columns, those values; what fits is kept in between. */
  template <typename Rows>
  struct UniqueRowBody
  {
    static constexpr int team_size = Rows::team_size;
    // Each member may see room once more when there is none.
    using Scratch = TeamSet<Rows::table_size, Rows::table_size - team_size>;

    Rows                rows;
    int                *counts;  ///< nullptr: write
    const std::int64_t *offsets; ///< [row + 1]
    int                *columns;
    int                *kept; ///< [row][n_kept]

    /** What a table has no room for is found in intervals of values, ascending, each visited by the whole team. */
    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t i, Scratch &set) const
    {
      int *const kept_here = kept + i * Rows::n_kept;
      if (counts == nullptr && offsets[i + 1] - offsets[i] <= Rows::n_kept)
      {
        for (std::int64_t e = offsets[i] + team.rank(); e < offsets[i + 1]; e += Team::size)
          columns[e] = kept_here[e - offsets[i]];
        return;
      }
      constexpr unsigned int end   = 1u << 31;
      int                    found = 0;
      for (unsigned int first = 0, width = end; first < end;)
      {
        set.clear(team);
        rows.visit(static_cast<int>(i), team.rank(), Team::size, [&](const int value) {
          if (static_cast<unsigned int>(value) - first < width)
            set.insert(value);
        });
        team.sync();
        if (set.is_full)
        {
          width /= 2;
          continue;
        }
        if (counts == nullptr)
          set.write(team, columns + offsets[i] + found);
        else if (found + set.n <= Rows::n_kept)
          set.write(team, kept_here + found);
        found += set.n;
        first += width;
        width = width < (end - first) / 2 ? 2 * width : end - first;
      }
      if (counts != nullptr && team.rank() == 0)
        counts[i] = found;
    }
  };

  /** The pattern whose row i has the distinct values of list i, which are below @p n_values, ascending. */
  template <typename Rows>
  CompressedPattern
  unique_rows(Host where, const Backend &place, const int n_rows, const int n_values, const Rows &rows)
  {
    Array<int>                    counts(place, n_rows);
    std::vector<std::vector<int>> found(max_threads()); // by thread, each of which has consecutive rows
    on_all_threads([&](const int thread, const int n_threads) {
      // [value]: number of the last row that has it, from 1. A page of zeros takes no memory until it is written, so
      // that threads together need one entry for each value, not each of them, where rows have values near each other.
      const std::unique_ptr<int[], decltype(&std::free)> memory(
          static_cast<int *>(std::calloc(std::max(n_values, 1), sizeof(int))), &std::free);
      if (memory == nullptr)
        throw std::bad_alloc();
      int *const       last_row = memory.get();
      const Rows       lists    = rows; // of this thread, so that no store can change it
      std::vector<int> values;
      const int        begin = static_cast<int>(std::int64_t(n_rows) * thread / n_threads);
      const int        end   = static_cast<int>(std::int64_t(n_rows) * (thread + 1) / n_threads);
      for (int i = begin; i < end; ++i)
      {
        const std::size_t first = values.size();
        lists.visit(i, 0, 1, [&](const int value) {
          if (value >= 0 && last_row[value] != i + 1)
          {
            last_row[value] = i + 1;
            values.push_back(value);
          }
        });
        sort_distinct(values.data() + first, static_cast<int>(values.size() - first));
        counts.data()[i] = static_cast<int>(values.size() - first);
      }
      found[thread].swap(values);
    });
    CompressedPattern  result(where, n_values, counts);
    std::vector<int *> starts(1, result.columns.data());
    for (const std::vector<int> &values : found)
      starts.push_back(starts.back() + values.size());
#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1)
#endif
    for (std::size_t t = 0; t < found.size(); ++t)
      std::copy(found[t].begin(), found[t].end(), starts[t]);
    return result;
  }

  template <typename Rows>
  CompressedPattern unique_rows(Cuda where, const Backend &place, int n_rows, int n_values, const Rows &rows);
} // namespace PatchFEM::kernels
