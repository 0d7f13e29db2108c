// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/multigrid/amg_hierarchy.h>
#include <patchfem/lac/solver/null_space.h>

namespace PatchFEM
{
  /**
   * One cycle of algebraic multigrid by smoothed aggregation, set up and applied on the matrix's back end. The operator
   * is symmetric and positive definite by construction, so it serves conjugate gradients.
   *
   * Matrices are SlicedEllpackMatrix of the blocks of a node, or CSRMatrix or MDIAMatrix, of which a blocked copy is
   * made; a matrix that is used in place must outlive the preconditioner.
   */
  template <typename Number>
  class PreconditionAMG : public PreconditionBase<Number>
  {
  public:
    struct AdditionalData : AMGParameters
    {
      /// The hierarchy in fp32 where that can hold it, for a matrix in fp64: halves what a cycle moves and costs fp32
      /// values of the finest matrix, whose pattern the two share. The cycle is applied to r / |r|, so that nothing
      /// leaves fp32's range. A matrix in fp32 has its hierarchy in fp32 in any case. What fp32 cannot hold is kept in
      /// fp64: coarse matrices of slender bodies, or of stiff parts on soft ones, are differences of entries that are
      /// orders larger; rounding those may leave them indefinite. So where AMGHierarchy::condition() is above
      /// single_limit, or a level cannot be inverted, all levels are made of the unrounded matrix and only the finest
      /// is smoothed in fp32; above finest_limit, where that fails, too, or where numbers leave fp32's range, none is.
      /// Of beams and plates held at their ends the energy of a deflection may show it before there are levels.
      bool single_precision = true;
      /// About the inverse of the rounding unit of fp32: counts are those of fp64 up to here (7e6), and double at 2e7.
      double single_limit = 1e7;
      /// Above it the finest level is not smoothed in fp32 either: stiff parts 1e6 times as stiff as soft ones, 1.7e11
      /// to 6e11, take 27 steps in place of 22; with cells of 50 : 1 and hanging nodes, 1.2e11, it is one more.
      double finest_limit = 1.5e11;
    };

    PreconditionAMG() = default;

    PreconditionAMG(const MatrixBase<Number> &matrix,
                    const NearNullSpace      &near_null,
                    const AdditionalData     &additional_data = AdditionalData())
    {
      initialize(matrix, near_null, additional_data);
    }

    /**
     * Aggregates, patterns and values. @p near_null has a row for every row of @p matrix, on its back end. If it is
     * singular, @p null_space should lie in the span of these modes, and the preconditioner has to be applied by
     * PreconditionProjected.
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

    /**
     * New values on the same pattern, bit by bit as initialize() with its choice of number types; levels that once did not
     * fit fp32 stay in fp64, and no deflection is tried. Aggregates are kept whatever these values are, and with them the
     * kind of smoother: aggregates_fit() tells whether initialize() would find better ones.
     */
    void update(const MatrixBase<Number> &matrix);

    /**
     * Whether the aggregates fit the values of the last update() about as well as those of initialize(), see AggregateFit.
     * If they do not, as after damage or a change of phase, iterations still converge, but may take several times as many
     * steps as after initialize(), which needs the near-null space, of which no copy is kept:
     * @code
     *   amg.update(A);
     *   if (!amg.aggregates_fit())
     *     amg.initialize(A, near_null_space);
     * @endcode
     * All ranks get one answer.
     */
    bool aggregates_fit() const { return fit; }

    void         vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    unsigned int look_interval() const override { return 1; }
    std::string  name() const override { return "amg"; }
    std::size_t  memory_consumption() const override;

    /**
     * The most that initialize() takes, of aggregates within @p distance; @p fallback: levels too hard for fp32.
     * Without what chebyshev has on levels with soft nodes, up to another copy of the levels, which only the matrix tells.
     */
    static double peak_bytes(const Backend           &backend,
                             const PatternStatistics &pattern,
                             const MatrixFormat      &format,
                             int                      n_modes,
                             int                      distance,
                             const AdditionalData    &data,
                             bool                     fallback);

    /** See AMGHierarchy::monitor(). */
    void monitor(const std::function<void(unsigned int level, const std::string &phase)> &function);

    unsigned int n_levels() const
    {
      return of_levels([](const auto &made) { return made.n_levels(); });
    }
    std::vector<AMGLevelStatistics> statistics() const
    {
      return of_levels([](const auto &made) { return made.statistics(); });
    }

    /** Nonzeros of all levels over those of the finest. */
    double operator_complexity() const;

    /** Rows of all levels over those of the finest. */
    double grid_complexity() const;

    /** AMGHierarchy::condition() of the levels that are there. */
    double condition() const
    {
      return of_levels([](const auto &made) { return made.condition(); });
    }

    /** Why levels are in fp64 although single precision was asked for; empty if they are not. */
    const std::string &fallback() const { return reason; }

    /** The levels in this number type; empty with a hierarchy in single precision under double. */
    const AMGHierarchy<Number> &hierarchy() const { return levels; }

    /** The levels in single precision under double; empty otherwise. */
    const AMGHierarchy<float> &single_hierarchy() const { return single_levels; }

  private:
    bool                        fit = true; ///< see aggregates_fit()
    std::string                 reason;
    double                      single_limit = 0., finest_limit = 0.;
    SlicedEllpackMatrix<Number> blocked; ///< of a CSRMatrix
    AMGHierarchy<Number>        levels;
    AMGHierarchy<float>         single_levels; ///< in place of these where there are any

    /** Data of cycles that begin in single precision under double. */
    struct Rounded
    {
      SlicedEllpackMatrix<float> matrix;
      bool                       borrows_pattern = false; ///< the matrix has that of the user's
      Vector<float>              src, dst;
      Array<double>              norm; ///< partial sums and, behind them, |src|^2

      std::size_t memory_consumption() const
      {
        return memory_consumption_of(src, dst, norm) +
               (borrows_pattern ? matrix.values_memory_consumption() : matrix.memory_consumption());
      }
    };
    std::unique_ptr<Rounded> rounded;

    std::function<void(unsigned int, const std::string &)> end_of_phase;

    /** Result of @p function for the levels that are there. */
    template <typename Function>
    auto of_levels(const Function &function) const
    {
      return single_levels.n_levels() > 0 ? function(single_levels) : function(levels);
    }

    /** The rest of initialize() and update(), once ranks do it as one. */
    void initialize_here(const MatrixBase<Number> &matrix,
                         const NearNullSpace      &near_null,
                         AMGAggregation           &aggregation,
                         const AdditionalData     &additional_data,
                         const NullSpace<Number>  &null_space);
    void update_here(const MatrixBase<Number> &matrix);

    const SlicedEllpackMatrix<Number> &in_blocks(const MatrixBase<Number> &matrix, bool new_pattern);
    void                               round(const SlicedEllpackMatrix<Number> &A);
    template <typename Failure, typename Condition>
    bool fits_single(const std::shared_ptr<const Partitioner> &ranks, const Condition &condition);
    template <typename Initialize>
    void make_unrounded(const SlicedEllpackMatrix<Number> &A, double known, const Initialize &initialize);
    void settle_finest();
  };
} // namespace PatchFEM
