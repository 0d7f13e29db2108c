// SPDX-License-Identifier: LGPL-2.1-or-later
// One-level preconditioners under conjugate gradients: time of an application and of an iteration, iterations, and time
// to a verified solution, on Q1 elasticity, Q1 Laplace and the pressure equation of a liquid.
//   bench_precondition [--n NODES] [--laplace-n NODES] [--voxels N] [--iterations N] [--repetitions N]
//                      [--reduction-exponent K] [--json FILE]
#include "grid_matrices.cuh"
#include "voxel_system.h"

#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/precondition/precondition_ic.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/precondition/precondition_ssor.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

using namespace benchmark;

namespace
{
  /** One system on the device and what is solved on it. */
  class System
  {
  public:
    using Product = std::function<std::vector<double>(const std::vector<double> &)>;

    System(const Backend             &backend,
           Report                    &report,
           const Options             &options,
           const std::string         &title,
           const std::vector<double> &load,
           const Product             &product)
        : backend(backend), report(report), timer(backend), n_iterations(options.get_int("iterations")),
          n_repetitions(options.get_int("repetitions")),
          reduction(std::pow(10., -options.get_int("reduction-exponent"))), n_dofs(load.size()), load(load),
          product(product), b(backend, load), z(backend, load.size())
    {
      char size[64];
      std::snprintf(size, sizeof(size), ", %.1f M DoF", 1e-6 * n_dofs);
      this->title = title;
      size_text   = size;
    }

    /** @p iteration_bytes and @p application_bytes per unknown; the preconditioner is made by @p set_up. */
    template <typename Preconditioner>
    double measure(const std::string            &what,
                   const MatrixBase<double>     &matrix,
                   Preconditioner               &preconditioner,
                   const std::function<void()>  &set_up,
                   const double                  iteration_bytes,
                   const double                  application_bytes,
                   std::map<std::string, double> further = {})
    {
      further["set-up"] = timer.seconds(set_up);
      further["memory"] = preconditioner.memory_consumption() / n_dofs;

      Vector<double>             x(backend, load.size());
      ConjugateGradients<double> cg;
      const auto                 solve = [&](const double tolerance, const int max_iterations) {
        IterationControl control;
        control.tolerance      = tolerance;
        control.max_iterations = max_iterations;
        x                      = 0.;
        return cg.solve(matrix, x, b, preconditioner, control);
      };
      const double    tolerance = reduction * b.l2_norm();
      IterationResult result;
      const double    seconds  = timer.seconds([&]() { result = solve(tolerance, 20000); });
      const double    error    = true_residual(x);
      const bool      verified = result.status == IterationResult::Status::converged && error <= 1.000001 * tolerance;
      further["iterations"]    = result.n_iterations;
      further["true residual"] = error / b.l2_norm();

      if (application_bytes > 0.)
        report.add({title + what + size_text,
                    "application",
                    median(timer.warm(n_repetitions, [&]() { preconditioner.vmult(z, b); })) / n_dofs,
                    "s/DoF",
                    application_bytes / report.copy_rate,
                    verified,
                    {}});

      // The difference of a long and a short run is that of iterations alone.
      const int           few = std::max(1, n_iterations / 5);
      std::vector<double> times;
      for (int i = 0; i < 3; ++i)
      {
        const double shorter = timer.seconds([&]() { solve(0., few); });
        const double longer  = timer.seconds([&]() { solve(0., few + n_iterations); });
        times.push_back((longer - shorter) / n_iterations / n_dofs);
      }
      report.add({title + what + size_text,
                  "iteration",
                  median(times),
                  "s/DoF",
                  iteration_bytes / report.copy_rate,
                  verified,
                  {}});
      report.add({title + what + size_text, "solution", seconds, "s", 0., verified, further});
      return seconds;
    }

  private:
    Backend             backend;
    Report             &report;
    DeviceTimer         timer;
    int                 n_iterations, n_repetitions;
    double              reduction, n_dofs;
    std::vector<double> load;
    Product             product;
    Vector<double>      b, z;
    std::string         title, size_text;

    /** |b - A x| by plain loops on the host. */
    double true_residual(const Vector<double> &x) const
    {
      const std::vector<double> Ax  = product(x.copy_to_host());
      double                    sum = 0.;
      for (std::size_t i = 0; i < load.size(); ++i)
        sum += (load[i] - Ax[i]) * (load[i] - Ax[i]);
      return std::sqrt(sum);
    }
  };

