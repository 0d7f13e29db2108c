// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly/extraction_steps_dealii.h"
#include "base/parallel_resizer.h"

#include <patchfem/base/array.h>
#include <patchfem/base/threads.h>
#include <patchfem/kernels/primitives.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/grid/tria.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace PatchFEM::internal
{
  namespace
  {
    /** Calls @p function(begin, end, share) for equal shares of [0, n), one per thread; it may throw. */
    template <typename Function>
    void for_each_share(const std::size_t n, const int n_shares, const Function &function)
    {
      parallel_for(n_shares, [&](const std::int64_t share) {
        function(n * share / n_shares, n * (share + 1) / n_shares, static_cast<int>(share));
      });
    }

    /** Cells that one thread reads at a time: a range of one level of the triangulation, used or not. */
    struct Chunk
    {
      static constexpr int max_cells = 2048;

      int                    level, begin, end;
      std::vector<int>       first_cell; ///< per active FE index: position of its first cell in the batch
      std::vector<FaceEntry> faces;
    };

    /**
     * The work of extract_element_tables(). Memory traffic per hexahedron and trilinear element with n_c components:
     * reads of deal.II 32 n_c (indices) + 28 bytes, writes of 40 bytes, and once for each node 24 bytes of its
     * position. Where unknowns do not come in blocks, 4 bytes are read and written per node of a cell when provisional
     * node numbers are replaced by the final ones.
     */
    template <int dim>
    class Extraction : ExtractionBase<dim>
    {
    public:
      explicit Extraction(const ExtractionInput<dim> &input) : ExtractionBase<dim>(input) {}

      ElementTables run()
      {
        make_chunks();
        make_batches();
        make_points();
        if (!read_cells(true))
        {
          read_cells(false);
          number_nodes();
        }
        collect_faces();
        read_constraints();
        return std::move(tables);
      }

    private:
      using Base = ExtractionBase<dim>;
      using Base::dof_handler, Base::triangulation, Base::constraints, Base::data, Base::n_components, Base::geometry,
          Base::points_are_nodes, Base::tables;
      using typename Base::Accessor;

      const unsigned int n_dofs    = dof_handler.n_dofs();
      const int          n_threads = omp_get_max_threads();
      std::vector<Chunk> chunks;

      /// For each active FE index: its batch (-1 if no cell has it, or no unknowns are there), and deal.II's local
      /// index of [shape][component].
      std::vector<int>                       batch_of_fe;
      std::vector<std::vector<unsigned int>> local_dofs;

      std::vector<std::size_t> first_point_of_batch;
      std::vector<int>         point_of_vertex; ///< empty: the same

      /// unseen, or first_unknown: the first unknown of a node without a number yet, or the unknown.
      std::unique_ptr<std::atomic<int>[]> unknown_of_dof;
      static constexpr int                unseen = -1, first_unknown = -2;
      std::vector<std::vector<Index>>
          new_nodes; ///< [thread]: of each the unknowns and, if points_are_nodes, the vertex

      /// [node]: whether a cell had it, if unknowns come in blocks.
      std::unique_ptr<std::atomic<bool>[]> seen;

      /** Active cells come level by level, in the order of their indices; positions follow from counts. */
      void make_chunks()
      {
        for (unsigned int level = 0; level < triangulation.n_levels(); ++level)
          if (triangulation.n_active_cells(level) > 0)
          {
            const int n_raw = triangulation.n_raw_cells(level);
            for (int begin = 0; begin < n_raw; begin += Chunk::max_cells)
              chunks.push_back({static_cast<int>(level), begin, std::min(n_raw, begin + Chunk::max_cells), {}, {}});
          }

        const unsigned int n_elements = dof_handler.get_fe_collection().size();
        parallel_for(chunks.size(), [&](const std::int64_t c) {
          chunks[c].first_cell.assign(n_elements, 0);
          for (int index = chunks[c].begin; index < chunks[c].end; ++index)
          {
            const Accessor cell(&triangulation, chunks[c].level, index, &dof_handler);
            if (cell.used() && !cell.has_children())
              ++chunks[c].first_cell[cell.active_fe_index()];
          }
        });
        std::vector<int> n_cells(n_elements, 0);
        for (Chunk &chunk : chunks)
          for (unsigned int i = 0; i < n_elements; ++i)
          {
            const int n         = chunk.first_cell[i];
            chunk.first_cell[i] = n_cells[i];
            n_cells[i] += n;
          }

        batch_of_fe.assign(n_elements, -1);
        for (unsigned int i = 0; i < n_elements; ++i)
          if (n_cells[i] > 0 && dof_handler.get_fe(i).n_dofs_per_cell() > 0)
          {
            batch_of_fe[i] = tables.batches.size();
            tables.batches.emplace_back();
            tables.batches.back().n_cells = n_cells[i];
          }
      }

      /** Reference tables, and room for everything that is counted in cells or nodes. */
      void make_batches()
      {
        local_dofs.resize(batch_of_fe.size());
        for (unsigned int i = 0; i < batch_of_fe.size(); ++i)
          if (batch_of_fe[i] >= 0)
            local_dofs[i] = this->tabulate_element(i, tables.batches[batch_of_fe[i]]);
        ParallelResizer resizer;
        std::size_t     n_points = 0;
        for (CellTable &batch : tables.batches)
        {
          const std::size_t n = batch.n_cells;
          resizer.add(batch.nodes, n * batch.reference.n_shape);
          resizer.add(batch.geometry, points_are_nodes ? 0 : n * batch.reference.n_geometry);
          resizer.add(batch.material_ids, n);
          resizer.add(batch.active_index, n);
          first_point_of_batch.push_back(n_points);
          n_points += n * batch.reference.n_geometry;
        }
        if (geometry.of_cells == nullptr)
          n_points = points_are_nodes ? n_dofs / n_components : triangulation.n_used_vertices();
        require(n_points < static_cast<std::size_t>(std::numeric_limits<int>::max()), "The mesh has ", n_points,
                " geometry nodes, more than 32-bit indices can count: use a mapping of degree 1 or fewer cells.");
        resizer.add(tables.points, n_points * dim);
        resizer.run();
      }

      /** The vertices, if these are the geometry nodes in their own order. */
      void make_points()
      {
        if (geometry.of_cells != nullptr || points_are_nodes)
          return;
        const std::vector<dealii::Point<dim>> &vertices = triangulation.get_vertices();
        if (tables.points.size() != vertices.size() * dim)
        {
          const std::vector<bool> &used = triangulation.get_used_vertices();
          point_of_vertex.assign(vertices.size(), -1);
          int n_points = 0;
          for (std::size_t v = 0; v < vertices.size(); ++v)
            if (used[v])
              point_of_vertex[v] = n_points++;
        }
        parallel_for(vertices.size(), [&](const std::int64_t v) {
          const int point = point_of_vertex.empty() ? static_cast<int>(v) : point_of_vertex[v];
          if (point >= 0)
            write_point(point, vertices[v]);
        });
      }

      void write_point(const std::size_t i, const dealii::Point<dim> &point)
      {
        for (unsigned int d = 0; d < dim; ++d)
          tables.points[i * dim + d] = point[d];
      }

      /**
       * With @p in_blocks nodes are taken to have unknowns that follow each other from a multiple of n_components on,
       * as deal.II numbers an FESystem's on vertices: then numbers are known while cells are read. False if not.
       */
      bool read_cells(const bool in_blocks)
      {
        const auto start = [](auto &values, const std::size_t n, const auto value) {
          // Not initialised, so that the threads that fill it also touch it first.
          values.reset(new typename std::decay_t<decltype(values)>::element_type[n]);
          parallel_for(n, [&](const std::int64_t i) { values[i].store(value, std::memory_order_relaxed); });
        };
        const std::size_t n_nodes = n_dofs / n_components;
        if (in_blocks)
          start(seen, n_nodes, false);
        else
          start(unknown_of_dof, n_dofs, unseen);

        new_nodes.assign(n_threads, {});
        std::atomic<std::size_t> n_seen{0};
        std::atomic<bool>        go_on{n_nodes * n_components == n_dofs || !in_blocks};
        for_each_share(chunks.size(), n_threads, [&](const std::size_t begin, const std::size_t end, const int share) {
          std::vector<std::vector<Index>> dofs(batch_of_fe.size());
          for (unsigned int i = 0; i < dofs.size(); ++i)
            dofs[i].resize(dof_handler.get_fe(i).n_dofs_per_cell());
          if (!in_blocks)
            new_nodes[share].reserve((n_nodes / n_threads + n_nodes / 8) * (n_components + points_are_nodes));
          for (std::size_t c = begin; c < end && go_on; ++c)
            if (!read_chunk(chunks[c], in_blocks, dofs, new_nodes[share]))
              go_on = false;
        });
        if (!in_blocks || !go_on)
          return go_on;
        for_shares(n_nodes, [&](const std::int64_t begin, const std::int64_t end) {
          n_seen += std::count(seen.get() + begin, seen.get() + end, true);
        });
        tables.n_nodes = static_cast<int>(n_nodes);
        return n_seen == n_nodes;
      }

      /**
       * Writes the rows of the cells of @p chunk. Unless unknowns come @p in_blocks, the indices of the nodes' first
       * unknowns go in place of node numbers, and the first thread to meet a node notes all its unknowns. @p dofs is
       * room for the indices of one cell, per element. False if @p in_blocks turns out to be wrong.
       */
      bool
      read_chunk(Chunk &chunk, const bool in_blocks, std::vector<std::vector<Index>> &dofs, std::vector<Index> &noted)
      {
        const bool       with_faces = data.all_boundary_faces || !data.boundary_ids.empty();
        std::vector<int> next       = chunk.first_cell;
        chunk.faces.clear();
        for (int index = chunk.begin; index < chunk.end; ++index)
        {
          const Accessor cell(&triangulation, chunk.level, index, &dof_handler);
          if (!cell.used() || cell.has_children())
            continue;
          const unsigned int fe_index = cell.active_fe_index();
          const int          b        = batch_of_fe[fe_index];
          if (b < 0)
            continue;
          const int  position = next[fe_index]++;
          CellTable &batch    = tables.batches[b];
          const int  n_shape  = batch.reference.n_shape;

          cell.get_dof_indices(dofs[fe_index]);
          const Index        *cell_dofs = dofs[fe_index].data();
          const unsigned int *local     = local_dofs[fe_index].data();
          int                *nodes     = &batch.nodes[std::size_t(position) * n_shape];
          for (int shape = 0; shape < n_shape; ++shape, local += n_components)
          {
            const Index first = cell_dofs[local[0]];
            if (in_blocks)
            {
              const Index node = first / n_components;
              bool        fits = node * n_components == first;
              for (int component = 1; component < n_components; ++component)
                fits = fits && cell_dofs[local[component]] == first + component;
              if (!fits)
                return false;
              nodes[shape] = static_cast<int>(node);
              if (!seen[node].load(std::memory_order_relaxed) &&
                  !seen[node].exchange(true, std::memory_order_relaxed) && points_are_nodes)
                noted.insert(noted.end(), {node, cell.vertex_index(shape)});
              continue;
            }
            std::atomic<int> &mark     = unknown_of_dof[first];
            int               expected = unseen;
            nodes[shape]               = static_cast<int>(first);
            if (mark.load(std::memory_order_relaxed) == unseen &&
                mark.compare_exchange_strong(expected, first_unknown, std::memory_order_relaxed))
            {
              for (int component = 0; component < n_components; ++component)
                noted.push_back(cell_dofs[local[component]]);
              if (points_are_nodes)
                noted.push_back(cell.vertex_index(shape));
            }
          }
          batch.material_ids[position] = static_cast<int>(cell.material_id());
          batch.active_index[position] = static_cast<int>(cell.active_cell_index());
          if (!points_are_nodes)
            read_geometry(cell, b, position);
          if (with_faces)
            this->read_faces(cell, b, position, chunk.faces);
        }
        if (in_blocks) // vertices lie here and there: in a loop of their own many are fetched at a time
        {
          for (std::size_t i = 0; i < noted.size(); i += 2)
            write_point(noted[i], triangulation.get_vertices()[noted[i + 1]]);
          noted.clear();
        }
        return true;
      }

      void read_geometry(const Accessor &cell, const int b, const int position)
      {
        CellTable        &batch = tables.batches[b];
        const int         n     = batch.reference.n_geometry;
        const std::size_t begin = std::size_t(position) * n;
        if (geometry.of_cells == nullptr)
        {
          for (int g = 0; g < n; ++g)
          {
            const int vertex          = static_cast<int>(cell.vertex_index(g));
            batch.geometry[begin + g] = point_of_vertex.empty() ? vertex : point_of_vertex[vertex];
          }
          return;
        }

        using CellIterator = typename dealii::Triangulation<dim>::cell_iterator;
        const std::vector<dealii::Point<dim>> points =
            SupportPoints<dim>::compute(*geometry.of_cells, CellIterator(&triangulation, cell.level(), cell.index()));
        for (int g = 0; g < n; ++g)
        {
          const std::size_t point   = first_point_of_batch[b] + begin + g;
          batch.geometry[begin + g] = static_cast<int>(point);
          write_point(point, points[g]);
        }
      }

      /** Joins the faces of all chunks; each id asked for must be there. */
      void collect_faces()
      {
        std::set<dealii::types::boundary_id> missing = data.boundary_ids;
        for (const Chunk &chunk : chunks)
          for (const FaceEntry &face : chunk.faces)
          {
            tables.faces.push_back(face);
            if (!missing.empty())
              missing.erase(face.boundary_id);
          }
        check_boundary_ids(missing, triangulation.get_boundary_ids());
      }

      /** Numbers nodes by their first unknowns and completes unknown_of_dof, dof_indices and the nodes of cells. */
      void number_nodes()
      {
        const auto is_first = [&](const std::size_t dof) {
          return unknown_of_dof[dof].load(std::memory_order_relaxed) == first_unknown;
        };
        std::vector<std::size_t> first_node(n_threads + 1, 0);
        for_each_share(n_dofs, n_threads, [&](const std::size_t begin, const std::size_t end, const int share) {
          std::size_t n = 0;
          for (std::size_t dof = begin; dof < end; ++dof)
            n += is_first(dof);
          first_node[share + 1] = n;
        });
        for (int share = 0; share < n_threads; ++share)
          first_node[share + 1] += first_node[share];
        const std::size_t n_nodes = first_node[n_threads];
        require(n_nodes * n_components == n_dofs, inconsistent_nodes(n_nodes));
        tables.n_nodes = static_cast<int>(n_nodes);
        ParallelResizer resizer;
        resizer.add(tables.dof_indices, n_dofs);
        resizer.run();
        for_each_share(n_dofs, n_threads, [&](const std::size_t begin, const std::size_t end, const int share) {
          int unknown = static_cast<int>(first_node[share] * n_components);
          for (std::size_t dof = begin; dof < end; ++dof)
            if (is_first(dof))
            {
              unknown_of_dof[dof].store(unknown, std::memory_order_relaxed);
              unknown += n_components;
            }
        });

        std::atomic<bool> claimed_twice{false};
        parallel_for(n_threads, [&](const std::int64_t thread) { claim_unknowns(new_nodes[thread], claimed_twice); });
        require(!claimed_twice, inconsistent_nodes(n_nodes));

        const int divisor = n_components;
        for (CellTable &batch : tables.batches)
          parallel_for(batch.nodes.size(), [&](const std::int64_t i) {
            batch.nodes[i] = unknown_of_dof[batch.nodes[i]].load(std::memory_order_relaxed) / divisor;
          });
      }

      /** Gives the unknowns of each of the nodes @p noted their numbers; each must be claimed once. */
      void claim_unknowns(const std::vector<Index> &noted, std::atomic<bool> &claimed_twice)
      {
        for (std::size_t i = 0; i < noted.size(); i += n_components + points_are_nodes)
        {
          const int unknown           = unknown_of_dof[noted[i]].load(std::memory_order_relaxed);
          tables.dof_indices[unknown] = noted[i];
          for (int c = 1; c < n_components; ++c)
          {
            tables.dof_indices[unknown + c] = noted[i + c];
            if (unknown_of_dof[noted[i + c]].exchange(unknown + c, std::memory_order_relaxed) != unseen)
              claimed_twice = true;
          }
          if (points_are_nodes)
            write_point(unknown / n_components, triangulation.get_vertices()[noted[i + n_components]]);
        }
      }

      using Line = dealii::AffineConstraints<double>::ConstraintLine;

      /** Constraints in the numbering of the tables; deal.II has lines in the order of its indices. */
      void read_constraints()
      {
        const auto         lines   = constraints.get_lines();
        const std::int64_t n_lines = static_cast<std::int64_t>(lines.size());
        const auto         unknown = [this](const Index dof) {
          return unknown_of_dof ? unknown_of_dof[dof].load(std::memory_order_relaxed) : static_cast<int>(dof);
        };
        ConstraintTable &table = tables.constraints;
        ParallelResizer  resizer;
        resizer.add(table.constrained, n_lines);
        resizer.add(table.offsets, n_lines + 1);
        resizer.add(table.inhomogeneity, n_lines);
        resizer.run();

        const Backend        host;
        Array<std::uint64_t> unknowns(host, n_lines);
        Array<int>           order(host, n_lines), n_entries(host, n_lines);
        parallel_for(n_lines, [&](const std::int64_t i) {
          check_line(lines[i], constraints, n_dofs);
          unknowns.data()[i] = static_cast<std::uint64_t>(unknown(lines[i].index));
          order.data()[i]    = static_cast<int>(i);
        });
        if (!std::is_sorted(unknowns.data(), unknowns.data() + n_lines))
          kernels::stable_sort_by_key(Host(), n_lines, unknowns.data(), order.data(), 31);
        parallel_for(n_lines, [&](const std::int64_t l) {
          n_entries.data()[l] = static_cast<int>(lines[order.data()[l]].entries.size());
        });
        kernels::exclusive_scan(Host(), n_lines, n_entries.data(), table.offsets.data());
        resizer.add(table.masters, table.offsets[n_lines]);
        resizer.add(table.weights, table.offsets[n_lines]);
        resizer.run();
        parallel_for(n_lines, [&](const std::int64_t l) {
          const Line &line       = lines[order.data()[l]];
          table.constrained[l]   = static_cast<int>(unknowns.data()[l]);
          table.inhomogeneity[l] = line.inhomogeneity;
          std::int64_t entry     = table.offsets[l];
          for (const auto &[master, weight] : line.entries)
          {
            table.masters[entry]   = unknown(master);
            table.weights[entry++] = weight;
          }
        });
      }

      std::string inconsistent_nodes(const std::size_t n_nodes) const
      {
        return "The " + std::to_string(n_dofs) + " degrees of freedom of the DoFHandler do not form " +
               std::to_string(n_nodes) + " nodes of " + std::to_string(n_components) +
               " unknowns: use one numbering without gaps for all components.";
      }
    };
  } // namespace
} // namespace PatchFEM::internal

namespace PatchFEM
{
  template <int dim>
  ElementTables extract_element_tables(const dealii::Mapping<dim>              &mapping,
                                       const dealii::DoFHandler<dim>           &dof_handler,
                                       const dealii::AffineConstraints<double> &constraints,
                                       const ExtractionData<dim>               &data)
  {
    static_assert(dim == 2 || dim == 3, "Meshes have two or three dimensions.");
    const internal::ExtractionInput<dim> input{mapping, dof_handler, constraints, data};
    if (internal::n_processes(dof_handler.get_triangulation()) > 1)
      return internal::extract_on_ranks(MPICommunicator::of(dof_handler.get_communicator()), input);
    input.check();
    return internal::Extraction<dim>(input).run();
  }

  template ElementTables extract_element_tables<2>(const dealii::Mapping<2> &,
                                                   const dealii::DoFHandler<2> &,
                                                   const dealii::AffineConstraints<double> &,
                                                   const ExtractionData<2> &);
  template ElementTables extract_element_tables<3>(const dealii::Mapping<3> &,
                                                   const dealii::DoFHandler<3> &,
                                                   const dealii::AffineConstraints<double> &,
                                                   const ExtractionData<3> &);
} // namespace PatchFEM
