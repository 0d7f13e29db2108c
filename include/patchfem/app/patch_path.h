// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_patch_path_h
#define patchfem_app_patch_path_h

#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/app/system_assembler.h>
#include <patchfem/lac/matrix/format_model.h>

#include <functional>

namespace PatchFEM
{
  /**
   * PatchFEM's own way: tables from deal.II, then sparsity, patches, matrix, preconditioner and conjugate gradients on
   * one back end; only the solution comes back. One process.
   */
  template <int dim>
  class PatchPath : public LinearSystemPath<dim>
  {
  public:
    using FileName = std::function<std::string()>;

    /**
     * Throws Error if there is no such back end. @p precision is auto, double, single or, where the preconditioner has
     * that form, mixed. @p solver.preconditioner is any but ml. A system is written to the file that @p export_file
     * names when it is there, unless that is empty. With @p aggregates the report holds the aggregates of multigrid.
     */
    PatchPath(const Backend            &backend,
              const std::string        &precision,
              const SolverParameters   &solver,
              const AssemblyParameters &assembly,
              const FileName           &export_file,
              bool                      aggregates,
              Progress                 &progress);

    PathReport
    run(const Discretisation<dim> &discretisation, const Physics<dim> &physics, SolutionVector &solution) override;

  private:
    /** All stages, with matrix and vectors of one number type. Leaves the solution in `values` and `dof_indices`. */
    template <typename Number>
    PathReport run_with(const Discretisation<dim> &discretisation, const Physics<dim> &physics);

    /** From structure to solution with the matrix in @p format; @p load as check_ranges() estimates it. */
    template <typename Number>
    void solve_with(const MatrixFormat        &format,
                    SystemAssembler<Number>   &system,
                    const Discretisation<dim> &discretisation,
                    const Physics<dim>        &physics,
                    double                     load,
                    PathReport                &report);

    const Backend            backend;
    const std::string        asked_precision;
    const SolverParameters   asked_solver;
    const AssemblyParameters assembly;
    const FileName           export_file;
    const bool               aggregates;
    Progress                &progress;

    SolverChoice              choice;      ///< of the system that is solved
    std::vector<double>       values;      ///< the solution in the numbering of the back end
    std::vector<unsigned int> dof_indices; ///< deal.II's index of each of them
  };
} // namespace PatchFEM

#endif
