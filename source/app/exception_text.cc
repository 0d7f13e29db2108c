// SPDX-License-Identifier: LGPL-2.1-or-later
#include "exception_text.h"

#include <patchfem/base/quote.h>

#include <deal.II/base/utilities.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace PatchFEM
{
  namespace
  {
    std::string bounds_in_words(const std::string &kind, const std::string &lower, const std::string &upper)
    {
      std::string words = kind == "Integer" ? "an integer" : "a number";
      if (lower.find("MAX_") == std::string::npos && lower.find("MIN_") == std::string::npos)
        words += " from " + lower;
      if (upper.find("MAX_") == std::string::npos)
        words += " to " + upper;
      return words;
    }

    /** The first match of @p pattern after the other replaced by what @p words makes of it. */
    template <typename Words>
    void replace(std::string &text, const std::regex &pattern, const Words &words)
    {
      std::smatch match;
      while (std::regex_search(text, match, pattern))
        text = match.prefix().str() + words(match) + match.suffix().str();
    }

    /** deal.II's descriptions of patterns, innermost first. */
    void put_patterns_in_words(std::string &text)
    {
      static const std::regex selection("\\[Selection ([^\\]]*)\\]"), several("\\[MultipleSelection ([^\\]]*)\\]"),
          range("\\[(Integer range|Double) (\\S+)\\.\\.\\.(\\S+) \\(inclusive\\)\\]"),
          unbounded("\\[(Integer|Double)\\]"), boolean("\\[Bool\\]"), anything("\\[Anything\\]"),
          list("\\[List of <([^\\[\\]]*)> of length [^\\[\\]]*\\]"),
          tuple("\\[Tuple of <([0-9]+)> elements ([^\\[\\]]*)\\]");
      const auto choices = [](const std::string &bars) {
        std::string result;
        for (const std::string &choice : dealii::Utilities::split_string_list(bars, '|'))
          result += (result.empty() ? "" : ", ") + choice;
        return result;
      };
      replace(text, selection, [&](const std::smatch &m) { return "one of " + choices(m[1]); });
      replace(text, several, [&](const std::smatch &m) { return "any of " + choices(m[1]); });
      replace(text, range, [](const std::smatch &m) { return bounds_in_words(m.str(1).substr(0, 7), m[2], m[3]); });
      replace(text, unbounded, [](const std::smatch &m) { return bounds_in_words(m[1], "MAX_", "MAX_"); });
      replace(text, boolean, [](const std::smatch &) { return std::string("true or false"); });
      replace(text, anything, [](const std::smatch &) { return std::string("anything"); });
      replace(text, list, [](const std::smatch &m) { return "a list, each item " + m.str(1); });
      replace(text, tuple, [](const std::smatch &m) {
        std::string items = m[2];
        items.erase(std::remove_if(items.begin(), items.end(), [](const char c) { return c == '<' || c == '>'; }),
                    items.end());
        return m.str(1) + " items: " + items;
      });
    }
  } // namespace

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
