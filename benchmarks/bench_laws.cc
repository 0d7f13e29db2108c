// SPDX-License-Identifier: LGPL-2.1-or-later
// One step of Newton's method for nonlinear solids, in parts: nanoseconds an unknown, and the tangent by dual numbers beside that by
// hand.
//   bench_laws [--backend auto|host|cuda] [--n N] [--repetitions N] [--json FILE]
#include "benchmark.h"
#include "law_by_hand.h"
#include "synthetic_tables.h"

#include <patchfem/assembly/law_assembler.h>
#include <patchfem/kernels/materials/plasticity.h>
#include <patchfem/kernels/materials/solids.h>
#include <patchfem/kernels/tangent_form.h>
#include <patchfem/lac/multigrid/precondition_amg.h>
#include <patchfem/lac/solver/linear_solution.h>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  /** The unit cube, held at x = 0, where x = 1 is pulled by @p pull. */
  ElementTables pulled_cube(const int n, const double pull, std::vector<double> &prescribed)
  {
    ElementTables    tables = synthetic::cube_of_hexahedra(n, 3);
    ConstraintTable &lines  = tables.constraints;
    lines.offsets.push_back(0);
    for (int node = 0; node < tables.n_nodes; ++node)
    {
      const double x = tables.points[3 * std::size_t(node)];
      for (int d = 0; d < 3; ++d)
        if (x == 0. || x == 1.)
        {
          lines.constrained.push_back(3 * node + d);
          lines.offsets.push_back(0);
          lines.inhomogeneity.push_back(0.);
          prescribed.push_back(x == 1. && d == 0 ? pull : 0.);
        }
    }
    return tables;
  }

  template <typename Law>
  void measure_step(Report                    &report,
                    const Backend             &backend,
                    const std::string         &name,
                    const int                  n,
                    const double               pull,
                    const std::vector<double> &parameters,
                    const int                  n_repetitions)
  {
    std::vector<double>         prescribed;
    Space                       space(backend, pulled_cube(n, pull, prescribed));
    LawAssembler                solid(space);
    SlicedEllpackMatrix<double> K;
    PreconditionAMG<double>     multigrid;
    ConjugateGradients<double>  iteration;
    Vector<double>              u, d, r, rhs;
    const double                per_unknown = 1e9 / space.n_dofs();
    const auto                  time        = [&](const auto &function) {
      return per_unknown * median(host_times(n_repetitions, [&] {
               function();
               backend.synchronize();
             }));
    };
    solid.add_law<Law>(CoefficientField::constant(parameters));
    space.initialize_matrix(K);
    space.initialize_dof_vector(u);
    space.initialize_dof_vector(d);
    space.update_inhomogeneities(prescribed);
    solid.begin_step({1., 1., 1.});
    double         first = 0., last = 0.;
    LinearSolution solution;
    const auto     solve = [&] {
      IterationControl control;
      control.tolerance = 1e-3 * rhs.l2_norm();
      solution          = solve_truncated(iteration, K, d, rhs, multigrid, control);
    };
    std::map<std::string, double> parts;
    for (int step = 0; step < 15; ++step)
    {
      solid.linearise(u, K, rhs);
      last = rhs.l2_norm();
      if (step == 0)
      {
        first = last;
        multigrid.initialize(K, space.rigid_body_modes());
      }
      else if (step == 1) // of a deformed state, where nothing is moved any more
      {
        multigrid.update(K);
        parts["linearise"] = time([&] { solid.linearise(u, K, rhs); });
        parts["residual"]  = time([&] { solid.residual(u, r); });
        parts["update"]    = time([&] { multigrid.update(K); });
        parts["solution"]  = time(solve);
        parts["steps"]     = solution.n_iterations;
      }
      else if (last < 1e-6 * first)
        break;
      solve();
      solid.distribute(d);
      u.add(1., d);
    }
    const double sum = parts["linearise"] + parts["residual"] + parts["update"] + parts["solution"];
    report.add({name + ", " + std::to_string(space.n_dofs()) + " unknowns", "Newton step", sum, "ns", 0.,
                last < 1e-6 * first, parts});
  }

  /** linearise() beside the assembly of the same tangent by hand. */
  void compare_by_hand(Report &report, const Backend &backend, const int n, const int n_repetitions)
  {
    std::vector<double>         prescribed;
    const Space                 space(backend, pulled_cube(n, 0.05, prescribed));
    const auto                  moduli = CoefficientField::constant({576.9, 384.6});
    SlicedEllpackMatrix<double> K, expected;
    Vector<double>              u, r, rhs;
    std::vector<double>         values;
    for (std::int64_t i = 0; i < space.n_dofs(); ++i)
      values.push_back(0.05 / n * synthetic::hashed(i));
    u               = Vector<double>(backend, values);
    const auto time = [&](const auto &function) {
      return median(host_times(n_repetitions, [&] {
        function();
        backend.synchronize();
      }));
    };
    double seconds[2];
    {
      LawAssembler solid(space);
      solid.add_law<Materials::NeoHookean>(moduli);
      solid.begin_step({});
      space.initialize_matrix(K);
      solid.linearise(u, K, rhs);
      seconds[0] = time([&] { solid.linearise(u, K, rhs); });
    }
    using Law = NeoHookeanByHand;
    QuadratureField<double>                   field(space, Law::n_values);
    Assembler<TangentForm<3, 3, false, true>> assembler(space);
    assembler.set_coefficients(field.components(0, Law::n_tangent));
    space.initialize_matrix(expected);
    const auto by_hand = [&] {
      field.evaluate<Law>(u, moduli);
      integrate(space, {}, field.components(Law::n_tangent, 9), r);
      assembler.assemble(expected, rhs);
    };
    by_hand();
    seconds[1] = time(by_hand);
    Vector<double> product, other;
    product.reinit(u);
    other.reinit(u);
    K.vmult(product, u);
    expected.vmult(other, u);
    product.add(-1., other);
    const bool verified = product.linfty_norm() < 1e-12 * other.linfty_norm();
    report.add({"neo-Hookean, tangent by dual numbers, " + std::to_string(space.n_dofs()) + " unknowns",
                "of by hand",
                seconds[0] / seconds[1],
                "1",
                0.,
                verified,
                {{"duals", seconds[0] * 1e9 / space.n_dofs()}, {"hand", seconds[1] * 1e9 / space.n_dofs()}}});
  }

  int main_program(const int argc, char **argv)
  {
    Options options({{"backend", "auto"}, {"n", "100"}, {"repetitions", "7"}}, {});
    options.parse(argc, argv);
    const Backend backend(options.get("backend"));
    Report        report("laws", backend.device_name());
    const int     n = options.get_int("n"), repetitions = options.get_int("repetitions");
    measure_step<Materials::NeoHookean>(report, backend, "neo-Hookean", n, 0.05, {576.9, 384.6}, repetitions);
    measure_step<Materials::J2Plasticity>(report, backend, "J2 plasticity", n, 0.002,
                                          {175000., 80769., 240., 100., 16., 1000., 500.}, repetitions);
    compare_by_hand(report, backend, n, repetitions);
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return benchmark::run([&]() { return main_program(argc, argv); });
}
