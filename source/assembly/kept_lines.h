// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_batches.h>

#include <optional>
#include <vector>

namespace PatchFEM
{
  class CoarseNumbers;

  /** Nodes without a number as vertices of a LinearEmbedding. */
  enum UncountedVertices : int
  {
    constrained_vertex = -1, ///< a vertex whose unknowns are all constrained
    no_vertex          = -2
  };

  /**
   * Values at those vertices that have constrained unknowns: for component a of node k the sum over
   * entries e of [offsets[k], offsets[k + 1]) and components b of weights[(e * n_c + a) * n_c + b] times component b of
   * the vertex masters[e]. Of all others the value is an unknown. On the host.
   */
  struct KeptLines
  {
    std::vector<int>    nodes, masters; ///< [k], in the numbering of the batches, and [e], numbers of vertices
    std::vector<int>    offsets{0};
    std::vector<double> weights;
  };

  /**
   * Lines of a vertex that hangs are of unknowns on a coarser cell, whose values come from the vertices of that cell,
   * which may hang again. Where @p numbers are those of several ranks this is collective: of a node whose cells are
   * elsewhere its owner is asked for the value. @p numbers then know all masters, and @p vertex_of_node, [node], follows
   * them. Empty, on all ranks, where lines go round in circles.
   */
  std::optional<KeptLines> lines_of_kept(const ElementTables  &tables,
                                         const ElementBatches &batches,
                                         std::vector<int>     &vertex_of_node,
                                         CoarseNumbers        *numbers);
} // namespace PatchFEM
