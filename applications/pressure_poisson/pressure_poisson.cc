// SPDX-License-Identifier: LGPL-2.1-or-later
#include "voxel_fields.h"

#include <patchfem/app/application.h>
#include <patchfem/app/linear_solver.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/output.h>
#include <patchfem/app/powers_of_two.h>
#include <patchfem/app/reference_solver.h>
#include <patchfem/app/value_ranges.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/one_rank.h>

#include <deal.II/base/utilities.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/trilinos_precondition.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/trilinos_vector.h>

#include <algorithm>
#include <cmath>
#include <iostream>

namespace PatchFEM
{
  namespace
  {
    /** All steps, with what is kept from one to the next. */
    template <int dim, typename Number>
    class PressureRun
    {
    public:
      PressureRun(const PressureParameters &parameters, const std::string &directory, RunReport &report)
          : parameters(parameters),
            backend(choose_backend(parameters.general.backend, parameters.solver, parameters.general.precision)()),
            fields(parameters, directory), progress(true), report(report), pictures(parameters.output.folder),
            choice(choose_solver(
                parameters.solver, AssemblyParameters(), parameters.general.precision, 1, fields.grid().n_cells())),
            linear_solver(backend, choice, false, progress)
      {}

      void run()
      {
        const std::int64_t n_cells = fields.grid().n_cells();
        check_cells();
        std::cout << "Cells: " << n_cells << " of size " << fields.grid().h << std::endl;
        for (unsigned int step = 0; step < parameters.n_steps; ++step)
        {
          memory::reset_peak(backend.kind());
          CycleReport result;
          result.projection.emplace();
          result.n_cells         = n_cells;
          result.cells_by_degree = {{0u, result.n_cells}};
          set_up(step, result);
          solve(step, result);
          result.path.seconds.output =
              timed(backend, progress, "output", [&] { write_output(step, *result.projection); });
          if (result.path.device_forecast)
            result.path.device_peak = static_cast<double>(memory::peak(backend.kind()));
          report.add_cycle(std::move(result));
        }
        report.print_summary();
      }

    private:
      const PressureParameters parameters;
      const Backend            backend;
      VoxelFields<dim>         fields;
      Progress                 progress;
      RunReport               &report;
      PictureSeries            pictures;
      Array<unsigned char>     labels;
      FaceVelocities           velocities;
      Array<double>            divergence, pressure; ///< of cells; pressure of the step before
      FluidCells               cells;
      VoxelPoisson<Number>     system;
      Vector<Number>           rhs;
      const SolverChoice       choice;
      LinearSolver<Number>     linear_solver;
      double                   flow_size = 0.; ///< the largest velocity, or divergence times the size of a cell

      /** rho h / dt, the factor of the right-hand side. Throws Error if it or its reciprocal are out of range. */
      double grid_scale() const
      {
        const double result = parameters.density * fields.grid().h / parameters.step;
        require(std::isnormal(result) && std::isnormal(1. / result),
                "Liquid/Density times Domain/Cell size over Time/Step is out of the range of double precision; choose "
                "other units.");
        return result;
      }

      /** Cells, numbers, matrix and right-hand side of a step. */
      void set_up(const unsigned int step, CycleReport &result)
      {
        const double      time       = parameters.start + step * parameters.step;
        ProjectionReport &projection = *result.projection;
        StageSeconds     &seconds    = result.path.seconds;
        projection.time              = time;
        seconds.mesh                 = timed(backend, progress, "cells and velocities", [&] {
          fields.set_time(time);
          for (const unsigned char label : fields.labels())
          {
            projection.n_fluid += static_cast<VoxelLabel>(label) == VoxelLabel::fluid;
            projection.n_air += static_cast<VoxelLabel>(label) == VoxelLabel::air;
            projection.n_solid += static_cast<VoxelLabel>(label) == VoxelLabel::solid;
          }
        });
        require(projection.n_fluid > 0, "There is no fluid at the time ", time,
                "; correct Domain/Fluid, or end before it with Time/Steps.");
        check_memory(projection.n_fluid, result.path);
        seconds.extraction = timed(backend, progress, "copies", [&] {
          labels.copy_from(backend, fields.labels());
          // The step before has changed the velocities.
          for (int d = 0; d < 3; ++d)
            velocities.component[d].copy_from(backend, fields.velocity(d));
          if (fields.flow_changed())
            divergence.copy_from(backend, fields.divergence());
        });
        seconds.dofs       = timed(backend, progress, "unknowns", [&] {
          cells.reinit(backend, fields.grid(), labels);
          projection.n_closed_parts = cells.find_closed_parts();
        });
        result.n_dofs      = cells.n_unknowns();
        require(projection.n_closed_parts == 0 || parameters.solver.project_null_space, "At the time ", time,
                " the fluid has ", projection.n_closed_parts,
                " part(s) that touch no air, whose pressure is determined up to a constant; choose Solver/Null space = "
                "project, or give it air.");
        seconds.sparsity = timed(backend, progress, "matrix", [&] { system.reinit(cells); });
        seconds.assembly = timed(backend, progress, "right-hand side", [&] {
          assemble(grid_scale(), rhs);
          check_load();
        });
      }

