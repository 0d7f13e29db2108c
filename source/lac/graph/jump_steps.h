// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "graph_steps.h"

#include "kernels/count_bits.h"
#include "kernels/pattern_of.h"

/** @file The steps (see run.h) of graph_tools.h that find jumps of the coefficient. */
namespace PatchFEM::graph_tools
{
  namespace
  {
    /// Of the largest coupling of either end, where the material between two nodes is not much softer than the
    /// stiffest around them: 0.02 to 0.2 do alike.
    constexpr double least_coupling = 0.05;

    /// Edges are about as long as another, in squares: those of a cube are, at most 3, and those of cells 2 : 1 are not.
    constexpr double alike = 3.5;

    /// What an edge may be.
    constexpr unsigned char crosses = 0, stays = 1, couples = 2;

    /** A graph and what its edges couple; no edges where a rank has none to others. */
    struct CoupledEdges
    {
      AdjacencyView graph;
      const double *of_edge;

      PATCHFEM_INLINE std::int64_t begin(const std::int64_t i) const { return graph.offsets[i]; }
      PATCHFEM_INLINE std::int64_t end(const std::int64_t i) const { return graph.offsets[i + 1]; }

      /** Whether edge @p e of node @p i couples, by @p most [node]. */
      PATCHFEM_INLINE bool couple(const std::int64_t e, const std::int64_t i, const double *most) const
      {
        const int j = graph.neighbours[e];
        return of_edge[e] > least_coupling * no_tie * (most[i] > most[j] ? most[i] : most[j]);
      }
    };

    CoupledEdges coupled(const Adjacency &graph, const Array<double> &couplings)
    {
      return {graph.view(), couplings.data()};
    }

    /// The share of edges of a node that are to cross a jump: where stiff material ends in a plane a third do, and an edge
    /// of odd cells may be weak by itself.
    constexpr double share_crosses = 0.25;

    /// Rows that are looked at, about, where one in eight would be more: each reads those of its neighbours.
    constexpr int most_looked_at = 1 << 18;

    /** A block row, whose place is computed once. */
    template <typename Number>
    struct BlockRow
    {
      int           length, stride, n_entries;
      const int    *columns;
      const Number *values;

      PATCHFEM_INLINE BlockRow(const SlicedEllpackView<Number> &A, const int row)
          : length(A.row_lengths[row]), stride(A.slice_height), n_entries(A.block_rows * A.block_columns),
            columns(A.columns + A.block_index(row, 0)), values(A.values + A.value_index(row, 0, 0, 0))
      {}

      PATCHFEM_INLINE int column(const int k) const { return columns[std::int64_t(k) * stride]; }

      /** The larger one of @p least and what block @p k couples. */
      PATCHFEM_INLINE double largest(const int k, double least) const
      {
        const Number *value = values + std::int64_t(k) * n_entries * stride;
        for (int e = 0; e < n_entries; ++e, value += stride)
          least = std::fabs(static_cast<double>(*value)) > least ? std::fabs(static_cast<double>(*value)) : least;
        return least;
      }

      PATCHFEM_INLINE bool exceeds(const int k, const double limit) const
      {
        const Number *value = values + std::int64_t(k) * n_entries * stride;
        for (int e = 0; e < n_entries; ++e, value += stride)
          if (std::fabs(static_cast<double>(*value)) > limit)
            return true;
        return false;
      }
    };

    /** Whether many of the edges of a row couple much less than others, and what they lead to is not tied otherwise. */
    template <typename Number>
    struct SeesJump
    {
      using Row = BlockRow<Number>;

      SlicedEllpackView<Number> A;
      AdjacencyView             graph;
      NodePoints                at;

      /** Whether both couple more than @p limit with a third node. */
      PATCHFEM_INLINE static bool joined(const Row &a, const Row &b, const double limit)
      {
        for (int k = 0, l = 0; k < a.length; ++k)
          if (a.exceeds(k, limit))
          {
            const int p = a.column(k);
            while (l < b.length && b.column(l) < p) // both ascend
              ++l;
            if (l < b.length && b.column(l) == p && b.exceeds(l, limit))
              return true;
          }
        return false;
      }

