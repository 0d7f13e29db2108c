// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/host_csr.h>
#include <patchfem/lac/operator.h>

#include <string>

namespace PatchFEM
{
  class FormatKind;

  /** The blocks of a matrix: how many, their sizes, which are 1 x 1 for scalar problems, and what they hold. */
  struct MatrixExtents
  {
    int          row_blocks = 0, column_blocks = 0, block_rows = 1, block_columns = 1;
    std::int64_t n_nonzero = 0; ///< entries of the pattern, without padding

    /// Of several ranks: who has which blocks of columns, of which a square matrix has those that it owns as rows.
    std::shared_ptr<const Partitioner> partitioner = nullptr;

    /// Block rows before the first that reads ghosts, which products form while these travel; 0 also where they do not.
    int n_interior = 0;
  };

  /**
   * An operator that is stored entry by entry: what preconditioners and exports know of a matrix. All work happens on
   * the back end the matrix lives on, in stream order, without allocation, so that products may be recorded in a Graph.
   */
  template <typename Number>
  class MatrixBase : public Operator<Number>
  {
  public:
    using Operator<Number>::backend;

    /** In blocks; n_rows() and n_columns() are those of scalars. */
    virtual const MatrixExtents &extents() const = 0;

    int n_rows() const final { return extents().row_blocks * extents().block_rows; }
    int n_columns() const final { return extents().column_blocks * extents().block_columns; }
    int block_rows() const { return extents().block_rows; }
    int block_columns() const { return extents().block_columns; }

    const std::shared_ptr<const Partitioner> &partitioner() const final { return extents().partitioner; }

    /** Once: blocks of columns are what a rank has, with ghosts, and rows what it owns of the same or of others. */
    virtual void set_partitioner(const std::shared_ptr<const Partitioner> &partitioner);

    void initialize_vector(Vector<Number> &vector, const bool omit_zeroing_entries = false) const final
    {
      if (partitioner() != nullptr)
        vector.reinit(backend(), partitioner(), block_rows(), omit_zeroing_entries);
      else
        vector.reinit(backend(), n_rows(), omit_zeroing_entries);
    }

    std::int64_t n_nonzero_elements() const { return extents().n_nonzero; }

    /** Values in memory, with padding. */
    virtual std::int64_t n_stored_elements() const = 0;

    virtual std::size_t memory_consumption() const = 0;

    /** The format as reports call it, such as `sliced ellpack 3x3`. */
    virtual std::string format() const = 0;

    /** dst += A src */
    virtual void vmult_add(Vector<Number> &dst, const Vector<Number> &src) const = 0;

    /**
     * The diagonal blocks of size @p block_size, which must be 1 or divide into the rows as the format's blocks do:
     * entry (a, c) of block i at (a * block_size + c) * n_blocks + i.
     */
    void extract_block_diagonal(int block_size, Array<Number> &blocks) const override = 0;

    /**
     * A = 0, A *= factor, A += factor B and A = B entry by entry; B has the format and the pattern of A, else Error, as
     * far as their sizes tell. What was made of A before, such as a preconditioner, needs its initialize() or update().
     */
    void        set_zero();
    MatrixBase &operator*=(Number factor);
    void        add(Number factor, const MatrixBase &B);
    void        copy_from(const MatrixBase &B);

    void extract_diagonal(Vector<Number> &diagonal) const override;
    bool can_be_recorded() const override
    {
      return partitioner() == nullptr || partitioner()->can_be_recorded(backend());
    }

    /** The entries of the pattern as scalar rows sorted by column, in host memory. */
    virtual HostCSR<Number> to_csr_host() const = 0;

  protected:
    /** All that depends on the values and not on the pattern, padding included. */
    struct Values
    {
      Array<Number> *array    = nullptr; ///< nullptr: there is no algebra for this format
      Number        *constant = nullptr; ///< of all entries that have no place in the array
      int            layout   = 0;       ///< matrices of equal sizes that differ in it do not match
    };
    virtual Values values_over_pattern() { return {}; }

  private:
    template <typename Kernel>
    void combine(const MatrixBase &B, const Kernel &kernel);
  };
} // namespace PatchFEM
