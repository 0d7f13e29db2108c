// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/rank_group.h>
#include <patchfem/lac/vector.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace PatchFEM
{
  template <typename Number>
  Vector<Number> &Vector<Number>::operator=(const Vector &other)
  {
    if (this != &other)
    {
      reinit(other, true);
      elements.copy_from(other.backend(), other.elements);
    }
    return *this;
  }

  template <typename Number>
  void Vector<Number>::reinit(const Backend &backend, const std::size_t n, const bool omit_zeroing_entries)
  {
    on_owner_then_members(backend, [&] { allocate(backend, n); });
    if (!omit_zeroing_entries)
      *this = Number(0);
  }

  /** On this rank alone: the elements that reinit() makes. */
  template <typename Number>
  void Vector<Number>::allocate(const Backend &backend, const std::size_t n)
  {
    ranks.reset();
    elements.reinit(backend, n);
    if (!sums.empty() && sums.backend() != backend)
      sums.release();
  }

  template <typename Number>
  void Vector<Number>::reinit(const Backend                     &backend,
                              std::shared_ptr<const Partitioner> partitioner,
                              const int                          block_size,
                              const bool                         omit_zeroing_entries)
  {
    require(partitioner != nullptr, "A vector of several ranks needs their partitioner.");
    // Kernels take a null pointer for a vector that is not asked for, which one without elements is not.
    reinit(backend, std::max<std::size_t>(std::size_t(partitioner->n_local()) * block_size, 1), omit_zeroing_entries);
    ranks = std::move(partitioner);
    block = block_size;
  }

  template <typename Number>
  void Vector<Number>::update_ghosts() const
  {
    if (ranks != nullptr)
      ranks->start_and_finish(backend(), const_cast<Number *>(data()), block * sizeof(Number));
  }

  template <typename Number>
  void Vector<Number>::start_ghosts() const
  {
    if (ranks != nullptr)
      ranks->start(backend(), data(), block * sizeof(Number));
  }

  template <typename Number>
  void Vector<Number>::progress_ghosts() const
  {
    if (ranks != nullptr)
      ranks->progress(backend(), block * sizeof(Number));
  }

  template <typename Number>
  void Vector<Number>::finish_ghosts() const
  {
    if (ranks != nullptr)
      ranks->finish(backend(), const_cast<Number *>(data()), block * sizeof(Number));
  }

  template <typename Number>
  void Vector<Number>::copy_from_host(const std::vector<Number> &values)
  {
    require(values.size() == size(), "An array was given a number of elements that is not its size.");
    if (!values.empty())
      memory::copy(backend(), data(), Backend(BackendKind::host), values.data(), values.size() * sizeof(Number));
  }

  template <typename Number>
  std::vector<Number> Vector<Number>::copy_to_host() const
  {
    std::vector<Number> result = elements.to_vector();
    result.resize(size());
    return result;
  }

  template <typename Number>
  template <typename Kernel>
  double Vector<Number>::sum(const Kernel &kernel) const
  {
    double result = 0.;
    on_owner(backend(), [&] {
      result = kernel();
      if (ranks != nullptr)
        ranks->communicator().sum(&result, 1);
    });
    return broadcast(backend(), result);
  }

  /** For copies of @p other, on this rank alone: members of a group are empty, and need not be where their owner is. */
  template <typename Number>
  template <typename OtherNumber>
  void Vector<Number>::conform(const Vector<OtherNumber> &other)
  {
    allocate(elements.empty() ? other.backend() : Backend(backend()), other.elements.size());
    ranks = other.ranks;
    block = other.block;
  }

  template <typename Number>
  void Vector<Number>::copy_from(const Vector &other)
  {
    conform(other);
    elements.copy_from(Backend(backend()), other.elements);
  }

  template <typename Number>
  template <typename OtherNumber>
  void Vector<Number>::copy_from(const Vector<OtherNumber> &other)
  {
    conform(other);
    require(backend() == other.backend(), "A vector of another number type can only be copied on its own back end.");
    launch(backend(), [&](auto where) { kernels::convert(where, size(), other.data(), data()); });
  }

  template <typename Number>
  void Vector<Number>::check_compatible(const Vector &other) const
  {
    require(size() == other.size(), "Two vectors of different size cannot be combined.");
    require(backend() == other.backend(), "Two vectors of different back ends cannot be combined.");
  }

  template <typename Number>
  template <typename Kernel>
  double Vector<Number>::reduce(const Kernel &kernel) const
  {
    constexpr int n = kernels::reduction::max_parts;
    if (sums.empty())
      sums.reinit(backend(), n + 1);
    launch(backend(), [&](auto where) { kernel(where, sums.data(), sums.data() + n); });
    return sums.read(n);
  }

  template <typename Number>
  double Vector<Number>::dot(const Vector &other) const
  {
    return sum([&] {
      check_compatible(other);
      return reduce([&](auto where, double *partials, double *result) {
        kernels::dot(where, size(), data(), other.data(), partials, result);
      });
    });
  }

  template <typename Number>
  double Vector<Number>::add_and_dot(const Number a, const Vector &x, const Vector &y)
  {
    return sum([&] {
      check_compatible(x);
      check_compatible(y);
      return reduce([&](auto where, double *partials, double *result) {
        kernels::add_and_dot(where, size(), a, x.data(), y.data(), data(), partials, result);
      });
    });
  }

  template <typename Number>
  double Vector<Number>::linfty_norm() const
  {
    double largest = 0.;
    on_owner(backend(), [&] {
      largest =
          reduce([&](auto where, double *, double *result) { kernels::linfty_norm(where, size(), data(), result); });
      if (ranks != nullptr)
        largest = ranks->communicator().maximum(largest);
    });
    return broadcast(backend(), largest);
  }

  template <typename Number>
  double Vector<Number>::l2_norm() const
  {
    const double square = dot(*this);
    // Squares of fp32 are summed in double, where they are harmless.
    constexpr double least = 0x1p-900, most = 0x1p900, factor = 0x1p600;
    const bool       none = ranks == nullptr && backend().group() == nullptr && empty(); // ranks all take the same way
    if (std::is_same<Number, float>::value || none || (square >= least && square <= most))
      return std::sqrt(square);
    Vector copy;
    copy.reinit(*this, true);
    const double scale = square < least ? factor : 1. / factor;
    copy.equ(static_cast<Number>(scale), *this);
    return std::sqrt(copy.dot(copy)) / scale;
  }

  template class Vector<float>;
  template class Vector<double>;
  template void Vector<float>::copy_from(const Vector<double> &);
  template void Vector<double>::copy_from(const Vector<float> &);
} // namespace PatchFEM
