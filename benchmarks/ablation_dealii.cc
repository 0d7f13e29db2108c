// SPDX-License-Identifier: LGPL-2.1-or-later
// One system of an application, solved by multigrid with all rules, without any, and without each of some, see amg_rules().
// Of bench_ablation_dealii.py:
//   ablation OUT SECONDS CYCLE RULES elasticity|laplace FILE.prm [OPTIONS OF THE APPLICATION]
// writes JSON to OUT. The system is that of a cycle of refinement, the first being 1. RULES are names with commas between them,
// or all; after SECONDS no further variant is begun.
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
#include <sstream>

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

  /** Without all rules, with all, and without each of @p rules, which may be all. */
  std::vector<Variant> variants_of(const std::string &rules)
  {
    std::vector<Variant> result{{"all", ~AMGRules()}, {"none", AMGRules()}};
    std::istringstream   in(rules);
    for (std::string name; std::getline(in, name, ',');)
      if (name != "all")
        result.push_back({name, amg_rules_of(name)});
      else
        for (const AMGRuleRow &row : amg_rules())
          result.push_back({row.name, amg_rules_of(row.name)});
    return result;
  }

  /**
   * Medians over three rounds of all variants, in which that with all rules comes again and again: a machine that is slower
   * for a while is so for all of them. Results so far are written after each variant, as the next one may not end. Returns
   * whether all rules together solve the system.
   */
  bool ablate(const ObservedSystem &system, const std::string &out, const double seconds, std::vector<Variant> variants)
  {
    constexpr std::size_t with_all = 1, between = 6;
    const auto            start = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    json       result{{"device", system.matrix.backend().device_name()},
                {"commit", commit()},
                {"unknowns", system.matrix.n_rows()},
                {"nnz", system.matrix.n_nonzero_elements()},
                {"variants", json::object()},
                {"left out", json::array()}};
    const auto run = [&](Variant &variant) {
      const json  &known = variants[with_all].result;
      const double limit = known.contains("solution") ? std::max(30. * double(known["solution"]), 2.) : seconds;
      if (passed() > seconds || variant.result.contains("error"))
        return;
      variant.run(system, limit); // more is lost anyway
      result["variants"][variant.name] = variant.result;
      std::ofstream(out) << result.dump(1) << "\n";
    };
    for (int round = 0; round < 3; ++round)
      for (std::size_t v = 0; v < variants.size(); ++v)
      {
        run(variants[v]);
        if (v % between == between - 1)
          run(variants[with_all]);
      }
    for (const Variant &variant : variants)
      if (variant.result.is_null())
        result["left out"].push_back(variant.name);
    std::ofstream(out) << result.dump(1) << "\n";
    return variants[with_all].result.contains("solution") && !variants[with_all].result.contains("error");
  }

  int main_program(const int argc, char **argv)
  {
    require(argc > 6, "Too few arguments; bench_ablation_dealii.py knows them.");
    const std::string out = argv[1], application = argv[5];
    const double      seconds  = std::stod(argv[2]);
    const auto        variants = variants_of(argv[4]);
    int               cycles   = std::stoi(argv[3]); // to come
    setenv("OMP_WAIT_POLICY", "passive", 0);         // or the program would be started again without these arguments
    const auto observer = [&](const ObservedSystem &system) {
      if (--cycles > 0)
        return;
      const bool solved = ablate(system, out, seconds, variants);
      MPI_Finalize();
      std::_Exit(solved ? 0 : 1); // nobody wants the results of the application
    };
    ElasticityApplication elasticity;
    DiffusionApplication  laplace({"laplace", "Coefficient", "Reaction", "0", false});
    require(application == "elasticity" || application == "laplace", "There is no application ", application, " here.");
    FiniteElementApplication &chosen =
        application == "elasticity" ? static_cast<FiniteElementApplication &>(elasticity) : laplace;
    chosen.observe(observer);
    return application_main(argc - 5, argv + 5, chosen);
  }
} // namespace

int main(int argc, char **argv)
{
  return benchmark::run([&]() { return main_program(argc, argv); });
}
