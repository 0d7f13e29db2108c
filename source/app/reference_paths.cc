// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/reference_solver.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/sparse_direct.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/sparsity_tools.h>
#include <deal.II/lac/trilinos_precondition.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

#include <Epetra_MultiVector.h>
#include <Teuchos_ParameterList.hpp>

#if defined(DEAL_II_WITH_PETSC) && defined(DEAL_II_PETSC_WITH_HYPRE)
#define PATCHFEM_WITH_BOOMERAMG
#include <deal.II/lac/petsc_precondition.h>
#include <deal.II/lac/petsc_sparse_matrix.h>
#include <deal.II/lac/petsc_vector.h>
#endif

namespace PatchFEM
{
  namespace
  {
    /** One system from deal.II's loop over cells to its solution, by one of solve_with_...(). */
    template <int dim>
    struct ReferenceSystem
    {
      const SolverParameters    &parameters;
      const int                  n_repetitions;
      const Discretisation<dim> &discretisation;
      const Physics<dim>        &physics;
      Progress                  &progress;

      const MPI_Comm                 communicator = discretisation.communicator;
      const dealii::DoFHandler<dim> &dof_handler  = *discretisation.dof_handler;
      PathReport                     report       = {};

      /** By Trilinos with ML or Jacobi, which `preconditioner` names, or none. */
      PathReport solve_with_trilinos(SolutionVector &solution)
      {
        namespace Trilinos = dealii::TrilinosWrappers;
        return iterate<Trilinos::SparseMatrix, Trilinos::MPI::Vector>(
            "Trilinos",
            [&](const Trilinos::SparseMatrix &matrix) -> std::unique_ptr<Trilinos::PreconditionBase> {
              if (parameters.preconditioner == "ml")
                return make_multilevel(matrix);
              if (parameters.preconditioner != "jacobi")
                return nullptr;
              auto jacobi = std::make_unique<Trilinos::PreconditionJacobi>();
              jacobi->initialize(matrix);
              return jacobi;
            },
            solution);
      }

#ifdef PATCHFEM_WITH_BOOMERAMG
      PathReport solve_with_petsc(SolutionVector &solution)
      {
        namespace PETSc = dealii::PETScWrappers;
        return iterate<PETSc::MPI::SparseMatrix, PETSc::MPI::Vector>(
            "PETSc",
            [](const PETSc::MPI::SparseMatrix &matrix) {
              PETSc::PreconditionBoomerAMG::AdditionalData data;
              data.symmetric_operator = true;
              data.strong_threshold   = dim == 3 ? 0.5 : 0.25;
              auto result             = std::make_unique<PETSc::PreconditionBoomerAMG>();
              result->initialize(matrix, data);
              return result;
            },
            solution);
      }
#endif

#ifdef DEAL_II_WITH_UMFPACK
      PathReport solve_with_umfpack(SolutionVector &solution)
      {
        require(discretisation.free_modes.empty(),
                "Baseline = umfpack factorises the matrix, which is singular here; choose trilinos_ml.");
        const auto                   n = dof_handler.n_dofs();
        dealii::SparsityPattern      pattern;
        dealii::SparseMatrix<double> matrix;
        dealii::Vector<double>       rhs(n), x(n), r(n);
        dealii::SparseDirectUMFPACK  factors;

        report.seconds.sparsity = timed(communicator, progress, "sparsity (deal.II)", [&] {
          dealii::DynamicSparsityPattern rows(n);
          dealii::DoFTools::make_sparsity_pattern(dof_handler, rows, *discretisation.constraints, false);
          pattern.copy_from(rows);
          matrix.reinit(pattern);
        });
        assemble(matrix, rhs);
        const int exponent = reference::remove_units(matrix, rhs);

        report.seconds.preconditioner = timed(communicator, progress, "factorisation (UMFPACK)", [&] {
          try
          {
            factors.initialize(matrix);
          }
          catch (const dealii::SparseDirectUMFPACK::ExcUMFPACKError &)
          {
            throw Error("Baseline = umfpack cannot factorise the matrix of ", n,
                        " unknowns: memory does not suffice for its factors, or it is singular to double precision; "
                        "choose trilinos_ml.");
          }
        });
        double componentwise          = 0.;
        report.seconds.solve          = timed(communicator, progress, "solve (UMFPACK)", [&] {
          r = rhs;
          for (report.n_iterations = 0;; ++report.n_iterations)
          {
            factors.solve(r);
            x += r;
            componentwise = compute_residual(matrix, x, rhs, r);
            if (report.n_iterations == 2)
              break;
          }
        });

        // Above the tolerance the residual is to be rounding, as in reference::solve().
        const double norm = rhs.l2_norm(), residual = r.l2_norm();
        report.relative_residual   = norm > 0. ? residual / norm : 0.;
        report.stopped_at_rounding = norm > 0. && !(residual <= parameters.tolerance * norm);
        if (report.stopped_at_rounding)
        {
          const double product = reference::spectral_norm(matrix, rhs) * x.l2_norm();
          if (!(residual <= 4. * std::numeric_limits<double>::epsilon() * product && reference::is_answer(x, rhs, r)))
            throw Error("The solution of UMFPACK is not accurate: its relative residual is ", report.relative_residual,
                        "; the matrix is nearly singular.");
          report.backward_error = BackwardError{residual / (product + norm), componentwise};
        }
        reference::restore_units(x, exponent);

        discretisation.constraints->distribute(x);
        solution.reinit(n);
        std::copy(x.begin(), x.end(), solution.begin());
        reference::describe("UMFPACK", matrix, "lu", report);
        return report;
      }
#endif

