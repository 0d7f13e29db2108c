// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/assembly.h>
#include <patchfem/strategies/gather.h>
#include <patchfem/strategies/patches.h>

#include <tuple>

namespace PatchFEM
{
  /**
   * All strategies, in the order in which `automatic` asks and users see them. Each has row(), a StrategyRow, and
   * kernels<Form, Number>(where) for both back ends, tuples in the order in which they are asked (AnyKernel).
   */
  using Strategies = std::tuple<strategies::Patches, strategies::Gather>;

  namespace kernels
  {
    /** The kernels of all strategies that serve @p request; cells that no strategy stages itself go to @p Elements. */
    template <typename Form, typename Number, typename Elements, typename Where>
    AssemblyKernel<Number> find_kernel(const Where where, const KernelRequest &request)
    {
      AssemblyKernel<Number> result;
      double                 buffer_share = 0.;
      const auto             ask          = [&](const auto kernel) {
        using Kernel = std::decay_t<decltype(kernel)>;
        if constexpr (Kernel::possible)
        {
          auto &launch = Kernel::stages ? result.stage : result.sum;
          if (launch || !Kernel::serves(request))
            return;
          launch = [where](const AssemblyArguments<Number> &a) { Kernel::launch(where, a); };
          if constexpr (Kernel::stages)
          {
            buffer_share = Kernel::buffer_share;
            result.name.insert(0, Kernel::name);
          }
          else
          {
            result.room = Kernel::room(request);
            result.name += Kernel::name;
          }
        }
      };
      std::apply(
          [&](const auto... strategy) {
            std::apply(
                [&](const auto... kernel) { (ask(kernel), ...); },
                std::tuple_cat(decltype(strategy)::template kernels<Form, Number>(where)..., std::tuple<Elements>()));
          },
          Strategies());
      require(bool(result.sum), "There is no kernel for the strategy ", request.strategy, " on this back end.");
      result.room.buffer_share    = buffer_share;
      result.room.total           = request.fast_memory;
      result.room.bytes_per_entry = sizeof(Number);
      result.room.symmetric       = is_symmetric<Form> && Form::n_components == 1;
      return result;
    }
  } // namespace kernels
} // namespace PatchFEM
