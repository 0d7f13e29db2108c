// SPDX-License-Identifier: LGPL-2.1-or-later
// Conjugate gradients with algebraic multigrid on a clamped cube of Q1 elasticity (rigid-body modes), of Q1 Laplace, and
// on Helmholtz' equation on linear tetrahedra whose nodes come in random numbering, about 10 M unknowns each: set-up,
// set-up again for new values on the same pattern, phase by phase as well, and a verified solution to 1e-8.
//   bench_amg [--n NODES] [--laplace NODES] [--tetrahedra NODES] [--only elasticity|laplace|tetrahedra]
//             [--precision fp32|fp64|finest] [--smoother chebyshev|patch] [--sweeps N] [--inner-sweeps N]
//             [--patch-storage automatic|both|half|half_atomic] [--patch-bytes N] [--repetitions N] [--json FILE]
#include "grid_matrices.cuh"
#include "helmholtz_tetrahedra.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

using namespace benchmark;

namespace
{
  /** Of the cycle; `finest` is what bodies get that are too hard for fp32 below the finest level. */
  enum class Precision
  {
    fp64,
    finest,
    fp32
  };

  std::string to_string(const Precision precision)
  {
    return precision == Precision::fp64   ? "fp64"
           : precision == Precision::fp32 ? "fp32"
                                          : "fp32 on the finest level alone";
  }

  struct Case
  {
    std::string                                                      name;
    const SlicedEllpackMatrix<double>                               &matrix;
    const NearNullSpace                                             &modes;
    std::vector<double>                                              load;
    std::function<std::vector<double>(const std::vector<double> &x)> product; ///< A x on the host, by other means
    AMGParameters                                                    parameters;
    Aggregation::AdditionalData                                      aggregates;
  };

  /** Seconds of each phase of @p work by level, in the order of the first call. */
  class Phases
  {
  public:
    explicit Phases(const Backend &backend) : backend(backend) {}

    void run(PreconditionAMG<double> &amg, const std::function<void()> &work)
    {
      backend.synchronize();
      last = std::chrono::steady_clock::now();
      amg.monitor([this](const unsigned int level, const std::string &phase) {
        backend.synchronize();
        const auto now = std::chrono::steady_clock::now();
        seconds.push_back({level, phase, std::chrono::duration<double>(now - last).count()});
        last = now;
      });
      work();
      amg.monitor({});
    }

    struct Entry
    {
      unsigned int level;
      std::string  phase;
      double       seconds;
    };
    std::vector<Entry> seconds;

  private:
    Backend                               backend;
    std::chrono::steady_clock::time_point last;
  };

  /** Bytes that a phase on a level has to move: what it reads and writes once, and A once for each product. */
  template <typename Number>
  double bytes_of(const AMGHierarchy<Number> &levels,
                  const unsigned int          level,
                  const std::string          &phase,
                  const AMGParameters        &parameters)
  {
    const double A = levels.matrix(level).memory_consumption(), n = levels.matrix(level).n_rows();
    const double vector = n * sizeof(Number);
    // Of the finest level in fp32 Lanczos and steps before the last one read bytes (see ByteMatrix).
    const bool in_bytes = std::is_same<Number, float>::value && level == 0 &&
                          double(levels.matrix(level).n_nonzero_elements()) >= double(parameters.least_in_bytes);
    const double values   = levels.matrix(level).values_memory_consumption();
    const double A_within = in_bytes ? A - 0.75 * values : A;
    if (phase == "inverse")
      return n * n * 8. * 2.;
    if (phase == "smoother") // Lanczos: a product, two inner products, D^-1 r and two updates; before it the diagonal
      return A + (in_bytes ? A + 0.25 * values : 0.) + parameters.eigenvalue_steps * (A_within + 14. * vector);
    if (phase == "pre-smoothing" || phase == "post-smoothing")
    {
      if (parameters.smoother != AMGSmoother::chebyshev)
        return 0.; // not counted
      // Each step reads A, x and b, D^-1, r and d, and writes r, d and x; the first knows d = 0 and, before the coarse
      // correction, x = 0.
      const int    m    = parameters.sweeps_on(level > 0);
      const double D    = n * levels.matrix(level).block_rows() * sizeof(Number);
      const double step = D + 8. * vector;
      return m * step + A + (m - 1) * A_within - (phase == "pre-smoothing" ? 2. : 1.) * vector;
    }
    if (level + 1 >= levels.n_levels())
      return A;
    const double P = levels.coarsening(level).prolongator().memory_consumption();
    const double C = levels.matrix(level + 1).memory_consumption();
    if (phase == "restriction" || phase == "prolongation") // P adds to what is there
      return P + vector * (phase == "restriction" ? 1. : 2.) + levels.matrix(level + 1).n_rows() * sizeof(Number);
    if (phase == "aggregates")
      return A;
    if (phase == "modes")
      return 2. * levels.tentative(level).values().memory_consumption();
    if (phase == "patterns")
      return A / levels.matrix(level).block_rows() / levels.matrix(level).block_rows();
    return 2. * A + 3. * P + C; // values: P from A, R and P in slices, A P from A
  }

