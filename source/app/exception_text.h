// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/base/exceptions.h>

#include <iostream>
#include <sstream>
#include <string>

namespace PatchFEM
{
  /**
   * What an exception of deal.II says, without the frame around it, in one printable() line without a full stop, at most
   * some 400 bytes of each of its own; what is legal for a parameter in words: `[Selection a|b ]` is "one of a, b",
   * `[Double 0...MAX_DOUBLE (inclusive)]` "a number from 0".
   */
  std::string exception_text(const dealii::ExceptionBase &exception);

  /** While one lives, it keeps what deal.II's parser of formulas writes to standard error beside its exceptions. */
  class CapturedStandardError
  {
  public:
    CapturedStandardError() : original(std::cerr.rdbuf(text.rdbuf())) {}
    ~CapturedStandardError() { std::cerr.rdbuf(original); }

    /** What stands between the brackets of "Message: <...>", as a clause. */
    std::string message() const;

  private:
    std::ostringstream text;
    std::streambuf    *original;
  };
} // namespace PatchFEM
