// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/commit.h>
#include <patchfem/base/exceptions.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

/** What the benchmarks share: command line, medians, and results as lines on the screen and as JSON. */
namespace benchmark
{
  using PatchFEM::Error;
  using PatchFEM::require;

  inline double median(std::vector<double> values)
  {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n == 0 ? 0. : (n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]));
  }

  /** Options of the form `--name value` and flags `--name`; whatever is not declared is refused. */
  class Options
  {
  public:
    Options(std::map<std::string, std::string> defaults, std::vector<std::string> flag_names)
        : values(std::move(defaults)), flags(std::move(flag_names))
    {
      values.emplace("json", "");
    }

    void parse(const int argc, char **argv)
    {
      for (int i = 1; i < argc; ++i)
      {
        const std::string argument = argv[i], name = argument.substr(0, 2) == "--" ? argument.substr(2) : "";
        if (std::find(flags.begin(), flags.end(), name) != flags.end())
          given.push_back(name);
        else if (values.count(name) > 0)
        {
          require(i + 1 < argc, "The option " + argument + " needs a value.");
          values[name] = argv[++i];
        }
        else
          throw Error("Unknown option " + argument + "; known are" + known() + ".");
      }
    }

    const std::string &get(const std::string &name) const { return values.at(name); }

    int get_int(const std::string &name) const
    {
      std::size_t end   = 0;
      int         value = 0;
      try
      {
        value = std::stoi(get(name), &end);
      }
      catch (const std::exception &)
      {
        end = std::string::npos;
      }
      require(end == get(name).size() && value > 0,
              "The option --" + name + " needs a positive integer, not \"" + get(name) + "\".");
      return value;
    }

    bool flag(const std::string &name) const { return std::find(given.begin(), given.end(), name) != given.end(); }

  private:
    std::map<std::string, std::string> values;
    std::vector<std::string>           flags, given;

    std::string known() const
    {
      std::string result;
      for (const auto &value : values)
        result += " --" + value.first + " VALUE";
      for (const std::string &name : flags)
        result += " --" + name;
      return result;
    }
  };

  /** One measured number; see results/README.md. */
  struct Result
  {
    std::string                   name, metric;
    double                        value;
    std::string                   unit;
    double                        limit; ///< 0: there is none
    bool                          verified;
    std::map<std::string, double> further;
    bool                          detail = false; ///< kept, but not shown in the table
    std::string                   note   = "";    ///< in words, such as the kernel that ran
  };

  /** Collects results, prints each as it comes and writes all of them as JSON. */
  class Report
  {
  public:
    Report(std::string benchmark_name, std::string device_name)
        : benchmark(std::move(benchmark_name)), device(std::move(device_name))
    {
      std::printf("%s on %s, commit %s\n", benchmark.c_str(), device.c_str(), PatchFEM::commit().c_str());
    }

    double      copy_rate = 0., read_rate = 0.; ///< bytes per second
    int         threads = 0;                    ///< on the host
    std::string processor;                      ///< of the host, where a run measures it beside the device

    void print_rates() const
    {
      std::printf("copy %.3f TB/s, read %.3f TB/s\n", copy_rate / 1e12, read_rate / 1e12);
      std::fflush(stdout);
    }

    void add(const Result &result)
    {
      results.push_back(result);
      std::printf("%-64s %-10s %10.4g %-6s", result.name.c_str(), result.metric.c_str(), result.value,
                  result.unit.c_str());
      if (result.limit > 0.)
        std::printf("  %5.1f %% of %.4g", 100. * fraction(result), result.limit);
      for (const auto &entry : result.further)
        std::printf("  %s %.4g", entry.first.c_str(), entry.second);
      std::printf("  %s%s%s\n", result.verified ? "verified" : "WRONG", result.note.empty() ? "" : ": ",
                  result.note.c_str());
      std::fflush(stdout);
    }

    bool all_verified() const
    {
      return std::all_of(results.begin(), results.end(), [](const Result &result) { return result.verified; });
    }

    /** Writes to a temporary name first, so that an interrupted run leaves no half file. */
    void write(const std::string &file_name) const
    {
      if (file_name.empty())
        return;
      const std::string temporary = file_name + ".tmp";
      {
        std::ofstream out(temporary);
        out.precision(9);
        char              date[16];
        const std::time_t now = std::time(nullptr);
        std::strftime(date, sizeof(date), "%Y-%m-%d", std::localtime(&now));
        out << "{\n  \"benchmark\": " << quoted(benchmark) << ",\n  \"commit\": " << quoted(PatchFEM::commit())
            << ",\n  \"device\": " << quoted(device) << ",\n  \"date\": " << quoted(date);
        if (threads > 0)
          out << ",\n  \"threads\": " << threads;
        if (!processor.empty())
          out << ",\n  \"processor\": " << quoted(processor);
        if (copy_rate > 0.)
          out << ",\n  \"copy_rate\": " << copy_rate << ",\n  \"read_rate\": " << read_rate;
        out << ",\n  \"results\": [";
        for (std::size_t i = 0; i < results.size(); ++i)
        {
          const Result &result = results[i];
          out << (i == 0 ? "\n" : ",\n") << "    {\"case\": " << quoted(result.name)
              << ", \"metric\": " << quoted(result.metric) << ", \"value\": " << number(result.value)
              << ", \"unit\": " << quoted(result.unit);
          if (result.limit > 0.)
            out << ", \"limit\": " << number(result.limit) << ", \"fraction_of_limit\": " << number(fraction(result));
          for (const auto &entry : result.further)
            out << ", " << quoted(entry.first) << ": " << number(entry.second);
          if (result.detail)
            out << ", \"detail\": true";
          if (!result.note.empty())
            out << ", \"note\": " << quoted(result.note);
          out << ", \"verified\": " << (result.verified ? "true" : "false") << "}";
        }
        out << "\n  ]\n}\n";
        require(out.good(), "The file " + temporary + " could not be written.");
      }
      require(std::rename(temporary.c_str(), file_name.c_str()) == 0,
              "The file " + file_name + " could not be written.");
    }

  private:
    std::string         benchmark, device;
    std::vector<Result> results;

    /** Of a rate value / limit, of a time limit / value. */
    static double fraction(const Result &result)
    {
      const bool is_time = result.unit == "s" || result.unit.substr(0, 2) == "s/";
      return is_time ? result.limit / result.value : result.value / result.limit;
    }

    static std::string number(const double value)
    {
      if (!std::isfinite(value))
        return "null"; // JSON knows no other; such a result is not verified
      char text[32];
      std::snprintf(text, sizeof(text), "%.9g", value);
      return text;
    }

    static std::string quoted(const std::string &text)
    {
      std::string result = "\"";
      for (const char c : text)
      {
        if (c == '"' || c == '\\')
          result += '\\';
        result += c;
      }
      return result + "\"";
    }
  };

  /** Medians and extremes of @p n_repetitions calls, in seconds by the clock of the host. */
  inline std::vector<double> host_times(const int n_repetitions, const std::function<void()> &function)
  {
    std::vector<double> seconds;
    for (int i = 0; i < n_repetitions; ++i)
    {
      const auto start = std::chrono::steady_clock::now();
      function();
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return seconds;
  }

  /** Runs @p body and turns Error into one sentence and exit code 1. */
  inline int run(const std::function<int()> &body)
  {
    try
    {
      return body();
    }
    catch (const std::exception &error)
    {
      std::fprintf(stderr, "error: %s\n", error.what());
      return 1;
    }
  }
} // namespace benchmark
