// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_app_reference_path_h
#define patchfem_source_app_reference_path_h

#include <patchfem/app/reference_solver.h>
#include <patchfem/base/backend.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/precondition.h>
#include <deal.II/lac/sparsity_tools.h>

#include <cmath>
#include <functional>
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
        {
          std::ostringstream place;
          place << cell->center();
          throw Error("Cell " + std::to_string(cell->active_cell_index()) + " around (" + place.str() +
                      ") is flat or tangled; repair the mesh.");
        }
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

    /** The orthogonal projection that takes the null space of a singular matrix away, and a preconditioner inside it. */
    template <typename VectorType, typename Preconditioner>
    class Projection
    {
    public:
      /** @p preconditioner may be null, for none. */
      template <int dim>
      Projection(const Discretisation<dim> &discretisation, const Preconditioner *preconditioner)
          : preconditioner(preconditioner)
      {
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
      }

      void project(VectorType &x) const
      {
        for (const VectorType &v : basis)
          x.add(-(v * x), v);
      }

      void vmult(VectorType &dst, const VectorType &src) const
      {
        VectorType projected(src);
        project(projected);
        if (preconditioner != nullptr)
          preconditioner->vmult(dst, projected);
        else
          dst = projected;
        project(dst);
      }

    private:
      std::vector<VectorType> basis;
      const Preconditioner   *preconditioner;
    };

    /**
     * All stages of LinearSystemPath::run() with another library's matrix and vectors, and a preconditioner that
     * @p make_preconditioner makes of the matrix, or null for none.
     */
    template <typename Matrix, typename VectorType, typename Preconditioner, int dim>
    PathReport run(const std::string                                                    &library,
                   const Discretisation<dim>                                            &discretisation,
                   const Physics<dim>                                                   &physics,
                   const SolverParameters                                               &parameters,
                   const int                                                             n_repetitions,
                   Progress                                                             &progress,
                   const std::function<std::unique_ptr<Preconditioner>(const Matrix &)> &make_preconditioner,
                   SolutionVector                                                       &solution)
    {
      const MPI_Comm                 communicator = discretisation.communicator;
      const dealii::DoFHandler<dim> &dof_handler  = *discretisation.dof_handler;
      const dealii::IndexSet        &owned        = dof_handler.locally_owned_dofs();
      dealii::IndexSet               relevant;
      dealii::DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);

      Matrix                          matrix;
      VectorType                      rhs, x;
      std::unique_ptr<Preconditioner> preconditioner;
      PathReport                      report;

      report.seconds.sparsity = timed(communicator, progress, "sparsity (" + library + ")", [&] {
        dealii::DynamicSparsityPattern pattern(relevant);
        dealii::DoFTools::make_sparsity_pattern(dof_handler, pattern, *discretisation.constraints, false);
        dealii::SparsityTools::distribute_sparsity_pattern(pattern, owned, communicator, relevant);
        matrix.reinit(owned, owned, pattern, communicator);
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
      if (physics.has_unit_rhs())
        rhs = 1.;

      const int exponent = remove_units(matrix, rhs);

      report.seconds.preconditioner = timed(communicator, progress, "preconditioner (" + library + ")",
                                            [&] { preconditioner = make_preconditioner(matrix); });

      const Projection<VectorType, Preconditioner> projection(discretisation, preconditioner.get());
      if (!discretisation.free_modes.empty())
      {
        VectorType   removed(rhs);
        const double before = rhs.l2_norm();
        projection.project(rhs);
        removed.add(-1., rhs);
        if (rhs.l2_norm() <= 100. * std::numeric_limits<double>::epsilon() * before)
          rhs = 0.;
        report.null_space = NullSpaceReport{static_cast<unsigned int>(discretisation.free_modes.size()),
                                            before > 0. ? removed.l2_norm() / before : 0.};
      }

      report.seconds.solve = timed(communicator, progress, "solve (" + library + ")", [&] {
        const auto project = [&](VectorType &vector) { projection.project(vector); };
        const auto run_cg  = [&](const auto &applied) {
          solve(library, matrix, x, rhs, applied, project, parameters, progress, report);
        };
        if (report.null_space)
          run_cg(projection);
        else if (preconditioner)
          run_cg(*preconditioner);
        else
          run_cg(dealii::PreconditionIdentity());
      });
      if (report.stopped_at_rounding)
        report.backward_error = backward_error(matrix, x, rhs);
      restore_units(x, exponent);

      discretisation.constraints->distribute(x);
      solution.reinit(owned, relevant, communicator);
      for (const dealii::types::global_dof_index i : owned)
        solution(i) = x(i);
      solution.update_ghost_values();

      report.device         = Backend("host").device_name();
      report.nnz            = matrix.n_nonzero_elements();
      report.stored         = report.nnz;
      report.format         = "csr";
      report.precision      = "double";
      report.preconditioner = parameters.preconditioner;
      return report;
    }
  } // namespace reference
} // namespace PatchFEM

#endif
