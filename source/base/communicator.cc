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

PatchFEM::Communicator::Failure PatchFEM::Communicator::failure(const std::exception_ptr &own) const
{
  try
  {
    if (own)
      std::rethrow_exception(own);
    return {};
  }
  catch (const NotPositiveDefinite &exception)
  {
    return {Failure::not_positive_definite, exception.what()};
  }
  catch (const StepFailure &exception)
  {
    return {Failure::step_failure, exception.what()};
  }
  catch (const std::bad_alloc &)
  {
    return {Failure::error,
            text_of("Memory ran out on rank ", rank(), "; use fewer cells or unknowns, or more machines.")};
  }
  catch (const Error &exception)
  {
    return {Failure::error, exception.what()};
  }
  catch (...)
  {
    try
    {
      return {Failure::error, (size() > 1 ? text_of("Rank ", rank(), ": ") : "") + sentence_of_others()};
    }
    catch (...) // what has no sentence; others wait for this rank
    {}
  }
  return {Failure::error, text_of("Something went wrong inside a library on rank ", rank(), ".")};
}

void PatchFEM::Communicator::Failure::raise() const
{
  if (kind == not_positive_definite)
    throw NotPositiveDefinite(message);
  if (kind == step_failure)
    throw StepFailure(message);
  if (kind == error)
    throw Error(message);
}

void PatchFEM::Communicator::settle(const bool failed, const std::exception_ptr &own) const
{
  told = nullptr;
  if (!failed)
    return;
  const Failure                   mine     = failure(own);
  const std::vector<std::int64_t> kinds    = all_gather(std::int64_t(mine.kind));
  const std::vector<Bytes>        messages = all_gather(Bytes(mine.message.begin(), mine.message.end()));
  try
  {
    for (int rank = 0; rank < size(); ++rank)
      Failure{Failure::Kind(kinds[rank]), std::string(messages[rank].begin(), messages[rank].end())}.raise();
  }
  catch (...)
  {
    told = std::current_exception();
    throw;
  }
}
