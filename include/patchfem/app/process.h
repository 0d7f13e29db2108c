// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/communicator.h>

#include <deal.II/base/exceptions.h>

#include <string>

namespace PatchFEM
{
  /**
   * Lets the process end in a sentence and a code that is not 0 where it would be killed, or write where it should not:
   * - an exception that nobody can catch, such as that of a thread without memory, is printed behind @p program;
   * - an output that is closed fails when something is printed, and its number is not given to the next file that is
   *   opened, which would get what is printed.
   */
  void prepare_process(const std::string &program);

  /** Whether MPI and threads can begin, which end in words of their own without memory: 256 MiB can be allocated. */
  bool has_memory_to_begin();

  /** A reader that has gone and a file that may not grow are errors of writing from here on; MPI is to begin before. */
  void make_signals_errors();

  /**
   * Collective: throws on all ranks if one runs another build than rank 0, or has read other parameters, in a sentence
   * that names the first such rank. @p build says what program it is, and @p parameters has all that was read.
   */
  void refuse_different_ranks(const Communicator &ranks, const std::string &build, const std::string &parameters);

  /** The exception that is being handled, in a sentence that every terminal can show. */
  std::string message_of_exception();

  /**
   * What an exception of deal.II says, without the frame around it, in one printable() line without a full stop, at
   * most some 400 bytes of each of its own; what is legal for a parameter in words: `[Selection a|b ]` is "one of a,
   * b", `[Double 0...MAX_DOUBLE (inclusive)]` "a number from 0".
   */
  std::string exception_text(const dealii::ExceptionBase &exception);
} // namespace PatchFEM
