// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/nccl_library.h"

#include <gtest/gtest.h>

using namespace PatchFEM;

namespace
{
  std::string what_is_missing(const std::string &file)
  {
    std::string reason;
    EXPECT_EQ(NcclLibrary::find(file, reason), nullptr);
    return reason;
  }

  TEST(NcclLibrary, SaysWhatIsMissing)
  {
    const std::string folder = PATCHFEM_FAKE_NCCL;
    EXPECT_EQ(what_is_missing(folder + "/nowhere/libnccl.so.2"),
              folder + "/nowhere/libnccl.so.2: cannot open shared object file: No such file or directory");
    const std::string empty = folder + "/empty/libnccl.so.2", old = folder + "/old/libnccl.so.2",
                      part = folder + "/part/libnccl.so.2";
    EXPECT_EQ(what_is_missing(empty), empty + " has no function ncclGetVersion");
    EXPECT_EQ(what_is_missing(old),
              old + " has the version number 2804, and 21400 to 29999 are known, which are 2.14 and "
                    "later ones before 3");
    EXPECT_EQ(what_is_missing(part), part + " has no function ncclGetUniqueId");
  }

  TEST(NcclLibrary, HasWhatIsUsed)
  {
    std::string reason;
    const auto  found = NcclLibrary::find("libnccl.so.2", reason);
    if (found == nullptr && reason.find("cannot open") != std::string::npos)
      GTEST_SKIP() << reason;
    ASSERT_NE(found, nullptr) << reason;
    EXPECT_GE(found->version, 21400);
    EXPECT_STREQ(found->get_error_string(NcclLibrary::success), "no error");
  }
} // namespace
