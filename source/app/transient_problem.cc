// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/transient_problem.h"

#include <patchfem/app/discretiser.h>
#include <patchfem/app/evaluate_results.h>
#include <patchfem/app/field_evaluation.h>
#include <patchfem/app/linear_solver.h>
#include <patchfem/app/output.h>
#include <patchfem/app/report.h>
#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/assembly/law_system_dealii.h>
#include <patchfem/base/threads.h>

#include <deal.II/dofs/dof_tools.h>

#include <iostream>
#include <limits>

namespace PatchFEM
{
  using namespace dealii;

  namespace
  {
    template <int dim>
    class TransientProblem
    {
    public:
      TransientProblem(const TransientProblemParameters &parameters,
                       LawPhysics<dim>                  &physics,
                       RunReport                        &report,
                       const MPI_Comm                    communicator)
          : parameters(parameters.problem), steps(parameters.steps), physics(physics), communicator(communicator),
            first_rank(Utilities::MPI::this_mpi_process(communicator) == 0), progress(first_rank),
            discretiser(this->parameters, physics, progress, communicator), newton(parameters.newton),
            newton_tolerance(parameters.newton.tolerance), report(report), pictures(this->parameters.output.folder)
      {}

      void run()
      {
        clock = {steps.end, 1.}; // where all formulas are to have a value
        const auto choose_backend =
            PatchFEM::choose_backend(parameters.general.backend, parameters.solver, "double", communicator);
        CycleReport   result;
        StageSeconds &seconds = result.path.seconds;
        seconds.mesh          = timed(communicator, progress, "mesh", [&] { discretiser.make_mesh(0); });
        discretiser.describe_mesh(report);
        const Backend backend = choose_backend();
        require(backend.group() == nullptr,
                "Several ranks share a device, which problems in steps do not; run as many ranks as there are "
                "devices, or choose Backend = host.");
        result.path.backend = backend.name();
        result.path.device  = backend.device_name();
        seconds.dofs        = timed(communicator, progress, "unknowns and constraints", [&] { setup_dofs(); });
        discretiser.describe(result, 0);
        seconds.extraction = timed(
            backend, progress, "extraction from deal.II", [&] { make_space(backend); }, communicator);
        seconds.plan = timed(
            backend, progress, "laws", [&] { make_system(); }, communicator);
        describe(static_cast<const MatrixBase<double> &>(system->tangent()), result.path);
        result.path.precision      = "double";
        result.path.preconditioner = "multigrid";
        run_steps(result);
        report.add_cycle(std::move(result));
        report.print_summary();
      }

    private:
      const ProblemParameters     &parameters;
      const StepParameters        &steps;
      LawPhysics<dim>             &physics;
      const MPI_Comm               communicator;
      const bool                   first_rank;
      Progress                     progress;
      Discretiser<dim>             discretiser;
      const Discretisation<dim>   &discretisation = discretiser.discretisation();
      Clock                       &clock          = *parameters.general.constants_of_loads.clock;
      std::vector<NamedPoint<dim>> points;

      /// Unknowns of this rank that are held, [component], each in the part of the boundary with the least id.
      std::map<types::boundary_id, std::vector<std::vector<types::global_dof_index>>> held;

      FESpace<dim>        space;
      std::vector<double> boundary_values; ///< k at the end, [line]; scaled if they do not mention the time
      std::vector<typename EssentialConditions<dim>::GivenValue> given_values; ///< [own line]
      bool                                   given_alone = false; ///< whether these are all constraints, on all ranks
      std::unique_ptr<LawAssembler>          laws;
      std::unique_ptr<LawSystem>             system;
      NewtonSolver<>                         newton;
      const double                           newton_tolerance;
      std::unique_ptr<AssemblerBase<double>> load_assembler;
      bool                                   has_loads = false, loads_depend_on_time = false;
      PatchFEM::Vector<double>               u, loads, residual; ///< loads that do not mention the time at the end
      SolutionVector                         solution;
      RunReport                             &report;
      PictureSeries                          pictures;

