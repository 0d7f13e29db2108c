// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/application.h>
#include <patchfem/app/problem.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/base/multithread_info.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <thread>

namespace PatchFEM
{
  namespace
  {
    /** The entries whose value is not the default, one per line with their section. */
    std::string changed_entries(const dealii::ParameterHandler &prm)
    {
      std::ostringstream text;
      prm.print_parameters(text, dealii::ParameterHandler::PRM | dealii::ParameterHandler::KeepDeclarationOrder);
      std::istringstream       lines(text.str());
      std::vector<std::string> sections;
      std::string              line, result;
      while (std::getline(lines, line))
      {
        line = dealii::Utilities::trim(line);
        if (line.rfind("subsection ", 0) == 0)
          sections.push_back(line.substr(11));
        else if (line == "end" && !sections.empty())
          sections.pop_back();
        else if (line.rfind("set ", 0) == 0 && line.find("# default:") != std::string::npos)
        {
          result += "  ";
          for (const std::string &section : sections)
            result += section + "/";
          const std::string entry  = line.substr(4, line.find("# default:") - 4);
          const std::size_t equals = entry.find('=');
          result += dealii::Utilities::trim(entry.substr(0, equals)) + " = " +
                    dealii::Utilities::trim(entry.substr(equals + 1)) + "\n";
        }
      }
      return result;
    }

    /** The exception that is being handled, in a sentence. */
    std::string message_of_exception()
    {
      try
      {
        throw;
      }
      catch (const Error &error)
      {
        return error.what();
      }
      catch (const std::bad_alloc &)
      {
        return "There is not enough memory for this problem; use fewer cells or unknowns.";
      }
      catch (const std::exception &error)
      {
        return std::string("Something went wrong inside a library: ") + error.what();
      }
    }

    void run(const CommandLine &command_line, Application &application, const MPI_Comm communicator)
    {
      const bool first_rank = dealii::Utilities::MPI::this_mpi_process(communicator) == 0;

      dealii::ParameterHandler prm;
      application.declare_parameters(prm);
      read_parameters(command_line, prm);

      namespace fs          = std::filesystem;
      const fs::path file   = command_line.parameter_file;
      std::string   &folder = application.parse_parameters(prm).folder;
      if (!command_line.output_folder.empty())
        folder = command_line.output_folder;
      else if (folder.empty())
        folder = (fs::path("output") / file.stem()).string();
      std::error_code failure;
      fs::create_directories(folder, failure);
      require(!failure && fs::is_directory(folder),
              "The output folder " + folder + " cannot be made; choose another with --output.");

      if (first_rank)
      {
        std::cout << "PatchFEM " << application.name() << ", " << file.string() << ", on "
                  << dealii::Utilities::MPI::n_mpi_processes(communicator) << " process(es), results in " << folder
                  << "\n"
                  << changed_entries(prm) << "  (all others have their defaults; see " << folder << "/parameters.prm)"
                  << std::endl;
        write_file(folder + "/parameters.prm", [&](std::ostream &out) {
          prm.print_parameters(out, dealii::ParameterHandler::PRM | dealii::ParameterHandler::Short |
                                        dealii::ParameterHandler::KeepDeclarationOrder);
        });
      }
      RunReport report(application.name(), folder, communicator);
      report.start(application.export_file());
      try
      {
        application.run(file.has_parent_path() ? file.parent_path().string() : ".", report, communicator);
      }
      catch (const std::exception &)
      {
        report.fail(message_of_exception());
        throw;
      }
      report.finish();
    }

    /** A Problem with a physics. */
    class FiniteElementApplication : public Application
    {
    public:
      explicit FiniteElementApplication(PhysicsParameters &physics) : physics(physics) {}

      std::string name() const override { return physics.name(); }

      void declare_parameters(dealii::ParameterHandler &prm) const override
      {
        ProblemParameters::declare_parameters(prm);
        physics.declare_parameters(prm);
      }

      OutputParameters &parse_parameters(dealii::ParameterHandler &prm) override
      {
        parameters.parse_parameters(prm, physics.vector_valued());
        physics.parse_parameters(prm);
        return parameters.output;
      }

      std::string export_file() const override { return parameters.general.export_file(parameters.output.folder); }

      void run(const std::string &directory, RunReport &report, const MPI_Comm communicator) override
      {
        parameters.mesh.directory  = directory;
        const Constants &constants = parameters.general.constants;
        if (parameters.general.dimension == 2)
          Problem<2>(parameters, physics.make_physics<2>(constants), report, communicator).run();
        else
          Problem<3>(parameters, physics.make_physics<3>(constants), report, communicator).run();
      }

    private:
      PhysicsParameters &physics;
      ProblemParameters  parameters;
    };
  } // namespace

  int application_main(int argc, char **argv, PhysicsParameters &physics)
  {
    FiniteElementApplication application(physics);
    return application_main(argc, argv, application);
  }

  int application_main(int argc, char **argv, Application &application)
  {
    if (argc == 1)
    {
      std::cerr << CommandLine::usage(application.name());
      return 1;
    }
    if (std::any_of(argv + 1, argv + argc, [](const std::string &s) { return s == "--help" || s == "-h"; }))
    {
      std::cout << CommandLine::usage(application.name()) << "\nAll parameters with their defaults:\n\n";
      dealii::ParameterHandler prm;
      application.declare_parameters(prm);
      prm.print_parameters(std::cout, dealii::ParameterHandler::PRM | dealii::ParameterHandler::KeepDeclarationOrder);
      return 0;
    }

    // The arguments are ours: PETSc would warn of them, and Kokkos take some for its own.
    int                                      n_names = 1;
    char                                    *names[] = {argv[0], nullptr}, **arguments = names;
    dealii::Utilities::MPI::MPI_InitFinalize mpi(n_names, arguments, 1);
    const MPI_Comm                           communicator = MPI_COMM_WORLD;
    const unsigned int                       n_ranks      = dealii::Utilities::MPI::n_mpi_processes(communicator);
    const unsigned int                       rank         = dealii::Utilities::MPI::this_mpi_process(communicator);
    // One process has the machine for itself; several share it.
    if (n_ranks == 1)
      dealii::MultithreadInfo::set_thread_limit();

    std::string message;
    try
    {
      const CommandLine command_line(argc, argv);
      run(command_line, application, communicator);
      return 0;
    }
    catch (const std::exception &)
    {
      message = message_of_exception();
    }

    // Most errors meet all ranks, and one message is enough; the others wait for the first rank to end the job, and
    // speak only if it is not there that things went wrong.
    if (rank > 0)
      std::this_thread::sleep_for(std::chrono::seconds(1));
    std::cerr << application.name() << ": " << message << std::endl;
    if (n_ranks > 1)
      MPI_Abort(communicator, 1);
    return 1;
  }
} // namespace PatchFEM
