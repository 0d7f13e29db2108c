// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/multigrid_pattern_bodies.h"
#include <patchfem/kernels/jacobi.h>

/**
 * @file
 * The steps of smoothed aggregation (Vanek, Mandel, Brezina 1996) that cost something. n_c is the number of unknowns of a
 * node, n_m that of modes. Three products of matrices of blocks make the values of a coarse matrix; what is multiplied
 * with what in a row of them is said once (coarsening::ProductRow). The host walks along rows and knows the place of each
 * column from a table; it sums up in double, the device in Number, both in the same order.
 *
 * On the device one aggregate or one row is the work of a team (see team.h). In the products a team owns a row of the
 * result. For some neighbours at once it notes on which block of its own row each block of a neighbour's row falls; then
 * it walks along the neighbours in ascending order and adds. The rounding of the values of A that sums in Number are made
 * of is of the same size. static_nc, static_nm = 0: at run time.
 *
 * P and A P are scalar rows, block row by block row: value (a, m) of block p of a block row of n blocks, before which
 * there are `begin` blocks, is values[(begin * n_c + a * n + p) * n_m + m]. So the members that share a neighbour's row
 * read neighbouring values.
 *
 * The shared memory and the tags of the first-level cache bind on an H200: members and bytes of scratch memory were
 * chosen by measurements with elasticity on trilinear elements, where a node has neighbours in 4 aggregates, A P has 10
 * blocks in a row and the coarse matrix 38.
 */
namespace PatchFEM::kernels
{
  /** The rectangular blocks of prolongators that have variants of their own: run(n_c, n_m), or run(0, 0). */
  template <typename Run>
  void with_prolongator_sizes(const int n_components, const int n_modes, const Run &run)
  {
    if (!with_block_size<0x11, 0x22, 0x23, 0x33, 0x36, 0x66>(n_components, n_modes, run))
      run(std::integral_constant<int, 0>(), std::integral_constant<int, 0>());
  }

  /**
   * The tentative prolongator of one aggregate: its rows of B become Q R by modified Gram-Schmidt, each column
   * orthogonalised twice. A column that then is shorter than @p drop_tolerance times what it was depends on the others:
   * its column of Q and its row of R are zero. Each member keeps its rows in the scratch memory if they fit, else in Q.
   */
  struct AggregateQRBody
  {
    static constexpr int team_size = 32;
    static constexpr int capacity  = 1536; ///< 256 rows of six modes

    struct Scratch
    {
      double values[capacity];
    };

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

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t i, Scratch &scratch) const
    {
      const int n_rows = (offsets[i + 1] - offsets[i]) * n_components;
      if (n_rows * n_modes <= capacity)
        factorise(team, i, n_rows,
                  [&](const int row, const int m) -> double & { return scratch.values[m * n_rows + row]; });
      else
        factorise(team, i, n_rows, [&](const int row, const int m) -> double & { return tentative[at(i, row) + m]; });
    }

    PATCHFEM_INLINE std::int64_t at(const std::int64_t i, const int row) const
    {
      return (std::int64_t(nodes[offsets[i] + row / n_components]) * n_components + row % n_components) * n_modes;
    }

