// SPDX-License-Identifier: LGPL-2.1-or-later
// All strategies of assembly side by side on one device, into the final format: see AssemblyStudy.
//   bench_assembly [--only all|main|elasticity|laplace|tetrahedra] [--elasticity N] [--laplace N] [--tetrahedra N]
//                  [--rows PART OF A NAME] [--strategies A,B] [--quick] [--json FILE]
//                  [--buffer SHARE] [--concurrent N] [--fast-memory BYTES]  as Patches::AdditionalData
//                  [--patches sweep|N,M]  rows of a patch, of the main cases
//                  [--papers [--part all|sizes|orders|order1|...|order5|p3]]  what P4 measured instead, see papers/strategies/assembly_papers.cuh
#include "assembly_case.cuh"

#include <patchfem/assembly/assembly_strategy.h>

#ifdef PATCHFEM_PAPERS
#include "strategies/assembly_papers.cuh"
#endif

#include <sstream>

namespace
{
  using namespace PatchFEM;
  using namespace benchmark;

  std::vector<std::string> split(const std::string &list)
  {
    std::vector<std::string> result;
    std::istringstream       in(list);
    for (std::string word; std::getline(in, word, ',');)
      result.push_back(word);
    return result;
  }

  /**
   * Heat (Laplace) and elasticity, in fp64 and fp32, on triangles of degrees 1 to 5, quadrilaterals and hexahedra of
   * degrees 1 and 2, and tetrahedra of degrees 1, in scattered numbering, and 2. Three larger cases, the main ones,
   * are those of doc/performance.md and take what `auto` takes, unless strategies are named. A strategy that refuses
   * is a result that says why. Each case ends with the best repeatable strategy as a multiple of the best of atomics,
   * coo and product, and with `auto` as a multiple of the best of all.
   */
  class AssemblyStudy
  {
  public:
    AssemblyStudy(const Options &options, const Backend &backend, Report &report)
        : options(options), backend(backend), report(report), timer(backend)
    {
      Patches::AdditionalData data;
      data.concurrent   = std::stoi(options.get("concurrent"));
      data.buffer_share = std::stod(options.get("buffer"));
      data.fast_memory  = std::stoul(options.get("fast-memory"));
      const auto add    = [&](std::vector<Variant> &to, const std::string &strategy) {
        data.strategy = strategy;
        to.push_back({strategy, data});
      };
      const std::string rows = options.get("patches");
      if (rows != "auto")
        for (const std::string &n : split(rows == "sweep" ? "16,24,32,48,64,80,96,128,192,256,384" : rows))
        {
          data.rows_per_patch = std::stoi(n);
          add(of_main, "patches");
          of_main.back().label = n + " rows a patch";
        }
      else if (!options.get("strategies").empty())
      {
        for (const std::string &strategy : split(options.get("strategies")))
          add(of_main, strategy);
        of_others = of_main;
      }
      else
      {
        for (const StrategyRow &row : assembly_strategies())
          add(of_others, row.name);
        add(of_others, "auto");
        add(of_main, "auto");
      }
    }

    void run()
    {
      const std::string only = options.get("only");
      require(only == "all" || only == "main" || only == "elasticity" || only == "laplace" || only == "tetrahedra",
              "The option --only takes all, main, elasticity, laplace or tetrahedra.");
      const auto asked = [&](const std::string &name) { return only == name || only == "main" || only == "all"; };
      const auto size  = [&](const std::string &name) { return size_of(options.get_int(name)); };
      using synthetic::cube_of_hexahedra, synthetic::cube_of_tetrahedra;
      if (asked("elasticity"))
        main_case<Elasticity<3>, double, float>("Q1 elasticity, general hexahedra, SBELL 3x3",
                                                [&] { return cube_of_hexahedra(size("elasticity"), 3); });
      if (asked("laplace"))
        main_case<Laplace<3>, double>("Q1 Laplace, general hexahedra, SELL",
                                      [&] { return cube_of_hexahedra(size("laplace"), 1); });
      if (asked("tetrahedra"))
        main_case<Laplace<3>, double>("P1 Laplace, scattered tetrahedra, SELL",
                                      [&] { return cube_of_tetrahedra(size("tetrahedra"), 1, true); });
      if (only != "all")
        return;
      const int triangles[5] = {96, 80, 64, 56, 48};
      for (int p = 1; p <= 5; ++p)
        both_forms<2>("P" + std::to_string(p) + " triangles", triangles[p - 1], [p](const int n) {
          return synthetic::with_nodes(synthetic::plate_with_holes(n), synthetic::lagrange_simplex(2, p));
        });
      both_forms<2>("Q1 quadrilaterals", 1500, [](const int n) { return synthetic::grid_of_cells(2, n, 1); });
      both_forms<2>("Q2 quadrilaterals", 1000, [](const int n) { return synthetic::grid_of_cells(2, n, 2); });
      both_forms<3>("P1 scattered tetrahedra", 70, [](const int n) { return cube_of_tetrahedra(n, 1, true); });
      both_forms<3>("P2 tetrahedra", 60, [](const int n) {
        return synthetic::with_nodes(cube_of_tetrahedra(n, 1, false), synthetic::lagrange_simplex(3, 2));
      });
      both_forms<3>("Q1 hexahedra", 120, [](const int n) { return cube_of_hexahedra(n, 1); });
      both_forms<3>("Q2 hexahedra", 60, [](const int n) { return synthetic::grid_of_cells(3, n, 2); });
    }

