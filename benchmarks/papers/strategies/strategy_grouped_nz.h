// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "element_groups.h"
#include "packed_lists.h"

#include "strategies/grouped_nz.h"

namespace PatchFEM
{
  namespace
  {
    struct GroupedNZPlan : public PackedListsPlan
    {
      Array<int>             cell_offsets, point_offsets, points;
      Array<unsigned int>    words;
      kernels::GroupedNZView view_of_groups{};

      const void *own_lists() const override { return &view_of_groups; }

      std::size_t memory_consumption() const override
      {
        return PackedListsPlan::memory_consumption() +
               memory_consumption_of(cell_offsets, point_offsets, points, words);
      }

      void order_cells(const Source &source, Array<int> &slots) override
      {
        const Backend   &place = source.backend();
        const BatchView  batch = source.batch();
        const int        n_g = batch.reference.n_geometry, dim = source.batches.dimension(), first = batch.first_cell;
        const auto       fitting = source.room.available / 4 / (dim * source.room.bytes_per_entry);
        std::vector<int> cells   = lists.cells.to_vector();
        for (int &cell : cells)
          cell -= first;
        const ElementGroupLists found =
            make_element_groups(cells, copy_to_host(place, batch.geometry, std::int64_t(batch.n_cells) * n_g), n_g, dim,
                                static_cast<int>(std::min<std::size_t>(fitting, kernels::ElementGroups::most_points)));
        lists.cells.copy_from(place, found.cells);
        launch(place, lists.cells.size(),
               [=, cells = lists.cells.data(), slots = slots.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                 slots[cells[k]] = static_cast<int>(k);
                 cells[k] += first;
               });
        cell_offsets.copy_from(place, found.cell_offsets);
        point_offsets.copy_from(place, found.point_offsets);
        points.copy_from(place, found.points);
        words.copy_from(place, found.words);
        view_of_groups.groups = {static_cast<int>(found.cell_offsets.size()) - 1,
                                 found.most_points,
                                 cell_offsets.data(),
                                 point_offsets.data(),
                                 points.data(),
                                 words.data()};
      }

      void plan_cells(const Source &source) override
      {
        PackedListsPlan::plan_cells(source);
        lists.cells.swap(lists.staged_cells); // the groups' kernel stages them
        const std::int64_t n = static_cast<std::int64_t>(lists.cells.size()), n_comp = source.batches.n_components(),
                           n_pairs = n * source.batch().reference.n_shape;
        phase_offsets              = {0, n};
        static_cast<kernels::EntryLists<kernels::ReductionArrays> &>(view_of_groups) = own;
        for (Chunk &chunk : lists.chunks) // there is one at most
        {
          chunk.end_staged            = 0;
          view_of_groups.matrix_begin = chunk.n_matrix_entries;
          view_of_groups.vector_begin = chunk.n_vector_entries;
          chunk.n_matrix_entries += (n_pairs * source.batch().reference.n_shape * n_comp * n_comp + 3) / 4 * 4;
          chunk.n_vector_entries += n_pairs * n_comp;
        }
      }
    };
  } // namespace

  PATCHFEM_PLAN(GroupedNZ, GroupedNZPlan)
} // namespace PatchFEM
