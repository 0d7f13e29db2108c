// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_precondition_amg_h
#define patchfem_lac_precondition_amg_h

#include <patchfem/lac/amg_hierarchy.h>
#include <patchfem/lac/null_space.h>

namespace PatchFEM
{
  /**
   * One cycle of algebraic multigrid by smoothed aggregation, set up and applied on the matrix's back end. The operator
   * is symmetric and positive definite by construction, so it serves conjugate gradients.
   *
   * Matrices are SlicedEllpackMatrix of the blocks of a node, or CSRMatrix or MDIAMatrix, of which a blocked copy is made; a
   * matrix that is used in place must outlive the preconditioner.
   */
  template <typename Number>
  class PreconditionAMG : public PreconditionBase<Number>
  {
  public:
    struct AdditionalData : AMGParameters
    {
      /**
       * The hierarchy in fp32, for a matrix in fp64: halves what a cycle moves and costs fp32 values of the finest
       * matrix, whose pattern the two share. The cycle is applied to r / |r|, so that nothing leaves fp32's range. A
       * matrix in fp32 has its hierarchy in fp32 in any case.
       */
      bool single_precision = true;
    };

    /**
     * Aggregates, patterns and values. @p near_null has a row for every row of @p matrix, on its back end. For a singular
     * matrix, @p null_space must lie in the span of these modes, and the preconditioner be applied between projections
     * (PreconditionProjected).
     */
    void initialize(const MatrixBase<Number> &matrix,
                    const NearNullSpace      &near_null,
                    AMGAggregation           &aggregation,
                    const AdditionalData     &additional_data = AdditionalData(),
                    const NullSpace<Number>  &null_space      = NullSpace<Number>());

    /** The same with the aggregates of MISAggregation and its default parameters. */
    void initialize(const MatrixBase<Number> &matrix,
                    const NearNullSpace      &near_null,
                    const AdditionalData     &additional_data = AdditionalData(),
                    const NullSpace<Number>  &null_space      = NullSpace<Number>());

    /** New values on the same pattern: numeric only, the same operator as initialize() would make, bit by bit. */
    void update(const MatrixBase<Number> &matrix);

    void         vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    unsigned int look_interval() const override { return 1; }
    std::string  name() const override { return "amg"; }
    std::size_t  memory_consumption() const override;

    /** See AMGHierarchy::monitor(). */
    void monitor(const std::function<void(unsigned int level, const std::string &phase)> &function);

    unsigned int                    n_levels() const;
    std::vector<AMGLevelStatistics> statistics() const;

    /** Nonzeros of all levels over those of the finest. */
    double operator_complexity() const;

    /** Rows of all levels over those of the finest. */
    double grid_complexity() const;

    /** The levels in this number type; empty with a hierarchy in single precision under double. */
    const AMGHierarchy<Number> &hierarchy() const { return levels; }

    /** The levels in single precision under double; empty otherwise. */
    const AMGHierarchy<float> &single_hierarchy() const { return single_levels; }

  private:
    bool                        mixed = false, borrows_pattern = false; ///< single_matrix has the pattern of the user's
    SlicedEllpackMatrix<Number> blocked;                                ///< of a CSRMatrix
    SlicedEllpackMatrix<float>  single_matrix;
    AMGHierarchy<Number>        levels;
    AMGHierarchy<float>         single_levels;
    mutable Vector<float>       single_src, single_dst;
    std::function<void(unsigned int, const std::string &)> end_of_phase;
    mutable Array<double>                                  norm; ///< partial sums and, behind them, |src|^2

    const SlicedEllpackMatrix<Number> &in_blocks(const MatrixBase<Number> &matrix, bool new_pattern);
  };
} // namespace PatchFEM

#endif