  void measure(
      Report &report, const Backend &backend, const Case &problem, const int n_repetitions, const Precision precision)
  {
    DeviceTimer          timer(backend);
    const double         n_dofs = static_cast<double>(problem.load.size());
    const Vector<double> b(backend, problem.load);
    Vector<double>       x(backend, problem.load.size());

    typename PreconditionAMG<double>::AdditionalData data;
    static_cast<AMGParameters &>(data) = problem.parameters;
    data.single_precision              = precision != Precision::fp64;
    if (precision == Precision::finest)
      data.single_limit = 0.;
    PreconditionAMG<double>    amg;
    ConjugateGradients<double> cg;
    IterationControl           control;
    control.tolerance = 1e-8 * b.l2_norm();
    IterationResult result;

    const auto set_up = [&]() {
      MISAggregation aggregation(problem.aggregates);
      amg.initialize(problem.matrix, problem.modes, aggregation, data);
    };
    const auto solve = [&]() {
      x      = 0.;
      result = cg.solve(problem.matrix, x, b, amg, control);
    };
    const auto times = [&](const auto &function) {
      std::vector<double> seconds;
      for (int i = 0; i < n_repetitions; ++i)
        seconds.push_back(timer.seconds(function));
      return median(seconds);
    };
    memory::reset_peak(backend.kind());
    const std::size_t before = memory::in_use(backend.kind());
    const double      first  = timer.seconds(set_up);
    const double      peak   = static_cast<double>(memory::peak(backend.kind()) - before);
    const double      again  = times(set_up);
    const double      update = times([&]() { amg.update(problem.matrix); });
    solve();
    const double solution = times(solve);

    const std::vector<double> product = problem.product(x.copy_to_host());
    double                    sum = 0., norm = 0.;
    for (std::size_t i = 0; i < problem.load.size(); ++i)
    {
      sum += (problem.load[i] - product[i]) * (problem.load[i] - product[i]);
      norm += problem.load[i] * problem.load[i];
    }
    const bool correct = result.success() && std::sqrt(sum) <= 1.001e-8 * std::sqrt(norm);

    char name[128];
    std::snprintf(name, sizeof(name), "%s, AMG%s in %s, %.1f M DoF", problem.name.c_str(),
                  data.smoother == AMGSmoother::patch ? " on patches" : "", to_string(precision).c_str(),
                  1e-6 * n_dofs);
    const double                        matrix = problem.matrix.memory_consumption();
    const std::map<std::string, double> further{{"iterations", double(result.n_iterations)},
                                                {"operator complexity", amg.operator_complexity()},
                                                {"levels", double(amg.n_levels())},
                                                {"true residual", std::sqrt(sum / norm)},
                                                {"bytes per DoF", amg.memory_consumption() / n_dofs}};
    report.add({name, "set-up", again / n_dofs, "s/DoF", 0., correct, {{"first", first / n_dofs}}});
    report.add({name, "set-up again", update / n_dofs, "s/DoF", 0., correct, {}});
    report.add({name, "solution", solution / n_dofs, "s/DoF", 0., correct, further});
    report.add({name,
                "memory at the peak of set-up, matrix included",
                (peak + matrix) / n_dofs,
                "B/DoF",
                0.,
                correct,
                {{"matrix", matrix / n_dofs}}});

    const auto detail = [&](const char *what, const std::function<void()> &work) {
      Phases phases(backend);
      phases.run(amg, work);
      for (const Phases::Entry &entry : phases.seconds)
      {
        const double bytes = precision == Precision::fp32
                                 ? bytes_of(amg.single_hierarchy(), entry.level, entry.phase, data)
                                 : bytes_of(amg.hierarchy(), entry.level, entry.phase, data);
        Result       line{name,
                    std::string(what) + ", level " + std::to_string(entry.level) + ": " + entry.phase,
                    entry.seconds / n_dofs,
                    "s/DoF",
                    bytes / report.copy_rate / n_dofs,
                    correct,
                    {}};
        line.detail = true;
        report.add(line);
      }
    };
    if (precision == Precision::finest) // two hierarchies, of which phases do not say the one
      return;
    detail("set-up", set_up);
    detail("set-up again", [&]() { amg.update(problem.matrix); });
    amg.vmult(x, b);
    detail("cycle", [&]() { amg.vmult(x, b); });
  }

