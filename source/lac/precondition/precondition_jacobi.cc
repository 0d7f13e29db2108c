// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/matrix/rounded_matrix.h>
#include <patchfem/lac/precondition/precondition_jacobi.h>

#include <type_traits>

namespace PatchFEM
{
  template <typename Number, typename Value>
  void PreconditionBlockJacobi<Number, Value>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    on_owner(src.backend(), [&] {
      const std::size_t size = std::size_t(inverse.n_blocks) * inverse.block_size;
      require(dst.size() == size && src.size() == size, "A vector does not have the size of the preconditioner.");
      require(dst.backend() == values.backend() && src.backend() == values.backend(), "A preconditioner on ",
              values.backend().name(), " was applied to a vector on another back end.");
      launch(values.backend(), [&](auto where) { kernels::vmult(where, inverse, src.data(), dst.data()); });
    });
  }

  template <typename Number, typename Value>
  template <typename MatrixNumber>
  void PreconditionBlockJacobi<Number, Value>::invert(const Operator<MatrixNumber> &matrix,
                                                      const int                     block_size,
                                                      const double                  relaxation)
  {
    require(relaxation > 0., "The relaxation of a Jacobi preconditioner must be positive.");
    require(matrix.n_rows() % block_size == 0, "The rows of a matrix are not a multiple of the block size ", block_size,
            ".");
    const Backend &backend  = matrix.backend();
    const int      n_blocks = matrix.n_rows() / block_size;
    inverse                 = {0, block_size, 0, nullptr}; // what is left if the matrix is refused

    const auto invert_blocks = [&](Array<MatrixNumber> &inverses) {
      Array<MatrixNumber> blocks;
      matrix.extract_block_diagonal(block_size, blocks);
      inverses.reinit(backend, std::size_t(n_blocks) * (block_size * (block_size + 1) / 2));
      Array<int> failure(backend, 1);
      launch(backend, [&](auto where) {
        kernels::invert_block_diagonal(where, n_blocks, block_size, blocks.data(), relaxation, inverses.data(),
                                       failure.data());
      });
      const int row = failure.read(0);
      if (row != kernels::no_failure)
        throw NotPositiveDefinite(block_size == 1 ? "The matrix's diagonal entry in row " + std::to_string(row) +
                                                        " is not positive and finite."
                                                  : "The diagonal block of the matrix that holds row " +
                                                        std::to_string(row) + " is not positive definite at this row.");
    };
    if constexpr (std::is_same_v<Value, MatrixNumber>)
      invert_blocks(values);
    else
    {
      Array<MatrixNumber> inverses;
      invert_blocks(inverses);
      if constexpr (!std::is_same_v<Number, Value>)
        for (int a = 0; a < block_size; ++a)
          require_single_range(backend, n_blocks, inverses.data() + std::int64_t(a * (a + 1) / 2 + a) * n_blocks,
                               block_size, "The inverse of the diagonal");
      values.reinit(backend, inverses.size());
      launch(backend, [&](auto where) {
        kernels::convert(where, static_cast<std::int64_t>(inverses.size()), inverses.data(), values.data());
      });
    }
    inverse = {n_blocks, block_size, n_blocks, values.data()};
  }

  template class PreconditionIdentity<float>;
  template class PreconditionIdentity<double>;
  template class PreconditionBlockJacobi<float>;
  template class PreconditionBlockJacobi<double>;
  template class PreconditionBlockJacobi<double, float>;
  template void PreconditionBlockJacobi<float>::invert(const Operator<float> &, int, double);
  template void PreconditionBlockJacobi<float>::invert(const Operator<double> &, int, double);
  template void PreconditionBlockJacobi<double>::invert(const Operator<double> &, int, double);
  template void PreconditionBlockJacobi<double, float>::invert(const Operator<double> &, int, double);
} // namespace PatchFEM
