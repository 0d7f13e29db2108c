// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/host_csr.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace benchmark
{
  /**
   * The pressure equation of a liquid on n^3 voxels (P2): a tank with solid walls and a solid sphere in its middle, nine
   * tenths full or with a given number of cells, air above. Unknowns are the fluid cells in lexicographic order; the diagonal is the number of
   * neighbours that are not solid, an entry of -1 belongs to each neighbour that is fluid, air has pressure 0.
   */
  struct VoxelSystem
  {
    int              n;
    std::vector<int> unknown; ///< [cell], -1 unless fluid
    int              n_unknowns = 0;

    enum class Cell
    {
      solid,
      fluid,
      air
    };

    explicit VoxelSystem(const int n, const int most = std::numeric_limits<int>::max())
        : n(n), unknown(std::size_t(n) * n * n, -1)
    {
      for (int z = 0; z < n; ++z)
        for (int y = 0; y < n; ++y)
          for (int x = 0; x < n; ++x)
            if (n_unknowns < most && !is_solid(x, y, z) && 10 * z < 9 * n)
              unknown[index(x, y, z)] = n_unknowns++;
    }

    std::size_t index(const int x, const int y, const int z) const { return (std::size_t(z) * n + y) * n + x; }

    bool is_solid(const int x, const int y, const int z) const
    {
      if (x < 0 || y < 0 || z < 0 || x >= n || y >= n || z >= n)
        return true;
      const double dx = (x + 0.5) / n - 0.5, dy = (y + 0.5) / n - 0.5, dz = (z + 0.5) / n - 0.5;
      return dx * dx + dy * dy + dz * dz < 0.04;
    }

    Cell cell(const int x, const int y, const int z) const
    {
      return is_solid(x, y, z) ? Cell::solid : (unknown[index(x, y, z)] >= 0 ? Cell::fluid : Cell::air);
    }

    /** Calls @p visit(unknown or -1 for air) for every neighbour that is not solid, by ascending unknowns. */
    template <typename Visitor>
    void for_each_neighbour(const int x, const int y, const int z, const Visitor &visit) const
    {
      const int neighbours[6][3] = {{x, y, z - 1}, {x, y - 1, z}, {x - 1, y, z},
                                    {x + 1, y, z}, {x, y + 1, z}, {x, y, z + 1}};
      for (const auto &c : neighbours)
        if (cell(c[0], c[1], c[2]) != Cell::solid)
          visit(unknown[index(c[0], c[1], c[2])]);
    }

    PatchFEM::HostCSR<double> matrix() const
    {
      PatchFEM::HostCSR<double> A;
      A.n_rows = A.n_columns = n_unknowns;
      A.row_offsets.reserve(std::size_t(n_unknowns) + 1);
      A.columns.reserve(std::size_t(n_unknowns) * 7);
      A.row_offsets.push_back(0);
      for (int z = 0; z < n; ++z)
        for (int y = 0; y < n; ++y)
          for (int x = 0; x < n; ++x)
          {
            const int row = unknown[index(x, y, z)];
            if (row < 0)
              continue;
            double diagonal = 0.;
            for_each_neighbour(x, y, z, [&](int) { diagonal += 1.; });
            bool       placed = false;
            const auto place  = [&]() {
              A.columns.push_back(row);
              A.values.push_back(diagonal);
              placed = true;
            };
            for_each_neighbour(x, y, z, [&](const int column) {
              if (column < 0)
                return;
              if (!placed && column > row)
                place();
              A.columns.push_back(column);
              A.values.push_back(-1.);
            });
            if (!placed)
              place();
            A.row_offsets.push_back(A.columns.size());
          }
      return A;
    }

    /** y = A x in plain loops over cells. */
    std::vector<double> product(const std::vector<double> &src) const
    {
      std::vector<double> dst(n_unknowns);
#pragma omp parallel for schedule(static)
      for (int z = 0; z < n; ++z)
        for (int y = 0; y < n; ++y)
          for (int x = 0; x < n; ++x)
          {
            const int row = unknown[index(x, y, z)];
            if (row < 0)
              continue;
            double sum = 0.;
            for_each_neighbour(x, y, z, [&](const int column) { sum += src[row] - (column < 0 ? 0. : src[column]); });
            dst[row] = sum;
          }
      return dst;
    }
  };
} // namespace benchmark
