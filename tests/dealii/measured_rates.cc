// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/format_choice.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace PatchFEM;

namespace
{
  /** A folder of its own, removed at the end. */
  struct Folder
  {
    Folder() { name = mkdtemp(pattern); }
    ~Folder() { std::filesystem::remove_all(name); }
    char        pattern[20] = "rates_XXXXXX";
    std::string name;
  };
} // namespace

TEST(MeasuredRates, AreKeptInAFile)
{
  const Folder        folder;
  const std::string   file = folder.name + "/deeper/rates";
  const MeasuredRates rates{{"host | some device | 2 threads | reading", 1.25e10}, {"a \"name\"", 3.}};
  EXPECT_TRUE(read_rates(file).empty());
  write_rates(file, rates);
  EXPECT_EQ(read_rates(file), rates);
  write_rates(file, {{"b", 1.}});
  EXPECT_EQ(read_rates(file).size(), 1u);
  // Where nothing can be written a sentence says so, and what is there stays.
  testing::internal::CaptureStderr();
  write_rates(file + "/below", rates);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("Measured rates are not kept."), std::string::npos);
  EXPECT_EQ(read_rates(file).size(), 1u);
  write_rates("", rates);
}

TEST(MeasuredRates, BrokenFilesAreMeasuredAnew)
{
  const Folder      folder;
  const std::string file = folder.name + "/rates";
  for (const char *const text : {"", "1.5e9\thost | of an older version", "{\"a\": 1", "{\"a\": -1}", "{\"a\": 0}",
                                 "{\"a\": \"fast\"}", "[1, 2]", "3", "{\"a\": 1e999}", "\xff\xfe"})
  {
    SCOPED_TRACE(text);
    std::ofstream(file) << text;
    testing::internal::CaptureStderr();
    EXPECT_TRUE(read_rates(file).empty());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find(file + " has no rates that can be read; they are measured anew."), std::string::npos) << said;
  }
}

TEST(MeasuredRates, FileLiesInTheCacheFolder)
{
  const char *const cache  = std::getenv("XDG_CACHE_HOME");
  const std::string before = cache == nullptr ? "" : cache;
  setenv("XDG_CACHE_HOME", "/some/cache", 1);
  EXPECT_EQ(format_rates_file(), "/some/cache/patchfem/format_rates");
  if (cache == nullptr)
    unsetenv("XDG_CACHE_HOME");
  else
    setenv("XDG_CACHE_HOME", before.c_str(), 1);
}
