// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/operator.h>

namespace PatchFEM
{
  template <typename Number>
  const std::shared_ptr<const Partitioner> &Operator<Number>::partitioner() const
  {
    static const std::shared_ptr<const Partitioner> one_rank;
    return one_rank;
  }

  template <typename Number>
  void Operator<Number>::check_product(const Vector<Number> &dst, const Vector<Number> &src) const
  {
    on_owner(backend(), [&] {
      require(
          partitioner() == src.partitioner(),
          "A matrix was multiplied with a vector of other ranks; Operator::initialize_vector() makes one that fits.");
      require(dst.size() == static_cast<std::size_t>(n_rows()) &&
                  src.size() + src.n_ghosts() == static_cast<std::size_t>(n_columns()),
              "A matrix of ", n_rows(), " x ", n_columns(), " was multiplied with vectors of sizes ", dst.size(),
              " and ", src.size(), ".");
      require(&dst != &src, "The result of a product needs a vector other than the source.");
      require(dst.backend() == backend() && src.backend() == backend(),
              [&] { return "A matrix on " + backend().name() + " was multiplied with a vector on another back end."; });
    });
  }

  template <typename Number>
  void Operator<Number>::check_residual(const Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const
  {
    check_product(r, x);
    on_owner(backend(), [&] {
      require(b.size() == r.size() && b.backend() == backend(), "A right-hand side does not fit its matrix.");
    });
  }

  template <typename Number>
  void Operator<Number>::residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const
  {
    check_residual(r, x, b);
    require(&r != &b, "The residual of an operator without a matrix needs a vector other than b.");
    vmult(r, x);
    r.sadd(Number(-1), Number(1), b);
  }

  template <typename Number>
  void Operator<Number>::cg_product(Vector<Number> &q, const Vector<Number> &p, const CGView &cg) const
  {
    vmult(q, p);
    launch(backend(), [&](auto where) { kernels::cg_step_length(where, p.size(), p.data(), q.data(), cg); });
    finish_cg_product(cg);
  }

  template <typename Number>
  void Operator<Number>::polynomial_step(const kernels::PolynomialStep<Number> &step,
                                         const Vector<Number>                  &y,
                                         Vector<Number>                        &product) const
  {
    vmult(product, y);
    launch(backend(), [&](auto where) { kernels::polynomial_step(where, n_rows(), step, product.data()); });
  }

  template <typename Number>
  void Operator<Number>::extract_diagonal(Vector<Number> &) const
  {
    throw Error("The diagonal of this operator is not known; give one to its OperatorShell.");
  }

  template <typename Number>
  void Operator<Number>::extract_block_diagonal(const int block_size, Array<Number> &blocks) const
  {
    require(block_size == 1, "Blocks of the diagonal are known of matrices, not of other operators.");
    Vector<Number> diagonal;
    extract_diagonal(diagonal);
    blocks.swap(diagonal.array());
  }

  template <typename Number>
  OperatorShell<Number>::OperatorShell(
      const Backend &backend, const int n_rows, const int n_columns, Product product, const Vector<Number> &diagonal)
      : place(backend), rows(n_rows), columns(n_columns), product(std::move(product)), known_diagonal(diagonal)
  {
    require(n_rows >= 0 && n_columns >= 0 && this->product, "An operator needs its extents and its product.");
    require(diagonal.empty() || (diagonal.size() == static_cast<std::size_t>(n_rows) && diagonal.backend() == backend),
            "The diagonal of an operator does not have its size and its back end.");
  }

  template <typename Number>
  void OperatorShell<Number>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    this->check_product(dst, src);
    product(dst, src);
  }

  template <typename Number>
  void OperatorShell<Number>::extract_diagonal(Vector<Number> &diagonal) const
  {
    if (known_diagonal.empty())
      Operator<Number>::extract_diagonal(diagonal);
    diagonal = known_diagonal;
  }

  template class Operator<float>;
  template class Operator<double>;
  template class OperatorShell<float>;
  template class OperatorShell<double>;
} // namespace PatchFEM
