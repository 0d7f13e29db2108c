// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/assembly/strategies.h>

#include <patchfem/base/commit.h>

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace PatchFEM
{
  namespace
  {
    const std::string how_to_build = "build it with ./patchfem build papers";

    /** The strategies that the library patchfem_papers adds when it is loaded. */
    const std::vector<std::string> names_of_papers = {
        "colour", "global_nz", "grouped_nz", "shared_nz", "local_nz", "boundary_array", "atomics", "coo", "product"};

    bool is_of_papers(const std::string &name)
    {
      return std::find(names_of_papers.begin(), names_of_papers.end(), name) != names_of_papers.end();
    }

    std::vector<StrategyRow> &table()
    {
      static auto rows = std::apply(
          [](const auto... strategy) { return std::vector<StrategyRow>{decltype(strategy)::row()...}; }, Strategies());
      return rows;
    }

    const StrategyRow *look_up(const std::string &name)
    {
      const auto &rows  = table();
      const auto  found = std::find_if(rows.begin(), rows.end(), [&](const auto &row) { return row.name == name; });
      return found != rows.end() ? &*found : nullptr;
    }

    /** Loads patchfem_papers, which lies beside this library, if it is there and was built at the same commit. */
    void load_papers()
    {
      Dl_info here;
      if (dladdr(reinterpret_cast<const void *>(&load_papers), &here) == 0)
        return;
      const std::string core = here.dli_fname, file = core.substr(0, core.rfind('/') + 1) + "libpatchfem_papers.so";
      void *const       library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (library == nullptr)
      {
        const std::string reason = dlerror();
        require(!std::ifstream(file).good(), "The strategies of papers cannot be loaded: ", reason, ".");
        return;
      }
      const auto of = reinterpret_cast<const char *(*)()>(dlsym(library, "patchfem_papers_commit"));
      require(of != nullptr && commit() == of(), file, " is of another commit than this program; ", how_to_build, ".");
    }
  } // namespace

  const std::vector<StrategyRow> &assembly_strategies()
  {
    return table();
  }

  void add_strategies(const std::vector<StrategyRow> &rows)
  {
    table().insert(table().end(), rows.begin(), rows.end());
  }

  const StrategyRow *find_strategy(const std::string &name)
  {
    if (look_up(name) == nullptr && is_of_papers(name))
      load_papers();
    return look_up(name);
  }

  void require_strategy(const std::string &name)
  {
    require(name == "auto" || find_strategy(name) != nullptr, "The Assembly/Strategy ", name,
            is_of_papers(name) ? " is one of papers, which have a library of their own; " : " does not exist; ",
            is_of_papers(name) ? how_to_build : "choose " + names_of_strategies(), ".");
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
    for (const std::string &name : names_of_papers)
      if (look_up(name) == nullptr)
        result += "|" + name;
    return result;
  }

  std::string words_of_strategies()
  {
    std::string result;
    for (const StrategyRow &row : assembly_strategies())
      result += row.name + ": " + row.words + "; ";
    return result +
           "others: of papers, see doc/papers.md; auto: patches, unless a cell would be integrated more than 3.5 "
           "times; on a GPU patches for Laplace's "
           "equation on cells of degree 1 and for vectors on trilinear hexahedra, edges for other symmetric forms of "
           "gradients on linear simplices, and gather for all others.";
  }

  std::shared_ptr<const Patches> make_plan(const ElementBatches                  &batches,
                                           const RowCells                        &row_cells,
                                           const Sparsity                        &sparsity,
                                           const std::vector<kernels::PatchRoom> &rooms,
                                           const Patches::AdditionalData         &data)
  {
    require_strategy(data.strategy);
    const std::vector<StrategyRow> &rows  = assembly_strategies();
    const StrategyRow              *asked = find_strategy(data.strategy);
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
