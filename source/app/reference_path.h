// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/reference_solver.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/sparsity_tools.h>

#include <cmath>
#include <memory>

namespace PatchFEM
{
  /** What the paths over other libraries share: deal.II's loop over cells and its conjugate gradients. */
  namespace reference
  {
    /** det J must be positive, and not tiny for a cell of that size. */
    template <int dim>
    void check_shape(const dealii::FEValues<dim>                                  &values,
                     const typename dealii::DoFHandler<dim>::active_cell_iterator &cell)
    {
      const double smallest = 1e-12 * std::pow(cell->diameter(), dim);
      for (const unsigned int q : values.quadrature_point_indices())
        if (!(values.JxW(q) > smallest * values.get_quadrature().weight(q)))
          throw Error(str(boost::format("Cell %d around (%s) is flat or tangled; repair the mesh.") %
                          cell->active_cell_index() % cell->center()));
    }

    template <typename Matrix, typename VectorType, int dim>
    void
    assemble(const Discretisation<dim> &discretisation, const Physics<dim> &physics, Matrix &matrix, VectorType &rhs)
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

    /** The same into an empty system, timed, and again as often as is asked for; or a right-hand side of ones. */
    template <typename Matrix, typename VectorType, int dim>
    void assemble(const Discretisation<dim> &discretisation,
                  const Physics<dim>        &physics,
                  const int                  n_repetitions,
                  Progress                  &progress,
                  Matrix                    &matrix,
                  VectorType                &rhs,
                  PathReport                &report)
    {
      const MPI_Comm communicator = discretisation.communicator;
      report.seconds.assembly =
          timed(communicator, progress, "assembly (deal.II)", [&] { assemble(discretisation, physics, matrix, rhs); });
      report.repeated_assembly = timed_repetitions(n_repetitions, communicator, progress, [&] {
        matrix = 0.;
        rhs    = 0.;
        assemble(discretisation, physics, matrix, rhs);
      });
      if (physics.has_unit_rhs())
        rhs = 1.;
    }

    /** An orthonormal basis of the null space of a singular matrix. */
    template <typename VectorType, int dim>
    std::vector<VectorType> null_space_basis(const Discretisation<dim> &discretisation)
    {
      std::vector<VectorType> basis;
      const dealii::IndexSet &owned = discretisation.dof_handler->locally_owned_dofs();
      for (const std::vector<double> &mode : discretisation.free_modes)
      {
        VectorType v;
        v.reinit(owned, discretisation.communicator);
        for (const dealii::types::global_dof_index i : owned)
          v(i) = discretisation.constraints->is_constrained(i) ? 0. : mode[owned.index_within_set(i)];
        v.compress(dealii::VectorOperation::insert);
        for (int pass = 0; pass < 2; ++pass)
          for (const VectorType &w : basis)
            v.add(-(w * v), w);
        v /= v.l2_norm();
        basis.push_back(v);
      }
      return basis;
    }

    /**
     * All stages of a LinearSystemPath with another library's matrix and vectors, and a preconditioner that
     * @p make_preconditioner makes of the matrix, or null for none.
     */
    template <typename Matrix, typename VectorType, typename MakePreconditioner, int dim>
    PathReport run(const std::string         &library,
                   const Discretisation<dim> &discretisation,
                   const Physics<dim>        &physics,
                   const SolverParameters    &parameters,
                   const int                  n_repetitions,
                   Progress                  &progress,
                   const MakePreconditioner  &make_preconditioner,
                   SolutionVector            &solution)
    {
      const MPI_Comm                 communicator = discretisation.communicator;
      const dealii::DoFHandler<dim> &dof_handler  = *discretisation.dof_handler;
      const dealii::IndexSet        &owned        = dof_handler.locally_owned_dofs();
      dealii::IndexSet               relevant;
      dealii::DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);

      Matrix     matrix;
      VectorType rhs, x;
      PathReport report;

      report.seconds.sparsity = timed(communicator, progress, "sparsity (" + library + ")", [&] {
        dealii::DynamicSparsityPattern pattern(relevant);
        dealii::DoFTools::make_sparsity_pattern(dof_handler, pattern, *discretisation.constraints, false);
        dealii::SparsityTools::distribute_sparsity_pattern(pattern, owned, communicator, relevant);
        matrix.reinit(owned, owned, pattern, communicator);
        rhs.reinit(owned, communicator);
        x.reinit(owned, communicator);
      });

      assemble(discretisation, physics, n_repetitions, progress, matrix, rhs, report);
      solve_system(library, matrix, x, rhs, null_space_basis<VectorType>(discretisation), parameters, progress,
                   make_preconditioner, report);

      discretisation.constraints->distribute(x);
      solution.reinit(owned, relevant, communicator);
      for (const dealii::types::global_dof_index i : owned)
        solution(i) = x(i);
      solution.update_ghost_values();
      return report;
    }
  } // namespace reference
} // namespace PatchFEM
