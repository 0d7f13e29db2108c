// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/element_tables.h>

/** Constraints for tables of synthetic_tables.h, whose nodes are their points. */
namespace
{
  using PatchFEM::ConstraintTable, PatchFEM::ElementTables;

  /** Constrains some unknowns: every 11th to a value, every 17th to the mean of two others. */
  [[maybe_unused]] void constrain(ElementTables &tables)
  {
    ConstraintTable &lines = tables.constraints;
    const int        n     = tables.n_nodes * tables.n_components;
    const auto       bound = [](const int i) { return i % 11 == 0 || i % 17 == 0; };
    lines.offsets.push_back(0);
    for (int i = 0; i < n; ++i)
      if (bound(i))
      {
        lines.constrained.push_back(i);
        lines.inhomogeneity.push_back(i % 11 == 0 ? 0.1 * (i % 7) : 0.);
        if (i % 11 != 0)
          for (int k = 1, found = 0; found < 2 && k < n; ++k)
            if (!bound((i + k * tables.n_components) % n))
            {
              lines.masters.push_back((i + k * tables.n_components) % n);
              lines.weights.push_back(0.5);
              ++found;
            }
        lines.offsets.push_back(static_cast<std::int64_t>(lines.masters.size()));
      }
  }

  /** All components at the nodes with x = 0 are 0. */
  [[maybe_unused]] void hold(ElementTables &tables)
  {
    ConstraintTable &lines = tables.constraints;
    lines.offsets.push_back(0);
    for (int i = 0; i < tables.n_nodes * tables.n_components; ++i)
      if (tables.points[std::size_t(i / tables.n_components) * tables.dim] == 0.)
      {
        lines.constrained.push_back(i);
        lines.inhomogeneity.push_back(0.);
        lines.offsets.push_back(0);
      }
  }
} // namespace
