// SPDX-License-Identifier: LGPL-2.1-or-later
#include "device_transports.h"

#include <patchfem/base/array.h>
#include <patchfem/base/quote.h>
#include <patchfem/base/transport.h>
#include <patchfem/kernels/peer.h>
#include <patchfem/kernels/runtime.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <set>

namespace PatchFEM
{
  std::size_t n_things(const std::vector<Destination> &destinations)
  {
    std::size_t n = 0;
    for (const Destination &destination : destinations)
      n += destination.size();
    return n;
  }

  namespace
  {
    std::size_t n_things(const std::vector<Source> &sources)
    {
      return sources.empty() ? 0 : sources.back().end;
    }

    /** The links of messages that lie one behind the other. */
    std::unique_ptr<Communicator::Channel>
    channel(const Communicator &ranks, const Traffic &traffic, char *sent, char *received)
    {
      const std::size_t               bytes = traffic.bytes;
      std::vector<Communicator::Link> sends, receives;
      for (const Destination &destination : traffic.destinations)
      {
        sends.push_back({destination.rank, sent, destination.size() * bytes});
        sent += sends.back().bytes;
      }
      for (const Source &source : traffic.sources)
        receives.push_back({source.rank, received + source.begin * bytes, (source.end - source.begin) * bytes});
      return ranks.channel(sends, receives);
    }

    /** What @p make returns. Channels have numbers, which others count on where it fails before it has one. */
    template <typename Make>
    std::unique_ptr<Transport::Exchange> with_channel(const Communicator &ranks, const Make &make)
    {
      try
      {
        return make();
      }
      catch (...)
      {
        ranks.channel({}, {});
        throw;
      }
    }

    /** Of memory that the host follows. */
    class HostTransport : public TransportByMessages
    {
    public:
      using TransportByMessages::TransportByMessages;

      std::string name() const override { return "host"; }
      void        sum(double *const values, const int n) const override
      {
        const KernelScope scope(backend);
        ranks.sum(values, n);
      }

    private:
      struct Messages : Exchange
      {
        Messages(const HostTransport &of, const Traffic &traffic)
            : backend(of.backend), destinations(traffic.destinations), bytes(traffic.bytes),
              sent(n_things(destinations) * bytes), received(n_things(traffic.sources) * bytes),
              channel(PatchFEM::channel(of.ranks, traffic, sent.data(), received.data()))
        {}

        void start(const void *const values) override
        {
          launch(backend, [&](auto) {
            char *to_send  = sent.data();
            auto  in_order = static_cast<const char *>(values);
            for (const Destination &destination : destinations)
            {
              for (const int i : destination.indices)
              {
                std::memcpy(to_send, static_cast<const char *>(values) + i * bytes, bytes);
                to_send += bytes;
              }
              const std::size_t size = destination.n_in_order * bytes;
              to_send                = std::copy_n(in_order, size, to_send);
              in_order += size;
            }
          });
          channel->start();
        }
        void progress() override { channel->progress(); }
        void finish(void *const ghosts) override
        {
          channel->finish();
          if (!received.empty())
            memory::copy(backend, ghosts, Backend(), received.data(), received.size());
        }
        std::size_t memory_consumption() const override { return sent.size() + received.size(); }

        const Backend                          backend;
        const std::vector<Destination>        &destinations;
        const std::size_t                      bytes;
        std::vector<char>                      sent, received;
        std::unique_ptr<Communicator::Channel> channel;
      };

      std::unique_ptr<Exchange> messages(const Traffic &traffic) const override
      {
        return with_channel(ranks, [&] { return std::make_unique<Messages>(*this, traffic); });
      }
    };

#ifdef PATCHFEM_WITH_CUDA
    /** Memory of the host that a device fills and empties. */
    struct Pinned
    {
      Pinned(const Backend &backend, const std::size_t size)
          : backend(backend), size(size),
            data(static_cast<char *>(size > 0 ? cuda_runtime::allocate_pinned(size) : nullptr))
      {}
      ~Pinned()
      {
        if (data == nullptr)
          return;
        try
        {
          backend.synchronize(); // copies may still read it
        }
        catch (...)
        {}
        cuda_runtime::deallocate_pinned(data);
      }
      Pinned(const Pinned &)            = delete;
      Pinned &operator=(const Pinned &) = delete;

      const Backend     backend;
      const std::size_t size;
      char *const       data;
    };

    /** Of devices: a kernel leaves what is sent in memory of the host, and MPI takes it on when it has run. */
    class StagedTransport : public TransportByMessages
    {
    public:
      StagedTransport(const Communicator &ranks, const Backend &backend)
          : TransportByMessages(ranks, backend), numbers(backend, 2 * sizeof(double))
      {}

      std::string name() const override { return "mpi"; }
      void        sum(double *const values, const int n) const override
      {
        void *const stream = backend.stream();
        cuda_runtime::copy(numbers.data, values, n * sizeof(double), stream);
        cuda_runtime::synchronize(stream);
        ranks.sum(reinterpret_cast<double *>(numbers.data), n);
        cuda_runtime::copy(values, numbers.data, n * sizeof(double), stream);
      }

