// SPDX-License-Identifier: LGPL-2.1-or-later
#include "extraction_internal_dealii.h"

#include <patchfem/base/exceptions.h>

#include <deal.II/dofs/dof_accessor.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/grid/tria.h>

#include <algorithm>
#include <limits>
#include <string>

namespace PatchFEM
{
  namespace internal
  {
    namespace
    {
      using Index = dealii::types::global_dof_index;

      /** Cells that one thread reads at a time: a range of one level of the triangulation, used or not. */
      struct Chunk
      {
        static constexpr int max_cells = 2048;

        int                    level, begin, end;
        std::vector<int>       first_cell; ///< per active FE index: position of its first cell in the batch
        std::vector<FaceEntry> faces;
      };

      /** Opens the protected member that gives a cell's geometry nodes, hierarchically numbered as in FE_Q. */
      template <int dim>
      struct SupportPoints : public dealii::MappingQ<dim>
      {
        static std::vector<dealii::Point<dim>> compute(const dealii::MappingQ<dim> &mapping,
                                                       const typename dealii::Triangulation<dim>::cell_iterator &cell)
        {
          return (mapping.*(&SupportPoints::compute_mapping_support_points))(cell);
        }
      };

      /**
       * The work of extract_element_tables(). Memory traffic per hexahedron and trilinear element with n_c components:
       * reads of deal.II 32 n_c (indices) + 32 (vertices) + 40 bytes, writes of 72 bytes, and 4 bytes read and written
       * per node of a cell when provisional node numbers are replaced by the final ones.
       */
      template <int dim>
      class Extraction
      {
      public:
        Extraction(const dealii::Mapping<dim>              &mapping,
                   const dealii::DoFHandler<dim>           &dof_handler,
                   const dealii::AffineConstraints<double> &constraints,
                   const ExtractionData<dim>               &data)
            : mapping(mapping), dof_handler(dof_handler), triangulation(dof_handler.get_triangulation()),
              constraints(constraints), data(data), n_components(dof_handler.get_fe_collection().n_components()),
              n_dofs(dof_handler.n_dofs()), n_threads(omp_get_max_threads())
        {}

        ElementTables run()
        {
          make_chunks();
          make_batches();
          make_points();
          read_cells();
          collect_faces();
          number_nodes();
          tables.constraints = make_constraint_table(constraints, unknown_of_dof.get(), n_dofs);
          return std::move(tables);
        }

      private:
        using Accessor = dealii::DoFCellAccessor<dim, dim, false>;

        const dealii::Mapping<dim>              &mapping;
        const dealii::DoFHandler<dim>           &dof_handler;
        const dealii::Triangulation<dim>        &triangulation;
        const dealii::AffineConstraints<double> &constraints;
        const ExtractionData<dim>               &data;
        const unsigned int                       n_components;
        const unsigned int                       n_dofs;
        const int                                n_threads;

        ElementTables      tables;
        std::vector<Chunk> chunks;

        /// For each active FE index: its batch (-1 if no cell has it, or no unknowns are there), and deal.II's local index of [shape][component].
        std::vector<int>                       batch_of_fe;
        std::vector<std::vector<unsigned int>> local_dofs;

        /// Non-null if geometry nodes belong to cells, curved or moved; null if they are the vertices of the mesh.
        const dealii::MappingQ<dim> *mapping_of_cells = nullptr;
        std::vector<std::size_t>     first_point_of_batch;
        std::vector<int>             point_of_vertex; ///< empty: the same

        /// unseen, or first_unknown: the first unknown of a node without a number yet, or the unknown.
        std::unique_ptr<std::atomic<int>[]> unknown_of_dof;
        static constexpr int                unseen = -1, first_unknown = -2;
        std::vector<std::vector<Index>>     unknowns_of_new_nodes; ///< [thread]: n_components per node

        void make_chunks();
        void make_batches();
        void make_points();
        void read_cells();
        void read_chunk(Chunk &chunk, std::vector<std::vector<Index>> &dofs, std::vector<Index> &new_nodes);
        void read_geometry(const Accessor &cell, const int b, const int position);
        void read_faces(const Accessor &cell, const int batch, const int position, std::vector<FaceEntry> &faces) const;
        void collect_faces();
        void number_nodes();
        void claim_unknowns(const std::vector<Index> &dofs, std::atomic<bool> &claimed_twice);

