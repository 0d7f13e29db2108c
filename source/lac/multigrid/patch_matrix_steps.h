// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac/graph/graph_tools.h"

#include <patchfem/kernels/jacobi.h>
#include <patchfem/kernels/matrix_views.h>
#include <patchfem/lac/multigrid/patch_smoother.h>

/** @file The steps (see launch.h) that bring a matrix into patches: see PatchMatrixView. */
namespace PatchFEM::internal
{
  /** Columns or, later, @p values of the row in each slot. Padding has value 0 and the column of its row. */
  template <typename Number>
  void fill_patches(Here, const SlicedEllpackMatrix<Number> &matrix, const bool values, PatchArrays<Number> &patches)
  {
    const SlicedEllpackView<Number> A = matrix.view();
    const int *const nodes = patches.nodes.data(), *const patch = patches.patch_of_node.data();
    const int *const          local         = patches.slot_of_node.data();
    const std::int64_t *const inner_offsets = patches.inner_offsets.data();
    const std::int64_t *const outer_offsets = patches.outer_offsets.data();
    Number *const             inner_values  = values ? patches.inner_values.data() : nullptr;
    Number *const             outer_values  = values ? patches.outer_values.data() : nullptr;
    std::uint16_t *const      inner_columns = values ? nullptr : patches.inner_columns.data();
    int *const                outer_columns = values ? nullptr : patches.outer_columns.data();
    const int                 slice_height  = patches.view.slice_height;
    const bool                half          = patches.view.storage != PatchStorage::both;
    launch(matrix.backend(), patches.nodes.size(), [=] PATCHFEM_DEVICE(const std::int64_t slot) {
      const std::int64_t slice = slot / slice_height, inner_begin = inner_offsets[slice],
                         outer_begin = outer_offsets[slice];
      const int  r = static_cast<int>(slot % slice_height), row = nodes[slot];
      const int  inner_width = static_cast<int>((inner_offsets[slice + 1] - inner_begin) / slice_height);
      const int  outer_width = static_cast<int>((outer_offsets[slice + 1] - outer_begin) / slice_height);
      const auto write       = [&](Number *values, const std::int64_t begin, const int place, const int k) {
        const int b = A.block_rows;
        for (int a = 0; values != nullptr && a < b; ++a)
          for (int c = 0; c < b; ++c)
            values[((begin + std::int64_t(place) * slice_height) * b + std::int64_t(a) * slice_height) * b +
                   std::int64_t(c) * slice_height + r] = k >= 0 ? A.values[A.value_index(row, k, a, c)] : Number(0);
      };
      const auto inner = [&](const int place, const int column, const int k) {
        if (inner_columns != nullptr)
          inner_columns[inner_begin + std::int64_t(place) * slice_height + r] = static_cast<std::uint16_t>(column);
        write(inner_values, inner_begin, place, k);
      };
      const auto outer = [&](const int place, const int column, const int k) {
        if (outer_columns != nullptr)
          outer_columns[outer_begin + std::int64_t(place) * slice_height + r] = column;
        write(outer_values, outer_begin, place, k);
      };
      // With half storage the first place is the diagonal's.
      const int own     = row >= 0 ? local[row] : 0;
      int       n_inner = half ? 1 : 0, n_outer = 0;
      if (half && inner_width > 0)
        inner(0, own, -1);
      for (int k = 0; row >= 0 && k < A.row_lengths[row]; ++k)
      {
        const int column = A.column(row, k);
        if (patch[column] != patch[row])
          outer(n_outer++, column, k);
        else if (half && column == row)
          inner(0, own, k);
        else if (!half || kernels::keeps_block(row, column))
          inner(n_inner++, local[column], k);
      }
      for (; n_inner < inner_width; ++n_inner)
        inner(n_inner, own, -1);
      for (; n_outer < outer_width; ++n_outer)
        outer(n_outer, row >= 0 ? row : 0, -1);
    });
  }

  template <typename Number>
  void fill_values(Cuda, const SlicedEllpackMatrix<Number> &, const BlockDiagonalView<Number> &, PatchArrays<Number> &);

