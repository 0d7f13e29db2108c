// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_source_assembly_row_lengths_h
#define patchfem_source_assembly_row_lengths_h

#include <patchfem/assembly/element_tables.h>

#include <vector>

namespace PatchFEM
{
  /** Whether nodes hang or cells differ in their numbers of nodes, so that rows of equally many cells differ much. */
  bool cells_differ(const ElementTables &tables);

  /**
   * About how many nodes each node couples with, [node of the tables]: the sum over its cells of the nodes that their
   * matrices have once constraints are resolved. A cell with a hanging node counts to the masters, too; a node that is
   * constrained in all components has 0, unless @p keep_entries.
   */
  std::vector<int> expected_row_lengths(const ElementTables &tables, bool keep_entries);
} // namespace PatchFEM

#endif
