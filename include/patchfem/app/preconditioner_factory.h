// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/parameters.h>
#include <patchfem/lac/multigrid/near_null_space.h>
#include <patchfem/lac/precondition/precondition_base.h>
#include <patchfem/lac/solver/null_space.h>

#include <functional>
#include <memory>
#include <string>

namespace PatchFEM
{
  /** What a parameter file asks for, without `auto`. */
  struct SolverChoice
  {
    SolverParameters parameters;
    std::string      precision; ///< double, single or mixed
  };

  /** What a preconditioner is made of. */
  template <typename Number>
  struct PreconditionerInput
  {
    const SolverChoice                   &choice;
    const MatrixBase<Number>             &matrix;
    const NullSpace<Number>              &null_space;
    const std::function<NearNullSpace()> &near_null_space; ///< the modes of no energy at the nodes of the matrix
    bool                                  keep_aggregates; ///< in the report
    PathReport                           &report;          ///< is told what there is to say
  };

  /** What the memory of a preconditioner depends on, before there is a matrix. */
  struct PreconditionerExtents
  {
    const Backend           &backend;
    const PatternStatistics &pattern;
    MatrixFormat             format;
    const SolverChoice      &choice;
    int                      n_modes;          ///< of multigrid's near-null space
    bool                     fallback = false; ///< whether its levels turn out to be too hard for single precision
    bool                     several  = false; ///< whether the rows are those of one of several ranks
  };

  /**
   * All that the application layer knows of a preconditioner that a parameter file can name: to add one is to add its
   * row to the table in preconditioner_factory.cc, and a section of entries to SolverParameters if it has any.
   */
  struct PreconditionerRow
  {
    enum Trait : unsigned int
    {
      values    = 1,  ///< it has some, which can be in single precision under double
      rows      = 2,  ///< it reads rows of the matrix, which some formats do not keep
      blocks    = 4,  ///< it reads blocks of a node's unknowns, which some formats do not keep
      copy      = 8,  ///< values in single precision are a copy of the matrix'
      automatic = 16, ///< `auto` may stand for it
      reference = 32, ///< the back end trilinos has it
      levels    = 64  ///< multigrid
    };

    std::string  name;
    std::string  words;   ///< for a user: what it is; may be empty
    std::string  section; ///< of its entries in `Solver`; empty for none
    unsigned int traits;
    double (*peak_bytes)(const PreconditionerExtents &); ///< the most that it takes while it is made

    bool is(const Trait trait) const { return (traits & trait) != 0; }

    /** Ready to be applied; throws Error with the cause where the matrix does not allow it. Null: of trilinos alone. */
    struct Maker
    {
      std::unique_ptr<PreconditionBase<double>> (*in_double)(const PreconditionerInput<double> &);
      std::unique_ptr<PreconditionBase<float>> (*in_single)(const PreconditionerInput<float> &);

      /** Of a function of both kinds of input. */
      template <typename Function>
      Maker(const Function &function) : in_double(function), in_single(function)
      {}

      auto operator()(const PreconditionerInput<double> &input) const { return in_double(input); }
      auto operator()(const PreconditionerInput<float> &input) const { return in_single(input); }
    };
    Maker make;
  };

  /** The table, in the order in which users see it. */
  const std::vector<PreconditionerRow> &preconditioners();

  /** The row of that name, which is not `auto`. */
  const PreconditionerRow &preconditioner_row(const std::string &name);

  /** The names of rows that @p chosen holds for, @p separator between them and @p last_separator before the last. */
  std::string names_of_preconditioners(const std::function<bool(const PreconditionerRow &)> &chosen,
                                       const std::string                                    &separator,
                                       const std::string                                    &last_separator);

  /**
   * The back end of that name, which is not `trilinos`, for systems that @p solver describes, by look_for_backend(): what
   * is returned is to be called once. Throws Error, then at the latest, for what goes together neither with it nor with
   * @p precision.
   */
  std::function<Backend()> choose_backend(const std::string      &name,
                                          const SolverParameters &solver,
                                          const std::string      &precision,
                                          MPI_Comm                communicator = MPI_COMM_SELF);

  /**
   * What Solver/Preconditioner stands for if it is `auto`, for @p n_unknowns with @p n_components at a node:
   *  - block_jacobi below 100 unknowns, whose steps cost less than levels do;
   *  - amg, whose steps hardly depend on the mesh and on the shape of a body, if the format of the matrix keeps the
   *    rows of nodes, which coordinates, hybrid, symmetric, and scalar entries of vector problems do not;
   *  - least_squares else, or jacobi for formats of which there is no copy in single precision when @p precision asks
   *    for one;
   *
   * and what @p precision does if it is: mixed with amg, else double.
   */
  SolverChoice choose_solver(const SolverParameters   &solver,
                             const AssemblyParameters &assembly,
                             const std::string        &precision,
                             unsigned int              n_components,
                             std::uint64_t             n_unknowns);
} // namespace PatchFEM
