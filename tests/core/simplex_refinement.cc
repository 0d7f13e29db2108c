// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/simplex_refinement.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#ifdef _OPENMP
#include <omp.h>
#endif

using namespace PatchFEM;

namespace
{
  using Point = std::array<double, 3>;

  double measure(const MeshLists &mesh)
  {
    double sum = 0;
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
      sum += simplex_measure(mesh, c);
    return sum;
  }

  /** Smallest measure / (longest edge)^dim over all cells. */
  double worst_shape(const MeshLists &mesh)
  {
    const unsigned int n     = n_vertices_per_cell(mesh.kind);
    double             worst = 1e300;
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
    {
      double diameter = 0;
      for (unsigned int i = 0; i < n; ++i)
        for (unsigned int j = 0; j < i; ++j)
        {
          const Point &a = mesh.vertices[mesh.cell(c)[i]], &b = mesh.vertices[mesh.cell(c)[j]];
          diameter = std::max(diameter, std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
        }
      worst = std::min(worst, simplex_measure(mesh, c) / std::pow(diameter, cell_dimension(mesh.kind)));
    }
    return worst;
  }

  /**
   * Every face belongs to one or two cells, and those of one cell alone are exactly the mesh's list of faces. In a red
   * refined mesh a hanging vertex would show as an inner face that has one cell.
   */
  void expect_conforming_with_complete_faces(const MeshLists &mesh)
  {
    const unsigned int                             n = n_vertices_per_cell(mesh.kind);
    std::map<std::vector<std::uint32_t>, unsigned> count;
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
      for (unsigned int omit = 0; omit < n; ++omit)
      {
        std::vector<std::uint32_t> face;
        for (unsigned int v = 0; v < n; ++v)
          if (v != omit)
            face.push_back(mesh.cell(c)[v]);
        std::sort(face.begin(), face.end());
        ++count[face];
      }
    std::set<std::vector<std::uint32_t>> boundary, listed;
    for (const auto &face : count)
    {
      EXPECT_LE(face.second, 2U);
      if (face.second == 1)
        boundary.insert(face.first);
    }
    const unsigned int n_per_face = n - 1;
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
    {
      std::vector<std::uint32_t> face(mesh.faces.begin() + f * n_per_face, mesh.faces.begin() + (f + 1) * n_per_face);
      std::sort(face.begin(), face.end());
      listed.insert(face);
    }
    EXPECT_EQ(listed.size(), mesh.n_faces());
    EXPECT_EQ(boundary, listed);
  }

  /** n^dim unit cells of [0, n]^dim, material of a cell by its place along x, boundary id 1 + side. */
  MeshLists cube(const unsigned int dim, const unsigned int n)
  {
    MeshLists mesh;
    mesh.kind             = dim == 2 ? CellKind::quadrilateral : CellKind::hexahedron;
    const unsigned int nz = dim == 2 ? 0 : n;
    for (unsigned int k = 0; k <= nz; ++k)
      for (unsigned int j = 0; j <= n; ++j)
        for (unsigned int i = 0; i <= n; ++i)
          mesh.vertices.push_back({{double(i), double(j), double(k)}});
    for (unsigned int k = 0; k < std::max(nz, 1U); ++k)
      for (unsigned int j = 0; j < n; ++j)
        for (unsigned int i = 0; i < n; ++i)
        {
          for (unsigned int v = 0; v < (1U << dim); ++v)
            mesh.cells.push_back((i + (v & 1)) + (n + 1) * ((j + (v >> 1 & 1)) + (n + 1) * (k + (v >> 2))));
          mesh.material_ids.push_back(i);
        }
    complete_boundary_faces(mesh);
    const unsigned int n_per_face = n_vertices_per_face(mesh.kind);
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
      for (unsigned int d = 0; d < dim; ++d)
        for (const double side : {0., double(n)})
        {
          bool on = true;
          for (unsigned int v = 0; v < n_per_face; ++v)
            on = on && mesh.vertices[mesh.faces[f * n_per_face + v]][d] == side;
          if (on)
            mesh.face_ids[f] = 1 + 2 * d + (side > 0 ? 1 : 0);
        }
    return mesh;
  }

  MeshLists tetrahedron(const Point &a, const Point &b, const Point &c, const Point &d)
  {
    MeshLists mesh;
    mesh.kind         = CellKind::tetrahedron;
    mesh.vertices     = {a, b, c, d};
    mesh.cells        = {0, 1, 2, 3};
    mesh.material_ids = {7};
    mesh.faces        = {0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3};
    mesh.face_ids     = {1, 2, 3, 4};
    return mesh;
  }

  /** Number of cells that are not translated, scaled or mirrored copies of another, by their sorted edge lengths. */
  std::size_t n_shapes(const MeshLists &mesh)
  {
    std::set<std::vector<long>> shapes;
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
    {
      std::vector<double> lengths;
      for (unsigned int i = 0; i < 4; ++i)
        for (unsigned int j = 0; j < i; ++j)
        {
          const Point &a = mesh.vertices[mesh.cell(c)[i]], &b = mesh.vertices[mesh.cell(c)[j]];
          lengths.push_back(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
        }
      std::sort(lengths.begin(), lengths.end());
      const double      scale = std::cbrt(std::abs(simplex_measure(mesh, c)));
      std::vector<long> shape;
      for (const double length : lengths)
        shape.push_back(std::lround(1e6 * length / scale));
      shapes.insert(shape);
    }
    return shapes.size();
  }
} // namespace

TEST(simplex_refinement, a_tetrahedron_has_at_most_three_shapes_of_descendants)
{
  MeshLists    mesh  = tetrahedron({{0.1, 0, 0}}, {{1.3, 0.2, 0}}, {{0.3, 0.9, 0.1}}, {{0.2, 0.4, 1.1}});
  const double total = measure(mesh);
  ASSERT_GT(total, 0);
  std::set<std::vector<long>> seen;
  double                      bound = 0;
  for (unsigned int level = 1; level <= 5; ++level)
  {
    red_refine(mesh);
    EXPECT_EQ(mesh.n_cells(), std::size_t(1) << (3 * level));
    EXPECT_EQ(mesh.n_faces(), std::size_t(4) << (2 * level));
    EXPECT_NEAR(measure(mesh), total, 1e-13);
    EXPECT_LE(n_shapes(mesh), 3U);
    // All three shapes are there after two levels, and then the worst one stays what it is.
    if (level == 2)
      bound = worst_shape(mesh);
    if (level > 2)
    {
      EXPECT_NEAR(worst_shape(mesh), bound, 1e-10);
    }
  }
  EXPECT_GT(bound, 0.01);
}

TEST(simplex_refinement, midpoints_of_one_tetrahedron_by_eye)
{
  MeshLists mesh = tetrahedron({{0, 0, 0}}, {{2, 0, 0}}, {{0, 2, 0}}, {{0, 0, 2}});
  red_refine(mesh);
  ASSERT_EQ(mesh.vertices.size(), 10U);
  // Edges in the order of their vertices: 01 02 03 12 13 23.
  EXPECT_EQ(mesh.vertices[4], (Point{{1, 0, 0}}));
  EXPECT_EQ(mesh.vertices[7], (Point{{1, 1, 0}}));
  EXPECT_EQ(mesh.vertices[9], (Point{{0, 1, 1}}));
  EXPECT_EQ(std::vector<std::uint32_t>(mesh.cells.begin(), mesh.cells.begin() + 8),
            (std::vector<std::uint32_t>{0, 4, 5, 6, 4, 1, 7, 8}));
  for (std::size_t c = 0; c < 8; ++c)
    EXPECT_DOUBLE_EQ(simplex_measure(mesh, c), 8. / 6. / 8.);
  expect_conforming_with_complete_faces(mesh);
}

TEST(simplex_refinement, mirrored_tetrahedra_of_a_cut_cube_are_positive_in_either_order)
{
  MeshLists mesh = cube(3, 2), usual = cube(3, 2);
  cut_into_simplices(mesh);
  cut_into_simplices(usual, MirroredPaths::exchange_last);
  ASSERT_EQ(usual.n_cells(), mesh.n_cells());
  expect_conforming_with_complete_faces(usual);
  unsigned int n_different = 0;
  for (std::size_t c = 0; c < mesh.n_cells(); ++c)
  {
    EXPECT_DOUBLE_EQ(simplex_measure(usual, c), simplex_measure(mesh, c));
    EXPECT_EQ(std::set<std::uint32_t>(mesh.cell(c), mesh.cell(c) + 4),
              std::set<std::uint32_t>(usual.cell(c), usual.cell(c) + 4));
    n_different += !std::equal(mesh.cell(c), mesh.cell(c) + 4, usual.cell(c));
  }
  EXPECT_EQ(n_different, mesh.n_cells() / 2);
}

TEST(simplex_refinement, the_cut_of_a_cube_keeps_ids_and_refines_into_the_cut_of_the_refined_cube)
{
  for (const unsigned int dim : {2U, 3U})
  {
    MeshLists mesh = cube(dim, 2);
    cut_into_simplices(mesh);
    EXPECT_EQ(mesh.n_cells(), dim == 2 ? 8U : 48U);
    EXPECT_NEAR(measure(mesh), std::pow(2., dim), 1e-13);
    expect_conforming_with_complete_faces(mesh);
    red_refine(mesh);
    expect_conforming_with_complete_faces(mesh);

    MeshLists fine = cube(dim, 4);
    cut_into_simplices(fine);
    const auto by_vertices = [&](const MeshLists &m, const double scale, const std::vector<std::uint32_t> &list,
                                 const unsigned int n, const std::vector<std::uint32_t> &ids, const bool halve) {
      std::set<std::pair<std::vector<Point>, unsigned>> result;
      for (std::size_t c = 0; c < ids.size(); ++c)
      {
        std::vector<Point> points;
        for (unsigned int v = 0; v < n; ++v)
        {
          Point x = m.vertices[list[c * n + v]];
          for (double &coordinate : x)
            coordinate *= scale;
          points.push_back(x);
        }
        std::sort(points.begin(), points.end());
        result.insert({points, halve ? ids[c] / 2 : ids[c]});
      }
      return result;
    };
    EXPECT_EQ(by_vertices(mesh, 2., mesh.cells, dim + 1, mesh.material_ids, false),
              by_vertices(fine, 1., fine.cells, dim + 1, fine.material_ids, true));
    EXPECT_EQ(by_vertices(mesh, 2., mesh.faces, dim, mesh.face_ids, false),
              by_vertices(fine, 1., fine.faces, dim, fine.face_ids, false));
  }
}

TEST(simplex_refinement, shapes_stay_bounded_and_the_mesh_conforming_over_five_levels)
{
  for (const unsigned int dim : {2U, 3U})
  {
    MeshLists mesh = cube(dim, 1);
    // A general cell, so that nothing is right by symmetry.
    mesh.vertices[1][0] += 0.3;
    mesh.vertices.back()[1] += 0.2;
    cut_into_simplices(mesh);
    choose_shortest_diagonals(mesh);
    const double      total   = measure(mesh);
    const std::size_t n_cells = mesh.n_cells();
    red_refine(mesh);
    red_refine(mesh);
    const double bound = worst_shape(mesh);
    for (unsigned int level = 3; level <= 5; ++level)
    {
      red_refine(mesh);
      EXPECT_NEAR(measure(mesh), total, 1e-12);
      EXPECT_EQ(mesh.n_cells(), n_cells << (dim * level));
      EXPECT_GT(worst_shape(mesh), bound * (1 - 1e-9));
      if (level <= 4)
        expect_conforming_with_complete_faces(mesh);
    }
  }
}

TEST(simplex_refinement, hexahedra_turned_at_random_are_cut_conformingly)
{
  MeshLists    mesh = cube(3, 4);
  unsigned int seed = 12345;
  for (std::size_t c = 0; c < mesh.n_cells(); ++c)
  {
    // A rotation about the main diagonal and one about z by 90 degrees: both keep the orientation.
    seed             = seed * 1664525U + 1013904223U;
    std::uint32_t *v = mesh.cell(c);
    for (unsigned int turn = 0; turn < (seed >> 16) % 3; ++turn)
    {
      std::array<std::uint32_t, 8> old;
      std::copy_n(v, 8, old.begin());
      for (unsigned int i = 0; i < 8; ++i)
        v[i] = old[(i << 1 & 6U) | (i >> 2)];
    }
    for (unsigned int turn = 0; turn < (seed >> 24) % 4; ++turn)
    {
      std::array<std::uint32_t, 8> old;
      std::copy_n(v, 8, old.begin());
      static constexpr unsigned int quarter[8] = {1, 3, 0, 2, 5, 7, 4, 6};
      for (unsigned int i = 0; i < 8; ++i)
        v[i] = old[quarter[i]];
    }
  }
  ASSERT_EQ(orient_cells(mesh), 0U);
  cut_into_simplices(mesh);
  EXPECT_EQ(mesh.n_cells(), 384U);
  EXPECT_NEAR(measure(mesh), 64, 1e-12);
  expect_conforming_with_complete_faces(mesh);
}

TEST(simplex_refinement, a_ring_that_closes_with_a_quarter_turn_is_refused)
{
  MeshLists mesh;
  mesh.kind = CellKind::hexahedron;
  mesh.vertices.resize(12);
  const unsigned int quarter[4] = {1, 3, 0, 2};
  for (unsigned int k = 0; k < 3; ++k)
  {
    for (unsigned int v = 0; v < 4; ++v)
      mesh.cells.push_back(4 * k + v);
    for (unsigned int v = 0; v < 4; ++v)
      mesh.cells.push_back(k < 2 ? 4 * (k + 1) + v : quarter[v]);
    mesh.material_ids.push_back(0);
  }
  try
  {
    cut_into_simplices(mesh);
    FAIL();
  }
  catch (const Error &error)
  {
    EXPECT_NE(std::string(error.what()).find("do not agree"), std::string::npos) << error.what();
  }
}

TEST(simplex_refinement, the_shortest_diagonal_is_chosen)
{
  // Long in the direction of the default diagonal.
  MeshLists    mesh   = tetrahedron({{0, 0, 0}}, {{1, 0.1, 9}}, {{1, 0, 0}}, {{0, 1, 9}});
  const double before = simplex_measure(mesh, 0);
  if (before < 0)
    orient_cells(mesh);
  MeshLists chosen = mesh;
  choose_shortest_diagonals(chosen);
  EXPECT_DOUBLE_EQ(simplex_measure(chosen, 0), std::abs(before));
  red_refine(mesh);
  red_refine(chosen);
  EXPECT_GT(worst_shape(chosen), 1.05 * worst_shape(mesh));
}

#ifdef _OPENMP
TEST(simplex_refinement, does_not_depend_on_the_number_of_threads)
{
  const int n_threads = omp_get_max_threads();
  MeshLists results[2];
  for (const int n : {1, 3})
  {
    omp_set_num_threads(n);
    MeshLists mesh = cube(3, 3);
    cut_into_simplices(mesh);
    red_refine(mesh);
    results[n / 2] = mesh;
  }
  omp_set_num_threads(n_threads);
  EXPECT_EQ(results[0].cells, results[1].cells);
  EXPECT_EQ(results[0].vertices, results[1].vertices);
}
#endif

TEST(simplex_mesh_lists, inverted_cells_are_mirrored_and_bad_ones_refused)
{
  MeshLists mesh = cube(3, 1);
  std::swap_ranges(mesh.cells.begin(), mesh.cells.begin() + 4, mesh.cells.begin() + 4);
  EXPECT_EQ(orient_cells(mesh), 1U);
  EXPECT_EQ(orient_cells(mesh), 0U);

  MeshLists flat = cube(3, 1);
  for (Point &x : flat.vertices)
    x[2] = 0;
  EXPECT_THROW(orient_cells(flat), Error);

  MeshLists tangled   = cube(2, 1);
  tangled.vertices[3] = {{0.2, 0.2, 0}};
  EXPECT_THROW(orient_cells(tangled), Error);

  MeshLists collapsed = cube(3, 1);
  collapsed.cells[1]  = collapsed.cells[0];
  EXPECT_THROW(orient_cells(collapsed), Error);
}

TEST(simplex_mesh_lists, unused_vertices_go_and_faces_follow)
{
  MeshLists mesh = cube(2, 1);
  mesh.vertices.insert(mesh.vertices.begin(), {{9, 9, 9}});
  for (std::uint32_t &v : mesh.cells)
    ++v;
  for (std::uint32_t &v : mesh.faces)
    ++v;
  const MeshLists expected = cube(2, 1);
  delete_unused_vertices(mesh);
  EXPECT_EQ(mesh.vertices, expected.vertices);
  EXPECT_EQ(mesh.cells, expected.cells);
  EXPECT_EQ(mesh.faces, expected.faces);
}

TEST(simplex_mesh_lists, faces_that_are_not_on_the_boundary_are_lost)
{
  MeshLists inner = cube(2, 2);
  inner.faces.insert(inner.faces.end(), {1, 4, 0, 8});
  inner.face_ids.insert(inner.face_ids.end(), {105, 106});
  complete_boundary_faces(inner);
  EXPECT_EQ(inner.n_faces(), 8U);
  EXPECT_EQ(std::count(inner.face_ids.begin(), inner.face_ids.end(), 105U), 0);
  EXPECT_EQ(inner.facts.boundaries.lost_faces(),
            (std::vector<std::string>{"boundary '105' has 1 face inside the mesh",
                                      "boundary '106' has 1 face that no cell has"}));
}

TEST(simplex_mesh_lists, faces_may_be_there_several_times_and_cells_not)
{
  MeshLists twice = cube(2, 2);
  twice.cells.insert(twice.cells.end(), twice.cells.begin(), twice.cells.begin() + 4);
  twice.material_ids.push_back(0);
  EXPECT_THROW(complete_boundary_faces(twice), Error);

  MeshLists two_ids = cube(2, 2);
  two_ids.faces.insert(two_ids.faces.end(), two_ids.faces.begin(), two_ids.faces.begin() + 2);
  two_ids.face_ids.push_back(two_ids.face_ids[0]);
  EXPECT_NO_THROW(complete_boundary_faces(two_ids)) << "the same id twice";
  two_ids.faces.insert(two_ids.faces.end(), two_ids.faces.begin(), two_ids.faces.begin() + 2);
  two_ids.face_ids.push_back(107);
  complete_boundary_faces(two_ids);
  const std::set<unsigned int> ids(two_ids.face_ids.begin(), two_ids.face_ids.end());
  EXPECT_EQ(std::count_if(ids.begin(), ids.end(),
                          [&](const unsigned int id) {
                            const auto groups = two_ids.facts.boundaries.groups(id);
                            return groups.size() == 2 && groups[1].number == 107;
                          }),
            1);
}

TEST(simplex_mesh_lists, cells_on_the_same_side_of_their_face_are_refused)
{
  // Two cells at the plane x = 1, the first on the left of it, the second with its vertices in many orders.
  for (const CellKind kind : {CellKind::triangle, CellKind::quadrilateral, CellKind::tetrahedron, CellKind::hexahedron})
    for (const bool crack : {false, true})
      for (unsigned int order = 0; order < 24; ++order)
      {
        SCOPED_TRACE(std::string(plural_name(kind)) + (crack ? ", crack" : "") + ", order " + std::to_string(order));
        const unsigned int dim = cell_dimension(kind), n = n_vertices_per_cell(kind);
        const auto         pair = [&](const double other) {
          MeshLists mesh;
          mesh.kind = kind;
          for (unsigned int c = 0; c < 2; ++c)
          {
            std::vector<std::uint32_t> cell;
            for (unsigned int v = 0; v < n; ++v)
            {
              // Of a simplex vertex 0 is the one away from the plane.
              const bool  on_plane = is_simplex(kind) ? v > 0 : v & 1;
              const Point x        = {{on_plane ? 1
                                               : c == 0 ? 0
                                                        : other,
                                is_simplex(kind) ? v == 2 : (v >> 1 & 1) * 1.,
                                is_simplex(kind) ? v == 3 : (v >> 2) * 1.}};
              const auto  found    = std::find(mesh.vertices.begin(), mesh.vertices.end(), x);
              cell.push_back(found - mesh.vertices.begin());
              if (found == mesh.vertices.end() || (crack && c == 1))
              {
                cell.back() = mesh.vertices.size();
                mesh.vertices.push_back(x);
              }
            }
            for (unsigned int turn = 0; c == 1 && turn < order; ++turn)
              if (is_simplex(kind))
                std::next_permutation(cell.begin(), cell.end());
              else if (dim == 3 && turn % 4 == 3)
                cell = {cell[0], cell[2], cell[4], cell[6], cell[1], cell[3], cell[5], cell[7]};
              else
                for (unsigned int i = 0; i < n; i += 4)
                  std::swap(cell[i], cell[i + 1]), std::swap(cell[i], cell[i + 3]), std::swap(cell[i], cell[i + 2]);
            mesh.cells.insert(mesh.cells.end(), cell.begin(), cell.end());
            mesh.material_ids.push_back(0);
          }
          orient_cells(mesh);
          return mesh;
        };
        MeshLists good = pair(2.);
        complete_boundary_faces(good);
        EXPECT_EQ(good.n_faces(), 2 * n_faces_per_cell(kind) - (crack ? 0 : 2));
        MeshLists folded = pair(0.5);
        try
        {
          complete_boundary_faces(folded);
          ADD_FAILURE() << "not refused";
        }
        catch (const Error &error)
        {
          EXPECT_NE(std::string(error.what()).find("lie on the same side of the face centred at (1, "),
                    std::string::npos)
              << error.what();
        }
      }

  // The face that two hexahedra share, once around and once crosswise.
  MeshLists crossed = cube(3, 2);
  std::swap(crossed.cells[1], crossed.cells[3]);
  EXPECT_THROW(complete_boundary_faces(crossed), Error);
}

TEST(simplex_mesh_lists, cells_that_overlap_around_a_vertex_are_refused)
{
  for (const unsigned int dim : {2U, 3U})
    for (const bool simplices : {false, true})
    {
      // Angles of a cube's cells are full ones exactly. The inner ones are deformed.
      MeshLists mesh = cube(dim, 3);
      for (Point &x : mesh.vertices)
        if (std::all_of(x.begin(), x.begin() + dim, [](const double c) { return c > 0 && c < 3; }))
          x = {{x[0] + 0.2 * std::sin(3 * x[1]), x[1] + 0.1 * std::sin(7 * x[0]), x[2]}};
      if (simplices)
        cut_into_simplices(mesh);
      EXPECT_NO_THROW(complete_boundary_faces(mesh));
      // The first cell has the other inner vertex of a diagonal for the one that it should have.
      const unsigned int  n    = n_vertices_per_cell(mesh.kind);
      const std::uint32_t near = dim == 2 ? 5 : 21, far = dim == 2 ? 10 : 42;
      std::replace(mesh.cells.begin(), mesh.cells.begin() + n, near, far);
      orient_cells(mesh);
      mesh.face_ids.assign(mesh.n_faces(), 0);
      try
      {
        complete_boundary_faces(mesh);
        ADD_FAILURE() << "not refused in dimension " << dim << (simplices ? ", simplices" : "");
      }
      catch (const Error &error)
      {
        EXPECT_NE(std::string(error.what()).find("overlap"), std::string::npos) << error.what();
      }
    }
}

TEST(simplex_mesh_lists, folded_meshes_are_refused)
{
  // A square of four triangles around a vertex that has got out of it.
  for (const double x : {0.5, 0.9, 1.7, -0.1})
  {
    MeshLists mesh;
    mesh.vertices     = {{{0, 0, 0}}, {{1, 0, 0}}, {{1, 1, 0}}, {{0, 1, 0}}, {{x, 0.5, 0}}};
    mesh.cells        = {0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4};
    mesh.material_ids = {0, 0, 0, 0};
    EXPECT_EQ(orient_cells(mesh), x > 0 && x < 1 ? 0U : 1U);
    if (x > 0 && x < 1)
      EXPECT_NO_THROW(complete_boundary_faces(mesh)) << x;
    else
      EXPECT_THROW(complete_boundary_faces(mesh), Error) << x;
  }
}
