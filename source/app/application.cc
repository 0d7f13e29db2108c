// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/launch.h"

#include <patchfem/app/application.h>
#include <patchfem/app/process.h>
#include <patchfem/base/commit.h>
#include <patchfem/base/config.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/base/config.h>
#include <deal.II/base/multithread_info.h>

#include <boost/algorithm/string/predicate.hpp>

#include <omp.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

namespace PatchFEM
{
  namespace
  {
    std::string text_of(const dealii::ParameterHandler &prm, const dealii::ParameterHandler::OutputStyle style)
    {
      std::ostringstream text;
      prm.print_parameters(text, style | dealii::ParameterHandler::KeepDeclarationOrder);
      return text.str();
    }

    /** Entries of @p application, behind the one that names it. */
    void declare_parameters(Application &application, dealii::ParameterHandler &prm)
    {
      prm.declare_entry("Application", "", dealii::Patterns::Anything(),
                        "The program that the file is for, which ./patchfem run then takes wherever the file lies.");
      application.declare_parameters(prm);
    }

    /** Reads the parameters of @p command_line. @return the files that they are in */
    std::vector<std::string>
    read(const CommandLine &command_line, const Application &application, dealii::ParameterHandler &prm)
    {
      std::vector<std::string> files = read_parameters(command_line, prm);
      const std::string        named = prm.get("Application");
      require(named.empty() || named == application.name(), "The parameter file ",
              printable(command_line.parameter_file, 400), " is for the application ", quote(named), ", and this is ",
              application.name(), "; run it by ./patchfem run, or correct its entry Application.");
      return files;
    }

    /** Gives @p application the variants of @p command_line, and its parameters back. @return their names */
    std::string add_variants(const CommandLine              &command_line,
                             Application                    &application,
                             dealii::ParameterHandler       &prm,
                             const dealii::ParameterHandler &declared)
    {
      if (command_line.variants_file.empty())
        return "";
      std::string names;
      for (const Variant &variant : read_variants(command_line.variants_file))
        try
        {
          const Settings        before = set_entries(variant.settings, prm, "The variant");
          const ParametersInUse in_use = application.add_variant(variant.name, prm);
          refuse_without_effect(changed_entries(prm, declared, in_use.conditions), variant.settings);
          set_entries(before, prm, "The file");
          names += (names.empty() ? "" : ", ") + printable(variant.name);
        }
        catch (const Error &error)
        {
          throw Error(variant.place, ": ", error.what());
        }
      application.parse_parameters(prm);
      return names;
    }

    std::string directory_of(const CommandLine &command_line)
    {
      const std::filesystem::path file = command_line.parameter_file;
      return file.has_parent_path() ? file.parent_path().string() : ".";
    }

    /** Processes that @p command_line asks for; those that `auto` stands for are said. Mistakes in the file are for the run to say. */
    unsigned int
    n_ranks_asked(const CommandLine &command_line, Application &application, const dealii::ParameterHandler &declared)
    {
      if (command_line.ranks != "auto")
        return command_line.ranks.empty() ? 1 : std::stoi(command_line.ranks);
      double n_cells = 0.;
      try
      {
        dealii::ParameterHandler prm;
        declare_parameters(application, prm);
        read(command_line, application, prm);
        application.parse_parameters(prm);
        add_variants(command_line, application, prm, declared);
        n_cells = application.n_cells_on_ranks(directory_of(command_line));
      }
      catch (const std::exception &)
      {}
      const unsigned int n = internal::has_mpirun() ? internal::choose_n_ranks(n_cells, internal::n_cores()) : 1;
      if (n > 1)
        std::cout << "Starting " << n << " ranks, for some " << std::lround(n_cells / 1e5) / 10.
                  << " million cells; --ranks 1 keeps to one process." << std::endl;
      return n;
    }

