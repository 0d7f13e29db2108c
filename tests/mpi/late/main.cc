// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/vector.h>
#include <patchfem/mpi/mpi_communicator.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <chrono>
#include <iostream>
#include <string>
#include <thread>

using namespace PatchFEM;

/** Its device does not come to an exchange of two. */
void wait_for_device()
{
  const Backend backend = backend_of_ranks("cuda", MPI_COMM_WORLD);
  const auto    owners  = backend.group()->owners();
  const int     other   = 1 - owners->rank();
  using Ghosts          = std::vector<Partitioner::Ghost>;
  Vector<double> x;
  x.reinit(backend, std::make_shared<const Partitioner>(owners, 1, Ghosts{{other, 0}}), 1);
  x.update_ghosts();
  if (owners->rank() == 1)
    std::this_thread::sleep_for(std::chrono::seconds(20));
  x.update_ghosts();
  backend.synchronize();
}

/** Rank 1 never comes to what the first argument names, and the last one comes when others have waited for a while. */
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  if (argv[1] == std::string("device"))
  {
    if (Backend::cuda_devices().size() < 2)
      std::cout << "fewer than two CUDA devices\n";
    else
      try
      {
        wait_for_device();
      }
      catch (const Error &error)
      {
        std::cerr << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
  }
  else
  {
    const MPICommunicator ranks(MPI_COMM_WORLD), others(MPI_COMM_WORLD);
    const int             n = ranks.size(), next = (ranks.rank() + 1) % n, before = (ranks.rank() + n - 1) % n;
    char                  sent = 0, received = 0;
    const auto            channel = ranks.channel({{next, &sent, 1}}, {{before, &received, 1}});
    const std::string     what    = argv[1];
    if (ranks.rank() == 1)
      std::this_thread::sleep_for(std::chrono::seconds(60));
    else if (ranks.rank() == n - 1)
      std::this_thread::sleep_for(std::chrono::milliseconds(700));
    if (what == "sum")
    {
      double value = 1.;
      ranks.sum(&value, 1);
    }
    else if (what == "maximum")
      ranks.maximum(std::int64_t(1));
    else if (what == "gather")
      ranks.all_gather(Communicator::Bytes(ranks.rank()));
    else if (what == "exchange")
      ranks.exchange({{next, Communicator::Bytes(1)}});
    else if (what == "two_communicators")
      (ranks.rank() == 0 ? ranks : others).maximum(std::int64_t(1));
    else if (what == "barrier")
      ranks.barrier();
    else if (what == "beginning" || (what == "beginning_beside" && ranks.rank() > 0) ||
             (what == "beginning_first" && ranks.rank() == 0))
      MPICommunicator(MPI_COMM_WORLD).barrier();
    else if (what == "beginning_beside" || what == "beginning_first")
      ranks.barrier();
    else if (what == "channel")
    {
      channel->start();
      channel->finish();
      ranks.maximum(std::int64_t(1)); // where those wait that no message of rank 1 concerns
    }
  }
  MPI_Finalize();
  return 0;
}
