// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "mesh.h"

#include <patchfem/lac/matrix/host_csr.h>

#include <cstdint>
#include <string>
#include <vector>

namespace papers
{
  using PatchFEM::HostCSR;

  /** A linear system on the host, by blocks of a node's unknowns. */
  struct System
  {
    int                       block = 1; ///< unknowns of a node
    std::vector<std::int64_t> offsets;   ///< [nodes + 1], in blocks
    std::vector<int>          columns;   ///< [block], sorted in each row
    std::vector<double>       values;    ///< scalar row after scalar row
    std::vector<double>       load;

    int          n_nodes() const { return static_cast<int>(offsets.size()) - 1; }
    int          n_dofs() const { return n_nodes() * block; }
    std::int64_t n_entries() const { return values.size(); }

    /** y = A x in plain loops: what formats and solutions are checked with. */
    std::vector<double> product(const std::vector<double> &x) const;
  };

  /**
   * Plane stress in two dimensions or elasticity in three by linear elements, E = 1 and nu = 0.3. Nodes with x = 0 are
   * fixed: their rows and columns hold only the diagonal, but their entries stay in the pattern, as P0 counts them. The
   * load is a shear of 1 on the side x = 1.
   */
  System elasticity(const MeshLists &mesh);

  /** The Laplacian by linear elements, 0 on x = 0, likewise; the load is that of @p solution, which is 0 there. */
  System laplacian(const MeshLists &mesh, std::vector<double> &solution);

  /** A matrix of scalars; its load is that of the solution @p solution. */
  System scalar_system(HostCSR<double> matrix, const std::vector<double> &solution);
} // namespace papers
