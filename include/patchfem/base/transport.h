// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/communicator.h>

#include <memory>
#include <string>
#include <vector>

namespace PatchFEM
{
  class Backend;

  /** Things that a rank is sent, by their numbers here. */
  struct Destination
  {
    int              rank;
    std::vector<int> indices;
    int              n_in_order = 0; ///< in place of indices: the next ones behind those of the destination before

    int size() const { return static_cast<int>(indices.size()) + n_in_order; }
  };

  /** The ghosts [begin, end) are of a rank. */
  struct Source
  {
    int rank, begin, end;
  };

  /** The indices of @p destinations, one's behind the other's. */
  std::vector<int> list_of(const std::vector<Destination> &destinations);

  /**
   * How what ranks have on a back end gets to others: for a Partitioner, which knows what goes where. What sends, sums or
   * makes an exchange is collective: all ranks do so in the same order.
   */
  class Transport
  {
  public:
    virtual ~Transport() = default;

    /** `host` (its own memory), `mpi` (of devices, through memory of the host), or from device to device `peer` or `nccl`. */
    virtual std::string name() const = 0;

    /** Why it is `mpi` if nobody has asked for it, or "". */
    std::string reason;

    /** Whether all of it is work in stream order, so that a Graph may hold it. */
    virtual bool can_be_recorded() const { return false; }

    /** values[i], memory of the back end, becomes its sum over all ranks, added in their order; @p n at most 2. */
    virtual void sum(double *values, int n) const = 0;

    /** An exchange over the same lists again and again, in stream order; start() and finish() take turns. */
    class Exchange
    {
    public:
      virtual ~Exchange() = default;

      virtual void start(const void *values) = 0; ///< of things; none that is sent may change before finish()
      virtual void progress() {}                  ///< see Communicator::Channel
      virtual void finish(void *ghosts) = 0;

      /** Both at once. */
      virtual void run(const void *const values, void *const ghosts)
      {
        start(values);
        finish(ghosts);
      }

      virtual std::size_t memory_consumption() const = 0;
    };

    /**
     * Of things of @p bytes each, a multiple of 4. Either all @p destinations have indices, which are @p indices on the
     * back end as list_of() gives them, or none has and that is null. The lists outlive it.
     */
    virtual std::unique_ptr<Exchange> exchange(const std::vector<Destination> &destinations,
                                               const std::vector<Source>      &sources,
                                               const int                      *indices,
                                               std::size_t                     bytes) const = 0;
  };

  /**
   * That of @p ranks on @p backend, collective when it is first asked for: `host`, or on the back end cuda `peer` on one
   * machine whose devices reach each other, `nccl` on several if all have it, and else `mpi`, as where ranks have the same
   * device. The environment variable PATCHFEM_TRANSPORT may be one of these three: an Error where there is no such one. A
   * device that waits for another one longer than Communicator::patience() fails, and what the host does next is an Error.
   */
  std::shared_ptr<const Transport> transport_of(const Communicator &ranks, const Backend &backend);
} // namespace PatchFEM
