// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/parallel_resizer.h"
#include "element_batches_steps.h"

#include <patchfem/assembly/structure_estimate.h>
#include <patchfem/base/threads.h>

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

    /** Whether corner v, at bit d of v in direction d, carries the product of xi_d and 1 - xi_d; two Gauss points a direction. */
    bool is_multilinear(const ReferenceElement &r)
    {
      const int n = 1 << r.dim;
      if (r.simplex || r.n_shape != n || r.n_geometry != n || r.n_quadrature != n ||
          r.geometry_gradients != r.shape_gradients)
        return false;
      const auto same = [](const double a, const double b) { return std::abs(a - b) <= 1e-14; };
      for (int q = 0; q < n; ++q)
      {
        if (!same(r.weights[q], 1. / n))
          return false;
        for (int i = 0; i < n; ++i)
        {
          double value = 1., gradient[3] = {1., 1., 1.};
          for (int d = 0; d < r.dim; ++d)
          {
            const bool   high = i >> d & 1;
            const double xi   = (q >> d & 1 ? 0.5 + std::sqrt(1. / 12.) : 0.5 - std::sqrt(1. / 12.)),
                         own  = high ? xi : 1. - xi;
            value *= own;
            for (int e = 0; e < r.dim; ++e)
              gradient[e] *= e != d ? own : high ? 1. : -1.;
          }
          bool all = same(r.shape_values[q * n + i], value);
          for (int d = 0; d < r.dim; ++d)
            all = all && same(r.shape_gradients[(q * n + i) * r.dim + d], gradient[d]);
          if (!all)
            return false;
        }
      }
      return true;
    }

    /**
     * The usual distance of neighbouring nodes along each axis: the extents of cells, on average over a sample, scaled
     * to the cells' average volume, over the polynomial degree. Six tetrahedra, or two triangles, count as one cell.
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

    template <int dim>
    CurveScale curve_scale(const ElementTables &tables)
    {
      if (tables.n_cells() == 0)
        return {};
      const std::vector<double> &points = tables.points;
      const CellTable           &usual =
          *std::max_element(tables.batches.begin(), tables.batches.end(),
                            [](const CellTable &a, const CellTable &b) { return a.n_cells < b.n_cells; });
      const std::array<double, dim> spacing  = node_spacing<dim>(usual, points);
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
        longest = std::max(longest, (most[a] - least[a]) / spacing[a] + 1.);
      CurveScale result{};
      result.unit = std::ldexp(1., kernels::hilbert_bits<dim>() - static_cast<int>(std::ceil(std::log2(longest))));
      for (int a = 0; a < dim; ++a)
      {
        result.origin[a] = least[a];
        result.scale[a]  = result.unit / spacing[a];
      }
      return result;
    }

    /** ReferenceView::gradient_integrals; exchanging i and a with j and b gives the same bits. */
    std::vector<double> gradient_integrals(const ReferenceElement &r)
    {
      std::vector<double> result(std::size_t(r.n_shape) * r.n_shape * r.dim * r.dim, 0.);
      double             *to = result.data();
      for (int i = 0; i < r.n_shape; ++i)
        for (int j = 0; j < r.n_shape; ++j)
          for (int a = 0; a < r.dim; ++a)
            for (int b = 0; b < r.dim; ++b, ++to)
              for (int q = 0; q < r.n_quadrature; ++q)
                *to += r.weights[q] * (r.shape_gradients[(q * r.n_shape + i) * r.dim + a] *
                                       r.shape_gradients[(q * r.n_shape + j) * r.dim + b]);
      return result;
    }

    /** The tables of a reference element that kernels read, and where they see them. */
    constexpr std::pair<std::vector<double> ReferenceElement::*, const double * ReferenceView::*> reference_tables[] = {
        {&ReferenceElement::weights, &ReferenceView::weights},
        {&ReferenceElement::shape_values, &ReferenceView::shape_values},
        {&ReferenceElement::shape_gradients, &ReferenceView::shape_gradients},
        {&ReferenceElement::geometry_values, &ReferenceView::geometry_values},
        {&ReferenceElement::geometry_gradients, &ReferenceView::geometry_gradients},
        {&ReferenceElement::support_geometry_values, &ReferenceView::support_geometry_values},
        {&ReferenceElement::face_weights, &ReferenceView::face_weights},
        {&ReferenceElement::face_shape_values, &ReferenceView::face_shape_values},
        {&ReferenceElement::face_shape_gradients, &ReferenceView::face_shape_gradients},
        {&ReferenceElement::face_geometry_values, &ReferenceView::face_geometry_values},
        {&ReferenceElement::face_geometry_gradients, &ReferenceView::face_geometry_gradients},
        {&ReferenceElement::face_tangents, &ReferenceView::face_tangents},
        {&ReferenceElement::face_normals, &ReferenceView::face_normals}};
  } // namespace

  void ElementBatches::reinit(const Backend &backend, const ElementTables &tables, const AdditionalData &data)
  {
    tables.ranks.agree_on_errors([&] {
      require(tables.dim == 2 || tables.dim == 3, "Element batches exist in two and three dimensions.");
      require(data.sorting_window >= 1 || data.sorting_window == AdditionalData::best_window,
              "The sorting window must be at least one row, or AdditionalData::best_window.");
      require(tables.batches.size() <= BatchesView::max_batches, "More than ", BatchesView::max_batches,
              " different finite elements in one problem.");
      require(tables.n_cells() > 0 || tables.ranks.several() || backend.group() != nullptr, "The mesh has no cells.");
      require(tables.n_cells() < INT_MAX, "A mesh may have at most 2^31 - 1 cells.");
      upload(backend, tables);
      check_jacobians(tables);
      dispatch(place, [&](auto where) {
        using Steps = BatchSteps<decltype(where)>;
        Steps::order_nodes(*this, tables, data, dim == 2 ? curve_scale<2>(tables) : curve_scale<3>(tables));
        Steps::order_cells(*this);
      });
      resolve_constraints(tables, data.keep_constrained_entries);
      sort_faces(tables);
    });
  }

  void ElementBatches::reinit_unconstrained(const ElementBatches &other, const ElementTables &tables)
  {
    upload(other.place, tables);
    window = other.window;
    std::vector<int> order(n_node);
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n_node; ++i)
      order[other.node_permutation[i]] = i;
    dispatch(place, [&](auto where) {
      BatchSteps<decltype(where)>::number_nodes(*this, tables, Array<int>(place, order));
      BatchSteps<decltype(where)>::order_cells(*this);
    });
    ranks       = other.ranks;
    n_interior  = other.n_interior;
    constrained = Constrained();
    sort_faces(tables);
  }

  void ElementBatches::order_ghosts(const ElementTables &tables, Array<int> &order)
  {
    std::vector<int>  nodes = order.to_vector(), number(n_node);
    const Partitioner of_tables(tables.ranks.communicator, n_row, tables.ranks.ghosts);
    for (int i = 0; i < n_row; ++i)
      number[nodes[i]] = i;
    of_tables.update_ghosts(number.data());
    std::vector<std::pair<Partitioner::Ghost, int>> sorted; // number there, node of the tables
    for (int i = n_row; i < n_node; ++i)
      sorted.push_back({{of_tables.ghosts()[i - n_row].rank, number[i]}, i});
    std::sort(sorted.begin(), sorted.end());
    std::vector<Partitioner::Ghost> ghosts;
    for (const auto &[ghost, node] : sorted)
    {
      nodes[n_row + ghosts.size()] = node;
      ghosts.push_back(ghost);
    }
    order.copy_from(place, nodes);
    ranks = std::make_shared<const Partitioner>(tables.ranks.communicator, n_row, std::move(ghosts));
  }

  void ElementBatches::upload(const Backend &backend, const ElementTables &tables)
  {
    place  = backend;
    dim    = tables.dim;
    n_comp = tables.n_components;
    n_node = tables.n_nodes;
    n_row = n_interior = tables.n_owned_nodes();
    ranks.reset();
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

      const ReferenceElement &r              = table.reference;
      batch.reference_view.n_shape           = r.n_shape;
      batch.reference_view.n_geometry        = r.n_geometry;
      batch.reference_view.n_quadrature      = r.n_quadrature;
      batch.reference_view.n_face_quadrature = r.n_face_quadrature;
      batch.reference_view.barycentric       = is_barycentric(r);
      batch.reference_view.multilinear       = is_multilinear(r);
      for (const auto &[values, seen] : reference_tables)
      {
        batch.tables.emplace_back(place, r.*values);
        batch.reference_view.*seen = batch.tables.back().data();
      }
      batch.reference_view.gradient_integrals = nullptr;
      if (r.constant_jacobian)
      {
        batch.tables.emplace_back(place, gradient_integrals(r));
        batch.reference_view.gradient_integrals = batch.tables.back().data();
      }
    }
  }

  Array<double> ElementBatches::node_points() const
  {
    Array<double> result = dispatch(place, [&](auto where) { return BatchSteps<decltype(where)>::node_points(*this); });
    place.synchronize();
    return result;
  }

  void ElementBatches::make_inhomogeneities(const Array<int>    &lines,
                                            const Array<double> &values,
                                            Inhomogeneities     &result) const
  {
    if (!constrained.cells.empty())
      dispatch(place,
               [&](auto where) { BatchSteps<decltype(where)>::make_inhomogeneities(*this, lines, values, result); });
  }

  void ElementBatches::sort_faces(const ElementTables &tables)
  {
    const std::vector<FaceEntry>    &faces = tables.faces;
    std::vector<std::pair<int, int>> order(faces.size()); // (cell here, position in the tables)
    for (std::size_t i = 0; i < order.size(); ++i)
      order[i] = {cell_permutation[batches[faces[i].batch].first_cell + faces[i].cell], static_cast<int>(i)};
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
      number.push_back(faces[position].face);
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
    const int cell = dispatch(place, [&](auto where) { return BatchSteps<decltype(where)>::tangled_cell(*this); });
    if (cell == INT_MAX)
      return;
    const int               b      = view().batch_of(cell);
    const int               local  = cell - batches[b].first_cell; // cells have not been reordered yet
    const std::vector<int> &active = tables.batches[b].active_index;
    int                     number = active.empty() ? local : active[local];
    std::string             owner;
    if (!tables.ranks.parts.empty())
    {
      auto part = tables.ranks.parts.rbegin();
      while (part->first_active > number)
        ++part;
      owner = " of rank " + std::to_string(part->rank);
      number -= part->first_active;
    }
    else if (tables.ranks.several())
    {
      int rank = tables.ranks.communicator->rank(), end = tables.ranks.n_own_cells[b];
      for (const RankTables::Received &copies : tables.ranks.received)
      {
        rank = local >= end ? copies.rank : rank;
        end += copies.n_cells[b];
      }
      owner = " of rank " + std::to_string(rank);
    }
    throw Error("Cell ", number, owner,
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
      result.batch[b]   = {from.reference_view,
                           from.n_cells,
                           from.first_cell,
                           from.nodes.data(),
                           (from.geometry.empty() ? from.nodes : from.geometry).data(),
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
            constrained.k.offset.data(),
            constrained.k.values.data()};
  }

  FacesView ElementBatches::faces_view() const
  {
    return {static_cast<int>(face_cells.size()), face_cells.data(), face_offsets.data(), face_number.data(),
            face_source.data()};
  }

  std::size_t ElementBatches::memory_consumption() const
  {
    const Constrained &c     = constrained;
    std::size_t        bytes = memory_consumption_of(
               points, dofs, c.cells, c.nodes, c.n_free, c.column_local, c.diagonal_local, c.node_offsets, c.column_offsets,
               c.k.offset, c.column_weight, c.k.values, face_cells, face_offsets, face_number, face_source);
    for (const Batch &b : batches)
      bytes += memory_consumption_of(b.nodes, b.geometry, b.material, b.source);
    return bytes;
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
