// SPDX-License-Identifier: LGPL-2.1-or-later
#include "message_of.h"

#include <patchfem/lac/solver/converged.h>

#include <gtest/gtest.h>

#include <limits>

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

TEST(Converged, IsOnlyOfResidualsBelowTheirTolerance)
{
  static_assert(!std::is_default_constructible_v<Converged>, "only by a test");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NO_THROW(Converged::by_my_own_test(1e-9, 1e-8));
  EXPECT_NO_THROW(Converged::by_my_own_test(0., 0.));
  EXPECT_EQ(
      message_of([] { Converged::by_my_own_test(2e-8, 1e-8); }),
      "A step has not converged: its residual is 2e-08, which is not below 1e-08; go on iterating, or try a shorter "
      "step.");
  EXPECT_THROW(Converged::by_my_own_test(nan, 1.), Error);
  EXPECT_THROW(Converged::by_my_own_test(1., nan), Error);
}
