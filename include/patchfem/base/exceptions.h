// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace PatchFEM
{
  /** @p parts, one behind the other, as a stream writes them. */
  template <typename... Parts>
  std::string text_of(const Parts &...parts)
  {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
  }

  /**
   * What the library throws for bad input and for failures that a user can act on: one sentence, text_of() its parts,
   * that names the thing, its place and the remedy. Programming errors are asserted instead.
   */
  class Error : public std::runtime_error
  {
  public:
    template <typename... Parts>
    explicit Error(const Parts &...parts) : std::runtime_error(text_of(parts...))
    {}
  };

  /** An Error that a shorter step of load or time may cure, such as a law of a material that fails at a point. */
  class StepFailure : public Error
  {
  public:
    using Error::Error;
  };

  /** A matrix, preconditioner or iteration is not positive definite or not finite. */
  class NotPositiveDefinite : public StepFailure
  {
  public:
    using StepFailure::StepFailure;
  };

  /** Throws Error(@p parts) unless @p condition holds. Checked in every build type. */
  template <typename... Parts>
  void require(const bool condition, const Parts &...parts)
  {
    if (!condition)
      throw Error(parts...);
  }

  /** The same with a function that makes the message only if it is needed: for loops and what is called often. */
  template <typename Message, typename = std::enable_if_t<std::is_invocable_v<Message>>>
  void require(const bool condition, const Message &message)
  {
    if (!condition)
      throw Error(message());
  }
} // namespace PatchFEM
