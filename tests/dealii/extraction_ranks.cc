// SPDX-License-Identifier: LGPL-2.1-or-later
// The extraction on several ranks, on the meshes that deal.II shares among them; each case runs on 1, 2, 3 and 5.
#include "extraction_cases.h"
#include "extraction_ranks_check.h"

#include <patchfem/app/mesh.h>
#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/fe_space_dealii.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/base/function.h>
#include <deal.II/distributed/fully_distributed_tria.h>
#include <deal.II/distributed/shared_tria.h>
#include <deal.II/distributed/tria.h>
#include <deal.II/grid/manifold_lib.h>
#include <deal.II/grid/tria_description.h>
#include <deal.II/hp/fe_collection.h>
#include <deal.II/lac/la_parallel_vector.h>
#include <deal.II/numerics/vector_tools_boundary.h>

namespace
{
  using namespace RankCheck;

  // Faces towards cells that a rank does not have look like faces with id 0 on fully distributed meshes.
  constexpr types::boundary_id fixed = 4, other = 3;

  /** Ids of faces of the unit cube, or of what has its bounding box: x = 0, x = 1, y = 1, others. */
  template <int dim>
  void set_ids(Triangulation<dim> &triangulation)
  {
    for (const auto &cell : triangulation.active_cell_iterators())
      for (const unsigned int f : cell->face_indices())
        if (cell->face(f)->at_boundary())
        {
          const Point<dim> x = cell->face(f)->center();
          cell->face(f)->set_boundary_id(x[0] < 1e-8       ? fixed
                                         : x[0] > 1 - 1e-8 ? loaded
                                         : x[1] > 1 - 1e-8 ? robin_id
                                                           : other);
        }
  }

  template <int dim>
  void set_materials(const Triangulation<dim> &triangulation)
  {
    for (const auto &cell : triangulation.active_cell_iterators())
      if (cell->is_locally_owned())
        cell->set_material_id(static_cast<int>(3 * random_of(cell->center(), 5)));
  }

  template <int dim>
  void refine_randomly(Triangulation<dim> &triangulation, const double share, const unsigned int seed)
  {
    for (const auto &cell : triangulation.active_cell_iterators())
      if (cell->is_locally_owned() && random_of(cell->center(), seed) < share)
        cell->set_refine_flag();
    triangulation.execute_coarsening_and_refinement();
  }

  template <int dim>
  struct Distributed
  {
    parallel::distributed::Triangulation<dim> triangulation{MPI_COMM_WORLD};

    Distributed(const unsigned int n, const unsigned int n_refinements)
    {
      GridGenerator::subdivided_hyper_cube(triangulation, n);
      set_ids(triangulation);
      for (unsigned int i = 0; i < n_refinements; ++i)
        refine_randomly(triangulation, dim == 2 ? 0.35 : 0.2, i);
      set_materials(triangulation);
    }
  };

  /** Value c + x + 2 y on faces that are fixed, and what else @p add has. */
  template <int dim>
  AffineConstraints<double> make_constraints(
      const Mapping<dim>                                     &mapping,
      const DoFHandler<dim>                                  &dof_handler,
      const std::function<void(AffineConstraints<double> &)> &add      = [](AffineConstraints<double> &) {},
      const types::boundary_id                                fixed_id = fixed)
  {
    struct Values : public Function<dim>
    {
      explicit Values(const unsigned int n) : Function<dim>(n) {}

      double value(const Point<dim> &x, const unsigned int c) const override { return 0.1 + c + x[0] + 2 * x[1]; }
    };
    AffineConstraints<double> constraints(DoFTools::extract_locally_relevant_dofs(dof_handler));
    DoFTools::make_hanging_node_constraints(dof_handler, constraints);
    add(constraints);
    VectorTools::interpolate_boundary_values(mapping, dof_handler, fixed_id,
                                             Values(dof_handler.get_fe_collection().n_components()), constraints);
    constraints.close();
    return constraints;
  }

  template <int dim>
  ElementTables check(const Mapping<dim> &mapping, const DoFHandler<dim> &dof_handler)
  {
    return RankCheck::check<dim>(mapping, dof_handler, make_constraints(mapping, dof_handler));
  }

