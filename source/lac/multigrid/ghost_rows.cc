// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ghost_rows.h"
#include "kernels/run.h"

#include <patchfem/base/threads.h>

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
    choose(place, [&](auto where) { of_ranks::renumber(where, n, numbers, pattern.columns.data(), result.columns); });
    return result;
  }

  std::vector<int> GhostRows::append(const Partitioner &nodes, CoarseNumbers &numbers, CompressedPattern &pattern)
  {
    const Backend    place = pattern.offsets.backend(), host;
    std::vector<int> list;
    for (const Destination &to : nodes.destinations())
      list.insert(list.end(), to.indices.begin(), to.indices.end());
    rows.copy_from(place, list);
    Array<int> columns_of_rows;
    choose(place, [&](auto where) { of_ranks::read_rows(where, pattern, rows, starts, columns_of_rows); });

    // Rows of a border name the same few coarse nodes again and again: to each rank go these, once, and places among them.
    const std::vector<std::int64_t>          begin   = starts.to_vector();
    const std::vector<int>                   columns = columns_of_rows.to_vector();
    std::map<int, std::vector<int>>          lengths, sent;
    std::map<int, std::vector<std::int64_t>> named;
    std::vector<int>                         place_of_number(numbers.n(), -1);
    std::size_t                              row = 0;
    destinations.clear();
    sources.clear();
    travels.clear();
    first_row = nodes.n_owned();
    for (const Destination &to : nodes.destinations())
    {
      const auto                 first   = static_cast<int>(begin[row]);
      std::vector<int>          &of_rank = sent[to.rank];
      std::vector<std::int64_t> &names   = named[to.rank];
      for (const int i : to.indices)
      {
        const auto n = static_cast<int>(begin[row + 1] - begin[row]);
        lengths[to.rank].push_back(n);
        if (n > 0)
          first_row = std::min(first_row, i);
        ++row;
      }
      const auto end = static_cast<int>(begin[row]);
      of_rank.reserve(end - first);
      for (int e = first; e < end; ++e)
      {
        int &known = place_of_number[columns[e]];
        if (known < 0)
        {
          known = static_cast<int>(names.size());
          names.push_back(numbers.global(columns[e]));
        }
        of_rank.push_back(known);
      }
      for (int e = first; e < end; ++e)
        place_of_number[columns[e]] = -1;
      if (first == end)
        continue;
      destinations.push_back({to.rank, std::vector<int>(end - first)});
      std::iota(destinations.back().indices.begin(), destinations.back().indices.end(), first);
    }
    lengths = nodes.communicator().exchange(lengths);
    sent    = nodes.communicator().exchange(sent);
    named   = nodes.communicator().exchange(named);
    std::vector<std::int64_t> all_named;
    std::vector<int>          received; // by rank, as the ghosts: places in all_named
    for (const auto &[rank, of_rank] : sent)
    {
      const auto first = static_cast<int>(received.size());
      for (const int k : of_rank)
        received.push_back(static_cast<int>(all_named.size()) + k);
      all_named.insert(all_named.end(), named[rank].begin(), named[rank].end());
      if (!of_rank.empty())
        sources.push_back({rank, first, static_cast<int>(received.size())});
    }

    const std::vector<int> new_numbers = numbers.add(all_named);
    std::vector<int>       local;
    for (const std::int64_t number : all_named)
      local.push_back(numbers.local(number));
    n_own = pattern.offsets.read(nodes.n_owned());
    std::vector<std::int64_t> offsets(1, n_own);
    for (const auto &[rank, of_rank] : lengths)
      for (const int n : of_rank)
      {
        offsets.push_back(offsets.back() + n);
        pattern.width = std::max(pattern.width, n);
      }
    std::vector<int> more(received.size()), place_of(received.size());
    for_shares(static_cast<std::int64_t>(offsets.size()) - 1,
               [&](const std::int64_t first_ghost, const std::int64_t end_ghost) {
                 std::vector<std::pair<int, int>> blocks; // number here, place there
                 for (std::int64_t g = first_ghost; g < end_ghost; ++g)
                 {
                   const std::int64_t first = offsets[g] - n_own;
                   blocks.clear();
                   for (std::int64_t e = first; e < offsets[g + 1] - n_own; ++e)
                     blocks.emplace_back(local[received[e]], static_cast<int>(e - first));
                   std::sort(blocks.begin(), blocks.end());
                   for (std::size_t p = 0; p < blocks.size(); ++p)
                   {
                     more[first + p]                    = blocks[p].first;
                     place_of[first + blocks[p].second] = static_cast<int>(p);
                   }
                 }
               });
    places.copy_from(place, place_of);
    Array<int> all_columns(place, n_own + more.size());
    choose(place,
           [&](auto where) { of_ranks::renumber(where, n_own, new_numbers, pattern.columns.data(), all_columns); });
    if (!more.empty())
      memory::copy(place, all_columns.data() + n_own, host, more.data(), more.size() * sizeof(int));
    Array<std::int64_t> all_offsets(place, std::size_t(nodes.n_local()) + 1);
    memory::copy(place, all_offsets.data(), place, pattern.offsets.data(), nodes.n_owned() * sizeof(std::int64_t));
    memory::copy(place, all_offsets.data() + nodes.n_owned(), host, offsets.data(),
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
    auto          travel =
        std::find_if(travels.begin(), travels.end(), [&](const Travel &known) { return known.bytes == bytes; });
    if (travel == travels.end())
      travel = travels.insert(travel, {bytes, nodes.exchange(place, destinations, sources, bytes)});
    travel->exchange->run(sent.data(), received.data());
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