      /** All stages with a library's matrix and vectors. @p make_preconditioner makes one of a matrix, or null. */
      template <typename Matrix, typename VectorType, typename MakePreconditioner>
      PathReport
      iterate(const std::string &library, const MakePreconditioner &make_preconditioner, SolutionVector &solution)
      {
        const dealii::IndexSet &owned = dof_handler.locally_owned_dofs();
        dealii::IndexSet        relevant;
        dealii::DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);

        Matrix     matrix;
        VectorType rhs, x;
        report.seconds.sparsity = timed(communicator, progress, "sparsity (" + library + ")", [&] {
          dealii::DynamicSparsityPattern pattern(relevant);
          dealii::DoFTools::make_sparsity_pattern(dof_handler, pattern, *discretisation.constraints, false);
          dealii::SparsityTools::distribute_sparsity_pattern(pattern, owned, communicator, relevant);
          matrix.reinit(owned, owned, pattern, communicator);
          rhs.reinit(owned, communicator);
          x.reinit(owned, communicator);
        });
        assemble(matrix, rhs);
        reference::solve_system(library, matrix, x, rhs, null_space_basis<VectorType>(), inertia_loads<VectorType>(),
                                parameters, progress, make_preconditioner, report);

        discretisation.constraints->distribute(x);
        solution.reinit(owned, relevant, communicator);
        for (const dealii::types::global_dof_index i : owned)
          solution(i) = x(i);
        solution.update_ghost_values();
        return report;
      }

      /** Into an empty system, timed, and again as often as is asked for; or a right-hand side of ones. */
      template <typename Matrix, typename VectorType>
      void assemble(Matrix &matrix, VectorType &rhs)
      {
        report.seconds.assembly  = timed(communicator, progress, "assembly (deal.II)", [&] { add_cells(matrix, rhs); });
        report.repeated_assembly = timed_repetitions(n_repetitions, communicator, progress, [&] {
          matrix = 0.;
          rhs    = 0.;
          add_cells(matrix, rhs);
        });
        if (physics.has_unit_rhs())
          rhs = 1.;
      }

