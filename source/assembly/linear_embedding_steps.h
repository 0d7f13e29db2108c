// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kept_lines.h"

#include "kernels/launch.h"
#include "kernels/structure_bodies.h"
#include "kernels/unique_rows.h"

#include <patchfem/assembly/space.h>

#include <climits>

/** @file How the vertices of a mesh give values at the nodes of a space (see launch.h). */
namespace PatchFEM
{
  /**
   * The number of each node as a vertex of the embedding, [node]: those of owned nodes that are vertices or of cells that
   * are stretched by more than @p most, and have an unknown which is not constrained; else one of UncountedVertices.
   * embedding.nodes become these.
   */
  template <typename Where>
  Array<int> number_vertices(
      Where, const ElementBatches &batches, const Array<int> &constrained, double most, LinearEmbedding &embedding);

  /** P, of rows of owned nodes, with @p n_columns vertices, where those of others are behind. */
  template <typename Where>
  void embed_linear(Where,
                    const ElementBatches &batches,
                    const Array<int>     &constrained,
                    const Array<int>     &vertex_of_node,
                    const KeptLines      &lines,
                    int                   n_columns,
                    LinearEmbedding      &embedding);
} // namespace PatchFEM

namespace PatchFEM
{
  namespace
  {
    constexpr int most_batches = BatchesView::max_batches;

    /** The tables of ReferenceElement that are needed here. */
    struct LinearReference
    {
      int           n_vertices;
      const int    *vertex_shapes;
      const double *linear_values; ///< [shape][vertex]
    };

    /** Row i of P. */
    struct EmbeddingRows
    {
      static constexpr int team_size = 4, table_size = 32, n_kept = 8;

      BatchesView          batches;
      LinearReference      reference[most_batches];
      const int           *first_cell; ///< [node]
      const unsigned char *is_free;    ///< [unknown]
      int                  n_components;
      const int           *line_of_node; ///< or -1
      const int           *offsets, *line_masters;
      const int           *vertex_of_node; ///< its number, or below 0

      /** Calls @p function(coarse node, value there, entry of lines or -1) for what node @p i depends on. */
      template <typename Function>
      PATCHFEM_INLINE void visit_values(const int i, const int rank, const int size, const Function &function) const
      {
        bool free = false;
        for (int a = 0; a < n_components; ++a)
          free = free || is_free[std::int64_t(i) * n_components + a];
        if (!free)
          return;
        if (vertex_of_node[i] >= 0)
        {
          if (rank == 0)
            function(vertex_of_node[i], 1., -1);
          return;
        }
        const int             cell = first_cell[i], b = batches.batch_of(cell);
        const int            *nodes = batches.batch[b].nodes_of(cell);
        const LinearReference r     = reference[b];
        int                   shape = 0;
        while (nodes[shape] != i)
          ++shape;
        for (int v = rank; v < r.n_vertices; v += size)
        {
          const double value = r.linear_values[shape * r.n_vertices + v];
          if (value > -1e-12 && value < 1e-12)
            continue;
          const int node = nodes[r.vertex_shapes[v]], line = line_of_node[node];
          if (line < 0)
            function(vertex_of_node[node], value, -1);
          else
            for (int e = offsets[line]; e < offsets[line + 1]; ++e)
              function(line_masters[e], value, e);
        }
      }

      template <typename Emit>
      PATCHFEM_INLINE void visit(const int i, const int rank, const int size, const Emit &emit) const
      {
        visit_values(i, rank, size, [&](const int vertex, double, int) { emit(vertex); });
      }
    };

    /** [unknown], 1 unless it is one of @p constrained. */
    inline Array<unsigned char> free_unknowns(const ElementBatches &batches, const Array<int> &constrained)
    {
      const Backend       &place = batches.backend();
      Array<unsigned char> result(place, std::size_t(batches.n_nodes()) * batches.n_components());
      launch(place, result.size(), [is_free = result.data()] PATCHFEM_DEVICE(const std::int64_t i) { is_free[i] = 1; });
      launch(place, constrained.size(),
             [constrained = constrained.data(), is_free = result.data()] PATCHFEM_DEVICE(const std::int64_t l) {
               is_free[constrained[l]] = 0;
             });
      return result;
    }
  } // namespace

