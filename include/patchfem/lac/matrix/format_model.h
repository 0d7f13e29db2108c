// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_matrix_format_model_h
#define patchfem_lac_matrix_format_model_h

#include <patchfem/base/backend.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/pattern_statistics.h>

#include <array>
#include <string>
#include <vector>

/**
 * @file
 * Which format suits a pattern, before there is a matrix: a product is as fast as what it moves, so the bytes of each
 * format are counted, and divided by the share of the memory's rate that its kernel reaches.
 */
namespace PatchFEM
{
  /** What the bytes of a product depend on. */
  struct PatternStatistics
  {
    static constexpr int n_heights = kernels::PaddingBody::n_heights;

    int          n_rows = 0, n_columns = 0; ///< of blocks
    int          block_rows = 1, block_columns = 1;
    std::int64_t n_blocks    = 0;
    int          longest_row = 0; ///< in blocks

    /// Blocks that slices of 2^h rows store with their padding.
    std::array<std::int64_t, n_heights> stored{};

    // By a sample of at most 4096 slices, of all slices where there are no more than that.
    double              short_slices = 1.; ///< share of slices of 32 whose columns are known by steps of 16 bits
    std::vector<int>    lengths;           ///< of sampled rows, ascending
    std::vector<double> within;            ///< [k], share of blocks at most 2^k from the diagonal

    // By the same sample, for SymmetricEllpackMatrix: what its patches cut apart.
    double on_diagonal = 0.; ///< share of blocks
    double inside      = 0.; ///< share of blocks off the diagonal whose row and column are in one patch
    double cut_rows    = 0.; ///< share of rows with blocks between patches

    std::int64_t scalar_rows() const { return std::int64_t(n_rows) * block_rows; }
    std::int64_t n_entries() const { return n_blocks * block_rows * block_columns; }

    /** Blocks off the diagonal that symmetric storage keeps, without padding. */
    double symmetric_blocks() const { return double(n_blocks) * (1. - on_diagonal - inside / 2.); }

    /** Rows of others that its patches read: half as many again as rows that couple to others. */
    double halo() const { return 1.5 * cut_rows * n_rows; }
  };

  /**
   * Counts on the back end where the arrays of @p pattern live: on a device a few milliseconds, on the host about as long
   * as a product.
   */
  PatternStatistics
  pattern_statistics(const Backend &backend, const SparsityView &pattern, int block_rows = 1, int block_columns = 1);

  /** A format and what can be chosen about it. */
  struct MatrixFormat
  {
    enum class Kind
    {
      coordinate,     ///< CoordinateMatrix
      csr,            ///< CSRMatrix
      sliced_ellpack, ///< SlicedEllpackMatrix, in blocks
      sliced_scalar,  ///< SlicedEllpackMatrix in 1 x 1 blocks, whatever the blocks of the pattern
      hybrid,         ///< HybridMatrix
      mdia,           ///< MDIAMatrix
      symmetric       ///< SymmetricEllpackMatrix
    };

    Kind kind          = Kind::sliced_ellpack;
    int  slice_height  = 32; ///< of the sliced ones; the number of rows or more makes ELLPACK
    bool short_columns = false;
    bool skip_padding  = false;

    CSRKernel csr_kernel = CSRKernel::pieces;

    bool is_sliced() const { return kind == Kind::sliced_ellpack || kind == Kind::sliced_scalar; }

    /** As parameter files and reports call it, such as `sliced_ellpack, slices of 32, 16-bit columns`. */
    std::string name() const;
  };

  /** What the model knows of a machine. */
  struct MemoryModel
  {
    double cache = 0.; ///< bytes of the last level, which parts of the source are found in again
    double line  = 0.; ///< bytes that a read beyond it fetches at the least
    bool   is_device;  ///< whether kernels are those of CUDA

    static MemoryModel of(const Backend &backend);
  };

  /** A format with what one product in it is expected to move. */
  struct FormatPrediction
  {
    MatrixFormat format;
    double       bytes      = 0.; ///< all that a product moves
    double       efficiency = 1.; ///< share of the memory's rate
    double       rate       = 0.; ///< bytes per second if they were measured, see calibrate_formats()

    /** Bytes that take as long at the memory's full rate, or seconds if rates were measured: the measure of the choice. */
    double cost() const { return bytes / (rate > 0. ? rate : efficiency); }
  };

  /**
   * What matrices in @p format keep: but for some bytes those that are assembled, and coordinates; symmetric ones to a few per
   * cent; at most that in scalar slices of blocks, by up to 6 %, and in hybrid ones, by up to 13 %.
   */
  double storage_bytes(const MatrixFormat &format, const PatternStatistics &pattern, int number_size);

  /** Of these bytes values, without columns, offsets and lengths. */
  inline double value_bytes(const MatrixFormat &format, const PatternStatistics &pattern, const int number_size)
  {
    return storage_bytes(format, pattern, number_size) - storage_bytes(format, pattern, 0);
  }

  /** What convert() takes beside it to make one: the matrix that is assembled, and what only it needs. */
  double conversion_bytes(const MatrixFormat &format, const PatternStatistics &pattern, int number_size);

  /**
   * Each array once, and of the source in addition what is fetched again: a column that lies farther from its row than half
   * the cache holds costs a line, except for the part of the source that the cache can hold.
   */
  double product_bytes(const MatrixFormat      &format,
                       const PatternStatistics &pattern,
                       int                      number_size,
                       const MemoryModel       &memory);

  /**
   * The share of the memory's rate (on CUDA of reading, on the host of STREAM's triad, whose writes count less than they
   * move) that products in @p format reach, as measured by bench_formats and bench_spmv.
   */
  double typical_efficiency(const MatrixFormat      &format,
                            const PatternStatistics &pattern,
                            int                      number_size,
                            const MemoryModel       &memory);

  /** The formats that matrices can be assembled into. */
  std::vector<MatrixFormat> assembled_formats(const PatternStatistics &pattern);

  /**
   * Those, and of formats that matrices are converted to those which products may be fastest in: on a device symmetric
   * storage, of blocks that there are kernels for. On the host, where arithmetic takes longer, slices win.
   */
  std::vector<MatrixFormat> product_formats(const PatternStatistics &pattern, const MemoryModel &memory);

  /** What each of @p formats is expected to cost, the cheapest first. */
  std::vector<FormatPrediction> predict_formats(const std::vector<MatrixFormat> &formats,
                                                const PatternStatistics         &pattern,
                                                int                              number_size,
                                                const MemoryModel               &memory);

  /**
   * The cheapest of @p predictions, but one that matrices are converted to only if it is cheaper by a fifth than all that
   * are assembled: a conversion takes as long as tens to hundreds of products (bench_formats says how many), which then are
   * won back in at most four times as many, as iterations with a diagonal take them on all but small meshes.
   */
  const FormatPrediction &best_format(const std::vector<FormatPrediction> &predictions);
} // namespace PatchFEM

#endif
