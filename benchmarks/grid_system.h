// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/ordering.h"
#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

/**
 * Q1 problems on a cube of n^3 nodes with equal cells, assembled entry by entry from the one element matrix: the
 * systems of the benchmarks of the linear algebra, made without deal.II and in the same way on the host and on the
 * device. Nodes are numbered lexicographically; those with x = 0 are fixed: their rows and columns hold only the
 * diagonal.
 */
namespace benchmark
{
  /**
   * n_c unknowns per node: 1 is the Laplacian, 3 isotropic elasticity with E = 1, and 6 two such bodies that
   * are coupled by half of what each resists with: the blocks of a coarse level with rigid-body modes.
   */
  template <int n_c>
  struct GridSystem
  {
    static constexpr int size = 8 * n_c;

    int    n                    = 0;  ///< nodes along an edge
    double element[size * size] = {}; ///< [vertex][component][vertex][component]

    explicit GridSystem(const int n, const double nu = 0.3) : n(n)
    {
      // Two Gauss points in each direction on the cell [0, h]^3, h = 1 / (n - 1).
      const double h = 1. / (n - 1), gauss[2] = {0.5 - std::sqrt(1. / 12.), 0.5 + std::sqrt(1. / 12.)};
      const double mu = 0.5 / (1. + nu), lambda = nu / ((1. + nu) * (1. - 2. * nu));
      for (int q = 0; q < 8; ++q)
      {
        double gradient[8][3];
        for (int v = 0; v < 8; ++v)
          for (int d = 0; d < 3; ++d)
          {
            gradient[v][d] = 1. / h;
            for (int e = 0; e < 3; ++e)
            {
              const double x  = gauss[(q >> e) & 1];
              const bool   up = (v >> e) & 1;
              gradient[v][d] *= e == d ? (up ? 1. : -1.) : (up ? x : 1. - x);
            }
          }
        const double weight = h * h * h / 8.;
        for (int v = 0; v < 8; ++v)
          for (int w = 0; w < 8; ++w)
          {
            const double *g = gradient[v], *k = gradient[w];
            const double  dot = g[0] * k[0] + g[1] * k[1] + g[2] * k[2];
            for (int a = 0; a < n_c; ++a)
              for (int b = 0; b < n_c; ++b)
                element[((v * n_c + a) * 8 + w) * n_c + b] +=
                    weight * (a / 3 == b / 3 ? 1. : 0.5) *
                    (n_c == 1
                         ? dot
                         : lambda * g[a % 3] * k[b % 3] + mu * g[b % 3] * k[a % 3] + (a % 3 == b % 3 ? mu * dot : 0.));
          }
      }
    }

    PATCHFEM_HOST_DEVICE std::int64_t n_nodes() const { return std::int64_t(n) * n * n; }
    PATCHFEM_HOST_DEVICE std::int64_t n_dofs() const { return n_nodes() * n_c; }

    /** The block that couples nodes @p i and @p j, [n_c * n_c], row major. */
    PATCHFEM_HOST_DEVICE void block(const int i, const int j, double *values) const
    {
      for (int e = 0; e < n_c * n_c; ++e)
        values[e] = 0.;
      const int x[3] = {i % n, i / n % n, i / n / n}, y[3] = {j % n, j / n % n, j / n / n};
      if ((x[0] == 0 || y[0] == 0) && i != j)
        return;
      // Cells that hold both nodes: the cell whose lowest node is c, for c in the intersection of the ranges.
      int first[3], last[3];
      for (int d = 0; d < 3; ++d)
      {
        const int high = x[d] > y[d] ? x[d] : y[d], low = x[d] < y[d] ? x[d] : y[d];
        first[d] = high - 1 > 0 ? high - 1 : 0;
        last[d]  = low < n - 2 ? low : n - 2;
      }
      for (int c2 = first[2]; c2 <= last[2]; ++c2)
        for (int c1 = first[1]; c1 <= last[1]; ++c1)
          for (int c0 = first[0]; c0 <= last[0]; ++c0)
          {
            const int v = (x[0] - c0) + 2 * (x[1] - c1) + 4 * (x[2] - c2);
            const int w = (y[0] - c0) + 2 * (y[1] - c1) + 4 * (y[2] - c2);
            for (int a = 0; a < n_c; ++a)
              for (int b = 0; b < n_c; ++b)
                values[a * n_c + b] += element[((v * n_c + a) * 8 + w) * n_c + b];
          }
      if (x[0] == 0)
        for (int a = 0; a < n_c; ++a)
          for (int b = 0; b < n_c; ++b)
            if (a != b)
              values[a * n_c + b] = 0.;
    }