  private:
    struct Variant
    {
      std::string             label;
      Patches::AdditionalData data;
    };

    /** Seconds; cold: the first call, which loads its kernels. */
    struct StructureSeconds
    {
      double batches_cold = 0., batches = 0., plan_cold = 0., plan = 0.; ///< plan: with the pattern
    };

    struct Found
    {
      double      rate = 0.;
      std::string name;

      void improve(const double other_rate, const std::string &other_name)
      {
        if (other_rate > rate)
          *this = {other_rate, other_name};
      }
    };

    const Options       &options;
    const Backend       &backend;
    Report              &report;
    DeviceTimer          timer;
    std::vector<Variant> of_main, of_others;

    int size_of(const int n) const { return options.flag("quick") ? std::max(3, n / 12) : n; }

    template <typename Number>
    static std::string named(const std::string &what)
    {
      return what + (sizeof(Number) == 8 ? ", fp64" : ", fp32");
    }

    template <typename... Numbers>
    bool wanted(const std::string &what) const
    {
      return ((named<Numbers>(what).find(options.get("rows")) != std::string::npos) || ...);
    }

    template <typename Form>
    static std::vector<double> coefficients()
    {
      return Form::n_components == 1 ? std::vector<double>{1.} : std::vector<double>{1.5, 0.8};
    }

    template <typename Form, typename... Numbers, typename MakeTables>
    void main_case(const std::string &what, const MakeTables &make_tables)
    {
      if (of_main.empty() || !wanted<Numbers...>(what))
        return;
      const ElementTables                 tables = make_tables();
      const std::vector<StructureSeconds> seconds{structure_seconds<Form, Numbers>(tables)...};
      measure<Form, Numbers...>(what, tables, ", " + std::to_string(tables.n_cells() / 100000 / 10.).substr(0, 4),
                                seconds);
    }

    template <int dim, typename MakeTables>
    void both_forms(const std::string &cells, const int n, const MakeTables &make_tables)
    {
      const std::string heat       = "heat, " + cells + ", SELL",
                        elasticity = "elasticity, " + cells + ", SBELL " + (dim == 2 ? "2x2" : "3x3");
      const bool with_heat = wanted<double, float>(heat), with_elasticity = wanted<double, float>(elasticity);
      if (of_others.empty() || !(with_heat || with_elasticity))
        return;
      ElementTables tables = make_tables(size_of(n));
      char          size[32];
      std::snprintf(size, sizeof(size), ", %.2g", 1e-6 * tables.n_cells());
      if (with_heat)
        measure<Laplace<dim>, double, float>(heat, tables, size);
      tables.n_components = dim;
      if (with_elasticity)
        measure<Elasticity<dim>, double, float>(elasticity, tables, size);
    }

    template <typename Form, typename Number>
    StructureSeconds structure_seconds(const ElementTables &tables)
    {
      const auto seconds = [&](const auto &function) {
        backend.synchronize();
        return host_times(1, [&]() {
          function();
          backend.synchronize();
        })[0];
      };
      StructureSeconds result;
      for (double *time : {&result.batches_cold, &result.batches})
      {
        ElementBatches batches;
        *time = seconds([&]() { batches.reinit(backend, tables); });
      }
      for (double *time : {&result.plan_cold, &result.plan})
      {
        const Space             space(backend, tables);
        Assembler<Form, Number> assembler;
        *time = seconds([&]() { assembler.reinit(space, of_main[0].data); });
      }
      return result;
    }

