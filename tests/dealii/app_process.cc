// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/process.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <stdexcept>
#include <thread>

using namespace PatchFEM;

TEST(AppProcess, ThreadWithoutMemoryEndsInASentence)
{
  const auto run = [](const auto &work) {
    prepare_process("program");
    std::thread(work).join();
  };
  EXPECT_EXIT(run([] { throw std::bad_alloc(); }), testing::ExitedWithCode(1),
              "^program: There is not enough memory for this problem; use fewer cells or unknowns.\n$");
  EXPECT_EXIT(run([] { throw std::runtime_error("no luck"); }), testing::ExitedWithCode(1),
              "^program: Something went wrong inside a library: no luck\n$");
}

TEST(AppProcess, WritesNothingIntoFilesInPlaceOfAClosedOutput)
{
  const auto run = [] {
    close(STDOUT_FILENO);
    prepare_process("program");
    const bool taken = open("/dev/null", O_WRONLY) == STDOUT_FILENO, written = write(STDOUT_FILENO, "x", 1) == 1;
    std::_Exit(taken || written ? 1 : 7);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(7), "");
}
