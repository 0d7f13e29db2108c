// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_coarsening_bodies_h
#define patchfem_kernels_coarsening_bodies_h

#include <patchfem/kernels/multigrid_value_bodies.h>

/**
 * @file
 * Team bodies (see team.h) of the steps of smoothed aggregation (Vanek, Mandel, Brezina 1996) that cost something: one
 * aggregate or one row is the work of a team. n_c is the number of unknowns of a node, n_m that of modes.
 *
 * In the products a member owns pairs (block of the row, mode) and keeps the n_c or n_m sums of each in registers. The
 * team first notes which block of each neighbour's row falls on which block of its own row; then it walks along the
 * neighbours in ascending order, all members read the same block of the one factor and each its column of the other.
 * Blocks are multiplied in Number and summed up in double. static_nc, static_nm = 0: at run time.
 *
 * Between these bodies P and A P are rows of blocks, values[entry of the pattern][n_c][n_m].
 */
namespace PatchFEM
{
  namespace kernels
  {
    /**
     * The tentative prolongator of one aggregate: its rows of B become Q R by modified Gram-Schmidt, each column
     * orthogonalised twice. A column that then is shorter than @p drop_tolerance times what it was depends on the
     * others: its column of Q and its row of R are zero. Each member keeps its rows in the scratch memory if they fit,
     * else in Q.
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

    namespace coarsening
    {
      /** Members for a row: about five blocks are worked on at once. */
      constexpr int team_size(const int n_modes)
      {
        return n_modes == 1 ? 8 : n_modes == 2 || n_modes == 3 ? 16 : 32;
      }

      /** Pairs that a member of a team owns at once, so that the team has one block at least. */
      constexpr int n_pairs(const int wanted, const int size, const int n_modes)
      {
        const int columns = n_modes > 0 ? n_modes : max_block_size, least = (columns + size - 1) / size;
        return wanted > least ? wanted : least;
      }

      /** Which block of each neighbour's row falls on which block of the team's row. */
      template <int static_nm, int size, int pairs>
      struct Places
      {
        static constexpr unsigned short none      = 65535;
        static constexpr int            n_columns = size * pairs / (static_nm > 0 ? static_nm : 1);

        unsigned short entry[n_columns * size]; ///< [block of the row][neighbour]
      };
    } // namespace coarsening

    /** The row of P = (I - omega D^-1 A) Q, Q the tentative prolongator. Reads the row of A once. */
    template <int static_nc, int static_nm, typename Number>
    struct ProlongatorBody
    {
      static constexpr int team_size = coarsening::team_size(static_nm);
      struct Scratch
      {};

