// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/communicator.h>
#include <patchfem/base/mesh_lists.h>

namespace PatchFEM::internal
{
  /** A rank's cells of a mesh, and all others that share a vertex with them: deal.II's ghosts. */
  struct MeshPart
  {
    MeshLists                  lists;
    std::vector<std::uint64_t> numbers; ///< [cell], in the whole mesh
    std::vector<std::uint32_t> owners;  ///< [cell], ranks; a rank without cells has one that is artificial
  };

  /**
   * Cuts @p mesh, which only the first rank has, by METIS between cells that share a face, or gives each cell to a rank
   * if there are not more, and sends every rank its part.
   */
  MeshPart distribute(const MeshLists &mesh, const Communicator &ranks);

  /** Of all cells, as red_refine() does it. Child i of cell c has the number 2^dim c + i. */
  void red_refine(MeshPart &part);

  /** Drops cells that share no vertex with one of @p rank, as children of its neighbours may. */
  void trim(MeshPart &part, int rank);

  /** The lists of the first rank, given to all. */
  void share(MeshLists &lists, const Communicator &ranks);
} // namespace PatchFEM::internal
