// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/coefficients.h>
#include <patchfem/assembly/constraint_lines.h>
#include <patchfem/assembly/group_tables.h>
#include <patchfem/assembly/patches.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/multigrid/near_null_space.h>

#include <memory>

namespace PatchFEM
{
  /**
   * A finite element space on one back end: cells, constraints, sparsity and plans of assembly, made once per mesh and
   * shared by any number of forms, matrices and vectors. A handle: copies denote the same space. What depends on the
   * mesh is structure and stays; what depends on time, the k of constraints x_i = sum_j w_j x_j + k_i, are values. What
   * is asked for the first time is made then, so one thread at a time may use a space and its copies. If its tables are
   * of several ranks (see RankTables), all of them call its functions and those of what is made of it, in the same order;
   * vectors and matrices have the rows of this rank's nodes, and fields the values on its own cells and faces. Where they
   * share the back end (see RankGroup) its owner has the rows of all of its group, and the others have none.
   *
   * @code
   *   Space                     space(backend, tables); // or an FESpace, of deal.II's objects
   *   Assembler<Laplace<3>>     stiffness(space);
   *   Assembler<Reaction<3>>    mass(space);
   *   SlicedEllpackMatrix<double> A, M;
   *   space.initialize_matrix(A);
   *   space.initialize_matrix(M);
   * @endcode
   */
  class Space
  {
  public:
    using AdditionalData = ElementBatches::AdditionalData;

    /** No space; everything else asked of it is an Error. */
    Space() = default;

    /** See ElementBatches::reinit(), which may throw. */
    Space(const Backend &backend, ElementTables tables, const AdditionalData &data = AdditionalData());

    /** Of tables that the ranks of the back end's group have put together. */
    Space(const Backend                     &backend,
          std::shared_ptr<const GroupTables> tables,
          const AdditionalData              &data = AdditionalData());

    const Backend        &backend() const { return batches().backend(); }
    std::int64_t          n_dofs() const { return batches().n_dofs(); }
    const ElementBatches &batches() const { return *get().batches; }

    /** The discretisation on the host as it was given, in the numbering of its source: also its constraints. */
    const ElementTables &tables() const { return get().group ? get().group->own() : *get().tables; }

    /** That of which batches() are made: where ranks share the back end that of all of them, see GroupTables::merged(). */
    const ElementTables &tables_of_batches() const { return *get().tables; }

    /** Null unless ranks share the back end. */
    const std::shared_ptr<const GroupTables> &group() const { return get().group; }

    /** The pattern of matrices, made when it is first asked for. */
    const Sparsity &sparsity() const;

    /** Gives back the columns of the pattern and what plans are made of: once all matrices and plans are made. */
    void release_sparsity_columns() const;

    /** Zeros on sparsity(), in the blocks of the unknowns of a node: a CSRMatrix or a SlicedEllpackMatrix. */
    template <typename Matrix>
    void initialize_matrix(Matrix &matrix) const
    {
      on_owner_then_members(backend(), [&] {
        agree_on_errors(batches().partitioner(), [&] {
          matrix.reinit(backend(), pattern(), batches().n_components(), batches().n_components());
          matrix.set_partitioner(batches().partitioner());
        });
      });
    }

    /** A zero for each unknown; any number if @p omit_zeroing_entries. */
    template <typename Number>
    void initialize_dof_vector(Vector<Number> &vector, const bool omit_zeroing_entries = false) const
    {
      if (batches().partitioner() != nullptr)
        vector.reinit(backend(), batches().partitioner(), batches().n_components(), omit_zeroing_entries);
      else
        vector.reinit(backend(), n_dofs(), omit_zeroing_entries);
    }

    /** @p vector by the owned unknowns of tables_of_batches(), and the other way round. */
    template <typename Number>
    std::vector<double> by_tables(const Vector<Number> &vector) const;
    template <typename Number>
    void from_tables(const std::vector<double> &values, Vector<Number> &vector) const;

