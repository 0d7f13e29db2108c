// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/trilinos_path.h>
#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/solver_cg.h>
#include <deal.II/lac/sparsity_tools.h>
#include <deal.II/lac/trilinos_precondition.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

#include <Epetra_MultiVector.h>
#include <Teuchos_ParameterList.hpp>

#include <sstream>

namespace PatchFEM
{
  namespace
  {
    namespace Trilinos   = dealii::TrilinosWrappers;
    using TrilinosVector = Trilinos::MPI::Vector;

    /** det J must be positive, and not tiny for a cell of that size. */
    template <int dim>
    void check_shape(const dealii::FEValues<dim>                                  &values,
                     const typename dealii::DoFHandler<dim>::active_cell_iterator &cell)
    {
      const double smallest = 1e-12 * std::pow(cell->diameter(), dim);
      for (const unsigned int q : values.quadrature_point_indices())
        if (!(values.JxW(q) > smallest * values.get_quadrature().weight(q)))
        {
          std::ostringstream place;
          place << cell->center();
          throw Error("Cell " + std::to_string(cell->active_cell_index()) + " around (" + place.str() +
                      ") is flat or tangled; repair the mesh.");
        }
    }

    template <int dim>
    void make_sparsity(const Discretisation<dim> &discretisation, Trilinos::SparseMatrix &matrix)
    {
      const dealii::DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
      dealii::IndexSet               relevant;
      dealii::DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);
      dealii::DynamicSparsityPattern pattern(relevant);
      dealii::DoFTools::make_sparsity_pattern(dof_handler, pattern, *discretisation.constraints, false);
      dealii::SparsityTools::distribute_sparsity_pattern(pattern, dof_handler.locally_owned_dofs(),
                                                         discretisation.communicator, relevant);
      matrix.reinit(dof_handler.locally_owned_dofs(), dof_handler.locally_owned_dofs(), pattern,
                    discretisation.communicator);
    }

    template <int dim>
    void assemble(const Discretisation<dim> &discretisation,
                  const Physics<dim>        &physics,
                  Trilinos::SparseMatrix    &matrix,
                  TrilinosVector            &rhs)
    {
      using namespace dealii;
      const DoFHandler<dim>           &dof_handler = *discretisation.dof_handler;
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
          check_shape<dim>(cell_values, cell);
          physics.add_cell(cell_values, cell->material_id(), cell_matrix, cell_rhs);
          for (const auto &face : cell->face_iterators())
            if (face->at_boundary() && physics.has_face_terms(face->boundary_id()))
            {
              face_values.reinit(cell, face);
              physics.add_face(face_values.get_present_fe_values(), face->boundary_id(), cell_matrix, cell_rhs);
            }
          cell->get_dof_indices(indices);
          discretisation.constraints->distribute_local_to_global(cell_matrix, cell_rhs, indices, matrix, rhs);
        }
      matrix.compress(VectorOperation::add);
      rhs.compress(VectorOperation::add);
    }

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
  PathReport TrilinosPath<dim>::run(const Discretisation<dim> &discretisation,
                                    const Physics<dim>        &physics,
                                    SolutionVector            &solution)
  {
    const MPI_Comm          communicator = discretisation.communicator;
    const dealii::IndexSet &owned        = discretisation.dof_handler->locally_owned_dofs();

    Trilinos::SparseMatrix                      matrix;
    TrilinosVector                              rhs, x;
    std::unique_ptr<Trilinos::PreconditionBase> preconditioner;
    PathReport                                  report;

    report.seconds.sparsity = timed(communicator, progress, "sparsity (Trilinos)", [&] {
      make_sparsity(discretisation, matrix);
      rhs.reinit(owned, communicator);
      x.reinit(owned, communicator);
    });

    report.seconds.assembly =
        timed(communicator, progress, "assembly (deal.II)", [&] { assemble(discretisation, physics, matrix, rhs); });
    report.repeated_assembly = timed_repetitions(n_repetitions, communicator, progress, [&] {
      matrix = 0.;
      rhs    = 0.;
      assemble(discretisation, physics, matrix, rhs);
    });

    report.seconds.preconditioner = timed(communicator, progress, "preconditioner (Trilinos)", [&] {
      if (parameters.preconditioner == "ml")
        preconditioner = make_multilevel(discretisation, physics, matrix);
      else if (parameters.preconditioner == "jacobi")
      {
        auto jacobi = std::make_unique<Trilinos::PreconditionJacobi>();
        jacobi->initialize(matrix);
        preconditioner = std::move(jacobi);
      }
    });

    const double          rhs_norm = rhs.l2_norm();
    dealii::SolverControl control(parameters.max_iterations, parameters.tolerance * rhs_norm);
    report.seconds.solve = timed(communicator, progress, "solve (Trilinos)", [&] {
      dealii::SolverCG<TrilinosVector> solver(control);
      solver.connect([&](const unsigned int step, const double residual, const TrilinosVector &) {
        progress.iteration(step, residual / rhs_norm);
        return dealii::SolverControl::success;
      });
      try
      {
        if (preconditioner)
          solver.solve(matrix, x, rhs, *preconditioner);
        else
          solver.solve(matrix, x, rhs, dealii::PreconditionIdentity());
      }
      catch (const dealii::SolverControl::NoConvergence &failure)
      {
        std::ostringstream message;
        message << "The conjugate gradient method did not converge in " << failure.last_step
                << " iterations; the relative residual is " << failure.last_residual / rhs_norm
                << ". Raise Solver/Maximum iterations or choose another preconditioner.";
        throw Error(message.str());
      }
    });

    TrilinosVector residual(x);
    const double   residual_norm = matrix.residual(residual, x, rhs);
    report.relative_residual     = rhs_norm > 0. ? residual_norm / rhs_norm : residual_norm;

    discretisation.constraints->distribute(x);
    dealii::IndexSet relevant;
    dealii::DoFTools::extract_locally_relevant_dofs(*discretisation.dof_handler, relevant);
    solution.reinit(owned, relevant, communicator);
    for (const dealii::types::global_dof_index i : owned)
      solution(i) = x(i);
    solution.update_ghost_values();

    report.backend        = "trilinos";
    report.device         = Backend("host").device_name();
    report.nnz            = matrix.n_nonzero_elements();
    report.stored         = report.nnz;
    report.format         = "csr";
    report.precision      = "double";
    report.preconditioner = parameters.preconditioner;
    report.n_iterations   = control.last_step();
    return report;
  }

  template class TrilinosPath<2>;
  template class TrilinosPath<3>;
} // namespace PatchFEM
