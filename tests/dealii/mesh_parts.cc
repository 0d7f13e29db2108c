// SPDX-License-Identifier: LGPL-2.1-or-later
// Meshes of which each rank has a part: over all ranks they are the serial mesh, and ghosts are what they should be.
#include "mesh_cases.h"

#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/distributed/fully_distributed_tria.h>
#include <deal.II/distributed/tria.h>

#include <algorithm>

namespace
{
  using namespace dealii;
  using namespace mesh_cases;
  using PatchFEM::MeshParameters;
  using PatchFEM::MeshSummary;
  using PatchFEM::MPICommunicator;
  using Simplices = MeshParameters::Simplices;

  /** Plain data of a cell; faces that are not at the boundary have no id. */
  struct Cell
  {
    static constexpr unsigned int no_id = 1234567;

    Place         centre;
    Place         vertices[8];
    double        measure;
    std::uint64_t id;
    unsigned int  material, owner;
    unsigned int  boundary_ids[6];
  };

  template <int dim>
  Cell describe(const typename Triangulation<dim>::active_cell_iterator &cell)
  {
    Cell result{};
    result.centre = place(cell->center());
    for (const unsigned int v : cell->vertex_indices())
      result.vertices[v] = place(cell->vertex(v));
    result.measure  = cell->measure();
    const CellId id = cell->id();
    result.id       = id.get_coarse_cell_id();
    for (const auto child : id.get_child_indices())
      result.id = (result.id << dim) + child;
    result.material = cell->material_id();
    result.owner    = cell->subdomain_id();
    for (const unsigned int f : cell->face_indices())
      result.boundary_ids[f] = cell->at_boundary(f) ? cell->face(f)->boundary_id() : Cell::no_id;
    return result;
  }

  std::uint64_t number_of_ranks()
  {
    return Utilities::MPI::n_mpi_processes(MPI_COMM_WORLD);
  }

  enum class Class
  {
    dealii, ///< a program's own parallel::fullydistributed::Triangulation
    chosen,
    p4est
  };

  template <int dim>
  void check(MeshParameters parameters, const unsigned int n_refinements, const Class wanted)
  {
    SCOPED_TRACE(testing::Message() << dim << "D " << parameters.generator << parameters.file << " cut "
                                    << static_cast<int>(parameters.simplices) << ", dealii "
                                    << parameters.dealii_refines_simplices << ", refined " << n_refinements
                                    << ", class " << static_cast<int>(wanted));
    const bool                          adaptive = wanted == Class::p4est;
    const unsigned int                  me       = Utilities::MPI::this_mpi_process(MPI_COMM_WORLD);
    Triangulation<dim>                  serial;
    std::unique_ptr<Triangulation<dim>> made =
        std::make_unique<parallel::fullydistributed::Triangulation<dim>>(MPI_COMM_WORLD);
    parameters.global_refinements     = n_refinements;
    const MeshSummary         summary = make_triangulation(serial, parameters);
    const MeshSummary         shared  = wanted == Class::dealii ? make_triangulation(*made, parameters)
                                                                : make_triangulation(made, parameters, adaptive, MPI_COMM_WORLD);
    const Triangulation<dim> &parts   = *made;
    EXPECT_EQ(shared.text(), summary.text());
    EXPECT_EQ(shared.n_coarse_cells, summary.n_coarse_cells);
    EXPECT_EQ(shared.simplices, summary.simplices);
    EXPECT_EQ(parts.n_global_active_cells(), serial.n_active_cells());
    EXPECT_EQ(parts.all_reference_cells_are_simplex(), serial.all_reference_cells_are_simplex());
    EXPECT_EQ(parts.all_reference_cells_are_hyper_cube(), serial.all_reference_cells_are_hyper_cube());

    const auto corners          = PatchFEM::bounding_box(parts).get_boundary_points(),
               expected_corners = PatchFEM::bounding_box(serial).get_boundary_points();
    EXPECT_LT(corners.first.distance(expected_corners.first), 1e-12);
    EXPECT_LT(corners.second.distance(expected_corners.second), 1e-12);

    // All cells of all ranks, each once.
    std::vector<char> own;
    for (const auto &cell : parts.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        const Cell data = describe<dim>(cell);
        own.insert(own.end(), reinterpret_cast<const char *>(&data), reinterpret_cast<const char *>(&data + 1));
      }
    std::map<Place, Cell> all;
    std::size_t           n_owned = 0;
    for (const std::vector<char> &bytes : Utilities::MPI::all_gather(MPI_COMM_WORLD, own))
      for (std::size_t i = 0; i < bytes.size(); i += sizeof(Cell), ++n_owned)
      {
        Cell cell;
        std::copy_n(bytes.data() + i, sizeof(Cell), reinterpret_cast<char *>(&cell));
        all[cell.centre] = cell;
      }
    EXPECT_EQ(n_owned, serial.n_active_cells());
    EXPECT_EQ(all.size(), serial.n_active_cells());

    const auto expect_equal = [adaptive](const Cell &cell, const Cell &expected, const unsigned int cut_id) {
      EXPECT_EQ(cell.centre, expected.centre);
      EXPECT_TRUE(std::equal(cell.vertices, cell.vertices + 8, expected.vertices)) << "other vertices or their order";
      EXPECT_NEAR(cell.measure, expected.measure, 1e-13 * expected.measure);
      EXPECT_TRUE(adaptive || cell.id == expected.id) << "p4est alone has an order of its own";
      EXPECT_EQ(cell.material, expected.material);
      for (unsigned int f = 0; f < 6; ++f)
      {
        const bool is_cut = cell.boundary_ids[f] == cut_id && expected.boundary_ids[f] == Cell::no_id;
        EXPECT_TRUE(is_cut || cell.boundary_ids[f] == expected.boundary_ids[f]);
      }
    };

    // What this rank is to have: vertices of its own cells, and cells around them.
    std::set<unsigned int> vertices;
    unsigned int           index = 0;
    for (const auto &cell : serial.active_cell_iterators())
    {
      Cell expected = describe<dim>(cell);
      if (summary.simplices && !parameters.dealii_refines_simplices) // by red_refine(), cells are numbered in order
        expected.id = index;
      ++index;
      const auto found = all.find(expected.centre);
      ASSERT_TRUE(found != all.end()) << "no rank has the cell around " << cell->center();
      expect_equal(found->second, expected, Cell::no_id);
      if (found->second.owner == me)
        for (const unsigned int v : cell->vertex_indices())
          vertices.insert(cell->vertex_index(v));
    }
    std::set<Place> here;
    for (const auto &cell : serial.active_cell_iterators())
      for (const unsigned int v : cell->vertex_indices())
        if (vertices.count(cell->vertex_index(v)) > 0)
          here.insert(place(cell->center()));
    std::size_t n_here = 0;
    for (const auto &cell : parts.active_cell_iterators())
      if (!cell->is_artificial())
      {
        const Cell data = describe<dim>(cell);
        EXPECT_EQ(here.count(data.centre), 1U);
        EXPECT_EQ(data.owner, all.at(data.centre).owner);
        expect_equal(data, all.at(data.centre), cell->is_ghost() ? PatchFEM::cut_face_id : Cell::no_id);
        ++n_here;
      }
    EXPECT_EQ(n_here, here.size());

    // METIS makes parts of about the same size.
    const double mean = static_cast<double>(serial.n_active_cells()) / number_of_ranks();
    EXPECT_LT(own.size() / sizeof(Cell), mean > 100. ? 1.3 * mean : 1e3);
  }

