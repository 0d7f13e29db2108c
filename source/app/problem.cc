// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/launch.h"

#include <patchfem/app/application.h>
#include <patchfem/app/discretiser.h>
#include <patchfem/app/evaluate_results.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/output.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/lac/matrix/matrix_factory.h>

#include <iostream>
#include <utility>

namespace PatchFEM
{
  using namespace dealii;

  namespace
  {
    /**
     * The cycle of an application: mesh, unknowns and constraints, linear system, errors, pictures, refinement.
     * A Physics says what is solved; a LinearSystemPath, and others beside it, how.
     */
    template <int dim>
    class Problem
    {
    public:
      using Variants = std::vector<std::pair<std::string, ProblemParameters>>;

      /** @param variants Are to live as long as this, and so are the others. */
      Problem(const ProblemParameters &parameters,
              const Variants          &variants,
              Physics<dim>            &physics,
              RunReport               &report,
              const MPI_Comm           communicator)
          : parameters(parameters), physics(physics), communicator(communicator),
            first_rank(Utilities::MPI::this_mpi_process(communicator) == 0), progress(first_rank),
            discretiser(parameters, physics, progress, communicator), report(report), pictures(parameters.output.folder)
      {
        path = make_path(parameters);
        for (const auto &variant : variants)
          try
          {
            variant_paths.push_back({variant.first, make_path(variant.second)});
          }
          catch (const Error &error)
          {
            throw Error("The variant ", quote(variant.first), ": ", error.what());
          }
        if (parameters.general.baseline != "none")
          baseline = make_reference_path<dim>(parameters.general.baseline, parameters, progress, communicator);
      }

      void run()
      {
        for (unsigned int cycle = 0; cycle < parameters.refinement.n_cycles; ++cycle)
        {
          CycleReport   result;
          StageSeconds &seconds = result.path.seconds;
          seconds.mesh          = timed(communicator, progress, "mesh", [&] {
            if (cycle > 0 && parameters.refinement.adaptive)
              discretiser.mark_cells(solution);
            discretiser.make_mesh(cycle);
          });
          if (cycle == 0)
          {
            discretiser.describe_mesh(report);
            path.prepare();
          }
          seconds.dofs = timed(communicator, progress, "unknowns and constraints", [&] { setup_dofs(cycle == 0); });
          discretiser.describe(result, cycle);

          solve(result);
          result.path.seconds.output = timed(communicator, progress, "output", [&] {
            result.add_caution(physics.caution_after(discretisation, solution));
            write_output(cycle, result.path);
          });

          if (result.path.amg)
            result.path.amg->groups.clear(); // they are in the picture
          report.add_cycle(std::move(result));
        }
        report.print_summary();
      }

    private:
      const ProblemParameters   &parameters;
      Physics<dim>              &physics;
      const MPI_Comm             communicator;
      const bool                 first_rank;
      Progress                   progress;
      Discretiser<dim>           discretiser;
      const Discretisation<dim> &discretisation = discretiser.discretisation();
      RequestedResults<dim>      requested;
      SolutionVector             solution;

      LinearSystemPath<dim> path, baseline; ///< the latter may be empty
      struct VariantPath
      {
        std::string           name;
        LinearSystemPath<dim> path;
        bool                  prepared = false;
      };
      std::vector<VariantPath> variant_paths;
      RunReport               &report;
      PictureSeries            pictures;

      LinearSystemPath<dim> make_path(const ProblemParameters &parameters)
      {
        const std::string &preconditioner = parameters.solver.preconditioner;
        if (parameters.general.backend == "trilinos")
        {
          const std::string chosen = preconditioner == "auto" ? "ml" : preconditioner;
          const auto        exists = [](const PreconditionerRow &row) { return row.is(PreconditionerRow::reference); };
          require(exists(preconditioner_row(chosen)), "Solver/Preconditioner ", preconditioner,
                  " does not exist with Backend = trilinos; choose ", names_of_preconditioners(exists, ", ", " or "),
                  ".");
          return make_reference_path<dim>("trilinos_" + chosen, parameters, progress, communicator);
        }
        return make_patch_path<dim>(parameters, report, progress, communicator);
      }

      void setup_dofs(const bool first_cycle)
      {
        discretiser.setup_dofs(first_cycle);
        require(!physics.has_unit_rhs() || discretisation.constraints->n_constraints() == 0,
                "Loads/Right-hand side = ones is for problems without Dirichlet values, periodicity and hanging nodes; "
                "choose loads.");
        if (first_cycle)
          requested = RequestedResults<dim>(parameters.results, parameters.general.constants, discretiser.facts(),
                                            *discretisation.mapping, discretiser.mesh());
        discretiser.find_free_motions(first_cycle);
      }

      /** By @p way, whose solution has @p name in sentences; @p shared is what all ways have. */
      PathReport
      solve_by(const LinearSystemPath<dim> &way, const std::string &name, const StageSeconds &shared, SolutionVector &x)
      {
        PathReport result   = way.solve(discretisation, physics, x);
        result.seconds.mesh = shared.mesh;
        result.seconds.dofs = shared.dofs;
        describe_imbalance(discretisation, result.null_space);
        remove_free_modes(discretisation, x);
        const bool finite = std::all_of(x.begin(), x.end(), [](const double v) { return std::isfinite(v); });
        require(Utilities::MPI::min(int(finite), communicator) == 1, name,
                " is not finite; choose other units for loads and coefficients.");
        result.errors = discretiser.compute_errors(x);
        return result;
      }

