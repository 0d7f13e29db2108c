// SPDX-License-Identifier: LGPL-2.1-or-later
#include <deal.II/base/mpi.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

/**
 * Runs the cases under MPI. The exit status is the worst of all processes; listing the cases, which the build does,
 * starts no MPI.
 */
int main(int argc, char **argv)
{
  const bool only_list = std::any_of(
      argv, argv + argc, [](const char *argument) { return std::strcmp(argument, "--gtest_list_tests") == 0; });
  testing::InitGoogleTest(&argc, argv);
  if (only_list)
    return RUN_ALL_TESTS();

  const dealii::Utilities::MPI::MPI_InitFinalize mpi(argc, argv);

  const int status = RUN_ALL_TESTS();
  return dealii::Utilities::MPI::max(status, MPI_COMM_WORLD);
}
