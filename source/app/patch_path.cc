// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/patch_path.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/app/system_export.h>
#include <patchfem/app/system_matrix.h>
#include <patchfem/app/system_solution.h>
#include <patchfem/app/value_ranges.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/lac/conjugate_gradients.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>

namespace PatchFEM
{
  namespace
  {
    /** Faces on which the physics has something to integrate. */
    template <int dim>
    std::set<dealii::types::boundary_id> loaded_boundaries(const Discretisation<dim> &discretisation,
                                                           const Physics<dim>        &physics)
    {
      using Ids                                       = std::set<dealii::types::boundary_id>;
      const dealii::Triangulation<dim> &triangulation = discretisation.dof_handler->get_triangulation();
      Ids                               ids;
      for (unsigned int level = 0; level < triangulation.n_levels(); ++level)
#pragma omp parallel
      {
        Ids mine;
#pragma omp for schedule(static) nowait
        for (unsigned int index = 0; index < triangulation.n_raw_cells(level); ++index)
        {
          const dealii::CellAccessor<dim> cell(&triangulation, static_cast<int>(level), static_cast<int>(index));
          if (cell.used() && cell.is_active())
            for (const unsigned int face : cell.face_indices())
              if (cell.at_boundary(face))
                mine.insert(cell.face(face)->boundary_id());
        }
#pragma omp critical(patchfem_loaded_boundaries)
        ids.insert(mine.begin(), mine.end());
      }
      for (auto id = ids.begin(); id != ids.end();)
        id = physics.has_face_terms(*id) ? std::next(id) : ids.erase(id);
      return ids;
    }

    /** The patch that owns the first node of each active cell. */
    std::vector<unsigned int>
    patch_of_cells(const ElementTables &tables, const ElementBatches &batches, const Patches &patches)
    {
      std::vector<unsigned int> result(tables.n_cells());
      const std::vector<int>   &node = batches.new_of_old();
      for (const CellTable &batch : tables.batches)
        for (int cell = 0; cell < batch.n_cells; ++cell)
        {
          int first = batches.n_nodes();
          for (int i = 0; i < batch.reference.n_shape; ++i)
            first = std::min(first, node[batch.nodes[std::size_t(cell) * batch.reference.n_shape + i]]);
          result[batch.active_index[cell]] = first / patches.rows_per_patch();
        }
      return result;
    }

    /** The free modes of @p discretisation at the unknowns of the matrix that are not constrained. */
    template <typename Number, int dim>
    NullSpace<Number> make_null_space(const Discretisation<dim>       &discretisation,
                                      const Backend                   &backend,
                                      const std::vector<unsigned int> &dof_indices)
    {
      std::vector<std::vector<double>> vectors;
      for (const std::vector<double> &mode : discretisation.free_modes)
      {
        vectors.emplace_back();
        for (const unsigned int dof : dof_indices)
          vectors.back().push_back(discretisation.constraints->is_constrained(dof) ? 0. : mode[dof]);
      }
      return NullSpace<Number>(backend, vectors);
    }

    /** Numbers between -1/2 and 1/2 without a pattern, the fractions of multiples of the golden ratio. */
    template <typename Number>
    std::vector<Number> known_solution(const std::size_t n)
    {
      std::vector<Number> result(n);
      for (std::size_t i = 0; i < n; ++i)
      {
        const double multiple = 0.6180339887498949 * static_cast<double>(i + 1);
        result[i]             = static_cast<Number>(multiple - std::floor(multiple) - 0.5);
      }
      return result;
    }

    std::vector<double> to_double(std::vector<double> values)
    {
      return values;
    }

    std::vector<double> to_double(const std::vector<float> &values)
    {
      return {values.begin(), values.end()};
    }

    HostCSR<double> to_double(HostCSR<double> matrix)
    {
      return matrix;
    }