      /** The largest coupling of edges about as long as @p d. */
      PATCHFEM_INLINE double largest_alike(const Row &row, const int i, const double d) const
      {
        double result = 0.;
        for (int k = 0; k < row.length; ++k)
        {
          const int    j     = row.column(k);
          const double other = j < A.n_rows ? at.squared_distance(i, j) : 0.;
          if (other > 0. && other <= alike * d && d <= alike * other)
            result = row.largest(k, result);
        }
        return result;
      }

      PATCHFEM_INLINE bool operator()(const int i) const
      {
        const Row  row(A, i);
        const auto is_edge = [&](const int j) { return j != i && j < A.n_rows && !graph.is_isolated(j); };
        double     largest = 0.;
        for (int k = 0; k < row.length; ++k)
          if (row.column(k) != i)
            largest = row.largest(k, largest);
        // Of those that may cross jumps all are taken out that do not, until there are too few.
        const double limit = least_coupling * largest;
        const double few   = share_crosses * static_cast<double>(graph.offsets[i + 1] - graph.offsets[i]);
        int          n     = 0;
        for (int k = 0; k < row.length; ++k)
          n += !row.exceeds(k, limit) && is_edge(row.column(k));
        if (n <= few)
          return false;
        double nearest = 0., farthest = 0., d = 0., limit_of_d = 0.;
        for (int k = 0; k < row.length; ++k)
          if (is_edge(row.column(k)))
          {
            const double other = at.squared_distance(i, row.column(k));
            nearest            = nearest == 0. || other < nearest ? other : nearest;
            farthest           = other > farthest ? other : farthest;
          }
        // Along the shortest edges by themselves, which are few where cells are flat.
        const bool round   = farthest <= alike * nearest;
        int        n_short = 0, n_cross = 0;
        for (int k = 0; k < row.length && !round; ++k)
        {
          const int j = row.column(k);
          if (!is_edge(j) || at.squared_distance(i, j) > alike * nearest)
            continue;
          ++n_short;
          n_cross += !row.exceeds(k, limit) && !joined(row, Row(A, j), limit);
        }
        if (n_cross > share_crosses * n_short)
          return true;
        for (int k = 0; k < row.length && n > few; ++k)
        {
          const int j = row.column(k);
          if (row.exceeds(k, limit) || !is_edge(j))
            continue;
          const double other = at.squared_distance(i, j);
          if (!round && !(other < 1.1 * d && d < 1.1 * other))
          {
            d          = other;
            limit_of_d = least_coupling * largest_alike(row, i, d);
          }
          n -= row.exceeds(k, round ? limit : limit_of_d) || joined(row, Row(A, j), round ? limit : limit_of_d);
        }
        return n > few;
      }
    };
  } // namespace

  template <typename Number, typename Where>
  std::array<std::int64_t, 2>
  rows_at_jumps(Where, const SlicedEllpackMatrix<Number> &A, const Adjacency &edges, const NodePoints &at)
  {
    Array<int> found(A.backend(), 1);
    found.set_zero();
    const int stride      = std::max(one_of, edges.n_nodes() / most_looked_at);
    const int n_looked_at = (edges.n_nodes() + stride - 1) / stride;
    for_all(A.backend(), n_looked_at,
            [sees = SeesJump<Number>{A.view(), edges.view(), at}, found = found.data(),
             stride] PATCHFEM_DEVICE(const std::int64_t i) {
              const int row = static_cast<int>(i) * stride + static_cast<int>(kernels::hash(i) % stride);
              if (row < sees.graph.n_nodes && !sees.graph.is_isolated(row) && sees(row))
                kernels::atomic_increment(found);
            });
    return {found.read(0), n_looked_at};
  }

  template <typename Number, typename Where>
  Array<double> couplings_of(Where, const SlicedEllpackMatrix<Number> &A, const Adjacency &edges)
  {
    Array<double> result(A.backend(), edges.neighbours().size());
    for_all(A.backend(), edges.n_nodes(),
            [A = A.view(), graph = edges.view(), result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              const BlockRow<Number> row(A, static_cast<int>(i));
              std::int64_t           e   = graph.offsets[i];
              const std::int64_t     end = graph.offsets[i + 1];
              for (int k = 0; k < row.length && e < end; ++k)
                if (row.column(k) == graph.neighbours[e]) // both ascend
                  result[e++] = row.largest(k, 0.);
            });
    return result;
  }