    /** @p q(row, mode) is where an entry of Q lives meanwhile; only the member that owns the row touches it. */
    template <typename Team, typename Entry>
    PATCHFEM_INLINE void factorise(const Team &team, const std::int64_t i, const int n_rows, const Entry &q) const
    {
      double       *R     = coarse_modes + i * n_modes * n_modes;
      const int     first = team.rank();
      int           mask  = 0;
      constexpr int two   = 2;
      const auto    dot   = [&](const int l, const int m) {
        double sum = 0.;
        for (int row = first; row < n_rows; row += Team::size)
          sum += q(row, l) * q(row, m);
        return team.sum(sum);
      };
      for (int row = first; row < n_rows; row += Team::size)
        for (int m = 0; m < n_modes; ++m)
          q(row, m) = modes[at(i, row) + m];
      for (int m = 0; m < n_modes; ++m)
      {
        const double before = dot(m, m);
        for (int l = 0; l < m; ++l)
          if (first == 0)
            R[m * n_modes + l] = R[l * n_modes + m] = 0.;
        for (int pass = 0; pass < two; ++pass)
          for (int l = 0; l < m; ++l)
          {
            const double part = dot(l, m);
            for (int row = first; row < n_rows; row += Team::size)
              q(row, m) -= part * q(row, l);
            if (first == 0)
              R[l * n_modes + m] += part;
          }
        const double norm  = std::sqrt(dot(m, m));
        const bool   keep  = norm > drop_tolerance * std::sqrt(before);
        const double scale = keep ? 1. / norm : 0.;
        for (int row = first; row < n_rows; row += Team::size)
          q(row, m) *= scale;
        if (first == 0)
          R[m * n_modes + m] = keep ? norm : 0.;
        if (!keep)
          mask |= 1 << m;
        if (!keep && first == 0)
          atomic_increment(n_dropped);
      }
      for (int row = first; row < n_rows; row += Team::size)
        for (int m = 0; m < n_modes; ++m)
          tentative[at(i, row) + m] = q(row, m);
      if (first == 0)
        dropped[i] = mask;
    }
  };

  template <typename Number>
  struct CoarseningView
  {
    SlicedEllpackView<Number> A;
    int                       n_c, n_m;
    SparsityView              P;
    Number                   *P_values;
    SlicedPatternView         R;
    SparsityView              AP;
    SparsityView              C_pattern; ///< of R A P
    SlicedEllpackView<Number> C;
    int                       P_width, AP_width, C_width; ///< of rows, at most
    int                       first_whole;                ///< rows of A P from here on are needed whole, by other ranks
    const int                *is_whole;                   ///< [row], if not nullptr: not 0 of those that are, instead
  };

  /** What P = (I - omega D^-1 A) Q is made of beside A; all is memory of the back end. */
  template <typename Number>
  struct TentativeView
  {
    const int                *aggregate_of_node; ///< [node], -1 where none
    const Number             *values;            ///< Q, [node][component][mode]
    BlockDiagonalView<Number> D;                 ///< D^-1
    const double             *omega;
  };

  /** Rows [first, last) of A P, whose values start at the first entry of row first. */
  template <typename Number>
  struct ProductStretch
  {
    int     first, last;
    Number *values;
    int     n_parts; ///< into which the device cuts the rows of R, see n_coarse_parts()
    double *partial; ///< [part][entry of C_pattern][n_m][n_m], or nullptr for one part
  };

  namespace coarsening
  {
    /** Modes that a member takes of a block: two where they can be read together. */
    constexpr int n_modes_each(const int n_modes)
    {
      return n_modes == 2 || n_modes == 6 ? 2 : 1;
    }

    /** Members whose shares make up one block. */
    constexpr int n_groups(const int n_modes)
    {
      return (n_modes > 0 ? n_modes : max_block_size) / n_modes_each(n_modes);
    }

    /** Members of a team that has @p n_blocks blocks at a time to share. */
    constexpr int team_size(const int n_modes, const int n_blocks)
    {
      int size = 4;
      while (size < 32 && 3 * size < 2 * n_groups(n_modes) * n_blocks)
        size *= 2;
      return size;
    }

    /** to[0...n) = from[0...n); two are read together, so that an even number must lie before them. */
    template <int n, typename From, typename Number>
    PATCHFEM_INLINE void read(const From *from, Number *to)
    {
#if defined(__CUDA_ARCH__)
      if constexpr (n == 2)
      {
        struct alignas(2 * sizeof(From)) Two
        {
          From first, second;
        };
        const Two two = *reinterpret_cast<const Two *>(from);
        to[0]         = static_cast<Number>(two.first);
        to[1]         = static_cast<Number>(two.second);
      }
      else
#endif
        for (int e = 0; e < n; ++e)
          to[e] = static_cast<Number>(from[e]);
    }

    /** The other way. */
    template <int n, typename Number>
    PATCHFEM_INLINE void write(const Number *from, Number *to)
    {
#if defined(__CUDA_ARCH__)
      if constexpr (n == 2)
      {
        struct alignas(2 * sizeof(Number)) Two
        {
          Number first, second;
        };
        *reinterpret_cast<Two *>(to) = {from[0], from[1]};
      }
      else
#endif
        for (int e = 0; e < n; ++e)
          to[e] = from[e];
    }

    /** The first of list[first...n) that is not below @p value. */
    PATCHFEM_INLINE int search(const int *list, int first, int n, const int value)
    {
      while (first < n)
      {
        const int middle = (first + n) / 2;
        if (list[middle] < value)
          first = middle + 1;
        else
          n = middle;
      }
      return first;
    }

    /** A block in scalar rows: value (a, m) is values[first + a * pitch + m]. */
    struct alignas(16) BlockPosition
    {
      std::int64_t first;
      int          pitch;
    };

    /** The blocks of a block row in scalar rows, side by side, by ascending columns. */
    struct BlockRow
    {
      std::int64_t first; ///< where the first block stands
      int          pitch;
      int          n_blocks;
      const int   *columns;
    };

    /** Row @p i of a matrix with @p n_rows scalar rows in a block, of which the rows before @p first_row are left out. */
    PATCHFEM_INLINE BlockRow
    block_row(const SparsityView &pattern, const int i, const int first_row, const int n_rows, const int n_modes)
    {
      const std::int64_t begin = pattern.row_offsets[i];
      const int          n     = static_cast<int>(pattern.row_offsets[i + 1] - begin);
      return {(begin - pattern.row_offsets[first_row]) * (n_rows * n_modes), n * n_modes, n, pattern.columns + begin};
    }

    /**
     * A row of a product of matrices of blocks, sum_k left(k) right(k), where left(k) is a block of n_rows() x n_inner()
     * values and right(k) a row of blocks of n_inner() x n_m() values, which add to those blocks of the result that have
     * their column.
     *
     * What derives from it has right(k, left), the BlockRow of right(k), which sets what read_left(k, left, values) needs.
     */
    template <int static_nc, int static_nm, typename Number>
    struct ProductRow
    {
      using value_type = Number;

      const CoarseningView<Number> &view;
      const Number                 *values; ///< blocks of all right rows
      BlockRow                      result;
      int                           k_first, k_last;
      int                           begin = 0; ///< blocks of the result before it are not wanted

      PATCHFEM_INLINE int n_c() const { return static_nc > 0 ? static_nc : view.n_c; }
      PATCHFEM_INLINE int n_m() const { return static_nm > 0 ? static_nm : view.n_m; }
      PATCHFEM_INLINE int n_inner() const { return n_c(); }

      PATCHFEM_INLINE ProductRow(const CoarseningView<Number> &view, const Number *values) : view(view), values(values)
      {}
    };

    /**
     * The scratch memory of sum_products(): the sums of some blocks of a row of the result, and notes on some terms,
     * namely which of those blocks each block of the right factor adds to. A member's share is about @p bytes: more of
     * them save sweeps over the terms of long rows, fewer let more teams work at once.
     */
    template <int static_rows, int static_inner, int static_nm, int team_size_, int bytes, typename Number>
    struct Sums
    {
      static constexpr int team_size = team_size_;
      static constexpr int n_terms   = team_size < 8 ? 8 : team_size;
      static constexpr int rows      = static_rows > 0 ? static_rows : max_block_size;
      static constexpr int inner     = static_inner > 0 ? static_inner : max_block_size;
      static constexpr int nm        = static_nm > 0 ? static_nm : max_block_size;
      static constexpr int each      = n_modes_each(static_nm);
      static constexpr int fit =
          (bytes * team_size - n_terms * 32 - 16) / int(rows * nm * sizeof(Number) + sizeof(int) + n_terms);
      static constexpr int n_blocks = fit < 32 ? fit : 32;
      static_assert(n_blocks >= 1, "a team's share of the scratch memory is too small");

      struct alignas(16) Term
      {
        std::int64_t right; ///< first value of the first block that counts
        int          pitch;
        int          count; ///< blocks that count
      };

      static constexpr int used = n_terms * (sizeof(Term) + sizeof(BlockPosition) + n_blocks) +
                                  rows * n_blocks * nm * sizeof(Number) + n_blocks * sizeof(int);
      // Teams of a warp that add to the same place use different banks of the shared memory.
      static constexpr int padding = 16 + ((team_size * each * int(sizeof(Number)) - used - 16) % 128 + 128) % 128;

      Term          terms[n_terms];
      BlockPosition left[n_terms];                   ///< for row.read_left()
      alignas(16) Number sums[rows * n_blocks * nm]; ///< [row][block][mode], so that neighbours use different banks
      int           columns[n_blocks];
      unsigned char places[n_terms][n_blocks];
      unsigned char unused[padding];

      PATCHFEM_INLINE static int pitch(const int n_modes) { return n_blocks * n_modes; }
    };

    /**
     * Computes @p row; @p finish(first, n) takes scratch.sums as the blocks [first, first + n) of it.
     *
     * For each term the members share the pairs (block, one or two modes): of the right factor each value is read by one
     * member, neighbours by neighbours, of the left one all values by each. The sums are in the scratch memory, since the
     * place of a pair is known at run time only; each is added to in the order of k.
     */
    template <typename Team, typename Scratch, typename Row, typename Finish>
    PATCHFEM_INLINE void sum_products(const Team &team, Scratch &scratch, const Row &row, const Finish &finish)
    {
      using Number         = typename Row::value_type;
      constexpr int each   = Scratch::each;
      const int     n_rows = row.n_rows(), n_inner = row.n_inner(), n_modes = row.n_m();
      const int     groups = n_modes / each, pitch = Scratch::pitch(n_modes), length = row.result.n_blocks;
      for (int first = row.begin; first < length; first += Scratch::n_blocks)
      {
        const int n = Scratch::n_blocks < length - first ? Scratch::n_blocks : length - first;
        team.sync();
        for (int e = team.rank(); e < n_rows * pitch; e += Team::size)
          scratch.sums[e] = Number(0);
        for (int p = team.rank(); p < n; p += Team::size)
          scratch.columns[p] = row.result.columns[first + p];
        team.sync();
        for (int k0 = row.k_first; k0 < row.k_last; k0 += Scratch::n_terms)
        {
          const int n_here = Scratch::n_terms < row.k_last - k0 ? Scratch::n_terms : row.k_last - k0;
          for (int s = team.rank(); s < n_here; s += Team::size)
          {
            const BlockRow right = row.right(k0 + s, scratch.left[s]);
            int            q = search(right.columns, 0, right.n_blocks, scratch.columns[0]), count = 0;
            const int      q_first = q;
            for (int p = 0; q < right.n_blocks; ++q, ++count) // both lists ascend
            {
              p = search(scratch.columns, p, n, right.columns[q]);
              if (p == n || scratch.columns[p] != right.columns[q])
                break; // of a row of P, which may leave blocks out, there is one term
              scratch.places[s][count] = static_cast<unsigned char>(p);
            }
            scratch.terms[s] = {right.first + q_first * n_modes, right.pitch, count};
          }
          team.sync();
          for (int s = 0; s < n_here; ++s)
          {
            const typename Scratch::Term term    = scratch.terms[s];
            const int                    n_items = term.count * groups;
            const Number                *right   = row.values + term.right;
            Number                       left[Scratch::rows * Scratch::inner];
            row.read_left(k0 + s, scratch.left[s], left);
            for (int item = team.rank(); item < n_items; item += Team::size)
            {
              const int     block = item / groups, m = (item - block * groups) * each;
              const Number *from = right + item * each;
              Number       *to   = scratch.sums + scratch.places[s][block] * n_modes + m;
              Number        value[Scratch::inner][each];
              for (int b = 0; b < n_inner; ++b)
                read<each>(from + b * term.pitch, value[b]);
              for (int a = 0; a < n_rows; ++a)
              {
                Number sum[each];
                read<each>(to + a * pitch, sum);
                for (int b = 0; b < n_inner; ++b)
                  for (int e = 0; e < each; ++e)
                    sum[e] += left[a * n_inner + b] * value[b][e];
                write<each>(sum, to + a * pitch);
              }
            }
            team.sync();
          }
        }
        finish(first, n);
      }
    }

    /** One whose left factors are the blocks of row @p i of A. */
    template <int static_nc, int static_nm, typename Number>
    struct MatrixRow : ProductRow<static_nc, static_nm, Number>
    {
      const Number *left; ///< the first block of the row
      const int    *left_columns;
      std::int64_t  height;

      PATCHFEM_INLINE MatrixRow(const CoarseningView<Number> &view, const int i, const Number *right)
          : ProductRow<static_nc, static_nm, Number>(view, right), left(view.A.values + view.A.value_index(i, 0, 0, 0)),
            left_columns(view.A.columns + view.A.block_index(i, 0)), height(view.A.slice_height)
      {
        this->k_first = 0;
        this->k_last  = view.A.row_lengths[i];
      }

      PATCHFEM_INLINE int n_rows() const { return this->n_c(); }
      PATCHFEM_INLINE int column(const int k) const { return left_columns[k * height]; }

      template <typename Value>
      PATCHFEM_INLINE void read_left(const int k, const BlockPosition &, Value *block) const
      {
        const int     n    = n_rows() * n_rows();
        const Number *from = left + k * (height * n);
        for (int e = 0; e < n; ++e)
          block[e] = static_cast<Value>(from[e * height]);
      }
    };

    /** Row i of A Q, whose right factors have one block in a row. */
    template <int static_nc, int static_nm, typename Number>
    struct ProlongatorRow : MatrixRow<static_nc, static_nm, Number>
    {
      const int *aggregate_of_node;

      PATCHFEM_INLINE ProlongatorRow(const CoarseningView<Number> &view, const TentativeView<Number> &Q, const int i)
          : MatrixRow<static_nc, static_nm, Number>(view, i, Q.values), aggregate_of_node(Q.aggregate_of_node)
      {
        this->result = block_row(view.P, i, 0, this->n_c(), this->n_m());
      }

      PATCHFEM_INLINE BlockRow right(const int k, BlockPosition &) const
      {
        const int j = this->column(k), nm = this->n_m();
        return {std::int64_t(j) * (this->n_c() * nm), nm, aggregate_of_node[j] >= 0 ? 1 : 0, aggregate_of_node + j};
      }
    };

    /** Row i of A P; the upper half of R (A P) has no use for columns before the first of the row of P. */
    template <int static_nc, int static_nm, typename Number>
    struct MatrixProlongatorRow : MatrixRow<static_nc, static_nm, Number>
    {
      PATCHFEM_INLINE
      MatrixProlongatorRow(const CoarseningView<Number> &view, const ProductStretch<Number> &rows, const int i)
          : MatrixRow<static_nc, static_nm, Number>(view, i, view.P_values)
      {
        const std::int64_t first = view.P.row_offsets[i];
        this->result             = block_row(view.AP, i, rows.first, this->n_c(), this->n_m());
        if (view.is_whole != nullptr ? view.is_whole[i] != 0 : i >= view.first_whole)
          return;
        this->begin = first == view.P.row_offsets[i + 1]
                          ? this->result.n_blocks
                          : search(this->result.columns, 0, this->result.n_blocks, view.P.columns[first]);
      }

      PATCHFEM_INLINE BlockRow right(const int k, BlockPosition &) const
      {
        return block_row(this->view.P, this->column(k), 0, this->n_c(), this->n_m());
      }
    };

    /** What share @p part of row i of R contributes to row i of the upper half of R (A P). */
    template <int static_nc, int static_nm, typename Number>
    struct CoarseRow : ProductRow<static_nc, static_nm, Number>
    {
      const ProductStretch<Number> &rows;
      int                           i;

      PATCHFEM_INLINE
      CoarseRow(const CoarseningView<Number> &view, const ProductStretch<Number> &rows, const int i, const int part)
          : ProductRow<static_nc, static_nm, Number>(view, rows.values), rows(rows), i(i)
      {
        const int first = view.R.lower_bound(i, rows.first), n = view.R.lower_bound(i, rows.last) - first;
        this->k_first = first + static_cast<int>(std::int64_t(n) * part / rows.n_parts);
        this->k_last  = first + static_cast<int>(std::int64_t(n) * (part + 1) / rows.n_parts);
        this->result  = block_row(view.C_pattern, i, 0, n_rows(), n_rows());
        this->begin   = n == 0 ? this->result.n_blocks : search(this->result.columns, 0, this->result.n_blocks, i);
      }

      PATCHFEM_INLINE int n_rows() const { return this->n_m(); }

      /** @p left becomes the block of P in the same fine row. */
      PATCHFEM_INLINE BlockRow right(const int k, BlockPosition &left) const
      {
        const auto    &view = this->view;
        const int      j = view.R.column(i, k), nc = this->n_c(), nm = this->n_m();
        const BlockRow P = block_row(view.P, j, 0, nc, nm);
        left             = {P.first + search(P.columns, 0, P.n_blocks, i) * nm, P.pitch};
        return block_row(view.AP, j, rows.first, nc, nm);
      }

      /** Its transpose. */
      template <typename Value>
      PATCHFEM_INLINE void read_left(int, const BlockPosition &at, Value *left) const
      {
        constexpr int each = n_modes_each(static_nm);
        const int     nc = this->n_c(), nm = this->n_m();
        for (int b = 0; b < nc; ++b)
          for (int m = 0; m < nm; m += each)
          {
            Value value[each];
            read<each>(this->view.P_values + at.first + b * at.pitch + m, value);
            for (int e = 0; e < each; ++e)
              left[(m + e) * nc + b] = value[e];
          }
      }
    };
  } // namespace coarsening

  /** The row of P = (I - omega D^-1 A) Q, Q the tentative prolongator. */
  template <int static_nc, int static_nm, typename Number>
  struct ProlongatorBody
  {
    static constexpr int team_size = coarsening::team_size(static_nm, static_nc == 0 || static_nc > 3 ? 2 : 1);
    static constexpr int bytes     = sizeof(Number) == 8 ? 350 : 200;
    using Scratch                  = coarsening::Sums<static_nc, static_nc, static_nm, team_size, bytes, Number>;

    CoarseningView<Number> view;
    TentativeView<Number>  Q;

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &scratch) const
    {
      constexpr int each = Scratch::each;
      const int     i = static_cast<int>(index), own = Q.aggregate_of_node[i];
      const coarsening::ProlongatorRow<static_nc, static_nm, Number> row(view, Q, i);
      const int                                                      nc = row.n_c(), nm = row.n_m();
      const Number                                                  *Q_i = Q.values + std::int64_t(i) * (nc * nm);
      coarsening::sum_products(team, scratch, row, [&](const int first, const int n) {
        Number d[Scratch::rows * Scratch::rows];
        for (int a = 0; a < nc; ++a)
          for (int c = 0; c <= a; ++c)
            d[a * nc + c] = d[c * nc + a] =
                static_cast<Number>(Q.omega[0]) * Q.D.values[(a * (a + 1) / 2 + c) * Q.D.stride + i];
        for (int item = team.rank(); item < n * (nm / each); item += Team::size)
        {
          const bool    is_own = scratch.columns[item / (nm / each)] == own;
          const int     m      = item % (nm / each) * each;
          const Number *sums   = scratch.sums + item * each;
          for (int a = 0; a < nc; ++a)
          {
            Number value[each], sum[each];
            for (int e = 0; e < each; ++e)
              value[e] = Number(0);
            if (is_own)
              coarsening::read<each>(Q_i + a * nm + m, value);
            for (int c = 0; c < nc; ++c)
            {
              coarsening::read<each>(sums + c * Scratch::pitch(nm), sum);
              for (int e = 0; e < each; ++e)
                value[e] -= d[a * nc + c] * sum[e];
            }
            coarsening::write<each>(value,
                                    view.P_values + row.result.first + a * row.result.pitch + first * nm + item * each);
          }
        }
      });
    }
  };

  /** Item i is row rows.first + i of A P, as far as the coarse matrix needs it: see MatrixProlongatorRow. */
  template <int static_nc, int static_nm, typename Number>
  struct MatrixProlongatorBody
  {
    static constexpr int team_size = coarsening::team_size(static_nm, static_nc > 3 ? 5 : 3);
    static constexpr int bytes     = sizeof(Number) == 8 ? 370 : 185;
    using Scratch                  = coarsening::Sums<static_nc, static_nc, static_nm, team_size, bytes, Number>;

    CoarseningView<Number> view;
    ProductStretch<Number> rows;

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &scratch) const
    {
      constexpr int                                                        each = Scratch::each;
      const coarsening::MatrixProlongatorRow<static_nc, static_nm, Number> row(view, rows,
                                                                               rows.first + static_cast<int>(index));
      const int                                                            nc = row.n_c(), nm = row.n_m();
      coarsening::sum_products(team, scratch, row, [&](const int first, const int n) {
        Number *out = rows.values + row.result.first + first * nm;
        for (int item = team.rank(); item < n * (nm / each); item += Team::size)
          for (int a = 0; a < nc; ++a)
            coarsening::write<each>(scratch.sums + a * Scratch::pitch(nm) + item * each,
                                    out + a * row.result.pitch + item * each);
      });
    }
  };

  /**
   * What a stretch of A P contributes to a row of the upper half of R (A P). Item row * n_parts +
   * part takes a share of the row of R: where there are few coarse rows, that is how the device is filled. With one
   * part the result is added to C, else it goes to partial, which AddPartsBody adds in the order of the parts.
   */
  template <int static_nc, int static_nm, typename Number>
  struct CoarseMatrixBody
  {
    static constexpr int team_size = coarsening::team_size(static_nm, 12);
    static constexpr int bytes     = sizeof(Number) == 8 ? 360 : 170;
    using Scratch                  = coarsening::Sums<static_nm, static_nc, static_nm, team_size, bytes, Number>;

    CoarseningView<Number> view;
    ProductStretch<Number> rows;

    template <typename Team>
    PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &scratch) const
    {
      const int i = static_cast<int>(index / rows.n_parts), part = static_cast<int>(index % rows.n_parts);
      const coarsening::CoarseRow<static_nc, static_nm, Number> row(view, rows, i, part);
      if (row.k_first == row.k_last && rows.partial == nullptr)
        return;
      const int           nm = row.n_m(), size = nm * nm;
      const SparsityView &C_pattern = view.C_pattern;
      coarsening::sum_products(team, scratch, row, [&](const int first, const int n) {
        for (int e = team.rank(); e < n * size; e += Team::size)
        {
          const int    block = e / size, m = e / nm % nm, l = e % nm;
          const Number sum = scratch.sums[m * Scratch::pitch(nm) + block * nm + l];
          if (rows.partial != nullptr)
            rows.partial[(part * C_pattern.row_offsets[C_pattern.n_rows] + C_pattern.row_offsets[i] + first) * size +
                         e] = static_cast<double>(sum);
          else
          {
            Number &entry = view.C.values[view.C.value_index(i, first + block, m, l)];
            entry         = static_cast<Number>(static_cast<double>(entry) + static_cast<double>(sum));
          }
        }
      });
    }
  };

  /**
   * Adds what the parts of the rows of R contributed to the upper half of a coarse matrix, in their order. Index
   * (row * C_width + p) * n_m^2 + e is entry e of block p. Rows without fine rows in the stretch are left.
   */
  template <typename Number>
  struct AddPartsBody
  {
    CoarseningView<Number> view;
    ProductStretch<Number> rows;

    PATCHFEM_INLINE void operator()(const std::int64_t index) const
    {
      const SparsityView &pattern = view.C_pattern;
      const int           nm = view.n_m, size = nm * nm, e = static_cast<int>(index % size);
      const int i = static_cast<int>(index / size / view.C_width), p = static_cast<int>(index / size % view.C_width);
      const std::int64_t begin = pattern.row_offsets[i], n = pattern.row_offsets[pattern.n_rows] * size;
      if (p >= pattern.row_offsets[i + 1] - begin || pattern.columns[begin + p] < i)
        return;
      const int k = view.R.lower_bound(i, rows.first);
      if (k == view.R.row_lengths[i] || view.R.column(i, k) >= rows.last)
        return;
      double sum = 0.;
      for (int part = 0; part < rows.n_parts; ++part)
        sum += rows.partial[part * n + (begin + p) * size + e];
      Number &entry = view.C.values[view.C.value_index(i, p, e / nm, e % nm)];
      entry         = static_cast<Number>(static_cast<double>(entry) + sum);
    }
  };

  /** Block p of a row of R from its transpose in P, whose values read() takes by scalar rows. */
  template <int static_nc, int static_nm, typename Number>
  struct RestrictorBlock
  {
    const int                       dynamic_nc, dynamic_nm;
    const SparsityView              P;
    const Number                   *values;
    const SlicedEllpackView<Number> R;

    PATCHFEM_INLINE void operator()(const int row, const int p) const
    {
      constexpr int      each = coarsening::n_modes_each(static_nm);
      const int          nc = static_nc > 0 ? static_nc : dynamic_nc, nm = static_nm > 0 ? static_nm : dynamic_nm;
      const int          j     = R.column(row, p);
      const std::int64_t begin = P.row_offsets[j], h = R.slice_height;
      const int          length = static_cast<int>(P.row_offsets[j + 1] - begin);
      const int          q      = coarsening::search(P.columns + begin, 0, length, row);
      const Number      *block  = values + begin * (nc * nm) + q * nm;
      Number *const      to     = R.values + R.value_index(row, p, 0, 0);
      for (int a = 0; a < nc; ++a, block += length * nm)
        for (int m = 0; m < nm; m += each)
        {
          Number two[each];
          coarsening::read<each>(block + m, two);
          for (int e = 0; e < each; ++e)
            to[((m + e) * nc + a) * h] = two[e];
        }
    }
  };

  /** Place p of a row of P in slices from its values by scalar rows; beyond the row, and in rows from @p end on, zeros. */
  template <int static_nc, int static_nm, typename Number>
  struct ProlongatorBlock
  {
    const int                       dynamic_nc, dynamic_nm, end;
    const std::int64_t              first_value; ///< blocks before the first of values
    const SparsityView              pattern;
    const Number                   *values;
    const SlicedEllpackView<Number> P;

    PATCHFEM_INLINE void operator()(const int row, const int p) const
    {
      constexpr int each = coarsening::n_modes_each(static_nm);
      const int     nc = static_nc > 0 ? static_nc : dynamic_nc, nm = static_nm > 0 ? static_nm : dynamic_nm;
      const int     h = P.slice_height;
      if (p >= P.slice_width(row / h))
        return;
      const std::int64_t begin  = row < end ? pattern.row_offsets[row] : 0;
      const int          length = row < end ? static_cast<int>(pattern.row_offsets[row + 1] - begin) : 0;
      const Number      *block  = values + (begin - first_value) * (nc * nm) + p * nm;
      Number            *to     = P.values + P.value_index(row, p, 0, 0);
      for (int a = 0; a < nc; ++a, block += length * nm)
        for (int m = 0; m < nm; m += each)
        {
          Number two[each] = {};
          if (p < length)
            coarsening::read<each>(block + m, two);
          for (int e = 0; e < each; ++e, to += h)
            *to = two[e];
        }
    }
  };

  /** P = (I - omega D^-1 A) Q, as far as it has blocks. */
  template <typename Number, typename Where>
  void prolongator(Where, const CoarseningView<Number> &view, const TentativeView<Number> &Q);

  /** Rows of A P without columns before the first of the row of P: the upper half of C has no use for them. */
  template <typename Number, typename Where>
  void matrix_prolongator(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows);

  /** Adds what those rows contribute to the upper half of C. */
  template <typename Number, typename Where>
  void coarse_matrix(Where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows);

  /** The device's way on either side: @p Body on @p n_items items, with what it works on. */
  template <template <int, int, typename> class Body, typename Where, typename Number, typename Arguments>
  void by_teams(const Where                   where,
                const std::int64_t            n_items,
                const CoarseningView<Number> &view,
                const Arguments              &arguments)
  {
    with_prolongator_sizes(view.n_c, view.n_m, [&](auto nc, auto nm) {
      team_for(where, n_items, Body<decltype(nc)::value, decltype(nm)::value, Number>{view, arguments});
    });
  }

  template <typename Where, typename Number>
  void coarse_matrix_by_teams(const Where where, const CoarseningView<Number> &view, const ProductStretch<Number> &rows)
  {
    by_teams<CoarseMatrixBody>(where, std::int64_t(view.C.n_rows) * rows.n_parts, view, rows);
    if (rows.partial != nullptr)
      parallel_for(where, std::int64_t(view.C.n_rows) * view.C_width * view.n_m * view.n_m,
                   AddPartsBody<Number>{view, rows});
  }

  /** Parts the device cuts rows of R into: where coarse rows are few, as many teams as fill 132 multiprocessors. */
  inline int n_coarse_parts(Cuda, const int n_coarse)
  {
    constexpr int wanted = 8192, most = 32;
    return n_coarse >= wanted ? 1 : std::min(most, wanted / std::max(n_coarse, 1));
  }
  inline int n_coarse_parts(Host, int)
  {
    return 1;
  }
} // namespace PatchFEM::kernels