  /** Parts of both classes of fully distributed meshes. */
  template <int dim>
  void check(const MeshParameters &parameters, const unsigned int n_refinements)
  {
    for (const Class wanted : {Class::dealii, Class::chosen})
      check<dim>(parameters, n_refinements, wanted);
  }

  template <int dim>
  MeshParameters cube(const unsigned int n, const Simplices simplices)
  {
    MeshParameters parameters = generated("subdivided_hyper_cube", std::to_string(n) + " : 0 : 1 : true");
    parameters.simplices      = simplices;
    parameters.boundary_rules = {{17, "x < 1e-9 && y < 0.5"}, {0, "x > 0.999"}};
    return parameters;
  }

  /** Fewer coarse cells than ranks and more, refined as parts and before they are cut. */
  template <int dim>
  void check_cubes(const Simplices simplices, const bool dealii_refines)
  {
    for (const unsigned int n : {1, 2, dim == 2 ? 13 : 4})
      for (unsigned int refinements = 0; refinements < (dim == 3 && n > 2 ? 2 : 3); ++refinements)
      {
        MeshParameters parameters           = cube<dim>(n, simplices);
        parameters.dealii_refines_simplices = dealii_refines;
        if (n == 1)
          parameters.boundary_rules.clear();
        check<dim>(parameters, refinements);
      }
  }
} // namespace

TEST(MeshParallel, parts_of_simplices_are_the_serial_mesh)
{
  check_cubes<2>(Simplices::kuhn, false);
  check_cubes<3>(Simplices::kuhn, false);
}

TEST(MeshParallel, parts_refined_by_dealii_are_the_serial_mesh)
{
  check_cubes<2>(Simplices::none, false);
  check_cubes<3>(Simplices::none, false);
  check_cubes<2>(Simplices::dealii, true);
  check<3>(cube<3>(2, Simplices::kuhn), 1);
  MeshParameters parameters           = cube<3>(2, Simplices::kuhn);
  parameters.dealii_refines_simplices = true;
  check<3>(parameters, 2);

  // Enough cells for 5 ranks, so that each refines its own.
  check<2>(cube<2>(18, Simplices::none), 2);
  check<3>(cube<3>(7, Simplices::none), 1);
  parameters.generator_arguments = "4 : 0 : 1 : true";
  check<3>(parameters, 1);
}

