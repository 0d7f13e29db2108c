// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "packed_lists.h"

namespace PatchFEM
{
  namespace
  {
    struct SortedListsPlan : public StagedAtOncePlan
    {
      kernels::EntryLists<kernels::SortedLists> own{};

      void plan_cells(const Source &source) override
      {
        StagedAtOncePlan::plan_cells(source);
        own = contributions.view();
      }

      const void *own_lists() const override { return &own; }
    };

    /** The memory of SumsByProduct. */
    struct OnesMatrix
    {
      Array<std::int64_t> row_offsets;
      Array<int>          columns;
      Array<float>        ones;

      std::size_t memory_consumption() const { return memory_consumption_of(row_offsets, columns, ones); }

      /** @p n rows for each list, and @p n columns for each of @p n_sources contributions. */
      CSRView<float> reinit(const Array<std::int64_t> &list_offsets,
                            const Array<unsigned int> &contributions,
                            const int                  n,
                            const std::int64_t         n_sources)
      {
        const Backend     &place  = list_offsets.backend();
        const std::int64_t n_rows = static_cast<std::int64_t>(list_offsets.size() - 1) * n, n_columns = n_sources * n;
        require(n_rows <= INT_MAX && n_columns <= INT_MAX,
                "The strategy product has matrices with 2^31 entries at most, also of cells; use another one.");
        row_offsets.reinit(place, n_rows + 1);
        columns.reinit(place, contributions.size() * n);
        ones.reinit(place, columns.size());
        row_offsets.set_zero();
        launch(place, n_rows,
               [=, offsets = list_offsets.data(), contributions = contributions.data(), ends = row_offsets.data() + 1,
                columns = columns.data(), ones = ones.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 const std::int64_t list = row / n, entry = row % n, begin = offsets[list], end = offsets[list + 1];
                 std::int64_t       to = begin * n + entry * (end - begin);
                 for (std::int64_t k = begin; k < end; ++k, ++to)
                 {
                   columns[to] = static_cast<int>(contributions[k] * n + entry);
                   ones[to]    = 1.F;
                 }
                 ends[row] = to;
               });
        return {static_cast<int>(n_rows), static_cast<int>(n_columns), row_offsets.data(), columns.data(), ones.data()};
      }
    };

    struct ProductPlan : public StagedAtOncePlan
    {
      OnesMatrix                                  matrix, load;
      kernels::EntryLists<kernels::SumsByProduct> own{};

      void plan_cells(const Source &source) override
      {
        StagedAtOncePlan::plan_cells(source);
        const ContributionLists &c      = contributions;
        const int                n_comp = source.batches.n_components(), n_shape = source.batch().reference.n_shape;
        const std::int64_t       n_pairs = static_cast<std::int64_t>(lists.staged_cells.size()) * n_shape;
        own = {{matrix.reinit(c.block_offsets, c.blocks, n_comp * n_comp, n_pairs * n_shape), 0},
               {load.reinit(c.row_offsets, c.rows, n_comp, n_pairs), 0}};
        release_contributions();
        for (Chunk &chunk : lists.chunks) // there is one at most
        {
          // Results come after buffered cells, and before staged ones, from a multiple of 16 bytes on.
          own.matrix.results = chunk.n_matrix_entries;
          own.load.results   = chunk.n_vector_entries;
          chunk.n_matrix_entries += (std::int64_t(own.matrix.ones.n_rows) + 3) / 4 * 4;
          chunk.n_vector_entries += own.load.ones.n_rows;
        }
      }

      const void *own_lists() const override { return &own; }

      std::size_t memory_consumption() const override
      {
        return StagedAtOncePlan::memory_consumption() + memory_consumption_of(matrix, load);
      }
    };
  } // namespace

  PATCHFEM_PLAN(GlobalNZ, PackedListsPlan)
  PATCHFEM_PLAN(COO, SortedListsPlan)
  PATCHFEM_PLAN(Product, ProductPlan)
} // namespace PatchFEM
