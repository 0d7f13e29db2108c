// SPDX-License-Identifier: LGPL-2.1-or-later
// core_consumer BACKEND: assembles a user's own weak form on a grid of rectangles, on that back end, and compares
// every entry with a loop of its own; neither deal.II nor MPI is there. Exit code 77: there is no CUDA device.
#include "../grad_div.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/base/commit.h>

#include <cmath>
#include <iostream>
#include <map>

constexpr int    n_cells = 40;              // in each direction
constexpr double width = 0.5, height = 0.2; // of a cell
constexpr double k = 3., r = 0.5;

/** The bilinear element with 2 x 2 Gauss points; corner v lies at the bits of v. */
PatchFEM::ReferenceElement rectangle()
{
  PatchFEM::ReferenceElement element;
  element.name    = "Q1 rectangle";
  element.dim     = 2;
  element.degree  = 1;
  element.n_shape = element.n_geometry = element.n_quadrature = 4;
  for (int q = 0; q < 4; ++q)
  {
    const double x = 0.5 + ((q & 1) ? 1. : -1.) * std::sqrt(1. / 12.);
    const double y = 0.5 + ((q & 2) ? 1. : -1.) * std::sqrt(1. / 12.);
    element.weights.push_back(0.25);
    for (int v = 0; v < 4; ++v)
    {
      const double along_x = (v & 1) ? x : 1. - x, along_y = (v & 2) ? y : 1. - y;
      element.shape_values.push_back(along_x * along_y);
      element.shape_gradients.push_back(((v & 1) ? 1. : -1.) * along_y);
      element.shape_gradients.push_back(along_x * ((v & 2) ? 1. : -1.));
      for (int w = 0; w < 4; ++w)
        if (q == 0)
          element.support_geometry_values.push_back(v == w);
    }
  }
  element.geometry_values    = element.shape_values;
  element.geometry_gradients = element.shape_gradients;
  return element;
}

PatchFEM::ElementTables grid()
{
  PatchFEM::ElementTables tables;
  tables.dim          = 2;
  tables.n_components = 2;
  tables.n_nodes      = (n_cells + 1) * (n_cells + 1);
  tables.batches.resize(1);
  tables.constraints.offsets.push_back(0);
  PatchFEM::CellTable &cells = tables.batches[0];
  cells.reference            = rectangle();
  for (int j = 0; j <= n_cells; ++j)
    for (int i = 0; i <= n_cells; ++i)
    {
      tables.points.insert(tables.points.end(), {i * width, j * height});
      if (i == n_cells || j == n_cells)
        continue;
      for (int v = 0; v < 4; ++v)
        cells.nodes.push_back((j + (v >> 1)) * (n_cells + 1) + i + (v & 1));
      cells.material_ids.push_back(0);
      cells.active_index.push_back(cells.n_cells++);
    }
  cells.geometry = cells.nodes;
  return tables;
}

/** The matrix by a plain loop, in the numbering of the tables: (row, column) -> value. */
std::map<std::pair<int, int>, double> expected(const PatchFEM::ElementTables &tables)
{
  const PatchFEM::CellTable            &cells = tables.batches[0];
  const PatchFEM::ReferenceElement     &e     = cells.reference;
  std::map<std::pair<int, int>, double> matrix;
  for (int cell = 0; cell < cells.n_cells; ++cell)
    for (int q = 0; q < 4; ++q)
      for (int s = 0; s < 4; ++s)
        for (int t = 0; t < 4; ++t)
        {
          const double size[] = {width, height}, weight = 0.25 * width * height;
          for (int a = 0; a < 2; ++a)
            for (int b = 0; b < 2; ++b)
              matrix[{2 * cells.nodes[4 * cell + s] + a, 2 * cells.nodes[4 * cell + t] + b}] +=
                  weight * (k * e.shape_gradients[2 * (4 * q + s) + a] / size[a] *
                                e.shape_gradients[2 * (4 * q + t) + b] / size[b] +
                            (a == b ? r * e.shape_values[4 * q + s] * e.shape_values[4 * q + t] : 0.));
        }
  return matrix;
}

int main(int argc, char **argv)
{
  try
  {
    const std::string name = argc > 1 ? argv[1] : "auto";
    if (name == "cuda" && !PatchFEM::Backend::cuda_available())
    {
      std::cout << "skipped: there is no CUDA device" << std::endl;
      return 77;
    }
    const PatchFEM::Backend         backend(name);
    const PatchFEM::ElementTables   tables = grid();
    const PatchFEM::Space           space(backend, tables);
    PatchFEM::Assembler<GradDiv<2>> assembler(space);
    assembler.set_coefficients(PatchFEM::CoefficientField::constant({k, r}));
    PatchFEM::SlicedEllpackMatrix<double> matrix;
    space.initialize_matrix(matrix);
    assembler.assemble_matrix(matrix);

    // Without dof_indices the unknowns of the source are node * n_components + component.
    const auto                      reference = expected(tables);
    const PatchFEM::HostCSR<double> ours      = matrix.to_csr_host();
    const std::vector<unsigned int> dofs      = space.batches().dof_indices().to_vector();
    double                          worst     = ours.values.size() == reference.size() ? 0. : INFINITY;
    for (int row = 0; row < ours.n_rows; ++row)
      for (auto entry = ours.row_offsets[row]; entry < ours.row_offsets[row + 1]; ++entry)
      {
        const int    i = dofs[row], j = dofs[ours.columns[entry]];
        const double scale      = std::sqrt(reference.at({i, i}) * reference.at({j, j}));
        const double difference = std::abs(ours.values[entry] - reference.at({i, j})) / scale;
        if (!(difference <= worst)) // true for a NaN
          worst = difference;
      }
    std::cout << "PatchFEM " << PatchFEM::commit() << " on " << backend.name() << ": " << ours.values.size()
              << " entries, largest difference " << worst << std::endl;
    return worst < 1e-13 ? 0 : 1;
  }
  catch (const std::exception &error)
  {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
