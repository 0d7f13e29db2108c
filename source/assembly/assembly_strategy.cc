// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/assembly/strategies.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  const std::vector<StrategyRow> &assembly_strategies()
  {
    static const auto table = std::apply(
        [](const auto... strategy) { return std::vector<StrategyRow>{decltype(strategy)::row()...}; }, Strategies());
    return table;
  }

  bool may_take(const StrategyRow &row, const Patches::AdditionalData &data)
  {
    return row.automatic || row.name == data.strategy;
  }

  std::vector<const StrategyRow *> likely_strategies(const Patches::AdditionalData &data, const bool sure)
  {
    std::vector<const StrategyRow *> result;
    for (const StrategyRow &row : assembly_strategies())
      if (row.name == data.strategy || (data.strategy == "automatic" && row.automatic && (result.empty() || !sure)))
        result.push_back(&row);
    return result;
  }

  std::string names_of_strategies()
  {
    std::string result = "automatic";
    for (const StrategyRow &row : assembly_strategies())
      result += "|" + row.name;
    return result;
  }

  std::string words_of_strategies()
  {
    std::string result;
    for (const StrategyRow &row : assembly_strategies())
      result += row.name + ": " + row.words + "; ";
    return result + "automatic: patches, unless a cell would be integrated more than 3.5 times, and gather for scalar "
                    "trilinear hexahedra in double precision on a GPU.";
  }

  std::shared_ptr<const Patches> make_plan(const ElementBatches                  &batches,
                                           const RowCells                        &row_cells,
                                           const Sparsity                        &sparsity,
                                           const std::vector<kernels::PatchRoom> &rooms,
                                           const Patches::AdditionalData         &data)
  {
    const std::vector<StrategyRow> &rows     = assembly_strategies();
    const auto                      is_asked = [&](const StrategyRow &row) { return row.name == data.strategy; };
    const auto                      asked    = std::find_if(rows.begin(), rows.end(), is_asked);
    require(asked != rows.end() || data.strategy == "automatic",
            [&] { return "There is no Assembly/Strategy " + data.strategy + "."; });
    const auto made = [&](const StrategyRow &row) {
      const kernels::PatchRoom &room = rooms[&row - rows.data()];
      auto                      plan = row.make(batches.backend());
      const bool                serves =
          plan->reinit({batches, row_cells, sparsity, data, row.name, room,
                        is_asked(row) ? HUGE_VAL : room.most_redundant, is_asked(row) && batches.n_batches() == 1});
      return serves ? plan : nullptr;
    };
    std::shared_ptr<Patches> plan = asked != rows.end() ? made(*asked) : nullptr;
    for (auto row = rows.begin(); row != rows.end() && !plan; ++row)
      if (row->automatic && row != asked)
        plan = made(*row);
    require(plan != nullptr, "No strategy of assembly serves here.");
    return plan;
  }
} // namespace PatchFEM