    private:
      struct Messages : Exchange
      {
        Messages(const StagedTransport &of, const Traffic &traffic)
            : backend(of.backend), bytes(traffic.bytes), indices(traffic.indices),
              n_sent(n_things(traffic.destinations)), sent(backend, n_sent * bytes),
              received(backend, n_things(traffic.sources) * bytes),
              channel(PatchFEM::channel(of.ranks, traffic, sent.data, received.data))
        {}

        void start(const void *const values) override
        {
          void *const stream = backend.stream();
          kernels::gather_things(Cuda{stream}, n_sent, bytes, indices, values, sent.data);
          cuda_runtime::synchronize(stream); // what was received before has been fetched then, too
          channel->start();
        }
        void progress() override { channel->progress(); }
        void finish(void *const ghosts) override
        {
          channel->finish();
          if (received.size > 0)
            cuda_runtime::copy(ghosts, received.data, received.size, backend.stream());
        }
        std::size_t memory_consumption() const override { return 0; } // of the device

        const Backend                          backend;
        const std::size_t                      bytes;
        const int *const                       indices;
        const std::size_t                      n_sent;
        Pinned                                 sent, received;
        std::unique_ptr<Communicator::Channel> channel;
      };

      std::unique_ptr<Exchange> messages(const Traffic &traffic) const override
      {
        return with_channel(ranks, [&] { return std::make_unique<Messages>(*this, traffic); });
      }

      Pinned numbers;
    };
#endif
  } // namespace

  std::vector<int> list_of(const std::vector<Destination> &destinations)
  {
    std::vector<int> result;
    for (const Destination &destination : destinations)
      result.insert(result.end(), destination.indices.begin(), destination.indices.end());
    require(result.empty() || result.size() == n_things(destinations), "Only some destinations have indices.");
    return result;
  }

#ifdef PATCHFEM_WITH_CUDA
  namespace
  {
    /** Whether two ranks have the same one. */
    bool share_a_device(const Communicator &ranks, const Backend &backend)
    {
      std::string device;
      ranks.agree_on_errors([&] {
        backend.stream(); // makes its device the current one
        device = cuda_runtime::device_uuid(cuda_runtime::current_device());
      });
      std::set<Communicator::Bytes> different;
      for (const Communicator::Bytes &uuid : ranks.all_gather(Communicator::Bytes(device.begin(), device.end())))
        different.insert(uuid);
      return static_cast<int>(different.size()) < ranks.size();
    }

    std::shared_ptr<const Transport> of_devices(const Communicator &ranks, const Backend &backend)
    {
      const char *const wanted = std::getenv("PATCHFEM_TRANSPORT");
      const std::string name   = wanted == nullptr ? "" : wanted;
      ranks.agree_on_errors([&] {
        require(wanted == nullptr || name == "mpi" || name == "peer" || name == "nccl",
                "The environment variable PATCHFEM_TRANSPORT is ", quote(name), "; it must be mpi, peer or nccl.");
      });
      for (const Communicator::Bytes &other : ranks.all_gather(Communicator::Bytes(name.begin(), name.end())))
        require(name == std::string(other.begin(), other.end()),
                "The environment variable PATCHFEM_TRANSPORT has different values on different ranks.");

      const bool        one_machine = ranks.maximum(std::int64_t(ranks.machine())) == 0; // the first rank of each
      const bool        by_peer = name.empty() ? one_machine : name == "peer", shared = share_a_device(ranks, backend);
      const std::string have_one = "ranks have the same GPU, which backend_of_ranks() would let one of them own";
      if (shared && name.empty() && ranks.rank() == 0)
        std::cerr << "PatchFEM: Slower than need be: " << have_one << ".\n";
      std::string reason;
      if (name != "mpi")
      {
        if (by_peer && !one_machine)
          reason = "GPUs are on several machines";
        else if (shared && name != "peer")
          reason = have_one;
        else if (auto result = (by_peer ? peer_transport : nccl_transport)(ranks, backend, reason))
          return result;
      }
      require(name.empty() || name == "mpi", "The transport ", name, " was asked for, but ", reason, '.');
      std::shared_ptr<StagedTransport> result;
      ranks.agree_on_errors([&] { result = std::make_shared<StagedTransport>(ranks, backend); });
      result->reason = reason;
      return result;
    }
  } // namespace
#endif

  std::shared_ptr<const Transport> transport_of(const Communicator &ranks, const Backend &backend)
  {
#ifdef PATCHFEM_WITH_CUDA
    if (backend.kind() == BackendKind::cuda)
    {
      if (ranks.device_transport == nullptr)
        ranks.device_transport = of_devices(ranks, backend);
      return ranks.device_transport;
    }
#endif
    return std::make_shared<const HostTransport>(ranks, backend);
  }
} // namespace PatchFEM