  template <>
  Array<double> couplings_between_groups(Here,
                                         const Adjacency     &edges,
                                         const Array<double> &couplings,
                                         const Array<int>    &offsets,
                                         const Array<int>    &nodes,
                                         const Array<int>    &group,
                                         const Adjacency     &groups)
  {
    Array<double> result(groups.backend(), groups.neighbours().size());
    result.set_zero();
    for_all(groups.backend(), groups.n_nodes(),
            [fine = coupled(edges, couplings), coarse = groups.view(), offsets = offsets.data(), nodes = nodes.data(),
             group = group.data(), result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              const int *const first = coarse.neighbours + coarse.offsets[i], *const last = coarse.neighbours +
                                                                                            coarse.offsets[i + 1];
              for (int k = offsets[i]; k < offsets[i + 1]; ++k)
                for (std::int64_t e = fine.begin(nodes[k]); e < fine.end(nodes[k]); ++e)
                {
                  const int        g  = group[fine.graph.neighbours[e]];
                  const int *const at = kernels::lower_bound(first, last, g);
                  if (at == last || *at != g)
                    continue;
                  double &largest = result[at - coarse.neighbours];
                  largest         = fine.of_edge[e] > largest ? fine.of_edge[e] : largest;
                }
            });
    return result;
  }

  template <>
  Array<double> largest_couplings(Here,
                                  const Adjacency     &edges,
                                  const Array<double> &couplings,
                                  const Adjacency     *across,
                                  const Array<double> &couplings_across)
  {
    Array<double> result(edges.backend(), edges.n_nodes());
    CoupledEdges  outside{};
    if (across != nullptr)
      outside = coupled(*across, couplings_across);
    for_all(edges.backend(), edges.n_nodes(),
            [=, inside = coupled(edges, couplings), result = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              double     largest = 0.;
              const auto visit   = [&](const CoupledEdges &of) {
                for (std::int64_t e = of.begin(i); e < of.end(i); ++e)
                  largest = of.of_edge[e] > largest ? of.of_edge[e] : largest;
              };
              visit(inside);
              if (outside.of_edge != nullptr)
                visit(outside);
              result[i] = largest;
            });
    return result;
  }

  template <>
  std::int64_t find_jumps(Here,
                          const Adjacency      &edges,
                          const Array<double>  &couplings,
                          const Adjacency      *across,
                          const Array<double>  &couplings_across,
                          const Array<double>  &largest_couplings,
                          Array<unsigned char> &result)
  {
    const Backend      &place   = edges.backend();
    const CoupledEdges  own     = coupled(edges, couplings);
    const CoupledEdges  outside = across != nullptr ? coupled(*across, couplings_across) : CoupledEdges{};
    const double *const most    = largest_couplings.data();
    Array<int>          counts(place, edges.n_nodes());
    Array<std::int64_t> sums;
    int *const          count = counts.data();
    result.reinit(place, couplings.size());
    unsigned char *const kind = result.data();
    for_all(place, edges.n_nodes(), [=] PATCHFEM_DEVICE(const std::int64_t i) {
      int n_weak = 0;
      for (std::int64_t e = own.begin(i); e < own.end(i); ++e)
      {
        const int    j     = own.graph.neighbours[e];
        const double size  = own.of_edge[e];
        const double limit = least_coupling * no_tie * (most[i] > most[j] ? most[i] : most[j]);
        // Of both triangles the larger value counts near the limit, so that rounding does not make the graph
        // unsymmetric.
        bool couple = size > limit;
        if (!couple && size > 0.5 * limit)
        {
          const int *const first = own.graph.neighbours + own.begin(j), *const last = own.graph.neighbours + own.end(j);
          const int *const other = kernels::lower_bound(first, last, static_cast<int>(i));
          couple                 = other != last && *other == i && own.of_edge[other - own.graph.neighbours] > limit;
        }
        kind[e] = couple ? couples : crosses;
        n_weak += !couple;
      }
      count[i] = n_weak;
    });
    if (edges.n_nodes() == 0 || scan(counts, sums) == 0)
      return 0;
    for_all(place, edges.n_nodes(), [=] PATCHFEM_DEVICE(const std::int64_t i) {
      int n_jumps = 0;
      for (std::int64_t e = own.begin(i); count[i] > 0 && e < own.end(i); ++e)
      {
        if (kind[e] == couples)
          continue;
        const int    j    = own.graph.neighbours[e];
        const double soft = most[i] < most[j] ? most[i] : most[j], stiff = most[i] < most[j] ? most[j] : most[i];
        bool         joined = false;
        // Of three nodes on a path neighbours differ by this at most.
        if (soft >= least_coupling * least_coupling * stiff)
          for (std::int64_t f = own.begin(i), g = own.begin(j); !joined && f < own.end(i) && g < own.end(j);)
          {
            const int p = own.graph.neighbours[f], q = own.graph.neighbours[g]; // both ascend
            joined = p == q && kind[f] == couples && kind[g] == couples;
            f += p <= q;
            g += q <= p;
          }
        if (outside.of_edge != nullptr && soft >= least_coupling * least_coupling * stiff)
          for (std::int64_t f = outside.begin(i), g = outside.begin(j);
               !joined && f < outside.end(i) && g < outside.end(j);)
          {
            const int p = outside.graph.neighbours[f], q = outside.graph.neighbours[g];
            joined = p == q && outside.couple(f, i, most) && outside.couple(g, j, most);
            f += p <= q;
            g += q <= p;
          }
        kind[e] = joined ? stays : crosses;
        n_jumps += !joined;
      }
      count[i] = n_jumps;
    });
    return scan(counts, sums);
  }

