// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <gtest/gtest.h>

#include <string>

/**
 * A test that is run on every back end, with the back end's name in its own:
 *   using MyTest = BackendTest;  PATCHFEM_INSTANTIATE_BACKENDS(MyTest);
 */
class BackendTest : public ::testing::TestWithParam<std::string>
{
protected:
  void SetUp() override
  {
    if (GetParam() == "cuda" && !PatchFEM::Backend::cuda_available())
      GTEST_SKIP() << "no CUDA device";
  }

  PatchFEM::Backend backend() const { return PatchFEM::Backend(GetParam()); }
};

#define PATCHFEM_INSTANTIATE_BACKENDS(Suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(backends, Suite, ::testing::Values("host", "emulated_device", "cuda"), \
                           [](const auto &info) { return info.param; })
