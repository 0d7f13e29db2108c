// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_benchmarks_synthetic_tables_h
#define patchfem_benchmarks_synthetic_tables_h

#include <patchfem/assembly/element_tables.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

/**
 * Element tables of cubes without deal.II, for kernel tests and benchmarks: elements of degree 1 on hexahedra and
 * tetrahedra, whose interior vertices are moved so that no two cells are alike and no Jacobian is constant.
 */
namespace synthetic
{
  using PatchFEM::CellTable;
  using PatchFEM::ElementTables;
  using PatchFEM::ReferenceElement;

  /** A reproducible number in [0, 1) for each @p i. */
  inline double hashed(std::uint64_t i)
  {
    i += 0x9e3779b97f4a7c15ull;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9ull;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebull;
    return static_cast<double>((i ^ (i >> 31)) >> 11) * 0x1p-53;
  }

  /** Trilinear hexahedron with 2 x 2 x 2 Gauss points; vertex v lies at the bits of v. */
  inline ReferenceElement hexahedron()
  {
    ReferenceElement r;
    r.name    = "Q1 hexahedron";
    r.dim     = 3;
    r.degree  = 1;
    r.n_shape = r.n_geometry = r.n_quadrature = 8;
    const double gauss[2]                     = {0.5 - std::sqrt(1. / 12.), 0.5 + std::sqrt(1. / 12.)};
    for (int q = 0; q < 8; ++q)
    {
      r.weights.push_back(0.125);
      for (int v = 0; v < 8; ++v)
      {
        double value[3], slope[3];
        for (int d = 0; d < 3; ++d)
        {
          const double x = gauss[(q >> d) & 1];
          value[d]       = (v >> d) & 1 ? x : 1. - x;
          slope[d]       = (v >> d) & 1 ? 1. : -1.;
        }
        r.shape_values.push_back(value[0] * value[1] * value[2]);
        r.shape_gradients.push_back(slope[0] * value[1] * value[2]);
        r.shape_gradients.push_back(value[0] * slope[1] * value[2]);
        r.shape_gradients.push_back(value[0] * value[1] * slope[2]);
      }
    }
    r.geometry_values    = r.shape_values;
    r.geometry_gradients = r.shape_gradients;
    r.support_geometry_values.assign(64, 0.);
    for (int v = 0; v < 8; ++v)
      r.support_geometry_values[9 * v] = 1.;
    return r;
  }

  /** Linear tetrahedron with the four-point rule of degree 2. */
  inline ReferenceElement tetrahedron()
  {
    ReferenceElement r;
    r.name    = "P1 tetrahedron";
    r.dim     = 3;
    r.degree  = 1;
    r.simplex = r.constant_jacobian = true;
    r.n_shape = r.n_geometry = r.n_quadrature = 4;
    const double a = 0.25 * (1. - 1. / std::sqrt(5.)), b = 1. - 3. * a;
    for (int q = 0; q < 4; ++q)
    {
      r.weights.push_back(1. / 24.);
      for (int v = 0; v < 4; ++v)
      {
        r.shape_values.push_back(q == v ? b : a);
        for (int d = 0; d < 3; ++d)
          r.shape_gradients.push_back(v == 0 ? -1. : (v == d + 1 ? 1. : 0.));
      }
    }
    r.geometry_values    = r.shape_values;
    r.geometry_gradients = r.shape_gradients;
    r.support_geometry_values.assign(16, 0.);
    for (int v = 0; v < 4; ++v)
      r.support_geometry_values[5 * v] = 1.;
    return r;
  }

  /** Vertices of n^3 cells, the inner ones moved by up to a fifth of a cell. [vertex][3] */
  inline std::vector<double> cube_points(const int n)
  {
    const std::int64_t  m = n + 1;
    std::vector<double> points(3 * m * m * m);
#pragma omp parallel for schedule(static)
    for (std::int64_t v = 0; v < m * m * m; ++v)
    {
      const std::int64_t index[3] = {v % m, v / m % m, v / (m * m)};
      const bool         inner    = std::all_of(index, index + 3, [&](std::int64_t i) { return i > 0 && i < n; });
      for (int d = 0; d < 3; ++d)
        points[3 * v + d] = (index[d] + (inner ? 0.4 * (hashed(3 * v + d) - 0.5) : 0.)) / n;
    }
    return points;
  }

