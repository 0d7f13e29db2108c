// SPDX-License-Identifier: LGPL-2.1-or-later
#include "embedding_tools.h"
#include "factorized_inverse_tools.h"
#include "lac/graph/graph_tools.h"
#include "null_vectors.h"

#include <patchfem/lac/multigrid/rank_hierarchy.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /** Aggregates of all ranks are at most this share of the nodes, or the level is gathered. */
    constexpr double most_aggregates = 0.5;

    /** A level of so few nodes on each rank is gathered: there border counts for more than what lies inside. */
    constexpr int few_nodes = 16;

    /**
     * On a GPU all of a coarse level of so many nodes take as long as a part of them: 6 MB of elasticity are read in 2 us,
     * where an exchange takes 5, and of 459 nodes all are gathered and set up on each of four H200s in 6 ms.
     */
    constexpr int few_on_device = 1024;
  } // namespace

  template <typename Number>
  void RankHierarchy<Number>::initialize(const SlicedEllpackMatrix<Number> &A,
                                         const NearNullSpace               &near_null,
                                         AMGAggregation                    &aggregation,
                                         const AMGParameters               &amg_parameters,
                                         std::vector<Array<double>>         null_vectors)
  {
    require(A.partitioner() != nullptr, "A matrix of one rank has an AMGHierarchy.");
    require(near_null.n_unknowns() == A.n_rows() || A.n_rows() == 0, "A near-null space of ", near_null.n_unknowns(),
            " unknowns does not fit a matrix of ", A.n_rows(), " rows.");
    const Communicator &ranks = A.partitioner()->communicator();
    const Backend      &place = A.backend();
    parameters                = amg_parameters;
    finest                    = &A;
    levels.clear();
    single_finest.reset();
    const bool nearly_incompressible = multigrid::choose_smoother(A, near_null, parameters);
    aggregation.disable(parameters.disabled_rules);
    aggregation.want_patches(parameters.smoother == AMGSmoother::patch, parameters.patch_storage);
    null_scale = null_vectors.empty() ? 0. : multigrid::diagonal_scale(A);

    const auto         embedding = multigrid::usable_embedding(A, near_null, parameters, null_vectors);
    const unsigned int embedded  = embedding ? 1 : 0;
    if (!embedding)
      aggregation.know_points(near_null.dim(), near_null.points());
    const std::int64_t n_nonzeros = ranks.sum(A.n_nonzero_elements());
    const std::int64_t small      = parameters.coarse_size_for(n_nonzeros);
    parameters.in_bytes           = n_nonzeros >= parameters.least_in_bytes;
    int           n_modes         = static_cast<int>(ranks.maximum(std::int64_t(near_null.n_modes())));
    const int     dim             = static_cast<int>(ranks.maximum(std::int64_t(near_null.dim())));
    Array<double> modes;
    Array<double> points;
    modes.copy_from(place, near_null.array());
    points.copy_from(place, near_null.points());

    const auto is_gathered = [&](const std::int64_t n_nodes) {
      return n_nodes <= std::max(small / last().block_rows(), std::int64_t(few_nodes) * ranks.size()) ||
             (place.kind() == BackendKind::cuda && !levels.empty() && n_nodes <= few_on_device);
    };
    while (!is_gathered(last().partitioner()->n_global()) &&
           levels.size() + 1 < std::size_t(parameters.max_levels) + embedded)
    {
      const SlicedEllpackMatrix<Number> &matrix = last();
      auto                               level  = std::make_unique<Level>();
      level->A                                  = &matrix;
      if (levels.empty())
        level->embedding = embedding;
      if (!level->embedding)
      {
        if (!aggregate(aggregation, static_cast<unsigned int>(levels.size()) - embedded, *level))
          break;
        report(levels.size(), "aggregates");
      }
      find_smoother(*level);
      report(levels.size(), "smoother");
      if (level->embedding)
      {
        points = multigrid::restrict_to_vertices(*embedding, near_null, matrix.block_rows(), modes, null_vectors);
        aggregation.know_points(near_null.dim(), points);
      }
      else
      {
        if (nearly_incompressible && levels.size() == embedded)
          n_modes = multigrid::add_isochoric_modes(
              dim, n_modes, ranks.sum(std::int64_t(level->aggregates.n_aggregates())), n_nonzeros, modes);
        ranks.each([&] {
          choose(place, [&](auto where) { multigrid::mask_decoupled(where, matrix, n_modes, modes); });
          if (matrix.n_rows() > 0)
            level->tentative.compute(level->aggregates, modes, matrix.block_rows(), n_modes);
        });
        if (level->aggregates.n_aggregates() > 0)
          points = choose(place, [&](auto where) {
            return graph_tools::find_centroids(where, level->aggregates.aggregate_offsets(),
                                               level->aggregates.aggregate_nodes(), {points.data(), dim, dim});
          });
        else
          points.release();
        modes.copy_from(place, level->tentative.coarse_modes());
        multigrid::on_level(levels.size(), matrix.partitioner()->n_global() * matrix.block_rows(), [&] {
          multigrid::restrict_null_vectors(matrix, level->aggregates, level->tentative, n_modes, null_vectors);
        });
      }
      report(levels.size(), "modes");
      level->reinit_coarse(n_modes);
      report(levels.size(), "patterns");
      compute_coarse(*level);
      if (parameters.has(AMGRule::decoupled_kernel))
        multigrid::settle_null_vectors(level->coarsening.coarse_matrix(), null_vectors, level->settled);
      multigrid::add_settled(null_scale, level->settled, level->coarsening.coarse_matrix());
      report(levels.size(), "values");
      levels.push_back(std::move(level));
    }

    whole.reinit(last());
    gather();
    std::vector<double> of_all = modes.to_vector(), points_of_all = points.to_vector();
    ranks.concatenate_all(of_all, points_of_all);
    const NearNullSpace all_modes =
        NearNullSpace::at_nodes(n_modes, Array<double>(place, of_all), dim, Array<double>(place, points_of_all));
    const std::unique_ptr<AMGAggregation> again = aggregation.gather(
        static_cast<unsigned int>(levels.size() - (levels.empty() ? 0 : embedded)), *last().partitioner());
    require(again != nullptr, "These aggregates are for one rank.");
    for (Array<double> &v : null_vectors)
    {
      std::vector<double> own = v.to_vector();
      own.resize(last().n_rows()); // without ghosts of the user's
      v = Array<double>(place, ranks.concatenate(own));
    }
    report(levels.size(), "gathering");
    tell_of_finest();
    gathered.initialize(whole.matrix(), all_modes, *again, levels.empty() ? amg_parameters : parameters,
                        std::move(null_vectors));
    make_vectors();
  }

  /** Finds those of @p level, the index-th that has any; false if they hardly coarsen it. */
  template <typename Number>
  bool RankHierarchy<Number>::aggregate(AMGAggregation &aggregation, const unsigned int index, Level &level)
  {
    const SlicedEllpackMatrix<Number> &matrix = *level.A;
    const Communicator                &ranks  = matrix.partitioner()->communicator();
    level.aggregates                          = aggregation.aggregate(index, matrix);
    ranks.each([&] {
      require(matrix.n_rows() == 0 ||
                  level.aggregates.aggregate_of_node().size() == std::size_t(matrix.n_rows() / matrix.block_rows()),
              "Aggregates of ", level.aggregates.aggregate_of_node().size(), " nodes do not fit a matrix of ",
              matrix.n_rows(), " rows.");
    });
    const std::int64_t n_aggregates = ranks.sum(std::int64_t(level.aggregates.n_aggregates()));
    const auto         n_nodes      = static_cast<double>(matrix.partitioner()->n_global());
    return n_aggregates > 0 && static_cast<double>(n_aggregates) <= most_aggregates * n_nodes;
  }

  template <typename Number>
  template <typename OtherNumber>
  void RankHierarchy<Number>::initialize_from(const SlicedEllpackMatrix<Number> &A, RankHierarchy<OtherNumber> &&other)
  {
    require(other.finest != nullptr, "Aggregates of a hierarchy were asked for before it was initialized.");
    parameters = other.parameters;
    finest     = &A;
    null_scale = other.null_scale > 0. ? multigrid::diagonal_scale(A) : 0.;
    levels.clear();
    other.whole.release_values(); // which, with all of this, gives memory back
    other.whole.nodes()->release();
    for (auto &from : other.levels)
    {
      from->coarsening.release_values();
      from->coarsening.coarse_matrix().partitioner()->release();
      from->smoother.reset();
      from->bytes.reset();
      from->diagonal = {};
      from->r        = {};
    }
    for (auto &from : other.levels)
    {
      auto level        = std::make_unique<Level>();
      level->A          = &last();
      level->embedding  = from->embedding;
      level->aggregates = std::move(from->aggregates);
      level->tentative  = std::move(from->tentative);
      level->settled    = std::move(from->settled);
      find_smoother(*level);
      report(levels.size(), "smoother");
      level->coarsening.reinit(*level->A, std::move(from->coarsening));
      report(levels.size(), "patterns");
      compute_coarse(*level);
      report(levels.size(), "values");
      levels.push_back(std::move(level));
    }
    whole.reinit(std::move(other.whole));
    gather();
    report(levels.size(), "gathering");
    tell_of_finest();
    gathered.initialize_from(whole.matrix(), std::move(other.gathered));
    make_vectors();
  }

  /** Tells the gathered levels what they see of the finest diagonal. */
  template <typename Number>
  void RankHierarchy<Number>::tell_of_finest()
  {
    const Backend &place = finest->backend();
    Vector<Number> D(place);
    Vector<double> weights(place);
    finest->extract_diagonal(D);
    weights.copy_from(D);
    for (const std::unique_ptr<Level> &level : levels)
      if (level->embedding)
      {
        const std::vector<double> own = weights.copy_to_host();
        Vector<Number>            to(place);
        level->A->initialize_vector(D);
        D.copy_from_host({own.begin(), own.end()});
        level->coarsening.coarse_matrix().initialize_vector(to);
        level->coarsening.restrictor().vmult(to, D);
        const std::vector<Number> restricted = to.copy_to_host();
        weights = Vector<double>(place, std::vector<double>(restricted.begin(), restricted.end()));
      }
      else
        weights = choose(place, [&](auto where) {
          return multigrid::restricted(where, level->aggregates, level->tentative.values(), level->A->block_rows(),
                                       level->coarsening.prolongator().block_columns(), true, weights.array());
        });
    const Communicator &ranks = finest->partitioner()->communicator();
    Vector<double>      of_all(place);
    of_all.array().copy_from(place, ranks.concatenate(weights.array().to_vector()));
    std::vector<double> entries; // of each rank in the mean
    for (std::size_t l = 0; l < levels.size(); ++l)
      entries.push_back(static_cast<double>(levels[l]->A->n_nonzero_elements()) / ranks.size() * relative_cost(l));
    ranks.sum(entries.data(), static_cast<int>(entries.size()));
    gathered.know_finest(std::move(entries), static_cast<double>(finest->partitioner()->n_global()), std::move(of_all),
                         null_scale);
  }

  template <typename Number>
  void RankHierarchy<Number>::make_vectors()
  {
    if (condition() > highest_condition)
      return;
    if (!levels.empty())
    {
      last().initialize_vector(last_x);
      last().initialize_vector(last_b);
    }
    for (std::size_t l = 0; l < levels.size(); ++l)
    {
      if (!std::isinf(highest_condition))
        levels[l]->smoother->initialize(*levels[l]->A, levels[l]->diagonal, levels[l]->lambda);
      levels[l]->A->initialize_vector(levels[l]->r, true);
      if (l == 0 && single_finest != nullptr)
        rounded_finest->initialize_vector(single_finest->r, true);
      if (l > 0)
        for (Vector<Number> *v : {&levels[l]->x, &levels[l]->b})
          levels[l]->A->initialize_vector(*v);
      if (gathered.is_visited_twice(static_cast<unsigned int>(l)))
        for (Vector<Number> *v : {&levels[l]->x_2, &levels[l]->b_2})
          levels[l]->A->initialize_vector(*v);
    }
  }

  template <typename Number>
  void RankHierarchy<Number>::update(const SlicedEllpackMatrix<Number> &A)
  {
    require(finest != nullptr, "A multigrid hierarchy was updated before it was initialized.");
    require(A.n_rows() == finest->n_rows() && A.n_stored_elements() == finest->n_stored_elements() &&
                A.partitioner() == finest->partitioner(),
            "A multigrid hierarchy was updated with a matrix of another pattern.");
    finest     = &A;
    null_scale = null_scale > 0. ? multigrid::diagonal_scale(A) : 0.;
    for (std::size_t l = 0; l < levels.size(); ++l)
    {
      levels[l]->A = l == 0 ? &A : &levels[l - 1]->coarsening.coarse_matrix();
      find_smoother(*levels[l]);
      report(l, "smoother");
      compute_coarse(*levels[l]);
      report(l, "values");
    }
    whole.update(last());
    report(levels.size(), "gathering");
    tell_of_finest();
    gathered.update(whole.matrix());
    make_vectors();
  }

  /** See AMGHierarchy::find_smoother(). */
  template <typename Number>
  void RankHierarchy<Number>::find_smoother(Level &level)
  {
    if (rounded_finest == nullptr || level.A != finest)
      return compute_smoother<Number>(level, *level.A, level);
    if constexpr (std::is_same_v<Number, double>)
    {
      try
      {
        as_one(level.A->partitioner(), [&] {
          if (single_finest == nullptr)
            single_finest = std::make_unique<RoundedFinest>();
          compute_smoother(level, *rounded_finest, *single_finest);
          level.diagonal.initialize(*level.A);
          level.lambda.copy_from(single_finest->lambda);
          level.smoother.reset();
        });
      }
      catch (const NotPositiveDefinite &)
      {
        level.A->partitioner()->communicator().look(); // what was told is behind
        smooth_finest_with(nullptr);
        compute_smoother<Number>(level, *level.A, level);
      }
    }
  }

  template <typename Number>
  template <typename SmootherNumber>
  void RankHierarchy<Number>::compute_smoother(const Level                               &level,
                                               const SlicedEllpackMatrix<SmootherNumber> &A,
                                               LevelSmoothing<SmootherNumber>            &smoothing) const
  {
    const Communicator &ranks     = level.A->partitioner()->communicator();
    const bool          stretched = ranks.maximum(std::int64_t(level.aggregates.stretched())) != 0;
    smoothing.prepare(A, parameters, level.aggregates, level.A != finest, stretched,
                      level.embedding ? level.embedding->degree : 1);
    if (std::isinf(highest_condition)) // else once condition() is known
      smoothing.smoother->initialize(A, smoothing.diagonal, smoothing.lambda);
  }

  template <typename Number>
  void RankHierarchy<Number>::Level::reinit_coarse(const int n_modes)
  {
    if (embedding)
      coarsening.reinit(*A, *embedding);
    else
      coarsening.reinit(*A, aggregates, n_modes);
  }

  template <typename Number>
  void RankHierarchy<Number>::compute_coarse(Level &level)
  {
    if (level.embedding)
      level.coarsening.compute(*level.A, *level.embedding);
    else
      level.coarsening.compute(*level.A, level.aggregates, level.tentative, level.diagonal, level.lambda);
    multigrid::add_settled(null_scale, level.settled, level.coarsening.coarse_matrix());
    if constexpr (std::is_same_v<Number, double>)
      if (single_finest != nullptr && level.A == finest)
        each(level.A->partitioner(), [&] { single_finest->round(level.coarsening); });
  }

  template <typename Number>
  void RankHierarchy<Number>::gather()
  {
    const Backend &place = finest->backend();
    whole.update(last());
    own_and_others.reinit(place, whole.nodes(), last().block_rows());
    whole_x.reinit(place, whole.matrix().n_rows());
    whole_b.reinit(place, whole.matrix().n_rows());
  }

  template <typename Number>
  void RankHierarchy<Number>::monitor(const std::function<void(unsigned int level, const std::string &phase)> &function)
  {
    end_of_phase = function;
    gathered.monitor(!function ? function : [this, function](const unsigned int level, const std::string &phase) {
      function(static_cast<unsigned int>(levels.size()) + level, phase);
    });
  }

  template <typename Number>
  void RankHierarchy<Number>::solve(const unsigned int index, Vector<Number> &x, const Vector<Number> &b) const
  {
    if (index == levels.size())
      return solve_gathered(x, b);
    cycle(index, x, b);
    if (!gathered.is_visited_twice(index))
      return;
    const Level &level = *levels[index]; // see AMGHierarchy::solve()
    level.A->residual(level.b_2, x, b);
    cycle(index, level.x_2, level.b_2);
    x.add(Number(1), level.x_2);
  }

  template <typename Number>
  void RankHierarchy<Number>::cycle_in_single(Vector<float> &x, const Vector<float> &b) const
  {
    require(single_finest != nullptr, "Multigrid levels are not there after a set-up that failed.");
    if constexpr (std::is_same_v<Number, double>)
    {
      const bool      is_last  = levels.size() == 1;
      Vector<double> &coarse_x = is_last ? last_x : levels[1]->x, &coarse_b = is_last ? last_b : levels[1]->b;
      const auto      solve = [&]() -> const Vector<double>      &{
        this->solve(1, coarse_x, coarse_b);
        return coarse_x;
      };
      single_finest->cycle(x, b, levels.front()->r, coarse_b, solve, [&](const char *phase) { report(0, phase); });
    }
  }

  template <typename Number>
  void RankHierarchy<Number>::cycle(const unsigned int index, Vector<Number> &x, const Vector<Number> &b) const
  {
    if (index == levels.size())
      return solve_gathered(x, b);
    const Level &level = *levels[index];
    level.smoother->pre_smooth(x, level.r, b);
    report(index, "pre-smoothing");
    const bool      is_last  = index + 1 == levels.size();
    Vector<Number> &coarse_x = is_last ? last_x : levels[index + 1]->x;
    Vector<Number> &coarse_b = is_last ? last_b : levels[index + 1]->b;
    level.coarsening.restrictor().vmult(coarse_b, level.r);
    report(index, "restriction");
    solve(index + 1, coarse_x, coarse_b);
    level.coarsening.prolongator().vmult_add(x, coarse_x);
    report(index, "prolongation");
    level.smoother->post_smooth(x, level.r, b);
    report(index, "post-smoothing");
  }

  template <typename Number>
  void RankHierarchy<Number>::solve_gathered(Vector<Number> &x, const Vector<Number> &b) const
  {
    // Nodes of ranks before this one, its own, and those of ranks behind it are three stretches of all.
    const Backend    &place = b.backend();
    const std::size_t n = b.size(), before = whole.nodes()->first() * whole.matrix().block_rows(),
                      behind = whole_b.size() - before - n;
    const auto copy          = [&](Number *to, const Number *from, const std::size_t size) {
      if (size > 0)
        memory::copy(place, to, place, from, size * sizeof(Number));
    };
    copy(own_and_others.data(), b.data(), n);
    own_and_others.update_ghosts();
    copy(whole_b.data(), own_and_others.data() + n, before);
    copy(whole_b.data() + before, own_and_others.data(), n);
    copy(whole_b.data() + before + n, own_and_others.data() + n + before, behind);
    report(levels.size(), "gathering");
    levels.empty() ? gathered.cycle(whole_x, whole_b) : gathered.solve(whole_x, whole_b);
    copy(x.data(), whole_x.data() + before, n);
  }

  template <typename Number>
  std::vector<AMGLevelStatistics> RankHierarchy<Number>::statistics() const
  {
    std::vector<AMGLevelStatistics> result;
    int                             visits = 1;
    for (std::size_t l = 0; l < levels.size(); ++l)
    {
      const std::unique_ptr<Level> &level = levels[l];
      const Communicator           &ranks = level->A->partitioner()->communicator();
      AMGLevelStatistics            s;
      s.n_rows          = static_cast<int>(ranks.sum(std::int64_t(level->A->n_rows())));
      s.block_size      = level->A->block_rows();
      s.n_nonzeros      = ranks.sum(level->A->n_nonzero_elements());
      s.n_aggregates    = static_cast<int>(ranks.sum(std::int64_t(level->n_coarse_nodes())));
      s.n_dropped_modes = static_cast<int>(ranks.sum(std::int64_t(level->tentative.n_dropped())));
      s.lambda_max      = level->lambda.value();
      s.relative_cost   = relative_cost(l);
      s.single          = std::is_same<Number, float>::value || (l == 0 && single_finest != nullptr);
      s.memory          = memory_of(l);
      s.aggregation     = level->aggregates.facts();
      s.n_modes         = level->coarsening.coarse_matrix().block_rows();
      s.n_visits        = visits *= gathered.is_visited_twice(static_cast<unsigned int>(l)) ? 2 : 1;
      if (level->smoother != nullptr)
        level->smoother->describe(s);
      else
        single_finest->smoother->describe(s);
      if (level->embedding)
      {
        s.embedded_degree = level->embedding->degree;
        s.memory += level->embedding->memory_consumption();
      }
      result.push_back(s);
    }
    for (const AMGLevelStatistics &s : gathered.statistics())
      result.push_back(s);
    return result;
  }

  template <typename Number>
  std::size_t RankHierarchy<Number>::memory_consumption() const
  {
    std::size_t bytes = memory_consumption_of(whole, gathered, own_and_others, whole_x, whole_b, last_x, last_b);
    for (std::size_t l = 0; l < levels.size(); ++l)
      bytes += memory_of(l);
    return bytes;
  }

  /** Without the embedding, which others have, too. */
  template <typename Number>
  std::size_t RankHierarchy<Number>::memory_of(const std::size_t l) const
  {
    const Level &level  = *levels[l];
    std::size_t  result = memory_consumption_of(level.tentative, level.aggregates, level.coarsening, level.x, level.b,
                                                level.x_2, level.b_2) +
                         level.memory_consumption();
    if (l == 0 && single_finest != nullptr)
      result += single_finest->memory_consumption();
    return result;
  }

  /** Of a step of the smoother, see LevelSmoother. */
  template <typename Number>
  double RankHierarchy<Number>::relative_cost(const std::size_t l) const
  {
    if (l == 0 && single_finest != nullptr)
      return single_finest->smoother->relative_cost();
    return levels[l]->smoother != nullptr ? levels[l]->smoother->relative_cost() : 1.;
  }

  template class RankHierarchy<float>;
  template class RankHierarchy<double>;
  template void RankHierarchy<double>::initialize_from(const SlicedEllpackMatrix<double> &, RankHierarchy<float> &&);
} // namespace PatchFEM
