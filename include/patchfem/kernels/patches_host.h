// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/threads.h>
#include <patchfem/kernels/patch_bodies.h>
#include <patchfem/kernels/team.h>

#include <algorithm>
#include <vector>

namespace PatchFEM::kernels
{
  /** Sums of patches: @p add_cells(patch, scratch) adds the cells that are not buffered, with @p worker_bytes. */
  template <typename Body, typename Function>
  void sum_patches(const Body &body, const std::size_t worker_bytes, const Function &add_cells)
  {
    const auto        &a = body.a;
    const PatchesView &p = a.patches;
    // One of several batches may have its cells in a few threads' shares of the patches.
    const int n_patches = a.end_patch - a.first_patch;
    const int piece     = a.batches.n_batches > 1 ? 16 : n_patches / max_threads() + 1;
    for_pieces(n_patches, piece, [&](const auto &next) {
      std::vector<double> memory((body.row_bytes() + worker_bytes) / sizeof(double) + 1);
      const auto          scratch = body.scratch(memory.data());
      next([&](const std::int64_t number) {
        const int patch = a.first_patch + static_cast<int>(number);
        if (body.idle(patch))
          return body.pass_over(patch, 0, 1);
        body.clear(patch, 0, 1, scratch);
        add_cells(patch, scratch);
        if (p.fed_offsets != nullptr)
          for (std::int64_t fed = p.fed_offsets[patch]; fed < p.fed_offsets[patch + 1]; ++fed)
            body.add_buffered(patch, fed, SerialTeam(), scratch);
        body.write(patch, 0, 1, scratch, a.add);
      });
    });
  }
} // namespace PatchFEM::kernels
