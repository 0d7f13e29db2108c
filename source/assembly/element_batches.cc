// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/parallel_resizer.h"
#include "kernels/run.h"
#include "row_lengths.h"

#include "kernels/ordering.h"
#include <patchfem/assembly/element_batches.h>
#include <patchfem/assembly/structure_estimate.h>
#include <patchfem/base/threads.h>
#include <patchfem/kernels/primitives.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <mutex>
#include <set>

namespace PatchFEM
{
  namespace
  {
    /** Whether the shape functions are 1 - xi_1 - ... - xi_dim, xi_1, ..., xi_dim, and the geometry as well. */
    bool is_barycentric(const ReferenceElement &r)
    {
      if (!r.simplex || r.n_shape != r.dim + 1 || r.n_geometry != r.n_shape ||
          r.geometry_gradients != r.shape_gradients)
        return false;
      for (int q = 0; q < r.n_quadrature; ++q)
        for (int i = 0; i < r.n_shape; ++i)
          for (int d = 0; d < r.dim; ++d)
            if (std::abs(r.shape_gradients[(q * r.n_shape + i) * r.dim + d] - (i == 0 ? -1. : (i == d + 1 ? 1. : 0.))) >
                1e-14)
              return false;
      return true;
    }

    /**
     * The usual distance of neighbouring nodes along each axis: the extents of cells, on average over a sample, scaled to
     * the cells' average volume, over the polynomial degree. Six tetrahedra, or two triangles, count as one cell.
     */
    template <int dim>
    std::array<double, dim> node_spacing(const CellTable &table, const std::vector<double> &points)
    {
      const ReferenceElement &r = table.reference;
      std::vector<double>     gradients(r.n_geometry * dim, 0.); // averages over the quadrature points
      for (int q = 0; q < r.n_quadrature; ++q)
        for (std::size_t i = 0; i < gradients.size(); ++i)
          gradients[i] += r.geometry_gradients[q * gradients.size() + i] / r.n_quadrature;

      // What a cell adds is found by all threads, and added up in the order of the cells.
      constexpr int                            sample = 1 << 16;
      const int                                stride = std::max(1, table.n_cells / sample);
      const int                                n      = (table.n_cells + stride - 1) / stride;
      std::vector<std::array<double, dim + 1>> found(n); // extents, volume
#pragma omp parallel for schedule(static)
      for (int k = 0; k < n; ++k)
      {
        const auto J = jacobian<dim, double>(points.data(), table.points_of(std::int64_t(k) * stride), r.n_geometry,
                                             gradients.data());
        for (int a = 0; a < dim; ++a)
        {
          double extent = 0.;
          for (int b = 0; b < dim; ++b)
            extent = std::max(extent, std::abs(J(a, b)));
          found[k][a] = extent;
        }
        found[k][dim] = std::abs(determinant(J));
      }
      std::array<double, dim> spacing{};
      double                  volume = 0.;
      for (const std::array<double, dim + 1> &of_cell : found)
      {
        for (int a = 0; a < dim; ++a)
          spacing[a] += of_cell[a];
        volume += of_cell[dim];
      }
      double product = 1.;
      for (const double h : spacing)
        product *= h;
      const double factor = std::pow(volume / n / product, 1. / dim) / r.degree;
      for (double &h : spacing)
        h *= factor;
      return spacing;
    }

    /** Runs @p body for each (cell, shape) of each batch. */
    template <typename Body>
    void run_on_shapes(const Backend &place, const BatchesView &view, Body body)
    {
      for (int b = 0; b < view.n_batches; ++b)
      {
        body.batch = view.batch[b];
        run(place, std::int64_t(body.batch.n_cells) * body.batch.reference.n_shape, body);
      }
    }

    /** The first cell of each node and how many cells it has. */
    void count_cells(const Backend &place, const BatchesView &view, Array<int> &first_cell, Array<int> &n_cells_of)
    {
      first_cell.reinit(place, view.n_nodes);
      n_cells_of.reinit(place, view.n_nodes);
      run(place, view.n_nodes, kernels::FillBody{first_cell.data(), INT_MAX});
      n_cells_of.set_zero();
      run_on_shapes(place, view, kernels::NodeCellsBody{{}, first_cell.data(), n_cells_of.data()});
    }

