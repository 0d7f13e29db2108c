// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"

#include <patchfem/base/array.h>
#include <patchfem/base/graph.h>

#include <limits>
#include <numeric>

using namespace PatchFEM;

class ArrayTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(ArrayTest);

TEST_P(ArrayTest, RoundTrip)
{
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), -3);
  const Array<int> array(backend(), values);
  EXPECT_EQ(array.to_vector(), values);
  EXPECT_EQ(array.read(999), 996);
  EXPECT_THROW(array.read(1000), Error);
}

TEST_P(ArrayTest, LongRoundTripInPieces)
{
  for (const std::size_t n : {std::size_t(1) << 20, (std::size_t(5) << 20) + 3}) // doubles: one piece, and six
  {
    std::vector<double> values(n), result(n, std::numeric_limits<double>::quiet_NaN());
    std::iota(values.begin(), values.end(), 0.5);
    const Array<double> array(backend(), values);
    array.copy_to(result.data());
    EXPECT_EQ(result, values);
  }
}

/** 1.2 MB each, of which not all fit into what is put aside for a device. */
TEST_P(ArrayTest, SourcesMayChangeAtOnce)
{
  std::vector<int>        source;
  std::vector<Array<int>> arrays;
  for (int i = 0; i < 40; ++i)
  {
    source.assign(300000 - 7 * i, i);
    arrays.emplace_back(backend(), source);
  }
  source.assign(300000, -1);
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(arrays[i].to_vector(), std::vector<int>(300000 - 7 * i, i));
}

TEST_P(ArrayTest, CopiesBetweenBackends)
{
  const Array<double> there(backend(), std::vector<double>{1., 2., 4.});
  Array<double>       here;
  here.copy_from(Backend(BackendKind::host), there);
  EXPECT_EQ(here.data()[2], 4.);
}

TEST_P(ArrayTest, ZeroAndReuse)
{
  const Backend where = backend();
  Array<double> array(where, 5);
  array.set_zero();
  const double *const before = array.data();
  EXPECT_EQ(array.to_vector(), std::vector<double>(5, 0.));
  array.reinit(where, 5);
  EXPECT_EQ(array.data(), before);
  array.reinit(where, 0);
  EXPECT_TRUE(array.empty());
}

TEST_P(ArrayTest, PeakIsRecorded)
{
  const Backend where = backend();
  memory::reset_peak(where.kind());
  const std::size_t before = memory::in_use(where.kind());
  {
    const Array<char> array(where, 1 << 20);
    EXPECT_EQ(memory::in_use(where.kind()), before + (1 << 20));
  }
  EXPECT_EQ(memory::in_use(where.kind()), before);
  EXPECT_EQ(memory::peak(where.kind()), before + (1 << 20));
}

TEST(EmulatedDevice, HostAccessTraps)
{
  const Array<int> array(Backend("emulated_device"), std::vector<int>{7});
  EXPECT_DEATH(
      {
        volatile int value = *array.data();
        (void)value;
      },
      "");
  int value = 0;
  launch(array.backend(), [&](auto) { value = *array.data(); });
  EXPECT_EQ(value, 7);
}

TEST(Backend, RefusesUnknownNames)
{
  EXPECT_THROW(Backend("gpu"), Error);
  if (!Backend::cuda_available())
  {
    EXPECT_THROW(Backend("cuda"), Error);
  }
  EXPECT_EQ(Backend("auto").kind(), Backend::cuda_available() ? BackendKind::cuda : BackendKind::host);
}

TEST(Graph, LaunchRepeatsTheSequence)
{
  int   n = 0;
  Graph graph(Backend("host"), [&] { ++n; });
  EXPECT_EQ(n, 0);
  graph.launch();
  graph.launch();
  EXPECT_EQ(n, 2);
}

TEST(Graph, HoldsNoCopiesOfTheHostsMemory)
{
  if (!Backend::cuda_available())
    GTEST_SKIP() << "no CUDA device";
  const Backend          cuda("cuda");
  const std::vector<int> values(5, 3);
  Array<int>             array(cuda, std::vector<int>(5, 0));
  EXPECT_THROW(Graph(cuda, [&] { array.copy_from(values.data(), 5); }), Error);
  array.copy_from(values.data(), 5);
  EXPECT_EQ(array.to_vector(), values);
}
