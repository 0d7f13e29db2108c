// SPDX-License-Identifier: LGPL-2.1-or-later
// Conjugate gradients with algebraic multigrid on a clamped cube of Q1 elasticity (rigid-body modes) and of Q1 Laplace,
// about 10 M unknowns each: set-up, set-up again for new values on the same pattern, and a verified solution to 1e-8.
//   bench_amg [--n NODES] [--laplace NODES] [--repetitions N] [--smoother chebyshev|patch] [--sweeps N]
//             [--inner-sweeps N] [--patch-bytes N] [--json FILE]
#include "grid_matrices.cuh"

#include <patchfem/lac/conjugate_gradients.h>
#include <patchfem/lac/mis_aggregation.h>
#include <patchfem/lac/precondition_amg.h>

using namespace benchmark;

namespace
{
  template <int n_c>
  NearNullSpace near_null_space(const Backend &backend, const int n)
  {
    if (n_c == 1)
      return NearNullSpace::constants(backend, n * n * n, 1);
    std::vector<double> points(std::size_t(3) * n * n * n);
    for (std::size_t i = 0; i < points.size() / 3; ++i)
    {
      points[3 * i]     = double(i % n) / (n - 1);
      points[3 * i + 1] = double(i / n % n) / (n - 1);
      points[3 * i + 2] = double(i / (std::size_t(n) * n)) / (n - 1);
    }
    Array<double> positions;
    positions.copy_from(backend, points);
    return NearNullSpace::rigid_body_modes(3, positions);
  }

  template <int n_c>
  void measure(Report        &report,
               const Backend &backend,
               const int      n,
               const int      n_repetitions,
               const bool     single,
               const Options &options)
  {
    const DeviceGrid<n_c>       grid(backend, n);
    DeviceTimer                 timer(backend);
    const double                n_dofs = static_cast<double>(grid.system.n_dofs());
    SlicedEllpackMatrix<double> matrix;
    grid.fill(matrix, n_c);
    const NearNullSpace modes = near_null_space<n_c>(backend, n);

    // A body force in the last component; fixed nodes get none.
    std::vector<double> load(grid.system.n_dofs(), 0.);
    for (std::int64_t node = 0; node < grid.system.n_nodes(); ++node)
      if (node % n != 0)
        load[n_c * node + n_c - 1] = -1. / static_cast<double>(grid.system.n_nodes());
    const Vector<double> b(backend, load);
    Vector<double>       x(backend, grid.system.n_dofs());

    typename PreconditionAMG<double>::AdditionalData data;
    data.single_precision = single;
    data.smoother         = options.get("smoother") == "patch" ? AMGSmoother::patch : AMGSmoother::chebyshev;
    data.smoother_sweeps  = options.get_int("sweeps");
    data.inner_sweeps     = options.get_int("inner-sweeps");
    Aggregation::AdditionalData aggregates;
    aggregates.patch_bytes = options.get_int("patch-bytes");
    PreconditionAMG<double>    amg;
    ConjugateGradients<double> cg;
    IterationControl           control;
    control.tolerance = 1e-8 * b.l2_norm();
    IterationResult result;

    const auto set_up = [&]() {
      MISAggregation aggregation(aggregates);
      amg.initialize(matrix, modes, aggregation, data);
    };
    const auto solve = [&]() {
      x      = 0.;
      result = cg.solve(matrix, x, b, amg, control);
    };
    const auto times = [&](const auto &function) {
      std::vector<double> seconds;
      for (int i = 0; i < n_repetitions; ++i)
        seconds.push_back(timer.seconds(function));
      return median(seconds);
    };
    const double first  = timer.seconds(set_up);
    const double again  = times(set_up);
    const double update = times([&]() { amg.update(matrix); });
    solve();
    const double solution = times(solve);

    const std::vector<double> product = grid.system.product(x.copy_to_host());
    double                    sum = 0., norm = 0.;
    for (std::size_t i = 0; i < load.size(); ++i)
    {
      sum += (load[i] - product[i]) * (load[i] - product[i]);
      norm += load[i] * load[i];
    }
    const bool correct = result.success() && std::sqrt(sum) <= 1.001e-8 * std::sqrt(norm);

    char name[128];
    std::snprintf(name, sizeof(name), "%s, AMG%s in %s, %.1f M DoF", n_c == 1 ? "Q1 Laplace 3D" : "Q1 elasticity 3D",
                  data.smoother == AMGSmoother::patch ? " on patches" : "", single ? "fp32" : "fp64", 1e-6 * n_dofs);
    const std::map<std::string, double> further{{"iterations", double(result.n_iterations)},
                                                {"operator complexity", amg.operator_complexity()},
                                                {"levels", double(amg.n_levels())},
                                                {"true residual", std::sqrt(sum / norm)},
                                                {"bytes per DoF", amg.memory_consumption() / n_dofs}};
    report.add({name, "set-up", again / n_dofs, "s/DoF", 0., correct, {{"first", first / n_dofs}}});
    report.add({name, "set-up again", update / n_dofs, "s/DoF", 0., correct, {}});
    report.add({name, "solution", solution / n_dofs, "s/DoF", 0., correct, further});
  }

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "150"},
                     {"laplace", "215"},
                     {"repetitions", "3"},
                     {"smoother", "chebyshev"},
                     {"sweeps", "2"},
                     {"inner-sweeps", "3"},
                     {"patch-bytes", std::to_string(Aggregation::AdditionalData().patch_bytes)}},
                    {});
    options.parse(argc, argv);
    require(options.get("smoother") == "patch" || options.get("smoother") == "chebyshev",
            "The option --smoother must be chebyshev or patch, not " + options.get("smoother") + ".");
    const Backend backend("cuda");
    Report        report("amg", backend.device_name());
    measure_rates(backend, report);
    for (const bool single : {false, true})
    {
      measure<3>(report, backend, options.get_int("n"), options.get_int("repetitions"), single, options);
      measure<1>(report, backend, options.get_int("laplace"), options.get_int("repetitions"), single, options);
    }
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
