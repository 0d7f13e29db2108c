// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>

#include <functional>
#include <utility>

namespace PatchFEM
{
  /**
   * The share of the energy of a displacement that cells of degree 1 take up because they cannot bend, from 0 to 1. A
   * load then moves a body by about 1 minus this share of what is right. Cells count that lie across thin parts, where a
   * line from a boundary face along its normal leaves the body again after a few of its lengths.
   *
   * - Quadrilaterals and hexahedra: what relaxing psi_i n in each cell by itself takes out of its energy, n being the
   *   normal and psi_i = 1 - xi_i^2 for each reference coordinate: the shear and the thickness strains that bending does
   *   not have (R. L. Taylor, P. J. Beresford and E. L. Wilson, *A non-conforming element for stress analysis*, Int. J.
   *   Numer. Meth. Eng. 10, 1976). Of cells that are the whole section of a bar also the warping
   *   xi_a xi_b (1 - xi_a^2) and xi_a xi_b (1 - xi_b^2), which torsion wants. In-plane loads excite none of them.
   * - Simplices: of the energy of strains that differ between both sides, and of transverse shear between free sides, the
   *   part that the linear interpolant of a bending has more than that.
   *
   * Large meshes are sampled: at most a thousand faces and cells of each rank. Collective; ghosts are up to date.
   *
   * @param moduli Lame's parameters lambda and mu at a point of a material.
   * @param mean_dilatation Whether only the mean divergence of a cell has volumetric energy.
   */
  template <int dim>
  double bending_stiffness_share(
      const Discretisation<dim> &discretisation,
      const SolutionVector      &solution,
      const std::function<std::pair<double, double>(const dealii::Point<dim> &, dealii::types::material_id)> &moduli,
      bool mean_dilatation);
} // namespace PatchFEM
