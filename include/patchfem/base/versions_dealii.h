// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/base/config.h>
#include <deal.II/base/types.h>

/**
 * @file
 * What differs between the versions 9.4 to 9.7 of deal.II; no other file asks for its version. What all of them have is
 * called directly, though a later one may call it deprecated.
 */
namespace PatchFEM
{
  /** How a face lies in a cell that sees its vertices in their order, for ReferenceCell::face_to_cell_vertices(). */
#if DEAL_II_VERSION_GTE(9, 7, 0)
  inline constexpr unsigned char standard_orientation = dealii::numbers::default_geometric_orientation;
#else
  inline constexpr unsigned char standard_orientation = 1;
#endif
} // namespace PatchFEM
