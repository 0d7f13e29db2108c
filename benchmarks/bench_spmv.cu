// SPDX-License-Identifier: LGPL-2.1-or-later
// Sparse matrix-vector products on the device: our formats and cuSPARSE's on the same Q1 systems of about 10 M
// unknowns. Every product is compared with plain loops on the host before it is timed.
//   bench_spmv [--n NODES] [--laplace-n NODES] [--pair-n NODES] [--voxels N] [--repetitions N] [--variants] [--json FILE]
#include "grid_matrices.cuh"
#include "sliced_ellpack_product.cuh"
#include "voxel_system.h"

#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

using namespace benchmark;

namespace
{
  /** One of tuning.cuh's alternatives. */
  template <int n_parts, int n_rows, int n_blocks, int n_resident>
  struct Variant
  {
    static constexpr int parts = n_parts, rows_per_thread = n_rows, unroll = n_blocks, residency = n_resident;
  };

  /** What one family of products shares: vectors, the reference and how often to repeat. */
  template <int n_c>
  class Products
  {
  public:
    Products(
        const Backend &backend, const int n, const int n_repetitions, Report &report, const bool along_curve = false)
        : grid(backend, n, along_curve), n_repetitions(n_repetitions), report(report), timer(backend),
          source(scattered_values(grid.system.n_dofs())), expected(grid.system.product(source)),
          title(std::string(n_c == 1 ? "Q1 Laplace" : (n_c == 3 ? "Q1 elasticity" : "Q1 pair of bodies")) + " 3D, ")
    {
      if (along_curve)
      {
        source   = in_rows(source);
        expected = in_rows(expected);
        title += "numbered along a Hilbert curve, ";
      }
      char size[64];
      std::snprintf(size, sizeof(size), ", %.1f M DoF", 1e-6 * grid.system.n_dofs());
      size_text = size;
      x.reinit(backend, source.size());
      x.copy_from_host(source);
      y.reinit(backend, source.size());
    }

    DeviceGrid<n_c> grid;
    Vector<double>  x, y;

    /**
     * Verifies and times @p product. @p bytes: compulsory traffic, each array once. Caches are warm.
     */
    template <typename Number>
    void measure(const std::string            &what,
                 const double                  bytes,
                 Vector<Number>               &result,
                 const std::function<void()>  &product,
                 std::map<std::string, double> further   = {},
                 const double                  tolerance = 200. * std::numeric_limits<Number>::epsilon())
    {
      result = std::numeric_limits<Number>::quiet_NaN();
      product();
      const double              error    = relative_difference(result.copy_to_host(), expected);
      const bool                verified = error < tolerance;
      const std::vector<double> warm     = timer.warm(n_repetitions, product);
      const double              cold     = median(timer.cold(n_repetitions, product));
      const double              n_dofs   = grid.system.n_dofs();
      const double              rate     = n_dofs / median(warm);
      further["bytes"]                   = bytes;
      further["B/s"]                     = bytes / median(warm);
      further["cold"]                    = n_dofs / cold;
      further["maximum"]                 = n_dofs / *std::min_element(warm.begin(), warm.end());
      further["minimum"]                 = n_dofs / *std::max_element(warm.begin(), warm.end());
      further["difference"]              = error;
      // Nearly all of the traffic is read.
      report.add(
          {title + what + size_text, "rate", rate, "DoF/s", n_dofs * report.read_rate / bytes, verified, further});
    }

    /** Matrix bytes plus source and destination once. */
    template <typename Number>
    double bytes(const std::int64_t n_entries, const std::int64_t n_columns, const std::int64_t n_offset_bytes) const
    {
      return double(sizeof(Number)) * n_entries + 4. * n_columns + n_offset_bytes +
             2. * sizeof(Number) * grid.system.n_dofs();
    }

    template <typename Number>
    void cusparse_csr(const std::string &what)
    {
      CSRMatrix<Number> matrix;
      grid.fill(matrix);
      Vector<Number> src(grid.backend, x.size()), dst(grid.backend, x.size());
      src.copy_from(x);
      CuSparseProduct<Number> product(matrix, src, dst);
      measure(what,
              bytes<Number>(matrix.n_nonzero_elements(), matrix.n_nonzero_elements(), 4ll * (matrix.n_rows() + 1)), dst,
              [&]() { product(); });
    }