    /** The nodes in their order along a Hilbert curve. */
    std::vector<int> along_curve() const
    {
      std::vector<std::uint64_t> keys(n_nodes());
      std::vector<int>           nodes(n_nodes());
#pragma omp parallel for schedule(static)
      for (int i = 0; i < static_cast<int>(n_nodes()); ++i)
      {
        std::uint32_t x[3] = {std::uint32_t(i % n), std::uint32_t(i / n % n), std::uint32_t(i / n / n)};
        keys[i]            = PatchFEM::kernels::hilbert_index<3>(x, 10);
        nodes[i]           = i;
      }
      PatchFEM::kernels::stable_sort_by_key(PatchFEM::Host(), n_nodes(), keys.data(), nodes.data(), 30);
      return nodes;
    }

    /** The pattern of node pairs that share a cell, where block row i belongs to node @p node_at[i], or to node i. */
    void pattern(std::vector<std::int64_t> &row_offsets,
                 std::vector<int>          &columns,
                 const std::vector<int>    &node_at = std::vector<int>()) const
    {
      if (!node_at.empty())
      {
        std::vector<std::int64_t> offsets;
        std::vector<int>          neighbours, row_of(node_at.size());
        pattern(offsets, neighbours);
        row_offsets.assign(offsets.size(), 0);
        columns.resize(neighbours.size());
        for (std::size_t i = 0; i < node_at.size(); ++i)
        {
          row_of[node_at[i]] = static_cast<int>(i);
          row_offsets[i + 1] = row_offsets[i] + offsets[node_at[i] + 1] - offsets[node_at[i]];
        }
#pragma omp parallel for schedule(static)
        for (std::size_t i = 0; i < node_at.size(); ++i)
        {
          std::int64_t e = row_offsets[i];
          for (std::int64_t k = offsets[node_at[i]]; k < offsets[node_at[i] + 1]; ++k)
            columns[e++] = row_of[neighbours[k]];
          std::sort(columns.begin() + row_offsets[i], columns.begin() + e);
        }
        return;
      }
      const int n_rows = static_cast<int>(n_nodes());
      row_offsets.assign(std::size_t(n_rows) + 1, 0);
      const auto count = [this](const int x) { return 1 + (x > 0) + (x < n - 1); };
      for (int i = 0; i < n_rows; ++i)
        row_offsets[i + 1] = row_offsets[i] + count(i % n) * count(i / n % n) * count(i / n / n);
      columns.resize(row_offsets.back());
#pragma omp parallel for schedule(static)
      for (int i = 0; i < n_rows; ++i)
      {
        std::int64_t e = row_offsets[i];
        const int    x = i % n, y = i / n % n, z = i / n / n;
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
              if (x + dx >= 0 && x + dx < n && y + dy >= 0 && y + dy < n && z + dz >= 0 && z + dz < n)
                columns[e++] = i + dx + n * (dy + n * dz);
      }
    }

    /** y = A x in plain loops over neighbours: what every format is compared with. */
    std::vector<double> product(const std::vector<double> &src) const
    {
      std::vector<double> dst(n_dofs(), 0.);
      const int           n_rows = static_cast<int>(n_nodes());
#pragma omp parallel for schedule(static)
      for (int i = 0; i < n_rows; ++i)
      {
        const int x = i % n, y = i / n % n, z = i / n / n;
        double    values[n_c * n_c];
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
              if (x + dx >= 0 && x + dx < n && y + dy >= 0 && y + dy < n && z + dz >= 0 && z + dz < n)
              {
                const int j = i + dx + n * (dy + n * dz);
                block(i, j, values);
                for (int a = 0; a < n_c; ++a)
                  for (int b = 0; b < n_c; ++b)
                    dst[std::int64_t(i) * n_c + a] += values[a * n_c + b] * src[std::int64_t(j) * n_c + b];
              }
      }
      return dst;
    }
  };

  /** Values in [-1, 1] without a pattern. */
  inline std::vector<double> scattered_values(const std::size_t n)
  {
    std::vector<double> result(n);
#pragma omp parallel for schedule(static)
    for (std::size_t i = 0; i < n; ++i)
    {
      std::uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull;
      h ^= h >> 31;
      h *= 0xbf58476d1ce4e5b9ull;
      result[i] = double(h >> 11) / double(1ull << 52) - 1.;
    }
    return result;
  }

  /** max |a - b| / max |b| */
  template <typename Number>
  double relative_difference(const std::vector<Number> &a, const std::vector<double> &b)
  {
    double difference = 0., magnitude = 0.;
    bool   finite = a.size() == b.size();
#pragma omp parallel for schedule(static) reduction(max : difference, magnitude) reduction(&& : finite)
    for (std::size_t i = 0; i < b.size(); ++i)
    {
      finite     = finite && std::isfinite(double(a[i]));
      difference = std::fmax(difference, std::fabs(double(a[i]) - b[i]));
      magnitude  = std::fmax(magnitude, std::fabs(b[i]));
    }
    return finite ? difference / magnitude : HUGE_VAL;
  }
} // namespace benchmark
