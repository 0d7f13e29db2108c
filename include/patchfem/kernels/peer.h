// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <cstddef>
#include <cstdint>

/**
 * @file
 * What devices that reach each other's memory exchange, by kernels alone, so that a Graph may hold it. Each block of
 * threads stores its share of the things into the other device's memory and then raises a flag there: the number of the
 * exchange, which both ends count. The block that takes the same share there waits for that flag alone. Two halves of an
 * inbox take turns, and a block that has emptied its share raises a flag at the sender's, whose block looks at it before
 * it fills the same half again. Bytes: those of the things, once over the link and once more from the inbox to the ghosts.
 *
 * Inboxes and flags serve one link after the other, and no host waits in between. A flag only grows, since one rank alone
 * raises it, in the order of its stream: that of a later link counts from a larger number on. And an inbox is filled when
 * its owner has raised the flags of the sender to that number, in the order of its own stream: it has taken by then what was
 * in there before.
 */
namespace PatchFEM::kernels
{
  /** Things that go to or come from another rank, by @p n_blocks blocks of threads, the first of which is first_block. */
  struct PeerLink
  {
    int                  rank;
    int                  begin, end;                ///< of the things that are sent, or of the ghosts
    char                *inbox;                     ///< its first half, at the receiver
    std::size_t          half;                      ///< bytes from it to the second
    std::uint64_t       *raised;                    ///< [block], the other rank's flags that are raised in the end
    const std::uint64_t *awaited;                   ///< [block], the flags here that are waited for before
    std::uint64_t        raised_from, awaited_from; ///< what these count from
    unsigned int         first_block, n_blocks;
    std::uint64_t       *count; ///< [block], of exchanges that are done
  };

  /// Blocks of a link, at most.
  constexpr unsigned int most_peer_blocks = 64;

  /** All links of one direction. */
  struct PeerLinks
  {
    const PeerLink *links    = nullptr;
    int             n_links  = 0;
    unsigned int    n_blocks = 0; ///< of all links
  };

  /** How long a kernel waits before it writes 1 + the rank that did not come to @p late, memory of the host, and fails. */
  struct PeerPatience
  {
    std::uint64_t nanoseconds;
    int          *late;
  };

  /** Sums of all ranks: each gives its numbers to all, and adds up what has come in the order of ranks. */
  struct PeerSum
  {
    static constexpr int most = 2, most_ranks = 64; ///< numbers, and ranks of a machine

    int                   rank, n_ranks;
    std::uint64_t *const *boxes; ///< [rank], each [2][n_ranks][2 * most]: half of a number beside the sum's count
    std::uint32_t        *count; ///< of sums that are done
  };

  /** Blocks of threads for a link of @p n things of @p bytes, the same at both ends. */
  unsigned int peer_blocks(std::int64_t n, std::size_t bytes);

  /** to[i] = from[indices[i]] for i < n, things of @p bytes, a multiple of 4; without @p indices from[i]. */
  void gather_things(Cuda, std::int64_t n, std::size_t bytes, const int *indices, const void *from, void *to);

  /**
   * Before the first exchange: writes @p n links, memory of the host, to @p there, and says to those who put things here,
   * of all links but the first @p n_puts, that they may. The links travel with the launch. Not to be
   * recorded: a Graph would open them again each time.
   */
  void peer_open(Cuda, const PeerLink *links, int n, int n_puts, PeerLink *there);

  /** Things of @p bytes at @p values, by the list @p indices if there is one, to the inboxes of others. */
  void
  peer_put(Cuda, const PeerLinks &, std::size_t bytes, const int *indices, const void *values, const PeerPatience &);

  /** What others have put here, to @p ghosts. */
  void peer_take(Cuda, const PeerLinks &, std::size_t bytes, void *ghosts, const PeerPatience &);

  /** Both in one kernel. */
  void peer_exchange(Cuda,
                     const PeerLinks &to,
                     const PeerLinks &from,
                     std::size_t      bytes,
                     const int       *indices,
                     const void      *values,
                     void            *ghosts,
                     const PeerPatience &);

  void peer_sum(Cuda, const PeerSum &, int n, double *values, const PeerPatience &);

  /** values[i] = sum of parts[rank * n + i] in the order of ranks, for i < n. */
  void sum_of_ranks(Cuda, int n_ranks, int n, const double *parts, double *values);
} // namespace PatchFEM::kernels
