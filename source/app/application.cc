// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/application.h>
#include <patchfem/app/process.h>
#include <patchfem/base/commit.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/base/multithread_info.h>

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
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

    void run(const CommandLine &command_line, Application &application, const MPI_Comm communicator)
    {
      const bool                  first_rank = dealii::Utilities::MPI::this_mpi_process(communicator) == 0;
      const std::filesystem::path file       = command_line.parameter_file;

      OutputFolder folder(find_output_folder(command_line), first_rank);
      RunReport    report(application.name(), folder, communicator);
      try
      {
        refuse_different_ranks(*MPICommunicator::of(communicator), application.name() + " of PatchFEM " + commit(),
                               text_of_parameters(command_line));
        dealii::ParameterHandler prm, declared;
        application.declare_parameters(prm);
        application.declare_parameters(declared);
        std::vector<std::string>        files   = read_parameters(command_line, prm);
        const ParametersInUse           in_use  = application.parse_parameters(prm);
        const std::vector<ChangedEntry> changed = changed_entries(prm, declared, in_use.conditions);
        in_use.output.folder                    = folder.name();
        refuse_without_effect(changed, command_line);

        const std::filesystem::path directory = file.has_parent_path() ? file.parent_path() : ".";
        if (!in_use.input_file.empty())
          files.push_back((directory / in_use.input_file).string());
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
  } // namespace

  int application_main(int argc, char **argv, Application &application)
  {
    prepare_process(application.name());
    if (argc == 1)
    {
      std::cerr << CommandLine::usage(application.name());
      return 1;
    }
    if (std::any_of(argv + 1, argv + argc, [](const std::string &s) { return s == "--help" || s == "-h"; }))
    {
      dealii::ParameterHandler prm;
      application.declare_parameters(prm);
      std::cout << CommandLine::usage(application.name()) << "\nAll parameters with their defaults:\n\n"
                << text_of(prm, dealii::ParameterHandler::PRM);
      return std::cout.flush().good() ? 0 : 1;
    }

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
      run(CommandLine(argc, argv), application, communicator);
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
