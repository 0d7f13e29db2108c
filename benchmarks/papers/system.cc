// SPDX-License-Identifier: LGPL-2.1-or-later
#include "system.h"

#include "grid_system.h"

#include <algorithm>
#include <cmath>

namespace papers
{
  using namespace PatchFEM;

  namespace
  {
    constexpr double root = 0.5773502691896257; // Gauss points are 1/2 (1 +- root)

    /** Gradients of the shape functions of a linear cell, [vertex][d], and the weight, at quadrature point @p q. */
    double gradients(const MeshLists &mesh, const std::uint32_t *cell, const int q, double (&gradient)[8][3])
    {
      const int dim = cell_dimension(mesh.kind), n = n_vertices_per_cell(mesh.kind);
      double    reference[8][3] = {};
      for (int v = 0; v < n; ++v)
        for (int d = 0; d < dim; ++d)
          if (is_simplex(mesh.kind))
            reference[v][d] = v == 0 ? -1. : (v == d + 1 ? 1. : 0.);
          else
          {
            reference[v][d] = 1.;
            for (int e = 0; e < dim; ++e)
            {
              const double x  = 0.5 * (1. + ((q >> e & 1) ? root : -root));
              const bool   up = v >> e & 1;
              reference[v][d] *= e == d ? (up ? 1. : -1.) : (up ? x : 1. - x);
            }
          }
      double J[3][3] = {{1., 0., 0.}, {0., 1., 0.}, {0., 0., 1.}}; // dx_i / dxi_j
      for (int i = 0; i < dim; ++i)
        for (int j = 0; j < dim; ++j)
        {
          J[i][j] = 0.;
          for (int v = 0; v < n; ++v)
            J[i][j] += mesh.vertices[cell[v]][i] * reference[v][j];
        }
      double inverse[3][3]; // times the determinant
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
        {
          const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
          inverse[i][j] = J[a][c] * J[b][d] - J[a][d] * J[b][c];
        }
      const double determinant = J[0][0] * inverse[0][0] + J[0][1] * inverse[1][0] + J[0][2] * inverse[2][0];
      for (int v = 0; v < n; ++v)
        for (int i = 0; i < dim; ++i)
        {
          gradient[v][i] = 0.;
          for (int j = 0; j < dim; ++j)
            gradient[v][i] += reference[v][j] * inverse[j][i] / determinant;
        }
      return std::abs(determinant) / (is_simplex(mesh.kind) ? (dim == 2 ? 2. : 6.) : 1 << dim);
    }

    /** Adds the blocks that couple @p v with each vertex of @p cell, [w][a][b]; @p block 1: the Laplacian. */
    void element_row(const MeshLists &mesh, const std::uint32_t *cell, const int v, const int block, double *blocks)
    {
      const int    dim = cell_dimension(mesh.kind), n = n_vertices_per_cell(mesh.kind);
      const double nu = 0.3, mu = 0.5 / (1. + nu);
      const double lambda = dim == 2 ? nu / (1. - nu * nu) : nu / ((1. + nu) * (1. - 2. * nu));
      for (int q = 0; q < (is_simplex(mesh.kind) ? 1 : 1 << dim); ++q)
      {
        double       gradient[8][3];
        const double weight = gradients(mesh, cell, q, gradient);
        for (int w = 0; w < n; ++w)
        {
          const double *g = gradient[v], *k = gradient[w];
          double        dot = 0.;
          for (int d = 0; d < dim; ++d)
            dot += g[d] * k[d];
          for (int a = 0; a < block; ++a)
            for (int b = 0; b < block; ++b)
              blocks[(w * block + a) * block + b] +=
                  weight * (block == 1 ? dot : lambda * g[a] * k[b] + mu * g[b] * k[a] + (a == b ? mu * dot : 0.));
        }
      }
    }

