// SPDX-License-Identifier: LGPL-2.1-or-later
#include "benchmark_cuda.h"
#include "synthetic_tables.h"

#include <patchfem/assembly/assembler.h>

#include <memory>
#include <sstream>

/**
 * Assembly on the device into the final format: general hexahedra of degree 1 for elasticity and Laplace, and linear
 * tetrahedra in scattered numbering for Laplace. Every measured matrix is verified by its product with a vector of
 * hashed numbers against an element loop on the host that shares no code with the kernels.
 */
namespace
{
  using namespace PatchFEM;
  using benchmark::DeviceTimer;
  using benchmark::median;

  template <typename Number>
  bool verified(const ElementTables      &tables,
                const ElementBatches     &batches,
                const MatrixBase<Number> &matrix,
                const double              tolerance)
  {
    const int           n_comp = tables.n_components;
    const std::int64_t  n      = batches.n_dofs();
    std::vector<double> x(n);
    std::vector<Number> permuted(n);
    for (std::int64_t i = 0; i < n; ++i)
      x[i] = synthetic::hashed(i) - 0.5;
    const std::vector<int> &position = batches.new_of_old();
    for (std::int64_t i = 0; i < n; ++i)
      permuted[std::int64_t(position[i / n_comp]) * n_comp + i % n_comp] = static_cast<Number>(x[i]);
    const std::vector<double> expected = synthetic::element_product(tables, x);
    Vector<Number>            source(batches.backend(), permuted), product(batches.backend(), n);
    matrix.vmult(product, source);
    const std::vector<Number> result = product.copy_to_host();
    double                    worst = 0., largest = 0.;
    for (std::int64_t i = 0; i < n; ++i)
    {
      const double difference =
          std::abs(result[std::int64_t(position[i / n_comp]) * n_comp + i % n_comp] - expected[i]);
      worst   = difference >= 0. ? std::max(worst, difference) : 1e300;
      largest = std::max(largest, std::abs(expected[i]));
    }
    if (!(worst <= tolerance * largest))
      std::printf("largest difference %g of %g\n", worst, largest);
    return worst <= tolerance * largest;
  }

  template <typename Form, typename Number>
  void measure(benchmark::Report         &report,
               const Backend             &backend,
               const std::string         &name,
               const ElementTables       &tables,
               const std::vector<double> &coefficients,
               const std::vector<int>    &patch_sizes,
               const int                  concurrent,
               const double               buffer_share)
  {
    constexpr int n_comp  = Form::n_components;
    const auto    seconds = [&](const auto &function) {
      backend.synchronize();
      return benchmark::host_times(1, [&]() {
        function();
        backend.synchronize();
      })[0];
    };
    double upload = 0., again = 0.;
    {
      ElementBatches batches;
      upload = seconds([&]() { batches.reinit(backend, tables); });
      again  = seconds([&]() { batches.reinit(backend, tables); });
    }
    for (const int rows : patch_sizes)
    {
      Assembler<Form, Number>                          assembler;
      typename Assembler<Form, Number>::AdditionalData data;
      data.rows_per_patch = rows;
      data.concurrent     = concurrent;
      if (buffer_share > 0.)
        data.buffer_share = buffer_share;
      if (rows > 0)
        data.strategy = "patches";
      Space  space;
      double plan_cold = 0., plan = 0.;
      for (double *time : {&plan_cold, &plan})
      {
        assembler = Assembler<Form, Number>();
        space     = Space(); // gives memory back first
        space     = Space(backend, tables);
        memory::reset_peak(backend.kind());
        *time = seconds([&]() { assembler.reinit(space, data); });
      }
      assembler.set_coefficients(CoefficientField::constant(coefficients));
      assembler.set_body_load(CoefficientField::constant(std::vector<double>(n_comp, 1.)));
      SlicedEllpackMatrix<Number> matrix;
      Vector<Number>              rhs;
      space.initialize_matrix(matrix);
      const std::string label = name + (rows > 0 ? ", " + std::to_string(rows) + " rows a patch" : "");
      space.release_sparsity_columns();

      DeviceTimer               timer(backend);
      const std::vector<double> cold    = timer.cold(3, [&]() { assembler.assemble(matrix, rhs); });
      const std::vector<double> warm    = timer.warm(10, [&]() { assembler.assemble(matrix, rhs); });
      const bool                correct = verified(tables, space.batches(), matrix, sizeof(Number) == 8 ? 1e-12 : 1e-4);
      const double              bytes   = double(space.sparsity().n_blocks()) * n_comp * n_comp * sizeof(Number) +
                           double(tables.points.size()) * 8. + double(tables.batches[0].nodes.size()) * 4.;
      const double n_cells = tables.batches[0].n_cells;
      // What made the matrix is as right as the matrix.
      if (rows == patch_sizes.front())
        report.add({name, "batches", again, "s", 0., correct, {{"cold", upload}}});
      report.add({label, "plan", plan, "s", 0., correct, {{"cold", plan_cold}}});
      report.add({label,
                  "rate",
                  n_cells / median(warm),
                  "cells/s",
                  n_cells / (bytes / report.copy_rate),
                  correct,
                  {{"cold", n_cells / median(cold)},
                   {"redundancy", assembler.patches().redundancy()},
                   {"rows_per_patch", double(assembler.patches().rows_per_patch())},
                   {"bytes", bytes}}});
      report.add({label,
                  "extra memory",
                  double(assembler.memory_consumption() + assembler.patches().memory_consumption()) /
                      matrix.memory_consumption(),
                  "1",
                  0.,
                  correct,
                  {{"matrix_bytes", double(matrix.memory_consumption())},
                   {"padding", double(matrix.n_stored_elements()) / matrix.n_nonzero_elements()}}});
    }
  }