  namespace
  {
    /** The rows of coupled_nodes(). */
    struct CoupledNodes
    {
      AdjacencyView        graph;
      const unsigned char *kind;
      CoupledEdges         outside;
      const double        *most;

      template <typename Use>
      PATCHFEM_INLINE void for_each(const int i, const Use &use) const // ghosts come behind own nodes
      {
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
          if (kind[e] == couples)
            use(graph.neighbours[e]);
        if (outside.of_edge != nullptr)
          for (std::int64_t e = outside.begin(i); e < outside.end(i); ++e)
            if (outside.couple(e, i, most))
              use(outside.graph.neighbours[e]);
      }
    };
  } // namespace

  template <>
  CompressedPattern coupled_nodes(Here,
                                  const Adjacency            &edges,
                                  const Array<unsigned char> &kinds,
                                  const Adjacency            *across,
                                  const Array<double>        &couplings_across,
                                  const Array<double>        &largest)
  {
    const Backend             &place   = edges.backend();
    const int                  n       = edges.n_nodes();
    const AdjacencyView        graph   = edges.view();
    const CoupledEdges         outside = across != nullptr ? coupled(*across, couplings_across) : CoupledEdges{};
    const unsigned char *const kind    = kinds.data();
    const double *const        most    = largest.data();
    return pattern_of(place, n, static_cast<int>(largest.size()), CoupledNodes{graph, kind, outside, most});
  }

  namespace
  {
    /** What nodes couple with. */
    struct CoupledRows
    {
      int                 n; ///< own nodes
      const std::int64_t *offsets;
      const int          *columns, *rows;

      explicit CoupledRows(const Hinges &hinges, const int n)
          : n(n), offsets(hinges.coupled.offsets.data()), columns(hinges.coupled.columns.data()),
            rows(hinges.rows.data())
      {}

      /** The entry of @p j among those of @p i, or -1. */
      PATCHFEM_INLINE std::int64_t find(const int i, const int j) const
      {
        const int        row  = i < n ? i : rows[i - n];
        const int *const last = columns + offsets[row + 1];
        const int *const at   = kernels::lower_bound(columns + offsets[row], last, j);
        return at != last && *at == j ? at - columns : -1;
      }

      /** Calls @p use(entry of i, entry of j) for each node that both couple with. */
      template <typename Use>
      PATCHFEM_INLINE void for_each_common(const int i, const int j, const Use &use) const
      {
        const int row = j < n ? j : rows[j - n];
        for (std::int64_t e = offsets[i], f = offsets[row]; e < offsets[i + 1] && f < offsets[row + 1];)
        {
          const int p = columns[e], q = columns[f]; // both ascend
          if (p == q)
            use(e, f);
          e += p <= q;
          f += q <= p;
        }
      }
    };
  } // namespace

