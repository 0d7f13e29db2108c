// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/write_file.h>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace PatchFEM;
namespace fs = std::filesystem;

namespace
{
  class WriteFile : public testing::Test
  {
  protected:
    const fs::path folder =
        fs::path(testing::TempDir()) /
        (std::string("write_file_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    const fs::path file = folder / "file", part = folder / "file.part";

    void SetUp() override
    {
      fs::remove_all(folder);
      fs::create_directories(folder);
      std::ofstream(file) << "old";
    }

    void TearDown() override { fs::remove_all(folder); }

    std::string content(const fs::path &name) const
    {
      std::stringstream text;
      text << std::ifstream(name).rdbuf();
      return text.str();
    }

    std::string error_of(const std::function<void(std::ostream &)> &write) const
    {
      try
      {
        write_file(file.string(), write);
      }
      catch (const Error &error)
      {
        return error.what();
      }
      return "";
    }
  };
} // namespace

TEST_F(WriteFile, ReplacesWhenWhole)
{
  std::ofstream(folder / "other") << "of somebody else";
  fs::create_symlink(folder / "other", part);
  write_file(file.string(), [&](std::ostream &out) {
    out << "new" << std::flush;
    EXPECT_EQ(content(file), "old");
  });
  EXPECT_EQ(content(file), "new");
  EXPECT_EQ(content(folder / "other"), "of somebody else");
  EXPECT_FALSE(fs::exists(part));
}

TEST_F(WriteFile, LeavesNothingWithoutRoom)
{
  rlimit old;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit few    = {1 << 16, old.rlim_max};
  const auto   signal = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
  // A writer that goes on, and one that notices and throws what is no Error.
  const std::string goes_on = error_of([](std::ostream &out) {
    for (int i = 0; i < 100000; ++i)
      out << i << ' ';
  });
  const std::string throws  = error_of([](std::ostream &out) {
    out << std::string(1 << 17, ' ');
    if (!out)
      throw std::runtime_error("38 lines");
  });
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, signal);
  for (const std::string &message : {goes_on, throws})
    EXPECT_NE(message.find("file cannot be written: File too large"), std::string::npos) << message;
  EXPECT_EQ(content(file), "old");
  EXPECT_FALSE(fs::exists(part));
}

TEST_F(WriteFile, PassesOnWhatTheWriterThrows)
{
  const auto fail = [](std::ostream &out) {
    out << "half";
    throw std::bad_alloc();
  };
  EXPECT_THROW(write_file(file.string(), fail), std::bad_alloc);
  EXPECT_EQ(content(file), "old");
  EXPECT_FALSE(fs::exists(part));
}

TEST_F(WriteFile, NamesFolderThatIsNotThere)
{
  EXPECT_THROW(write_file((folder / "none" / "file").string(), [](std::ostream &) {}), Error);
}
