// SPDX-License-Identifier: LGPL-2.1-or-later
// Curved boundaries of straight meshes: new vertices on circles, cylinders and spheres, and polygons that are noticed.
#include "mesh_cases.h"

#include <patchfem/mpi/mpi_communicator.h>

#include <sstream>

namespace
{
  using namespace dealii;
  using namespace mesh_cases;
  using PatchFEM::MeshParameters;
  using PatchFEM::MeshSummary;
  using Simplices = MeshParameters::Simplices;

  /** A ring or tube between radii 0.5 and 1 about (2, 1), of length 1, with ids 1 inside, 2 outside and 3, 4 at its ends. */
  template <int dim>
  std::string ring(const unsigned int n_sectors)
  {
    std::ostringstream vertices, elements;
    const unsigned int n_layers = dim == 2 ? 1 : 2, n = 2 * n_sectors;
    unsigned int       n_elements = 0;
    vertices.precision(15);
    const auto vertex = [&](const unsigned int sector, const unsigned int shell, const unsigned int layer) {
      return 1 + layer * n + 2 * (sector % n_sectors) + shell;
    };
    for (unsigned int layer = 0; layer < n_layers; ++layer)
      for (unsigned int sector = 0; sector < n_sectors; ++sector)
        for (unsigned int shell = 0; shell < 2; ++shell)
        {
          const double angle = 2. * numbers::PI * sector / n_sectors, radius = 0.5 + 0.5 * shell;
          vertices << vertex(sector, shell, layer) << ' ' << 2. + radius * std::cos(angle) << ' '
                   << 1. + radius * std::sin(angle) << ' ' << layer << '\n';
        }
    const auto add = [&](const unsigned int id, const std::string &kind, const std::vector<unsigned int> &list) {
      elements << ++n_elements << ' ' << id << ' ' << kind;
      for (const unsigned int v : list)
        elements << ' ' << v;
      elements << '\n';
    };
    for (unsigned int s = 0; s < n_sectors; ++s)
    {
      const std::vector<unsigned int> a{vertex(s, 0, 0), vertex(s, 1, 0), vertex(s + 1, 1, 0), vertex(s + 1, 0, 0)};
      if (dim == 2)
      {
        add(0, "quad", a);
        add(1, "line", {a[0], a[3]});
        add(2, "line", {a[1], a[2]});
        continue;
      }
      add(0, "hex", {a[0], a[1], a[2], a[3], a[0] + n, a[1] + n, a[2] + n, a[3] + n});
      add(1, "quad", {a[0], a[3], a[3] + n, a[0] + n});
      add(2, "quad", {a[1], a[2], a[2] + n, a[1] + n});
      add(3, "quad", a);
      add(4, "quad", {a[0] + n, a[1] + n, a[2] + n, a[3] + n});
    }
    return std::to_string(n_layers * n) + " " + std::to_string(n_elements) + " 0 0 0\n" + vertices.str() +
           elements.str();
  }

  MeshParameters with_manifolds(MeshParameters parameters, const std::string &manifolds, const unsigned int refinements)
  {
    parameters.manifolds          = PatchFEM::parse_manifolds(manifolds);
    parameters.global_refinements = refinements;
    return parameters;
  }

  /** Of a part of the cells of each rank, over all ranks. */
  template <int dim>
  double total_measure(const Triangulation<dim> &triangulation)
  {
    double sum = 0.;
    for (const auto &cell : triangulation.active_cell_iterators())
      if (cell->is_locally_owned())
        sum += cell->measure();
    return Utilities::MPI::sum(sum, triangulation.get_communicator());
  }

  const char *const circles   = "1 2: circle 2, 1";
  const char *const cylinders = "1: cylinder 2, 1, 5, 0, 0, 2; 2: cylinder 2, 1, 0, 0, 0, -1";
} // namespace

