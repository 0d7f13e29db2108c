// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/multigrid/dense_inverse.h>
#include <patchfem/lac/multigrid/level_smoother.h>
#include <patchfem/lac/multigrid/near_null_space.h>
#include <patchfem/lac/multigrid/patch_smoother.h>
#include <patchfem/lac/multigrid/rounded_finest.h>

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

    /** One with the same parameters for another hierarchy; nullptr if there is none. */
    virtual std::unique_ptr<AMGAggregation> restart() const { return nullptr; }

    /** Collective: one that goes on from @p level, its level 0, with the @p nodes of all ranks in their order. */
    virtual std::unique_ptr<AMGAggregation> gather(unsigned int /*level*/, const Partitioner & /*nodes*/) const
    {
      return restart();
    }
  };

  /**
   * The levels of smoothed aggregation and their cycle. Where the near-null space knows the embedding of degree 1, that is
   * the step from the finest level to the next, and aggregates begin there, but with the smoother patch, which needs them
   * on all levels. The finest matrix must outlive it. Errors name the level.
   */
  template <typename Number>
  class AMGHierarchy
  {
  public:
    /**
     * Everything: aggregates, patterns, values. @p near_null has a row for every row of @p A.
     * @param null_vectors Orthonormal basis of the null space of @p A, if it is singular, on its back end. Smoothed
     * prolongators keep of it the span of the modes on every aggregate: from Q w = v, Q the
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
     * up; @p keep_finest: what is known of that matrix is taken over, which is the one of smooth_finest_with().
     */
    template <typename OtherNumber>
    void
    initialize_from(const SlicedEllpackMatrix<Number> &A, AMGHierarchy<OtherNumber> &&other, bool keep_finest = false);

    /**
     * For levels in fp64, before they are made and before update(): the finest one is smoothed with @p A, its matrix
     * rounded to fp32, which has to outlive this, by cycle_in_single(), and its bound of the spectrum is the one that
     * counts. Prolongator, restrictor and other levels are made of the unrounded matrix still. nullptr: it is in fp64
     * as they are.
     */
    void smooth_finest_with(const SlicedEllpackMatrix<float> *A)
    {
      require(A == nullptr || std::is_same_v<Number, double>, "Levels in fp32 are smoothed in fp32 in any case.");
      rounded_finest = A;
      if (A == nullptr)
        single_finest.reset();
    }

    /** Whether it is: not if the rounded matrix is not definite, or the finest level is inverted. */
    bool smooths_finest_in_single() const { return single_finest != nullptr; }

    /**
     * For levels that give way to others where condition() is above @p limit: initialize() and update() leave smoothers and
     * vectors out then, which initialize_from() has no use for.
     */
    void give_up_above(const double limit) { highest_condition = limit; }

    /** New values on the same pattern: numeric only, with the same result as initialize() on the same aggregates. */
    void update(const SlicedEllpackMatrix<Number> &A);

    /**
     * Before initialize() and update() of levels that @p n_above others are above: what its rows see of the diagonal of
     * the finest matrix of all (multigrid::restricted()), on its back end, for condition(), the root mean square of
     * that diagonal, which null vectors need, its @p n_nodes, and of each level above the @p entries that a visit sweeps
     * over.
     */
    void know_finest(std::vector<double> &&entries, const double n_nodes, Vector<double> &&weights, const double scale)
    {
      levels_above   = static_cast<unsigned int>(entries.size());
      nodes_above    = n_nodes;
      entries_above  = std::move(entries);
      diagonal_above = std::move(weights);
      scale_above    = scale;
    }

    /** x = M^-1 b; only launches kernels. */
    void cycle(Vector<Number> &x, const Vector<Number> &b) const { cycle(0, x, b); }

    /** The same below levels that know_finest() told of: two steps where is_visited_twice(). */
    void solve(Vector<Number> &x, const Vector<Number> &b) const { solve(0, x, b); }

    /** cycle() where smooths_finest_in_single(). */
    void cycle_in_single(Vector<float> &x, const Vector<float> &b) const;

    /**
     * 1 / lambda_min(D^-1 A) as the last level sees it, D the diagonal of the finest matrix: an estimate from below by
     * a few inverse power steps. Rounding the entries of A by u changes the energy of its softest mode by up to u times
     * this, relatively, and that of its coarse images with it. 0 if the last level is not inverted, or no rule asks for it.
     */
    double condition() const { return condition_estimate; }

    /**
     * To measure with: @p function is called after each phase of a level, which is `aggregates`, `smoother`, `modes`,
     * `patterns`, `values`, `inverse` or `condition` of initialize() and update(), and `pre-smoothing`, `restriction`,
     * `prolongation`, `post-smoothing` or `inverse` of cycle(). They do not wait for the back end before. A function
     * that does must not be set while a cycle is recorded in a Graph.
     */
    void monitor(const std::function<void(unsigned int level, const std::string &phase)> &function)
    {
      end_of_phase = function;
    }

    /** Whether each visit of the level above @p level, counted from the finest of all, makes two of it. */
    bool is_visited_twice(const unsigned int level) const { return level < twice.size() && twice[level]; }

    unsigned int                       n_levels() const { return static_cast<unsigned int>(levels.size()); }
    const SlicedEllpackMatrix<Number> &matrix(const unsigned int level) const { return *levels[level]->A; }
    const SmoothedAggregation<Number> &coarsening(const unsigned int level) const { return levels[level]->coarsening; }
    const TentativeProlongator        &tentative(const unsigned int level) const { return levels[level]->tentative; }
    const AggregateLists              &aggregates(const unsigned int level) const { return levels[level]->aggregates; }
    std::vector<AMGLevelStatistics>    statistics() const;
    std::size_t                        memory_consumption() const;

  private:
    template <typename OtherNumber>
    friend class AMGHierarchy;

    struct Level : LevelSmoothing<Number>
    {
      const SlicedEllpackMatrix<Number>     *A = nullptr;
      std::shared_ptr<const LinearEmbedding> embedding; ///< in place of the two that follow
      AggregateLists                         aggregates;
      TentativeProlongator                   tentative;
      SmoothedAggregation<Number>            coarsening;
      DenseInverse<Number>                   inverse;
      std::vector<Array<double>>             settled; ///< null vectors that are held on the next level
      bool                                   is_inverted = false, has_coarse = false;
      mutable Vector<Number>                 x, b;     ///< none on the finest level
      mutable Vector<Number>                 x_2, b_2; ///< of second visits

      int n_coarse_nodes() const { return embedding ? embedding->n_vertices() : aggregates.n_aggregates(); }
    };

    AMGParameters                       parameters;
    std::vector<std::unique_ptr<Level>> levels;
    std::unique_ptr<RoundedFinest>      single_finest;            ///< the finest level in fp32 under others in fp64
    const SlicedEllpackMatrix<float>   *rounded_finest = nullptr; ///< of smooth_finest_with()
    bool                       finest_is_known = false; ///< single_finest, of the levels that others are made from
    std::vector<Array<double>> null_vectors;            ///< of the last level
    Vector<double>             diagonal_above;          ///< of know_finest()
    double                     scale_above = 0., nodes_above = 0.; ///< likewise
    std::vector<double>        entries_above;                      ///< likewise
    std::vector<bool>          twice;                              ///< [level of all]: see is_visited_twice()
    unsigned int               levels_above       = 0;
    double                     condition_estimate = 0.;
    double                     highest_condition  = std::numeric_limits<double>::infinity();
    double                     null_scale         = 0.; ///< root mean square of the finest diagonal, if there are any
    std::function<void(unsigned int, const std::string &)> end_of_phase;

    /** Of a step of the level's smoother, see LevelSmoother. */
    double relative_cost(const Level &level) const
    {
      return level.smoother != nullptr                                    ? level.smoother->relative_cost()
             : single_finest != nullptr && &level == levels.front().get() ? single_finest->smoother->relative_cost()
                                                                          : 1.;
    }

    void report(const unsigned int level, const char *phase) const
    {
      if (end_of_phase)
        end_of_phase(level, phase);
    }

    template <typename Aggregate, typename FindPatterns>
    void build(const SlicedEllpackMatrix<Number>            &A,
               const std::shared_ptr<const LinearEmbedding> &embedding,
               const Aggregate                              &aggregate,
               const FindPatterns                           &find_patterns);

    /** Of @p level in its number type, and of the finest one where it is to be rounded in that of the rounded matrix. */
    void find_smoother(Level &level);

    /** @p smoothing of @p A, the matrix of @p level in its own or another number type. */
    template <typename SmootherNumber>
    void compute_smoother(const Level                               &level,
                          const SlicedEllpackMatrix<SmootherNumber> &A,
                          LevelSmoothing<SmootherNumber>            &smoothing,
                          bool                                       new_values = true) const;

    /** See multigrid::restricted(); of an embedding P they are P^T v. */
    static Vector<double> restricted_weights(const Level &level, int n_modes, const Vector<double> &v);

    void   compute_coarse(Level &level);
    void   compute_null_scale(const SlicedEllpackMatrix<Number> &A);
    double estimate_condition() const;
    void   choose_cycle();
    void   choose_visits();
    void   solve_coarse(unsigned int level) const;
    void   solve(unsigned int level, Vector<Number> &x, const Vector<Number> &b) const;
    void   cycle(unsigned int level, Vector<Number> &x, const Vector<Number> &b) const;
  };
} // namespace PatchFEM
