// SPDX-License-Identifier: LGPL-2.1-or-later
#include "factorized_inverse_tools.h"

#include "multigrid_tools.h"

namespace PatchFEM
{
  namespace multigrid
  {
    namespace
    {
      /// Neighbours in a row of the factor, at most: more than the half of those that a node of hexahedra has.
      constexpr int most_neighbours = 20;
    } // namespace
  }   // namespace multigrid

  template <typename Number>
  void FactorizedInverse<Number>::initialize(const SlicedEllpackMatrix<Number>     &A,
                                             const FactorizedInverseRows            which,
                                             const PreconditionBlockJacobi<Number> *D_inverse)
  {
    const Backend          &place   = A.backend();
    const int               n_c     = A.block_rows();
    const CompressedPattern pattern = dispatch(place, [&](auto where) {
      return which == FactorizedInverseRows::neighbours
                 ? multigrid::preceding_neighbours(where, A, multigrid::most_neighbours)
                 : multigrid::preceding_couplings(where, A, *D_inverse->block_diagonal());
    });
    const CompressedPattern transposed =
        dispatch(place, [&](auto where) { return multigrid::transpose(where, pattern); });
    lower.reinit(place, pattern.view(), n_c, n_c);
    upper.reinit(place, transposed.view(), n_c, n_c);
    w.reinit(place, A.n_rows(), true);
    width = pattern.width;
    rows  = which;
    dispatch(place, [&](auto where) { multigrid::factorize_inverse(where, A, width, lower, upper); });
  }

  template <typename Number>
  void FactorizedInverse<Number>::update(const SlicedEllpackMatrix<Number>     &A,
                                         const PreconditionBlockJacobi<Number> *D_inverse)
  {
    // Which they are depends on the values.
    if (rows != FactorizedInverseRows::neighbours || width > multigrid::most_neighbours)
      initialize(A, rows, D_inverse);
    else
      dispatch(A.backend(), [&](auto where) { multigrid::factorize_inverse(where, A, width, lower, upper); });
  }

  template <typename Number>
  void FactorizedInverse<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    lower.product(src.data(), kernels::Overwrite<Number>{w.data()});
    upper.product(w.data(), kernels::Overwrite<Number>{dst.data()});
  }

  template <typename Number>
  FactorizedInverseSmoother<Number>::FactorizedInverseSmoother(const int                   n_steps,
                                                               const double                eigenvalue_ratio,
                                                               const int                   eigenvalue_steps,
                                                               const FactorizedInverseRows rows,
                                                               const bool                  second_start)
      : SteppedSmoother<Number>(n_steps, eigenvalue_ratio), eigenvalue_steps(eigenvalue_steps), rows(rows),
        second_start(second_start)
  {}

  template <typename Number>
  std::string FactorizedInverseSmoother<Number>::name() const
  {
    return std::string("chebyshev, factorised inverse of ") +
           (rows == FactorizedInverseRows::neighbours ? "neighbours" : "strong couplings");
  }

  template <typename Number>
  void FactorizedInverseSmoother<Number>::initialize(const SlicedEllpackMatrix<Number>     &A,
                                                     const PreconditionBlockJacobi<Number> &D_inverse,
                                                     const LargestEigenvalue<Number> &)
  {
    matrix = &A;
    defer_errors(A.partitioner(), [&] {
      if (coefficients.empty())
        inverse.initialize(A, rows, &D_inverse);
      else
        inverse.update(A, &D_inverse);
      coefficients.reinit(A.backend(), 2 * std::size_t(n_steps));
      d.reinit(A.backend(), A.n_rows(), true);
      z.reinit(A.backend(), A.n_rows(), true);
    });
    lambda.compute(A, inverse, eigenvalue_steps, second_start);
    dispatch(A.backend(), [&](auto where) {
      multigrid::chebyshev_steps(where, lambda.scalars(), eigenvalue_ratio, n_steps, coefficients);
    });
  }

  template <typename Number>
  void FactorizedInverseSmoother<Number>::step(const int             k,
                                               const bool            first_x,
                                               const Vector<Number> &r,
                                               Vector<Number>       &x) const
  {
    inverse.vmult(z, r);
    dispatch(matrix->backend(), [&](auto where) {
      multigrid::direction_step(where, coefficients.data() + 2 * k, z, k == 0, first_x, d, x);
    });
  }

  template class FactorizedInverse<float>;
  template class FactorizedInverse<double>;
  template class FactorizedInverseSmoother<float>;
  template class FactorizedInverseSmoother<double>;
} // namespace PatchFEM
