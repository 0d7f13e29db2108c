// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/cg.h>

#include <cstdint>

/** @file Launch shapes, apart from the algorithms. bench_spmv --variants times the alternatives. */
namespace PatchFEM::tuning
{
  /** Threads of a block of the vector kernels and of products. */
  constexpr int block_size = 256;

  /** Entries each lane of a warp loads before it uses the first; 12 times 8 warps is 24 KB of shared memory. */
  constexpr int csr_entries_per_lane = 12;

  /**
   * Sliced ELLPACK of BR x BC blocks. Blocks of six rows are shared by two threads: 36 doubles on their way would not
   * leave registers for the threads that hide each other's waiting. Rows per thread are as many as make loads of 8
   * or 16 bytes; with 18 entries, enough loads are in flight, and few enough registers left, to stay with one. Values in
   * fp32 under vectors in fp64 (@p mixed) leave few registers for rows side by side, whose results are written apart from
   * each other besides: with one row a step of a polynomial in 3 x 3 blocks takes 0.87 of the time of two, or 0.97
   * where it does not read y_{k-1}, as bench_spmv --variants times it.
   */
  template <typename Value, typename Number, int BR, int BC>
  struct SlicedEllpack
  {
    static constexpr bool mixed           = sizeof(Value) < sizeof(Number);
    static constexpr int  parts           = BR > 3 ? 2 : 1;
    static constexpr int  entries         = BR / parts * BC; ///< of a block in each thread
    static constexpr int  rows_per_thread = entries > (mixed ? 4 : 9)
                                                ? 1
                                                : (sizeof(Number) == 8 ? 2 : (entries > 4 ? 2 : 4));
    /// Blocks whose loads are issued together: about 8 wide loads are in flight in each thread, or 27 narrow ones.
    static constexpr int unroll = entries >= 6 ? (mixed && entries <= 9 ? 3 : 1) : (entries >= 4 ? 2 : 8);
    /// Blocks of threads that a multiprocessor must hold at once. Named because without it the compiler trades the
    /// registers that loads in flight need for more threads; 3 allows 80 registers a thread, 4 allows 64.
    static constexpr int residency = mixed && entries == 1 ? 4 : 3;
  };

  /** Values of one byte: four rows a thread make loads of 4 bytes of values and 16 of columns. */
  template <int BR, int BC>
  struct SlicedEllpack<std::int8_t, float, BR, BC>
  {
    static constexpr int parts           = BR > 3 ? 2 : 1;
    static constexpr int entries         = BR / parts * BC;
    static constexpr int rows_per_thread = 4;
    static constexpr int unroll          = entries > 4 ? 1 : (entries > 1 ? 2 : 4);
    static constexpr int residency       = 3;
  };

  /**
   * The same where the height of slices is not 32. A row a thread: so a warp reads from half as many slices at once where
   * they are low, and no height is too odd. Rows of scalars are too short for that where slices are high (HighSlices).
   */
  template <int BR, int BC>
  struct AnyHeight
  {
    static constexpr int parts           = BR > 3 ? 2 : 1;
    static constexpr int entries         = BR / parts * BC;
    static constexpr int rows_per_thread = 1;
    static constexpr int unroll          = entries > 9 ? 1 : (entries > 4 ? 4 : (entries > 1 ? 3 : 8));
    static constexpr int residency       = entries > 4 ? 3 : 4;
  };

  /** Scalars where the height is a multiple of 32. */
  template <typename Value, typename Number>
  struct HighSlices : SlicedEllpack<Value, Number, 1, 1>
  {
    static constexpr int rows_per_thread = 2;
  };

  /** Slices of one row: a lane takes a row of each block; more blocks at once idle at row ends and exchange more. */
  template <int b>
  struct BlockRows
  {
    static constexpr int blocks = b > 2 ? 5 : 2;
    static constexpr int unroll = b > 2 ? 3 : 5;
  };

  /**
   * Slices of 32 rows that the warps of a block share, instead of the tuned kernel where that takes at most few_blocks
   * blocks: 40,000 nodes on the finest level, 13,000 aggregates of 6 modes. On an H200 a product of 9,261 nodes of
   * elasticity in fp64 takes 5.5 us in place of 19.6, of 35,937 nodes 20.0 in place of 23.5.
   * More rows in a thread read the source less often, fewer make more blocks.
   */
  template <int BR, int BC>
  struct SharedSlices
  {
    static constexpr int held    = BR > 3 ? 2 : BR;
    static constexpr int entries = held * BC; ///< of a block in each thread
    static constexpr int unroll  = entries > 12 ? 1 : (entries > 6 ? 2 : (entries > 1 ? 4 : 8));
  };
  constexpr int few_blocks = 1250;
  static_assert(few_blocks <= 2 * kernels::reduction::max_parts, "each block leaves a partial sum of p.Ap");

  /** b x b blocks, a block of threads to a patch. Several share a multiprocessor: some read while others wait. */
  template <typename Number, int b>
  struct SymmetricEllpack
  {
    static constexpr int rows_per_thread = b == 1 ? 2 : 1;
    static constexpr int residency       = b == 1 ? (sizeof(Number) == 4 ? 4 : 3) : 2;
    /// Blocks of a row whose loads are issued together.
    static constexpr int unroll = b <= 2 ? 2 : 1;
    /// Slots whose numbers are loaded before the barrier in front of their values.
    static constexpr int n_collected = b == 1 ? 8 : (b == 6 ? 2 : 3);
    /// Blocks of a row that are asked for ahead of the one in work. Larger ones are enough on their way without.
    static constexpr int distance = b == 1 ? 6 : 0;
    /// Whether a step is loaded before the one in front of it is used.
    static constexpr bool ahead = b == 1;
  };
} // namespace PatchFEM::tuning
