// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/launch.h"

#include <patchfem/app/input_file.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/base/utilities.h>
#include <deal.II/grid/grid_generator.h>

#include <omp.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace PatchFEM::internal
{
  namespace
  {
    using namespace dealii;

    /** Of a generator; 0 if it gives none, which is for the run to say. */
    template <int dim>
    double n_generated_cells(const MeshParameters &parameters)
    {
      const std::string &name = parameters.generator, &arguments = parameters.generator_arguments;
      try
      {
        // Many cells are counted, not made.
        const std::string first = arguments.substr(0, arguments.find(':'));
        if (name == "subdivided_hyper_cube")
          return std::pow(Utilities::string_to_double(first), dim);
        if (name == "subdivided_hyper_rectangle")
        {
          double n = 1.;
          for (const double repetitions : Utilities::string_to_double(Utilities::split_string_list(first)))
            n *= repetitions;
          return n;
        }
        Triangulation<dim> triangulation;
        GridGenerator::generate_from_name_and_arguments(triangulation, name, arguments);
        return triangulation.n_active_cells();
      }
      catch (const std::exception &)
      {
        return 0.;
      }
    }

    void set_default(const char *variable, const char *value)
    {
      setenv(variable, value, 0);
    }
  } // namespace

  double estimate_n_cells(const MeshParameters &parameters, const unsigned int dimension, const unsigned int n_more)
  {
    double n_cells = 0.;
    if (parameters.file.empty())
      n_cells = dimension == 2 ? n_generated_cells<2>(parameters) : n_generated_cells<3>(parameters);
    else
    {
      const std::filesystem::path file = std::filesystem::path(parameters.directory) / parameters.file;
      std::error_code             failure;
      const auto                  size = std::filesystem::file_size(file, failure);
      // A line with the vertices of a cell, and its share of a line with coordinates; text is packed to a fourth.
      if (!failure)
        n_cells = static_cast<double>(size) * (is_compressed(file.string()) ? 4. : 1.) / 60.;
    }
    using Simplices = MeshParameters::Simplices;
    if (parameters.simplices != Simplices::none)
      n_cells *= (dimension == 2 ? 2. : 6.) * (parameters.simplices == Simplices::dealii ? 4. : 1.);
    return std::ldexp(n_cells, dimension * (parameters.coarse_refinements + parameters.global_refinements + n_more));
  }

  unsigned int choose_n_ranks(const double n_cells, const unsigned int n_cores)
  {
    constexpr double pays = 300e3, cells_per_rank = 20e3;
    if (n_cells < pays || n_cores < 4)
      return 1;
    return static_cast<unsigned int>(std::min<double>(n_cores, n_cells / cells_per_rank));
  }

  bool is_launched()
  {
    for (const char *variable : {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"})
      if (std::getenv(variable) != nullptr)
        return true;
    return false;
  }

  unsigned int n_cores()
  {
    cpu_set_t set;
    CPU_ZERO(&set);
    unsigned int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    // Of a container `QUOTA PERIOD` in microseconds, or `max PERIOD`.
    std::ifstream quota("/sys/fs/cgroup/cpu.max");
    double        time, period;
    if (quota >> time >> period && period > 0.)
      n = std::min<unsigned int>(n, std::max(1., std::ceil(time / period)));
    return n;
  }

  bool has_mpirun()
  {
    const char *const path = std::getenv("PATH");
    for (const std::string &folder : Utilities::split_string_list(path == nullptr ? "" : path, ':'))
      if (access((folder + "/mpirun").c_str(), X_OK) == 0)
        return true;
    return false;
  }

  void launch_ranks(const unsigned int n_ranks, char **argv)
  {
    const char *const threads = std::getenv("OMP_NUM_THREADS");
    if (n_ranks <= n_cores() && (threads == nullptr || threads == std::string("1")))
      set_default("OMPI_MCA_hwloc_base_binding_policy", "core");
    set_default("OMPI_MCA_mpi_yield_when_idle", "1");
    // Huge pages save most faults of deal.II's meshes: with 64 ranks some 15 % of a program's time.
    set_default("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    // Ranks that no batch system spreads over machines need not look for a network: of MPI_Init of four on two cores it
    // takes half, 0.2 s.
    if (std::getenv("SLURM_JOB_ID") == nullptr && std::getenv("PBS_JOBID") == nullptr &&
        std::getenv("LSB_JOBID") == nullptr)
      set_default("OMPI_MCA_pml", "ob1");
    // More ranks than cores, and root, which containers run as; Open MPI 4 and 5.
    for (const char *variable :
         {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
      set_default(variable, "1");
    set_default("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    set_default("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");

    std::string         number   = std::to_string(n_ranks);
    std::string         program  = std::filesystem::read_symlink("/proc/self/exe").string();
    char                mpirun[] = "mpirun", option[] = "-n";
    std::vector<char *> command = {mpirun, option, number.data(), program.data()};
    for (char **argument = argv + 1; *argument != nullptr; ++argument)
      if (*argument == std::string("--ranks") && argument[1] != nullptr)
        ++argument;
      else
        command.push_back(*argument);
    command.push_back(nullptr);
    std::cout.flush();
    execvp(command[0], command.data());
    throw Error(
        "The option --ranks needs mpirun, which is not in PATH; install Open MPI's programs, or run one process.");
  }

  void let_mpi_begin_alone()
  {
    if (is_launched())
      return;
    set_default("OMPI_MCA_ess_singleton_isolated", "1");
    set_default("OMPI_MCA_orte_create_session_dirs", "0"); // all such processes would have one and the same
    set_default("OMPI_MCA_pml", "ob1");
    set_default("OMPI_MCA_btl", "self");
  }

  void let_waiters_sleep(char **argv)
  {
    set_default("OMPI_MCA_mpi_yield_when_idle", "1");
    const bool single = omp_get_max_threads() == 1 || (is_launched() && std::getenv("OMP_NUM_THREADS") == nullptr);
    if (single || std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr)
      return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv); // where there is no /proc threads spin
  }
} // namespace PatchFEM::internal
