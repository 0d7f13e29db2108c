// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lab.h"

#include "grid_system.h"

#include <patchfem/base/memory.h>

#include <limits>

#include <omp.h>

namespace papers
{
  Report::Report(const std::string &device, std::string json)
      : benchmark::Report("papers", device), json(std::move(json)), start(omp_get_wtime())
  {}

  void Report::begin(const std::string &example) const
  {
    std::printf("%.1f s: %s\n", omp_get_wtime() - start, example.c_str());
    std::fflush(stdout);
  }

  void Report::add(const std::string &what,
                   const std::string &metric,
                   const double       value,
                   const std::string &unit,
                   const bool         verified)
  {
    benchmark::Report::add({what, metric, value, unit, 0., verified, {}, true});
    write(json);
  }

  void Place::enter() const
  {
    omp_set_num_threads(n_threads);
  }

  std::vector<Place> places()
  {
    static const int   n_threads = omp_get_max_threads(); // before anything changes it
    std::vector<Place> result;
    if (Backend::cuda_available())
      result.push_back({"cuda", Backend("cuda"), n_threads});
    result.push_back({"host", Backend("host"), n_threads});
    result.push_back({"core", Backend("host"), 1});
    return result;
  }

  double time_of(const Place &place, const std::function<void()> &work)
  {
    const auto run = [&](const int n) {
      for (int i = 0; i < n; ++i)
        work();
      place.backend.synchronize();
    };
    run(1);
    const double once = benchmark::host_times(1, [&]() { run(1); })[0];
    const int    n    = std::max(1, std::min(500, int(0.01 / once)));
    return benchmark::median(benchmark::host_times(once > 0.05 ? 3 : 5, [&]() { run(n); })) / n;
  }

  Matrices::Matrices(const Backend &backend, const System &system)
      : backend(backend), block(system.block), offsets(backend, system.offsets), columns(backend, system.columns)
  {
    compressed.reinit(backend, pattern(), block, block);
    memory::copy(backend, compressed.view().values, Backend("host"), system.values.data(),
                 sizeof(double) * system.values.size());
  }

  SparsityView Matrices::pattern() const
  {
    const int n = static_cast<int>(offsets.size()) - 1;
    return {n, n, offsets.data(), columns.data()};
  }

  void Matrices::sliced(SlicedEllpackMatrix<double> &matrix, const int b, const int slice_height) const
  {
    const CSRView<double> view  = compressed.view();
    const SparsityView    rows  = {view.n_rows, view.n_columns, view.row_offsets, view.columns};
    const int             count = b == 1 ? view.n_rows : view.n_rows / b;
    matrix.reinit(backend, b == 1 ? rows : pattern(), b, b, {slice_height == 0 ? count : slice_height});
    launch(backend, [&](auto where) { kernels::fill_values(where, view, matrix.view()); });
    backend.synchronize();
  }

  template <typename Number>
  bool is_product(const Vector<Number> &result, const std::vector<double> &expected)
  {
    return benchmark::relative_difference(result.copy_to_host(), expected) <
           200. * std::numeric_limits<Number>::epsilon();
  }

  template <typename Number>
  double product_time(const Place               &place,
                      const MatrixBase<Number>  &matrix,
                      const std::vector<double> &source,
                      const std::vector<double> &expected,
                      bool                      &verified)
  {
    Vector<Number> x(place.backend, std::vector<Number>(source.begin(), source.end())), y(place.backend, source.size());
    y = std::numeric_limits<Number>::quiet_NaN();
    matrix.vmult(y, x);
    verified = is_product(y, expected);
    return time_of(place, [&]() { matrix.vmult(y, x); });
  }

  Solution solve(const MatrixBase<double>       &matrix,
                 const PreconditionBase<double> &preconditioner,
                 const System                   &system,
                 const double                    reduction)
  {
    const Backend             &backend = matrix.backend();
    const Vector<double>       b(backend, system.load);
    Vector<double>             x(backend, system.load.size());
    ConjugateGradients<double> cg;
    IterationControl           control;
    control.max_iterations = 4; // allocates and records what the solution that is timed uses
    cg.solve(matrix, x, b, preconditioner, control);
    x                      = 0.;
    control.tolerance      = reduction * b.l2_norm();
    control.max_iterations = 100000;
    IterationResult result;
    const double    seconds = benchmark::host_times(1, [&]() {
      result = cg.solve(matrix, x, b, preconditioner, control);
      backend.synchronize();
    })[0];
    Solution        solution{double(result.n_iterations), seconds, false, x.copy_to_host()};

    const std::vector<double> Ax  = system.product(solution.x);
    double                    sum = 0.;
    for (std::size_t i = 0; i < Ax.size(); ++i)
      sum += (system.load[i] - Ax[i]) * (system.load[i] - Ax[i]);
    solution.verified =
        result.status == IterationResult::Status::converged && std::sqrt(sum) <= 1.00001 * control.tolerance;
    return solution;
  }

  double iteration_time(const Place                    &place,
                        const MatrixBase<double>       &matrix,
                        const PreconditionBase<double> &preconditioner,
                        const System                   &system)
  {
    const Vector<double>       b(place.backend, system.load);
    Vector<double>             x(place.backend, system.load.size());
    ConjugateGradients<double> cg({1, 500});
    const auto                 seconds = [&](const int n) {
      IterationControl control;
      control.tolerance      = 0.;
      control.max_iterations = n;
      x                      = 0.;
      return benchmark::host_times(1, [&]() { cg.solve(matrix, x, b, preconditioner, control); })[0];
    };
    place.enter();
    seconds(1);
    // A core shares its cache and its memory with others: the median of several runs of a third of a second.
    const double        once = seconds(2) / 3.;
    const int           n    = std::max(3, std::min(300, int(0.3 / once)));
    std::vector<double> results;
    for (int i = 0; i < 7; ++i)
    {
      const double shorter = seconds(2);
      results.push_back((seconds(2 + n) - shorter) / n);
    }
    return benchmark::median(results);
  }

  void add_solution_time(Report                         &report,
                         const std::string              &name,
                         const Place                    &place,
                         const MatrixBase<double>       &matrix,
                         const PreconditionBase<double> &preconditioner,
                         const System                   &system,
                         const double                    reduction,
                         const double                    n_iterations)
  {
    constexpr double longest  = 4.;
    const double     expected = n_iterations * iteration_time(place, matrix, preconditioner, system);
    if (expected < longest)
    {
      const Solution solution = solve(matrix, preconditioner, system, reduction);
      report.add(name, "iterations", solution.iterations, "1", solution.verified);
      report.add(name, "solution", solution.seconds, "s", solution.verified);
      return;
    }
    report.add(name, "solution", expected, "s", true);
    report.add(name, "estimated", 1., "1", true);
  }

  template bool   is_product<float>(const Vector<float> &, const std::vector<double> &);
  template bool   is_product<double>(const Vector<double> &, const std::vector<double> &);
  template double product_time<float>(
      const Place &, const MatrixBase<float> &, const std::vector<double> &, const std::vector<double> &, bool &);
  template double product_time<double>(
      const Place &, const MatrixBase<double> &, const std::vector<double> &, const std::vector<double> &, bool &);
} // namespace papers
