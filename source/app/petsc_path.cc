// SPDX-License-Identifier: LGPL-2.1-or-later
#include "reference_path.h"

#include <patchfem/app/petsc_path.h>

#if defined(DEAL_II_WITH_PETSC) && defined(DEAL_II_PETSC_WITH_HYPRE)
#include <deal.II/lac/petsc_precondition.h>
#include <deal.II/lac/petsc_sparse_matrix.h>
#include <deal.II/lac/petsc_vector.h>
#endif

namespace PatchFEM
{
#if defined(DEAL_II_WITH_PETSC) && defined(DEAL_II_PETSC_WITH_HYPRE)
  namespace
  {
    namespace PETSc = dealii::PETScWrappers;

    template <int dim>
    class PETScPath : public LinearSystemPath<dim>
    {
    public:
      PETScPath(const SolverParameters &parameters, const int n_repetitions, Progress &progress)
          : parameters(parameters), n_repetitions(n_repetitions), progress(progress)
      {
        this->parameters.preconditioner = "boomeramg";
      }

      PathReport
      run(const Discretisation<dim> &discretisation, const Physics<dim> &physics, SolutionVector &solution) override
      {
        const auto make_preconditioner = [](const PETSc::MPI::SparseMatrix &matrix) {
          PETSc::PreconditionBoomerAMG::AdditionalData data;
          data.symmetric_operator = true;
          data.strong_threshold   = dim == 3 ? 0.5 : 0.25;
          auto result             = std::make_unique<PETSc::PreconditionBoomerAMG>();
          result->initialize(matrix, data);
          return result;
        };
        PathReport report = reference::run<PETSc::MPI::SparseMatrix, PETSc::MPI::Vector, PETSc::PreconditionBoomerAMG>(
            "PETSc", discretisation, physics, parameters, n_repetitions, progress, make_preconditioner, solution);
        report.backend = "petsc";
        return report;
      }

    private:
      SolverParameters parameters;
      const int        n_repetitions;
      Progress        &progress;
    };
  } // namespace

  template <int dim>
  std::unique_ptr<LinearSystemPath<dim>>
  make_petsc_path(const SolverParameters &parameters, const int n_repetitions, Progress &progress)
  {
    return std::make_unique<PETScPath<dim>>(parameters, n_repetitions, progress);
  }
#else
  template <int dim>
  std::unique_ptr<LinearSystemPath<dim>> make_petsc_path(const SolverParameters &, const int, Progress &)
  {
    throw Error("Baseline = petsc_boomeramg needs a deal.II with PETSc and hypre, which this one lacks; choose "
                "trilinos_ml.");
  }
#endif

  template std::unique_ptr<LinearSystemPath<2>> make_petsc_path(const SolverParameters &, int, Progress &);
  template std::unique_ptr<LinearSystemPath<3>> make_petsc_path(const SolverParameters &, int, Progress &);
} // namespace PatchFEM
