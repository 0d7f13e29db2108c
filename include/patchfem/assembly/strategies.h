// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/assembly.h>
#include <patchfem/strategies/edges.h>
#include <patchfem/strategies/gather.h>
#include <patchfem/strategies/patches.h>

#include <tuple>
#include <vector>

namespace PatchFEM
{
  /**
   * The strategies of every build, in the order in which `auto` asks and users see them. Each has row(), a StrategyRow,
   * and kernels<Form, Number>(where) for both back ends, tuples in the order in which they are asked (AnyKernel). Those
   * of papers are in benchmarks/papers/strategies.
   */
  using Strategies = std::tuple<strategies::Edges, strategies::Patches, strategies::Gather>;

  namespace kernels
  {
    /** An AnyKernel as numbers and functions. */
    template <typename Number, typename Where>
    struct KernelEntry
    {
      const char *name;
      bool        stages                                       = false;
      double      buffer_share                                 = 0.;
      bool (*serves)(const KernelRequest &)                    = nullptr;
      int (*numbers_per_cell)(const KernelRequest &)           = nullptr;
      PatchRoom (*room)(const KernelRequest &)                 = nullptr;
      void (*launch)(Where, const AssemblyArguments<Number> &) = nullptr;
    };

    template <typename Number, typename Where>
    using KernelEntries = std::vector<KernelEntry<Number, Where>>;

    /** Appends a tuple of kernels. */
    template <typename Number, typename Where, typename... Kernels>
    void append(std::tuple<Kernels...>, KernelEntries<Number, Where> &entries)
    {
      const auto append_one = [&](const auto kernel) {
        using Kernel = std::decay_t<decltype(kernel)>;
        if constexpr (Kernel::possible)
        {
          KernelEntry<Number, Where> entry{Kernel::name};
          entry.stages = Kernel::stages;
          entry.serves = Kernel::serves;
          entry.launch = Kernel::launch;
          if constexpr (Kernel::stages)
          {
            entry.buffer_share     = Kernel::buffer_share;
            entry.numbers_per_cell = Kernel::numbers_per_cell;
          }
          else
            entry.room = Kernel::room;
          entries.push_back(entry);
        }
      };
      (append_one(Kernels()), ...);
    }

    /** Appends the kernels of strategies. */
    template <typename Form, typename Number, typename Where, typename... Strategy>
    void append_kernels(std::tuple<Strategy...>, const Where where, KernelEntries<Number, Where> &entries)
    {
      append(std::tuple_cat(Strategy::template kernels<Form, Number>(where)...), entries);
    }

    /** Kernels of strategies that other libraries add (add_strategies()): asked after those of Strategies. */
    template <typename Form, typename Number, typename Where>
    KernelEntries<Number, Where> &linked_kernels()
    {
      static KernelEntries<Number, Where> entries;
      return entries;
    }

    /**
     * The first kernel that stages and the first that sums of those of all strategies that serve @p request, of which
     * @p Elements stages what no strategy does itself; without one that sums there is no room and nothing to call.
     */
    template <typename Form, typename Number, typename Elements, typename Where>
    AssemblyKernel<Number> find_kernel(const Where where, const KernelRequest &request)
    {
      KernelEntries<Number, Where> entries;
      append_kernels<Form, Number>(Strategies(), where, entries);
      const auto &linked = linked_kernels<Form, Number, Where>(); // a library may be loaded between two calls
      entries.insert(entries.end(), linked.begin(), linked.end());
      append(std::tuple<Elements>(), entries);
      AssemblyKernel<Number> result;
      double                 buffer_share     = 0.;
      int                    numbers_per_cell = 0;
      for (const KernelEntry<Number, Where> &entry : entries)
      {
        auto &launch = entry.stages ? result.stage : result.sum;
        if (launch || !entry.serves(request))
          continue;
        launch = [where, kernel = entry.launch](const AssemblyArguments<Number> &a) { kernel(where, a); };
        result.name.insert(entry.stages ? 0 : result.name.size(), entry.name);
        if (entry.stages)
        {
          buffer_share     = entry.buffer_share;
          numbers_per_cell = entry.numbers_per_cell(request);
        }
        else
          result.room = entry.room(request);
      }
      if (!result.sum)
        return AssemblyKernel<Number>();
      result.room.buffer_share     = buffer_share;
      result.room.numbers_per_cell = numbers_per_cell;
      result.room.total            = request.fast_memory;
      result.room.bytes_per_entry  = sizeof(Number);
      result.room.symmetric        = is_symmetric<Form> && Form::n_components == 1;
      return result;
    }
  } // namespace kernels
} // namespace PatchFEM
