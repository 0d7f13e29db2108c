// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/communicator.h>

#include <new>

std::string (*PatchFEM::Communicator::sentence_of_others)() = []() -> std::string {
  try
  {
    throw;
  }
  catch (const std::exception &exception)
  {
    return exception.what();
  }
};

void PatchFEM::Communicator::throw_first(const std::exception_ptr &own) const
{
  enum Kind : std::int64_t
  {
    none,
    error,
    not_positive_definite
  };
  std::int64_t kind = none;
  std::string  message;
  try
  {
    if (own)
      std::rethrow_exception(own);
  }
  catch (const NotPositiveDefinite &exception)
  {
    kind    = not_positive_definite;
    message = exception.what();
  }
  catch (const std::bad_alloc &)
  {
    kind    = error;
    message = text_of("Memory ran out on rank ", rank(), "; use fewer cells or unknowns, or more machines.");
  }
  catch (const Error &exception)
  {
    kind    = error;
    message = exception.what();
  }
  catch (...)
  {
    kind    = error;
    message = text_of("Something went wrong inside a library on rank ", rank(), ".");
    try
    {
      message = (size() > 1 ? text_of("Rank ", rank(), ": ") : "") + sentence_of_others();
    }
    catch (...) // what has no sentence; others wait for this rank
    {}
  }
  if (maximum(kind) == none)
    return;
  const std::vector<std::int64_t> kinds    = all_gather(kind);
  const std::vector<Bytes>        messages = all_gather(Bytes(message.begin(), message.end()));
  for (int rank = 0; rank < size(); ++rank)
  {
    const std::string text(messages[rank].begin(), messages[rank].end());
    if (kinds[rank] == not_positive_definite)
      throw NotPositiveDefinite(text);
    if (kinds[rank] == error)
      throw Error(text);
  }
}
