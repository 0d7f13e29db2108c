// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>

#include <gtest/gtest.h>

using namespace PatchFEM;

TEST(Require, MakesItsMessageOnlyIfItIsNeeded)
{
  int n_made = 0;
  for (int i = 0; i < 3; ++i)
    require(true, [&] { return std::to_string(++n_made); });
  EXPECT_EQ(n_made, 0);
  try
  {
    require(false, [&] { return std::to_string(++n_made) + "st"; });
    FAIL();
  }
  catch (const Error &error)
  {
    EXPECT_STREQ(error.what(), "1st");
  }
}