    template <int dim>
    void compute_curve(const Backend       &backend,
                       const BatchesView   &view,
                       const ElementTables &tables,
                       const int           *first_cell,
                       std::uint64_t       *curve)
    {
      const std::vector<double> &points = tables.points;
      const CellTable           &usual =
          *std::max_element(tables.batches.begin(), tables.batches.end(),
                            [](const CellTable &a, const CellTable &b) { return a.n_cells < b.n_cells; });
      const std::array<double, dim> spacing = node_spacing<dim>(usual, points);
      kernels::NodeCurveBody<dim>   body;
      const std::int64_t            n_points = points.size() / dim;
      double                        longest  = 1.; // side of the domain in spacings
      double least[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, most[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : most)
      for (std::int64_t i = 0; i < n_points; ++i)
        for (int a = 0; a < dim; ++a)
        {
          least[a] = std::min(least[a], points[i * dim + a]);
          most[a]  = std::max(most[a], points[i * dim + a]);
        }
      for (int a = 0; a < dim; ++a)
      {
        body.origin[a] = least[a];
        longest        = std::max(longest, (most[a] - least[a]) / spacing[a] + 1.);
      }
      body.unit = std::ldexp(1., kernels::hilbert_bits<dim>() - static_cast<int>(std::ceil(std::log2(longest))));
      for (int a = 0; a < dim; ++a)
        body.scale[a] = body.unit / spacing[a];
      body.points     = view.points;
      body.first_cell = first_cell;
      body.curve      = curve;
      run_on_shapes(backend, view, body);
    }

    /** Row i, of @p width entries, becomes row order[i]. */
    template <typename T>
    void permute_rows(const Array<int> &order, const int width, Array<T> &rows)
    {
      Array<T> result(rows.backend(), rows.size());
      run(rows.backend(), rows.size(), kernels::PermuteRowsBody<T>{order.data(), width, rows.data(), result.data()});
      rows.swap(result);
    }
  } // namespace

  void ElementBatches::reinit(const Backend &backend, const ElementTables &tables, const AdditionalData &data)
  {
    require(tables.dim == 2 || tables.dim == 3, "Element batches exist in two and three dimensions.");
    require(data.sorting_window >= 1 || data.sorting_window == AdditionalData::best_window,
            "The sorting window must be at least one row, or AdditionalData::best_window.");
    require(tables.batches.size() <= BatchesView::max_batches,
            "More than " + std::to_string(BatchesView::max_batches) + " different finite elements in one problem.");
    require(tables.n_cells() > 0, "The mesh has no cells.");
    require(tables.n_cells() < INT_MAX, "A mesh may have at most 2^31 - 1 cells.");
    upload(backend, tables);
    check_jacobians(tables);
    order_nodes(tables, data);
    order_cells();
    resolve_constraints(tables, data.keep_constrained_entries);
    sort_faces(tables);
  }

  void ElementBatches::reinit_unconstrained(const ElementBatches &other, const ElementTables &tables)
  {
    upload(other.place, tables);
    window = other.window;
    Array<int> new_of_old(place, other.node_permutation), order(place, n_node);
    run(place, n_node, kernels::InvertBody{new_of_old.data(), order.data()});
    number_nodes(tables, order, new_of_old);
    order_cells();
    constrained = Constrained();
    sort_faces(tables);
  }

