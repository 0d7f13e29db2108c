// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"
#include "row_lengths.h"

#include "kernels/ordering.h"
#include "resolved_cell.h"
#include <patchfem/assembly/element_batches.h>
#include <patchfem/kernels/geometry.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <climits>

/** @file The steps (see launch.h) of ElementBatches. */
namespace PatchFEM
{
  /**
   * How positions become integers on the curve. One spacing of nodes is a power of two of these, and a node lies in the
   * middle of its spacing: on a mesh with even spacings, moved nodes included, 2^k nodes that follow each other from a
   * multiple of 2^k on fill a box. A cell of a cube of 150^3 then touches 1.93 patches of 96 rows; with spacings that
   * are no power of two, 2.19.
   */
  struct CurveScale
  {
    double origin[3];
    double scale[3]; ///< unit / spacing of the nodes
    double unit;     ///< integers a spacing
  };

  template <typename Where>
  struct BatchSteps
  {
    /** See ElementBatches::node_points(); also, if wanted, how many cells each node has. */
    static Array<double> node_points(const ElementBatches &elements, Array<int> *n_cells_of = nullptr);

    /** Chooses the window and numbers the nodes along the curve, inside of windows by falling lengths. */
    static void order_nodes(ElementBatches                       &elements,
                            const ElementTables                  &tables,
                            const ElementBatches::AdditionalData &data,
                            const CurveScale                     &curve);

    /** Node i becomes the one that had number @p order [i] in the tables. */
    static void number_nodes(ElementBatches &elements, const ElementTables &tables, const Array<int> &order);

    /** Numbers the cells of each batch by their smallest nodes. */
    static void order_cells(ElementBatches &elements);

    /** The first cell that is flat or tangled, or INT_MAX. */
    static int tangled_cell(const ElementBatches &elements);

    static void make_inhomogeneities(const ElementBatches            &elements,
                                     const Array<int>                &lines,
                                     const Array<double>             &inhomogeneities,
                                     ElementBatches::Inhomogeneities &result);
  };
#if !defined(__CUDACC__)
  extern template struct BatchSteps<Cuda>;
#endif

  namespace
  {
    template <int dim>
    PATCHFEM_INLINE std::uint64_t position_on_curve(const double *x, const CurveScale &curve)
    {
      constexpr int bits = kernels::hilbert_bits<dim>();
      std::uint32_t integer[dim];
      for (int a = 0; a < dim; ++a)
      {
        const double t    = (x[a] - curve.origin[a]) * curve.scale[a] + 0.5 * curve.unit;
        const double most = static_cast<double>((std::uint32_t(1) << bits) - 1);
        integer[a]        = static_cast<std::uint32_t>(t < 0. ? 0. : (t > most ? most : t));
      }
      return kernels::hilbert_index<dim>(integer, bits);
    }

    /**
     * Whether a Jacobian determinant of the cell at position @p local is not positive at a quadrature point. Scaled by
     * |X|^dim, a flat cell is recognised at any size: det <= 1e-14 (largest edge)^dim.
     */
    template <int dim>
    PATCHFEM_INLINE bool is_tangled(const BatchView &batch, const double *points, const std::int64_t local)
    {
      const int  n_geometry = batch.reference.n_geometry;
      const int *geometry   = batch.geometry + local * n_geometry;
      double     extent     = 0.;
      for (int g = 1; g < n_geometry; ++g)
        for (int a = 0; a < dim; ++a)
        {
          const double d = points[std::int64_t(geometry[g]) * dim + a] - points[std::int64_t(geometry[0]) * dim + a];
          extent         = d > extent ? d : (-d > extent ? -d : extent);
        }
      double least = 1e-14;
      for (int a = 0; a < dim; ++a)
        least *= extent;
      for (int q = 0; q < batch.reference.n_quadrature; ++q)
        if (!(determinant(jacobian<dim, double>(points, geometry, n_geometry,
                                                batch.reference.geometry_gradients + q * n_geometry * dim)) > least))
          return true;
      return false;
    }

    /** The global number of local unknown @p i of cell @p cell. */
    PATCHFEM_INLINE std::int64_t unknown_of(const BatchView &batch, const int cell, const int i, const int n_comp)
    {
      return std::int64_t(batch.nodes_of(cell)[i / n_comp]) * n_comp + i % n_comp;
    }

    /** Row i, of @p width entries, becomes row order[i]. */
    template <typename T>
    void permute_rows(const Array<int> &order, const int width, Array<T> &rows)
    {
      Array<T> result(rows.backend(), rows.size());
      launch(rows.backend(), rows.size(),
             [=, order = order.data(), from = static_cast<const T *>(rows.data()), to = result.data()] PATCHFEM_DEVICE(
                 const std::int64_t i) { to[i] = from[std::int64_t(order[i / width]) * width + i % width]; });
      rows.swap(result);
    }

