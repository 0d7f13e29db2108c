// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/sparsity_pattern.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <patchfem/lac/matrix/matrix_base.h>
#include <patchfem/lac/multigrid/near_null_space.h>

#include <vector>

namespace PatchFEM
{
  /** deal.II's index of each of our unknowns, to carry data to and from deal.II and Trilinos. FESpace has its own. */
  class DoFNumbering
  {
  public:
    /** The numbering of deal.II itself, of @p n unknowns. */
    explicit DoFNumbering(std::size_t n = 0);

    /** @p dof_indices: deal.II's index of each of our unknowns. Throws Error if it is no permutation. */
    explicit DoFNumbering(std::vector<unsigned int> dof_indices);

    std::size_t  size() const { return ours.size(); }
    unsigned int dealii(const std::size_t unknown) const { return theirs[unknown]; }
    unsigned int patchfem(const std::size_t dof_index) const { return ours[dof_index]; }

    /** @p dst, which keeps its back end unless it is empty, becomes @p src. Throws Error for another size. */
    template <typename Number>
    void copy_from(const dealii::Vector<double> &src, Vector<Number> &dst) const;

    /** @p dst becomes @p src, from any back end. */
    template <typename Number>
    void copy_to(const Vector<Number> &src, dealii::Vector<double> &dst) const;

    /** Modes of (nearly) no energy that the user has computed, for PreconditionAMG, on @p backend. */
    NearNullSpace near_null_space(const std::vector<dealii::Vector<double>> &modes, const Backend &backend) const;

    /** A square matrix of deal.II, or of Trilinos if all on this process, for CSRMatrix and SlicedEllpackMatrix. */
    HostCSR<double> import_matrix(const dealii::SparseMatrix<double> &matrix) const;
    HostCSR<double> import_matrix(const dealii::TrilinosWrappers::SparseMatrix &matrix) const;

    /** Our matrix as deal.II's. @p dst points to @p pattern, which must live as long and always has the diagonal. */
    void export_matrix(const MatrixBase<double>     &src,
                       dealii::SparsityPattern      &pattern,
                       dealii::SparseMatrix<double> &dst) const;

    /** Our matrix as one of Trilinos on this process. */
    void export_matrix(const MatrixBase<double> &src, dealii::TrilinosWrappers::SparseMatrix &dst) const;

  private:
    std::vector<unsigned int> theirs, ours; ///< [unknown] -> index, and back
  };
} // namespace PatchFEM
