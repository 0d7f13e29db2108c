// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_boundary_array.h"

#include <algorithm>

namespace PatchFEM
{
  namespace
  {
    /**
     * Extended rows of nodes, places and numbers of cells; rows; and for boundary rows their lists, places of their
     * blocks, and the array itself, in double precision. By default they have hardly more blocks than the matrix,
     * and there are two of them a row at most; patches that somebody has made small have more.
     */
    double boundary_array_bytes(const StructureEstimate &estimate, const Patches::AdditionalData &data)
    {
      const bool   few   = data.rows_per_patch == 0;
      const double width = estimate.place_width(), n_comp = estimate.tables.n_components,
                   n_pairs = double(estimate.cells.n_pairs), n_blocks = double(estimate.cells.n_blocks);
      const double n_array         = std::min(n_blocks, (few ? 1.25 : 2.5) * double(estimate.pattern.n_blocks)),
                   n_boundary_rows = std::min(n_pairs, (few ? 2.5 : 7.) * estimate.n_rows_of_plans());
      return estimate.pair_places_bytes() + 4. * n_pairs + 8. * double(estimate.cells.n) +
             16. * estimate.n_rows_of_plans() + (28. + 8. * n_comp) * n_boundary_rows +
             (width + 8. * n_comp * n_comp) * n_array;
    }
  } // namespace

  StrategyRow strategies::BoundaryArray::row()
  {
    return {"boundary_array",
            "each patch of rows integrates its own cells, and what they add to rows of others goes through an array",
            false,
            Staging::none,
            make_plan_of<BoundaryArray>,
            boundary_array_bytes};
  }
} // namespace PatchFEM
