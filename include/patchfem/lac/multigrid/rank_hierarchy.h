// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/amg_hierarchy.h>

namespace PatchFEM
{
  /**
   * Smoothed aggregation of a matrix that several ranks share. Aggregates are of one rank: their graph is that of the
   * columns which a rank owns. The prolongator is smoothed with all columns, so that it reaches aggregates of others;
   * for P^T A P each rank fetches the rows of P and of A P of its ghosts and sums the coarse rows that it owns, in the
   * order of its fine nodes, so that a coarse matrix has owned rows, ghost columns and a partitioner as the fine one
   * does. A level of few rows for each rank, or that aggregates of single ranks hardly coarsen, is gathered: from there
   * on every rank has the whole AMGHierarchy and applies it, with the same bits, which costs one exchange a cycle.
   *
   * Set-up works on the host; cycles where the matrix is. All functions are collective.
   */
  template <typename Number>
  class RankHierarchy
  {
  public:
    /** See AMGHierarchy::initialize(). @p A must outlive this. Throws Error, on all ranks, if a level is not definite. */
    void initialize(const SlicedEllpackMatrix<Number> &A,
                    const NearNullSpace               &near_null,
                    AMGAggregation                    &aggregation,
                    const AMGParameters               &parameters);

    /** New values on the same pattern, with the same result as initialize() on the same aggregates. */
    void update(const SlicedEllpackMatrix<Number> &A);

    /** x = M^-1 b; both as A.initialize_vector() makes them. */
    void cycle(Vector<Number> &x, const Vector<Number> &b) const { cycle(0, x, b); }

    /** AMGHierarchy::condition() of the gathered levels, with the diagonal of the first of these. */
    double condition() const { return gathered.condition(); }

    /** Of all ranks: the levels that they share, and those that each has. */
    std::vector<AMGLevelStatistics> statistics() const;
    unsigned int n_levels() const { return static_cast<unsigned int>(levels.size()) + gathered.n_levels(); }
    std::size_t  memory_consumption() const;

  private:
    struct Level
    {
      const SlicedEllpackMatrix<Number>          *A = nullptr;
      AggregateLists                              aggregates;
      TentativeProlongator                        tentative;
      PreconditionBlockJacobi<Number>             diagonal;
      LargestEigenvalue<Number>                   lambda;
      std::unique_ptr<PolynomialSmoother<Number>> smoother;
      SlicedEllpackMatrix<Number>                 P, R, coarse;
      std::shared_ptr<const Partitioner>          coarse_partitioner;
      mutable Vector<Number>                      x, b, r; ///< x and b none on the finest level
    };

    AMGParameters                       parameters;
    std::vector<std::unique_ptr<Level>> levels;

    SlicedEllpackMatrix<Number>        whole; ///< the matrix that is gathered, in the order of ranks
    AMGHierarchy<Number>               gathered;
    std::shared_ptr<const Partitioner> everything; ///< of its nodes: those of all other ranks are ghosts
    mutable Vector<Number>             own_and_others, whole_x, whole_b;
    mutable Vector<Number>             last_x, last_b; ///< of the level that is gathered, if it is not the finest

    const SlicedEllpackMatrix<Number> &last() const { return levels.empty() ? *finest : levels.back()->coarse; }
    const SlicedEllpackMatrix<Number> *finest = nullptr;

    void compute_smoother(Level &level) const;
    void compute_coarse(Level &level, int n_modes) const;
    void gather_matrix(const SlicedEllpackMatrix<Number> &A);
    void cycle(unsigned int level, Vector<Number> &x, const Vector<Number> &b) const;
    void solve_gathered(Vector<Number> &x, const Vector<Number> &b) const;
  };
} // namespace PatchFEM
