// SPDX-License-Identifier: LGPL-2.1-or-later
#include "bending.h"
#include "multigrid_tools.h"

#include "kernels/coarsening.h"
#include <patchfem/base/rank_group.h>
#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/rounded_matrix.h>
#include <patchfem/lac/multigrid/precondition_amg.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /** What @p function returns, or the message of the @p Failure it throws. */
    template <typename Failure, typename Function>
    std::string reason_of(const Function &function)
    {
      try
      {
        return function();
      }
      catch (const Failure &failure)
      {
        return failure.what();
      }
    }

    std::vector<Array<double>> copies(const std::vector<Array<double>> &arrays)
    {
      std::vector<Array<double>> result(arrays.size());
      for (std::size_t i = 0; i < arrays.size(); ++i)
        result[i].copy_from(arrays[i].backend(), arrays[i]);
      return result;
    }

    /**
     * For levels of a matrix that is in @p Number: of one in fp32 opposite entries may differ by a rounding unit, and then
     * one pair in 1e5 is rounded to different bytes.
     */
    template <typename Number>
    AMGParameters of_levels(AMGParameters parameters)
    {
      if (std::is_same_v<Number, float>)
        parameters.least_in_bytes = std::numeric_limits<std::int64_t>::max();
      return parameters;
    }

    /** @p limit of a condition, where that decides on the precision. */
    double limit_of(const AMGParameters &parameters, const double limit)
    {
      return parameters.has(AMGRule::precision_by_condition) ? limit : std::numeric_limits<double>::infinity();
    }

    /** multigrid::softness_in_bending() where that may decide on the precision. */
    template <typename Matrix>
    double known_softness(const AMGParameters &parameters, const Matrix &A, const NearNullSpace &near_null)
    {
      return parameters.has(AMGRule::precision_by_condition) && parameters.has(AMGRule::rayleigh_bound)
                 ? multigrid::softness_in_bending(A, near_null)
                 : 0.;
    }

    /** What levels in single precision work with, which are no more. */
    void release_all(SlicedEllpackMatrix<float> &matrix, Vector<float> &src, Vector<float> &dst, Array<double> &norm)
    {
      matrix = SlicedEllpackMatrix<float>();
      src    = Vector<float>();
      dst    = Vector<float>();
      norm.release();
    }

    /** The sum of an @p extent of all levels over that of the finest. */
    template <typename Extent>
    double over_finest(const std::vector<AMGLevelStatistics> &levels, Extent AMGLevelStatistics::*extent)
    {
      double sum = 0.;
      for (const AMGLevelStatistics &level : levels)
        sum += static_cast<double>(level.*extent);
      return levels.empty() ? 0. : sum / static_cast<double>(levels[0].*extent);
    }
  } // namespace

  template <typename Number>
  const SlicedEllpackMatrix<Number> &PreconditionAMG<Number>::in_blocks(const MatrixBase<Number> &matrix,
                                                                        const bool                new_pattern)
  {
    if (const auto *sliced = dynamic_cast<const SlicedEllpackMatrix<Number> *>(&matrix))
      return *sliced;
    const auto *csr  = dynamic_cast<const CSRMatrix<Number> *>(&matrix);
    const auto *mdia = dynamic_cast<const MDIAMatrix<Number> *>(&matrix);
    require(csr != nullptr || mdia != nullptr, "Multigrid is not available for matrices of the format ",
            matrix.format(), ".");
    const Backend &place = matrix.backend();
    if (new_pattern)
    {
      require(matrix.n_rows() == matrix.n_columns() || matrix.partitioner() != nullptr,
              "A multigrid hierarchy needs a square matrix.");
      CSRMatrix<Number> scalar;
      if (mdia != nullptr)
        mdia->copy_to(scalar);
      const int               b       = matrix.block_rows();
      const CompressedPattern pattern = block_pattern(place, (csr != nullptr ? *csr : scalar).view(), b, b);
      blocked.reinit(place, pattern.view(), b, b);
      blocked.set_partitioner(matrix.partitioner());
    }
    if constexpr (std::is_same<Number, double>::value)
      if (blocked.n_rows() == 0 && matrix.partitioner() == nullptr)
        blocked.copy_from(single_matrix); // for its pattern
    require(blocked.n_rows() == matrix.n_rows(),
            "A multigrid preconditioner is updated with a matrix of the size and the format that it was made of.");
    dispatch(place, [&](auto where) {
      if (csr != nullptr)
        kernels::fill_values(where, csr->view(), blocked.view());
      else
        kernels::fill_values(where, mdia->view(), blocked.view());
    });
    return blocked;
  }

  template <typename Number>
  void PreconditionAMG<Number>::initialize(const MatrixBase<Number> &matrix,
                                           const NearNullSpace      &near_null,
                                           AMGAggregation           &aggregation,
                                           const AdditionalData     &additional_data,
                                           const NullSpace<Number>  &null_space)
  {
    if (led(matrix.backend(), [&] { initialize(matrix, near_null, aggregation, additional_data, null_space); }))
      return;
    as_one(matrix.partitioner(), [&] { initialize_here(matrix, near_null, aggregation, additional_data, null_space); });
  }

  template <typename Number>
  void PreconditionAMG<Number>::initialize_here(const MatrixBase<Number> &matrix,
                                                const NearNullSpace      &near_null,
                                                AMGAggregation           &aggregation,
                                                const AdditionalData     &additional_data,
                                                const NullSpace<Number>  &null_space)
  {
    rank_levels.reset();
    single_rank_levels.reset();
    std::vector<Array<double>> null_vectors;
    for (const Vector<Number> &v : null_space.vectors())
    {
      Vector<double> copy(matrix.backend());
      copy.copy_from(v);
      null_vectors.push_back(std::move(copy.array()));
    }
    blocked                                   = SlicedEllpackMatrix<Number>();
    const SlicedEllpackMatrix<Number> &finest = in_blocks(matrix, true);
    if (matrix.partitioner() != nullptr)
      return initialize_on_ranks(finest, near_null, aggregation, additional_data, std::move(null_vectors));
    single       = Single::none;
    single_limit = limit_of(additional_data, additional_data.single_limit);
    finest_limit = limit_of(additional_data, additional_data.finest_limit);
    reason.clear();
    levels          = AMGHierarchy<Number>();
    single_levels   = AMGHierarchy<float>();
    single_matrix   = SlicedEllpackMatrix<float>();
    bool   too_soft = false; // levels are there in single precision, which is too short for them
    double known    = 0.;    // a bound of condition() from below
    levels.monitor(end_of_phase);
    single_levels.monitor(end_of_phase);
    single_levels.give_up_above(single_limit);
    if constexpr (std::is_same<Number, double>::value)
      if (additional_data.single_precision)
      {
        reason = reason_of<Error>([&]() {
          require_single_range(matrix);
          return std::string();
        });
        if (reason.empty())
        {
          single_matrix.copy_from(finest);
          borrows_pattern = &finest != &blocked;
          single          = Single::all;
          single_src.reinit(matrix.backend(), matrix.n_rows(), true);
          single_dst.reinit(matrix.backend(), matrix.n_rows(), true);
          norm.reinit(matrix.backend(), kernels::reduction::max_parts + 1);
          known  = known_softness(additional_data, finest, near_null);
          reason = softness(known);
          if (reason.empty())
          {
            blocked = SlicedEllpackMatrix<Number>(); // not beside the levels: its pattern is that of single_matrix
            reason  = reason_of<NotPositiveDefinite>([&]() {
              single_levels.initialize(single_matrix, near_null, aggregation, additional_data, copies(null_vectors));
              const std::string failure = softness(single_levels.condition());
              too_soft                  = !failure.empty();
              known                     = std::max(known, single_levels.condition());
              return failure;
            });
          }
        }
        if (reason.empty())
          return;
      }
    const SlicedEllpackMatrix<Number> &unrounded =
        &finest == &blocked && blocked.n_rows() == 0 ? in_blocks(matrix, false) : finest;
    if constexpr (std::is_same<Number, double>::value)
    {
      AMGHierarchy<float> soft; // which is no more, whatever is thrown
      std::swap(soft, single_levels);
      const bool rounds = single != Single::none && known <= finest_limit;
      levels.smooth_finest_with(rounds ? &single_matrix : nullptr);
      if (too_soft)
        levels.initialize_from(unrounded, std::move(soft), rounds);
    }
    if (!too_soft)
      levels.initialize(unrounded, near_null, aggregation, of_levels<Number>(additional_data), std::move(null_vectors));
    settle_finest(levels, unrounded);
  }

  template <typename Number>
  void PreconditionAMG<Number>::initialize_on_ranks(const SlicedEllpackMatrix<Number> &A,
                                                    const NearNullSpace               &near_null,
                                                    AMGAggregation                    &aggregation,
                                                    const AdditionalData              &additional_data,
                                                    std::vector<Array<double>>         null_vectors)
  {
    reason.clear();
    single                                   = Single::none;
    single_limit                             = limit_of(additional_data, additional_data.single_limit);
    finest_limit                             = limit_of(additional_data, additional_data.finest_limit);
    bool                            too_soft = false; // as in initialize_here()
    double                          known    = 0.;
    std::unique_ptr<AMGAggregation> again;
    if constexpr (std::is_same<Number, double>::value)
      if (additional_data.single_precision)
      {
        // Errors are those of all ranks, and so is the way out of them.
        reason              = reason_of<Error>([&]() {
          A.partitioner()->communicator().together([&] { require_single_range(A); });
          return std::string();
        });
        const bool in_range = reason.empty();
        if (in_range)
        {
          as_one(A.partitioner(), [&] {
            single_matrix.copy_from(A);
            borrows_pattern = &A != &blocked;
            single_matrix.initialize_vector(single_src);
            single_matrix.initialize_vector(single_dst);
            norm.reinit(A.backend(), kernels::reduction::max_parts + 1);
          });
          single = Single::all;
          known  = known_softness(additional_data, A, near_null);
          reason = softness(known);
        }
        if (in_range && reason.empty())
        {
          single_rank_levels = std::make_unique<RankHierarchy<float>>();
          single_rank_levels->monitor(end_of_phase);
          single_rank_levels->give_up_above(single_limit);
          reason = reason_of<NotPositiveDefinite>([&]() {
            as_one(A.partitioner(), [&] {
              single_rank_levels->initialize(single_matrix, near_null, aggregation, additional_data,
                                             copies(null_vectors));
            });
            const std::string failure = softness(condition());
            too_soft                  = !failure.empty();
            return failure;
          });
          if (reason.empty())
            return;
          again = aggregation.restart();
        }
        A.partitioner()->communicator().look(); // what was told is behind
        const auto soft = std::move(single_rank_levels);
        if (too_soft)
          return make_rank_levels(A, false,
                                  [&](RankHierarchy<Number> &made) { made.initialize_from(A, std::move(*soft)); });
      }
    // Where stiff parts are why, borders of ranks cost steps, and a finest level in fp32 more: stiff balls 20 for at most 18.
    const bool rounds = single == Single::all && known > single_limit && known <= finest_limit;
    make_rank_levels(A, rounds, [&](RankHierarchy<Number> &made) {
      made.initialize(A, near_null, again ? *again : aggregation, of_levels<Number>(additional_data),
                      std::move(null_vectors));
    });
  }

  /** By @p make, with the finest level in fp32 if @p rounds and where that will do; there are none if it throws. */
  template <typename Number>
  template <typename Make>
  void
  PreconditionAMG<Number>::make_rank_levels(const SlicedEllpackMatrix<Number> &A, const bool rounds, const Make &make)
  {
    auto made = std::make_unique<RankHierarchy<Number>>();
    made->monitor(end_of_phase);
    made->smooth_finest_with(rounds ? &single_matrix : nullptr);
    make(*made);
    settle_finest(*made, A);
    rank_levels = std::move(made);
  }

  /** Why fp32 is too short for levels whose @p condition, or a bound from below, is this; empty if it may not be. */
  template <typename Number>
  std::string PreconditionAMG<Number>::softness(const double condition) const
  {
    if (condition <= single_limit)
      return "";
    std::ostringstream out;
    out.precision(2);
    out << "The softest mode of the matrix has 1/" << condition << " of the energy of its diagonal.";
    return out.str();
  }

  /**
   * After levels @p made of @p A in double, the finest one is smoothed in single precision where that will do, which
   * `single` says from now on; else what that needs is given back.
   */
  template <typename Number>
  template <typename Hierarchy>
  void PreconditionAMG<Number>::settle_finest(Hierarchy &made, const SlicedEllpackMatrix<Number> &A)
  {
    if (made.smooths_finest_in_single() && (made.condition() > finest_limit || made.n_levels() == 1))
    {
      made.smooth_finest_with(nullptr);
      made.update(A);
    }
    if (single != Single::none)
      single = made.smooths_finest_in_single() ? Single::finest : Single::none;
    if (single != Single::none)
      return;
    made.smooth_finest_with(nullptr);
    release_all(single_matrix, single_src, single_dst, norm);
  }

  template <typename Number>
  void PreconditionAMG<Number>::initialize(const MatrixBase<Number> &matrix,
                                           const NearNullSpace      &near_null,
                                           const AdditionalData     &additional_data,
                                           const NullSpace<Number>  &null_space)
  {
    MISAggregation aggregation;
    initialize(matrix, near_null, aggregation, additional_data, null_space);
  }

  template <typename Number>
  void PreconditionAMG<Number>::update(const MatrixBase<Number> &matrix)
  {
    if (!led(matrix.backend(), [&] { update(matrix); }))
      as_one(matrix.partitioner(), [&] { update_here(matrix); });
  }

  template <typename Number>
  void PreconditionAMG<Number>::update_here(const MatrixBase<Number> &matrix)
  {
    require(n_levels() > 0, "A multigrid preconditioner was updated before it was initialized.");
    const SlicedEllpackMatrix<Number> &finest = in_blocks(matrix, false);
    if (rank_levels || single_rank_levels)
    {
      if constexpr (std::is_same<Number, double>::value)
        if (single != Single::none)
          single_matrix.copy_values_from(finest);
      if (rank_levels)
      {
        rank_levels->update(finest);
        return settle_finest(*rank_levels, finest);
      }
      if constexpr (std::is_same<Number, double>::value)
      {
        reason = reason_of<NotPositiveDefinite>([&]() { // of all ranks
          as_one(finest.partitioner(), [&] { single_rank_levels->update(single_matrix); });
          return softness(condition());
        });
        if (reason.empty())
          return;
        finest.partitioner()->communicator().look(); // what was told is behind
        const auto soft = std::move(single_rank_levels);
        make_rank_levels(finest, false,
                         [&](RankHierarchy<Number> &made) { made.initialize_from(finest, std::move(*soft)); });
      }
      return;
    }
    if constexpr (std::is_same<Number, double>::value)
    {
      if (single != Single::none)
        single_matrix.copy_values_from(finest);
      if (single == Single::all)
      {
        bool too_soft = false; // as in initialize_here()
        reason        = reason_of<NotPositiveDefinite>([&]() {
          single_levels.update(single_matrix);
          const std::string failure = softness(single_levels.condition());
          too_soft                  = !failure.empty();
          return failure;
        });
        if (reason.empty())
        {
          blocked = SlicedEllpackMatrix<Number>();
          return;
        }
        AMGHierarchy<float> soft;
        std::swap(soft, single_levels);
        const bool rounds = !(too_soft && soft.condition() > finest_limit);
        levels.smooth_finest_with(rounds ? &single_matrix : nullptr);
        levels.initialize_from(finest, std::move(soft), too_soft && rounds);
        settle_finest(levels, finest);
        return;
      }
    }
    levels.update(finest);
    settle_finest(levels, finest);
  }

  template <typename Number>
  void PreconditionAMG<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    if (led(src.backend(), [&] { vmult(dst, src); }))
      return;
    require(n_levels() > 0, "A multigrid preconditioner was applied before it was initialized.");
    if (single == Single::none)
    {
      rank_levels ? rank_levels->cycle(dst, src) : levels.cycle(dst, src);
      return;
    }
    const Backend     &place  = src.backend();
    const std::int64_t n      = src.size();
    double *const      square = norm.data() + kernels::reduction::max_parts;
    dispatch(place, [&](auto where) { kernels::dot(where, n, src.data(), src.data(), norm.data(), square); });
    if (src.partitioner() != nullptr)
      src.partitioner()->sum(place, square, 1);
    choose(place, [&](auto where) { multigrid::convert_scaled(where, src, square, false, single_src); });
    if (single_rank_levels)
      single_rank_levels->cycle(single_dst, single_src);
    else if (rank_levels)
      rank_levels->cycle_in_single(single_dst, single_src);
    else if (single == Single::all)
      single_levels.cycle(single_dst, single_src);
    else
      levels.cycle_in_single(single_dst, single_src);
    choose(place, [&](auto where) { multigrid::convert_scaled(where, single_dst, square, true, dst); });
  }

  template <typename Number>
  std::size_t PreconditionAMG<Number>::memory_consumption() const
  {
    const std::size_t copy = single != Single::none && borrows_pattern ? single_matrix.values_memory_consumption()
                                                                       : single_matrix.memory_consumption();
    return blocked.memory_consumption() + copy + (rank_levels ? rank_levels->memory_consumption() : 0) +
           (single_rank_levels ? single_rank_levels->memory_consumption() : 0) +
           memory_consumption_of(levels, single_levels, single_src, single_dst, norm);
  }

  template <typename Number>
  double PreconditionAMG<Number>::peak_bytes(const Backend           &backend,
                                             const PatternStatistics &pattern,
                                             const MatrixFormat      &format,
                                             const int                n_given_modes,
                                             const int                distance,
                                             const AdditionalData    &data,
                                             const bool               fallback)
  {
    const bool         factorized = data.smoother == AMGSmoother::factorized_inverse;
    const int          n_modes = factorized && n_given_modes > 1 ? 2 * n_given_modes - 1 : n_given_modes; // isochoric
    const MatrixFormat slices;
    const bool         mixed = std::is_same_v<Number, double> && data.single_precision, few = distance > 1;
    const int          inner = mixed ? sizeof(float) : sizeof(Number), size = fallback ? sizeof(Number) : inner;
    const double       n_nodes = pattern.n_rows, n_dofs = double(pattern.scalar_rows());
    // First there is the graph of the nodes, with positions and short edges. Rows of the prolongator have six or seven
    // blocks, and it is stored with its transpose; those of its product with the matrix up to twenty, whose values are
    // there in stretches, and before them rows of the patterns whose lengths are not known. Coarser levels add a few per
    // cent, or with small aggregates as much as the finest.
    const double block = pattern.block_rows * n_modes * size + 4., modes = 16. * n_modes * n_dofs;
    const auto   stretch = double(SmoothedAggregation<Number>::stretch_bytes(pattern.n_entries() * size));
    const double product = std::min(20. * n_nodes * block, stretch);
    const double rounded = fallback ? pattern.block_rows * n_modes * double(inner) : 0.; // of a block of transfers
    const double kept    = n_nodes * (14. * (block + rounded) + 148.) + n_dofs * (4. * size + 4. * fallback * inner);
    const double graph   = 20. * double(pattern.n_blocks) + 64. * n_nodes;
    double       levels  = modes + std::max(graph, kept + std::max(product, 128. * n_nodes));
    // Patches of large blocks have few nodes, so that much of their slices is padding.
    const FormatCase inner_slices{slices, pattern, inner};
    if (mixed && data.smoother == AMGSmoother::chebyshev && pattern.n_entries() >= data.least_in_bytes)
      levels += inner_slices.storage_bytes() / 4. + 8. * n_dofs; // bytes, their scale and what Lanczos multiplies
    // Factors of all levels, of which the second may have three quarters of the entries, and a stretch of their rows.
    // They have 20 blocks a row at most, and of higher degrees the second level is that of degree 1, which is small.
    const bool higher = pattern.n_blocks > 1.2 * std::pow(3., pattern.block_rows) * pattern.n_rows; // a block: an axis
    if (factorized)
      levels += (fallback ? 2. : 1.) * (higher ? 1. : 2.6) * inner_slices.storage_bytes() + double(1 << 25);
    if (data.smoother == AMGSmoother::patch)
      levels += (pattern.block_rows > 1 ? 1.6 : 1.1) * inner_slices.storage_bytes() + 32. * n_nodes;
    if (!few || fallback)
      levels += FormatCase{slices, pattern, size}.storage_bytes();
    // Where aggregates are few, which have 7 to 40 nodes, the device sums their rows in parts, [part][coarse block], in
    // double; the next level has up to 27 blocks a row, and more than twice as many where aggregates are small.
    dispatch(backend, [&](auto where) {
      const int n = kernels::n_coarse_parts(where, static_cast<int>(n_nodes / 40. + 1.));
      if (n > 1)
        levels += std::min(n * (n_nodes / (few ? 27. : 7.) + 1.), 8192.) * (few ? 27. : 61.) * n_modes * n_modes * 8.;
    });
    // Compressed rows are copied to slices, which give way to those in single precision; of slices there are new
    // values.
    const double blocked = format.is_sliced() ? 0. : FormatCase{slices, pattern, sizeof(Number)}.storage_bytes();
    const double single  = mixed * (format.is_sliced() ? inner_slices.value_bytes() : inner_slices.storage_bytes());
    return single + (mixed && !fallback ? std::max(blocked, levels) : blocked + levels);
  }

  template <typename Number>
  void PreconditionAMG<Number>::monitor(const std::function<void(unsigned int, const std::string &)> &function)
  {
    end_of_phase = function;
    levels.monitor(function);
    single_levels.monitor(function);
    if (rank_levels)
      rank_levels->monitor(function);
    if (single_rank_levels)
      single_rank_levels->monitor(function);
  }

  template <typename Number>
  double PreconditionAMG<Number>::operator_complexity() const
  {
    return over_finest(statistics(), &AMGLevelStatistics::n_nonzeros);
  }

  template <typename Number>
  double PreconditionAMG<Number>::grid_complexity() const
  {
    return over_finest(statistics(), &AMGLevelStatistics::n_rows);
  }

  template class PreconditionAMG<float>;
  template class PreconditionAMG<double>;
} // namespace PatchFEM