    template <typename Number>
    void cusparse_sell(const std::string &what)
    {
      SlicedEllpackMatrix<Number> matrix;
      grid.fill(matrix, 1);
      Vector<Number> src(grid.backend, x.size()), dst(grid.backend, x.size());
      src.copy_from(x);
      CuSparseProduct<Number> product(matrix, src, dst);
      measure(
          what,
          bytes<Number>(matrix.n_stored_elements(), matrix.n_stored_elements(), 4ll * (matrix.view().n_slices() + 1)),
          dst, [&]() { product(); });
    }

    template <typename Number>
    void cusparse_bsr(const std::string &what)
    {
      Array<Number> values(grid.backend, grid.n_blocks * n_c * n_c);
      fill_bsr<<<blocks_for(grid.system.n_nodes()), 256, 0, grid.stream()>>>(
          grid.system, grid.offsets.data(), grid.columns.data(), grid.node_at.data(), values.data());
      PATCHFEM_CUDA_CHECK_LAUNCH();
      Vector<Number> src(grid.backend, x.size()), dst(grid.backend, x.size());
      src.copy_from(x);
      CuSparseProduct<Number> product(grid.backend, grid.pattern(), n_c, values, src, dst);
      measure(what, bytes<Number>(values.size(), grid.n_blocks, 4ll * (grid.system.n_nodes() + 1)), dst,
              [&]() { product(); });
    }

    template <typename Number>
    void sliced(const std::string &what, const int block_size, const bool short_columns = false)
    {
      SlicedEllpackMatrix<Number> matrix;
      grid.fill(matrix, block_size, short_columns);
      Vector<Number> src(grid.backend, x.size()), dst(grid.backend, x.size());
      src.copy_from(x);
      std::map<std::string, double> further;
      // With 16-bit columns the first one of a row takes 4 bytes, and each 2.
      const std::int64_t n_columns = matrix.n_stored_elements() / (block_size * block_size);
      const std::int64_t n_words   = short_columns ? n_columns / 2 + matrix.n_rows() : n_columns;
      if (short_columns)
        further["short slices"] = matrix.n_short_slices() / double(matrix.view().n_slices());
      measure(
          what, bytes<Number>(matrix.n_stored_elements(), n_words, 8ll * (matrix.view().n_slices() + 1)), dst,
          [&]() { matrix.vmult(dst, src); }, further);
    }

    /** Most entries stored once; made on the device of the format above it. */
    template <typename Number>
    void symmetric(const std::string &what)
    {
      SymmetricEllpackMatrix<Number> matrix;
      {
        SlicedEllpackMatrix<Number> sliced;
        grid.fill(sliced, n_c);
        matrix.reinit(sliced);
      }
      Vector<Number> src(grid.backend, x.size()), dst(grid.backend, x.size());
      src.copy_from(x);
      measure(what, double(matrix.memory_consumption()) + 2. * sizeof(Number) * grid.system.n_dofs(), dst,
              [&]() { matrix.vmult(dst, src); },
              {{"stored entries", double(matrix.n_stored_elements()) / double(matrix.n_nonzero_elements())}});
    }

    template <typename Number>
    void csr(const std::string &what)
    {
      CSRMatrix<Number> matrix;
      grid.fill(matrix);
      Vector<Number> src(grid.backend, x.size()), dst(grid.backend, x.size());
      src.copy_from(x);
      measure(what,
              bytes<Number>(matrix.n_nonzero_elements(), matrix.n_nonzero_elements(), 8ll * (matrix.n_rows() + 1)), dst,
              [&]() { matrix.vmult(dst, src); });
    }

