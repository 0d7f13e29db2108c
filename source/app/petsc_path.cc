// SPDX-License-Identifier: LGPL-2.1-or-later
#include "reference_path.h"

#include <patchfem/app/paths.h>

#if defined(DEAL_II_WITH_PETSC) && defined(DEAL_II_PETSC_WITH_HYPRE)
#include <deal.II/lac/petsc_precondition.h>
#include <deal.II/lac/petsc_sparse_matrix.h>
#include <deal.II/lac/petsc_vector.h>
#endif

namespace PatchFEM
{
#if defined(DEAL_II_WITH_PETSC) && defined(DEAL_II_PETSC_WITH_HYPRE)
  template <int dim>
  LinearSystemPath<dim> make_petsc_path(const SolverParameters &solver, const int n_repetitions, Progress &progress)
  {
    namespace PETSc             = dealii::PETScWrappers;
    SolverParameters parameters = solver;
    parameters.preconditioner   = "boomeramg";
    return [=, &progress](const Discretisation<dim> &discretisation, const Physics<dim> &physics,
                          SolutionVector &solution) {
      const auto make_preconditioner = [](const PETSc::MPI::SparseMatrix &matrix) {
        PETSc::PreconditionBoomerAMG::AdditionalData data;
        data.symmetric_operator = true;
        data.strong_threshold   = dim == 3 ? 0.5 : 0.25;
        auto result             = std::make_unique<PETSc::PreconditionBoomerAMG>();
        result->initialize(matrix, data);
        return result;
      };
      return reference::run<PETSc::MPI::SparseMatrix, PETSc::MPI::Vector>(
          "PETSc", discretisation, physics, parameters, n_repetitions, progress, make_preconditioner, solution);
    };
  }
#else
  template <int dim>
  LinearSystemPath<dim> make_petsc_path(const SolverParameters &, const int, Progress &)
  {
    throw Error("Baseline = petsc_boomeramg needs a deal.II with PETSc and hypre, which this one lacks; choose "
                "trilinos_ml.");
  }
#endif

  template LinearSystemPath<2> make_petsc_path(const SolverParameters &, int, Progress &);
  template LinearSystemPath<3> make_petsc_path(const SolverParameters &, int, Progress &);
} // namespace PatchFEM
