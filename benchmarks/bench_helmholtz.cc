// SPDX-License-Identifier: LGPL-2.1-or-later
// P3's Helmholtz problem on a cube cut into tetrahedra, b_i = 1, to 1e-8: iterations of conjugate gradients alone and
// with multigrid whose smoother is Chebyshev's polynomial or works on patches, by steps and inner sweeps, for V- and
// W-cycles, patches of half and double the size, and two materials. Aggregates of k hops and patches can be chosen.
//   bench_helmholtz [--n CUBES] [--backend NAME] [--distance K] [--patch-bytes N]
//             [--patch-storage automatic|both|half|half_atomic] [--quick] [--json FILE]
#include "benchmark.h"
#include "helmholtz_system.h"

#include <patchfem/lac/conjugate_gradients.h>
#include <patchfem/lac/mis_aggregation.h>
#include <patchfem/lac/precondition_amg.h>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  using Data = PreconditionAMG<double>::AdditionalData;

  struct Problem
  {
    SlicedEllpackMatrix<double> A;
    Vector<double>              b;
    std::string                 name;

    Problem(const Backend &backend, const int n, const double inside)
        : A(backend, helmholtz_matrix(n, inside)), b(backend, std::vector<double>(A.n_rows(), 1.))
    {
      char text[64];
      std::snprintf(text, sizeof(text), "1 : %.0f, %.3g M nodes", inside, 1e-6 * A.n_rows());
      name = text;
    }

    /** Iterations, and seconds of the second of two solutions. */
    IterationResult solve(const PreconditionBase<double> &M, double &seconds) const
    {
      ConjugateGradients<double> cg;
      Vector<double>             x(A.backend(), A.n_rows());
      IterationControl           control;
      control.tolerance      = 1e-8 * b.l2_norm();
      control.max_iterations = 10000;
      IterationResult result;
      seconds = host_times(2, [&]() {
                  x      = 0.;
                  result = cg.solve(A, x, b, M, control);
                  A.backend().synchronize();
                }).back();
      return result;
    }
  };

  class Study
  {
  public:
    Study(Report &report, const Options &options) : report(report)
    {
      aggregates.aggregate_distance = options.get_int("distance");
      aggregates.patch_bytes        = options.get_int("patch-bytes");
      aggregates.patches            = false; // unless the smoother works on them
      storage                       = patch_storage(options.get("patch-storage"));
    }

    Aggregation::AdditionalData aggregates;
    PatchStorage                storage;

    void add(const Problem &problem, const std::string &what, Data data)
    {
      data.patch_storage = storage;
      MISAggregation          aggregation(aggregates);
      PreconditionAMG<double> amg;
      amg.initialize(problem.A, NearNullSpace::constants(problem.A.backend(), problem.A.n_rows(), 1), aggregation,
                     data);
      double                        seconds;
      const IterationResult         result = problem.solve(amg, seconds);
      std::map<std::string, double> further{{"operator complexity", amg.operator_complexity()},
                                            {"aggregate", aggregation.levels()[0].statistics().ratio},
                                            {"solution ns/DoF", 1e9 * seconds / problem.A.n_rows()}};
      // What the smoother reads of the finest matrix in a cycle, in fp32.
      double bytes = 2. * data.smoother_sweeps * 8. * problem.A.n_stored_elements();
      if (data.smoother == AMGSmoother::patch)
      {
        const Aggregation &finest  = aggregation.levels()[0];
        further["nodes per patch"] = finest.statistics().nodes_per_patch.mean;
        further["cut"] = static_cast<double>(finest.statistics().cut_by_patches) / finest.statistics().n_edges;
        AggregateLists lists;
        Array<int>     offsets, nodes;
        offsets.copy_from(problem.A.backend(), finest.patch_offsets());
        nodes.copy_from(problem.A.backend(), finest.permutation());
        lists.set_patches(std::move(offsets), std::move(nodes));
        SlicedEllpackMatrix<float> single;
        single.copy_from(problem.A);
        PatchMatrix<float> patches;
        patches.reinit(single, lists, data.patch_storage);
        bytes = 2. * data.smoother_sweeps *
                (6. * patches.n_inner_blocks() + 2. * patches.n_mirrors() + 8. * patches.n_outer_blocks());
      }
      further["smoother B/DoF"] = bytes / problem.A.n_rows();
      report.add({problem.name + ", " + what, "steps", double(result.n_iterations), "", 0., result.success(), further});
    }

    void add_plain(const Problem &problem)
    {
      PreconditionIdentity<double> identity;
      double                       seconds;
      const IterationResult        result = problem.solve(identity, seconds);
      report.add({problem.name + ", none", "steps", double(result.n_iterations), "", 0., result.success(), {}});
    }

  private:
    Report &report;
  };

  Data
  with(const AMGSmoother smoother, const int sweeps, const int inner_sweeps = 3, const AMGCycle cycle = AMGCycle::v)
  {
    Data data;
    data.smoother         = smoother;
    data.smoother_sweeps  = sweeps;
    data.inner_sweeps     = inner_sweeps;
    data.cycle            = cycle;
    data.single_precision = true;
    return data;
  }

  int main_program(const int argc, char **argv)
  {
    const Aggregation::AdditionalData defaults;
    Options                           options({{"n", "64"},
                                               {"backend", "auto"},
                                               {"distance", std::to_string(defaults.aggregate_distance)},
                                               {"patch-bytes", std::to_string(defaults.patch_bytes)},
                                               {"patch-storage", "automatic"}},
                                              {"quick"});
    options.parse(argc, argv);
    const Backend backend(options.get("backend"));
    const bool    quick = options.flag("quick");
    const int     n     = options.get_int("n");
    Report        report("helmholtz", backend.device_name());
    Study         study(report, options);
    {
      const Problem one(backend, n, 1.);
      study.add_plain(one);
      for (const int degree : {1, 2, 3})
        study.add(one, "chebyshev " + std::to_string(degree), with(AMGSmoother::chebyshev, degree));
      for (const int steps : {1, 2})
        for (const int s : {1, 2, 3, 4, 5, 6})
          if (!quick || s == 3)
            study.add(one, "patch " + std::to_string(steps) + " x " + std::to_string(s),
                      with(AMGSmoother::patch, steps, s));
      if (!quick)
      {
        study.add(one, "chebyshev 2, W", with(AMGSmoother::chebyshev, 2, 1, AMGCycle::w));
        for (const int steps : {1, 2})
          study.add(one, "patch " + std::to_string(steps) + " x 3, W", with(AMGSmoother::patch, steps, 3, AMGCycle::w));
        const std::size_t bytes = study.aggregates.patch_bytes;
        for (const std::size_t other : {bytes / 2, bytes * 2})
        {
          study.aggregates.patch_bytes = other;
          study.add(one, "patch 1 x 3, patches of " + std::to_string(other) + " B", with(AMGSmoother::patch, 1));
        }
        study.aggregates.patch_bytes = bytes;
      }
    }
    for (const double inside : {10., 100.})
    {
      const Problem two(backend, n, inside);
      study.add(two, "chebyshev 2", with(AMGSmoother::chebyshev, 2));
      for (const int steps : {1, 2})
        study.add(two, "patch " + std::to_string(steps) + " x 3", with(AMGSmoother::patch, steps));
    }
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
