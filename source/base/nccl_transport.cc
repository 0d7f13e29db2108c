// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_transports.h"
#include "nccl_library.h"

#ifdef PATCHFEM_WITH_CUDA

#include <patchfem/base/array.h>
#include <patchfem/base/side_stream.h>
#include <patchfem/kernels/peer.h>
#include <patchfem/kernels/runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    using Library = std::shared_ptr<const NcclLibrary>;

    /**
     * A communicator of NCCL. None of its functions blocks, so that a rank that does not come is an Error. Its work waits on
     * the device, where only an abort ends it: the host looks at the time while it waits for the device. Objects are never
     * destroyed, as NCCL waits for the graphs that have its work, which may outlive everything.
     */
    class NcclRanks
    {
    public:
      NcclRanks(Library library, const double patience) : nccl(std::move(library)), patience(patience)
      {
        all().push_back(this);
        cuda_runtime::while_waiting([](const double seconds) {
          for (NcclRanks *ranks : all())
            ranks->look(seconds);
        });
      }

      void join(const int n_ranks, const NcclLibrary::UniqueId &id, const int rank)
      {
        NcclLibrary::Config config;
        complete(nccl->comm_init_rank_config(&comm, n_ranks, id, rank, &config));
      }

      /** Gives the device what @p calls ask for, all at once. */
      template <typename Calls>
      void group(const Calls &calls)
      {
        if (!failure.empty())
          throw Error(failure);
        check(nccl->group_start());
        std::exception_ptr thrown;
        try
        {
          calls(*nccl, comm);
        }
        catch (...) // groups are of the thread: one that is left open would take in those of other communicators
        {
          thrown = std::current_exception();
        }
        const NcclLibrary::Result status = nccl->group_end();
        if (thrown)
          std::rethrow_exception(thrown);
        complete(status);
      }

      void check(const NcclLibrary::Result status)
      {
        if (status != NcclLibrary::success && status != NcclLibrary::in_progress)
          fail(text_of("NCCL, by which GPUs exchange, says: ", nccl->get_error_string(status), '.'));
      }

      /** From another thread, since it returns when no graph has work of this any more; that on the device ends at once. */
      void abort()
      {
        static auto *const running = new std::vector<std::future<void>>;
        if (comm == nullptr)
          return;
        if (running->empty()) // what the library has goes when the process ends
          std::atexit([] {
            for (const std::future<void> &one : *running)
              one.wait_for(std::chrono::seconds(1));
          });
        running->push_back(std::async(std::launch::async, [library = nccl, aborted = std::exchange(comm, nullptr)] {
          library->comm_abort(aborted);
        }));
      }

    private:
      static std::vector<NcclRanks *> &all()
      {
        static auto *const list = new std::vector<NcclRanks *>;
        return *list;
      }

      /** Until @p status, what the last function has returned, is no longer that its work is in progress. */
      void complete(NcclLibrary::Result status)
      {
        using Clock      = std::chrono::steady_clock;
        const auto begin = Clock::now();
        while (status == NcclLibrary::in_progress)
        {
          std::this_thread::yield();
          check(nccl->comm_get_async_error(comm, &status));
          require_time(std::chrono::duration<double>(Clock::now() - begin).count());
        }
        check(status);
      }

      void look(const double seconds)
      {
        if (comm == nullptr)
          return;
        NcclLibrary::Result status = NcclLibrary::success;
        check(nccl->comm_get_async_error(comm, &status));
        check(status);
        require_time(seconds);
      }

      void require_time(const double seconds)
      {
        if (seconds > patience)
          fail(text_of("Other owners of GPUs were waited for by NCCL for more than ", patience,
                       " s, which PATCHFEM_TIMEOUT can change."));
      }

      [[noreturn]] void fail(const std::string &sentence)
      {
        failure = sentence;
        abort();
        throw Error(failure);
      }

      const Library     nccl;
      const double      patience;
      NcclLibrary::Comm comm = nullptr;
      std::string       failure;
    };

    class NcclTransport : public TransportByMessages
    {
    public:
      NcclTransport(const Communicator &ranks, const Backend &backend, NcclRanks &nccl)
          : TransportByMessages(ranks, backend), nccl(nccl), side(backend, true),
            parts(backend, std::size_t(ranks.size()) * kernels::PeerSum::most)
      {}

      std::string name() const override { return "nccl"; }
      bool        can_be_recorded() const override { return true; }

      /** ncclAllReduce() adds in an order that depends on its version, on the network and on the number of ranks. */
      void sum(double *const values, const int n) const override
      {
        const Cuda where{backend.stream()};
        nccl.group([&](const NcclLibrary &library, const NcclLibrary::Comm comm) {
          nccl.check(
              library.all_gather(values, parts.data(), n * sizeof(double), NcclLibrary::bytes, comm, where.stream));
        });
        kernels::sum_of_ranks(where, ranks.size(), n, parts.data(), values);
      }

    private:
      struct Messages : Exchange, Traffic
      {
        Messages(const NcclTransport &of, const Traffic &traffic)
            : Traffic(traffic), of(of), sent(of.backend, indices != nullptr ? n_things(destinations) * bytes : 0),
              received(of.backend)
        {}

        /** Messages travel beside what the back end is given until finish(), which alone knows where ghosts are. */
        void start(const void *const values) override
        {
          const char *const packed = pack(values);
          received.reinit(of.backend, sources.empty() ? 0 : sources.back().end * bytes);
          branch.emplace(of.side);
          branch->launch([&](auto where) {
            if constexpr (std::is_same_v<decltype(where), Cuda>)
              travel(where, packed, received.data());
          });
        }
        void finish(void *const ghosts) override
        {
          branch->join();
          branch.reset();
          if (received.size() > 0)
            memory::copy(of.backend, ghosts, of.backend, received.data(), received.size());
        }
        void run(const void *const values, void *const ghosts) override
        {
          travel(Cuda{of.backend.stream()}, pack(values), static_cast<char *>(ghosts));
        }
        std::size_t memory_consumption() const override { return memory_consumption_of(sent, received); }

        /** What travels; things in order do so from where they are. */
        const char *pack(const void *const values)
        {
          if (indices == nullptr)
            return static_cast<const char *>(values);
          kernels::gather_things(Cuda{of.backend.stream()}, static_cast<std::int64_t>(sent.size() / bytes), bytes,
                                 indices, values, sent.data());
          return sent.data();
        }

        void travel(const Cuda where, const char *next, char *const ghosts)
        {
          of.nccl.group([&](const NcclLibrary &library, const NcclLibrary::Comm comm) {
            for (const Destination &destination : destinations)
            {
              const std::size_t n = destination.size() * bytes;
              of.nccl.check(library.send(next, n, NcclLibrary::bytes, destination.rank, comm, where.stream));
              next += n;
            }
            for (const Source &source : sources)
              of.nccl.check(library.receive(ghosts + source.begin * bytes, (source.end - source.begin) * bytes,
                                            NcclLibrary::bytes, source.rank, comm, where.stream));
          });
        }

        const NcclTransport              &of;
        Array<char>                       sent, received;
        std::optional<SideStream::Branch> branch;
      };

      std::unique_ptr<Exchange> messages(const Traffic &traffic) const override
      {
        return std::make_unique<Messages>(*this, traffic);
      }

      NcclRanks            &nccl;
      const SideStream      side;
      mutable Array<double> parts; ///< of a sum, by rank
    };
  } // namespace

  std::shared_ptr<const Transport>
  nccl_transport(const Communicator &ranks, const Backend &backend, std::string &reason)
  {
    // Collective: whether @p trouble is empty on all ranks; else the first one's is the reason.
    const auto all_well = [&](const std::string &trouble) {
      const auto all = ranks.all_gather(Communicator::Bytes(trouble.begin(), trouble.end()));
      for (int rank = 0; rank < ranks.size() && reason.empty(); ++rank)
        if (!all[rank].empty())
          reason = text_of("NCCL does not work for owner ", rank,
                           " of GPUs, counted from 0: ", std::string(all[rank].begin(), all[rank].end()));
      return reason.empty();
    };
    std::string   trouble;
    const Library library = NcclLibrary::find("libnccl.so.2", trouble);
    if (!all_well(trouble))
      return nullptr;
    const std::vector<int> versions = ranks.all_gather(int(library->version));
    if (std::count(versions.begin(), versions.end(), versions[0]) < ranks.size())
    {
      reason = "owners of GPUs have different versions of NCCL";
      return nullptr;
    }
    auto      &nccl    = *new NcclRanks(library, ranks.patience());
    const auto attempt = [&](const auto &function) {
      try
      {
        backend.stream(); // makes its device the current one
        function();
      }
      catch (const Error &error)
      {
        trouble = error.what();
        trouble.erase(trouble.find_last_not_of('.') + 1);
      }
      const bool result = all_well(trouble);
      if (!result)
        nccl.abort();
      return result;
    };
    NcclLibrary::UniqueId id{};
    if (!attempt([&] {
          if (ranks.rank() == 0)
            nccl.check(library->get_unique_id(&id));
        }))
      return nullptr;
    id = ranks.all_gather(id)[0];
    if (!attempt([&] { nccl.join(ranks.size(), id, ranks.rank()); }))
      return nullptr;
    std::shared_ptr<NcclTransport> result;
    ranks.agree_on_errors([&] { result = std::make_shared<NcclTransport>(ranks, backend, nccl); });
    return result;
  }
} // namespace PatchFEM

#endif
