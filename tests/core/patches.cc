// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/synthetic_tables.h"

#include <patchfem/assembly/assembly_strategy.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

using namespace PatchFEM;

namespace
{
  /** A plan in host memory, with what it was made from. */
  struct Plan
  {
    Backend                        place;
    KernelScope                    scope;
    ElementBatches                 batches;
    RowCells                       row_cells;
    Sparsity                       sparsity;
    std::shared_ptr<const Patches> patches;
    PatchesView                    view{};

    Plan(const ElementTables &tables,
         const int            rows_per_patch,
         const bool           symmetric = false,
         const char          *backend   = "emulated_device")
        : place(backend), scope(place)
    {
      batches.reinit(place, tables, ElementBatches::AdditionalData(32));
      row_cells.reinit(batches);
      sparsity.reinit(batches, row_cells);
      if (tables.batches.size() > 1)
        row_cells.reinit(batches, true, 0);
      Patches::AdditionalData data;
      data.strategy       = "patches";
      data.rows_per_patch = rows_per_patch;
      kernels::PatchRoom room{std::size_t(1) << 24};
      room.bytes_per_entry = sizeof(double);
      room.symmetric       = symmetric;
      patches              = make_plan(batches, row_cells, sparsity,
                                       std::vector<kernels::PatchRoom>(assembly_strategies().size(), room), data);
      view                 = patches->view(sparsity);
    }

    const int *nodes(const int cell) const
    {
      const BatchView batch = batches.view().batch[0];
      return batch.nodes + std::int64_t(cell) * batch.reference.n_shape;
    }

    /** For each row the cells that a patch adds to it, in order. */
    std::map<int, std::vector<int>> order_of_sums() const
    {
      const int                       n_shape = batches.view().batch[0].reference.n_shape;
      std::map<int, std::vector<int>> result;
      for (int p = 0; p < view.n_patches; ++p)
        for (std::int64_t entry = view.cell_offsets[p]; entry < view.cell_offsets[p + 1]; ++entry)
          for (int i = 0; i < n_shape; ++i)
          {
            const int row = nodes(view.cells[entry])[i];
            if (row >= view.first_row(p) && row < view.end_row(p))
              result[row].push_back(view.cells[entry]);
          }
      return result;
    }
  };
} // namespace

/** Cells of a level share no row of the patch; levels cover the patch's cells one after the other. */
TEST(Patches, CellsOfALevelShareNoRow)
{
  for (const bool hexahedra : {true, false})
  {
    const Plan plan(hexahedra ? synthetic::cube_of_hexahedra(7, 1) : synthetic::cube_of_tetrahedra(6, 1, true), 48);
    const int  n_shape = plan.batches.view().batch[0].reference.n_shape;
    for (int p = 0; p < plan.view.n_patches; ++p)
    {
      int begin = 0;
      for (std::int64_t level = plan.view.level_offsets[p]; level < plan.view.level_offsets[p + 1]; ++level)
      {
        const int     end = plan.view.level_ends[level];
        std::set<int> rows;
        EXPECT_LT(begin, end);
        for (; begin < end; ++begin)
          for (int i = 0; i < n_shape; ++i)
          {
            const int row = plan.nodes(plan.view.cells[plan.view.cell_offsets[p] + begin])[i];
            if (row >= plan.view.first_row(p) && row < plan.view.end_row(p))
            {
              EXPECT_TRUE(rows.insert(row).second) << "patch " << p << ", row " << row;
            }
          }
      }
      EXPECT_EQ(begin, plan.view.cell_offsets[p + 1] - plan.view.cell_offsets[p]);
    }
  }
}

/** Lanes of a device read what the plan writes in this order: see MultilinearPairs. */
TEST(Patches, PairsOfEightNodesByEye)
{
  std::set<int> positions;
  for (int i = 0; i < 8; ++i)
    for (int j = i + 1; j < 8; ++j)
      positions.insert(PlacesView::position_of_eight(i, j));
  EXPECT_EQ(positions.size(), 28u);
  for (const int unused : {14, 15, 30, 31})
    EXPECT_EQ(positions.count(unused), 0u);
  const int expected[][3] = {{0, 1, 0},  {0, 5, 1},  {0, 2, 2},  {0, 6, 3},  {2, 3, 10}, {2, 7, 11}, {0, 4, 12},
                             {1, 5, 13}, {4, 5, 16}, {1, 4, 17}, {6, 7, 26}, {3, 6, 27}, {2, 6, 28}, {3, 7, 29}};
  for (const auto &[i, j, position] : expected)
    EXPECT_EQ(PlacesView::position_of_eight(i, j), position) << i << ", " << j;
}

