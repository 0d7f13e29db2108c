// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/matrix/byte_matrix.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <cmath>

using namespace PatchFEM;

class ByteMatrixTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(ByteMatrixTest);

namespace
{
  using Data = PreconditionAMG<double>::AdditionalData;

  SlicedEllpackMatrix<float>
  in_single(const Backend &backend, const HostCSR<double> &A, const int b, const int height = 32)
  {
    SlicedEllpackMatrix<float>                 result;
    SlicedEllpackMatrix<float>::AdditionalData data;
    data.slice_height = height;
    result.reinit(backend, {A.n_rows, A.n_columns, A.row_offsets, A.columns, cases::to<float>(A.values)}, b, b, data);
    return result;
  }

  /** h in the places of the values, copied to the host. */
  std::vector<std::int8_t> bytes_of(const ByteMatrix &matrix)
  {
    std::vector<std::int8_t> result(matrix.n_stored_elements());
    memory::copy(Backend("host"), result.data(), matrix.backend(), matrix.view().values, result.size());
    return result;
  }

  /** A cube of elasticity under AMG whose finest level is smoothed with bytes, or not. */
  struct Cube
  {
    SlicedEllpackMatrix<double> matrix;
    PreconditionAMG<double>     amg;

    Cube(const Backend &backend, const int n, const bool in_bytes, const int sweeps = 2, const double limit = 1e7)
        : matrix(backend, cases::grid_matrix<3>(n), 3)
    {
      Data data;
      data.smoother_sweeps = sweeps;
      data.least_in_bytes  = in_bytes ? 0 : matrix.n_nonzero_elements() + 1;
      data.single_limit    = limit;
      cases::GridAggregation aggregation(n);
      amg.initialize(matrix, NearNullSpace::rigid_body_modes(3, Array<double>(backend, cases::grid_points(n))),
                     aggregation, data);
    }

    unsigned int n_iterations() const
    {
      Vector<double>   x(matrix.backend(), matrix.n_rows());
      Vector<double>   b(matrix.backend(), cases::random_values(matrix.n_rows(), 7));
      IterationControl control;
      control.tolerance = 0.;
      control.reduction = 1e-10;
      ConjugateGradients<double> cg;
      const IterationResult      result = cg.solve(matrix, x, b, amg, control);
      EXPECT_EQ(result.status, IterationResult::Status::converged);
      return result.n_iterations;
    }

    std::vector<double> apply(const std::vector<double> &v) const
    {
      Vector<double> x(matrix.backend(), cases::not_a_number<double>(v.size()));
      amg.vmult(x, Vector<double>(matrix.backend(), v));
      return x.copy_to_host();
    }
  };
} // namespace

TEST_P(ByteMatrixTest, TinyByEye)
{
  // s = (2, 1) / sqrt(127), and -0.5 is -0.25 of s_0 s_1 = 2: -31.75 of 127.
  const SlicedEllpackMatrix<float> A = in_single(backend(), {2, 2, {0, 2, 4}, {0, 1, 0, 1}, {4., -0.5, -0.5, 1.}}, 1);
  ByteMatrix                       bytes;
  bytes.reinit(A);
  bytes.compute();
  const std::vector<std::int8_t> h = bytes_of(bytes);
  ASSERT_EQ(h.size(), 64u); // columns of 32 rows
  EXPECT_EQ(h[0], 127);
  EXPECT_EQ(h[1], -32);
  EXPECT_EQ(h[32], -32);
  EXPECT_EQ(h[33], 127);
  for (int row = 2; row < 32; ++row)
    EXPECT_EQ(h[row] | h[32 + row], 0);

  const std::vector<float> s = bytes.scale().copy_to_host();
  EXPECT_NEAR(s[0], 2. / std::sqrt(127.), 1e-7);
  EXPECT_NEAR(s[1], 1. / std::sqrt(127.), 1e-7);
  const Vector<float> d(backend(), {s[0] * 3.f, s[1] * 5.f}), from(backend(), {100.f, 200.f});
  Vector<float>       to(backend(), cases::not_a_number<float>(2));
  bytes.subtract_product(to, from, d);
  const double off = -32. * 2. / 127.; // in place of -0.5
  EXPECT_NEAR(to.copy_to_host()[0], 100. - (4. * 3. + off * 5.), 1e-4);
  EXPECT_NEAR(to.copy_to_host()[1], 200. - (off * 3. + 1. * 5.), 1e-4);
}

