// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/format_choice.h>
#include <patchfem/app/linear_solver.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/report.h>
#include <patchfem/app/value_ranges.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/mpi/mpi_rank_group.h>

#include <deal.II/dofs/dof_tools.h>

#include <iostream>
#include <memory>
#include <optional>
#include <utility>

namespace PatchFEM
{
  namespace
  {
    /** One system from its tables to its solution, by run(), with matrix and vectors of one number type. */
    template <int dim, typename Number>
    struct PatchRun
    {
      const Backend             &backend;
      const ProblemParameters   &parameters;
      const SolverChoice        &choice;
      const Discretisation<dim> &discretisation;
      const Physics<dim>        &physics;
      RunReport                 &run_report;
      Progress                  &progress;

      const AssemblyParameters &assembly = parameters.assembly;
      const PreconditionerRow  &row      = preconditioner_row(choice.parameters.preconditioner);
      const std::size_t         n_dofs   = discretisation.dof_handler->n_dofs();
      const int                 n_modes  = static_cast<int>(physics.mode_names().size());

      /// All ranks, and those who have rows: where ranks share a device its owner.
      const MPI_Comm all_ranks    = discretisation.communicator;
      const MPI_Comm communicator = communicator_of_owners(backend, all_ranks);
      const bool     is_shared    = backend.group() != nullptr;
      const bool     several      = dealii::Utilities::MPI::n_mpi_processes(communicator) > 1;

      PathReport                       report      = {};
      Space                            space       = {};
      AssemblerBase<Number>            assembler   = physics.make_assembler(Number());
      SystemFields                     fields      = {};
      std::vector<std::vector<double>> free_modes  = {}; ///< by the tables of the batches, 0 where constrained
      std::vector<std::vector<double>> inertia     = {}; ///< the loads of their inertia, by the tables, too
      std::vector<unsigned int>        dof_indices = {}; ///< deal.II's index of each unknown of the matrix
      const RankGroup::Statistics gathered_before = is_shared ? backend.group()->statistics() : RankGroup::Statistics();
      std::size_t                 bytes           = 0;  ///< of space, assembler and matrix
      double                      load            = 0.; ///< as check_ranges() estimates it
      bool                        conversion = true;    ///< one process has memory for a matrix and what it is made of
      std::size_t                 expected   = 0;       ///< memory
      std::size_t                 in_double  = 0;       ///< the same if levels are too hard for single precision

      PathReport run(SolutionVector &solution)
      {
        on_owner(backend, [&] { prepare_choice(backend, assembly, n_dofs); });
        memory::reset_peak(backend.kind());
        report.solved = std::make_shared<SolvedSpace>();
        extract();
        std::vector<double> values; // by the tables of the batches
        on_owner(backend, [&] {
          make_plan();
          values = solve(choose_format());
          if (report.amg && !report.amg->fallback.empty())
            expected = in_double;
          if (backend.kind() != BackendKind::host)
          {
            report.device_forecast = expected;
            report.device_peak     = memory::peak(backend.kind());
          }
        });
        if (is_shared)
        {
          const double seconds = timed(all_ranks, progress, "solution to its ranks", [&] {
            values              = space.group()->scatter_unknowns(values);
            report.cell_patches = space.group()->scatter_cells(report.cell_patches);
          });
          report.seconds.solve = report.seconds.solve.value_or(0.) + seconds;
        }
        share_of_ranks();
        report.solved->space = space;

        const ElementTables &tables = space.tables();
        dealii::IndexSet     relevant;
        dealii::DoFTools::extract_locally_relevant_dofs(*discretisation.dof_handler, relevant);
        solution.reinit(discretisation.dof_handler->locally_owned_dofs(), relevant, all_ranks);
        for (std::size_t i = 0; i < values.size(); ++i)
          solution(tables.dof_index(i)) = values[i];
        if (!tables.ranks.several())
          discretisation.constraints->distribute(solution);
        solution.update_ghost_values();
        return report;
      }