    /** Lines of @p text, as ParameterHandler prints it, from `subsection A` to its `end`, for @p section `A/B` of B in A; or none. */
    std::string section_of(const std::string &text, const std::string &section)
    {
      const std::vector<std::string> names = dealii::Utilities::split_string_list(section, '/');
      std::istringstream             lines(text);
      std::string                    result, end;
      std::size_t                    depth = 0;
      for (std::string line; std::getline(lines, line);)
      {
        const std::string indent(2 * depth, ' ');
        if (depth < names.size() && boost::algorithm::iequals(line, indent + "subsection " + names[depth]))
          ++depth;
        else if (depth > 0 && depth < names.size() && line == std::string(2 * depth - 2, ' ') + "end")
          return "";
        if (depth == names.size())
          result += line + "\n";
        if (depth == names.size() && line == std::string(2 * depth - 2, ' ') + "end")
          return result;
      }
      return "";
    }

    /** Prints all parameters, or those of @p section. @return the exit code */
    int print_help(Application &application, const std::string &section)
    {
      dealii::ParameterHandler prm;
      declare_parameters(application, prm);
      std::string text = text_of(prm, dealii::ParameterHandler::PRM);
      if (!section.empty())
      {
        text = section_of(text, section);
        if (text.empty())
        {
          std::cerr << application.name() << ": There is no section " << quote(section)
                    << " of parameters; --help lists all, and Solver/AMG is that of AMG in Solver.\n";
          return 1;
        }
      }
      else
        std::cout << CommandLine::usage(application.name()) << "\nAll parameters with their defaults:\n\n";
      std::cout << text;
      return std::cout.flush().good() ? 0 : 1;
    }

    int print_version(const Application &application)
    {
      std::cout << application.name() << " of PatchFEM " << PATCHFEM_VERSION << ", commit " << commit() << ", deal.II "
                << DEAL_II_PACKAGE_VERSION <<
#ifdef PATCHFEM_WITH_CUDA
          ", with CUDA\n";
#else
          ", without CUDA\n";
#endif
      return std::cout.flush().good() ? 0 : 1;
    }

    void run(const CommandLine              &command_line,
             Application                    &application,
             const dealii::ParameterHandler &declared,
             const MPI_Comm                  communicator)
    {
      const bool                  first_rank = dealii::Utilities::MPI::this_mpi_process(communicator) == 0;
      const std::filesystem::path file       = command_line.parameter_file;

      OutputFolder folder(find_output_folder(command_line), first_rank);
      RunReport    report(application.name(), folder, communicator, command_line.verbose);
      try
      {
        refuse_different_ranks(*MPICommunicator::of(communicator), application.name() + " of PatchFEM " + commit(),
                               text_of_parameters(command_line));
        dealii::ParameterHandler prm;
        declare_parameters(application, prm);
        std::vector<std::string>        files   = read(command_line, application, prm);
        const ParametersInUse           in_use  = application.parse_parameters(prm);
        const std::vector<ChangedEntry> changed = changed_entries(prm, declared, in_use.conditions);
        refuse_without_effect(changed, command_line.settings);
        const std::string variants = add_variants(command_line, application, prm, declared);
        in_use.output.folder       = folder.name();

        const std::filesystem::path directory = directory_of(command_line);
        if (!in_use.input_file.empty())
          files.push_back((directory / in_use.input_file).string());
        if (!variants.empty())
          files.push_back(command_line.variants_file);
        for (const std::string &input : files)
          folder.check_input(input);
        folder.check_export(in_use.export_name);

        report.start(text_of(prm, dealii::ParameterHandler::PRM | dealii::ParameterHandler::Short), in_use.export_name);
        if (first_rank)
        {
          std::cout << "PatchFEM " << application.name() << ", " << file.string() << ", on "
                    << dealii::Utilities::MPI::n_mpi_processes(communicator) << " process(es), results in "
                    << folder.name() << "\n";
          for (const ChangedEntry &item : changed)
            std::cout << "  " << item.entry << " = " << printable(item.value, 400)
                      << (item.needs.empty() ? "" : " (without effect, as it is for " + item.needs + ")") << "\n";
          std::cout << "  (all others have their defaults; see " << folder.path("parameters.prm") << ")" << std::endl;
          if (!variants.empty())
            std::cout << "  Variants: " << variants << std::endl;
        }
        application.run(directory.string(), report, communicator);
        report.finish();
      }
      catch (const std::exception &)
      {
        report.fail(message_of_exception());
        throw;
      }
      require(std::cout.flush().good(), "The results in ", folder.name(),
              " are complete, but standard output could not be written; is it closed, or its disk full?");
    }

