// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/array.h>
#include <patchfem/base/partitioner.h>
#include <patchfem/kernels/blas1.h>

#include <memory>
#include <vector>

namespace PatchFEM
{
  /**
   * A vector on one back end, with the names of deal.II's, whose solvers it serves (vector_dealii.h). Sums are formed
   * in double and in a fixed order: the same bits in every run, for any number of threads. For float and double.
   *
   * What two vectors are combined in must have one size and one back end, else Error. An object is used by one thread
   * at a time, also where its functions are const: sums and norms share a workspace.
   *
   * One that a space or an operator of several ranks initialises has this rank's elements, and behind them room for
   * those of others that products read, its ghosts. Then all ranks sum and take norms together.
   */
  template <typename Number>
  class Vector
  {
  public:
    using value_type = Number;
    using real_type  = Number;
    using size_type  = std::size_t;

    /** An empty vector on the host. */
    Vector() = default;

    /** @p n zeros on @p backend. */
    explicit Vector(const Backend &backend, const std::size_t n = 0) { reinit(backend, n); }

    /** The content of @p values, on @p backend. */
    Vector(const Backend &backend, const std::vector<Number> &values) : elements(backend, values) {}

    /** A copy on the back end of @p other, whichever this vector had before; see copy_from() for one that stays. */
    Vector(const Vector &other) { *this = other; }
    Vector &operator=(const Vector &other);

    Vector(Vector &&)            = default;
    Vector &operator=(Vector &&) = default;

    /** @p n elements on @p backend, zero unless @p omit_zeroing_entries. Keeps its memory where it can. */
    void reinit(const Backend &backend, std::size_t n, bool omit_zeroing_entries = false);

    /** @p block elements for each thing that this rank owns, and room for those of its ghosts; null: see above. */
    void reinit(const Backend                     &backend,
                std::shared_ptr<const Partitioner> partitioner,
                int                                block,
                bool                               omit_zeroing_entries = false);

    /** @p n elements where it is. */
    void reinit(const std::size_t n, const bool omit_zeroing_entries = false)
    {
      reinit(backend(), n, omit_zeroing_entries);
    }

    /** The size, the ranks and the back end of @p other. */
    void reinit(const Vector &other, const bool omit_zeroing_entries = false)
    {
      reinit_as(other.backend(), other, omit_zeroing_entries);
    }

    /** What lies where, if there are several ranks; else null. */
    const std::shared_ptr<const Partitioner> &partitioner() const { return ranks; }
    std::size_t n_ghosts() const { return ranks == nullptr ? 0 : std::size_t(ranks->n_ghosts()) * block; }

    /** Of the first element among those of all ranks. */
    std::int64_t first_index() const { return ranks == nullptr ? 0 : ranks->first() * block; }

    /** Behind the elements: a copy of what other ranks have, which any write may make old. */
    void update_ghosts() const;
    void start_ghosts() const;    ///< the same in parts: sends; no element may change before
    void progress_ghosts() const; ///< between them, so that they do travel
    void finish_ghosts() const;   ///< which waits for what was sent here

    /** Every element becomes @p value. */
    Vector &operator=(const Number value)
    {
      launch(backend(), [&](auto where) { kernels::set<Number>(where, size(), value, data()); });
      return *this;
    }

    /** Becomes a copy of @p other, which may live on another back end; keeps its own unless it is empty. */
    void copy_from(const Vector &other);

    /** The same from the other number type; both must live on one back end. */
    template <typename OtherNumber>
    void copy_from(const Vector<OtherNumber> &other);

    /** Overwrites the elements with @p values from the host; sizes must match. */
    void copy_from_host(const std::vector<Number> &values);

    std::vector<Number> copy_to_host() const;

    /** *this += a x */
    void add(const Number a, const Vector &x) { sadd(Number(1), a, x); }

    /** *this += a x + b y */
    void add(const Number a, const Vector &x, const Number b, const Vector &y)
    {
      check_compatible(x);
      check_compatible(y);
      launch(backend(), [&](auto where) { kernels::add(where, size(), a, x.data(), b, y.data(), data()); });
    }

