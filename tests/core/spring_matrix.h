// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <map>
#include <utility>
#include <vector>

/** Matrices whose couplings tests state one by one. */
namespace cases
{
  using namespace PatchFEM;

  using Springs = std::map<std::pair<int, int>, double>; ///< of nodes i < j

  /** Of nodes that springs join, each with @p n_c unknowns that are alike and held by @p ground. */
  template <typename Number = double>
  SlicedEllpackMatrix<Number>
  spring_matrix(const Backend &backend, const int n, const int n_c, const Springs &springs, const double ground = 1e-8)
  {
    std::vector<std::map<int, double>> rows(n);
    for (int i = 0; i < n; ++i)
      rows[i][i] = ground;
    for (const auto &[pair, k] : springs)
      for (const auto &[i, j] : {pair, std::make_pair(pair.second, pair.first)})
      {
        rows[i][i] += k;
        rows[i][j] -= k;
      }
    HostCSR<Number> A{n * n_c, n * n_c, {0}, {}, {}};
    for (const std::map<int, double> &row : rows)
      for (int a = 0; a < n_c; ++a)
      {
        std::vector<std::pair<int, Number>> entries;
        for (const auto &[j, value] : row)
          for (int b = 0; b < n_c; ++b)
            entries.emplace_back(j * n_c + b, static_cast<Number>(a == b ? value : 0.));
        A.append_row(entries);
      }
    return SlicedEllpackMatrix<Number>(backend, A, n_c);
  }
} // namespace cases
