// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_coarsening_bodies_h
#define patchfem_kernels_coarsening_bodies_h

#include <patchfem/kernels/multigrid_value_bodies.h>

/**
 * @file
 * Team bodies (see team.h) of the steps of smoothed aggregation (Vanek, Mandel, Brezina 1996) that cost something: one
 * aggregate or one row is the work of a team. n_c is the number of unknowns of a node, n_m that of modes.
 *
 * In the products a member owns some (block of the row, one or two modes) and keeps their sums in registers. The team
 * first notes which block of each neighbour's row falls on which block of its own row; then it walks along the
 * neighbours in ascending order, all members read the same block of the one factor and each its columns of the other.
 * Eight neighbours at a time are summed up in Number, these sums in double. static_nc, static_nm = 0: at run time.
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

      /** Modes that a member takes of a block: two where they can be read together. */
      constexpr int n_modes_each(const int n_modes)
      {
        return n_modes == 2 || n_modes == 6 ? 2 : 1;
      }

      /** How many (block, modes) a member of a team owns at once, so that the team has one block at least. */
      constexpr int n_owned(const int wanted, const int size, const int n_modes)
      {
        const int groups = (n_modes > 0 ? n_modes : max_block_size) / n_modes_each(n_modes);
        const int least  = (groups + size - 1) / size;
        return wanted > least ? wanted : least;
      }

      /** What a member wants to own. */
      constexpr int wanted(const int n_modes)
      {
        return n_modes_each(n_modes) == 2 ? 2 : 4;
      }

      /** Neighbours whose blocks are summed up in Number. */
      constexpr int stride = 8;

      /** Which block of each neighbour's row falls on which block of the team's row. */
      template <int static_nm>
      struct Places
      {
        static constexpr unsigned short none = 65535;
        static constexpr int            size = team_size(static_nm);
        static constexpr int            n_columns =
            size * wanted(static_nm) * n_modes_each(static_nm) / (static_nm > 0 ? static_nm : 1);

        unsigned short entry[n_columns * size]; ///< [block of the row][neighbour]
      };

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

      /** Notes for neighbour @p s where the blocks [q, n_blocks) of its row fall among the @p n columns of the team's. */
      template <typename Scratch>
      PATCHFEM_INLINE void note(Scratch   &places,
                                const int *row,
                                int        q,
                                const int  n_blocks,
                                const int *columns,
                                const int  n,
                                const int  team_size,
                                const int  s)
      {
        for (int p = 0; q < n_blocks; ++q)
        {
          p = search(columns, p, n, row[q]);
          if (p == n)
            return;
          places.entry[p * team_size + s] = static_cast<unsigned short>(q);
        }
      }

      /** to[0...n) = from[0...n); two are read together, so that an even number must lie before them. */
      template <int n, typename Number>
      PATCHFEM_INLINE void read(const Number *from, Number *to)
      {
#if defined(__CUDA_ARCH__)
        if constexpr (n == 2)
        {
          struct alignas(2 * sizeof(Number)) Two
          {
            Number first, second;
          };
          const Two two = *reinterpret_cast<const Two *>(from);
          to[0]         = two.first;
          to[1]         = two.second;
          return;
        }
#endif
        for (int e = 0; e < n; ++e)
          to[e] = from[e];
      }
    } // namespace coarsening

    /**
     * The row of P = (I - omega D^-1 A) Q, Q the tentative prolongator. A team reads the row of A once; each neighbour
     * adds to the block of one aggregate, whose sums the members share, a mode each.
     */
    template <int static_nc, int static_nm, typename Number>
    struct ProlongatorBody
    {
      static constexpr int team_size = static_nm == 1 ? 4 : static_nm == 0 ? 16 : 8;
      static constexpr int entries   = static_nm > 0 ? static_nc *static_nm : max_block_size *max_block_size;
      static constexpr int at_once   = static_nm > 0 ? 8 : 1; ///< blocks of a row

      struct Scratch
      {
        double sums[at_once * entries + (static_nm > 0 ? 1 : 0)]; ///< one more, so that teams use different banks
      };

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
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &scratch) const
      {
        constexpr int      rows = static_nc > 0 ? static_nc : max_block_size;
        const int          nc = static_nc > 0 ? static_nc : n_c, nm = static_nm > 0 ? static_nm : n_m;
        const int          i = static_cast<int>(index), n_neighbours = A_lengths[i], own = aggregate_of_node[i];
        const std::int64_t begin   = P.row_offsets[i];
        const int         *columns = P.columns + begin;
        const int          length  = static_cast<int>(P.row_offsets[i + 1] - begin);
        const int          height  = A.slice_height;
        const std::int64_t start   = A.block_index(i, 0);
        for (int first = 0; first < length; first += at_once)
        {
          const int n = at_once < length - first ? at_once : length - first;
          team.sync();
          for (int e = team.rank(); e < n * nc * nm; e += Team::size)
            scratch.sums[e] = 0.;
          team.sync();
          const Number *A_k = A.values + A.value_index(i, 0, 0, 0);
          for (int k0 = 0; k0 < n_neighbours; k0 += Team::size)
          {
            int neighbour = 0, block = -1;
            if (k0 + team.rank() < n_neighbours)
            {
              neighbour           = A.columns[start + std::int64_t(k0 + team.rank()) * height];
              const int aggregate = aggregate_of_node[neighbour];
              if (aggregate >= 0)
                block = coarsening::search(columns, 0, length, aggregate) - first;
            }
            const int n_here = n_neighbours - k0 < Team::size ? n_neighbours - k0 : Team::size;
            for (int s = 0; s < n_here; ++s, A_k += std::int64_t(height) * nc * nc)
            {
              const int j = team.from(neighbour, s), p = team.from(block, s);
              if (p < 0 || p >= n)
                continue;
              const double *Q    = tentative + std::int64_t(j) * nc * nm;
              double       *sums = scratch.sums + p * nc * nm;
              for (int m = team.rank(); m < nm; m += Team::size)
              {
                Number product[rows];
                for (int a = 0; a < nc; ++a)
                  product[a] = Number(0);
                for (int b = 0; b < nc; ++b)
                {
                  const Number value = static_cast<Number>(Q[b * nm + m]);
                  for (int a = 0; a < nc; ++a)
                    product[a] += A_k[(a * nc + b) * height] * value;
                }
                for (int a = 0; a < nc; ++a)
                  sums[a * nm + m] += static_cast<double>(product[a]);
              }
            }
          }
          team.sync();
          const double *Q = tentative + index * nc * nm;
          for (int e = team.rank(); e < n * nc * nm; e += Team::size)
          {
            const int     p = e / (nc * nm), a = e / nm % nc, m = e % nm;
            const double *sums   = scratch.sums + p * nc * nm + m;
            double        scaled = 0.;
            for (int c = 0; c < nc; ++c)
            {
              const int high = a > c ? a : c, low = a > c ? c : a;
              scaled += static_cast<double>(D.values[(high * (high + 1) / 2 + low) * D.stride + i]) * sums[c * nm];
            }
            P_values[(begin + first) * nc * nm + e] =
                static_cast<Number>((columns[first + p] == own ? Q[a * nm + m] : 0.) - omega[0] * scaled);
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
      static constexpr int team_size = coarsening::team_size(static_nm), each = coarsening::n_modes_each(static_nm);
      using Scratch = coarsening::Places<static_nm>;

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
        constexpr int owned = coarsening::n_owned(coarsening::wanted(static_nm), Team::size, static_nm);
        constexpr int rows  = static_nc > 0 ? static_nc : max_block_size;
        const int     nc = static_nc > 0 ? static_nc : n_c, nm = static_nm > 0 ? static_nm : n_m, size = nc * nm;
        const int     i = first_row + static_cast<int>(index), n_neighbours = A_lengths[i], groups = nm / each;
        if (P.row_offsets[i] == P.row_offsets[i + 1])
          return;
        const int         *columns = AP.columns + AP.row_offsets[i];
        const int          length  = static_cast<int>(AP.row_offsets[i + 1] - AP.row_offsets[i]);
        Number            *out     = values + (AP.row_offsets[i] - AP.row_offsets[first_row]) * size;
        const int          at_once = Team::size * owned / groups, height = A.slice_height;
        const std::int64_t start = A.block_index(i, 0);
        for (int first = coarsening::search(columns, 0, length, P.columns[P.row_offsets[i]]); first < length;
             first += at_once)
        {
          const int n = at_once < length - first ? at_once : length - first;
          // Past the last block a member works on it as well, but nothing comes of it.
          int block[owned], mode[owned];
          PATCHFEM_UNROLL
          for (int t = 0; t < owned; ++t)
          {
            const int at = team.rank() + t * Team::size;
            block[t]     = at / groups < n ? at / groups : -1;
            mode[t]      = at % groups * each;
          }
          Number part[owned][rows][each];
          double sums[owned][rows][each];
          for (int t = 0; t < owned; ++t)
            for (int a = 0; a < nc; ++a)
              for (int e = 0; e < each; ++e)
              {
                part[t][a][e] = Number(0);
                sums[t][a][e] = 0.;
              }
          const Number *A_k = A.values + A.value_index(i, 0, 0, 0);
          for (int k0 = 0; k0 < n_neighbours; k0 += Team::size)
          {
            team.sync();
            for (int e = team.rank(); e < n * Team::size; e += Team::size)
              places.entry[e] = Scratch::none;
            team.sync();
            std::int64_t row_of_P = 0;
            if (k0 + team.rank() < n_neighbours)
            {
              const int j         = A.columns[start + std::int64_t(k0 + team.rank()) * height];
              row_of_P            = P.row_offsets[j];
              const int *row      = P.columns + row_of_P;
              const int  n_blocks = static_cast<int>(P.row_offsets[j + 1] - row_of_P);
              coarsening::note(places, row, coarsening::search(row, 0, n_blocks, columns[first]), n_blocks,
                               columns + first, n, Team::size, team.rank());
            }
            team.sync();
            const int n_here = n_neighbours - k0 < Team::size ? n_neighbours - k0 : Team::size;
            for (int s = 0; s < n_here; ++s, A_k += std::int64_t(height) * nc * nc)
            {
              const Number *P_j = P_values + team.from(row_of_P, s) * size;
              const Number *right[owned]; // nullptr: this row of P has no such block, and 0 is added
              PATCHFEM_UNROLL
              for (int t = 0; t < owned; ++t)
              {
                const int q = block[t] < 0 ? Scratch::none : places.entry[block[t] * Team::size + s];
                right[t]    = q == Scratch::none ? nullptr : P_j + q * size + mode[t];
              }
              for (int b = 0; b < nc; ++b)
              {
                Number left[rows];
                for (int a = 0; a < nc; ++a)
                  left[a] = A_k[(a * nc + b) * height];
                PATCHFEM_UNROLL
                for (int t = 0; t < owned; ++t)
                {
                  Number value[each] = {};
                  if (right[t] != nullptr)
                    coarsening::read<each>(right[t] + b * nm, value);
                  for (int a = 0; a < nc; ++a)
                    for (int e = 0; e < each; ++e)
                      part[t][a][e] += left[a] * value[e];
                }
              }
              if ((s + 1) % coarsening::stride == 0 || s + 1 == n_here)
                PATCHFEM_UNROLL
              for (int t = 0; t < owned; ++t)
                for (int a = 0; a < nc; ++a)
                  for (int e = 0; e < each; ++e)
                  {
                    sums[t][a][e] += static_cast<double>(part[t][a][e]);
                    part[t][a][e] = Number(0);
                  }
            }
          }
          PATCHFEM_UNROLL
          for (int t = 0; t < owned; ++t)
            if (block[t] >= 0)
              for (int a = 0; a < nc; ++a)
                for (int e = 0; e < each; ++e)
                  out[(first + block[t]) * size + a * nm + mode[t] + e] = static_cast<Number>(sums[t][a][e]);
        }
      }
    };

    /**
     * What the rows [first_row, last_row) of A P contribute to a row of the upper half of R (A P). Item row * n_parts +
     * part takes a share of the row of R: where there are few coarse rows, that is how the device is filled. With one
     * part the result is added to C, else it goes to @p partial, which AddPartsBody adds in the order of the parts.
     */
    template <int static_nc, int static_nm, typename Number>
    struct CoarseMatrixBody
    {
      static constexpr int team_size = coarsening::team_size(static_nm), each = coarsening::n_modes_each(static_nm);
      using Scratch = coarsening::Places<static_nm>;

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
      int                       n_parts;
      double                   *partial; ///< [part][entry of C_pattern][n_m][n_m], or nullptr for one part

      /** The first fine row of R's row @p i that is not below @p row. */
      PATCHFEM_INLINE int first_of(const int i, const int row) const
      {
        int first = 0, last = R.length(i);
        while (first < last)
        {
          const int middle = (first + last) / 2;
          if (R.column(i, middle) < row)
            first = middle + 1;
          else
            last = middle;
        }
        return first;
      }

      template <typename Team>
      PATCHFEM_INLINE void operator()(const Team &team, const std::int64_t index, Scratch &places) const
      {
        constexpr int owned = coarsening::n_owned(coarsening::wanted(static_nm), Team::size, static_nm);
        constexpr int rows  = static_nm > 0 ? static_nm : max_block_size;
        const int     nc = static_nc > 0 ? static_nc : n_c, nm = static_nm > 0 ? static_nm : n_m, size = nc * nm;
        const int     i = static_cast<int>(index / n_parts), part_of_row = static_cast<int>(index % n_parts);
        const int     groups = nm / each, at_once = Team::size * owned / groups;
        const int     k_begin = first_of(i, first_row), n_all = first_of(i, last_row) - k_begin;
        const int     k_first = k_begin + static_cast<int>(std::int64_t(n_all) * part_of_row / n_parts);
        const int     k_last  = k_begin + static_cast<int>(std::int64_t(n_all) * (part_of_row + 1) / n_parts);
        if (n_all == 0 || (k_first == k_last && partial == nullptr))
          return;

        const std::int64_t C_begin = C_pattern.row_offsets[i];
        const int         *columns = C_pattern.columns + C_begin;
        const int          length  = static_cast<int>(C_pattern.row_offsets[i + 1] - C_begin);
        for (int first = coarsening::search(columns, 0, length, i); first < length; first += at_once)
        {
          const int n = at_once < length - first ? at_once : length - first;
          int       block[owned], mode[owned];
          PATCHFEM_UNROLL
          for (int t = 0; t < owned; ++t)
          {
            const int at = team.rank() + t * Team::size;
            block[t]     = at / groups < n ? at / groups : -1;
            mode[t]      = at % groups * each;
          }
          Number part[owned][rows][each];
          double sums[owned][rows][each];
          for (int t = 0; t < owned; ++t)
            for (int m = 0; m < nm; ++m)
              for (int e = 0; e < each; ++e)
              {
                part[t][m][e] = Number(0);
                sums[t][m][e] = 0.;
              }
          for (int k0 = k_first; k0 < k_last; k0 += Team::size)
          {
            team.sync();
            for (int e = team.rank(); e < n * Team::size; e += Team::size)
              places.entry[e] = Scratch::none;
            team.sync();
            std::int64_t block_of_P = 0, row_of_AP = 0;
            if (k0 + team.rank() < k_last)
            {
              const int          j        = R.column(i, k0 + team.rank());
              const std::int64_t begin    = AP.row_offsets[j];
              const int         *row      = AP.columns + begin;
              const int          n_blocks = static_cast<int>(AP.row_offsets[j + 1] - begin);
              const int          P_length = static_cast<int>(P.row_offsets[j + 1] - P.row_offsets[j]);
              row_of_AP                   = begin - AP.row_offsets[first_row];
              block_of_P = P.row_offsets[j] + coarsening::search(P.columns + P.row_offsets[j], 0, P_length, i);
              coarsening::note(places, row, coarsening::search(row, 0, n_blocks, columns[first]), n_blocks,
                               columns + first, n, Team::size, team.rank());
            }
            team.sync();
            const int n_here = k_last - k0 < Team::size ? k_last - k0 : Team::size;
            for (int s = 0; s < n_here; ++s)
            {
              const Number *P_j  = P_values + team.from(block_of_P, s) * size;
              const Number *AP_j = AP_values + team.from(row_of_AP, s) * size;
              const Number *right[owned];
              PATCHFEM_UNROLL
              for (int t = 0; t < owned; ++t)
              {
                const int q = block[t] < 0 ? Scratch::none : places.entry[block[t] * Team::size + s];
                right[t]    = q == Scratch::none ? nullptr : AP_j + q * size + mode[t];
              }
              for (int b = 0; b < nc; ++b)
              {
                Number left[rows];
                for (int m = 0; m < nm; m += each)
                  coarsening::read<each>(P_j + b * nm + m, left + m);
                PATCHFEM_UNROLL
                for (int t = 0; t < owned; ++t)
                {
                  Number value[each] = {};
                  if (right[t] != nullptr)
                    coarsening::read<each>(right[t] + b * nm, value);
                  for (int m = 0; m < nm; ++m)
                    for (int e = 0; e < each; ++e)
                      part[t][m][e] += left[m] * value[e];
                }
              }
              if ((s + 1) % coarsening::stride == 0 || s + 1 == n_here)
                PATCHFEM_UNROLL
              for (int t = 0; t < owned; ++t)
                for (int m = 0; m < nm; ++m)
                  for (int e = 0; e < each; ++e)
                  {
                    sums[t][m][e] += static_cast<double>(part[t][m][e]);
                    part[t][m][e] = Number(0);
                  }
            }
          }
          PATCHFEM_UNROLL
          for (int t = 0; t < owned; ++t)
          {
            if (block[t] < 0)
              continue;
            const int p = first + block[t];
            for (int m = 0; m < nm; ++m)
              for (int e = 0; e < each; ++e)
                if (partial != nullptr)
                  partial[((part_of_row * C_pattern.row_offsets[C_pattern.n_rows] + C_begin + p) * nm + m) * nm +
                          mode[t] + e] = sums[t][m][e];
                else
                {
                  Number &entry = C.values[C.value_index(i, p, m, mode[t] + e)];
                  entry         = static_cast<Number>(static_cast<double>(entry) + sums[t][m][e]);
                }
          }
        }
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