    /** Of each node of the tables: 0 if this rank owns it and all that its row couples with, 1 if all but that, 2. */
    inline std::vector<int> kinds_of_nodes(const ElementTables &tables)
    {
      const int        n_owned = tables.n_owned_nodes();
      const Array<int> line_of = lines_of_unknowns(tables);
      std::vector<int> kinds(tables.n_nodes, 2);
      std::fill_n(kinds.begin(), n_owned, 0);
      ResolvedCell resolved(tables.constraints, line_of, tables.n_components, false);
      for (const CellTable &batch : tables.batches)
        for (std::int64_t cell = 0; cell < batch.n_cells; ++cell)
        {
          const int  n = batch.reference.n_shape, *nodes = batch.nodes.data() + cell * n;
          const auto is_owned = [=](const int node) { return node < n_owned; };
          const auto mark     = [&](const int *begin, const int *end) {
            if (!std::all_of(begin, end, is_owned))
              for (; begin != end; ++begin)
                kinds[*begin] = std::max(kinds[*begin], 1);
          };
          if (!is_constrained(line_of, nodes, n, tables.n_components))
            mark(nodes, nodes + n);
          else
          {
            resolved.reinit(nodes, n);
            mark(resolved.nodes.data(), resolved.nodes.data() + resolved.nodes.size());
          }
        }
      return kinds;
    }

    inline int n_interior_nodes(const Array<int> &kinds)
    {
      const std::vector<int> all = kinds.to_vector();
      return static_cast<int>(std::count(all.begin(), all.end(), 0));
    }

    /** AdditionalData::best_window, by the @p lengths of the rows, in the @p order of the curve. */
    int best_window(const ElementTables &tables, const Array<int> &order, const Array<int> &lengths)
    {
      using Data        = ElementBatches::AdditionalData;
      const int n_nodes = tables.n_nodes;
      if (n_nodes < Data::least_choice)
        return Data().sorting_window;
      // Of every stride-th group of the curve; -1 behind the last node.
      constexpr int size = sorting_windows.back(), most = 512;
      const int     n_groups = n_nodes / size + (n_nodes % size != 0), stride = (n_groups + most - 1) / most;
      Array<int>    sample(order.backend(), std::size_t((n_groups + stride - 1) / stride) * size);
      launch(sample.backend(), sample.size(),
             [=, order = order.data(), lengths = lengths.data(),
              sample = sample.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               const std::int64_t rank = i / size * stride * size + i % size;
               sample[i]               = rank < n_nodes ? lengths[order[rank]] : -1;
             });
      std::vector<int> found = sample.to_vector();
      found.erase(std::remove(found.begin(), found.end(), -1), found.end());
      return cheapest_sorting_window(found, RowLengthScale::of(tables), tables.n_components);
    }
  } // namespace

  template <typename Where>
  Array<double> BatchSteps<Where>::node_points(const ElementBatches &elements, Array<int> *const n_cells_of)
  {
    const Backend    &place = elements.place;
    const BatchesView all   = elements.view();
    const int         dim = elements.dim, n_nodes = elements.n_node;
    Array<int>        first_cells(place, n_nodes);
    Array<double>     result(place, std::size_t(n_nodes) * dim);
    int *const        first_cell = first_cells.data();
    if (n_cells_of != nullptr)
    {
      n_cells_of->reinit(place, n_nodes);
      n_cells_of->set_zero();
    }
    launch(place, n_nodes, [=] PATCHFEM_DEVICE(const std::int64_t i) { first_cell[i] = INT_MAX; });
    for (int b = 0; b < all.n_batches; ++b)
      launch(
          place, all.batch[b].n_cells,
          [=, batch = all.batch[b],
           n_cells_of = n_cells_of != nullptr ? n_cells_of->data() : nullptr] PATCHFEM_DEVICE(const std::int64_t cell) {
            const int n = batch.reference.n_shape;
            for (int s = 0; s < n; ++s)
            {
              const int node = batch.nodes[cell * n + s];
              kernels::atomic_min(first_cell + node, batch.first_cell + static_cast<int>(cell));
              if (n_cells_of != nullptr)
                kernels::atomic_increment(n_cells_of + node);
            }
          });
    // A node's first cell says where it is.
    for (int b = 0; b < all.n_batches; ++b)
      launch(place, all.batch[b].n_cells,
             [=, batch = all.batch[b], points = all.points,
              result = result.data()] PATCHFEM_DEVICE(const std::int64_t cell) {
               const ReferenceView &r = batch.reference;
               for (int s = 0; s < r.n_shape; ++s)
               {
                 const std::int64_t node = batch.nodes[cell * r.n_shape + s];
                 if (first_cell[node] != batch.first_cell + cell)
                   continue;
                 const int *const    geometry = batch.geometry + cell * r.n_geometry;
                 const double *const values   = r.support_geometry_values + s * r.n_geometry;
                 int                 g        = 0; // where all others are 0
                 while (g < r.n_geometry && values[g] != 1.)
                   ++g;
                 for (int a = 0; a < dim; ++a)
                   result[node * dim + a] = g < r.n_geometry
                                                ? points[std::int64_t(geometry[g]) * dim + a]
                                                : coordinate(points, dim, a, geometry, r.n_geometry, values);
               }
             });
    return result;
  }

