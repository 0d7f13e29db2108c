// SPDX-License-Identifier: LGPL-2.1-or-later
// Domains from parameters: generators and real files, cut, refined, moved and given boundary ids.
#include "mesh_cases.h"

#include <deal.II/distributed/shared_tria.h>
#include <deal.II/distributed/tria.h>

#include <sstream>

namespace
{
  using namespace dealii;
  using namespace mesh_cases;
  using PatchFEM::MeshParameters;
  using PatchFEM::MeshSummary;
  using Simplices = MeshParameters::Simplices;

  std::set<unsigned int> range(const unsigned int first, const unsigned int last)
  {
    std::set<unsigned int> result;
    for (unsigned int i = first; i <= last; ++i)
      result.insert(i);
    return result;
  }

  MeshParameters parse(const std::string &text)
  {
    ParameterHandler prm;
    MeshParameters   parameters;
    parameters.declare_parameters(prm);
    prm.parse_input_from_string(text);
    parameters.parse_parameters(prm);
    return parameters;
  }

  /** Smallest measure / diameter^dim. */
  template <int dim>
  double worst_shape(const Triangulation<dim> &triangulation)
  {
    double worst = 1e300;
    for (const auto &cell : triangulation.active_cell_iterators())
      worst = std::min(worst, cell->measure() / std::pow(cell->diameter(), dim));
    return worst;
  }
} // namespace

TEST(Mesh, real_files_load_with_their_materials)
{
  Triangulation<3> solid;
  MeshSummary      summary = make_triangulation(solid, from_file(real_mesh("wheelset.msh")));
  EXPECT_EQ(summary.text(), "21934 tetrahedra, materials 0, boundary ids 0");
  EXPECT_TRUE(summary.simplices);
  EXPECT_NEAR(measure(solid), 0.158133, 1e-6);

  summary = make_triangulation(solid, from_file(real_mesh("bridge.msh")));
  EXPECT_EQ(summary.text(), "576 hexahedra, materials 1, boundary ids 0");
  EXPECT_FALSE(summary.simplices);
  EXPECT_NEAR(measure(solid), 7.2, 1e-12);

  summary = make_triangulation(solid, from_file(real_mesh("cylinder_plate.msh")));
  EXPECT_EQ(summary.n_cells, 10440U);
  EXPECT_EQ(summary.materials.ids(), range(1, 4));

  Triangulation<2> plane;
  summary = make_triangulation(plane, from_file(real_mesh("osteon.msh")));
  EXPECT_EQ(summary.text(), "2292 triangles, materials 1 ... 67 (67), boundary ids 0");
  EXPECT_EQ(summary.materials.ids(), range(1, 67));
  EXPECT_NEAR(measure(plane), 1.732, 1e-12);
}

TEST(Mesh, red_refinement_keeps_materials_and_shapes_of_a_real_mesh)
{
  Triangulation<3> coarse, fine, dealii_fine;
  MeshParameters   parameters = from_file(real_mesh("cylinder_plate.msh"));
  make_triangulation(coarse, parameters);
  const MeshSummary summary = make_triangulation(fine, parameters, 2);
  EXPECT_EQ(summary.n_coarse_cells, 10440U);
  EXPECT_EQ(summary.n_cells, 64U * 10440);
  EXPECT_NEAR(measure(fine), measure(coarse), 1e-12);
  std::map<unsigned int, double> volume[2];
  for (const auto &cell : coarse.active_cell_iterators())
    volume[0][cell->material_id()] += cell->measure();
  for (const auto &cell : fine.active_cell_iterators())
    volume[1][cell->material_id()] += cell->measure();
  for (const auto &of_material : volume[0])
    EXPECT_NEAR(of_material.second, volume[1][of_material.first], 1e-12);

  parameters.dealii_refines_simplices = true;
  make_triangulation(dealii_fine, parameters, 2);
  EXPECT_EQ(dealii_fine.n_active_cells(), fine.n_active_cells());
  EXPECT_GT(worst_shape(fine), worst_shape(dealii_fine));
}

