// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/matrix_views.h>
#include <patchfem/kernels/parallel_for.h>

#include <cmath>

/** @file Bodies (see parallel_for.h) that keep the null space of a singular matrix out of its solution. */
namespace PatchFEM::kernels
{
  /** x = x - c v with c = coefficient[0], which the back end has just computed. */
  template <typename Number>
  struct RemoveComponentBody
  {
    const double *coefficient;
    const Number *v;
    Number       *x;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      x[i] = static_cast<Number>(static_cast<double>(x[i]) - coefficient[0] * static_cast<double>(v[i]));
    }
  };

  /**
   * What the next level sees of v, [aggregate][mode]: w = Q^T v, Q the tentative prolongator, or for @p weights the
   * diagonal of Q^T diag(v) Q. Q's columns have length one, so that w^T (Q^T D Q) w is about the D-norm of the vector
   * that w stands for.
   */
  struct RestrictVectorBody
  {
    const int    *offsets; ///< [aggregate + 1]
    const int    *nodes;   ///< by aggregate
    int           n_components, n_modes;
    bool          weights;
    const double *tentative; ///< Q, [node][component][mode]
    const double *v;         ///< [node][component]
    double       *w;         ///< [aggregate][mode]

    PATCHFEM_INLINE void operator()(const std::int64_t index) const
    {
      const int i = static_cast<int>(index / n_modes), m = static_cast<int>(index % n_modes);
      double    sum = 0.;
      for (int k = offsets[i]; k < offsets[i + 1]; ++k)
        for (int a = 0; a < n_components; ++a)
        {
          const std::int64_t unknown = std::int64_t(nodes[k]) * n_components + a;
          const double       q       = tentative[unknown * n_modes + m];
          sum += (weights ? q * q : q) * v[unknown];
        }
      w[index] = sum;
    }
  };

  /** Counts the nodes with entries of v that couple with other nodes. */
  struct CoupledNodesBody
  {
    const int    *lengths; ///< blocks in each row, the one on the diagonal included
    int           n_components;
    const double *v; ///< [node][component]
    int          *n_coupled;

    PATCHFEM_INLINE void operator()(const std::int64_t node) const
    {
      bool zero = true;
      for (int a = 0; a < n_components; ++a)
        zero = zero && v[node * n_components + a] == 0.;
      if (!zero && lengths[node] > 1)
        atomic_increment(n_coupled);
    }
  };

  /** A + s v v^T in the diagonal blocks of rows that have no other. */
  template <typename Number>
  struct AddNodeProductBody
  {
    SlicedEllpackView<Number> A;
    const int                *lengths;
    const double             *scale; ///< s
    const double             *v;     ///< [node][component]

    PATCHFEM_INLINE void operator()(const std::int64_t node) const
    {
      const int     i = static_cast<int>(node), n = A.block_rows;
      const double *w = v + node * n;
      for (int a = 0; a < n && lengths[i] == 1; ++a)
        for (int b = 0; b < n; ++b)
        {
          Number &entry = A.values[A.value_index(i, 0, a, b)];
          entry         = static_cast<Number>(static_cast<double>(entry) + scale[0] * w[a] * w[b]);
        }
    }
  };

  /** Row @p i of A + s v v^T, A dense. */
  struct AddOuterProductBody
  {
    int           n;
    const double *scale; ///< s
    const double *v;
    double       *A; ///< [n][n]

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      const double factor = scale[0] * v[i];
      for (int j = 0; j < n; ++j)
        A[i * n + j] += factor * v[j];
    }
  };

  /**
   * A_ii (A^-1)_ii = 1 / (1 - c), c the square of the cosine between unknown i and the span of the others in the energy of
   * A: however rows are scaled, at least 1, and the inverse of the rounding of A if A is singular. Notes the first row
   * above @p limit.
   */
  template <typename Number>
  struct DependentRowBody
  {
    int           n;
    const double *diagonal; ///< of A
    const Number *inverse;  ///< [n][n]
    double        limit;
    int          *failure; ///< starts at INT_MAX

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      if (!(diagonal[i] * static_cast<double>(inverse[i * n + i]) < limit))
        atomic_min(failure, static_cast<int>(i));
    }
  };

  /** The diagonal of a dense matrix. */
  struct DenseDiagonalBody
  {
    int           n;
    const double *A; ///< [n][n]
    double       *diagonal;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const { diagonal[i] = A[i * n + i]; }
  };

  /** s = sqrt(square / n), by one thread: the root mean square of a diagonal from its square. */
  struct RootMeanSquareBody
  {
    std::int64_t  n;
    const double *square;
    double       *result;

    PATCHFEM_INLINE void operator()(std::int64_t) const { result[0] = std::sqrt(square[0] / static_cast<double>(n)); }
  };
} // namespace PatchFEM::kernels
