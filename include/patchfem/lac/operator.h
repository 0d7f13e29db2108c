// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cg.h>
#include <patchfem/kernels/polynomial.h>
#include <patchfem/lac/vector.h>

#include <functional>

namespace PatchFEM
{
  /**
   * Of several ranks, collective: parts of sums that a kernel of conjugate gradients has left on @p backend become those
   * of all, and what follows from them is done. Nothing where @p ranks is null, since kernels do it then.
   */
  inline void add_up(const std::shared_ptr<const Partitioner> &ranks,
                     const Backend                            &backend,
                     kernels::CGSums                           sums,
                     const CGView                             &cg)
  {
    if (ranks == nullptr)
      return;
    ranks->sum(backend, cg.scalars->parts, sums == kernels::CGSums::product ? 1 : 2);
    launch(backend, [&](auto where) { kernels::cg_finish(where, sums, cg); });
  }

  /**
   * What iterations know of A: its extents and its products, on one back end. Every matrix is one, and so is an
   * OperatorShell of a user's product; ConjugateGradients, SolverCG, LargestEigenvalue, NullSpace, PreconditionJacobi,
   * PreconditionPolynomial and deal.II's solvers take any. Rows are owned, columns are read: the two extents are
   * separate: of several ranks each has the rows that it owns, and columns of its ghosts behind those of its rows.
   * Products are then collective. Instantiated for float and double.
   */
  template <typename Number>
  class Operator
  {
  public:
    using value_type = Number;

    virtual ~Operator() = default;

    virtual const Backend &backend() const = 0;

    /** Scalar rows and columns. */
    virtual int n_rows() const    = 0;
    virtual int n_columns() const = 0;

    /** What lies where, if there are several ranks; else null. */
    virtual const std::shared_ptr<const Partitioner> &partitioner() const;

    /** Elements for the rows, undefined if @p omit_zeroing_entries, that products take as source and as result. */
    virtual void initialize_vector(Vector<Number> &vector, const bool omit_zeroing_entries = false) const
    {
      vector.reinit(backend(), n_rows(), omit_zeroing_entries);
    }

    /** deal.II's names for the same. */
    int m() const { return n_rows(); }
    int n() const { return n_columns(); }

    /** dst = A src */
    virtual void vmult(Vector<Number> &dst, const Vector<Number> &src) const = 0;

    /** r = b - A x. Matrices sum each row in double and take b for r; other operators need an r other than x and b. */
    virtual void residual(Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const;

    /** q = A p and the step length of conjugate gradients; p and q conform. Formats do both in one kernel. */
    virtual void cg_product(Vector<Number> &q, const Vector<Number> &p, const CGView &cg) const;

    /** A step of a polynomial preconditioner from its @p y; @p product is room, which fused steps do without. */
    virtual void polynomial_step(const kernels::PolynomialStep<Number> &step,
                                 const Vector<Number>                  &y,
                                 Vector<Number>                        &product) const;
    virtual bool fuses_polynomial_steps() const { return false; }

    /** The diagonal, on this back end. Throws Error where it is not known. */
    virtual void extract_diagonal(Vector<Number> &diagonal) const;

    /** The diagonal in blocks as MatrixBase has them; @p block_size must be 1 unless there is a matrix. */
    virtual void extract_block_diagonal(int block_size, Array<Number> &blocks) const;

    /** Whether products are work in stream order alone, without allocation, so that a Graph may hold them. */
    virtual bool can_be_recorded() const { return false; }

  protected:
    /** The end of cg_product() on several ranks: adds up what their kernels have left of p.q. */
    void finish_cg_product(const CGView &cg) const { add_up(partitioner(), backend(), kernels::CGSums::product, cg); }

    /** Throw Error unless the vectors fit a product or a residual. */
    void check_product(const Vector<Number> &dst, const Vector<Number> &src) const;
    void check_residual(const Vector<Number> &r, const Vector<Number> &x, const Vector<Number> &b) const;
  };

  /**
   * An operator of a product that a user gives: without a matrix, of several matrices, or of another library's.
   *
   * @code
   *   // M + dt K without its matrix
   *   OperatorShell<double> A(M.backend(), M.n_rows(), M.n_columns(), [&](auto &dst, const auto &src) {
   *     M.vmult(dst, src);
   *     K.vmult(product, src);
   *     dst.add(dt, product);
   *   });
   *   solver.solve(A, x, b, PreconditionJacobi<double>(M));
   * @endcode
   */
  template <typename Number>
  class OperatorShell : public Operator<Number>
  {
  public:
    /** dst = A src; both are on the operator's back end and have its extents. It may throw. */
    using Product = std::function<void(Vector<Number> &dst, const Vector<Number> &src)>;

    /** @p diagonal is for those who ask for it, such as PreconditionJacobi and NullSpace::check(), and may be empty. */
    OperatorShell(const Backend        &backend,
                  int                   n_rows,
                  int                   n_columns,
                  Product               product,
                  const Vector<Number> &diagonal = Vector<Number>());

    const Backend &backend() const override { return place; }
    int            n_rows() const override { return rows; }
    int            n_columns() const override { return columns; }
    void           vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    void           extract_diagonal(Vector<Number> &diagonal) const override;

  private:
    Backend        place;
    int            rows, columns;
    Product        product;
    Vector<Number> known_diagonal;
  };
} // namespace PatchFEM
