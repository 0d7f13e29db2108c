// SPDX-License-Identifier: LGPL-2.1-or-later
// Sparse matrix-vector products of every format on the threads of the host beside the triad of STREAM, on the Q1 systems
// of bench_spmv.
//   bench_spmv_host [--n NODES] [--laplace-n NODES] [--voxels N] [--repetitions N] [--json FILE]
#include "benchmark.h"
#include "grid_system.h"
#include "voxel_system.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <omp.h>

using namespace benchmark;
using namespace PatchFEM;

namespace
{
  /** Copy, read and STREAM's triad on arrays of 256 MB. */
  class Stream
  {
  public:
    Stream()
    {
      b = 1.;
      c = 2.;
    }

    double triad_bytes() const { return 24. * n; }

    void triad()
    {
      double *const       pa = a.data();
      const double *const pb = b.data(), *const pc = c.data();
#pragma omp parallel for simd schedule(static)
      for (std::int64_t i = 0; i < n; ++i)
        pa[i] = pb[i] + 3. * pc[i];
    }

    /** The rates of a run. */
    void measure(const int n_repetitions, Report &report)
    {
      const double copy = median(host_times(n_repetitions, [&]() { a.equ(1., b); }));
      const double time = median(host_times(n_repetitions, [&]() { triad(); }));
      double       sum  = 0.;
      const double read = median(host_times(n_repetitions, [&]() { sum += b.dot(c); }));
      report.copy_rate  = 16. * n / copy;
      report.read_rate  = 16. * n / read;
      report.print_rates();
      const bool right = a.dot(b) == 7. * n && sum == 2. * n * n_repetitions;
      report.add({"STREAM triad", "rate", triad_bytes() / time, "B/s", 0., right, {}});
    }

  private:
    static constexpr std::int64_t n = 1 << 25;
    const Backend                 host{"host"};
    Vector<double>                a{host, n}, b{host, n}, c{host, n};
  };

  /** Verifies and times a product; @p matrix_bytes: what is moved beside source and destination. */
  template <typename Number>
  void product_rate(const std::string         &what,
                    const std::vector<double> &source,
                    const std::vector<double> &expected,
                    const MatrixBase<Number>  &matrix,
                    const double               matrix_bytes,
                    const int                  n_repetitions,
                    Stream                    &stream,
                    Report                    &report)
  {
    const Backend  host("host");
    const double   n_dofs = source.size(), bytes = matrix_bytes + 2. * sizeof(Number) * n_dofs;
    Vector<Number> x(host, std::vector<Number>(source.begin(), source.end())), y(host, source.size());
    y = std::numeric_limits<Number>::quiet_NaN();
    matrix.vmult(y, x);
    const double error = relative_difference(y.copy_to_host(), expected);
    // Products and triads in turn: whatever else the machine does meets both, and the ratio stands.
    std::vector<double> products, triads;
    for (int i = 0; i < n_repetitions; ++i)
    {
      triads.push_back(host_times(1, [&]() { stream.triad(); })[0]);
      products.push_back(host_times(1, [&]() { matrix.vmult(y, x); })[0]);
    }
    const double seconds = median(products), triad = stream.triad_bytes() / median(triads);
    report.add(
        {what,
         "rate",
         n_dofs / seconds,
         "DoF/s",
         n_dofs * triad / bytes,
         error < 200. * std::numeric_limits<Number>::epsilon(),
         {{"bytes", bytes}, {"B/s", bytes / seconds}, {"of triad", bytes / seconds / triad}, {"difference", error}}});
  }

  template <int n_c>
  class Products
  {
  public:
    Products(const int n, const int n_repetitions, Stream &stream, Report &report)
        : system(n), n_repetitions(n_repetitions), stream(stream), report(report),
          title(std::string(n_c == 1 ? "Q1 Laplace" : "Q1 elasticity") + " 3D, "),
          source(scattered_values(system.n_dofs())), expected(system.product(source))
    {
      std::vector<std::int64_t> host_offsets;
      std::vector<int>          host_columns;
      system.pattern(host_offsets, host_columns);
      offsets.copy_from(host, host_offsets);
      columns.copy_from(host, host_columns);
      char size[64];
      std::snprintf(size, sizeof(size), ", %.1f M DoF", 1e-6 * system.n_dofs());
      size_text = size;
    }

    template <typename Number>
    void sliced(const std::string &what)
    {
      SlicedEllpackMatrix<Number> matrix;
      matrix.reinit(host, pattern(), n_c, n_c);
      const SlicedEllpackView<Number> view = matrix.view();
#pragma omp parallel for schedule(static)
      for (int i = 0; i < view.n_rows; ++i)
        for (int k = 0; k < matrix.view().row_lengths[i]; ++k)
        {
          double block[n_c * n_c];
          system.block(i, view.columns[view.block_index(i, k)], block);
          for (int e = 0; e < n_c * n_c; ++e)
            view.values[view.value_index(i, k, e / n_c, e % n_c)] = Number(block[e]);
        }
      const double stored = matrix.n_stored_elements();
      measure(what, matrix, sizeof(Number) * stored + 4. * stored / (n_c * n_c) + 8. * (view.n_slices() + 1));
    }

