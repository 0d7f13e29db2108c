// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_pattern.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/parallel_for.h>
#include <patchfem/kernels/symmetric_ellpack.h>
#include <patchfem/lac/matrix/matrix_factory.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace PatchFEM
{
  PatternStatistics
  pattern_statistics(const Backend &backend, const SparsityView &pattern, const int block_rows, const int block_columns)
  {
    check_block_pattern(pattern, block_rows, block_columns);
    PatternStatistics result;
    result.n_rows        = pattern.n_rows;
    result.n_columns     = pattern.n_columns;
    result.block_rows    = block_rows;
    result.block_columns = block_columns;
    result.within.assign(kernels::SampleSlicesBody::n_distances, 1.);
    if (pattern.n_rows == 0)
      return result;
    result.n_blocks = read_offset(backend, pattern.row_offsets, pattern.n_rows);

    using Padding                  = kernels::PaddingBody;
    const std::int64_t    n_groups = (std::int64_t(pattern.n_rows) + Padding::group_size - 1) / Padding::group_size;
    Array<Padding::Group> groups(backend, n_groups);
    launch(backend, [&](auto where) {
      kernels::parallel_for(where, n_groups, Padding{pattern.n_rows, pattern.row_offsets, groups.data()});
    });
    // The last group counts slices of the heights above that do not exist.
    for (const Padding::Group &group : groups.to_vector())
    {
      for (int h = 0; h < Padding::n_heights; ++h)
        result.stored[h] += group.stored[h];
      result.longest_row = std::max(result.longest_row, static_cast<int>(group.longest_row));
    }

    using Sample                   = kernels::SampleSlicesBody;
    const std::int64_t   n_slices  = (std::int64_t(pattern.n_rows) + 31) / 32;
    const std::int64_t   stride    = (n_slices + 4095) / 4096;
    const std::int64_t   n_samples = (n_slices + stride - 1) / stride;
    Array<Sample::Slice> slices(backend, n_samples);
    launch(backend, [&](auto where) {
      kernels::parallel_for(where, n_samples,
                            Sample{pattern, stride, kernels::symmetric_patch_rows(block_rows), slices.data()});
    });
    double                                  n_short = 0., on_diagonal = 0., inside = 0., cut_rows = 0.;
    std::array<double, Sample::n_distances> distances{};
    for (const Sample::Slice &slice : slices.to_vector())
    {
      n_short += slice.is_short;
      on_diagonal += slice.on_diagonal;
      inside += slice.inside;
      cut_rows += slice.cut_rows;
      for (const int length : slice.lengths)
        if (length >= 0)
          result.lengths.push_back(length);
      for (int k = 0; k < Sample::n_distances; ++k)
        distances[k] += double(slice.distances[k]);
    }
    std::sort(result.lengths.begin(), result.lengths.end());
    std::partial_sum(distances.begin(), distances.end(), result.within.begin());
    const double sum = result.within.back();
    for (double &share : result.within)
      share = sum > 0. ? share / sum : 1.;
    result.short_slices = n_short / double(n_samples);
    result.on_diagonal  = sum > 0. ? on_diagonal / sum : 0.;
    result.inside       = sum > 0. ? inside / sum : 0.;
    result.cut_rows     = cut_rows / double(result.lengths.size());
    return result;
  }

  double PatternStatistics::stored_blocks(const int height) const
  {
    if (height >= 1 << (n_heights - 1))
      return height >= n_rows ? 32. * n_slices(n_rows, 32) * longest_row : double(stored[n_heights - 1]);
    // Between powers of two the one above pads no less.
    int h = 0;
    while ((1 << h) < height)
      ++h;
    return double(stored[h]);
  }

  double PatternStatistics::share_of_rate(const double limit, const double further) const
  {
    const double n = 0.01 + (n_rows > 0 ? double(n_entries()) / double(scalar_rows()) : 0.);
    return limit * n / (n + further);
  }

  double FormatCase::conversion_bytes() const
  {
    const int block = pattern.block_rows * pattern.block_columns;
    if (!is_converted(format, block))
      return 0.;
    return FormatCase{assembled_format(format, block), pattern, size}.storage_bytes() + format.kind->workspace(*this);
  }

  double FormatCase::product_bytes(const MemoryModel &memory) const
  {
    const double block  = double(pattern.block_columns) * size;
    const double source = double(pattern.n_columns) * block;
    // Columns beyond half the cache from their row.
    const double half  = std::max(1., memory.cache / 2. / block);
    const int    k     = std::min(static_cast<int>(std::log2(half)), static_cast<int>(pattern.within.size()) - 1);
    const double share = source > memory.cache ? (1. - pattern.within[k]) * (1. - memory.cache / source) : 0.;
    return format.kind->traffic(*this) + source + double(pattern.scalar_rows()) * size +
           format.kind->misses(pattern, share) * std::max(memory.line, block);
  }

  std::vector<MatrixFormat> product_formats(const PatternStatistics &pattern, const MemoryModel &memory)
  {
    std::vector<MatrixFormat> result;
    for (const FormatRow &row : matrix_formats())
      if (&format_row(MatrixFormat(*row.format.kind)) == &row) // several rows may be of one kind
        for (const MatrixFormat &format : row.format.kind->candidates(pattern, memory))
          result.push_back(format);
    return result;
  }

  std::vector<MatrixFormat> assembled_formats(const PatternStatistics &pattern)
  {
    std::vector<MatrixFormat> result;
    for (const MatrixFormat &format : product_formats(pattern, MemoryModel()))
      if (format.kind->largest_assembled > 0)
        result.push_back(format);
    return result;
  }

  std::vector<FormatPrediction> predict_formats(const std::vector<MatrixFormat> &formats,
                                                const PatternStatistics         &pattern,
                                                const int                        number_size,
                                                const MemoryModel               &memory)
  {
    std::vector<FormatPrediction> result;
    for (const MatrixFormat &format : formats)
    {
      const FormatCase c{format, pattern, number_size};
      result.push_back({format, c.product_bytes(memory), c.typical_efficiency(memory)});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const FormatPrediction &a, const FormatPrediction &b) { return a.cost() < b.cost(); });
    return result;
  }

  const FormatPrediction &best_format(const std::vector<FormatPrediction> &predictions)
  {
    require(!predictions.empty(), "There is no format to choose from.");
    const auto cost = [](const FormatPrediction &p) {
      return p.cost() / (p.format.kind->largest_assembled == 0 ? 0.8 : 1.); // with its conversion
    };
    return *std::min_element(predictions.begin(), predictions.end(),
                             [&](const auto &a, const auto &b) { return cost(a) < cost(b); });
  }
} // namespace PatchFEM
