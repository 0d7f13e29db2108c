// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/process.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/host_memory.h>
#include <patchfem/base/quote.h>

#include <deal.II/base/utilities.h>

#include <boost/algorithm/string/join.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <limits>
#include <new>
#include <regex>
#include <sstream>

namespace PatchFEM
{
  namespace
  {
    const char *const no_memory = "There is not enough memory for this problem; use fewer cells or unknowns.";

    /** What a library's exception means where threads cannot be started and allocations fail that are not checked. */
    bool is_memory_short()
    {
      return free_host_memory() < std::size_t(64) << 20;
    }

    /** Never destroyed: threads may end the process while its statics are. */
    const std::string *program_name = nullptr;

    /** Several threads may come here; the first one speaks. There may be no memory to put a sentence together. */
    [[noreturn]] void end_in_a_sentence()
    {
      static std::atomic_flag  spoken   = ATOMIC_FLAG_INIT;
      static thread_local bool speaking = false;
      if (speaking) // of a second exception, for want of memory
        std::_Exit(1);
      speaking = true;
      while (spoken.test_and_set())
        pause();
      const auto print = [](const char *text) {
        // If this cannot be written either, the exit code is all there is.
        if (write(STDERR_FILENO, text, std::strlen(text)) < 0)
          std::_Exit(1);
      };
      print(program_name->c_str());
      print(": ");
      try
      {
        if (std::current_exception())
          throw;
        // A thread that could not be started ends those that were, without an exception.
        print(is_memory_short() ? no_memory : "Something went wrong inside a library.");
      }
      catch (const std::bad_alloc &)
      {
        print(no_memory);
      }
      catch (const std::exception &)
      {
        print(message_of_exception().c_str());
      }
      catch (...)
      {
        print("Something went wrong inside a library.");
      }
      print("\n");
      std::_Exit(1);
    }

    std::string bounds_in_words(const std::string &kind, const std::string &lower, const std::string &upper)
    {
      std::string words = kind == "Integer" ? "an integer" : "a number";
      if (lower.find("MAX_") == std::string::npos && lower.find("MIN_") == std::string::npos)
        words += " from " + lower;
      if (upper.find("MAX_") == std::string::npos)
        words += " to " + upper;
      return words;
    }

    /** deal.II's descriptions of patterns, innermost first. */
    void put_patterns_in_words(std::string &text)
    {
      using Match                                                                      = const std::smatch &;
      static const std::pair<std::regex, std::function<std::string(Match)>> patterns[] = {
          {std::regex(R"(\[(Multiple)?Selection ([^\]]*)\])"),
           [](Match m) {
             return (m[1].matched ? "any of " : "one of ") +
                    boost::algorithm::join(dealii::Utilities::split_string_list(m[2], '|'), ", ");
           }},
          {std::regex(R"(\[(Integer range|Double) (\S+)\.\.\.(\S+) \(inclusive\)\])"),
           [](Match m) { return bounds_in_words(m.str(1).substr(0, 7), m[2], m[3]); }},
          {std::regex(R"(\[(Integer|Double)\])"), [](Match m) { return bounds_in_words(m[1], "MAX_", "MAX_"); }},
          {std::regex(R"(\[Bool\])"), [](Match) { return "true or false"; }},
          {std::regex(R"(\[Anything\])"), [](Match) { return "anything"; }},
          {std::regex(R"(\[List of <([^\[\]]*)> of length [^\[\]]*\])"),
           [](Match m) { return "a list, each item " + m.str(1); }},
          {std::regex(R"(\[Tuple of <([0-9]+)> elements ([^\[\]]*)\])"), [](Match m) {
             std::string items = m[2];
             items.erase(std::remove_if(items.begin(), items.end(), [](const char c) { return c == '<' || c == '>'; }),
                         items.end());
             return m.str(1) + " items: " + items;
           }}};
      std::smatch match;
      for (const auto &[pattern, words] : patterns)
        while (std::regex_search(text, match, pattern))
          text = match.prefix().str() + words(match) + match.suffix().str();
    }
  } // namespace

  void prepare_process(const std::string &program)
  {
    // A file that is open, but not for writing.
    for (int descriptor = 0; descriptor <= STDERR_FILENO; ++descriptor)
      if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != descriptor)
        std::_Exit(1);
    program_name = new std::string(program);
    std::set_terminate(end_in_a_sentence);
    // Arrays of megabytes come and go in a set-up. Freed memory stays with the process, or the system would give, and
    // zero, new pages for each: a sixth of the time of Laplace with 0.9 million unknowns on one core.
    if (mallopt(M_MMAP_THRESHOLD, 1 << 30) == 0)
      mallopt(M_MMAP_THRESHOLD, 1 << 25); // the most that some versions take
    mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  }

  bool has_memory_to_begin()
  {
    return free_host_memory() >= std::size_t(256) << 20;
  }

  void make_signals_errors()
  {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
  }

  void refuse_different_ranks(const Communicator &ranks, const std::string &build, const std::string &parameters)
  {
    const auto builds = ranks.all_gather(Communicator::Bytes(build.begin(), build.end()));
    const auto hashes = ranks.all_gather(std::hash<std::string>()(parameters));
    for (int rank = 1; rank < ranks.size(); ++rank)
    {
      const auto in_words = [&](const int r) {
        return printable(std::string(builds[r].begin(), builds[r].end()), 400);
      };
      require(builds[rank] == builds[0], "Rank ", rank, " runs ", in_words(rank), ", but rank 0 runs ", in_words(0),
              "; start the same program on all ranks.");
      require(hashes[rank] == hashes[0], "Rank ", rank,
              " has read another parameter file, or other options, than rank 0; give all ranks the same.");
    }
  }

  std::string message_of_exception()
  {
    constexpr std::size_t most = 2000; // what is quoted is short already
    try
    {
      throw;
    }
    catch (const Error &error)
    {
      return printable(error.what(), most);
    }
    catch (const std::bad_alloc &)
    {
      return no_memory;
    }
    catch (const dealii::ExceptionBase &error)
    {
      const bool known = dynamic_cast<const dealii::StandardExceptions::ExcOutOfMemory *>(&error) != nullptr;
      return known || is_memory_short() ? no_memory
                                        : "Something went wrong inside a library: " + exception_text(error) + ".";
    }
    catch (const std::exception &error)
    {
      return is_memory_short() ? no_memory
                               : printable(std::string("Something went wrong inside a library: ") + error.what(), most);
    }
  }

  // In every program with this library, also one of a user's own.
  [[maybe_unused]] static const bool sentences_are_known = [] {
    Communicator::sentence_of_others = message_of_exception;
    return true;
  }();

  std::string exception_text(const dealii::ExceptionBase &exception)
  {
    std::ostringstream text;
    exception.print_info(text);
    std::istringstream lines(text.str());
    std::string        result;
    for (std::string line; std::getline(lines, line);)
    {
      line = dealii::Utilities::trim(line);
      // Values stand in the middle, and what is wrong with them at the end.
      if (line.size() > 400)
        line.replace(200, line.size() - 400, "...");
      result += (result.empty() || line.empty() ? "" : " ") + printable(line, line.size());
    }
    put_patterns_in_words(result);
    while (!result.empty() && result.back() == '.')
      result.pop_back();
    return result;
  }
} // namespace PatchFEM
