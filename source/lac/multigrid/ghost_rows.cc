// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ghost_rows.h"

#include "base/device_transports.h"
#include "kernels/run.h"

#include <algorithm>
#include <numeric>

namespace PatchFEM
{
  CoarseNumbers::CoarseNumbers(const Communicator &ranks, const int n_own) : first(1, 0)
  {
    for (const int n : ranks.all_gather(int(n_own)))
      first.push_back(first.back() + n);
    begin = first[ranks.rank()];
    end   = first[ranks.rank() + 1];
  }

  int CoarseNumbers::local(const std::int64_t global) const
  {
    return global >= begin && global < end
               ? static_cast<int>(global - begin)
               : n_own() + static_cast<int>(std::lower_bound(others.begin(), others.end(), global) - others.begin());
  }

  Partitioner::Ghost CoarseNumbers::ghost(const int local) const
  {
    const std::int64_t number = global(local);
    const auto         rank   = std::upper_bound(first.begin(), first.end(), number) - first.begin() - 1;
    return {static_cast<int>(rank), static_cast<int>(number - first[rank])};
  }

  std::vector<int> CoarseNumbers::add(std::vector<std::int64_t> more)
  {
    const std::vector<std::int64_t> before = others;
    more.erase(
        std::remove_if(more.begin(), more.end(),
                       [=](const std::int64_t number) { return number < 0 || (number >= begin && number < end); }),
        more.end());
    more.insert(more.end(), others.begin(), others.end());
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    others = std::move(more);
    std::vector<int> numbers(n_own() + before.size());
    std::iota(numbers.begin(), numbers.begin() + n_own(), 0);
    for (std::size_t i = 0; i < before.size(); ++i)
      numbers[n_own() + i] = local(before[i]);
    return numbers;
  }

  Array<int>
  aggregates_with_ghosts(const Backend &place, const Partitioner &nodes, const Array<int> &own, CoarseNumbers &numbers)
  {
    const int           n = nodes.n_owned(), n_ghosts = nodes.n_ghosts();
    Array<std::int64_t> global(place, std::max(nodes.n_local(), 1));
    choose(place, [&](auto where) { of_ranks::global_numbers(where, own, numbers.first_own(), global); });
    nodes.start_and_finish(place, global.data(), sizeof(std::int64_t));
    Array<int> result(place, nodes.n_local());
    if (n > 0)
      memory::copy(place, result.data(), place, own.data(), own.memory_consumption());
    choose(place, [&](auto where) {
      const std::int64_t *const of_ghosts = global.data() + n;
      numbers.add(of_ranks::distinct(where, place, n_ghosts, of_ghosts, numbers.n_global()));
      of_ranks::local_numbers(where, place, n_ghosts, of_ghosts, numbers.of_others(), numbers.n_own(),
                              result.data() + n);
    });
    return result;
  }

  CompressedPattern
  renumbered(const CompressedPattern &pattern, const int n_rows, const std::vector<int> &numbers, const int n_columns)
  {
    const Backend     &place = pattern.offsets.backend();
    const std::int64_t n     = pattern.offsets.read(n_rows);
    CompressedPattern  result;
    result.n_rows    = n_rows;
    result.n_columns = n_columns;
    result.width     = pattern.width;
    result.offsets.reinit(place, std::size_t(n_rows) + 1);
    memory::copy(place, result.offsets.data(), place, pattern.offsets.data(), result.offsets.memory_consumption());
    result.columns.reinit(place, n);
    choose(place, [&](auto where) {
      of_ranks::renumber(where, place, n, numbers, pattern.columns.data(), result.columns.data());
    });
    return result;
  }

