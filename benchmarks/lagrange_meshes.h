// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "synthetic_tables.h"

#include <patchfem/base/exceptions.h>

/**
 * Element tables that deal.II does not make: straight-sided triangles of degrees 1 to 5 and tetrahedra of degrees 1
 * and 2 with equidistant nodes, and a plate with holes as a mesh of triangles; also cells of degrees 1 to 3 on a grid.
 */
namespace synthetic
{
  using Barycentric = std::array<double, 4>; ///< the last of a triangle is 0

  /** Points of a simplex and weights whose sum is 1. */
  struct SimplexRule
  {
    std::vector<Barycentric> points;
    std::vector<double>      weights;
  };

  /** Symmetric rules of triangles exact to degree 8 (Dunavant 1985), and of tetrahedra to degree 2. */
  inline SimplexRule simplex_rule(const int dim, const int degree)
  {
    struct Orbit
    {
      int         degree;
      double      weight;
      Barycentric point; ///< and all different permutations of its coordinates
    };
    constexpr double third = 1. / 3., a = 0.13819660112501051518; // (5 - sqrt(5)) / 20
    const auto       two = [](const int degree, const double weight, const double x) {
      return Orbit{degree, weight, {x, x, 1. - 2. * x}};
    };
    const auto three = [](const int degree, const double weight, const double x, const double y) {
      return Orbit{degree, weight, {x, y, 1. - x - y}};
    };
    const std::vector<Orbit> orbits =
        dim == 3 ? std::vector<Orbit>{{2, 0.25, {a, a, a, 1. - 3. * a}}}
                 : std::vector<Orbit>{{1, 1., {third, third, third}},
                                      two(2, third, 1. / 6.),
                                      two(4, 0.22338158967801146570, 0.44594849091596488632),
                                      two(4, 0.10995174365532186764, 0.09157621350977074346),
                                      two(6, 0.11678627572637936603, 0.24928674517091042129),
                                      two(6, 0.05084490637020681692, 0.06308901449150222834),
                                      three(6, 0.08285107561837357519, 0.05314504984481694735, 0.31035245103378440542),
                                      {8, 0.14431560767778716825, {third, third, third}},
                                      two(8, 0.09509163426728462479, 0.45929258829272315603),
                                      two(8, 0.10321737053471825028, 0.17056930775176020662),
                                      two(8, 0.03245849762319808031, 0.05054722831703097546),
                                      three(8, 0.02723031417443499427, 0.00839477740995760534, 0.26311282963463811342)};
    int used = 8; // the least degree that is enough
    for (const Orbit &orbit : orbits)
      used = orbit.degree >= degree ? std::min(used, orbit.degree) : used;
    SimplexRule rule;
    for (Orbit orbit : orbits)
      if (orbit.degree == used)
      {
        const Barycentric first = orbit.point;
        do
        {
          rule.points.push_back(orbit.point);
          rule.weights.push_back(orbit.weight);
          std::next_permutation(orbit.point.begin(), orbit.point.begin() + dim + 1);
        } while (orbit.point != first);
      }
    return rule;
  }

  /** Edges of a triangle, or of a tetrahedron, by their vertices. */
  inline std::vector<std::array<int, 2>> simplex_edges(const int dim)
  {
    std::vector<std::array<int, 2>> edges{{0, 1}, {1, 2}, {2, 0}};
    if (dim == 3)
      edges.insert(edges.end(), {{0, 3}, {1, 3}, {2, 3}});
    return edges;
  }

  /** Barycentric coordinates of nodes times the degree: vertices, edge by edge from its first vertex, inside. */
  inline std::vector<std::array<int, 4>> simplex_nodes(const int dim, const int degree)
  {
    PatchFEM::require(degree >= 1 && degree <= (dim == 2 ? 5 : 2), "Simplices have no tables of this degree.");
    std::vector<std::array<int, 4>> nodes(dim + 1);
    for (int v = 0; v <= dim; ++v)
      nodes[v][v] = degree;
    for (const auto &[from, to] : simplex_edges(dim))
      for (int k = 1; k < degree; ++k)
      {
        std::array<int, 4> node{};
        node[from] = degree - k;
        node[to]   = k;
        nodes.push_back(node);
      }
    for (int j = 1; dim == 2 && j < degree; ++j)
      for (int i = 1; i < degree - j; ++i)
        nodes.push_back({degree - i - j, i, j});
    return nodes;
  }

  /** A Lagrange function, prod_v prod_{m < node_v} (degree x_v - m) / (m + 1), and its slopes by the x_v. */
  inline std::array<double, 5> lagrange(const int degree, const std::array<int, 4> &node, const Barycentric &x)
  {
    std::array<double, 5> result{1., 0., 0., 0., 0.};
    for (int v = 0; v < 4; ++v)
    {
      double value = 1., slope = 0.;
      for (int m = 0; m < node[v]; ++m)
      {
        slope = (slope * (degree * x[v] - m) + value * degree) / (m + 1);
        value *= (degree * x[v] - m) / (m + 1);
      }
      for (int w = 0; w < 4; ++w)
        result[1 + w] = v == w ? result[0] * slope : result[1 + w] * value;
      result[0] *= value;
    }
    return result;
  }