  /**
   * A permutation that scatters numbers far apart, as an unstructured mesh generator does. Blocks of it need no
   * serial shuffle: it sorts by a hash.
   */
  inline std::vector<int> random_permutation(const std::int64_t n)
  {
    std::vector<std::pair<std::uint64_t, int>> keys(n);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      keys[i] = {static_cast<std::uint64_t>(hashed(7 * i + 1) * 0x1p53), static_cast<int>(i)};
    std::sort(keys.begin(), keys.end());
    std::vector<int> result(n);
    for (std::int64_t i = 0; i < n; ++i)
      result[keys[i].second] = static_cast<int>(i);
    return result;
  }

  inline ElementTables cube_of_hexahedra(const int n, const int n_components)
  {
    ElementTables      tables;
    const std::int64_t m = n + 1, n_cells = std::int64_t(n) * n * n;
    tables.dim          = 3;
    tables.n_components = n_components;
    tables.n_nodes      = static_cast<int>(m * m * m);
    tables.points       = cube_points(n);
    CellTable batch;
    batch.reference = hexahedron();
    batch.n_cells   = static_cast<int>(n_cells);
    batch.nodes.resize(8 * n_cells);
#pragma omp parallel for schedule(static)
    for (std::int64_t c = 0; c < n_cells; ++c)
      for (int v = 0; v < 8; ++v)
        batch.nodes[8 * c + v] = static_cast<int>(
            (c % n + (v & 1)) + m * ((c / n % n + ((v >> 1) & 1)) + m * (c / (std::int64_t(n) * n) + (v >> 2))));
    batch.geometry = batch.nodes;
    batch.material_ids.assign(n_cells, 0);
    tables.batches.push_back(std::move(batch));
    return tables;
  }

  /** Each cube cut into Kuhn's six tetrahedra; @p scattered numbers nodes and cells at random. */
  inline ElementTables cube_of_tetrahedra(const int n, const int n_components, const bool scattered)
  {
    ElementTables          tables = cube_of_hexahedra(n, n_components);
    const CellTable        cubes  = std::move(tables.batches[0]);
    CellTable              batch;
    const std::int64_t     n_cells    = 6 * std::int64_t(cubes.n_cells);
    static constexpr int   path[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const std::vector<int> node_order = scattered ? random_permutation(tables.n_nodes) : std::vector<int>();
    const std::vector<int> cell_order = scattered ? random_permutation(n_cells) : std::vector<int>();
    batch.reference                   = tetrahedron();
    batch.n_cells                     = static_cast<int>(n_cells);
    batch.nodes.resize(4 * n_cells);
#pragma omp parallel for schedule(static)
    for (std::int64_t t = 0; t < n_cells; ++t)
    {
      const int         *p          = path[t % 6];
      const int          corners[4] = {0, 1 << p[0], (1 << p[0]) | (1 << p[1]), 7};
      const bool         odd        = (t % 6 == 1 || t % 6 == 2 || t % 6 == 5); // odd permutations turn the cell over
      const std::int64_t to         = scattered ? cell_order[t] : t;
      for (int v = 0; v < 4; ++v)
      {
        const int node          = cubes.nodes[8 * (t / 6) + corners[odd && v >= 2 ? 5 - v : v]];
        batch.nodes[4 * to + v] = scattered ? node_order[node] : node;
      }
    }
    if (scattered)
    {
      std::vector<double> points(tables.points.size());
#pragma omp parallel for schedule(static)
      for (int v = 0; v < tables.n_nodes; ++v)
        for (int d = 0; d < 3; ++d)
          points[3 * std::int64_t(node_order[v]) + d] = tables.points[3 * std::int64_t(v) + d];
      tables.points = std::move(points);
    }
    batch.geometry = batch.nodes;
    batch.material_ids.assign(n_cells, 0);
    tables.batches[0] = std::move(batch);
    return tables;
  }

  /** @p n tetrahedra around the axis from node 0 to node 1, which both have n + 2 neighbours with themselves. */
  inline ElementTables fan_of_tetrahedra(const int n)
  {
    ElementTables tables;
    tables.dim          = 3;
    tables.n_components = 1;
    tables.n_nodes      = n + 2;
    tables.points       = {0., 0., 0., 0.1, 0., 1.};
    CellTable batch;
    batch.reference = tetrahedron();
    batch.n_cells   = n;
    for (int k = 0; k < n; ++k)
    {
      const double angle = 2. * 3.14159265358979 * (k + 0.3 * hashed(k)) / n;
      tables.points.insert(tables.points.end(), {std::cos(angle), std::sin(angle), 0.5 + 0.2 * hashed(k + n)});
      batch.nodes.insert(batch.nodes.end(), {0, k + 2, (k + 1) % n + 2, 1});
    }
    batch.geometry = batch.nodes;
    batch.material_ids.assign(n, 0);
    tables.batches.push_back(std::move(batch));
    return tables;
  }
} // namespace synthetic

#endif
