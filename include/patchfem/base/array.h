// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/memory.h>

#include <type_traits>
#include <utility>
#include <vector>

namespace PatchFEM
{
  /**
   * Owns a number of elements on one back end. Nothing migrates by itself: only kernels called through launch() may
   * follow data(), and every transfer is a copy_from() or copy_to(). Movable; copies are explicit.
   */
  template <typename T>
  class Array
  {
    static_assert(std::is_trivially_copyable<T>::value, "Array holds plain data");

  public:
    /** An empty array on the host. */
    Array() = default;

    /** @p n elements with undefined content. */
    explicit Array(const Backend &backend, const std::size_t n = 0) { reinit(backend, n); }

    /** The content of @p values, on @p backend. */
    Array(const Backend &backend, const std::vector<T> &values) { copy_from(backend, values); }

    Array(Array &&other) noexcept { swap(other); }
    Array &operator=(Array &&other) noexcept
    {
      swap(other);
      return *this;
    }
    Array(const Array &)            = delete;
    Array &operator=(const Array &) = delete;
    ~Array() { release(); }

    /** Makes it @p n elements of @p new_backend with undefined content; keeps the memory if nothing changes. */
    void reinit(const Backend &new_backend, const std::size_t n)
    {
      const bool same = n == n_elements && new_backend == place;
      if (!same)
        release();
      place = new_backend;
      if (same)
        return;
      pointer    = static_cast<T *>(n > 0 ? memory::allocate(place, n * sizeof(T)) : nullptr);
      n_elements = n;
    }

    /** Gives the memory back; the array is empty afterwards. */
    void release() noexcept
    {
      if (pointer != nullptr)
        memory::deallocate(place, pointer, n_elements * sizeof(T));
      pointer    = nullptr;
      n_elements = 0;
    }

    void swap(Array &other) noexcept
    {
      std::swap(place, other.place);
      std::swap(pointer, other.pointer);
      std::swap(n_elements, other.n_elements);
    }

    T             *data() { return pointer; }
    const T       *data() const { return pointer; }
    std::size_t    size() const { return n_elements; }
    bool           empty() const { return n_elements == 0; }
    const Backend &backend() const { return place; }
    std::size_t    memory_consumption() const { return n_elements * sizeof(T); }

    void set_zero() { memory::set_zero(place, pointer, n_elements * sizeof(T)); }

    /** Becomes a copy of @p other, on @p new_backend. */
    void copy_from(const Backend &new_backend, const Array &other)
    {
      reinit(new_backend, other.size());
      if (n_elements > 0)
        memory::copy(place, pointer, other.backend(), other.data(), n_elements * sizeof(T));
    }

    void copy_from(const Backend &new_backend, const std::vector<T> &values)
    {
      reinit(new_backend, values.size());
      copy_from(values.data(), values.size());
    }

    /** Overwrites the elements with @p n elements in host memory; sizes must match. */
    void copy_from(const T *host_source, const std::size_t n)
    {
      require(n == n_elements, "An array was given a number of elements that is not its size.");
      if (n > 0)
        memory::copy(place, pointer, Backend(BackendKind::host), host_source, n * sizeof(T));
    }

    /** Writes all elements to host memory and waits for it. */
    void copy_to(T *host_destination) const
    {
      if (n_elements > 0)
        memory::copy(Backend(BackendKind::host), host_destination, place, pointer, n_elements * sizeof(T));
    }

    std::vector<T> to_vector() const
    {
      std::vector<T> result(n_elements);
      copy_to(result.data());
      return result;
    }

    /** One element, fetched to the host: for sizes and for tests. */
    T read(const std::size_t i) const
    {
      require(i < n_elements, "An element past the end of an array was read.");
      T result;
      memory::copy(Backend(BackendKind::host), &result, place, pointer + i, sizeof(T));
      return result;
    }

  private:
    Backend     place      = Backend(BackendKind::host);
    T          *pointer    = nullptr;
    std::size_t n_elements = 0;
  };

  /** Bytes of all @p objects together. */
  template <typename... Objects>
  std::size_t memory_consumption_of(const Objects &...objects)
  {
    return (objects.memory_consumption() + ...);
  }
} // namespace PatchFEM