  void ElementBatches::upload(const Backend &backend, const ElementTables &tables)
  {
    place  = backend;
    dim    = tables.dim;
    n_comp = tables.n_components;
    n_node = tables.n_nodes;
    n_cell = static_cast<int>(tables.n_cells());
    ParallelResizer resizer;
    for (auto [list, n] : {std::pair(&node_permutation, n_node), std::pair(&cell_permutation, n_cell)})
    {
      list->clear();
      resizer.add(*list, n);
    }
    resizer.run();

    std::set<int> present;
    std::mutex    one_at_a_time;
    for (const CellTable &table : tables.batches)
      for_shares(table.material_ids.size(), [&](const std::int64_t begin, const std::int64_t end) {
        std::set<int> mine; // neighbours mostly share their material
        std::unique_copy(table.material_ids.begin() + begin, table.material_ids.begin() + end,
                         std::inserter(mine, mine.end()));
        const std::lock_guard<std::mutex> lock(one_at_a_time);
        present.merge(mine);
      });
    if (present.empty())
      present.insert(0);
    material_ids.assign(present.begin(), present.end());

    const bool same = tables.points.size() == std::size_t(n_node) * dim &&
                      std::all_of(tables.batches.begin(), tables.batches.end(), [](const CellTable &table) {
                        return table.reference.geometry_gradients == table.reference.shape_gradients &&
                               (table.geometry.empty() || table.geometry == table.nodes);
                      });
    points.copy_from(place, tables.points);
    batches.clear();
    batches.resize(tables.batches.size());
    int first = 0;
    for (std::size_t b = 0; b < batches.size(); ++b)
    {
      const CellTable &table = tables.batches[b];
      Batch           &batch = batches[b];
      batch.reference        = table.reference;
      batch.barycentric      = is_barycentric(table.reference);
      batch.n_cells          = table.n_cells;
      batch.first_cell       = first;
      first += table.n_cells;
      batch.nodes.copy_from(place, table.nodes);
      if (!same)
        batch.geometry.copy_from(place, table.geometry.empty() ? table.nodes : table.geometry);
      if (material_ids.size() > 1)
      {
        std::vector<int> slot(table.n_cells);
#pragma omp parallel for schedule(static)
        for (int c = 0; c < table.n_cells; ++c)
          slot[c] = static_cast<int>(std::lower_bound(material_ids.begin(), material_ids.end(), table.material_ids[c]) -
                                     material_ids.begin());
        batch.material.copy_from(place, slot);
      }
      batch.source.reinit(place, table.n_cells);
      run(place, table.n_cells, kernels::IotaBody<int>{batch.source.data()});

      const ReferenceElement &r = table.reference;
      batch.weights.copy_from(place, r.weights);
      batch.shape_values.copy_from(place, r.shape_values);
      batch.shape_gradients.copy_from(place, r.shape_gradients);
      batch.geometry_values.copy_from(place, r.geometry_values);
      batch.geometry_gradients.copy_from(place, r.geometry_gradients);
      batch.support_geometry_values.copy_from(place, r.support_geometry_values);
      batch.face_weights.copy_from(place, r.face_weights);
      batch.face_shape_values.copy_from(place, r.face_shape_values);
      batch.face_geometry_gradients.copy_from(place, r.face_geometry_gradients);
      batch.face_tangents.copy_from(place, r.face_tangents);
    }
  }

  Array<double> ElementBatches::node_points() const
  {
    Array<double>     result(place, std::size_t(n_node) * dim);
    Array<int>        first_cell, n_cells_of;
    const BatchesView all = view();
    count_cells(place, all, first_cell, n_cells_of);
    if (dim == 2)
      run_on_shapes(place, all, kernels::NodePointBody<2>{{}, all.points, first_cell.data(), result.data()});
    else
      run_on_shapes(place, all, kernels::NodePointBody<3>{{}, all.points, first_cell.data(), result.data()});
    place.synchronize();
    return result;
  }

  int ElementBatches::best_window(const ElementTables &tables, const Array<int> &order, const Array<int> &lengths) const
  {
    if (n_node < AdditionalData::least_choice)
      return AdditionalData().sorting_window;
    constexpr int size = kernels::SortingWindows::largest, most = 512;
    const int     n_groups = n_node / size + (n_node % size != 0), stride = (n_groups + most - 1) / most;
    Array<int>    sample(place, std::size_t((n_groups + stride - 1) / stride) * size);
    run(place, sample.size(), kernels::SampleLengthsBody{n_node, stride, order.data(), lengths.data(), sample.data()});
    std::vector<int> found = sample.to_vector();
    found.erase(std::remove(found.begin(), found.end(), -1), found.end());
    return cheapest_sorting_window(found, RowLengthScale::of(tables), n_comp);
  }