    /** The kernels of P0 and P2 beside our own. */
    void csr_kernels()
    {
      CSRMatrix<double> matrix;
      grid.fill(matrix);
      const double traffic =
          bytes<double>(matrix.n_nonzero_elements(), matrix.n_nonzero_elements(), 8ll * (matrix.n_rows() + 1));
      matrix.use_kernel(CSRKernel::scalar);
      measure("CSR by a thread a row, fp64", traffic, y, [&]() { matrix.vmult(y, x); });
      matrix.use_kernel(CSRKernel::vector);
      measure("CSR by a warp a row, fp64", traffic, y, [&]() { matrix.vmult(y, x); });
    }

    void coordinate(const std::string &what)
    {
      CoordinateMatrix<double> matrix;
      {
        CSRMatrix<double> csr;
        grid.fill(csr);
        matrix.reinit(csr);
      }
      // The destination is set and then added to.
      measure(what, bytes<double>(matrix.n_nonzero_elements(), 2 * matrix.n_nonzero_elements(), 16ll * matrix.n_rows()),
              y, [&]() { matrix.vmult(y, x); });
    }

    /** Launch shapes of the tuned kernel beside the one that tuning.cuh names. */
    void variants()
    {
      SlicedEllpackMatrix<double> matrix;
      grid.fill(matrix, n_c);
      const double traffic = bytes<double>(matrix.n_stored_elements(), matrix.n_stored_elements() / (n_c * n_c),
                                           8ll * (matrix.view().n_slices() + 1));
      const auto   variant = [&](auto parts, auto rows, auto unroll, auto residency) {
        measure("SBELL, " + std::to_string(parts) + " parts, " + std::to_string(rows) + " rows a thread, unrolled " +
                      std::to_string(unroll) + ", " + std::to_string(residency) + " blocks",
                  traffic, y, [&]() {
                  product::launch_sliced_ellpack_tuned<32, n_c, n_c, Variant<parts, rows, unroll, residency>>(
                      Cuda{grid.backend.stream()}, matrix.view(), x.data(), kernels::Overwrite<double>{y.data()});
                });
      };
      using std::integral_constant;
      constexpr integral_constant<int, 1> one{};
      constexpr integral_constant<int, 2> two{};
      constexpr integral_constant<int, 3> three{};
      constexpr integral_constant<int, 4> four{};
      if constexpr (n_c == 6)
      {
        constexpr integral_constant<int, 6> six{};
        variant(one, one, one, two);
        variant(two, one, one, two);
        variant(two, one, one, three);
        variant(two, one, one, four);
        variant(two, two, one, two);
        variant(three, one, one, three);
        variant(three, one, one, four);
        variant(three, two, one, three);
        variant(six, one, two, four);
        variant(six, two, one, four);
      }
      else
      {
        const auto rows = [&](auto r) {
          variant(one, r, one, two);
          variant(one, r, one, three);
          variant(one, r, one, four);
          variant(one, r, one, integral_constant<int, 5>());
          variant(one, r, two, two);
          variant(one, r, two, three);
          variant(one, r, two, four);
          variant(one, r, four, two);
          if (n_c == 1)
          {
            variant(one, r, integral_constant<int, 8>(), three);
            variant(one, r, integral_constant<int, 8>(), four);
          }
        };
        rows(one);
        rows(two);
      }
    }

    /** The same for a step of a polynomial with values in fp32 and vectors in fp64. */
    void mixed_variants()
    {
      SlicedEllpackMatrix<float> matrix;
      grid.fill(matrix, n_c);
      const double traffic = bytes<float>(matrix.n_stored_elements(), matrix.n_stored_elements() / (n_c * n_c),
                                          8ll * (matrix.view().n_slices() + 1)) +
                             24. * grid.system.n_dofs(); // source and destination in fp64, and two vectors more
      // x - (x - 0) - (0 - A x) is the product, which is verified.
      const Array<double>  coefficients(grid.backend, std::vector<double>{-1., -1.});
      const Vector<double> zeros(grid.backend, x.size());
      Vector<double>       ones(grid.backend, x.size());
      ones = 1.;
      const kernels::PolynomialStep<double> step{
          coefficients.data(), ones.data(), zeros.data(), x.data(), y.data(), true};
      const auto variant = [&](auto rows, auto unroll, auto residency) {
        measure(
            "SBELL, step with fp32 values, " + std::to_string(rows) + " rows a thread, unrolled " +
                std::to_string(unroll) + ", " + std::to_string(residency) + " blocks",
            traffic, y,
            [&]() {
              product::launch_sliced_ellpack_tuned<32, n_c, n_c, Variant<1, rows, unroll, residency>>(
                  Cuda{grid.backend.stream()}, matrix.view(), x.data(), step);
            },
            {}, 200. * std::numeric_limits<float>::epsilon());
      };
      using std::integral_constant;
      constexpr integral_constant<int, 1> one{};
      constexpr integral_constant<int, 2> two{};
      constexpr integral_constant<int, 3> three{};
      constexpr integral_constant<int, 4> four{};
      constexpr integral_constant<int, 8> eight{};
      if constexpr (n_c == 3)
      {
        variant(one, one, four);
        variant(one, two, four);
        variant(one, three, three);
        variant(one, four, three);
        variant(two, one, three);
        variant(two, two, two);
      }
      else
      {
        variant(two, four, four);
        variant(two, eight, three);
        variant(two, eight, four);
        variant(four, eight, three);
      }
    }

