// SPDX-License-Identifier: LGPL-2.1-or-later
#include "factorized_inverse_tools.h"
#include "multigrid_tools.h"

#include <patchfem/lac/multigrid/patch_smoother.h>

namespace PatchFEM
{
  template <typename Number>
  SteppedSmoother<Number>::SteppedSmoother(const int n_steps, const double eigenvalue_ratio)
      : n_steps(n_steps), eigenvalue_ratio(eigenvalue_ratio)
  {
    require(n_steps >= 1, "A smoother needs at least one sweep, not ", n_steps, ".");
    require(eigenvalue_ratio > 1., "The interval of a Chebyshev smoother is empty: its ratio must be above 1.");
  }

  template <typename Number>
  void SteppedSmoother<Number>::pre_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const
  {
    step(0, true, b, x);
    for (int k = 1; k < n_steps; ++k)
    {
      next_residual(r, k == 1 ? b : r, x, b);
      step(k, false, r, x);
    }
    matrix->residual(r, x, b);
  }

  template <typename Number>
  void SteppedSmoother<Number>::post_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const
  {
    for (int k = 0; k < n_steps; ++k)
    {
      k == 0 ? matrix->residual(r, x, b) : next_residual(r, r, x, b);
      step(k, false, r, x);
    }
  }

  template <typename Number>
  void SteppedSmoother<Number>::describe(AMGLevelStatistics &level) const
  {
    level.smoother = name();
    level.sweeps   = n_steps;
    level.range    = is_polynomial() ? eigenvalue_ratio : 0.;
  }

  namespace
  {
    /** The @p matrix in its @p bytes, for as long as there is room for a product's source. */
    struct ProductsInBytes : Operator<float>
    {
      const SlicedEllpackMatrix<float> &matrix;
      const ByteMatrix                 &bytes;
      mutable Vector<float>             room;

      ProductsInBytes(const SlicedEllpackMatrix<float> &matrix, const ByteMatrix &bytes) : matrix(matrix), bytes(bytes)
      {}

      const Backend                            &backend() const override { return matrix.backend(); }
      int                                       n_rows() const override { return matrix.n_rows(); }
      int                                       n_columns() const override { return matrix.n_columns(); }
      const std::shared_ptr<const Partitioner> &partitioner() const override { return matrix.partitioner(); }
      void initialize_vector(Vector<float> &vector, const bool omit_zeroing_entries) const override
      {
        matrix.initialize_vector(vector, omit_zeroing_entries);
      }
      void vmult(Vector<float> &dst, const Vector<float> &src) const override { bytes.vmult(dst, src, room); }
    };

    /// A factorised inverse smooths levels more than this share of whose nodes are soft, see count_soft_nodes().
    constexpr double least_soft_share = 1. / 4000;
  } // namespace

  template <typename Number>
  void LevelSmoothing<Number>::prepare(const SlicedEllpackMatrix<Number> &A,
                                       const AMGParameters               &parameters,
                                       const AggregateLists              &aggregates,
                                       const bool                         below_finest,
                                       const bool                         stretched,
                                       const int                          degree,
                                       const bool                         new_values)
  {
    const bool two_starts =
        aggregates.by_couplings() && aggregates.has_short_edges() && parameters.has(AMGRule::second_lanczos);
    const auto find = [&] {
      diagonal.initialize(A);
      if (smoother == nullptr && aggregates.by_couplings() && parameters.smoother == AMGSmoother::chebyshev &&
          parameters.has(AMGRule::factorised_inverse))
      {
        std::int64_t counts[2] = {0, 0};
        if (A.n_rows() > 0)
          counts[0] = dispatch(A.backend(), [&](auto where) {
            return multigrid::count_soft_nodes(where, A, *diagonal.block_diagonal(), counts[1]);
          });
        if (A.partitioner() != nullptr)
          A.partitioner()->communicator().sum(counts, 2);
        soft_nodes = static_cast<double>(counts[0]) > least_soft_share * static_cast<double>(counts[1]);
      }
      if constexpr (std::is_same_v<Number, float>)
        if (!soft_nodes && smooths_in_bytes<Number>(parameters, below_finest, stretched, degree))
        {
          if (bytes == nullptr)
            bytes = std::make_shared<ByteMatrix>();
          ProductsInBytes products{A, *bytes};
          defer_errors(A.partitioner(), [&] {
            bytes->reinit(A);
            A.initialize_vector(products.room, true);
          });
          bytes->compute();
          return lambda.compute(products, diagonal, parameters.eigenvalue_steps, two_starts);
        }
      lambda.compute(A, diagonal, parameters.eigenvalue_steps, two_starts);
    };
    if (new_values)
      find();
    if (smoother == nullptr && soft_nodes)
      smoother = std::make_unique<FactorizedInverseSmoother<Number>>(
          parameters.sweeps_on(below_finest, stretched, degree), parameters.range_on(stretched, degree),
          parameters.eigenvalue_steps, FactorizedInverseRows::couplings, two_starts);
    if (smoother == nullptr)
      smoother = make_smoother<Number>(parameters, aggregates, below_finest, stretched, degree, bytes);
  }