      template <typename Matrix, typename VectorType>
      void add_cells(Matrix &matrix, VectorType &rhs) const
      {
        using namespace dealii;
        const hp::MappingCollection<dim> mapping(*discretisation.mapping);
        const hp::FECollection<dim>     &elements = dof_handler.get_fe_collection();
        hp::FEValues<dim>                values(mapping, elements, discretisation.quadrature,
                                                update_values | update_gradients | update_quadrature_points | update_JxW_values);
        hp::FEFaceValues<dim>            face_values(mapping, elements, discretisation.face_quadrature,
                                                     update_values | update_quadrature_points | update_normal_vectors |
                                                         update_JxW_values);

        FullMatrix<double>                   cell_matrix;
        dealii::Vector<double>               cell_rhs;
        std::vector<types::global_dof_index> indices;
        for (const auto &cell : dof_handler.active_cell_iterators())
          if (cell->is_locally_owned())
          {
            const unsigned int n = cell->get_fe().n_dofs_per_cell();
            cell_matrix.reinit(n, n);
            cell_rhs.reinit(n);
            indices.resize(n);
            values.reinit(cell);
            const FEValues<dim> &cell_values = values.get_present_fe_values();
            // det J must be positive, and not tiny for a cell of that size.
            const double smallest = 1e-12 * std::pow(cell->diameter(), dim);
            for (const unsigned int q : cell_values.quadrature_point_indices())
              if (!(cell_values.JxW(q) > smallest * cell_values.get_quadrature().weight(q)))
                throw Error("Cell ", cell->active_cell_index(), " around (", cell->center(),
                            ") is flat or tangled; repair the mesh.");
            physics.add_cell(cell_values, cell->material_id(), cell_matrix, cell_rhs);
            for (const auto &face : cell->face_iterators())
              if (face->at_boundary() && physics.natural_conditions().contains(face->boundary_id()))
              {
                face_values.reinit(cell, face);
                physics.natural_conditions().add_face(face_values.get_present_fe_values(), face->boundary_id(),
                                                      cell_matrix, cell_rhs);
              }
            cell->get_dof_indices(indices);
            discretisation.constraints->distribute_local_to_global(cell_matrix, cell_rhs, indices, matrix, rhs);
          }
        matrix.compress(VectorOperation::add);
        rhs.compress(VectorOperation::add);
      }

      /** @p values at locally owned unknowns, 0 at those that are constrained. */
      template <typename VectorType>
      VectorType unconstrained(const std::vector<double> &values) const
      {
        const dealii::IndexSet &owned = dof_handler.locally_owned_dofs();
        VectorType              v;
        v.reinit(owned, communicator);
        for (const dealii::types::global_dof_index i : owned)
          v(i) = discretisation.constraints->is_constrained(i) ? 0. : values[owned.index_within_set(i)];
        v.compress(dealii::VectorOperation::insert);
        return v;
      }

      template <typename VectorType>
      std::vector<VectorType> inertia_loads() const
      {
        std::vector<VectorType> loads;
        for (const auto &inertia : discretisation.inertia)
          loads.push_back(unconstrained<VectorType>(inertia.load));
        return loads;
      }

      /** An orthonormal basis of the null space of a singular matrix. */
      template <typename VectorType>
      std::vector<VectorType> null_space_basis() const
      {
        std::vector<VectorType> basis;
        for (const std::vector<double> &mode : discretisation.free_modes)
        {
          VectorType v = unconstrained<VectorType>(mode);
          for (int pass = 0; pass < 2; ++pass)
            for (const VectorType &w : basis)
              v.add(-(w * v), w);
          v /= v.l2_norm();
          basis.push_back(v);
        }
        return basis;
      }

