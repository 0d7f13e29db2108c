// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ghost_rows.h"

#include "kernels/launch.h"

#include <algorithm>

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
    std::vector<int> numbers;
    for (const std::int64_t other : before)
      numbers.push_back(local(other));
    return numbers;
  }

  Array<int>
  aggregates_with_ghosts(const Backend &place, const Partitioner &nodes, const Array<int> &own, CoarseNumbers &numbers)
  {
    const int  n = nodes.n_owned(), n_ghosts = nodes.n_ghosts();
    Array<int> result(place, nodes.n_local()); // of ghosts by their owners' numbers, at first
    if (n > 0)
      memory::copy(place, result.data(), place, own.data(), own.memory_consumption());
    nodes.start_and_finish(place, result.data(), sizeof(int));
    Array<std::int64_t> global(place, n_ghosts);
    dispatch(place, [&](auto where) {
      int *const of_ghosts = result.data() + n;
      for (const Source &source : nodes.sources())
        of_ranks::global_numbers(where, place, source.end - source.begin, of_ghosts + source.begin,
                                 numbers.first_of(source.rank), global.data() + source.begin);
      numbers.add(of_ranks::distinct(where, place, n_ghosts, global.data(), numbers.n_global()));
      of_ranks::local_numbers(where, place, n_ghosts, global.data(), numbers.of_others(), numbers.n_own(), of_ghosts);
    });
    return result;
  }

  CompressedPattern renumbered(const CompressedPattern &pattern,
                               const int                n_rows,
                               const std::int64_t       n_blocks,
                               const int                first,
                               const Array<int>        &numbers,
                               const int                n_columns)
  {
    const Backend    &place = pattern.offsets.backend();
    CompressedPattern result;
    result.n_rows    = n_rows;
    result.n_columns = n_columns;
    result.width     = pattern.width;
    result.offsets.reinit(place, std::size_t(n_rows) + 1);
    memory::copy(place, result.offsets.data(), place, pattern.offsets.data(), result.offsets.memory_consumption());
    result.columns.reinit(place, n_blocks);
    dispatch(place, [&](auto where) {
      of_ranks::renumber(where, place, n_blocks, first, numbers.data(), pattern.columns.data(), result.columns.data());
    });
    return result;
  }

  void renumber(CompressedPattern &pattern, const int first, const Array<int> &numbers, const int n_columns)
  {
    int *const columns = pattern.columns.data();
    dispatch(pattern.columns.backend(), [&](auto where) {
      of_ranks::renumber(where, pattern.columns.backend(), static_cast<std::int64_t>(pattern.columns.size()), first,
                         numbers.data(), columns, columns);
    });
    pattern.n_columns = n_columns;
  }

  Array<int> GhostRows::append(const Partitioner &nodes, CoarseNumbers &numbers, CompressedPattern &pattern)
  {
    const Backend    place   = pattern.offsets.backend();
    const int        n_owned = nodes.n_owned();
    std::vector<int> end_of_rank;
    for (const Destination &to : nodes.destinations())
      end_of_rank.push_back(to.size() + (end_of_rank.empty() ? 0 : end_of_rank.back()));
    Array<int> lengths(place, nodes.n_local());
    dispatch(place, [&](auto where) { of_ranks::row_lengths(where, pattern, lengths.data()); });
    nodes.start_and_finish(place, lengths.data(), sizeof(int));
    of_ranks::SentRows sent = dispatch(place, [&](auto where) {
      return of_ranks::read_rows(where, pattern, nodes.sent(place), end_of_rank, numbers.n());
    });

    // To each rank: how many blocks, no fewer than the longest row has, and the names of columns.
    std::map<int, std::vector<std::int64_t>> named;
    destinations.clear();
    sources.clear();
    travel.reset();
    first_row = n_owned;
    of_ranks::SentRows::End before{};
    for (std::size_t d = 0; d < sent.ends.size(); ++d)
    {
      const int                      rank     = nodes.destinations()[d].rank;
      const of_ranks::SentRows::End &end      = sent.ends[d];
      const auto                     n_blocks = static_cast<int>(end.blocks - before.blocks);
      std::vector<std::int64_t>     &message  = named[rank];
      message                                 = {n_blocks, pattern.width};
      for (std::int64_t k = before.names; k < end.names; ++k)
        message.push_back(numbers.global(sent.names[k]));
      first_row = std::min(first_row, end.first_row);
      if (n_blocks > 0)
        destinations.push_back({rank, {}, n_blocks});
      before = end;
    }
    named = nodes.communicator().exchange(named);
    std::vector<std::int64_t> all_named;
    int                       n_received = 0;
    for (const auto &[rank, message] : named)
    {
      const auto n_blocks = static_cast<int>(message[0]);
      pattern.width       = std::max(pattern.width, static_cast<int>(message[1]));
      all_named.insert(all_named.end(), message.begin() + 2, message.end());
      if (n_blocks > 0)
        sources.push_back({rank, n_received, n_received + n_blocks});
      n_received += n_blocks;
    }
    Array<int> received(place, n_received);
    const auto exchange = nodes.exchange(place, destinations, sources, nullptr, sizeof(int)); // until all of it has run
    nodes.communicator().poll_errors();
    exchange->run(sent.places.data(), received.data());

    Array<int> new_numbers(place, numbers.add(all_named));
    for (std::int64_t &name : all_named)
      name = numbers.local(name);
    const Array<int> local(place, std::vector<int>(all_named.begin(), all_named.end()));
    n_sent     = static_cast<std::int64_t>(sent.places.size());
    starts     = std::move(sent.starts);
    own_blocks = static_cast<std::int64_t>(pattern.columns.size());
    places.reinit(place, received.size());
    Array<int>          all_columns(place, own_blocks + received.size());
    Array<std::int64_t> all_offsets(place, std::size_t(nodes.n_local()) + 1);
    if (n_owned > 0)
      memory::copy(place, all_offsets.data(), place, pattern.offsets.data(), n_owned * sizeof(std::int64_t));
    dispatch(place, [&](auto where) {
      const int *of_rank = local.data();
      for (const Source &source : sources)
      {
        int *const columns = received.data() + source.begin;
        of_ranks::renumber(where, place, source.end - source.begin, 0, of_rank, columns, columns);
        of_rank += named[source.rank].size() - 2;
      }
      of_ranks::renumber(where, place, own_blocks, numbers.n_own(), new_numbers.data(), pattern.columns.data(),
                         all_columns.data());
      const Array<std::int64_t> of_ghosts = of_ranks::row_starts(
          where, place, nodes.n_ghosts(), lengths.data() + n_owned, own_blocks, all_offsets.data() + n_owned);
      of_ranks::sort_rows(where, of_ghosts, received, places, all_columns.data() + own_blocks);
    });
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
    const Backend                        place = pattern.offsets.backend();
    const int                            size  = n_c * n_m;
    const std::size_t                    bytes = size * sizeof(Number);
    const Array<Number>                  sent  = dispatch(place, [&](auto where) {
      return of_ranks::read_values(where, pattern, begin, nodes.sent(place), starts, n_sent, size, values);
    });
    Array<Number>                        received(place, places.size() * size);
    std::unique_ptr<Transport::Exchange> fresh; // all ranks have it, or none
    if (travel == nullptr || bytes != block_bytes)
      fresh = nodes.exchange(place, destinations, sources, nullptr, bytes);
    nodes.communicator().poll_errors();
    if (fresh != nullptr)
      travel = std::move(fresh);
    block_bytes = bytes;
    travel->run(sent.data(), received.data());
    const std::int64_t before = begin > 0 ? pattern.offsets.read(begin) : 0;
    dispatch(place, [&](auto where) {
      of_ranks::place_values(where, pattern, nodes.n_owned(), places, n_c, n_m, received,
                             values + (own_blocks - before) * size);
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