  template <>
  std::int64_t find_hinges(Here,
                           const Adjacency     &edges,
                           const Adjacency     *across,
                           const Array<double> &largest_couplings,
                           const int            n_dims,
                           Hinges              &hinges)
  {
    const Backend      &place   = edges.backend();
    const int           n       = edges.n_nodes();
    const AdjacencyView graph   = edges.view();
    const AdjacencyView outside = across != nullptr ? across->view() : AdjacencyView{};
    const double *const most    = largest_couplings.data();
    const CoupledRows   coupled(hinges, n);
    Array<int>          counts(place, n);
    Array<std::int64_t> sums;
    hinges.pieces.reinit(place, hinges.coupled.columns.size());
    hinges.largest.reinit(place, n);
    if (n == 0)
      return 0;
    constexpr int        most_pieces = 8;
    Array<std::uint64_t> couplings(place, hinges.coupled.columns.size()); // with which of the row each entry couples
    for_all(place, n,
            [=, piece = hinges.pieces.data(), largest = hinges.largest.data(), with = couplings.data(),
             counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              const std::int64_t begin = coupled.offsets[i], end = coupled.offsets[i + 1];
              std::int64_t       n_all    = 0;
              bool               is_stiff = true; // not soft beside what is around
              const auto         look     = [&](const AdjacencyView &of) {
                n_all += of.offsets[i + 1] - of.offsets[i];
                for (std::int64_t e = of.offsets[i]; e < of.offsets[i + 1]; ++e)
                  is_stiff = is_stiff && least_coupling * most[of.neighbours[e]] <= most[i];
              };
              look(graph);
              if (outside.offsets != nullptr)
                look(outside);
              for (std::int64_t e = begin; e < end; ++e)
                piece[e] = 0;
              largest[i] = 0;
              counts[i]  = 0;
              if (end - begin == n_all || !is_stiff || end - begin > 64)
                return;
              for (std::int64_t e = begin; e < end; ++e)
              {
                with[e] = 0;
                coupled.for_each_common(
                    static_cast<int>(i), coupled.columns[e],
                    [&](const std::int64_t f, std::int64_t) { with[e] |= std::uint64_t(1) << (f - begin); });
              }
              // What grows from a node, shared nodes included; all that a piece has makes it the same one.
              std::uint64_t all_of[most_pieces], owned[most_pieces];
              int           n_pieces = 0;
              for (std::int64_t seed = begin; seed < end; ++seed)
              {
                if (piece[seed] != 0)
                  continue;
                std::uint64_t members = std::uint64_t(1) << (seed - begin);
                for (bool grows = true; grows;)
                {
                  grows = false;
                  for (std::int64_t f = begin; f < end; ++f)
                  {
                    const std::uint64_t bit = std::uint64_t(1) << (f - begin), ties = with[f] & members;
                    if ((members & bit) != 0 || ties == 0)
                      continue;
                    bool joins = n_dims < 3 || (members & (members - 1)) == 0;
                    for (std::int64_t g = begin; g < end && !joins; ++g)
                      joins = (ties >> (g - begin) & 1) != 0 && (with[g] & ties) != 0;
                    if (!joins)
                      continue;
                    members |= bit;
                    grows = true;
                  }
                }
                int p = 0;
                while (p < n_pieces && (owned[p] & ~members) != 0)
                  ++p;
                if (p == most_pieces)
                  return;
                if (p == n_pieces)
                  all_of[p] = owned[n_pieces++] = 0;
                all_of[p] |= members;
                for (std::int64_t f = begin; f < end; ++f)
                  if (piece[f] == 0 && (members >> (f - begin) & 1) != 0)
                  {
                    piece[f] = p + 1;
                    owned[p] |= std::uint64_t(1) << (f - begin);
                  }
              }
              int first = 0, second = 0;
              for (int p = 0; p < n_pieces; ++p)
              {
                const int size = kernels::count_bits(all_of[p]);
                if (size > first)
                  largest[i] = p + 1;
                second = size > first ? first : size > second ? size : second;
                first  = size > first ? size : first;
              }
              counts[i] = second >= 2 * n_dims - 3;
              if (counts[i] == 0)
                largest[i] = 0;
            });
    return scan(counts, sums);
  }

