// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/communicator.h>

#include <mpi.h>

namespace PatchFEM
{
  /** Ranks by MPI, which must have begun and outlive this. Requests of channels are persistent. */
  class MPICommunicator : public Communicator
  {
  public:
    /** Collective: works on a duplicate of @p communicator, so that messages of others are never mistaken for its own. */
    explicit MPICommunicator(MPI_Comm communicator);
    ~MPICommunicator() override;
    MPICommunicator(const MPICommunicator &)            = delete;
    MPICommunicator &operator=(const MPICommunicator &) = delete;

    using Communicator::all_gather, Communicator::exchange, Communicator::sum, Communicator::maximum;

    int                      rank() const override { return own_rank; }
    int                      size() const override { return n_ranks; }
    void                     sum(double *values, int n) const override;
    void                     sum(std::int64_t *values, int n) const override;
    void                     maximum(std::int64_t *values, int n) const override;
    std::vector<Bytes>       all_gather(const Bytes &bytes) const override;
    std::map<int, Bytes>     exchange(const std::map<int, Bytes> &messages) const override;
    std::unique_ptr<Channel> channel(const std::vector<Link> &sends, const std::vector<Link> &receives) const override;

    MPI_Comm mpi() const { return ranks; }

  private:
    MPI_Comm    ranks;
    int         own_rank, n_ranks;
    mutable int next_tag = 1; ///< of channels, which may be open side by side; the same on all ranks
  };
} // namespace PatchFEM
