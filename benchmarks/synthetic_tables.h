// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_tables.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <parallel/algorithm>
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

  /** Vertices of n^dim cells, the inner ones moved by up to a fifth of a cell. [vertex][dim] */
  inline std::vector<double> cube_points(const int n, const int dim = 3)
  {
    const std::int64_t  m = n + 1, n_points = dim == 2 ? m * m : m * m * m;
    std::vector<double> points(dim * n_points);
#pragma omp parallel for schedule(static)
    for (std::int64_t v = 0; v < n_points; ++v)
    {
      const std::int64_t index[3] = {v % m, v / m % m, v / (m * m)};
      const bool         inner    = std::all_of(index, index + dim, [&](std::int64_t i) { return i > 0 && i < n; });
      for (int d = 0; d < dim; ++d)
        points[dim * v + d] = (index[d] + (inner ? 0.4 * (hashed(3 * v + d) - 0.5) : 0.)) / n;
    }
    return points;
  }

  /** A permutation that scatters numbers far apart, as an unstructured mesh generator does: it sorts by a hash. */
  inline std::vector<int> random_permutation(const std::int64_t n)
  {
    std::vector<std::pair<std::uint64_t, int>> keys(n);
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      keys[i] = {static_cast<std::uint64_t>(hashed(7 * i + 1) * 0x1p53), static_cast<int>(i)};
    __gnu_parallel::sort(keys.begin(), keys.end());
    std::vector<int> result(n);
#pragma omp parallel for schedule(static)
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
  /** Points and weights of the Gauss rule with @p n of them on [0, 1], n from 2 to 4. */
  inline std::vector<std::array<double, 2>> gauss_rule(const int n)
  {
    const double a = std::sqrt(1.2);
    const double z = n == 2 ? std::sqrt(1. / 3.) : n == 3 ? std::sqrt(0.6) : std::sqrt((3. + 2. * a) / 7.);
    const double w = n == 2 ? 0.5 : n == 3 ? 5. / 18. : (18. - std::sqrt(30.)) / 72.;

    std::vector<std::array<double, 2>> rule{{{0.5 - z / 2., w}}, {{0.5 + z / 2., w}}};
    if (n == 3)
      rule.push_back({{0.5, 4. / 9.}});
    if (n == 4)
      for (const double sign : {-1., 1.})
        rule.push_back({{0.5 + sign * std::sqrt((3. - 2. * a) / 7.) / 2., 0.5 - w}});
    return rule;
  }

  /** Value and slope at @p x of the Lagrange polynomial that is 1 at @p k / @p degree. */
  inline std::array<double, 2> lagrange(const int degree, const int k, const double x)
  {
    double value = 1., slope = 0.;
    for (int m = 0; m <= degree; ++m)
      if (m != k)
      {
        slope = (slope * (degree * x - m) + value * degree) / (k - m);
        value *= (degree * x - m) / (k - m);
      }
    return {{value, slope}};
  }

  /** Quadrilateral or hexahedron of degrees 1 to 3 with degree + 1 Gauss points a direction; nodes line by line. */
  inline ReferenceElement tensor_element(const int dim, const int degree)
  {
    ReferenceElement r;
    const auto       rule  = gauss_rule(degree + 1);
    const auto       power = [&](const int base) { return dim == 2 ? base * base : base * base * base; };
    const auto       digit = [](int i, const int base, int d) {
      for (; d > 0; --d)
        i /= base;
      return i % base;
    };
    // Values, then gradients, of the functions of degree p at x.
    const auto tabulate = [&](const int p, const double *x, std::vector<double> &values,
                              std::vector<double> *gradients) {
      for (int i = 0; i < power(p + 1); ++i)
      {
        double value = 1., gradient[3] = {1., 1., 1.};
        for (int d = 0; d < dim; ++d)
        {
          const auto f = lagrange(p, digit(i, p + 1, d), x[d]);
          value *= f[0];
          for (int e = 0; e < dim; ++e)
            gradient[e] *= f[d == e];
        }
        values.push_back(value);
        if (gradients != nullptr)
          gradients->insert(gradients->end(), gradient, gradient + dim);
      }
    };
    r.name         = "Q" + std::to_string(degree);
    r.dim          = dim;
    r.degree       = degree;
    r.n_shape      = power(degree + 1);
    r.n_geometry   = power(2);
    r.n_quadrature = power(degree + 1);
    for (int q = 0; q < r.n_quadrature; ++q)
    {
      double x[3], weight = 1.;
      for (int d = 0; d < dim; ++d)
      {
        x[d] = rule[digit(q, degree + 1, d)][0];
        weight *= rule[digit(q, degree + 1, d)][1];
      }
      r.weights.push_back(weight);
      tabulate(degree, x, r.shape_values, &r.shape_gradients);
      tabulate(1, x, r.geometry_values, &r.geometry_gradients);
    }
    for (int i = 0; i < r.n_shape; ++i)
    {
      double x[3];
      for (int d = 0; d < dim; ++d)
        x[d] = double(digit(i, degree + 1, d)) / degree;
      tabulate(1, x, r.support_geometry_values, nullptr);
    }
    return r;
  }

  /**
   * Slabs of @p n^dim quadrilaterals or hexahedra of side 1, one beside the other, of the given @p degrees; inner vertices
   * are moved by up to a fifth of a cell. Neighbours of different degrees share their vertices alone: no function
   * space, but a pattern and matrices like those of one.
   */
  inline ElementTables
  slabs_of_degrees(const int dim, const int n, const int n_components, const std::vector<int> &degrees)
  {
    ElementTables tables;
    tables.dim          = dim;
    tables.n_components = n_components;
    const int n_slabs = static_cast<int>(degrees.size()), n_z = dim == 2 ? 1 : n;
    const int m[3] = {n_slabs * n + 1, n + 1, dim == 2 ? 1 : n + 1};
    for (int v = 0; v < m[0] * m[1] * m[2]; ++v)
    {
      const int index[3] = {v % m[0], v / m[0] % m[1], v / (m[0] * m[1])};
      bool      inner    = true;
      for (int d = 0; d < dim; ++d)
        inner = inner && index[d] > 0 && index[d] < m[d] - 1;
      for (int d = 0; d < dim; ++d)
        tables.points.push_back(index[d] + (inner ? 0.4 * (hashed(3 * v + d) - 0.5) : 0.));
    }
    std::vector<int> vertex_node(m[0] * m[1] * m[2], -1);
    for (int slab = 0; slab < n_slabs; ++slab)
    {
      const int        p = degrees[slab], l[3] = {n * p + 1, n * p + 1, dim == 2 ? 1 : n * p + 1};
      std::vector<int> node(static_cast<std::size_t>(l[0]) * l[1] * l[2], -1);
      CellTable        batch;
      batch.reference = tensor_element(dim, p);
      batch.n_cells   = n * n * n_z;
      for (int cell = 0; cell < batch.n_cells; ++cell)
      {
        const int at[3] = {cell % n, cell / n % n, cell / (n * n)};
        for (int k = 0; k < (dim == 2 ? 1 : p + 1); ++k)
          for (int j = 0; j <= p; ++j)
            for (int i = 0; i <= p; ++i)
            {
              const int  x = at[0] * p + i, y = at[1] * p + j, z = at[2] * p + k;
              const bool corner = x % p == 0 && y % p == 0 && z % p == 0;
              int       &number = corner ? vertex_node[slab * n + x / p + m[0] * (y / p + m[1] * (z / p))]
                                         : node[x + std::size_t(l[0]) * (y + std::size_t(l[1]) * z)];
              if (number < 0)
                number = tables.n_nodes++;
              batch.nodes.push_back(number);
            }
        for (int v = 0; v < batch.reference.n_geometry; ++v)
          batch.geometry.push_back(slab * n + at[0] + (v & 1) +
                                   m[0] * (at[1] + (v >> 1 & 1) + m[1] * (at[2] + (v >> 2))));
      }
      batch.material_ids.assign(batch.n_cells, 0);
      tables.batches.push_back(std::move(batch));
    }
    return tables;
  }

  /**
   * Sums at the nodes, [node][n_values], over cells and quadrature points, in plain loops that share nothing with
   * kernels: @p add(reference, nodes, gradients, q, weight, sums) adds to the sums of the cell's nodes, with real
   * gradients of the shape functions and the weight of point q times the determinant of the Jacobian.
   */
  template <typename Add>
  std::vector<double> sum_over_points(const ElementTables &tables, const int n_values, const Add &add)
  {
    using Gradient          = std::array<double, 3>;
    const int           dim = tables.dim;
    std::vector<double> y(std::int64_t(tables.n_nodes) * n_values, 0.);
    for (const CellTable &batch : tables.batches)
    {
      const ReferenceElement &r = batch.reference;
      const int               n = r.n_shape, n_geometry = r.n_geometry;
#pragma omp parallel
      {
        std::vector<Gradient> g(n);
        std::vector<double>   sums(n * n_values);
#pragma omp for schedule(static)
        for (int c = 0; c < batch.n_cells; ++c)
        {
          const int *nodes = &batch.nodes[std::int64_t(c) * n];
          std::fill(sums.begin(), sums.end(), 0.);
          for (int q = 0; q < r.n_quadrature; ++q)
          {
            double J[3][3] = {}, inverse[3][3], det = 0.;
            J[2][2] = dim == 2 ? 1. : 0.;
            for (int v = 0; v < n_geometry; ++v)
            {
              const double *point = &tables.points[dim * std::int64_t(batch.points_of(c)[v])];
              for (int a = 0; a < dim; ++a)
                for (int b = 0; b < dim; ++b)
                  J[a][b] += point[a] * r.geometry_gradients[(q * n_geometry + v) * dim + b];
            }
            for (int a = 0; a < 3; ++a)
            {
              for (int b = 0; b < 3; ++b)
                inverse[b][a] = J[(a + 1) % 3][(b + 1) % 3] * J[(a + 2) % 3][(b + 2) % 3] -
                                J[(a + 1) % 3][(b + 2) % 3] * J[(a + 2) % 3][(b + 1) % 3];
              det += J[0][a] * inverse[a][0];
            }
            for (int v = 0; v < n; ++v)
            {
              g[v] = {{0., 0., 0.}};
              for (int a = 0; a < dim; ++a)
                for (int b = 0; b < dim; ++b)
                  g[v][a] += inverse[b][a] / det * r.shape_gradients[(q * n + v) * dim + b];
            }
            add(r, nodes, g.data(), q, det * r.weights[q], sums.data());
          }
          for (int k = 0; k < n * n_values; ++k)
#pragma omp atomic
            y[std::int64_t(nodes[k / n_values]) * n_values + k % n_values] += sums[k];
        }
      }
    }
    return y;
  }

  /** y = sum_e K_e x_e in the numbering of the tables: K_e = sum_q w (lambda, mu) = (1.5, 0.8) or w grad . grad. */
  inline std::vector<double> element_product(const ElementTables &tables, const std::vector<double> &x)
  {
    const int n_comp = tables.n_components, dim = tables.dim;
    return sum_over_points(tables, n_comp,
                           [&](const ReferenceElement &r, const int *nodes, const std::array<double, 3> *g, int,
                               const double weight, double *sums) {
                             double u[3][3] = {};
                             for (int v = 0; v < r.n_shape; ++v)
                               for (int k = 0; k < n_comp; ++k)
                                 for (int a = 0; a < dim; ++a)
                                   u[k][a] += x[std::int64_t(nodes[v]) * n_comp + k] * g[v][a];
                             for (int v = 0; v < r.n_shape; ++v)
                               for (int k = 0; k < n_comp; ++k)
                               {
                                 double sum = 0.;
                                 for (int a = 0; a < dim; ++a)
                                   sum += n_comp == 1 ? u[0][a] * g[v][a]
                                                      : 1.5 * u[a][a] * g[v][k] + 0.8 * (u[k][a] + u[a][k]) * g[v][a];
                                 sums[v * n_comp + k] += weight * sum;
                               }
                           });
  }

  /** Integrals of the shape functions: the load of one component whose body load is 1. */
  inline std::vector<double> element_load(const ElementTables &tables)
  {
    return sum_over_points(tables, 1,
                           [](const ReferenceElement &r, const int *, const std::array<double, 3> *, const int q,
                              const double weight, double *sums) {
                             for (int v = 0; v < r.n_shape; ++v)
                               sums[v] += weight * r.shape_values[q * r.n_shape + v];
                           });
  }
} // namespace synthetic
