// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/communicator.h>

namespace PatchFEM::internal
{
  /** Plain data of several types, one behind the other, on the way to another rank. */
  class Writer
  {
  public:
    Communicator::Bytes bytes;

    template <typename T>
    void put(const T *values, const std::size_t n)
    {
      static_assert(std::is_trivially_copyable<T>::value, "Ranks exchange plain data.");
      const std::size_t begin = bytes.size();
      bytes.resize(begin + n * sizeof(T));
      if (n > 0)
        std::memcpy(bytes.data() + begin, values, n * sizeof(T));
    }

    template <typename T>
    void put(const T &value)
    {
      put(&value, 1);
    }

    /** With their number in front. */
    template <typename T>
    void put(const std::vector<T> &values)
    {
      put(values.size());
      put(values.data(), values.size());
    }
  };

  /** Takes them out again, in the same order. */
  class Reader
  {
  public:
    explicit Reader(const Communicator::Bytes &bytes) : next(bytes.data()) {}

    template <typename T>
    void get(T *values, const std::size_t n)
    {
      if (n > 0)
        std::memcpy(values, next, n * sizeof(T));
      next += n * sizeof(T);
    }

    template <typename T>
    T get()
    {
      T value;
      get(&value, 1);
      return value;
    }

    template <typename T>
    void get(std::vector<T> &values)
    {
      values.resize(get<std::size_t>());
      get(values.data(), values.size());
    }

    bool at_end(const Communicator::Bytes &bytes) const { return next == bytes.data() + bytes.size(); }

  private:
    const char *next;
  };
} // namespace PatchFEM::internal
