// SPDX-License-Identifier: LGPL-2.1-or-later
// Products with a matrix of linear tetrahedra whose nodes come in random numbering: cuSPARSE on the given numbering, and
// cuSPARSE and our formats on that of ElementBatches, by sorting windows. Every product is compared with plain loops over
// the cells before it is timed.
//   bench_tetrahedra [--n NODES] [--repetitions N] [--windows] [--json FILE]
#include "grid_matrices.cuh"
#include "helmholtz_tetrahedra.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/format_model.h>

using namespace benchmark;

namespace
{
  /** Row i of the given numbering is row position[i] of ours; its columns and values, or its length. */
  __global__ void give_rows(const CSRView<double> ours,
                            const int            *position,
                            const int            *given_of_ours,
                            int                  *lengths,
                            const std::int64_t   *offsets,
                            int                  *columns,
                            double               *values)
  {
    const std::int64_t i = std::int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (i >= ours.n_rows)
      return;
    const std::int64_t begin = ours.row_offsets[position[i]];
    const int          n     = static_cast<int>(ours.row_offsets[position[i] + 1] - begin);
    if (offsets == nullptr)
    {
      lengths[i] = n;
      return;
    }
    for (int k = 0; k < n; ++k)
    {
      const int    column = given_of_ours[ours.columns[begin + k]];
      const double value  = ours.values[begin + k];
      std::int64_t e      = offsets[i] + k;
      for (; e > offsets[i] && columns[e - 1] > column; --e)
      {
        columns[e] = columns[e - 1];
        values[e]  = values[e - 1];
      }
      columns[e] = column;
      values[e]  = value;
    }
  }

  class Study
  {
  public:
    Study(const Backend &backend, const int n, const int n_repetitions, Report &report)
        : backend(backend), memory(MemoryModel::of(backend)), n_repetitions(n_repetitions), report(report),
          timer(backend), tables(synthetic::cube_of_tetrahedra(n - 1, 1, false))
    {
      // Nodes in random order.
      const std::vector<int> order = synthetic::random_permutation(tables.n_nodes);
      std::vector<int>      &nodes = tables.batches[0].nodes;
      std::vector<double>    points(tables.points.size());
#pragma omp parallel for schedule(static)
      for (std::int64_t i = 0; i < std::int64_t(nodes.size()); ++i)
        nodes[i] = order[nodes[i]];
#pragma omp parallel for schedule(static)
      for (int v = 0; v < tables.n_nodes; ++v)
        for (int d = 0; d < 3; ++d)
          points[3 * std::int64_t(order[v]) + d] = tables.points[3 * std::int64_t(v) + d];
      tables.points              = std::move(points);
      tables.batches[0].geometry = nodes;
      source                     = scattered_values(tables.n_nodes);
      expected                   = synthetic::helmholtz_product(tables, source);
      char text[64];
      std::snprintf(text, sizeof(text), ", fp64, %.1f M DoF", 1e-6 * tables.n_nodes);
      size_text = text;
    }

    /** With @p given also cuSPARSE, on both numberings; without it only our formats, as details of the report. */
    void run(const int window, const bool given)
    {
      detail = !given;
      const Space                     space(backend, tables, ElementBatches::AdditionalData(window));
      Assembler<Diffusion<3>, double> assembler(space);
      assembler.set_coefficients(CoefficientField::constant({1., 0., 0., 1., 0., 1., 1.}));
      assembler.set_body_load(CoefficientField::constant({0.}));
      const SparsityView pattern = space.sparsity().view();
      statistics                 = pattern_statistics(backend, pattern);
      CSRMatrix<double> csr;
      Vector<double>    rhs;
      csr.reinit(backend, pattern);
      assembler.assemble(csr, rhs);

      // From now on vectors are in the numbering of the matrices.
      position = space.batches().new_of_old();
      if (given)
      {
        std::vector<int> identity(position.size());
        for (std::size_t i = 0; i < identity.size(); ++i)
          identity[i] = static_cast<int>(i);
        CSRMatrix<double> renumbered = in_given_numbering(csr);
        position.swap(identity);
        set_source();
        const CSRView<double> view = renumbered.view();
        statistics =
            pattern_statistics(backend, SparsityView{view.n_rows, view.n_columns, view.row_offsets, view.columns});
        cusparse_csr("given numbering", renumbered);
        cusparse_sell("given numbering", renumbered);
        position.swap(identity);
        set_source();
        statistics = pattern_statistics(backend, pattern);
        cusparse_csr("our numbering", csr);
        cusparse_sell("our numbering", csr);
      }
      else
        set_source();
      const std::string where = "our numbering, window of " + std::to_string(window);
      ours(where + ", CSR", csr, {formats::csr});
      for (const bool short_columns : {false, true})
      {
        SlicedEllpackMatrix<double> matrix;
        matrix.reinit(backend, pattern, 1, 1, {32, short_columns});
        assembler.assemble(matrix, rhs);
        ours(where + (short_columns ? ", SELL-32, 16-bit columns" : ", SELL-32"), matrix,
             {formats::sliced_ellpack, 32, short_columns});
      }
    }

