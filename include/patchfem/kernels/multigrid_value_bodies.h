// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_multigrid_value_bodies_h
#define patchfem_kernels_multigrid_value_bodies_h

#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/multigrid_pattern_bodies.h>

/**
 * @file
 * Bodies (see parallel_for.h) that compute the values of smoothed aggregation (Vanek, Mandel, Brezina 1996). n_c is the
 * number of unknowns of a node, n_m that of modes, which is the number of unknowns of a node on the next level.
 * Sums run in the order of the columns, in double.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /**
     * The modes of unknowns that no other unknown depends on (Dirichlet values, padding of coarse nodes) become 0: the
     * coarse space must not move them. A row of the matrix whose off-diagonal entries all vanish marks such an unknown.
     */
    template <typename Number>
    struct MaskDecoupledBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      int                       n_modes;
      double                   *modes; ///< [node][component][mode]

      PATCHFEM_INLINE void operator()(const std::int64_t unknown) const
      {
        const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
        for (int k = 0; k < lengths[row]; ++k)
        {
          const bool diagonal = A.columns[A.block_index(row, k)] == row;
          for (int b = 0; b < A.block_columns; ++b)
            if (!(diagonal && a == b) && A.values[A.value_index(row, k, a, b)] != Number(0))
              return;
        }
        for (int m = 0; m < n_modes; ++m)
          modes[unknown * n_modes + m] = 0.;
      }
    };

    /**
     * The tentative prolongator of one aggregate: its rows of B become Q R by modified Gram-Schmidt, each column
     * orthogonalised twice. A column that then is shorter than @p drop_tolerance times what it was depends on the
     * others: its column of Q and its row of R are zero. Reads and writes n_m (n_m + 3) times the rows of the
     * aggregate.
     */
    struct AggregateQRBody
    {
      const int    *offsets; ///< [aggregate + 1]
      const int    *nodes;   ///< by aggregate
      int           n_components;
      int           n_modes;
      const double *modes;          ///< B, [node][component][mode]
      double       *tentative;      ///< Q, [node][component][mode]; 0 at nodes without an aggregate
      double       *coarse_modes;   ///< R, [aggregate][mode][mode]
      int          *dropped;        ///< [aggregate], bit m: mode m was dropped
      int          *n_dropped;      ///< starts at 0
      double        drop_tolerance; ///< relative

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int     first = offsets[i], last = offsets[i + 1];
        double       *R    = coarse_modes + i * n_modes * n_modes;
        int           mask = 0;
        const auto    at   = [&](const int k) { return std::int64_t(nodes[k]) * n_components * n_modes; };
        constexpr int two  = 2;
        for (int e = 0; e < n_modes * n_modes; ++e)
          R[e] = 0.;
        for (int m = 0; m < n_modes; ++m)
        {
          double before = 0.;
          for (int k = first; k < last; ++k)
            for (int a = 0; a < n_components; ++a)
            {
              const std::int64_t e = at(k) + a * n_modes + m;
              before += modes[e] * modes[e];
              tentative[e] = modes[e];
            }
          for (int pass = 0; pass < two; ++pass)
            for (int l = 0; l < m; ++l)
            {
              double dot = 0.;
              for (int k = first; k < last; ++k)
                for (int a = 0; a < n_components; ++a)
                  dot += tentative[at(k) + a * n_modes + l] * tentative[at(k) + a * n_modes + m];
              for (int k = first; k < last; ++k)
                for (int a = 0; a < n_components; ++a)
                  tentative[at(k) + a * n_modes + m] -= dot * tentative[at(k) + a * n_modes + l];
              R[l * n_modes + m] += dot;
            }
          double after = 0.;
          for (int k = first; k < last; ++k)
            for (int a = 0; a < n_components; ++a)
              after += tentative[at(k) + a * n_modes + m] * tentative[at(k) + a * n_modes + m];
          const double norm  = std::sqrt(after);
          const bool   keep  = norm > drop_tolerance * std::sqrt(before);
          const double scale = keep ? 1. / norm : 0.;
          for (int k = first; k < last; ++k)
            for (int a = 0; a < n_components; ++a)
              tentative[at(k) + a * n_modes + m] *= scale;
          R[m * n_modes + m] = keep ? norm : 0.;
          if (!keep)
          {
            mask |= 1 << m;
            atomic_increment(n_dropped);
          }
        }
        dropped[i] = mask;
      }
    };

    /**
     * One block of P = (I - omega D^-1 A) Q, Q the tentative prolongator. Index @p width * i + p is block p of row i.
     * Each thread reads row i of A as far as its columns lie in the aggregate. static_nc, static_nm = 0: at run time.
     */
    template <int static_nc, int static_nm, typename Number>
    struct ProlongatorBody
    {
      SlicedEllpackView<Number> A;
      const int                *A_lengths;
      const int                *aggregate_of_node;
      const double             *tentative;
      BlockDiagonalView<Number> D; ///< D^-1
      const double             *omega;
      SlicedEllpackView<Number> P;
      const int                *P_lengths;
      int                       width;

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        constexpr int storage = static_nc > 0 ? static_nc * static_nm : max_block_size * max_block_size;
        const int     nc = static_nc > 0 ? static_nc : P.block_rows, nm = static_nm > 0 ? static_nm : P.block_columns;
        const int     i = static_cast<int>(index / width), p = static_cast<int>(index % width);
        if (p >= P_lengths[i])
          return;
        const int aggregate = P.columns[P.block_index(i, p)];
        double    sum[storage];
        for (int e = 0; e < nc * nm; ++e)
          sum[e] = 0.;
        for (int k = 0; k < A_lengths[i]; ++k)
        {
          const int j = A.columns[A.block_index(i, k)];
          if (aggregate_of_node[j] != aggregate)
            continue;
          const double *Q = tentative + std::int64_t(j) * nc * nm;
          for (int a = 0; a < nc; ++a)
            for (int b = 0; b < nc; ++b)
            {
              const double value = static_cast<double>(A.values[A.value_index(i, k, a, b)]);
              for (int m = 0; m < nm; ++m)
                sum[a * nm + m] += value * Q[b * nm + m];
            }
        }
        const double *Q      = tentative + std::int64_t(i) * nc * nm;
        const bool    own    = aggregate_of_node[i] == aggregate;
        const double  factor = omega[0];
        for (int a = 0; a < nc; ++a)
          for (int m = 0; m < nm; ++m)
          {
            double scaled = 0.;
            for (int c = 0; c < nc; ++c)
            {
              const int high = a > c ? a : c, low = a > c ? c : a;
              scaled += static_cast<double>(D.values[(high * (high + 1) / 2 + low) * D.stride + i]) * sum[c * nm + m];
            }
            P.values[P.value_index(i, p, a, m)] = static_cast<Number>((own ? Q[a * nm + m] : 0.) - factor * scaled);
          }
      }
    };

    /** R = P^T, one row of P each. */
    template <typename Number>
    struct TransposeBody
    {
      SlicedEllpackView<Number> P;
      const int                *P_lengths;
      SlicedEllpackView<Number> R;
      const int                *R_lengths;

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        const int i = static_cast<int>(index);
        for (int p = 0; p < P_lengths[i]; ++p)
        {
          const int j = P.columns[P.block_index(i, p)];
          const int q = find_block(R, R_lengths[j], j, i);
          for (int a = 0; a < P.block_rows; ++a)
            for (int m = 0; m < P.block_columns; ++m)
              R.values[R.value_index(j, q, m, a)] = P.values[P.value_index(i, p, a, m)];
        }
      }
    };

    /**
     * One block of A P: index @p width * (i - first_row) + p is block p of row i and the place of its result. A thread
     * walks along row i of A and searches each row of P for its column.
     */
    template <int static_nc, int static_nm, typename Number>
    struct MatrixProlongatorBody
    {
      SlicedEllpackView<Number> A;
      const int                *A_lengths;
      SlicedEllpackView<Number> P;
      const int                *P_lengths;
      SparsityView              AP;
      int                       first_row;
      int                       width;
      Number                   *values; ///< [row - first_row][width][n_c][n_m]

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        constexpr int storage = static_nc > 0 ? static_nc * static_nm : max_block_size * max_block_size;
        const int     nc = static_nc > 0 ? static_nc : P.block_rows, nm = static_nm > 0 ? static_nm : P.block_columns;
        const int     i = first_row + static_cast<int>(index / width), p = static_cast<int>(index % width);
        if (p >= static_cast<int>(AP.row_offsets[i + 1] - AP.row_offsets[i]))
          return;
        const int column = AP.columns[AP.row_offsets[i] + p];
        double    sum[storage];
        for (int e = 0; e < nc * nm; ++e)
          sum[e] = 0.;
        for (int k = 0; k < A_lengths[i]; ++k)
        {
          const int j = A.columns[A.block_index(i, k)];
          const int q = find_block(P, P_lengths[j], j, column);
          if (q < 0)
            continue;
          for (int b = 0; b < nc; ++b)
            for (int m = 0; m < nm; ++m)
            {
              const double value = static_cast<double>(P.values[P.value_index(j, q, b, m)]);
              for (int a = 0; a < nc; ++a)
                sum[a * nm + m] += static_cast<double>(A.values[A.value_index(i, k, a, b)]) * value;
            }
        }
        Number *out = values + index * nc * nm;
        for (int e = 0; e < nc * nm; ++e)
          out[e] = static_cast<Number>(sum[e]);
      }
    };

    /**
     * Adds to one block of the upper half of R (A P) what the rows [first_row, last_row) of A P contribute. Index
     * @p width * i + p is block p of coarse row i.
     */
    template <int static_nc, int static_nm, typename Number>
    struct CoarseMatrixBody
    {
      SlicedEllpackView<Number> R;
      const int                *R_lengths;
      SparsityView              AP;
      const Number             *AP_values; ///< [row - first_row][AP_width][n_c][n_m]
      int                       AP_width;
      int                       first_row;
      int                       last_row;
      SlicedEllpackView<Number> C;
      const int                *C_lengths;
      int                       width;

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        constexpr int storage = static_nm > 0 ? static_nm * static_nm : max_block_size * max_block_size;
        const int     nc = static_nc > 0 ? static_nc : R.block_columns, nm = static_nm > 0 ? static_nm : R.block_rows;
        const int     i = static_cast<int>(index / width), p = static_cast<int>(index % width);
        if (p >= C_lengths[i])
          return;
        const int column = C.columns[C.block_index(i, p)];
        if (column < i)
          return;

        // The first fine row of this stretch.
        int k = 0, last = R_lengths[i];
        while (k < last)
        {
          const int middle = (k + last) / 2;
          if (R.columns[R.block_index(i, middle)] < first_row)
            k = middle + 1;
          else
            last = middle;
        }
        if (k == R_lengths[i] || R.columns[R.block_index(i, k)] >= last_row)
          return;

        double sum[storage];
        for (int m = 0; m < nm; ++m)
          for (int c = 0; c < nm; ++c)
            sum[m * nm + c] = static_cast<double>(C.values[C.value_index(i, p, m, c)]);
        for (; k < R_lengths[i]; ++k)
        {
          const int j = R.columns[R.block_index(i, k)];
          if (j >= last_row)
            break;
          const std::int64_t begin = AP.row_offsets[j];
          int                first = 0, end = static_cast<int>(AP.row_offsets[j + 1] - begin);
          const int          length = end;
          while (first < end)
          {
            const int middle = (first + end) / 2;
            if (AP.columns[begin + middle] < column)
              first = middle + 1;
            else
              end = middle;
          }
          if (first == length || AP.columns[begin + first] != column)
            continue;
          const Number *block = AP_values + (std::int64_t(j - first_row) * AP_width + first) * nc * nm;
          for (int m = 0; m < nm; ++m)
            for (int b = 0; b < nc; ++b)
            {
              const double value = static_cast<double>(R.values[R.value_index(i, k, m, b)]);
              for (int c = 0; c < nm; ++c)
                sum[m * nm + c] += value * static_cast<double>(block[b * nm + c]);
            }
        }
        for (int m = 0; m < nm; ++m)
          for (int c = 0; c < nm; ++c)
            C.values[C.value_index(i, p, m, c)] = static_cast<Number>(sum[m * nm + c]);
      }
    };

    /**
     * The lower half of a coarse matrix becomes the transpose of the upper one, and the diagonal of dropped modes 1.
     * Index @p width * i + p is block p of row i.
     */
    template <typename Number>
    struct MirrorBody
    {
      SlicedEllpackView<Number> C;
      const int                *C_lengths;
      const int                *dropped; ///< [row], bits
      int                       width;

      PATCHFEM_INLINE void operator()(const std::int64_t index) const
      {
        const int i = static_cast<int>(index / width), p = static_cast<int>(index % width), nm = C.block_rows;
        if (p >= C_lengths[i])
          return;
        const int column = C.columns[C.block_index(i, p)];
        if (column == i)
          for (int m = 0; m < nm; ++m)
          {
            for (int c = 0; c < m; ++c)
              C.values[C.value_index(i, p, m, c)] = C.values[C.value_index(i, p, c, m)];
            if ((dropped[i] >> m) & 1)
              C.values[C.value_index(i, p, m, m)] = Number(1);
          }
        else if (column < i)
        {
          const int q = find_block(C, C_lengths[column], column, i);
          for (int m = 0; m < nm; ++m)
            for (int c = 0; c < nm; ++c)
              C.values[C.value_index(i, p, m, c)] = C.values[C.value_index(column, q, c, m)];
        }
      }
    };

    /**
     * Adds to the diagonal of each diagonal block, [(a * b + a) * n + i], the absolute values of its row outside of the
     * block: M - A is then positive semidefinite (Baker, Falgout, Kolev, Yang 2011, in blocks).
     */
    template <typename Number>
    struct AddRowSumsBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      Number                   *blocks;

      PATCHFEM_INLINE void operator()(const std::int64_t unknown) const
      {
        const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
        double    sum = 0.;
        for (int k = 0; k < lengths[row]; ++k)
          if (A.columns[A.block_index(row, k)] != row)
            for (int b = 0; b < A.block_columns; ++b)
            {
              const double value = static_cast<double>(A.values[A.value_index(row, k, a, b)]);
              sum += value < 0. ? -value : value;
            }
        Number &entry = blocks[std::int64_t(a * A.block_rows + a) * A.n_rows + row];
        entry         = static_cast<Number>(static_cast<double>(entry) + sum);
      }
    };

    /** The entries of one scalar row into a dense matrix that starts at 0. */
    template <typename Number>
    struct ToDenseBody
    {
      SlicedEllpackView<Number> A;
      const int                *lengths;
      int                       n;     ///< scalar rows
      double                   *dense; ///< [n][n]

      PATCHFEM_INLINE void operator()(const std::int64_t unknown) const
      {
        const int row = static_cast<int>(unknown / A.block_rows), a = static_cast<int>(unknown % A.block_rows);
        double   *out = dense + unknown * n;
        for (int k = 0; k < lengths[row]; ++k)
          for (int b = 0; b < A.block_columns; ++b)
            out[A.columns[A.block_index(row, k)] * A.block_columns + b] =
                static_cast<double>(A.values[A.value_index(row, k, a, b)]);
      }
    };

    /** The rectangular blocks of prolongators that have variants of their own: run(n_c, n_m), or run(0, 0). */
    template <typename Run>
    void with_prolongator_sizes(const int n_components, const int n_modes, const Run &run)
    {
      using std::integral_constant;
      switch (n_components * 16 + n_modes)
      {
      case 0x11:
        return run(integral_constant<int, 1>(), integral_constant<int, 1>());
      case 0x22:
        return run(integral_constant<int, 2>(), integral_constant<int, 2>());
      case 0x23:
        return run(integral_constant<int, 2>(), integral_constant<int, 3>());
      case 0x33:
        return run(integral_constant<int, 3>(), integral_constant<int, 3>());
      case 0x36:
        return run(integral_constant<int, 3>(), integral_constant<int, 6>());
      case 0x66:
        return run(integral_constant<int, 6>(), integral_constant<int, 6>());
      default:
        return run(integral_constant<int, 0>(), integral_constant<int, 0>());
      }
    }
  } // namespace kernels
} // namespace PatchFEM

#endif
