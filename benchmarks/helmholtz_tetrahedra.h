// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "synthetic_tables.h"

/** -div(grad u) + u on linear tetrahedra, element by element in plain loops: what the benchmarks compare with. */
namespace synthetic
{
  /** y = A x in the numbering of @p tables; |T| (grad v . grad w + (1 + delta_vw) / 20) is exact. */
  inline std::vector<double> helmholtz_product(const ElementTables &tables, const std::vector<double> &x)
  {
    const CellTable    &batch = tables.batches[0];
    std::vector<double> y(x.size(), 0.);
#pragma omp parallel for schedule(static)
    for (int c = 0; c < batch.n_cells; ++c)
    {
      const int    *nodes  = &batch.nodes[4 * std::int64_t(c)];
      const double *origin = &tables.points[3 * std::int64_t(nodes[0])];
      double        edge[3][3], gradient[4][3] = {};
      for (int v = 0; v < 3; ++v)
        for (int d = 0; d < 3; ++d)
          edge[v][d] = tables.points[3 * std::int64_t(nodes[v + 1]) + d] - origin[d];
      const auto cross = [&](const int a, const int b, const int d) {
        return edge[a][(d + 1) % 3] * edge[b][(d + 2) % 3] - edge[a][(d + 2) % 3] * edge[b][(d + 1) % 3];
      };
      double determinant = 0.;
      for (int d = 0; d < 3; ++d)
        determinant += edge[0][d] * cross(1, 2, d);
      for (int v = 0; v < 3; ++v)
        for (int d = 0; d < 3; ++d)
        {
          gradient[v + 1][d] = cross((v + 1) % 3, (v + 2) % 3, d) / determinant;
          gradient[0][d] -= gradient[v + 1][d];
        }
      double flux[3] = {}, sum = 0.;
      for (int v = 0; v < 4; ++v)
      {
        sum += x[nodes[v]];
        for (int d = 0; d < 3; ++d)
          flux[d] += gradient[v][d] * x[nodes[v]];
      }
      for (int v = 0; v < 4; ++v)
      {
        const double stiffness = gradient[v][0] * flux[0] + gradient[v][1] * flux[1] + gradient[v][2] * flux[2];
        const double part      = determinant / 6. * (stiffness + (sum + x[nodes[v]]) / 20.);
#pragma omp atomic
        y[nodes[v]] += part;
      }
    }
    return y;
  }
} // namespace synthetic
