// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/blas1.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

#include <algorithm>
#include <memory>

using namespace PatchFEM;

// Matrices with more than 2^31 entries.
class LargeMatrixTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(LargeMatrixTest);

namespace
{
  /** @p n elements at @p from, behind @p before others that are never touched and so take no memory on the host. */
  template <typename T>
  class Shifted
  {
  public:
    Shifted(const Backend &backend, const T *from, const std::int64_t n, const std::int64_t before)
        : memory(backend, before + n)
    {
      memory::copy(backend, memory.data() + before, backend, from, n * sizeof(T));
      backend.synchronize();
    }

    T *data() { return memory.data(); }

  private:
    Array<T> memory;
  };

  /** Offsets of a small matrix, each larger by @p before. */
  Array<std::int64_t>
  shifted(const Backend &backend, const std::int64_t *offsets, const std::int64_t n, const std::int64_t before)
  {
    std::vector<std::int64_t> values(n);
    memory::copy(Backend("host"), values.data(), backend, offsets, n * sizeof(std::int64_t));
    for (std::int64_t &value : values)
      value += before;
    return Array<std::int64_t>(backend, values);
  }

  constexpr std::int64_t far = (std::int64_t(1) << 31) + (1 << 20);

  /** Whether @p backend has memory, or on the host addresses, for @p bytes. */
  bool has_room(const Backend &backend, const std::size_t bytes)
  {
    if (backend.kind() == BackendKind::cuda)
      return backend.free_memory() > bytes + (std::size_t(1) << 30);
    try
    {
      Array<char> test(backend, bytes);
      return true;
    }
    catch (const Error &)
    {
      return false;
    }
  }
} // namespace

TEST_P(LargeMatrixTest, EntriesBehind2To31)
{
  const Backend where = backend();
  if (!has_room(where, 22 * std::size_t(far) / 2))
    GTEST_SKIP() << "not enough memory for 2^31 entries";
  for (const int b : {1, 3})
    for (const int height : {32, 50})
    {
      SCOPED_TRACE("blocks of " + std::to_string(b) + ", slices of " + std::to_string(height));
      const auto                 A = cases::expand<float>(cases::random_pattern(131, 131, 9, 3), b, b, 4);
      SlicedEllpackMatrix<float> matrix;
      matrix.reinit(where, A, b, b, {height, b == 1 && height == 32});
      const Vector<float>      x(where, cases::to<float>(cases::random_values(A.n_columns, 5)));
      Vector<float>            expected(where, A.n_rows), result(where, cases::not_a_number<float>(A.n_rows));
      SlicedEllpackView<float> view = matrix.view();
      const std::int64_t       n = matrix.n_stored_elements() / (b * b), before = far / (b * b) / 800 * 800;
      ASSERT_GT(before * b * b, std::int64_t(1) << 31);
      matrix.vmult(expected, x);
      // A slice begins at a multiple of its height.
      const Array<std::int64_t>               offsets = shifted(where, view.slice_offsets, view.n_slices() + 1, before);
      Shifted<int>                            columns(where, view.columns, n, before);
      Shifted<float>                          values(where, view.values, n * b * b, before * b * b);
      std::unique_ptr<Shifted<std::uint16_t>> steps;
      if (view.column_steps != nullptr)
      {
        steps             = std::make_unique<Shifted<std::uint16_t>>(where, view.column_steps, n, before);
        view.column_steps = steps->data();
      }
      view.slice_offsets = offsets.data();
      view.columns       = columns.data();
      view.values        = values.data();
      launch(where, [&](auto tag) { kernels::product(tag, view, x.data(), kernels::Overwrite<float>{result.data()}); });
      EXPECT_EQ(result.copy_to_host(), expected.copy_to_host());
      const Vector<float> zero(where, std::vector<float>(A.n_rows, 0.f));
      launch(where, [&](auto tag) {
        kernels::product(tag, view, x.data(), kernels::Residual<float>{zero.data(), result.data()});
      });
      const std::vector<float> minus = result.copy_to_host(), plus = expected.copy_to_host();
      for (int i = 0; i < A.n_rows; ++i)
        EXPECT_NEAR(minus[i], -plus[i], 1e-4);
    }

  const auto             A = cases::expand<float>(cases::random_pattern(131, 131, 9, 3), 1, 1, 4);
  const CSRMatrix<float> matrix(where, A);
  const Vector<float>    x(where, cases::to<float>(cases::random_values(A.n_columns, 5)));
  for (const CSRKernel kernel : {CSRKernel::pieces, CSRKernel::scalar, CSRKernel::vector})
  {
    Vector<float>             expected(where, A.n_rows), result(where, cases::not_a_number<float>(A.n_rows));
    CSRView<float>            view    = matrix.view();
    const Array<std::int64_t> offsets = shifted(where, view.row_offsets, view.n_rows + 1, far);
    Shifted<int>              columns(where, view.columns, matrix.n_nonzero_elements(), far);
    Shifted<float>            values(where, view.values, matrix.n_nonzero_elements(), far);
    view.kernel = kernel;
    launch(where, [&](auto tag) { kernels::product(tag, view, x.data(), kernels::Overwrite<float>{expected.data()}); });
    view.row_offsets = offsets.data();
    view.columns     = columns.data();
    view.values      = values.data();
    launch(where, [&](auto tag) { kernels::product(tag, view, x.data(), kernels::Overwrite<float>{result.data()}); });
    EXPECT_EQ(result.copy_to_host(), expected.copy_to_host());
  }
}

