// SPDX-License-Identifier: LGPL-2.1-or-later
// Usage: refusals CASES [NAME]
// Calls the main functions of applications with arguments that they refuse, each in a process of its own that begins with
// all libraries loaded. A line of CASES is NAME, program, regular expression and arguments, separated by tabs; results go to
// out/NAME. With NAME that case alone. The program must end with a code other than 0, and with one line on standard error,
// of at most 1500 printable bytes, that begins with its name and matches; a report that it left says that the run failed.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

// main of each application, as it is called in the objects that this program is linked of.
#define PROGRAM(name) extern "C" int main_of_##name(int, char **);
PATCHFEM_PROGRAMS
#undef PROGRAM
#define PROGRAM(name) {#name, main_of_##name},
static const std::map<std::string, int (*)(int, char **)> programs = {PATCHFEM_PROGRAMS};

namespace
{
  std::string content(const std::string &file)
  {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  /** Becomes @p program with @p arguments, the errors of which go to a file. */
  [[noreturn]] void become(const std::string &program, std::vector<std::string> arguments, const std::string &errors)
  {
    std::vector<char *> argv;
    for (std::string &argument : arguments)
      argv.push_back(argument.data());
    argv.push_back(nullptr);
    if (std::freopen("/dev/null", "w", stdout) == nullptr || std::freopen(errors.c_str(), "w", stderr) == nullptr)
      std::_Exit(0);
    std::exit(programs.at(program)(static_cast<int>(arguments.size()), argv.data()));
  }

  /** What is wrong with how the program ended; empty if nothing is. */
  std::string mistake(const int status, std::string errors, const std::string &program, const std::string &regex)
  {
    if (!WIFEXITED(status))
      return "it was ended by signal " + std::to_string(WTERMSIG(status));
    if (WEXITSTATUS(status) == 0)
      return "the run succeeded; it should have been refused";
    if (!errors.empty() && errors.back() == '\n')
      errors.pop_back();
    if (errors.rfind(program + ": ", 0) != 0 || errors.find('\n') != std::string::npos ||
        !std::regex_search(errors, std::regex(regex)))
      return "standard error is not one sentence that matches '" + regex + "'";
    if (errors.size() > 1500 || errors.find('\x1b') != std::string::npos)
      return "standard error is too long, or has characters that no terminal should get";
    return "";
  }
} // namespace

int main(int argc, char **argv)
{
  std::ifstream cases(argc > 1 ? argv[1] : "");
  int           n = 0, n_failed = 0;
  for (std::string line; std::getline(cases, line);)
  {
    std::istringstream       fields(line);
    std::string              name, program, regex;
    std::vector<std::string> arguments;
    std::getline(std::getline(std::getline(fields, name, '\t'), program, '\t'), regex, '\t');
    arguments.push_back(program);
    for (std::string argument; std::getline(fields, argument, '\t');)
      arguments.push_back(argument);
    if (argc > 2 && name != argv[2])
      continue;
    ++n;
    const std::string folder = "out/" + name;
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories("out");
    arguments.insert(arguments.end(), {"--output", folder});

    const std::string errors = folder + ".errors";
    std::cout << std::flush;
    const pid_t child = fork();
    if (child == 0)
      become(program, arguments, errors);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
      return EXIT_FAILURE;
    const std::string said = content(errors), report = content(folder + "/report.json");
    std::string       wrong = mistake(status, said, program, regex);
    if (wrong.empty() && !report.empty() &&
        (report.find("\"finished\": false") == std::string::npos ||
         report.find("\"error\": null") != std::string::npos))
      wrong = "the report does not say that the run failed";
    for (const auto &file : std::filesystem::exists(folder) ? std::filesystem::directory_iterator(folder)
                                                            : std::filesystem::directory_iterator())
      if (file.path().extension() == ".part")
        wrong = "an unfinished file is left: " + file.path().string();
    if (wrong.empty())
      continue;
    ++n_failed;
    std::cout << name << ": " << wrong << "\n  " << said << '\n';
  }
  std::cout << n - n_failed << " of " << n << " cases are refused as they should be\n";
  return n > 0 && n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