  std::vector<int> GhostRows::append(const Partitioner &nodes, CoarseNumbers &numbers, CompressedPattern &pattern)
  {
    const Backend place = pattern.offsets.backend();
    rows.copy_from(place, list_of(nodes.destinations()));
    Array<int> columns;
    choose(place, [&](auto where) { of_ranks::read_rows(where, pattern, rows, starts, columns); });

    // Rows of a border name the same few coarse nodes again and again: to each rank go these, once, and places among them.
    const std::vector<std::int64_t>          begin = starts.to_vector();
    std::map<int, std::vector<int>>          lengths;
    std::map<int, std::vector<std::int64_t>> named;
    Array<int>                               sent(place, columns.size());
    std::size_t                              row = 0;
    destinations.clear();
    sources.clear();
    travel.reset();
    first_row = nodes.n_owned();
    for (const Destination &to : nodes.destinations())
    {
      const std::int64_t first = begin[row];
      for (const int i : to.indices)
      {
        const auto n = static_cast<int>(begin[row + 1] - begin[row]);
        lengths[to.rank].push_back(n);
        if (n > 0)
          first_row = std::min(first_row, i);
        ++row;
      }
      const std::int64_t         end   = begin[row];
      std::vector<std::int64_t> &names = named[to.rank];
      if (first == end)
        continue;
      destinations.push_back({to.rank, {}, static_cast<int>(end - first)});
      for (const int column : choose(place, [&](auto where) {
             return of_ranks::distinct_columns(where, columns, first, end, numbers.n(), sent);
           }))
        names.push_back(numbers.global(column));
    }
    lengths = nodes.communicator().exchange(lengths);
    named   = nodes.communicator().exchange(named);
    std::vector<std::int64_t> offsets(1, 0), all_named; // of the blocks of ghosts' rows
    for (const auto &[rank, of_rank] : lengths)
    {
      const auto first = static_cast<int>(offsets.back());
      for (const int n : of_rank)
      {
        offsets.push_back(offsets.back() + n);
        pattern.width = std::max(pattern.width, n);
      }
      all_named.insert(all_named.end(), named[rank].begin(), named[rank].end());
      if (offsets.back() > first)
        sources.push_back({rank, first, static_cast<int>(offsets.back())});
    }
    Array<int> received(place, offsets.back());
    const auto exchange = nodes.exchange(place, destinations, sources, sizeof(int)); // until all of it has run
    nodes.communicator().look();
    exchange->run(sent.data(), received.data());

    const std::vector<int> new_numbers = numbers.add(std::move(all_named));
    for (const Source &source : sources)
    {
      std::vector<int> local;
      for (const std::int64_t number : named[source.rank])
        local.push_back(numbers.local(number));
      int *const of_rank = received.data() + source.begin;
      choose(place,
             [&](auto where) { of_ranks::renumber(where, place, source.end - source.begin, local, of_rank, of_rank); });
    }
    n_own = pattern.offsets.read(nodes.n_owned());
    places.reinit(place, received.size());
    Array<int> all_columns(place, n_own + received.size());
    choose(place, [&](auto where) {
      of_ranks::renumber(where, place, n_own, new_numbers, pattern.columns.data(), all_columns.data());
      of_ranks::sort_rows(where, Array<std::int64_t>(place, offsets), received, places, all_columns.data() + n_own);
    });
    for (std::int64_t &offset : offsets)
      offset += n_own;
    Array<std::int64_t> all_offsets(place, std::size_t(nodes.n_local()) + 1);
    memory::copy(place, all_offsets.data(), place, pattern.offsets.data(), nodes.n_owned() * sizeof(std::int64_t));
    memory::copy(place, all_offsets.data() + nodes.n_owned(), Backend(), offsets.data(),
                 offsets.size() * sizeof(std::int64_t));
    pattern.n_rows    = nodes.n_local();
    pattern.n_columns = numbers.n();
    pattern.offsets   = std::move(all_offsets);
    pattern.columns   = std::move(all_columns);
    return new_numbers;
  }

  template <typename Number>
  void GhostRows::update(const Partitioner       &nodes,
                         const CompressedPattern &pattern,
                         const int                begin,
                         const int                n_c,
                         const int                n_m,
                         Number                  *values) const
  {
    const Backend       place = pattern.offsets.backend();
    const int           size  = n_c * n_m;
    const std::size_t   bytes = size * sizeof(Number);
    const Array<Number> sent  = choose(
         place, [&](auto where) { return of_ranks::read_values(where, pattern, begin, rows, starts, size, values); });
    Array<Number> received(place, places.size() * size);
    if (travel == nullptr || bytes != block_bytes)
      travel = nodes.exchange(place, destinations, sources, bytes);
    block_bytes = bytes;
    nodes.communicator().look();
    travel->run(sent.data(), received.data());
    const std::int64_t before = begin > 0 ? pattern.offsets.read(begin) : 0;
    choose(place, [&](auto where) {
      of_ranks::place_values(where, pattern, nodes.n_owned(), places, n_c, n_m, received,
                             values + (n_own - before) * size);
    });
  }

  int first_sent(const Partitioner &nodes)
  {
    int result = nodes.n_owned();
    for (const Partitioner::Destination &to : nodes.destinations())
      for (const int i : to.indices)
        result = std::min(result, i);
    return result;
  }

  template void GhostRows::update(const Partitioner &, const CompressedPattern &, int, int, int, float *) const;
  template void GhostRows::update(const Partitioner &, const CompressedPattern &, int, int, int, double *) const;
} // namespace PatchFEM