TEST(MeshManifolds, new_vertices_lie_on_circles_and_cylinders)
{
  const TemporaryFile plane_file(".ucd", ring<2>(12));
  const auto          check = [](auto &triangulation, MeshParameters parameters, const char *const manifolds) {
    constexpr int dim = std::remove_reference_t<decltype(triangulation)>::dimension;
    double        errors[2];
    for (const unsigned int refinements : {1, 2})
    {
      make_triangulation(triangulation, with_manifolds(parameters, manifolds, refinements));
      errors[refinements - 1] = 0.75 * numbers::PI - total_measure(triangulation);
      for (const auto &cell : triangulation.active_cell_iterators())
        for (const auto &face : cell->face_iterators())
          if (face->at_boundary() && face->boundary_id() >= 1 && face->boundary_id() <= 2)
          {
            for (const unsigned int v : face->vertex_indices())
              EXPECT_NEAR(std::hypot(face->vertex(v)[0] - 2., face->vertex(v)[1] - 1.), 0.5 * face->boundary_id(),
                                   1e-9);
          }
    }
    EXPECT_NEAR(errors[0] / errors[1], 4., 0.05) << "in " << dim << " dimensions";
    // The polygon stays what it is.
    EXPECT_EQ(make_triangulation(triangulation, with_manifolds(parameters, "", 2)).polygons, "1, 2");
    EXPECT_NEAR(total_measure(triangulation), 0.75 * 6. * std::sin(numbers::PI / 6.), 1e-9);
    EXPECT_EQ(make_triangulation(triangulation, with_manifolds(parameters, manifolds, 0)).polygons, "");
  };
  Triangulation<2> plane;
  Triangulation<3> solid;
  for (const Simplices simplices : {Simplices::none, Simplices::kuhn})
  {
    MeshParameters parameters = from_file(plane_file.name);
    parameters.simplices      = simplices;
    check(plane, parameters, circles);
  }
  const TemporaryFile solid_file("_solid.ucd", ring<3>(12));
  for (const Simplices simplices : {Simplices::none, Simplices::kuhn})
  {
    MeshParameters parameters = from_file(solid_file.name);
    parameters.simplices      = simplices;
    check(solid, parameters, cylinders);
  }
}

TEST(MeshManifolds, new_vertices_lie_on_spheres)
{
  MeshParameters parameters = generated("hyper_shell", "0, 0, 0 : 0.5 : 1 : 6 : true");
  parameters.simplices      = Simplices::dealii;
  Triangulation<3> triangulation;
  const auto       error = [&](const char *const manifolds) {
    make_triangulation(triangulation, with_manifolds(parameters, manifolds, 3));
    return 7. / 6. * numbers::PI - measure(triangulation);
  };
  EXPECT_LT(error("0 1: sphere 0, 0, 0"), 0.1 * error(""));
}

TEST(MeshParallel, curved_parts_are_the_serial_mesh)
{
  // Every rank writes a file of its own and the first one's is read.
  const TemporaryFile file(".ucd", ring<2>(12)), solid_file("_solid.ucd", ring<3>(12));
  const auto          check = [](auto &&serial, MeshParameters parameters, const char *const manifolds) {
    constexpr int dim                           = std::decay_t<decltype(serial)>::dimension;
    parameters                                  = with_manifolds(parameters, manifolds, 2);
    const MeshSummary                   summary = make_triangulation(serial, parameters);
    std::unique_ptr<Triangulation<dim>> parts;
    EXPECT_EQ(make_triangulation(parts, parameters, false, MPI_COMM_WORLD).text(), summary.text());
    EXPECT_NEAR(total_measure(*parts), measure(serial), 1e-12);
    std::map<Place, unsigned int> vertices;
    for (const Point<dim> &vertex : serial.get_vertices())
      vertices[place(vertex)] = 0;
    for (const auto &cell : parts->active_cell_iterators())
      if (!cell->is_artificial())
      {
        for (const unsigned int v : cell->vertex_indices())
          EXPECT_EQ(vertices.count(place(cell->vertex(v))), 1U) << cell->vertex(v);
      }
  };
  for (const Simplices simplices : {Simplices::none, Simplices::kuhn})
  {
    MeshParameters parameters = from_file(file.name);
    parameters.simplices      = simplices;
    check(Triangulation<2>(), parameters, circles);
    parameters.file = solid_file.name;
    check(Triangulation<3>(), parameters, cylinders);
  }
}