  /**
   * Bytes per unknown: a matrix of fp64 @p matrix and fp32 @p single, without vectors, which are in fp64. An iteration
   * with a preconditioner of its own moves 96 beside the matrix.
   */
  struct Bytes
  {
    double matrix, single;

    double iteration(const double application) const { return matrix + 96. + application; }
    double polynomial(const int order) const { return order * (matrix + 40.) + 24.; }
    double mixed_polynomial(const int order) const { return order * (single + 40.) + 24.; }
  };

  void polynomials(System &system, const MatrixBase<double> &matrix, const Bytes &bytes)
  {
    {
      PreconditionJacobi<double> jacobi;
      system.measure(
          "Jacobi", matrix, jacobi, [&]() { jacobi.initialize(matrix); }, bytes.iteration(0.), 0.);
      PreconditionJacobi<double, float> mixed;
      system.measure(
          "Jacobi, mixed", matrix, mixed, [&]() { mixed.initialize(matrix); }, bytes.iteration(-4.), 0.);
    }
    for (const PolynomialKind kind : {PolynomialKind::least_squares, PolynomialKind::chebyshev})
    {
      const std::string name = kind == PolynomialKind::chebyshev ? "Chebyshev 6" : "least squares 6";
      double            seconds;
      {
        PreconditionPolynomial<double> polynomial;
        const double                   application = bytes.polynomial(6);
        seconds                                    = system.measure(
                                               name, matrix, polynomial,
                                               [&]() {
              polynomial.initialize(matrix, {kind, 6});
            },
                                               bytes.iteration(application), application);
      }
      PreconditionPolynomial<double, float> mixed;
      const double                          application = bytes.mixed_polynomial(6);
      const double                          faster      = system.measure(
                                        name + ", mixed", matrix, mixed,
                                        [&]() {
            mixed.initialize(matrix, {kind, 6});
          },
                                        bytes.iteration(application), application);
      std::printf("  fp64 / mixed, time to solution: %.3f\n", seconds / faster);
    }
  }

  template <int n_c>
  void grid(const Backend &backend, Report &report, const Options &options, const int n, const std::string &title)
  {
    const DeviceGrid<n_c> grid(backend, n);
    std::vector<double>   load(grid.system.n_dofs(), 0.);
    for (std::int64_t node = 0; node < grid.system.n_nodes(); ++node)
      if (node % n != 0)
        load[n_c * node + n_c - 1] = 1. / grid.system.n_nodes();
    System system(backend, report, options, title, load, [&](const auto &x) { return grid.system.product(x); });
    SlicedEllpackMatrix<double> matrix;
    grid.fill(matrix, n_c);
    const double entries = matrix.n_stored_elements() / double(load.size());
    const Bytes  bytes{(8. + 4. / (n_c * n_c)) * entries, (4. + 4. / (n_c * n_c)) * entries};
    polynomials(system, matrix, bytes);
    // Both triangles once, and the vectors of lac/precondition_ssor.h; the block diagonal is (n_c + 1) / 2 numbers.
    PreconditionSSOR<double> ssor;
    const double             application = bytes.matrix * 26. / 27. + 104. + 4. * (n_c + 1);
    system.measure(
        "SSOR in colours", matrix, ssor, [&]() { ssor.initialize(matrix); }, bytes.iteration(application), application);
    std::printf("  %d colours\n", ssor.n_phases());
    PreconditionSSOR<double, float> mixed;
    const double                    half = bytes.single * 26. / 27. + 104. + 4. * (n_c + 1);
    system.measure(
        "SSOR in colours, mixed", matrix, mixed, [&]() { mixed.initialize(matrix); }, bytes.iteration(half), half);
  }

