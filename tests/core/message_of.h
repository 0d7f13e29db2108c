// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/exceptions.h>

#include <string>

/** What the Error says that @p function throws; empty if it throws none. */
template <typename Function>
std::string message_of(const Function &function)
{
  try
  {
    function();
  }
  catch (const PatchFEM::Error &error)
  {
    return error.what();
  }
  return "";
}
