// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_case.cuh"
#include "strategies/dummy_form.h"

#include "strategies/scatter.h"
#include "strategies/shared_nz.h"
#include <patchfem/base/threads.h>

namespace benchmark
{
  /**
   * What P4 measured of its strategies, on a domain of our own with the paper's numbers of nodes, triangles and holes:
   * what a cell takes in fast memory (table IV), bytes and operations by count beside the time (table V), the error of
   * fp32 and the time by the size of the mesh (table VI, figure 12), more colours than are needed (figure 3), and times
   * by the order of the triangles, with the arithmetic of the element and without it (figures 13, 14). Strategies that
   * sum in fast memory run also with 16 KB of it, as devices of the paper had. And P3's assembly (table 2) on its regular
   * mesh. Times are medians of ten warm assemblies, launches included. One core of the host runs what `auto` takes, in
   * fp64 as there.
   *
   * The host has most of it to do, METIS on one core first of all. Parts may run on their own, beside an H100 and 16 cores
   * in 213 s `sizes` (tables, figures 3 and 12), in 430 s `orders` (figures 13 and 14; or `order1` to `order5`) and in 15 s
   * `p3`.
   */
  class AssemblyOfPapers
  {
  public:
    AssemblyOfPapers(const Backend &backend, Report &report, const Options &options)
        : backend(backend), report(report), options(options), timer(backend)
    {
      const auto add = [&](const std::string &strategy) -> Variant & {
        Patches::AdditionalData data;
        data.strategy = strategy;
        variants.push_back({strategy, data});
        return variants.back();
      };
      for (const char *strategy : {"colour", "global_nz", "grouped_nz", "local_nz", "shared_nz"})
        add(strategy);
      Variant &full = add("shared_nz");
      full.label    = "shared_nz, both halves";
      full.mirrors  = false;
      for (const char *strategy : {"global_nz", "grouped_nz", "shared_nz"})
      {
        Variant &small         = add(strategy);
        small.label            = std::string(strategy) + " with 16 KB"; // for one block
        small.data.concurrent  = 1;
        small.data.fast_memory = 16384;
      }
    }

    void run()
    {
      const bool        quick     = options.flag("quick");
      constexpr double  errors[8] = {1.6e-7, 3.0e-7, 6.2e-7, 1.2e-6, 2.6e-6, 5.2e-6, 1.1e-5, 2.1e-5};
      const int         n_levels  = quick ? 3 : 8;
      const std::string part      = options.get("part");
      const bool        order     = part.size() == 6 && part.rfind("order", 0) == 0 && part[5] >= '1' && part[5] <= '5';
      require(part == "all" || part == "sizes" || part == "orders" || order || part == "p3",
              "The option --part takes all, sizes, orders, order1 to order5 or p3.");
      const auto asked = [&](const char *name) { return part == "all" || part == name; };
      for (const int dim : {2, 3})
        for (int order = 1; order <= 5; ++order)
          storage_of_cells(dim, order);
      if (asked("sizes"))
      {
        for (int level = 0; level < n_levels; ++level)
          measure_sizes(synthetic::plate_with_holes(1 << level), errors[level], level == 7);
        measure_colours(synthetic::plate_with_holes(1 << (n_levels - 1)));
      }
      for (int order = 1; order <= 5; ++order)
        if (asked("orders") || asked(("order" + std::to_string(order)).c_str()))
          measure_orders(order, (quick ? 8 : 64) / order);
      if (asked("p3"))
        measure_helmholtz(quick ? 6 : 64);
    }

  private:
    struct Variant
    {
      std::string             label;
      Patches::AdditionalData data;
      bool                    mirrors = true; ///< of shared_nz

      bool cuts_by_metis() const { return data.strategy == "shared_nz" || data.strategy == "grouped_nz"; }
    };

    /** By count, of a cell. */
    struct Work
    {
      double bytes = 0., flops = 0.;
    };

    struct Time
    {
      double      seconds = 0.; ///< of a cell; 0: refused
      double      limit   = 0.;
      bool        correct = true;
      std::string note;
      Work        work = {};
    };

