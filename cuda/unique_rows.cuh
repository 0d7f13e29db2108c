// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "team.cuh"

#include "kernels/unique_rows.h"

namespace PatchFEM::kernels
{
  template <typename Rows>
  CompressedPattern
  unique_rows(Cuda where, const Backend &place, const int n_rows, const int n_values, const Rows &rows)
  {
    Array<int>          counts(place, n_rows), kept(place, std::size_t(n_rows) * Rows::n_kept);
    UniqueRowBody<Rows> body{rows, static_cast<unsigned int>(n_values), counts.data(), nullptr, nullptr, kept.data()};
    team_for(where, n_rows, body);
    CompressedPattern result(where, n_values, counts);
    body.counts  = nullptr;
    body.offsets = result.offsets.data();
    body.columns = result.columns.data();
    team_for(where, n_rows, body);
    return result;
  }
} // namespace PatchFEM::kernels

#define PATCHFEM_INSTANTIATE_UNIQUE_ROWS(Rows) \
  template CompressedPattern unique_rows(Cuda, const Backend &, int, int, const Rows &)