  template <int n_c>
  NearNullSpace near_null_space(const Backend &backend, const int n)
  {
    std::vector<double> points(std::size_t(3) * n * n * n);
    for (std::size_t i = 0; i < points.size() / 3; ++i)
    {
      points[3 * i]     = double(i % n) / (n - 1);
      points[3 * i + 1] = double(i / n % n) / (n - 1);
      points[3 * i + 2] = double(i / (std::size_t(n) * n)) / (n - 1);
    }
    Array<double> positions;
    positions.copy_from(backend, points);
    return n_c == 1 ? NearNullSpace::constants(1, 3, positions) : NearNullSpace::rigid_body_modes(3, positions);
  }

  template <int n_c>
  void measure_grid(Report                            &report,
                    const Backend                     &backend,
                    const int                          n,
                    const int                          n_repetitions,
                    const std::vector<Precision>      &precisions,
                    const AMGParameters               &parameters,
                    const Aggregation::AdditionalData &aggregates)
  {
    SlicedEllpackMatrix<double> matrix;
    GridSystem<n_c>             system(n);
    {
      const DeviceGrid<n_c> grid(backend, n);
      grid.fill(matrix, n_c);
    }
    const NearNullSpace modes = near_null_space<n_c>(backend, n);
    // A body force in the last component; fixed nodes get none.
    std::vector<double> load(system.n_dofs(), 0.);
    for (std::int64_t node = 0; node < system.n_nodes(); ++node)
      if (node % n != 0)
        load[n_c * node + n_c - 1] = -1. / static_cast<double>(system.n_nodes());
    for (const Precision precision : precisions)
      measure(report, backend,
              {n_c == 1 ? "Q1 Laplace 3D" : "Q1 elasticity 3D", matrix, modes, load,
               [&](const std::vector<double> &x) { return system.product(x); }, parameters, aggregates},
              n_repetitions, precision);
  }