      /**
       * Throws Error if labels, velocities and divergence do not fit on the host, before any is made; if the back end
       * is the host, too, also their copies and the pressure. What the fluid takes is not known yet.
       */
      void check_cells() const
      {
        const auto n_cells = static_cast<double>(fields.grid().n_cells());
        double     bytes   = n_cells + static_cast<double>(bytes_of_velocities());
        if (!parameters.divergence.empty())
          bytes += sizeof(double) * n_cells;
        if (backend.kind() != BackendKind::cuda)
          bytes += bytes + sizeof(double) * n_cells;
        char number[32];
        std::snprintf(number, sizeof(number), "%.3g", n_cells);
        require_host_memory(bytes, "A box of " + std::string(number) + " cells takes", OneRank());
      }

      std::size_t bytes_of_velocities() const
      {
        const VoxelGrid &grid = fields.grid();
        return sizeof(double) * (grid.n_faces(0) + grid.n_faces(1) + grid.n_faces(2));
      }

      /** Bytes that a step allocates at most: exact for cells, matrix and vectors; of closed parts it counts one. */
      std::size_t forecast_memory(const std::size_t n_fluid) const
      {
        const VoxelGrid  &grid    = fields.grid();
        const std::size_t n_cells = grid.n_cells(), number = sizeof(Number);
        // Labels, velocities, pressure and what else cells have, for errors the exact pressure and the difference;
        // words with their numbers and entries.
        std::size_t bytes = n_cells * (9 + 8 * !fields.divergence().empty() + 16 * fields.has_exact_pressure()) +
                            grid.n_words() * 32 + bytes_of_velocities();
        // Each row: two integers for its part; columns, diagonal, its share of the slices; right-hand side, solution,
        // residual, four vectors of the iteration, two to judge the step; of a null space the constant of one part,
        // what finds it, a projected vector; of a check the known solution, its right-hand side, and what is found.
        bytes += n_fluid * (9 + 8 * dim + 10 * number + 28 * parameters.solver.project_null_space +
                            3 * number * parameters.solver.check);
        PatternStatistics pattern; // as if all rows were full
        pattern.n_rows = pattern.n_columns = static_cast<int>(n_fluid);
        pattern.n_blocks                   = static_cast<std::int64_t>(n_fluid) * (2 * dim + 1);
        pattern.stored.fill(pattern.n_blocks);
        return bytes + (1 << 20) +
               static_cast<std::size_t>(preconditioner_row(choice.parameters.preconditioner)
                                            .peak_bytes({backend, pattern, {formats::mdia}, choice, 1}));
      }

      /** Throws Error if the step does not fit, before anything is allocated for it. */
      void check_memory(const std::size_t n_fluid, PathReport &path) const
      {
        const std::size_t forecast  = forecast_memory(n_fluid);
        const std::size_t available = backend.free_memory() + in_use();
        if (forecast > available)
        {
          char numbers[96];
          std::snprintf(numbers, sizeof(numbers), "about %.3g GB, but %.3g GB are free", forecast * 1e-9,
                        available * 1e-9);
          throw Error("This step needs ", numbers, " on the back end ", backend.name(),
                      "; use fewer cells, or a back end with more memory.");
        }
        if (backend.kind() != BackendKind::host)
          path.device_forecast = static_cast<double>(forecast);
      }

