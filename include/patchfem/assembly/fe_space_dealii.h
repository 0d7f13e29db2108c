// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/coefficients.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/assembly/space.h>
#include <patchfem/lac/dof_numbering_dealii.h>

#include <deal.II/base/function.h>

namespace PatchFEM
{
  /**
   * @p function at the quadrature points of all cells: for each batch, [cell][q][component of the function]. It is called on
   * all threads: as in deal.II's own threaded loops, its value functions must be safe to call at the same time, as
   * those of FunctionParser are. A value that is not finite is an Error that names the point.
   */
  template <int dim>
  std::vector<std::vector<double>> evaluate_at_quadrature_points(const dealii::Function<dim> &function,
                                                                 const ElementTables         &tables);

  /**
   * A Space made of deal.II's objects, which knows the way back to them: a vector of the space becomes one of the
   * DoFHandler and the other way round, whatever the numbering and the back end. A handle, as Space is.
   *
   * @code
   *   FESpace<dim> space(backend, mapping, dof_handler, constraints);
   *   Assembler<Laplace<dim>> assembler(space);
   *   ...
   *   space.copy_to(x, solution);         // deal.II's numbering
   *   constraints.distribute(solution);
   * @endcode
   */
  template <int dim>
  class FESpace : public Space
  {
  public:
    FESpace() = default;

    /** Takes what reinit() takes. */
    template <typename... Arguments>
    FESpace(const Backend &backend, const dealii::Mapping<dim> &mapping, const Arguments &...arguments)
    {
      reinit(backend, mapping, arguments...);
    }

    /**
     * Reads the discretisation, once per mesh, numbering and materials: after refinement, DoFRenumbering,
     * distribute_dofs() and set_material_id() it has to be called again. The functions below throw Error where they
     * notice that it was not: after refinement always, of the others by indices and materials of up to 4096 cells. @p
     * constraints must be closed. New boundary values, which alone need no other space, are not noticed before
     * update_inhomogeneities(). @p dof_handler should outlive the space, as for objects of deal.II that use it. What it
     * made before stays with those who share it. Throws Error for what is not supported, see
     * extract_element_tables().
     */
    void reinit(const Backend                           &backend,
                const dealii::Mapping<dim>              &mapping,
                const dealii::DoFHandler<dim>           &dof_handler,
                const dealii::AffineConstraints<double> &constraints,
                const ExtractionData<dim>               &extraction = ExtractionData<dim>(),
                const Space::AdditionalData             &order      = Space::AdditionalData());

    /**
     * The indices that the DoFHandler had. Throws Error once its mesh has changed, as all functions below, and if there
     * are several ranks, of which none has all.
     */
    const DoFNumbering &numbering() const;

    /** @p dst becomes @p src, a vector of this space or of unconstrained(), in the numbering of the DoFHandler. */
    template <typename Number>
    void copy_to(const Vector<Number> &src, dealii::Vector<double> &dst) const
    {
      numbering().copy_to(src, dst);
    }

    /** @p dst becomes @p src on the back end of the space. */
    template <typename Number>
    void copy_from(const dealii::Vector<double> &src, Vector<Number> &dst) const
    {
      const DoFNumbering &indices = numbering();
      dst.reinit(this->backend(), this->n_dofs(), true);
      indices.copy_from(src, dst);
    }

    /**
     * The same with vectors of several ranks, such as LinearAlgebra::distributed::Vector and
     * TrilinosWrappers::MPI::Vector, that have the indices which the DoFHandler has on this rank; collective. @p dst gets
     * the elements that this rank owns, after which ghosts are to be updated.
     */
    template <typename Number, typename VectorType>
    void copy_to(const Vector<Number> &src, VectorType &dst) const
    {
      const std::vector<unsigned int> &dofs   = owned_dofs();
      const std::vector<double>        values = this->by_rank(src);
      for (std::size_t i = 0; i < dofs.size(); ++i)
        dst(dofs[i]) = values[i];
      dst.compress(dealii::VectorOperation::insert);
    }

    template <typename Number, typename VectorType>
    void copy_from(const VectorType &src, Vector<Number> &dst) const
    {
      const std::vector<unsigned int> &dofs = owned_dofs();
      std::vector<double>              values(dofs.size());
      for (std::size_t i = 0; i < dofs.size(); ++i)
        values[i] = src(dofs[i]);
      this->from_rank(values, dst);
    }

    /** deal.II's index of each unknown of this rank, as tables() have them. Throws Error once the mesh has changed. */
    const std::vector<unsigned int> &owned_dofs() const;

    /**
     * A matrix that deal.II or Trilinos assembled for the DoFHandler, in the blocks of the nodes: a CSRMatrix<double>
     * or a SlicedEllpackMatrix<double>. Throws Error if its size is another, or if more than a tenth of its entries
     * couple unknowns whose nodes share no cell: then it is of other indices.
     */
    template <typename DealIIMatrix, typename Matrix>
    void import_matrix(const DealIIMatrix &src, Matrix &dst) const
    {
      const HostCSR<double> matrix = numbering().import_matrix(src);
      check_coupling(matrix);
      dst = Matrix(this->backend(), matrix, this->batches().n_components());
    }

    /** evaluate_at_quadrature_points() for Assembler: a coefficient for each component of @p function. */
    CoefficientField evaluate(const dealii::Function<dim> &function) const;

    /**
     * @p function at the points of the faces with @p boundary_ids, of all if there are none, as a load for
     * Assembler::set_face_terms(): a component for each of the space, and 0 on other faces. MeshRegions::find() has the
     * ids of a name. Throws Error for an id of no face that ExtractionData lists. Collective.
     */
    FaceTerms evaluate_on_faces(const dealii::Function<dim>                &function,
                                const std::set<dealii::types::boundary_id> &boundary_ids = {}) const;

    /** CoefficientField::by_cell() of the values that @p function has on this rank's cells. Collective. */
    CoefficientField evaluate_by_cell(
        const std::function<std::vector<double>(const typename dealii::Triangulation<dim>::active_cell_iterator &)>
            &function) const;

    /**
     * New boundary values at the price of a vector: @p constraints must be closed and else those of the space. To be called
     * whenever they change, as in each time step: until then right-hand sides, constraints().distribute() and Newton's
     * residuals have those of before.
     */
    void update_inhomogeneities(const dealii::AffineConstraints<double> &constraints);

  private:
    struct Source;

    void check_source() const;
    void check_coupling(const HostCSR<double> &matrix) const;

    std::shared_ptr<Source> source;
  };

  template <int dim, typename Function>
  CoefficientField CoefficientField::by_cell(const FESpace<dim> &space, const Function &function)
  {
    return space.evaluate_by_cell(function);
  }
} // namespace PatchFEM