  template <typename Where>
  void BatchSteps<Where>::order_nodes(ElementBatches                       &elements,
                                      const ElementTables                  &tables,
                                      const ElementBatches::AdditionalData &data,
                                      const CurveScale                     &curve)
  {
    const Backend       &place = elements.place;
    const int            dim = elements.dim, n_nodes = elements.n_node;
    Array<int>           lengths, all_order(place, n_nodes);
    Array<std::uint64_t> all_keys(place, n_nodes);
    int *const           order = all_order.data();
    std::uint64_t *const keys  = all_keys.data();
    {
      const Array<double> points = node_points(elements, &lengths);
      launch(place, n_nodes, [=, n_cells_of = lengths.data(), x = points.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        order[i] = static_cast<int>(i);
        keys[i]  = n_cells_of[i] == 0 ? 0
                   : dim == 2         ? position_on_curve<2>(x + 2 * i, curve)
                                      : position_on_curve<3>(x + 3 * i, curve);
      });
    }
    const bool       several = tables.ranks.several();
    const Array<int> kinds(place, several ? kinds_of_nodes(tables) : std::vector<int>());
    if (several)
    {
      launch(place, n_nodes, [=, kinds = kinds.data()] PATCHFEM_DEVICE(const std::int64_t i) {
        keys[i] |= std::uint64_t(kinds[i]) << 60;
      });
      elements.n_interior = n_interior_nodes(kinds);
    }
    launch(place,
           [&](const Here where) { kernels::stable_sort_by_key(where, n_nodes, keys, order, several ? 62 : 60); });
    int &window = elements.window = data.sorting_window;
    if (window != 1 && cells_differ(tables))
      lengths.copy_from(place, expected_row_lengths(tables, data.keep_constrained_entries));
    if (window == ElementBatches::AdditionalData::best_window)
      window = best_window(tables, all_order, lengths);
    if (window > 1)
    {
      const int bits = 16 + bits_for(n_nodes / window + 1);
      launch(place, n_nodes,
             [=, lengths = lengths.data(), kinds = kinds.data(),
              window = elements.window] PATCHFEM_DEVICE(const std::int64_t i) {
               const int n = lengths[order[i]];
               keys[i]     = (std::uint64_t(i / window) << 16) | std::uint64_t(65535 - (n < 65535 ? n : 65535));
               if (several)
                 keys[i] |= std::uint64_t(kinds[order[i]]) << bits;
             });
      launch(place, [&](const Here where) {
        kernels::stable_sort_by_key(where, n_nodes, keys, order, bits + (several ? 2 : 0));
      });
    }
    lengths.release();
    if (several)
      elements.order_ghosts(tables, all_order);
    number_nodes(elements, tables, all_order);
  }

  template <typename Where>
  void BatchSteps<Where>::number_nodes(ElementBatches &elements, const ElementTables &tables, const Array<int> &order)
  {
    const Backend     &place  = elements.place;
    const std::int64_t n_dofs = std::int64_t(elements.n_node) * elements.n_comp;
    Array<int>         new_of_old(place, order.size());
    int *const         number = new_of_old.data();
    launch(place, order.size(),
           [=, order = order.data()] PATCHFEM_DEVICE(const std::int64_t i) { number[order[i]] = static_cast<int>(i); });
    for (ElementBatches::Batch &batch : elements.batches)
      launch(place, batch.nodes.size(),
             [=, nodes = batch.nodes.data()] PATCHFEM_DEVICE(const std::int64_t i) { nodes[i] = number[nodes[i]]; });
    new_of_old.copy_to(elements.node_permutation.data());
    if (std::all_of(elements.batches.begin(), elements.batches.end(),
                    [](const ElementBatches::Batch &batch) { return batch.geometry.empty(); }))
      permute_rows(order, elements.dim, elements.points);

    Array<unsigned int> &dofs = elements.dofs;
    if (tables.dof_indices.empty())
    {
      dofs.reinit(place, n_dofs);
      launch(place, n_dofs,
             [dofs = dofs.data()] PATCHFEM_DEVICE(const std::int64_t i) { dofs[i] = static_cast<unsigned int>(i); });
    }
    else
    {
      require(std::int64_t(tables.dof_indices.size()) == n_dofs, "Every unknown needs its index in the source.");
      dofs.copy_from(place, tables.dof_indices);
    }
    permute_rows(order, elements.n_comp, dofs);
    place.synchronize();
  }