  template <int dim>
  void check_distributed(const unsigned int degree, const unsigned int n_components, const unsigned int mapping_degree)
  {
    SCOPED_TRACE(testing::Message() << dim << "D, degree " << degree << ", components " << n_components);
    const Distributed<dim> mesh(2, dim == 2 ? 3 : 2);
    DoFHandler<dim>        dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(*Cases::make_element<dim>(false, degree, n_components));
    check<dim>(MappingQ<dim>(mapping_degree), dof_handler);
  }

  TEST(ExtractionRanks, ScalarsOnAdaptiveMeshes)
  {
    check_distributed<2>(1, 1, 1);
    check_distributed<2>(2, 1, 1);
    check_distributed<3>(1, 1, 1);
    check_distributed<3>(2, 1, 1);
  }

  TEST(ExtractionRanks, VectorsOnAdaptiveMeshes)
  {
    check_distributed<2>(1, 2, 1);
    check_distributed<2>(2, 2, 1);
    check_distributed<3>(1, 3, 1);
  }

  TEST(ExtractionRanks, GeometryOfCells)
  {
    check_distributed<2>(1, 2, 2);
    check_distributed<3>(2, 1, 2);
    parallel::distributed::Triangulation<2> shell(MPI_COMM_WORLD);
    GridGenerator::hyper_shell(shell, Point<2>(), 0.5, 1.0, 7, true); // ids 0 and 1
    for (const auto &cell : shell.active_cell_iterators())
      if (cell->face(3)->at_boundary())
        cell->face(3)->set_boundary_id(fixed);
    for (const auto &cell : shell.active_cell_iterators())
      if (cell->face(3)->at_boundary() && cell->center()[0] > 0)
        cell->face(3)->set_boundary_id(robin_id);
    refine_randomly(shell, 0.4, 1);
    refine_randomly(shell, 0.4, 2);
    set_materials(shell);
    DoFHandler<2> dof_handler(shell);
    dof_handler.distribute_dofs(FE_Q<2>(2));
    check<2>(MappingQ<2>(2), dof_handler);
  }

  TEST(ExtractionRanks, ComponentWiseNumbering)
  {
    const Distributed<2> mesh(2, 3);
    DoFHandler<2>        dof_handler(mesh.triangulation);
    for (const unsigned int degree : {1, 2})
    {
      dof_handler.distribute_dofs(FESystem<2>(FE_Q<2>(degree), 2));
      DoFRenumbering::component_wise(dof_handler);
      check<2>(MappingQ<2>(1), dof_handler);
    }
  }

