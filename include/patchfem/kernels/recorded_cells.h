// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/assembly.h>
#include <patchfem/kernels/geometry.h>

namespace PatchFEM::kernels
{
  /**
   * Cells whose entries are formed from a few numbers of the cell, its record, and integrals of the reference cell that
   * all cells share. With the Jacobian J_p at point p of n_points moments of shape functions i and j are
   *   sum_p sum_ab w_p det J_p (J_p^-1 J_p^-T)_ab R_p,ij(a, b)   inner products,
   *   sum_p w_p det J_p J_p^-T R_p,ij J_p^-1                     outer products,
   * where R_p,ij(a, b) = dN_i/dxi_a dN_j/dxi_b there. If J is constant, and coefficients are, one point with
   * R_ij = sum_q w_q dN_i/dxi_a dN_j/dxi_b stands for all, and w_p = 1. For each point the record of the first has
   * k w det J J^-1 J^-T, upper half; that of the second J^-1 and w det J, and k once.
   */
  template <typename Form, typename Number, int n_points>
  struct RecordedCells
  {
    static constexpr int  dim = Form::dimension, n_comp = Form::n_components;
    static constexpr bool affine = n_points == 1;
    static constexpr bool inner  = moment_kind_of<Form> == MomentKind::inner_product;

    /** Of a pair of shape functions at a point: R(a, b) or, for inner products, R(a, b) + R(b, a), a < b. */
    static constexpr int at_point    = inner ? dim * (dim + 1) / 2 : dim * dim;
    static constexpr int n_integrals = n_points * at_point;
    static constexpr int n_numbers   = inner ? n_integrals : n_points * (dim * dim + 1) + Form::n_coefficients;
    static constexpr int record_size = (n_numbers + 1) / 2 * 2; ///< even: numbers are read two at a time

    static constexpr bool possible = is_symmetric<Form> && record_size <= 64 &&
                                     (inner ? n_comp == 1 : moment_kind_of<Form> == MomentKind::outer_product);

    using Block  = SmallMatrix<n_comp, n_comp, Number>;
    using Matrix = SmallMatrix<dim, dim, Number>;

    static bool fits(const KernelRequest &r)
    {
      return possible && (inner && !affine ? true : !r.varying) &&
             (affine ? r.reference.gradient_integrals != nullptr : r.reference.n_quadrature == n_points);
    }

    /** The integrals of shape functions @p i and @p j. */
    static PATCHFEM_INLINE void integrals(const ReferenceView &r, const int i, const int j, Number (&to)[n_integrals])
    {
      for (int p = 0; p < n_points; ++p)
      {
        const double *of_i = r.shape_gradients + (p * r.n_shape + i) * dim,
                     *of_j = r.shape_gradients + (p * r.n_shape + j) * dim;
        const auto R       = [&](const int a, const int b) {
          return affine ? r.gradient_integrals[((i * r.n_shape + j) * dim + a) * dim + b] : of_i[a] * of_j[b];
        };
        int e = p * at_point;
        for (int a = 0; a < dim; ++a)
          for (int b = inner ? a : 0; b < dim; ++b)
            to[e++] = static_cast<Number>(inner && a < b ? R(a, b) + R(b, a) : R(a, b));
      }
    }

    /** At point @p p of the cell at position @p local of the batch. */
    static PATCHFEM_INLINE Matrix jacobian(const AssemblyArguments<Number> &a, const int local, const int p)
    {
      const BatchView &batch      = a.batches.batch[a.computed_batch];
      const int        n_geometry = batch.reference.n_geometry;
      return PatchFEM::jacobian<dim, Number>(a.batches.points, batch.geometry + std::int64_t(local) * n_geometry,
                                             n_geometry, batch.reference.geometry_gradients + p * n_geometry * dim);
    }

    /** What point @p p, where the Jacobian is @p J, adds to the record @p to of the cell at position @p local. */
    static PATCHFEM_INLINE void
    record(const AssemblyArguments<Number> &a, const int local, const int p, const Matrix &J, Number *to)
    {
      const Number det     = determinant(J);
      const Matrix inverse = PatchFEM::inverse(J, det);
      const Number weight =
          affine ? det : det * static_cast<Number>(a.batches.batch[a.computed_batch].reference.weights[p]);
      const Number *k = a.coefficients.at(a.batches, a.computed_batch, local, p);
      if constexpr (inner)
      {
        // The form is linear in a moment.
        const Number factor = Form::finish(k, SmallMatrix<1, 1, Number>{{{weight}}})(0, 0);
        int          e      = p * at_point;
        PATCHFEM_UNROLL
        for (int b = 0; b < dim; ++b)
          PATCHFEM_UNROLL
        for (int c = b; c < dim; ++c)
        {
          Number sum = 0;
          PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
            sum += inverse(b, d) * inverse(c, d);
          to[e++] = factor * sum;
        }
      }
      else
      {
        PATCHFEM_UNROLL
        for (int e = 0; e < dim * dim; ++e)
          to[p * (dim * dim + 1) + e] = inverse(e / dim, e % dim);
        to[p * (dim * dim + 1) + dim * dim] = weight;
        if (p == 0)
          for (int e = 0; e < Form::n_coefficients; ++e)
            to[n_points * (dim * dim + 1) + e] = k[e];
      }
    }

    /** The block of a cell with this @p record and a pair of shape functions with these integrals. */
    static PATCHFEM_INLINE Block block(const Number *record, const Number (&R)[n_integrals])
    {
      if constexpr (inner)
      {
        Number sum = record[0] * R[0];
        PATCHFEM_UNROLL
        for (int e = 1; e < n_integrals; ++e)
          sum += record[e] * R[e];
        return {{{sum}}};
      }
      else
      {
        Matrix moments{};
        PATCHFEM_UNROLL
        for (int p = 0; p < n_points; ++p)
        {
          const Number *inverse = record + p * (dim * dim + 1);
          Matrix        scaled; // w det J R J^-1
          PATCHFEM_UNROLL
          for (int a = 0; a < dim; ++a)
            PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
          {
            Number sum = R[p * at_point + a * dim] * inverse[d];
            PATCHFEM_UNROLL
            for (int b = 1; b < dim; ++b)
              sum += R[p * at_point + a * dim + b] * inverse[b * dim + d];
            scaled(a, d) = inverse[dim * dim] * sum;
          }
          PATCHFEM_UNROLL
          for (int c = 0; c < dim; ++c)
            PATCHFEM_UNROLL
          for (int d = 0; d < dim; ++d)
            PATCHFEM_UNROLL
          for (int a = 0; a < dim; ++a)
            moments(c, d) += inverse[a * dim + c] * scaled(a, d);
        }
        return Form::finish(record + n_points * (dim * dim + 1), moments);
      }
    }
  };
} // namespace PatchFEM::kernels