    template <typename Form, typename... Numbers>
    void measure(const std::string                   &what,
                 const ElementTables                 &tables,
                 const std::string                   &size,
                 const std::vector<StructureSeconds> &seconds = {})
    {
      const Expected expected(tables, synthetic::element_product);
      const Space    space(backend, tables);
      std::size_t    k = 0;
      ((wanted<Numbers>(what) ? measure<Form, Numbers>(named<Numbers>(what) + size + " M cells", space, expected,
                                                       k < seconds.size() ? &seconds[k] : nullptr)
                              : void(),
        ++k),
       ...);
    }

    /** @p seconds of a main case, whose `auto` has no name. */
    template <typename Form, typename Number>
    void measure(const std::string &name, const Space &space, const Expected &expected, const StructureSeconds *seconds)
    {
      AssemblyCase<Number> assembly(space, expected);
      const double         n_cells = space.batches().n_cells(), bytes = assembly.least_bytes();
      Found                best, repeatable, usual, automatic;
      for (const Variant &variant : seconds != nullptr ? of_main : of_others)
      {
        const bool        shown = seconds != nullptr && variant.label == "auto";
        const std::string label = name + (shown ? "" : ", " + variant.label);
        try
        {
          auto         result = assembly.template measure<Form>(timer, variant.data, coefficients<Form>());
          const double rate   = n_cells / result.warm;
          auto        &more   = result.further;
          more["cold"]        = n_cells / result.cold;
          more["bytes"]       = bytes;
          report.add({label, "rate", rate, "cells/s", n_cells * report.copy_rate / bytes, result.correct, more, !shown,
                      result.kernel});
          if (shown)
          {
            report.add({name, "batches", seconds->batches, "s", 0., result.correct, {{"cold", seconds->batches_cold}}});
            report.add({name, "plan", seconds->plan, "s", 0., result.correct, {{"cold", seconds->plan_cold}}});
            report.add(
                {name,
                 "extra memory",
                 more["extra_memory"],
                 "1",
                 0.,
                 result.correct,
                 {{"matrix_bytes", double(assembly.matrix.memory_consumption())},
                  {"padding", double(assembly.matrix.n_stored_elements()) / assembly.matrix.n_nonzero_elements()}}});
          }
          if (!result.correct)
            continue;
          const bool is_usual = variant.label == "atomics" || variant.label == "coo" || variant.label == "product";
          if (variant.label == "auto")
            automatic = {rate, variant.label};
          else
            best.improve(rate, variant.label);
          if (is_usual)
            usual.improve(rate, variant.label);
          else if (result.repeatable && variant.label != "auto")
            repeatable.improve(rate, variant.label);
        }
        catch (const Error &error)
        {
          report.add({label, "refused", 0., "1", 0., true, {}, true, error.what()});
        }
        backend.synchronize(); // an Error here is no refusal
      }
      if (usual.rate > 0. && repeatable.rate > 0.)
        report.add({name,
                    "best repeatable / best of atomics, coo, product",
                    repeatable.rate / usual.rate,
                    "1",
                    0.,
                    true,
                    {},
                    true,
                    repeatable.name + " / " + usual.name});
      if (automatic.rate > 0. && best.rate > 0.)
        report.add({name, "auto / best", automatic.rate / best.rate, "1", 0., true, {}, true, "auto / " + best.name});
      report.write(options.get("json")); // what is there, should the run be cut off
    }
  };

  int run(int argc, char **argv)
  {
    Options options({{"elasticity", "149"},
                     {"laplace", "214"},
                     {"tetrahedra", "149"},
                     {"only", "all"},
                     {"rows", ""},
                     {"strategies", ""},
                     {"patches", "auto"},
                     {"concurrent", "0"},
                     {"buffer", "0"},
                     {"fast-memory", "0"},
                     {"part", "all"}},
                    {"quick", "papers"});
    options.parse(argc, argv);
    const Backend backend("cuda");
    Report        report("assembly", backend.device_name());
    measure_rates(backend, report);
    if (options.flag("papers"))
    {
#ifdef PATCHFEM_PAPERS
      AssemblyOfPapers(backend, report, options).run();
#else
      throw Error("The strategies of papers are in builds with PATCHFEM_PAPERS.");
#endif
    }
    else
      AssemblyStudy(options, backend, report).run();
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(int argc, char **argv)
{
  return benchmark::run([&]() { return run(argc, argv); });
}
