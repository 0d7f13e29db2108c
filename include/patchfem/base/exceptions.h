// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

namespace PatchFEM
{
  /**
   * What every part of the library throws for bad input and for failures that a user can act on: one
   * sentence that names the thing, its place and the remedy. Programming errors are asserted instead.
   */
  class Error : public std::runtime_error
  {
  public:
    using std::runtime_error::runtime_error;
  };

  /** Thrown where a matrix is not positive definite, or not finite, in the numbers that it is stored in. */
  class NotPositiveDefinite : public Error
  {
  public:
    using Error::Error;
  };

  /** Throws Error(@p message) unless @p condition holds. Checked in every build type. */
  inline void require(const bool condition, const char *message)
  {
    if (!condition)
      throw Error(message);
  }

  inline void require(const bool condition, const std::string &message)
  {
    if (!condition)
      throw Error(message);
  }

  /** The same with a function that makes the message only if it is needed: for loops and what is called often. */
  template <typename Message, typename = std::enable_if_t<std::is_invocable_v<Message>>>
  void require(const bool condition, const Message &message)
  {
    if (!condition)
      throw Error(message());
  }
} // namespace PatchFEM
