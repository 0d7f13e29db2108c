// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_amg_hierarchy_h
#define patchfem_lac_amg_hierarchy_h

#include <patchfem/lac/dense_inverse.h>
#include <patchfem/lac/level_smoother.h>
#include <patchfem/lac/near_null_space.h>
#include <patchfem/lac/smoothed_aggregation.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** Smoothers of a multigrid level; see PolynomialSmoother. */
  enum class AMGSmoother
  {
    block_jacobi,
    l1_jacobi,
    chebyshev
  };

  enum class AMGCycle
  {
    v,
    w
  };

  /** What can be chosen about a hierarchy. */
  struct AMGParameters
  {
    AMGSmoother smoother = AMGSmoother::chebyshev;
    /// Sweeps of Jacobi or degree of the polynomial, before and again after each coarse correction.
    int smoother_sweeps = 2;
    /// Chebyshev's interval is [lambda_max / range, lambda_max]. Aggregates of 27 nodes leave little to the smoother:
    /// with degree 2 a range of 20 takes a third more steps than one of 6.
    double   smoothing_range = 6.;
    AMGCycle cycle           = AMGCycle::v;
    /// A level of so many rows at most is solved by its dense inverse.
    int coarse_size = 500;
    /// Levels at most, the finest and the coarsest included; the last one is solved by its dense inverse.
    int max_levels = 20;
    /// Steps of Lanczos' iteration for lambda_max on each level, each of which costs one product.
    int eigenvalue_steps = 10;
  };

  /** Of one level, for reports. */
  struct AMGLevelStatistics
  {
    int          n_rows          = 0; ///< scalar
    int          block_size      = 1;
    std::int64_t n_nonzeros      = 0; ///< scalar entries of the matrix
    int          n_aggregates    = 0; ///< 0 on the coarsest level
    int          n_dropped_modes = 0;
    double       lambda_max      = 0.; ///< bound for D^-1 A; 0 where the matrix is inverted
    std::size_t  memory          = 0;  ///< bytes of the level, without the finest matrix if that is the user's
  };

  /** How the nodes of a level are put together. */
  class AMGAggregation
  {
  public:
    virtual ~AMGAggregation() = default;

    /** The aggregates of level @p level, whose matrix is @p A, on its back end. Without any, coarsening ends. */
    virtual AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<double> &A) const = 0;
    virtual AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<float> &A) const  = 0;
  };

  /**
   * The levels of smoothed aggregation and the multigrid cycle on them. The finest matrix is the caller's and must
   * outlive the hierarchy. Errors name the level.
   */
  template <typename Number>
  class AMGHierarchy
  {
  public:
    /** Everything: aggregates, patterns, values. @p near_null has a row for every row of @p A. */
    void initialize(const SlicedEllpackMatrix<Number> &A,
                    const NearNullSpace               &near_null,
                    const AMGAggregation              &aggregation,
                    const AMGParameters               &parameters);

    /** New values on the same pattern: numeric only, with the same result as initialize() on the same aggregates. */
    void update(const SlicedEllpackMatrix<Number> &A);

    /** x = M^-1 b; only launches kernels. */
    void cycle(Vector<Number> &x, const Vector<Number> &b) const;

    unsigned int                       n_levels() const { return static_cast<unsigned int>(levels.size()); }
    const SlicedEllpackMatrix<Number> &matrix(const unsigned int level) const { return *levels[level]->A; }
    const SmoothedAggregation<Number> &coarsening(const unsigned int level) const { return levels[level]->coarsening; }
    const TentativeProlongator        &tentative(const unsigned int level) const { return levels[level]->tentative; }
    const AggregateLists              &aggregates(const unsigned int level) const { return levels[level]->aggregates; }
    std::vector<AMGLevelStatistics>    statistics() const;
    std::size_t                        memory_consumption() const;

  private:
    struct Level
    {
      const SlicedEllpackMatrix<Number>     *A = nullptr;
      AggregateLists                         aggregates;
      TentativeProlongator                   tentative;
      PreconditionBlockJacobi<Number>        diagonal;
      LargestEigenvalue<Number>              lambda;
      SmoothedAggregation<Number>            coarsening;
      std::unique_ptr<LevelSmoother<Number>> smoother; ///< none where the matrix is inverted
      DenseInverse<Number>                   inverse;
      bool                                   has_coarse = false;
      mutable Vector<Number>                 x, b, r;  ///< x, b: none on the finest level
      mutable Vector<Number>                 x_2, b_2; ///< of a W-cycle's second visit
    };

    AMGParameters                       parameters;
    std::vector<std::unique_ptr<Level>> levels;

    void compute_smoother(Level &level) const;
    void allocate_vectors();
    void cycle(unsigned int level, Vector<Number> &x, const Vector<Number> &b) const;
  };
} // namespace PatchFEM

#endif