  /** @p exact: degree of the polynomials that the rule integrates; 0: stiffness and load, 2 degree - 2 and degree. */
  inline ReferenceElement lagrange_simplex(const int dim, const int degree, const int exact = 0)
  {
    const SimplexRule rule  = simplex_rule(dim, exact > 0 ? exact : std::max(2 * degree - 2, degree));
    const auto        nodes = simplex_nodes(dim, degree), vertices = simplex_nodes(dim, 1);
    const auto        tabulate = [dim](const int p, const auto &of, const Barycentric &x, std::vector<double> &values,
                                std::vector<double> *gradients) {
      for (const auto &node : of)
      {
        const auto f = lagrange(p, node, x);
        values.push_back(f[0]);
        for (int d = 0; d < dim && gradients != nullptr; ++d)
          gradients->push_back(f[2 + d] - f[1]);
      }
    };
    ReferenceElement r;
    r.name    = "P" + std::to_string(degree);
    r.dim     = dim;
    r.degree  = degree;
    r.simplex = r.constant_jacobian = true;
    r.n_shape                       = static_cast<int>(nodes.size());
    r.n_geometry                    = dim + 1;
    r.n_quadrature                  = static_cast<int>(rule.points.size());
    for (int q = 0; q < r.n_quadrature; ++q)
    {
      r.weights.push_back(rule.weights[q] / (dim == 2 ? 2. : 6.));
      tabulate(degree, nodes, rule.points[q], r.shape_values, &r.shape_gradients);
      tabulate(1, vertices, rule.points[q], r.geometry_values, &r.geometry_gradients);
    }
    for (const auto &node : nodes)
    {
      Barycentric x{};
      for (int v = 0; v <= dim; ++v)
        x[v] = double(node[v]) / degree;
      tabulate(1, vertices, x, r.support_geometry_values, nullptr);
    }
    return r;
  }

  /** Simplices of @p mesh, of degree 1, with the nodes of @p reference: vertices, edges, then insides of cells. */
  inline ElementTables with_nodes(ElementTables mesh, ReferenceElement reference)
  {
    CellTable         &batch    = mesh.batches[0];
    const int          n_vertex = reference.dim + 1, n_shape = reference.n_shape, n_inner = reference.degree - 1;
    const auto         edges  = simplex_edges(reference.dim);
    const int          n_edge = static_cast<int>(edges.size());
    const std::int64_t n      = batch.n_cells;
    batch.geometry            = batch.nodes;
    batch.reference           = std::move(reference);
    if (n_inner == 0)
      return mesh;

    // Edges are numbered in the order of their lower and higher vertices.
    using Key = std::pair<std::uint64_t, std::int64_t>; // vertices; edge of a cell
    std::vector<Key>   keys(n * n_edge);
    std::vector<int>   number(keys.size());
    const auto *const  corners = batch.geometry.data();
    const std::int64_t n_keys  = static_cast<std::int64_t>(keys.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t k = 0; k < n_keys; ++k)
    {
      const auto [low, high] = std::minmax(corners[k / n_edge * n_vertex + edges[k % n_edge][0]],
                                           corners[k / n_edge * n_vertex + edges[k % n_edge][1]]);
      keys[k]                = {std::uint64_t(low) << 32 | std::uint32_t(high), k};
    }
    __gnu_parallel::sort(keys.begin(), keys.end());
    int n_edges = 0;
    for (std::int64_t k = 0; k < n_keys; ++k)
    {
      n_edges += k == 0 || keys[k].first != keys[k - 1].first;
      number[keys[k].second] = n_edges - 1;
    }

    const std::int64_t first_edge = mesh.n_nodes, first_inside = first_edge + std::int64_t(n_edges) * n_inner;
    const int          n_inside = n_shape - n_vertex - n_edge * n_inner;
    PatchFEM::require(first_inside + n * n_inside < (std::int64_t(1) << 31), "A mesh has 2^31 nodes at most.");
    batch.nodes.resize(n * n_shape);
    mesh.n_nodes = static_cast<int>(first_inside + n * n_inside);
#pragma omp parallel for schedule(static)
    for (std::int64_t c = 0; c < n; ++c)
    {
      const int *vertices = corners + c * n_vertex;
      int       *nodes    = std::copy_n(vertices, n_vertex, &batch.nodes[c * n_shape]);
      for (int e = 0; e < n_edge; ++e)
      {
        const bool forward = vertices[edges[e][0]] < vertices[edges[e][1]];
        for (int k = 0; k < n_inner; ++k)
          *nodes++ = static_cast<int>(first_edge + std::int64_t(number[c * n_edge + e]) * n_inner +
                                      (forward ? k : n_inner - 1 - k));
      }
      for (int k = 0; k < n_inside; ++k)
        *nodes++ = static_cast<int>(first_inside + c * n_inside + k);
    }
    return mesh;
  }

