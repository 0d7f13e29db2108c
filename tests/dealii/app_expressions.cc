// SPDX-License-Identifier: LGPL-2.1-or-later
// What parameter files may say, and the sentences for what they may not.
#include "../core/message_of.h"

#include <gtest/gtest.h>
#include <patchfem/app/boundary_conditions.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/one_rank.h>
#include <patchfem/base/step_control.h>

using namespace PatchFEM;

TEST(AppExpression, ConstantsMayUseEarlierOnes)
{
  const Constants constants = parse_constants("a = 2, b = max(a, 3)*pi, e1 = 1e-3");
  EXPECT_DOUBLE_EQ(constants.at("a"), 2.);
  EXPECT_DOUBLE_EQ(constants.at("b"), 3. * dealii::numbers::PI);
  EXPECT_DOUBLE_EQ(constants.at("e1"), 1e-3);
  EXPECT_NE(message_of([] { parse_constants("a"); }).find("'a'"), std::string::npos);
  EXPECT_NE(message_of([] { parse_constants("a = x"); }).find("depends on a coordinate"), std::string::npos);
}

TEST(AppExpression, KnowsWhatIsConstant)
{
  const Constants constants{{"pi", 3.}, {"xi", 2.}};
  EXPECT_TRUE(Expression<2>("1e3 + xi*exp(2)", constants, "E").is_constant());
  EXPECT_FALSE(Expression<2>("2*y", constants, "E").is_constant());
  EXPECT_DOUBLE_EQ(Expression<2>("x > 1 ? xi : y", constants, "E").value({0., 5.}), 5.);
  EXPECT_NE(message_of([&] { Expression<2>("z", constants, "Section/Entry"); }).find("Section/Entry"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              Expression<3>("1/x", constants, "E").value({0., 1., 2.});
            }).find("(0 1 2)"),
            std::string::npos);
}

TEST(AppExpression, MayDependOnTime)
{
  Constants constants;
  constants.clock = std::make_shared<Clock>();
  const Expression<2> moving("x + 2*t", constants, "E");
  EXPECT_TRUE(moving.depends_on_time());
  EXPECT_FALSE(moving.is_constant());
  EXPECT_DOUBLE_EQ(moving.value({1., 0.}), 1.);
  constants.clock->time = 3.;
  EXPECT_DOUBLE_EQ(moving.value({1., 0.}), 7.);
  const Expression<3> growing("t^2", constants, "E");
  EXPECT_TRUE(growing.depends_on_time());
  EXPECT_FALSE(growing.is_constant());
  const Expression<2> still("sqrt(y)", constants, "E");
  EXPECT_FALSE(still.depends_on_time());
  EXPECT_TRUE(Expression<2>("tan(1)", constants, "E").is_constant());
  EXPECT_NE(message_of([] { Expression<2>("x + t", {}, "Section/Entry"); }).find("it may use x,y, pi"),
            std::string::npos);
}

/** Formulas without the time grow with the load, those with it or with an amplitude have their own way. */
TEST(AppExpression, GrowsOrFollowsAmplitudes)
{
  Constants constants{{"k", 3.}};
  constants.clock      = std::make_shared<Clock>();
  constants.amplitudes = Amplitudes("pull: 0 0, 1 10, 3 -1e-3; dead: 0 1", "E").formulas();
  const Expression<2> constant("2*k", constants, "E"), field("k*x", constants, "E"), own("x*t", constants, "E"),
      pulled("1 + k*pull - pull/2", constants, "E"), dead("dead*x > 0 ? k*dead : 0", constants, "E");
  EXPECT_FALSE(constant.depends_on_time());
  EXPECT_TRUE(constant.is_constant());
  EXPECT_TRUE(pulled.depends_on_time());
  for (const auto &[time, pull] : {std::pair(-1., 0.), {0.25, 2.5}, {1., 10.}, {2., 4.9995}, {3., -1e-3}, {9., -1e-3}})
  {
    *constants.clock = {time, 0.5};
    EXPECT_DOUBLE_EQ(constant.value({}), 3.);
    EXPECT_DOUBLE_EQ(field.value({2., 0.}), 3.);
    EXPECT_DOUBLE_EQ(own.value({2., 0.}), 2. * time);
    EXPECT_NEAR(pulled.value({}), 1. + 2.5 * pull, 1e-12);
    EXPECT_DOUBLE_EQ(dead.value({1., 0.}), 3.);
  }
}

