// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "unpatched_plan.h"

#include "strategies/local_nz.h"

namespace PatchFEM
{
  namespace
  {
    /** Nothing is staged: lists of contributions name the cells that are integrated for an entry. */
    struct LocalNZPlan : public UnpatchedPlan
    {
      ContributionLists    contributions;
      kernels::LocalNZView own{};

      void plan_cells(const Source &source) override
      {
        lists.compact_places = false; // there are no places
        lists.diagonal_places.release();
        contributions.find(source, list_cells(source));
        // Each block of a cell takes a walk over its points.
        integrations += source.per_cell(contributions.blocks.size() - lists.cells.size());
        phase_offsets = {0, static_cast<std::int64_t>(lists.cells.size())};
        own           = {contributions.view(), source.sparsity.n_blocks()};
      }

      const void *own_lists() const override { return &own; }

      std::size_t memory_consumption() const override
      {
        return Patches::memory_consumption() + contributions.memory_consumption();
      }
    };
  } // namespace

  PATCHFEM_PLAN(LocalNZ, LocalNZPlan)
} // namespace PatchFEM
