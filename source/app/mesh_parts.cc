// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/mesh_parts.h"
#include "base/byte_stream.h"
#include "base/metis_graph.h"

#include <patchfem/base/simplex_refinement.h>

#include <deal.II/base/types.h>
#include <deal.II/base/utilities.h>
#include <deal.II/lac/sparsity_pattern.h>
#include <deal.II/lac/sparsity_tools.h>

#include <boost/serialization/map.hpp>
#include <boost/serialization/set.hpp>
#include <boost/serialization/string.hpp>
#include <boost/serialization/vector.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

namespace PatchFEM::internal
{
  namespace
  {
    void put(Writer &writer, const MeshLists &lists)
    {
      writer.put(lists.kind);
      writer.put(lists.vertices);
      for (const auto *list : {&lists.cells, &lists.material_ids, &lists.faces, &lists.face_ids})
        writer.put(*list);
    }

    void get(Reader &reader, MeshLists &lists)
    {
      lists.kind = reader.get<CellKind>();
      reader.get(lists.vertices);
      for (auto *list : {&lists.cells, &lists.material_ids, &lists.faces, &lists.face_ids})
        reader.get(*list);
    }

    /** Cells of a mesh and what they share. */
    class Selection
    {
    public:
      using Cells = std::vector<std::uint32_t>; ///< ascending

      explicit Selection(const MeshLists &mesh)
          : mesh(mesh), n(n_vertices_per_cell(mesh.kind)), first(mesh.vertices.size() + 1, 0),
            cells_of_vertices(mesh.cells.size()), cell_marks(mesh.n_cells(), 0), vertex_marks(mesh.vertices.size(), 0),
            new_numbers(mesh.vertices.size())
      {
        for (const std::uint32_t v : mesh.cells)
          ++first[v + 1];
        std::partial_sum(first.begin(), first.end(), first.begin());
        std::vector<std::size_t> next(first.begin(), first.end() - 1);
        for (std::size_t i = 0; i < mesh.cells.size(); ++i)
          cells_of_vertices[next[mesh.cells[i]]++] = i / n;

        const unsigned int n_face = n_vertices_per_face(mesh.kind);
        for (std::size_t f = 0; f < mesh.n_faces(); ++f)
        {
          const std::uint32_t *vertices = mesh.faces.data() + f * n_face;
          for_cells_of(vertices[0], [&](const std::uint32_t c) {
            if (std::all_of(vertices, vertices + n_face, [&](const std::uint32_t v) {
                  return std::find(mesh.cell(c), mesh.cell(c) + n, v) != mesh.cell(c) + n;
                }))
              faces_of_cells.emplace_back(c, f);
          });
        }
        std::sort(faces_of_cells.begin(), faces_of_cells.end());
      }

      /** @p own cells and all that share a vertex with one of them. */
      Cells with_neighbours(const Cells &own)
      {
        ++pass;
        Cells result = own;
        for (const std::uint32_t c : own)
          cell_marks[c] = pass;
        for (const std::uint32_t c : own)
          for (unsigned int i = 0; i < n; ++i)
            if (mark(vertex_marks[mesh.cell(c)[i]]))
              for_cells_of(mesh.cell(c)[i], [&](const std::uint32_t other) {
                if (mark(cell_marks[other]))
                  result.push_back(other);
              });
        std::sort(result.begin(), result.end());
        return result;
      }

      /** @p cells with their boundary faces and vertices alone. */
      MeshLists lists_of(const Cells &cells)
      {
        ++pass;
        MeshLists result;
        result.kind       = mesh.kind;
        const auto append = [&](std::vector<std::uint32_t> &list, const std::uint32_t *vertices, const unsigned int m) {
          for (unsigned int i = 0; i < m; ++i)
          {
            const std::uint32_t v = vertices[i];
            if (mark(vertex_marks[v]))
            {
              new_numbers[v] = result.vertices.size();
              result.vertices.push_back(mesh.vertices[v]);
            }
            list.push_back(new_numbers[v]);
          }
        };
        const unsigned int n_face = n_vertices_per_face(mesh.kind);
        for (const std::uint32_t c : cells)
        {
          append(result.cells, mesh.cell(c), n);
          result.material_ids.push_back(mesh.material_ids[c]);
          for (auto face = std::lower_bound(faces_of_cells.begin(), faces_of_cells.end(), std::make_pair(c, 0U));
               face != faces_of_cells.end() && face->first == c; ++face)
          {
            append(result.faces, mesh.faces.data() + std::size_t(face->second) * n_face, n_face);
            result.face_ids.push_back(mesh.face_ids[face->second]);
          }
        }
        return result;
      }

