// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/transport.h>

/**
 * @file
 * Transports between devices that do not pass through memory of the host. What makes one is collective and gives null where
 * @p reason says what speaks against it, on all ranks the same.
 */
namespace PatchFEM
{
  /** The arguments of Transport::exchange(). */
  struct Traffic
  {
    const std::vector<Destination> &destinations;
    const std::vector<Source>      &sources;
    const int                      *indices;
    std::size_t                     bytes;
  };

  /** A transport whose exchanges a rank makes without waiting for others. */
  class TransportByMessages : public Transport
  {
  public:
    TransportByMessages(const Communicator &ranks, const Backend &backend) : ranks(ranks), backend(backend) {}

    std::unique_ptr<Exchange> exchange(const std::vector<Destination> &destinations,
                                       const std::vector<Source>      &sources,
                                       const int *const                indices,
                                       const std::size_t               bytes) const override
    {
      std::unique_ptr<Exchange> result; // who finds no memory, or too long a message, tells the others
      ranks.poll_errors();              // channels are counted
      ranks.defer_errors([&] { result = messages({destinations, sources, indices, bytes}); });
      return result;
    }

  protected:
    /** The rank's own part of exchange(). */
    virtual std::unique_ptr<Exchange> messages(const Traffic &traffic) const = 0;

    const Communicator &ranks;
    const Backend       backend;
  };

  /** How many go to all. */
  std::size_t n_things(const std::vector<Destination> &destinations);

  /** Of ranks of one machine. */
  std::shared_ptr<const Transport>
  peer_transport(const Communicator &ranks, const Backend &backend, std::string &reason);

  /** Of ranks with different devices. */
  std::shared_ptr<const Transport>
  nccl_transport(const Communicator &ranks, const Backend &backend, std::string &reason);
} // namespace PatchFEM
