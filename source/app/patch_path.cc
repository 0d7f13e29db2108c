// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/linear_solver.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/near_null_space.h>
#include <patchfem/app/paths.h>
#include <patchfem/app/system_matrix.h>
#include <patchfem/app/value_ranges.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/threads.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <mutex>
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
      std::mutex                        one_at_a_time;
      for (unsigned int level = 0; level < triangulation.n_levels(); ++level)
        for_shares(triangulation.n_raw_cells(level), [&](const std::int64_t begin, const std::int64_t end) {
          Ids mine;
          for (int index = static_cast<int>(begin); index < end; ++index)
          {
            const dealii::CellAccessor<dim> cell(&triangulation, static_cast<int>(level), index);
            if (cell.used() && cell.is_active())
              for (const unsigned int face : cell.face_indices())
                if (cell.at_boundary(face))
                  mine.insert(cell.face(face)->boundary_id());
          }
          const std::lock_guard<std::mutex> lock(one_at_a_time);
          ids.insert(mine.begin(), mine.end());
        });
      for (auto id = ids.begin(); id != ids.end();)
        id = physics.natural_conditions().contains(*id) ? std::next(id) : ids.erase(id);
      return ids;
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

    /** The modes of no energy at the nodes of @p space. */
    template <int dim>
    NearNullSpace modes_at_nodes(const Space &space, const Physics<dim> &physics)
    {
      const int n_components = physics.n_components(), n_modes = static_cast<int>(physics.mode_names().size());
      if (n_modes == n_components)
        return space.constants();
      require(n_components == dim && n_modes == dim * (dim + 1) / 2,
              "Solver/Preconditioner amg knows constants and rigid-body modes, not the " + std::to_string(n_modes) +
                  " modes of this equation; choose block_jacobi.");
      return space.rigid_body_modes();
    }
    /** Writes @p system with the near-null space of the physics; @p dof_indices are deal.II's of its unknowns. */
    template <int dim>
    void export_system(const std::string               &file_name,
                       LinearSystem                     system,
                       const std::vector<unsigned int> &dof_indices,
                       const Discretisation<dim>       &discretisation,
                       const Physics<dim>              &physics)
    {
      system.block_size  = physics.n_components();
      system.n_near_null = physics.mode_names().size();

      // [mode][deal.II's index] becomes [unknown of the matrix][mode].
      const std::vector<double> modes = near_null_space(discretisation, physics);
      const std::size_t         n     = dof_indices.size();
      system.near_null.resize(n * system.n_near_null);
      for (std::size_t i = 0; i < n; ++i)
        for (int m = 0; m < system.n_near_null; ++m)
          system.near_null[i * system.n_near_null + m] = modes[m * n + dof_indices[i]];
      write_linear_system(system, file_name);
    }

    /** See make_patch_path(). */
    template <int dim>
    struct PatchPath
    {
      const Backend                      backend;
      const std::string                  asked_precision;
      const SolverParameters             asked_solver;
      const AssemblyParameters           assembly;
      const std::function<std::string()> export_file;
      const bool                         aggregates;
      Progress                          &progress;

      SolverChoice              choice      = {}; ///< of the system that is solved
      std::vector<double>       values      = {}; ///< the solution in the numbering of the back end
      std::vector<unsigned int> dof_indices = {}; ///< deal.II's index of each of them

      PathReport
      operator()(const Discretisation<dim> &discretisation, const Physics<dim> &physics, SolutionVector &solution);

      /** All stages, with matrix and vectors of one number type. Leaves the solution in `values` and `dof_indices`. */
      template <typename Number>
      PathReport run_with(const Discretisation<dim> &discretisation, const Physics<dim> &physics);

      /** From structure to solution with the matrix in @p format; @p load as check_ranges() estimates it. */
      template <typename Number>
      void solve_with(const MatrixFormat        &format,
                      SystemAssembler<Number>   &system,
                      const Discretisation<dim> &discretisation,
                      const Physics<dim>        &physics,
                      double                     load,
                      PathReport                &report);
    };
  } // namespace

  template <int dim>
  template <typename Number>
  void PatchPath<dim>::solve_with(const MatrixFormat        &format,
                                  SystemAssembler<Number>   &system,
                                  const Discretisation<dim> &discretisation,
                                  const Physics<dim>        &physics,
                                  const double               load,
                                  PathReport                &report)
  {
    SystemMatrix<Number> system_matrix(system, format);
    Vector<Number>       rhs, x;

    report.seconds.sparsity  = report.seconds.sparsity.value() + timed(backend, progress, "matrix", [&] {
                                system_matrix.reinit();
                                system.assembler().space().release_sparsity_columns();
                              });
    report.seconds.assembly  = timed(backend, progress, "assembly", [&] { system_matrix.assemble(rhs); });
    report.repeated_assembly = timed_repetitions(assembly.n_repetitions, MPI_COMM_SELF, progress, [&] {
      system_matrix.assemble(rhs);
      backend.synchronize();
    });
    system_matrix.release_assembled();
    const MatrixBase<Number> &matrix = system_matrix.matrix();
    const Space              &space  = system.assembler().space();
    if (physics.has_unit_rhs())
      rhs = Number(1);
    check_rhs<Number>(rhs.l2_norm(), load);
    dof_indices = space.batches().dof_indices().to_vector();
    if (export_file)
      export_system(export_file(), to_linear_system(matrix, rhs), dof_indices, discretisation, physics);

    LinearSolver<Number> linear_solver(backend, choice, aggregates, progress);
    linear_solver.solve(
        matrix, x, rhs,
        [&] {
          NullSpace<Number> result;
          if (!discretisation.free_modes.empty())
          {
            result = make_null_space<Number>(discretisation, backend, dof_indices);
            result.check(matrix);
          }
          return result;
        },
        [&] { return modes_at_nodes(space, physics); }, report);
    if (report.amg && aggregates)
      for (std::size_t i = 0; i < dof_indices.size(); i += physics.n_components())
        report.amg->node_dofs.push_back(dof_indices[i]);
    values = to_double(x);
  }

  template <int dim>
  template <typename Number>
  PathReport PatchPath<dim>::run_with(const Discretisation<dim> &discretisation, const Physics<dim> &physics)
  {
    PathReport report;
    prepare_choice(backend, assembly, discretisation.dof_handler->n_dofs());
    memory::reset_peak(backend.kind());
    const SolverParameters  &solver     = choice.parameters;
    const PreconditionerRow &row        = preconditioner_row(solver.preconditioner);
    bool                     conversion = true; // there is memory for a matrix and what it is made of

    ElementTables tables;
    SystemFields  fields;
    double        load      = 0.;
    std::size_t   in_double = 0; // memory if levels turn out to be too hard for single precision
    Space         space;
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
      const auto forecast_with = [&](const bool convert, const bool fallback) {
        MemoryForecast result =
            forecast_memory(backend, tables, assembly, per_point(fields.coefficients) + per_point(fields.body_load),
                            choice, static_cast<int>(physics.mode_names().size()), convert, fallback);
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
      if (row.is(PreconditionerRow::levels) && choice.precision == "mixed")
        in_double = forecast_with(conversion || assembly.format != "auto", true).peak();
      space = Space(backend, std::move(tables),
                    Space::AdditionalData(assembly.sorting_window, assembly.keep_constrained_entries));
      backend.synchronize();
    });

    const std::unique_ptr<SystemAssembler<Number>> system = physics.template make_assembler<Number>();
    progress.stage("sparsity and patches (" + backend.name() + ")");
    system->reinit(space, assembly.patches);
    report.seconds.sparsity = system->assembler().structure_seconds().sparsity;
    report.seconds.plan     = system->assembler().structure_seconds().plan;
    *report.seconds.plan += timed(MPI_COMM_SELF, progress, "coefficients", [&] {
      system->set_coefficients(fields.coefficients);
      system->assembler().set_body_load(fields.body_load);
      system->assembler().set_face_terms(fields.face_terms);
      backend.synchronize();
    });
    report.assembly_redundancy = system->assembler().redundancy();
    report.cell_patches        = system->assembler().patch_of_cells();
    report.assembly_kernels    = system->assembler().kernel_names();

    FormatNeeds needs;
    needs.rows       = row.is(PreconditionerRow::rows);
    needs.conversion = conversion;
    FormatPrediction choice;
    *report.seconds.plan += timed(MPI_COMM_SELF, progress, "format of the matrix", [&] {
      choice = choose_format<Number>(backend, assembly, space.sparsity().view(), physics.n_components(), needs);
      backend.synchronize();
    });
    report.format_choice  = choice.format.name();
    report.product_bytes  = choice.bytes;
    report.sorting_window = space.batches().sorting_window();
    solve_with<Number>(choice.format, *system, discretisation, physics, load, report);
    if (report.device_forecast && report.amg && !report.amg->fallback.empty())
      report.device_forecast = in_double;

    if (backend.kind() != BackendKind::host)
      report.device_peak = memory::peak(backend.kind());
    return report;
  }

  template <int dim>
  PathReport PatchPath<dim>::operator()(const Discretisation<dim> &discretisation,
                                        const Physics<dim>        &physics,
                                        SolutionVector            &solution)
  {
    choice                    = choose_solver(asked_solver, assembly, asked_precision, physics.n_components(),
                                              discretisation.dof_handler->n_dofs());
    const std::string &chosen = choice.parameters.preconditioner;
    require(!aggregates || preconditioner_row(chosen).is(PreconditionerRow::levels),
            "Output/Aggregates shows those of Solver/Preconditioner = amg, and auto is " + chosen + " here.");
    const PathReport report = choice.precision == "single" ? run_with<float>(discretisation, physics)
                                                           : run_with<double>(discretisation, physics);

    // Ours is [node][component] along the curve; deal.II's index of each unknown is in the table.
    solution.reinit(discretisation.dof_handler->n_dofs());
    for (std::size_t i = 0; i < values.size(); ++i)
      solution(dof_indices[i]) = values[i];
    discretisation.constraints->distribute(solution);
    return report;
  }

  template <int dim>
  LinearSystemPath<dim> make_patch_path(const Backend                      &backend,
                                        const std::string                  &precision,
                                        const SolverParameters             &solver,
                                        const AssemblyParameters           &assembly,
                                        const std::function<std::string()> &export_file,
                                        const bool                          aggregates,
                                        Progress                           &progress)
  {
    return PatchPath<dim>{backend, precision, solver, assembly, export_file, aggregates, progress};
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                                  \
  template LinearSystemPath<dim> make_patch_path(const Backend &, const std::string &, const SolverParameters &,   \
                                                 const AssemblyParameters &, const std::function<std::string()> &, \
                                                 bool, Progress &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
