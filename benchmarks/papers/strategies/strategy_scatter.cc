// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_scatter.h"

namespace PatchFEM
{
  namespace
  {
    /** Places of the blocks of all cells, and their numbers. */
    double scatter_bytes(const StructureEstimate &estimate, const Patches::AdditionalData &)
    {
      return estimate.pair_places_bytes() + 4. * double(estimate.cells.n);
    }
  } // namespace

  StrategyRow strategies::Colour::row()
  {
    return {"colour",
            "cells of one colour share no row and add to the matrix where it is stored, colour after colour",
            false,
            Staging::none,
            make_plan_of<Colour>,
            scatter_bytes};
  }

  StrategyRow strategies::Atomics::row()
  {
    return {"atomics",
            "cells add to the matrix where it is stored by atomics, so that the last bits differ from run to run",
            false,
            Staging::none,
            make_plan_of<Atomics>,
            scatter_bytes,
            false};
  }
} // namespace PatchFEM