      SlicedEllpackView<Number> A;
      const int                *A_lengths;
      const int                *aggregate_of_node;
      const double             *tentative;
      BlockDiagonalView<Number> D; ///< D^-1
      const double             *omega;
      int                       n_c, n_m;
      SparsityView              P;
      Number                   *P_values;

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t i, Scratch &) const
      {
        constexpr int      pairs = coarsening::n_pairs(2, Team::size, static_nm);
        constexpr int      rows = static_nc > 0 ? static_nc : max_block_size, entries = rows * rows;
        const int          nc = static_nc > 0 ? static_nc : n_c, nm = static_nm > 0 ? static_nm : n_m;
        const std::int64_t begin   = P.row_offsets[i];
        const int         *columns = P.columns + begin;
        const int          length = static_cast<int>(P.row_offsets[i + 1] - begin), at_once = Team::size * pairs / nm;
        const int          row = static_cast<int>(i), n_neighbours = A_lengths[i];
        for (int first = 0; first < length; first += at_once)
        {
          const int n = at_once < length - first ? at_once : length - first;
          double    sums[pairs][rows];
          for (int t = 0; t < pairs; ++t)
            for (int a = 0; a < nc; ++a)
              sums[t][a] = 0.;
          for (int k0 = 0; k0 < n_neighbours; k0 += Team::size)
          {
            int neighbour = 0, block = -1;
            if (k0 + team.rank() < n_neighbours)
            {
              neighbour           = A.columns[A.block_index(row, k0 + team.rank())];
              const int aggregate = aggregate_of_node[neighbour];
              if (aggregate >= 0)
                block = static_cast<int>(lower_bound(columns, columns + length, aggregate) - columns) - first;
            }
            const int n_here = n_neighbours - k0 < Team::size ? n_neighbours - k0 : Team::size;
            for (int s = 0; s < n_here; ++s)
            {
              const int j = team.from(neighbour, s), p = team.from(block, s);
              if (p < 0 || p >= n)
                continue;
              Number A_ij[entries];
              for (int a = 0; a < nc; ++a)
                for (int b = 0; b < nc; ++b)
                  A_ij[a * nc + b] = A.values[A.value_index(row, k0 + s, a, b)];
              PATCHFEM_UNROLL
              for (int t = 0; t < pairs; ++t)
              {
                const int pair = team.rank() + t * Team::size;
                if (pair / nm != p)
                  continue;
                const double *Q = tentative + std::int64_t(j) * nc * nm + pair % nm;
                Number        product[rows];
                for (int a = 0; a < nc; ++a)
                  product[a] = Number(0);
                for (int b = 0; b < nc; ++b)
                {
                  const Number value = static_cast<Number>(Q[b * nm]);
                  for (int a = 0; a < nc; ++a)
                    product[a] += A_ij[a * nc + b] * value;
                }
                for (int a = 0; a < nc; ++a)
                  sums[t][a] += static_cast<double>(product[a]);
              }
            }
          }
          const int own = aggregate_of_node[i];
          PATCHFEM_UNROLL
          for (int t = 0; t < pairs; ++t)
          {
            const int pair = team.rank() + t * Team::size;
            if (pair >= n * nm)
              continue;
            const int     p = first + pair / nm, m = pair % nm;
            const double *Q   = tentative + i * nc * nm + m;
            Number       *out = P_values + (begin + p) * nc * nm + m;
            for (int a = 0; a < nc; ++a)
            {
              double scaled = 0.;
              for (int c = 0; c < nc; ++c)
              {
                const int high = a > c ? a : c, low = a > c ? c : a;
                scaled += static_cast<double>(D.values[(high * (high + 1) / 2 + low) * D.stride + i]) * sums[t][c];
              }
              out[a * nm] = static_cast<Number>((columns[p] == own ? Q[a * nm] : 0.) - omega[0] * scaled);
            }
          }
        }
      }
    };

    /**
     * A row of A P as far as the coarse matrix needs it: its upper half has no use for columns before the first of the
     * row of P. Item i is row first_row + i.
     */
    template <int static_nc, int static_nm, typename Number>
    struct MatrixProlongatorBody
    {
      static constexpr int team_size = coarsening::team_size(static_nm), pairs = 4;
      using Scratch = coarsening::Places<static_nm, team_size, pairs>;

      SlicedEllpackView<Number> A;
      const int                *A_lengths;
      int                       n_c, n_m;
      SparsityView              P;
      const Number             *P_values;
      SparsityView              AP;
      int                       first_row;
      Number                   *values; ///< [entry - first entry of first_row][n_c][n_m]

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &places) const
      {
        constexpr int pairs = coarsening::n_pairs(MatrixProlongatorBody::pairs, Team::size, static_nm);
        constexpr int rows = static_nc > 0 ? static_nc : max_block_size, entries = rows * rows;
        const int     nc = static_nc > 0 ? static_nc : n_c, nm = static_nm > 0 ? static_nm : n_m;
        const int     i = first_row + static_cast<int>(index), n_neighbours = A_lengths[i];
        if (P.row_offsets[i] == P.row_offsets[i + 1])
          return;
        const int *columns = AP.columns + AP.row_offsets[i];
        const int  length = static_cast<int>(AP.row_offsets[i + 1] - AP.row_offsets[i]), size = nc * nm;
        Number    *out     = values + (AP.row_offsets[i] - AP.row_offsets[first_row]) * size;
        const int  at_once = Team::size * pairs / nm;
        for (int first =
                 static_cast<int>(lower_bound(columns, columns + length, P.columns[P.row_offsets[i]]) - columns);
             first < length; first += at_once)
        {
          const int n = at_once < length - first ? at_once : length - first;
          double    sums[pairs][rows];
          for (int t = 0; t < pairs; ++t)
            for (int a = 0; a < nc; ++a)
              sums[t][a] = 0.;
          for (int k0 = 0; k0 < n_neighbours; k0 += Team::size)
          {
            team.sync();
            for (int e = team.rank(); e < n * Team::size; e += Team::size)
              places.entry[e] = Scratch::none;
            team.sync();
            std::int64_t row_of_P = 0;
            if (k0 + team.rank() < n_neighbours)
            {
              const int j        = A.columns[A.block_index(i, k0 + team.rank())];
              row_of_P           = P.row_offsets[j];
              const int n_blocks = static_cast<int>(P.row_offsets[j + 1] - row_of_P);
              note(places, P.columns + row_of_P, 0, n_blocks, columns + first, n, Team::size, team.rank());
            }
            team.sync();
            const int n_here = n_neighbours - k0 < Team::size ? n_neighbours - k0 : Team::size;
            for (int s = 0; s < n_here; ++s)
            {
              const Number *P_j = P_values + team.from(row_of_P, s) * size;
              Number        A_ij[entries];
              for (int a = 0; a < nc; ++a)
                for (int b = 0; b < nc; ++b)
                  A_ij[a * nc + b] = A.values[A.value_index(i, k0 + s, a, b)];
              PATCHFEM_UNROLL
              for (int t = 0; t < pairs; ++t)
              {
                const int pair = team.rank() + t * Team::size;
                if (pair >= n * nm)
                  continue;
                const int q = places.entry[pair / nm * Team::size + s];
                if (q == Scratch::none)
                  continue;
                const Number *block = P_j + q * size + pair % nm;
                Number        product[rows];
                for (int a = 0; a < nc; ++a)
                  product[a] = Number(0);
                for (int b = 0; b < nc; ++b)
                {
                  const Number value = block[b * nm];
                  for (int a = 0; a < nc; ++a)
                    product[a] += A_ij[a * nc + b] * value;
                }
                for (int a = 0; a < nc; ++a)
                  sums[t][a] += static_cast<double>(product[a]);
              }
            }
          }
          PATCHFEM_UNROLL
          for (int t = 0; t < pairs; ++t)
          {
            const int pair = team.rank() + t * Team::size;
            if (pair < n * nm)
              for (int a = 0; a < nc; ++a)
                out[(first + pair / nm) * size + a * nm + pair % nm] = static_cast<Number>(sums[t][a]);
          }
        }
      }

      /** Where the blocks [q, n_blocks) of a row fall among @p n columns, noted for neighbour @p s. */
      PATCHFEM_INLINE static void note(Scratch   &places,
                                       const int *row,
                                       int        q,
                                       const int  n_blocks,
                                       const int *columns,
                                       const int  n,
                                       const int  team_size,
                                       const int  s)
      {
        int p = 0;
        for (; q < n_blocks; ++q)
        {
          if (row[q] < columns[0])
            continue;
          p = static_cast<int>(lower_bound(columns + p, columns + n, row[q]) - columns);
          if (p == n)
            return;
          places.entry[p * team_size + s] = static_cast<unsigned short>(q);
        }
      }
    };

    /** Adds to a row of the upper half of R (A P) what the rows [first_row, last_row) of A P contribute. */
    template <int static_nc, int static_nm, typename Number>
    struct CoarseMatrixBody
    {
      static constexpr int team_size = coarsening::team_size(static_nm), pairs = 4;
      using Scratch = coarsening::Places<static_nm, team_size, pairs>;

      SlicedPattern             R;
      int                       n_c, n_m;
      SparsityView              P;
      const Number             *P_values;
      SparsityView              AP;
      const Number             *AP_values; ///< [entry - first entry of first_row][n_c][n_m]
      int                       first_row;
      int                       last_row;
      SparsityView              C_pattern;
      SlicedEllpackView<Number> C;

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &places) const
      {
        constexpr int pairs   = coarsening::n_pairs(CoarseMatrixBody::pairs, Team::size, static_nm);
        constexpr int entries = static_nm > 0 ? static_nc * static_nm : max_block_size * max_block_size;
        constexpr int rows    = static_nm > 0 ? static_nm : max_block_size;
        const int     nc = static_nc > 0 ? static_nc : n_c, nm = static_nm > 0 ? static_nm : n_m, size = nc * nm;
        const int     i = static_cast<int>(index), n_rows = R.length(i), at_once = Team::size * pairs / nm;

        // The first fine row of this stretch.
        int k_first = 0, k_last = n_rows;
        while (k_first < k_last)
        {
          const int middle = (k_first + k_last) / 2;
          if (R.column(i, middle) < first_row)
            k_first = middle + 1;
          else
            k_last = middle;
        }
        if (k_first == n_rows || R.column(i, k_first) >= last_row)
          return;

        const int *columns = C_pattern.columns + C_pattern.row_offsets[i];
        const int  length  = static_cast<int>(C_pattern.row_offsets[i + 1] - C_pattern.row_offsets[i]);
        for (int first = static_cast<int>(lower_bound(columns, columns + length, i) - columns); first < length;
             first += at_once)
        {
          const int n = at_once < length - first ? at_once : length - first;
          double    sums[pairs][rows];
          for (int t = 0; t < pairs; ++t)
            for (int m = 0; m < nm; ++m)
              sums[t][m] = 0.;
          for (int k0 = k_first; k0 < n_rows && R.column(i, k0) < last_row; k0 += Team::size)
          {
            team.sync();
            for (int e = team.rank(); e < n * Team::size; e += Team::size)
              places.entry[e] = Scratch::none;
            team.sync();
            std::int64_t block_of_P = 0, row_of_AP = 0;
            int          here = 0;
            const int    k    = k0 + team.rank();
            const int    j    = k < n_rows ? R.column(i, k) : last_row;
            if (j < last_row)
            {
              here                        = 1;
              const std::int64_t begin    = AP.row_offsets[j];
              const int         *row      = AP.columns + begin;
              const int          n_blocks = static_cast<int>(AP.row_offsets[j + 1] - begin);
              row_of_AP                   = begin - AP.row_offsets[first_row];
              block_of_P  = lower_bound(P.columns + P.row_offsets[j], P.columns + P.row_offsets[j + 1], i) - P.columns;
              const int q = static_cast<int>(lower_bound(row, row + n_blocks, columns[first]) - row);
              MatrixProlongatorBody<static_nc, static_nm, Number>::note(places, row, q, n_blocks, columns + first, n,
                                                                        Team::size, team.rank());
            }
            team.sync();
            const int n_here = team.sum(here);
            for (int s = 0; s < n_here; ++s)
            {
              const Number *P_j  = P_values + team.from(block_of_P, s) * size;
              const Number *AP_j = AP_values + team.from(row_of_AP, s) * size;
              Number        block[entries];
              for (int e = 0; e < size; ++e)
                block[e] = P_j[e];
              PATCHFEM_UNROLL
              for (int t = 0; t < pairs; ++t)
              {
                const int pair = team.rank() + t * Team::size;
                if (pair >= n * nm)
                  continue;
                const int q = places.entry[pair / nm * Team::size + s];
                if (q == Scratch::none)
                  continue;
                const Number *right = AP_j + q * size + pair % nm;
                Number        product[rows];
                for (int m = 0; m < nm; ++m)
                  product[m] = Number(0);
                for (int b = 0; b < nc; ++b)
                {
                  const Number value = right[b * nm];
                  for (int m = 0; m < nm; ++m)
                    product[m] += block[b * nm + m] * value;
                }
                for (int m = 0; m < nm; ++m)
                  sums[t][m] += static_cast<double>(product[m]);
              }
            }
          }
          PATCHFEM_UNROLL
          for (int t = 0; t < pairs; ++t)
          {
            const int pair = team.rank() + t * Team::size;
            if (pair >= n * nm)
              continue;
            for (int m = 0; m < nm; ++m)
            {
              Number &entry = C.values[C.value_index(i, first + pair / nm, m, pair % nm)];
              entry         = static_cast<Number>(static_cast<double>(entry) + sums[t][m]);
            }
          }
        }
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