  int run(int argc, char **argv)
  {
    benchmark::Options options({{"elasticity", "149"},
                                {"laplace", "214"},
                                {"tetrahedra", "149"},
                                {"only", "all"},
                                {"patches", "auto"},
                                {"concurrent", "0"},
                                {"buffer", "0"}},
                               {});
    options.parse(argc, argv);
    const Backend     backend("cuda");
    benchmark::Report report("assembly", backend.device_name());
    benchmark::measure_rates(backend, report);
    const std::string only  = options.get("only");
    const bool        sweep = options.get("patches") == "sweep";
    const auto        size  = [](const ElementTables &tables) {
      return ", " + std::to_string(tables.n_cells() / 100000 / 10.).substr(0, 4) + " M cells";
    };
    const int        concurrent = std::stoi(options.get("concurrent"));
    const double     buffer     = std::stod(options.get("buffer"));
    std::vector<int> named;
    if (!sweep && options.get("patches") != "auto")
    {
      std::istringstream list(options.get("patches"));
      for (std::string rows; std::getline(list, rows, ',');)
        named.push_back(std::stoi(rows));
    }
    const auto sizes = [&](std::vector<int> some) {
      return sweep ? some : (named.empty() ? std::vector<int>{0} : named);
    };
    if (only == "all" || only == "elasticity")
    {
      const ElementTables tables = synthetic::cube_of_hexahedra(options.get_int("elasticity"), 3);
      measure<Elasticity<3>, double>(report, backend,
                                     "Q1 elasticity, general hexahedra, SBELL 3x3, fp64" + size(tables), tables,
                                     {1.5, 0.8}, sizes({16, 24, 32, 48, 64, 80}), concurrent, buffer);
      measure<Elasticity<3>, float>(report, backend, "Q1 elasticity, general hexahedra, SBELL 3x3, fp32" + size(tables),
                                    tables, {1.5, 0.8}, sizes({32, 64, 96, 128}), concurrent, buffer);
    }
    if (only == "all" || only == "laplace")
    {
      const ElementTables tables = synthetic::cube_of_hexahedra(options.get_int("laplace"), 1);
      measure<Laplace<3>, double>(report, backend, "Q1 Laplace, general hexahedra, SELL, fp64" + size(tables), tables,
                                  {1.}, sizes({32, 64, 96, 128, 192, 256}), concurrent, buffer);
    }
    if (only == "all" || only == "tetrahedra")
    {
      const ElementTables tables = synthetic::cube_of_tetrahedra(options.get_int("tetrahedra"), 1, true);
      measure<Laplace<3>, double>(report, backend, "P1 Laplace, scattered tetrahedra, SELL, fp64" + size(tables),
                                  tables, {1.}, sizes({64, 96, 128, 192, 256, 384}), concurrent, buffer);
    }
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(int argc, char **argv)
{
  return benchmark::run([&]() { return run(argc, argv); });
}
