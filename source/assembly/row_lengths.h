// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_tables.h>
#include <patchfem/base/array.h>

#include <array>
#include <vector>

namespace PatchFEM
{
  /** Whether nodes hang or cells differ in their numbers of nodes, so that rows of equally many cells differ much. */
  bool cells_differ(const ElementTables &tables);

  /**
   * About how many nodes each node couples with, [node of the tables] on the host: the sum over its cells of the nodes
   * of their matrices once constraints are resolved. A cell with a hanging node counts to the masters, too; a node that
   * is constrained in all components has 0, unless @p keep_entries.
   */
  Array<int> expected_row_lengths(const ElementTables &tables, bool keep_entries);

  /**
   * How many nodes a row has whose length is known in another unit, factor * (length + further): lengths count a node
   * once for each cell that it shares with the row's.
   */
  struct RowLengthScale
  {
    double factor  = 1.;
    double further = 0.;

    /**
     * For numbers of cells, or where cells_differ() for expected_row_lengths(): exact for the nodes of one cell and, on
     * regular meshes, for those that the most cells have, linear in between. Where cells have different numbers of
     * nodes no two constants serve, and lengths stay what they are.
     */
    static RowLengthScale of(const ElementTables &tables);
  };

  /** To choose from, the smallest first. */
  constexpr std::array<int, 4> sorting_windows{{1, 64, 256, 1024}};

  /**
   * The one of sorting_windows that products with slices of 32 rows are expected to move the least in, values in fp64
   * with columns of 32 bits. That is the default of ElementBatches, in which the patches of assembly are as compact as
   * they were when their sizes were tuned, unless another moves at least 5 % less; then the smallest one that moves at
   * most half a per cent more than the best.
   *
   * @param lengths Of rows along the curve, in the unit of @p scale, 0 for those with their diagonal alone: groups of
   *   as many as the largest window has that need not be neighbours.
   * @param n_components Scalar rows in a row.
   */
  int cheapest_sorting_window(const std::vector<int> &lengths, const RowLengthScale &scale, int n_components);
} // namespace PatchFEM
