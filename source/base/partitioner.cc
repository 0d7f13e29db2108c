// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/partitioner.h>

#include <algorithm>
#include <cstring>

namespace PatchFEM
{
  /** What travels of things of one size. */
  struct Partitioner::Buffers
  {
    std::size_t                            bytes; ///< of a thing
    std::vector<char>                      sent, received;
    std::unique_ptr<Communicator::Channel> channel;
  };

  Partitioner::~Partitioner() = default;

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
    ranks->together([&] {
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

  Partitioner::Buffers &Partitioner::buffers(const std::size_t bytes) const
  {
    for (const auto &known : made)
      if (known->bytes == bytes)
        return *known;
    made.push_back(std::make_unique<Buffers>());
    Buffers    &fresh  = *made.back();
    std::size_t n_sent = 0;
    for (const Destination &destination : to)
      n_sent += destination.indices.size();
    fresh.bytes = bytes;
    fresh.sent.resize(n_sent * bytes);
    fresh.received.resize(ghost_list.size() * bytes);
    std::vector<Communicator::Link> sends, receives;
    std::size_t                     begin = 0;
    for (const Destination &destination : to)
    {
      sends.push_back({destination.rank, fresh.sent.data() + begin, destination.indices.size() * bytes});
      begin += destination.indices.size() * bytes;
    }
    for (const Source &source : from)
      receives.push_back(
          {source.rank, fresh.received.data() + source.begin * bytes, (source.end - source.begin) * bytes});
    fresh.channel = ranks->channel(sends, receives);
    return fresh;
  }

  void Partitioner::start(const Backend &backend, const void *const values, const std::size_t bytes) const
  {
    require(backend.kind() != BackendKind::cuda,
            "Ranks on the back end cuda have one device together: make the back end by backend_of_ranks().");
    Buffers &b = buffers(bytes);
    dispatch(backend, [&](auto) {
      char *to_send = b.sent.data();
      for (const Destination &destination : to)
        for (const int i : destination.indices)
        {
          std::memcpy(to_send, static_cast<const char *>(values) + i * bytes, bytes);
          to_send += bytes;
        }
    });
    b.channel->start();
  }

  void Partitioner::progress(const std::size_t bytes) const
  {
    buffers(bytes).channel->progress();
  }

  void Partitioner::finish(const Backend &backend, void *const values, const std::size_t bytes) const
  {
    Buffers &b = buffers(bytes);
    b.channel->finish();
    if (!b.received.empty())
      memory::copy(backend, static_cast<char *>(values) + owned * bytes, Backend(), b.received.data(),
                   b.received.size());
  }

  std::size_t Partitioner::memory_consumption() const
  {
    std::size_t bytes = ghost_list.size() * sizeof(Ghost);
    for (const Destination &destination : to)
      bytes += destination.indices.size() * sizeof(int);
    for (const auto &known : made)
      bytes += known->sent.size() + known->received.size();
    return bytes;
  }
} // namespace PatchFEM