      /** Throws Error if the right-hand side is not finite, or 0 only by rounding. */
      void check_load()
      {
        if (fields.flow_changed())
        {
          flow_size = fields.grid().h * largest_of(fields.divergence());
          for (int d = 0; d < dim; ++d)
            flow_size = std::max(flow_size, largest_of(fields.velocity(d)));
        }
        check_range<double>("Liquid/Velocity and Liquid/Divergence times Domain/Cell size", flow_size);
        const double load = flow_size * grid_scale();
        check_range<Number>(
            "The loads, differences of Liquid/Velocity times Liquid/Density, Domain/Cell size over Time/Step,", load);
        check_rhs<Number>(rhs.l2_norm(), load);
      }

      /** Bytes of what is kept from step to step. */
      std::size_t in_use() const
      {
        return memory_consumption_of(labels, velocities, divergence, pressure, cells, system, rhs, linear_solver);
      }

      void assemble(const double scale, Vector<Number> &result) const
      {
        system.assemble_rhs(cells, velocities, divergence.empty() ? nullptr : &divergence, scale, result);
      }

      void solve(const unsigned int step, CycleReport &result)
      {
        const MDIAMatrix<Number> &matrix = system.matrix();
        PathReport               &path   = result.path;
        if (!parameters.general.export_system.empty() && step + 1 == parameters.n_steps)
          export_system();

        Vector<Number> x;
        if (parameters.warm_start && step > 0)
          cells.from_cells(pressure, x);
        linear_solver.solve(
            matrix, x, rhs, [&] { return cells.null_space<Number>(); },
            [&] { return NearNullSpace::constants(backend, matrix.n_rows(), 1); }, path);
        path.stored = path.nnz; // a column or a diagonal entry each
        require(std::isfinite(x.l2_norm()), "The pressure is not finite; choose other units for Liquid/Density.");
        if (fields.has_exact_pressure())
          compute_errors(x, path.errors);
        if (parameters.general.baseline != "none")
          solve_baseline(x, result);
        take_step(x, *result.projection);
        cells.to_cells(x, pressure);
      }

      /** Projects the velocities, and says what that did to their divergence. */
      void take_step(const Vector<Number> &x, ProjectionReport &projection)
      {
        // Flows are of the order of 1 in a precision that may be too short for velocities.
        const double   unit = std::ldexp(1., binary_exponent(flow_size) - 1);
        Vector<Number> flow;
        assemble(1. / unit, flow);
        projection.divergence_before = unit * flow.l2_norm();
        system.project(cells, x, 1. / grid_scale(), velocities);
        assemble(1. / unit, flow);
        projection.divergence_after = unit * flow.l2_norm();
        Vector<Number> ones(backend, flow.size());
        ones                  = Number(1);
        projection.total_flow = -unit * flow.dot(ones);
      }

      /** |p - p_exact| in L2, and in H1 by differences of neighbouring fluid cells. */
      void compute_errors(const Vector<Number> &x, std::optional<Errors> &errors) const
      {
        const VoxelGrid    &grid = fields.grid();
        const Array<double> exact(backend, fields.exact_pressure());
        Vector<Number>      difference;
        cells.from_cells(exact, difference);
        difference.add(Number(-1), x);
        linear_solver.null_space().project(difference);
        const double  volume = std::pow(grid.h, dim);
        Array<double> on_cells(backend);
        cells.to_cells(difference, on_cells);
        const std::vector<double>        &e       = on_cells.to_vector();
        const std::vector<unsigned char> &all     = fields.labels();
        const int                         unit    = binary_exponent(largest_of(e));
        double                            sum     = 0.;
        const std::int64_t                step[3] = {1, grid.n[0], std::int64_t(grid.n[0]) * grid.n[1]};
        for (std::int64_t cell = 0; cell < grid.n_cells(); ++cell)
        {
          const auto at = position(cell, grid.n);
          for (int d = 0; d < dim; ++d)
            if (at[d] > 0 && static_cast<VoxelLabel>(all[cell]) == VoxelLabel::fluid &&
                static_cast<VoxelLabel>(all[cell - step[d]]) == VoxelLabel::fluid)
              sum += std::pow(std::ldexp(e[cell] - e[cell - step[d]], -unit), 2);
        }
        errors = Errors{std::sqrt(volume) * difference.l2_norm(),
                        std::ldexp(std::sqrt(volume) / grid.h * std::sqrt(sum), unit)};
      }

