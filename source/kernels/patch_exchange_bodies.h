// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_kernels_patch_exchange_bodies_h
#define patchfem_source_kernels_patch_exchange_bodies_h

#include "kernels/partition_bodies.h"

#include <climits>

/**
 * @file
 * Bodies (see parallel_for.h) that exchange aggregates between patches until each is small enough, and unite patches
 * that fit one. While aggregates are exchanged a patch is named by one of its aggregates, its root, which never leaves.
 */
namespace PatchFEM
{
  namespace kernels
  {
    /** The aggregates, their graph and what the matrix block A_kk of a patch k takes. */
    struct PatchBytes
    {
      AdjacencyView       graph;      ///< of the aggregates
      const std::int64_t *own;        ///< [aggregate], bytes of the entries inside
      std::int64_t        edge_bytes; ///< bytes of one entry between aggregates
      std::int64_t        limit;      ///< largest patch
    };

    /** High half: a priority; low half: an aggregate, the lowest first. Never 0. */
    PATCHFEM_INLINE std::uint64_t ranked(const std::int64_t priority, const std::int64_t aggregate)
    {
      return (static_cast<std::uint64_t>(priority) << 32) |
             static_cast<std::uint32_t>(~static_cast<std::uint32_t>(aggregate));
    }
    PATCHFEM_INLINE int aggregate_of(const std::uint64_t ranked)
    {
      return static_cast<int>(~static_cast<std::uint32_t>(ranked));
    }

    /** The aggregate that is tied most to the others of its patch becomes its root. */
    struct RankRootBody
    {
      AdjacencyView  graph;
      const int     *patch; ///< [aggregate]
      std::uint64_t *best;  ///< [patch], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        std::int64_t inside = 0;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
          if (patch[graph.neighbours[e]] == patch[i])
            inside += graph.weight(e);
        atomic_max(best + patch[i], ranked(inside < INT_MAX ? inside : INT_MAX, i));
      }
    };

    /** Names patches by their roots. */
    struct NameByRootBody
    {
      const std::uint64_t *best; ///< [patch]
      int                 *patch;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { patch[i] = aggregate_of(best[patch[i]]); }
    };