TEST(MeshParallel, parts_of_files_are_the_serial_mesh)
{
  check<2>(from_file(real_mesh("osteon.msh")), 1);
  check<3>(from_file(real_mesh("bridge.msh")), 1);
  MeshParameters parameters = from_file(real_mesh("cylinder_plate.msh"));
  parameters.scale          = 2;
  check<3>(parameters, 0);
  // Names, and faces in two groups.
  parameters                = from_file(case_mesh("overlapping_groups/mesh.msh"));
  parameters.boundary_rules = {{"top side", "y > 0.999"}, {7, "y < 0.001"}};
  check<2>(parameters, 1);
  check<2>(from_file(case_mesh("inp_shell_edges/mesh.inp")), 1);
  check<2>(from_file(case_mesh("inp_shell_edges/mesh.inp")), 1, Class::p4est);
}

TEST(MeshParallel, parts_of_p4est_are_the_serial_mesh)
{
  check<2>(cube<2>(13, Simplices::none), 1, Class::p4est);
  check<3>(cube<3>(4, Simplices::none), 1, Class::p4est);
  check<2>(from_file(real_mesh("osteon.msh")), 1, Class::p4est);
  check<3>(from_file(real_mesh("bridge.msh")), 0, Class::p4est);
  MeshParameters parameters     = cube<3>(2, Simplices::none);
  parameters.coarse_refinements = 1;
  parameters.rotation_angle     = 30;
  parameters.boundary_rules     = {{5, "x < 0"}};
  check<3>(parameters, 1, Class::p4est);
  parameters = generated("hyper_ball", "0, 0 : 1 : false"); // curved
  check<2>(parameters, 3, Class::p4est);
}

TEST(MeshParallel, the_class_suits_the_mesh)
{
  const bool several = number_of_ranks() > 1;
  const auto expect  = [&](const MeshParameters &parameters, const bool adaptive, const bool in_parts) {
    std::unique_ptr<Triangulation<2>> triangulation;
    Triangulation<2>                  serial;
    const MeshSummary                 summary = make_triangulation(triangulation, parameters, adaptive, MPI_COMM_WORLD);
    EXPECT_EQ(summary.text(), make_triangulation(serial, parameters).text());
    EXPECT_TRUE(!several ||
                 MPICommunicator::of(triangulation->get_communicator()) == MPICommunicator::of(MPI_COMM_WORLD));
    EXPECT_EQ(triangulation->n_global_active_cells(), serial.n_active_cells());
    EXPECT_EQ(dynamic_cast<const parallel::fullydistributed::Triangulation<2> *>(triangulation.get()) != nullptr,
               several && in_parts);
    EXPECT_EQ(dynamic_cast<const parallel::distributed::Triangulation<2> *>(triangulation.get()) != nullptr,
               several && !in_parts);
  };
  expect(cube<2>(3, Simplices::kuhn), true, true);
  expect(cube<2>(3, Simplices::none), false, true);
  expect(cube<2>(3, Simplices::none), true, false);
  MeshParameters ball     = generated("hyper_ball", "0, 0 : 1 : false");
  ball.coarse_refinements = 6;
  expect(ball, false, false);
}

TEST(MeshParallel, an_error_is_one_of_all_ranks)
{
  parallel::fullydistributed::Triangulation<3> parts(MPI_COMM_WORLD);
  parallel::distributed::Triangulation<3>      p4est(MPI_COMM_WORLD);
  std::unique_ptr<Triangulation<3>>            any;
  const auto expect = [&](const MeshParameters &parameters, const std::vector<std::string> &words) {
    expect_error([&] { make_triangulation(parts, parameters); }, words);
    expect_error([&] { make_triangulation(p4est, parameters); }, words);
    expect_error([&] { make_triangulation(any, parameters, false, MPI_COMM_WORLD); }, words);
  };
  expect(from_file("nowhere.msh"), {"nowhere.msh", "cannot be opened"});
  expect(generated("hyper_qube", "1"), {"hyper_qube"});
  MeshParameters parameters           = cube<3>(1, Simplices::none);
  parameters.dealii_refines_simplices = true;
  expect(parameters, {"Simplex refinement"});
  parameters.dealii_refines_simplices = false;
  parameters.boundary_rules           = {{1, "x > 2"}};
  expect(parameters, {"x > 2"});
  expect_error([&] { make_triangulation(parts, generated("hyper_ball", "0, 0, 0 : 1 : false")); },
               {"fullydistributed", "hyper_ball", "curved"});
  expect_error([&] { make_triangulation(parts, cube<3>(2, Simplices::none), 11); }, {"4.2e9"});
}