      /** Calls visit(row, diagonal, columns) for every fluid cell; @p row has the numbers of those, -1 for others. */
      template <typename Visitor>
      void for_each_row(const std::vector<int> &row, const Visitor &visit) const
      {
        const VoxelGrid                             &grid    = fields.grid();
        const std::int64_t                           step[3] = {1, grid.n[0], std::int64_t(grid.n[0]) * grid.n[1]};
        std::vector<dealii::types::global_dof_index> columns;
        for (std::int64_t cell = 0; cell < grid.n_cells(); ++cell)
        {
          if (row[cell] < 0)
            continue;
          const auto at   = position(cell, grid.n);
          int        open = 0;
          columns.clear();
          for (int d = 0; d < 3; ++d)
            for (int side = 0; side < 2; ++side)
              if (side == 0 ? at[d] == 0 : at[d] + 1 == grid.n[d])
                open += grid.open_sides[2 * d + side];
              else
              {
                const std::int64_t other = cell + (side == 0 ? -step[d] : step[d]);
                open += static_cast<VoxelLabel>(fields.labels()[other]) != VoxelLabel::solid;
                if (row[other] >= 0)
                  columns.push_back(row[other]);
              }
          visit(static_cast<dealii::types::global_dof_index>(row[cell]), open > 0 ? open : 1, columns);
        }
      }

      /**
       * The same system in a Trilinos matrix, filled by a loop over cells on the host, and solved by Trilinos'
       * conjugate gradients, with a basis of the constants of closed parts; and how far @p x is from its solution.
       */
      void solve_baseline(const Vector<Number> &x, CycleReport &result)
      {
        namespace Trilinos                 = dealii::TrilinosWrappers;
        const bool             ml          = parameters.general.baseline == "trilinos_ml";
        PathReport            &path        = result.baseline.emplace();
        const dealii::IndexSet rows        = dealii::complete_index_set(rhs.size());
        const auto             to_trilinos = [&](const Vector<Number> &vector) {
          const std::vector<double> values = to_double(vector);
          Trilinos::MPI::Vector     copy(rows, MPI_COMM_SELF);
          std::copy(values.begin(), values.end(), copy.begin());
          return copy;
        };
        Trilinos::SparseMatrix matrix;
        std::vector<int>       row(fields.labels().size(), -1);
        path.seconds.sparsity = timed(MPI_COMM_SELF, progress, "sparsity (Trilinos)", [&] {
          int n = 0;
          for (std::size_t cell = 0; cell < row.size(); ++cell)
            if (static_cast<VoxelLabel>(fields.labels()[cell]) == VoxelLabel::fluid)
              row[cell] = n++;
          dealii::DynamicSparsityPattern pattern(n, n);
          for_each_row(row, [&](const auto i, const int, const auto &columns) {
            pattern.add(i, i);
            pattern.add_entries(i, columns.begin(), columns.end());
          });
          matrix.reinit(rows, rows, pattern, MPI_COMM_SELF);
        });
        path.seconds.assembly = timed(MPI_COMM_SELF, progress, "assembly (Trilinos)", [&] {
          for_each_row(row, [&](const auto i, const int diagonal, const auto &columns) {
            matrix.set(i, i, diagonal);
            for (const auto j : columns)
              matrix.set(i, j, -1.);
          });
          matrix.compress(dealii::VectorOperation::insert);
        });

        Trilinos::MPI::Vector              b = to_trilinos(rhs), solution(rows, MPI_COMM_SELF);
        std::vector<Trilinos::MPI::Vector> basis;
        for (const Vector<Number> &part : linear_solver.null_space().vectors())
          basis.push_back(to_trilinos(part));
        const auto make_preconditioner =
            [&](const Trilinos::SparseMatrix &) -> std::unique_ptr<Trilinos::PreconditionBase> {
          if (ml)
          {
            Trilinos::PreconditionAMG::AdditionalData data;
            data.elliptic        = true;
            data.smoother_type   = "Chebyshev";
            data.smoother_sweeps = 2;
            // Factorisations break down on a singular matrix.
            if (!basis.empty())
              data.coarse_type = "symmetric Gauss-Seidel";
            auto preconditioner = std::make_unique<Trilinos::PreconditionAMG>();
            preconditioner->initialize(matrix, data);
            return preconditioner;
          }
          auto jacobi = std::make_unique<Trilinos::PreconditionJacobi>();
          jacobi->initialize(matrix);
          return jacobi;
        };
        SolverParameters solver = parameters.solver;
        solver.preconditioner   = ml ? "ml" : "jacobi";
        reference::solve_system("Trilinos", matrix, solution, b, basis, {}, solver, progress, make_preconditioner,
                                path);
        const std::vector<double> own   = to_double(x);
        const double             *other = solution.begin();
        for (std::size_t i = 0; i < own.size(); ++i)
          result.difference.largest = std::max(result.difference.largest, std::abs(own[i] - other[i]));
        const double largest       = solution.linfty_norm();
        result.difference.relative = largest > 0. ? result.difference.largest / largest : result.difference.largest;
      }