      /** From deal.II to the space, if all that follows fits into memory. */
      void extract()
      {
        report.seconds.extraction = timed(all_ranks, progress, "extraction from deal.II", [&] {
          ExtractionData<dim> extraction;
          extraction.quadrature      = discretisation.quadrature;
          extraction.face_quadrature = discretisation.face_quadrature;
          extraction.boundary_ids    = physics.natural_conditions().ids();
          ElementTables tables       = extract_element_tables(*discretisation.mapping, *discretisation.dof_handler,
                                                              *discretisation.constraints, extraction);
          fields                     = physics.evaluate_fields(tables);
          report.solved->fields      = fields;
          load                       = dealii::Utilities::MPI::max(check_ranges<Number>(tables, fields), all_ranks);
          read_free_modes(tables);
          const Space::AdditionalData data(assembly.sorting_window, assembly.keep_constrained_entries);
          if (is_shared)
            share(std::move(tables), data);
          else
          {
            check_memory(tables);
            space = Space(backend, std::move(tables), data);
          }
          on_owner(backend, [&] { backend.synchronize(); });
        });
      }

      /** All that the others know goes to the owner of the back end. */
      void share(ElementTables &&tables, const Space::AdditionalData &data)
      {
        const auto group = std::make_shared<const GroupTables>(
            *backend.group(), std::make_shared<const ElementTables>(std::move(tables)));
        fields = {group->gather(fields.coefficients), group->gather(fields.body_load),
                  group->gather(fields.face_terms)};
        for (auto *vectors : {&free_modes, &inertia})
          for (std::vector<double> &values : *vectors)
            values = group->gather_unknowns(values);
        on_owner(backend, [&] { check_memory(*group->merged()); });
        space = Space(backend, group, data);
      }

      /** Those of the discretisation, by this rank's unknowns. */
      void read_free_modes(const ElementTables &tables)
      {
        const dealii::IndexSet &owned = discretisation.dof_handler->locally_owned_dofs();
        const std::size_t       n     = std::size_t(tables.n_owned_nodes()) * tables.n_components;
        const auto              read  = [&](const std::vector<double> &values) {
          std::vector<double> result(n);
          for (std::size_t i = 0; i < n; ++i)
            if (const unsigned int dof = tables.dof_index(i); !discretisation.constraints->is_constrained(dof))
              result[i] = values[owned.index_within_set(dof)];
          return result;
        };
        for (const std::vector<double> &mode : discretisation.free_modes)
          free_modes.push_back(read(mode));
        for (const auto &of_mode : discretisation.inertia)
          inertia.push_back(read(of_mode.load));
      }

      void check_memory(const ElementTables &tables)
      {
        const std::size_t n_own_dofs = std::size_t(tables.n_nodes) * tables.n_components; // and ghosts
        const auto        per_point  = [](const CoefficientField &field) {
          return field.kind() == CoefficientView<double>::quadrature_point ? field.n_values() : 0;
        };
        const auto forecast_with = [&](const bool convert) {
          MemoryForecast result =
              forecast_memory(backend, tables, assembly, per_point(fields.coefficients) + per_point(fields.body_load),
                              choice, n_modes, convert);
          if (!discretisation.free_modes.empty())
            result.solver += (2 * discretisation.free_modes.size() + 2) * n_own_dofs * sizeof(double);
          if (choice.parameters.check) // the known solution, its right-hand side, and what is found
            result.solver += 3 * n_own_dofs * sizeof(Number);
          return result;
        };
        conversion              = !several;
        MemoryForecast forecast = forecast_with(conversion);
        if (conversion && forecast.peak() > backend.free_memory())
        {
          conversion = false;
          if (assembly.format == "auto")
            forecast = forecast_with(false);
        }
        require_memory(forecast, backend, *MPICommunicator::of(communicator));
        expected = forecast.peak();
        if (row.is(PreconditionerRow::levels) && choice.precision == "mixed")
        {
          forecast.preconditioner = forecast.fallback;
          in_double               = forecast.peak();
        }
      }

      /** All that the mesh determines. */
      void make_plan()
      {
        progress.stage("sparsity and patches (" + backend.name() + ")");
        assembler.reinit(space, assembly.patches);
        const auto &own         = assembler.structure_seconds();
        report.seconds.sparsity = dealii::Utilities::MPI::max(own.sparsity, communicator);
        report.seconds.plan     = dealii::Utilities::MPI::max(own.plan, communicator);
        *report.seconds.plan += timed(communicator, progress, "coefficients", [&] {
          assembler.set_coefficients(fields.coefficients);
          assembler.set_body_load(fields.body_load);
          assembler.set_face_terms(fields.face_terms);
          backend.synchronize();
        });
        report.assembly_redundancy = assembler.redundancy();
        if (parameters.output.pictures != "none")
          report.cell_patches = assembler.patch_of_cells();
        report.assembly_kernels = assembler.kernel_names();
        report.sorting_window   = space.batches().sorting_window();
      }

