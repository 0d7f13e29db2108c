// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/compressed_pattern.h>
#include <patchfem/lac/matrix/stored_matrix.h>

namespace PatchFEM
{
  namespace internal
  {
    struct CSRPattern : MatrixExtents
    {
      Array<std::int64_t> row_offsets;
      Array<int>          columns;

      std::size_t memory_consumption() const { return memory_consumption_of(row_offsets, columns); }
    };
  } // namespace internal

  /** Compressed rows of scalars, 64-bit offsets, 32-bit columns; of blocks as in internal::ExpandPatternBody. */
  template <typename Number>
  class CSRMatrix : public PatternMatrix<CSRMatrix, Number, internal::CSRPattern>
  {
    using Base = PatternMatrix<CSRMatrix, Number, internal::CSRPattern>;
    using Base::pattern, Base::values;

  public:
    using Base::backend, Base::n_rows, Base::n_columns;

    CSRMatrix() = default;
    explicit CSRMatrix(const Backend &backend, const HostCSR<Number> &matrix, const int block_size = 1)
    {
      reinit(backend, matrix, block_size);
    }

    /** Zeros on the pattern of blocks @p pattern, whose arrays are memory of @p backend. */
    void reinit(const Backend &backend, const SparsityView &pattern, int block_rows = 1, int block_columns = 1);

    /** A matrix from host memory; @p block_size is only what preconditioners take as the node's unknowns. */
    void reinit(const Backend &backend, const HostCSR<Number> &matrix, int block_size = 1);

    /** Takes over @p rows of scalars, which belong to blocks of these sizes, and the @p entries in them. */
    void reinit(CompressedPattern &&rows, Array<Number> &&entries, int block_rows, int block_columns);

    template <typename OtherNumber>
    void copy_from(const CSRMatrix<OtherNumber> &other)
    {
      Base::copy_from(other);
      kernel = other.view().kernel;
    }

    /** Which kernel products on `cuda` use; for comparisons, as the first is the fastest. */
    void use_kernel(const CSRKernel new_kernel) { kernel = new_kernel; }

    /** All values become @p value. */
    CSRMatrix &operator=(Number value);

    std::string     format() const override { return "csr"; }
    void            extract_block_diagonal(int block_size, Array<Number> &blocks) const override;
    HostCSR<Number> to_csr_host() const override;

    /** What kernels see. The values may be written through it. */
    CSRView<Number> view() const;

  private:
    CSRKernel kernel = CSRKernel::pieces;
  };
} // namespace PatchFEM