    /**
     * What @p strategy moves to and from far memory and computes. Every number of the plan is read once; mesh data once
     * for each integration of a cell, but for local_nz, whose cells stay in caches; points once. The matrix is written
     * once, or cleared and then written, or read and written by each cell of a colour. A point of a cell takes 25
     * operations for its Jacobian, 6 a gradient, 5 an entry and 3 a load, and local_nz maps it for each entry.
     */
    static Work work(const std::string   &strategy,
                     const ElementTables &tables,
                     const double         n_blocks,
                     const double         bytes_of_plan,
                     const double         redundancy,
                     const double         bytes_of_number)
    {
      const CellTable &batch = tables.batches[0];
      const double     n = tables.n_cells(), s = batch.reference.n_shape, result = (n_blocks + tables.n_nodes) / n,
                   one        = s * s + s,
                   nodes      = 4. * s + (batch.geometry == batch.nodes ? 0. : 4. * batch.reference.n_geometry),
                   points     = batch.reference.degree == 1 ? 1. : batch.reference.n_quadrature;
      const bool   shared     = strategy == "shared_nz";
      const double moved      = strategy == "colour"     ? result + 2. * one
                                : strategy == "local_nz" ? 2. * result
                                : shared                 ? result
                                                         : result + 2. * one;
      const double integrated = shared ? redundancy : 1.;
      return {bytes_of_plan / n + 8. * double(tables.points.size()) / n + integrated * nodes + moved * bytes_of_number,
              strategy == "local_nz"
                  ? points * (42. * s * s + 28. * s)
                  : integrated * points * (25. + 9. * s + 5. * (shared ? s * (s + 1.) / 2. : s * s))};
    }

    /** Table IV: numbers of a cell's matrix and load, of which half of the matrix is stored if it is symmetric. */
    void storage_of_cells(const int dim, const int order)
    {
      constexpr int of_paper[2][5][2] = {{{12, 9}, {42, 27}, {110, 65}, {240, 135}, {462, 252}},
                                         {{20, 14}, {110, 65}, {420, 230}, {1260, 665}, {3192, 1652}}};
      const int     n_shape = dim == 2 ? (order + 1) * (order + 2) / 2 : (order + 1) * (order + 2) * (order + 3) / 6;
      const SharedNZCell half(n_shape, dim + 1, dim, 1, true), full(n_shape, dim + 1, dim, 1, false);
      const auto        &paper = of_paper[dim - 2][order - 1];
      report.add({std::string("P4 table IV, ") + (dim == 2 ? "triangles" : "tetrahedra") + " of order " +
                      std::to_string(order),
                  "numbers of a cell, symmetric",
                  double(half.n_element()),
                  "1",
                  0.,
                  half.n_element() == paper[1] && full.n_element() == paper[0],
                  {{"both_halves", double(full.n_element())},
                   {"nodes", double(n_shape)},
                   {"coordinates", double(half.n_nodal)},
                   {"cells_in_16_KB_fp32", std::floor(16384. / 4. / half.size())}},
                  true});
    }

    const Backend       &backend;
    Report              &report;
    const Options       &options;
    DeviceTimer          timer;
    std::vector<Variant> variants;

    /** P4's equation without a load but 0.1: u = 200 on the left of the plate and 10 on its right. */
    template <typename Number>
    static void set_data(Assembler<Laplace<2>, Number> &assembler)
    {
      assembler.set_coefficients(CoefficientField::constant({1.}));
      assembler.set_body_load(CoefficientField::constant({0.1}));
    }

    static void hold_sides(ElementTables &tables)
    {
      ConstraintTable &c = tables.constraints;
      c.offsets          = {0};
      for (int v = 0; v < tables.n_nodes; ++v)
      {
        const double x = tables.points[2 * std::size_t(v)] - std::sqrt(1. / 3.) * tables.points[2 * std::size_t(v) + 1];
        const bool   left = std::abs(x) < 1e-9;
        if (!left && std::abs(x - 1.) > 1e-9)
          continue;
        c.constrained.push_back(v);
        c.offsets.push_back(0);
        c.inhomogeneity.push_back(left ? 200. : 10.);
      }
    }

    /** A linear system on the host, in the numbering of its space. */
    template <typename Number>
    struct System
    {
      std::vector<int>    position; ///< [node of the tables]
      HostCSR<Number>     matrix;
      std::vector<Number> load;
    };

    template <typename Number>
    System<Number> assembled(Assembler<Laplace<2>, Number> &assembler) const
    {
      SlicedEllpackMatrix<Number> matrix;
      Vector<Number>              rhs;
      assembler.space().initialize_matrix(matrix);
      assembler.assemble(matrix, rhs);
      return {assembler.space().batches().new_of_old(), matrix.to_csr_host(), rhs.copy_to_host()};
    }

