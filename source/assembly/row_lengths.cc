// SPDX-License-Identifier: LGPL-2.1-or-later
#include "row_lengths.h"

#include "resolved_cell.h"

#include <patchfem/assembly/element_batches.h>
#include <patchfem/base/threads.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>

namespace PatchFEM
{
  bool cells_differ(const ElementTables &tables)
  {
    return !tables.constraints.masters.empty() ||
           std::any_of(tables.batches.begin(), tables.batches.end(), [&](const CellTable &batch) {
             return batch.reference.n_shape != tables.batches[0].reference.n_shape;
           });
  }

  Array<int> expected_row_lengths(const ElementTables &tables, const bool keep_entries)
  {
    const Array<int> line_of = lines_of_unknowns(tables);
    Array<int>       result(Backend(), tables.n_nodes);
    result.set_zero();
    for (const CellTable &batch : tables.batches)
      for_shares(batch.n_cells, [&](const std::int64_t begin, const std::int64_t end) {
        ResolvedCell resolved(tables.constraints, line_of, tables.n_components, keep_entries);
        for (std::int64_t cell = begin; cell < end; ++cell)
        {
          resolved.reinit(batch.nodes.data() + cell * batch.reference.n_shape, batch.reference.n_shape);
          for (int i = 0; i < resolved.n_free; ++i)
            kernels::atomic_add(result.data() + resolved.nodes[i], resolved.n_free);
        }
      });
    return result;
  }

  RowLengthScale RowLengthScale::of(const ElementTables &tables)
  {
    const ReferenceElement &r = tables.batches[0].reference;
    for (const CellTable &batch : tables.batches)
      if (batch.reference.n_shape != r.n_shape)
        return {};
    // 2^dim cubes share a node, whose row has (2 p + 1)^dim nodes then, or (dim + 1)! of the simplices that cubes are
    // cut into along one diagonal, with (p + 1)^(dim + 1) - p^(dim + 1) nodes.
    const int    dim = r.dim, p = r.degree;
    const double most_cells = r.simplex ? (dim == 2 ? 6. : 24.) : std::ldexp(1., dim);
    const double most_nodes =
        r.simplex ? std::pow(p + 1., dim + 1) - std::pow(double(p), dim + 1) : std::pow(2. * p + 1., dim);
    const double a    = (most_nodes - r.n_shape) / (most_cells - 1.);
    const double unit = cells_differ(tables) ? r.n_shape : 1.; // of a cell
    return {a / unit, unit * (r.n_shape / a - 1.)};
  }

  int cheapest_sorting_window(const std::vector<int> &lengths, const RowLengthScale &scale, const int n_components)
  {
    constexpr int      height = 32, largest = sorting_windows.back(), n_windows = sorting_windows.size();
    const std::int64_t n               = static_cast<std::int64_t>(lengths.size());
    const std::int64_t n_groups        = (n + largest - 1) / largest;
    std::int64_t       sums[n_windows] = {}, n_slices[n_windows] = {}; // of slices with more than diagonals
#pragma omp parallel for schedule(static) reduction(+ : sums, n_slices)
    for (std::int64_t g = 0; g < n_groups; ++g)
    {
      std::array<int, largest> group;
      const int                size = static_cast<int>(std::min<std::int64_t>(largest, n - g * largest));
      std::copy_n(lengths.begin() + g * largest, size, group.begin());
      for (int w = 0; w < n_windows; ++w)
      {
        const int window = sorting_windows[w];
        for (int first = 0; first < size && window > 1; first += window)
          std::sort(group.begin() + first, group.begin() + std::min(size, first + window), std::greater<>());
        for (int first = 0; first < size; first += height)
        {
          const int most = *std::max_element(group.begin() + first, group.begin() + std::min(size, first + height));
          sums[w] += most;
          n_slices[w] += most > 0;
        }
      }
    }

    const double b     = n_components;
    const auto   bytes = [&](const int w) {
      const std::int64_t all = (n + height - 1) / height;
      const double       blocks =
          height * (scale.factor * (double(sums[w]) + scale.further * double(n_slices[w])) + double(all - n_slices[w]));
      return blocks * (8. * b * b + 4.) + 16. * b * double(n);
    };
    const int usual = ElementBatches::AdditionalData().sorting_window;
    double    least = HUGE_VAL, of_usual = HUGE_VAL;
    for (int w = 0; w < n_windows; ++w)
    {
      least = std::min(least, bytes(w));
      if (sorting_windows[w] == usual)
        of_usual = bytes(w);
    }
    if (least >= 0.95 * of_usual)
      return usual;
    int choice = 0;
    while (bytes(choice) > 1.005 * least)
      ++choice;
    return sorting_windows[choice];
  }
} // namespace PatchFEM