      void setup_dofs()
      {
        discretiser.setup_dofs(true);
        const RequestedResults<dim> requested(parameters.results, parameters.general.constants, discretiser.facts(),
                                              *discretisation.mapping, discretiser.mesh());
        points = requested.points;
        discretiser.find_free_motions(true);
        const DoFHandler<dim> &dof_handler = *discretisation.dof_handler;
        IndexSet               rest        = dof_handler.locally_owned_dofs();
        for (const auto &[id, mask] : discretiser.essential_conditions().held())
          for (unsigned int c = 0; c < physics.n_components(); ++c)
          {
            auto             &there = held[id].emplace_back();
            std::vector<bool> of_component(physics.n_components());
            of_component[c] = mask[c];
            if (!mask[c])
              continue;
            const IndexSet dofs = DoFTools::extract_boundary_dofs(dof_handler, ComponentMask(of_component), {id});
            for (const types::global_dof_index dof : dofs &rest)
              there.push_back(dof);
            rest.subtract_set(dofs);
          }
        IndexSet relevant;
        DoFTools::extract_locally_relevant_dofs(dof_handler, relevant);
        solution.reinit(dof_handler.locally_owned_dofs(), relevant, communicator);
      }

      void make_space(const Backend &backend)
      {
        ExtractionData<dim> extraction;
        extraction.quadrature      = discretisation.quadrature;
        extraction.face_quadrature = discretisation.face_quadrature;
        extraction.boundary_ids    = physics.natural_conditions().ids();
        space.reinit(backend, *discretisation.mapping, *discretisation.dof_handler, *discretisation.constraints,
                     extraction);
        boundary_values = space.tables().constraints.inhomogeneity;
        if (discretiser.essential_conditions().depends_on_time())
          find_given_values();
        space.initialize_dof_vector(u);
      }

      /** Where Dirichlet values are all that there is in constraints, they need not be made anew with the time. */
      void find_given_values()
      {
        const auto all = discretiser.essential_conditions().given_values(
            *discretisation.mapping, *discretisation.dof_handler, discretiser.continuity_constraints());
        const ElementTables   &tables  = space.tables();
        const ConstraintTable &lines   = tables.constraints;
        const std::int64_t     n_owned = std::int64_t(tables.n_owned_nodes()) * tables.n_components;
        bool                   alone   = true;
        for (std::size_t l = 0; alone && l < lines.n_lines() && lines.constrained[l] < n_owned; ++l) // own ones first
        {
          const types::global_dof_index unknown = tables.dof_index(lines.constrained[l]);
          const auto                    found =
              std::lower_bound(all.begin(), all.end(), unknown,
                               [](const auto &given, const auto &other) { return given.unknown < other; });
          alone = lines.offsets[l] == lines.offsets[l + 1] && found != all.end() && found->unknown == unknown;
          if (alone)
            given_values.push_back(*found);
        }
        given_alone = Utilities::MPI::min(int(alone), communicator) != 0;
      }

      /** Those of the present time, which formulas mention. */
      void update_boundary_values()
      {
        if (!given_alone)
        {
          discretiser.update_boundary_values();
          space.update_inhomogeneities(*discretisation.constraints);
          return;
        }
        std::vector<double> values(boundary_values.size()); // those of ghosts have owners
        MPICommunicator::of(communicator)->agree_on_errors([&] {
          parallel_for(given_values.size(), [&](const std::int64_t l) {
            values[l] = given_values[l].formula->value(given_values[l].point);
          });
        });
        space.Space::update_inhomogeneities(values);
      }

      void make_system()
      {
        laws = std::make_unique<LawAssembler>(space);
        physics.add_laws(*laws);
        const bool is_scalar = physics.n_components() == 1;
        system = std::make_unique<LawSystem>(*laws, is_scalar ? space.constants() : space.rigid_body_modes());
        system->attach(newton);

        const NaturalConditions<dim> &natural = physics.natural_conditions();
        has_loads                             = !physics.body_load().is_zero() || !natural.ids().empty();
        loads_depend_on_time                  = physics.body_load().depends_on_time() || natural.depends_on_time();
        if (!has_loads)
          return;
        if (is_scalar)
          load_assembler = std::make_unique<AssemblerBase<double>>(Assembler<Laplace<dim>>());
        else
          load_assembler = std::make_unique<AssemblerBase<double>>(Assembler<Elasticity<dim>>());
        load_assembler->reinit(space.unconstrained());
        load_assembler->set_coefficients(CoefficientField::constant(std::vector<double>(is_scalar ? 1 : 2, 0.)));
        assemble_loads();
      }

