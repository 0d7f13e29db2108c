// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_app_preconditioner_factory_h
#define patchfem_app_preconditioner_factory_h

#include <patchfem/app/linear_system_path.h>
#include <patchfem/lac/near_null_space.h>
#include <patchfem/lac/null_space.h>
#include <patchfem/lac/precondition_base.h>

#include <functional>
#include <memory>
#include <string>

namespace PatchFEM
{
  /** Whether the preconditioner of that name in a parameter file can keep values in single precision under double. */
  bool has_mixed_form(const std::string &preconditioner);

  /**
   * The back end of that name, which is not `trilinos`, for systems that @p solver describes. Throws Error for what goes
   * together neither with it nor with @p precision.
   */
  Backend choose_backend(const std::string &name, const SolverParameters &solver, const std::string &precision);

  /** What a parameter file asks for, without `auto`. */
  struct SolverChoice
  {
    SolverParameters parameters;
    std::string      precision; ///< double, single or mixed
  };

  /**
   * What Solver/Preconditioner stands for if it is `auto`, for @p n_unknowns with @p n_components at a node:
   *  - block_jacobi below 100 unknowns, whose steps cost less than levels do;
   *  - amg, whose steps hardly depend on the mesh and on the shape of a body, if the format of the matrix keeps the rows of
   *    nodes, which coordinates, hybrid, symmetric, and scalar entries of vector problems do not;
   *  - least_squares else, or jacobi for formats of which there is no copy in single precision when @p precision asks for
   *    one;
   *
   * and what @p precision does if it is: mixed with amg, else double.
   */
  SolverChoice choose_solver(const SolverParameters   &solver,
                             const AssemblyParameters &assembly,
                             const std::string        &precision,
                             unsigned int              n_components,
                             std::uint64_t             n_unknowns);

  /**
   * The preconditioner that @p solver names, ready to be applied. @p mixed: with values in single precision, for a matrix in
   * double. @p null_space, @p near_null_space (the modes of no energy at the nodes of the matrix) and @p keep_aggregates are for
   * multigrid, whose levels go to @p report. Throws Error with the cause where @p matrix does not allow it.
   */
  template <typename Number>
  std::unique_ptr<PreconditionBase<Number>> make_preconditioner(const SolverParameters               &solver,
                                                                bool                                  mixed,
                                                                const MatrixBase<Number>             &matrix,
                                                                const NullSpace<Number>              &null_space,
                                                                const std::function<NearNullSpace()> &near_null_space,
                                                                bool                                  keep_aggregates,
                                                                PathReport                           &report);
} // namespace PatchFEM

#endif
