// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/array.h>
#include <patchfem/base/transport.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace PatchFEM
{
  /**
   * How numbered things, such as nodes, lie on the ranks of a communicator, with the name and the purpose of deal.II's
   * Utilities::MPI::Partitioner: each thing has one owner, which counts its own from 0, and behind these stand the
   * ghosts, which are other ranks' that this one reads. Made once per mesh; what is exchanged often goes through
   * channels that stay.
   */
  class Partitioner
  {
  public:
    /** A thing of another rank, by its number there. */
    struct Ghost
    {
      int rank, index;

      bool operator==(const Ghost &other) const { return rank == other.rank && index == other.index; }
      bool operator<(const Ghost &other) const { return rank != other.rank ? rank < other.rank : index < other.index; }
    };

    /** Collective. @p ghosts must be ascending; that of local number n_owned + g is the g-th. */
    Partitioner(std::shared_ptr<const Communicator> communicator, int n_owned, std::vector<Ghost> ghosts);

    const Communicator                        &communicator() const { return *ranks; }
    const std::shared_ptr<const Communicator> &shared_communicator() const { return ranks; }
    int                                        n_owned() const { return owned; }
    int                                        n_ghosts() const { return static_cast<int>(ghost_list.size()); }
    int                                        n_local() const { return owned + n_ghosts(); }
    const std::vector<Ghost>                  &ghosts() const { return ghost_list; }

    /** Things of all ranks, and of those before this one: owned thing i has the global number first() + i. */
    std::int64_t n_global() const { return total; }
    std::int64_t first() const { return first(ranks->rank()); }
    std::int64_t first(const int rank) const { return first_of_rank[rank]; } ///< rank <= size()

    /** The global number of an owned thing or ghost. */
    std::int64_t global(const int local) const
    {
      return local < owned ? first() + local
                           : first_of_rank[ghost_list[local - owned].rank] + ghost_list[local - owned].index;
    }

    /** Owned things that another rank has as ghosts, in the order of these. */
    using Destination = PatchFEM::Destination;
    const std::vector<Destination> &destinations() const { return to; }

    /** The things of destinations() in one list on @p backend, which the first call makes. */
    const Array<int> &sent(const Backend &backend) const;

    /** The range of ghosts of each other rank. */
    const std::vector<Source> &sources() const { return from; }

    /** Collective, for set-up: @p values has @p width entries for each thing; ghosts become what their owners have. */
    template <typename T>
    void update_ghosts(T *values, const int width = 1) const
    {
      std::map<int, std::vector<T>> messages;
      for (const Destination &destination : to)
      {
        std::vector<T> &message = messages[destination.rank];
        message.reserve(destination.indices.size() * width);
        for (const int i : destination.indices)
          message.insert(message.end(), values + std::int64_t(i) * width, values + std::int64_t(i + 1) * width);
      }
      for (const auto &[rank, message] : ranks->exchange(messages))
        std::copy(message.begin(), message.end(), values + (owned + std::int64_t(begin_of(rank))) * width);
    }

    /**
     * An exchange beside other work: start() sends @p values of owned things, and finish() completes those of ghosts,
     * which lie behind them. Both are on @p backend. Things have @p bytes each; one exchange at a time for each number of
     * bytes. The first call for a number of bytes makes buffers and channels by the Transport of the ranks' devices.
     */
    void start(const Backend &backend, const void *values, std::size_t bytes) const;
    void progress(const Backend &backend, std::size_t bytes) const; ///< between them, see Communicator::Channel
    void finish(const Backend &backend, void *values, std::size_t bytes) const;
    void start_and_finish(const Backend &backend, void *values, std::size_t bytes) const;

    /** Collective: frees buffers and channels; the next start() makes them anew. */
    void release() const { made.clear(); }

    /** Collective: one over other lists, which outlive it, by the same Transport; see there. */
    std::unique_ptr<Transport::Exchange> exchange(const Backend                  &backend,
                                                  const std::vector<Destination> &destinations,
                                                  const std::vector<Source>      &sources,
                                                  const int                      *indices,
                                                  std::size_t                     bytes) const
    {
      return transport(backend).exchange(destinations, sources, indices, bytes);
    }

    /** Collective: values[i] on @p backend become their sums over all ranks, in their order; @p n at most 2. */
    void sum(const Backend &backend, double *values, int n) const;

    /** Whether start(), finish() and sum() may be in a Graph, once they have been called before. */
    bool can_be_recorded(const Backend &backend) const;

    std::size_t memory_consumption() const;

  private:
    struct Carrier
    {
      BackendKind                      place;
      std::shared_ptr<const Transport> transport;
    };

    /** The exchange of things of one size. */
    struct Travel
    {
      BackendKind                          place;
      std::size_t                          bytes; ///< of a thing
      std::unique_ptr<Transport::Exchange> exchange;
    };

    int                  begin_of(int rank) const; ///< of its ghosts
    const Transport     &transport(const Backend &backend) const;
    Transport::Exchange *known(const Backend &backend, std::size_t bytes) const; ///< null before the first
    Transport::Exchange &started(const Backend &backend, std::size_t bytes) const;
    Transport::Exchange &exchange(const Backend &backend, std::size_t bytes) const;

    std::shared_ptr<const Communicator> ranks;
    int                                 owned;
    std::int64_t                        total = 0;
    std::vector<std::int64_t>           first_of_rank;
    std::vector<Ghost>                  ghost_list;
    std::vector<Source>                 from;
    std::vector<Destination>            to;

    mutable std::map<BackendKind, Array<int>> lists;    ///< see sent()
    mutable std::vector<Carrier>              carriers; ///< outlive the exchanges that they made
    mutable std::vector<Travel>               made;

  public:
    Partitioner(const Partitioner &)            = delete;
    Partitioner &operator=(const Partitioner &) = delete;
  };

  /** Communicator::agree_on_errors() of the ranks of @p partitioner; null stands for one rank, which runs @p function. */
  template <typename Function>
  void agree_on_errors(const std::shared_ptr<const Partitioner> &partitioner, const Function &function)
  {
    agree_on_errors(partitioner != nullptr ? &partitioner->communicator() : nullptr, function);
  }

  /** Communicator::defer_errors() of the ranks of @p partitioner; null stands for one rank, which runs @p function. */
  template <typename Function>
  void defer_errors(const std::shared_ptr<const Partitioner> &partitioner, const Function &function)
  {
    partitioner != nullptr ? partitioner->communicator().defer_errors(function) : function();
  }
} // namespace PatchFEM