  /**
   * A plate of nearly equilateral triangles with a long hole and four small ones, as a parallelogram: 292 @p n^2
   * triangles and, with n = 1, 2, 4, ..., the nodes and triangles of P4, table VI, whose domain is lost: its numbers
   * tell of five holes and 84 edges on the boundary of the coarsest mesh. Vertices inside are moved.
   */
  inline ElementTables plate_with_holes(const int n)
  {
    constexpr int width = 15, height = 11;
    const auto    solid = [n](const int x, const int y) { // the cell of the grid, of two triangles
      if (x < 0 || y < 0 || x >= width * n || y >= height * n)
        return false;
      const int i = x / n, j = y / n;
      return !(i >= 5 && i < 10 && j >= 4 && j < 7) && !((i == 2 || i == 12) && (j == 2 || j == 8));
    };
    const int        m = width * n + 1, n_points = m * (height * n + 1), n_squares = (m - 1) * height * n;
    std::vector<int> vertex(n_points, -1), first_cell(n_squares, -1);
    ElementTables    tables;
    CellTable        batch;
    tables.dim = 2;
    for (int v = 0; v < n_points; ++v)
      if (solid(v % m, v / m) || solid(v % m - 1, v / m) || solid(v % m, v / m - 1) || solid(v % m - 1, v / m - 1))
        vertex[v] = tables.n_nodes++;
    for (int s = 0; s < n_squares; ++s)
      if (solid(s % (m - 1), s / (m - 1)))
      {
        first_cell[s] = batch.n_cells;
        batch.n_cells += 2;
      }
    tables.points.resize(2 * std::int64_t(tables.n_nodes));
    batch.nodes.resize(3 * std::int64_t(batch.n_cells));
#pragma omp parallel for schedule(static)
    for (int v = 0; v < n_points; ++v)
      if (vertex[v] >= 0)
      {
        const int    i = v % m, j = v / m;
        const bool   inner = solid(i, j) && solid(i - 1, j) && solid(i, j - 1) && solid(i - 1, j - 1);
        const auto   moved = [&](const int d) { return inner ? 0.4 * (hashed(2 * std::int64_t(v) + d) - 0.5) : 0.; };
        const double x = (i + moved(0)) / (width * n), y = (j + moved(1)) / (width * n);
        tables.points[2 * std::int64_t(vertex[v])]     = x + 0.5 * y;
        tables.points[2 * std::int64_t(vertex[v]) + 1] = std::sqrt(0.75) * y;
      }
#pragma omp parallel for schedule(static)
    for (int s = 0; s < n_squares; ++s)
      if (first_cell[s] >= 0)
      {
        const int *corner = &vertex[s / (m - 1) * m + s % (m - 1)];
        int       *to     = &batch.nodes[3 * std::int64_t(first_cell[s])];
        for (const int offset : {0, 1, m, m + 1, m, 1})
          *to++ = corner[offset];
      }
    batch.reference = lagrange_simplex(2, 1);
    batch.geometry  = batch.nodes;
    batch.material_ids.assign(batch.n_cells, 0);
    tables.batches.push_back(std::move(batch));
    return tables;
  }

  /** n^dim quadrilaterals or hexahedra of degrees 1 to 3; vertices inside are moved. */
  inline ElementTables grid_of_cells(const int dim, const int n, const int degree)
  {
    ElementTables      tables;
    CellTable          batch;
    const std::int64_t m = n + 1, l = std::int64_t(n) * degree + 1, layers = dim == 2 ? 1 : n;
    batch.reference = tensor_element(dim, degree);
    batch.n_cells   = static_cast<int>(layers * n * n);
    tables.dim      = dim;
    tables.n_nodes  = static_cast<int>(dim == 2 ? l * l : l * l * l);
    tables.points   = cube_points(n, dim);
    const auto fill = [&](std::vector<int> &numbers, const int p, const std::int64_t row) {
      const int a_cell = (dim == 2 ? 1 : p + 1) * (p + 1) * (p + 1);
      numbers.resize(std::int64_t(batch.n_cells) * a_cell);
#pragma omp parallel for schedule(static)
      for (std::int64_t c = 0; c < batch.n_cells; ++c)
        for (int v = 0; v < a_cell; ++v)
          numbers[c * a_cell + v] =
              static_cast<int>((c % n * p + v % (p + 1)) + row * ((c / n % n * p + v / (p + 1) % (p + 1)) +
                                                                  row * (c / n / n * p + v / (p + 1) / (p + 1))));
    };
    fill(batch.nodes, degree, l);
    fill(batch.geometry, 1, m);
    batch.material_ids.assign(batch.n_cells, 0);
    tables.batches.push_back(std::move(batch));
    return tables;
  }
} // namespace synthetic
