// SPDX-License-Identifier: LGPL-2.1-or-later
// A time step of the pressure equation of a liquid on voxels (P2), with 304,207 cells, the largest of the paper, and on
// 256^3 voxels: structure and matrix straight into mDIA, beside the conversion of compressed rows that are there; closed
// parts, right-hand side and projection of the velocities; and the solution by preconditioner, its set-up included, as
// the structure is new in every step.
//   bench_pressure [--voxels N] [--repetitions N] [--reduction-exponent K] [--no-solution] [--json FILE]
#include "benchmark_cuda.h"
#include "voxel_system.h"

#include <patchfem/assembly/voxel_poisson.h>
#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <memory>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  class Step
  {
  public:
    Step(const Backend &backend, Report &report, const Options &options, const int n, const int n_cells)
        : backend(backend), report(report), timer(backend), n_repetitions(options.get_int("repetitions")),
          reduction(std::pow(10., -options.get_int("reduction-exponent"))), voxels(n, n_cells)
    {
      grid.n = {{n, n, n}};
      grid.h = 1. / n;
      char text[64];
      std::snprintf(text, sizeof(text), ", %.3g M cells", 1e-6 * voxels.n_unknowns);
      size_text = text;
      // The surface moves up and down by a layer of cells, so that no step finds what the last one left.
      labels[0] = Array<unsigned char>(backend, make_labels(0));
      labels[1] = Array<unsigned char>(backend, make_labels(1));
    }

    /** Times of all but the solution; its right-hand side is kept. */
    void assemble()
    {
      const double n_rows = voxels.n_unknowns, n_boxes = static_cast<double>(grid.n_cells());
      cells.reinit(backend, grid, labels[0]);
      system.reinit(cells);
      const HostCSR<double> A     = voxels.matrix();
      const HostCSR<double> found = system.matrix().to_csr_host();
      const bool            same  = found.columns == A.columns && found.values == A.values;
      const double          slots = static_cast<double>(system.matrix().memory_consumption()) - 8. * n_rows;
      const double          bytes = n_boxes + 8. * n_rows + slots;
      int                   which = 0;
      const auto add = [&](const std::string &what, const double seconds, const double moved, const bool verified,
                           std::map<std::string, double> further = {}) {
        further["bytes"] = moved;
        report.add({what + size_text, "time", seconds, "s", moved / report.copy_rate, verified, further});
      };
      const double numbering = median(timer.warm(n_repetitions, [&]() { cells.reinit(backend, grid, labels[0]); }));
      const double filling   = median(timer.warm(n_repetitions, [&]() { system.reinit(cells); }));
      const double both      = median(timer.warm(n_repetitions, [&]() {
        which = 1 - which;
        cells.reinit(backend, grid, labels[which]);
        system.reinit(cells);
      }));
      add("numbering, structure and matrix in mDIA", both, bytes, same,
          {{"numbering", numbering}, {"structure and matrix", filling}});
      cells.reinit(backend, grid, labels[0]);
      system.reinit(cells);

      // The other way: compressed rows that are on the device, in their own memory, to mDIA.
      {
        const CSRMatrix<double> rows(backend, A);
        MDIAMatrix<double>      converted;
        const double            seconds = median(timer.warm(n_repetitions, [&]() { converted.reinit(rows); }));
        add("compressed rows to mDIA", seconds, 12. * A.columns.size() + 16. * n_rows + slots,
            converted.to_csr_host().columns == A.columns);
      }

      int          n_closed     = -1;
      const double part_seconds = median(timer.warm(n_repetitions, [&]() { n_closed = cells.find_closed_parts(); }));
      add("closed parts", part_seconds, 0.5 * n_boxes, n_closed == 0);

      // Velocities without order, and gravity.
      std::vector<double> u[3];
      for (int d = 0; d < 3; ++d)
      {
        u[d].resize(grid.n_faces(d));
        for (std::size_t i = 0; i < u[d].size(); ++i)
        {
          const double multiple = 0.6180339887498949 * static_cast<double>(i + 1);
          u[d][i]               = 0.1 * (multiple - std::floor(multiple) - 0.5) - (d == 2 ? 1. : 0.);
        }
        velocities.component[d].copy_from(backend, u[d]);
      }
      const double faces = 8. * (u[0].size() + u[1].size() + u[2].size());
      const double rhs_seconds =
          median(timer.warm(n_repetitions, [&]() { system.assemble_rhs(cells, velocities, nullptr, 1., rhs); }));
      load = rhs.copy_to_host();
      add("right-hand side", rhs_seconds, faces + 8. * n_rows, largest_difference(u) < 1e-13);
      Vector<double> p(backend, load.size());
      const double   projection_seconds =
          median(timer.warm(n_repetitions, [&]() { system.project(cells, p, 1., velocities); }));
      add("projection", projection_seconds, 2. * faces + 8. * n_rows, velocities_unchanged(u));
    }

    template <typename Preconditioner>
    void solve(const std::string                           &what,
               const std::function<void(Preconditioner &)> &set_up,
               const bool                                   detail      = false,
               const int                                    n_solutions = 2)
    {
      ConjugateGradients<double> cg;
      Vector<double>             x(backend, load.size());
      IterationControl           control;
      control.tolerance      = reduction * rhs.l2_norm();
      control.max_iterations = 20000;
      IterationResult     result;
      double              set_up_seconds = 0.;
      std::vector<double> seconds;
      for (int i = -1; i < n_solutions; ++i) // the first, which loads kernels, is not counted
      {
        Preconditioner preconditioner;
        set_up_seconds                = timer.seconds([&]() { set_up(preconditioner); });
        const double solution_seconds = timer.seconds([&]() {
          x      = 0.;
          result = cg.solve(system.matrix(), x, rhs, preconditioner, control);
        });
        if (i >= 0)
          seconds.push_back(set_up_seconds + solution_seconds);
      }
      const std::vector<double> Ax  = voxels.product(x.copy_to_host());
      double                    sum = 0.;
      for (std::size_t i = 0; i < load.size(); ++i)
        sum += (load[i] - Ax[i]) * (load[i] - Ax[i]);
      report.add({"set-up and solution, " + what + size_text,
                  "time",
                  median(seconds),
                  "s",
                  0.,
                  result.status == IterationResult::Status::converged && std::sqrt(sum) <= 1.000001 * control.tolerance,
                  {{"iterations", result.n_iterations}, {"set-up", set_up_seconds}},
                  detail});
    }

    void solve_all()
    {
      const MDIAMatrix<double> &A    = system.matrix();
      using Mixed                    = PreconditionPolynomial<double, float>;
      using MixedIC                  = PreconditionIC<double, float>;
      using IC                       = PreconditionIC<double>;
      const PolynomialKind chebyshev = PolynomialKind::chebyshev, least_squares = PolynomialKind::least_squares;
      solve<PreconditionJacobi<double>>("Jacobi", [&](auto &M) { M.initialize(A); });
      solve<PreconditionPolynomial<double>>("Chebyshev 6", [&](auto &M) { M.initialize(A, {chebyshev, 6}); });
      solve<Mixed>("Chebyshev 6, mixed", [&](auto &M) { M.initialize(A, {chebyshev, 6}); });
      solve<Mixed>(
          "least squares 6, mixed",
          [&](auto &M) {
            M.initialize(A, {least_squares, 6});
          },
          true);
      solve<PreconditionSSOR<double>>("SSOR in colours", [&](auto &M) { M.initialize(A); });
      solve<IC>(
          "IC(0), 2 Jacobi sweeps", [&](auto &M) { M.initialize(A, {2u}); }, true);
      solve<IC>("IC(0), 4 Jacobi sweeps", [&](auto &M) { M.initialize(A, {4u}); });
      solve<IC>(
          "IC(0), exact", [&](auto &M) { M.initialize(A, {0u}); }, false, 1);
      solve<MixedIC>(
          "IC(0), 4 Jacobi sweeps, mixed", [&](auto &M) { M.initialize(A, {4u}); }, true);
      MISAggregation aggregation;
      solve<PreconditionAMG<double>>("AMG in fp32", [&](auto &M) {
        PreconditionAMG<double>::AdditionalData data;
        data.single_precision = true;
        M.initialize(A, NearNullSpace::constants(backend, A.n_rows(), 1), aggregation, data);
      });
    }

  private:
    Backend              backend;
    Report              &report;
    DeviceTimer          timer;
    int                  n_repetitions;
    double               reduction;
    VoxelSystem          voxels;
    VoxelGrid            grid;
    Array<unsigned char> labels[2];
    FluidCells           cells;
    VoxelPoisson<double> system;
    FaceVelocities       velocities;
    Vector<double>       rhs;
    std::vector<double>  load;
    std::string          size_text;

    /** Of the system, or with @p fewer layers of cells. */
    std::vector<unsigned char> make_labels(const int fewer) const
    {
      std::vector<unsigned char> result(grid.n_cells());
      for (int z = 0; z < voxels.n; ++z)
        for (int y = 0; y < voxels.n; ++y)
          for (int x = 0; x < voxels.n; ++x)
          {
            const bool fluid = voxels.unknown[voxels.index(x, y, z)] >= 0 && 10 * (z + fewer) < 9 * voxels.n;
            result[voxels.index(x, y, z)] = static_cast<unsigned char>(
                voxels.is_solid(x, y, z) ? VoxelLabel::solid : (fluid ? VoxelLabel::fluid : VoxelLabel::air));
          }
      return result;
    }

    /** As no pressure leaves them: but for faces of solid cells, which are to have 0; along z. */
    bool velocities_unchanged(const std::vector<double> u[3]) const
    {
      const std::vector<double> found = velocities.component[2].to_vector();
      const std::size_t         plane = std::size_t(voxels.n) * voxels.n;
      for (int z = 0; z <= voxels.n; ++z)
        for (int y = 0; y < voxels.n; ++y)
          for (int x = 0; x < voxels.n; ++x)
          {
            const std::size_t face = z * plane + std::size_t(y) * voxels.n + x;
            if (found[face] != (voxels.is_solid(x, y, z) || voxels.is_solid(x, y, z - 1) ? 0. : u[2][face]))
              return false;
          }
      return true;
    }

    /** Between the right-hand side and one by loops over cells. */
    double largest_difference(const std::vector<double> u[3]) const
    {
      const int  n       = voxels.n;
      double     largest = 0.;
      const auto solid   = [&](const int x, const int y, const int z) { return voxels.is_solid(x, y, z); };
      for (int z = 0; z < n; ++z)
        for (int y = 0; y < n; ++y)
          for (int x = 0; x < n; ++x)
          {
            const int row = voxels.unknown[voxels.index(x, y, z)];
            if (row < 0)
              continue;
            const std::size_t a = (std::size_t(z) * n + y) * (n + 1) + x, b = (std::size_t(z) * (n + 1) + y) * n + x,
                              c = voxels.index(x, y, z);
            double flow         = 0.;
            flow += (solid(x + 1, y, z) ? 0. : u[0][a + 1]) - (solid(x - 1, y, z) ? 0. : u[0][a]);
            flow += (solid(x, y + 1, z) ? 0. : u[1][b + n]) - (solid(x, y - 1, z) ? 0. : u[1][b]);
            flow += (solid(x, y, z + 1) ? 0. : u[2][c + std::size_t(n) * n]) - (solid(x, y, z - 1) ? 0. : u[2][c]);
            largest = std::max(largest, std::abs(flow + load[row]));
          }
      return largest;
    }
  };

  int main_program(const int argc, char **argv)
  {
    Options options({{"voxels", "256"}, {"repetitions", "20"}, {"reduction-exponent", "6"}}, {"no-solution"});
    options.parse(argc, argv);
    const Backend backend("cuda");
    Report        report("pressure", backend.device_name());
    measure_rates(backend, report);
    const auto measure = [&](const int n, const int n_cells) {
      Step step(backend, report, options, n, n_cells);
      step.assemble();
      if (!options.flag("no-solution"))
        step.solve_all();
    };
    measure(71, 304207);
    measure(options.get_int("voxels"), std::numeric_limits<int>::max());
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