    /** Answers what needs no run: no arguments, --help, --version. @return the exit code, or nothing if a run is asked for */
    std::optional<int> answer(char **argv, char **end, Application &application)
    {
      if (argv + 1 == end)
      {
        std::cerr << CommandLine::usage(application.name());
        return 1;
      }
      for (char **argument = argv + 1; argument != end; ++argument)
      {
        const std::string option = *argument;
        if (option == "--help" || option == "-h")
          return print_help(application, argument + 1 != end && argument[1][0] != '-' ? argument[1] : "");
        if (option == "--version")
          return print_version(application);
      }
      return {};
    }

    /** Starts the ranks that are asked for, if no launcher has done so. @return whether the command line could be read */
    bool launch(const int argc, char **argv, Application &application, const dealii::ParameterHandler &declared)
    {
      try
      {
        const unsigned int n_ranks =
            internal::is_launched() ? 1 : n_ranks_asked(CommandLine(argc, argv), application, declared);
        if (n_ranks > 1)
          internal::launch_ranks(n_ranks, argv);
        return true;
      }
      catch (const std::exception &)
      {
        std::cerr << application.name() << ": " << message_of_exception() << "\n";
        return false;
      }
    }
  } // namespace

  ParametersInUse Application::add_variant(const std::string &, dealii::ParameterHandler &)
  {
    throw Error("The option --variants is for programs with finite elements, which ", name(), " is not.");
  }

  int application_main(int argc, char **argv, Application &application)
  {
    prepare_process(application.name());
    if (const std::optional<int> code = answer(argv, argv + argc, application))
      return *code;
    internal::let_waiters_sleep(argv);
    dealii::ParameterHandler declared; // while the application has its defaults
    declare_parameters(application, declared);
    if (!launch(argc, argv, application, declared))
      return 1;
    internal::let_mpi_begin_alone();
    if (!has_memory_to_begin())
    {
      std::cerr << application.name()
                << ": Within the limits of this process (ulimit -v, control groups) there are less than 256 MiB of "
                   "memory left, too few to begin; raise them.\n";
      return 1;
    }
    // The arguments are ours: PETSc would warn of them, and Kokkos take some for its own.
    int                                      n_names = 1;
    char                                    *names[] = {argv[0], nullptr}, **arguments = names;
    dealii::Utilities::MPI::MPI_InitFinalize mpi(n_names, arguments, 1);
    make_signals_errors();
    const MPI_Comm     communicator = MPI_COMM_WORLD;
    const unsigned int n_ranks      = dealii::Utilities::MPI::n_mpi_processes(communicator);
    // One process has the machine for itself; several share it, and OMP_NUM_THREADS is for those who want it otherwise.
    if (n_ranks == 1)
      dealii::MultithreadInfo::set_thread_limit();
    else if (std::getenv("OMP_NUM_THREADS") == nullptr)
      omp_set_num_threads(1);

    try
    {
      const CommandLine command_line(argc, argv);
      require(command_line.ranks.empty() || command_line.ranks == "auto" || !internal::is_launched(),
              "The option --ranks starts processes of MPI, and a launcher has started this one; use one of them.");
      run(command_line, application, declared, communicator);
      return 0;
    }
    catch (const std::exception &)
    {
      const std::string message = application.name() + ": " + message_of_exception() + "\n";
      // Most errors meet all ranks, and one message is enough; the others wait for the first rank to end the job, and
      // speak only if it is not there that things went wrong.
      if (dealii::Utilities::MPI::this_mpi_process(communicator) > 0)
        std::this_thread::sleep_for(std::chrono::seconds(1));
      // In one piece: MPI's launcher mixes what ranks write with their standard output.
      std::cerr << message << std::flush;
      if (n_ranks > 1)
        MPI_Abort(communicator, 1);
      return 1;
    }
  }
} // namespace PatchFEM
