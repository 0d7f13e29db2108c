// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups of faces or cells with numbers and names, and the ids of their combinations.
#include "message_of.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/base/mesh_regions.h>

#include <gtest/gtest.h>

using namespace PatchFEM;
using Ids = std::set<unsigned int>;

TEST(mesh_regions, ids_are_numbers_where_they_can_be)
{
  MeshRegions        regions;
  const unsigned int both = regions.add({{2, ""}, {5, ""}}), named = regions.add({{-1, "rim"}}),
                     none = regions.add(std::vector<MeshRegions::Group>()), two = regions.add({{2, ""}}),
                     five = regions.add({{5, ""}}), five_rim = regions.add({{5, ""}, {-1, "rim"}});
  EXPECT_EQ(regions.add({{5, ""}, {2, ""}}), both) << "in any order";
  EXPECT_EQ(regions.unite(two, five), both);
  EXPECT_EQ(regions.unite(both, five), both);
  const auto ids = regions.renumber({both, named, none, two, five, five_rim}, {{5, "wall"}});
  EXPECT_EQ(ids.at(none), 0u);
  EXPECT_EQ(ids.at(two), 2u);
  EXPECT_EQ(ids.at(five), 5u);
  EXPECT_EQ(regions.ids().size(), 6u);
  for (const unsigned int id : {both, named, five_rim})
    EXPECT_GT(ids.at(id), 5u) << "above all numbers";
  EXPECT_EQ(regions.find("5", "E", "boundary"), (Ids{5, ids.at(both), ids.at(five_rim)}));
  EXPECT_EQ(regions.find("Wall", "E", "boundary"), regions.find("5", "E", "boundary"));
  EXPECT_EQ(regions.find("rim", "E", "boundary"), (Ids{ids.at(named), ids.at(five_rim)}));
  EXPECT_EQ(regions.find("0", "E", "boundary"), (Ids{0}));
  EXPECT_EQ(regions.text(ids.at(both)), "2 + wall");
  EXPECT_EQ(regions.describe(2, "boundary"), "boundary id 2");
  EXPECT_EQ(regions.describe("5", "boundary"), "boundary 'wall'");
  // The id of a combination is no number that a user could mean.
  const std::string number = std::to_string(ids.at(both));
  EXPECT_NE(message_of([&] {
              regions.find(number, "E", "boundary");
            }).find("E names boundary id " + number + ", but no face"),
            std::string::npos);
  EXPECT_NE(regions.add({regions.group_of_rule(number)}), ids.at(both));
  EXPECT_EQ(regions.add({regions.group_of_rule("wall")}), 5u);
  regions.restrict_to({0, 2});
  EXPECT_EQ(regions.list(), "0, 2");
}

TEST(mesh_regions, names_that_differ_in_capitals_and_names_of_everything)
{
  MeshRegions regions;
  const auto top = regions.add({{-1, "Top"}, {-1, "all of it"}}), lower = regions.add({{-1, "top"}, {-1, "all of it"}});
  const auto ids = regions.renumber({top, lower}, {});
  EXPECT_EQ(regions.find("Top", "E", "boundary"), (Ids{ids.at(top)}));
  EXPECT_NE(message_of([&] { regions.find("TOP", "E", "boundary"); }).find("could be 'Top' or 'top'"),
            std::string::npos);
  EXPECT_EQ(regions.find("All of it", "E", "boundary").size(), 2u);
  EXPECT_EQ(regions.list(), "Top, top");
  regions.release_groups_of_all();
  const unsigned int rule = regions.add({regions.group_of_rule("mine")});
  EXPECT_EQ(regions.find("all of it", "E", "boundary"), (Ids{ids.at(top), ids.at(lower)}));
  EXPECT_EQ(regions.find("mine", "E", "boundary"), (Ids{rule}));
}

TEST(mesh_regions, names_go_before_numbers_and_are_made_unique)
{
  MeshRegions        regions;
  const unsigned int one = regions.add({{1, "wall"}}), two = regions.add({{2, "wall"}}), four = regions.add({{3, "4"}}),
                     long_name = regions.add({{-1, "99999999999999999999"}});
  EXPECT_EQ(regions.list(), "wall (1), wall (2), 4, 99999999999999999999");
  EXPECT_EQ(regions.find("wall", "E", "boundary"), (Ids{one, two}));
  EXPECT_EQ(regions.find("2", "E", "boundary"), (Ids{two}));
  EXPECT_EQ(regions.name_of("2"), "wall (2)");
  EXPECT_EQ(regions.name_of("wall"), "wall");
  EXPECT_EQ(regions.find("4", "E", "boundary"), (Ids{four}));
  EXPECT_EQ(regions.group_of_rule("99999999999999999999").number, -1);
  EXPECT_EQ(regions.group_of_rule("5000000000").name, "5000000000");
  EXPECT_EQ(regions.find("99999999999999999999", "E", "boundary"), (Ids{long_name}));
  regions.add({{4, "rim"}});
  EXPECT_NE(message_of([&] {
              regions.find("4", "E", "boundary");
            }).find("boundary id 4, which is the name of one boundary and the number of another, 'rim'"),
            std::string::npos);
}