      /** ML's smoothed aggregation with Chebyshev smoothing and the near-null space of the physics. */
      std::unique_ptr<dealii::TrilinosWrappers::PreconditionAMG>
      make_multilevel(const dealii::TrilinosWrappers::SparseMatrix &matrix) const
      {
        dealii::TrilinosWrappers::PreconditionAMG::AdditionalData data;
        data.elliptic              = true;
        data.higher_order_elements = dof_handler.get_fe_collection().max_degree() > 1;
        data.smoother_type         = "Chebyshev";
        data.smoother_sweeps       = 2;

        // deal.II translates its options to ML's list; the modes, one contiguous column each, are set in the list.
        Teuchos::ParameterList              list;
        std::unique_ptr<Epetra_MultiVector> constant_modes;
        data.set_parameters(list, constant_modes, matrix);
        std::vector<double> modes = near_null_space(discretisation, physics);
        if (!discretisation.free_modes.empty())
        {
          // Factorisations break down on a singular matrix.
          list.set("coarse: type", "symmetric Gauss-Seidel");
          list.set("coarse: sweeps", 4);
        }
        list.set("null space: type", "pre-computed");
        list.set("null space: dimension", static_cast<int>(physics.mode_names().size()));
        list.set("null space: vectors", modes.data());
        list.set("PDE equations", static_cast<int>(physics.n_components()));

        auto preconditioner = std::make_unique<dealii::TrilinosWrappers::PreconditionAMG>();
        preconditioner->initialize(matrix, list);
        return preconditioner;
      }

      /** r = b - A x, summed in extended precision. @return the largest |r_i| / (|A| |x| + |b|)_i. */
      static double compute_residual(const dealii::SparseMatrix<double> &matrix,
                                     const dealii::Vector<double>       &x,
                                     const dealii::Vector<double>       &b,
                                     dealii::Vector<double>             &r)
      {
        double most = 0.;
        for (dealii::types::global_dof_index row = 0; row < matrix.m(); ++row)
        {
          long double sum = b(row), size = std::abs(sum);
          for (auto entry = matrix.begin(row); entry != matrix.end(row); ++entry)
          {
            const long double product = static_cast<long double>(entry->value()) * x(entry->column());
            sum -= product;
            size += std::abs(product);
          }
          r(row) = static_cast<double>(sum);
          if (size > 0.L)
            most = std::max(most, static_cast<double>(std::abs(sum) / size));
        }
        return most;
      }
    };
  } // namespace

  template <int dim>
  LinearSystemPath<dim> make_reference_path(const std::string       &name,
                                            const ProblemParameters &parameters,
                                            Progress                &progress,
                                            const MPI_Comm           communicator)
  {
#ifndef PATCHFEM_WITH_BOOMERAMG
    require(
        name != "petsc_boomeramg",
        "Baseline = petsc_boomeramg needs a deal.II with PETSc and hypre, which this one lacks; choose trilinos_ml.");
#endif
#ifndef DEAL_II_WITH_UMFPACK
    require(name != "umfpack",
            "Baseline = umfpack needs a deal.II with UMFPACK, which this one lacks; choose trilinos_ml.");
#endif
    require(name != "umfpack" || dealii::Utilities::MPI::n_mpi_processes(communicator) == 1,
            "Baseline = umfpack factorises in one process; with several MPI ranks choose trilinos_ml.");
    SolverParameters solver = parameters.solver;
    solver.preconditioner   = name.substr(name.find('_') + 1);
    LinearSystemPath<dim> path;
    path.solve = [=, n_repetitions = parameters.assembly.n_repetitions, &progress](
                     const Discretisation<dim> &discretisation, const Physics<dim> &physics, SolutionVector &solution) {
      ReferenceSystem<dim> system{solver, n_repetitions, discretisation, physics, progress};
#ifdef DEAL_II_WITH_UMFPACK
      if (name == "umfpack")
        return system.solve_with_umfpack(solution);
#endif
#ifdef PATCHFEM_WITH_BOOMERAMG
      if (name == "petsc_boomeramg")
        return system.solve_with_petsc(solution);
#endif
      return system.solve_with_trilinos(solution);
    };
    return path;
  }

  template LinearSystemPath<2>
  make_reference_path(const std::string &, const ProblemParameters &, Progress &, MPI_Comm);
  template LinearSystemPath<3>
  make_reference_path(const std::string &, const ProblemParameters &, Progress &, MPI_Comm);
} // namespace PatchFEM
