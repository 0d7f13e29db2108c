// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_transports.h"

#ifdef PATCHFEM_WITH_CUDA

#include <patchfem/base/array.h>
#include <patchfem/kernels/peer.h>
#include <patchfem/kernels/runtime.h>

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    using cuda_runtime::SharedHandle;
    using kernels::PeerLink, kernels::PeerLinks, kernels::PeerSum;

    /** What kernels of different devices write is at least so far apart. */
    constexpr std::size_t alignment = 256;

    /// Of the flags, or counts, of the blocks of a link.
    constexpr std::size_t flag_bytes = kernels::most_peer_blocks * sizeof(std::uint32_t);
    static_assert(flag_bytes % alignment == 0, "flags of links are apart");

    std::size_t aligned(const std::size_t bytes)
    {
      return (bytes + alignment - 1) / alignment * alignment;
    }

    /** Memory of a device that others open: allocated in chunks, since opening one takes longer than a small message. */
    class SharedArena
    {
    public:
      explicit SharedArena(const Communicator &ranks) : ranks(ranks) {}

      /** As ranks tell each other. */
      struct Place
      {
        int          chunk;
        std::size_t  offset, bytes;
        SharedHandle handle; ///< of the chunk
      };

      Place allocate(const std::size_t n)
      {
        const std::size_t bytes = aligned(n);
        auto found = std::find_if(free.begin(), free.end(), [&](const Place &p) { return p.bytes >= bytes; });
        if (found == free.end())
        {
          constexpr std::size_t least = std::size_t(32) << 20;
          const std::size_t     size  = std::max(least, bytes);
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

      /** It is used again when all ranks have come to the next allocation, and nothing that others do waits by then. */
      void give_back(const Place &place)
      {
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
      std::vector<char *>                   chunks;
      std::vector<Place>                    free;
      std::map<std::pair<int, int>, char *> opened;
    };

    class PeerTransport : public Transport
    {
    public:
      PeerTransport(const Communicator &ranks, const Backend &backend, const double most_seconds)
          : ranks(ranks), backend(backend), arena(std::make_shared<SharedArena>(ranks)),
            // A limit that no run lives to see has fewer nanoseconds than 64 bits count.
            patience{static_cast<std::uint64_t>(std::min(most_seconds, 1e9) * 1e9), cuda_runtime::late_rank()}
      {}

      /** Whether all devices reach each other, on all ranks the same. */
      bool open()
      {
        const std::size_t  box = aligned(std::size_t(2) * ranks.size() * PeerSum::most * 2 * sizeof(std::uint64_t));
        SharedArena::Place place{};
        ranks.together([&] { place = arena->allocate(box + alignment); });
        const auto                   all = ranks.all_gather(place);
        std::vector<std::uint64_t *> boxes;
        for (int rank = 0; rank < ranks.size(); ++rank)
          boxes.push_back(reinterpret_cast<std::uint64_t *>(arena->address(rank, all[rank])));
        const bool reaches = std::find(boxes.begin(), boxes.end(), nullptr) == boxes.end();
        if (ranks.maximum(std::int64_t(!reaches)) != 0)
          return false;
        ranks.together([&] { addresses.copy_from(backend, boxes); });
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
                                         const std::size_t               bytes) const override
      {
        return std::make_unique<Puts>(*this, destinations, sources, bytes);
      }

    private:
      /**
       * Memory of a rank for an exchange: two halves of an inbox, of each rank the flags `arrived`, which its blocks raise
       * when their things are there, and `taken`, when they have fetched this rank's, and counts.
       */
      struct Layout
      {
        std::size_t half = 0, arrived = 0, taken = 0, counts = 0, bytes = 0;

        Layout() = default;
        Layout(const std::size_t inbox, const int n_ranks)
            : half(aligned(inbox)), arrived(2 * half), taken(arrived + n_ranks * flag_bytes),
              counts(taken + n_ranks * flag_bytes), bytes(counts + 2 * n_ranks * flag_bytes)
        {}
      };

      /** What a rank tells those that it exchanges with. */
      struct Told
      {
        SharedArena::Place place;
        Layout             layout;
        std::size_t        begin;                  ///< of what comes from the other, in the inbox
        int                n_sent, n_expected = 0; ///< things that go to the other, and come from it
      };

      struct Puts : Exchange
      {
        Puts(const PeerTransport            &of,
             const std::vector<Destination> &destinations,
             const std::vector<Source>      &sources,
             const std::size_t               bytes)
            : Puts(of, bytes) // from here on memory is given back, also where another rank has none
        {
          const int    n_ranks = of.ranks.size(), own = of.ranks.rank();
          const Layout layout(sources.empty() ? 0 : sources.back().end * bytes, n_ranks);
          of.ranks.together([&] { // also of as_one(): all have come here, and
            backend.synchronize();
            place = arena->allocate(layout.bytes);
          }); // none writes any more to what it was used for before
          char *const here = arena->address(own, place);
          of.ranks.each([&] {
            indices.copy_from(backend, list_of(destinations));
            memory::set_zero(backend, here, layout.bytes);
            backend.synchronize();
          });

          std::map<int, std::vector<Told>> own_told;
          for (const Destination &destination : destinations)
            own_told[destination.rank] = {{place, layout, 0, destination.size()}};
          for (const Source &source : sources)
          {
            std::vector<Told> &to = own_told[source.rank];
            to = {{place, layout, source.begin * bytes, to.empty() ? 0 : to[0].n_sent, source.end - source.begin}};
          }
          const auto told = of.ranks.exchange(own_told); // none puts anything here before all flags are 0

          const auto flag = [](char *const base, const std::size_t offset, const int rank) {
            return reinterpret_cast<std::uint32_t *>(base + offset + rank * flag_bytes);
          };
          of.ranks.each([&] {
            for (int rank = 0; rank < n_ranks; ++rank)
            {
              const int n_expected = own_told.count(rank) > 0 ? own_told.at(rank)[0].n_expected : 0,
                        n_sent     = told.count(rank) > 0 ? told.at(rank)[0].n_sent : 0;
              require(n_sent == n_expected, "Owner ", own, " of GPUs, counted from 0, expects ", n_expected,
                      " things of owner ", rank, ", which sends ", n_sent, '.');
            }
            std::vector<PeerLink> to, from;
            const auto add = [&](std::vector<PeerLink> &list, const int rank, const int begin, const int end) {
              const Told &other = told.at(rank)[0];
              char *const there = arena->address(rank, other.place);
              const bool  puts  = &list == &to;
              require(there != nullptr, "The GPU of owner ", own, " does not reach that of owner ", rank, '.');
              const unsigned int first          = list.empty() ? 0 : list.back().first_block + list.back().n_blocks;
              const int          place_of_count = (puts ? 0 : n_ranks) + static_cast<int>(list.size());
              list.push_back({rank, begin, end, puts ? there + other.begin : here + begin * bytes,
                              puts ? other.layout.half : layout.half,
                              flag(there, puts ? other.layout.arrived : other.layout.taken, own),
                              flag(here, puts ? layout.taken : layout.arrived, rank), first,
                              kernels::peer_blocks(end - begin, bytes), flag(here, layout.counts, place_of_count)});
            };
            int begin = 0;
            for (const Destination &destination : destinations)
            {
              const int end = begin + destination.size();
              add(to, destination.rank, begin, end);
              begin = end;
            }
            for (const Source &source : sources)
              add(from, source.rank, source.begin, source.end);
            std::vector<PeerLink> both = to;
            both.insert(both.end(), from.begin(), from.end());
            links.copy_from(backend, both);
            const auto all = [](const std::vector<PeerLink> &some, const PeerLink *on_device) {
              return PeerLinks{on_device, static_cast<int>(some.size()),
                               some.empty() ? 0 : some.back().first_block + some.back().n_blocks};
            };
            puts  = all(to, links.data());
            takes = all(from, links.data() + to.size());
          });
        }
        Puts(const PeerTransport &of, const std::size_t bytes)
            : backend(of.backend), bytes(bytes), patience(of.patience), arena(of.arena), indices(backend)
        {}
        ~Puts() override
        {
          if (place.bytes > 0)
            arena->give_back(place);
        }

        void start(const void *const values) override
        {
          kernels::peer_put(Cuda{backend.stream()}, puts, bytes, indices.data(), values, patience);
        }
        void finish(void *const ghosts) override
        {
          kernels::peer_take(Cuda{backend.stream()}, takes, bytes, ghosts, patience);
        }
        void run(const void *const values, void *const ghosts) override
        {
          kernels::peer_exchange(Cuda{backend.stream()}, puts, takes, bytes, indices.data(), values, ghosts, patience);
        }
        std::size_t memory_consumption() const override { return place.bytes + memory_consumption_of(indices, links); }

        const Backend                backend;
        const std::size_t            bytes;
        const kernels::PeerPatience  patience;
        std::shared_ptr<SharedArena> arena;
        Array<int>                   indices;
        SharedArena::Place           place{};
        Array<PeerLink>              links; ///< to others, and behind them from others
        PeerLinks                    puts, takes;
      };

      const Communicator          &ranks;
      const Backend                backend;
      std::shared_ptr<SharedArena> arena;
      const kernels::PeerPatience  patience;
      Array<std::uint64_t *>       addresses;
      PeerSum                      numbers = {};
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
    ranks.together([&] { result = std::make_shared<PeerTransport>(ranks, backend, ranks.patience()); });
    if (result->open())
      return result;
    reason = "not all GPUs reach each other's memory";
    return nullptr;
  }
} // namespace PatchFEM

#endif