TEST(Mesh, cuts_of_generated_domains_keep_ids)
{
  for (const bool kuhn : {true, false})
  {
    MeshParameters parameters = generated("subdivided_hyper_rectangle", "3, 2, 2 : 0, 0, 0 : 3, 2, 2 : true");
    parameters.simplices      = kuhn ? Simplices::kuhn : Simplices::dealii;
    Triangulation<3>  triangulation;
    const MeshSummary summary = make_triangulation(triangulation, parameters, 1);
    EXPECT_EQ(summary.n_coarse_cells, 12U * (kuhn ? 6 : 24));
    EXPECT_EQ(summary.n_cells, summary.n_coarse_cells * 8);
    EXPECT_EQ(summary.boundaries.ids(), range(0, 5));
    EXPECT_NEAR(measure(triangulation), 12, 1e-12);
    std::map<unsigned int, double> area;
    for (const auto &cell : triangulation.active_cell_iterators())
      for (const unsigned int f : cell->face_indices())
        if (cell->at_boundary(f))
        {
          const unsigned int id = cell->face(f)->boundary_id();
          EXPECT_NEAR(cell->face(f)->center()[id / 2], id % 2 == 0 ? 0 : id == 1 ? 3 : 2, 1e-12);
          area[id] += cell->face(f)->measure();
        }
    for (unsigned int id = 0; id < 6; ++id)
      EXPECT_NEAR(area[id], id < 2 ? 4 : 6, 1e-12);

    Triangulation<2> plane;
    parameters.generator_arguments = "3, 2 : 0, 0 : 3, 2 : true";
    EXPECT_EQ(make_triangulation(plane, parameters, 1).n_cells, 6U * (kuhn ? 2 : 8) * 4);
    EXPECT_EQ(make_triangulation(plane, parameters).boundaries.ids(), range(0, 3));
  }
}

TEST(Mesh, hexahedra_of_a_file_can_be_cut)
{
  MeshParameters parameters = from_file(real_mesh("bridge.msh"));
  parameters.simplices      = Simplices::kuhn;
  Triangulation<3> triangulation;
  EXPECT_EQ(make_triangulation(triangulation, parameters).text(), "3456 tetrahedra, materials 1, boundary ids 0");
  EXPECT_NEAR(measure(triangulation), 7.2, 1e-12);
}

TEST(Mesh, manifolds_of_generators_are_kept)
{
  // The volume tends to that of the ball only if new vertices lie on the sphere.
  MeshParameters parameters = generated("hyper_ball", "0, 0 : 1 : false");
  const auto     area       = [&](const unsigned int coarse, const unsigned int global, const Simplices simplices) {
    parameters.coarse_refinements = coarse;
    parameters.global_refinements = global;
    parameters.simplices          = simplices;
    Triangulation<2> triangulation;
    make_triangulation(triangulation, parameters);
    return measure(triangulation);
  };
  const double expected = area(0, 4, Simplices::none);
  EXPECT_NEAR(expected, numbers::PI, 0.01);
  EXPECT_NEAR(area(4, 0, Simplices::none), expected, 1e-12);
  EXPECT_NEAR(area(2, 2, Simplices::none), expected, 1e-12);
  EXPECT_NEAR(area(4, 0, Simplices::kuhn), expected, 1e-12);
  EXPECT_LT(area(0, 4, Simplices::kuhn), 2.01) << "simplices are straight";

  // Transfinite manifolds know the triangulation that they were made for.
  parameters           = generated("channel_with_cylinder", "0.03 : 2 : 2 : true");
  const double channel = area(0, 2, Simplices::none);
  EXPECT_NEAR(channel, 2.2 * 0.41 - numbers::PI * 0.0025, 1e-4);
  EXPECT_NEAR(area(1, 1, Simplices::none), channel, 1e-4);
}

