// SPDX-License-Identifier: LGPL-2.1-or-later
#include "patch_matrix_steps.h"

#include "multigrid_tools.h"
#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/multigrid/factorized_inverse.h>

namespace PatchFEM
{
  PatchStorage patch_storage(const std::string &name)
  {
    if (name == "automatic")
      return PatchStorage::automatic;
    if (name == "both")
      return PatchStorage::both;
    if (name == "half")
      return PatchStorage::half;
    require(name == "half_atomic", "There is no storage of patches called ", name, ".");
    return PatchStorage::half_atomic;
  }

  template <typename Number>
  void PatchMatrix<Number>::reinit(const SlicedEllpackMatrix<Number> &A,
                                   const AggregateLists              &aggregates,
                                   const PatchStorage                 patch_storage)
  {
    const int b              = A.block_rows();
    arrays.view.storage      = kernels::chosen_storage(patch_storage, b);
    arrays.view.block_size   = b;
    arrays.view.slice_height = kernels::patch_slice_height(b);
    require(aggregates.has_patches(), "The smoother works on patches, but the aggregation makes none.");
    require(static_cast<int>(aggregates.patch_nodes().size()) == A.n_rows() / b && A.block_columns() == b &&
                aggregates.patch_nodes().backend() == A.backend(),
            "The patches of a smoother do not fit its matrix.");
    dispatch(A.backend(), [&](auto where) { internal::build_patches(where, A, aggregates, arrays); });
  }

  template <typename Number>
  void PatchMatrix<Number>::compute(const SlicedEllpackMatrix<Number>     &A,
                                    const PreconditionBlockJacobi<Number> &D_inverse,
                                    const int                              n_sweeps,
                                    const double                          *weights)
  {
    arrays.view.n_sweeps = n_sweeps;
    arrays.view.weights  = weights;
    dispatch(A.backend(), [&](auto where) { internal::fill_values(where, A, *D_inverse.block_diagonal(), arrays); });
  }

