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
#include <type_traits>
#include <vector>

/**
 * @file
 * Rows of patterns and graphs as the distinct values of lists. A type of lists has visit(i, rank, size, emit), which
 * calls emit for the share of member @p rank of a team of @p size in list i; values come in any order, and -1 is none.
 * team_size and table_size are what the device takes for a list: one with more distinct values than
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
    unsigned int        n_values; ///< more than any value
    int                *counts;   ///< nullptr: write
    const std::int64_t *offsets;  ///< [row + 1]
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
      int found = 0;
      for (unsigned int first = 0, width = n_values; first < n_values;)
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
        width = width < (n_values - first) / 2 ? 2 * width : n_values - first;
      }
      if (counts != nullptr && team.rank() == 0)
        counts[i] = found;
    }
  };

  /**
   * Plain data that lists on the host work with, zeros at first; each thread has a copy of the lists, and a copy has data
   * of its own. A page of zeros takes no memory until it is written, so that threads together need one entry for each
   * index, not each of them, where their rows use indices near each other.
   */
  template <typename T>
  class Workspace
  {
  public:
    Workspace() = default;
    Workspace(const Workspace &) {}

    /** Of @p n entries, which the first call makes. */
    T *operator()(const std::size_t n) const
    {
      if (memory == nullptr)
        memory.reset(static_cast<T *>(std::calloc(std::max<std::size_t>(n, 1), sizeof(T))));
      if (memory == nullptr)
        throw std::bad_alloc();
      return memory.get();
    }

  private:
    struct Free
    {
      void operator()(T *const pointer) const { std::free(pointer); }
    };
    mutable std::unique_ptr<T[], Free> memory;
  };

  struct NoEntry
  {};

  /**
   * The pattern whose row i has the distinct values of list i, which are below @p n_values, ascending. @p entries, if
   * given, become what the thread's copy of @p rows has for each by rows.take(value), which is called for all of a row
   * after its visit().
   */
  template <typename Entry, typename Rows>
  CompressedPattern unique_rows(
      Host where, const Backend &place, const int n_rows, const int n_values, const Rows &rows, Array<Entry> *entries)
  {
    // Rows in pieces: as their number grows none is moved, and memory that was free before has room for a piece.
    constexpr std::size_t piece = 1 << 14;
    struct Share // of a thread: consecutive rows
    {
      std::vector<std::vector<int>> values;
      std::vector<Entry>            entries;
      std::int64_t                  n = 0;
    };
    Array<int>         counts(place, n_rows);
    std::vector<Share> shares(max_threads());
    on_all_threads([&](const int thread, const int n_threads) {
      const Workspace<int> last_rows, distinct;
      int *const           last_row = last_rows(std::size_t(n_values) + 1) + 1; // [value]: the last that has it, from 1
      int *const           values   = distinct(std::size_t(n_values) + padding_of_ranks);
      const Rows           lists    = rows; // of this thread, so that no store can change it
      Share               &share    = shares[thread];
      const int            begin    = static_cast<int>(std::int64_t(n_rows) * thread / n_threads);
      const int            end      = static_cast<int>(std::int64_t(n_rows) * (thread + 1) / n_threads);
      for (int i = begin; i < end; ++i)
      {
        int n        = 0;
        last_row[-1] = i + 1;
        lists.visit(i, 0, 1, [&](const int value) { // without a branch: which values are new follows no rule
          values[n] = value;
          n += last_row[value] != i + 1;
          last_row[value] = i + 1;
        });
        if (share.values.empty() || share.values.back().capacity() - share.values.back().size() < std::size_t(n))
        {
          share.values.emplace_back();
          share.values.back().reserve(std::max<std::size_t>(n, piece));
        }
        std::vector<int> &last = share.values.back();
        last.resize(last.size() + n);
        sort_distinct(values, n, last.data() + last.size() - n);
        if constexpr (!std::is_same_v<Entry, NoEntry>)
          for (auto value = last.end() - n; value != last.end(); ++value)
            share.entries.push_back(lists.take(*value));
        counts.data()[i] = n;
        share.n += n;
      }
    });
    CompressedPattern         result(where, n_values, counts);
    std::vector<std::int64_t> starts(1, 0);
    for (const Share &share : shares)
      starts.push_back(starts.back() + share.n);
    if (entries != nullptr)
      entries->reinit(place, result.columns.size());
    parallel_for(where, static_cast<std::int64_t>(shares.size()), [&](const std::int64_t t) {
      int *to = result.columns.data() + starts[t];
      for (const std::vector<int> &values : shares[t].values)
        to = std::copy(values.begin(), values.end(), to);
      if (entries != nullptr)
        std::copy(shares[t].entries.begin(), shares[t].entries.end(), entries->data() + starts[t]);
    });
    return result;
  }

  template <typename Rows>
  CompressedPattern
  unique_rows(Host where, const Backend &place, const int n_rows, const int n_values, const Rows &rows)
  {
    return unique_rows<NoEntry>(where, place, n_rows, n_values, rows, static_cast<Array<NoEntry> *>(nullptr));
  }

  template <typename Rows>
  CompressedPattern unique_rows(Cuda where, const Backend &place, int n_rows, int n_values, const Rows &rows);
} // namespace PatchFEM::kernels