  void ElementBatches::order_nodes(const ElementTables &tables, const AdditionalData &data)
  {
    window = data.sorting_window;
    Array<int>           first_cell, n_cells_of, order(place, n_node);
    Array<std::uint64_t> keys(place, n_node);
    keys.set_zero();
    const BatchesView all = view();
    count_cells(place, all, first_cell, n_cells_of);
    if (dim == 2)
      compute_curve<2>(place, all, tables, first_cell.data(), keys.data());
    else
      compute_curve<3>(place, all, tables, first_cell.data(), keys.data());
    first_cell.release();

    run(place, n_node, kernels::IotaBody<int>{order.data()});
    dispatch(place, [&](auto where) { kernels::stable_sort_by_key(where, n_node, keys.data(), order.data(), 60); });
    Array<int> lengths;
    if (window == 1 || !cells_differ(tables))
      lengths.swap(n_cells_of);
    else
      lengths.copy_from(place, expected_row_lengths(tables, data.keep_constrained_entries));
    if (window == AdditionalData::best_window)
      window = best_window(tables, order, lengths);
    if (window > 1)
    {
      run(place, n_node, kernels::WindowKeyBody{order.data(), lengths.data(), window, keys.data()});
      dispatch(place, [&](auto where) {
        kernels::stable_sort_by_key(where, n_node, keys.data(), order.data(), 16 + bits_for(n_node / window + 1));
      });
    }
    lengths.release();

    Array<int> new_of_old(place, n_node);
    run(place, n_node, kernels::InvertBody{order.data(), new_of_old.data()});
    number_nodes(tables, order, new_of_old);
  }

  void ElementBatches::number_nodes(const ElementTables &tables, const Array<int> &order, const Array<int> &new_of_old)
  {
    for (Batch &batch : batches)
      run(place, batch.nodes.size(), kernels::RenumberBody{new_of_old.data(), batch.nodes.data()});
    new_of_old.copy_to(node_permutation.data());

    if (points_are_nodes())
      permute_rows(order, dim, points);
    if (tables.dof_indices.empty())
    {
      dofs.reinit(place, n_dofs());
      run(place, n_dofs(), kernels::IotaBody<unsigned int>{dofs.data()});
    }
    else
    {
      require(std::int64_t(tables.dof_indices.size()) == n_dofs(), "Every unknown needs its index in the source.");
      dofs.copy_from(place, tables.dof_indices);
    }
    permute_rows(order, n_comp, dofs);
    place.synchronize();
  }

  bool ElementBatches::points_are_nodes() const
  {
    return std::all_of(batches.begin(), batches.end(), [](const Batch &batch) { return batch.geometry.empty(); });
  }

  void ElementBatches::order_cells()
  {
    for (Batch &batch : batches)
    {
      const int            n = batch.n_cells;
      Array<std::uint64_t> keys(place, n);
      Array<int>           order(place, n), inverse(place, n);
      run(place, n, kernels::CellKeyBody{batch.nodes.data(), batch.reference.n_shape, keys.data()});
      run(place, n, kernels::IotaBody<int>{order.data()});
      dispatch(place,
               [&](auto where) { kernels::stable_sort_by_key(where, n, keys.data(), order.data(), bits_for(n_node)); });
      permute_rows(order, batch.reference.n_shape, batch.nodes);
      permute_rows(order, batch.reference.n_geometry, batch.geometry);
      permute_rows(order, 1, batch.material);
      permute_rows(order, 1, batch.source);
      run(place, n, kernels::InvertBody{order.data(), inverse.data()});
      inverse.copy_to(cell_permutation.data() + batch.first_cell);
#pragma omp parallel for schedule(static) if (batch.first_cell > 0)
      for (int c = batch.first_cell; c < batch.first_cell + n; ++c)
        cell_permutation[c] += batch.first_cell;
    }
  }

  void ElementBatches::sort_faces(const ElementTables &tables)
  {
    face_entries = tables.faces;
    std::vector<std::pair<int, int>> order(face_entries.size()); // (cell here, position in the tables)
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = {cell_permutation[batches[face_entries[i].batch].first_cell + face_entries[i].cell],
                  static_cast<int>(i)};
    std::sort(order.begin(), order.end());
    std::vector<int>          cells, number, source;
    std::vector<std::int64_t> offsets;
    for (const auto &[cell, position] : order)
    {
      if (cells.empty() || cells.back() != cell)
      {
        cells.push_back(cell);
        offsets.push_back(static_cast<std::int64_t>(number.size()));
      }
      number.push_back(face_entries[position].face);
      source.push_back(position);
    }
    offsets.push_back(static_cast<std::int64_t>(number.size()));
    face_cells.copy_from(place, cells);
    face_offsets.copy_from(place, offsets);
    face_number.copy_from(place, number);
    face_source.copy_from(place, source);
  }

