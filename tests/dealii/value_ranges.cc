// SPDX-License-Identifier: LGPL-2.1-or-later
// What a precision cannot hold is refused by name.
#include "../core/message_of.h"

#include <gtest/gtest.h>
#include <patchfem/app/powers_of_two.h>
#include <patchfem/app/value_ranges.h>
#include <patchfem/base/exceptions.h>

#include <limits>

using namespace PatchFEM;

namespace
{
  /** One square of edge @p h. */
  ElementTables one_cell(const double h)
  {
    ElementTables tables;
    tables.dim    = 2;
    tables.points = {0., 0., h, 0., 0., h, h, h};
    tables.batches.resize(1);
    tables.batches[0].n_cells              = 1;
    tables.batches[0].reference.n_geometry = 4;
    tables.batches[0].geometry             = {0, 1, 2, 3};
    return tables;
  }

  constexpr double infinite = std::numeric_limits<double>::infinity();
} // namespace

TEST(PowersOfTwo, ScaleWithoutRounding)
{
  EXPECT_EQ(binary_exponent(0.), 0);
  EXPECT_EQ(binary_exponent(1.), 1);
  EXPECT_EQ(binary_exponent(0.75), 0);
  EXPECT_EQ(binary_exponent(infinite), 0);
  for (const double value : {1e-310, 1e-162, 0.3, 1e155, 1e308})
  {
    double scaled = value;
    multiply_by_power_of_two(scaled, -binary_exponent(value));
    EXPECT_GE(scaled, 0.5);
    EXPECT_LT(scaled, 1.);
    multiply_by_power_of_two(scaled, binary_exponent(value));
    EXPECT_EQ(scaled, value);
  }
}

TEST(ValueRanges, RefuseWhatAPrecisionDoesNotHold)
{
  for (const double value : {0., 1e-37, 1., 1e38})
    check_range<float>("The loads", value);
  for (const double value : {0., 1e-300, 1., 1e300})
    check_range<double>("The loads", value);
  for (const double value : {1e45, 1e-50, 1e-40})
  {
    const std::string message = message_of([&] { check_range<float>("The loads", value); });
    EXPECT_EQ(message.find("The loads are at most"), 0u) << message;
    EXPECT_NE(message.find("single precision, which has magnitudes from 1.2e-38 to 3.4e+38; choose Precision = double"),
              std::string::npos)
        << message;
  }
  EXPECT_NE(message_of([&] { check_range<double>("The loads", 1e-310); }).find("double precision"), std::string::npos);
  EXPECT_NE(message_of([&] { check_range<double>("The loads", infinite); }).find("The loads are not finite"),
            std::string::npos);
}

TEST(ValueRanges, LookAtAllOfASystem)
{
  const ElementTables tables = one_cell(0.1);
  SystemFields        fields;
  fields.coefficients = CoefficientField::constant({1., 2.});
  EXPECT_EQ(check_ranges<float>(tables, fields), 0.);
  fields.body_load = CoefficientField::by_material({{0, {1.}}, {1, {-5.}}});
  EXPECT_NEAR(check_ranges<float>(tables, fields), 5. * 0.01, 1e-15);
  fields.body_load = CoefficientField::by_material({{0, {1.}}, {1, {-5e45}}});
  EXPECT_NE(message_of([&] { check_ranges<float>(tables, fields); }).find("section Loads"), std::string::npos);
  EXPECT_GT(check_ranges<double>(tables, fields), 1e43);
  fields.body_load       = CoefficientField();
  fields.face_terms.load = {0., std::numeric_limits<double>::quiet_NaN(), 1.};
  EXPECT_NE(message_of([&] { check_ranges<double>(tables, fields); }).find("on the boundary"), std::string::npos);
  fields.face_terms.load.clear();

  ElementTables with_values             = tables;
  with_values.constraints.inhomogeneity = {0., -3.};
  EXPECT_NEAR(check_ranges<float>(with_values, fields), 6. * 0.01, 1e-15);
  with_values.constraints.inhomogeneity = {0., 1e-50};
  EXPECT_NE(message_of([&] { check_ranges<float>(with_values, fields); }).find("Dirichlet"), std::string::npos);
  fields.coefficients = CoefficientField::constant({1e50});
  EXPECT_NE(message_of([&] { check_ranges<float>(tables, fields); }).find("section Material"), std::string::npos);
}

TEST(ValueRanges, FindLoadsThatWereRoundedAway)
{
  check_rhs<float>(1., 1.);
  check_rhs<float>(0., 0.);
  check_rhs<float>(0., 1.); // it cancels, or acts where the solution is given
  check_rhs<double>(1e-45, 1e-45);
  EXPECT_NE(message_of([] { check_rhs<float>(0., 1e-40); }).find("rounds to 0 in single precision"), std::string::npos);
  EXPECT_NE(message_of([] { check_rhs<float>(1e-45, 1e-44); }).find("Precision = double"), std::string::npos);
  EXPECT_NE(message_of([] { check_rhs<float>(infinite, 1.); }).find("out of the range of single"), std::string::npos);
}