      /** As formulas have them now. */
      void assemble_loads()
      {
        load_assembler->set_body_load(make_field(space.tables(), physics.body_load()));
        load_assembler->set_face_terms(make_face_terms(space.tables(), physics.natural_conditions()));
        load_assembler->assemble_rhs(loads);
      }

      /** Boundary values and loads of @p time. */
      void set_time(const double time)
      {
        steps.set_time(clock, time);
        if (discretiser.essential_conditions().depends_on_time())
          update_boundary_values();
        else
        {
          std::vector<double> values = boundary_values;
          for (double &value : values)
            value *= clock.growth;
          space.Space::update_inhomogeneities(values);
        }
        if (loads_depend_on_time)
          assemble_loads();
        if (has_loads)
        {
          PatchFEM::Vector<double> forces = loads;
          if (!loads_depend_on_time)
            forces *= clock.growth;
          laws->set_forces(forces);
        }
      }

      /** From @p time on. @return corrections of Newton's method */
      unsigned int solve(const double time, const double size)
      {
        set_time(time + size);
        laws->begin_step({time + size, size, clock.growth});
        try
        {
          Converged converged = newton.solve(u);
          laws->reactions(u, residual);
          laws->commit(u, std::move(converged));
        }
        catch (const StepFailure &failure)
        {
          progress.stage(failure.what());
          throw;
        }
        return newton.n_corrections();
      }

      void run_steps(CycleReport &result)
      {
        PathReport   &path    = result.path;
        StageSeconds &seconds = path.seconds;
        seconds.solve = seconds.results = seconds.output = 0.;
        StepControl control                              = steps.make_control();
        StepReport  step;
        step.end = steps.end;
        for (unsigned int number = 1; step.time < steps.end; ++number)
        {
          const unsigned int n_cut_backs = control.n_cut_backs();
          const double       begin       = step.time;
          step.seconds                   = timed(communicator, progress, "step " + std::to_string(number), [&] {
            step.time = control.advance(begin, std::min(steps.end, steps.amplitudes.next_point(begin)),
                                                          [&](const double size) { return solve(begin, size); });
          });
          step.size                      = step.time - begin;
          step.n_cut_backs               = control.n_cut_backs() - n_cut_backs;
          step.newton                    = newton.history();
          for (const NewtonIteration &row : step.newton)
            path.n_iterations += row.solution.n_iterations;
          const NewtonIteration &last = step.newton.back();
          path.relative_residual      = last.tolerance > 0. ? last.residual / last.tolerance * newton_tolerance : 0.;
          *seconds.solve += step.seconds;
          *seconds.results += timed(communicator, progress, "results", [&] { step.results = evaluate(); });
          *seconds.output += timed(communicator, progress, "output", [&] { write_output(number, step.time); });
          report.add_step(step);
        }
        result.results = step.results;
      }

      Results evaluate()
      {
        space.copy_to(u, solution);
        solution.update_ghost_values();
        Results results;
        add_extremes(results);
        add_points(results);
        add_reactions(results);
        return results;
      }

      std::vector<std::string> names() const
      {
        if (physics.n_components() == 1)
          return {"solution"};
        std::vector<std::string> result;
        for (int d = 0; d < dim; ++d)
          result.push_back(std::string("displacement_") + "xyz"[d]);
        result.push_back("displacement_magnitude");
        return result;
      }

      /** Of nodal values. */
      void add_extremes(Results &results) const
      {
        const unsigned int             n_comp = physics.n_components();
        const std::vector<std::string> fields = names();
        const std::vector<double>      values = space.by_rank(u); // [node][component]
        std::vector<double>            least(fields.size(), std::numeric_limits<double>::max()), most(fields.size());
        for (double &value : most)
          value = std::numeric_limits<double>::lowest();
        const auto take = [&](const std::size_t k, const double value) {
          least[k] = std::min(least[k], value);
          most[k]  = std::max(most[k], value);
        };
        for (std::size_t i = 0; i < values.size(); i += n_comp)
        {
          double square = 0.;
          for (unsigned int c = 0; c < n_comp; ++c)
          {
            take(c, values[i + c]);
            square += values[i + c] * values[i + c];
          }
          if (n_comp > 1)
            take(n_comp, std::sqrt(square));
        }
        for (std::size_t k = 0; k < fields.size(); ++k)
        {
          results.push_back({{"extremes", fields[k]}, "minimum", Utilities::MPI::min(least[k], communicator), {}});
          results.push_back({{"extremes", fields[k]}, "maximum", Utilities::MPI::max(most[k], communicator), {}});
        }
      }