      /** The owner of each cell. */
      std::vector<std::uint32_t> partition(const unsigned int n_parts) const
      {
        const std::uint32_t        n_cells = mesh.n_cells();
        std::vector<std::uint32_t> owners(n_cells, 0);
        if (n_cells <= n_parts)
          std::iota(owners.begin(), owners.end(), 0U);
        else if (n_parts > 1)
        {
          MetisGraph graph = neighbours();
          // What deal.II hands to METIS makes other parts, which are those of all meshes that are not stretched.
          if (std::all_of(graph.weights.begin(), graph.weights.end(), [](const idx_t weight) { return weight == 1; }))
          {
            dealii::SparsityPattern pattern(n_cells, n_cells, n_faces_per_cell(mesh.kind) + 1);
            for (std::uint32_t c = 0; c < n_cells; ++c)
              for (idx_t e = graph.offsets[c]; e < graph.offsets[c + 1]; ++e)
                pattern.add(c, static_cast<std::uint32_t>(graph.neighbours[e]));
            pattern.compress();
            dealii::SparsityTools::partition(pattern, n_parts, owners);
            return owners;
          }
          const std::vector<idx_t> parts = graph.partition(static_cast<idx_t>(n_parts), n_parts <= 8);
          std::copy(parts.begin(), parts.end(), owners.begin());
        }
        return owners;
      }

    private:
      const MeshLists                                     &mesh;
      const unsigned int                                   n; ///< vertices of a cell
      std::vector<std::size_t>                             first;
      std::vector<std::uint32_t>                           cells_of_vertices;
      std::vector<std::pair<std::uint32_t, std::uint32_t>> faces_of_cells; ///< cell, face
      std::vector<std::uint32_t>                           cell_marks, vertex_marks, new_numbers;
      std::uint32_t                                        pass = 0;

      /**
       * Cells that share a face. Stretched ones are dear to part along their short edges, where what is solved couples
       * them most and multigrid has to aggregate them: of cells and faces of one size what couples two goes as 1 / d^2 of
       * the distance d of their centres, counted from that to the farthest neighbour of either, and up to a factor of
       * four in that is a matter of shape.
       */
      MetisGraph neighbours() const
      {
        const std::uint32_t                n_cells = mesh.n_cells(), n_face = n_vertices_per_face(mesh.kind);
        std::vector<std::array<double, 3>> centres(n_cells);
        for (std::uint32_t c = 0; c < n_cells; ++c)
          for (unsigned int i = 0; i < n; ++i)
            for (int d = 0; d < 3; ++d)
              centres[c][d] += mesh.vertices[mesh.cell(c)[i]][d] / n;
        const auto square = [&](const std::uint32_t c, const std::uint32_t other) {
          double sum = 0.;
          for (int d = 0; d < 3; ++d)
            sum += (centres[c][d] - centres[other][d]) * (centres[c][d] - centres[other][d]);
          return sum;
        };

        MetisGraph                 graph;
        std::vector<double>        farthest(n_cells, 0.);
        std::vector<std::uint32_t> n_common(n_cells, 0), met;
        for (std::uint32_t c = 0; c < n_cells; ++c)
        {
          met.clear();
          for (unsigned int i = 0; i < n; ++i)
            for_cells_of(mesh.cell(c)[i], [&](const std::uint32_t other) {
              if (n_common[other]++ == 0)
                met.push_back(other);
            });
          for (const std::uint32_t other : met)
          {
            if (n_common[other] == n_face)
            {
              graph.neighbours.push_back(static_cast<idx_t>(other));
              farthest[c] = std::max(farthest[c], square(c, other));
            }
            n_common[other] = 0;
          }
          graph.offsets.push_back(static_cast<idx_t>(graph.neighbours.size()));
        }
        constexpr double dearest = 1000.;
        for (std::uint32_t c = 0; c < n_cells; ++c)
          for (idx_t e = graph.offsets[c]; e < graph.offsets[c + 1]; ++e)
          {
            const auto   other = static_cast<std::uint32_t>(graph.neighbours[e]);
            const double far = std::max(farthest[c], farthest[other]), near = 4. * square(c, other);
            graph.weights.push_back(static_cast<idx_t>(far > dearest * near ? dearest : far > near ? far / near : 1.));
          }
        return graph;
      }