/** Each thread's parser belongs to the formula that is there now, at its present time. */
TEST(AppExpression, IsEvaluatedOnManyThreads)
{
  for (int k = 0; k < 20; ++k)
  {
    Constants constants{{"k", double(k)}};
    constants.clock = std::make_shared<Clock>();
    const Expression<2> first("k*x + t", constants, "E");
    const auto          copy   = first;
    const auto          second = Expression<2>("k - y", {{"k", double(k)}}, "E");
    for (const double time : {1., 5.})
    {
      constants.clock->time = time;
      int n_wrong           = 0;
#pragma omp parallel for num_threads(4) reduction(+ : n_wrong)
      for (int i = 0; i < 100; ++i)
        n_wrong += first.value({double(i), 0.}) != k * i + time || copy.value({double(i), 0.}) != k * i + time ||
                   second.value({0., double(i)}) != k - i;
      EXPECT_EQ(n_wrong, 0) << k;
    }
  }
}

TEST(AppExpression, SplitsAtCommasOutsideParentheses)
{
  const auto items = split_keyed_formulas("0 3: max(x, y); free, all: x > 0 ? 1 : 2; 0", false, "E");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].words, (std::vector<std::string>{"0", "3"}));
  EXPECT_EQ(items[0].formulas, (std::vector<std::string>{"max(x, y)", "free"}));
  EXPECT_TRUE(items[1].all);
  EXPECT_EQ(items[1].formulas, (std::vector<std::string>{"x > 0 ? 1 : 2", "0"}));
  EXPECT_NE(message_of([] { split_keyed_formulas("x > 0 ? 1 : 2", false, "E"); }).find("wants ids"), std::string::npos);
}

TEST(AppExpression, KeysAreNumbersAndNames)
{
  const auto items = split_keyed_formulas("007 clamp \"left side, (old: 2)\": x > 0 ? 1 : 2, \"all\": 3", true, "E");
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[0].words, (std::vector<std::string>{"7", "clamp", "left side, (old: 2)"}));
  EXPECT_EQ(items[0].formulas, (std::vector<std::string>{"x > 0 ? 1 : 2"}));
  EXPECT_FALSE(items[1].all) << "a boundary of that name";
  EXPECT_TRUE(split_keyed_formulas("x > 0 ? 1 : 2", true, "E")[0].all);
  EXPECT_NE(message_of([] { split_words("a \"b", "E"); }).find("does not close"), std::string::npos);
}

TEST(AppMaterialFunction, PerMaterialWithDefault)
{
  MaterialFunction<2> e("1: 70, 2 5: 10*(1+x), default: 3", {1}, {0., false, 1e3}, {}, "E");
  EXPECT_NE(message_of([&] { e.resolve(MeshRegions({1, 2})); }).find("material id 5"), std::string::npos);
  e.resolve(MeshRegions({1, 2, 5, 9}));
  EXPECT_DOUBLE_EQ(e.value({1., 0.}, 1), 70.);
  EXPECT_DOUBLE_EQ(e.value({1., 0.}, 5), 20.);
  EXPECT_DOUBLE_EQ(e.value({1., 0.}, 9), 3.);
  EXPECT_FALSE(e.is_piecewise_constant());
  EXPECT_EQ(e.text(1), "70");
  EXPECT_EQ(e.text(2), "varies");
  EXPECT_NE(message_of([&] {
              e.value({-2., 0.}, 2);
            }).find("material id 2; it must be greater than 0"),
            std::string::npos);
}

namespace
{
  /** Faces in `cold`, which is 12, in `sensor`, in both, and in none. */
  MeshRegions cold_and_sensor(std::array<unsigned int, 4> &ids)
  {
    MeshRegions regions;
    ids[3] = regions.add(std::vector<MeshRegions::Group>());
    ids[0] = regions.add({{12, "cold"}});
    ids[1] = regions.add({{-1, "sensor"}});
    ids[2] = regions.unite(ids[0], ids[1]);
    return regions;
  }
} // namespace

TEST(AppMaterialFunction, NamesAndCellsInTwoMaterials)
{
  std::array<unsigned int, 4> ids{};
  const MeshRegions           regions = cold_and_sensor(ids);
  MaterialFunction<2>         e("COLD: 2, sensor: 4/2, default: 1", {1}, {}, {}, "E");
  e.resolve(regions);
  for (unsigned int i = 0; i < 4; ++i)
    EXPECT_EQ(e.value({0., 0.}, ids[i]), i < 3 ? 2. : 1.);
  const auto refused = [&](const std::string &text) {
    return message_of([&] { MaterialFunction<2>(text, {1}, {}, {}, "E").resolve(regions); });
  };
  EXPECT_NE(refused("cold: 2, sensor: 3, 0: 1").find("in 'cold' and in 'sensor'"), std::string::npos);
  EXPECT_NE(refused("cold: 2, 0: 1").find("says nothing about material 'sensor'"), std::string::npos);
}