  template <>
  std::int64_t
  cut_at_hinges(Here, const Adjacency &edges, const Hinges &hinges, const int n_dims, Array<unsigned char> &kinds)
  {
    const Backend       &place = edges.backend();
    const int            n     = edges.n_nodes();
    const AdjacencyView  graph = edges.view();
    const CoupledRows    coupled(hinges, n);
    Array<unsigned char> new_kinds(place, kinds.size());
    Array<int>           counts(place, n);
    Array<std::int64_t>  sums;
    if (n == 0)
      return 0;
    for_all(place, n,
            [=, piece = hinges.pieces.data(), largest = hinges.largest.data(), kind = kinds.data(),
             to = new_kinds.data(), counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t node) {
              const int  i       = static_cast<int>(node);
              const auto is_left = [=](const int a, const int b) {
                const std::int64_t e = largest[a] == 0 ? -1 : coupled.find(a, b);
                return e >= 0 && piece[e] != largest[a];
              };
              int n_cut = 0;
              for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
              {
                const int  j     = graph.neighbours[e];
                const bool both  = largest[i] != 0 && largest[j] != 0; // which may go with two pieces that share them
                bool       apart = kind[e] == couples && (is_left(i, j) || is_left(j, i));
                if (kind[e] == stays || (kind[e] == couples && both && !apart))
                {
                  int n_common = 0, n_of_piece = 0;
                  coupled.for_each_common(i, j, [&](const std::int64_t f, const std::int64_t g) {
                    ++n_common;
                    n_of_piece += piece[f] == largest[i] && piece[g] == largest[j];
                  });
                  apart = kind[e] == stays ? n_common < n_dims : n_of_piece < n_dims - 1;
                }
                to[e] = apart ? crosses : kind[e];
                n_cut += apart;
              }
              counts[i] = n_cut;
            });
    const std::int64_t result = scan(counts, sums);
    kinds.swap(new_kinds);
    return result;
  }

  template <>
  std::int64_t compare_alike(Here,
                             const Adjacency            &edges,
                             const Adjacency            *across,
                             const NodePoints           &at,
                             const Array<double>        &largest,
                             const Array<unsigned char> &kinds,
                             Array<double>              &couplings,
                             Array<double>              &couplings_across)
  {
    const Backend &place = edges.backend();
    Array<double>  before[2];
    before[0].copy_from(place, couplings);
    before[1].copy_from(place, couplings_across);
    const CoupledEdges inside = coupled(edges, before[0]);
    CoupledEdges       outside{};
    if (across != nullptr)
      outside = coupled(*across, before[1]);
    const auto visit = [=] PATCHFEM_DEVICE(const std::int64_t i, const auto &use) { // use(coupling, squared length)
      for (std::int64_t e = inside.begin(i); e < inside.end(i); ++e)
        use(inside.of_edge[e], at.squared_distance(i, inside.graph.neighbours[e]));
      if (outside.of_edge != nullptr)
        for (std::int64_t e = outside.begin(i); e < outside.end(i); ++e)
          use(outside.of_edge[e], at.squared_distance(i, outside.graph.neighbours[e]));
    };
    Array<unsigned char> rounds(place, edges.n_nodes()); // all edges are about as long
    Array<int>           counts(place, edges.n_nodes());
    Array<std::int64_t>  sums;
    for_all(place, edges.n_nodes(), [=, round = rounds.data()] PATCHFEM_DEVICE(const std::int64_t i) {
      double nearest = 0., farthest = 0.;
      visit(i, [&](double, const double d) {
        nearest  = nearest == 0. || d < nearest ? d : nearest;
        farthest = d > farthest ? d : farthest;
      });
      round[i] = farthest <= alike * nearest;
    });
    for_all(place, edges.n_nodes(),
            [=, round = rounds.data(), most = largest.data(), kind = kinds.data(), of_inside = couplings.data(),
             of_outside = couplings_across.data(), counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              counts[i] = 0;
              if (round[i])
                return;
              // How much more than edges of length d those of node n couple that couple most.
              const auto ratio = [&](const std::int64_t n, const double d) {
                double largest_alike = 0.;
                visit(n, [&](const double coupling, const double other) {
                  if (coupling > largest_alike && other <= alike * d && d <= alike * other)
                    largest_alike = coupling;
                });
                return largest_alike > 0. ? most[n] / largest_alike : 1.;
              };
              for (std::int64_t e = inside.begin(i); e < inside.end(i); ++e)
              {
                const int j = inside.graph.neighbours[e];
                if (kind[e] != crosses || round[j])
                  continue;
                const double d = at.squared_distance(i, j), a = ratio(i, d), b = ratio(j, d);
                of_inside[e] *= a < b ? a : b;
                ++counts[i];
              }
              if (outside.of_edge != nullptr)
                for (std::int64_t e = outside.begin(i); e < outside.end(i); ++e)
                  if (outside.of_edge[e] <= least_coupling * no_tie * most[i])
                  {
                    of_outside[e] *= ratio(i, at.squared_distance(i, outside.graph.neighbours[e]));
                    ++counts[i];
                  }
            });
    return edges.n_nodes() == 0 ? 0 : scan(counts, sums);
  }

