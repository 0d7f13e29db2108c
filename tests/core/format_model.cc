// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/synthetic_tables.h"
#include "assembly/row_lengths.h"
#include "backend_names.h"
#include "lac_cases.h"

#include <patchfem/assembly/sparsity.h>
#include <patchfem/base/memory.h>
#include <patchfem/lac/matrix/coordinate_matrix.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/format_calibration.h>
#include <patchfem/lac/matrix/format_model.h>
#include <patchfem/lac/matrix/matrix_factory.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/matrix/symmetric_ellpack_matrix.h>

#include <algorithm>
#include <functional>

using namespace PatchFEM;

class FormatModelTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(FormatModelTest);

namespace
{
  struct DevicePattern
  {
    DevicePattern(const Backend &backend, const HostCSR<double> &pattern)
        : offsets(backend, pattern.row_offsets),
          columns(backend, pattern.columns), view{pattern.n_rows, pattern.n_columns, offsets.data(), columns.data()}
    {}
    Array<std::int64_t> offsets;
    Array<int>          columns;
    SparsityView        view;
  };

  /** Rows of @p lengths(row) entries from the diagonal on, cyclically. */
  template <typename Lengths>
  HostCSR<double> rows_of(const int n, const Lengths &lengths)
  {
    HostCSR<double> A;
    A.n_rows = A.n_columns = n;
    A.row_offsets.push_back(0);
    for (int i = 0; i < n; ++i)
    {
      std::vector<int> row;
      for (int k = 0; k < lengths(i); ++k)
        row.push_back((i + k) % n);
      std::sort(row.begin(), row.end());
      A.columns.insert(A.columns.end(), row.begin(), row.end());
      A.row_offsets.push_back(A.columns.size());
    }
    A.values.assign(A.columns.size(), 1.);
    return A;
  }

  const MemoryModel device{50e6, 64., true}, processor{32e6, 64., false};
} // namespace

