// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/amg_hierarchy.h>
#include <patchfem/lac/multigrid/gathered_matrix.h>

#include <type_traits>

namespace PatchFEM
{
  /**
   * Smoothed aggregation of a matrix that several ranks share (see SmoothedAggregation). Aggregates are of one rank:
   * their graph is that of the columns which a rank owns. A level of few rows for each rank, or that aggregates of single
   * ranks hardly coarsen, is gathered: from there on every rank has the whole AMGHierarchy and applies it, with the same
   * bits, which costs one exchange a visit. Patches of the smoother patch are of one rank, too; what couples them with
   * others' is in the residuals. An embedding of degree 1 is the first step as in AMGHierarchy. All functions are
   * collective.
   */
  template <typename Number>
  class RankHierarchy
  {
  public:
    /**
     * See AMGHierarchy::initialize(); of @p null_vectors each rank has its entries. @p A must outlive this. Throws
     * Error, on all ranks, if a level is not definite.
     */
    void initialize(const SlicedEllpackMatrix<Number> &A,
                    const NearNullSpace               &near_null,
                    AMGAggregation                    &aggregation,
                    const AMGParameters               &parameters,
                    std::vector<Array<double>>         null_vectors = {});

    /** See AMGHierarchy::initialize_from(). */
    template <typename OtherNumber>
    void initialize_from(const SlicedEllpackMatrix<Number> &A, RankHierarchy<OtherNumber> &&other);

    /** See AMGHierarchy::smooth_finest_with(); the same on all ranks. */
    void smooth_finest_with(const SlicedEllpackMatrix<float> *A)
    {
      require(A == nullptr || std::is_same_v<Number, double>, "Levels in fp32 are smoothed in fp32 in any case.");
      rounded_finest = A;
      if (A == nullptr)
        single_finest.reset();
    }

    /** See AMGHierarchy::smooths_finest_in_single(). */
    bool smooths_finest_in_single() const { return single_finest != nullptr; }

    /** See AMGHierarchy::give_up_above(). */
    void give_up_above(const double limit)
    {
      highest_condition = limit;
      gathered.give_up_above(limit);
    }

    /** New values on the same pattern, with the same result as initialize() on the same aggregates. */
    void update(const SlicedEllpackMatrix<Number> &A);

    /** x = M^-1 b; both as A.initialize_vector() makes them. */
    void cycle(Vector<Number> &x, const Vector<Number> &b) const { cycle(0, x, b); }

    /** cycle() where smooths_finest_in_single(). */
    void cycle_in_single(Vector<float> &x, const Vector<float> &b) const;

    /** See AMGHierarchy::monitor(). The phase `gathering` is that of the level from which on every rank has all. */
    void monitor(const std::function<void(unsigned int level, const std::string &phase)> &function);

    /** See AMGHierarchy::condition(). */
    double condition() const { return gathered.condition(); }

    /** Of all ranks: the levels that they share, and those that each has. */
    std::vector<AMGLevelStatistics> statistics() const;
    unsigned int n_levels() const { return static_cast<unsigned int>(levels.size()) + gathered.n_levels(); }
    std::size_t  memory_consumption() const;

  private:
    template <typename OtherNumber>
    friend class RankHierarchy;

    struct Level : LevelSmoothing<Number>
    {
      const SlicedEllpackMatrix<Number>     *A = nullptr;
      std::shared_ptr<const LinearEmbedding> embedding; ///< in place of the two that follow
      AggregateLists                         aggregates;
      TentativeProlongator                   tentative;
      SmoothedAggregation<Number>            coarsening;
      std::vector<Array<double>>             settled;  ///< null vectors that are held on the next level
      mutable Vector<Number>                 x, b;     ///< none on the finest level
      mutable Vector<Number>                 x_2, b_2; ///< of second visits

      int  n_coarse_nodes() const { return embedding ? embedding->n_vertices() : aggregates.n_aggregates(); }
      void reinit_coarse(int n_modes);
    };

    AMGParameters                                          parameters;
    std::vector<std::unique_ptr<Level>>                    levels;
    std::unique_ptr<RoundedFinest>                         single_finest;               ///< as in AMGHierarchy
    const SlicedEllpackMatrix<float>                      *rounded_finest    = nullptr; ///< likewise
    double                                                 null_scale        = 0.;      ///< as in AMGHierarchy
    double                                                 highest_condition = std::numeric_limits<double>::infinity();
    std::function<void(unsigned int, const std::string &)> end_of_phase;

    GatheredMatrix<Number> whole;
    AMGHierarchy<Number>   gathered;
    mutable Vector<Number> own_and_others, whole_x, whole_b;
    mutable Vector<Number> last_x, last_b; ///< of the level that is gathered, if it is not the finest

    const SlicedEllpackMatrix<Number> &last() const
    {
      return levels.empty() ? *finest : levels.back()->coarsening.coarse_matrix();
    }
    const SlicedEllpackMatrix<Number> *finest = nullptr;

    void report(const std::size_t level, const char *phase) const
    {
      if (end_of_phase)
        end_of_phase(static_cast<unsigned int>(level), phase);
    }
    bool aggregate(AMGAggregation &aggregation, unsigned int index, Level &level);
    void find_smoother(Level &level);
    void compute_coarse(Level &level);
    template <typename SmootherNumber>
    void        compute_smoother(const Level                               &level,
                                 const SlicedEllpackMatrix<SmootherNumber> &A,
                                 LevelSmoothing<SmootherNumber>            &smoothing) const;
    void        make_vectors();
    void        tell_of_finest();
    void        gather();
    double      relative_cost(std::size_t level) const;
    std::size_t memory_of(std::size_t level) const;
    void        solve(unsigned int level, Vector<Number> &x, const Vector<Number> &b) const;
    void        cycle(unsigned int level, Vector<Number> &x, const Vector<Number> &b) const;
    void        solve_gathered(Vector<Number> &x, const Vector<Number> &b) const;
  };
} // namespace PatchFEM