    Vector &operator+=(const Vector &x)
    {
      add(Number(1), x);
      return *this;
    }
    Vector &operator-=(const Vector &x)
    {
      add(Number(-1), x);
      return *this;
    }

    /** *this = s *this + a x */
    void sadd(const Number s, const Number a, const Vector &x)
    {
      check_compatible(x);
      launch(backend(), [&](auto where) { kernels::sadd(where, size(), s, a, x.data(), data()); });
    }

    /** *this = a x */
    void equ(const Number a, const Vector &x)
    {
      check_compatible(x);
      launch(backend(), [&](auto where) { kernels::equ(where, size(), a, x.data(), data()); });
    }

    /** Multiplies element by element. */
    void scale(const Vector &factors)
    {
      check_compatible(factors);
      launch(backend(), [&](auto where) { kernels::scale(where, size(), factors.data(), data()); });
    }

    Vector &operator*=(const Number factor)
    {
      equ(factor, *this);
      return *this;
    }
    Vector &operator/=(const Number divisor) { return *this *= Number(1) / divisor; }

    /** The inner product; waits for the back end. */
    double dot(const Vector &other) const;

    double operator*(const Vector &other) const { return dot(other); }

    /** *this += a x, and then the inner product with @p y, which may be *this; one pass. Waits for the back end. */
    double add_and_dot(Number a, const Vector &x, const Vector &y);

    /** The square of the Euclidean norm; waits for the back end. */
    double norm_sqr() const { return dot(*this); }

    /** The Euclidean norm, also where its square would overflow or vanish; waits for the back end. */
    double l2_norm() const;

    /** The largest absolute value, 0 of none, and not a number if one element is; waits for the back end. */
    double linfty_norm() const;

    /** Whether no element differs from 0; waits for the back end. */
    bool all_zero() const { return linfty_norm() == 0.; }

    void swap(Vector &other) noexcept
    {
      elements.swap(other.elements);
      sums.swap(other.sums);
      ranks.swap(other.ranks);
      std::swap(block, other.block);
    }

    Number        *data() { return elements.data(); }
    const Number  *data() const { return elements.data(); }
    std::size_t    size() const { return ranks == nullptr ? elements.size() : std::size_t(ranks->n_owned()) * block; }
    bool           empty() const { return size() == 0; }
    const Backend &backend() const { return elements.backend(); }
    Array<Number> &array() { return elements; }
    const Array<Number> &array() const { return elements; }
    std::size_t          memory_consumption() const { return memory_consumption_of(elements, sums); }

  private:
    template <typename>
    friend class Vector;

    Array<Number>                      elements; ///< with ghosts
    std::shared_ptr<const Partitioner> ranks;
    int                                block = 1;

    mutable Array<double> sums; ///< partial sums and, behind them, the result; allocated by the first reduction

    void check_compatible(const Vector &other) const;

    /** What @p kernel(where, partials, result) leaves in result[0], on this rank. */
    template <typename Kernel>
    double reduce(const Kernel &kernel) const;

    /** The sum over ranks of what @p kernel() returns on each. */
    template <typename Kernel>
    double sum(const Kernel &kernel) const;

    void allocate(const Backend &backend, std::size_t n);
    template <typename OtherNumber>
    void conform(const Vector<OtherNumber> &other);

    /** The size and the ranks of @p other, on @p backend. */
    template <typename OtherNumber>
    void reinit_as(const Backend &backend, const Vector<OtherNumber> &other, const bool omit_zeroing_entries)
    {
      if (other.ranks != nullptr)
        reinit(backend, other.ranks, other.block, omit_zeroing_entries);
      else
        reinit(backend, other.size(), omit_zeroing_entries);
    }
  };

  template <typename Number>
  void swap(Vector<Number> &a, Vector<Number> &b) noexcept
  {
    a.swap(b);
  }
} // namespace PatchFEM