  /**
   * sigma = lambda = 1, b_i = 1. Nodes come in random numbering; ElementBatches renumbers them along a curve, as it does
   * with every mesh, before there is a matrix.
   */
  void measure_tetrahedra(Report                            &report,
                          const Backend                     &backend,
                          const int                          n,
                          const int                          n_repetitions,
                          const std::vector<Precision>      &precisions,
                          const AMGParameters               &parameters,
                          const Aggregation::AdditionalData &aggregates)
  {
    const ElementTables         tables = synthetic::cube_of_tetrahedra(n - 1, 1, true);
    const Space                 space(backend, tables);
    SlicedEllpackMatrix<double> matrix;
    {
      Assembler<Diffusion<3>, double> assembler(space);
      assembler.set_coefficients(CoefficientField::constant({1., 0., 0., 1., 0., 1., 1.}));
      assembler.set_body_load(CoefficientField::constant({0.}));
      Vector<double> rhs;
      space.initialize_matrix(matrix);
      assembler.assemble(matrix, rhs);
    }
    const NearNullSpace     modes    = space.constants();
    const std::vector<int> &position = space.batches().new_of_old();
    const auto              product  = [&](const std::vector<double> &x) {
      std::vector<double> in_tables(x.size()), result(x.size());
      for (std::size_t i = 0; i < x.size(); ++i)
        in_tables[i] = x[position[i]];
      in_tables = synthetic::helmholtz_product(tables, in_tables);
      for (std::size_t i = 0; i < x.size(); ++i)
        result[position[i]] = in_tables[i];
      return result;
    };
    for (const Precision precision : precisions)
      measure(report, backend,
              {"P1 Helmholtz, tetrahedra, random numbering", matrix, modes, std::vector<double>(tables.n_nodes, 1.),
               product, parameters, aggregates},
              n_repetitions, precision);
  }

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "150"},
                     {"laplace", "215"},
                     {"tetrahedra", "215"},
                     {"only", "all"},
                     {"precision", "all"},
                     {"smoother", "chebyshev"},
                     {"sweeps", "2"},
                     {"inner-sweeps", "3"},
                     {"patch-storage", "automatic"},
                     {"patch-bytes", "65536"},
                     {"repetitions", "3"}},
                    {});
    options.parse(argc, argv);
    const Backend backend("cuda");
    Report        report("amg", backend.device_name());
    measure_rates(backend, report);
    const std::string only = options.get("only"), wanted_precision = options.get("precision");
    const auto        wanted = [&](const char *name) { return only == "all" || only == name; };
    require(wanted("elasticity") || wanted("laplace") || wanted("tetrahedra"), "There is no case " + only + ".");
    std::vector<Precision> precisions;
    for (const auto &[name, precision] : std::map<std::string, Precision>{
             {"fp64", Precision::fp64}, {"finest", Precision::finest}, {"fp32", Precision::fp32}})
      if (wanted_precision == "all" || wanted_precision == name)
        precisions.push_back(precision);
    require(!precisions.empty(), "There is no precision " + wanted_precision + ".");
    const int n_repetitions = options.get_int("repetitions");
    require(options.get("smoother") == "patch" || options.get("smoother") == "chebyshev",
            "The option --smoother must be chebyshev or patch, not " + options.get("smoother") + ".");
    AMGParameters parameters;
    parameters.smoother        = options.get("smoother") == "patch" ? AMGSmoother::patch : AMGSmoother::chebyshev;
    parameters.smoother_sweeps = options.get_int("sweeps");
    parameters.inner_sweeps    = options.get_int("inner-sweeps");
    parameters.patch_storage   = patch_storage(options.get("patch-storage"));
    Aggregation::AdditionalData aggregates;
    aggregates.patches     = false; // unless the smoother works on them
    aggregates.patch_bytes = options.get_int("patch-bytes");
    if (wanted("elasticity"))
      measure_grid<3>(report, backend, options.get_int("n"), n_repetitions, precisions, parameters, aggregates);
    if (wanted("laplace"))
      measure_grid<1>(report, backend, options.get_int("laplace"), n_repetitions, precisions, parameters, aggregates);
    if (wanted("tetrahedra"))
      measure_tetrahedra(report, backend, options.get_int("tetrahedra"), n_repetitions, precisions, parameters,
                         aggregates);
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
