// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/host_csr.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

/** P3's problem without deal.II: -div(sigma grad u) + lambda u = f with P1 tetrahedra and natural boundary values. */
namespace benchmark
{
  struct Ball
  {
    double centre[3], radius;
  };

  /** Ten balls of different sizes, some of which overlap; together 22 % of a cube of side 4. */
  inline std::vector<Ball> balls()
  {
    return {{{0.9, 0.8, 0.9}, 0.75}, {{2.9, 0.9, 0.8}, 0.65}, {{1.0, 2.9, 0.9}, 0.6},   {{3.0, 3.0, 1.0}, 0.8},
            {{2.0, 2.0, 2.1}, 0.7},  {{0.8, 1.0, 3.0}, 0.7},  {{3.0, 1.1, 2.8}, 0.775}, {{1.1, 3.1, 3.0}, 0.8},
            {{3.2, 2.9, 3.1}, 0.6},  {{2.2, 1.3, 1.2}, 0.4}};
  }

  /**
   * The cube [0, 4]^3 in n^3 equal cubes, each in 6 tetrahedra around the diagonal from its lowest to its highest
   * vertex (Kuhn). sigma is @p inside in cells whose centre lies in a ball and 1 elsewhere, lambda = 1. Nodes are
   * numbered lexicographically; rows hold the up to 15 nodes that share a cell, also where the entry is 0.
   */
  inline PatchFEM::HostCSR<double> helmholtz_matrix(const int n, const double inside = 1.)
  {
    const int    m = n + 1;
    const double h = 4. / n, volume = h * h * h / 6.;
    // An entry of row i is that of the node i + d, d in {-1, 0, 1}^3, at (d_0 + 1) + 3 (d_1 + 1) + 9 (d_2 + 1).
    std::vector<std::array<double, 27>> rows(std::size_t(m) * m * m);
    for (auto &row : rows)
      row.fill(0.);
    const int               order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const std::vector<Ball> all         = balls();
    // Layers of cubes of one parity do not share nodes.
    for (int parity = 0; parity < 2; ++parity)
#pragma omp parallel for schedule(static)
      for (int z = parity; z < n; z += 2)
        for (int y = 0; y < n; ++y)
          for (int x = 0; x < n; ++x)
            for (const auto &path : order)
            {
              // Vertex k + 1 is one step along axis path[k] from vertex k, so grad phi_k = (e_path[k-1] - e_path[k]) / h.
              int    vertex[4][3]   = {{x, y, z}};
              double gradient[4][3] = {}, centre[3] = {};
              for (int k = 0; k < 3; ++k)
              {
                std::copy_n(vertex[k], 3, vertex[k + 1]);
                ++vertex[k + 1][path[k]];
                gradient[k][path[k]] -= 1. / h;
                gradient[k + 1][path[k]] += 1. / h;
              }
              for (const auto &v : vertex)
                for (int a = 0; a < 3; ++a)
                  centre[a] += 0.25 * h * v[a];
              const bool in_ball = std::any_of(all.begin(), all.end(), [&](const Ball &ball) {
                double square = 0.;
                for (int a = 0; a < 3; ++a)
                  square += (centre[a] - ball.centre[a]) * (centre[a] - ball.centre[a]);
                return square < ball.radius * ball.radius;
              });
              for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j)
                {
                  double value = volume / 20. * (i == j ? 2. : 1.);
                  for (int a = 0; a < 3; ++a)
                    value += (in_ball ? inside : 1.) * volume * gradient[i][a] * gradient[j][a];
                  int place = 13;
                  for (int a = 0, stride = 1; a < 3; ++a, stride *= 3)
                    place += stride * (vertex[j][a] - vertex[i][a]);
                  rows[vertex[i][0] + std::size_t(m) * (vertex[i][1] + std::size_t(m) * vertex[i][2])][place] += value;
                }
            }

    PatchFEM::HostCSR<double> A;
    A.n_rows = A.n_columns = m * m * m;
    A.row_offsets.push_back(0);
    for (int i = 0; i < A.n_rows; ++i)
    {
      const int x[3] = {i % m, i / m % m, i / m / m};
      for (int place = 0; place < 27; ++place)
      {
        const int d[3] = {place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1};
        bool      up = false, down = false, in_mesh = true;
        for (int a = 0; a < 3; ++a)
        {
          up      = up || d[a] > 0;
          down    = down || d[a] < 0;
          in_mesh = in_mesh && x[a] + d[a] >= 0 && x[a] + d[a] <= n;
        }
        if (!in_mesh || (up && down))
          continue;
        A.columns.push_back(i + d[0] + m * (d[1] + m * d[2]));
        A.values.push_back(rows[i][place]);
      }
      A.row_offsets.push_back(static_cast<std::int64_t>(A.columns.size()));
    }
    return A;
  }
} // namespace benchmark