/** Colours make levels few, so that many cells of a patch are added at a time: eight would do for a grid of cubes. */
TEST(Patches, LevelsAreFew)
{
  const Plan hexahedra(synthetic::cube_of_hexahedra(30, 1), 384),
      tetrahedra(synthetic::cube_of_tetrahedra(20, 1, true), 384);
  EXPECT_LE(hexahedra.patches->most_levels(), 20);
  EXPECT_LE(tetrahedra.patches->most_levels(), 53);
}

/** One worker adds the cells of a patch by their numbers. */
TEST(Patches, HostAddsCellsInTheirOrder)
{
  const ElementTables tables = synthetic::cube_of_hexahedra(7, 1);
  const Plan          host(tables, 48, false, "host"), device(tables, 48);
  for (int p = 0; p < host.view.n_patches; ++p)
  {
    const auto cells = [p](const Plan &plan) {
      return std::vector<int>(plan.view.cells + plan.view.cell_offsets[p],
                              plan.view.cells + plan.view.cell_offsets[p + 1]);
    };
    std::vector<int> expected = cells(device);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(cells(host), expected);
    ASSERT_EQ(host.view.level_offsets[p + 1] - host.view.level_offsets[p], 1);
    EXPECT_EQ(host.view.level_ends[host.view.level_offsets[p]], static_cast<int>(expected.size()));
  }
}

/** Every row adds each of its cells once, in an order that the cut does not change. */
TEST(Patches, OrderOfSumsIsThatOfTheMesh)
{
  const ElementTables tables    = synthetic::cube_of_tetrahedra(5, 1, true);
  const Plan          reference = Plan(tables, 64);
  const auto          order     = reference.order_of_sums();
  ASSERT_EQ(static_cast<int>(order.size()), tables.n_nodes);
  for (int row = 0; row < tables.n_nodes; ++row)
  {
    std::set<int> expected;
    for (int cell = 0; cell < reference.batches.n_cells(); ++cell)
      if (std::find(reference.nodes(cell), reference.nodes(cell) + 4, row) != reference.nodes(cell) + 4)
        expected.insert(cell);
    EXPECT_EQ(std::set<int>(order.at(row).begin(), order.at(row).end()), expected);
    EXPECT_EQ(order.at(row).size(), expected.size());
  }
  const auto host = Plan(tables, 64, false, "host").order_of_sums();
  for (const int rows : {1, 13, 1000})
  {
    EXPECT_EQ(Plan(tables, rows).order_of_sums(), order) << rows << " rows a patch";
    EXPECT_EQ(Plan(tables, rows, false, "host").order_of_sums(), host) << rows << " rows a patch";
  }
}

/** The places that the plan keeps are those of the columns, packed in bytes and in 5 bits. */
TEST(Patches, PlacesAreThoseOfTheColumns)
{
  for (const bool hexahedra : {true, false})
  {
    const Plan plan(hexahedra ? synthetic::cube_of_hexahedra(5, 1) : synthetic::cube_of_tetrahedra(4, 1, true), 16);
    const int  n_shape = plan.batches.view().batch[0].reference.n_shape;
    EXPECT_EQ(plan.view.places.compact(), !hexahedra);
    const SparsityView sparsity = plan.sparsity.view();
    for (int p = 0; p < plan.view.n_patches; ++p)
      for (std::int64_t entry = plan.view.cell_offsets[p]; entry < plan.view.cell_offsets[p + 1]; ++entry)
      {
        const int   *nodes = plan.nodes(plan.view.cells[entry]);
        std::int64_t pair  = plan.view.pair_offsets[p] + plan.view.cell_pairs[entry];
        for (int i = 0; i < n_shape; ++i)
          if (nodes[i] >= plan.view.first_row(p) && nodes[i] < plan.view.end_row(p))
          {
            for (int j = 0; j < n_shape; ++j)
              EXPECT_EQ(
                  sparsity.columns[sparsity.row_offsets[nodes[i]] + plan.view.places(pair, n_shape, nodes[i], i, j)],
                  nodes[j]);
            ++pair;
          }
      }
  }
}