    HostCSR<double> to_double(HostCSR<float> matrix)
    {
      HostCSR<double> result;
      result.n_rows      = matrix.n_rows;
      result.n_columns   = matrix.n_columns;
      result.row_offsets = std::move(matrix.row_offsets);
      result.columns     = std::move(matrix.columns);
      result.values      = to_double(matrix.values);
      return result;
    }

    PreconditionerForecast::Kind memory_kind(const std::string &preconditioner)
    {
      using Kind = PreconditionerForecast::Kind;
      if (preconditioner == "neumann" || preconditioner == "least_squares" || preconditioner == "chebyshev")
        return Kind::polynomial;
      return preconditioner == "ssor"                  ? Kind::ssor
             : preconditioner == "incomplete_cholesky" ? Kind::cholesky
             : preconditioner == "amg"                 ? Kind::multigrid
                                                       : Kind::diagonal;
    }
  } // namespace

  template <int dim>
  PatchPath<dim>::PatchPath(const Backend            &backend,
                            const std::string        &precision,
                            const SolverParameters   &solver,
                            const AssemblyParameters &assembly,
                            const FileName           &export_file,
                            const bool                aggregates,
                            Progress                 &progress)
      : backend(backend), asked_precision(precision), asked_solver(solver), assembly(assembly),
        export_file(export_file), aggregates(aggregates), progress(progress)
  {}

  template <int dim>
  template <typename Number>
  void PatchPath<dim>::solve_with(const MatrixFormat        &format,
                                  SystemAssembler<Number>   &system,
                                  const Discretisation<dim> &discretisation,
                                  const Physics<dim>        &physics,
                                  const double               load,
                                  PathReport                &report)
  {
    const auto stage = [&](const std::string &name, const auto &work) {
      return timed(MPI_COMM_SELF, progress, name + " (" + backend.name() + ")", [&] {
        work();
        backend.synchronize();
      });
    };

    SystemMatrix<Number>                      system_matrix(system, format);
    Vector<Number>                            rhs, x;
    std::unique_ptr<PreconditionBase<Number>> preconditioner, projected;
    NullSpace<Number>                         null_space;

    report.seconds.sparsity  = report.seconds.sparsity.value() + stage("matrix", [&] {
                                system_matrix.reinit();
                                system.assembler().release_sparsity_columns();
                              });
    report.seconds.assembly  = stage("assembly", [&] { system_matrix.assemble(rhs); });
    report.repeated_assembly = timed_repetitions(assembly.n_repetitions, MPI_COMM_SELF, progress, [&] {
      system_matrix.assemble(rhs);
      backend.synchronize();
    });
    system_matrix.release_assembled();
    const MatrixBase<Number> &matrix = system_matrix.matrix();
    if (physics.has_unit_rhs())
      rhs = Number(1);
    check_rhs<Number>(rhs.l2_norm(), load);

    if (export_file)
      export_system(export_file(), to_double(matrix.to_csr_host()), to_double(rhs.copy_to_host()),
                    system.assembler().batches().dof_indices().to_vector(), discretisation, physics);

    report.seconds.preconditioner = stage("preconditioner", [&] {
      if (!discretisation.free_modes.empty())
      {
        null_space =
            make_null_space<Number>(discretisation, backend, system.assembler().batches().dof_indices().to_vector());
        null_space.check(matrix);
        report.null_space = NullSpaceReport{null_space.n_vectors(), project_load(null_space, rhs)};
      }
      preconditioner = make_preconditioner<dim, Number>(solver, precision == "mixed", matrix, null_space,
                                                        system.assembler().batches(), physics, aggregates, report);
      if (null_space.n_vectors() > 0)
        projected = std::make_unique<PreconditionProjected<Number>>(*preconditioner, null_space);
    });

    x.reinit(backend, rhs.size());
    const double     rhs_norm = rhs.l2_norm();
    IterationControl control;
    control.tolerance      = solver.tolerance * rhs_norm;
    control.max_iterations = solver.max_iterations;
    control.monitor        = [&](const unsigned int step, const double residual) {
      progress.iteration(step, residual / rhs_norm);
      return IterationControl::Action::iterate;
    };
    ConjugateGradients<Number> cg(iteration_data<Number>(solver));
    const auto                 solve = [&](Vector<Number> &solution, const Vector<Number> &b, const std::string &of) {
      const IterationResult result = cg.solve(matrix, solution, b, projected ? *projected : *preconditioner, control);
      null_space.project(solution);
      if (!result.success())
        throw Error(of + result.message(solver.preconditioner) + remedy(result, std::is_same_v<Number, float>));
      return result;
    };
    IterationResult result;
    report.seconds.solve = stage("solve", [&] { result = solve(x, rhs, ""); });
    if (solver.check)
    {
      Vector<Number> known(backend, known_solution<Number>(rhs.size())), b(backend, rhs.size()), y(backend, rhs.size());
      null_space.project(known);
      matrix.vmult(b, known);
      const double norm         = known.l2_norm();
      control.tolerance         = solver.tolerance * b.l2_norm();
      control.monitor           = nullptr;
      const unsigned int needed = solve(y, b, "Solver/Check, the system with a known solution: ").n_iterations;
      y.add(Number(-1), known);
      report.solver_check = SolverCheck{needed, y.l2_norm() / norm};
    }

    report_solution(result, matrix, x, rhs, report);
    report.nnz    = matrix.n_nonzero_elements();
    report.stored = matrix.n_stored_elements();
    report.format = matrix.format();
    values        = to_double(x.copy_to_host());
  }