  /** The values of a matrix, and D^-1 in the order of slots; 0 in padding. */
  template <typename Number>
  void fill_values(Here                               here,
                   const SlicedEllpackMatrix<Number> &matrix,
                   const BlockDiagonalView<Number>   &D,
                   PatchArrays<Number>               &patches)
  {
    fill_patches(here, matrix, true, patches);
    launch(patches.nodes.backend(), patches.nodes.size(),
           [=, slice_height = patches.view.slice_height, nodes = patches.nodes.data(),
            diagonal = patches.diagonal.data()] PATCHFEM_DEVICE(const std::int64_t slot) {
             const std::int64_t slice  = slot / slice_height;
             const int          packed = D.block_size * (D.block_size + 1) / 2, node = nodes[slot];
             for (int e = 0; e < packed; ++e)
               diagonal[(slice * packed + e) * slice_height + slot % slice_height] =
                   node >= 0 ? D.values[e * D.stride + node] : Number(0);
           });
  }

  template <typename Number>
  void build_patches(Cuda, const SlicedEllpackMatrix<Number> &, const AggregateLists &, PatchArrays<Number> &);

  /** All of @p patches that depends on the pattern; storage and sizes of blocks and slices are set in the view. */
  template <typename Number>
  void build_patches(Here                               here,
                     const SlicedEllpackMatrix<Number> &matrix,
                     const AggregateLists              &aggregates,
                     PatchArrays<Number>               &patches)
  {
    using graph_tools::maximum;
    using graph_tools::scan;
    const Backend                  &place      = matrix.backend();
    const SlicedEllpackView<Number> A          = matrix.view();
    const int                       block_size = patches.view.block_size, slice_height = patches.view.slice_height;
    const int                       n_nodes = matrix.n_rows() / block_size, n_columns = matrix.n_columns() / block_size;
    const bool                      half = patches.view.storage != PatchStorage::both;

    // Patches as they are given, and behind them others that take what is left.
    constexpr int size_of_others = 256;
    const int     n_given        = static_cast<int>(aggregates.patch_offsets().size()) - 1;
    const int     n_others       = n_nodes - aggregates.patch_offsets().read(n_given);
    const int     n_patches      = n_given + (n_others + size_of_others - 1) / size_of_others;
    Array<int>    patch_offsets(place, std::size_t(n_patches) + 1), inner_of_node(place, n_nodes),
        kept_of_node(place, n_nodes), sorted;
    patches.patch_of_node.reinit(place, n_columns);
    sorted.copy_from(place, aggregates.patch_nodes());
    int *const offsets = patch_offsets.data(), *const by_patch = sorted.data();
    int *const patch = patches.patch_of_node.data();                            // [node]
    int *const inner = inner_of_node.data(), *const kept = kept_of_node.data(); // [node]
    launch(place, std::int64_t(n_patches) + 1,
           [=, given = aggregates.patch_offsets().data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const std::int64_t end = i <= n_given ? given[i] : given[n_given] + (i - n_given) * size_of_others;
             offsets[i]             = static_cast<int>(end < n_nodes ? end : n_nodes);
           });
    launch(place, n_columns - n_nodes, // those of other ranks are in no patch here
           [=] PATCHFEM_DEVICE(const std::int64_t ghost) { patch[n_nodes + ghost] = -1; });
    launch(place, n_patches, [=] PATCHFEM_DEVICE(const std::int64_t p) {
      for (int i = offsets[p]; i < offsets[p + 1]; ++i)
        patch[by_patch[i]] = static_cast<int>(p);
    });
    // How many blocks of a row lie in its patch, the diagonal included, and how many of them are kept; with half
    // storage the diagonal is one of these even if A does not have it.
    launch(place, n_nodes, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      const int row         = static_cast<int>(i);
      int       n_neighbors = 0, n_kept = 0, n_diagonal = half ? 1 : 0;
      A.for_each_block(row, [&](std::int64_t, const int column) {
        const bool is_neighbor = patch[column] == patch[row] && column != row;
        n_diagonal             = column == row ? 1 : n_diagonal;
        n_neighbors += is_neighbor;
        n_kept += is_neighbor && (!half || kernels::keeps_block(row, column));
      });
      inner[row] = n_diagonal + n_neighbors;
      kept[row]  = n_diagonal + n_kept;
    });
    // Nodes by patch, falling number of kept blocks and, with half storage, falling number of the others.
    {
      const int            longest = maximum(inner_of_node), bits = bits_for(std::int64_t(longest) + 1);
      Array<std::uint64_t> keys(place, n_nodes);
      launch(place, n_nodes, [=, keys = keys.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        const int     node = by_patch[i];
        std::uint64_t key =
            (static_cast<std::uint64_t>(patch[node]) << bits) | static_cast<unsigned>(longest - kept[node]);
        if (half)
          key = (key << bits) | static_cast<unsigned>(longest - (inner[node] - kept[node]));
        keys[i] = key;
      });
      launch(place, [&](const Here where) {
        kernels::stable_sort_by_key(where, n_nodes, keys.data(), by_patch, (half ? 2 : 1) * bits + bits_for(n_patches));
      });
    }