    /** The mean of |difference| / |exact| over matrix and load, as table VI has it, but for @p n_zeros that are 0. */
    static double mean_relative_error(const System<float> &single, const System<double> &exact, std::int64_t &n_zeros)
    {
      const int        n = exact.matrix.n_rows;
      std::vector<int> there(n); // numbers may differ, as points do
      for (int node = 0; node < n; ++node)
        there[exact.position[node]] = single.position[node];
      double       sum   = 0.;
      std::int64_t zeros = 0;
      const auto   add   = [&](const double value, const double right) {
        zeros += right == 0.;
        sum += right == 0. ? 0. : std::abs(value - right) / std::abs(right);
      };
      for (int row = 0; row < n; ++row)
      {
        add(single.load[there[row]], exact.load[row]);
        const auto begin = single.matrix.columns.begin() + single.matrix.row_offsets[there[row]],
                   end   = single.matrix.columns.begin() + single.matrix.row_offsets[there[row] + 1];
        for (std::int64_t k = exact.matrix.row_offsets[row]; k < exact.matrix.row_offsets[row + 1]; ++k)
        {
          const int  column = there[exact.matrix.columns[k]];
          const auto found  = std::lower_bound(begin, end, column);
          require(found != end && *found == column, "The two systems have different patterns.");
          add(single.matrix.values[found - single.matrix.columns.begin()], exact.matrix.values[k]);
        }
      }
      n_zeros = zeros;
      return sum / double(n + exact.matrix.row_offsets[n] - zeros);
    }

    /**
     * Table VI and figure 12: errors in fp32 with points in fp64, as we have them, and rounded to fp32, as P4 has, and
     * times. Of the @p largest mesh METIS makes one plan for each number.
     */
    void measure_sizes(ElementTables tables, const double of_paper, const bool largest)
    {
      const std::string name =
          "P4 " + std::to_string(tables.n_nodes) + " nodes, " + std::to_string(tables.n_cells()) + " triangles, ";
      const Expected expected(tables, synthetic::element_product);
      const Space    free(backend, tables);
      for (const auto &[label, time] : device_times<Laplace<2>>(free, expected, false, true))
        add_time(name + label, time, {});
      hold_sides(tables);
      Assembler<Laplace<2>> on_host(Space(Backend("host"), tables));
      set_data(on_host);
      const System<double> exact = assembled(on_host);
      add_core(name, tables, on_host);
      const Space space(backend, tables);
      for (double &x : tables.points)
        x = static_cast<float>(x);
      const Space rounded(backend, tables);
      for (const Variant &variant : variants)
      {
        if (variant.data.fast_memory > 0 || !variant.mirrors)
          continue; // sums as without
        try
        {
          std::int64_t                  n_zeros = 0;
          std::map<std::string, double> further{{"paper", of_paper}};
          bool                          correct = true;
          double                        error   = 0.;
          for (const bool round : {true, false})
          {
            if (!round && largest && variant.cuts_by_metis())
              continue;
            Assembler<Laplace<2>, float> assembler(round ? rounded : space, variant.data);
            set_data(assembler);
            const double found                          = mean_relative_error(assembled(assembler), exact, n_zeros);
            correct                                     = correct && found < (round ? 1e-3 : 1e-5);
            (round ? error : further["points_in_fp64"]) = found;
          }
          further["zeros"] = double(n_zeros);
          report.add({name + variant.label, "mean relative error in fp32", error, "1", 0., correct, further, true});
        }
        catch (const Error &error)
        {
          report.add({name + variant.label, "refused", 0., "1", 0., true, {}, true, error.what()});
        }
        backend.synchronize();
      }
      report.write(options.get("json"));
    }

    /** Figure 12's host. */
    void add_core(const std::string &name, const ElementTables &tables, Assembler<Laplace<2>> &on_host)
    {
      const int         n_threads = max_threads();
      CSRMatrix<double> matrix;
      Vector<double>    rhs;
      on_host.space().initialize_matrix(matrix);
      omp_set_num_threads(1);
      const double seconds = median(host_times(3, [&]() { on_host.assemble(matrix, rhs); }));
      omp_set_num_threads(n_threads);
      report.add(
          {name + "one core of the host, fp64", "time", seconds / tables.n_cells(), "s/cell", 0., true, {}, true});
    }

