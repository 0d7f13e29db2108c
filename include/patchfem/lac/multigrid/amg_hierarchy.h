// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/graph/aggregate_fit.h>
#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/multigrid/dense_inverse.h>
#include <patchfem/lac/multigrid/gathered_matrix.h>
#include <patchfem/lac/multigrid/level_smoother.h>
#include <patchfem/lac/multigrid/near_null_space.h>
#include <patchfem/lac/multigrid/patch_smoother.h>
#include <patchfem/lac/multigrid/rounded_level.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace PatchFEM
{
  /** How nodes of a level are put together. Asked from the finest on, so that it may keep what the next one needs. */
  class AMGAggregation
  {
  public:
    virtual ~AMGAggregation() = default;

    /**
     * The aggregates of level @p level, whose matrix is @p A, on its back end. Without any, coarsening ends. Of several
     * ranks each makes aggregates of the nodes of its rows; that is collective, and throws on all or none.
     */
    virtual AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<double> &A) = 0;
    virtual AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<float> &A)  = 0;

    /** Whether lists must have patches, and what the smoother stores; said before any level. Need not be heeded. */
    virtual void want_patches(bool, PatchStorage) {}

    /** Rules that it is to do without; said before any level. */
    virtual void disable(const AMGRules &) {}

    /** Positions of the finest level's nodes, [node][dim] on its back end, or empty; said before it is asked for. */
    virtual void know_points(int, const Array<double> &) {}

    /**
     * Collective: one that goes on from @p level, its level 0, with the @p nodes of all ranks in their order; nullptr if it is
     * for one rank.
     */
    virtual std::unique_ptr<AMGAggregation> gather(unsigned int /*level*/, const Partitioner & /*nodes*/) const
    {
      return nullptr;
    }
  };

  namespace internal
  {
    /** Data of a level that have no number type and do not depend on the values of matrices. */
    struct LevelStructure
    {
      unsigned int                           index = 0;
      std::shared_ptr<const LinearEmbedding> embedding; ///< in place of the two that follow
      AggregateLists                         aggregates;
      AggregateFit                           fit; ///< of the finest level that has any
      TentativeProlongator                   tentative;
      std::vector<Array<double>>             settled; ///< null vectors that are held on the next level
      bool                                   is_inverted = false, has_coarse = false;

      int n_coarse_nodes() const { return embedding ? embedding->n_vertices() : aggregates.n_aggregates(); }
    };
  } // namespace internal

  /**
   * The levels of smoothed aggregation and their cycle. Where the near-null space knows the embedding of degree 1, that is
   * the step from the finest level to the next, and aggregates begin there, but with the smoother patch, which needs them
   * on all levels. The finest matrix must outlive it. Errors name the level.
   *
   * Of a matrix that several ranks share (see SmoothedAggregation) aggregates, and patches of the smoother patch, are of
   * one rank. A level of few rows for each rank, or that aggregates of single ranks hardly coarsen, is gathered: each rank
   * has its whole matrix and all levels below, and applies them with the same bits, which costs one exchange a visit. All
   * functions but n_levels() and memory_consumption() are collective then.
   */
  template <typename Number>
  class AMGHierarchy
  {
  public:
    /**
     * Everything: aggregates, patterns, values. @p near_null has a row for every row of @p A. Leaves no levels if it throws.
     * @param null_vectors Orthonormal basis of the null space of @p A, if it is singular, on its back end, each rank's
     * entries. Smoothed prolongators keep of it the span of the modes on every aggregate: from Q w = v, Q the
     * tentative one, follow P w = v and (R A P) w = 0. The last level is inverted on its complement, see DenseInverse.
     * A part of the mesh that has become a single node earlier, whose block of R A P is singular, gets s w w^T there.
     */
    void initialize(const SlicedEllpackMatrix<Number> &A,
                    const NearNullSpace               &near_null,
                    AMGAggregation                    &aggregation,
                    const AMGParameters               &parameters,
                    std::vector<Array<double>>         null_vectors = {});

    /**
     * With the aggregates, modes and patterns of @p other, whose finest matrix has the pattern of @p A, and which is used
     * up. Leaves no levels if it throws. Where @p other has given up, diagonal, bound and bytes of its finest matrix,
     * which is that of smooth_finest_with(), are taken over.
     */
    template <typename OtherNumber>
    void initialize_from(const SlicedEllpackMatrix<Number> &A, AMGHierarchy<OtherNumber> &&other);

    /**
     * For levels in fp64, before they are made and before update(): the finest one is smoothed with @p A, its matrix
     * rounded to fp32, which has to outlive this, and its bound of the spectrum is the one that counts. Prolongator,
     * restrictor and other levels are made of the unrounded matrix still. nullptr: it is in fp64 as they are. So it is, once
     * for all, where condition() is above @p limit, the rounded matrix is not definite, or the finest level is inverted
     * or gathered.
     */
    void smooth_finest_with(const SlicedEllpackMatrix<float> *A,
                            const double                      limit = std::numeric_limits<double>::infinity())
    {
      require(A == nullptr || std::is_same_v<Number, double>, "Levels in fp32 are smoothed in fp32 in any case.");
      rounded_finest = A;
      rounded_limit  = limit;
      if (A == nullptr && !levels.empty())
        levels.front()->rounded.reset();
    }

    bool smooths_finest_in_single() const { return !levels.empty() && levels.front()->rounded != nullptr; }

    /**
     * For levels that give way to others where condition() is above @p limit: initialize() and update() leave smoothers and
     * vectors out then, which initialize_from() has no use for.
     */
    void give_up_above(const double limit) { highest_condition = limit; }

    /** New values on the same pattern: numeric only, with the same result as initialize() on the same aggregates. */
    void update(const SlicedEllpackMatrix<Number> &A);

    /** x = M^-1 b in @p VectorNumber, float where smooths_finest_in_single(), else Number; only launches kernels. */
    template <typename VectorNumber>
    void cycle(Vector<VectorNumber> &x, const Vector<VectorNumber> &b) const;

    /**
     * 1 / lambda_min(D^-1 A) as the last level sees it, D the diagonal of the finest matrix: an estimate from below by
     * a few inverse power steps. Rounding the entries of A by u changes the energy of its softest mode by up to u times
     * this, relatively, and that of its coarse images with it. 0 if the last level is not inverted, or no rule asks for it.
     */
    double condition() const { return condition_estimate; }

    /** Whether the aggregates of the finest level that has any fit the values of the last update(). */
    bool aggregates_fit() const
    {
      return std::all_of(levels.begin(), levels.end(), [](const auto &level) { return level->fit.fits(); });
    }

    /**
     * To measure with: @p function is called after each phase of a level, which is `gathering`, `aggregates`, `smoother`,
     * `modes`, `patterns`, `values`, `inverse` or `condition` of initialize() and update(), and `gathering`,
     * `pre-smoothing`, `restriction`, `prolongation`, `post-smoothing` or `inverse` of cycle(). They do not wait for the
     * back end before. A function that does must not be set while a cycle is recorded in a Graph.
     */
    void monitor(const std::function<void(unsigned int level, const std::string &phase)> &function)
    {
      end_of_phase = function;
    }

    unsigned int                       n_levels() const { return static_cast<unsigned int>(levels.size()); }
    const SlicedEllpackMatrix<Number> &matrix(const unsigned int level) const { return *levels[level]->A; }
    const SmoothedAggregation<Number> &coarsening(const unsigned int level) const { return levels[level]->coarsening; }
    const TentativeProlongator        &tentative(const unsigned int level) const { return levels[level]->tentative; }
    const AggregateLists              &aggregates(const unsigned int level) const { return levels[level]->aggregates; }
    std::vector<AMGLevelStatistics>    statistics() const; ///< of all ranks, but memory
    std::size_t                        memory_consumption() const;

  private:
    template <typename OtherNumber>
    friend class AMGHierarchy;

    struct Level : internal::LevelStructure, LevelSmoothing<Number>
    {
      const SlicedEllpackMatrix<Number>      *A = nullptr; ///< of all ranks where it is gathered
      std::unique_ptr<GatheredMatrix<Number>> gathered;    ///< of the first level that each rank has
      SmoothedAggregation<Number>             coarsening;
      DenseInverse<Number>                    inverse;
      std::unique_ptr<RoundedLevel>           rounded;  ///< of the finest level, in place of LevelSmoothing<Number>
      mutable Vector<Number>                  x, b;     ///< none on the finest level
      mutable Vector<Number>                  x_2, b_2; ///< of second visits
      mutable Vector<Number>                  whole_x, whole_b; ///< where it is gathered

      void restrict_residual(Vector<Number> &coarse_b) const { coarsening.restrictor().vmult(coarse_b, this->r); }
      void add_correction(Vector<Number> &x, const Vector<Number> &coarse_x) const
      {
        coarsening.prolongator().vmult_add(x, coarse_x);
      }

      /** Result of @p function for the smoother of a level that is not inverted. */
      template <typename Function>
      auto with_smoother(const Function &function) const
      {
        return rounded != nullptr ? function(*rounded->smoother) : function(*this->smoother);
      }

      std::size_t memory_consumption() const;
    };

    struct Descent;

    AMGParameters                       parameters;
    std::vector<std::unique_ptr<Level>> levels;
    const SlicedEllpackMatrix<Number>  *finest         = nullptr;
    const SlicedEllpackMatrix<float>   *rounded_finest = nullptr; ///< of smooth_finest_with()
    std::vector<Array<double>>          null_vectors;             ///< of the last level
    std::vector<bool>                   twice; ///< [level]: each visit of the one above makes two of it
    double                              rounded_limit      = 0.; ///< of smooth_finest_with()
    double                              condition_estimate = 0.;
    double                              highest_condition  = std::numeric_limits<double>::infinity();
    double                              null_scale         = 0.; ///< root mean square of the finest diagonal
    std::function<void(unsigned int, const std::string &)> end_of_phase;

    void report(const unsigned int level, const char *phase) const
    {
      if (end_of_phase)
        end_of_phase(level, phase);
    }

    /** The matrix of level @p index as ranks share it. */
    const SlicedEllpackMatrix<Number> &shared_matrix(const std::size_t index) const
    {
      return index == 0 ? *finest : levels[index - 1]->coarsening.coarse_matrix();
    }

    template <typename SetUp>
    void all_or_none(const SetUp &set_up);
    bool make_level(Level &level, Descent &descent);
    void aggregate(Level &level, Descent &descent);
    void gather(Level &level, Descent &descent);
    void find_patterns(Level &level, Descent &descent);
    void find_smoother(Level &level);
    void compute_coarse(Level &level);
    void compute_values();
    void compute_null_scale();

    double                estimate_condition() const;
    static Vector<double> restricted_weights(const Level &level, const Vector<double> &v);
    void                  choose_cycle();
    void                  choose_visits();

    void solve(unsigned int index, Vector<Number> &x, const Vector<Number> &b) const;
    void visit(const Level &level, Vector<Number> &x, const Vector<Number> &b) const;
    template <typename Smoothing, typename VectorNumber>
    void smooth_and_correct(const Level                &level,
                            const Smoothing            &smoothing,
                            Vector<VectorNumber>       &x,
                            const Vector<VectorNumber> &b) const;
  };
} // namespace PatchFEM
