// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "team.cuh"

#include "kernels/unique_rows.h"

namespace PatchFEM::kernels
{
  template <typename Rows>
  NothingElse count_unique(Cuda where, const int n_rows, int, const Rows &rows, int *counts, int *kept)
  {
    team_for(where, n_rows, UniqueRowBody<Rows>{rows, counts, nullptr, nullptr, kept});
    return {};
  }

  template <typename Rows>
  void write_unique(Cuda        where,
                    const int   n_rows,
                    const Rows &rows,
                    const NothingElse &,
                    int                *kept,
                    const std::int64_t *offsets,
                    int                *columns)
  {
    team_for(where, n_rows, UniqueRowBody<Rows>{rows, nullptr, offsets, columns, kept});
  }
} // namespace PatchFEM::kernels

#define PATCHFEM_INSTANTIATE_UNIQUE_ROWS(Rows)                                   \
  template NothingElse count_unique(Cuda, int, int, const Rows &, int *, int *); \
  template void        write_unique(Cuda, int, const Rows &, const NothingElse &, int *, const std::int64_t *, int *)
