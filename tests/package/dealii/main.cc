// SPDX-License-Identifier: LGPL-2.1-or-later
// dealii_consumer BACKEND: assembles a user's own weak form on a mesh with hanging nodes and prescribed values, on
// that back end, and compares every entry with deal.II's own loop, all without MPI_Init. Exit code 77: there is no CUDA device.
#include "../grad_div.h"

#include <patchfem/app/mesh.h>
#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/extraction_dealii.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/vector_tools.h>

#include <cmath>
#include <iostream>

using namespace dealii;

constexpr double k = 3., r = 0.5;

// A difference that is not a number counts as larger than all others.
void keep_larger(double &worst, const double difference)
{
  if (!(difference <= worst))
    worst = difference;
}

// deal.II's loop, with f = (1, ..., 1).
template <int dim>
void assemble_reference(const Mapping<dim>              &mapping,
                        const DoFHandler<dim>           &dof_handler,
                        const AffineConstraints<double> &constraints,
                        SparseMatrix<double>            &matrix,
                        Vector<double>                  &rhs)
{
  const auto        &fe = dof_handler.get_fe();
  const QGauss<dim>  quadrature(fe.degree + 1);
  FEValues<dim>      values(mapping, fe, quadrature, update_values | update_gradients | update_JxW_values);
  const unsigned int n = fe.n_dofs_per_cell();
  FullMatrix<double> cell_matrix(n, n);
  Vector<double>     cell_rhs(n);
  std::vector<types::global_dof_index> dofs(n);
  for (const auto &cell : dof_handler.active_cell_iterators())
  {
    values.reinit(cell);
    cell_matrix = 0.;
    cell_rhs    = 0.;
    for (const unsigned int q : values.quadrature_point_indices())
      for (unsigned int i = 0; i < n; ++i)
      {
        const unsigned int a = fe.system_to_component_index(i).first;
        cell_rhs(i) += values.shape_value(i, q) * values.JxW(q);
        for (unsigned int j = 0; j < n; ++j)
        {
          const unsigned int b = fe.system_to_component_index(j).first;
          cell_matrix(i, j) += (k * values.shape_grad(i, q)[a] * values.shape_grad(j, q)[b] +
                                (a == b ? r * values.shape_value(i, q) * values.shape_value(j, q) : 0.)) *
                               values.JxW(q);
        }
      }
    cell->get_dof_indices(dofs);
    constraints.distribute_local_to_global(cell_matrix, cell_rhs, dofs, matrix, rhs);
  }
}

template <int dim>
bool run(const PatchFEM::Backend &backend)
{
  PatchFEM::MeshParameters parameters;
  parameters.generator           = "hyper_shell";
  parameters.generator_arguments = std::string(dim == 2 ? "0, 0" : "0, 0, 0") + " : 0.5 : 1 : 0 : true";
  parameters.global_refinements  = 4 - dim;
  Triangulation<dim> triangulation;
  PatchFEM::make_triangulation(triangulation, parameters);
  for (const auto &cell : triangulation.active_cell_iterators())
    if (cell->center()[0] > 0.4)
      cell->set_refine_flag();
  triangulation.execute_coarsening_and_refinement();

  const MappingQ<dim> mapping(2);
  const FESystem<dim> fe(FE_Q<dim>(2), dim);
  DoFHandler<dim>     dof_handler(triangulation);
  dof_handler.distribute_dofs(fe);
  AffineConstraints<double> constraints;
  DoFTools::make_hanging_node_constraints(dof_handler, constraints);
  VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, Functions::ConstantFunction<dim>(0.25, dim),
                                           constraints);
  constraints.close();

  DynamicSparsityPattern dsp(dof_handler.n_dofs());
  DoFTools::make_sparsity_pattern(dof_handler, dsp, constraints, false);
  SparsityPattern pattern;
  pattern.copy_from(dsp);
  SparseMatrix<double> reference_matrix(pattern);
  Vector<double>       reference_rhs(dof_handler.n_dofs());
  assemble_reference(mapping, dof_handler, constraints, reference_matrix, reference_rhs);

  const PatchFEM::Space             space(backend, PatchFEM::extract_element_tables(mapping, dof_handler, constraints));
  PatchFEM::Assembler<GradDiv<dim>> assembler(space);
  assembler.set_coefficients(PatchFEM::CoefficientField::constant({k, r}));
  assembler.set_body_load(PatchFEM::CoefficientField::constant(std::vector<double>(dim, 1.)));
  PatchFEM::SlicedEllpackMatrix<double> matrix;
  space.initialize_matrix(matrix);
  PatchFEM::Vector<double> rhs;
  assembler.assemble(matrix, rhs);

  // Every entry, |a - b| <= 1e-12 sqrt(A_ii A_jj), in both directions: nothing may be missing either.
  const std::vector<unsigned int> dofs  = space.batches().dof_indices().to_vector();
  const PatchFEM::HostCSR<double> ours  = matrix.to_csr_host();
  const std::vector<double>       our_f = rhs.copy_to_host();
  double                          worst = 0., worst_f = 0.;
  std::size_t                     n_significant = 0;
  for (int row = 0; row < ours.n_rows; ++row)
  {
    for (auto e = ours.row_offsets[row]; e < ours.row_offsets[row + 1]; ++e)
    {
      const unsigned int i = dofs[row], j = dofs[ours.columns[e]];
      const double       scale = std::sqrt(reference_matrix(i, i) * reference_matrix(j, j));
      keep_larger(worst, std::abs(ours.values[e] - reference_matrix.el(i, j)) / scale);
      n_significant += std::abs(ours.values[e]) > 1e-13 * scale;
    }
    keep_larger(worst_f, std::abs(our_f[row] - reference_rhs(dofs[row])));
  }
  std::size_t n_reference = 0;
  for (const auto &entry : reference_matrix)
    n_reference += std::abs(entry.value()) > 1e-13 * std::sqrt(reference_matrix(entry.row(), entry.row()) *
                                                               reference_matrix(entry.column(), entry.column()));

  std::cout << dim << "D on " << backend.name() << ": " << ours.n_rows << " unknowns, largest difference " << worst
            << " in the matrix, " << worst_f / reference_rhs.linfty_norm() << " in the right-hand side" << std::endl;
  return ours.n_rows == static_cast<int>(dof_handler.n_dofs()) && n_significant >= n_reference && worst < 1e-12 &&
         worst_f < 1e-12 * reference_rhs.linfty_norm();
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
    const PatchFEM::Backend backend(name);
    return run<2>(backend) && run<3>(backend) ? 0 : 1;
  }
  catch (const std::exception &error)
  {
    std::cerr << error.what() << std::endl;
    return 1;
  }
}