TEST_P(FormatModelTest, TinyByEye)
{
  // Rows of 3, 1, 2 and 0 blocks of 2 x 2.
  const HostCSR<double>   A{4, 4, {0, 3, 4, 6, 6}, {0, 1, 3, 1, 0, 2}, std::vector<double>(6, 1.)};
  const DevicePattern     pattern(backend(), A);
  const PatternStatistics s = pattern_statistics(backend(), pattern.view, 2, 2);
  EXPECT_EQ(s.n_blocks, 6);
  EXPECT_EQ(s.n_entries(), 24);
  EXPECT_EQ(s.longest_row, 3);
  EXPECT_EQ(s.stored[0], 6);     // slices of one row
  EXPECT_EQ(s.stored[1], 6 + 4); // of two
  EXPECT_EQ(s.stored[2], 12);    // of four
  EXPECT_EQ(s.stored[5], 3 * 32);
  EXPECT_EQ(s.short_slices, 1.);
  EXPECT_EQ(s.lengths, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_NEAR(s.within[0], 4. / 6., 1e-12); // on the diagonal or beside it
  EXPECT_NEAR(s.within[1], 5. / 6., 1e-12);
  EXPECT_NEAR(s.within[2], 1., 1e-12);
  EXPECT_NEAR(s.on_diagonal, 0.5, 1e-12);
  EXPECT_NEAR(s.inside, 0.5, 1e-12); // of one patch
  EXPECT_EQ(s.cut_rows, 0.);
  EXPECT_NEAR(s.symmetric_blocks(), 1.5, 1e-12);
  // Values, columns, offsets, source and destination.
  const auto bytes = [&](const MatrixFormat &format, const int size) {
    return FormatCase{format, s, size}.product_bytes(processor);
  };
  EXPECT_EQ(bytes({formats::csr}, 8), 24 * 12 + 8 * 9 + 8 * 16);
  EXPECT_EQ(bytes({formats::sliced_ellpack, 2}, 8), 10 * (4 * 8 + 4) + 8 * 3 + 8 * 16);
  EXPECT_EQ(bytes({formats::sliced_ellpack, 2}, 4), 10 * (4 * 4 + 4) + 8 * 3 + 4 * 16);
  EXPECT_EQ(bytes({formats::coordinate}, 8), 24 * 16 + 8 * 24);
}

TEST_P(FormatModelTest, CountsWhatMatricesStore)
{
  for (const int n : {1, 31, 32, 33, 1023, 1024, 1025, 5000})
  {
    const HostCSR<double>   A = rows_of(n, [&](const int i) { return std::min(n, i % 37 == 0 ? 0 : 1 + i * 7 % 23); });
    const DevicePattern     pattern(backend(), A);
    const PatternStatistics s = pattern_statistics(backend(), pattern.view);
    EXPECT_EQ(s.n_blocks, std::int64_t(A.columns.size()));
    for (int h = 0; h < PatternStatistics::n_heights; ++h)
    {
      if ((1 << h) > std::max(32, n)) // a slice is never higher than the matrix
        break;
      SlicedEllpackMatrix<double> matrix;
      matrix.reinit(backend(), pattern.view, 1, 1, {1 << h});
      EXPECT_EQ(s.stored[h], matrix.n_stored_elements()) << n << " rows, slices of " << (1 << h);
    }
  }
}

TEST_P(FormatModelTest, StorageIsWhatMatricesKeep)
{
  const auto check = [&](const ElementTables &tables, const int b, auto number) {
    using Number = decltype(number);
    ElementBatches batches;
    batches.reinit(backend(), tables);
    RowCells cells;
    cells.reinit(batches);
    Sparsity sparsity;
    sparsity.reinit(batches, cells);
    const PatternStatistics   s = pattern_statistics(backend(), sparsity.view(), b, b);
    std::vector<MatrixFormat> formats{{formats::csr}, {formats::coordinate}, {formats::hybrid}, {formats::symmetric}};
    for (const int height : {1, 8, 32, 64, INT32_MAX})
      for (const FormatKind *kind : {&formats::sliced_ellpack, &formats::sliced_scalar})
        formats.push_back({*kind, height});
    if (b == 1)
      formats.push_back({formats::sliced_ellpack, 32, true});
    for (const MatrixFormat &format : formats)
    {
      SCOPED_TRACE(format.name() + ", blocks of " + std::to_string(b));
      const MatrixFormat assembled = assembled_format(format, b);
      auto               matrix    = make_matrix<Number>(backend(), sparsity.view(), b, b, assembled);
      const std::size_t  before    = memory::in_use(backend().kind());
      memory::reset_peak(backend().kind());
      const double taken = FormatCase{assembled, s, sizeof(Number)}.storage_bytes();
      EXPECT_NEAR(taken, double(matrix->memory_consumption()), 0.001 * taken + 16.);
      if (is_converted(format, b))
      {
        const auto   made     = convert(*matrix, format);
        const double forecast = FormatCase{format, s, sizeof(Number)}.storage_bytes();
        const double kept     = double(made->memory_consumption());
        EXPECT_LE(kept, (format.kind == &formats::symmetric ? 1.04 : 1.002) * forecast);
        // Scalar slices pad less than those of as many blocks, and short rows of a hybrid matrix end early.
        EXPECT_LE(forecast, (format.kind == &formats::coordinate ? 1.002 : format.is_sliced() ? 1.06 : 1.13) * kept);
        const double most    = taken + double(memory::peak(backend().kind()) - before);
        const double further = FormatCase{format, s, sizeof(Number)}.conversion_bytes();
        EXPECT_LE(most, further + 1.02 * forecast);
        EXPECT_GE(most, 0.6 * (further + forecast));
      }
    }
  };
  check(synthetic::cube_of_hexahedra(14, 1), 1, double());
  check(synthetic::cube_of_tetrahedra(12, 3, true), 3, double());
  check(synthetic::cube_of_tetrahedra(12, 3, true), 3, float());
}

TEST_P(FormatModelTest, CutsByEye)
{
  // Two patches of 512 rows and a row of a third. Each row has its diagonal and the rows beside it; those at the cuts
  // have one entry in another patch.
  HostCSR<double> A;
  A.n_rows = A.n_columns = 1025;
  A.row_offsets.push_back(0);
  for (int i = 0; i < A.n_rows; ++i)
  {
    for (const int column : {i - 1, i, i + 1})
      if (column >= 0 && column < A.n_rows)
        A.columns.push_back(column);
    A.row_offsets.push_back(A.columns.size());
  }
  const DevicePattern     pattern(backend(), A);
  const PatternStatistics s = pattern_statistics(backend(), pattern.view);
  const double            n = 3 * 1025 - 2;
  EXPECT_NEAR(s.on_diagonal, 1025 / n, 1e-12);
  EXPECT_NEAR(s.inside, 2 * 2 * 511 / n, 1e-12);
  EXPECT_NEAR(s.cut_rows, 4. / 1025., 1e-12);
  EXPECT_NEAR(s.symmetric_blocks(), 2 * 511 + 4, 1e-9);
  EXPECT_TRUE(std::isfinite(predict_formats({{formats::symmetric}}, s, 8, device)[0].cost()));
}

TEST_P(FormatModelTest, CountsWhatSymmetricMatricesStore)
{
  const auto check = [&](const ElementTables &tables, const int b) {
    ElementBatches batches;
    batches.reinit(backend(), tables);
    RowCells cells;
    cells.reinit(batches);
    Sparsity sparsity;
    sparsity.reinit(batches, cells);
    const PatternStatistics        s = pattern_statistics(backend(), sparsity.view(), b, b);
    SlicedEllpackMatrix<double>    sliced;
    SymmetricEllpackMatrix<double> matrix;
    SymmetricEllpackMatrix<float>  single;
    sliced.reinit(backend(), sparsity.view(), b, b);
    matrix.reinit(sliced);
    single.copy_from(matrix);
    const int    rows     = kernels::symmetric_patch_rows(b);
    const double diagonal = double((s.n_rows + rows - 1) / rows * rows) * (b * (b + 1) / 2);
    const double stored   = matrix.n_stored_elements() - diagonal;
    EXPECT_LE(s.symmetric_blocks() * b * b, stored); // all slices are in the sample
    EXPECT_NEAR(1.02 * s.symmetric_blocks() * b * b, stored, 0.01 * stored);
    // Each array once, and source and destination.
    const auto bytes = [&](const int size) {
      return FormatCase{{formats::symmetric}, s, size}.product_bytes({1e12, 64., true}) - 2. * size * s.scalar_rows();
    };
    EXPECT_NEAR(bytes(8), double(matrix.memory_consumption()), 0.03 * matrix.memory_consumption());
    EXPECT_NEAR(bytes(4), double(single.memory_consumption()), 0.04 * single.memory_consumption());
  };
  for (const int b : {1, 2, 3})
  {
    SCOPED_TRACE("blocks of " + std::to_string(b));
    check(synthetic::cube_of_hexahedra(24, b), b);
    check(synthetic::cube_of_tetrahedra(24, b, true), b);
  }
}

TEST_P(FormatModelTest, EmptyPatterns)
{
  const HostCSR<double> no_rows{0, 5, {0}, {}, {}}, no_entries{40, 5, std::vector<std::int64_t>(41, 0), {}, {}};
  for (const auto &A : {no_rows, no_entries})
  {
    const DevicePattern     pattern(backend(), A);
    const PatternStatistics s = pattern_statistics(backend(), pattern.view);
    EXPECT_EQ(s.n_entries(), 0);
    for (const FormatPrediction &p : predict_formats(product_formats(s, device), s, 8, device))
      EXPECT_TRUE(std::isfinite(p.cost())) << p.format.name();
  }
}

TEST_P(FormatModelTest, LongStepsHave32Bits)
{
  // Every other slice has an entry 70000 columns from the one before.
  HostCSR<double> A;
  A.n_rows = A.n_columns = 80000;
  A.row_offsets.push_back(0);
  for (int i = 0; i < A.n_rows; ++i)
  {
    A.columns.push_back(0);
    if (i / 32 % 2 == 0)
      A.columns.push_back(70000);
    A.row_offsets.push_back(A.columns.size());
  }
  const DevicePattern     pattern(backend(), A);
  const PatternStatistics s = pattern_statistics(backend(), pattern.view);
  EXPECT_EQ(s.short_slices, 0.5);
  SlicedEllpackMatrix<double> matrix;
  matrix.reinit(backend(), pattern.view, 1, 1, {32, true});
  EXPECT_EQ(matrix.n_short_slices(), 1250);
}

TEST_P(FormatModelTest, ChoosesByBytes)
{
  const auto best = [&](const HostCSR<double> &A, const int b, const MemoryModel &memory) {
    const DevicePattern     pattern(backend(), A);
    const PatternStatistics s = pattern_statistics(backend(), pattern.view, b, b);
    return predict_formats(assembled_formats(s), s, 8, memory)[0].format;
  };
  // Rows of one length: slices; with 16-bit columns where they are read, and blocks save more columns than those.
  const HostCSR<double> even = rows_of(3000, [](int) { return 27; });
  EXPECT_EQ(best(even, 1, device).name(), "sliced_ellpack, slices of 32, 16-bit columns");
  EXPECT_EQ(best(even, 3, device).name(), "sliced_ellpack, slices of 32");
  EXPECT_TRUE(best(even, 1, processor).is_sliced());
  // A long row in each slice: its padding is more than offsets of rows.
  const HostCSR<double> uneven = rows_of(3000, [](const int i) { return i % 32 == 0 ? 200 : 5; });
  EXPECT_EQ(best(uneven, 1, device).kind, &formats::csr);
  EXPECT_EQ(best(uneven, 1, processor).kind, &formats::csr);
}

TEST_P(FormatModelTest, ChoosesSymmetricStorageWhereItPays)
{
  // Rows coupled to as many before them as behind them: nearly all inside of patches.
  const auto band = [](const int n, const int half) {
    HostCSR<double> A;
    A.n_rows = A.n_columns = n;
    A.row_offsets.push_back(0);
    for (int i = 0; i < n; ++i)
    {
      for (int column = std::max(0, i - half); column < std::min(n, i + half + 1); ++column)
        A.columns.push_back(column);
      A.row_offsets.push_back(A.columns.size());
    }
    return A;
  };
  const HostCSR<double> wide = band(200000, 12), narrow = band(200000, 3), few_rows = band(2048, 12);
  const auto            best = [&](const HostCSR<double> &A, const int b, const int size) {
    const DevicePattern     pattern(backend(), A);
    const PatternStatistics s = pattern_statistics(backend(), pattern.view, b, b);
    return best_format(predict_formats(product_formats(s, device), s, size, device)).format;
  };
  EXPECT_EQ(best(wide, 3, 8).name(), "symmetric");
  EXPECT_EQ(best(wide, 2, 8).name(), "symmetric");
  EXPECT_EQ(best(wide, 1, 8).name(), "symmetric");
  EXPECT_EQ(best(wide, 1, 4).name(),
            "sliced_ellpack, slices of 32, 16-bit columns"); // which waits as long for half the values
  EXPECT_TRUE(best(narrow, 1, 8).is_sliced());
  EXPECT_NE(best(wide, 4, 8).name(), "symmetric"); // which blocks of 4 have not
  // A few patches do not fill a device.
  EXPECT_TRUE(best(few_rows, 3, 8).is_sliced());

  // The rule by itself: a fifth, whether bytes or rates are known.
  const auto taken = [](const double symmetric, const double sliced) {
    return best_format({{{formats::symmetric}, symmetric}, {{formats::sliced_ellpack}, sliced}}).format.kind;
  };
  EXPECT_EQ(taken(81., 100.), &formats::sliced_ellpack);
  EXPECT_EQ(taken(79., 100.), &formats::symmetric);
  EXPECT_THROW(best_format({}), Error);
}

TEST(SymmetricEfficiency, IsThatOfTheBenchmarks)
{
  // On an H200: what bench_spmv (10.1 million unknowns) and bench_formats measured, and the patterns there.
  struct Case
  {
    const char *name;
    int         n_rows, block_size, number_size;
    double      row_length, on_diagonal, inside, cut_rows, measured;
  };
  for (const Case &c : {Case{"Q1 elasticity, 10.1 M", 3375000, 3, 8, 26.642, 0.0375, 0.7335, 0.584, 0.862},
                        Case{"Q1 elasticity, 10.1 M", 3375000, 3, 4, 26.642, 0.0375, 0.7335, 0.584, 0.691},
                        Case{"Q1 Laplace, 10.1 M", 10077696, 1, 8, 26.751, 0.0374, 0.7402, 0.562, 0.735},
                        Case{"Q1 Laplace, 10.1 M", 10077696, 1, 4, 26.751, 0.0374, 0.7402, 0.562, 0.660},
                        Case{"Q1 elasticity, 3.0 M", 1000000, 3, 8, 26.464, 0.0378, 0.6840, 0.680, 0.912},
                        Case{"Q1 Laplace, 4.1 M", 4096000, 1, 8, 26.664, 0.0375, 0.6789, 0.689, 0.783},
                        Case{"P1 tetrahedra, 4.1 M", 4096000, 1, 8, 14.850, 0.0673, 0.7011, 0.689, 0.747},
                        Case{"voxels, 3.5 M", 3549024, 1, 8, 6.954, 0.1438, 0.4681, 1., 0.614}})
  {
    SCOPED_TRACE(std::string(c.name) + ", fp" + std::to_string(8 * c.number_size));
    PatternStatistics s;
    s.n_rows = s.n_columns = c.n_rows;
    s.block_rows = s.block_columns = c.block_size;
    s.n_blocks                     = std::llround(c.row_length * c.n_rows);
    s.within                       = {1.};
    s.on_diagonal                  = c.on_diagonal;
    s.inside                       = c.inside;
    s.cut_rows                     = c.cut_rows;
    const double share             = FormatCase{{formats::symmetric}, s, c.number_size}.typical_efficiency(device);
    EXPECT_NEAR(share / c.measured, 1., 0.07);
  }
}

TEST_P(FormatModelTest, FarColumnsCostLines)
{
  // Neighbours at a distance of half the matrix, whose source is four times the cache.
  HostCSR<double> A;
  const int       n = 64000;
  A.n_rows = A.n_columns = n;
  A.row_offsets.push_back(0);
  for (int i = 0; i < n; ++i)
  {
    A.columns.insert(A.columns.end(), {std::min(i, (i + n / 2) % n), std::max(i, (i + n / 2) % n)});
    A.row_offsets.push_back(A.columns.size());
  }
  const DevicePattern     pattern(backend(), A);
  const PatternStatistics s     = pattern_statistics(backend(), pattern.view);
  const double            near_ = FormatCase{{formats::csr}, s, 8}.product_bytes({1e9, 64., true}),
               far              = FormatCase{{formats::csr}, s, 8}.product_bytes({8. * n / 4., 64., true});
  EXPECT_NEAR(far - near_, n * 0.75 * 64., 0.01 * n * 64.);
}

namespace
{
  /** Of the sparsity of @p tables in slices of 32 rows; @p window: the one that was taken. */
  std::int64_t stored_with(const Backend &backend, const ElementTables &tables, int &window)
  {
    ElementBatches batches;
    batches.reinit(backend, tables, ElementBatches::AdditionalData(window));
    window = batches.sorting_window();
    RowCells cells;
    cells.reinit(batches);
    Sparsity sparsity;
    sparsity.reinit(batches, cells);
    return pattern_statistics(backend, sparsity.view()).stored[5];
  }

  /** A cube in which every seventh node hangs between up to @p most others from anywhere, whose rows get longer. */
  ElementTables cube_with_long_rows(const int n, const int most)
  {
    ElementTables          tables = synthetic::cube_of_hexahedra(n, 1);
    const std::vector<int> other  = synthetic::random_permutation(tables.n_nodes);
    ConstraintTable        lines;
    lines.offsets.push_back(0);
    for (int i = 0; i < tables.n_nodes; i += 7)
    {
      lines.constrained.push_back(i);
      for (int k = 0; k < 1 + i / 7 % most; ++k)
      {
        const int master = other[(i + 100 * k) % tables.n_nodes];
        if (master % 7 != 0)
        {
          lines.masters.push_back(master);
          lines.weights.push_back(1. / most);
        }
      }
      lines.offsets.push_back(lines.masters.size());
      lines.inhomogeneity.push_back(0.);
    }
    tables.constraints = lines;
    return tables;
  }

  constexpr int best_window = ElementBatches::AdditionalData::best_window;
} // namespace

TEST_P(FormatModelTest, SortingWindowOfMixedRowsPadsLeast)
{
  const ElementTables    tables  = cube_with_long_rows(25, 4);
  const std::vector<int> of_node = expected_row_lengths(tables, false).to_vector();
  ElementBatches         along_curve;
  along_curve.reinit(backend(), tables, ElementBatches::AdditionalData(1));
  const std::vector<int> &rank = along_curve.new_of_old();
  // Slices of 32 rows by expected lengths, which are all there is before a pattern.
  const auto expected = [&](const int window) {
    std::vector<int> lengths(tables.n_nodes);
    for (int i = 0; i < tables.n_nodes; ++i)
      lengths[rank[i]] = of_node[i];
    for (int i = 0; i < tables.n_nodes; i += window)
      std::sort(lengths.begin() + i, lengths.begin() + std::min(i + window, tables.n_nodes), std::greater<>());
    std::int64_t sum = 0;
    for (int i = 0; i < tables.n_nodes; i += 32)
      sum += 32 * *std::max_element(lengths.begin() + i, lengths.begin() + std::min(i + 32, tables.n_nodes));
    return sum;
  };
  int                chosen = best_window, usual = 256;
  const std::int64_t taken = stored_with(backend(), tables, chosen);
  for (const int window : {1, 64, 256, 1024})
    EXPECT_LE(expected(chosen), expected(window)) << "window of " << window;
  EXPECT_LT(double(taken),
            0.98 * double(stored_with(backend(), tables, usual))); // expected lengths are not those of the pattern

  // Of few rows it does not matter.
  int few = best_window;
  stored_with(backend(), cube_with_long_rows(10, 4), few);
  EXPECT_EQ(few, 256);
}

TEST_P(FormatModelTest, StructuredMeshesKeepTheirSortingWindow)
{
  for (const int n : {1, 25})
    for (const bool simplices : {false, true})
    {
      SCOPED_TRACE(std::to_string(n) + (simplices ? ", tetrahedra" : ", hexahedra"));
      ElementBatches batches;
      batches.reinit(backend(),
                     simplices ? synthetic::cube_of_tetrahedra(n, 1, true) : synthetic::cube_of_hexahedra(n, 1),
                     ElementBatches::AdditionalData(best_window));
      EXPECT_EQ(batches.sorting_window(), 256);
    }
  ElementBatches batches;
  EXPECT_THROW(batches.reinit(backend(), synthetic::cube_of_hexahedra(2, 1), ElementBatches::AdditionalData(-1)),
               Error);
}

TEST(SortingWindow, IsAnotherIfItMovesFivePercentLess)
{
  // One row in 32 of every n-th 1024 is twice as long: with windows of 256 rows four slices of these 32 are padded to
  // that, with 1024 one, which is 3 in 32 n + 4.
  const auto window = [](const int n, const int n_components) {
    std::vector<int> lengths(4096 * n, 100);
    for (std::size_t i = 0; i < lengths.size(); i += 32)
      if (i / 1024 % n == 0)
        lengths[i] = 200;
    return cheapest_sorting_window(lengths, RowLengthScale(), n_components);
  };
  for (const int n_components : {1, 3})
  {
    EXPECT_EQ(window(1, n_components), 1024);
    EXPECT_EQ(window(2, n_components), 256);
  }
  EXPECT_EQ(cheapest_sorting_window({}, RowLengthScale(), 1), 256);
  EXPECT_EQ(cheapest_sorting_window(std::vector<int>(40, 0), RowLengthScale(), 1), 256);
  EXPECT_EQ(cheapest_sorting_window(std::vector<int>(4000, 27), RowLengthScale(), 1), 256);
}

TEST(SortingWindow, ScaleOfRowLengths)
{
  // Cells of a node to nodes of its row: corners and the middle of cubes.
  const ElementTables hexahedra  = synthetic::cube_of_hexahedra(2, 1),
                      tetrahedra = synthetic::cube_of_tetrahedra(2, 1, false);
  const auto length              = [](const ElementTables &tables, const double n_cells) {
    const RowLengthScale scale = RowLengthScale::of(tables);
    return scale.factor * (n_cells + scale.further);
  };
  EXPECT_NEAR(length(hexahedra, 1.), 8., 1e-12);
  EXPECT_NEAR(length(hexahedra, 8.), 27., 1e-12);
  EXPECT_NEAR(length(tetrahedra, 1.), 4., 1e-12);
  EXPECT_NEAR(length(tetrahedra, 24.), 15., 1e-12);
  // Where nodes hang lengths are sums over cells.
  const ElementTables hanging = cube_with_long_rows(2, 2);
  EXPECT_NEAR(length(hanging, 8. * 8.), 27., 1e-12);
  // Of degrees that are mixed they stay as they are.
  ElementTables mixed = synthetic::cube_of_hexahedra(2, 1);
  mixed.batches.push_back(mixed.batches[0]);
  mixed.batches[1].reference.n_shape = 27;
  EXPECT_EQ(length(mixed, 100.), 100.);
}

TEST_P(FormatModelTest, SortingCountsMastersOfHangingNodes)
{
  // Every eleventh node hangs between two others far from it, whose rows are twice as long for that, and has a row of one.
  ElementTables   tables = synthetic::cube_of_hexahedra(13, 1);
  ConstraintTable lines;
  const int       half = tables.n_nodes / 2;
  lines.offsets.push_back(0);
  for (int i = 3; i < half; i += 11)
  {
    lines.constrained.push_back(i);
    for (const int master : {i + 1, tables.n_nodes - 1 - i})
    {
      lines.masters.push_back(master);
      lines.weights.push_back(0.5);
    }
    lines.offsets.push_back(lines.masters.size());
    lines.inhomogeneity.push_back(0.);
  }
  tables.constraints = lines;
  ElementBatches batches;
  batches.reinit(backend(), tables, ElementBatches::AdditionalData(256));
  RowCells cells;
  cells.reinit(batches);
  Sparsity sparsity;
  sparsity.reinit(batches, cells);
  std::vector<std::int64_t> offsets(tables.n_nodes + 1);
  memory::copy(Backend("host"), offsets.data(), backend(), sparsity.view().row_offsets,
               sizeof(std::int64_t) * offsets.size());
  std::vector<std::int64_t> lengths(tables.n_nodes);
  for (int i = 0; i < tables.n_nodes; ++i)
    lengths[i] = offsets[i + 1] - offsets[i];
  const auto stored = [&]() {
    std::int64_t sum = 0;
    for (int i = 0; i < tables.n_nodes; i += 32)
      sum += 32 * *std::max_element(lengths.begin() + i, lengths.begin() + std::min(i + 32, tables.n_nodes));
    return static_cast<double>(sum);
  };
  const double found = stored();
  for (int i = 0; i < tables.n_nodes; i += 256)
    std::sort(lengths.begin() + i, lengths.begin() + std::min(i + 256, tables.n_nodes), std::greater<>());
  EXPECT_EQ(*std::min_element(lengths.begin(), lengths.end()), 1);
  EXPECT_LT(found, 1.05 * stored());
}

TEST_P(FormatModelTest, CalibrationIsKept)
{
  // In blocks of 2 x 2, so that symmetric storage takes part.
  HostCSR<double>         A = cases::laplacian<double>(60, 50);
  const DevicePattern     pattern(backend(), A);
  const PatternStatistics s      = pattern_statistics(backend(), pattern.view, 2, 2);
  const MemoryModel       memory = MemoryModel::of(backend());
  MeasuredRates           rates;
  const auto              run = [&](auto number, const std::string &build = "0123456789ab") {
    auto      predictions = predict_formats(product_formats(s, device), s, sizeof(number), memory);
    const int n = calibrate_formats<decltype(number)>(backend(), pattern.view, s, predictions, rates, build);
    for (std::size_t i = 0; i < predictions.size(); ++i)
    {
      EXPECT_GT(predictions[i].rate, 0.);
      EXPECT_TRUE(i == 0 || predictions[i - 1].cost() <= predictions[i].cost());
    }
    return n;
  };
  const int n_formats = static_cast<int>(product_formats(s, device).size());
  EXPECT_EQ(run(1.), n_formats);
  EXPECT_EQ(run(1.), 0);
  EXPECT_EQ(run(1.f), n_formats);
  EXPECT_EQ(run(1.f), 0);
  // Another build measures, and one that no name stands for each time.
  EXPECT_EQ(run(1., "ba9876543210"), n_formats);
  EXPECT_EQ(run(1., "ba9876543210"), 0);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(run(1., "ba9876543210-dirty"), n_formats);
  EXPECT_EQ(static_cast<int>(rates.size()), 3 * n_formats);
  // What is no rate is measured anew.
  for (auto &rate : rates)
    rate.second = -1.;
  EXPECT_EQ(run(1.), n_formats);

  auto others = predict_formats({{formats::mdia}}, s, 8, memory);
  EXPECT_THROW(calibrate_formats<double>(backend(), pattern.view, s, others, rates), Error);
}

TEST_P(FormatModelTest, RateOfReadingIsMeasuredOnce)
{
  MeasuredRates rates;
  use_measured_rate(backend(), rates);
  ASSERT_EQ(rates.size(), 1u);
  const double rate = rates.begin()->second;
  EXPECT_EQ(MemoryModel::of(backend()).rate, rate);
  EXPECT_GT(rate, 1e8);
  EXPECT_LT(rate, 1e14);
  EXPECT_EQ(rates.begin()->first.rfind(backend().name() + " | " + backend().device_name(), 0), 0u);
  EXPECT_GT(MemoryModel::of(backend()).n_processors, 0);
  EXPECT_GT(MemoryModel::of(backend()).cache, 1e6);
  // Known in this process, and what a file says wins.
  MeasuredRates again;
  use_measured_rate(backend(), again);
  EXPECT_EQ(again, rates);
  MeasuredRates of_file{{rates.begin()->first, 2. * rate}};
  use_measured_rate(backend(), of_file);
  EXPECT_EQ(MemoryModel::of(backend()).rate, 2. * rate);
  use_measured_rate(backend(), rates);
}

TEST_P(FormatModelTest, ReadBodyReadsAllAndWritesNothing)
{
  using Body = kernels::ReadBody;
  for (const int n : {1, 31, 257})
  {
    Array<Body::Piece> memory(backend(), std::size_t(n) * Body::n_pieces);
    memory.set_zero();
    launch(backend(), [&](auto where) { kernels::parallel_for(where, n, Body{memory.data(), n}); });
    for (const Body::Piece &piece : memory.to_vector())
      EXPECT_EQ(piece.values[0] | piece.values[1], 0);
  }
}

TEST(MemoryModel, WaitingKernelsGainLessByAFasterMemory)
{
  // Of many patches the share of a memory's rate falls as it gets faster, and rises with more multiprocessors.
  PatternStatistics s;
  s.n_rows = s.n_columns = 3375000;
  s.block_rows = s.block_columns = 3;
  s.n_blocks                     = 27LL * s.n_rows;
  s.within                       = {1.};
  s.on_diagonal                  = 1. / 27.;
  s.inside                       = 0.73;
  s.cut_rows                     = 0.6;
  const auto share               = [&](const double rate, const int n_processors) {
    return FormatCase{{formats::symmetric}, s, 8}.typical_efficiency({50e6, 64., true, rate, n_processors});
  };
  EXPECT_LT(share(9e12, 132), share(4.5e12, 132));
  EXPECT_LT(share(4.5e12, 132), share(1.5e12, 132));
  EXPECT_LT(share(4.5e12, 108), share(4.5e12, 132));
  EXPECT_NEAR(share(9e12, 264), share(4.5e12, 132), 1e-12);
}
