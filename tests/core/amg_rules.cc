// SPDX-License-Identifier: LGPL-2.1-or-later
#include "multigrid_cases.h"

#include "message_of.h"

#include <set>

using namespace PatchFEM;

TEST(AMGRules, NamesStandForThem)
{
  std::set<std::string> names{"all"};
  AMGRules              sum;
  for (std::size_t r = 0; r < amg_rules().size(); ++r)
  {
    const AMGRuleRow &row = amg_rules()[r];
    EXPECT_TRUE(names.insert(row.name).second && !row.words.empty());
    EXPECT_EQ(amg_rules_of(row.name), AMGRules().set(r));
    sum |= amg_rules_of(row.name);
  }
  EXPECT_EQ(amg_rules().size(), sum.size());
  EXPECT_TRUE(sum.all() && amg_rules_of(" all ").all() && amg_rules_of("").none());
  EXPECT_EQ(amg_rules_of("chain weights,partial W-cycle").count(), 2u);
  EXPECT_NE(message_of([] { amg_rules_of("chain weights, w"); }).find("; there are: all, mesh distances"),
            std::string::npos);
}

TEST(AMGRules, DecideOnParameters)
{
  AMGParameters parameters;
  EXPECT_EQ(parameters.coarse_size_for(std::int64_t(1) << 40), 1000);
  EXPECT_EQ(parameters.sweeps_on(true, false), 3);
  EXPECT_EQ(parameters.sweeps_on(false, false, 4), 4);
  EXPECT_EQ(parameters.range_on(true, 4), 32.);
  parameters.disabled_rules = amg_rules_of("coarse size by work");
  EXPECT_TRUE(parameters.has(AMGRule::mesh_distances));
  EXPECT_EQ(parameters.coarse_size_for(std::int64_t(1) << 40), 500);
  EXPECT_EQ(parameters.range_on(true), 20.);
  parameters.disabled_rules = amg_rules_of("adapted smoothing");
  EXPECT_EQ(parameters.coarse_size_for(std::int64_t(1) << 40), 1000);
  EXPECT_EQ(parameters.sweeps_on(true, true, 4), 2);
  EXPECT_EQ(parameters.range_on(true, 4), 7.);
  parameters.coarse_sweeps = 5;
  EXPECT_EQ(parameters.sweeps_on(true), 5);
  EXPECT_EQ(parameters.sweeps_on(false), 2);
}
