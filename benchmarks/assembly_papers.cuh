// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_case.cuh"
#include "dummy_form.h"

#include <patchfem/base/threads.h>

namespace benchmark
{
  /**
   * What P4 measured of its strategies, on a domain of our own with the paper's numbers of nodes, triangles and holes:
   * the error of fp32 and the time by the size of the mesh (table VI, figure 12), and times by the order of the
   * triangles, with the arithmetic of the element and without it (figures 13, 14). Times are medians of ten warm
   * assemblies, launches included. One core of the host runs what `auto` takes, in fp64 as there. Figure 3 is left
   * out: nothing makes more colours than are needed.
   */
  class AssemblyOfPapers
  {
  public:
    AssemblyOfPapers(const Backend &backend, Report &report, const Options &options)
        : backend(backend), report(report), options(options), timer(backend)
    {
      for (const char *strategy : {"colour", "global_nz", "local_nz", "shared_nz"})
      {
        Patches::AdditionalData data;
        data.strategy = strategy;
        variants.push_back({strategy, data});
      }
      variants.push_back(variants.back());
      variants.back().label            = "shared_nz with 16 KB"; // for one block, as devices of the paper had
      variants.back().data.concurrent  = 1;
      variants.back().data.fast_memory = 16384;
    }

    void run()
    {
      const bool       quick     = options.flag("quick");
      constexpr double errors[8] = {1.6e-7, 3.0e-7, 6.2e-7, 1.2e-6, 2.6e-6, 5.2e-6, 1.1e-5, 2.1e-5};
      for (int level = 0; level < (quick ? 3 : 8); ++level)
        measure_errors(synthetic::plate_with_holes(1 << level), errors[level]);
      for (int order = 1; order <= 5; ++order)
        measure_times(order, quick ? 4 : 64);
    }

  private:
    struct Variant
    {
      std::string             label;
      Patches::AdditionalData data;
    };

    struct Time
    {
      double      seconds = 0.; ///< of a cell; 0: refused
      double      limit   = 0.;
      bool        correct = true;
      std::string note;
    };

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

    /** In fp32 with points in fp64, as we have them, and rounded to fp32, as P4 has. */
    void measure_errors(ElementTables tables, const double of_paper)
    {
      hold_sides(tables);
      const double      n_cells = double(tables.n_cells());
      const std::string name =
          "P4 " + std::to_string(tables.n_nodes) + " nodes, " + std::to_string(tables.n_cells()) + " triangles, ";
      Assembler<Laplace<2>> on_host(Space(Backend("host"), tables));
      set_data(on_host);
      const System<double> exact = assembled(on_host);
      const Space          space(backend, tables);
      for (double &x : tables.points)
        x = static_cast<float>(x);
      const Space rounded(backend, std::move(tables));
      for (const Variant &variant : variants)
        try
        {
          double       errors[2];
          std::int64_t n_zeros = 0;
          double       seconds = 0.;
          for (const bool round : {false, true})
          {
            Assembler<Laplace<2>, float> assembler(round ? rounded : space, variant.data);
            set_data(assembler);
            errors[round] = mean_relative_error(assembled(assembler), exact, n_zeros);
            if (!round)
              seconds = seconds_of(assembler);
          }
          const bool correct = errors[0] < 1e-5 && errors[1] < 1e-3;
          report.add({name + variant.label,
                      "mean relative error in fp32",
                      errors[0],
                      "1",
                      0.,
                      correct,
                      {{"points_in_fp32", errors[1]}, {"paper", of_paper}, {"zeros", double(n_zeros)}},
                      true});
          report.add({name + variant.label + ", fp32", "time", seconds / n_cells, "s/cell", 0., correct, {}, true});
        }
        catch (const Error &error)
        {
          report.add({name + variant.label, "refused", 0., "1", 0., true, {}, true, error.what()});
        }
      backend.synchronize();
      report.write(options.get("json"));
    }

    double seconds_of(Assembler<Laplace<2>, float> &assembler)
    {
      SlicedEllpackMatrix<float> matrix;
      Vector<float>              rhs;
      assembler.space().initialize_matrix(matrix);
      return median(timer.warm(10, [&]() { assembler.assemble(matrix, rhs); }));
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

    /** By variant and precision. */
    template <typename Form, typename Product>
    std::map<std::string, Time> device_times(const ElementTables &tables, const Product &product)
    {
      const Expected              expected(tables, product);
      const Space                 space(backend, tables);
      std::map<std::string, Time> result;
      add_device_times<Form, double>(space, expected, ", fp64", result);
      add_device_times<Form, float>(space, expected, ", fp32", result);
      return result;
    }

    template <typename Form, typename Number>
    void add_device_times(const Space                 &space,
                          const Expected              &expected,
                          const std::string           &precision,
                          std::map<std::string, Time> &result)
    {
      AssemblyCase<Number> assembly(space, expected);
      const double         n_cells = space.batches().n_cells(), limit = assembly.least_bytes() / report.copy_rate;
      for (const Variant &variant : variants)
      {
        Time &time = result[variant.label + precision];
        try
        {
          const auto found = assembly.template measure<Form>(timer, variant.data, {1.});
          time             = {found.warm / n_cells, limit / n_cells, found.correct, found.kernel};
        }
        catch (const Error &error)
        {
          time.note = error.what();
        }
        backend.synchronize();
      }
    }

    /** On one core of the host. */
    template <typename Form, typename Product>
    static Time host_time(const ElementTables &tables, const Product &product)
    {
      const int            n_threads = max_threads();
      const Expected       expected(tables, product);
      const Space          space(Backend("host"), tables);
      AssemblyCase<double> assembly(space, expected);
      Assembler<Form>      assembler(space);
      Vector<double>       rhs;
      assembler.set_coefficients(CoefficientField::constant({1.}));
      assembler.set_body_load(CoefficientField::constant({1.}));
      const auto assemble = [&]() { assembler.assemble(assembly.matrix, rhs); };
      omp_set_num_threads(1);
      assemble();
      const double seconds = median(host_times(3, assemble));
      omp_set_num_threads(n_threads);
      return {seconds / double(tables.n_cells()), 0., assembly.is_right(rhs), assembler.kernel_names()[0]};
    }

    /** On 292 @p n^2 triangles; on the host on a sixteenth of them. */
    void measure_times(const int order, const int n)
    {
      const auto tables = [&](const int fineness, const bool dummy) {
        ElementTables result =
            synthetic::with_nodes(synthetic::plate_with_holes(fineness), synthetic::lagrange_simplex(2, order));
        if (dummy)
          result.batches[0].reference = synthetic::lagrange_simplex(2, order, 1);
        return result;
      };
      const auto real       = device_times<Laplace<2>>(tables(n, false), synthetic::element_product);
      auto       dummy      = device_times<DummyForm>(tables(n, true), dummy_product);
      const Time host       = host_time<Laplace<2>>(tables(n / 4, false), synthetic::element_product);
      const Time host_dummy = host_time<DummyForm>(tables(n / 4, true), dummy_product);
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
        if (time.seconds == 0.)
          report.add({name + label, "refused", 0., "1", 0., true, {}, true, time.note});
        else
          report.add({name + label,
                      "time",
                      time.seconds,
                      "s/cell",
                      time.limit,
                      time.correct && dummy[label].correct,
                      {{"dummy", dummy[label].seconds}, {"faster_than_a_core", host.seconds / time.seconds}},
                      true,
                      time.note});
      report.write(options.get("json"));
    }
  };
} // namespace benchmark