    /** The same by those of tables(): where ranks share the back end each has its own. Collective. */
    template <typename Number>
    std::vector<double> by_rank(const Vector<Number> &vector) const
    {
      std::vector<double> values = by_tables(vector);
      return group() ? group()->scatter_unknowns(values) : values;
    }
    template <typename Number>
    void from_rank(const std::vector<double> &values, Vector<Number> &vector) const
    {
      from_tables(group() ? group()->gather_unknowns(values) : values, vector);
    }

    /**
     * @p field or @p terms by tables_of_batches(), with those of copies of other ranks' cells behind this rank's own, if
     * there are several: their owners' values, also where some are given. Inside of RankGroup::on_owner() they are
     * GroupTables::gather()'s.
     */
    CoefficientField with_copies(const CoefficientField &field) const;
    FaceTerms        with_copies(const FaceTerms &terms) const;

    /** Modes for multigrid at the positions of the nodes, with linear_embedding(): a constant for each component. */
    NearNullSpace constants() const;

    /** The same for elasticity: translations and rotations; a component for each dimension. */
    NearNullSpace rigid_body_modes() const;

    /**
     * The functions of degree 1 that this space has, with all its constraints; null where its degree is 1 and if an
     * element has no nodes at the vertices, and of several ranks where values come from so far that the owners of
     * vertices do not have these nodes. They are continuous where the functions of the space are:
     * where vertices hang, the lines of the space give their values from the cell that they hang on.
     */
    std::shared_ptr<const LinearEmbedding> linear_embedding() const;

    /** The cells of each node before constraints are resolved, for integrate(); made when they are first asked for. */
    const RowCells &node_cells() const;

    /** For AffineConstraints' operations on vectors of this space; made when they are first asked for. */
    const ConstraintLines &constraints() const;

    /**
     * New k, [line of tables().constraints], from now on. Throws Error unless each line gets one finite number. Of lines
     * of ghosts those of their owners count.
     */
    void update_inhomogeneities(const std::vector<double> &values);

    /**
     * The same cells and numbering without constraints, made when it is first asked for, with about as much memory: for
     * products with matrices of the whole space, as right-hand sides of time steps and of residuals need them.
     */
    Space unconstrained() const;

    /** The plan of assembly of batch @p b, see make_plan(); forms with equal @p rooms share one. */
    std::shared_ptr<const Patches>
    plan(int b, const std::vector<kernels::PatchRoom> &rooms, const Patches::AdditionalData &data) const;

    bool operator==(const Space &other) const { return state == other.state; }
    bool operator!=(const Space &other) const { return state != other.state; }

    /** Bytes on the back end, with all plans that are in use and unconstrained(). */
    std::size_t memory_consumption() const;

  private:
    struct Plan
    {
      int                             batch;
      std::vector<kernels::PatchRoom> rooms;
      Patches::AdditionalData         data;
      std::weak_ptr<const Patches>    patches;
    };
    struct State
    {
      std::shared_ptr<const GroupTables>   group;
      std::shared_ptr<const ElementTables> tables; ///< of the batches
      std::unique_ptr<ElementBatches>      batches;
      std::unique_ptr<RowCells>            row_cells; ///< between sparsity and the first plan
      std::unique_ptr<RowCells>            node_cells;
      std::unique_ptr<Sparsity>            sparsity;
      std::unique_ptr<ConstraintLines>     lines;
      std::vector<Plan>                    plans;
      std::shared_ptr<State>               unconstrained;
      bool                                 is_constrained = true, released = false;
    };

    State        &get() const;
    SparsityView  pattern() const;
    Array<double> owned_points() const;
    NearNullSpace rigid_body_modes_here() const;

    std::vector<double> values_of_owners(std::vector<double> values) const;

    std::shared_ptr<State> state;
  };
} // namespace PatchFEM
