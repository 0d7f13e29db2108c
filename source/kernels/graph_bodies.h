// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_graph_bodies_h
#define patchfem_source_kernels_graph_bodies_h

#include "kernels/matrix_rows.h"
#include <patchfem/kernels/parallel_for.h>

#include <cmath>

/** @file Bodies (see parallel_for.h) that build graphs and find maximal independent sets in them. */
namespace PatchFEM
{
  namespace kernels
  {
    /** *flag = 1. Once it is, threads only read it, while a count of many would be fought for by all of them. */
    PATCHFEM_INLINE void raise_flag(int *flag)
    {
#if defined(__CUDA_ARCH__)
      volatile int *const shared = flag;
      if (*shared == 0)
        *shared = 1;
#else
      if (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0)
        __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
#endif
    }

    template <typename Rows>
    struct CoupledBody
    {
      Rows rows;
      int *coupled; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { coupled[i] = rows.couples(static_cast<int>(i)); }
    };

    /** Frobenius norms of the diagonal blocks. */
    template <typename Rows>
    struct DiagonalNormBody
    {
      Rows    rows;
      double *norms; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        norms[i] = std::sqrt(rows.squared_norm(static_cast<int>(i), static_cast<int>(i)));
      }
    };

    /**
     * Which blocks of a matrix are edges: those between two rows that couple, of owned columns, and with threshold > 0
     * those with |A_ij| > threshold sqrt(|A_ii| |A_jj|) in Frobenius norms. Of A_ij and A_ji the larger one counts, so
     * that rounding does not make the graph unsymmetric; and blocks within 1e-6 of the threshold count as weak, so that
     * on a regular mesh, where many blocks equal it, rounding does not decide.
     */
    template <typename Rows>
    struct EdgeCriterion
    {
      Rows          rows;
      const int    *coupled;   ///< [row]
      const double *norms;     ///< [row], of diagonal blocks; nullptr if threshold is 0
      double        threshold; ///< theta

      PATCHFEM_INLINE bool operator()(const int i, const int j) const
      {
        if (j == i || j >= rows.n_rows() || !coupled[j])
          return false;
        if (threshold == 0.)
          return true;
        const double a = rows.squared_norm(i, j), b = rows.squared_norm(j, i);
        return (a > b ? a : b) > threshold * threshold * (1. + 1e-6) * (norms[i] * norms[j]);
      }
    };

    template <typename Rows>
    struct CountEdgesBody
    {
      EdgeCriterion<Rows> is_edge;
      int                *counts; ///< [row]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = static_cast<int>(i);
        int       n   = 0;
        if (is_edge.coupled[row])
          is_edge.rows.for_each_column(row, [&](const int column) { n += is_edge(row, column); });
        counts[row] = n;
      }
    };

    template <typename Rows>
    struct WriteEdgesBody
    {
      EdgeCriterion<Rows> is_edge;
      const std::int64_t *offsets; ///< [row]
      int                *neighbours;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int row = static_cast<int>(i);
        int      *out = neighbours + offsets[i];
        if (is_edge.coupled[row])
          is_edge.rows.for_each_column(row, [&](const int column) {
            if (is_edge(row, column))
              *out++ = column;
          });
      }
    };

    /** A permutation of the 64-bit integers without visible order: the finalizer of SplitMix64 (Steele et al. 2014). */
    PATCHFEM_INLINE std::uint64_t hash(std::uint64_t x)
    {
      x += 0x9e3779b97f4a7c15u;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
      x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
      return x ^ (x >> 31);
    }

    /**
     * What a node shows to those around it while an independent set grows: its status, its priority and its number in
     * one word, so that the largest word within reach tells first whether there is a member, and else which undecided
     * node comes first.
     */
    namespace tuple
    {
      constexpr std::uint64_t outside = 0, undecided = 1, member = 2;
      constexpr int           priority_bits = 30;

      PATCHFEM_INLINE std::uint64_t make(const std::uint64_t status, const std::uint64_t priority, const int node)
      {
        return (status << 62) | ((priority & ((std::uint64_t(1) << priority_bits) - 1)) << 32) |
               static_cast<std::uint32_t>(node);
      }
      PATCHFEM_INLINE std::uint64_t status(const std::uint64_t word)
      {
        return word >> 62;
      }
    } // namespace tuple

    /** Random priorities. Nodes that are isolated in the graph of all edges stay outside unless they are asked for. */
    struct RandomTupleBody
    {
      AdjacencyView  all;
      bool           with_isolated;
      std::uint64_t *tuples; ///< [node]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const bool out = all.is_isolated(i) && !with_isolated;
        tuples[i]      = tuple::make(out ? tuple::outside : tuple::undecided, hash(i), static_cast<int>(i));
      }
    };

    struct FillTupleBody
    {
      std::uint64_t *tuples;
      std::uint64_t  value;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { tuples[i] = value; }
    };

    /**
     * to[i] = largest of from[] over i and its neighbours. A result that is not undecided is final: a member within
     * reach stays one, and if all within reach are outside, so do they.
     */
    struct PropagateBody
    {
      AdjacencyView        graph;
      const std::uint64_t *from;
      std::uint64_t       *to; ///< starts as undecided

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (tuple::status(to[i]) != tuple::undecided)
          return;
        std::uint64_t largest = from[i];
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
        {
          const std::uint64_t other = from[graph.neighbours[e]];
          largest                   = other > largest ? other : largest;
        }
        to[i] = largest;
      }
    };

    /** An undecided node that comes first within reach becomes a member; one that a member reaches is outside. */
    struct DecideBody
    {
      const std::uint64_t *reached;   ///< [node], the last hop
      std::uint64_t       *tuples;    ///< [node]
      int                 *undecided; ///< flag: some node still is

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const std::uint64_t own = tuples[i];
        if (tuple::status(own) != tuple::undecided)
          return;
        if (reached[i] == own)
          tuples[i] = own ^ (std::uint64_t(3) << 62); // undecided 01 becomes member 10
        else if (tuple::status(reached[i]) == tuple::member)
          tuples[i] = tuple::make(tuple::outside, 0, static_cast<int>(i));
        else
          raise_flag(undecided);
      }
    };

    struct MemberFlagBody
    {
      const std::uint64_t *tuples;
      int                 *flags; ///< 1 for members, 0 for others

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        flags[i] = tuple::status(tuples[i]) == tuple::member;
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