        std::string inconsistent_nodes(const std::size_t n_nodes) const;
      };

      /** Active cells come level by level, in the order of their indices; positions follow from counts. */
      template <int dim>
      void Extraction<dim>::make_chunks()
      {
        for (unsigned int level = 0; level < triangulation.n_levels(); ++level)
          if (triangulation.n_active_cells(level) > 0)
          {
            const int n_raw = triangulation.n_raw_cells(level);
            for (int begin = 0; begin < n_raw; begin += Chunk::max_cells)
              chunks.push_back({static_cast<int>(level), begin, std::min(n_raw, begin + Chunk::max_cells), {}, {}});
          }

        const unsigned int n_elements = dof_handler.get_fe_collection().size();
        for_each_share(chunks.size(), n_threads, [&](const std::size_t begin, const std::size_t end, const int) {
          for (std::size_t c = begin; c < end; ++c)
          {
            chunks[c].first_cell.assign(n_elements, 0);
            for (int index = chunks[c].begin; index < chunks[c].end; ++index)
            {
              const Accessor cell(&triangulation, chunks[c].level, index, &dof_handler);
              if (cell.used() && !cell.has_children())
                ++chunks[c].first_cell[cell.active_fe_index()];
            }
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
      template <int dim>
      void Extraction<dim>::make_batches()
      {
        tables.dim          = dim;
        tables.n_components = n_components;

        unsigned int mapping_degree = 1;
        if (const auto *mapping_q = dynamic_cast<const dealii::MappingQ<dim> *>(&mapping))
        {
          mapping_degree = mapping_q->get_degree();
          if (mapping_degree > 1 || !mapping.preserves_vertex_locations())
            mapping_of_cells = mapping_q;
        }

        local_dofs.resize(batch_of_fe.size());
        ParallelResizer resizer;
        std::size_t     n_points = 0;
        for (unsigned int i = 0; i < batch_of_fe.size(); ++i)
          if (batch_of_fe[i] >= 0)
          {
            const dealii::FiniteElement<dim> &fe    = dof_handler.get_fe(i);
            CellTable                        &batch = tables.batches[batch_of_fe[i]];

            batch.reference     = make_reference_element<dim>(fe, mapping_degree, cell_quadrature(fe, i, data),
                                                          face_quadrature(fe, i, data));
            const std::size_t n = batch.n_cells;
            resizer.add(batch.nodes, n * batch.reference.n_shape);
            resizer.add(batch.geometry, n * batch.reference.n_geometry);
            resizer.add(batch.material_ids, n);
            resizer.add(batch.active_index, n);
            for (int shape = 0; shape < batch.reference.n_shape; ++shape)
              for (unsigned int component = 0; component < n_components; ++component)
                local_dofs[i].push_back(fe.component_to_system_index(component, shape));
            first_point_of_batch.push_back(n_points);
            n_points += n * batch.reference.n_geometry;
          }
        if (mapping_of_cells == nullptr)
          n_points = triangulation.n_used_vertices();
        require(n_points < static_cast<std::size_t>(std::numeric_limits<int>::max()),
                "The mesh has " + std::to_string(n_points) +
                    " geometry nodes, more than 32-bit indices can count: use a mapping of degree 1 or fewer cells.");
        resizer.add(tables.points, n_points * dim);
        resizer.add(tables.dof_indices, n_dofs);
        resizer.run();
      }

      /** The vertices, if these are the geometry nodes. */
      template <int dim>
      void Extraction<dim>::make_points()
      {
        if (mapping_of_cells != nullptr)
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
        for_each_share(vertices.size(), n_threads, [&](const std::size_t begin, const std::size_t end, const int) {
          for (std::size_t v = begin; v < end; ++v)
          {
            const int point = point_of_vertex.empty() ? static_cast<int>(v) : point_of_vertex[v];
            if (point >= 0)
              for (unsigned int d = 0; d < dim; ++d)
                tables.points[std::size_t(point) * dim + d] = vertices[v][d];
          }
        });
      }

      template <int dim>
      void Extraction<dim>::read_cells()
      {
        unknown_of_dof = uninitialized_buffer<std::atomic<int>>(n_dofs);
        for_each_share(n_dofs, n_threads, [&](const std::size_t begin, const std::size_t end, const int) {
          for (std::size_t dof = begin; dof < end; ++dof)
            unknown_of_dof[dof].store(unseen, std::memory_order_relaxed);
        });

        unknowns_of_new_nodes.resize(n_threads);
        ExceptionKeeper keeper;
        for_each_share(chunks.size(), n_threads, [&](const std::size_t begin, const std::size_t end, const int share) {
          keeper.run([&]() {
            std::vector<std::vector<Index>> dofs(batch_of_fe.size());
            for (unsigned int i = 0; i < dofs.size(); ++i)
              dofs[i].resize(dof_handler.get_fe(i).n_dofs_per_cell());
            unknowns_of_new_nodes[share].reserve(n_dofs / n_threads + n_dofs / 8);
            for (std::size_t c = begin; c < end; ++c)
              read_chunk(chunks[c], dofs, unknowns_of_new_nodes[share]);
          });
        });
        keeper.rethrow();
      }

      /**
       * Writes the rows of the cells of @p chunk. In place of node numbers go the indices of the nodes' first unknowns;
       * the first thread to meet a node notes all its unknowns. @p dofs is room for the indices of one cell, per
       * element.
       */
      template <int dim>
      void
      Extraction<dim>::read_chunk(Chunk &chunk, std::vector<std::vector<Index>> &dofs, std::vector<Index> &new_nodes)
      {
        const bool with_faces = data.all_boundary_faces || !data.boundary_ids.empty();
        for (int index = chunk.begin; index < chunk.end; ++index)
        {
          const Accessor cell(&triangulation, chunk.level, index, &dof_handler);
          if (!cell.used() || cell.has_children())
            continue;
          const unsigned int fe_index = cell.active_fe_index();
          const int          b        = batch_of_fe[fe_index];
          if (b < 0)
            continue;
          const int  position = chunk.first_cell[fe_index]++;
          CellTable &batch    = tables.batches[b];
          const int  n_shape  = batch.reference.n_shape;

          cell.get_dof_indices(dofs[fe_index]);
          const Index        *cell_dofs = dofs[fe_index].data();
          const unsigned int *local     = local_dofs[fe_index].data();
          int                *nodes     = &batch.nodes[std::size_t(position) * n_shape];
          for (int shape = 0; shape < n_shape; ++shape, local += n_components)
          {
            const Index       first    = cell_dofs[local[0]];
            std::atomic<int> &mark     = unknown_of_dof[first];
            int               expected = unseen;
            nodes[shape]               = static_cast<int>(first);
            if (mark.load(std::memory_order_relaxed) == unseen &&
                mark.compare_exchange_strong(expected, first_unknown, std::memory_order_relaxed))
              for (unsigned int component = 0; component < n_components; ++component)
                new_nodes.push_back(cell_dofs[local[component]]);
          }
          batch.material_ids[position] = static_cast<int>(cell.material_id());
          batch.active_index[position] = static_cast<int>(cell.active_cell_index());
          read_geometry(cell, b, position);
          if (with_faces)
            read_faces(cell, b, position, chunk.faces);
        }
      }

      template <int dim>
      void Extraction<dim>::read_geometry(const Accessor &cell, const int b, const int position)
      {
        CellTable        &batch = tables.batches[b];
        const int         n     = batch.reference.n_geometry;
        const std::size_t begin = std::size_t(position) * n;
        if (mapping_of_cells == nullptr)
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
            SupportPoints<dim>::compute(*mapping_of_cells, CellIterator(&triangulation, cell.level(), cell.index()));
        for (int g = 0; g < n; ++g)
        {
          const std::size_t point   = first_point_of_batch[b] + begin + g;
          batch.geometry[begin + g] = static_cast<int>(point);
          for (unsigned int d = 0; d < dim; ++d)
            tables.points[point * dim + d] = points[g][d];
        }
      }

      template <int dim>
      void Extraction<dim>::read_faces(const Accessor         &cell,
                                       const int               batch,
                                       const int               position,
                                       std::vector<FaceEntry> &faces) const
      {
        for (int face = 0; face < tables.batches[batch].reference.n_faces; ++face)
          if (cell.at_boundary(face))
          {
            const dealii::types::boundary_id id = cell.face(face)->boundary_id();
            if (data.all_boundary_faces || data.boundary_ids.count(id) > 0)
              faces.push_back({batch, position, face, static_cast<int>(id)});
          }
      }

      /** Joins the faces of all chunks; each id asked for must be there. */
      template <int dim>
      void Extraction<dim>::collect_faces()
      {
        std::set<dealii::types::boundary_id> missing = data.boundary_ids;
        for (const Chunk &chunk : chunks)
          for (const FaceEntry &face : chunk.faces)
          {
            tables.faces.push_back(face);
            if (!missing.empty())
              missing.erase(face.boundary_id);
          }
        if (missing.empty())
          return;
        std::string present;
        for (const dealii::types::boundary_id id : triangulation.get_boundary_ids())
          present += (present.empty() ? "" : ", ") + std::to_string(id);
        throw Error("No boundary face of a cell with unknowns has the boundary id " + std::to_string(*missing.begin()) +
                    ": the mesh has the ids " + present + ".");
      }

      /** Numbers nodes by their first unknowns and completes unknown_of_dof, dof_indices and the nodes of cells. */
      template <int dim>
      void Extraction<dim>::number_nodes()
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
        for_each_share(n_threads, n_threads, [&](const std::size_t begin, const std::size_t end, const int) {
          for (std::size_t thread = begin; thread < end; ++thread)
            claim_unknowns(unknowns_of_new_nodes[thread], claimed_twice);
        });
        require(!claimed_twice, inconsistent_nodes(n_nodes));

        const int divisor = n_components;
        for (CellTable &batch : tables.batches)
          for_each_share(batch.nodes.size(), n_threads, [&](const std::size_t begin, const std::size_t end, const int) {
            for (std::size_t i = begin; i < end; ++i)
              batch.nodes[i] = unknown_of_dof[batch.nodes[i]].load(std::memory_order_relaxed) / divisor;
          });
      }

      /** Gives the unknowns of each node, listed in @p dofs, their numbers; each must be claimed once. */
      template <int dim>
      void Extraction<dim>::claim_unknowns(const std::vector<Index> &dofs, std::atomic<bool> &claimed_twice)
      {
        for (std::size_t i = 0; i < dofs.size(); i += n_components)
        {
          const int unknown           = unknown_of_dof[dofs[i]].load(std::memory_order_relaxed);
          tables.dof_indices[unknown] = dofs[i];
          for (unsigned int c = 1; c < n_components; ++c)
          {
            tables.dof_indices[unknown + c] = dofs[i + c];
            if (unknown_of_dof[dofs[i + c]].exchange(unknown + c, std::memory_order_relaxed) != unseen)
              claimed_twice = true;
          }
        }
      }

      template <int dim>
      std::string Extraction<dim>::inconsistent_nodes(const std::size_t n_nodes) const
      {
        return "The " + std::to_string(n_dofs) + " degrees of freedom of the DoFHandler do not form " +
               std::to_string(n_nodes) + " nodes of " + std::to_string(n_components) +
               " unknowns: use one numbering without gaps for all components.";
      }
    } // namespace
  }   // namespace internal

  template <int dim>
  ElementTables extract_element_tables(const dealii::Mapping<dim>              &mapping,
                                       const dealii::DoFHandler<dim>           &dof_handler,
                                       const dealii::AffineConstraints<double> &constraints,
                                       const ExtractionData<dim>               &data)
  {
    static_assert(dim == 2 || dim == 3, "Meshes have two or three dimensions.");
    internal::check_extraction(mapping, dof_handler, constraints, data);
    return internal::Extraction<dim>(mapping, dof_handler, constraints, data).run();
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
