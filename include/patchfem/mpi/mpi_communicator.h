// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/communicator.h>

#include <mpi.h>

namespace PatchFEM
{
  /**
   * Ranks by MPI, which must have begun and outlive this. Requests of channels are persistent.
   *
   * A rank that waits longer than 30 minutes, or the seconds of the environment variable PATCHFEM_TIMEOUT, calls the
   * roll: all that wait answer, one of them names those that do not, and the job is aborted.
   */
  class MPICommunicator : public Communicator
  {
  public:
    /** Collective: works on a duplicate of @p communicator, so that messages of others are never mistaken for its own. */
    explicit MPICommunicator(MPI_Comm communicator);

    /**
     * The one of @p communicator, made where it has none yet, which is collective. Duplicates that are made later have
     * the same, such as deal.II's in each parallel triangulation: what a run does is all on one, so that ranks use
     * whatever is made of the duplicates in the same order, by one thread. It lives until the last of them is freed,
     * or longer with those who hold it.
     */
    static std::shared_ptr<const MPICommunicator> of(MPI_Comm communicator);

    ~MPICommunicator() override;
    MPICommunicator(const MPICommunicator &)            = delete;
    MPICommunicator &operator=(const MPICommunicator &) = delete;

    using Communicator::all_gather, Communicator::exchange, Communicator::sum, Communicator::maximum;

    int                      rank() const override { return own_rank; }
    int                      size() const override { return n_ranks; }
    int                      machine() const override;
    double                   patience() const override { return most_seconds; }
    void                     sum(double *values, int n) const override;
    void                     sum(std::int64_t *values, int n) const override;
    void                     maximum(std::int64_t *values, int n) const override;
    std::vector<Bytes>       all_gather(const Bytes &bytes) const override;
    std::map<int, Bytes>     exchange(const std::map<int, Bytes> &messages) const override;
    std::unique_ptr<Channel> channel(const std::vector<Link> &sends, const std::vector<Link> &receives) const override;

    /** Collective: returns when all have come. */
    void barrier() const;

    /**
     * Sends rank 0's @p data to all. The others sleep until it comes, however long it takes, and leave their cores to rank
     * 0, which waits for them only where MPI has no room for @p bytes on the way.
     */
    void broadcast(void *data, std::size_t bytes) const;

    MPI_Comm mpi() const { return ranks; }

  private:
    class WaitingChannel;

    /** @p all becomes the @p bytes bytes of each rank. */
    void gather(const void *own, std::size_t bytes, char *all) const;

    struct Word;

    /** Gathers the words of all ranks; the own one is of @p size bytes. All collective functions begin with it. */
    std::vector<Word> words(const void *own, std::int64_t size) const;

    /** words(), or an exception where a rank has one. */
    std::vector<Word> settled_words(const void *own, std::size_t size) const;

    bool any(bool one) const override;

    template <typename T, typename Operation>
    void reduce(T *values, int n, T first, const Operation &operation) const;

    /** Waits until @p done, which lets MPI go on; @p asleep in between, and without a limit of time. */
    template <typename Done>
    void wait_until(const Done &done, bool asleep = false) const;
    void wait(int n, MPI_Request *requests) const;

    /** The open ones of the same ranks, the oldest first: if this is being made, those who are late may have but that. */
    std::vector<const MPICommunicator *> alike() const;

    bool              roll_is_called() const;
    [[noreturn]] void call_roll() const;

    MPI_Comm             ranks; ///< the duplicate; until it is there that which it is made of
    int                  own_rank, n_ranks;
    mutable int          next_tag;              ///< of channels, which may be open side by side; the same on all ranks
    double               most_seconds;          ///< to wait
    mutable std::int64_t n_begun          = 0;  ///< collective operations
    mutable int          first_of_machine = -1; ///< or not known yet

    static inline std::vector<const MPICommunicator *> all_open; ///< a rank that waits in one answers in all
  };
} // namespace PatchFEM
