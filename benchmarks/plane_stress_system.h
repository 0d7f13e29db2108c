// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/host_csr.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace benchmark
{
  /**
   * Plane stress on the unit square by bilinear quadrilaterals, E = 1 and nu = 0.3, n^2 nodes in lexicographic order: the
   * example "quad" of P0 for n = 401. The side x = 0 is fixed; its rows and columns hold only the diagonal, but their
   * entries stay in the pattern, as they are counted there. The load is a shear of 1 on the side x = 1.
   */
  struct PlaneStressSystem
  {
    int    n;
    double element[8][8] = {}; ///< [2 vertex + component]

    explicit PlaneStressSystem(const int n) : n(n)
    {
      const double nu = 0.3, scale = 1. / (1. - nu * nu);
      const double D[3][3]  = {{scale, nu * scale, 0.}, {nu * scale, scale, 0.}, {0., 0., 0.5 * (1. - nu) * scale}};
      const double gauss[2] = {0.5 - std::sqrt(1. / 12.), 0.5 + std::sqrt(1. / 12.)};
      for (int q = 0; q < 4; ++q)
      {
        // Strains of the shape functions times the length of an edge, which cancels with the area of the cell.
        const double x = gauss[q & 1], y = gauss[q >> 1];
        double       B[3][8] = {};
        for (int v = 0; v < 4; ++v)
        {
          const double dx = ((v & 1) ? 1. : -1.) * ((v >> 1) ? y : 1. - y);
          const double dy = ((v >> 1) ? 1. : -1.) * ((v & 1) ? x : 1. - x);
          B[0][2 * v] = B[2][2 * v + 1] = dx;
          B[1][2 * v + 1] = B[2][2 * v] = dy;
        }
        for (int i = 0; i < 8; ++i)
          for (int j = 0; j < 8; ++j)
            for (int a = 0; a < 3; ++a)
              for (int b = 0; b < 3; ++b)
                element[i][j] += 0.25 * B[a][i] * D[a][b] * B[b][j];
      }
    }

    int n_dofs() const { return 2 * n * n; }

    PatchFEM::HostCSR<double> matrix() const
    {
      PatchFEM::HostCSR<double> A;
      A.n_rows = A.n_columns = n_dofs();
      A.row_offsets.push_back(0);
      for (int node = 0; node < n * n; ++node)
        for (int a = 0; a < 2; ++a)
        {
          const int x = node % n, y = node / n;
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
              if (x + dx >= 0 && x + dx < n && y + dy >= 0 && y + dy < n)
                for (int b = 0; b < 2; ++b)
                {
                  A.columns.push_back(2 * (node + dy * n + dx) + b);
                  A.values.push_back(entry(x, y, a, x + dx, y + dy, b));
                }
          A.row_offsets.push_back(A.columns.size());
        }
      return A;
    }

    std::vector<double> load() const
    {
      std::vector<double> result(n_dofs(), 0.);
      for (int y = 0; y < n; ++y)
        result[2 * (y * n + n - 1) + 1] = (y == 0 || y == n - 1 ? 0.5 : 1.) / (n - 1);
      return result;
    }

  private:
    /** The sum over the cells that hold both nodes. */
    double entry(const int x, const int y, const int a, const int X, const int Y, const int b) const
    {
      if ((x == 0 || X == 0) && !(x == X && y == Y && a == b))
        return 0.;
      double sum = 0.;
      for (int cy = std::max(y, Y) - 1; cy <= std::min(y, Y); ++cy)
        for (int cx = std::max(x, X) - 1; cx <= std::min(x, X); ++cx)
          if (cx >= 0 && cy >= 0 && cx < n - 1 && cy < n - 1)
            sum += element[2 * ((x - cx) + 2 * (y - cy)) + a][2 * ((X - cx) + 2 * (Y - cy)) + b];
      return sum;
    }
  };
} // namespace benchmark