  private:
    int                 n_repetitions;
    Report             &report;
    DeviceTimer         timer;
    std::vector<double> source, expected;
    std::string         title, size_text;

    /** Values at nodes in the order of the matrix's rows. */
    std::vector<double> in_rows(const std::vector<double> &at_nodes) const
    {
      std::vector<double> result(at_nodes.size());
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = at_nodes[std::size_t(grid.numbering[i / n_c]) * n_c + i % n_c];
      return result;
    }
  };

  /** The pressure equation on voxels in the format made for it, beside the others. */
  void voxels(const Backend &backend, const Options &options, Report &report)
  {
    const VoxelSystem         voxels(options.get_int("voxels"));
    const HostCSR<double>     A      = voxels.matrix();
    const std::vector<double> source = scattered_values(voxels.n_unknowns), expected = voxels.product(source);
    const Vector<double>      x(backend, source);
    Vector<double>            y(backend, source.size());
    DeviceTimer               timer(backend);
    const double              n_dofs = voxels.n_unknowns;
    char                      size[64];
    std::snprintf(size, sizeof(size), ", fp64, %.1f M DoF", 1e-6 * n_dofs);
    const auto measure = [&](const std::string &what, const double matrix_bytes, const std::function<void()> &product) {
      y = std::numeric_limits<double>::quiet_NaN();
      product();
      const double error = relative_difference(y.copy_to_host(), expected);
      const double bytes = matrix_bytes + 16. * n_dofs;
      const double rate  = n_dofs / median(timer.warm(options.get_int("repetitions"), product));
      report.add({"pressure on voxels, " + what + size,
                  "rate",
                  rate,
                  "DoF/s",
                  n_dofs * report.read_rate / bytes,
                  error < 200. * std::numeric_limits<double>::epsilon(),
                  {{"bytes", bytes}, {"B/s", bytes * rate / n_dofs}, {"difference", error}}});
    };
    {
      const CSRMatrix<double> matrix(backend, A);
      CuSparseProduct<double> theirs(matrix, x, y);
      measure("cuSPARSE CSR", 12. * matrix.n_nonzero_elements() + 4. * n_dofs, [&]() { theirs(); });
      measure("CSR", 12. * matrix.n_nonzero_elements() + 8. * n_dofs, [&]() { matrix.vmult(y, x); });
    }
    {
      const SlicedEllpackMatrix<double> matrix(backend, A);
      CuSparseProduct<double>           theirs(matrix, x, y);
      const double                      traffic = 12. * matrix.n_stored_elements() + 0.25 * n_dofs;
      measure("cuSPARSE SELL-32", traffic, [&]() { theirs(); });
      measure("SELL-32", traffic, [&]() { matrix.vmult(y, x); });
    }
    {
      SlicedEllpackMatrix<double> matrix;
      matrix.reinit(backend, A, 1, 1, {32, true});
      measure("SELL-32, 16-bit columns", 10. * matrix.n_stored_elements() + 4.25 * n_dofs,
              [&]() { matrix.vmult(y, x); });
    }
    const MDIAMatrix<double> matrix(backend, A);
    measure("mDIA", double(matrix.memory_consumption()), [&]() { matrix.vmult(y, x); });
  }

