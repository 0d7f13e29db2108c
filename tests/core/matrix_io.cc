// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac_cases.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/lac/matrix/matrix_io.h>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace PatchFEM;

namespace
{
  std::string content(const std::string &name)
  {
    std::ifstream     in(name, std::ios::binary);
    std::stringstream out;
    out << in.rdbuf();
    return out.str();
  }

  /** A file name that is removed at the end of the test. */
  struct TemporaryFile
  {
    std::string name = testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".tmpfile";
    ~TemporaryFile() { std::remove(name.c_str()); }
  };
} // namespace

TEST(MatrixIO, RawFileByteByByte)
{
  // 1 2
  // 0 3, two unknowns per node, one near-null vector.
  const LinearSystem  system{{2, 2, {0, 2, 3}, {0, 1, 1}, {1., 2., 3.}}, {10., 20.}, 2, 1, {7., 8.}};
  const TemporaryFile file;
  write_linear_system(system, file.name);
  const std::string bytes = content(file.name);
  ASSERT_EQ(bytes.size(), 8u + 8 + 4 + 4 + 3 * 8 + 3 * 4 + 3 * 8 + 2 * 8 + 2 * 8);
  const auto at = [&](const std::size_t offset, auto value) {
    std::memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
  };
  EXPECT_EQ(at(0, std::int64_t()), 2);
  EXPECT_EQ(at(8, std::int64_t()), 3);
  EXPECT_EQ(at(16, std::int32_t()), 2);
  EXPECT_EQ(at(20, std::int32_t()), 1);
  EXPECT_EQ(at(32, std::int64_t()), 2);
  EXPECT_EQ(at(40, std::int64_t()), 3);
  EXPECT_EQ(at(52, std::int32_t()), 1);
  EXPECT_EQ(at(60, double()), 1.);
  EXPECT_EQ(at(76, double()), 3.);
  EXPECT_EQ(at(84, double()), 10.);
  EXPECT_EQ(at(108, double()), 8.);
}

TEST(MatrixIO, RawFileIsReadBack)
{
  const LinearSystem  system{cases::laplacian<double>(13, 7), cases::random_values(91, 1), 1, 3,
                            cases::random_values(273, 2)};
  const TemporaryFile file;
  write_linear_system(system, file.name);
  const LinearSystem copy = read_linear_system(file.name);
  EXPECT_EQ(copy.matrix.n_rows, 91);
  EXPECT_EQ(copy.matrix.row_offsets, system.matrix.row_offsets);
  EXPECT_EQ(copy.matrix.columns, system.matrix.columns);
  EXPECT_EQ(copy.matrix.values, system.matrix.values);
  EXPECT_EQ(copy.rhs, system.rhs);
  EXPECT_EQ(copy.block_size, 1);
  EXPECT_EQ(copy.n_near_null, 3);
  EXPECT_EQ(copy.near_null, system.near_null);
  EXPECT_FALSE(std::ifstream(file.name + ".part").good());
  EXPECT_TRUE(is_linear_system(file.name));

  std::ofstream(file.name, std::ios::binary | std::ios::app) << "x";
  EXPECT_THROW(read_linear_system(file.name), Error);
  EXPECT_FALSE(is_linear_system(file.name));
  EXPECT_FALSE(is_linear_system(file.name + ".missing"));
  EXPECT_THROW(read_linear_system(file.name + ".missing"), Error);
  EXPECT_THROW(write_linear_system(system, file.name + "/no/such/folder"), Error);
}

TEST(MatrixIO, MatrixMarketByEye)
{
  const TemporaryFile file;
  write_matrix_market({2, 3, {0, 1, 3}, {2, 0, 1}, {0.1, -2., 4.}}, file.name);
  EXPECT_EQ(content(file.name),
            "%%MatrixMarket matrix coordinate real general\n2 3 3\n1 3 0.10000000000000001\n2 1 -2\n"
            "2 2 4\n");
}
