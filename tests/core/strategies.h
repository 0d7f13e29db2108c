// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/assembly_strategy.h>

/**
 * Whether a strategy takes cells of one degree for a form: edges need simplices and gradients alone, and those of papers,
 * which auto never takes, are compiled for forms that sum over points.
 */
template <typename Form>
bool takes(const PatchFEM::StrategyRow &row, const PatchFEM::ElementTables &tables)
{
  return (row.serves == nullptr || row.serves(tables)) &&
         (row.name != "edges" || (PatchFEM::is_symmetric<Form> && PatchFEM::depends_on_gradients_only<Form>)) &&
         (row.automatic || !PatchFEM::has_cell_moments<Form>);
}