  template <>
  Array<unsigned char>
  tied_across(Here, const Adjacency &across, const Array<double> &couplings_across, const Array<double> &largest)
  {
    Array<unsigned char> result(across.backend(), across.n_nodes());
    for_all(across.backend(), across.n_nodes(),
            [of = coupled(across, couplings_across), most = largest.data(),
             tied = result.data()] PATCHFEM_DEVICE(const std::int64_t i) {
              tied[i] = 0;
              for (std::int64_t e = of.begin(i); e < of.end(i); ++e)
                if (of.couple(e, i, most))
                  tied[i] = 1;
            });
    return result;
  }

  template <>
  Adjacency uniform_edges(Here,
                          const Adjacency            &edges,
                          const Array<double>        &couplings,
                          const Array<unsigned char> &kinds,
                          const Array<unsigned char> &tied_nodes,
                          const Adjacency            &candidates)
  {
    const CoupledEdges         all   = coupled(edges, couplings);
    const AdjacencyView        graph = candidates.view();
    const unsigned char *const kind = kinds.data(), *const tied = tied_nodes.data();
    // use(neighbour, edge, the same one among all)
    const auto for_each = [=] PATCHFEM_DEVICE(const std::int64_t i, const auto &use) {
      std::int64_t f = all.begin(i);
      for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e, ++f)
      {
        while (all.graph.neighbours[f] != graph.neighbours[e]) // both ascend
          ++f;
        use(graph.neighbours[e], e, f);
      }
    };
    Array<int> holders(edges.backend(), candidates.n_nodes()); // of nodes all of whose edges would go; else -1
    int *const held = holders.data();
    for_all(edges.backend(), candidates.n_nodes(), [=] PATCHFEM_DEVICE(const std::int64_t i) {
      double most = 0.;
      int    best = -1;
      bool   cut  = tied == nullptr || tied[i] == 0;
      for_each(i, [&](const int j, std::int64_t, const std::int64_t f) {
        cut = cut && kind[f] != couples;
        if (all.of_edge[f] > most * no_tie)
        {
          most = all.of_edge[f];
          best = j;
        }
      });
      held[i] = cut ? best : -1;
    });
    return kept(edges.backend(), candidates.n_nodes(), [=] PATCHFEM_DEVICE(const std::int64_t i, const auto &keep) {
      for_each(i, [&](const int j, const std::int64_t e, const std::int64_t f) {
        if (kind[f] != crosses || held[i] == j || held[j] == i)
          keep(j, graph.weight(e));
      });
    });
  }

#define INSTANTIATE(Number)                                                                                        \
  template std::array<std::int64_t, 2> rows_at_jumps(Here, const SlicedEllpackMatrix<Number> &, const Adjacency &, \
                                                     const NodePoints &);                                          \
  template Array<double>               couplings_of(Here, const SlicedEllpackMatrix<Number> &, const Adjacency &)
  INSTANTIATE(float);
  INSTANTIATE(double);
#undef INSTANTIATE
} // namespace PatchFEM::graph_tools
