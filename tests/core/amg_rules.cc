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
  EXPECT_EQ(amg_rules_of("weak couplings,partial W-cycle").count(), 2u);
  AMGParameters parameters;
  parameters.disabled_rules = amg_rules_of("decoupled kernel"); // the last one
  EXPECT_TRUE(parameters.has(AMGRule::mesh_distances) && !parameters.has(AMGRule::decoupled_kernel));
  EXPECT_NE(message_of([] { amg_rules_of("weak couplings, w"); }).find("; there are: all, mesh distances"),
            std::string::npos);
}
