// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/partitioner.h>
#include <patchfem/lac/matrix/compressed_pattern.h>

namespace PatchFEM
{
  /**
   * The functions of degree 1 on the mesh of a space of higher degrees, which are part of it: their values P u at its
   * nodes, u those at the vertices. Of stretched cells all nodes count as vertices, since there only what varies along short
   * edges may be left to a smoother. As the first transfer of multigrid (Ronquist and Patera 1987) it
   * leaves to smoothed aggregation the matrix R A P of degree 1, for which that is made. See Space::linear_embedding().
   *
   * Of several ranks each has the rows of its nodes. A vertex is of the rank that its node is of; behind those of a rank
   * come others that its rows read.
   */
  struct LinearEmbedding
  {
    CompressedPattern pattern; ///< [node of the space] of vertices, those that have an unknown which is not constrained
    /// Of blocks with a row and a column for each component, in scalar rows: value (a, b) of block p of a row of n, before
    /// which there are `begin`, is values[(begin * n_c + a * n + p) * n_c + b]. Rows of constrained unknowns are zero.
    Array<double> values;
    Array<int>    nodes;      ///< [vertex of this rank], its node in the space
    int           degree = 0; ///< the highest of the space

    std::shared_ptr<const Partitioner> partitioner; ///< of vertices; null of one rank

    int         n_vertices() const { return static_cast<int>(nodes.size()); }
    std::size_t memory_consumption() const { return memory_consumption_of(pattern, values, nodes); }
  };
} // namespace PatchFEM