  private:
    const Backend       backend;
    const MemoryModel   memory;
    int                 n_repetitions;
    Report             &report;
    DeviceTimer         timer;
    ElementTables       tables;
    PatternStatistics   statistics;
    std::vector<double> source, expected;
    std::vector<int>    position; ///< of the tables' nodes in the matrix
    std::string         size_text;
    Vector<double>      x, y;
    double              best_given = 0., best_of_cusparse = 0.;
    bool                detail = false;

    void set_source()
    {
      std::vector<double> values(source.size());
#pragma omp parallel for schedule(static)
      for (int i = 0; i < tables.n_nodes; ++i)
        values[position[i]] = source[i];
      x.reinit(backend, values.size());
      x.copy_from_host(values);
      y.reinit(backend, values.size());
    }

    CSRMatrix<double> in_given_numbering(const CSRMatrix<double> &csr) const
    {
      const CSRView<double> ours = csr.view();
      const int             n    = ours.n_rows;
      std::vector<int>      inverse(n);
      for (int i = 0; i < n; ++i)
        inverse[position[i]] = i;
      const Array<int>    places(backend, position), given_of_ours(backend, inverse);
      Array<int>          lengths(backend, n), columns(backend, csr.n_nonzero_elements());
      Array<double>       values(backend, columns.size());
      Array<std::int64_t> offsets(backend, std::size_t(n) + 1);
      const cudaStream_t  stream = static_cast<cudaStream_t>(backend.stream());
      give_rows<<<blocks_for(n), 256, 0, stream>>>(ours, places.data(), given_of_ours.data(), lengths.data(), nullptr,
                                                   nullptr, nullptr);
      kernels::exclusive_scan(Cuda{stream}, n, lengths.data(), offsets.data());
      give_rows<<<blocks_for(n), 256, 0, stream>>>(ours, places.data(), given_of_ours.data(), lengths.data(),
                                                   offsets.data(), columns.data(), values.data());
      PATCHFEM_CUDA_CHECK_LAUNCH();
      CSRMatrix<double> result;
      result.reinit(backend, SparsityView{n, n, offsets.data(), columns.data()});
      PATCHFEM_CUDA_CHECK(cudaMemcpyAsync(result.view().values, values.data(), values.memory_consumption(),
                                          cudaMemcpyDeviceToDevice, stream));
      backend.synchronize();
      return result;
    }

    /** Compulsory traffic is that of the format, and of the source once. */
    double measure(const std::string            &what,
                   const MatrixFormat           &format,
                   const std::function<void()>  &product,
                   std::map<std::string, double> further = {})
    {
      y = std::numeric_limits<double>::quiet_NaN();
      product();
      const std::vector<double> in_matrix = y.copy_to_host();
      std::vector<double>       result(in_matrix.size());
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = in_matrix[position[i]];
      const double     error = relative_difference(result, expected), n_dofs = tables.n_nodes;
      const double     rate = n_dofs / median(timer.warm(n_repetitions, product));
      const FormatCase in_double{format, statistics, sizeof(double)};
      const double     bytes = in_double.product_bytes({HUGE_VAL, memory.line, true});
      further["bytes"]       = bytes;
      further["B/s"]         = bytes * rate / n_dofs;
      further["difference"]  = error;
      further["expected"] =
          n_dofs * report.read_rate * in_double.typical_efficiency(memory) / in_double.product_bytes(memory);
      report.add({"P1 tetrahedra, " + what + size_text, "rate", rate, "DoF/s", n_dofs * report.read_rate / bytes,
                  error < 400. * std::numeric_limits<double>::epsilon(), further, detail});
      return rate;
    }

    void ours(const std::string &what, const MatrixBase<double> &matrix, const MatrixFormat &format)
    {
      measure(what, format, [&]() { matrix.vmult(y, x); },
              {{"best of cuSPARSE as given", best_given}, {"best of cuSPARSE", best_of_cusparse}});
    }

    template <typename Matrix>
    void cusparse(const std::string &what, const Matrix &matrix, const MatrixFormat &format, const bool given)
    {
      CuSparseProduct<double> product(matrix, x, y);
      double                 &best = given ? best_given : best_of_cusparse;
      best                         = std::max(best, measure(what, format, [&]() { product(); }));
    }

    void cusparse_csr(const std::string &where, const CSRMatrix<double> &matrix)
    {
      cusparse(where + ", cuSPARSE CSR", matrix, {formats::csr}, where[0] == 'g');
    }

    void cusparse_sell(const std::string &where, const CSRMatrix<double> &csr)
    {
      const CSRView<double>       rows = csr.view();
      SlicedEllpackMatrix<double> matrix;
      matrix.reinit(backend, SparsityView{rows.n_rows, rows.n_columns, rows.row_offsets, rows.columns});
      launch(backend, [&](auto tag) { kernels::fill_values(tag, rows, matrix.view()); });
      cusparse(where + ", cuSPARSE SELL-32", matrix, {formats::sliced_ellpack}, where[0] == 'g');
    }
  };

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "215"}, {"repetitions", "30"}}, {"windows"});
    options.parse(argc, argv);
    const Backend backend("cuda");
    Report        report("tetrahedra", backend.device_name());
    measure_rates(backend, report);
    Study study(backend, options.get_int("n"), options.get_int("repetitions"), report);
    study.run(ElementBatches::AdditionalData().sorting_window, true);
    if (options.flag("windows"))
      for (const int window : {1, 64, 1024, 8192})
        study.run(window, false);
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
