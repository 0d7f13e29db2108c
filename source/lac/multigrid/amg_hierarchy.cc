// SPDX-License-Identifier: LGPL-2.1-or-later
#include "embedding_tools.h"
#include "lac/graph/graph_tools.h"
#include "null_vectors.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/multigrid/amg_hierarchy.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    /** Aggregates inside of ranks are at most this share of the nodes, or the level is gathered. */
    constexpr double most_inside_ranks = 0.5;

    /** A level of so few nodes on each rank is gathered: there border counts for more than what lies inside. */
    constexpr int few_nodes = 16;

    /**
     * On a GPU all of a coarse level of so many nodes take as long as a part of them: 6 MB of elasticity are read in 2 us,
     * where an exchange takes 5, and of 459 nodes all are gathered and set up on each of four H200s in 6 ms.
     */
    constexpr int few_on_device = 1024;

    /** Nodes of @p A on all ranks. */
    template <typename Number>
    std::int64_t n_nodes_of(const SlicedEllpackMatrix<Number> &A)
    {
      return A.partitioner() != nullptr ? A.partitioner()->n_global() : A.n_rows() / A.block_rows();
    }

    /** @p values become those of all @p ranks, on @p place. */
    void gather_values(const Communicator &ranks, const Backend &place, Array<double> &values)
    {
      values = Array<double>(place, ranks.concatenate(values.to_vector()));
    }
  } // namespace

  /** State of initialize() on its way down the levels. */
  template <typename Number>
  struct AMGHierarchy<Number>::Descent
  {
    const NearNullSpace                   *near_null;
    AMGAggregation                        *aggregation;
    std::shared_ptr<const LinearEmbedding> embedding; ///< below the finest level
    std::int64_t                           n_nonzeros;
    int                                    n_modes, dim;
    Array<double>                          modes;
    Array<double>                          points       = {}; ///< of nodes, as far as levels are shared
    unsigned int                           first_level  = 0;  ///< which is level 0 of the aggregation
    NearNullSpace                          all_nodes    = {}; ///< of a level that is gathered
    std::unique_ptr<AMGAggregation>        of_all_ranks = nullptr;

    unsigned int n_embedded() const { return embedding != nullptr ? 1 : 0; }

    void prepare_aggregation(const AMGParameters &parameters) const
    {
      aggregation->disable(parameters.disabled_rules);
      aggregation->want_patches(parameters.smoother == AMGSmoother::patch, parameters.patch_storage);
    }
  };

  template <typename Number>
  void AMGHierarchy<Number>::initialize(const SlicedEllpackMatrix<Number> &A,
                                        const NearNullSpace               &near_null,
                                        AMGAggregation                    &aggregation,
                                        const AMGParameters               &amg_parameters,
                                        std::vector<Array<double>>         null_basis)
  {
    parameters = amg_parameters;
    require(parameters.coarse_size >= 0 && parameters.max_levels >= 1,
            "The coarse size of a multigrid hierarchy must not be negative, and the number of its levels positive.");
    require(parameters.coarse_size <= AMGParameters::largest_inverse,
            "The coarse size of a multigrid hierarchy must be at most ", AMGParameters::largest_inverse, ", not ",
            parameters.coarse_size, ".");
    const auto &ranks = A.partitioner();
    if (ranks == nullptr || A.n_rows() > 0)
    {
      require(near_null.n_unknowns() == A.n_rows(), "A near-null space of ", near_null.n_unknowns(),
              " unknowns does not fit a matrix of ", A.n_rows(), " rows.");
      require(near_null.backend() == A.backend(), "The near-null space and the matrix are on different back ends.");
    }
    levels.clear();
    finest       = &A;
    null_vectors = std::move(null_basis);
    null_scale   = 0.;
    compute_null_scale();
    Descent descent{&near_null,
                    &aggregation,
                    multigrid::usable_embedding(A, near_null, parameters, null_vectors),
                    multigrid::sum(ranks, A.n_nonzero_elements()),
                    static_cast<int>(multigrid::maximum(ranks, near_null.n_modes())),
                    static_cast<int>(multigrid::maximum(ranks, near_null.dim())),
                    {}};
    parameters.in_bytes = descent.n_nonzeros >= parameters.least_in_bytes;
    descent.modes.copy_from(A.backend(), near_null.array());
    if (ranks != nullptr)
      descent.points.copy_from(A.backend(), near_null.points());
    descent.first_level = descent.n_embedded();
    all_or_none([&] {
      for (bool coarser = true; coarser;)
      {
        const SlicedEllpackMatrix<Number> &matrix = shared_matrix(n_levels());
        levels.push_back(std::make_unique<Level>());
        Level &level = *levels.back();
        level.index  = n_levels() - 1;
        level.A      = &matrix;
        multigrid::on_level(level.index, n_nodes_of(matrix) * matrix.block_rows(),
                            [&] { coarser = make_level(level, descent); });
      }
      choose_cycle();
    });
  }

  /** Calls @p set_up; there are no levels if it throws. */
  template <typename Number>
  template <typename SetUp>
  void AMGHierarchy<Number>::all_or_none(const SetUp &set_up)
  {
    try
    {
      set_up();
    }
    catch (...)
    {
      levels.clear();
      throw;
    }
  }

  /** Makes @p level, the last one so far. Returns whether there is a next one. */
  template <typename Number>
  bool AMGHierarchy<Number>::make_level(Level &level, Descent &descent)
  {
    const unsigned int index   = level.index;
    const std::int64_t n_nodes = n_nodes_of(*level.A), n_rows = n_nodes * level.A->block_rows();
    const bool         is_last = index + 1 >= parameters.max_levels + std::min(index, descent.n_embedded());
    level.is_inverted          = is_last || n_rows <= parameters.coarse_size_for(descent.n_nonzeros);
    require(!level.is_inverted || n_rows <= AMGParameters::largest_inverse,
            "is the last one but too large to be inverted; allow more levels or larger aggregates.");
    if (const auto &ranks = level.A->partitioner();
        ranks != nullptr && (level.is_inverted || n_nodes <= std::int64_t(few_nodes) * ranks->communicator().size() ||
                             (level.A->backend().kind() == BackendKind::cuda && index > 0 && n_nodes <= few_on_device)))
      gather(level, descent);
    if (index == 0)
    {
      descent.prepare_aggregation(parameters);
      level.embedding = descent.embedding;
      if (level.embedding == nullptr)
        descent.aggregation->know_points(descent.near_null->dim(), descent.near_null->points());
    }
    if (level.is_inverted)
    {
      level.inverse.compute(*level.A, null_vectors, null_scale);
      report(index, "inverse");
      return false;
    }
    if (level.embedding == nullptr)
      aggregate(level, descent);
    find_smoother(level);
    report(index, "smoother");
    const std::int64_t n_coarse = multigrid::sum(level.A->partitioner(), std::int64_t(level.n_coarse_nodes()));
    if (n_coarse == 0) // nothing couples: the smoother is all there is
      return false;
    require(n_coarse < n_nodes, "coarsening stalls: ", n_coarse, " aggregates of ", n_nodes, " nodes.");
    find_patterns(level, descent);
    compute_coarse(level);
    return level.has_coarse = true;
  }

  /** Finds aggregates of @p level, which is gathered where those inside of ranks hardly coarsen it. */
  template <typename Number>
  void AMGHierarchy<Number>::aggregate(Level &level, Descent &descent)
  {
    const auto find = [&] {
      level.aggregates = descent.aggregation->aggregate(level.index - descent.first_level, *level.A);
      report(level.index, "aggregates");
    };
    find();
    const auto &ranks = level.A->partitioner();
    if (ranks == nullptr)
      return;
    const std::int64_t n = ranks->communicator().sum(std::int64_t(level.aggregates.n_aggregates()));
    if (n > 0 && static_cast<double>(n) <= most_inside_ranks * static_cast<double>(n_nodes_of(*level.A)))
      return;
    gather(level, descent);
    find();
  }

  /** Gathers @p level: from here on each rank has matrix, modes and nodes of all. */
  template <typename Number>
  void AMGHierarchy<Number>::gather(Level &level, Descent &descent)
  {
    const SlicedEllpackMatrix<Number> &shared = *level.A;
    const Communicator                &ranks  = shared.partitioner()->communicator();
    const Backend                     &place  = shared.backend();
    if (level.index == 0)
    {
      descent.embedding.reset();
      descent.first_level = 0;
    }
    level.gathered = std::make_unique<GatheredMatrix<Number>>();
    level.gathered->reinit(shared);
    level.gathered->update(shared);
    level.A = &level.gathered->matrix();
    gather_values(ranks, place, descent.modes);
    gather_values(ranks, place, descent.points);
    for (Array<double> &v : null_vectors)
    {
      std::vector<double> own = v.to_vector();
      own.resize(shared.n_rows()); // without ghosts of the user's
      v = Array<double>(place, ranks.concatenate(own));
    }
    descent.all_nodes    = NearNullSpace::at_nodes(descent.n_modes, Array<double>(), descent.dim, descent.points);
    descent.near_null    = &descent.all_nodes;
    descent.of_all_ranks = descent.aggregation->gather(level.index - descent.first_level, *shared.partitioner());
    require(descent.of_all_ranks != nullptr, "These aggregates are for one rank.");
    descent.aggregation = descent.of_all_ranks.get();
    descent.first_level = level.index;
    descent.prepare_aggregation(parameters);
    descent.aggregation->know_points(descent.all_nodes.dim(), descent.all_nodes.points());
    report(level.index, "gathering");
  }

  /** Modes of the next level, and patterns of transfers and of its matrix. */
  template <typename Number>
  void AMGHierarchy<Number>::find_patterns(Level &level, Descent &descent)
  {
    const SlicedEllpackMatrix<Number> &matrix = *level.A;
    const Backend                     &place  = matrix.backend();
    const int                          n_c    = matrix.block_rows();
    Array<double>                     &modes  = descent.modes;
    if (level.embedding != nullptr)
    {
      descent.points = multigrid::restrict_to_vertices(*level.embedding, *descent.near_null, n_c, modes, null_vectors);
      descent.aggregation->know_points(descent.near_null->dim(), descent.points);
      report(level.index, "modes");
      level.coarsening.reinit(matrix, *level.embedding);
    }
    else
    {
      const bool is_shared = matrix.partitioner() != nullptr;
      defer_errors(matrix.partitioner(), [&] {
        dispatch(place, [&](auto where) { multigrid::mask_decoupled(where, matrix, descent.n_modes, modes); });
        if (matrix.n_rows() > 0)
          level.tentative.compute(level.aggregates, modes, n_c, descent.n_modes);
      });
      if (is_shared && level.aggregates.n_aggregates() > 0)
        descent.points = dispatch(place, [&](auto where) {
          return graph_tools::find_centroids(where, level.aggregates.aggregate_offsets(),
                                             level.aggregates.aggregate_nodes(),
                                             {descent.points.data(), descent.dim, descent.dim});
        });
      else
        descent.points.release();
      if (is_shared || level.aggregates.has_short_edges())
        modes.copy_from(place, level.tentative.coarse_modes());
      else
      {
        modes.swap(level.tentative.coarse_modes());
        level.tentative.coarse_modes().release();
      }
      multigrid::restrict_null_vectors(matrix, level.aggregates, level.tentative, descent.n_modes, null_vectors);
      report(level.index, "modes");
      level.coarsening.reinit(matrix, level.aggregates, descent.n_modes);
    }
    report(level.index, "patterns");
  }

  template <typename Number>
  template <typename OtherNumber>
  void AMGHierarchy<Number>::initialize_from(const SlicedEllpackMatrix<Number> &A, AMGHierarchy<OtherNumber> &&other)
  {
    require(!other.levels.empty(), "Aggregates of a hierarchy were asked for before it was initialized.");
    parameters   = other.parameters;
    null_vectors = std::move(other.null_vectors);
    null_scale   = other.null_scale;
    finest       = &A;
    compute_null_scale();
    std::unique_ptr<RoundedLevel> known;
    if constexpr (std::is_same_v<OtherNumber, float>)
      if (auto &front = *other.levels.front(); rounded_finest != nullptr && !front.is_inverted &&
                                               front.gathered == nullptr && other.condition() > other.highest_condition)
      {
        known = std::make_unique<RoundedLevel>();
        known->take_over(front);
      }
    for (auto &level : other.levels) // gives back what this has no use for
    {
      level->coarsening.release_values();
      if (const auto &nodes = level->coarsening.coarse_matrix().partitioner(); nodes != nullptr)
        nodes->release();
      if (level->gathered != nullptr)
        level->gathered->release_values();
      static_cast<LevelSmoothing<OtherNumber> &>(*level) = LevelSmoothing<OtherNumber>();
      level->inverse                                     = {};
    }
    levels.clear();
    for (auto &from : other.levels)
    {
      auto level                                      = std::make_unique<Level>();
      level->A                                        = &shared_matrix(levels.size());
      static_cast<internal::LevelStructure &>(*level) = std::move(*from);
      if (from->gathered != nullptr)
      {
        level->gathered = std::make_unique<GatheredMatrix<Number>>();
        level->gathered->reinit(std::move(*from->gathered));
        level->A = &level->gathered->matrix();
      }
      if (level->has_coarse)
        level->coarsening.reinit(*level->A, std::move(from->coarsening));
      levels.push_back(std::move(level));
    }
    other.levels.clear();
    levels.front()->rounded = std::move(known);
    all_or_none([&] { compute_values(); });
  }

  template <typename Number>
  void AMGHierarchy<Number>::update(const SlicedEllpackMatrix<Number> &A)
  {
    require(!levels.empty(), "A multigrid hierarchy was updated before it was initialized.");
    require(A.n_rows() == finest->n_rows() && A.block_rows() == finest->block_rows() &&
                A.n_stored_elements() == finest->n_stored_elements() && A.backend() == finest->backend() &&
                A.partitioner() == finest->partitioner(),
            "A multigrid hierarchy was updated with a matrix of another pattern.");
    finest = &A;
    compute_null_scale();
    compute_values();
  }

  /** Computes all that depends on the values of the finest matrix, on levels whose patterns are there. */
  template <typename Number>
  void AMGHierarchy<Number>::compute_values()
  {
    condition_estimate = 0.;
    for (unsigned int index = 0; index < n_levels(); ++index)
    {
      Level                             &level  = *levels[index];
      const SlicedEllpackMatrix<Number> &shared = shared_matrix(index);
      multigrid::on_level(index, n_nodes_of(shared) * shared.block_rows(), [&] {
        level.A = &shared;
        if (level.gathered != nullptr)
        {
          level.gathered->update(shared);
          level.A = &level.gathered->matrix();
          report(index, "gathering");
        }
        if (level.is_inverted)
          level.inverse.compute(*level.A, null_vectors, null_scale);
        else
          find_smoother(level);
        report(index, level.is_inverted ? "inverse" : "smoother");
        if (level.has_coarse)
          compute_coarse(level);
      });
    }
    choose_cycle();
  }

  /** Transfers of @p level, whose smoother is known, and the matrix of the next one. */
  template <typename Number>
  void AMGHierarchy<Number>::compute_coarse(Level &level)
  {
    if (level.embedding != nullptr)
      level.coarsening.compute(*level.A, *level.embedding);
    else
      level.coarsening.compute(*level.A, level.aggregates, level.tentative, level.diagonal, level.lambda);
    if constexpr (std::is_same_v<Number, double>)
      if (level.rounded != nullptr)
        defer_errors(level.A->partitioner(), [&] { level.rounded->round(level.coarsening); });
    SlicedEllpackMatrix<Number> &coarse = level.coarsening.coarse_matrix();
    if (!level.has_coarse && parameters.has(AMGRule::decoupled_kernel)) // it is being made
      multigrid::settle_null_vectors(coarse, null_vectors, level.settled);
    multigrid::add_settled(null_scale, level.settled, coarse);
    report(level.index, "values");
  }

  /** Root mean square of the finest diagonal, if there are null vectors. */
  template <typename Number>
  void AMGHierarchy<Number>::compute_null_scale()
  {
    if (!null_vectors.empty() || null_scale > 0.)
      null_scale = multigrid::diagonal_scale(*finest);
  }

  template <typename Number>
  void AMGHierarchy<Number>::find_smoother(Level &level)
  {
    if (level.embedding == nullptr && (level.index == 0 || levels[level.index - 1]->embedding != nullptr))
      level.fit.look(*level.A, level.aggregates);
    const auto &ranks    = level.A->partitioner();
    const auto  smoother = [&](const auto &A, auto &smoothing, const bool new_values) {
      smoothing.prepare(A, parameters, level.aggregates, level.index > 0,
                         multigrid::maximum(ranks, level.aggregates.stretched()) != 0,
                        level.embedding != nullptr ? level.embedding->degree : 1, new_values);
      if (std::isinf(highest_condition)) // else once condition() is known
        smoothing.smoother->initialize(A, smoothing.diagonal, smoothing.lambda);
    };
    if constexpr (std::is_same_v<Number, double>)
      if (rounded_finest != nullptr && level.index == 0 && level.gathered == nullptr)
        try
        {
          agree_on_errors(ranks, [&] {
            const bool is_known =
                level.rounded != nullptr && level.rounded->smoother == nullptr; // by initialize_from()
            if (level.rounded == nullptr)
              level.rounded = std::make_unique<RoundedLevel>();
            smoother(*rounded_finest, *level.rounded, !is_known);
            level.diagonal.initialize(*level.A);
            level.lambda.copy_from(level.rounded->lambda);
          });
          level.smoother.reset();
          return;
        }
        catch (const NotPositiveDefinite &)
        {
          agree_on_errors(ranks, [] {}); // the error is dealt with
          smooth_finest_with(nullptr);
        }
    smoother(*level.A, level, true);
  }

  /** Estimates the condition and makes what depends on it: visits, vectors and, if they were put off, smoothers. */
  template <typename Number>
  void AMGHierarchy<Number>::choose_cycle()
  {
    const bool counts  = parameters.has(AMGRule::precision_by_condition) || parameters.has(AMGRule::partial_w);
    condition_estimate = counts ? estimate_condition() : 0.;
    report(n_levels() - 1, "condition");
    if (condition_estimate > highest_condition)
      return;
    if (smooths_finest_in_single() && condition_estimate > rounded_limit)
    {
      smooth_finest_with(nullptr);
      return compute_values();
    }
    choose_visits();
    for (const auto &pointer : levels)
    {
      Level      &level  = *pointer;
      const auto &A      = *level.A;
      const auto &shared = shared_matrix(level.index);
      if constexpr (std::is_same_v<Number, double>)
        if (level.rounded != nullptr)
        {
          rounded_finest->initialize_vector(level.rounded->r, true);
          A.initialize_vector(level.rounded->in_double, true);
        }
      if (!level.is_inverted && level.rounded == nullptr)
        A.initialize_vector(level.r, true);
      if (level.index > 0)
        for (Vector<Number> *v : {&level.x, &level.b})
          shared.initialize_vector(*v, true);
      if (level.gathered != nullptr)
        for (Vector<Number> *v : {&level.whole_x, &level.whole_b})
          A.initialize_vector(*v, true);
      if (twice[level.index])
        for (Vector<Number> *v : {&level.x_2, &level.b_2})
          A.initialize_vector(*v, true);
      if (level.smoother == nullptr || std::isinf(highest_condition))
        continue;
      multigrid::on_level(level.index, n_nodes_of(A) * A.block_rows(),
                          [&] { level.smoother->initialize(A, level.diagonal, level.lambda); });
      report(level.index, "smoother");
    }
  }

  template <typename Number>
  void AMGHierarchy<Number>::choose_visits()
  {
    // A visit sweeps some six times over a matrix, once over an inverse. On a device the kernels of a small level take
    // some 60 us, in which it would sweep six times over so many entries.
    const double        latency = finest->backend().kind() == BackendKind::cuda ? 1e7 : 0.;
    std::vector<double> entries; // of a visit of each level, where ranks share it of each rank in the mean
    for (const auto &level : levels)
    {
      const SlicedEllpackMatrix<Number> &A     = *level->A;
      const auto                        &ranks = A.partitioner();
      if (level->is_inverted)
        entries.push_back(static_cast<double>(A.n_rows()) * A.n_rows() / 6.);
      else
        entries.push_back(static_cast<double>(multigrid::sum(ranks, A.n_nonzero_elements())) /
                          (ranks != nullptr ? ranks->communicator().size() : 1) *
                          level->with_smoother([](const auto &smoother) { return smoother.relative_cost(); }));
    }
    double below = 0.; // of a V-cycle from a level on
    for (double &of_level : entries)
      below += of_level += latency;
    const auto n_nodes   = static_cast<double>(n_nodes_of(*finest));
    const bool automatic = parameters.cycle == AMGCycle::automatic,
               is_thin   = condition() > parameters.thin_limit * std::cbrt(n_nodes * n_nodes) &&
                         parameters.has(AMGRule::partial_w),
               is_w = parameters.cycle == AMGCycle::w;
    double left = automatic && is_thin ? parameters.second_visit_share * below : 0., visits = 1.;
    twice.assign(entries.size(), false);
    for (std::size_t level = 1; level + 1 < entries.size(); ++level)
    {
      below -= entries[level - 1];
      twice[level] = is_w || visits * below <= left;
      if (!twice[level])
        continue;
      left -= visits * below;
      visits *= 2.;
    }
    if (!levels.back()->is_inverted && twice.size() > 1) // an inverse needs no second visit, a smoother may
      twice.back() = is_w;
  }

  template <typename Number>
  template <typename VectorNumber>
  void AMGHierarchy<Number>::cycle(Vector<VectorNumber> &x, const Vector<VectorNumber> &b) const
  {
    if constexpr (std::is_same_v<VectorNumber, Number>)
      solve(0, x, b);
    else
    {
      require(smooths_finest_in_single(), "Multigrid levels are not there after a set-up that failed.");
      smooth_and_correct(*levels.front(), *levels.front()->rounded, x, b);
    }
  }

  /** The correction @p x of level @p index from the residual @p b there, in one visit or two. */
  template <typename Number>
  void AMGHierarchy<Number>::solve(const unsigned int index, Vector<Number> &x, const Vector<Number> &b) const
  {
    const Level          &level   = *levels[index];
    Vector<Number>       &level_x = level.gathered != nullptr ? level.whole_x : x;
    const Vector<Number> &level_b = level.gathered != nullptr ? level.whole_b : b;
    if (level.gathered != nullptr)
    {
      level.gathered->gather(level.whole_b, b);
      report(index, "gathering");
    }
    visit(level, level_x, level_b);
    if (twice[index])
    {
      // Two steps of x <- x + M^-1 (b - A x) from 0, which is a symmetric operator if M is.
      level.A->residual(level.b_2, level_x, level_b);
      visit(level, level.x_2, level.b_2);
      level_x.add(Number(1), level.x_2);
    }
    if (level.gathered != nullptr)
      level.gathered->own_part(x, level.whole_x);
  }

  template <typename Number>
  void AMGHierarchy<Number>::visit(const Level &level, Vector<Number> &x, const Vector<Number> &b) const
  {
    if (!level.is_inverted)
      return smooth_and_correct(level, level, x, b);
    level.inverse.vmult(x, b);
    report(level.index, "inverse");
  }

  /** A visit of @p level with what it is smoothed with and its transfers, which may be in another number type. */
  template <typename Number>
  template <typename Smoothing, typename VectorNumber>
  void AMGHierarchy<Number>::smooth_and_correct(const Level                &level,
                                                const Smoothing            &smoothing,
                                                Vector<VectorNumber>       &x,
                                                const Vector<VectorNumber> &b) const
  {
    smoothing.smoother->pre_smooth(x, smoothing.r, b);
    report(level.index, "pre-smoothing");
    if (level.has_coarse)
    {
      const Level &coarse = *levels[level.index + 1];
      smoothing.restrict_residual(coarse.b);
      report(level.index, "restriction");
      solve(coarse.index, coarse.x, coarse.b);
      smoothing.add_correction(x, coarse.x);
      report(level.index, "prolongation");
    }
    smoothing.smoother->post_smooth(x, smoothing.r, b);
    report(level.index, "post-smoothing");
  }

  template <typename Number>
  double AMGHierarchy<Number>::estimate_condition() const
  {
    constexpr int n_steps = 8;
    const Level  &last    = *levels.back();
    if (!last.is_inverted)
      return 0.;
    const Backend &place = finest->backend();
    Vector<Number> D(place), x(place, last.A->n_rows()), y(place, x.size()), z(place, x.size());
    Vector<double> weights(place);
    finest->extract_diagonal(D);
    weights.copy_from(D);
    for (const auto &level : levels)
    {
      if (level->gathered != nullptr)
        gather_values(level->gathered->communicator(), place, weights.array());
      if (!level->has_coarse)
        continue;
      Vector<double> coarse = restricted_weights(*level, weights);
      place.synchronize();
      weights.swap(coarse);
    }
    // x -> A^-1 D x, x of length one in the norm of D.
    D.copy_from(weights);
    launch(place, [&](auto where) { kernels::set_scattered(where, x.size(), x.data()); });
    y.equ(Number(1), x);
    y.scale(D);
    double result = 0.;
    for (int step = 0; step < n_steps; ++step)
    {
      last.inverse.vmult(z, y);
      y.equ(Number(1), z);
      y.scale(D);
      const double square = z.dot(y);
      if (!(square > 0.) || square - square != 0.)
        return step > 0 ? result : 0.;
      if (step > 0)
        result = std::sqrt(square);
      y *= static_cast<Number>(1. / std::sqrt(square));
    }
    return result;
  }

  /** Restriction of the weights @p v to the next level: multigrid::restricted(), or P^T v of an embedding P. */
  template <typename Number>
  Vector<double> AMGHierarchy<Number>::restricted_weights(const Level &level, const Vector<double> &v)
  {
    const SlicedEllpackMatrix<Number> &A = *level.A, &coarse = level.coarsening.coarse_matrix();
    if (level.embedding == nullptr)
      return dispatch(A.backend(), [&](auto where) {
        return multigrid::restricted(where, level.aggregates, level.tentative.values(), A.block_rows(),
                                     coarse.block_rows(), true, v.array());
      });
    Vector<double> fine, result(A.backend(), coarse.n_rows());
    if (A.partitioner() != nullptr) // with room for ghosts
      fine.reinit(A.backend(), A.partitioner(), A.block_rows());
    else
      fine.reinit(A.backend(), A.n_rows());
    memory::copy(A.backend(), fine.data(), A.backend(), v.data(), v.size() * sizeof(double));
    product_with_ghosts(level.coarsening.restrictor(), fine, kernels::Overwrite<double>{result.data()});
    return result;
  }

  template <typename Number>
  std::size_t AMGHierarchy<Number>::Level::memory_consumption() const
  {
    std::size_t result = LevelSmoothing<Number>::memory_consumption();
    result +=
        memory_consumption_of(this->aggregates, this->tentative, coarsening, inverse, x, b, x_2, b_2, whole_x, whole_b);
    const auto add = [&](const auto &part) { result += part != nullptr ? part->memory_consumption() : 0; };
    add(this->embedding);
    add(rounded);
    add(gathered);
    return result;
  }

  template <typename Number>
  std::vector<AMGLevelStatistics> AMGHierarchy<Number>::statistics() const
  {
    std::vector<AMGLevelStatistics> result;
    int                             visits = 1;
    for (const auto &pointer : levels)
    {
      const Level                       &level = *pointer;
      const SlicedEllpackMatrix<Number> &A     = *level.A;
      std::int64_t of_all[] = {A.n_rows(), A.n_nonzero_elements(), level.n_coarse_nodes(), level.tentative.n_dropped()};
      if (A.partitioner() != nullptr)
        A.partitioner()->communicator().sum(of_all, 4);
      AMGLevelStatistics s;
      s.n_rows          = static_cast<int>(of_all[0]);
      s.block_size      = A.block_rows();
      s.n_nonzeros      = of_all[1];
      s.n_aggregates    = level.has_coarse ? static_cast<int>(of_all[2]) : 0;
      s.embedded_degree = level.embedding != nullptr ? level.embedding->degree : 0;
      s.n_dropped_modes = static_cast<int>(of_all[3]);
      s.lambda_max      = !level.is_inverted ? level.lambda.value() : 0.;
      s.single          = std::is_same_v<Number, float> || level.rounded != nullptr;
      s.memory          = level.memory_consumption();
      s.aggregation     = level.aggregates.facts();
      s.n_modes         = level.has_coarse ? level.coarsening.coarse_matrix().block_rows() : 0;
      s.n_visits        = visits *= twice[level.index] ? 2 : 1;
      if (level.is_inverted)
        s.smoother = "dense inverse";
      else
        level.with_smoother([&](const auto &smoother) {
          s.relative_cost = smoother.relative_cost();
          smoother.describe(s);
        });
      result.push_back(s);
    }
    return result;
  }

  template <typename Number>
  std::size_t AMGHierarchy<Number>::memory_consumption() const
  {
    std::size_t result = 0;
    for (const auto &level : levels)
      result += level->memory_consumption();
    return result;
  }

  template class AMGHierarchy<float>;
  template class AMGHierarchy<double>;
  template void AMGHierarchy<float>::cycle(Vector<float> &, const Vector<float> &) const;
  template void AMGHierarchy<double>::cycle(Vector<float> &, const Vector<float> &) const;
  template void AMGHierarchy<double>::cycle(Vector<double> &, const Vector<double> &) const;
  template void AMGHierarchy<double>::initialize_from(const SlicedEllpackMatrix<double> &, AMGHierarchy<float> &&);
} // namespace PatchFEM
