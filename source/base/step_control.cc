// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/quote.h>
#include <patchfem/base/step_control.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>

namespace PatchFEM
{
  StepControl::StepControl(const AdditionalData &data) : step_size(data.first), data(data)
  {
    require(data.first > 0. && std::isfinite(data.first), "The first step must be above 0, not ", data.first, ".");
    require(data.largest == 0. || data.largest >= data.first, "The largest step, ", data.largest,
            ", must not be below the first, ", data.first, ".");
    require(data.least <= data.first, "The least step, ", data.least, ", must not be above the first, ", data.first,
            ".");
  }

  double StepControl::next_size(const double time, const double end) const
  {
    require(end > time, "A step from time ", time, " on cannot end at ", end, ".");
    const double rest = end - time;
    return step_size > 0.95 * rest && std::fabs(rest - step_size) > rounding * step_size ? rest : step_size;
  }

  /** The factor from the size of this step to that of the next. */
  double StepControl::factor_of(const Outcome &outcome) const
  {
    const double by_corrections = outcome.n_corrections <= data.few    ? data.growth
                                  : outcome.n_corrections <= data.many ? 1.
                                                                       : data.shrink;
    if (outcome.error == 0.)
      return by_corrections;
    const double by_error = 0.9 * std::pow(outcome.error, -1. / (outcome.order + 1.));
    return std::min(by_corrections, std::max(0.2, by_error)); // 0.2 also where the error is not a number
  }

  void StepControl::succeed(const double tried, const Outcome &outcome)
  {
    const double factor = factor_of(outcome), next = tried * factor;
    // A step that the end has made shorter says nothing against longer ones.
    step_size = std::clamp(tried < step_size && factor >= 1. ? std::max(step_size, next) : next, data.least,
                           data.largest > 0. ? data.largest : data.first);
  }

  void StepControl::cut(
      const double time, const double tried, const double factor, const unsigned int number, const std::string &failure)
  {
    const double next = factor * tried;
    ++n_cuts;
    require(number <= data.max_cut_backs && next >= data.least && time + next > time, "The step from ", time, " to ",
            time + tried, " fails, and is not tried shorter after ", number - 1, " cut backs: ", failure);
    step_size = next;
  }

  namespace
  {
    std::string trimmed(const std::string &text)
    {
      const std::size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
      return begin == std::string::npos ? "" : text.substr(begin, end + 1 - begin);
    }
  } // namespace

  Amplitudes::Amplitudes(const std::string &text, const std::string &entry) : entry(entry)
  {
    std::istringstream items(text);
    for (std::string item; std::getline(items, item, ';');)
    {
      if (trimmed(item).empty())
        continue;
      const std::size_t colon = item.find(':');
      const std::string name  = trimmed(item.substr(0, colon));
      require(colon != std::string::npos && !name.empty(), "The entry ", entry, " has ", quote(trimmed(item)),
              " where a table with its name is expected, such as 'ramp: 0 0, 1 1'.");
      require(!has(name), "The entry ", entry, " has two tables with the name ", quote(name), ".");
      Table             &table = tables[name];
      std::istringstream points(item.substr(colon + 1));
      for (std::string point; std::getline(points, point, ',');)
      {
        std::istringstream numbers(point);
        double             time, value;
        require(numbers >> time >> value && (numbers >> std::ws).eof(), "The entry ", entry, " has ",
                quote(trimmed(point)), " in table ", quote(name),
                " where a time and a value are expected, such as '0.5 1'.");
        require(table.empty() || table.rbegin()->first < time, "The entry ", entry, " has time ", time, " in table ",
                quote(name), " behind one that is not before it; times must increase.");
        table[time] = value;
      }
      require(!table.empty(), "The entry ", entry, " has no point in table ", quote(name),
              "; write a time and a value, such as '0 1'.");
    }
  }

  double Amplitudes::value(const std::string &name, const double time) const
  {
    const auto found = tables.find(name);
    require(found != tables.end(), "The entry ", entry, " has no table ", quote(name), ".");
    const Table &table = found->second;
    const auto   after = table.upper_bound(time);
    if (after == table.begin() || after == table.end())
      return after == table.begin() ? after->second : table.rbegin()->second;
    const auto [from, a] = *std::prev(after);
    return a + (time - from) / (after->first - from) * (after->second - a);
  }

  std::map<std::string, std::string> Amplitudes::formulas() const
  {
    std::map<std::string, std::string> result;
    for (const auto &[name, table] : tables)
    {
      std::ostringstream formula;
      formula.precision(17);
      formula << "(t < " << table.begin()->first << " ? " << table.begin()->second;
      for (auto point = table.begin(), next = std::next(point); next != table.end(); point = next++)
        formula << " : t < " << next->first << " ? " << point->second << " + (t - (" << point->first << ")) * ("
                << (next->second - point->second) / (next->first - point->first) << ')';
      formula << " : " << table.rbegin()->second << ')';
      result[name] = formula.str();
    }
    return result;
  }

  double Amplitudes::next_point(const double time) const
  {
    double next = std::numeric_limits<double>::infinity();
    for (const auto &item : tables)
    {
      // That at which a step has just ended may be above it by rounding.
      const Table &table = item.second;
      const auto   point = table.upper_bound(time + 1e-9 * (table.rbegin()->first - table.begin()->first));
      if (point != table.end())
        next = std::min(next, point->first);
    }
    return next;
  }
} // namespace PatchFEM
