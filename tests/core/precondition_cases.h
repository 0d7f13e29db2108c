// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

/** What tests of preconditioners share. */
namespace cases
{
  using namespace PatchFEM;

  /** M^-1 v, into a vector that held nothing of use. */
  template <typename Number>
  std::vector<Number> apply(const PreconditionBase<Number> &M, const Backend &backend, const std::vector<Number> &v)
  {
    Vector<Number> x(backend, not_a_number<Number>(v.size()));
    M.vmult(x, Vector<Number>(backend, v));
    return x.copy_to_host();
  }

  /** M^-1 column by column. */
  inline Dense dense_inverse(const PreconditionBase<double> &M, const Backend &backend, const int n)
  {
    Dense dense(n, n);
    for (int j = 0; j < n; ++j)
    {
      std::vector<double> unit(n, 0.);
      unit[j]                          = 1.;
      const std::vector<double> column = apply(M, backend, unit);
      for (int i = 0; i < n; ++i)
        dense(i, j) = column[i];
    }
    return dense;
  }

  /** Symmetric to rounding, and its Cholesky factorisation exists. */
  inline void expect_symmetric_positive(const Dense &dense, const double tolerance = 1e-13)
  {
    EXPECT_LT(difference(dense.values, dense.transposed().values), tolerance * dense.magnitude());
    EXPECT_GT(smallest_pivot(dense), 0.);
  }

  /** Conjugate gradients on A x = (1, ..., 1) from 0. */
  template <typename Number>
  IterationResult
  solve_ones(const MatrixBase<Number> &A, const PreconditionBase<Number> &M, const double reduction = 1e-8)
  {
    Vector<Number>   x(A.backend(), A.n_rows());
    Vector<Number>   b(A.backend(), std::vector<Number>(A.n_rows(), Number(1)));
    IterationControl control;
    control.tolerance      = 0.;
    control.reduction      = reduction;
    control.max_iterations = 5000;
    ConjugateGradients<Number> cg;
    const IterationResult      result = cg.solve(A, x, b, M, control);
    EXPECT_EQ(result.status, IterationResult::Status::converged) << result.message(M.name());
    return result;
  }

  template <typename Number>
  HostCSR<Number> rounded(const HostCSR<double> &A)
  {
    return {A.n_rows, A.n_columns, A.row_offsets, A.columns, to<Number>(A.values)};
  }

  /** A diagonal, one row and column that are full, and n - 1 others: dominant, hence positive definite. */
  inline HostCSR<double> arrow(const int n)
  {
    HostCSR<double> A;
    A.n_rows = A.n_columns = n;
    A.row_offsets.push_back(0);
    const int middle = n / 2;
    for (int i = 0; i < n; ++i)
    {
      for (int j = 0; j < n; ++j)
        if (i == j || i == middle || j == middle)
        {
          A.columns.push_back(j);
          A.values.push_back(i == j ? (i == middle ? 1. + 0.25 * n : 1. + 0.1 * (i % 4)) : -0.25);
        }
      A.row_offsets.push_back(A.columns.size());
    }
    return A;
  }

  inline HostCSR<double> diagonal(const int n)
  {
    HostCSR<double> A;
    A.n_rows = A.n_columns = n;
    A.row_offsets.push_back(0);
    for (int i = 0; i < n; ++i)
    {
      A.columns.push_back(i);
      A.values.push_back(1. + i % 7);
      A.row_offsets.push_back(i + 1);
    }
    return A;
  }
} // namespace cases