/** Of symmetric matrices a patch sums each pair of nodes in the first of its rows among the two. */
TEST(Patches, PairsOfNodesAreSummedOnce)
{
  // Rows of at most 32 blocks, the nodes of an axis with more, and cells with eight nodes.
  for (const auto &[tables, pair_bits] :
       {std::pair(synthetic::cube_of_tetrahedra(4, 1, true), 5), std::pair(synthetic::fan_of_tetrahedra(40), 8),
        std::pair(synthetic::cube_of_hexahedra(4, 1), 8)})
  {
    const Plan         plan(tables, 16, true);
    const int          n_shape  = tables.batches[0].reference.n_shape;
    const SparsityView sparsity = plan.sparsity.view();
    const PlacesView  &places   = plan.view.places;
    ASSERT_TRUE(places.upper());
    EXPECT_EQ(places.pair_bits, pair_bits);
    for (int p = 0; p < plan.view.n_patches; ++p)
    {
      const int          first = plan.view.first_row(p), end = plan.view.end_row(p);
      const std::int64_t first_block = sparsity.row_offsets[first];
      for (std::int64_t entry = plan.view.cell_offsets[p]; entry < plan.view.cell_offsets[p + 1]; ++entry)
      {
        const int *nodes = plan.nodes(plan.view.cells[entry]);
        for (int i = 0; i < n_shape; ++i)
          for (int j = 0; j < n_shape; ++j)
            if (i != j && nodes[i] >= first && nodes[i] < end)
            {
              const int place =
                  places.upper_place(entry, n_shape, static_cast<int>(sparsity.row_offsets[nodes[i]] - first_block),
                                     nodes[i] - first, nodes[j] - first, i, j);
              EXPECT_EQ(place < 0, nodes[j] >= first && nodes[j] < nodes[i]);
              if (place >= 0)
              {
                EXPECT_EQ(sparsity.columns[sparsity.row_offsets[nodes[i]] + place], nodes[j]);
              }
            }
      }
      std::map<std::int64_t, std::int64_t> copied; // from, by to
      for (std::int64_t k = places.copy_offsets[p]; k < places.copy_offsets[p + 1]; ++k)
        EXPECT_TRUE(copied.emplace(first_block + places.copies[2 * k + 1], first_block + places.copies[2 * k]).second);
      for (int row = first; row < end; ++row)
        for (std::int64_t e = sparsity.row_offsets[row]; e < sparsity.row_offsets[row + 1]; ++e)
        {
          const int column = sparsity.columns[e];
          if (column == row)
          {
            EXPECT_EQ(sparsity.row_offsets[row] + places.diagonal[row], e);
          }
          ASSERT_EQ(copied.count(e) > 0, column >= first && column < row);
          if (copied.count(e) > 0)
          {
            EXPECT_EQ(sparsity.columns[copied[e]], row);
            EXPECT_TRUE(copied[e] >= sparsity.row_offsets[column] && copied[e] < sparsity.row_offsets[column + 1]);
          }
        }
    }
  }
}

/** Among rows of mixed degrees: those that cells of another batch touch alone have nothing to copy. */
TEST(Patches, RowsWithoutCellsCopyNothing)
{
  const Plan         plan(synthetic::slabs_of_degrees(2, 4, 1, {1, 2}), 16, true);
  const SparsityView sparsity = plan.sparsity.view();
  const PlacesView  &places   = plan.view.places;
  ASSERT_TRUE(places.upper());
  const auto             cells = plan.order_of_sums(); // by row
  std::set<std::int64_t> expected, copied;             // blocks
  int                    n_others = 0;                 // rows in patches that have cells, too
  for (int p = 0; p < plan.view.n_patches; ++p)
  {
    const int          first = plan.view.first_row(p), end = plan.view.end_row(p);
    const std::int64_t first_block = sparsity.row_offsets[first];
    for (std::int64_t k = places.copy_offsets[p]; k < places.copy_offsets[p + 1]; ++k)
      copied.insert(first_block + places.copies[2 * k + 1]);
    for (int row = first; row < end; ++row)
      if (cells.count(row) == 0)
        n_others += plan.view.cell_offsets[p + 1] > plan.view.cell_offsets[p];
      else
        for (std::int64_t e = sparsity.row_offsets[row]; e < sparsity.row_offsets[row + 1]; ++e)
          if (sparsity.columns[e] >= first && sparsity.columns[e] < row)
            expected.insert(e);
  }
  EXPECT_GT(n_others, 0);
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(copied, expected);
}