  template <int dim>
  void check_hp(const unsigned int n_components, const bool with_nothing)
  {
    SCOPED_TRACE(testing::Message() << dim << "D, components " << n_components << ", nothing " << with_nothing);
    const Distributed<dim> mesh(2, 3);
    DoFHandler<dim>        dof_handler(mesh.triangulation);
    hp::FECollection<dim>  elements;
    for (const unsigned int degree : {1, 2, 3})
      if (degree < 3 || dim == 2)
        elements.push_back(*Cases::make_element<dim>(false, degree, n_components));
    if (with_nothing)
      elements.push_back(*Cases::make_nothing<dim>(false, n_components));
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        // What is left out lies together, away from the ids that are asked for.
        const unsigned int n   = elements.size() - with_nothing;
        const bool         out = with_nothing && cell->center()[0] < 0.5 && cell->center()[1] < 0.5;
        cell->set_active_fe_index(out ? n : static_cast<unsigned int>(n * random_of(cell->center(), 11)));
      }
    dof_handler.distribute_dofs(elements);
    check<dim>(MappingQ<dim>(1), dof_handler);
  }

  TEST(ExtractionRanks, VariableDegree)
  {
    check_hp<2>(1, false);
    check_hp<2>(2, false);
    check_hp<3>(1, false);
  }

  TEST(ExtractionRanks, CellsWithoutUnknowns)
  {
    check_hp<2>(1, true);
    check_hp<2>(2, true);
  }

  TEST(ExtractionRanks, PeriodicFaces)
  {
    for (const unsigned int degree : {1, 2})
    {
      parallel::distributed::Triangulation<2> triangulation(MPI_COMM_WORLD);
      GridGenerator::subdivided_hyper_rectangle(triangulation, {4, 2}, Point<2>(), Point<2>(1, 1));
      set_ids(triangulation);
      for (const auto &face : triangulation.active_face_iterators())
        if (face->at_boundary() && std::abs(face->center()[1] - 0.5) > 0.5 - 1e-8)
          face->set_boundary_id(face->center()[1] < 0.5 ? 10 : 11);
      std::vector<GridTools::PeriodicFacePair<Triangulation<2>::cell_iterator>> pairs;
      GridTools::collect_periodic_faces(triangulation, 10, 11, 1, pairs);
      triangulation.add_periodicity(pairs);
      for (const auto &face : triangulation.active_face_iterators())
        if (face->at_boundary() && face->boundary_id() == loaded && face->center()[1] < 0.5)
          face->set_boundary_id(robin_id);
      refine_randomly(triangulation, 0.4, 1);
      refine_randomly(triangulation, 0.4, 2);
      set_materials(triangulation);
      DoFHandler<2> dof_handler(triangulation);
      dof_handler.distribute_dofs(FE_Q<2>(degree));
      const MappingQ<2> mapping(1);
      RankCheck::check<2>(mapping, dof_handler, make_constraints<2>(mapping, dof_handler, [&](auto &constraints) {
                            DoFTools::make_periodicity_constraints(dof_handler, 10, 11, 1, constraints);
                          }));
    }
  }

  /** Cells in strips of a few, rank after rank, so that borders are long. */
  template <int dim>
  void partition_in_turns(Triangulation<dim> &triangulation)
  {
    unsigned int n = 0;
    for (const auto &cell : triangulation.active_cell_iterators())
      cell->set_subdomain_id(n++ / 3 % n_ranks());
  }

  template <int dim>
  void check_simplices(const unsigned int degree, const unsigned int n_components, const bool artificial)
  {
    SCOPED_TRACE(testing::Message() << dim << "D, degree " << degree << ", components " << n_components);
    parallel::shared::Triangulation<dim> triangulation(MPI_COMM_WORLD, Triangulation<dim>::none, artificial,
                                                       parallel::shared::Triangulation<dim>::partition_custom_signal);
    triangulation.signals.create.connect([&] { partition_in_turns(triangulation); });
    GridGenerator::subdivided_hyper_cube_with_simplices(triangulation, dim == 2 ? 4 : 3);
    set_ids(triangulation);
    set_materials(triangulation);
    DoFHandler<dim> dof_handler(triangulation);
    dof_handler.distribute_dofs(*Cases::make_element<dim>(true, degree, n_components));
    check<dim>(*Cases::make_mapping<dim>(true, 1), dof_handler);
  }

  TEST(ExtractionRanks, SharedSimplices)
  {
    for (const bool artificial : {false, true})
    {
      check_simplices<2>(1, 1, artificial);
      check_simplices<2>(2, 2, artificial);
      check_simplices<3>(1, 3, artificial);
      check_simplices<3>(2, 1, artificial);
    }
  }

  template <int dim>
  void check_fully_distributed(const bool simplex)
  {
    Triangulation<dim> serial;
    if (simplex)
      GridGenerator::subdivided_hyper_cube_with_simplices(serial, 3);
    else
    {
      GridGenerator::subdivided_hyper_cube(serial, 2);
      refine_randomly(serial, 0.4, 1);
      refine_randomly(serial, 0.4, 2);
    }
    set_ids(serial);
    partition_in_turns(serial);
    const auto description =
        TriangulationDescription::Utilities::create_description_from_triangulation(serial, MPI_COMM_WORLD);
    parallel::fullydistributed::Triangulation<dim> triangulation(MPI_COMM_WORLD);
    triangulation.create_triangulation(description);
    set_materials(triangulation);
    DoFHandler<dim> dof_handler(triangulation);
    for (const unsigned int degree : {1, 2})
    {
      dof_handler.distribute_dofs(*Cases::make_element<dim>(simplex, degree, degree == 1 ? dim : 1));
      check<dim>(*Cases::make_mapping<dim>(simplex, 1), dof_handler);
    }
  }

  TEST(ExtractionRanks, FullyDistributed)
  {
    check_fully_distributed<2>(false);
    check_fully_distributed<3>(false);
    check_fully_distributed<2>(true);
    check_fully_distributed<3>(true);
  }

  /**
   * As applications make meshes: unknowns are those of the serial mesh, and faces towards cells that a rank does not
   * have are not those with id 0, which masters of unknowns between two degrees may have.
   */
  template <int dim>
  void check_parts(const std::string &generator_arguments, const bool simplex, const unsigned int n_refinements)
  {
    using PatchFEM::MeshParameters;
    MeshParameters parameters;
    parameters.generator           = "subdivided_hyper_cube";
    parameters.generator_arguments = generator_arguments;
    parameters.simplices           = simplex ? MeshParameters::Simplices::kuhn : MeshParameters::Simplices::none;
    parameters.boundary_rules = {{0, "x < 1e-8"}, {loaded, "x > 1 - 1e-8"}, {robin_id, "y > 1 - 1e-8"}, {other, "1"}};
    parallel::fullydistributed::Triangulation<dim> triangulation(MPI_COMM_WORLD);
    Triangulation<dim>                             serial;
    PatchFEM::make_triangulation(triangulation, parameters, n_refinements);
    PatchFEM::make_triangulation(serial, parameters, n_refinements);
    set_materials(triangulation);
    for (const bool hp : {false, true})
      for (const unsigned int degree : {1, 2})
      {
        if (hp && (simplex || degree == 2))
          continue;
        SCOPED_TRACE(testing::Message() << dim << "D, " << generator_arguments << ", degree " << degree << ", hp "
                                        << hp);
        const unsigned int    n_components = degree == 1 ? dim : 1;
        hp::FECollection<dim> elements(*Cases::make_element<dim>(simplex, degree, n_components));
        if (hp)
          elements.push_back(*Cases::make_element<dim>(simplex, 2, n_components));
        DoFHandler<dim> dof_handler(triangulation), of_serial(serial);
        for (DoFHandler<dim> *handler : {&dof_handler, &of_serial})
        {
          for (const auto &cell : handler->active_cell_iterators())
            if (hp && cell->is_locally_owned())
              cell->set_active_fe_index(random_of(cell->center(), 3) < 0.5 ? 0 : 1);
          handler->distribute_dofs(elements);
        }
        EXPECT_EQ(dof_handler.n_dofs(), of_serial.n_dofs());
        const auto mapping     = Cases::make_mapping<dim>(simplex, 1);
        const auto constraints = make_constraints<dim>(
            *mapping, dof_handler, [](auto &) {}, 0);
        RankCheck::check<dim>(*mapping, dof_handler, constraints);
      }
  }

  TEST(ExtractionRanks, PartsOfMeshes)
  {
    check_parts<2>("1 : 0 : 1 : false", true, 0); // fewer cells than ranks
    check_parts<2>("14 : 0 : 1 : false", true, 1);
    check_parts<3>("3 : 0 : 1 : false", true, 1);
    check_parts<2>("5 : 0 : 1 : false", false, 1);
    check_parts<3>("2 : 0 : 1 : false", false, 1);
  }

  TEST(ExtractionRanks, FewerCellsThanRanks)
  {
    for (const unsigned int n : {1, 2})
    {
      const Distributed<2> mesh(n, 0);
      DoFHandler<2>        dof_handler(mesh.triangulation);
      dof_handler.distribute_dofs(FESystem<2>(FE_Q<2>(2), 2));
      check<2>(MappingQ<2>(1), dof_handler);
    }
  }

  /** Unit squares at @p corners, of which the one at (1, 0) is refined; rank 0 owns cells that @p is_first tells. */
  struct Squares
  {
    parallel::shared::Triangulation<2> triangulation{MPI_COMM_WORLD, Triangulation<2>::none, true,
                                                     parallel::shared::Triangulation<2>::partition_custom_signal};

    Squares(const std::vector<Point<2>> &corners, const std::function<bool(const Point<2> &)> &is_first)
    {
      const auto partition = [this, is_first] {
        unsigned int n = 0;
        for (const auto &cell : triangulation.active_cell_iterators())
          cell->set_subdomain_id(n_ranks() == 1 || is_first(cell->center()) ? 0 : 1 + n++ % (n_ranks() - 1));
      };
      triangulation.signals.create.connect(partition);
      triangulation.signals.post_refinement.connect(partition);
      std::vector<Point<2>>    vertices;
      std::vector<CellData<2>> cells;
      const auto               vertex = [&](const Point<2> &x) {
        const auto found = std::find(vertices.begin(), vertices.end(), x);
        if (found != vertices.end())
          return static_cast<unsigned int>(found - vertices.begin());
        vertices.push_back(x);
        return static_cast<unsigned int>(vertices.size() - 1);
      };
      for (const Point<2> &corner : corners)
      {
        CellData<2> cell;
        for (unsigned int v = 0; v < 4; ++v)
          cell.vertices[v] = vertex(corner + Point<2>(v % 2, v / 2));
        cells.push_back(cell);
      }
      triangulation.create_triangulation(vertices, cells, SubCellData());
      for (const auto &cell : triangulation.active_cell_iterators())
        if (cell->center().distance(Point<2>(1.5, 0.5)) < 1e-8)
          cell->set_refine_flag();
      triangulation.execute_coarsening_and_refinement();
      for (const auto &cell : triangulation.active_cell_iterators())
        for (const unsigned int f : cell->face_indices())
          if (cell->face(f)->at_boundary())
          {
            const Point<2> x = cell->face(f)->center();
            cell->face(f)->set_boundary_id(x[0] == 1 && x[1] > 1 ? fixed
                                           : x[0] == 2           ? loaded
                                           : x[0] == 0           ? robin_id
                                                                 : other);
          }
    }
  };

  Index dof_at(const DoFHandler<2> &dof_handler, const Point<2> &x)
  {
    Index found = numbers::invalid_dof_index;
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (!cell->is_artificial())
        for (const unsigned int v : cell->vertex_indices())
          if (cell->vertex(v).distance(x) < 1e-10)
            found = cell->vertex_dof_index(v, 0, cell->active_fe_index());
    return found;
  }

  /**
   * (1, 1/2) hangs between (1, 0) and (1, 1). A rank that owns only the cell below [0, 1]^2 owns the row of (1, 0), which
   * the upper fine cell feeds, though it shares no vertex with that rank's cell.
   */
  TEST(ExtractionRanks, CellsThatShareNoVertex)
  {
    const Squares mesh({{0, -1}, {0, 0}, {1, 0}, {0, 1}}, [](const Point<2> &x) { return x[1] < 0; });
    DoFHandler<2> dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    const ElementTables tables = check<2>(MappingQ<2>(1), dof_handler);
    if (n_ranks() > 1 && this_rank() == 0)
    {
      EXPECT_EQ(tables.ranks.n_own_cells[0], 1);
      unsigned int n_upper = 0;
      for (int cell = 1; cell < tables.batches[0].n_cells; ++cell)
        for (int v = 0; v < 4; ++v)
          n_upper += tables.points[tables.batches[0].points_of(cell)[v] * 2] == 1.5 &&
                     tables.points[tables.batches[0].points_of(cell)[v] * 2 + 1] == 1.;
      EXPECT_EQ(n_upper, 1u);
    }
  }

  /**
   * Rank 0 owns the fine cell at (1, 0) alone. The master (1, 1) of its hanging node lies on a fixed face of the cell
   * above [0, 1]^2, which is artificial there.
   */
  TEST(ExtractionRanks, MastersFixedOnArtificialCells)
  {
    const Squares mesh({{0, 0}, {1, 0}, {0, 1}},
                       [](const Point<2> &x) { return x[0] > 1 && x[0] < 1.5 && x[1] < 0.5; });
    DoFHandler<2> dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    const MappingQ<2>   mapping(1);
    const auto          constraints = make_constraints<2>(mapping, dof_handler);
    const ElementTables tables      = RankCheck::check<2>(mapping, dof_handler, constraints);
    if (n_ranks() > 1 && this_rank() == 0)
    {
      EXPECT_EQ(tables.ranks.n_own_cells[0], 1);
      const Index hanging = dof_at(dof_handler, {1, 0.5});
      EXPECT_EQ(constraints.get_constraint_entries(hanging)->size(), 2u);
      const auto &lines = tables.constraints;
      bool        found = false;
      for (std::size_t l = 0; l < lines.n_lines(); ++l)
        if (tables.dof_index(lines.constrained[l]) == hanging)
        {
          found = true;
          EXPECT_EQ(lines.offsets[l + 1] - lines.offsets[l], 1);
          EXPECT_DOUBLE_EQ(lines.inhomogeneity[l], 0.5 * (0.1 + 1 + 2));
        }
      EXPECT_TRUE(found);
    }
  }

  /** All ranks throw the same sentence, which contains all of @p parts. */
  template <int dim>
  void expect_refusal(const DoFHandler<dim>               &dof_handler,
                      const AffineConstraints<double>     &constraints,
                      const PatchFEM::ExtractionData<dim> &data,
                      const std::vector<std::string>      &parts)
  {
    std::string message;
    try
    {
      PatchFEM::extract_element_tables<dim>(MappingQ<dim>(1), dof_handler, constraints, data);
    }
    catch (const PatchFEM::Error &error)
    {
      message = error.what();
    }
    for (const std::string &other_message : Utilities::MPI::all_gather(MPI_COMM_WORLD, message))
      EXPECT_EQ(other_message, message);
    for (const std::string &part : parts)
      EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
  }

  TEST(ExtractionRanks, RefuseBoundaryIdsThatNoFaceHas)
  {
    const Distributed<2> mesh(2, 1);
    DoFHandler<2>        dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    PatchFEM::ExtractionData<2> data;
    data.boundary_ids = {loaded, 17};
    expect_refusal<2>(dof_handler, make_constraints<2>(MappingQ<2>(1), dof_handler), data,
                      {"boundary id 17", "the ids 1, 2, 3, 4."});

    // Nor do faces towards cells that a rank does not have.
    PatchFEM::MeshParameters parameters;
    parameters.generator           = "subdivided_hyper_cube";
    parameters.generator_arguments = "4 : 0 : 1 : true";
    parallel::fullydistributed::Triangulation<2> triangulation(MPI_COMM_WORLD);
    PatchFEM::make_triangulation(triangulation, parameters);
    DoFHandler<2> of_parts(triangulation);
    of_parts.distribute_dofs(FE_Q<2>(1));
    expect_refusal<2>(of_parts, make_constraints<2>(MappingQ<2>(1), of_parts), data,
                      {"boundary id 17", "the ids 0, 1, 2, 3."});
  }

  /**
   * Rank 0 has [0, 1]^2, whose right neighbour is refined, as a ghost cell, and not the cell above it: that face looks
   * like a boundary with id 0, and the value that deal.II takes for prescribed at (1, 1) gets into the line of
   * (1, 1/2).
   */
  TEST(ExtractionRanks, RefuseFacesTowardsMissingCells)
  {
    if (n_ranks() == 1)
      GTEST_SKIP() << "no cells are missing";
    Triangulation<2> serial;
    GridGenerator::subdivided_hyper_rectangle(serial, {2, 2}, Point<2>(), Point<2>(2, 2));
    for (const auto &face : serial.active_face_iterators())
      if (face->at_boundary())
        face->set_boundary_id(other);
    for (const auto &cell : serial.active_cell_iterators())
      if (cell->center().distance(Point<2>(1.5, 0.5)) < 1e-8)
        cell->set_refine_flag();
    serial.execute_coarsening_and_refinement();
    for (const auto &cell : serial.active_cell_iterators())
      cell->set_subdomain_id(cell->center()[0] > 1 && cell->center()[0] < 1.5 && cell->center()[1] < 0.5 ? 0 : 1);
    parallel::fullydistributed::Triangulation<2> triangulation(MPI_COMM_WORLD);
    triangulation.create_triangulation(
        TriangulationDescription::Utilities::create_description_from_triangulation(serial, MPI_COMM_WORLD));
    DoFHandler<2> dof_handler(triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    const MappingQ<2> mapping(1);
    expect_refusal<2>(dof_handler,
                      make_constraints<2>(mapping, dof_handler,
                                          [&](auto &constraints) {
                                            VectorTools::interpolate_boundary_values(mapping, dof_handler, 0,
                                                                                     Functions::ConstantFunction<2>(1.),
                                                                                     constraints);
                                          }),
                      {}, {"Process 0 prescribes", "fullydistributed", "id 0"});
    expect_refusal<2>(dof_handler, make_constraints<2>(mapping, dof_handler), {}, {});
  }

  /** The first unknown of rank 0 and that of the last rank that has any. */
  std::pair<Index, Index> two_unknowns(const DoFHandler<2> &dof_handler)
  {
    const IndexSet &owned = dof_handler.locally_owned_dofs();
    const Index     first = owned.n_elements() > 0 ? owned.nth_index_in_set(0) : 0;
    return {0, Utilities::MPI::max(first, MPI_COMM_WORLD)};
  }

  TEST(ExtractionRanks, RefuseCycles)
  {
    if (n_ranks() == 1)
      GTEST_SKIP() << "AffineConstraints::close() does not return";
    const Distributed<2> mesh(2, 1);
    DoFHandler<2>        dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    const auto [first, last] = two_unknowns(dof_handler);
    AffineConstraints<double> constraints;
    for (const auto &[a, b] : {std::make_pair(first, last), std::make_pair(last, first)})
      if (dof_handler.locally_owned_dofs().is_element(a))
      {
        constraints.add_line(a);
        constraints.add_entry(a, b, 1.);
      }
    constraints.close();
    expect_refusal<2>(dof_handler, constraints, {},
                      {"cycle", std::to_string(first) + " -> ", std::to_string(last) + " -> "});
  }

  TEST(ExtractionRanks, RefuseContradictions)
  {
    if (n_ranks() == 1)
      GTEST_SKIP() << "nobody to contradict";
    const Squares mesh({{0, -1}, {0, 0}, {1, 0}, {0, 1}}, [](const Point<2> &x) { return x[1] < 0; });
    DoFHandler<2> dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    Index dof = dof_at(dof_handler, {0, 0}); // of a cell of rank 0 and of one of another rank
    dof       = Utilities::MPI::min(dof, MPI_COMM_WORLD);
    AffineConstraints<double> constraints;
    constraints.add_line(dof);
    constraints.set_inhomogeneity(dof, 1. + this_rank());
    constraints.close();
    expect_refusal<2>(dof_handler, constraints, {},
                      {"degree of freedom " + std::to_string(dof), "differently", "degree 1 and one other"});
  }

  /** Also what only one rank can see. */
  TEST(ExtractionRanks, RefuseValuesThatAreNotFinite)
  {
    const Distributed<2> mesh(2, 1);
    DoFHandler<2>        dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    const Index               last = two_unknowns(dof_handler).second;
    AffineConstraints<double> constraints;
    if (dof_handler.locally_owned_dofs().is_element(last))
    {
      constraints.add_line(last);
      constraints.set_inhomogeneity(last, std::numeric_limits<double>::quiet_NaN());
    }
    constraints.close();
    expect_refusal<2>(dof_handler, constraints, {}, {std::to_string(last), "not finite"});
  }

  /** Only one rank has the cell at (1, 1), which turns inside out, and those whose nodes it touches have copies. */
  TEST(ExtractionRanks, RefuseATangledCell)
  {
    Distributed<2> mesh(2, 1);
    unsigned int   tangled[2] = {0, 0}; // rank and cell
    for (const auto &cell : mesh.triangulation.active_cell_iterators())
      for (const unsigned int v : cell->vertex_indices())
        if (cell->vertex(v).distance(Point<2>(1, 1)) < 1e-8)
        {
          if (cell->is_locally_owned())
          {
            tangled[0] = this_rank();
            tangled[1] = cell->active_cell_index();
          }
          cell->vertex(v) = Point<2>(0.5, 0.5);
        }
    for (unsigned int &number : tangled)
      number = Utilities::MPI::max(number, MPI_COMM_WORLD);
    DoFHandler<2> dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    const std::string rank = n_ranks() > 1 ? " of rank " + std::to_string(tangled[0]) : "";
    for (const PatchFEM::Backend &backend : {PatchFEM::Backend(), shared_backend()})
    {
      if (backend.group() != nullptr && backend.group()->groups().size() > 1)
        continue; // of a copy it is not known which rank of another group has the cell
      std::string message;
      try
      {
        const PatchFEM::FESpace<2> space(backend, MappingQ<2>(1), dof_handler,
                                         make_constraints<2>(MappingQ<2>(1), dof_handler));
      }
      catch (const PatchFEM::Error &error)
      {
        message = error.what();
      }
      EXPECT_EQ(message,
                "Cell " + std::to_string(tangled[1]) + rank +
                    " is flat or tangled: its Jacobian determinant is not positive everywhere; repair the mesh "
                    "there.");
    }
  }

  /** By spaces whose ranks share a device, if there are any, and by all others. */
  TEST(ExtractionRanks, VectorsGoThereAndBack)
  {
    const Distributed<3> mesh(2, 2);
    DoFHandler<3>        dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FESystem<3>(FE_Q<3>(1), 3));
    const MappingQ<3> mapping(1);
    for (const PatchFEM::Backend &backend : {PatchFEM::Backend(), shared_backend()})
    {
      PatchFEM::FESpace<3> space(backend, mapping, dof_handler, make_constraints<3>(mapping, dof_handler));
      LinearAlgebra::distributed::Vector<double> values(dof_handler.locally_owned_dofs(), MPI_COMM_WORLD),
          again(values);
      for (const Index dof : dof_handler.locally_owned_dofs())
        values(dof) = std::sin(double(dof));
      PatchFEM::Vector<double> x;
      space.copy_from(values, x);
      EXPECT_NEAR(x.l2_norm(), values.l2_norm(), 1e-12 * values.l2_norm());
      EXPECT_EQ(x.linfty_norm(), values.linfty_norm());
      space.copy_to(x, again);
      for (const Index dof : dof_handler.locally_owned_dofs())
        EXPECT_EQ(again(dof), values(dof));

      // Other boundary values, which every rank gives for its own unknowns.
      auto changed = make_constraints<3>(
          mapping, dof_handler, [](auto &) {}, loaded);
      EXPECT_THROW(space.update_inhomogeneities(changed), PatchFEM::Error);
      changed = make_constraints<3>(mapping, dof_handler);
      for (const Index dof : dof_handler.locally_owned_dofs())
        if (changed.is_constrained(dof) && changed.get_constraint_entries(dof)->empty())
          changed.set_inhomogeneity(dof, 7. + double(dof));
      space.update_inhomogeneities(changed);
      space.constraints().distribute(x);
      space.copy_to(x, again);
      for (const Index dof : dof_handler.locally_owned_dofs())
        if (changed.is_constrained(dof) && changed.get_constraint_entries(dof)->empty())
        {
          EXPECT_EQ(again(dof), 7. + double(dof));
        }
    }
  }

  /** Loads of a function on faces and of another of cells: their sums over all unknowns are integrals. */
  TEST(ExtractionRanks, FunctionsOnFacesAndOfCells)
  {
    const Distributed<2> mesh(2, 3);
    DoFHandler<2>        dof_handler(mesh.triangulation);
    dof_handler.distribute_dofs(FE_Q<2>(1));
    AffineConstraints<double> constraints(DoFTools::extract_locally_relevant_dofs(dof_handler));
    DoFTools::make_hanging_node_constraints(dof_handler, constraints);
    constraints.close();
    PatchFEM::ExtractionData<2> extraction;
    extraction.boundary_ids = {fixed, loaded};
    for (const PatchFEM::Backend &backend : {PatchFEM::Backend(), shared_backend()})
    {
      const PatchFEM::FESpace<2>                 space(backend, MappingQ<2>(1), dof_handler, constraints, extraction);
      PatchFEM::Assembler<PatchFEM::Laplace<2>>  assembler(space);
      PatchFEM::Vector<double>                   rhs;
      LinearAlgebra::distributed::Vector<double> load(dof_handler.locally_owned_dofs(), MPI_COMM_WORLD);
      const auto                                 sum = [&] {
        assembler.assemble_rhs(rhs);
        space.copy_to(rhs, load);
        return load.mean_value() * load.size();
      };
      assembler.set_coefficients(PatchFEM::CoefficientField::constant({1.}));
      assembler.set_face_terms(space.evaluate_on_faces(Functions::ConstantFunction<2>(3.), {loaded}));
      EXPECT_NEAR(sum(), 3., 1e-12);
      assembler.set_face_terms(space.evaluate_on_faces(Functions::ConstantFunction<2>(3.)));
      EXPECT_NEAR(sum(), 6., 1e-12);
      assembler.set_face_terms(PatchFEM::FaceTerms());
      assembler.set_body_load(PatchFEM::CoefficientField::by_cell(
          space, [](const auto &cell) { return std::vector<double>{cell->center()[0]}; }));
      EXPECT_NEAR(sum(), 0.5, 1e-12); // linear functions are those of the centres in the mean
      EXPECT_THROW(space.evaluate_on_faces(Functions::ConstantFunction<2>(3.), {other}), PatchFEM::Error);
    }
  }
} // namespace