    /** Figure 3: each colour in one, two and four launches. */
    void measure_colours(const ElementTables &tables)
    {
      const Expected expected(tables, synthetic::element_product);
      const Space    space(backend, tables);
      double         once = 0.;
      for (const int pieces : {1, 2, 4})
      {
        strategies::Colour::pieces = pieces;
        AssemblyCase<float>     assembly(space, expected);
        Patches::AdditionalData data;
        data.strategy    = "colour";
        const auto found = assembly.template measure<Laplace<2>>(timer, data, {1.});
        once             = pieces == 1 ? found.warm : once;
        report.add({"P4 figure 3, colours times " + std::to_string(pieces),
                    "time",
                    found.warm / tables.n_cells(),
                    "s/cell",
                    0.,
                    found.correct,
                    {{"beside_fewest_colours", found.warm / once}},
                    true,
                    found.kernel});
      }
      strategies::Colour::pieces = 1;
    }

    /** Of the matrix of DummyForm: y_i = sum over cells and points of w sum_j (g_i + g_j) x_j. */
    static std::vector<double> dummy_product(const ElementTables &tables, const std::vector<double> &x)
    {
      return synthetic::sum_over_points(
          tables, 1,
          [&](const ReferenceElement &r, const int *nodes, const auto *g, int, const double weight, double *sums) {
            double of_x = 0., of_slopes = 0.;
            for (int j = 0; j < r.n_shape; ++j)
            {
              of_x += x[nodes[j]];
              of_slopes += g[j][0] * x[nodes[j]];
            }
            for (int i = 0; i < r.n_shape; ++i)
              sums[i] += weight * (g[i][0] * of_x + of_slopes);
          });
    }

    /** By variant, of which those that do not mirror only if @p all, and precision: fp32, and fp64 if @p both. */
    template <typename Form>
    std::map<std::string, Time>
    device_times(const Space &space, const Expected &expected, const bool all, const bool both)
    {
      std::map<std::string, Time> result;
      if (both)
        add_device_times<Form, double>(space, expected, {1.}, ", fp64", all, result);
      add_device_times<Form, float>(space, expected, {1.}, ", fp32", all, result);
      return result;
    }

    template <typename Form, typename Number>
    void add_device_times(const Space                 &space,
                          const Expected              &expected,
                          const std::vector<double>   &coefficients,
                          const std::string           &precision,
                          const bool                   all,
                          std::map<std::string, Time> &result)
    {
      AssemblyCase<Number> assembly(space, expected);
      const double         n_cells = space.batches().n_cells(), limit = assembly.least_bytes() / report.copy_rate;
      for (const Variant &variant : variants)
      {
        if (!variant.mirrors && !all)
          continue;
        Time &time                    = result[variant.label + precision];
        strategies::SharedNZ::mirrors = variant.mirrors;
        try
        {
          const auto found = assembly.template measure<Form>(timer, variant.data, coefficients);
          time             = {found.warm / n_cells, limit / n_cells, found.correct, found.kernel,
                              work(variant.data.strategy, space.tables(), double(space.sparsity().n_blocks()),
                                   found.further.at("plan_bytes"), found.further.at("redundancy"), sizeof(Number))};
        }
        catch (const Error &error)
        {
          time.note = error.what();
        }
        strategies::SharedNZ::mirrors = true;
        backend.synchronize();
      }
    }

    /** With table V's bytes and operations. */
    void add_time(const std::string &name, const Time &time, std::map<std::string, double> further)
    {
      if (time.seconds == 0.)
        return report.add({name, "refused", 0., "1", 0., true, {}, true, time.note});
      further["bytes"]        = time.work.bytes;
      further["flops"]        = time.work.flops;
      further["of_copy_rate"] = time.work.bytes / time.seconds / report.copy_rate;
      further["flop_rate"]    = time.work.flops / time.seconds;
      report.add({name, "time", time.seconds, "s/cell", time.limit, time.correct, further, true, time.note});
    }

    /** On one core of the host. */
    template <typename Form, typename Product>
    static Time
    host_time(const ElementTables &tables, const Product &product, const std::vector<double> &coefficients = {1.})
    {
      const int            n_threads = max_threads();
      const Expected       expected(tables, product);
      const Space          space(Backend("host"), tables);
      AssemblyCase<double> assembly(space, expected);
      Assembler<Form>      assembler(space);
      Vector<double>       rhs;
      assembler.set_coefficients(CoefficientField::constant(coefficients));
      assembler.set_body_load(CoefficientField::constant({1.}));
      const auto assemble = [&]() { assembler.assemble(assembly.matrix, rhs); };
      omp_set_num_threads(1);
      assemble();
      const double seconds = median(host_times(3, assemble));
      omp_set_num_threads(n_threads);
      return {seconds / double(tables.n_cells()), 0., assembly.is_right(rhs), assembler.kernel_names()[0]};
    }

