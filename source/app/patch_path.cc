// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/patch_path.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/app/system_export.h>
#include <patchfem/app/system_solution.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/lac/conjugate_gradients.h>
#include <patchfem/lac/format_calibration.h>

#include <algorithm>
#include <cmath>
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
      std::set<dealii::types::boundary_id> ids;
      for (const dealii::types::boundary_id id : discretisation.dof_handler->get_triangulation().get_boundary_ids())
        if (physics.has_face_terms(id))
          ids.insert(id);
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

    /**
     * The format that @p assembly names, or the one that the model of format_model.h, or a calibration, expects to be the
     * fastest. @p keep_blocks: the preconditioner works on sliced matrices, of which compressed rows would need a copy.
     */
    template <typename Number>
    FormatPrediction choose_format(const Backend            &backend,
                                   const AssemblyParameters &assembly,
                                   const SparsityView       &pattern,
                                   const int                 block,
                                   const bool                keep_blocks)
    {
      using Kind                          = MatrixFormat::Kind;
      const MemoryModel         memory    = MemoryModel::of(backend);
      const PatternStatistics   counted   = pattern_statistics(backend, pattern, block, block);
      const bool                automatic = assembly.format == "auto";
      std::vector<MatrixFormat> formats;
      if (automatic)
        formats = assembled_formats(counted);
      else
        formats.push_back({assembly.format == "csr" ? Kind::csr : Kind::sliced_ellpack, assembly.slice_height});
      if (automatic && keep_blocks)
        formats.erase(std::remove_if(formats.begin(), formats.end(),
                                     [](const MatrixFormat &format) { return format.kind == Kind::csr; }),
                      formats.end());
      std::vector<FormatPrediction> predictions = predict_formats(formats, counted, sizeof(Number), memory);
      if (automatic && assembly.calibrate)
        calibrate_formats<Number>(backend, pattern, counted, predictions, format_rates_file());
      return predictions[0];
    }
  } // namespace

  template <int dim>
  PatchPath<dim>::PatchPath(const Backend            &backend,
                            const std::string        &precision,
                            const SolverParameters   &solver,
                            const AssemblyParameters &assembly,
                            const std::string        &export_file,
                            const bool                aggregates,
                            Progress                 &progress)
      : backend(backend), precision(precision), solver(solver), assembly(assembly), export_file(export_file),
        aggregates(aggregates), progress(progress)
  {}

  template <int dim>
  template <typename Matrix, typename MakeMatrix>
  void PatchPath<dim>::solve_with(const MakeMatrix                             &make_matrix,
                                  SystemAssembler<typename Matrix::value_type> &system,
                                  const Discretisation<dim>                    &discretisation,
                                  const Physics<dim>                           &physics,
                                  PathReport                                   &report)
  {
    using Number = typename Matrix::value_type;

    const auto stage = [&](const std::string &name, const auto &work) {
      return timed(MPI_COMM_SELF, progress, name + " (" + backend.name() + ")", [&] {
        work();
        backend.synchronize();
      });
    };

    Matrix                                    matrix;
    Vector<Number>                            rhs, x;
    std::unique_ptr<PreconditionBase<Number>> preconditioner, projected;
    NullSpace<Number>                         null_space;

    report.seconds.sparsity  = report.seconds.sparsity.value() + stage("matrix", [&] {
                                make_matrix(matrix);
                                system.assembler().release_sparsity_columns();
                              });
    report.seconds.assembly  = stage("assembly", [&] { system.assemble(matrix, rhs); });
    report.repeated_assembly = timed_repetitions(assembly.n_repetitions, MPI_COMM_SELF, progress, [&] {
      system.assemble(matrix, rhs);
      backend.synchronize();
    });
    if (physics.has_unit_rhs())
      rhs = Number(1);

    if (!export_file.empty())
      export_system(export_file, to_double(matrix.to_csr_host()), to_double(rhs.copy_to_host()),
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
        throw Error(of + result.message(solver.preconditioner) + remedy(result.status, std::is_same_v<Number, float>));
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

    Vector<Number> residual(backend, rhs.size());
    matrix.residual(residual, x, rhs);
    report.relative_residual = rhs_norm > 0. ? residual.l2_norm() / rhs_norm : residual.l2_norm();
    report.n_iterations      = result.n_iterations;
    report.nnz               = matrix.n_nonzero_elements();
    report.stored            = matrix.n_stored_elements();
    report.format            = matrix.format();
    values                   = to_double(x.copy_to_host());
  }

  template <int dim>
  template <typename Number>
  PathReport PatchPath<dim>::run_with(const Discretisation<dim> &discretisation, const Physics<dim> &physics)
  {
    PathReport report;
    memory::reset_peak(backend.kind());

    ElementTables tables;
    SystemFields  fields;
    auto          batches     = std::make_shared<ElementBatches>();
    report.seconds.extraction = timed(MPI_COMM_SELF, progress, "extraction from deal.II", [&] {
      ExtractionData<dim> data;
      data.quadrature      = discretisation.quadrature;
      data.face_quadrature = discretisation.face_quadrature;
      data.boundary_ids    = loaded_boundaries(discretisation, physics);
      tables = extract_element_tables(*discretisation.mapping, *discretisation.dof_handler, *discretisation.constraints,
                                      data);
      fields = physics.evaluate_fields(tables);
      const auto per_point = [](const CoefficientField &field) {
        return field.kind() == CoefficientView<double>::quadrature_point ? field.n_values() : 0;
      };
      PreconditionerForecast preconditioner;
      preconditioner.kind        = memory_kind(solver.preconditioner);
      preconditioner.number_size = precision == "mixed" ? sizeof(float) : sizeof(Number);
      preconditioner.n_modes     = static_cast<int>(physics.mode_names().size());
      preconditioner.on_patches  = solver.amg.smoother == AMGSmoother::patch;
      preconditioner.many_coarse = solver.aggregation.aggregate_distance == 1;
      MemoryForecast forecast =
          forecast_memory(backend, tables, assembly, per_point(fields.coefficients) + per_point(fields.body_load),
                          sizeof(Number), preconditioner);
      if (!discretisation.free_modes.empty())
        forecast.solver +=
            (discretisation.free_modes.size() + 2) * discretisation.dof_handler->n_dofs() * sizeof(double);
      if (solver.check) // the known solution, its right-hand side, and what is found
        forecast.solver += 3 * discretisation.dof_handler->n_dofs() * sizeof(Number);
      require_memory(forecast, backend);
      if (backend.kind() != BackendKind::host)
        report.device_forecast = forecast.peak();
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

    const int                          block = physics.n_components();
    const PreconditionerForecast::Kind kind  = memory_kind(solver.preconditioner);
    FormatPrediction                   choice;
    *report.seconds.plan += timed(MPI_COMM_SELF, progress, "format of the matrix", [&] {
      choice = choose_format<Number>(backend, assembly, system->assembler().sparsity().view(), block,
                                     kind == PreconditionerForecast::Kind::ssor ||
                                         kind == PreconditionerForecast::Kind::cholesky ||
                                         kind == PreconditionerForecast::Kind::multigrid);
      backend.synchronize();
    });
    report.format_choice = choice.format.name();
    report.product_bytes = choice.bytes;
    if (choice.format.kind == MatrixFormat::Kind::csr)
      solve_with<CSRMatrix<Number>>(
          [&](CSRMatrix<Number> &matrix) {
            matrix.reinit(backend, system->assembler().sparsity().view(), block, block);
          },
          *system, discretisation, physics, report);
    else
      solve_with<SlicedEllpackMatrix<Number>>(
          [&](SlicedEllpackMatrix<Number> &matrix) {
            matrix.reinit(backend, system->assembler().sparsity().view(), block, block,
                          {choice.format.slice_height, choice.format.short_columns});
          },
          *system, discretisation, physics, report);

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