      void add_points(Results &results) const
      {
        const auto law = [](auto n_comp) {
          constexpr int n = decltype(n_comp)::value;
          return FieldLaw{0,
                          n,
                          n,
                          false,
                          nullptr,
                          nullptr,
                          [](const FieldLaw::Point &at, double *values) { std::copy_n(at.value, n, values); },
                          nullptr};
        };
        const PointwiseEquation<dim> equation{physics.n_components() == 1 ? law(std::integral_constant<int, 1>())
                                                                          : law(std::integral_constant<int, dim>()),
                                              [](const auto &, const auto, double *) {},
                                              {},
                                              {}};
        const SolutionValues<dim> values(*discretisation.mapping, *discretisation.dof_handler,
                                         discretisation.quadrature, equation, solution);
        const auto                at = values.at(points);
        for (std::size_t p = 0; p < at.size(); ++p)
          for (std::size_t k = 0; k < at[p].size(); ++k)
            results.push_back({{"points", points[p].name}, names()[k], at[p][k], {}});
      }

      /** Forces, or flows, that hold the solution, and the sum of the loads. */
      void add_reactions(Results &results) const
      {
        const unsigned int n_comp = physics.n_components();
        SolutionVector     r(discretisation.dof_handler->locally_owned_dofs(), communicator);
        space.copy_to(residual, r);
        const auto add = [&](const std::vector<std::string> &of, std::vector<double> sums) {
          MPICommunicator::of(communicator)->sum(sums.data(), static_cast<int>(sums.size()));
          for (unsigned int c = 0; c < n_comp; ++c)
            results.push_back({of, n_comp == 1 ? "flow" : std::string("force_") + "xyz" [c], sums[c], {}});
        };
        for (const auto &[id, dofs] : held)
        {
          std::vector<double> sums(n_comp, 0.);
          for (unsigned int c = 0; c < n_comp; ++c)
            for (const types::global_dof_index dof : dofs[c])
              sums[c] += r(dof);
          add({"reactions", discretiser.facts().boundaries.text(id)}, sums);
        }
        if (!has_loads)
          return;
        const std::vector<double> of_unknowns = space.by_rank(loads);
        std::vector<double>       sums(n_comp, 0.);
        for (std::size_t i = 0; i < of_unknowns.size(); ++i)
          sums[i % n_comp] += of_unknowns[i] * (loads_depend_on_time ? 1. : clock.growth);
        add({"total_loads"}, sums);
      }

      void write_output(const unsigned int number, const double time)
      {
        report.begin();
        if (!parameters.output.wants_picture(time == steps.end))
          return;
        const auto                       all    = laws->flux().copy_to_host();
        const ElementTables             &tables = space.tables();
        std::vector<std::vector<double>> fluxes(discretiser.mesh().n_active_cells());
        for (std::size_t b = 0; b < all.size(); ++b)
        {
          const CellTable  &batch = tables.batches[b];
          const std::size_t n     = batch.reference.n_quadrature * physics.n_components() * dim;
          const int         n_own = tables.ranks.several() ? tables.ranks.n_own_cells[b] : batch.n_cells;
          for (int cell = 0; cell < n_own; ++cell)
            fluxes[batch.active_index[cell]].assign(all[b].begin() + cell * n, all[b].begin() + (cell + 1) * n);
        }
        const std::string file =
            write_picture(parameters.output.folder, "solution-" + std::to_string(number), discretisation, physics,
                          solution, fluxes, discretiser.facts().materials);
        if (first_rank)
          pictures.add(time, file);
      }
    };
  } // namespace

  template <int dim>
  void run_transient_problem(const TransientProblemParameters &parameters,
                             LawPhysics<dim>                  &physics,
                             RunReport                        &report,
                             const MPI_Comm                    communicator)
  {
    TransientProblem<dim>(parameters, physics, report, communicator).run();
  }

  template void run_transient_problem(const TransientProblemParameters &, LawPhysics<2> &, RunReport &, MPI_Comm);
  template void run_transient_problem(const TransientProblemParameters &, LawPhysics<3> &, RunReport &, MPI_Comm);
} // namespace PatchFEM
