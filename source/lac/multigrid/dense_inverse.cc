// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/run.h"

#include "kernels/dense_spd.h"
#include "kernels/multigrid_value_bodies.h"
#include "kernels/null_space_bodies.h"
#include <patchfem/lac/multigrid/dense_inverse.h>

#include <climits>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /// See kernels::DependentRowBody; rounding of a singular matrix leaves 1e14 to 1e16.
    constexpr double dependent_row_limit = 1e13;
  } // namespace

  template <typename Number>
  void DenseInverse<Number>::compute(const SlicedEllpackMatrix<Number> &matrix,
                                     const std::vector<Array<double>>  &null_vectors,
                                     const Array<double>               &scale)
  {
    const Backend &place = matrix.backend();
    n                    = matrix.n_rows();
    require(matrix.n_columns() == n, "Only square matrices have an inverse.");
    const std::size_t n_entries = std::size_t(n) * n;
    Array<double>     dense(place, n_entries);
    Array<int>        failure(place, std::vector<int>(2, INT_MAX)); // of the factorisation; of its result
    inverse.reinit(place, n_entries);
    dense.set_zero();
    run(place, n, kernels::ToDenseBody<Number>{matrix.view(), matrix.row_lengths(), n, dense.data()});
    for (const Array<double> &v : null_vectors)
    {
      require(v.size() == std::size_t(n) && scale.size() == 1,
              "A null space does not have an entry for every row of the matrix, or no scale.");
      run(place, n, kernels::AddOuterProductBody{n, scale.data(), v.data(), dense.data()});
    }
    Array<double> diagonal(place, n);
    run(place, n, kernels::DenseDiagonalBody{n, dense.data(), diagonal.data()});
    dispatch(place, [&](auto where) {
      constexpr bool host = std::is_same<decltype(where), Host>::value;
      constexpr int  rows = host ? 8 : 4, strip = host ? 8 : 1;
      Array<double>  workspace(place, kernels::inverse_workspace(n, strip));
      kernels::invert_dense_spd<rows, strip>(where, n, dense.data(), workspace.data(), inverse.data(), failure.data());
    });
    // A matrix in single precision is not known well enough to tell that it is singular.
    if constexpr (std::is_same<Number, double>::value)
      run(place, n,
          kernels::DependentRowBody<double>{n, diagonal.data(), inverse.data(), dependent_row_limit,
                                            failure.data() + 1});
    const std::vector<int> rows   = failure.to_vector();
    const char *const      remedy = std::is_same<Number, double>::value && null_vectors.empty()
                                        ? " Where nothing holds a constant or a motion, give its NullSpace."
                                        : "";
    if (rows[0] != INT_MAX)
      throw NotPositiveDefinite("The matrix is not positive definite: its Cholesky factorisation fails in row " +
                                std::to_string(rows[0]) + " of " + std::to_string(n) + "." + remedy);
    if (rows[1] != INT_MAX)
      throw NotPositiveDefinite("The matrix is singular to rounding: row " + std::to_string(rows[1]) + " of " +
                                std::to_string(n) + " depends on the others." + remedy);
  }

  template <typename Number>
  void DenseInverse<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    dispatch(inverse.backend(),
             [&](auto where) { kernels::dense_symmetric_vmult(where, n, inverse.data(), src.data(), dst.data()); });
  }

  template class DenseInverse<float>;
  template class DenseInverse<double>;
} // namespace PatchFEM
