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
    if (new_pattern)
    {
      require(matrix.n_rows() == matrix.n_columns() || matrix.partitioner() != nullptr,
              "A multigrid hierarchy needs a square matrix.");
      CSRMatrix<Number> scalar;
      if (mdia != nullptr)
        mdia->copy_to(scalar);
      blocked.reinit(csr != nullptr ? *csr : scalar, matrix.block_rows(), matrix.block_rows());
      blocked.set_partitioner(matrix.partitioner());
      return blocked;
    }
    if constexpr (std::is_same<Number, double>::value)
      if (rounded != nullptr && blocked.n_rows() == 0 && matrix.partitioner() == nullptr)
        blocked.copy_from(rounded->matrix); // for its pattern
    require(blocked.n_rows() == matrix.n_rows(),
            "A multigrid preconditioner is updated with a matrix of the size and the format that it was made of.");
    launch(matrix.backend(), [&](auto where) {
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
    fit = true;
    on_owner(matrix.backend(), [&] {
      agree_on_errors(matrix.partitioner(),
                      [&] { initialize_here(matrix, near_null, aggregation, additional_data, null_space); });
    });
  }

  template <typename Number>
  void PreconditionAMG<Number>::initialize_here(const MatrixBase<Number> &matrix,
                                                const NearNullSpace      &near_null,
                                                AMGAggregation           &aggregation,
                                                const AdditionalData     &additional_data,
                                                const NullSpace<Number>  &null_space)
  {
    const auto null_vectors = [&] {
      std::vector<Array<double>> result;
      for (const Vector<Number> &v : null_space.vectors())
      {
        Vector<double> copy(matrix.backend());
        copy.copy_from(v);
        result.push_back(std::move(copy.array()));
      }
      return result;
    };
    blocked       = SlicedEllpackMatrix<Number>();
    levels        = AMGHierarchy<Number>();
    single_levels = AMGHierarchy<float>();
    rounded.reset();
    reason.clear();
    const bool by_condition = additional_data.has(AMGRule::precision_by_condition);
    single_limit            = by_condition ? additional_data.single_limit : std::numeric_limits<double>::infinity();
    finest_limit            = by_condition ? additional_data.finest_limit : std::numeric_limits<double>::infinity();
    monitor(end_of_phase);
    single_levels.give_up_above(single_limit);
    const SlicedEllpackMatrix<Number> &finest = in_blocks(matrix, true);
    const auto                        &ranks  = matrix.partitioner();
    double                             known  = 0.; // a bound of condition() from below
    if constexpr (std::is_same_v<Number, double>)
      if (additional_data.single_precision && fits_single<Error>(ranks, [&] {
            require_single_range(finest);
            return 0.;
          }))
      {
        round(finest);
        if (fits_single<NotPositiveDefinite>(ranks, [&] {
              if (by_condition && additional_data.has(AMGRule::rayleigh_bound))
                known = multigrid::softness_in_bending(finest, near_null);
              if (known > single_limit)
                return known;
              if (ranks == nullptr)
                blocked = SlicedEllpackMatrix<Number>(); // not beside the levels: rounded->matrix has its pattern
              single_levels.initialize(rounded->matrix, near_null, aggregation, additional_data, null_vectors());
              return single_levels.condition();
            }))
          return;
      }
    const SlicedEllpackMatrix<Number> &unrounded =
        &finest == &blocked && blocked.n_rows() == 0 ? in_blocks(matrix, false) : finest;
    // Of a matrix in fp32 opposite entries may differ by a rounding unit: one pair in 1e5 is rounded to different bytes.
    AMGParameters parameters = additional_data;
    if (std::is_same_v<Number, float>)
      parameters.least_in_bytes = std::numeric_limits<std::int64_t>::max();
    make_unrounded(unrounded, known,
                   [&] { levels.initialize(unrounded, near_null, aggregation, parameters, null_vectors()); });
  }

  /**
   * Whether single precision will do: @p condition makes or updates levels and returns a lower bound of their condition(),
   * which must not be above the limit, or throws @p Failure on all @p ranks. `reason` says why not.
   */
  template <typename Number>
  template <typename Failure, typename Condition>
  bool PreconditionAMG<Number>::fits_single(const std::shared_ptr<const Partitioner> &ranks, const Condition &condition)
  {
    reason.clear();
    try
    {
      double found = 0.;
      agree_on_errors(ranks, [&] { found = condition(); });
      if (found <= single_limit)
        return true;
      std::ostringstream out;
      out.precision(2);
      out << "The softest mode of the matrix has 1/" << found << " of the energy of its diagonal.";
      reason = out.str();
    }
    catch (const Failure &failure)
    {
      agree_on_errors(ranks, [] {}); // the error is dealt with
      reason = failure.what();
    }
    return false;
  }

  /** Makes `rounded` of @p A. */
  template <typename Number>
  void PreconditionAMG<Number>::round(const SlicedEllpackMatrix<Number> &A)
  {
    rounded = std::make_unique<Rounded>();
    rounded->matrix.copy_from(A);
    rounded->borrows_pattern = &A != &blocked;
    rounded->matrix.initialize_vector(rounded->src, true);
    rounded->matrix.initialize_vector(rounded->dst, true);
    rounded->norm.reinit(A.backend(), kernels::reduction::max_parts + 1);
  }

  /**
   * Levels of the unrounded matrix @p A, from those in single precision if these are there, else by @p initialize, with
   * the finest one smoothed in single precision where that may do. @p known: a bound of condition() from below.
   */
  template <typename Number>
  template <typename Initialize>
  void PreconditionAMG<Number>::make_unrounded(const SlicedEllpackMatrix<Number> &A,
                                               const double                       known,
                                               const Initialize                  &initialize)
  {
    AMGHierarchy<float> soft; // which is no more, whatever is thrown
    std::swap(soft, single_levels);
    // Where stiff parts are why, borders of ranks cost steps, and a finest level in fp32 more: stiff balls 20 for at most 18.
    const bool may_round = A.partitioner() == nullptr ? std::max(known, soft.condition()) <= finest_limit
                                                      : known > single_limit && known <= finest_limit;
    levels.smooth_finest_with(rounded != nullptr && may_round ? &rounded->matrix : nullptr, finest_limit);
    const bool is_new = soft.n_levels() == 0;
    if constexpr (std::is_same_v<Number, double>)
      if (!is_new)
        levels.initialize_from(A, std::move(soft));
    if (is_new)
      initialize();
    settle_finest();
  }

  /** Releases what the finest level in single precision needs where levels in double do without it. */
  template <typename Number>
  void PreconditionAMG<Number>::settle_finest()
  {
    if (levels.smooths_finest_in_single())
      return;
    levels.smooth_finest_with(nullptr);
    rounded.reset();
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
    on_owner(matrix.backend(), [&] { agree_on_errors(matrix.partitioner(), [&] { update_here(matrix); }); });
    fit = broadcast(matrix.backend(), of_levels([](const auto &made) { return made.aggregates_fit(); }));
  }

  template <typename Number>
  void PreconditionAMG<Number>::update_here(const MatrixBase<Number> &matrix)
  {
    require(n_levels() > 0, "A multigrid preconditioner was updated before it was initialized.");
    const SlicedEllpackMatrix<Number> &finest = in_blocks(matrix, false);
    const auto                        &ranks  = matrix.partitioner();
    if constexpr (std::is_same_v<Number, double>)
    {
      if (rounded != nullptr)
        rounded->matrix.copy_values_from(finest);
      if (single_levels.n_levels() > 0)
      {
        if (!fits_single<NotPositiveDefinite>(ranks, [&] {
              single_levels.update(rounded->matrix);
              return single_levels.condition();
            }))
          make_unrounded(finest, 0., [] {});
        else if (ranks == nullptr)
          blocked = SlicedEllpackMatrix<Number>();
        return;
      }
    }
    levels.update(finest);
    settle_finest();
  }

  template <typename Number>
  void PreconditionAMG<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    on_owner(src.backend(), [&] {
      require(n_levels() > 0, "A multigrid preconditioner was applied before it was initialized.");
      if (rounded == nullptr)
        return levels.cycle(dst, src);
      const Backend     &place  = src.backend();
      const std::int64_t n      = src.size();
      double *const      square = rounded->norm.data() + kernels::reduction::max_parts;
      launch(place, [&](auto where) { kernels::dot(where, n, src.data(), src.data(), rounded->norm.data(), square); });
      if (src.partitioner() != nullptr)
        src.partitioner()->sum(place, square, 1);
      dispatch(place, [&](auto where) { multigrid::convert_scaled(where, src, square, false, rounded->src); });
      of_levels([&](const auto &made) { made.cycle(rounded->dst, rounded->src); });
      dispatch(place, [&](auto where) { multigrid::convert_scaled(where, rounded->dst, square, true, dst); });
    });
  }

  template <typename Number>
  std::size_t PreconditionAMG<Number>::memory_consumption() const
  {
    return memory_consumption_of(blocked, levels, single_levels) + (rounded ? rounded->memory_consumption() : 0);
  }

  template <typename Number>
  double PreconditionAMG<Number>::peak_bytes(const Backend           &backend,
                                             const PatternStatistics &pattern,
                                             const MatrixFormat      &format,
                                             const int                n_modes,
                                             const int                distance,
                                             const AdditionalData    &data,
                                             const bool               fallback)
  {
    const bool         factorized = data.smoother == AMGSmoother::factorized_inverse;
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
    // Factors of all levels, which have 20 blocks a row at most; of higher degrees the second level is that of degree 1.
    const bool higher = pattern.n_blocks > 1.2 * std::pow(3., pattern.block_rows) * pattern.n_rows; // a block: an axis
    if (factorized)
      levels += (fallback ? 2. : 1.) * (higher ? 1. : 2.6) * inner_slices.storage_bytes();
    if (data.smoother == AMGSmoother::patch)
      levels += (pattern.block_rows > 1 ? 1.6 : 1.1) * inner_slices.storage_bytes() + 32. * n_nodes;
    if (!few || fallback)
      levels += FormatCase{slices, pattern, size}.storage_bytes();
    // Where aggregates are few, which have 7 to 40 nodes, the device sums their rows in parts, [part][coarse block], in
    // double; the next level has up to 27 blocks a row, and more than twice as many where aggregates are small.
    launch(backend, [&](auto where) {
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