  void voxels(const Backend &backend, Report &report, const Options &options)
  {
    const VoxelSystem           voxels(options.get_int("voxels"));
    std::vector<double>         load = scattered_values(voxels.n_unknowns);
    System                      system(backend, report, options, "pressure on voxels, ", load,
                                       [&](const auto &x) { return voxels.product(x); });
    SlicedEllpackMatrix<double> matrix(backend, voxels.matrix());
    const double                rows    = voxels.n_unknowns;
    const double                entries = matrix.n_stored_elements() / rows;
    const Bytes                 bytes{12. * entries, 8. * entries};
    const double                triangle = 12. * 0.5 * (matrix.n_nonzero_elements() / rows - 1.);
    {
      PreconditionJacobi<double> jacobi;
      system.measure(
          "Jacobi", matrix, jacobi, [&]() { jacobi.initialize(matrix); }, bytes.iteration(0.), 0.);
    }
    {
      PreconditionPolynomial<double> polynomial;
      const double                   application = bytes.polynomial(6);
      system.measure(
          "Chebyshev 6", matrix, polynomial,
          [&]() {
            polynomial.initialize(matrix, {PolynomialKind::chebyshev, 6});
          },
          bytes.iteration(application), application);
    }
    {
      PreconditionSSOR<double> ssor;
      const double             application = 2. * triangle + 112.;
      system.measure(
          "SSOR in colours", matrix, ssor, [&]() { ssor.initialize(matrix); }, bytes.iteration(application),
          application);
      std::printf("  %d colours\n", ssor.n_phases());
    }
    for (const unsigned int n_sweeps : {2u, 3u, 4u, 0u})
    {
      PreconditionIC<double> ic;
      const double application = n_sweeps > 0 ? 2. * (n_sweeps - 1.) * (triangle + 24.) + 8. : 2. * triangle + 112.;
      system.measure(
          n_sweeps > 0 ? "IC(0), " + std::to_string(n_sweeps) + " Jacobi sweeps" : "IC(0), exact", matrix, ic,
          [&]() { ic.initialize(matrix, {n_sweeps}); }, bytes.iteration(application), application);
      std::printf("  %d phases, shift %g\n", ic.n_phases(), ic.shift());
    }
    for (const unsigned int n_sweeps : {3u, 4u})
    {
      PreconditionIC<double, float> mixed;
      const double                  application = 2. * (n_sweeps - 1.) * (triangle * 8. / 12. + 24.) + 8.;
      system.measure(
          "IC(0), " + std::to_string(n_sweeps) + " Jacobi sweeps, mixed", matrix, mixed,
          [&]() { mixed.initialize(matrix, {n_sweeps}); }, bytes.iteration(application), application);
    }
    const MDIAMatrix<double> mdia(backend, voxels.matrix());
    PreconditionIC<double>   ic;
    const Bytes              mdia_bytes{mdia.memory_consumption() / rows, 0.};
    const double             application = 4. * (triangle + 24.) + 8.;
    system.measure(
        "mDIA, IC(0), 3 Jacobi sweeps", mdia, ic, [&]() { ic.initialize(mdia, {3}); },
        mdia_bytes.iteration(application), application);
    PreconditionPolynomial<double> polynomial;
    system.measure(
        "mDIA, Chebyshev 6", mdia, polynomial,
        [&]() {
          polynomial.initialize(mdia, {PolynomialKind::chebyshev, 6});
        },
        mdia_bytes.iteration(mdia_bytes.polynomial(6)), mdia_bytes.polynomial(6));
    PreconditionPolynomial<double, float> mixed_polynomial;
    const double                          mixed_bytes = 6. * (mdia_bytes.matrix - 4. + 40.) + 24.;
    system.measure(
        "mDIA, Chebyshev 6, mixed", mdia, mixed_polynomial,
        [&]() {
          mixed_polynomial.initialize(mdia, {PolynomialKind::chebyshev, 6});
        },
        mdia_bytes.iteration(mixed_bytes), mixed_bytes);
  }

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "150"},
                     {"laplace-n", "216"},
                     {"voxels", "256"},
                     {"iterations", "40"},
                     {"repetitions", "10"},
                     {"reduction-exponent", "6"}},
                    {});
    options.parse(argc, argv);
    const Backend backend("cuda");
    Report        report("precondition", backend.device_name());
    measure_rates(backend, report);
    voxels(backend, report, options);
    grid<3>(backend, report, options, options.get_int("n"), "Q1 elasticity 3D, SBELL 3x3, ");
    grid<1>(backend, report, options, options.get_int("laplace-n"), "Q1 Laplace 3D, SELL-32, ");
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