  template <typename Number>
  void PatchMatrix<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    launch(arrays.nodes.backend(), [&](auto where) {
      kernels::patch_relaxation<Number>(where, view(), nullptr, src.data(), nullptr, dst.data(), nullptr);
    });
  }

  template <typename Number>
  PatchSmoother<Number>::PatchSmoother(const AggregateLists &aggregates,
                                       const int             n_steps,
                                       const double          eigenvalue_ratio,
                                       const int             n_sweeps,
                                       const int             eigenvalue_steps,
                                       const PatchStorage    storage)
      : aggregates(&aggregates), n_steps(n_steps), eigenvalue_ratio(eigenvalue_ratio), n_sweeps(n_sweeps),
        eigenvalue_steps(eigenvalue_steps), storage(storage)
  {
    require(n_steps >= 1, "A smoother needs at least one sweep, not ", n_steps, ".");
    require(eigenvalue_ratio > 1., "The interval of a patch smoother is empty: its ratio must be above 1.");
    require(n_sweeps >= 1, "A smoother needs at least one inner sweep, not ", n_sweeps, ".");
  }

  template <typename Number>
  void PatchSmoother<Number>::initialize(const SlicedEllpackMatrix<Number>     &A,
                                         const PreconditionBlockJacobi<Number> &D_inverse,
                                         const LargestEigenvalue<Number>       &lambda_of_diagonal)
  {
    const Backend &place = A.backend();
    defer_errors(A.partitioner(), [&] {
      if (weights.empty())
      {
        patches.reinit(A, *aggregates, storage);
        weights.reinit(place, std::size_t(n_sweeps) + n_steps);
      }
      dispatch(place, [&](auto where) {
        multigrid::over_largest(where, lambda_of_diagonal.scalars(), 4. / 3., weights, n_sweeps);
      });
      patches.compute(A, D_inverse, n_sweeps, weights.data());
    });
    lambda.compute(A, patches, eigenvalue_steps);
    dispatch(place, [&](auto where) {
      multigrid::chebyshev_weights(where, lambda.scalars(), eigenvalue_ratio, n_steps, n_sweeps, weights);
    });
  }

  /** r = b - A_B x */
  template <typename Number>
  void PatchSmoother<Number>::outer_residual(const Vector<Number> &x, const Vector<Number> &b, Vector<Number> &r) const
  {
    x.update_ghosts();
    launch(weights.backend(),
           [&](auto where) { kernels::patch_outer_residual(where, patches.view(), x.data(), b.data(), r.data()); });
  }

  /** Step @p step, see kernels::patch_relaxation(). */
  template <typename Number>
  void PatchSmoother<Number>::relax(
      const int step, const Vector<Number> &b, const Number *r, Vector<Number> &x, Number *r_out) const
  {
    launch(weights.backend(), [&](auto where) {
      kernels::patch_relaxation(where, patches.view(), weights.data() + n_sweeps + step, b.data(), r, x.data(), r_out);
    });
  }

  template <typename Number>
  void PatchSmoother<Number>::pre_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const
  {
    for (int step = 0; step < n_steps; ++step)
    {
      if (step > 0)
        outer_residual(x, b, r);
      relax(step, b, step > 0 ? r.data() : nullptr, x, step == n_steps - 1 ? r.data() : nullptr);
    }
    outer_residual(x, r, r);
  }

  template <typename Number>
  void PatchSmoother<Number>::post_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const
  {
    for (int step = n_steps - 1; step >= 0; --step)
    {
      outer_residual(x, b, r);
      relax(step, b, r.data(), x, nullptr);
    }
  }

  template <typename Number>
  bool
  smooths_in_bytes(const AMGParameters &parameters, const bool below_finest, const bool stretched, const int degree)
  {
    return std::is_same_v<Number, float> && parameters.in_bytes && !below_finest &&
           parameters.has(AMGRule::quantised_matrix) && parameters.smoother == AMGSmoother::chebyshev &&
           parameters.sweeps_on(below_finest, stretched, degree) > 1;
  }

  template <typename Number>
  std::unique_ptr<LevelSmoother<Number>> make_smoother(const AMGParameters              &parameters,
                                                       const AggregateLists             &aggregates,
                                                       const bool                        below_finest,
                                                       const bool                        stretched,
                                                       const int                         degree,
                                                       std::shared_ptr<const ByteMatrix> bytes)
  {
    const int    sweeps = parameters.sweeps_on(below_finest, stretched, degree);
    const double range  = parameters.range_on(stretched, degree);
    if (parameters.smoother == AMGSmoother::patch)
      return std::make_unique<PatchSmoother<Number>>(aggregates, sweeps, range, parameters.inner_sweeps,
                                                     parameters.eigenvalue_steps, parameters.patch_storage);
    if (parameters.smoother == AMGSmoother::factorized_inverse)
      return std::make_unique<FactorizedInverseSmoother<Number>>(sweeps, range, parameters.eigenvalue_steps);
    return std::make_unique<PolynomialSmoother<Number>>(parameters.smoother, sweeps, range, std::move(bytes));
  }

  template std::unique_ptr<LevelSmoother<float>>
  make_smoother(const AMGParameters &, const AggregateLists &, bool, bool, int, std::shared_ptr<const ByteMatrix>);
  template std::unique_ptr<LevelSmoother<double>>
  make_smoother(const AMGParameters &, const AggregateLists &, bool, bool, int, std::shared_ptr<const ByteMatrix>);
  template bool smooths_in_bytes<float>(const AMGParameters &, bool, bool, int);
  template bool smooths_in_bytes<double>(const AMGParameters &, bool, bool, int);
  template class PatchMatrix<float>;
  template class PatchMatrix<double>;
  template class PatchSmoother<float>;
  template class PatchSmoother<double>;
} // namespace PatchFEM