    System assemble(const MeshLists &mesh, const int block)
    {
      const int n_nodes = mesh.vertices.size(), n = n_vertices_per_cell(mesh.kind), n_cells = mesh.cells.size() / n;
      std::vector<int> first(n_nodes + 1, 0), places(mesh.cells.size()); // of a node's cells: cell * n + vertex
      for (const std::uint32_t node : mesh.cells)
        ++first[node + 1];
      for (int i = 0; i < n_nodes; ++i)
        first[i + 1] += first[i];
      {
        std::vector<int> next(first.begin(), first.end() - 1);
        for (int e = 0; e < n_cells * n; ++e)
          places[next[mesh.cells[e]]++] = e;
      }
      const auto neighbours = [&](const int i, std::vector<int> &result) {
        result.clear();
        for (int e = first[i]; e < first[i + 1]; ++e)
          for (int w = 0; w < n; ++w)
            result.push_back(mesh.cells[places[e] / n * n + w]);
        std::sort(result.begin(), result.end());
        result.erase(std::unique(result.begin(), result.end()), result.end());
      };

      System system;
      system.block = block;
      system.offsets.assign(n_nodes + 1, 0);
#pragma omp parallel
      {
        std::vector<int> row;
#pragma omp for schedule(static)
        for (int i = 0; i < n_nodes; ++i)
        {
          neighbours(i, row);
          system.offsets[i + 1] = row.size();
        }
      }
      for (int i = 0; i < n_nodes; ++i)
        system.offsets[i + 1] += system.offsets[i];
      system.columns.resize(system.offsets.back());
      system.values.resize(system.offsets.back() * block * block);
      system.load.assign(std::size_t(n_nodes) * block, 0.);
      const auto fixed = [&](const int i) { return mesh.vertices[i][0] < 1e-9; };
#pragma omp parallel
      {
        std::vector<int> row;
#pragma omp for schedule(static)
        for (int i = 0; i < n_nodes; ++i)
        {
          neighbours(i, row);
          const std::int64_t length = row.size();
          double            *values = &system.values[system.offsets[i] * block * block];
          std::copy(row.begin(), row.end(), &system.columns[system.offsets[i]]);
          for (int e = first[i]; e < first[i + 1]; ++e)
          {
            const std::uint32_t *cell          = &mesh.cells[places[e] / n * n];
            double               blocks[8 * 9] = {};
            element_row(mesh, cell, places[e] % n, block, blocks);
            for (int w = 0; w < n; ++w)
            {
              const int          j = cell[w];
              const std::int64_t k = std::lower_bound(row.begin(), row.end(), j) - row.begin();
              for (int a = 0; a < block; ++a)
                for (int b = 0; b < block; ++b)
                  if ((!fixed(i) && !fixed(j)) || (i == j && a == b))
                    values[(a * length + k) * block + b] += blocks[(w * block + a) * block + b];
            }
          }
          // As many cells as meet here: the weight of a node in the integral over the side, on grids.
          if (mesh.vertices[i][0] > 1. - 1e-9)
            system.load[std::size_t(i) * block + block - 1] = first[i + 1] - first[i];
        }
      }
      double sum = 0.;
      for (const double value : system.load)
        sum += value;
      for (double &value : system.load)
        value /= sum;
      return system;
    }
  } // namespace

  std::vector<double> System::product(const std::vector<double> &x) const
  {
    std::vector<double> y(n_dofs());
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n_nodes(); ++i)
      for (int a = 0; a < block; ++a)
      {
        const std::int64_t length = offsets[i + 1] - offsets[i];
        const double      *row    = &values[offsets[i] * block * block + a * length * block];
        double             sum    = 0.;
        for (std::int64_t k = 0; k < length; ++k)
          for (int b = 0; b < block; ++b)
            sum += row[k * block + b] * x[std::size_t(columns[offsets[i] + k]) * block + b];
        y[std::size_t(i) * block + a] = sum;
      }
    return y;
  }

  System elasticity(const MeshLists &mesh)
  {
    return assemble(mesh, cell_dimension(mesh.kind));
  }

  System laplacian(const MeshLists &mesh, std::vector<double> &solution)
  {
    System system = assemble(mesh, 1);
    solution      = benchmark::scattered_values(system.n_dofs());
    for (int i = 0; i < system.n_dofs(); ++i)
      if (mesh.vertices[i][0] < 1e-9)
        solution[i] = 0.;
    system.load = system.product(solution);
    return system;
  }

  System scalar_system(HostCSR<double> matrix, const std::vector<double> &solution)
  {
    System system;
    system.offsets = std::move(matrix.row_offsets);
    system.columns = std::move(matrix.columns);
    system.values  = std::move(matrix.values);
    system.load    = system.product(solution);
    return system;
  }
} // namespace papers
