// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_matrix_stored_matrix_h
#define patchfem_lac_matrix_stored_matrix_h

#include <patchfem/kernels/product.h>
#include <patchfem/lac/matrix/matrix_base.h>

#include <type_traits>

namespace PatchFEM
{
  /**
   * A matrix whose products are kernels::product() of Derived::view() and their targets: a format gives the storage, the
   * view and the kernel, and has all products. @p Value is the type of the entries.
   */
  template <typename Derived, typename Number, typename Value = Number>
  class StoredMatrix : public MatrixBase<Number>
  {
  public:
    /** Each row of A x goes to @p target (kernels/product.h); x, of any type that there are products with, is not checked. */
    template <typename Other, typename Target>
    void product(const Other *x, const Target &target) const
    {
      const auto A = derived().view();
      dispatch(this->backend(), [&](auto where) { kernels::any_product(where, A, x, target); });
    }

    void vmult(Vector<Number> &dst, const Vector<Number> &src) const override
    {
      this->check_product(dst, src);
      derived().product(src.data(), kernels::Overwrite<Number>{dst.data()});
    }

    void vmult_add(Vector<Number> &dst, const Vector<Number> &src) const override
    {
      this->check_product(dst, src);
      derived().product(src.data(), kernels::Add<Number>{dst.data()});
    }

    void residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const override
    {
      this->check_residual(r, x, b);
      derived().product(x.data(), kernels::Residual<Number>{b.data(), r.data()});
    }

    void cg_product(Vector<Number> &q, const Vector<Number> &p, const CGView &cg) const override
    {
      if constexpr (std::is_same_v<Value, Number>)
      {
        this->check_product(q, p);
        derived().product(p.data(), kernels::ConjugateGradients<Number>{p.data(), q.data(), cg});
      }
      else
        MatrixBase<Number>::cg_product(q, p, cg);
    }

    bool fuses_polynomial_steps() const override { return true; }

    void polynomial_step(const kernels::PolynomialStep<Number> &step,
                         const Vector<Number>                  &y,
                         Vector<Number> &) const override
    {
      derived().product(y.data(), step);
    }

    /**
     * dst = A src for any host vector with begin() and end() whose entries lie side by side, such as deal.II's; the matrix
     * must be on `host`.
     */
    template <typename VectorType>
    void vmult(VectorType &dst, const VectorType &src) const
    {
      static_assert(std::is_same_v<std::decay_t<decltype(*dst.begin())>, Number>,
                    "matrix and vector have different number types");
      require(this->backend().kind() == BackendKind::host, [&] {
        return "A product with a host vector needs the matrix on the back end host, but it is on " +
               this->backend().name() + ".";
      });
      require(dst.end() - dst.begin() == this->n_rows() && src.end() - src.begin() == this->n_columns(),
              "A vector does not have the size of the matrix.");
      const auto is_array = [](const auto &v) {
        return v.begin() == v.end() || &*(v.end() - 1) - &*v.begin() == v.end() - v.begin() - 1;
      };
      require(is_array(dst) && is_array(src), "Entries of a vector do not lie side by side, as in a BlockVector.");
      if (this->n_rows() > 0)
        derived().product(this->n_columns() > 0 ? &*src.begin() : nullptr, kernels::Overwrite<Number>{&*dst.begin()});
    }

  private:
    const Derived &derived() const { return static_cast<const Derived &>(*this); }
  };
} // namespace PatchFEM

#endif
