// SPDX-License-Identifier: LGPL-2.1-or-later
// Iterations of conjugate gradients under polynomial preconditioners on the example "quad" of P0 (table 3), as part of
// those under Jacobi, to a residual of 1e-7 |b|; on the device where there is one.
//   bench_polynomials [--n NODES] [--backend auto|host|cuda] [--json FILE]
#include "benchmark.h"
#include "plane_stress_system.h"

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/precondition/precondition_polynomial.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  /** What table 3 has for orders 2 to 6, and for Jacobi. */
  struct Paper
  {
    const char    *name;
    PolynomialKind kind;
    double         iterations[5];
  };

  constexpr Paper  papers[]     = {{"Neumann", PolynomialKind::neumann, {1321., 1142., 1024., 932., 862.}},
                                   {"least squares", PolynomialKind::least_squares, {898., 690., 564., 477., 413.}},
                                   {"Chebyshev", PolynomialKind::chebyshev, {1176., 1370., 1356., 1391., 1354.}}};
  constexpr double paper_jacobi = 1938.;

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "401"}, {"backend", "auto"}}, {});
    options.parse(argc, argv);
    const Backend                     backend(options.get("backend"));
    Report                            report("polynomials", backend.device_name());
    const PlaneStressSystem           system(options.get_int("n"));
    const HostCSR<double>             A = system.matrix();
    const SlicedEllpackMatrix<double> matrix(backend, A, 2);
    const std::vector<double>         load = system.load();
    const Vector<double>              b(backend, load);
    std::printf("%d unknowns, %lld entries\n", A.n_rows, static_cast<long long>(A.columns.size()));

    // Steps, and whether b - A x in plain loops is as small as it should be.
    const auto solve = [&](const PreconditionBase<double> &M) {
      ConjugateGradients<double> cg;
      IterationControl           control;
      control.tolerance      = 1e-7 * b.l2_norm();
      control.max_iterations = 20000;
      Vector<double>            x(backend, load.size());
      const IterationResult     result   = cg.solve(matrix, x, b, M, control);
      const std::vector<double> solution = x.copy_to_host();
      double                    sum      = 0.;
      for (int row = 0; row < A.n_rows; ++row)
      {
        double r = load[row];
        for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
          r -= A.values[e] * solution[A.columns[e]];
        sum += r * r;
      }
      return std::pair<double, bool>(result.n_iterations, result.status == IterationResult::Status::converged &&
                                                              std::sqrt(sum) <= 1.00001 * control.tolerance);
    };
    const std::string          title = "plane stress, " + std::to_string(system.n) + "^2 nodes, ";
    PreconditionJacobi<double> jacobi;
    jacobi.initialize(matrix);
    const auto of_jacobi = solve(jacobi);
    report.add({title + "Jacobi", "iterations", of_jacobi.first, "1", 0., of_jacobi.second, {{"paper", paper_jacobi}}});
    for (const Paper &paper : papers)
      for (unsigned int order = 2; order <= 6; ++order)
      {
        PreconditionPolynomial<double> M;
        M.initialize(matrix, {paper.kind, order});
        const auto steps = solve(M);
        report.add({title + paper.name + " " + std::to_string(order),
                    "iterations over those of Jacobi",
                    steps.first / of_jacobi.first,
                    "1",
                    0.,
                    of_jacobi.second && steps.second,
                    {{"iterations", steps.first}, {"paper", paper.iterations[order - 2] / paper_jacobi}}});
        if (order == 6 && paper.kind == PolynomialKind::least_squares)
        {
          PreconditionPolynomial<double, float> mixed;
          mixed.initialize(matrix, {paper.kind, order});
          const auto in_single = solve(mixed);
          report.add({title + paper.name + " 6, mixed",
                      "iterations over those of Jacobi",
                      in_single.first / of_jacobi.first,
                      "1",
                      0.,
                      of_jacobi.second && in_single.second,
                      {{"iterations", in_single.first}}});
        }
      }
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