TEST(Mesh, moving)
{
  MeshParameters   parameters = parse("subsection Mesh\n set Generator = hyper_rectangle\n"
                                        "set Generator arguments = 0, 0, 0 : 1, 2, 3 : true\n"
                                        "set Scale = 2\n set Rotation = x 90\nend");
  Triangulation<3> triangulation;
  for (const Simplices simplices : {Simplices::none, Simplices::kuhn})
  {
    parameters.simplices = simplices;
    make_triangulation(triangulation, parameters);
    // x stays, y becomes z, z becomes -y.
    for (const Point<3> &x : triangulation.get_vertices())
    {
      EXPECT_NEAR(std::abs(x[0] - 1), 1, 1e-12);
      EXPECT_NEAR(std::abs(x[1] + 3), 3, 1e-12);
      EXPECT_NEAR(std::abs(x[2] - 2), 2, 1e-12);
    }
  }
  Triangulation<2> plane;
  parameters       = generated("hyper_ball", "0, 0 : 1 : false");
  parameters.scale = 2;
  expect_error([&] { make_triangulation(plane, parameters); }, {"curved", "hyper_ball"});
  parameters.rotation_axis  = 'x';
  parameters.rotation_angle = 1;
  expect_error([&] { make_triangulation(plane, parameters); }, {"Rotation", "plane"});
  expect_error([] { parse("subsection Mesh\n set Generator = hyper_cube\n set Rotation = 30\nend"); },
               {"Rotation", "30"});
}

TEST(Mesh, the_first_rule_that_holds_gives_the_boundary_id)
{
  for (const Simplices simplices : {Simplices::none, Simplices::kuhn})
  {
    MeshParameters parameters =
        parse("subsection Mesh\n set Generator = subdivided_hyper_cube\n"
              "set Generator arguments = 4 : 0 : 1 : true\nend\n"
              "subsection Boundary ids\n"
              "set Rules = 10: x < 1e-9 && y < 0.5; 11: x < 1e-9; 12: y > 1 - 1e-9 ? x > 0.5 : 0\n"
              "end");
    parameters.simplices = simplices;
    Triangulation<2>  triangulation;
    const MeshSummary summary = make_triangulation(triangulation, parameters, 1);
    EXPECT_EQ(summary.boundaries.ids(), (std::set<unsigned int>{1, 2, 3, 10, 11, 12}));
    for (const auto &face : ids_of(triangulation).boundaries)
    {
      const double       x = 1e-6 * face.first[0], y = 1e-6 * face.first[1];
      const unsigned int id = x < 1e-9 ? (y < 0.5 ? 10 : 11) : y > 0.999 ? (x > 0.5 ? 12 : 3) : y < 1e-9 ? 2 : 1;
      EXPECT_EQ(face.second, id) << x << ' ' << y;
    }
  }
}

TEST(Mesh, rules_that_cannot_be_meant_are_refused)
{
  Triangulation<2> triangulation;
  const auto       with_rules = [&](const std::string &rules) {
    const MeshParameters parameters = parse("subsection Mesh\n set Generator = hyper_cube\n"
                                                        "set Generator arguments = 0 : 1 : true\nend\n"
                                                        "subsection Boundary ids\n set Rules = " +
                                                  rules + "\nend");
    make_triangulation(triangulation, parameters);
  };
  with_rules("7: x < 0.1");
  expect_error([&] { with_rules("7: x > 2"); }, {"7: x > 2", "none of the 4 boundary faces"});
  expect_error([&] { with_rules("6: x < 0.1; 7: x < 0.1"); }, {"7: x < 0.1", "earlier rule"});
  expect_error([&] { with_rules("6: x <"); }, {"6: x <", "no expression"});
  expect_error([&] { with_rules("6: z < 1"); }, {"6: z < 1", "x,y"});
  expect_error([&] { with_rules("6: sqrt(x - 2)"); }, {"6: sqrt(x - 2)", "no value"});
  expect_error([&] { with_rules("left side: x < 1"); }, {"left side", "boundary: predicate", "quotation marks"});
  expect_error([&] { with_rules("6"); }, {"boundary: predicate"});
}

