// SPDX-License-Identifier: LGPL-2.1-or-later
// Conjugate gradients with Jacobi on a clamped cube of Q1 elasticity (about 10 M unknowns): time of one iteration and
// a verified solution, beside the same iteration written with cuSPARSE CSR and cuBLAS.
//   bench_pcg [--n NODES] [--iterations N] [--repetitions N] [--reduction-exponent K] [--json FILE]
#include "grid_matrices.cuh"

#include <patchfem/lac/precondition/precondition_jacobi.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <cublas_v2.h>

using namespace benchmark;

namespace
{
  void check(const cublasStatus_t status, const char *what)
  {
    require(status == CUBLAS_STATUS_SUCCESS, std::string(what) + " failed: " + cublasGetStatusString(status));
  }

#define CUBLAS_CHECK(call) check((call), #call)

  __global__ void multiply_kernel(const double *d, const double *r, double *z, const std::int64_t n)
  {
    const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n)
      z[i] = d[i] * r[i];
  }

  __global__ void reciprocal_kernel(double *d, const std::int64_t n)
  {
    const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i < n)
      d[i] = 1. / d[i];
  }

  /** The textbook iteration from vendor calls, x_0 = 0; returns the number of steps. */
  class VendorIteration
  {
  public:
    VendorIteration(const DeviceGrid<3> &grid, const Vector<double> &b)
        : n(grid.system.n_dofs()), stream(grid.stream()), b(b), x(grid.backend, n), r(grid.backend, n),
          z(grid.backend, n), p(grid.backend, n), q(grid.backend, n)
    {
      grid.fill(matrix);
      matrix.extract_diagonal(d);
      reciprocal_kernel<<<blocks_for(n), 256, 0, stream>>>(d.data(), n);
      product = std::make_unique<CuSparseProduct<double>>(matrix, p, q);
      CUBLAS_CHECK(cublasCreate(&handle));
      CUBLAS_CHECK(cublasSetStream(handle, stream));
    }

    ~VendorIteration() { cublasDestroy(handle); }

    int run(const double tolerance, const int max_iterations)
    {
      x = 0.;
      r.copy_from(b);
      double rz = precondition(), alpha, beta;
      p.copy_from(z);
      for (int step = 1; step <= max_iterations; ++step)
      {
        (*product)();
        double pq = 0., residual = 0.;
        CUBLAS_CHECK(cublasDdot(handle, static_cast<int>(n), p.data(), 1, q.data(), 1, &pq));
        alpha = rz / pq;
        CUBLAS_CHECK(cublasDaxpy(handle, static_cast<int>(n), &alpha, p.data(), 1, x.data(), 1));
        alpha = -alpha;
        CUBLAS_CHECK(cublasDaxpy(handle, static_cast<int>(n), &alpha, q.data(), 1, r.data(), 1));
        CUBLAS_CHECK(cublasDnrm2(handle, static_cast<int>(n), r.data(), 1, &residual));
        if (residual <= tolerance)
          return step;
        const double rz_new = precondition();
        beta                = rz_new / rz;
        rz                  = rz_new;
        const double one    = 1.;
        CUBLAS_CHECK(cublasDscal(handle, static_cast<int>(n), &beta, p.data(), 1));
        CUBLAS_CHECK(cublasDaxpy(handle, static_cast<int>(n), &one, z.data(), 1, p.data(), 1));
      }
      return max_iterations;
    }

    const Vector<double> &solution() const { return x; }

  private:
    std::int64_t                             n;
    cudaStream_t                             stream;
    const Vector<double>                    &b;
    CSRMatrix<double>                        matrix;
    Vector<double>                           d, x, r, z, p, q;
    std::unique_ptr<CuSparseProduct<double>> product;
    cublasHandle_t                           handle = nullptr;

    double precondition()
    {
      double rz = 0.;
      multiply_kernel<<<blocks_for(n), 256, 0, stream>>>(d.data(), r.data(), z.data(), n);
      CUBLAS_CHECK(cublasDdot(handle, static_cast<int>(n), r.data(), 1, z.data(), 1, &rz));
      return rz;
    }
  };

  class Runs
  {
  public:
    Runs(const Options &options, const Backend &backend, Report &report)
        : backend(backend), report(report), grid(backend, options.get_int("n")), timer(backend),
          n_iterations(options.get_int("iterations")), n_repetitions(options.get_int("repetitions")),
          reduction(std::pow(10., -options.get_int("reduction-exponent")))
    {
      // A body force in the last component; fixed nodes get none.
      const int n = grid.system.n;
      load.assign(grid.system.n_dofs(), 0.);
      for (std::int64_t node = 0; node < grid.system.n_nodes(); ++node)
        if (node % n != 0)
          load[3 * node + 2] = -1. / grid.system.n_nodes();
      b.reinit(backend, load.size());
      b.copy_from_host(load);
      char size[64];
      std::snprintf(size, sizeof(size), ", %.1f M DoF", 1e-6 * grid.system.n_dofs());
      size_text = size;
    }

    void ours(const std::string              &what,
              const MatrixBase<double>       &matrix,
              const PreconditionBase<double> &preconditioner,
              const double                    bytes_per_dof,
              const SolutionUpdate            update = SolutionUpdate::fused)
    {
      Vector<double>             x(backend, load.size());
      ConjugateGradients<double> cg({0, 500, update});
      const auto                 solve = [&](const double tolerance, const int max_iterations) {
        IterationControl control;
        control.tolerance      = tolerance;
        control.max_iterations = max_iterations;
        x                      = 0.;
        return cg.solve(matrix, x, b, preconditioner, control);
      };
      const double    tolerance = reduction * b.l2_norm();
      IterationResult result;
      const double    seconds  = timer.seconds([&]() { result = solve(tolerance, 100000); });
      const double    error    = true_residual(x);
      const bool      verified = result.status == IterationResult::Status::converged && error <= 1.000001 * tolerance;
      std::printf("%s: %s\n", what.c_str(), result.message(preconditioner.name()).c_str());

      // The difference of a long and a short run is that of iterations alone.
      add(what, [&](const int n) { solve(0., n); }, bytes_per_dof, verified,
          {{"iterations", double(result.n_iterations)}, {"solve", seconds}, {"true residual", error / b.l2_norm()}});
    }

    void vendor(const double bytes_per_dof)
    {
      VendorIteration iteration(grid, b);
      const double    tolerance = reduction * b.l2_norm();
      int             steps     = 0;
      const double    seconds   = timer.seconds([&]() { steps = iteration.run(tolerance, 100000); });
      const double    error     = true_residual(iteration.solution());
      add("cuSPARSE CSR + cuBLAS, Jacobi", [&](const int n) { iteration.run(0., n); }, bytes_per_dof,
          error <= 1.01 * tolerance,
          {{"iterations", double(steps)}, {"solve", seconds}, {"true residual", error / b.l2_norm()}});
    }

    Backend       backend;
    Report       &report;
    DeviceGrid<3> grid;

  private:
    DeviceTimer         timer;
    int                 n_iterations, n_repetitions;
    double              reduction;
    std::vector<double> load;
    Vector<double>      b;
    std::string         size_text;

    /** |b - A x| by plain loops on the host. */
    double true_residual(const Vector<double> &x) const
    {
      const std::vector<double> Ax  = grid.system.product(x.copy_to_host());
      double                    sum = 0.;
      for (std::size_t i = 0; i < load.size(); ++i)
        sum += (load[i] - Ax[i]) * (load[i] - Ax[i]);
      return std::sqrt(sum);
    }

    void add(const std::string              &what,
             const std::function<void(int)> &iterate,
             const double                    bytes_per_dof,
             const bool                      verified,
             std::map<std::string, double>   further)
    {
      const int           few = std::max(1, n_iterations / 5);
      std::vector<double> times;
      for (int i = 0; i < n_repetitions; ++i)
      {
        const double shorter = timer.seconds([&]() { iterate(few); });
        const double longer  = timer.seconds([&]() { iterate(few + n_iterations); });
        times.push_back((longer - shorter) / n_iterations / grid.system.n_dofs());
      }
      further["bytes per DoF"] = bytes_per_dof;
      further["B/s"]           = bytes_per_dof / median(times);
      further["minimum"]       = *std::min_element(times.begin(), times.end());
      further["maximum"]       = *std::max_element(times.begin(), times.end());
      report.add({"one iteration, Q1 elasticity 3D, " + what + size_text, "time", median(times), "s/DoF",
                  bytes_per_dof / report.copy_rate, verified, further});
    }
  };

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "150"}, {"iterations", "100"}, {"repetitions", "7"}, {"reduction-exponent", "6"}}, {});
    options.parse(argc, argv);
    const Backend backend("cuda");
    Report        report("pcg", backend.device_name());
    measure_rates(backend, report);
    Runs         runs(options, backend, report);
    const double n_dofs = runs.grid.system.n_dofs();
    {
      SlicedEllpackMatrix<double> matrix;
      runs.grid.fill(matrix, 3);
      PreconditionJacobi<double> jacobi;
      jacobi.initialize(matrix);
      // Vectors: 12 streams with Jacobi (kernels/cg.h); block Jacobi reads 6 numbers per node instead of 3.
      const double matrix_bytes = (8. + 4. / 9.) * matrix.n_stored_elements() / n_dofs;
      runs.ours("SBELL 3x3, Jacobi", matrix, jacobi, matrix_bytes + 96.);
      runs.ours("SBELL 3x3, Jacobi, x on a stream", matrix, jacobi, matrix_bytes + 104., SolutionUpdate::streams);
      // Six products with vectors of 40 bytes an unknown each.
      PreconditionPolynomial<double> polynomial;
      polynomial.initialize(matrix);
      const double polynomial_bytes = 7. * matrix_bytes + 6. * 40. + 96.;
      runs.ours("SBELL 3x3, least squares 6", matrix, polynomial, polynomial_bytes);
      runs.ours("SBELL 3x3, least squares 6, x on a stream", matrix, polynomial, polynomial_bytes + 8.,
                SolutionUpdate::streams);
      PreconditionBlockJacobi<double> block_jacobi;
      block_jacobi.initialize(matrix);
      runs.ours("SBELL 3x3, block Jacobi", matrix, block_jacobi, matrix_bytes + 104.);
    }
    {
      CSRMatrix<double> matrix;
      runs.grid.fill(matrix);
      PreconditionJacobi<double> jacobi;
      jacobi.initialize(matrix);
      const double matrix_bytes = 12. * matrix.n_nonzero_elements() / n_dofs + 8.;
      runs.ours("CSR, Jacobi", matrix, jacobi, matrix_bytes + 96.);
    }
    // Vendor calls move more: product 2, dot 2, two updates 6, norm 1, z = D r 3, dot 2, scale 2, add 3 streams.
    runs.vendor(12. * 9. * runs.grid.n_blocks / n_dofs + 4. + 8. * 21.);
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