      MatrixFormat choose_format()
      {
        FormatPrediction prediction;
        *report.seconds.plan += timed(communicator, progress, "format of the matrix", [&] {
          prediction =
              PatchFEM::choose_format<Number>(backend, assembly, space.sparsity().view(), physics.n_components(),
                                              {row.is(PreconditionerRow::rows), conversion});
          backend.synchronize();
        });
        report.format_choice = prediction.format.name();
        report.product_bytes = prediction.bytes;
        return prediction.format;
      }

      /** Where assembly does not write @p format, a matrix is made anew of what was assembled by every assembly. */
      std::vector<double> solve(const MatrixFormat &format)
      {
        const int                           block_size = physics.n_components();
        const bool                          converts   = is_converted(format, block_size);
        std::unique_ptr<MatrixBase<Number>> assembled, converted;
        Vector<Number>                      rhs, x;
        *report.seconds.sparsity += timed(
            backend, progress, "matrix",
            [&] {
              assembled = make_matrix<Number>(backend, space.sparsity().view(), block_size, block_size,
                                              assembled_format(format, block_size));
              assembled->set_partitioner(space.batches().partitioner());
              space.release_sparsity_columns();
            },
            communicator);
        const auto assemble = [&] {
          converted.reset(); // gives memory back first
          assembler.assemble(*assembled, rhs);
          if (converts)
            converted = convert(*assembled, format);
        };
        report.seconds.assembly  = timed(backend, progress, "assembly", assemble, communicator);
        report.repeated_assembly = timed_repetitions(assembly.n_repetitions, communicator, progress, [&] {
          assemble();
          backend.synchronize();
        });
        if (converts)
          assembled.reset();
        const MatrixBase<Number> &matrix = converts ? *converted : *assembled;
        if (physics.has_unit_rhs())
          rhs = Number(1);
        check_rhs<Number>(rhs.l2_norm(), load);
        dof_indices = space.batches().dof_indices().to_vector();
        dof_indices.resize(space.n_dofs());
        if (!parameters.general.export_system.empty())
          export_system(to_linear_system(matrix, rhs));

        bytes = memory_consumption_of(space, assembler, matrix);
        if constexpr (std::is_same_v<Number, double>)
          if (parameters.observer)
            parameters.observer({choice, matrix, rhs, null_space(matrix), modes_at_nodes()});
        LinearSolver<Number> linear_solver(backend, choice, parameters.output.aggregates, progress, communicator);
        linear_solver.solve(
            matrix, x, rhs, [&] { return null_space(matrix); }, [&] { return modes_at_nodes(); }, report);
        if (report.amg && parameters.output.aggregates)
          for (std::size_t i = 0; i < dof_indices.size(); i += block_size)
            report.amg->node_dofs.push_back(dof_indices[i]);
        if (several || is_shared) // deal.II may not know all lines that it needs
          space.constraints().distribute(x);
        const std::vector<double> result = space.by_tables(x);
        if constexpr (std::is_same_v<Number, double>)
          report.solved->u = std::move(x);
        else
        {
          report.solved->u.reinit(backend, 0);
          report.solved->u.copy_from(x);
        }
        space.constraints().distribute(report.solved->u);
        return result;
      }

      /** What each rank has of the whole. */
      void share_of_ranks()
      {
        const ElementTables &tables = space.tables();
        if (!tables.ranks.several())
          return;
        PathReport::RankShare share;
        for (const int n : tables.ranks.n_own_cells)
          share.cells += n;
        share.copies   = tables.n_cells() - share.cells;
        share.unknowns = std::uint64_t(tables.n_owned_nodes()) * tables.n_components;
        share.ghosts   = std::uint64_t(tables.n_nodes - tables.n_owned_nodes()) * tables.n_components;
        share.bytes    = bytes;
        share.forecast = expected;
        share.peak     = memory::peak(backend.kind());
        report.ranks   = tables.ranks.communicator->all_gather(share);
        if (!is_shared)
          return;
        const RankGroup::Statistics gathered = backend.group()->statistics();
        const auto                  owners   = backend.group()->owners();
        report.sharing                       = PathReport::Sharing{
            backend.group()->groups(), owners ? transport_of(*owners, backend)->name() : "", gathered.window_bytes,
            gathered.bytes - gathered_before.bytes, gathered.seconds - gathered_before.seconds};
      }

