// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>

#include <omp.h>

#include <cmath>

using namespace PatchFEM;

class RowRangeTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(RowRangeTest);

namespace
{
  constexpr int n_nodes = 4000; // several parts of p.q

  /** Products of three ranges that follow each other have the bits of one of all rows, and so has p.q. */
  template <typename Matrix>
  void check_ranges(const Matrix &A, const std::string &what)
  {
    SCOPED_TRACE(what);
    using Number               = typename Matrix::value_type;
    const Backend       &place = A.backend();
    const std::size_t    n     = A.n_rows();
    const Vector<Number> x(place, cases::to<Number>(cases::random_values(n, 3)));
    Vector<Number>       y(place, n);
    Array<CGScalars>     scalars(place, 1);
    Array<double>        history(place, 1), partials(place, kernels::cg_n_partials(n));
    const auto           run = [&](const auto &target, const std::vector<RowRange> &ranges) {
      const CGScalars start{};
      scalars.copy_from(&start, 1);
      y = std::numeric_limits<Number>::quiet_NaN();
      for (const RowRange &rows : ranges)
        A.product(x.data(), target, rows);
      return y.copy_to_host();
    };
    const kernels::Overwrite<Number>          overwrite{y.data()};
    const kernels::ConjugateGradients<Number> with_sum{
        x.data(), y.data(), {scalars.data(), history.data(), 1, partials.data()}};
    const std::vector<Number> product = run(overwrite, {RowRange()}), with_products = run(with_sum, {RowRange()});
    const double              sum     = scalars.read(0).p_dot_q;
    const int                 threads = omp_get_max_threads();
    for (const int n_threads : {1, 3})
      for (const int cut : {0, 1, 31, 32, 700, 2047, n_nodes - 1, n_nodes})
      {
        omp_set_num_threads(n_threads);
        const std::vector<RowRange> ranges{{0, cut}, {cut, (cut + n_nodes) / 2}, {(cut + n_nodes) / 2}};
        EXPECT_EQ(run(overwrite, ranges), product) << cut;
        EXPECT_EQ(run(with_sum, ranges), with_products) << cut;
        EXPECT_EQ(scalars.read(0).p_dot_q, sum) << cut;
      }
    omp_set_num_threads(threads);

    // Rows of the first range alone, of which few are left out where slices are made for that.
    for (const std::vector<Number> &first : {run(overwrite, {{0, 3000}}), run(with_sum, {{0, 3000}})})
    {
      std::size_t n_formed = 0;
      while (n_formed < n && !std::isnan(first[n_formed]))
        ++n_formed;
      for (std::size_t i = n_formed; i < n; ++i)
        EXPECT_TRUE(std::isnan(first[i]));
      EXPECT_LE(n_formed, n / n_nodes * 3000);
      if (std::is_same_v<Matrix, SlicedEllpackMatrix<Number>> && place.kind() != BackendKind::cuda)
      {
        EXPECT_GT(n_formed, n / n_nodes * 2000);
      }
    }
  }
} // namespace

TEST_P(RowRangeTest, MakeOneProduct)
{
  const HostCSR<double> pattern = cases::random_pattern(n_nodes, n_nodes, 9, 1);
  for (const int b : {1, 2, 3, 4})
    for (const int height : {32, 1, 8, 100, n_nodes})
    {
      SlicedEllpackMatrix<double> A;
      A.reinit(backend(), cases::expand<double>(pattern, b, b, 2), b, b, {height});
      check_ranges(A, "blocks of " + std::to_string(b) + ", slices of " + std::to_string(height));
      if (b == 3)
      {
        SlicedEllpackMatrix<float> single;
        single.copy_from(A);
        check_ranges(single, "float, slices of " + std::to_string(height));
      }
    }
  SlicedEllpackMatrix<double> short_columns;
  short_columns.reinit(backend(), cases::expand<double>(pattern, 1, 1, 2), 1, 1, {32, true});
  check_ranges(short_columns, "columns of 16 bits");
  check_ranges(CSRMatrix<double>(backend(), cases::expand<double>(pattern, 2, 2, 2), 2), "compressed rows");
}
