// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "unpatched_plan.h"

#include "kernels/hash.h"
#include "strategies/scatter.h"

namespace PatchFEM
{
  namespace
  {
    /** All cells at once. */
    struct AtomicCells : public UnpatchedPlan
    {
      void plan_cells(const Source &source) override
      {
        list_cells(source);
        find_places(source);
        phase_offsets = {0, static_cast<std::int64_t>(lists.cells.size())};
      }
    };

    /**
     * Cells in colours (Jones and Plassmann 1993): in each round the cells that come first at all their nodes, by hash and
     * number, take the smallest colour that no cell at these nodes has. The same on every back end.
     */
    struct ColouredCells : public UnpatchedPlan
    {
      void plan_cells(const Source &source) override
      {
        list_cells(source);
        const Backend              &place = source.backend();
        const BatchView             batch = source.batch();
        const kernels::RowCellsView pairs = source.row_cells.view();
        const int            n_shape = batch.reference.n_shape, n_cells = batch.n_cells, first = batch.first_cell;
        Array<int>           colours(place, n_cells), left(place, 1);
        Array<std::uint64_t> leaders(place, lists.n_rows);
        launch(place, n_cells,
               [=, colours = colours.data(), buffered = buffered.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                 colours[k] = buffered[first + k] ? no_colour : undecided;
               });
        for (bool again = lists.cells.size() > 0; again; again = left.read(0) != 0)
        {
          left.set_zero();
          launch(place, lists.n_rows,
                 [=, colours = colours.data(), leaders = leaders.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                   std::uint64_t most = 0;
                   pairs.visit(row, [&](const int cell, int) {
                     if (colours[cell - first] == undecided && priority(cell) > most)
                       most = priority(cell);
                   });
                   leaders[row] = most;
                 });
          launch(place, lists.cells.size(),
                 [=, cells = lists.cells.data(), colours = colours.data(), leaders = leaders.data(),
                  left = left.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                   const int  cell  = cells[k];
                   const int *nodes = batch.nodes_of(cell);
                   if (colours[cell - first] != undecided)
                     return;
                   for (int i = 0; i < n_shape; ++i)
                     if (leaders[nodes[i]] != priority(cell))
                     {
                       kernels::atomic_store(left, 1);
                       return;
                     }
                   // Cells at these nodes that take a colour in this round would come first there.
                   for (int from = 0;; from += 64)
                   {
                     std::uint64_t taken = 0;
                     for (int i = 0; i < n_shape; ++i)
                       pairs.visit(nodes[i], [&](const int other, int) {
                         const int colour = colours[other - first] - from;
                         if (colour >= 0 && colour < 64)
                           taken |= std::uint64_t(1) << colour;
                       });
                     for (int colour = 0; colour < 64; ++colour)
                       if (!(taken >> colour & 1))
                       {
                         colours[cell - first] = from + colour;
                         return;
                       }
                   }
                 });
        }
        sort_by_colour(place, first, colours);
        find_places(source);
      }

      void sort_by_colour(const Backend &place, const int first, const Array<int> &colours)
      {
        const std::int64_t   n = static_cast<std::int64_t>(lists.cells.size());
        Array<std::uint64_t> keys(place, n);
        Array<int>           of_cells(place, n);
        launch(place, n,
               [=, cells = lists.cells.data(), colours = colours.data(), of_cells = of_cells.data(),
                keys = keys.data()] PATCHFEM_DEVICE(const std::int64_t k) {
                 of_cells[k] = colours[cells[k] - first];
                 keys[k]     = static_cast<std::uint64_t>(of_cells[k]);
               });
        const int n_colours = n > 0 ? maximum(of_cells) + 1 : 0;
        if (n > 0)
          launch(place, [&](const Here where) {
            kernels::stable_sort_by_key(where, n, keys.data(), lists.cells.data(), bits_for(n_colours));
          });
        Array<std::int64_t> offsets(place, n_colours + 1);
        launch(place, n_colours + 1,
               [=, keys = keys.data(), offsets = offsets.data()] PATCHFEM_DEVICE(const std::int64_t colour) {
                 offsets[colour] = kernels::lower_bound(keys, keys + n, static_cast<std::uint64_t>(colour)) - keys;
               });
        const std::vector<std::int64_t> begin  = offsets.to_vector();
        const int                       pieces = strategies::Colour::pieces;
        phase_offsets                          = {0};
        for (int colour = 0; colour < n_colours; ++colour)
          for (int k = 1; k <= pieces; ++k)
            phase_offsets.push_back(begin[colour] + (begin[colour + 1] - begin[colour]) * k / pieces);
      }

      static constexpr int undecided = -1, no_colour = -2;

      static PATCHFEM_INLINE std::uint64_t priority(const int cell)
      {
        return std::uint64_t(kernels::hash(cell)) << 32 | static_cast<std::uint32_t>(cell + 1);
      }
    };
  } // namespace

  PATCHFEM_PLAN(Colour, ColouredCells)
  PATCHFEM_PLAN(Atomics, AtomicCells)
} // namespace PatchFEM