      /** The free modes at the unknowns of @p matrix that are not constrained, if there are any. */
      NullSpace<Number> null_space(const MatrixBase<Number> &matrix) const
      {
        if (free_modes.empty())
          return {};
        std::vector<Vector<double>> vectors(free_modes.size()), loads(inertia.size());
        for (std::size_t m = 0; m < vectors.size(); ++m)
        {
          space.from_tables(free_modes[m], vectors[m]);
          space.from_tables(inertia[m], loads[m]);
        }
        NullSpace<Number> result(std::move(vectors), std::move(loads));
        result.check(matrix);
        return result;
      }

      /** The modes of no energy at the nodes. */
      NearNullSpace modes_at_nodes() const
      {
        const int n_components = physics.n_components();
        if (n_modes == n_components)
          return space.constants();
        require(n_components == dim && n_modes == dim * (dim + 1) / 2,
                "Solver/Preconditioner amg knows constants and rigid-body modes, not the ", n_modes,
                " modes of this equation; choose block_jacobi.");
        return space.rigid_body_modes();
      }

      /** Writes @p linear_system with the near-null space of the physics. */
      void export_system(LinearSystem linear_system) const
      {
        linear_system.block_size  = physics.n_components();
        linear_system.n_near_null = n_modes;

        // [mode][deal.II's index] becomes [unknown of the matrix][mode].
        const std::vector<double> modes = near_null_space(discretisation, physics);
        linear_system.near_null.reserve(modes.size());
        for (const unsigned int dof : dof_indices)
          for (int m = 0; m < n_modes; ++m)
            linear_system.near_null.push_back(modes[m * n_dofs + dof]);
        run_report.begin();
        write_linear_system(linear_system, parameters.general.export_file(parameters.output.folder));
      }
    };
  } // namespace

  template <int dim>
  LinearSystemPath<dim> make_patch_path(const ProblemParameters &parameters,
                                        RunReport               &report,
                                        Progress                &progress,
                                        const MPI_Comm           communicator)
  {
    const std::string &name = parameters.general.backend, &precision = parameters.general.precision;
    const bool         several = dealii::Utilities::MPI::n_mpi_processes(communicator) > 1;
    const auto         choose  = choose_backend(name, parameters.solver, precision, communicator);
    require(!several || parameters.general.export_system.empty(),
            "The entry Export system writes the matrix of one process; run one.");
    require(!several || !parameters.output.aggregates, "Output/Aggregates shows those of one process; run one.");
    const auto            chosen = std::make_shared<std::optional<Backend>>();
    LinearSystemPath<dim> path;
    path.prepare = [chosen, choose] { chosen->emplace(choose()); };
    path.solve   = [chosen, several, &precision, &parameters, &report, &progress, communicator,
                  first = true](const Discretisation<dim> &discretisation, const Physics<dim> &physics,
                                SolutionVector &solution) mutable {
      const Backend &backend = chosen->value();
      if (std::exchange(first, false) && backend.group() != nullptr)
      {
        backend.group()->connect();
        if (dealii::Utilities::MPI::this_mpi_process(communicator) == 0)
          std::cout << "Devices: " << backend.group()->description() << std::endl;
      }
      const SolverChoice choice         = choose_solver(parameters.solver, parameters.assembly, precision,
                                                          physics.n_components(), discretisation.dof_handler->n_dofs());
      const std::string &preconditioner = choice.parameters.preconditioner;
      require(!parameters.output.aggregates || preconditioner_row(preconditioner).is(PreconditionerRow::levels),
                "Output/Aggregates shows those of Solver/Preconditioner = amg, and auto is ", preconditioner, " here.");
      const AssemblyParameters &assembly = parameters.assembly;
      require(!several || assembly.format == "auto" || !is_converted(assembly.matrix_format(), physics.n_components()),
                "Matrices are converted to Matrix/Format ", assembly.format,
                " in one process; with several MPI ranks choose ", format_names(FormatRow::assembled, 0, "or"), ".");
      if (choice.precision == "single")
        return PatchRun<dim, float>{backend, parameters, choice, discretisation, physics, report, progress}.run(
              solution);
      return PatchRun<dim, double>{backend, parameters, choice, discretisation, physics, report, progress}.run(
            solution);
    };
    return path;
  }

  template LinearSystemPath<2> make_patch_path(const ProblemParameters &, RunReport &, Progress &, MPI_Comm);
  template LinearSystemPath<3> make_patch_path(const ProblemParameters &, RunReport &, Progress &, MPI_Comm);
} // namespace PatchFEM