  template <int dim>
  template <typename Number>
  PathReport PatchPath<dim>::run_with(const Discretisation<dim> &discretisation, const Physics<dim> &physics)
  {
    using Kind = PreconditionerForecast::Kind;
    PathReport report;
    memory::reset_peak(backend.kind());
    const Kind kind       = memory_kind(solver.preconditioner);
    bool       conversion = true; // there is memory for a matrix and what it is made of

    ElementTables tables;
    SystemFields  fields;
    double        load        = 0.;
    std::size_t   in_double   = 0; // memory if levels turn out to be too hard for single precision
    auto          batches     = std::make_shared<ElementBatches>();
    report.seconds.extraction = timed(MPI_COMM_SELF, progress, "extraction from deal.II", [&] {
      ExtractionData<dim> data;
      data.quadrature      = discretisation.quadrature;
      data.face_quadrature = discretisation.face_quadrature;
      data.boundary_ids    = loaded_boundaries(discretisation, physics);
      tables = extract_element_tables(*discretisation.mapping, *discretisation.dof_handler, *discretisation.constraints,
                                      data);
      fields = physics.evaluate_fields(tables);
      load   = check_ranges<Number>(tables, fields);
      const auto per_point = [](const CoefficientField &field) {
        return field.kind() == CoefficientView<double>::quadrature_point ? field.n_values() : 0;
      };
      PreconditionerForecast preconditioner;
      preconditioner.kind        = kind;
      preconditioner.number_size = precision == "mixed" ? sizeof(float) : sizeof(Number);
      preconditioner.n_modes     = static_cast<int>(physics.mode_names().size());
      preconditioner.on_patches  = solver.amg.smoother == AMGSmoother::patch;
      preconditioner.many_coarse = solver.aggregation.aggregate_distance == 1;
      const auto forecast_with   = [&](const bool convert, const bool fallback) {
        preconditioner.fallback = fallback;
        MemoryForecast result =
            forecast_memory(backend, tables, assembly, per_point(fields.coefficients) + per_point(fields.body_load),
                              sizeof(Number), preconditioner, convert);
        if (!discretisation.free_modes.empty())
          result.solver +=
              (discretisation.free_modes.size() + 2) * discretisation.dof_handler->n_dofs() * sizeof(double);
        if (solver.check) // the known solution, its right-hand side, and what is found
          result.solver += 3 * discretisation.dof_handler->n_dofs() * sizeof(Number);
        return result;
      };
      MemoryForecast forecast = forecast_with(true, false);
      conversion              = forecast.peak() <= backend.free_memory();
      if (!conversion && assembly.format == "auto")
        forecast = forecast_with(false, false);
      require_memory(forecast, backend);
      if (backend.kind() != BackendKind::host)
        report.device_forecast = forecast.peak();
      if (kind == Kind::multigrid && precision == "mixed")
        in_double = forecast_with(conversion || assembly.format != "auto", true).peak();
      batches->reinit(backend, tables,
                      ElementBatches::AdditionalData(assembly.sorting_window, assembly.keep_constrained_entries));
      backend.synchronize();
    });

    const std::unique_ptr<SystemAssembler<Number>> system = physics.template make_assembler<Number>();
    Patches::AdditionalData                        data;
    data.rows_per_patch = assembly.rows_per_patch;
    data.strategy       = assembly.strategy == "patches"  ? AssemblyStrategy::patches
                          : assembly.strategy == "gather" ? AssemblyStrategy::gather
                                                          : AssemblyStrategy::automatic;
    progress.stage("sparsity and patches (" + backend.name() + ")");
    system->reinit(batches, data);
    report.seconds.sparsity = system->assembler().structure_seconds().sparsity;
    report.seconds.plan     = system->assembler().structure_seconds().plan;
    *report.seconds.plan += timed(MPI_COMM_SELF, progress, "coefficients", [&] {
      system->set_coefficients(fields.coefficients);
      system->assembler().set_body_load(fields.body_load);
      system->assembler().set_face_terms(fields.face_terms);
      backend.synchronize();
    });
    report.assembly_redundancy = system->assembler().patches().redundancy();
    report.cell_patches        = patch_of_cells(tables, *batches, system->assembler().patches());

    FormatNeeds needs;
    needs.rows       = kind != Kind::diagonal && kind != Kind::polynomial;
    needs.conversion = conversion;
    FormatPrediction choice;
    *report.seconds.plan += timed(MPI_COMM_SELF, progress, "format of the matrix", [&] {
      choice = choose_format<Number>(backend, assembly, system->assembler().sparsity().view(), physics.n_components(),
                                     needs);
      backend.synchronize();
    });
    report.format_choice  = choice.format.name();
    report.product_bytes  = choice.bytes;
    report.sorting_window = batches->sorting_window();
    solve_with<Number>(choice.format, *system, discretisation, physics, load, report);
    if (report.device_forecast && report.amg && !report.amg->fallback.empty())
      report.device_forecast = in_double;

    dof_indices           = batches->dof_indices().to_vector();
    report.backend        = backend.name();
    report.device         = backend.device_name();
    report.precision      = precision;
    report.preconditioner = solver.preconditioner;
    if (backend.kind() != BackendKind::host)
      report.device_peak = memory::peak(backend.kind());
    return report;
  }

  template <int dim>
  PathReport
  PatchPath<dim>::run(const Discretisation<dim> &discretisation, const Physics<dim> &physics, SolutionVector &solution)
  {
    solver                = asked_solver;
    solver.preconditioner = choose_preconditioner(asked_solver, assembly, asked_precision, physics.n_components(),
                                                  discretisation.dof_handler->n_dofs());
    precision             = choose_precision(asked_precision, solver.preconditioner);
    require(!aggregates || solver.preconditioner == "amg",
            "Output/Aggregates shows those of Solver/Preconditioner = amg, and auto is " + solver.preconditioner +
                " here.");
    const PathReport report =
        precision == "single" ? run_with<float>(discretisation, physics) : run_with<double>(discretisation, physics);

    // Ours is [node][component] along the curve; deal.II's index of each unknown is in the table.
    solution.reinit(discretisation.dof_handler->n_dofs());
    for (std::size_t i = 0; i < values.size(); ++i)
      solution(dof_indices[i]) = values[i];
    discretisation.constraints->distribute(solution);
    return report;
  }

  template class PatchPath<2>;
  template class PatchPath<3>;
} // namespace PatchFEM