  template <typename Where>
  void BatchSteps<Where>::order_cells(ElementBatches &elements)
  {
    const Backend &place = elements.place;
    for (ElementBatches::Batch &batch : elements.batches)
    {
      const int            n = batch.n_cells, n_shape = batch.reference.n_shape;
      Array<std::uint64_t> keys(place, n);
      Array<int>          &order = batch.source, inverse(place, n);
      order.reinit(place, n);
      launch(place, n,
             [=, nodes = batch.nodes.data(), keys = keys.data(),
              order = order.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               int least = INT_MAX;
               for (int k = 0; k < n_shape; ++k)
                 least = nodes[i * n_shape + k] < least ? nodes[i * n_shape + k] : least;
               keys[i]  = static_cast<std::uint64_t>(least);
               order[i] = static_cast<int>(i);
             });
      launch(place, [&](const Here where) {
        kernels::stable_sort_by_key(where, n, keys.data(), order.data(), bits_for(elements.n_node));
      });
      permute_rows(order, n_shape, batch.nodes);
      permute_rows(order, batch.reference.n_geometry, batch.geometry);
      permute_rows(order, 1, batch.material);
      launch(place, n,
             [order = order.data(), inverse = inverse.data(), first = batch.first_cell] PATCHFEM_DEVICE(
                 const std::int64_t i) { inverse[order[i]] = first + static_cast<int>(i); });
      inverse.copy_to(elements.cell_permutation.data() + batch.first_cell);
    }
  }

  template <typename Where>
  int BatchSteps<Where>::tangled_cell(const ElementBatches &elements)
  {
    const BatchesView all = elements.view();
    Array<int>        cell(elements.place, std::vector<int>{INT_MAX});
    for (int b = 0; b < all.n_batches; ++b)
      launch(elements.place, all.batch[b].n_cells,
             [batch = all.batch[b], points = all.points, dim = elements.dim,
              cell = cell.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               if (dim == 2 ? is_tangled<2>(batch, points, i) : is_tangled<3>(batch, points, i))
                 kernels::atomic_min(cell, batch.first_cell + static_cast<int>(i));
             });
    return cell.read(0);
  }

  template <typename Where>
  void BatchSteps<Where>::make_inhomogeneities(const ElementBatches            &elements,
                                               const Array<int>                &lines,
                                               const Array<double>             &inhomogeneities,
                                               ElementBatches::Inhomogeneities &result)
  {
    const Backend                     &place       = elements.place;
    const ElementBatches::Constrained &constrained = elements.constrained;
    const int                          n = static_cast<int>(constrained.cells.size()), n_comp = elements.n_comp;
    const BatchesView                  batches = elements.view();
    Array<double> k_of_unknowns(place, std::size_t(elements.n_node) * n_comp); // as long as this function takes
    k_of_unknowns.set_zero();
    launch(place, lines.size(),
           [lines = lines.data(), values = inhomogeneities.data(),
            k = k_of_unknowns.data()] PATCHFEM_DEVICE(const std::int64_t l) { k[lines[l]] = values[l]; });
    // A cell keeps the k of all its unknowns if one of them is not 0.
    Array<int>          counts(place, n);
    Array<std::int64_t> offsets(place, n + 1);
    launch(place, n,
           [=, cells = constrained.cells.data(), k = k_of_unknowns.data(),
            counts = counts.data()] PATCHFEM_DEVICE(const std::int64_t c) {
             const BatchView &batch = batches.batch[batches.batch_of(cells[c])];
             const int        n_own = batch.reference.n_shape * n_comp;
             counts[c]              = 0;
             for (int i = 0; i < n_own; ++i)
               if (k[unknown_of(batch, cells[c], i, n_comp)] != 0.)
                 counts[c] = n_own;
           });
    launch(place, [&](const Here where) { kernels::exclusive_scan(where, n, counts.data(), offsets.data()); });
    result.offset.reinit(place, n);
    result.values.reinit(place, offsets.read(n));
    launch(place, n,
           [=, cells = constrained.cells.data(), k = k_of_unknowns.data(), counts = counts.data(),
            offsets = offsets.data(), starts = result.offset.data(),
            values = result.values.data()] PATCHFEM_DEVICE(const std::int64_t c) {
             starts[c] = counts[c] > 0 ? offsets[c] : -1;
             for (int i = 0; i < counts[c]; ++i)
               values[offsets[c] + i] = k[unknown_of(batches.batch[batches.batch_of(cells[c])], cells[c], i, n_comp)];
           });
  }

  template struct BatchSteps<Here>;
} // namespace PatchFEM
