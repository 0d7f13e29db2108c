// SPDX-License-Identifier: LGPL-2.1-or-later
// What the model of lac/format_model.h expects of a product in each format, beside what it takes, on one back end.
//   bench_formats [--backend NAME] [--n NODES] [--laplace-n NODES] [--tetrahedra-n NODES] [--voxels N] [--repetitions N]
//                 [--json FILE]
#include "benchmark.h"
#include "grid_system.h"
#include "synthetic_tables.h"
#include "voxel_system.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

#include <omp.h>

#include <memory>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  /** A matrix in plain rows, and its pattern of blocks. */
  struct System
  {
    std::string               name;
    int                       block_size = 1;
    HostCSR<double>           matrix;
    std::vector<std::int64_t> block_offsets;
    std::vector<int>          block_columns;
  };

  /** The matrix of @p Form on @p tables, assembled on @p backend in the numbering of ElementBatches. */
  template <typename Form>
  System assembled_system(const std::string         &name,
                          const Backend             &backend,
                          const ElementTables       &tables,
                          const std::vector<double> &coefficients)
  {
    const Space             space(backend, tables);
    Assembler<Form, double> assembler(space);
    assembler.set_coefficients(CoefficientField::constant(coefficients));
    assembler.set_body_load(CoefficientField::constant(std::vector<double>(tables.n_components, 0.)));
    const Sparsity   &sparsity = space.sparsity();
    CSRMatrix<double> matrix;
    Vector<double>    rhs;
    space.initialize_matrix(matrix);
    assembler.assemble(matrix, rhs);
    System result{name, tables.n_components, matrix.to_csr_host(), sparsity.row_offsets().to_vector(),
                  std::vector<int>(sparsity.n_blocks())};
    memory::copy(Backend("host"), result.block_columns.data(), backend, sparsity.view().columns,
                 result.block_columns.size() * sizeof(int));
    return result;
  }

  System scalar_system(const std::string &name, HostCSR<double> matrix)
  {
    System result;
    result.name          = name;
    result.matrix        = std::move(matrix);
    result.block_offsets = result.matrix.row_offsets;
    result.block_columns = result.matrix.columns;
    return result;
  }

  class Study
  {
  public:
    Study(const Backend &backend, const int n_repetitions, Report &report)
        : backend(backend), memory(MemoryModel::of(backend)), n_repetitions(n_repetitions), report(report)
    {
      // What limits a product: on a device the rate of reading, on the host that of STREAM's triad.
      const std::int64_t   n = memory.is_device ? 1 << 27 : 1 << 25;
      const Vector<double> b(backend, n), c(backend, n);
      Vector<double>       a(backend, n);
      const auto           rate = [&](const double bytes, const std::function<void()> &function) {
        function();
        return bytes * n / median(host_times(n_repetitions, [&]() {
                 function();
                 backend.synchronize();
               }));
      };
      report.copy_rate = rate(16., [&]() { a.equ(1., b); });
      report.read_rate = rate(16., [&]() { b.dot(c); });
      limit            = report.read_rate;
      if (!memory.is_device)
        limit = rate(24., [&]() {
          double *const pa = a.data();
#pragma omp parallel for simd schedule(static)
          for (std::int64_t i = 0; i < n; ++i)
            pa[i] = b.data()[i] + 3. * c.data()[i];
        });
      report.print_rates();
    }

    void run(const System &system)
    {
      const int                 b = system.block_size, n_nodes = system.matrix.n_rows / b;
      const Array<std::int64_t> offsets(backend, system.block_offsets);
      const Array<int>          columns(backend, system.block_columns);
      const SparsityView        pattern{n_nodes, n_nodes, offsets.data(), columns.data()};
      const CSRMatrix<double>   csr(backend, system.matrix, b);
      PatternStatistics         statistics;
      const double              counting = median(host_times(3, [&]() {
        statistics = pattern_statistics(backend, pattern, b, b);
        backend.synchronize();
      }));
      source                             = scattered_values(system.matrix.n_rows);
      expected.assign(source.size(), 0.);
#pragma omp parallel for schedule(static)
      for (int row = 0; row < system.matrix.n_rows; ++row)
        for (std::int64_t e = system.matrix.row_offsets[row]; e < system.matrix.row_offsets[row + 1]; ++e)
          expected[row] += system.matrix.values[e] * source[system.matrix.columns[e]];

      std::vector<MatrixFormat> formats = {{formats::coordinate}, {formats::csr}, {formats::hybrid}};
      const int                 all     = INT32_MAX;
      for (const int height : {32, 8, 64, 1})
        formats.push_back({formats::sliced_ellpack, height});
      for (const bool skip_padding : {false, true})
        formats.push_back({formats::sliced_scalar, all, false, skip_padding});
      if (b > 1)
      {
        formats.push_back({formats::sliced_ellpack, all});
        formats.push_back({formats::sliced_scalar, 32});
      }
      formats.push_back({b > 1 ? formats::sliced_scalar : formats::sliced_ellpack, 32, true});
      formats.push_back({formats::symmetric});
      if (std::all_of(system.matrix.values.begin(), system.matrix.values.end(),
                      [](const double value) { return value == -1. || value > 0.; }) &&
          b == 1)
        formats.push_back({formats::mdia});

      std::map<std::string, double> seconds;
      double                        product = 0.;
      for (const MatrixFormat &format : formats)
      {
        const double time      = measure(system, csr, format, statistics);
        seconds[format.name()] = time;
        if (format.kind == &formats::csr)
          product = time;
      }
      // What the model chooses, in units of the fastest that could be chosen.
      const std::vector<MatrixFormat> candidates = product_formats(statistics, memory);
      double                          best       = HUGE_VAL;
      for (const MatrixFormat &format : candidates)
        if (seconds.count(format.name()) > 0)
          best = std::min(best, seconds[format.name()]);
      const FormatPrediction choice = best_format(predict_formats(candidates, statistics, sizeof(double), memory));
      std::printf("chosen: %s\n", choice.format.name().c_str());
      report.add({title(system, "the format chosen against the fastest"),
                  "time",
                  seconds[choice.format.name()] / best,
                  "1",
                  0.,
                  true,
                  {{"counting in products of CSR", counting / product}}});
    }

  private:
    const Backend       backend;
    const MemoryModel   memory;
    int                 n_repetitions;
    Report             &report;
    double              limit;
    std::vector<double> source, expected;

    static std::string title(const System &system, const std::string &what)
    {
      char text[64];
      std::snprintf(text, sizeof(text), ", fp64, %.1f M DoF", 1e-6 * system.matrix.n_rows);
      return system.name + ", " + what + text;
    }

    /** @p csr in @p format, for that itself as it is; @p seconds: what the conversion takes. */
    std::shared_ptr<const MatrixBase<double>>
    make(const CSRMatrix<double> &csr, const MatrixFormat &format, double &seconds) const
    {
      if (format.kind == &formats::csr)
        return {&csr, [](const MatrixBase<double> *) {}};
      // Of what it is made of in programs.
      std::unique_ptr<MatrixBase<double>> sliced;
      if (format.kind == &formats::symmetric)
        sliced = convert(csr, assembled_format(format, csr.block_rows()));
      const MatrixBase<double> &source = sliced ? *sliced : static_cast<const MatrixBase<double> &>(csr);
      std::shared_ptr<const MatrixBase<double>> result;
      seconds = median(host_times(memory.is_device ? 3 : 1, [&]() {
        result.reset();
        result = convert(source, format);
        backend.synchronize();
      }));
      return result;
    }

    double measure(const System            &system,
                   const CSRMatrix<double> &csr,
                   const MatrixFormat      &format,
                   const PatternStatistics &statistics)
    {
      double                                          conversion = 0.;
      const std::shared_ptr<const MatrixBase<double>> matrix     = make(csr, format, conversion);
      const Vector<double>                            x(backend, source);
      Vector<double>                                  y(backend, source.size());
      y = std::numeric_limits<double>::quiet_NaN();
      matrix->vmult(y, x);
      const double error = relative_difference(y.copy_to_host(), expected);
      const int    n     = memory.is_device ? 10 : 1; // products of a measurement: launches overlap
      const double time  = median(host_times(n_repetitions,
                                             [&]() {
                                              for (int i = 0; i < n; ++i)
                                                matrix->vmult(y, x);
                                              backend.synchronize();
                                            })) /
                          n;
      const FormatCase in_double{format, statistics, sizeof(double)};
      const double     bytes = in_double.product_bytes(memory);
      const double     share = in_double.typical_efficiency(memory), n_dofs = source.size();
      // The limit is what the model expects: above 100 % the product is faster than that.
      report.add({title(system, format.name()),
                  "time",
                  time / n_dofs,
                  "s/DoF",
                  bytes / share / limit / n_dofs,
                  error < 200. * std::numeric_limits<double>::epsilon(),
                  {{"bytes per DoF", bytes / n_dofs},
                   {"efficiency", bytes / time / limit},
                   {"expected efficiency", share},
                   {"conversion in products", conversion / time},
                   {"difference", error}},
                  true});
      return time;
    }
  };

  int main_program(const int argc, char **argv)
  {
    Options options({{"backend", "auto"},
                     {"n", "64"},
                     {"laplace-n", "128"},
                     {"tetrahedra-n", "128"},
                     {"voxels", "160"},
                     {"repetitions", "15"}},
                    {});
    options.parse(argc, argv);
    const Backend backend(options.get("backend"));
    Report        report("formats", backend.device_name());
    if (backend.kind() != BackendKind::cuda)
      report.threads = omp_get_max_threads();
    Study      study(backend, options.get_int("repetitions"), report);
    const auto size = [&](const char *option) { return options.get_int(option) - 1; };
    study.run(assembled_system<Elasticity<3>>("Q1 elasticity 3D", backend, synthetic::cube_of_hexahedra(size("n"), 3),
                                              {0.5769230769, 0.3846153846}));
    const std::vector<double> helmholtz = {1., 0., 0., 1., 0., 1., 1.};
    study.run(assembled_system<Diffusion<3>>("Q1 Laplace 3D", backend,
                                             synthetic::cube_of_hexahedra(size("laplace-n"), 1), helmholtz));
    study.run(assembled_system<Diffusion<3>>("P1 tetrahedra", backend,
                                             synthetic::cube_of_tetrahedra(size("tetrahedra-n"), 1, true), helmholtz));
    study.run(scalar_system("pressure on voxels", VoxelSystem(options.get_int("voxels")).matrix()));
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
