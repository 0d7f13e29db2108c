// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/kernels/pattern_statistics.h>
#include <patchfem/lac/matrix/matrix_base.h>

#include <array>
#include <climits>
#include <memory>

/** @file Choice of a format before there is a matrix: a product's bytes over the share of the rate that it reaches. */
namespace PatchFEM
{
  template <typename Number>
  class CSRMatrix;

  namespace formats
  {
    extern const FormatKind &sliced_ellpack, &csr; // of which others are made
  }

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

    /** Blocks that slices of @p height rows store with their padding. */
    double stored_blocks(int height) const;

    /** Blocks off the diagonal that symmetric storage keeps, without padding. */
    double symmetric_blocks() const { return double(n_blocks) * (1. - on_diagonal - inside / 2.); }

    /** Rows of others that its patches read: half as many again as rows that couple to others. */
    double halo() const { return 1.5 * cut_rows * n_rows; }

    /** Share of the rate, @p limit for long rows; offsets, incomplete loads and ends cost @p further entries a row. */
    double share_of_rate(double limit, double further) const;
  };

  /** Counts where the arrays of @p pattern live: a few milliseconds on a device, about a product's on the host. */
  PatternStatistics
  pattern_statistics(const Backend &backend, const SparsityView &pattern, int block_rows = 1, int block_columns = 1);

  /** What the model knows of a machine. */
  struct MemoryModel
  {
    double cache     = 32e6;  ///< bytes of the last level, which parts of the source are found in again
    double line      = 64.;   ///< bytes that a read beyond it fetches at the least
    bool   is_device = false; ///< whether kernels are those of CUDA

    // What kernels that wait at barriers need; of the host they are not asked for.
    double rate         = 4.5e12; ///< of reading, bytes per second
    int    n_processors = 132;    ///< that blocks of threads are shared out over

    /** What use_measured_rate() has set on this back end in this process, else what CUDA says of the device. */
    static MemoryModel of(const Backend &backend);
  };

  /** A format and what can be chosen about it. */
  struct MatrixFormat
  {
    MatrixFormat(const FormatKind &kind          = formats::sliced_ellpack,
                 const int         slice_height  = 32,
                 const bool        short_columns = false,
                 const bool        skip_padding  = false)
        : kind(&kind), slice_height(slice_height), short_columns(short_columns), skip_padding(skip_padding)
    {}

    const FormatKind *kind;
    int               slice_height; ///< of the sliced ones; the number of rows or more makes ELLPACK
    bool              short_columns;
    bool              skip_padding;
    CSRKernel         csr_kernel = CSRKernel::pieces;

    bool is_sliced() const;

    /** As parameter files and reports call it, such as `sliced_ellpack, slices of 32, 16-bit columns`. */
    std::string name() const;
  };

  struct FormatCase;

  /** What model, factory and choice know of a class of matrices: an object in formats, named in matrix_formats(). */
  class FormatKind
  {
  public:
    const int  largest_assembled; ///< entries of the largest blocks with which assemblers write it
    const bool is_sliced;         ///< a SlicedEllpackMatrix

    /** What assemblers write, for make(), where they do not write this one. */
    virtual const FormatKind &source() const { return formats::csr; }

    /** See FormatCase::storage_bytes(). */
    virtual double storage(const FormatCase &) const = 0;

    /** Bytes that make() takes beside both matrices. */
    virtual double workspace(const FormatCase &) const { return 0.; }

    /** What a product moves but for source and destination. */
    virtual double traffic(const FormatCase &c) const { return storage(c); }

    /** How often a product reads a block of the source that is not in the cache, as is a @p share of blocks. */
    virtual double misses(const PatternStatistics &pattern, const double share) const
    {
      return pattern.n_blocks * share;
    }

    /** See FormatCase::typical_efficiency(). */
    virtual double efficiency(const FormatCase &, const MemoryModel &) const = 0;

    /** Those in which products may be the fastest; see product_formats(). */
    virtual std::vector<MatrixFormat> candidates(const PatternStatistics &, const MemoryModel &) const { return {}; }

    /** Of a CSRMatrix, or another that it can be made of; nullptr for others, and if no matrix is converted to it. */
    virtual std::unique_ptr<MatrixBase<double>> make(const MatrixBase<double> &, const MatrixFormat &) const
    {
      return {};
    }
    virtual std::unique_ptr<MatrixBase<float>> make(const MatrixBase<float> &, const MatrixFormat &) const
    {
      return {};
    }

  protected:
    constexpr explicit FormatKind(const int largest_assembled = 0, const bool is_sliced = false)
        : largest_assembled(largest_assembled), is_sliced(is_sliced)
    {}
    ~FormatKind() = default;
  };

  /** That of a @p Matrix. It is made of compressed rows unless @p Kind has a make_of(matrix, format) of its own. */
  template <typename Kind, template <typename> class Matrix>
  class ConvertedKind : public FormatKind
  {
  public:
    using FormatKind::FormatKind;

    std::unique_ptr<MatrixBase<double>> make(const MatrixBase<double> &A, const MatrixFormat &format) const override
    {
      return static_cast<const Kind *>(this)->make_of(A, format);
    }
    std::unique_ptr<MatrixBase<float>> make(const MatrixBase<float> &A, const MatrixFormat &format) const override
    {
      return static_cast<const Kind *>(this)->make_of(A, format);
    }

  protected:
    template <typename Number>
    std::unique_ptr<MatrixBase<Number>> make_of(const MatrixBase<Number> &A, const MatrixFormat &) const
    {
      const auto *rows = dynamic_cast<const CSRMatrix<Number> *>(&A);
      auto        made = rows != nullptr ? std::make_unique<Matrix<Number>>() : nullptr;
      if (rows != nullptr)
        made->reinit(*rows);
      return made;
    }
  };

  inline bool MatrixFormat::is_sliced() const
  {
    return kind->is_sliced;
  }

  /** A format with what one product in it is expected to move. */
  struct FormatPrediction
  {
    MatrixFormat format;
    double       bytes      = 0.; ///< all that a product moves
    double       efficiency = 1.; ///< share of the memory's rate
    double       rate       = 0.; ///< bytes per second if they were measured, see calibrate_formats()

    /** Bytes that take as long at the memory's full rate, or seconds if rates were measured: what decides. */
    double cost() const { return bytes / (rate > 0. ? rate : efficiency); }
  };

  /** Matrices of one format, for a pattern and numbers of some bytes: what is asked of a FormatKind. */
  struct FormatCase
  {
    const MatrixFormat      &format;
    const PatternStatistics &pattern;
    int                      size;

    /**
     * What matrices keep: but for some bytes those that are assembled, and coordinates; symmetric ones to a few per
     * cent; at most that in scalar slices of blocks, by up to 6 %, and in hybrid ones, by up to 13 %.
     */
    double storage_bytes() const { return format.kind->storage(*this); }

    /** Of these bytes values, without columns, offsets and lengths. */
    double value_bytes() const { return storage_bytes() - FormatCase{format, pattern, 0}.storage_bytes(); }

    /** What convert() takes beside it to make one: the matrix that is assembled, and what only it needs. */
    double conversion_bytes() const;

    /**
     * Each array once, and of the source in addition what is fetched again: a column that lies farther from its row
     * than half the cache holds costs a line, except for the part of the source that the cache can hold.
     */
    double product_bytes(const MemoryModel &memory) const;

    /**
     * The share of the memory's rate (on CUDA of reading, on the host of STREAM's triad, whose writes count less than
     * they move) that products reach, as measured by bench_formats and bench_spmv.
     */
    double typical_efficiency(const MemoryModel &memory) const { return format.kind->efficiency(*this, memory); }
  };

  /** The formats that matrices can be assembled into. */
  std::vector<MatrixFormat> assembled_formats(const PatternStatistics &pattern);

  /** Those, and on a device symmetric storage of blocks with kernels; on the host, slow at arithmetic, slices win. */
  std::vector<MatrixFormat> product_formats(const PatternStatistics &pattern, const MemoryModel &memory);

  /** What each of @p formats is expected to cost, the cheapest first. */
  std::vector<FormatPrediction> predict_formats(const std::vector<MatrixFormat> &formats,
                                                const PatternStatistics         &pattern,
                                                int                              number_size,
                                                const MemoryModel               &memory);

  /**
   * The cheapest of @p predictions, but one that matrices are converted to only if it is cheaper by a fifth than all
   * that are assembled: a conversion takes as long as tens to hundreds of products (bench_formats says how many), which
   * then are won back in at most four times as many, as iterations with a diagonal take them on all but small meshes.
   */
  const FormatPrediction &best_format(const std::vector<FormatPrediction> &predictions);
} // namespace PatchFEM