  void ElementBatches::check_jacobians(const ElementTables &tables) const
  {
    Array<int> bad_cell(place, 1);
    run(place, 1, kernels::FillBody{bad_cell.data(), INT_MAX});
    const BatchesView all = view();
    for (int b = 0; b < all.n_batches; ++b)
      if (dim == 2)
        run(place, all.batch[b].n_cells, kernels::JacobianCheckBody<2>{all.batch[b], all.points, bad_cell.data()});
      else
        run(place, all.batch[b].n_cells, kernels::JacobianCheckBody<3>{all.batch[b], all.points, bad_cell.data()});
    const int cell = bad_cell.read(0);
    if (cell == INT_MAX)
      return;
    const int               b      = all.batch_of(cell);
    const int               local  = cell - batches[b].first_cell; // cells have not been reordered yet
    const std::vector<int> &active = tables.batches[b].active_index;
    throw Error("Cell " + std::to_string(active.empty() ? local : active[local]) +
                " is flat or tangled: its Jacobian determinant is not positive everywhere; repair the mesh there.");
  }

  BatchesView ElementBatches::view() const
  {
    BatchesView result{};
    result.n_batches = n_batches();
    result.n_cells   = n_cell;
    result.n_nodes   = n_node;
    result.points    = points.data();
    for (int b = 0; b < result.n_batches; ++b)
    {
      const Batch &from = batches[b];
      result.batch[b]   = {{from.reference.n_shape, from.reference.n_geometry, from.reference.n_quadrature,
                            from.reference.n_face_quadrature, from.barycentric, from.weights.data(),
                            from.shape_values.data(), from.shape_gradients.data(), from.geometry_values.data(),
                            from.geometry_gradients.data(), from.support_geometry_values.data(), from.face_weights.data(),
                            from.face_shape_values.data(), from.face_geometry_gradients.data(),
                            from.face_tangents.data()},
                           from.n_cells,
                           from.first_cell,
                           from.nodes.data(),
                         from.geometry.empty() ? from.nodes.data() : from.geometry.data(),
                           from.material.data(),
                           from.source.data()};
    }
    return result;
  }

  ConstrainedCellsView ElementBatches::constrained_cells() const
  {
    return {static_cast<int>(constrained.cells.size()),
            constrained.cells.data(),
            constrained.node_offsets.data(),
            constrained.nodes.data(),
            constrained.n_free.data(),
            constrained.column_offsets.data(),
            constrained.column_local.data(),
            constrained.column_weight.data(),
            constrained.diagonal_local.data(),
            constrained.inhomogeneity_offset.data(),
            constrained.inhomogeneity.data()};
  }

  FacesView ElementBatches::faces_view() const
  {
    return {static_cast<int>(face_cells.size()), face_cells.data(), face_offsets.data(), face_number.data(),
            face_source.data()};
  }

  std::size_t ElementBatches::memory_consumption() const
  {
    std::size_t bytes = points.memory_consumption() + dofs.memory_consumption();
    for (const Batch &b : batches)
      bytes += b.nodes.memory_consumption() + b.geometry.memory_consumption() + b.material.memory_consumption() +
               b.source.memory_consumption();
    const Constrained &c = constrained;
    bytes += c.cells.memory_consumption() + c.nodes.memory_consumption() + c.n_free.memory_consumption() +
             c.column_local.memory_consumption() + c.diagonal_local.memory_consumption() +
             c.node_offsets.memory_consumption() + c.column_offsets.memory_consumption() +
             c.inhomogeneity_offset.memory_consumption() + c.column_weight.memory_consumption() +
             c.inhomogeneity.memory_consumption();
    return bytes + face_cells.memory_consumption() + face_offsets.memory_consumption() +
           face_number.memory_consumption() + face_source.memory_consumption();
  }

  std::size_t StructureEstimate::batches_bytes() const
  {
    const std::size_t n_comp = tables.n_components;
    std::size_t       ints   = tables.n_nodes * n_comp + 5 * tables.faces.size();
    for (const CellTable &batch : tables.batches)
      ints += batch.nodes.size() + batch.geometry.size() + 2 * batch.n_cells;
    // Of constraints nodes, diagonals, offsets, inhomogeneities, and weights of up to a master for each row.
    return tables.points.size() * sizeof(double) + ints * sizeof(int) + n_resolved_rows * (8 + 32 * n_comp);
  }
} // namespace PatchFEM