TEST_P(LargeMatrixTest, ColumnsOfMDIABehind2To31)
{
  const Backend where = backend();
  if (!has_room(where, 4 * std::size_t(far)))
    GTEST_SKIP() << "not enough memory for 2^31 columns";
  const HostCSR<double>    A = cases::laplacian<double>(13, 11);
  const MDIAMatrix<double> matrix(where, A);
  const Vector<double>     x(where, cases::random_values(A.n_columns, 5));
  Vector<double>           expected(where, A.n_rows), result(where, cases::not_a_number<double>(A.n_rows));
  matrix.vmult(expected, x);
  MDIAView<double>          view    = matrix.view();
  const Array<std::int64_t> offsets = shifted(where, view.slice_offsets, view.n_slices() + 1, far);
  std::int64_t              ends[1];
  memory::copy(Backend("host"), ends, where, view.slice_offsets + view.n_slices(), sizeof(ends));
  Shifted<int> columns(where, view.columns, ends[0], far);
  view.slice_offsets = offsets.data();
  view.columns       = columns.data();
  launch(where, [&](auto tag) { kernels::product(tag, view, x.data(), kernels::Overwrite<double>{result.data()}); });
  EXPECT_EQ(result.copy_to_host(), expected.copy_to_host());
}

TEST(LargeMatrix, cuda_EveryFormatWithMoreThan2To31Entries)
{
  if (!Backend::cuda_available())
    GTEST_SKIP() << "no CUDA device";
  const Backend where("cuda");
  // A band of 31 blocks of 12 x 12 in 500,000 rows: 2.2e9 entries, of which CSR and SELL take 18 GB each in single precision.
  constexpr int n = 500000, half_width = 15, b = 12;
  const auto    first = [](const int i) { return std::max(i - half_width, 0); };
  const auto    end   = [](const int i) { return std::min(i + half_width + 1, +n); };

  std::vector<std::int64_t> host_offsets(n + 1);
  std::vector<int>          host_columns;
  host_columns.reserve(std::size_t(n) * (2 * half_width + 1));
  for (int i = 0; i < n; ++i)
  {
    for (int j = first(i); j < end(i); ++j)
      host_columns.push_back(j);
    host_offsets[i + 1] = static_cast<std::int64_t>(host_columns.size());
  }
  const std::size_t n_entries = host_columns.size() * b * b;
  ASSERT_GT(n_entries, std::size_t(1) << 31);
  if (where.free_memory() < 24 * n_entries)
    GTEST_SKIP() << "a device with " << 24 * n_entries / 1000000000 << " GB of free memory is needed";
  const Array<std::int64_t> offsets(where, host_offsets);
  const Array<int>          columns(where, host_columns);
  const SparsityView        blocks{n, n, offsets.data(), columns.data()};

  // All entries are 1 and the source holds small integers, so that sums are exact in any order.
  std::vector<float> source(std::size_t(n) * b), expected(source.size());
  for (std::size_t j = 0; j < source.size(); ++j)
    source[j] = static_cast<float>(j % 7);
  for (int i = 0; i < n; ++i)
  {
    float sum = 0.f;
    for (int j = first(i) * b; j < end(i) * b; ++j)
      sum += source[j];
    std::fill_n(expected.begin() + std::size_t(i) * b, b, sum);
  }
  const Vector<float> x(where, source);
  Vector<float>       y(where, source.size());
  const auto          check = [&](const MatrixBase<float> &A, const std::string &what) {
    y = std::numeric_limits<float>::quiet_NaN();
    A.vmult(y, x);
    EXPECT_TRUE(y.copy_to_host() == expected) << what;
    Vector<float> r(where, source.size());
    A.residual(r, x, y);
    EXPECT_EQ(r.l2_norm(), 0.) << what;
    EXPECT_EQ(A.n_nonzero_elements(), std::int64_t(n_entries)) << what;
  };

  CSRMatrix<float> csr;
  csr.reinit(where, blocks, b, b);
  launch(where, [&](auto tag) { kernels::set(tag, csr.n_nonzero_elements(), 1.f, csr.view().values); });
  for (const CSRKernel kernel : {CSRKernel::pieces, CSRKernel::scalar, CSRKernel::vector})
  {
    csr.use_kernel(kernel);
    check(csr, "csr");
  }
  const CSRView<float> view = csr.view();
  const SparsityView   scalars{view.n_rows, view.n_columns, view.row_offsets, view.columns};
  const auto sliced = [&](const SparsityView &pattern, const int size, const auto &data, const std::string &what) {
    SlicedEllpackMatrix<float> matrix;
    matrix.reinit(where, pattern, size, size, data);
    launch(where, [&](auto tag) { kernels::fill_values(tag, view, matrix.view()); });
    check(matrix, what);
  };
  using Data = SlicedEllpackMatrix<float>::AdditionalData;
  sliced(blocks, b, Data{32}, "blocks");
  sliced(scalars, 1, Data{32, true}, "scalars with 16-bit columns");
  sliced(scalars, 1, Data{INT32_MAX, false, true}, "ELLPACK-R");
  {
    CoordinateMatrix<float> coordinate;
    coordinate.reinit(csr);
    check(coordinate, "coordinate");
  }
  {
    HybridMatrix<float> hybrid;
    hybrid.reinit(csr, {100, 32});
    check(hybrid, "hybrid");
  }
  SymmetricEllpackMatrix<float> symmetric;
  symmetric.reinit(csr, 6);
  check(symmetric, "symmetric");
}
