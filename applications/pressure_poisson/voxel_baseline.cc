// SPDX-License-Identifier: LGPL-2.1-or-later
#include "voxel_baseline.h"

#include <patchfem/app/reference_solver.h>

#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/trilinos_precondition.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

namespace PatchFEM
{
  namespace
  {
    namespace Trilinos = dealii::TrilinosWrappers;

    /** Calls visit(row, diagonal, columns) for every fluid cell. */
    template <typename Visitor>
    void for_each_row(const VoxelGrid                  &grid,
                      const std::vector<unsigned char> &labels,
                      const std::vector<int>           &row,
                      const Visitor                    &visit)
    {
      const std::int64_t                           step[3] = {1, grid.n[0], std::int64_t(grid.n[0]) * grid.n[1]};
      std::vector<dealii::types::global_dof_index> columns;
      for (std::int64_t cell = 0; cell < grid.n_cells(); ++cell)
      {
        if (row[cell] < 0)
          continue;
        const std::int64_t at[3] = {cell % grid.n[0], cell / grid.n[0] % grid.n[1], cell / step[2]};
        int                open  = 0;
        columns.clear();
        for (int d = 0; d < 3; ++d)
          for (int side = 0; side < 2; ++side)
            if (side == 0 ? at[d] == 0 : at[d] + 1 == grid.n[d])
              open += grid.open_sides[2 * d + side];
            else
            {
              const std::int64_t other = cell + (side == 0 ? -step[d] : step[d]);
              open += static_cast<VoxelLabel>(labels[other]) != VoxelLabel::solid;
              if (row[other] >= 0)
                columns.push_back(row[other]);
            }
        visit(static_cast<dealii::types::global_dof_index>(row[cell]), open > 0 ? open : 1, columns);
      }
    }
  } // namespace

  PathReport solve_with_trilinos(const VoxelGrid                        &grid,
                                 const std::vector<unsigned char>       &labels,
                                 const std::vector<double>              &rhs,
                                 const std::vector<std::vector<double>> &closed_parts,
                                 const SolverParameters                 &solver,
                                 Progress                               &progress,
                                 std::vector<double>                    &x)
  {
    PathReport             report;
    const dealii::IndexSet rows = dealii::complete_index_set(rhs.size());
    Trilinos::SparseMatrix matrix;
    std::vector<int>       row(labels.size(), -1);
    report.seconds.sparsity = timed(MPI_COMM_SELF, progress, "sparsity (Trilinos)", [&] {
      int n = 0;
      for (std::size_t cell = 0; cell < labels.size(); ++cell)
        if (static_cast<VoxelLabel>(labels[cell]) == VoxelLabel::fluid)
          row[cell] = n++;
      dealii::DynamicSparsityPattern pattern(n, n);
      for_each_row(grid, labels, row, [&](const auto i, const int, const auto &columns) {
        pattern.add(i, i);
        pattern.add_entries(i, columns.begin(), columns.end());
      });
      matrix.reinit(rows, rows, pattern, MPI_COMM_SELF);
    });
    report.seconds.assembly = timed(MPI_COMM_SELF, progress, "assembly (Trilinos)", [&] {
      for_each_row(grid, labels, row, [&](const auto i, const int diagonal, const auto &columns) {
        matrix.set(i, i, diagonal);
        for (const auto j : columns)
          matrix.set(i, j, -1.);
      });
      matrix.compress(dealii::VectorOperation::insert);
    });

    Trilinos::MPI::Vector b(rows, MPI_COMM_SELF), solution(rows, MPI_COMM_SELF);
    std::copy(rhs.begin(), rhs.end(), b.begin());
    std::vector<Trilinos::MPI::Vector> basis;
    for (const std::vector<double> &part : closed_parts)
    {
      basis.emplace_back(rows, MPI_COMM_SELF);
      std::copy(part.begin(), part.end(), basis.back().begin());
    }
    const auto make_preconditioner =
        [&](const Trilinos::SparseMatrix &) -> std::unique_ptr<Trilinos::PreconditionBase> {
      if (solver.preconditioner == "ml")
      {
        Trilinos::PreconditionAMG::AdditionalData data;
        data.elliptic        = true;
        data.smoother_type   = "Chebyshev";
        data.smoother_sweeps = 2;
        // Factorisations break down on a singular matrix.
        if (!closed_parts.empty())
          data.coarse_type = "symmetric Gauss-Seidel";
        auto ml = std::make_unique<Trilinos::PreconditionAMG>();
        ml->initialize(matrix, data);
        return ml;
      }
      auto jacobi = std::make_unique<Trilinos::PreconditionJacobi>();
      jacobi->initialize(matrix);
      return jacobi;
    };
    reference::solve_system<Trilinos::SparseMatrix, Trilinos::MPI::Vector, Trilinos::PreconditionBase>(
        "Trilinos", matrix, solution, b, basis, solver, MPI_COMM_SELF, progress, make_preconditioner, report);
    x.assign(solution.begin(), solution.end());
    return report;
  }
} // namespace PatchFEM
