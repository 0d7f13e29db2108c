// SPDX-License-Identifier: LGPL-2.1-or-later
#include "embedding_tools.h"
#include "factorized_inverse_tools.h"
#include "null_vectors.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/multigrid/amg_hierarchy.h>

#include <cmath>
#include <type_traits>
#include <utility>

namespace PatchFEM
{
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
    require(near_null.n_unknowns() == A.n_rows(), "A near-null space of ", near_null.n_unknowns(),
            " unknowns does not fit a matrix of ", A.n_rows(), " rows.");
    require(near_null.backend() == A.backend(), "The near-null space and the matrix are on different back ends.");
    const bool nearly_incompressible = levels_above == 0 && multigrid::choose_smoother(A, near_null, parameters);
    aggregation.disable(parameters.disabled_rules);
    aggregation.want_patches(parameters.smoother == AMGSmoother::patch, parameters.patch_storage);
    single_finest.reset();
    finest_is_known     = false;
    parameters.in_bytes = A.n_nonzero_elements() >= parameters.least_in_bytes;
    null_vectors        = std::move(null_basis);
    null_scale          = 0.;
    compute_null_scale(A);

    int           n_modes   = near_null.n_modes();
    const auto    embedding = multigrid::usable_embedding(A, near_null, parameters, null_vectors);
    Array<double> modes;
    modes.copy_from(A.backend(), near_null.array());
    if (embedding == nullptr)
      aggregation.know_points(near_null.dim(), near_null.points());
    const auto aggregate = [&](const unsigned int index, Level &level) {
      level.aggregates = aggregation.aggregate(index - (embedding ? 1 : 0), *level.A);
      report(index, "aggregates");
    };
    build(A, embedding, aggregate, [&](const unsigned int index, Level &level) {
      const SlicedEllpackMatrix<Number> &matrix       = *level.A;
      const int                          n_components = matrix.block_rows();
      if (level.embedding)
      {
        aggregation.know_points(
            near_null.dim(), multigrid::restrict_to_vertices(*embedding, near_null, n_components, modes, null_vectors));
        report(index, "modes");
        return level.coarsening.reinit(matrix, *embedding);
      }
      if (nearly_incompressible && index == (embedding ? 1 : 0))
        n_modes = multigrid::add_isochoric_modes(near_null.dim(), n_modes, level.aggregates.n_aggregates(),
                                                 A.n_nonzero_elements(), modes);
      choose(A.backend(), [&](auto where) { multigrid::mask_decoupled(where, matrix, n_modes, modes); });
      level.tentative.compute(level.aggregates, modes, n_components, n_modes);
      if (level.aggregates.has_short_edges())
        modes.copy_from(A.backend(), level.tentative.coarse_modes());
      else
      {
        modes.swap(level.tentative.coarse_modes());
        level.tentative.coarse_modes().release();
      }
      multigrid::restrict_null_vectors(matrix, level.aggregates, level.tentative, n_modes, null_vectors);
      report(index, "modes");
      level.coarsening.reinit(matrix, level.aggregates, n_modes);
    });
  }

  template <typename Number>
  template <typename OtherNumber>
  void AMGHierarchy<Number>::initialize_from(const SlicedEllpackMatrix<Number> &A,
                                             AMGHierarchy<OtherNumber>        &&other,
                                             const bool                         keep_finest)
  {
    require(!other.levels.empty(), "Aggregates of a hierarchy were asked for before it was initialized.");
    parameters   = other.parameters;
    null_vectors = std::move(other.null_vectors);
    null_scale   = other.null_scale;
    compute_null_scale(A);
    finest_is_known = keep_finest && !other.levels.front()->is_inverted;
    if constexpr (std::is_same_v<OtherNumber, float>)
      if (finest_is_known)
      {
        single_finest = std::make_unique<RoundedFinest>();
        single_finest->take_over(*other.levels.front());
      }
    for (auto &level : other.levels) // gives back what this has no use for
    {
      level->coarsening.release_values();
      level->smoother.reset();
      level->bytes.reset();
      level->diagonal = {};
      level->r        = {};
      level->inverse  = {};
    }
    build(
        A, other.levels.front()->embedding,
        [&](const unsigned int index, Level &level) { level.aggregates = std::move(other.levels[index]->aggregates); },
        [&](const unsigned int index, Level &level) {
          level.tentative = std::move(other.levels[index]->tentative);
          level.settled   = std::move(other.levels[index]->settled);
          level.coarsening.reinit(*level.A, std::move(other.levels[index]->coarsening));
        });
    other.levels.clear();
  }

  /** The levels; @p aggregate and @p find_patterns (index, level) give one aggregates, and modes and patterns of them. */
  template <typename Number>
  template <typename Aggregate, typename FindPatterns>
  void AMGHierarchy<Number>::build(const SlicedEllpackMatrix<Number>            &A,
                                   const std::shared_ptr<const LinearEmbedding> &embedding,
                                   const Aggregate                              &aggregate,
                                   const FindPatterns                           &find_patterns)
  {
    levels.clear();
    const SlicedEllpackMatrix<Number> *matrix      = &A;
    const int                          coarse_size = parameters.coarse_size_for(A.n_nonzero_elements());
    for (bool coarser = true; coarser;)
    {
      const unsigned int index = n_levels();
      levels.push_back(std::make_unique<Level>());
      Level &level = *levels.back();
      level.A      = matrix;
      coarser      = false;
      multigrid::on_level(levels_above + index, matrix->n_rows(), [&]() {
        const bool         small    = matrix->n_rows() <= coarse_size;
        const unsigned int embedded = levels.front()->embedding ? 1 : 0;
        if (small || n_levels() - embedded == static_cast<unsigned int>(parameters.max_levels))
        {
          // The last one that is allowed, not one that coarsening made small.
          require(matrix->n_rows() <= AMGParameters::largest_inverse,
                  "is the last one but too large to be inverted; allow more levels or larger aggregates.");
          level.is_inverted = true;
          level.inverse.compute(*matrix, null_vectors, null_scale);
          report(index, "inverse");
          return;
        }
        if (index == 0)
          level.embedding = embedding;
        if (!level.embedding)
          aggregate(index, level);
        find_smoother(level);
        report(index, "smoother");
        const int n_aggregates = level.n_coarse_nodes();
        if (n_aggregates == 0) // nothing couples: the smoother is all there is
          return;
        const int n_nodes = matrix->n_rows() / matrix->block_rows();
        require(n_aggregates < n_nodes, "coarsening stalls: ", n_aggregates, " aggregates of ", n_nodes, " nodes.");
        find_patterns(index, level);
        report(index, "patterns");
        compute_coarse(level);
        if (parameters.has(AMGRule::decoupled_kernel))
          multigrid::settle_null_vectors(level.coarsening.coarse_matrix(), null_vectors, level.settled);
        multigrid::add_settled(null_scale, level.settled, level.coarsening.coarse_matrix());
        report(index, "values");
        level.has_coarse = coarser = true;
      });
      matrix = &level.coarsening.coarse_matrix();
    }
    choose_cycle();
  }

  template <typename Number>
  void AMGHierarchy<Number>::update(const SlicedEllpackMatrix<Number> &A)
  {
    require(!levels.empty(), "A multigrid hierarchy was updated before it was initialized.");
    require(A.n_rows() == levels[0]->A->n_rows() && A.block_rows() == levels[0]->A->block_rows() &&
                A.n_stored_elements() == levels[0]->A->n_stored_elements() && A.backend() == levels[0]->A->backend(),
            "A multigrid hierarchy was updated with a matrix of another pattern.");
    levels[0]->A = &A;
    compute_null_scale(A);
    for (unsigned int index = 0; index < n_levels(); ++index)
    {
      Level &level = *levels[index];
      multigrid::on_level(levels_above + index, level.A->n_rows(), [&]() {
        if (level.is_inverted)
          level.inverse.compute(*level.A, null_vectors, null_scale);
        else
          find_smoother(level);
        report(index, level.is_inverted ? "inverse" : "smoother");
        if (!level.has_coarse)
          return;
        compute_coarse(level);
        multigrid::add_settled(null_scale, level.settled, level.coarsening.coarse_matrix());
        report(index, "values");
      });
    }
    choose_cycle();
  }

  template <typename Number>
  void AMGHierarchy<Number>::compute_coarse(Level &level)
  {
    if (level.embedding)
      level.coarsening.compute(*level.A, *level.embedding);
    else
      level.coarsening.compute(*level.A, level.aggregates, level.tentative, level.diagonal, level.lambda);
    if constexpr (std::is_same_v<Number, double>)
      if (single_finest != nullptr && &level == levels.front().get())
        single_finest->round(level.coarsening);
  }

  template <typename Number>
  void AMGHierarchy<Number>::compute_null_scale(const SlicedEllpackMatrix<Number> &A)
  {
    if (null_vectors.empty() && null_scale == 0.)
      return;
    null_scale = scale_above > 0. ? scale_above : multigrid::diagonal_scale(A);
  }

  template <typename Number>
  Vector<double>
  AMGHierarchy<Number>::restricted_weights(const Level &level, const int n_modes, const Vector<double> &v)
  {
    const Backend &place = level.A->backend();
    if (!level.embedding)
      return choose(place, [&](auto where) {
        return multigrid::restricted(where, level.aggregates, level.tentative.values(), level.A->block_rows(), n_modes,
                                     true, v.array());
      });
    Vector<double> result(place);
    Vector<Number> from(place), to(place, level.coarsening.coarse_matrix().n_rows());
    from.copy_from(v);
    level.coarsening.restrictor().vmult(to, from);
    result.copy_from(to);
    return result;
  }

  template <typename Number>
  void AMGHierarchy<Number>::find_smoother(Level &level)
  {
    if (rounded_finest == nullptr || &level != levels.front().get())
      return compute_smoother<Number>(level, *level.A, level);
    if constexpr (std::is_same_v<Number, double>)
      try
      {
        const bool is_known = finest_is_known; // by initialize_from()
        finest_is_known     = false;
        if (single_finest == nullptr)
          single_finest = std::make_unique<RoundedFinest>();
        compute_smoother(level, *rounded_finest, *single_finest, !is_known);
        single_finest->r.reinit(rounded_finest->backend(), rounded_finest->n_rows(), true);
        level.diagonal.initialize(*level.A);
        level.lambda.copy_from(single_finest->lambda);
        level.smoother.reset();
      }
      catch (const NotPositiveDefinite &)
      {
        smooth_finest_with(nullptr);
        compute_smoother<Number>(level, *level.A, level);
      }
  }

  template <typename Number>
  template <typename SmootherNumber>
  void AMGHierarchy<Number>::compute_smoother(const Level                               &level,
                                              const SlicedEllpackMatrix<SmootherNumber> &A,
                                              LevelSmoothing<SmootherNumber>            &smoothing,
                                              const bool                                 new_values) const
  {
    smoothing.prepare(A, parameters, level.aggregates, levels_above > 0 || &level != levels.front().get(),
                      level.aggregates.stretched(), level.embedding ? level.embedding->degree : 1, new_values);
    if (std::isinf(highest_condition)) // else once condition() is known
      smoothing.smoother->initialize(A, smoothing.diagonal, smoothing.lambda);
  }

  template <typename Number>
  void AMGHierarchy<Number>::choose_cycle()
  {
    const bool counts = parameters.has(AMGRule::precision_by_condition) || parameters.has(AMGRule::w_by_condition) ||
                        parameters.has(AMGRule::partial_w);
    condition_estimate = counts ? estimate_condition() : 0.;
    report(n_levels() - 1, "condition");
    if (condition_estimate > highest_condition)
      return;
    choose_visits();
    for (unsigned int index = 0; index < n_levels(); ++index)
    {
      Level            &level = *levels[index];
      const Backend    &place = level.A->backend();
      const std::size_t n     = level.A->n_rows();
      if (!level.is_inverted)
        level.r.reinit(place, n, true);
      if (index > 0)
      {
        level.x.reinit(place, n, true);
        level.b.reinit(place, n, true);
      }
      if (is_visited_twice(levels_above + index))
      {
        level.x_2.reinit(place, n, true);
        level.b_2.reinit(place, n, true);
      }
      if (level.smoother == nullptr || std::isinf(highest_condition))
        continue;
      multigrid::on_level(levels_above + index, level.A->n_rows(),
                          [&]() { level.smoother->initialize(*level.A, level.diagonal, level.lambda); });
      report(index, "smoother");
    }
  }

  template <typename Number>
  void AMGHierarchy<Number>::choose_visits()
  {
    // A visit sweeps some six times over a matrix, once over an inverse. On a device the kernels of a small level take
    // some 60 us, in which it would sweep six times over so many entries.
    const double        latency = levels.front()->A->backend().kind() == BackendKind::cuda ? 1e7 : 0.;
    std::vector<double> entries = entries_above; // of a visit of each level
    for (const std::unique_ptr<Level> &level : levels)
      entries.push_back(!level->is_inverted
                            ? static_cast<double>(level->A->n_nonzero_elements()) * relative_cost(*level)
                            : static_cast<double>(level->A->n_rows()) * level->A->n_rows() / 6.);
    double below = 0.; // of a V-cycle from a level on
    for (double &of_level : entries)
      below += of_level += latency;
    const SlicedEllpackMatrix<Number> &front = *levels.front()->A;
    const double n_nodes   = levels_above > 0 ? nodes_above : static_cast<double>(front.n_rows() / front.block_rows());
    const bool   automatic = parameters.cycle == AMGCycle::automatic,
               is_thin     = condition() > parameters.thin_limit * std::cbrt(n_nodes * n_nodes) &&
                         parameters.has(AMGRule::partial_w),
               is_w = parameters.cycle == AMGCycle::w ||
                      (automatic && condition() > parameters.w_limit && parameters.has(AMGRule::w_by_condition));
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
  void AMGHierarchy<Number>::cycle(const unsigned int index, Vector<Number> &x, const Vector<Number> &b) const
  {
    const Level &level = *levels[index];
    if (level.is_inverted)
    {
      level.inverse.vmult(x, b);
      report(index, "inverse");
      return;
    }
    level.smoother->pre_smooth(x, level.r, b);
    report(index, "pre-smoothing");
    if (level.has_coarse)
    {
      solve_coarse(index);
      level.coarsening.prolongator().vmult_add(x, levels[index + 1]->x);
      report(index, "prolongation");
    }
    level.smoother->post_smooth(x, level.r, b);
    report(index, "post-smoothing");
  }

  template <typename Number>
  void AMGHierarchy<Number>::cycle_in_single(Vector<float> &x, const Vector<float> &b) const
  {
    require(single_finest != nullptr, "Multigrid levels are not there after a set-up that failed.");
    if constexpr (std::is_same_v<Number, double>)
    {
      const Level &next  = *levels[1];
      const auto   solve = [&]() -> const Vector<double>   &{
        this->solve(1, next.x, next.b);
        return next.x;
      };
      single_finest->cycle(x, b, levels.front()->r, next.b, solve, [&](const char *phase) { report(0, phase); });
    }
  }

  /** The correction x of the level below @p index from the residual r there. */
  template <typename Number>
  void AMGHierarchy<Number>::solve_coarse(const unsigned int index) const
  {
    const Level &level = *levels[index], &coarse = *levels[index + 1];
    level.coarsening.restrictor().vmult(coarse.b, level.r);
    report(index, "restriction");
    solve(index + 1, coarse.x, coarse.b);
  }

  template <typename Number>
  void AMGHierarchy<Number>::solve(const unsigned int index, Vector<Number> &x, const Vector<Number> &b) const
  {
    const Level &level = *levels[index];
    cycle(index, x, b);
    if (!is_visited_twice(levels_above + index))
      return;
    // Two steps of x <- x + M^-1 (b - A x) from 0, which is a symmetric operator if M is.
    level.A->residual(level.b_2, x, b);
    cycle(index, level.x_2, level.b_2);
    x.add(Number(1), level.x_2);
  }

  template <typename Number>
  double AMGHierarchy<Number>::estimate_condition() const
  {
    constexpr int n_steps = 8;
    const Level  &last    = *levels.back();
    if (!last.is_inverted)
      return 0.;
    const Backend &place = last.A->backend();
    Vector<Number> D(place), x(place, last.A->n_rows()), y(place, x.size()), z(place, x.size());
    Vector<double> weights(place);
    if (diagonal_above.size() > 0)
      weights.copy_from(diagonal_above);
    else
    {
      levels.front()->A->extract_diagonal(D);
      weights.copy_from(D);
    }
    for (unsigned int index = 0; index + 1 < n_levels(); ++index)
    {
      Vector<double> coarse = restricted_weights(*levels[index], levels[index + 1]->A->block_rows(), weights);
      place.synchronize();
      weights.swap(coarse);
    }
    // x -> A^-1 D x, x of length one in the norm of D.
    D.copy_from(weights);
    dispatch(place, [&](auto where) { kernels::set_scattered(where, x.size(), x.data()); });
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

  template <typename Number>
  std::vector<AMGLevelStatistics> AMGHierarchy<Number>::statistics() const
  {
    std::vector<AMGLevelStatistics> result;
    int                             visits = 1;
    for (unsigned int level = 0; level < levels_above; ++level)
      visits *= is_visited_twice(level) ? 2 : 1;
    for (const std::unique_ptr<Level> &level : levels)
    {
      AMGLevelStatistics s;
      s.n_rows          = level->A->n_rows();
      s.block_size      = level->A->block_rows();
      s.n_nonzeros      = level->A->n_nonzero_elements();
      s.n_aggregates    = level->has_coarse ? level->n_coarse_nodes() : 0;
      s.n_dropped_modes = level->tentative.n_dropped();
      s.lambda_max      = !level->is_inverted ? level->lambda.value() : 0.;
      s.relative_cost   = relative_cost(*level);
      s.aggregation     = level->aggregates.facts();
      s.n_modes         = level->has_coarse ? level->coarsening.coarse_matrix().block_rows() : 0;
      s.n_visits        = visits *= is_visited_twice(levels_above + static_cast<unsigned int>(result.size())) ? 2 : 1;
      if (level->is_inverted)
        s.smoother = "dense inverse";
      else if (level->smoother != nullptr)
        level->smoother->describe(s);
      else
        single_finest->smoother->describe(s);
      s.memory = memory_consumption_of(level->coarsening, level->tentative, level->inverse, level->aggregates, level->x,
                                       level->b, level->x_2, level->b_2) +
                 level->LevelSmoothing<Number>::memory_consumption();
      if (level->embedding)
      {
        s.embedded_degree = level->embedding->degree;
        s.memory += level->embedding->memory_consumption();
      }
      s.single = std::is_same<Number, float>::value;
      if (single_finest != nullptr && result.empty())
      {
        s.single = true;
        s.memory += single_finest->memory_consumption();
      }
      result.push_back(s);
    }
    return result;
  }

  template <typename Number>
  std::size_t AMGHierarchy<Number>::memory_consumption() const
  {
    std::size_t result = 0;
    for (const AMGLevelStatistics &level : statistics())
      result += level.memory;
    return result;
  }

  template class AMGHierarchy<float>;
  template class AMGHierarchy<double>;
  template void
  AMGHierarchy<double>::initialize_from(const SlicedEllpackMatrix<double> &, AMGHierarchy<float> &&, bool);
} // namespace PatchFEM