  template <typename Number>
  PolynomialSmoother<Number>::PolynomialSmoother(const AMGSmoother                 kind,
                                                 const int                         degree,
                                                 const double                      eigenvalue_ratio,
                                                 std::shared_ptr<const ByteMatrix> bytes)
      : SteppedSmoother<Number>(degree, eigenvalue_ratio), kind(kind), bytes(std::move(bytes))
  {
    require(kind == AMGSmoother::chebyshev || kind == AMGSmoother::block_jacobi || kind == AMGSmoother::l1_jacobi,
            "An unknown smoother was asked for.");
  }

  template <typename Number>
  void PolynomialSmoother<Number>::initialize(const SlicedEllpackMatrix<Number>     &A,
                                              const PreconditionBlockJacobi<Number> &D_inverse,
                                              const LargestEigenvalue<Number>       &lambda)
  {
    matrix  = &A;
    inverse = *D_inverse.block_diagonal();
    defer_errors(A.partitioner(), [&] { find_coefficients(lambda); });
  }

  template <typename Number>
  void PolynomialSmoother<Number>::find_coefficients(const LargestEigenvalue<Number> &lambda)
  {
    const SlicedEllpackMatrix<Number> &A     = *matrix;
    const Backend                     &place = A.backend();
    coefficients.reinit(place, 2 * std::size_t(n_steps)); // without d a step does not use c_0
    if (kind == AMGSmoother::chebyshev)
    {
      dispatch(place, [&](auto where) {
        multigrid::chebyshev_steps(where, lambda.scalars(), eigenvalue_ratio, n_steps, coefficients);
      });
      A.initialize_vector(d, true);
    }
    else if (kind == AMGSmoother::block_jacobi)
      dispatch(place, [&](auto where) {
        multigrid::over_largest(where, lambda.scalars(), 4. / 3., coefficients, 2 * n_steps);
      });
    else
    {
      coefficients.copy_from(place, std::vector<double>(2 * std::size_t(n_steps), 1.));
      const int     b = A.block_rows(), n_blocks = A.n_rows() / b;
      Array<Number> blocks;
      Array<int>    failure(place, 1);
      A.extract_block_diagonal(b, blocks);
      dispatch(place, [&](auto where) { multigrid::add_row_sums(where, A, blocks); });
      l1_inverse.reinit(place, std::size_t(n_blocks) * (b * (b + 1) / 2));
      launch(place, [&](auto where) {
        kernels::invert_block_diagonal(where, n_blocks, b, blocks.data(), 1., l1_inverse.data(), failure.data());
      });
      const int row = failure.read(0);
      if (row != kernels::no_failure)
        throw NotPositiveDefinite("The l1 diagonal of the matrix is not positive definite in row ", row, ".");
      inverse = {n_blocks, b, n_blocks, l1_inverse.data()};
    }
  }

  template <typename Number>
  std::string PolynomialSmoother<Number>::name() const
  {
    return kind == AMGSmoother::block_jacobi ? "block_jacobi"
           : kind == AMGSmoother::l1_jacobi  ? "l1_jacobi"
           : bytes != nullptr                ? "chebyshev, quantised matrix"
                                             : "chebyshev";
  }

  template <typename Number>
  void
  PolynomialSmoother<Number>::step(const int k, const bool first_x, const Vector<Number> &r, Vector<Number> &x) const
  {
    Number *const directions = kind == AMGSmoother::chebyshev ? d.data() : nullptr;
    const Number *scale      = nullptr;
    if constexpr (std::is_same_v<Number, float>)
      scale = bytes ? bytes->scale().data() : nullptr;
    launch(matrix->backend(), [&](auto where) {
      kernels::smoother_step(where, inverse, coefficients.data() + 2 * k, r.data(), directions, x.data(), k == 0,
                             first_x, scale);
    });
  }

  template <typename Number>
  void PolynomialSmoother<Number>::next_residual(Vector<Number>       &r,
                                                 const Vector<Number> &before,
                                                 const Vector<Number> &x,
                                                 const Vector<Number> &b) const
  {
    if constexpr (std::is_same_v<Number, float>)
      if (bytes)
        return bytes->subtract_product(r, before, d);
    SteppedSmoother<Number>::next_residual(r, before, x, b);
  }

  template struct LevelSmoothing<float>;
  template struct LevelSmoothing<double>;
  template class SteppedSmoother<float>;
  template class SteppedSmoother<double>;
  template class PolynomialSmoother<float>;
  template class PolynomialSmoother<double>;
} // namespace PatchFEM