TEST(AppBoundaryFormulas, FacesInTwoBoundaries)
{
  std::array<unsigned int, 4> ids{};
  const MeshRegions           regions = cold_and_sensor(ids);
  EXPECT_EQ(ids[0], 12u);
  EXPECT_EQ(regions.text(ids[2]), "cold + sensor");
  using Overlap = BoundaryFormulas<2>::Overlap;
  // Free components combine, equal formulas are one, others contradict each other.
  BoundaryFormulas<2> held("cold: 0; free, sensor: free; x", 2, true, {}, {}, "Dirichlet");
  held.resolve(regions);
  EXPECT_EQ(held.ids(), (std::set<dealii::types::boundary_id>{ids[0], ids[1], ids[2]}));
  EXPECT_EQ(held.formula(ids[0], 1), nullptr);
  EXPECT_EQ(held.formula(ids[1], 0), nullptr);
  EXPECT_EQ(held.formula(ids[2], 0)->value({3., 4.}), 0.);
  EXPECT_EQ(held.formula(ids[2], 1)->value({3., 4.}), 3.);
  EXPECT_NO_THROW(BoundaryFormulas<2>("cold: x, sensor: x, all: 5", 1, false, {}, {}, "Dirichlet").resolve(regions));
  const auto refused = [&](const std::string &text, const std::set<dealii::types::boundary_id> &all_held) {
    return message_of([&] { BoundaryFormulas<2>(text, 1, false, {}, {}, "E").resolve(regions, all_held); });
  };
  EXPECT_NE(refused("cold: x, sensor: y", {}).find("in 'cold' and in 'sensor'"), std::string::npos);
  EXPECT_NE(refused("cold: x, 12: x", {}).find("names boundary 'cold' twice, as 'cold' and '12'"), std::string::npos);
  EXPECT_NE(refused("hot: x", {}).find("names boundary 'hot', but no face has it; the mesh has"), std::string::npos);
  EXPECT_NE(refused("cold: 1", {ids[0], ids[2]}).find("without effect on boundary 'cold'"), std::string::npos);
  // Loads add up, also where a part of a boundary is held.
  BoundaryFormulas<2> load("12: 1, sensor: x", 1, false, {}, {}, "Flux");
  load.resolve(regions, {ids[2]}, Overlap::sum);
  EXPECT_EQ(load.value(ids[0], 0, {3., 4.}), 1.);
  EXPECT_EQ(load.value(ids[1], 0, {3., 4.}), 3.);
  EXPECT_EQ(load.value(ids[2], 0, {3., 4.}), 4.);
  EXPECT_EQ(load.value(ids[3], 0, {3., 4.}), 0.);
}

TEST(AppBoundaryFormulas, AllStandsForTheRest)
{
  BoundaryFormulas<2> formulas("1: 5; free, all: exact", 2, true, {"x", "y"}, {}, "Dirichlet");
  formulas.resolve(MeshRegions({0, 1, 2}));
  EXPECT_EQ(formulas.ids(), (std::set<dealii::types::boundary_id>{0, 1, 2}));
  EXPECT_EQ(formulas.formula(1, 1), nullptr);
  EXPECT_DOUBLE_EQ(formulas.formula(1, 0)->value({0., 0.}), 5.);
  EXPECT_DOUBLE_EQ(formulas.formula(2, 1)->value({3., 4.}), 4.);
  EXPECT_EQ(formulas.formula(7, 0), nullptr);
  EXPECT_NE(message_of([] {
              BoundaryFormulas<2> absent("9: 1", 1, false, {}, {}, "Flux");
              absent.resolve(MeshRegions({0, 1}));
            }).find("boundary id 9, but no face has it; the mesh has 0, 1"),
            std::string::npos);
}

TEST(AppMemoryForecast, RefusesWhatDoesNotFit)
{
  const Backend  host("host");
  MemoryForecast forecast;
  forecast.matrix = host.free_memory() / 2;
  EXPECT_NO_THROW(require_memory(forecast, host, OneRank()));
  forecast.matrix           = std::size_t(1) << 50;
  const std::string message = message_of([&] { require_memory(forecast, host, OneRank()); });
  EXPECT_NE(message.find("1.13e+06 GB"), std::string::npos) << message;
  EXPECT_NE(message.find("are free"), std::string::npos);
}