TEST_P(ByteMatrixTest, PastWarpsAndSlices)
{
  for (const int b : {1, 2, 3, 4, 6})
    for (const int height : {32, 8, 1, 64})
      for (const int n : {5, 33, 517})
      {
        SCOPED_TRACE(testing::Message() << n << " blocks of " << b << ", slices of " << height);
        const HostCSR<double>            csr = cases::spd_blocks(n, b, 3);
        const SlicedEllpackMatrix<float> A   = in_single(backend(), csr, b, height);
        ByteMatrix                       bytes;
        bytes.reinit(A);
        bytes.compute();
        const std::vector<float> s       = bytes.scale().copy_to_host(),
                                 host_d  = cases::to<float>(cases::random_values(n * b, 4)),
                                 from    = cases::to<float>(cases::random_values(n * b, 5));
        const std::vector<std::int8_t> h = bytes_of(bytes);

        // The same on the host, whose slices have the same places.
        const SlicedEllpackMatrix<float> on_host = in_single(Backend("host"), csr, b, height);
        ByteMatrix                       host_bytes;
        host_bytes.reinit(on_host);
        host_bytes.compute();
        EXPECT_EQ(h, bytes_of(host_bytes));

        const SlicedEllpackView<float> view = on_host.view();
        std::vector<float>             scaled(n * b);
        for (int i = 0; i < n * b; ++i)
          scaled[i] = s[i] * host_d[i];
        std::vector<double> expected(n * b), magnitude(n * b);
        for (int i = 0; i < n; ++i)
          for (int a = 0; a < b; ++a)
          {
            double sum = 0.;
            for (int k = 0; k < view.row_lengths[i]; ++k)
              for (int c = 0; c < b; ++c)
              {
                const int    j = view.column(i, k), row = i * b + a, column = j * b + c;
                const double value = double(s[row]) * s[column] * h[view.value_index(i, k, a, c)];
                ASSERT_NEAR(value, view.values[view.value_index(i, k, a, c)], 0.501 * s[row] * s[column]);
                const int back = view.find_block(j, i);
                ASSERT_EQ(h[view.value_index(i, k, a, c)], h[view.value_index(j, back, c, a)]);
                sum += value * host_d[column];
                magnitude[row] += std::abs(value * host_d[column]);
              }
            expected[i * b + a] = from[i * b + a] - sum;
          }
        Vector<float> to(backend(), cases::not_a_number<float>(n * b));
        bytes.subtract_product(to, Vector<float>(backend(), from), Vector<float>(backend(), scaled));
        std::vector<float> result = to.copy_to_host();
        for (int row = 0; row < n * b; ++row)
          ASSERT_NEAR(result[row], expected[row], 1e-5 * (1. + magnitude[row])) << "row " << row;
        // In place.
        to = Vector<float>(backend(), from);
        bytes.subtract_product(to, to, Vector<float>(backend(), scaled));
        EXPECT_EQ(to.copy_to_host(), result);
      }
}

TEST_P(ByteMatrixTest, SmoothsAsWellAsSinglePrecision)
{
  for (const int sweeps : {2, 3})
  {
    const Cube bytes(backend(), 13, true, sweeps), single(backend(), 13, false, sweeps);
    EXPECT_LE(bytes.n_iterations(), single.n_iterations() + 1) << sweeps;
    const std::vector<double> v = cases::random_values(bytes.matrix.n_rows(), 1);
    EXPECT_NE(bytes.apply(v), single.apply(v)) << "nothing was rounded";
    // Where the levels below are in double, too.
    const Cube below(backend(), 13, true, sweeps, 0.), single_below(backend(), 13, false, sweeps, 0.);
    EXPECT_NE(below.amg.fallback(), "");
    EXPECT_LE(below.n_iterations(), single_below.n_iterations() + 1) << sweeps;
    EXPECT_NE(below.apply(v), single_below.apply(v)) << "nothing was rounded";
  }
}

TEST_P(ByteMatrixTest, CycleIsSymmetric)
{
  const Cube                cube(backend(), 10, true);
  const std::vector<double> x = cases::random_values(cube.matrix.n_rows(), 1), y = cases::random_values(x.size(), 2);
  const std::vector<double> Mx = cube.apply(x), My = cube.apply(y);
  double                    x_My = 0., y_Mx = 0., x_Mx = 0., y_My = 0.;
  for (std::size_t i = 0; i < x.size(); ++i)
  {
    x_My += x[i] * My[i];
    y_Mx += y[i] * Mx[i];
    x_Mx += x[i] * Mx[i];
    y_My += y[i] * My[i];
  }
  EXPECT_LE(std::abs(x_My - y_Mx), 1e-6 * std::sqrt(x_Mx * y_My)); // what fp32 has
}

TEST_P(ByteMatrixTest, UpdateIsWhatANewOneWouldBe)
{
  Cube                      first(backend(), 9, true);
  const std::vector<double> v = cases::random_values(first.matrix.n_rows(), 3), before = first.apply(v);
  EXPECT_EQ(first.apply(v), before);
  const SlicedEllpackMatrix<double> kept(backend(), cases::grid_matrix<3>(9), 3);
  first.matrix *= 4.; // a power of two: the same bytes of another scale
  first.amg.update(first.matrix);
  std::vector<double> after = first.apply(v);
  for (double &value : after)
    value *= 4.;
  EXPECT_LE(cases::difference(after, before), 1e-6 * cases::difference(before, std::vector<double>(v.size(), 0.)));
  first.amg.update(kept);
  EXPECT_EQ(first.apply(v), before);
}