  int main_program(const int argc, char **argv)
  {
    Options options({{"n", "150"}, {"laplace-n", "216"}, {"pair-n", "100"}, {"voxels", "256"}, {"repetitions", "50"}},
                    {"variants"});
    options.parse(argc, argv);
    const Backend backend("cuda");
    Report        report("spmv", backend.device_name());
    measure_rates(backend, report);
    {
      Products<3> elasticity(backend, options.get_int("n"), options.get_int("repetitions"), report);
      elasticity.cusparse_csr<double>("cuSPARSE CSR, fp64");
      elasticity.cusparse_sell<double>("cuSPARSE SELL-32, fp64");
      elasticity.cusparse_bsr<double>("cuSPARSE BSR 3x3, fp64");
      elasticity.cusparse_csr<float>("cuSPARSE CSR, fp32");
      elasticity.cusparse_sell<float>("cuSPARSE SELL-32, fp32");
      elasticity.cusparse_bsr<float>("cuSPARSE BSR 3x3, fp32");
      elasticity.csr<double>("CSR, fp64");
      elasticity.csr_kernels();
      elasticity.sliced<double>("SELL-32, fp64", 1);
      elasticity.sliced<double>("SBELL 3x3, fp64", 3);
      elasticity.sliced<float>("SBELL 3x3, fp32", 3);
      if (options.flag("variants"))
      {
        elasticity.variants();
        elasticity.mixed_variants();
      }
    }
    {
      Products<1> laplace(backend, options.get_int("laplace-n"), options.get_int("repetitions"), report);
      laplace.cusparse_csr<double>("cuSPARSE CSR, fp64");
      laplace.cusparse_sell<double>("cuSPARSE SELL-32, fp64");
      laplace.cusparse_sell<float>("cuSPARSE SELL-32, fp32");
      laplace.csr<double>("CSR, fp64");
      laplace.csr_kernels();
      laplace.coordinate("COO, fp64");
      laplace.sliced<double>("SELL-32, fp64", 1);
      laplace.sliced<double>("SELL-32, 16-bit columns, fp64", 1, true);
      laplace.sliced<float>("SELL-32, fp32", 1);
      laplace.sliced<float>("SELL-32, 16-bit columns, fp32", 1, true);
      if (options.flag("variants"))
      {
        laplace.variants();
        laplace.mixed_variants();
      }
    }
    {
      Products<6> pair(backend, options.get_int("pair-n"), options.get_int("repetitions"), report);
      pair.cusparse_bsr<double>("cuSPARSE BSR 6x6, fp64");
      pair.sliced<double>("SBELL 6x6, fp64", 6);
      pair.sliced<float>("SBELL 6x6, fp32", 6);
      if (options.flag("variants"))
        pair.variants();
    }
    {
      Products<3> elasticity(backend, options.get_int("n"), options.get_int("repetitions"), report, true);
      elasticity.cusparse_bsr<double>("cuSPARSE BSR 3x3, fp64");
      elasticity.cusparse_bsr<float>("cuSPARSE BSR 3x3, fp32");
      elasticity.sliced<double>("SBELL 3x3, fp64", 3);
      elasticity.symmetric<double>("symmetric SBELL 3x3, fp64");
      elasticity.symmetric<float>("symmetric SBELL 3x3, fp32");
    }
    {
      Products<1> laplace(backend, options.get_int("laplace-n"), options.get_int("repetitions"), report, true);
      laplace.cusparse_sell<double>("cuSPARSE SELL-32, fp64");
      laplace.sliced<double>("SELL-32, 16-bit columns, fp64", 1, true);
      laplace.symmetric<double>("symmetric SELL, fp64");
      laplace.symmetric<float>("symmetric SELL, fp32");
    }
    voxels(backend, options, report);
    report.write(options.get("json"));
    return report.all_verified() ? 0 : 1;
  }
} // namespace

int main(const int argc, char **argv)
{
  return run([&]() { return main_program(argc, argv); });
}
