// SPDX-License-Identifier: LGPL-2.1-or-later
#include "mesh.h"

#include "kernels/ordering.h"
#include <patchfem/base/exceptions.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace papers
{
  using namespace PatchFEM;

  namespace
  {
    int power(const int base, const unsigned int exponent)
    {
      return exponent == 0 ? 1 : base * power(base, exponent - 1);
    }

    /** Vertex v becomes new_number[v], a permutation or a map that leaves out and merges; < 0: not used. */
    void renumber(MeshLists &mesh, const std::vector<int> &new_number, const int n_vertices)
    {
      std::vector<std::array<double, 3>> vertices(n_vertices);
      for (std::size_t v = 0; v < new_number.size(); ++v)
        if (new_number[v] >= 0)
          vertices[new_number[v]] = mesh.vertices[v];
      mesh.vertices.swap(vertices);
      for (std::uint32_t &v : mesh.cells)
        v = new_number[v];
    }
  } // namespace

  MeshLists read_simplices(const std::string &file_name, const CellKind kind)
  {
    const unsigned int n_vertices = n_vertices_per_cell(kind);
    std::ifstream      in(file_name);
    std::string        line;
    const auto         skip_to = [&](const std::string &title) {
      while (line != title)
        require(bool(std::getline(in, line)), "The file " + file_name + " is no mesh in Gmsh's format 2.2.");
    };
    std::size_t n = 0;
    skip_to("$MeshFormat");
    std::getline(in, line);
    require(line == "2.2 0 8", "The file " + file_name + " is not in Gmsh's format 2.2: use gmsh -format msh22.");
    skip_to("$Nodes");
    in >> n;
    MeshLists mesh;
    mesh.kind = kind;
    mesh.vertices.resize(n);
    for (std::size_t i = 0, number = 0; i < n; ++i)
    {
      in >> number >> mesh.vertices[i][0] >> mesh.vertices[i][1] >> mesh.vertices[i][2];
      require(number == i + 1, "The nodes in " + file_name + " are not numbered from 1 on.");
    }
    skip_to("$Elements");
    in >> n;
    std::getline(in, line);
    for (std::size_t i = 0; i < n && std::getline(in, line); ++i)
    {
      // Number, type, number of tags, tags, nodes. Faces and edges are passed over.
      std::istringstream words(line);
      int                number = 0, type = 0, n_tags = 0, tag = 0;
      words >> number >> type >> n_tags;
      if (type != (kind == CellKind::triangle ? 2 : 4))
        continue;
      for (int t = 0; t < n_tags; ++t)
        words >> tag;
      for (unsigned int v = 0; v < n_vertices; ++v)
      {
        std::uint32_t vertex = 0;
        words >> vertex;
        require(vertex >= 1 && vertex <= mesh.vertices.size(),
                "A cell in " + file_name + " has a node that is missing.");
        mesh.cells.push_back(vertex - 1);
      }
    }
    require(!mesh.cells.empty(), "The file " + file_name + " has no " + plural_name(kind) + ".");
    return mesh;
  }

  MeshLists grid(const CellKind kind, const int n)
  {
    const unsigned int dim = cell_dimension(kind);
    MeshLists          mesh;
    mesh.kind = kind;
    for (int i = 0; i < power(n, dim); ++i)
      mesh.vertices.push_back({{i % n / (n - 1.), i / n % n / (n - 1.), i / n / n / (n - 1.)}});
    const int m = n - 1;
    for (int c = 0; c < power(m, dim); ++c)
      for (int v = 0; v < 1 << dim; ++v)
        mesh.cells.push_back((c % m + (v & 1)) + n * ((c / m % m + (v >> 1 & 1)) + n * (c / m / m + (v >> 2))));
    return mesh;
  }

  MeshLists repeat(const MeshLists &tile, const int n)
  {
    constexpr double   tolerance = 1e-6;
    const unsigned int dim       = cell_dimension(tile.kind);
    const int          size = tile.vertices.size(), n_copies = power(n, dim);

    // Of each vertex on an upper face the one opposite on the lower face, by direction; -1 for all others.
    std::vector<std::array<int, 3>> opposite(size, {{-1, -1, -1}});
    for (unsigned int d = 0; d < dim; ++d)
    {
      std::vector<int> lower;
      for (int v = 0; v < size; ++v)
        if (std::abs(tile.vertices[v][d]) < tolerance)
          lower.push_back(v);
      for (int v = 0; v < size; ++v)
        if (std::abs(tile.vertices[v][d] - 1.) < tolerance)
        {
          const auto found = std::find_if(lower.begin(), lower.end(), [&](const int w) {
            for (unsigned int e = 0; e < dim; ++e)
              if (e != d && std::abs(tile.vertices[v][e] - tile.vertices[w][e]) > tolerance)
                return false;
            return true;
          });
          require(found != lower.end(), "A mesh cannot be repeated: the vertices on its opposite faces do not match.");
          opposite[v][d] = *found;
        }
    }

    MeshLists mesh;
    mesh.kind = tile.kind;
    std::vector<int> new_number(std::size_t(n_copies) * size, -1);
    int              n_vertices = 0;
    for (int copy = 0; copy < n_copies; ++copy)
    {
      const std::array<int, 3> place{{copy % n, copy / n % n, copy / n / n}};
      for (int v = 0; v < size; ++v)
      {
        mesh.vertices.emplace_back();
        for (unsigned int d = 0; d < 3; ++d)
          mesh.vertices.back()[d] = d < dim ? (place[d] + tile.vertices[v][d]) / n : 0.;
      }
      for (const std::uint32_t v : tile.cells)
      {
        // A vertex on an upper face belongs to the next copy, if there is one.
        std::array<int, 3> owner  = place;
        int                vertex = v;
        for (unsigned int d = 0; d < dim; ++d)
          if (opposite[vertex][d] >= 0 && owner[d] + 1 < n)
          {
            vertex = opposite[vertex][d];
            ++owner[d];
          }
        const int global = (owner[0] + n * (owner[1] + n * owner[2])) * size + vertex;
        mesh.cells.push_back(global);
        if (new_number[global] < 0)
          new_number[global] = n_vertices++;
      }
    }
    renumber(mesh, new_number, n_vertices);
    return mesh;
  }

  void order_along_curve(MeshLists &mesh, const int window)
  {
    const bool                                 two = cell_dimension(mesh.kind) == 2;
    std::vector<std::pair<std::uint64_t, int>> order(mesh.vertices.size());
#pragma omp parallel for schedule(static)
    for (std::size_t v = 0; v < order.size(); ++v)
    {
      const auto   &x  = mesh.vertices[v];
      const auto    at = [&](const int d, const int bits) { return std::uint32_t(x[d] * ((1u << bits) - 1) + 0.5); };
      constexpr int bits_2 = kernels::hilbert_bits<2>(), bits_3 = kernels::hilbert_bits<3>();
      std::uint32_t in_2[2] = {at(0, bits_2), at(1, bits_2)}, in_3[3] = {at(0, bits_3), at(1, bits_3), at(2, bits_3)};
      order[v] = {two ? kernels::hilbert_index<2>(in_2, bits_2) : kernels::hilbert_index<3>(in_3, bits_3), int(v)};
    }
    std::sort(order.begin(), order.end());
    if (window > 0)
    {
      std::vector<int> n_cells(mesh.vertices.size(), 0);
      for (const std::uint32_t v : mesh.cells)
        ++n_cells[v];
      for (std::size_t begin = 0; begin < order.size(); begin += window)
        std::stable_sort(order.begin() + begin, order.begin() + std::min(order.size(), begin + window),
                         [&](const auto &a, const auto &b) { return n_cells[a.second] > n_cells[b.second]; });
    }
    std::vector<int> new_number(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      new_number[order[i].second] = i;
    renumber(mesh, new_number, new_number.size());
  }
} // namespace papers
