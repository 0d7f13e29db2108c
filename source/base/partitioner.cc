// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/partitioner.h>

#include <algorithm>

namespace PatchFEM
{
  Partitioner::Partitioner(std::shared_ptr<const Communicator> communicator,
                           const int                           n_owned,
                           std::vector<Ghost>                  ghosts)
      : ranks(std::move(communicator)), owned(n_owned), ghost_list(std::move(ghosts))
  {
    first_of_rank.push_back(0);
    for (const std::int64_t n : ranks->all_gather(std::int64_t(n_owned)))
      first_of_rank.push_back(first_of_rank.back() + n);
    total = first_of_rank.back();

    std::map<int, std::vector<int>> wanted;
    for (std::size_t g = 0; g < ghost_list.size(); ++g)
    {
      const Ghost &ghost = ghost_list[g];
      if (from.empty() || from.back().rank != ghost.rank)
        from.push_back({ghost.rank, static_cast<int>(g), 0});
      from.back().end = static_cast<int>(g) + 1;
      wanted[ghost.rank].push_back(ghost.index);
    }
    ranks->defer_errors([&] {
      for (std::size_t g = 0; g < ghost_list.size(); ++g)
      {
        const auto [rank, index] = ghost_list[g];
        require(rank >= 0 && rank < ranks->size() && rank != ranks->rank() && index >= 0 &&
                    index < first_of_rank[rank + 1] - first_of_rank[rank] &&
                    (g == 0 || ghost_list[g - 1] < ghost_list[g]),
                "Ghosts of rank ", ranks->rank(), " are not ascending, twice there or not of another rank.");
      }
    });
    for (auto &[rank, indices] : ranks->exchange(wanted))
      to.push_back({rank, std::move(indices)});
  }

  int Partitioner::begin_of(const int rank) const
  {
    return std::lower_bound(from.begin(), from.end(), rank,
                            [](const Source &source, const int wanted) { return source.rank < wanted; })
        ->begin;
  }

  const Transport &Partitioner::transport(const Backend &backend) const
  {
    for (const Carrier &known : carriers)
      if (known.place == backend.kind())
        return *known.transport;
    carriers.push_back({backend.kind(), transport_of(*ranks, backend)});
    return *carriers.back().transport;
  }

  const Array<int> &Partitioner::sent(const Backend &backend) const
  {
    const auto found = lists.find(backend.kind());
    return found != lists.end() ? found->second
                                : lists.emplace(backend.kind(), Array<int>(backend, list_of(to))).first->second;
  }

  Transport::Exchange *Partitioner::known(const Backend &backend, const std::size_t bytes) const
  {
    for (const Travel &travel : made)
      if (travel.place == backend.kind() && travel.bytes == bytes)
        return travel.exchange.get();
    return nullptr;
  }

  Transport::Exchange &Partitioner::started(const Backend &backend, const std::size_t bytes) const
  {
    Transport::Exchange *const result = known(backend, bytes);
    require(result != nullptr, "An exchange of ", bytes, " bytes for each thing goes on that was not started.");
    return *result;
  }

  Transport::Exchange &Partitioner::exchange(const Backend &backend, const std::size_t bytes) const
  {
    Transport::Exchange *const           there = known(backend, bytes);
    std::unique_ptr<Transport::Exchange> fresh;
    if (there == nullptr)
    {
      require(bytes % 4 == 0, "Things that ranks exchange have a multiple of 4 bytes, not ", bytes, '.');
      const int *indices = nullptr;
      ranks->defer_errors([&] { indices = sent(backend).data(); });
      fresh = transport(backend).exchange(to, from, indices, bytes);
    }
    ranks->poll_errors(); // all have it from now on, or none
    if (there != nullptr)
      return *there;
    made.push_back({backend.kind(), bytes, std::move(fresh)});
    return *made.back().exchange;
  }

  void Partitioner::start(const Backend &backend, const void *const values, const std::size_t bytes) const
  {
    exchange(backend, bytes).start(values);
  }

  void Partitioner::progress(const Backend &backend, const std::size_t bytes) const
  {
    started(backend, bytes).progress();
  }

  void Partitioner::finish(const Backend &backend, void *const values, const std::size_t bytes) const
  {
    started(backend, bytes).finish(static_cast<char *>(values) + owned * bytes);
  }

  void Partitioner::start_and_finish(const Backend &backend, void *const values, const std::size_t bytes) const
  {
    exchange(backend, bytes).run(values, static_cast<char *>(values) + owned * bytes);
  }

  void Partitioner::sum(const Backend &backend, double *const values, const int n) const
  {
    const Transport &by = transport(backend);
    ranks->poll_errors();
    by.sum(values, n);
  }

  bool Partitioner::can_be_recorded(const Backend &backend) const
  {
    return transport(backend).can_be_recorded();
  }

  std::size_t Partitioner::memory_consumption() const
  {
    std::size_t bytes = ghost_list.size() * sizeof(Ghost);
    for (const Destination &destination : to)
      bytes += destination.indices.size() * sizeof(int);
    for (const auto &[place, list] : lists)
      bytes += list.memory_consumption();
    for (const Travel &known : made)
      bytes += known.exchange->memory_consumption();
    return bytes;
  }
} // namespace PatchFEM