    // Slices of patches and slots of nodes.
    Array<int>          counts(place, n_patches);
    Array<std::int64_t> scanned;
    launch(place, n_patches, [=, counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t p) {
      counts[p] = n_slices(offsets[p + 1] - offsets[p], slice_height);
    });
    const std::int64_t       n_all_slices = scan(counts, scanned), n_slots = n_all_slices * slice_height;
    PatchMatrixView<Number> &view = patches.view;
    view.largest_patch            = maximum(counts) * slice_height;
    require(view.largest_patch <= 65536, "A patch of ", view.largest_patch,
            " nodes is too large for the smoother, which numbers them by 16 bits.");
    patches.patch_slices.reinit(place, std::size_t(n_patches) + 1);
    patches.nodes.reinit(place, n_slots);
    patches.slot_of_node.reinit(place, n_nodes);
    int *const patch_slices = patches.patch_slices.data(), *const nodes = patches.nodes.data();
    int *const local = patches.slot_of_node.data(); // counted from the first of the patch
    launch(place, std::int64_t(n_patches) + 1, [=, scanned = scanned.data()] PATCHFEM_DEVICE(const std::int64_t p) {
      patch_slices[p] = static_cast<int>(scanned[p]);
    });
    launch(place, n_slots, [=] PATCHFEM_DEVICE(const std::int64_t slot) { nodes[slot] = -1; });
    launch(place, n_nodes, [=] PATCHFEM_DEVICE(const std::int64_t i) {
      const int node = by_patch[i], p = patch[node];
      local[node]                                                       = static_cast<int>(i) - offsets[p];
      nodes[std::int64_t(patch_slices[p]) * slice_height + local[node]] = node;
    });

    // What a slice takes of kept, mirrored and outer blocks: slice_height times its longest row.
    Array<int> inner_sizes(place, n_all_slices), mirror_sizes(place, n_all_slices), outer_sizes(place, n_all_slices);
    launch(place, n_all_slices,
           [=, inner_sizes = inner_sizes.data(), mirror_sizes = mirror_sizes.data(),
            outer_sizes = outer_sizes.data()] PATCHFEM_DEVICE(const std::int64_t slice) {
             int inner_width = 0, mirror_width = 0, outer_width = 0;
             for (int r = 0; r < slice_height; ++r)
             {
               const int node = nodes[slice * slice_height + r];
               if (node < 0)
                 continue;
               const int outer = A.row_lengths[node] - inner[node], mirrored = inner[node] - kept[node];
               inner_width  = kept[node] > inner_width ? kept[node] : inner_width;
               mirror_width = mirrored > mirror_width ? mirrored : mirror_width;
               outer_width  = outer > outer_width ? outer : outer_width;
             }
             inner_sizes[slice]  = inner_width * slice_height;
             mirror_sizes[slice] = mirror_width * slice_height;
             outer_sizes[slice]  = outer_width * slice_height;
           });
    // What the largest patch takes of a sliced array.
    const auto largest = [&](const std::int64_t *starts) {
      launch(place, n_patches, [=, n_blocks = counts.data()] PATCHFEM_DEVICE(const std::int64_t p) {
        n_blocks[p] = static_cast<int>(starts[patch_slices[p + 1]] - starts[patch_slices[p]]);
      });
      return maximum(counts);
    };
    const std::int64_t n_inner = scan(inner_sizes, patches.inner_offsets),
                       n_outer = scan(outer_sizes, patches.outer_offsets), entries = block_size * block_size;
    patches.inner_columns.reinit(place, n_inner);
    patches.outer_columns.reinit(place, n_outer);
    patches.inner_values.reinit(place, n_inner * entries);
    patches.outer_values.reinit(place, n_outer * entries);
    patches.diagonal.reinit(place, n_slots * (block_size * (block_size + 1) / 2));
    fill_patches(here, matrix, false, patches);

