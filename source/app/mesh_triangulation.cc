// SPDX-License-Identifier: LGPL-2.1-or-later
#include "app/mesh_triangulation.h"

#include <patchfem/app/mesh.h>

#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria_description.h>

#include <algorithm>

namespace PatchFEM::internal
{
  using namespace dealii;

  namespace
  {
    template <int dim>
    std::vector<Point<dim>> points_of(const MeshLists &lists)
    {
      std::vector<Point<dim>> points(lists.vertices.size());
      for (std::size_t v = 0; v < points.size(); ++v)
        for (unsigned int d = 0; d < dim; ++d)
          points[v][d] = lists.vertices[v][d];
      return points;
    }

    template <int dim>
    std::vector<dealii::CellData<dim>> cells_of(const MeshLists &lists)
    {
      const unsigned int                 n_vertices = n_vertices_per_cell(lists.kind);
      std::vector<dealii::CellData<dim>> cells(lists.n_cells(), dealii::CellData<dim>(n_vertices));
      for (std::size_t c = 0; c < cells.size(); ++c)
      {
        std::copy_n(lists.cell(c), n_vertices, cells[c].vertices.begin());
        cells[c].material_id = lists.material_ids[c];
      }
      return cells;
    }
  } // namespace

  template <int dim>
  MeshLists to_lists(const Triangulation<dim> &triangulation)
  {
    MeshLists lists;
    if (triangulation.all_reference_cells_are_hyper_cube())
      lists.kind = dim == 2 ? CellKind::quadrilateral : CellKind::hexahedron;
    else
      lists.kind = dim == 2 ? CellKind::triangle : CellKind::tetrahedron;
    for (const Point<dim> &vertex : triangulation.get_vertices())
      lists.vertices.push_back({{vertex[0], vertex[1], dim == 3 ? vertex[dim - 1] : 0.}});
    for (const auto &cell : triangulation.active_cell_iterators())
    {
      for (const unsigned int v : cell->vertex_indices())
        lists.cells.push_back(cell->vertex_index(v));
      lists.material_ids.push_back(cell->material_id());
      for (const unsigned int f : cell->face_indices())
        if (cell->at_boundary(f))
        {
          for (const unsigned int v : cell->face(f)->vertex_indices())
            lists.faces.push_back(cell->face(f)->vertex_index(v));
          lists.face_ids.push_back(cell->face(f)->boundary_id());
        }
    }
    return lists;
  }

  template <int dim>
  void create(Triangulation<dim> &triangulation, const MeshLists &lists)
  {
    const std::vector<Point<dim>>      vertices = points_of<dim>(lists);
    std::vector<dealii::CellData<dim>> cells    = cells_of<dim>(lists);
    // In three dimensions create_triangulation() wants neighbours to agree on the directions of edges if they can.
    if (!is_simplex(lists.kind))
      GridTools::consistently_order_cells(cells);

    const unsigned int n_face_vertices = n_vertices_per_face(lists.kind);
    SubCellData        faces;
    for (std::size_t f = 0; f < lists.n_faces(); ++f)
      if (lists.face_ids[f] != 0)
      {
        const auto add = [&](auto &list) {
          list.emplace_back(n_face_vertices);
          std::copy_n(lists.faces.data() + f * n_face_vertices, n_face_vertices, list.back().vertices.begin());
          list.back().boundary_id = lists.face_ids[f];
        };
        if (dim == 2)
          add(faces.boundary_lines);
        else
          add(faces.boundary_quads);
      }
    triangulation.create_triangulation(vertices, cells, faces);
  }

  template <int dim>
  void set_boundary_ids(Triangulation<dim> &triangulation, const MeshLists &lists)
  {
    using Key              = std::array<unsigned int, 4>;
    const unsigned int n   = n_vertices_per_face(lists.kind);
    const auto         key = [n](const auto &vertex) {
      Key result{};
      for (unsigned int i = 0; i < n; ++i)
        result[i] = vertex(i);
      std::sort(result.begin(), result.begin() + n);
      return result;
    };
    std::vector<std::pair<Key, types::boundary_id>> ids;
    for (std::size_t f = 0; f < lists.n_faces(); ++f)
      ids.emplace_back(key([&](const unsigned int i) { return lists.faces[f * n + i]; }), lists.face_ids[f]);
    std::sort(ids.begin(), ids.end());
    for (const auto &cell : triangulation.cell_iterators_on_level(0))
      for (const auto &face : cell->face_iterators())
        if (face->at_boundary())
        {
          const Key  vertices = key([&](const unsigned int i) { return face->vertex_index(i); });
          const auto found    = std::lower_bound(ids.begin(), ids.end(), std::make_pair(vertices, 0U));
          face->set_boundary_id(found != ids.end() && found->first == vertices ? found->second : cut_face_id);
        }
  }