  template <>
  Array<int> number_vertices(
      Here, const ElementBatches &batches, const Array<int> &constrained, const double most, LinearEmbedding &embedding)
  {
    const Backend             &place = batches.backend();
    const BatchesView          all   = batches.view();
    const int                  dim = batches.dimension(), n_c = batches.n_components(), n_rows = batches.n_rows();
    Array<int>                 result(place, all.n_nodes), is_vertex(place, n_rows);
    const Array<unsigned char> is_free = free_unknowns(batches, constrained);
    result.set_zero();
    for (int b = 0; b < all.n_batches; ++b)
    {
      const ReferenceElement &reference = batches.reference(b);
      const Array<int>        shapes(batches.backend(), reference.vertex_shapes);
      const int               n_vertices = static_cast<int>(shapes.size());
      launch(batches.backend(), all.batch[b].n_cells,
             [=, batch = all.batch[b], points = all.points, simplex = reference.simplex, shapes = shapes.data(),
              marks = result.data()] PATCHFEM_DEVICE(const std::int64_t cell) {
               const int  n_shape = batch.reference.n_shape, *nodes = batch.nodes + cell * n_shape;
               const int *geometry = batch.geometry + cell * batch.reference.n_geometry; // vertices are the first
               double     shortest = 1e300, longest = 0.;                                // edges, squared
               for (int v = 0; v < n_vertices; ++v)
                 for (int w = 0; w < v; ++w)
                 {
                   const int differ = v ^ w;
                   if (!simplex && (differ & (differ - 1)) != 0)
                     continue;
                   double square = 0.;
                   for (int d = 0; d < dim; ++d)
                   {
                     const double x =
                         points[std::int64_t(geometry[v]) * dim + d] - points[std::int64_t(geometry[w]) * dim + d];
                     square += x * x;
                   }
                   shortest = square < shortest ? square : shortest;
                   longest  = square > longest ? square : longest;
                 }
               if (longest > most * most * shortest)
                 for (int i = 0; i < n_shape; ++i)
                   marks[nodes[i]] = 1;
               else
                 for (int v = 0; v < n_vertices; ++v)
                   marks[nodes[shapes[v]]] = 1;
             });
    }
    launch(place, n_rows,
           [=, is_kept = result.data(), is_free = is_free.data(),
            is_vertex = is_vertex.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             bool free = false;
             for (int a = 0; a < n_c; ++a)
               free = free || is_free[i * n_c + a];
             is_vertex[i] = is_kept[i] && free;
           });
    Array<std::int64_t> numbers(place, std::size_t(n_rows) + 1);
    launch(place, [&](const Here where) { kernels::exclusive_scan(where, n_rows, is_vertex.data(), numbers.data()); });
    embedding.nodes.reinit(place, numbers.read(n_rows));
    launch(place, all.n_nodes,
           [=, numbers = numbers.data(), is_vertex = is_vertex.data(), vertex_of_node = result.data(),
            nodes = embedding.nodes.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             if (i < n_rows && is_vertex[i])
             {
               vertex_of_node[i] = static_cast<int>(numbers[i]);
               nodes[numbers[i]] = static_cast<int>(i);
             }
             else
               vertex_of_node[i] = vertex_of_node[i] ? constrained_vertex : no_vertex;
           });
    place.synchronize();
    return result;
  }

  template <>
  void embed_linear(Here,
                    const ElementBatches &batches,
                    const Array<int>     &constrained,
                    const Array<int>     &vertex_of_node,
                    const KeptLines      &lines,
                    const int             n_columns,
                    LinearEmbedding      &embedding)
  {
    const Backend    &place = batches.backend();
    const BatchesView all   = batches.view();
    const int         n = all.n_nodes, n_c = batches.n_components(), n_rows = batches.n_rows();

    Array<int>                 first_cell(place, n), line_of_node(place, n);
    const Array<unsigned char> is_free = free_unknowns(batches, constrained);
    launch(place, n,
           [first_cell = first_cell.data(), line_of_node = line_of_node.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             first_cell[i]   = INT_MAX;
             line_of_node[i] = -1;
           });
    for (int b = 0; b < all.n_batches; ++b)
      launch(place, std::int64_t(all.batch[b].n_cells) * all.batch[b].reference.n_shape,
             [batch = all.batch[b], first_cell = first_cell.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               kernels::atomic_min(first_cell + batch.nodes[i],
                                   batch.first_cell + static_cast<int>(i / batch.reference.n_shape));
             });
    const Array<int> line_nodes(place, lines.nodes), offsets(place, lines.offsets), line_masters(place, lines.masters);
    const Array<double> weights(place, lines.weights);
    launch(place, lines.nodes.size(),
           [nodes = line_nodes.data(), line_of_node = line_of_node.data()] PATCHFEM_DEVICE(const std::int64_t k) {
             line_of_node[nodes[k]] = static_cast<int>(k);
           });

    EmbeddingRows              rows{all,
                       {},
                       first_cell.data(),
                       is_free.data(),
                       n_c,
                       line_of_node.data(),
                       offsets.data(),
                       line_masters.data(),
                       vertex_of_node.data()};
    std::vector<Array<int>>    shapes(all.n_batches);
    std::vector<Array<double>> values(all.n_batches);
    for (int b = 0; b < all.n_batches; ++b)
    {
      shapes[b]         = Array<int>(place, batches.reference(b).vertex_shapes);
      values[b]         = Array<double>(place, batches.reference(b).linear_values);
      rows.reference[b] = {static_cast<int>(shapes[b].size()), shapes[b].data(), values[b].data()};
    }
    launch(place,
           [&](const Here where) { embedding.pattern = kernels::unique_rows(where, place, n_rows, n_columns, rows); });
    embedding.values.reinit(place, embedding.pattern.columns.size() * n_c * n_c);
    embedding.values.set_zero();
    launch(place, n_rows,
           [=, P = embedding.pattern.view(), weights = weights.data(),
            values = embedding.values.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const std::int64_t begin   = P.row_offsets[i];
             const int         *columns = P.columns + begin, length = static_cast<int>(P.row_offsets[i + 1] - begin);
             rows.visit_values(static_cast<int>(i), 0, 1, [&](const int vertex, const double value, const int e) {
               const int p = static_cast<int>(kernels::lower_bound(columns, columns + length, vertex) - columns);
               for (int a = 0; a < n_c; ++a)
                 for (int b = 0; b < n_c; ++b)
                   if (rows.is_free[i * n_c + a])
                     values[(begin * n_c + std::int64_t(a) * length + p) * n_c + b] +=
                         value * (e < 0 ? double(a == b) : weights[(std::int64_t(e) * n_c + a) * n_c + b]);
             });
           });
    place.synchronize();
  }
} // namespace PatchFEM
