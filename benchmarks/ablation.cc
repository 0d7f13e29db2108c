// SPDX-License-Identifier: LGPL-2.1-or-later
// One system of an application, solved by multigrid with all rules, without any, and without each of some, see amg_rules().
// Of bench_ablation_dealii.py:
//   ablation OUT SECONDS RULES elasticity|laplace FILE.prm [OPTIONS OF THE APPLICATION]
// writes JSON to OUT. RULES are names with commas between them, or all; after SECONDS no further variant is begun.
#include "../applications/elasticity/elasticity.h"
#include "benchmark.h"

#include <patchfem/app/diffusion_physics.h>
#include <patchfem/app/linear_solver.h>
#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/multigrid/precondition_amg.h>

#include <nlohmann/json.hpp>

#include <mpi.h>

#include <cstdlib>
#include <optional>

namespace
{
  using namespace PatchFEM;
  using nlohmann::json;

  double seconds_of(const Backend &backend, const std::function<void()> &function)
  {
    return benchmark::host_times(1, [&] {
      function();
      backend.synchronize();
    })[0];
  }

  /** Set-up, solution, and set-up again for the same values without the rules @p disabled. Steps end after @p limit seconds. */
  json solve(const ObservedSystem &system, const AMGRules &disabled, const double limit)
  {
    const SolverParameters                      &parameters = system.choice.parameters;
    const Backend                               &backend    = system.matrix.backend();
    PreconditionAMG<double>::AdditionalData      data;
    Aggregation::AdditionalData                  aggregates = parameters.aggregation;
    CGParameters                                 iteration  = parameters.iteration;
    PreconditionAMG<double>                      amg;
    std::optional<PreconditionProjected<double>> projected;
    Vector<double>                               b, x;
    static_cast<AMGParameters &>(data) = parameters.amg;
    data.disabled_rules |= disabled;
    data.single_precision = system.choice.precision == "mixed";
    aggregates.patches    = false; // a smoother on patches asks for them itself
    MISAggregation aggregation(aggregates);
    iteration.row_tolerance = parameters.tolerance;
    system.matrix.initialize_vector(b);
    system.matrix.initialize_vector(x);
    b.equ(1., system.rhs);
    if (system.null_space.n_vectors() > 0)
    {
      system.null_space.balance(b);
      projected.emplace(amg, system.null_space);
    }
    const PreconditionBase<double> &applied = projected ? static_cast<PreconditionBase<double> &>(*projected) : amg;
    backend.synchronize();

    json result;
    result["set-up"] = seconds_of(
        backend, [&] { amg.initialize(system.matrix, system.near_null_space, aggregation, data, system.null_space); });
    const auto       start = std::chrono::steady_clock::now();
    IterationControl control;
    control.tolerance      = parameters.tolerance * b.l2_norm();
    control.max_iterations = parameters.max_iterations;
    control.monitor        = [&](unsigned int, double) {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      return passed.count() > limit ? IterationControl::Action::abort : IterationControl::Action::iterate;
    };
    ConjugateGradients<double> cg(iteration);
    IterationResult            iterations;
    result["solution"]     = seconds_of(backend, [&] { iterations = cg.solve(system.matrix, x, b, applied, control); });
    result["set-up again"] = seconds_of(backend, [&] { amg.update(system.matrix); });
    result["steps"]        = iterations.n_iterations;
    result["residual"]     = iterations.residual / b.l2_norm();
    result["at rounding"]  = iterations.status == IterationResult::Status::rounding;
    result["operator complexity"] = amg.operator_complexity();
    result["bytes"]               = amg.memory_consumption();
    if (!iterations.success())
      result["error"] = iterations.message("amg");
    return result;
  }

  /** What is disabled, and what was found. */
  struct Variant
  {
    std::string                                name;
    AMGRules                                   disabled;
    std::map<std::string, std::vector<double>> seconds = {{"set-up", {}}, {"solution", {}}, {"set-up again", {}}};
    json                                       result  = {};

    /** Solves once more. An error is a result, too. */
    void run(const ObservedSystem &system, const double limit)
    try
    {
      result = solve(system, disabled, limit);
      for (auto &[part, values] : seconds)
      {
        values.push_back(result[part]);
        result[part] = benchmark::median(values);
      }
    }
    catch (const std::exception &error)
    {
      result = {{"error", error.what()}};
    }
  };

  /**
   * Medians over three rounds of all variants, so that a machine that is slower for a while is so for all of them. What is
   * there is written after each variant, as the next one may not end. Returns whether all rules together solve the system.
   */
  bool ablate(const ObservedSystem &system, const std::string &out, const double seconds, const AMGRules &rules)
  {
    const auto start  = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    std::vector<Variant> variants{{"none", AMGRules()}, {"all", ~AMGRules()}};
    for (std::size_t r = 0; r < rules.size(); ++r)
      if (rules[r])
        variants.push_back({amg_rules()[r].name, AMGRules().set(r)});
    json result{{"device", system.matrix.backend().device_name()},
                {"commit", commit()},
                {"unknowns", system.matrix.n_rows()},
                {"nnz", system.matrix.n_nonzero_elements()},
                {"variants", json::object()},
                {"left out", json::array()}};
    for (int round = 0; round < 3; ++round)
      for (Variant &variant : variants)
      {
        const bool   is_late  = passed() > seconds;
        const json  &with_all = variants[0].result;
        const double solution = with_all.contains("solution") ? double(with_all["solution"]) : seconds;
        if (is_late && round == 0)
          result["left out"].push_back(variant.name);
        if (is_late || variant.result.contains("error"))
          continue;
        variant.run(system, round == 0 && &variant == &variants[0] ? seconds : std::max(30. * solution, 2.));
        result["variants"][variant.name] = variant.result;
        std::ofstream(out) << result.dump(1) << "\n";
      }
    return variants[0].result.contains("solution") && !variants[0].result.contains("error");
  }

  int main_program(const int argc, char **argv)
  {
    require(argc > 5, "Too few arguments; bench_ablation_dealii.py knows them.");
    const std::string out = argv[1], application = argv[4];
    const double      seconds = std::stod(argv[2]);
    const AMGRules    rules   = amg_rules_of(argv[3]);
    setenv("OMP_WAIT_POLICY", "passive", 0); // or the program would be started again without these arguments
    const auto observer = [=](const ObservedSystem &system) {
      const bool solved = ablate(system, out, seconds, rules);
      MPI_Finalize();
      std::_Exit(solved ? 0 : 1); // nobody wants the results of the application
    };
    ElasticityApplication elasticity;
    DiffusionApplication  laplace({"laplace", "Coefficient", "Reaction", "0", false});
    require(application == "elasticity" || application == "laplace", "There is no application ", application, " here.");
    FiniteElementApplication &chosen =
        application == "elasticity" ? static_cast<FiniteElementApplication &>(elasticity) : laplace;
    chosen.observe(observer);
    return application_main(argc - 4, argv + 4, chosen);
  }
} // namespace

int main(int argc, char **argv)
{
  return benchmark::run([&]() { return main_program(argc, argv); });
}
