// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lpt_packing.h"
#include "unpatched_plan.h"

#include <climits>

namespace PatchFEM
{
  namespace
  {
    /** The lists of the items of patches, which end with a target. */
    struct ItemLists
    {
      const std::int64_t *offsets; ///< [item + 1]
      const unsigned int *contributions;
      const std::int64_t *items_of_rows; ///< [row + 1], where the items of rows begin; nullptr: rows are items
      int                 rows_per_patch, n_rows;

      PATCHFEM_INLINE std::int64_t first_item(const std::int64_t patch) const
      {
        const std::int64_t row = patch * rows_per_patch < n_rows ? patch * rows_per_patch : n_rows;
        return items_of_rows != nullptr ? items_of_rows[row] : row;
      }

      /** Writes the array of @p patch to @p to, unless that is nullptr, and returns its rows. */
      PATCHFEM_INLINE int pack(const std::int64_t patch, const ListPacking &packing, int *to) const
      {
        const std::int64_t first = first_item(patch);
        return static_cast<int>(packing.pack(
            first, first_item(patch + 1),
            [this](const std::int64_t item) { return offsets[item + 1] - offsets[item] + 1; },
            [&, this](const std::int64_t item, const int column, const std::int64_t row) {
              if (to == nullptr)
                return;
              int *entry = to + row * packing.n_columns + column;
              for (std::int64_t k = offsets[item]; k < offsets[item + 1]; ++k, entry += packing.n_columns)
                *entry = static_cast<int>(contributions[k]) + 1;
              *entry = static_cast<int>(first - item) - 1;
            }));
      }
    };

    /** The memory of ReductionArrays. */
    struct PackedLists
    {
      Array<std::int64_t> offsets;
      Array<int>          entries;
      int                 width = ListPacking::most_columns;

      kernels::ReductionArrays view() const { return {offsets.data(), entries.data(), width}; }
      std::size_t              memory_consumption() const { return memory_consumption_of(offsets, entries); }

      /** With the most columns that leave a fifth of the array to zeros at most, or with those of a warp. */
      void reinit(const Array<std::int64_t> &list_offsets,
                  const Array<unsigned int> &contributions,
                  const std::int64_t        *items_of_rows,
                  const PatchLists          &patches)
      {
        const Backend     &place  = list_offsets.backend();
        const std::size_t  n_ends = std::min(contributions.size(), list_offsets.size() - 1); // lists may be empty
        const std::int64_t most   = static_cast<std::int64_t>(contributions.size() + n_ends) / 4 * 5;
        Array<int>         counts(place, patches.n_patches());
        for (width = ListPacking::most_columns;; width /= 2)
        {
          const ItemLists items{list_offsets.data(), contributions.data(), items_of_rows, patches.rows_per_patch,
                                patches.n_rows};
          pack(place, items, counts, nullptr);
          const std::int64_t n = scan(counts, offsets) * width;
          if (width > 32 && n > most)
            continue;
          entries.reinit(place, n);
          entries.set_zero();
          pack(place, items, counts, entries.data());
          return;
        }
      }

      void pack(const Backend &place, const ItemLists &items, Array<int> &counts, int *const entries) const
      {
        constexpr int       at_once   = 1 << 15; // so that columns need little memory
        const int           n_patches = static_cast<int>(counts.size());
        Array<std::int64_t> columns(place, std::int64_t(std::min(n_patches, at_once)) * width);
        for (int first = 0; first < n_patches; first += at_once)
          launch(place, std::min(n_patches - first, at_once),
                 [=, counts = counts.data(), offsets = offsets.data(), columns = columns.data(),
                  width = width] PATCHFEM_DEVICE(const std::int64_t i) {
                   const std::int64_t patch = first + i;
                   int               *to    = entries != nullptr ? entries + offsets[patch] * width : nullptr;
                   counts[patch]            = items.pack(patch, {width, columns + i * width}, to);
                 });
      }
    };

    struct PackedListsPlan : public StagedAtOncePlan
    {
      PackedLists                                   matrix, load;
      kernels::EntryLists<kernels::ReductionArrays> own{};

      void plan_cells(const Source &source) override
      {
        const std::int64_t n_cells = source.batch().n_cells, n_shape = source.batch().reference.n_shape;
        require(n_cells * n_shape * n_shape < INT_MAX, "The strategy ", source.strategy,
                " has cells with 2^31 blocks at most; use another one.");
        StagedAtOncePlan::plan_cells(source);
        const ContributionLists &c = contributions;
        matrix.reinit(c.block_offsets, c.blocks, source.sparsity.row_offsets().data(), lists);
        load.reinit(c.row_offsets, c.rows, nullptr, lists);
        own = {matrix.view(), load.view()};
        release_contributions();
      }

      const void *own_lists() const override { return &own; }

      std::size_t memory_consumption() const override
      {
        return StagedAtOncePlan::memory_consumption() + memory_consumption_of(matrix, load);
      }
    };
  } // namespace
} // namespace PatchFEM
