// SPDX-License-Identifier: LGPL-2.1-or-later
#include "block_pattern.h"
#include "kernels/run.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/symmetric_ellpack.h>
#include <patchfem/lac/matrix/format_model.h>

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

    using Padding                = kernels::PaddingBody;
    const std::int64_t  n_groups = (std::int64_t(pattern.n_rows) + Padding::group - 1) / Padding::group;
    Array<std::int64_t> groups(backend, (Padding::n_heights + 1) * n_groups);
    run(backend, n_groups, Padding{pattern.n_rows, pattern.row_offsets, groups.data(), n_groups});
    const std::vector<std::int64_t> of_groups = groups.to_vector();
    // The last group counts slices of the heights above that do not exist.
    for (int h = 0; h < Padding::n_heights; ++h)
      for (std::int64_t g = 0; g < n_groups; ++g)
        result.stored[h] += of_groups[h * n_groups + g];
    for (std::int64_t g = 0; g < n_groups; ++g)
      result.longest_row = std::max(result.longest_row, static_cast<int>(of_groups[Padding::n_heights * n_groups + g]));

    using Sample                  = kernels::SampleSlicesBody;
    const std::int64_t  n_slices  = (std::int64_t(pattern.n_rows) + 31) / 32;
    const std::int64_t  stride    = (n_slices + 4095) / 4096;
    const std::int64_t  n_samples = (n_slices + stride - 1) / stride;
    Array<int>          is_short(backend, n_samples), lengths(backend, 32 * n_samples);
    Array<std::int64_t> distances(backend, Sample::n_distances * n_samples);
    Array<int>          cuts(backend, 3 * n_samples);
    run(backend, n_samples,
        Sample{pattern, stride, is_short.data(), lengths.data(), distances.data(), n_samples,
               kernels::symmetric_patch_rows(block_rows), cuts.data()});
    double n_short = 0.;
    for (const int value : is_short.to_vector())
      n_short += value;
    result.short_slices = n_short / n_samples;
    result.lengths      = lengths.to_vector();
    result.lengths.erase(std::remove(result.lengths.begin(), result.lengths.end(), -1), result.lengths.end());
    std::sort(result.lengths.begin(), result.lengths.end());
    const std::vector<std::int64_t> counts = distances.to_vector();
    double                          sum    = 0.;
    for (int k = 0; k < Sample::n_distances; ++k)
    {
      for (std::int64_t i = 0; i < n_samples; ++i)
        sum += counts[k * n_samples + i];
      result.within[k] = sum;
    }
    for (double &share : result.within)
      share = sum > 0. ? share / sum : 1.;

    const std::vector<int> cut        = cuts.to_vector();
    const auto             sum_of_cut = [&](const int which) {
      return std::accumulate(cut.begin() + which * n_samples, cut.begin() + (which + 1) * n_samples, 0.);
    };
    result.on_diagonal = sum > 0. ? sum_of_cut(0) / sum : 0.;
    result.inside      = sum > 0. ? sum_of_cut(1) / sum : 0.;
    result.cut_rows    = sum_of_cut(2) / double(result.lengths.size());
    return result;
  }

  MemoryModel MemoryModel::of(const Backend &backend)
  {
    // The last level of an H200 is 50 MB, of which half is near; of a server's processor tens of MB are shared by all cores.
    if (backend.kind() == BackendKind::cuda)
      return {50e6, 64., true};
    return {32e6, 64., false};
  }

  namespace
  {
    /** Entries behind the first @p width of their rows, as a share of all rows. */
    double overflow(const PatternStatistics &pattern, const int width)
    {
      double sum = 0.;
      for (auto length = pattern.lengths.rbegin(); length != pattern.lengths.rend() && *length > width; ++length)
        sum += *length - width;
      return pattern.lengths.empty() ? 0. : sum / pattern.lengths.size();
    }

    /** Blocks of a row, padding included, on average over slices of @p height. */
    double stored_blocks(const PatternStatistics &pattern, const int height)
    {
      if (height >= 1 << (PatternStatistics::n_heights - 1))
        return height >= pattern.n_rows ? 32. * n_slices(pattern.n_rows, 32) * pattern.longest_row
                                        : double(pattern.stored[PatternStatistics::n_heights - 1]);
      // Between powers of two the one above pads no less.
      int h = 0;
      while ((1 << h) < height)
        ++h;
      return double(pattern.stored[h]);
    }
  } // namespace

  double storage_bytes(const MatrixFormat &format, const PatternStatistics &pattern, const int number_size)
  {
    using Kind           = MatrixFormat::Kind;
    const double size    = number_size;
    const double rows    = double(pattern.scalar_rows());
    const double entries = double(pattern.n_entries());
    const double block   = double(pattern.block_rows) * pattern.block_columns;
    const double slices  = double(n_slices(pattern.n_rows, 32));
    const int    b       = pattern.block_rows;
    switch (format.kind)
    {
    case Kind::coordinate:
      return entries * (size + 8.);
    case Kind::csr:
      return entries * (size + 4.) + 8. * (rows + 1.);
    case Kind::mdia:
      return 4. * (stored_blocks(pattern, 32) - 32. * slices) + 8. * slices + rows * size;
    case Kind::hybrid: {
      // The width that a third of the rows fill.
      const std::vector<int> &l     = pattern.lengths;
      const int               width = l.empty() ? 0 : l[l.size() - (l.size() + 2) / 3];
      const double            rest  = overflow(pattern, width) * pattern.n_rows;
      return rows * width * pattern.block_columns * (size + 4.) + rest * block * (size + 8.) + rows * 4.25;
    }
    case Kind::symmetric: {
      const double positions =
          double(n_slices(pattern.n_rows, kernels::symmetric_patch_rows(b))) * kernels::symmetric_patch_rows(b);
      // Rows inside of patches store about half of their blocks, in several chunks. On meshes along their curve slices
      // pad two per cent, and the lists of slots the more the shorter chunks are.
      const double length  = pattern.n_rows > 0 ? double(pattern.n_blocks) / pattern.n_rows : 0.;
      const double chunks  = std::ceil((length + 1.) / 2. / kernels::symmetric_chunk(b));
      const double blocks  = 1.02 * pattern.symmetric_blocks();
      const double mirrors = 0.55 * (chunks + 1.) * double(pattern.n_blocks) * pattern.inside / 2.;
      return blocks * (block * size + 2.) + mirrors * 2. + positions * (b * (b + 1) / 2 * size + 4.) +
             positions / 32. * 8. * (1. + chunks) + pattern.halo() * 4.;
    }
    default: {
      const bool   scalar = format.kind == Kind::sliced_scalar;
      const double blocks = stored_blocks(pattern, format.slice_height);
      const double n_rows = scalar ? rows : double(pattern.n_rows);
      return blocks * block * size + blocks * (scalar ? block : 1.) * (format.short_columns ? 6. : 4.) +
             8. * (n_rows / format.slice_height + 1.) + 4. * n_rows;
    }
    }
  }

  double conversion_bytes(const MatrixFormat &format, const PatternStatistics &pattern, const int number_size)
  {
    using Kind           = MatrixFormat::Kind;
    const double rows    = double(pattern.scalar_rows());
    const double entries = double(pattern.n_entries());
    const double csr     = storage_bytes({Kind::csr}, pattern, number_size);
    switch (format.kind)
    {
    case Kind::csr:
    case Kind::sliced_ellpack:
      return 0.;
    case Kind::sliced_scalar:
      return pattern.block_rows * pattern.block_columns == 1 ? 0. : csr;
    case Kind::hybrid: // a copy of the entries in ELLPACK in compressed rows
      return csr + entries * (number_size + 4.) + 24. * rows;
    case Kind::mdia: // columns off the diagonal
      return csr + 4. * entries + 12. * rows;
    case Kind::symmetric: // a code of 16 bits for each block, numbers and keys for rows
      return storage_bytes({Kind::sliced_ellpack}, pattern, number_size) + 2. * stored_blocks(pattern, 32) +
             96. * pattern.n_rows;
    default:
      return csr;
    }
  }

  double product_bytes(const MatrixFormat      &format,
                       const PatternStatistics &pattern,
                       const int                number_size,
                       const MemoryModel       &memory)
  {
    using Kind          = MatrixFormat::Kind;
    const double size   = number_size;
    const double rows   = double(pattern.scalar_rows());
    const double block  = double(pattern.block_rows) * pattern.block_columns;
    const double source = double(pattern.n_columns) * pattern.block_columns * size;

    // Columns beyond half the cache from their row.
    const double half = memory.cache / 2. / (pattern.block_columns * size);
    const int    k    = std::min<int>(std::max(0, int(std::log2(std::max(1., half)))), int(pattern.within.size()) - 1);
    const double far  = source > memory.cache ? (1. - pattern.within[k]) * (1. - memory.cache / source) : 0.;
    // A patch of the symmetric format reads a row of others once, however many blocks want it.
    const double between = 1. - pattern.on_diagonal - pattern.inside;
    const double missing = format.kind != Kind::symmetric ? double(pattern.n_blocks) * far
                           : between > 0.                 ? pattern.halo() * std::min(1., far / between)
                                                          : 0.;
    const double vectors = source + rows * size + missing * std::max(memory.line, pattern.block_columns * size);
    // Coordinates are added to a result of zeros; the parts of a hybrid matrix have lengths that products do not use.
    if (!format.is_sliced())
      return storage_bytes(format, pattern, number_size) + vectors +
             rows * (format.kind == Kind::coordinate ? size : (format.kind == Kind::hybrid ? -4. : 0.));

    // Padding may be skipped, by lengths that are read, and columns are read in steps of 16 bits where there are such.
    const bool   scalar = format.kind == Kind::sliced_scalar && block > 1.;
    const double blocks = format.skip_padding ? double(pattern.n_blocks) : stored_blocks(pattern, format.slice_height);
    const double column = 4. - 2. * (format.short_columns ? pattern.short_slices : 0.);
    const double n_rows = scalar ? rows : double(pattern.n_rows);
    return blocks * block * size + blocks * (scalar ? block : 1.) * column + (format.short_columns ? 4. * n_rows : 0.) +
           8. * (n_rows / format.slice_height + 1.) + (format.skip_padding ? 4. * n_rows : 0.) + vectors;
  }

  double typical_efficiency(const MatrixFormat      &format,
                            const PatternStatistics &pattern,
                            const int                number_size,
                            const MemoryModel       &memory)
  {
    using Kind = MatrixFormat::Kind;
    // Each row costs as much as some further entries, in its offsets, its last incomplete group of loads and its end.
    const double n       = pattern.n_rows > 0 ? double(pattern.n_entries()) / double(pattern.scalar_rows()) : 0.;
    const auto   of_rows = [n](const double limit, const double further) {
      return limit * (n + 0.01) / (n + 0.01 + further);
    };
    const int height = format.slice_height;
    if (memory.is_device)
      switch (format.kind)
      {
      case Kind::coordinate:
        return of_rows(0.73, 1.2);
      case Kind::csr:
        return of_rows(0.86, 1.5);
      case Kind::mdia:
        return 0.8;
      case Kind::symmetric: {
        // A patch waits for one load after another, in its offsets, its source and that of its halo, and then at each of
        // the blocks of its rows, whose products pass through shared memory. Others are read meanwhile, as many as a
        // multiprocessor has room for (tuning.cuh). As multiples of what a multiprocessor's share of the memory delivers
        // in that time, on an H200 with 132 of them: 97 kB (2.8 us), and 12.3 kB (0.36 us) for each block and component.
        // Reading and waiting overlap like the sides of a right triangle: that is within 8 % of what bench_spmv and
        // bench_formats measured, of 3 x 3 blocks and scalars on hexahedra, in fp64 and fp32, of linear tetrahedra and of
        // voxels, with 3.0 to 10.1 million unknowns.
        const double n_patches = n_slices(pattern.n_rows, kernels::symmetric_patch_rows(pattern.block_rows));
        const double resident  = pattern.block_rows > 1 ? 2. : (number_size == 4 ? 4. : 3.);
        const double blocks    = pattern.symmetric_blocks() / std::max(1, pattern.n_rows);
        const double waiting   = std::max(132., n_patches / resident) * (97e3 + 12.3e3 * pattern.block_rows * blocks);
        const double bytes     = product_bytes(format, pattern, number_size, memory);
        return std::max(1e-3, bytes / std::hypot(bytes, waiting));
      }
      default: {
        const int  br     = format.kind == Kind::sliced_ellpack ? pattern.block_rows : 1;
        const int  bc     = format.kind == Kind::sliced_ellpack ? pattern.block_columns : 1;
        const bool square = br == bc && (br <= 3 || br == 6);
        const bool rectangular =
            (br == 2 && bc == 3) || (br == 3 && bc == 2) || (br == 3 && bc == 6) || (br == 6 && bc == 3);
        if (!square && !(rectangular && height == 32 && !format.skip_padding))
          return br > 1 ? 0.55 : 0.4;
        // Adding up steps before the source can be read takes time that short rows do not hide.
        if (format.short_columns)
          return std::min(0.95, of_rows(1.09, 6.));
        if (height == 1)
          return br == 1 ? of_rows(0.86, 1.5) : of_rows(0.9, 1.6);
        // Pieces of lower slices are shorter than the lines of the second-level cache; of others addresses take longer.
        return of_rows(height < 32 ? 0.96 * (1. - 1. / height) : (height == 32 ? 0.97 : 0.96), 1.6);
      }
      }
    switch (format.kind)
    {
    case Kind::csr:
    case Kind::coordinate:
    case Kind::mdia:
      return 1.1;
    case Kind::symmetric: // it is the arithmetic that a core waits for
      return 0.6;
    default:
      return height == 32 && !format.skip_padding ? (format.short_columns ? 1.1 : 1.15) : 1.;
    }
  }

  std::vector<MatrixFormat> assembled_formats(const PatternStatistics &pattern)
  {
    using Kind = MatrixFormat::Kind;
    std::vector<MatrixFormat> result;
    result.push_back({Kind::sliced_ellpack, 32});
    if (pattern.block_rows == 1 && pattern.block_columns == 1)
      result.push_back({Kind::sliced_ellpack, 32, true});
    for (const int height : {8, 16, 64})
      result.push_back({Kind::sliced_ellpack, height});
    result.push_back({Kind::csr});
    return result;
  }

  std::vector<MatrixFormat> product_formats(const PatternStatistics &pattern, const MemoryModel &memory)
  {
    std::vector<MatrixFormat> result = assembled_formats(pattern);
    if (memory.is_device && pattern.block_rows == pattern.block_columns && pattern.n_rows == pattern.n_columns &&
        kernels::symmetric_block_size(pattern.block_rows))
      result.push_back({MatrixFormat::Kind::symmetric});
    return result;
  }

  std::vector<FormatPrediction> predict_formats(const std::vector<MatrixFormat> &formats,
                                                const PatternStatistics         &pattern,
                                                const int                        number_size,
                                                const MemoryModel               &memory)
  {
    std::vector<FormatPrediction> result;
    for (const MatrixFormat &format : formats)
      result.push_back({format, product_bytes(format, pattern, number_size, memory),
                        typical_efficiency(format, pattern, number_size, memory)});
    std::stable_sort(result.begin(), result.end(),
                     [](const FormatPrediction &a, const FormatPrediction &b) { return a.cost() < b.cost(); });
    return result;
  }

  const FormatPrediction &best_format(const std::vector<FormatPrediction> &predictions)
  {
    require(!predictions.empty(), "There is no format to choose from.");
    const FormatPrediction *best = nullptr;
    double                  cost = HUGE_VAL;
    for (const FormatPrediction &prediction : predictions)
    {
      const double with_conversion =
          prediction.cost() / (prediction.format.kind == MatrixFormat::Kind::symmetric ? 0.8 : 1.);
      if (best == nullptr || with_conversion < cost)
      {
        best = &prediction;
        cost = with_conversion;
      }
    }
    return *best;
  }
} // namespace PatchFEM