    struct AddBytesBody
    {
      PatchBytes    measure;
      const int    *patch; ///< [aggregate]
      std::int64_t *bytes; ///< [root], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        std::int64_t edges = 0; // those to later aggregates, so that each counts once
        for (std::int64_t e = measure.graph.offsets[i]; e < measure.graph.offsets[i + 1]; ++e)
          if (measure.graph.neighbours[e] > i && patch[measure.graph.neighbours[e]] == patch[i])
            edges += measure.graph.weight(e);
        atomic_add(bytes + patch[i], measure.own[i] + edges * measure.edge_bytes);
      }
    };

    /**
     * Where an aggregate of a patch that is too large would best go: to the neighbouring patch that has room and to
     * which the cut falls most, else, if none has room, into a patch of its own. Each patch gives one aggregate at a
     * time, its best, so that sizes do not swing.
     */
    struct OfferBody
    {
      PatchBytes          measure;
      const int          *patch;  ///< [aggregate]
      const std::int64_t *bytes;  ///< [root]
      int                *target; ///< [aggregate], a root, or the aggregate itself
      std::uint64_t      *offers; ///< [root], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int own = patch[i];
        target[i]     = static_cast<int>(i);
        if (bytes[own] <= measure.limit || own == i)
          return;
        std::int64_t inside = 0, most = -1;
        for_each_group(measure.graph, i, patch, [&](const int p, const int weight) {
          if (p == own)
            inside = weight;
          else if (weight > most && bytes[p] + measure.own[i] + weight * measure.edge_bytes <= measure.limit)
          {
            most      = weight;
            target[i] = p;
          }
        });
        // 29 bits of gain; every patch that has room comes before a new one.
        constexpr std::int64_t bound = std::int64_t(1) << 28;
        const std::int64_t     gain  = (most > 0 ? most : 0) - inside;
        const std::int64_t     cut   = gain < -bound ? -bound : (gain >= bound ? bound - 1 : gain);
        atomic_max(offers + own, ranked((std::int64_t(most >= 0) << 30) | (cut + bound), i));
      }
    };

    /** A patch takes one aggregate at a time, the best that is offered to it. */
    struct AcceptBody
    {
      const std::uint64_t *offers;   ///< [root]
      const int           *target;   ///< [aggregate]
      std::uint64_t       *accepted; ///< [root], starts at 0

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (offers[i] != 0)
          atomic_max(accepted + target[aggregate_of(offers[i])], offers[i]);
      }
    };

    struct MoveBody
    {
      const std::uint64_t *accepted; ///< [root]
      int                 *patch;
      int                 *n_moved;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        if (accepted[i] == 0)
          return;
        patch[aggregate_of(accepted[i])] = static_cast<int>(i);
        atomic_increment(n_moved);
      }
    };

    /** 1 for roots, 0 for others. */
    struct RootFlagBody
    {
      const int *patch; ///< [aggregate], roots
      int       *flags;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const { flags[i] = patch[i] == i; }
    };

    /**
     * The neighbouring patch that a patch would unite with: of those with which it stays within the limit the one it
     * shares most edges with. Ties are broken by a hash of the pair, the same from both ends, so that pairs that choose
     * each other are found everywhere at once.
     */
    struct PartnerBody
    {
      AdjacencyView       patches;
      const std::int64_t *bytes; ///< [patch]
      std::int64_t        edge_bytes, limit;
      int                *partner; ///< [patch], or -1

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        std::uint64_t best = 0;
        int           with = -1;
        for (std::int64_t e = patches.offsets[i]; e < patches.offsets[i + 1]; ++e)
        {
          const std::int64_t j = patches.neighbours[e], weight = patches.weight(e);
          if (bytes[i] + bytes[j] + weight * edge_bytes > limit)
            continue;
          const std::uint64_t low  = static_cast<std::uint64_t>(i < j ? i : j),
                              high = static_cast<std::uint64_t>(i ^ j ^ low);
          const std::uint64_t rank = (static_cast<std::uint64_t>(weight) << 32) | (hash((high << 32) | low) >> 32);
          if (with < 0 || rank > best)
          {
            best = rank;
            with = static_cast<int>(j);
          }
        }
        partner[i] = with;
      }
    };

    /** 0 for the later one of two patches that chose each other, 1 for all others. */
    struct UniteFlagBody
    {
      const int *partner; ///< [patch]
      int       *flags;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        const int p = partner[i];
        flags[i]    = !(p >= 0 && p < i && partner[p] == i);
      }
    };

    struct UnitedNumberBody
    {
      const int          *partner;   ///< [patch]
      const int          *flags;     ///< [patch]
      const std::int64_t *positions; ///< scan of flags
      int                *new_number;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        new_number[i] = static_cast<int>(positions[flags[i] ? i : partner[i]]);
      }
    };

    /** sizes[i] = sign (offsets[i + 1] - offsets[i]) + shift. */
    struct OffsetSizeBody
    {
      const int *offsets;
      int        sign, shift;
      int       *sizes;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        sizes[i] = sign * (offsets[i + 1] - offsets[i]) + shift;
      }
    };

    /** What does not fit 32 bits becomes the largest number. */
    struct ClampBody
    {
      const std::int64_t *from;
      int                *to;

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        to[i] = static_cast<int>(from[i] < INT_MAX ? from[i] : INT_MAX);
      }
    };

    /** Weight of the edges that leave a node's group; with @p group = nullptr of all its edges. */
    struct CutBody
    {
      AdjacencyView graph;
      const int    *group; ///< [node]
      int          *cut;   ///< [node]

      PATCHFEM_INLINE void operator()(const std::int64_t i) const
      {
        int sum = 0;
        for (std::int64_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e)
          if (group == nullptr || group[graph.neighbours[e]] != group[i])
            sum += graph.weight(e);
        cut[i] = sum;
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