      /** One that fails is a row that says why; of several ranks not all may know, and the run ends. */
      VariantReport solve_variant(VariantPath &variant, const StageSeconds &shared, const SolutionVector &reference)
      {
        VariantReport result{variant.name, {}, {}, ""};
        progress.stage("variant " + variant.name);
        try
        {
          if (!std::exchange(variant.prepared, true))
            variant.path.prepare();
          SolutionVector x;
          result.path = solve_by(variant.path, "The solution", shared, x);
          result.path.solved.reset();
          result.difference = Difference(x, reference);
        }
        catch (const Error &error)
        {
          result.error = error.what();
          if (Utilities::MPI::n_mpi_processes(communicator) > 1)
            throw Error("The variant ", quote(variant.name), ": ", error.what());
        }
        return result;
      }

      void solve(CycleReport &cycle)
      {
        const StageSeconds shared  = cycle.path.seconds;
        cycle.path                 = solve_by(path, "The solution", shared, solution);
        cycle.path.seconds.results = timed(communicator, progress, "results", [&] {
          cycle.results = evaluate_results<dim>({discretisation, physics, discretiser.essential_conditions(),
                                                 discretiser.continuity_constraints(), discretiser.facts(), solution,
                                                 cycle.path.null_space, parameters.solver.tolerance},
                                                requested, std::move(cycle.path.solved));
        });
        SolutionVector other;
        if (baseline.solve)
        {
          cycle.baseline   = solve_by(baseline, "The baseline's solution", shared, other);
          cycle.difference = Difference(solution, other);
        }
        for (VariantPath &variant : variant_paths)
          cycle.variants.push_back(solve_variant(variant, shared, baseline.solve ? other : solution));
      }

      void write_output(const unsigned int cycle, const PathReport &path_report)
      {
        report.begin();
        if (!parameters.output.wants_picture(cycle + 1 == parameters.refinement.n_cycles))
          return;
        const double largest = solution.linfty_norm();
        if (first_rank)
          note_range_of_pictures(largest, std::cout);
        const std::string file =
            write_picture(parameters.output.folder, "solution-" + std::to_string(cycle), discretisation, physics,
                          solution, path_report, discretiser.facts().materials);
        if (first_rank)
          pictures.add(cycle, file);
      }
    };
  } // namespace

  void FiniteElementApplication::declare_parameters(ParameterHandler &prm)
  {
    variants.clear();
    // In the order in which a user asks: the domain, what acts on it, how fine, what comes out, and how it is solved.
    parameters.general.declare_parameters(prm);
    parameters.mesh.declare_parameters(prm);
    parameters.essential.declare_parameters(prm, vector_valued());
    declare_physics(prm);
    parameters.declare_parameters(prm);
  }

  double FiniteElementApplication::n_cells_on_ranks(const std::string &directory)
  {
    parameters.mesh.directory                = directory;
    const RefinementParameters &refinement   = parameters.refinement;
    const auto                  is_for_ranks = [](const ProblemParameters &p) {
      return p.general.backend == "trilinos" || p.assembly.format == "auto" ||
             format_row(p.assembly.format).is(FormatRow::assembled);
    };
    const bool one_process =
        parameters.general.baseline == "umfpack" || !parameters.general.export_system.empty() ||
        parameters.output.aggregates || !is_for_ranks(parameters) ||
        !std::all_of(variants.begin(), variants.end(), [&](const auto &item) { return is_for_ranks(item.second); });
    if (one_process)
      return 0.;
    return internal::estimate_n_cells(parameters.mesh, parameters.general.dimension,
                                      refinement.adaptive ? 0 : refinement.n_cycles - 1);
  }

  ParametersInUse FiniteElementApplication::parse_parameters(ParameterHandler &prm)
  {
    parameters.parse_parameters(prm, vector_valued());
    return {parameters.output, problem_conditions(parameters), parameters.general.export_system, parameters.mesh.file};
  }

  ParametersInUse FiniteElementApplication::add_variant(const std::string &name, ParameterHandler &prm)
  {
    const ParametersInUse result = parse_parameters(prm);
    // Files are those of the run itself.
    ProblemParameters variant = parameters;
    variant.general.export_system.clear();
    variant.output.pictures   = "none";
    variant.output.aggregates = false;
    variants.emplace_back(name, variant);
    return result;
  }

  void FiniteElementApplication::run(const std::string &directory, RunReport &report, const MPI_Comm communicator)
  {
    parameters.mesh.directory = directory;
    if (parameters.general.dimension == 2)
      Problem<2>(parameters, variants, *make_physics_2d(), report, communicator).run();
    else
      Problem<3>(parameters, variants, *make_physics_3d(), report, communicator).run();
  }
} // namespace PatchFEM
