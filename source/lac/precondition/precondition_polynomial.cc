// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/matrix/rounded_matrix.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/solver/largest_eigenvalue.h>

#include <cmath>

namespace PatchFEM
{
  template <typename Number, typename Value>
  void PreconditionPolynomial<Number, Value>::initialize(const Operator<Number> &given,
                                                         const AdditionalData   &additional_data)
  {
    on_owner(given.backend(), [&] {
      const double ratio = additional_data.eigenvalue_ratio;
      require(additional_data.order >= 1 && additional_data.order <= kernels::max_polynomial_order,
              "The order of a polynomial preconditioner must be between 1 and ", kernels::max_polynomial_order,
              ", not ", additional_data.order, ".");
      require(additional_data.lanczos_steps >= 2, "The interval of a polynomial needs at least 2 steps of Lanczos.");
      require(ratio == 0. || ratio > 1.,
              "The interval of a polynomial is empty: its eigenvalue ratio must be above 1.");
      require(
          additional_data.kind != PolynomialKind::chebyshev || ratio < HUGE_VAL,
          "Chebyshev's polynomial needs an interval that does not begin at 0: its eigenvalue ratio must be finite.");
      require(given.partitioner() != nullptr || given.n_rows() == given.n_columns(),
              "A polynomial preconditioner needs a square matrix.");

      const Backend &place = given.backend();
      matrix               = nullptr; // what is left if the matrix is refused
      copy                 = nullptr;
      data                 = additional_data;
      std::unique_ptr<const MatrixBase<Number>> rounded;
      if constexpr (!std::is_same_v<Number, Value>)
      {
        const auto *stored = dynamic_cast<const MatrixBase<Number> *>(&given);
        require(stored != nullptr,
                "Mixed precision needs a copy of a matrix, but the operator has none; choose double.");
        require_single_range(*stored);
        auto made     = std::make_unique<const RoundedMatrix>(*stored);
        bytes_of_copy = made->values_memory_consumption();
        rounded       = std::move(made);
      }
      const Operator<Number> &A = rounded != nullptr ? static_cast<const Operator<Number> &>(*rounded) : given;
      D_inverse.initialize(A);
      LargestEigenvalue<Number> lanczos;
      lanczos.compute(A, D_inverse, static_cast<int>(data.lanczos_steps));

      const int     order = static_cast<int>(data.order);
      Array<double> made(place, 2 * std::size_t(order) + 4);
      launch(place, [&](auto where) {
        kernels::polynomial_coefficients(where, lanczos.scalars(), static_cast<int>(data.lanczos_steps), ratio,
                                         data.kind, order, made.data());
      });
      coefficients.swap(made);
      const double b = interval().second;
      if (!(b > 0. && b < HUGE_VAL) && (A.n_rows() > 0 || A.partitioner() != nullptr))
        throw NotPositiveDefinite("The matrix is not positive definite and finite: Lanczos' iteration finds ",
                                  std::to_string(b), " for the largest eigenvalue of D^-1 A.");
      A.initialize_vector(work, true);
      if (A.fuses_polynomial_steps())
        product.reinit(place, 0);
      else
        A.initialize_vector(product, true);
      copy   = std::move(rounded);
      matrix = &A;
    });
  }

  template <typename Number, typename Value>
  void PreconditionPolynomial<Number, Value>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    on_owner(src.backend(), [&] {
      require(matrix != nullptr, "A polynomial preconditioner was applied before it was initialized.");
      require(dst.size() == work.size() && src.size() == work.size() && dst.backend() == work.backend() &&
                  src.backend() == work.backend(),
              "A vector does not have the size and the back end of the preconditioner.");
      require(dst.partitioner() == work.partitioner(), "A vector is not of the ranks of the preconditioner.");

      // Two vectors take turns; the last of them must be dst.
      const int       order    = static_cast<int>(data.order);
      const auto     &D        = *D_inverse.block_diagonal();
      Vector<Number> *now      = order % 2 == 0 ? &dst : &work;
      Vector<Number> *previous = order % 2 == 0 ? &work : &dst;
      launch(src.backend(), [&](auto where) { // y_1 = c_1 D^-1 b
        kernels::smoother_step(where, D, coefficients.data(), src.data(), static_cast<Number *>(nullptr), now->data(),
                               true, true);
      });
      for (int k = 1; k <= order; ++k)
      {
        matrix->polynomial_step(
            {coefficients.data() + 2 * k, D.values, src.data(), now->data(), previous->data(), k == 1}, *now, product);
        std::swap(now, previous);
      }
    });
  }

  template <typename Number, typename Value>
  std::pair<double, double> PreconditionPolynomial<Number, Value>::interval() const
  {
    const std::size_t begin = coefficients.size() - 2;
    return {coefficients.read(begin), coefficients.read(begin + 1)};
  }

  template <typename Number, typename Value>
  std::string PreconditionPolynomial<Number, Value>::name() const
  {
    const std::string kind = data.kind == PolynomialKind::neumann         ? "neumann"
                             : data.kind == PolynomialKind::least_squares ? "least squares"
                                                                          : "chebyshev";
    return this->template with_precision<Value>(kind + " polynomial of order " + std::to_string(data.order));
  }

  template class PreconditionPolynomial<float>;
  template class PreconditionPolynomial<double>;
  template class PreconditionPolynomial<double, float>;
} // namespace PatchFEM