TEST(Mesh, descriptions_that_cannot_be_meant_are_refused)
{
  Triangulation<2> plane;
  Triangulation<3> solid;
  const auto       make = [&](const std::string &text) {
    make_triangulation(plane, parse("subsection Mesh\n" + text + "\nend"));
  };
  expect_error([&] { make(""); }, {"Neither"});
  expect_error([&] { make("set Generator = hyper_cube\n set File = a.msh"); }, {"Both"});
  expect_error([&] { make("set File = a.msh\n set Generator arguments = 1"); }, {"Generator arguments"});
  expect_error([&] { make("set Generator = hyper_qube\n set Generator arguments = 1"); }, {"hyper_qube"});
  expect_error([&] { make("set Generator = hyper_cube\n set Generator arguments = 1 : two : true"); }, {"two"});
  expect_error([&] { make("set Generator = subdivided_hyper_cube\n set Generator arguments = 0 : 0 : 1 : false"); },
               {"subdivided_hyper_cube"});
  expect_error(
      [&] {
        make("set Generator = hyper_cube\n set Generator arguments = 0 : 1 : false\n"
             "set Simplex refinement = dealii");
      },
      {"Simplex refinement"});
  expect_error([&] { make("set File = a.msh"); }, {"a.msh", "cannot be opened"});
  expect_error([&] { make("set File = a.msh\n set Join = -1"); }, {"Join = -1", "distance"});
  expect_error([&] { make("set Generator = hyper_cube\n set Material data = a"); }, {"Material data", "Mesh/File"});
  EXPECT_ANY_THROW(make("set Generater = hyper_cube")) << "unknown entries are errors";

  MeshParameters parameters = from_file(real_mesh("wheelset.msh"));
  parameters.simplices      = Simplices::kuhn;
  expect_error([&] { make_triangulation(solid, parameters); }, {"tetrahedra already"});
  expect_error([&] { make_triangulation(plane, from_file(real_mesh("bridge.msh"))); }, {"hexahedra", "Dimension"});
  parameters           = generated("moebius", "8 : 1 : 1 : 0.3");
  parameters.simplices = Simplices::kuhn;
  expect_error([&] { make_triangulation(solid, parameters); }, {"do not agree", "Simplices = dealii"});
}

TEST(MeshParallel, every_kind_of_triangulation_gets_the_same_domain)
{
  MeshParameters parameters = parse("subsection Mesh\n set Generator = subdivided_hyper_cube\n"
                                    "set Generator arguments = 2 : 0 : 1 : true\n set Global refinements = 1\nend\n"
                                    "subsection Boundary ids\n set Rules = 7: x < 1e-9\nend");
  const auto expect_subset  = [](const std::map<Place, unsigned int> &part, const std::map<Place, unsigned int> &all) {
    for (const auto &id : part)
      EXPECT_EQ(all.at(id.first), id.second);
  };
  for (const Simplices simplices : {Simplices::none, Simplices::kuhn})
  {
    parameters.simplices = simplices;
    Triangulation<3>                   serial;
    parallel::shared::Triangulation<3> shared(MPI_COMM_WORLD);
    const MeshSummary                  summary = make_triangulation(serial, parameters);
    EXPECT_EQ(summary.boundaries.ids(), (std::set<unsigned int>{1, 2, 3, 4, 5, 7}));
    EXPECT_EQ(make_triangulation(shared, parameters).text(), summary.text());
    EXPECT_TRUE(ids_of(shared) == ids_of(serial));

    parallel::distributed::Triangulation<3> distributed(MPI_COMM_WORLD);
    if (simplices == Simplices::none)
    {
      EXPECT_EQ(make_triangulation(distributed, parameters).text(), summary.text());
      distributed.refine_global(1);
      serial.refine_global(1);
      const Ids part = ids_of(distributed), all = ids_of(serial);
      EXPECT_EQ(distributed.n_global_active_cells(), serial.n_active_cells());
      EXPECT_FALSE(part.materials.empty());
      expect_subset(part.materials, all.materials);
      expect_subset(part.boundaries, all.boundaries);
    }
    else
      expect_error([&] { make_triangulation(distributed, parameters); }, {"parallel::fullydistributed"});
  }

  // From a file, and again into the same object.
  Triangulation<3>                        serial;
  parallel::distributed::Triangulation<3> distributed(MPI_COMM_WORLD);
  parameters                    = from_file(real_mesh("bridge.msh"));
  parameters.coarse_refinements = 1;
  make_triangulation(distributed, generated("hyper_cube", "0 : 1 : false"), 2);
  EXPECT_EQ(make_triangulation(distributed, parameters, 1).text(), make_triangulation(serial, parameters, 1).text());
  EXPECT_EQ(distributed.n_global_active_cells(), 576U * 64);
}
