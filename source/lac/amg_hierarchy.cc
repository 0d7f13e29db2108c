// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../assembly/structure_tools.h"

#include <patchfem/kernels/blas1.h>
#include <patchfem/kernels/multigrid_value_bodies.h>
#include <patchfem/kernels/null_space_bodies.h>
#include <patchfem/lac/amg_hierarchy.h>

#include <cmath>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    /** Calls @p function; its errors name the level. */
    template <typename Function>
    void on_level(const unsigned int level, const int n_rows, const Function &function)
    {
      const auto named = [&](const Error &error) {
        return "Multigrid level " + std::to_string(level) + " (" + std::to_string(n_rows) + " rows): " + error.what();
      };
      try
      {
        function();
      }
      catch (const NotPositiveDefinite &error)
      {
        throw NotPositiveDefinite(named(error));
      }
      catch (const Error &error)
      {
        throw Error(named(error));
      }
    }

    /** w = Q^T v. Throws Error unless v = Q w, that is |w| = |v| = 1. */
    Array<double> restrict_vector(const AggregateLists       &aggregates,
                                  const TentativeProlongator &tentative,
                                  const int                   n_components,
                                  const int                   n_modes,
                                  const Array<double>        &v)
    {
      const Backend &place = v.backend();
      Vector<double> w(place, std::size_t(aggregates.n_aggregates()) * n_modes);
      run(place, w.size(),
          kernels::RestrictVectorBody{aggregates.aggregate_offsets().data(), aggregates.aggregate_nodes().data(),
                                      n_components, n_modes, tentative.values().data(), v.data(), w.data()});
      require(std::abs(w.l2_norm() - 1.) < 1e-6,
              "the near-null space does not contain the null space of the matrix, which is singular.");
      return std::move(w.array());
    }
  } // namespace

  template <typename Number>
  void AMGHierarchy<Number>::initialize(const SlicedEllpackMatrix<Number> &A,
                                        const NearNullSpace               &near_null,
                                        AMGAggregation                    &aggregation,
                                        const AMGParameters               &amg_parameters,
                                        std::vector<Array<double>>         null_basis)
  {
    parameters = amg_parameters;
    require(parameters.coarse_size >= 1 && parameters.max_levels >= 1,
            "The coarse size and the number of levels of a multigrid hierarchy must be positive.");
    require(parameters.coarse_size <= AMGParameters::largest_inverse,
            "The coarse size of a multigrid hierarchy must be at most " +
                std::to_string(AMGParameters::largest_inverse) + ", not " + std::to_string(parameters.coarse_size) +
                ".");
    require(near_null.n_unknowns() == A.n_rows(), "A near-null space of " + std::to_string(near_null.n_unknowns()) +
                                                      " unknowns does not fit a matrix of " +
                                                      std::to_string(A.n_rows()) + " rows.");
    require(near_null.backend() == A.backend(), "The near-null space and the matrix are on different back ends.");
    levels.clear();
    aggregation.want_patches(parameters.smoother == AMGSmoother::patch, parameters.patch_storage);
    null_vectors = std::move(null_basis);
    null_scale.release();
    compute_null_scale(A);

    const int     n_modes = near_null.n_modes();
    Array<double> modes;
    modes.copy_from(A.backend(), near_null.array());
    const SlicedEllpackMatrix<Number> *matrix = &A;
    for (bool coarser = true; coarser;)
    {
      const unsigned int index = n_levels();
      levels.push_back(std::make_unique<Level>());
      Level &level = *levels.back();
      level.A      = matrix;
      coarser      = false;
      on_level(index, matrix->n_rows(), [&]() {
        const bool small = matrix->n_rows() <= parameters.coarse_size;
        if (small || n_levels() == static_cast<unsigned int>(parameters.max_levels))
        {
          // The last one that is allowed, not one that coarsening made small.
          require(matrix->n_rows() <= AMGParameters::largest_inverse,
                  "is the last one but too large to be inverted; allow more levels or larger aggregates.");
          level.inverse.compute(*matrix, null_vectors, null_scale);
          report(index, "inverse");
          return;
        }
        level.aggregates = aggregation.aggregate(index, *matrix);
        report(index, "aggregates");
        compute_smoother(level);
        report(index, "smoother");
        const int n_components = matrix->block_rows(), n_nodes = matrix->n_rows() / n_components;
        const int n_aggregates = level.aggregates.n_aggregates();
        if (n_aggregates == 0) // nothing couples: the smoother is all there is
          return;
        require(std::int64_t(n_aggregates) * n_modes < matrix->n_rows(),
                "coarsening stalls: " + std::to_string(n_aggregates) + " aggregates of " + std::to_string(n_nodes) +
                    " nodes.");
        run(A.backend(), matrix->n_rows(),
            kernels::MaskDecoupledBody<Number>{matrix->view(), matrix->row_lengths(), n_modes, modes.data()});
        level.tentative.compute(level.aggregates, modes, n_components, n_modes);
        modes.swap(level.tentative.coarse_modes());
        level.tentative.coarse_modes().release();
        for (Array<double> &v : null_vectors)
          v = restrict_vector(level.aggregates, level.tentative, n_components, n_modes, v);
        report(index, "modes");
        level.coarsening.reinit(*matrix, level.aggregates, n_modes);
        report(index, "patterns");
        level.coarsening.compute(*matrix, level.aggregates, level.tentative, level.diagonal, level.lambda);
        settle_null_vectors(level);
        add_settled(level);
        report(index, "values");
        level.has_coarse = coarser = true;
      });
      matrix = &level.coarsening.coarse_matrix();
    }
    allocate_vectors();
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
      on_level(index, level.A->n_rows(), [&]() {
        if (level.smoother == nullptr)
          level.inverse.compute(*level.A, null_vectors, null_scale);
        else
          compute_smoother(level);
        report(index, level.smoother == nullptr ? "inverse" : "smoother");
        if (!level.has_coarse)
          return;
        level.coarsening.compute(*level.A, level.aggregates, level.tentative, level.diagonal, level.lambda);
        add_settled(level);
        report(index, "values");
      });
    }
  }

  template <typename Number>
  void AMGHierarchy<Number>::compute_null_scale(const SlicedEllpackMatrix<Number> &A)
  {
    if (null_vectors.empty() && null_scale.empty())
      return;
    const Backend &place = A.backend();
    Vector<Number> diagonal(place);
    A.extract_diagonal(diagonal);
    Array<double> sums(place, kernels::reduction::max_parts + 1);
    double *const square = sums.data() + kernels::reduction::max_parts;
    dispatch(place, [&](auto where) {
      kernels::dot<Number>(where, diagonal.size(), diagonal.data(), diagonal.data(), sums.data(), square);
    });
    null_scale.reinit(place, 1);
    run(place, 1, kernels::RootMeanSquareBody{std::int64_t(diagonal.size()), square, null_scale.data()});
    place.synchronize(); // before the sums are freed
  }

  template <typename Number>
  void AMGHierarchy<Number>::settle_null_vectors(Level &level)
  {
    const SlicedEllpackMatrix<Number> &coarse = level.coarsening.coarse_matrix();
    const Backend                     &place  = coarse.backend();
    for (auto v = null_vectors.begin(); v != null_vectors.end();)
    {
      Array<int> n_coupled(place, 1);
      n_coupled.set_zero();
      run(place, coarse.n_rows() / coarse.block_rows(),
          kernels::CoupledNodesBody{coarse.row_lengths(), coarse.block_rows(), v->data(), n_coupled.data()});
      if (n_coupled.read(0) > 0)
      {
        ++v;
        continue;
      }
      level.settled.push_back(std::move(*v));
      v = null_vectors.erase(v);
    }
  }

  template <typename Number>
  void AMGHierarchy<Number>::add_settled(Level &level) const
  {
    SlicedEllpackMatrix<Number> &coarse = level.coarsening.coarse_matrix();
    for (const Array<double> &v : level.settled)
      run(coarse.backend(), coarse.n_rows() / coarse.block_rows(),
          kernels::AddNodeProductBody<Number>{coarse.view(), coarse.row_lengths(), null_scale.data(), v.data()});
  }

  template <typename Number>
  void AMGHierarchy<Number>::compute_smoother(Level &level) const
  {
    level.diagonal.initialize(*level.A);
    level.lambda.compute(*level.A, level.diagonal, parameters.eigenvalue_steps);
    if (level.smoother == nullptr)
      level.smoother = make_smoother(level);
    level.smoother->initialize(*level.A, level.diagonal, level.lambda);
  }

  template <typename Number>
  std::unique_ptr<LevelSmoother<Number>> AMGHierarchy<Number>::make_smoother(const Level &level) const
  {
    using Kind        = typename PolynomialSmoother<Number>::Kind;
    const int  sweeps = parameters.sweeps_on(&level != levels.front().get());
    const auto make   = [&](const Kind kind) {
      return std::make_unique<PolynomialSmoother<Number>>(kind, sweeps, parameters.smoothing_range);
    };
    switch (parameters.smoother)
    {
    case AMGSmoother::block_jacobi:
      return make(Kind::block_jacobi);
    case AMGSmoother::l1_jacobi:
      return make(Kind::l1_jacobi);
    case AMGSmoother::chebyshev:
      return make(Kind::chebyshev);
    case AMGSmoother::patch:
      return std::make_unique<PatchSmoother<Number>>(level.aggregates, sweeps, parameters.smoothing_range,
                                                     parameters.inner_sweeps, parameters.eigenvalue_steps,
                                                     parameters.patch_storage);
    }
    throw Error("An unknown smoother was asked for.");
  }

  template <typename Number>
  void AMGHierarchy<Number>::allocate_vectors()
  {
    for (unsigned int index = 0; index < n_levels(); ++index)
    {
      Level            &level = *levels[index];
      const Backend    &place = level.A->backend();
      const std::size_t n     = level.A->n_rows();
      if (level.smoother != nullptr)
        level.r.reinit(place, n, true);
      if (index > 0)
      {
        level.x.reinit(place, n, true);
        level.b.reinit(place, n, true);
        if (parameters.cycle == AMGCycle::w && level.smoother != nullptr)
        {
          level.x_2.reinit(place, n, true);
          level.b_2.reinit(place, n, true);
        }
      }
    }
  }

  template <typename Number>
  void AMGHierarchy<Number>::cycle(Vector<Number> &x, const Vector<Number> &b) const
  {
    cycle(0, x, b);
  }

  template <typename Number>
  void AMGHierarchy<Number>::cycle(const unsigned int index, Vector<Number> &x, const Vector<Number> &b) const
  {
    const Level &level = *levels[index];
    if (level.smoother == nullptr)
    {
      level.inverse.vmult(x, b);
      report(index, "inverse");
      return;
    }
    level.smoother->pre_smooth(x, level.r, b);
    report(index, "pre-smoothing");
    if (level.has_coarse)
    {
      const Level &coarse = *levels[index + 1];
      level.coarsening.restrictor().vmult(coarse.b, level.r);
      report(index, "restriction");
      cycle(index + 1, coarse.x, coarse.b);
      if (parameters.cycle == AMGCycle::w && coarse.smoother != nullptr)
      {
        // Two steps of x <- x + M^-1 (b - A x) from 0, which is a symmetric operator if M is.
        coarse.A->residual(coarse.b_2, coarse.x, coarse.b);
        cycle(index + 1, coarse.x_2, coarse.b_2);
        coarse.x.add(Number(1), coarse.x_2);
      }
      level.coarsening.prolongator().vmult_add(x, coarse.x);
      report(index, "prolongation");
    }
    level.smoother->post_smooth(x, level.r, b);
    report(index, "post-smoothing");
  }

  template <typename Number>
  std::vector<AMGLevelStatistics> AMGHierarchy<Number>::statistics() const
  {
    std::vector<AMGLevelStatistics> result;
    for (const std::unique_ptr<Level> &level : levels)
    {
      AMGLevelStatistics s;
      s.n_rows          = level->A->n_rows();
      s.block_size      = level->A->block_rows();
      s.n_nonzeros      = level->A->n_nonzero_elements();
      s.n_aggregates    = level->has_coarse ? level->aggregates.n_aggregates() : 0;
      s.n_dropped_modes = level->tentative.n_dropped();
      s.lambda_max      = level->smoother != nullptr ? level->lambda.value() : 0.;
      s.memory          = level->coarsening.memory_consumption() + level->tentative.memory_consumption() +
                 level->diagonal.memory_consumption() + level->inverse.memory_consumption() +
                 level->aggregates.memory_consumption();
      if (level->smoother != nullptr)
        s.memory += level->smoother->memory_consumption();
      for (const Vector<Number> *vector : {&level->x, &level->b, &level->r, &level->x_2, &level->b_2})
        s.memory += vector->memory_consumption();
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
} // namespace PatchFEM
