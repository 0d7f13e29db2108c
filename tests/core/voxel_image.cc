// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/voxel_image.h>

#include <gtest/gtest.h>

#include <sstream>

using namespace PatchFEM;

namespace
{
  VoxelImage read(const std::string &content)
  {
    std::istringstream in(content);
    return read_voxel_image(in, "image.vtk");
  }

  /** Expects that @p content is refused with a sentence that has @p words. */
  void expect_refusal(const std::string &content, const std::string &words)
  {
    try
    {
      read(content);
      FAIL() << words;
    }
    catch (const Error &error)
    {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  const std::string start = "# vtk DataFile Version 2.0\ntitle\n", points = "DATASET STRUCTURED_POINTS\n";
  const std::string place = "ORIGIN 1 2 3\nSPACING 0.5 0.5 0.5\n", box = "DIMENSIONS 4 3 2\n" + place;
} // namespace

TEST(VoxelImage, CellsAsText)
{
  const VoxelImage image =
      read(start + "ASCII\n" + points + box + "CELL_DATA 6\nSCALARS label int 1\nLOOKUP_TABLE default\n0 1 2\n2 1 0\n");
  EXPECT_EQ(image.n, (std::array<int, 3>{{3, 2, 1}}));
  EXPECT_EQ(image.origin, (std::array<double, 3>{{1., 2., 3.}}));
  EXPECT_EQ(image.h, 0.5);
  EXPECT_EQ(image.labels, (std::vector<unsigned char>{0, 1, 2, 2, 1, 0}));
}

TEST(VoxelImage, PointsAsBytes)
{
  const std::string head = "POINT_DATA 24\nSCALARS label unsigned_char\nLOOKUP_TABLE default\n";
  const std::string bytes(24, '\1');
  const VoxelImage  image = read(start + "BINARY\n" + points + box + head + bytes);
  EXPECT_EQ(image.n, (std::array<int, 3>{{4, 3, 2}}));
  EXPECT_EQ(image.origin, (std::array<double, 3>{{0.75, 1.75, 2.75}}));
  EXPECT_EQ(image.labels, std::vector<unsigned char>(24, 1));
}

TEST(VoxelImage, WideNumbersStartWithTheirHighestByte)
{
  const std::string head = "DIMENSIONS 3 1 1\n" + place + "CELL_DATA 2\nSCALARS label short\nLOOKUP_TABLE default\n";
  EXPECT_EQ(read(start + "BINARY\n" + points + head + std::string("\0\2\0\1", 4)).labels,
            (std::vector<unsigned char>{2, 1}));
  expect_refusal(start + "BINARY\n" + points + head + std::string("\2\0\0\1", 4), "has the label 512");
}

TEST(VoxelImage, SaysWhatIsWrong)
{
  const std::string data = "CELL_DATA 6\nSCALARS label int 1\nLOOKUP_TABLE default\n", good = "0 1 2 2 1 0\n";
  const std::string ascii = start + "ASCII\n";
  expect_refusal("# something else\n", "does not start with");
  expect_refusal(start + "TEXT\n", "neither ASCII nor BINARY");
  expect_refusal(ascii + "DATASET UNSTRUCTURED_GRID\n", "not STRUCTURED_POINTS");
  expect_refusal(ascii + points + "DIMENSIONS 4 3 2\nORIGIN 1 2 3\nSPACING 0.5 0.5 0.25\n" + data + good, "not cubes");
  expect_refusal(ascii + points + "DIMENSIONS 4 3 0\n" + place + data + good, "not positive");
  expect_refusal(ascii + points + "DIMENSIONS 4 3\n" + place + data + good, "no number in DIMENSIONS");
  expect_refusal(ascii + points + "DIMENSIONS 4 4 2\n" + place + data + good, "do not fit its DIMENSIONS");
  expect_refusal(ascii + points + box, "has no SCALARS");
  expect_refusal(ascii + points + box + "VECTORS v double\n", "has 'VECTORS' where");
  expect_refusal(ascii + points + box + data + "0 1 2 2 1\n", "ends or has something");
  expect_refusal(ascii + points + box + data + "0 1 2 2 1 3\n", "has the label 3");
  expect_refusal(ascii + points + box + data + "0 1 2 2 1 x\n", "ends or has something");
  expect_refusal(ascii + points + box + "CELL_DATA 6\nSCALARS label int 3\nLOOKUP_TABLE default\n" + good,
                 "several components");
  expect_refusal(ascii + points + box + "CELL_DATA 6\nSCALARS label int 1\n" + good, "no LOOKUP_TABLE");
  expect_refusal(start + "BINARY\n" + points + box + "CELL_DATA 6\nSCALARS label double\nLOOKUP_TABLE default\n" + good,
                 "the type 'double'");
  expect_refusal(start + "BINARY\n" + points + box + "CELL_DATA 6\nSCALARS label int\nLOOKUP_TABLE default\n" + good,
                 "ends before");
  expect_refusal(ascii + points + "DIMENSIONS 4 3 2\nORIGIN 1 2 3\n" + data + good, "has no SPACING");
  expect_refusal(ascii + points + box + "SPACING 1 1 1\n" + data + good, "'SPACING' for the second time");
  expect_refusal(ascii + points + box + "POINT_DATA 24\n" + data + good, "'CELL_DATA' for the second time");
  const std::string whole = ascii + points + box + data + good;
  for (const std::string more : {"0", "x", "1 2 0\n", "SCALARS other int 1\n"})
    expect_refusal(whole + more, "goes on behind the last of the 6 values");
  expect_refusal(whole + whole, "goes on behind the last of the 6 values");
  expect_refusal(whole + "METADATA\nINFORMATION 0\n\nx", "goes on behind");
  EXPECT_EQ(read(whole + "METADATA\nINFORMATION 0\n\n").labels.size(), 6U);
  const std::string bytes =
      start + "BINARY\n" + points + box + "CELL_DATA 6\nSCALARS label char\nLOOKUP_TABLE default\n";
  EXPECT_EQ(read(bytes + std::string(6, '\1') + "\n").labels.size(), 6U);
  expect_refusal(bytes + std::string(7, '\1'), "goes on behind");
}

TEST(VoxelImage, RefusesMoreCellsThanTheFileHasBytesFor)
{
  // No memory is asked for on the word of a header: these would be 729 terabytes, and 2.9 petabytes.
  const std::string cells = points + "DIMENSIONS 90001 90001 90001\n" + place + "CELL_DATA 729000000000000\n";
  const std::string table = "LOOKUP_TABLE default";
  for (const std::string rest : {"", "\n", "\n0 1 2\n"})
  {
    expect_refusal(start + "ASCII\n" + cells + "SCALARS label int 1\n" + table + rest,
                   "image.vtk ends before the last");
    expect_refusal(start + "BINARY\n" + cells + "SCALARS label int 1\n" + table + rest,
                   "image.vtk ends before the last");
  }
}
