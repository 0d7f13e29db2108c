// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/matrix/sliced_ellpack_matrix.h>
#include <patchfem/lac/multigrid/near_null_space.h>

namespace PatchFEM::multigrid
{
  /**
   * A lower bound of 1 / lambda_min(D^-1 A), D the diagonal of A, of slender and thin bodies that are held at one end or at
   * both: u . D u / u . A u of a deflection u = w n - w' z t, where t and n are the directions in which the body is longest
   * and shortest, z the distance from its middle along n, and w grows with the square of the distance from the nodes that
   * are held, which couple with no others. 0 where the shape is not such, none are held or positions are not known; little
   * where nodes that hang, which couple with none either, are on the way. It costs a product with A, and of round bodies
   * some sums over nodes. Of several ranks collective.
   */
  double softness_in_bending(const SlicedEllpackMatrix<double> &A, const NearNullSpace &near_null);
} // namespace PatchFEM::multigrid
