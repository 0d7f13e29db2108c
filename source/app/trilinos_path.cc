// SPDX-License-Identifier: LGPL-2.1-or-later
#include "reference_path.h"

#include <patchfem/app/near_null_space.h>
#include <patchfem/app/paths.h>

#include <deal.II/lac/trilinos_precondition.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

#include <Epetra_MultiVector.h>
#include <Teuchos_ParameterList.hpp>

namespace PatchFEM
{
  namespace
  {
    namespace Trilinos = dealii::TrilinosWrappers;

    /** ML's smoothed aggregation with Chebyshev smoothing and the near-null space of the physics. */
    template <int dim>
    std::unique_ptr<Trilinos::PreconditionBase> make_multilevel(const Discretisation<dim>    &discretisation,
                                                                const Physics<dim>           &physics,
                                                                const Trilinos::SparseMatrix &matrix)
    {
      Trilinos::PreconditionAMG::AdditionalData data;
      data.elliptic              = true;
      data.higher_order_elements = discretisation.dof_handler->get_fe_collection().max_degree() > 1;
      data.smoother_type         = "Chebyshev";
      data.smoother_sweeps       = 2;

      // deal.II translates its options to ML's list; the modes, one contiguous column each, are set in the list.
      Teuchos::ParameterList              list;
      std::unique_ptr<Epetra_MultiVector> constant_modes;
      data.set_parameters(list, constant_modes, matrix);
      const unsigned int  n_modes = physics.mode_names().size();
      std::vector<double> modes   = near_null_space(discretisation, physics);
      if (!discretisation.free_modes.empty())
      {
        // Factorisations break down on a singular matrix.
        list.set("coarse: type", "symmetric Gauss-Seidel");
        list.set("coarse: sweeps", 4);
      }
      list.set("null space: type", "pre-computed");
      list.set("null space: dimension", static_cast<int>(n_modes));
      list.set("null space: vectors", modes.data());
      list.set("PDE equations", static_cast<int>(physics.n_components()));

      auto preconditioner = std::make_unique<Trilinos::PreconditionAMG>();
      preconditioner->initialize(matrix, list);
      return preconditioner;
    }
  } // namespace

  template <int dim>
  LinearSystemPath<dim> make_trilinos_path(const SolverParameters &solver, const int n_repetitions, Progress &progress)
  {
    return [=, &progress](const Discretisation<dim> &discretisation, const Physics<dim> &physics,
                          SolutionVector &solution) {
      const auto make_preconditioner =
          [&](const Trilinos::SparseMatrix &matrix) -> std::unique_ptr<Trilinos::PreconditionBase> {
        if (solver.preconditioner == "ml")
          return make_multilevel(discretisation, physics, matrix);
        if (solver.preconditioner != "jacobi")
          return nullptr;
        auto jacobi = std::make_unique<Trilinos::PreconditionJacobi>();
        jacobi->initialize(matrix);
        return jacobi;
      };
      return reference::run<Trilinos::SparseMatrix, Trilinos::MPI::Vector>(
          "Trilinos", discretisation, physics, solver, n_repetitions, progress, make_preconditioner, solution);
    };
  }

  template LinearSystemPath<2> make_trilinos_path(const SolverParameters &, int, Progress &);
  template LinearSystemPath<3> make_trilinos_path(const SolverParameters &, int, Progress &);
} // namespace PatchFEM