  template <int dim>
  void create_in_order(Triangulation<dim> &triangulation, const MeshLists &lists, const Communicator &ranks)
  {
    std::vector<Point<dim>>            points;
    std::vector<dealii::CellData<dim>> cells;
    ranks.agree_on_errors([&] {
      points = points_of<dim>(lists);
      cells  = cells_of<dim>(lists);
    });
    triangulation.create_triangulation(points, cells, SubCellData()); // of p4est's, ranks wait for each other in it
    ranks.agree_on_errors([&] { set_boundary_ids(triangulation, lists); });
  }

  template <int dim>
  void refine_by_dealii(MeshLists &lists, const unsigned int n_refinements)
  {
    Triangulation<dim> triangulation;
    triangulation.create_triangulation(points_of<dim>(lists), cells_of<dim>(lists), SubCellData());
    set_boundary_ids(triangulation, lists);
    triangulation.refine_global(n_refinements);
    lists = to_lists(triangulation);
  }

  template <int dim>
  void RefinableParts<dim>::refine(const unsigned int n_refinements)
  {
    for (unsigned int level = 0; level < n_refinements; ++level)
    {
      for (const auto &cell : this->active_cell_iterators())
        if (!cell->is_artificial())
          cell->set_refine_flag();
      Triangulation<dim>::execute_coarsening_and_refinement();

      // Children have their parents' owners. Those of ghosts that share no vertex with an own cell are not needed.
      std::vector<bool> is_own(this->n_vertices(), false);
      for (const auto &cell : this->active_cell_iterators())
        if (cell->is_locally_owned())
          for (const unsigned int v : cell->vertex_indices())
            is_own[cell->vertex_index(v)] = true;
      for (const auto &cell : this->active_cell_iterators())
        if (cell->is_ghost())
        {
          const auto vertices = cell->vertex_indices();
          if (std::none_of(vertices.begin(), vertices.end(),
                           [&](const unsigned int v) { return is_own[cell->vertex_index(v)]; }))
            cell->set_subdomain_id(numbers::artificial_subdomain_id);
        }
    }
    this->local_cell_relations.clear();
    for (const auto &cell : this->active_cell_iterators())
      if (cell->is_locally_owned())
        this->local_cell_relations.push_back({cell, {}}); // which persists
  }

  template <int dim>
  void RefinableParts<dim>::update_number_cache()
  {
    parallel::TriangulationBase<dim>::update_number_cache();
    types::coarse_cell_id n_coarse_cells = 0;
    for (const auto &cell : this->cell_iterators_on_level(0))
      if (cell->has_children() || !cell->is_artificial())
        n_coarse_cells = std::max(n_coarse_cells, cell->id().get_coarse_cell_id() + 1);
    this->number_cache.number_of_global_coarse_cells = Utilities::MPI::max(n_coarse_cells, this->mpi_communicator);
  }

  template <int dim>
  TriangulationDescription::Description<dim, dim>
  describe(MeshPart &part, const parallel::fullydistributed::Triangulation<dim> &triangulation)
  {
    TriangulationDescription::Description<dim, dim> description;
    description.comm                 = triangulation.get_communicator();
    description.settings             = TriangulationDescription::Settings::default_setting;
    description.smoothing            = triangulation.get_mesh_smoothing();
    description.coarse_cell_vertices = points_of<dim>(part.lists);
    description.coarse_cells         = cells_of<dim>(part.lists);
    description.coarse_cell_index_to_coarse_cell_id.assign(part.numbers.begin(), part.numbers.end());
    TriangulationDescription::CellData<dim> cell;
    cell.level_subdomain_id = numbers::invalid_subdomain_id;
    cell.manifold_id        = numbers::flat_manifold_id;
    cell.manifold_line_ids.fill(numbers::flat_manifold_id);
    cell.manifold_quad_ids.fill(numbers::flat_manifold_id);
    description.cell_infos.resize(1);
    for (std::size_t c = 0; c < part.numbers.size(); ++c)
    {
      cell.id           = CellId(part.numbers[c], 0, nullptr).template to_binary<dim>();
      cell.subdomain_id = part.owners[c];
      description.cell_infos[0].push_back(cell);
    }
    for (auto *list : {&part.lists.cells, &part.lists.material_ids, &part.owners})
      std::vector<std::uint32_t>().swap(*list);
    return description;
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                    \
  template MeshLists to_lists(const Triangulation<dim> &);                                           \
  template void      create(Triangulation<dim> &, const MeshLists &);                                \
  template void      create_in_order(Triangulation<dim> &, const MeshLists &, const Communicator &); \
  template void      set_boundary_ids(Triangulation<dim> &, const MeshLists &);                      \
  template void      refine_by_dealii<dim>(MeshLists &, unsigned int);                               \
  template class RefinableParts<dim>;                                                                \
  template TriangulationDescription::Description<dim, dim> describe(                                 \
      MeshPart &, const parallel::fullydistributed::Triangulation<dim> &);
  PATCHFEM_INSTANTIATE(2)
  PATCHFEM_INSTANTIATE(3)
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM::internal
