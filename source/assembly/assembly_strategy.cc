// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/assembly/strategies.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  const std::vector<StrategyRow> &assembly_strategies()
  {
    static const auto table = [] {
      auto rows = std::apply(
          [](const auto... strategy) { return std::vector<StrategyRow>{decltype(strategy)::row()...}; }, Strategies());
      rows.insert(rows.end(), linked_strategies().begin(), linked_strategies().end());
      return rows;
    }();
    return table;
  }

  const StrategyRow *find_strategy(const std::string &name)
  {
    const auto &rows = assembly_strategies();
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const StrategyRow &row) { return row.name == name; });
    return found != rows.end() ? &*found : nullptr;
  }

  std::vector<StrategyRow> &linked_strategies()
  {
    static std::vector<StrategyRow> rows;
    return rows;
  }

  bool may_take(const StrategyRow &row, const Patches::AdditionalData &data)
  {
    return row.automatic || row.name == data.strategy;
  }

  std::vector<const StrategyRow *>
  likely_strategies(const ElementTables &tables, const Patches::AdditionalData &data, const bool sure)
  {
    std::vector<const StrategyRow *> result;
    if (const StrategyRow *row = find_strategy(data.strategy))
      return {row};
    for (const StrategyRow &row : assembly_strategies())
      if (row.automatic && (row.serves == nullptr || row.serves(tables)))
      {
        result.push_back(&row);
        if (sure && row.serves == nullptr)
          break;
      }
    return result;
  }

  std::string names_of_strategies()
  {
    std::string result = "auto";
    for (const StrategyRow &row : assembly_strategies())
      result += "|" + row.name;
    return result;
  }

  std::string words_of_strategies()
  {
    std::string result;
    for (const StrategyRow &row : assembly_strategies())
      result += row.name + ": " + row.words + "; ";
    return result +
           "auto: patches, unless a cell would be integrated more than 3.5 times; on a GPU patches for Laplace's "
           "equation on cells of degree 1 and for vectors on trilinear hexahedra, edges for other symmetric forms of "
           "gradients on linear simplices, and gather for all others.";
  }

  std::shared_ptr<const Patches> make_plan(const ElementBatches                  &batches,
                                           const RowCells                        &row_cells,
                                           const Sparsity                        &sparsity,
                                           const std::vector<kernels::PatchRoom> &rooms,
                                           const Patches::AdditionalData         &data)
  {
    const std::vector<StrategyRow> &rows  = assembly_strategies();
    const StrategyRow              *asked = find_strategy(data.strategy);
    require(asked != nullptr || data.strategy == "auto", "There is no Assembly/Strategy ", data.strategy,
            " in this build.");
    require(asked == nullptr || batches.n_batches() > 1 || rooms[asked - rows.data()].available > 0, "The strategy ",
            data.strategy, " has no kernel for this weak form and these cells on this back end.");
    require(batches.partitioner() == nullptr || asked == nullptr || asked->automatic, "The strategy ", data.strategy,
            " is for one rank; choose auto.");
    const auto made = [&](const StrategyRow &row) -> std::shared_ptr<Patches> {
      const kernels::PatchRoom &room = rooms[&row - rows.data()];
      if (room.available == 0) // no kernel
        return nullptr;
      auto       plan = row.make(batches.backend());
      const bool serves =
          plan->reinit({batches, row_cells, sparsity, data, row.name, room,
                        &row == asked ? HUGE_VAL : room.most_redundant, &row == asked && batches.n_batches() == 1});
      return serves ? plan : nullptr;
    };
    std::shared_ptr<Patches> plan = asked != nullptr ? made(*asked) : nullptr;
    for (const StrategyRow &row : rows)
      if (!plan && row.automatic && &row != asked)
        plan = made(row);
    require(plan != nullptr, "No strategy of assembly serves here.");
    return plan;
  }
} // namespace PatchFEM
