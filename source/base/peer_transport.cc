// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_transports.h"

#ifdef PATCHFEM_WITH_CUDA

#include <patchfem/base/array.h>
#include <patchfem/kernels/peer.h>
#include <patchfem/kernels/runtime.h>

#include <algorithm>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    using cuda_runtime::SharedHandle;
    using kernels::PeerLink, kernels::PeerLinks, kernels::PeerSum;

    /** What kernels of different devices write is at least so far apart. */
    constexpr std::size_t alignment = 256;

    /// Of the flags, or counts, of the blocks of a link.
    constexpr std::size_t flag_bytes = kernels::most_peer_blocks * sizeof(std::uint64_t);
    static_assert(flag_bytes % alignment == 0, "flags of links are apart");

    std::size_t aligned(const std::size_t bytes)
    {
      return (bytes + alignment - 1) / alignment * alignment;
    }

    /** Memory of a device that others open: allocated in chunks, since opening one takes longer than a small message. */
    class SharedArena
    {
    public:
      SharedArena(const Communicator &ranks, const std::size_t least_chunk) : ranks(ranks), least_chunk(least_chunk) {}

      /** As ranks tell each other. */
      struct Place
      {
        int          chunk;
        std::size_t  offset, bytes;
        SharedHandle handle; ///< of the chunk
      };

      /** Of what has never been given back all bytes are 0. */
      Place allocate(const std::size_t n)
      {
        const std::size_t bytes = aligned(std::max<std::size_t>(n, 1));
        auto found = std::find_if(free.begin(), free.end(), [&](const Place &p) { return p.bytes >= bytes; });
        if (found == free.end())
        {
          const std::size_t size = std::max(least_chunk, bytes);
          chunks.push_back(static_cast<char *>(cuda_runtime::allocate_shared(size)));
          cuda_runtime::count_workspace(static_cast<std::ptrdiff_t>(size));
          free.push_back({static_cast<int>(chunks.size()) - 1, 0, size, cuda_runtime::share(chunks.back())});
          found = free.end() - 1;
        }
        Place result = *found;
        result.bytes = bytes;
        found->offset += bytes;
        found->bytes -= bytes;
        if (found->bytes == 0)
          free.erase(found);
        return result;
      }

      void give_back(const Place &place)
      {
        if (place.bytes == 0)
          return;
        Place piece = place;
        for (auto other = free.begin(); other != free.end();)
          if (other->chunk == piece.chunk &&
              (other->offset == piece.offset + piece.bytes || piece.offset == other->offset + other->bytes))
          {
            piece.offset = std::min(piece.offset, other->offset);
            piece.bytes += other->bytes;
            other = free.erase(other);
          }
          else
            ++other;
        free.push_back(piece);
      }

      /** What @p rank has there, for kernels of this device; null where they do not reach it. */
      char *address(const int rank, const Place &place)
      {
        if (rank == ranks.rank())
          return chunks[place.chunk] + place.offset;
        char *&base = opened[{rank, place.chunk}];
        if (base == nullptr)
          base = static_cast<char *>(cuda_runtime::open_shared(place.handle));
        return base == nullptr ? nullptr : base + place.offset;
      }

    private:
      const Communicator                   &ranks;
      const std::size_t                     least_chunk;
      std::vector<char *>                   chunks;
      std::vector<Place>                    free;
      std::map<std::pair<int, int>, char *> opened;
    };

    /** What the exchanges of a rank take turns in, which others open once; see kernels/peer.h. */
    struct Pool
    {
      explicit Pool(const Communicator &ranks)
          : inboxes(ranks, std::size_t(32) << 20), flags(ranks, std::size_t(2) << 20), n_ranks(ranks.size())
      {}

      /**
       * Flags of a link with each rank: `arrived`, which its blocks raise when their things are there, and `taken`, when
       * they have fetched this rank's. Behind them are counts of this rank's blocks, for two links with each rank.
       */
      struct Flags
      {
        SharedArena::Place place;
        std::uint64_t      from; ///< they count from this one on
      };
      static constexpr std::uint64_t each_use = std::uint64_t(1) << 44;

      Flags take_flags()
      {
        if (known.empty())
          known.push_back({flags.allocate(4 * n_ranks * flag_bytes), each_use}); // above what memory begins with
        const Flags result = known.back();
        known.pop_back();
        return result;
      }
      void give_back(Flags used)
      {
        // No link lives to see so many exchanges, a year of them; after a million links flags are new ones.
        used.from += each_use;
        if (used.place.bytes > 0 && used.from != 0)
          known.push_back(used);
      }

      SharedArena        inboxes, flags;
      const int          n_ranks;
      std::vector<Flags> known;
    };

    class PeerTransport : public Transport
    {
    public:
      PeerTransport(const Communicator &ranks, const Backend &backend, const double most_seconds)
          : ranks(ranks), backend(backend), pool(std::make_shared<Pool>(ranks)),
            // A limit that no run lives to see has fewer nanoseconds than 64 bits count.
            patience{static_cast<std::uint64_t>(std::min(most_seconds, 1e9) * 1e9), cuda_runtime::late_rank()}
      {}

      /** Whether all devices reach each other, on all ranks the same. */
      bool open()
      {
        const std::size_t  box = aligned(std::size_t(2) * ranks.size() * PeerSum::most * 2 * sizeof(std::uint64_t));
        SharedArena::Place place{};
        ranks.agree_on_errors([&] { place = pool->flags.allocate(box + alignment); });
        const auto                   all = ranks.all_gather(place);
        std::vector<std::uint64_t *> boxes;
        for (int rank = 0; rank < ranks.size(); ++rank)
          boxes.push_back(reinterpret_cast<std::uint64_t *>(pool->flags.address(rank, all[rank])));
        const bool reaches = std::find(boxes.begin(), boxes.end(), nullptr) == boxes.end();
        if (ranks.maximum(std::int64_t(!reaches)) != 0)
          return false;
        ranks.agree_on_errors([&] { addresses.copy_from(backend, boxes); });
        numbers = {ranks.rank(), ranks.size(), addresses.data(),
                   reinterpret_cast<std::uint32_t *>(reinterpret_cast<char *>(boxes[ranks.rank()]) + box)};
        return true;
      }

      std::string name() const override { return "peer"; }
      bool        can_be_recorded() const override { return true; }
      void        sum(double *const values, const int n) const override
      {
        kernels::peer_sum(Cuda{backend.stream()}, numbers, n, values, patience);
      }
      std::unique_ptr<Exchange> exchange(const std::vector<Destination> &destinations,
                                         const std::vector<Source>      &sources,
                                         const int *const                indices,
                                         const std::size_t               bytes) const override
      {
        return std::make_unique<Puts>(*this, destinations, sources, indices, bytes);
      }

    private:
      /** What a rank tells those that it exchanges with. */
      struct Told
      {
        SharedArena::Place inbox;
        std::size_t        half, begin; ///< bytes of half an inbox, and before what comes from the other
        Pool::Flags        flags;
        int                n_sent, n_expected; ///< things that go to the other, and come from it
      };

      struct Puts : Exchange
      {
        Puts(const PeerTransport            &of,
             const std::vector<Destination> &destinations,
             const std::vector<Source>      &sources,
             const int *const                indices,
             const std::size_t               bytes)
            : Puts(of, indices, bytes) // from here on memory is given back, also where another rank has none
        {
          const int         n_ranks = of.ranks.size(), own = of.ranks.rank();
          const std::size_t half = aligned(sources.empty() ? 0 : sources.back().end * bytes);
          of.ranks.defer_errors([&] {
            inbox = pool->inboxes.allocate(2 * half);
            flags = pool->take_flags();
          });

          std::map<int, std::vector<Told>> own_told;
          for (const Destination &destination : destinations)
            own_told[destination.rank] = {{inbox, half, 0, flags, destination.size(), 0}};
          for (const Source &source : sources)
          {
            std::vector<Told> &to = own_told[source.rank];
            to = {{inbox, half, source.begin * bytes, flags, to.empty() ? 0 : to[0].n_sent, source.end - source.begin}};
          }
          const auto told = of.ranks.exchange(own_told);

          of.ranks.defer_errors([&] {
            for (int rank = 0; rank < n_ranks; ++rank)
            {
              const int n_expected = own_told.count(rank) > 0 ? own_told.at(rank)[0].n_expected : 0,
                        n_sent     = told.count(rank) > 0 ? told.at(rank)[0].n_sent : 0;
              require(n_sent == n_expected, "Owner ", own, " of GPUs, counted from 0, expects ", n_expected,
                      " things of owner ", rank, ", which sends ", n_sent, '.');
            }
            char *const own_inbox = pool->inboxes.address(own, inbox);
            char *const here      = pool->flags.address(own, flags.place);
            const auto  flag      = [](char *const base, const int number) {
              return reinterpret_cast<std::uint64_t *>(base + number * flag_bytes);
            };
            std::vector<PeerLink> both;
            unsigned int          n_blocks = 0; // of one direction
            const auto            add      = [&](const bool puts, const int rank, const int begin, const int end) {
              const Told &other = told.at(rank)[0];
              char *const there = pool->flags.address(rank, other.flags.place);
              char *const to    = puts ? pool->inboxes.address(rank, other.inbox) : own_inbox;
              require(there != nullptr && to != nullptr, "The GPU of owner ", own, " does not reach that of owner ",
                                      rank, '.');
              // Numbers of flags: arrived of all ranks, taken of all ranks, and counts of links.
              both.push_back({rank, begin, end, to + (puts ? other.begin : begin * bytes), puts ? other.half : half,
                              flag(there, puts ? own : n_ranks + own), flag(here, puts ? n_ranks + rank : rank),
                              other.flags.from, flags.from, n_blocks, kernels::peer_blocks(end - begin, bytes),
                              flag(here, 2 * n_ranks + static_cast<int>(both.size()))});
              n_blocks += both.back().n_blocks;
            };
            int begin = 0;
            for (const Destination &destination : destinations)
            {
              const int end = begin + destination.size();
              add(true, destination.rank, begin, end);
              begin = end;
            }
            const auto n_puts = static_cast<int>(both.size());
            puts.n_blocks     = std::exchange(n_blocks, 0);
            for (const Source &source : sources)
              add(false, source.rank, source.begin, source.end);
            links.reinit(backend, both.size());
            puts  = {links.data(), n_puts, puts.n_blocks};
            takes = {links.data() + n_puts, static_cast<int>(both.size()) - n_puts, n_blocks};
            kernels::peer_open(Cuda{backend.stream()}, both.data(), static_cast<int>(both.size()), n_puts,
                               links.data());
          });
        }
        Puts(const PeerTransport &of, const int *const indices, const std::size_t bytes)
            : backend(of.backend), bytes(bytes), patience(of.patience), pool(of.pool), indices(indices)
        {}
        ~Puts() override
        {
          pool->give_back(flags);
          if (!on_the_way) // else it comes whenever the other gets there
            pool->inboxes.give_back(inbox);
        }

        void start(const void *const values) override
        {
          on_the_way = true;
          kernels::peer_put(Cuda{backend.stream()}, puts, bytes, indices, values, patience);
        }
        void finish(void *const ghosts) override
        {
          kernels::peer_take(Cuda{backend.stream()}, takes, bytes, ghosts, patience);
          on_the_way = false;
        }
        void run(const void *const values, void *const ghosts) override
        {
          kernels::peer_exchange(Cuda{backend.stream()}, puts, takes, bytes, indices, values, ghosts, patience);
        }
        std::size_t memory_consumption() const override
        {
          return inbox.bytes + flags.place.bytes + links.memory_consumption();
        }

        const Backend               backend;
        const std::size_t           bytes;
        const kernels::PeerPatience patience;
        std::shared_ptr<Pool>       pool;
        const int *const            indices;
        SharedArena::Place          inbox{};
        Pool::Flags                 flags{};
        Array<PeerLink>             links; ///< to others, and behind them from others
        PeerLinks                   puts, takes;
        bool                        on_the_way = false;
      };

      const Communicator         &ranks;
      const Backend               backend;
      std::shared_ptr<Pool>       pool;
      const kernels::PeerPatience patience;
      Array<std::uint64_t *>      addresses;
      PeerSum                     numbers = {};
    };
  } // namespace

  std::shared_ptr<const Transport>
  peer_transport(const Communicator &ranks, const Backend &backend, std::string &reason)
  {
    if (ranks.size() > PeerSum::most_ranks)
    {
      reason = text_of("there are more than ", PeerSum::most_ranks, " ranks with GPUs");
      return nullptr;
    }
    std::shared_ptr<PeerTransport> result;
    ranks.agree_on_errors([&] { result = std::make_shared<PeerTransport>(ranks, backend, ranks.patience()); });
    if (result->open())
      return result;
    reason = "not all GPUs reach each other's memory";
    return nullptr;
  }
} // namespace PatchFEM

#endif
