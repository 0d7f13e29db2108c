// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/host_memory.h>
#include <patchfem/base/memory.h>

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <filesystem>
#include <fstream>

using namespace PatchFEM;

TEST(HostMemory, LimitOfTheAddressSpaceCounts)
{
  const std::size_t before = Backend("host").free_memory();
  rlimit            old;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &old), 0);
  const std::size_t used = std::stoull(system_entry("/proc/self/status", "VmSize")) * 1024, room = 256 << 20;
  if (before < 2 * room)
    GTEST_SKIP() << "there is too little memory";
  const rlimit few = {used + room, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &few), 0);
  const std::size_t limited = Backend("host").free_memory(), kept = kept_host_memory();
  std::string       message;
  try
  {
    memory::allocate(Backend("host"), before / 2);
  }
  catch (const Error &error)
  {
    message = error.what();
  }
  setrlimit(RLIMIT_AS, &old);
  EXPECT_LE(limited, room + kept);
  EXPECT_GE(limited, room / 2);
  EXPECT_NE(message.find(std::to_string((limited >> 20) + 1) + " MiB are free"), std::string::npos) << message;
}

TEST(HostMemory, LimitsOfGroupsCount)
{
  namespace fs        = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / "groups";
  fs::remove_all(root);
  const auto put = [&](const std::string &file, const std::string &text) {
    fs::create_directories((root / file).parent_path());
    std::ofstream(root / file) << text << '\n';
  };
  const auto free = [&](const std::string &groups) {
    put("groups", groups);
    return free_memory_of_groups((root / "groups").string(), root.string());
  };
  put("a/b/memory.max", "max");
  put("a/b/memory.current", "300");
  put("a/memory.max", "1000");
  put("a/memory.current", "700");
  put("a/memory.stat", "anon 600\nfile 100\ninactive_file 60\nactive_file 30");
  EXPECT_EQ(free("0::/a/b"), 390u);
  put("a/b/memory.max", "310");
  EXPECT_EQ(free("0::/a/b"), 10u);
  put("a/b/memory.current", "320");
  EXPECT_EQ(free("0::/a/b"), 0u);
  EXPECT_EQ(free("0::/"), SIZE_MAX);

  // The first version, and a path that is not seen from inside.
  put("memory/memory.limit_in_bytes", "5000");
  put("memory/memory.usage_in_bytes", "1000");
  put("memory/memory.stat", "inactive_file 3\ntotal_inactive_file 200\ntotal_active_file 50");
  EXPECT_EQ(free("9:name=systemd:/\n4:cpu,memory:/outside/of/here\n3:cpuset:/\n0::/"), 4250u);
  EXPECT_EQ(free("3:cpuset:/a"), SIZE_MAX);
  EXPECT_EQ(free_memory_of_groups((root / "none").string(), root.string()), SIZE_MAX);
  fs::remove_all(root);
}