    /** Figures 13 and 14, on 292 @p n^2 triangles; on the host on a sixteenth of them. */
    void measure_orders(const int order, const int n)
    {
      const auto tables = [&](const int fineness, const bool dummy) {
        ElementTables result =
            synthetic::with_nodes(synthetic::plate_with_holes(fineness), synthetic::lagrange_simplex(2, order));
        if (dummy)
          result.batches[0].reference = synthetic::lagrange_simplex(2, order, 1);
        return result;
      };
      const ElementTables of_real = tables(n, false), of_dummy = tables(n, true);
      const auto          real =
          device_times<Laplace<2>>(Space(backend, of_real), {of_real, synthetic::element_product}, true, true);
      const auto dummy = device_times<DummyForm>(Space(backend, of_dummy), {of_dummy, dummy_product}, false, false);
      const int  small = std::max(1, n / 4);
      const Time host  = host_time<Laplace<2>>(tables(small, false), synthetic::element_product);
      const Time host_dummy = host_time<DummyForm>(tables(small, true), dummy_product);
      const auto name       = "P4 order " + std::to_string(order) + ", ";
      report.add({name + "one core of the host, fp64",
                  "time",
                  host.seconds,
                  "s/cell",
                  0.,
                  host.correct && host_dummy.correct,
                  {{"dummy", host_dummy.seconds}},
                  true,
                  host.note});
      for (const auto &[label, time] : real)
      {
        Time                          shown = time;
        std::map<std::string, double> further{{"faster_than_a_core", host.seconds / time.seconds},
                                              {"cells", double(of_real.n_cells())}};
        if (const auto found = dummy.find(label); found != dummy.end() && found->second.seconds > 0.)
        {
          further["dummy"] = found->second.seconds;
          shown.correct    = time.correct && found->second.correct;
        }
        add_time(name + label, shown, further);
      }
      report.write(options.get("json"));
    }

    /** Of the matrix of -div grad u + u. */
    static std::vector<double> helmholtz_product(const ElementTables &tables, const std::vector<double> &x)
    {
      return synthetic::sum_over_points(tables, 1,
                                        [&](const ReferenceElement &r, const int *nodes, const auto *g, const int q,
                                            const double weight, double *sums) {
                                          double value = 0., slope[3] = {};
                                          for (int j = 0; j < r.n_shape; ++j)
                                          {
                                            value += r.shape_values[q * r.n_shape + j] * x[nodes[j]];
                                            for (int d = 0; d < 3; ++d)
                                              slope[d] += g[j][d] * x[nodes[j]];
                                          }
                                          for (int i = 0; i < r.n_shape; ++i)
                                            sums[i] +=
                                                weight * (g[i][0] * slope[0] + g[i][1] * slope[1] + g[i][2] * slope[2] +
                                                          r.shape_values[q * r.n_shape + i] * value);
                                        });
    }

    /** P3's table 2 on its mesh `Regular`: 274,625 nodes and 1,572,864 tetrahedra for @p n = 64. */
    void measure_helmholtz(const int n)
    {
      const ElementTables tables = synthetic::cube_of_tetrahedra(n, 1, false);
      const Time          host   = host_time<Diffusion<3>>(tables, helmholtz_product, {1., 0., 0., 1., 0., 1., 1.});
      const auto          name   = "P3 Regular, " + std::to_string(tables.n_nodes) + " nodes, ";
      report.add({name + "one core of the host",
                  "time",
                  host.seconds * tables.n_cells(),
                  "s",
                  0.,
                  host.correct,
                  {{"paper", 1.080}},
                  true,
                  host.note});
      Patches::AdditionalData data;
      variants.clear();
      for (const char *strategy : {"boundary_array", "patches", "gather", "shared_nz"})
      {
        data.strategy = strategy;
        variants.push_back({strategy, data});
      }
      std::map<std::string, Time> times;
      const Expected              expected(tables, helmholtz_product);
      add_device_times<Diffusion<3>, double>(Space(backend, tables), expected, {1., 0., 0., 1., 0., 1., 1.}, "", true,
                                             times);
      for (const auto &[label, time] : times)
        if (time.seconds == 0.)
          report.add({name + label, "refused", 0., "1", 0., true, {}, true, time.note});
        else
          report.add({name + label,
                      "time",
                      time.seconds * tables.n_cells(),
                      "s",
                      time.limit * tables.n_cells(),
                      time.correct,
                      {{"paper", 0.0298}, {"faster_than_a_core", host.seconds / time.seconds}},
                      true,
                      time.note});
      report.write(options.get("json"));
    }
  };
} // namespace benchmark