    const bool mirrored = view.storage == PatchStorage::half;
    patches.mirrors.reinit(place, mirrored ? scan(mirror_sizes, patches.mirror_offsets) : 0);
    view.n_patches      = n_patches;
    view.n_slices       = static_cast<int>(n_all_slices);
    view.patch_slices   = patch_slices;
    view.nodes          = nodes;
    view.inner_offsets  = patches.inner_offsets.data();
    view.inner_columns  = patches.inner_columns.data();
    view.inner_values   = patches.inner_values.data();
    view.outer_offsets  = patches.outer_offsets.data();
    view.outer_columns  = patches.outer_columns.data();
    view.outer_values   = patches.outer_values.data();
    view.diagonal       = patches.diagonal.data();
    view.mirror_offsets = patches.mirror_offsets.data();
    view.mirrors        = patches.mirrors.data();
    view.largest_inner  = largest(view.inner_offsets);
    view.largest_mirror = mirrored ? largest(view.mirror_offsets) : 0;
    if (!mirrored)
      return;
    require(view.largest_inner <= 65536, "A patch of ", view.largest_inner,
            " blocks is too large for half storage, which numbers them by 16 bits; store both halves.");

    // The mirrors of the row in a slot, in the order of its columns: see PatchMatrixView.
    const std::int64_t *const  inner_offsets = patches.inner_offsets.data();
    const std::uint16_t *const inner_columns = patches.inner_columns.data();
    launch(place, n_slots,
           [=, mirror_offsets = patches.mirror_offsets.data(),
            mirrors = patches.mirrors.data()] PATCHFEM_DEVICE(const std::int64_t slot) {
             const int          h = slice_height, r = static_cast<int>(slot % h), row = nodes[slot];
             const std::int64_t slice = slot / h, mirror_begin = mirror_offsets[slice] + r;
             const int          width = static_cast<int>((mirror_offsets[slice + 1] - mirror_offsets[slice]) / h);
             if (width == 0)
               return;
             // Padding of the last slice belongs to the patch of its first row.
             const int          first_slice = patch_slices[patch[nodes[row >= 0 ? slot : slice * h]]];
             const std::int64_t begin       = inner_offsets[first_slice];
             int                n           = 0;
             for (int k = 0; row >= 0 && k < A.row_lengths[row]; ++k)
             {
               const int column = A.column(row, k);
               if (column == row || patch[column] != patch[row] || kernels::keeps_block(row, column))
                 continue;
               const std::int64_t keeper = first_slice + local[column] / h;
               std::int64_t       at     = inner_offsets[keeper] + local[column] % h + h;
               while (inner_columns[at] != local[row])
                 at += h;
               mirrors[mirror_begin + std::int64_t(n++) * h] = static_cast<std::uint16_t>(at - begin);
             }
             for (; n < width; ++n)
               mirrors[mirror_begin + std::int64_t(n) * h] =
                   static_cast<std::uint16_t>(inner_offsets[slice] - begin + r);
           });
  }
} // namespace PatchFEM::internal