      void export_system()
      {
        report.begin();
        LinearSystem exported = to_linear_system<Number>(system.matrix(), rhs);
        exported.n_near_null  = 1;
        exported.near_null.assign(exported.rhs.size(), 1.);
        write_linear_system(exported, parameters.general.export_file(parameters.output.folder));
      }

      void write_output(const unsigned int step, const ProjectionReport &projection)
      {
        report.begin();
        if (!parameters.output.wants_picture(step + 1 == parameters.n_steps))
          return;
        const std::string         name   = "solution-" + std::to_string(step) + ".vtu";
        const std::vector<double> values = pressure.to_vector();
        note_range_of_pictures(std::max(largest_of(values), flow_size), std::cout);
        std::vector<double> face_velocities[3];
        for (int d = 0; d < 3; ++d)
          face_velocities[d] = velocities.component[d].to_vector();
        fields.write(parameters.output.folder + "/" + name, values, face_velocities);
        pictures.add(projection.time, name);
      }
    };
  } // namespace

  /**
   * The pressure of a liquid on voxels of fluid, air and solid, step by step as the fluid moves (P2): VoxelPoisson with
   * the preconditioners of all applications. Labels and the velocities before each step are formulas of a parameter
   * file, labels also an image; the step makes the velocities free of divergence.
   */
  class PressureApplication : public Application
  {
  public:
    std::string     name() const override { return "pressure_poisson"; }
    void            declare_parameters(dealii::ParameterHandler &prm) override { parameters.declare_parameters(prm); }
    ParametersInUse parse_parameters(dealii::ParameterHandler &prm) override
    {
      parameters.parse_parameters(prm);
      std::vector<EntryCondition> conditions = solver_conditions(parameters.solver, true, false);
      conditions.push_back({{"Solver/Warm start"}, parameters.n_steps > 1, "Time/Steps of 2 or more"});
      return {parameters.output, conditions, parameters.general.export_system, parameters.image};
    }

    double n_cells_on_ranks(const std::string &) override { return 0.; }

    void run(const std::string &directory, RunReport &report, const MPI_Comm communicator) override
    {
      require(dealii::Utilities::MPI::n_mpi_processes(communicator) == 1,
              "pressure_poisson runs in one process; start it without mpiexec.");
      if (parameters.general.dimension == 2)
        run_in<2>(directory, report);
      else
        run_in<3>(directory, report);
    }

  private:
    PressureParameters parameters;

    template <int dim>
    void run_in(const std::string &directory, RunReport &report) const
    {
      if (parameters.general.precision == "single")
        PressureRun<dim, float>(parameters, directory, report).run();
      else
        PressureRun<dim, double>(parameters, directory, report).run();
    }
  };
} // namespace PatchFEM

int main(int argc, char **argv)
{
  PatchFEM::PressureApplication application;
  return PatchFEM::application_main(argc, argv, application);
}
