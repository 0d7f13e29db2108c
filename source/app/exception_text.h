// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/base/exceptions.h>

#include <string>

namespace PatchFEM
{
  /**
   * What an exception of deal.II says, without the frame around it, in one printable() line without a full stop, at most
   * some 400 bytes of each of its own; what is legal for a parameter in words: `[Selection a|b ]` is "one of a, b",
   * `[Double 0...MAX_DOUBLE (inclusive)]` "a number from 0".
   */
  std::string exception_text(const dealii::ExceptionBase &exception);
} // namespace PatchFEM
