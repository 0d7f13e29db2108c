// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/process.h>
#include <patchfem/base/host_memory.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <new>
#include <regex>
#include <stdexcept>
#include <string>
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

TEST(AppProcess, BeginsWhereThereIsMemoryForIt)
{
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  if (!has_memory_to_begin())
    GTEST_SKIP() << "there is too little memory";
  const rlimit few = {std::stoull(system_entry("/proc/self/status", "VmSize")) * 1024 + (128 << 20), old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &few), 0);
  const bool enough = has_memory_to_begin();
  setrlimit(RLIMIT_AS, &old);
  EXPECT_FALSE(enough);
}

TEST(AppProcess, SignalsOfWritingAreErrors)
{
  const auto run = [] {
    make_signals_errors();
    int ends[2];
    if (pipe(ends) != 0 || close(ends[0]) != 0)
      std::_Exit(1);
    std::_Exit(write(ends[1], "x", 1) == -1 ? 7 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(7), "");
}

namespace
{
  /** All ranks, as if two were on each machine. */
  class Pairs : public MPICommunicator
  {
  public:
    using MPICommunicator::MPICommunicator;
    int machine() const override { return rank() / 2 * 2; }
  };
} // namespace

// What each could have alone is too much for several on one machine, and all say the same.
TEST(ProcessParallel, RanksHaveOneMemory)
{
  const MPICommunicator ranks(MPI_COMM_WORLD);
  const auto            free      = static_cast<double>(free_host_memory());
  const auto            expect_on = [&](const Communicator &those, const double bytes, const std::string &expected) {
    std::string message;
    try
    {
      require_host_memory(bytes, "A test takes", those);
    }
    catch (const Error &error)
    {
      message = error.what();
    }
    EXPECT_TRUE(std::regex_match(message, std::regex(expected))) << message;
    for (const Communicator::Bytes &other : ranks.all_gather(Communicator::Bytes(message.begin(), message.end())))
      EXPECT_EQ(std::string(other.begin(), other.end()), message);
  };
  const auto expect_of    = [&](const double bytes, const std::string &expected) { expect_on(ranks, bytes, expected); };
  const std::string begin = "A test takes at least .* GB of the host's memory",
                    end = ", but .* are free; use fewer cells\\.", n = std::to_string(ranks.size());
  expect_of(0.5 * free / ranks.size(), "");
  expect_of(0.8 * free, ranks.size() == 1 ? "" : begin + " for " + n + " ranks" + end);

  const Pairs pairs(MPI_COMM_WORLD);
  expect_on(pairs, 0.4 * free, "");
  expect_on(pairs, 0.7 * free, ranks.size() == 1 ? "" : begin + " for 2 ranks" + end);

  // A limit of one process is its own.
  rlimit     old;
  const bool is_last = ranks.rank() == ranks.size() - 1;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  const rlimit few = {std::stoull(system_entry("/proc/self/status", "VmSize")) * 1024 + (256 << 20), old.rlim_max};
  if (is_last)
    setrlimit(RLIMIT_AS, &few);
  expect_of(is_last ? 1e9 : 0., begin + end);
  setrlimit(RLIMIT_AS, &old);
}

// Without the frame and the trace of calls that what() has.
TEST(ProcessParallel, ALibrarysExceptionOfOneIsASentenceOfAll)
{
  const MPICommunicator ranks(MPI_COMM_WORLD);
  try
  {
    ranks.agree_on_errors(
        [&] { AssertThrow(ranks.rank() < ranks.size() - 1, dealii::ExcMessage("This is\nno mesh.")); });
    ADD_FAILURE() << "no error";
  }
  catch (const Error &error)
  {
    EXPECT_EQ(error.what(), (ranks.size() > 1 ? text_of("Rank ", ranks.size() - 1, ": ") : "") +
                                "Something went wrong inside a library: This is no mesh.");
  }
}

TEST(ProcessParallel, RefusesRanksThatDiffer)
{
  const MPICommunicator ranks(MPI_COMM_WORLD);
  const int             last    = ranks.size() - 1;
  const auto            message = [&](const std::string &build, const std::string &parameters) {
    try
    {
      refuse_different_ranks(ranks, build, parameters);
    }
    catch (const Error &error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string of_last = ranks.rank() == last ? "b" : "a";
  EXPECT_EQ(message("a", "a"), "");
  EXPECT_EQ(message(of_last, "a"),
            last == 0 ? ""
                      : text_of("Rank ", last, " runs b, but rank 0 runs a; start the same program on all ranks."));
  EXPECT_EQ(message("a", of_last),
            last == 0
                ? ""
                : text_of("Rank ", last,
                          " has read another parameter file, or other options, than rank 0; give all ranks the same."));
}
