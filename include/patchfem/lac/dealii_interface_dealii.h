// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_dealii_interface_dealii_h
#define patchfem_lac_dealii_interface_dealii_h

#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/sparsity_pattern.h>
#include <deal.II/lac/trilinos_sparse_matrix.h>
#include <deal.II/lac/vector.h>
#include <patchfem/lac/matrix_base.h>
#include <patchfem/lac/near_null_space.h>

#include <vector>

/**
 * @file
 * To and from deal.II's and Trilinos' matrices and vectors. Everywhere @p dof_indices says which of deal.II's indices
 * each of our unknowns has (as ElementBatches knows it); an empty one means that the numberings agree. It must be a
 * permutation.
 */
namespace PatchFEM
{
  /** dst[u] = src[dof_indices[u]], on the back end of @p dst, which gets the size of src. */
  void copy_from_dealii(const dealii::Vector<double>    &src,
                        Vector<double>                  &dst,
                        const std::vector<unsigned int> &dof_indices = {});

  /** dst[dof_indices[u]] = src[u] */
  void copy_to_dealii(const Vector<double>            &src,
                      dealii::Vector<double>          &dst,
                      const std::vector<unsigned int> &dof_indices = {});

  /** Modes of (nearly) no energy that the user has computed, for PreconditionAMG, on @p backend. */
  NearNullSpace to_near_null_space(const std::vector<dealii::Vector<double>> &modes,
                                   const Backend                             &backend,
                                   const std::vector<unsigned int>           &dof_indices = {});

  /**
   * A matrix assembled with deal.II, from which CSRMatrix and SlicedEllpackMatrix are made, so that our solver serves
   * it. Unknowns of one node that follow one another in our numbering make a block.
   */
  HostCSR<double> to_host_csr(const dealii::SparseMatrix<double> &matrix,
                              const std::vector<unsigned int>    &dof_indices = {});

  /** The same from Trilinos; all rows must be on this process. */
  HostCSR<double> to_host_csr(const dealii::TrilinosWrappers::SparseMatrix &matrix,
                              const std::vector<unsigned int>              &dof_indices = {});

  /**
   * Our matrix as deal.II's, in deal.II's numbering. @p pattern is what @p dst points to and must live as long; it
   * holds the diagonal of square matrices in any case, as deal.II's do.
   */
  void export_matrix(const MatrixBase<double>        &src,
                     dealii::SparsityPattern         &pattern,
                     dealii::SparseMatrix<double>    &dst,
                     const std::vector<unsigned int> &dof_indices = {});

  /** Our matrix as one of Trilinos on this process. */
  void export_matrix(const MatrixBase<double>               &src,
                     dealii::TrilinosWrappers::SparseMatrix &dst,
                     const std::vector<unsigned int>        &dof_indices = {});
} // namespace PatchFEM

#endif
