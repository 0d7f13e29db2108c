// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patches_host.h>

#include <tuple>

namespace PatchFEM::kernels
{
  /** Rows gather staged cells. */
  template <typename Form, typename Number>
  struct HostGather : public AnyKernel
  {
    static constexpr const char *name = "row after row";

    static bool      serves(const KernelRequest &r) { return r.strategy == "gather"; }
    static PatchRoom room(const KernelRequest &r) { return {r.fast_memory / 4}; }

    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const PatchBody<Form::n_components, Number> body{a};
      sum_patches(body, 0, [&](const int patch, const auto &scratch) {
        for (int row = 0; row < a.patches.end_row(patch) - a.patches.first_row(patch); ++row)
          body.add_staged(patch, row, SerialTeam(), scratch);
      });
    }
  };
} // namespace PatchFEM::kernels

namespace PatchFEM
{
  struct StrategyRow;

  namespace strategies
  {
    /** Cell matrices go to a buffer that rows gather from. */
    struct Gather
    {
      static StrategyRow row();

      template <typename Form, typename Number>
      static auto kernels(Host)
      {
        return std::tuple<PatchFEM::kernels::HostGather<Form, Number>>();
      }

      template <typename Form, typename Number>
      static auto kernels(Cuda);
    };
  } // namespace strategies
} // namespace PatchFEM

#ifdef __CUDACC__
#include "strategy_gather.cuh"
#endif
