// SPDX-License-Identifier: LGPL-2.1-or-later
#include <gtest/gtest.h>

#include <mpi.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

/** Runs the cases on all ranks, which only expect and never leave early: an exit status of one is that of all. */
int main(int argc, char **argv)
{
  const bool only_list = std::any_of(
      argv, argv + argc, [](const char *argument) { return std::strcmp(argument, "--gtest_list_tests") == 0; });
  testing::InitGoogleTest(&argc, argv);
  if (only_list)
    return RUN_ALL_TESTS();
  MPI_Init(&argc, &argv);
  if (std::getenv("OMP_NUM_THREADS") == nullptr) // ranks share the cores
    omp_set_num_threads(1);
  int status = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}
