// SPDX-License-Identifier: LGPL-2.1-or-later
// Assembly of meshes with slabs of cells of degrees 1, 2 and 3, as part of what the slabs take one by one.
//   bench_hp_assembly [--backend auto|host|cuda] [--quadrilaterals N] [--hexahedra N] [--repetitions N] [--json FILE]
#include "benchmark.h"
#include "synthetic_tables.h"

#include <patchfem/assembly/assembler.h>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  struct Timing
  {
    double seconds;
    bool   correct;
  };

  /** The time of an assembly, and whether products with the matrix are those of its cells. */
  template <typename Form>
  Timing measure(const Backend             &backend,
                 const ElementTables       &tables,
                 const std::vector<double> &coefficients,
                 const int                  n_repetitions)
  {
    constexpr int               n_comp = Form::n_components;
    const Space                 space(backend, tables);
    Assembler<Form>             assembler(space);
    SlicedEllpackMatrix<double> matrix;
    Vector<double>              rhs;
    assembler.set_coefficients(CoefficientField::constant(coefficients));
    assembler.set_body_load(CoefficientField::constant(std::vector<double>(n_comp, 1.)));
    space.initialize_matrix(matrix);
    const auto run = [&] {
      assembler.assemble(matrix, rhs);
      backend.synchronize();
    };
    run();
    const double seconds = median(host_times(n_repetitions, run));

    const std::int64_t      n        = space.n_dofs();
    const std::vector<int> &position = space.batches().new_of_old();
    const auto here = [&](const std::int64_t i) { return position[i / n_comp] * std::int64_t(n_comp) + i % n_comp; };
    std::vector<double> x(n), permuted(n);
    for (std::int64_t i = 0; i < n; ++i)
      permuted[here(i)] = x[i] = synthetic::hashed(i) - 0.5;
    const std::vector<double> expected = synthetic::element_product(tables, x);
    const Vector<double>      source(backend, permuted);
    Vector<double>            product(backend, n);
    matrix.vmult(product, source);
    const std::vector<double> result = product.copy_to_host();
    double                    worst = 0., largest = 0.;
    for (std::int64_t i = 0; i < n; ++i)
    {
      const double difference = std::abs(result[here(i)] - expected[i]);
      worst                   = difference >= 0. ? std::max(worst, difference) : 1e300;
      largest                 = std::max(largest, std::abs(expected[i]));
    }
    return {seconds, worst <= 1e-12 * largest};
  }

  template <typename Form>
  void compare(Report                    &report,
               const Backend             &backend,
               const std::string         &name,
               const int                  n,
               const std::vector<double> &coefficients,
               const int                  n_repetitions)
  {
    const auto timing = [&](const std::vector<int> &degrees) {
      return measure<Form>(backend, synthetic::slabs_of_degrees(Form::dimension, n, Form::n_components, degrees),
                           coefficients, n_repetitions);
    };
    const Timing                  mixed   = timing({1, 2, 3});
    double                        sum     = 0.;
    bool                          correct = mixed.correct;
    std::map<std::string, double> further{{"seconds", mixed.seconds}};
    for (const int degree : {1, 2, 3})
    {
      const Timing alone = timing({degree});
      sum += alone.seconds;
      correct                               = correct && alone.correct;
      further["Q" + std::to_string(degree)] = alone.seconds;
    }
    report.add({name + ", 3 x " + std::to_string(n) + "^" + std::to_string(Form::dimension) + " cells", "of parts",
                mixed.seconds / sum, "1", 0., correct, further});
  }

  int main_program(const int argc, char **argv)
  {
    Options options({{"backend", "auto"}, {"quadrilaterals", "600"}, {"hexahedra", "32"}, {"repetitions", "7"}}, {});
    options.parse(argc, argv);
    const Backend backend(options.get("backend"));
    Report        report("hp_assembly", backend.device_name());
    const int     n_2d = options.get_int("quadrilaterals"), n_3d = options.get_int("hexahedra"),
              repetitions = options.get_int("repetitions");
    compare<Laplace<2>>(report, backend, "Laplace, quadrilaterals", n_2d, {1.}, repetitions);
    compare<Elasticity<2>>(report, backend, "elasticity, quadrilaterals", n_2d, {1.5, 0.8}, repetitions);
    compare<Laplace<3>>(report, backend, "Laplace, hexahedra", n_3d, {1.}, repetitions);
    compare<Elasticity<3>>(report, backend, "elasticity, hexahedra", n_3d, {1.5, 0.8}, repetitions);
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(int argc, char **argv)
{
  return benchmark::run([&]() { return main_program(argc, argv); });
}