TEST(MeshManifolds, what_cannot_be_meant_is_refused)
{
  const auto parse = [](const char *const text) { PatchFEM::parse_manifolds(text); };
  expect_error([&] { parse("circle 0, 0"); }, {"'circle 0, 0'", "hole: circle 0, 0"});
  expect_error([&] { parse("1: ellipse 0, 0"); }, {"'1: ellipse 0, 0'", "cylinder"});
  expect_error([&] { parse("1: circle 0"); }, {"1 numbers", "its centre"});
  expect_error([&] { parse("1: circle 0, zero"); }, {"Mesh/Manifolds", "cannot be read: 'zero'"});
  expect_error([&] { parse("1: cylinder 0, 0, 0, 0, 0, 0"); }, {"without direction"});
  EXPECT_EQ(PatchFEM::parse_manifolds("\"oil hole\" 3: circle 0, 0").at(0).boundaries,
            (std::vector<std::string>{"oil hole", "3"}));

  const TemporaryFile file(".ucd", ring<2>(12));
  Triangulation<2>    triangulation;
  const auto          make = [&](const char *const manifolds, const unsigned int coarse_refinements = 0) {
    MeshParameters parameters     = with_manifolds(from_file(file.name), manifolds, 1);
    parameters.coarse_refinements = coarse_refinements;
    make_triangulation(triangulation, parameters);
  };
  expect_error([&] { make("7: circle 2, 1"); }, {"Mesh/Manifolds", "boundary id 7"});
  expect_error([&] { make("1: circle 2, 1; 1: circle 2, 0"); }, {"two shapes", "boundary 1"});
  EXPECT_NO_THROW(make("1: circle 2, 1 + 0*pi; 1 2: circle 2, 1 + 0*pi"));
  expect_error([&] { make("1: sphere 2, 1, 0"); }, {"3 dimensions", "circles"});
  expect_error([&] { make("1: circle 2.1, 1"); }, {"'1: circle 2.1, 1'", "with a vertex at", "id of their own"});
  expect_error([&] { make(circles, 1); }, {"Coarse refinements", "Global refinements"});
}

TEST(MeshManifolds, bodies_with_corners_are_no_polygons)
{
  Triangulation<2> plane;
  Triangulation<3> solid;
  for (const Simplices simplices : {Simplices::none, Simplices::kuhn})
  {
    const auto polygons = [&](auto &triangulation, const char *const generator, const char *const arguments) {
      MeshParameters parameters = generated(generator, arguments);
      parameters.simplices      = simplices;
      return make_triangulation(triangulation, parameters, 1).polygons;
    };
    EXPECT_EQ(polygons(plane, "hyper_cube", "0 : 1 : false"), "");
    EXPECT_EQ(polygons(plane, "hyper_L", "0 : 1 : false"), "");
    EXPECT_EQ(polygons(plane, "general_cell", "0, 0 ; 2, 0.3 ; 0.2, 1 ; 2, 2 : false"), "");
    EXPECT_EQ(polygons(solid, "hyper_L", "0 : 1 : false"), "");
    EXPECT_EQ(polygons(solid, "subdivided_hyper_cube", "3 : 0 : 1 : false"), "");
  }
  // A polygon of eight sides has corners.
  const TemporaryFile octagon(".ucd", ring<2>(8)), prism("_prism.ucd", ring<3>(8));
  EXPECT_EQ(make_triangulation(plane, from_file(octagon.name)).polygons, "");
  EXPECT_EQ(make_triangulation(solid, from_file(prism.name)).polygons, "");
  EXPECT_EQ(make_triangulation(solid, from_file(real_mesh("bridge.msh"))).polygons, "");
  EXPECT_EQ(make_triangulation(plane, from_file(real_mesh("osteon.msh"))).polygons, "");
  EXPECT_EQ(make_triangulation(solid, from_file(real_mesh("wheelset.msh"))).polygons, "0");
}