      template <typename Function>
      void for_cells_of(const std::uint32_t vertex, const Function &function) const
      {
        for (std::size_t i = first[vertex]; i < first[vertex + 1]; ++i)
          function(cells_of_vertices[i]);
      }

      /** Whether it is the first time in this pass. */
      bool mark(std::uint32_t &mark) const
      {
        const bool is_new = mark != pass;
        mark              = pass;
        return is_new;
      }
    };

    /** Those of @p rank and their neighbours; of none the first, which is artificial. */
    MeshPart part_of(const MeshPart &whole, Selection &selection, const Selection::Cells &own)
    {
      const Selection::Cells cells = own.empty() ? Selection::Cells{0} : selection.with_neighbours(own);
      MeshPart               result;
      result.lists = selection.lists_of(cells);
      for (const std::uint32_t c : cells)
      {
        result.numbers.push_back(whole.numbers[c]);
        result.owners.push_back(own.empty() ? dealii::numbers::artificial_subdomain_id : whole.owners[c]);
      }
      return result;
    }
  } // namespace

  MeshPart distribute(const MeshLists &mesh, const Communicator &ranks)
  {
    MeshPart                           result;
    std::map<int, Communicator::Bytes> messages;
    ranks.agree_on_errors([&] {
      if (ranks.rank() != 0)
        return;
      Selection selection(mesh);
      MeshPart  whole;
      whole.owners = selection.partition(ranks.size());
      whole.numbers.resize(mesh.n_cells());
      std::iota(whole.numbers.begin(), whole.numbers.end(), std::uint64_t(0));
      std::vector<Selection::Cells> own(ranks.size());
      for (std::size_t c = 0; c < mesh.n_cells(); ++c)
        own[whole.owners[c]].push_back(c);
      result = part_of(whole, selection, own[0]);
      for (int rank = 1; rank < ranks.size(); ++rank)
      {
        const MeshPart part = part_of(whole, selection, own[rank]);
        Writer         writer;
        put(writer, part.lists);
        writer.put(part.numbers);
        writer.put(part.owners);
        messages[rank] = std::move(writer.bytes);
      }
    });
    const std::map<int, Communicator::Bytes> received = ranks.exchange(messages);
    ranks.agree_on_errors([&] {
      for (const auto &[rank, bytes] : received)
      {
        Reader reader(bytes);
        get(reader, result.lists);
        reader.get(result.numbers);
        reader.get(result.owners);
      }
    });
    return result;
  }

  void red_refine(MeshPart &part)
  {
    PatchFEM::red_refine(part.lists);
    MeshPart           refined;
    const unsigned int n_children = 1U << cell_dimension(part.lists.kind);
    for (std::size_t c = 0; c < part.numbers.size(); ++c)
      for (unsigned int child = 0; child < n_children; ++child)
      {
        refined.numbers.push_back(part.numbers[c] * n_children + child);
        refined.owners.push_back(part.owners[c]);
      }
    part.numbers = std::move(refined.numbers);
    part.owners  = std::move(refined.owners);
  }

  void trim(MeshPart &part, const int rank)
  {
    Selection        selection(part.lists);
    Selection::Cells own;
    for (std::size_t c = 0; c < part.owners.size(); ++c)
      if (part.owners[c] == static_cast<std::uint32_t>(rank))
        own.push_back(c);
    part = part_of(part, selection, own);
  }

  void share(MeshLists &lists, const Communicator &ranks)
  {
    Writer writer;
    ranks.agree_on_errors([&] {
      if (ranks.rank() == 0)
      {
        put(writer, lists);
        writer.put(dealii::Utilities::pack(lists.facts, false));
      }
      require(writer.bytes.size() <= std::size_t(std::numeric_limits<int>::max()), "The ", lists.n_cells(),
              " coarse cells, which each rank is to have, are more than MPI counts in a message; use fewer, and Global "
              "refinements.");
    });
    const Communicator::Bytes bytes = ranks.all_gather(writer.bytes)[0];
    ranks.agree_on_errors([&] {
      Reader reader(bytes);
      get(reader, lists);
      std::vector<char> facts;
      reader.get(facts);
      lists.facts = dealii::Utilities::unpack<MeshFacts>(facts, false);
    });
  }
} // namespace PatchFEM::internal