    /** Formats that are made from scalar rows. */
    void further()
    {
      CSRMatrix<double> csr;
      fill(csr);
      const double n = csr.n_nonzero_elements(), n_dofs = csr.n_rows();
      {
        CoordinateMatrix<double> coordinate;
        coordinate.reinit(csr);
        measure("COO, fp64", coordinate, 16. * n + 8. * n_dofs); // the destination is set first
      }
      {
        HybridMatrix<double> hybrid;
        hybrid.reinit(csr);
        measure("ELL + COO, fp64", hybrid,
                12. * hybrid.ellpack().n_stored_elements() + 16. * hybrid.coordinate().n_nonzero_elements());
      }
      const CSRView<double> rows = csr.view();
      const auto sliced          = [&](const std::string &what, const int b, const int height, const bool short_columns,
                              const bool skip_padding) {
        SlicedEllpackMatrix<double> matrix;
        matrix.reinit(host,
                      b == n_c ? pattern() : SparsityView{rows.n_rows, rows.n_columns, rows.row_offsets, rows.columns},
                               b, b, {height, short_columns, skip_padding});
        kernels::fill_values(Host(), rows, matrix.view());
        const double stored = skip_padding ? n : matrix.n_stored_elements();
        measure(what, matrix,
                         8. * stored + (short_columns ? 2. * stored + 4. * n_dofs : 4. * stored / (b * b)) +
                             (skip_padding ? 4. * n_dofs / b : 0.));
      };
      const int all = INT32_MAX;
      if (n_c > 1)
        sliced("BELL, fp64", n_c, all, false, false);
      sliced("ELLPACK, fp64", 1, all, false, false);
      sliced("ELLPACK-R, fp64", 1, all, false, true);
      if (n_c > 1)
        sliced("SELL-32, fp64", 1, 32, false, false);
      sliced("SELL-32, 16-bit columns, fp64", 1, 32, true, false);
    }

    template <typename Number>
    void csr(const std::string &what)
    {
      CSRMatrix<Number> matrix;
      fill(matrix);
      measure(what, matrix, (sizeof(Number) + 4.) * matrix.n_nonzero_elements() + 8. * (matrix.n_rows() + 1.));
    }

  private:
    template <typename Number>
    void fill(CSRMatrix<Number> &matrix)
    {
      matrix.reinit(host, pattern(), n_c, n_c);
      const CSRView<Number> view = matrix.view();
#pragma omp parallel for schedule(static)
      for (int row = 0; row < view.n_rows; ++row)
        for (std::int64_t e = view.row_offsets[row]; e < view.row_offsets[row + 1]; e += n_c)
        {
          double block[n_c * n_c];
          system.block(row / n_c, view.columns[e] / n_c, block);
          for (int b = 0; b < n_c; ++b)
            view.values[e + b] = Number(block[row % n_c * n_c + b]);
        }
    }

    const Backend       host{"host"};
    GridSystem<n_c>     system;
    int                 n_repetitions;
    Stream             &stream;
    Report             &report;
    std::string         title, size_text;
    std::vector<double> source, expected;
    Array<std::int64_t> offsets;
    Array<int>          columns;

    SparsityView pattern() const
    {
      const int n_nodes = static_cast<int>(system.n_nodes());
      return {n_nodes, n_nodes, offsets.data(), columns.data()};
    }

    template <typename Number>
    void measure(const std::string &what, const MatrixBase<Number> &matrix, const double matrix_bytes)
    {
      product_rate(title + what + size_text, source, expected, matrix, matrix_bytes, n_repetitions, stream, report);
    }
  };

  /** The pressure equation on voxels in the format made for it, and in coordinates. */
  void voxels(const int n, const int n_repetitions, Stream &stream, Report &report)
  {
    const Backend             host("host");
    const VoxelSystem         voxels(n);
    const HostCSR<double>     A      = voxels.matrix();
    const std::vector<double> source = scattered_values(voxels.n_unknowns), expected = voxels.product(source);
    char                      size[64];
    std::snprintf(size, sizeof(size), ", fp64, %.1f M DoF", 1e-6 * voxels.n_unknowns);
    const auto measure = [&](const std::string &what, const MatrixBase<double> &matrix, const double matrix_bytes) {
      product_rate("pressure on voxels, " + what + size, source, expected, matrix, matrix_bytes, n_repetitions, stream,
                   report);
    };
    const MDIAMatrix<double> mdia(host, A);
    measure("mDIA", mdia, double(mdia.memory_consumption()));
    const CSRMatrix<double> csr(host, A);
    measure("CSR", csr, double(csr.memory_consumption()));
    CoordinateMatrix<double> coordinate;
    coordinate.reinit(csr);
    measure("COO", coordinate, 16. * coordinate.n_nonzero_elements() + 16. * voxels.n_unknowns);
  }

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "80"}, {"laplace-n", "120"}, {"voxels", "128"}, {"repetitions", "20"}}, {});
    options.parse(argc, argv);
    const int n_repetitions = options.get_int("repetitions");
    Report    report("spmv_host", Backend("host").device_name());
    report.threads = omp_get_max_threads();
    Stream stream;
    stream.measure(n_repetitions, report);
    {
      Products<3> elasticity(options.get_int("n"), n_repetitions, stream, report);
      elasticity.csr<double>("CSR, fp64");
      elasticity.sliced<double>("SBELL 3x3, fp64");
      elasticity.sliced<float>("SBELL 3x3, fp32");
      elasticity.further();
    }
    {
      Products<1> laplace(options.get_int("laplace-n"), n_repetitions, stream, report);
      laplace.csr<double>("CSR, fp64");
      laplace.sliced<double>("SELL-32, fp64");
      laplace.sliced<float>("SELL-32, fp32");
      laplace.further();
    }
    voxels(options.get_int("voxels"), n_repetitions, stream, report);
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
