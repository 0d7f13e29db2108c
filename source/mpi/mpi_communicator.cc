// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/mpi/mpi_communicator.h>

#include <climits>
#include <numeric>

namespace PatchFEM
{
  namespace
  {
    constexpr int tag_of_exchange = 0, last_tag = 32767; // MPI promises tags to 32767

    /** The largest piece of a message; longer ones are refused by MPI, which counts in int. */
    int checked(const std::size_t bytes)
    {
      require(bytes <= std::size_t(INT_MAX), "A message of ", bytes,
              " bytes between two ranks is more than MPI counts: use more ranks.");
      return static_cast<int>(bytes);
    }

    class MPIChannel : public Communicator::Channel
    {
    public:
      ~MPIChannel() override
      {
        int finalized = 0;
        MPI_Finalized(&finalized);
        for (MPI_Request &request : requests)
          if (finalized == 0)
            MPI_Request_free(&request);
      }

      void start() override
      {
        if (!requests.empty()) // which MPI_Startall does not take
          MPI_Startall(static_cast<int>(requests.size()), requests.data());
      }
      void progress() override
      {
        int all_done = 0;
        MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all_done, MPI_STATUSES_IGNORE);
      }
      void finish() override { MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE); }

      std::vector<MPI_Request> requests;
    };
  } // namespace

  MPICommunicator::MPICommunicator(const MPI_Comm communicator)
  {
    MPI_Comm_dup(communicator, &ranks);
    MPI_Comm_rank(ranks, &own_rank);
    MPI_Comm_size(ranks, &n_ranks);
  }

  MPICommunicator::~MPICommunicator()
  {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0)
      MPI_Comm_free(&ranks);
  }

  void MPICommunicator::sum(double *const values, const int n) const
  {
    // MPI_Allreduce may add in any order; a few numbers of all ranks travel as fast.
    std::vector<double> all(std::size_t(n) * n_ranks);
    MPI_Allgather(values, n, MPI_DOUBLE, all.data(), n, MPI_DOUBLE, ranks);
    for (int i = 0; i < n; ++i)
    {
      values[i] = 0.;
      for (int rank = 0; rank < n_ranks; ++rank)
        values[i] += all[std::size_t(rank) * n + i];
    }
  }

  void MPICommunicator::sum(std::int64_t *const values, const int n) const
  {
    MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INT64_T, MPI_SUM, ranks);
  }

  void MPICommunicator::maximum(std::int64_t *const values, const int n) const
  {
    MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INT64_T, MPI_MAX, ranks);
  }

  std::vector<Communicator::Bytes> MPICommunicator::all_gather(const Bytes &bytes) const
  {
    const int        size = checked(bytes.size());
    std::vector<int> sizes(n_ranks), offsets(n_ranks + 1, 0);
    MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, ranks);
    checked(std::accumulate(sizes.begin(), sizes.end(), std::size_t(0)));
    std::partial_sum(sizes.begin(), sizes.end(), offsets.begin() + 1);
    Bytes all(offsets.back());
    MPI_Allgatherv(bytes.data(), size, MPI_CHAR, all.data(), sizes.data(), offsets.data(), MPI_CHAR, ranks);
    std::vector<Bytes> result;
    for (int rank = 0; rank < n_ranks; ++rank)
      result.emplace_back(all.begin() + offsets[rank], all.begin() + offsets[rank + 1]);
    return result;
  }

  std::map<int, Communicator::Bytes> MPICommunicator::exchange(const std::map<int, Bytes> &messages) const
  {
    // Who sends here: each rank marks those that it sends to, and every one gets the sum of its marks.
    std::vector<int> marks(n_ranks, 0);
    for (const auto &[rank, bytes] : messages)
      marks[rank] = 1;
    int n_incoming = 0;
    MPI_Reduce_scatter_block(marks.data(), &n_incoming, 1, MPI_INT, MPI_SUM, ranks);
    std::vector<MPI_Request> requests;
    for (const auto &[rank, bytes] : messages)
      MPI_Isend(bytes.data(), checked(bytes.size()), MPI_CHAR, rank, tag_of_exchange, ranks, &requests.emplace_back());
    std::map<int, Bytes> result;
    for (int i = 0; i < n_incoming; ++i)
    {
      MPI_Message message;
      MPI_Status  status;
      int         size = 0;
      MPI_Mprobe(MPI_ANY_SOURCE, tag_of_exchange, ranks, &message, &status);
      MPI_Get_count(&status, MPI_CHAR, &size);
      Bytes &bytes = result[status.MPI_SOURCE];
      bytes.resize(size);
      MPI_Mrecv(bytes.data(), size, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    // One that is done here may begin the next exchange while another still looks for messages of this one.
    MPI_Barrier(ranks);
    return result;
  }

  std::unique_ptr<Communicator::Channel> MPICommunicator::channel(const std::vector<Link> &sends,
                                                                  const std::vector<Link> &receives) const
  {
    auto      result = std::make_unique<MPIChannel>();
    const int tag    = next_tag;
    next_tag         = next_tag == last_tag ? 1 : next_tag + 1;
    for (const Link &link : receives)
      MPI_Recv_init(link.data, checked(link.bytes), MPI_CHAR, link.rank, tag, ranks, &result->requests.emplace_back());
    for (const Link &link : sends)
      MPI_Send_init(link.data, checked(link.bytes), MPI_CHAR, link.rank, tag, ranks, &result->requests.emplace_back());
    return result;
  }
} // namespace PatchFEM
