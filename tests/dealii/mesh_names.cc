// SPDX-License-Identifier: LGPL-2.1-or-later
// Names and groups through every reader, rules, bodies that touch, and what of files is passed over.
#include "mesh_cases.h"

#include <chrono>
#include <sstream>

namespace
{
  using namespace dealii;
  using namespace mesh_cases;
  using PatchFEM::MeshFileOptions;
  using PatchFEM::MeshLists;
  using PatchFEM::MeshParameters;
  using PatchFEM::MeshRegions;
  using PatchFEM::MeshSummary;
  using PatchFEM::read_mesh;

  using Numbers = std::set<unsigned int>;

  MeshLists read_text(const std::string     &suffix,
                      const std::string     &content,
                      const MeshFileOptions &options = {},
                      const unsigned int     dim     = 2)
  {
    return read_mesh(TemporaryFile(suffix, content).name, dim, options);
  }

  /** x of the centres of all cells, or y of those of all faces with x = @p x, in the group @p word. */
  std::set<double> cells_in(const MeshLists &mesh, const std::string &word)
  {
    std::set<double> result;
    const Numbers    ids = mesh.facts.materials.find(word, "E", "material");
    for (std::size_t c = 0; c < mesh.n_cells(); ++c)
      if (ids.count(mesh.material_ids[c]) > 0)
        result.insert(0.5 * (mesh.vertices[mesh.cell(c)[0]][0] + mesh.vertices[mesh.cell(c)[1]][0]));
    return result;
  }

  /** Centres of edges, x + 10 y. */
  std::set<double> faces_in(const MeshLists &mesh, const std::string &word)
  {
    std::set<double> result;
    const Numbers    ids = mesh.facts.boundaries.find(word, "E", "boundary");
    for (std::size_t f = 0; f < mesh.n_faces(); ++f)
      if (ids.count(mesh.face_ids[f]) > 0)
      {
        const auto &a = mesh.vertices[mesh.faces[2 * f]], &b = mesh.vertices[mesh.faces[2 * f + 1]];
        result.insert(0.5 * (a[0] + b[0]) + 5. * (a[1] + b[1]));
      }
    return result;
  }

  using Places = std::set<double>;

  /** Two squares in x < 1 and x > 1. */
  const std::string squares =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n7\n0 4 \"corner\"\n1 12 \"cold\"\n1 10 \"the sensor\"\n"
      "1 13 \"interface\"\n2 1 \"steel\"\n2 2 \"foam\"\n2 3 \"Everything\"\n$EndPhysicalNames\n"
      "$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 2 0 0\n4 0 1 0\n5 1 1 0\n6 2 1 0\n$EndNodes\n$Elements\n9\n"
      "1 15 2 4 1 1\n2 1 2 12 1 1 4\n3 1 2 12 2 3 6\n4 1 2 10 1 4 1\n5 1 2 13 3 2 5\n"
      "6 3 2 1 1 1 2 5 4\n7 3 2 2 2 2 3 6 5\n8 3 2 3 1 1 2 5 4\n9 3 2 3 2 6 5 2 3\n$EndElements\n"
      "$Periodic\n0\n$EndPeriodic\n";

  const std::string abaqus =
      "*Heading\n** two squares\n*Part, name=Plate\n*Node, nset=Nall\n1\n2, 1\n3, 2.\n4, , 1\n5, 1., 1.\n6, 2., 1., "
      "0.\n"
      "*Nset, nset=Left Nodes, generate\n1, 4, 3\n*Nset, nset=one\n6\n*Nset, nset=some\nLeft Nodes, one\n"
      "*Element, type=S4R, elset=Eall\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n*Element, type=MASS, elset=m\n9, 1\n"
      "*Elset, elset=Copper plate\n2\n*Elset, elset=gone\n77\n*Elset, elset=_picked, internal\n1\n*Nset, nset=_nodes, "
      "internal\n1, 2\n*End Part\n*Assembly, name=A\n*Instance, name=Plate-1, "
      "part=Plate\n*End Instance\n"
      "*Surface, name=Outlet\nPlate-1.Copper plate, E2\n*Surface, name=nodes, type=NODE\n3, 1.\n6, 1.\n*Surface, "
      "name=free\nEall\n"
      "*Shell section, elset=Eall, material=Steel\n0.1\n*Material, name=Steel\n*Elastic\n2e11, 0.3\n*End Assembly\n"
      "*Step\n*Static\n*Boundary\none, 1, 2\n*Cload\n3, 1, 1.\n*Equation\n2\n1, 1, 1., 2, 1, -1.\n*End Step\n";

  /** Squares or cubes as Gmsh writes them, of several boxes side by side. */
  class Boxes
  {
  public:
    /** n[0] x n[1] squares in a box. */
    void add(const std::array<unsigned int, 2> &n, const double x0, const double x1, const double y1 = 1.)
    {
      const unsigned int first = n_vertices;
      vertices.precision(16);
      for (unsigned int j = 0; j <= n[1]; ++j)
        for (unsigned int i = 0; i <= n[0]; ++i)
          vertices << ++n_vertices << ' ' << x0 + (x1 - x0) * i / n[0] << ' ' << y1 * j / n[1] << " 0\n";
      for (unsigned int j = 0; j < n[1]; ++j)
        for (unsigned int i = 0; i < n[0]; ++i)
        {
          const unsigned int v = first + 1 + i + j * (n[0] + 1);
          cells << ++n_cells << " 3 2 0 1 " << v << ' ' << v + 1 << ' ' << v + n[0] + 2 << ' ' << v + n[0] + 1 << '\n';
        }
    }

    MeshLists read(const MeshFileOptions &options = {}) const
    {
      return read_text(".msh",
                       "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n" + std::to_string(n_vertices) + "\n" +
                           vertices.str() + "$EndNodes\n$Elements\n" + std::to_string(n_cells) + "\n" + cells.str() +
                           "$EndElements\n",
                       options);
    }

  private:
    std::ostringstream vertices{std::ios::out}, cells;
    unsigned int       n_vertices = 0, n_cells = 0;
  };

  void expect_contact(const Boxes      &boxes,
                      const std::size_t n_parts,
                      const std::size_t n_coinciding,
                      const std::size_t n_touching)
  {
    const MeshLists mesh = boxes.read();
    EXPECT_EQ(mesh.facts.n_parts, n_parts);
    EXPECT_EQ(mesh.facts.n_coinciding, n_coinciding);
    EXPECT_EQ(mesh.facts.n_touching, n_touching);
  }
} // namespace

TEST(MeshNames, groups_of_gmsh_hold_on_all_that_is_in_them)
{
  const MeshLists mesh = read_text(".msh", squares);
  EXPECT_EQ(mesh.n_cells(), 2U);
  EXPECT_EQ(cells_in(mesh, "steel"), (Places{0.5}));
  EXPECT_EQ(cells_in(mesh, "2"), (Places{1.5}));
  EXPECT_EQ(cells_in(mesh, "everything"), (Places{0.5, 1.5})) << "capitals do not count";
  EXPECT_EQ(mesh.facts.materials.list(), "steel, foam") << "a group of everything says nothing";
  EXPECT_EQ(faces_in(mesh, "cold"), (Places{5., 7.}));
  EXPECT_EQ(faces_in(mesh, "the sensor"), (Places{5.}));
  EXPECT_EQ(faces_in(mesh, "10"), (Places{5.}));
  EXPECT_EQ(faces_in(mesh, "0"), (Places{0.5, 1.5, 10.5, 11.5}));
  expect_error([&] { faces_in(mesh, "interface"); }, {"'interface'", "1 face inside the mesh"});
  expect_error([&] { faces_in(mesh, "corner"); }, {"no face has it; the mesh has 0, cold, cold + the sensor"});
  ASSERT_EQ(mesh.facts.notes.size(), 1U);
  for (const char *part : {"periodicity", "'interface' has 1 face inside", "'corner' of points"})
    EXPECT_NE(mesh.facts.notes[0].find(part), std::string::npos) << mesh.facts.notes[0];

  // Of version 4.1 an entity has a list of groups.
  const MeshLists two = read_mesh(case_mesh("overlapping_groups/mesh.msh"), 2);
  EXPECT_EQ(faces_in(two, "cold").size(), 16U);
  EXPECT_EQ(faces_in(two, "sensor").size(), 8U);
  EXPECT_EQ(two.facts.boundaries.ids(), (Numbers{0, 12, 13}));
}

TEST(MeshNames, faces_of_no_cell_are_refused_where_an_entry_wants_them)
{
  std::string text = squares;
  text.replace(text.find("5 1 2 13 3 2 5"), 14, "5 1 2 12 3 1 6");
  const MeshLists mesh = read_text(".msh", text);
  EXPECT_EQ(faces_in(mesh, "the sensor"), (Places{5.}));
  expect_error([&] { faces_in(mesh, "cold"); }, {"'cold'", "1 face that no cell has"});
}

TEST(MeshNames, sets_surfaces_and_materials_of_abaqus)
{
  const MeshLists mesh = read_text(".inp", abaqus);
  EXPECT_EQ(cells_in(mesh, "COPPER PLATE"), (Places{1.5}));
  EXPECT_EQ(cells_in(mesh, "steel"), (Places{0.5, 1.5}));
  EXPECT_EQ(cells_in(mesh, "0"), (Places{0.5})) << "what is in no group that others are not in, too";
  EXPECT_EQ(mesh.facts.materials.list(), "0, Copper plate");
  EXPECT_EQ(faces_in(mesh, "Left Nodes"), (Places{5.}));
  EXPECT_EQ(faces_in(mesh, "nodes"), (Places{7.}));
  EXPECT_EQ(faces_in(mesh, "outlet"), (Places{7.}));
  EXPECT_EQ(faces_in(mesh, "Nall").size(), 6U);
  EXPECT_EQ(faces_in(mesh, "free").size(), 6U);
  const std::string note = mesh.facts.notes.at(0);
  for (const char *part : {"*BOUNDARY", "*CLOAD", "*EQUATION", "*ELASTIC", "elements of type MASS", "'one'",
                           "set 'gone' that do not exist"})
    EXPECT_NE(note.find(part), std::string::npos) << note;
  EXPECT_EQ(note.find("*STATIC"), std::string::npos) << note;
}

TEST(MeshNames, a_number_that_ends_one_name_is_its_number)
{
  const auto with = [](const std::string &left, const std::string &right) {
    return read_text(".inp", "*NODE\n1\n2,1\n3,2\n4,,1\n5,1,1\n6,2,1\n*ELEMENT,TYPE=CPS4,ELSET=" + left +
                                 "\n1,1,2,5,4\n*ELEMENT,TYPE=CPS4,ELSET=" + right + "\n2,2,3,6,5\n");
  };
  EXPECT_EQ(cells_in(with("EB2", "EB3"), "3"), (Places{1.5}));
  EXPECT_EQ(with("EB2", "EB3").material_ids, (std::vector<std::uint32_t>{2, 3}));
  const MeshLists same = with("STEEL1", "FOAM1"), none = with("Steel", "Copper"), one = with("S355J2", "S235");
  expect_error([&] { cells_in(same, "1"); }, {"it could be 'STEEL1' or 'FOAM1'"});
  EXPECT_EQ(cells_in(same, "foam1"), (Places{1.5}));
  EXPECT_NE(none.material_ids[0], none.material_ids[1]);
  expect_error([&] { cells_in(none, "0"); }, {"the mesh has Steel, Copper"});
  EXPECT_EQ(cells_in(one, "S235"), (Places{1.5}));
}

TEST(MeshNames, numbers_of_abaqus_are_labels_and_exact_names_first)
{
  const std::string nodes = "*NODE\n1\n2,1\n3,2\n4,,1\n5,1,1\n6,2,1\n", type = "*ELEMENT,TYPE=CPS4,ELSET=";
  const MeshLists   mesh =
      read_text(".inp", nodes + type + "1\n2,1,2,5,4\n" + type +
                            "2\n1,2,3,6,5\n*ELSET,ELSET=\"a, b\"\n2\n*ELSET,ELSET=1\n"
                            "*ELSET,ELSET=picked\n2\n*ELSET,ELSET=quoted\n\"2\"\n"
                            "*SOLID SECTION,ELSET=1,MATERIAL=STEEL2\n*SOLID SECTION,ELSET=2,MATERIAL=ALU1\n"
                            "*ELEMENT,TYPE=T2D2,ELSET=EDGE7\n3,1,4\n*SOLID SECTION,ELSET=EDGE7,MATERIAL=WIRE\n"
                            "*SURFACE,NAME=RIGHT7\n1,S2\n*SURFACE,NAME=LEFT8\n\"a, b\",S4\n");
  EXPECT_EQ(cells_in(mesh, "1"), (Places{0.5}));
  EXPECT_EQ(cells_in(mesh, "2"), (Places{1.5}));
  EXPECT_EQ(cells_in(mesh, "ALU1"), (Places{1.5}));
  EXPECT_EQ(cells_in(mesh, "a, b"), (Places{0.5}));
  EXPECT_EQ(cells_in(mesh, "picked"), (Places{0.5}));
  EXPECT_EQ(cells_in(mesh, "quoted"), (Places{1.5}));
  EXPECT_EQ(faces_in(mesh, "right7"), (Places{7.}));
  EXPECT_EQ(faces_in(mesh, "8"), (Places{5.}));
  expect_error([&] { faces_in(mesh, "7"); }, {"it could be", "'EDGE7'", "'RIGHT7'"});
  EXPECT_NE(mesh.facts.notes.at(0).find("the section of the lines 'EDGE7', whose stiffness is not used"),
            std::string::npos)
      << mesh.facts.notes[0];
}

TEST(MeshNames, lines_of_space_meshes_are_named)
{
  const MeshLists mesh = read_text(".inp",
                                   "*NODE\n1\n2,1\n3,,1\n4,,,1\n*ELEMENT,TYPE=C3D4,ELSET=E\n1,1,2,3,4\n"
                                   "*ELEMENT,TYPE=T3D2,ELSET=bars\n2,1,2\n",
                                   {}, 3);
  EXPECT_NE(mesh.facts.notes.at(0).find("lines of the set 'bars'"), std::string::npos) << mesh.facts.notes[0];
}

TEST(MeshNames, cell_data_of_vtk_are_chosen_by_name)
{
  const std::string head =
      "# vtk DataFile Version 3.0\nbar\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 6 double\n"
      "0 0 0 1 0 0 2 0 0 0 1 0 1 1 0 2 1 0\nCELLS 3 13\n4 0 1 4 3\n4 1 2 5 4\n2 0 3\nCELL_TYPES 3\n9 9 3\n"
      "POINT_DATA 6\nSCALARS heat double\nLOOKUP_TABLE default\n1 2 3 4 5 6\nCELL_DATA 3\n";
  const auto array = [](const std::string &name, const std::string &values) {
    return "FIELD FieldData 1\n" + name + " 1 3 double\n" + values + "\n";
  };
  for (const char *name :
       {"MaterialID", "mat_id", "material", "attribute", "gmsh:physical", "CellEntityIds", "medit:ref"})
  {
    const MeshLists mesh = read_text(".vtk", head + array("density", "0.5 0.5 0") + array(name, "4 5.0 7"));
    EXPECT_EQ(mesh.material_ids, (std::vector<std::uint32_t>{4, 5})) << name;
    EXPECT_EQ(faces_in(mesh, "7"), (Places{5.})) << name;
    EXPECT_NE(mesh.facts.notes.at(0).find("point data 'heat', cell data 'density'"), std::string::npos)
        << mesh.facts.notes[0];
  }
  // The best of several names, unless an entry chooses; a name that has something else is passed over.
  const std::string several =
      head + array("medit:ref", "1 2 3") + array("mat_id", "4 5 6") + array("my%20ids", "7 8 9");
  EXPECT_EQ(read_text(".vtk", several).material_ids, (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(read_text(".vtk", several, {"my ids", {}}).material_ids, (std::vector<std::uint32_t>{7, 8}));
  expect_error([&] { read_text(".vtk", several, {"ids", {}}); }, {"'ids'", "there are medit:ref, mat_id, my ids"});
  EXPECT_EQ(read_text(".vtk", head + array("material", "0.25 1 0") + array("medit:ref", "1 2 3")).material_ids,
            (std::vector<std::uint32_t>{1, 2}));
  expect_error([&] { read_text(".vtk", head + array("E", "0.25 1 0"), {"E", {}}); }, {"0.25 in E is no id"});
  expect_error([&] { read_text(".msh", squares, {"E", {}}); }, {"Material data = E", ".vtk"});
}

TEST(MeshNames, elements_of_lower_dimension_are_passed_over_with_a_word)
{
  const auto notes = [](const std::string &text) {
    const std::vector<std::string> found = read_text(".msh", text, {}, 3).facts.notes;
    return found.empty() ? "" : found.at(0).substr(found[0].find("': "));
  };
  const std::string tetrahedron =
      "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n"
      "$EndNodes\n$Elements\n";
  EXPECT_EQ(notes(tetrahedron + "2\n1 4 2 1 1 1 2 3 4\n2 15 2 0 1 1\n$EndElements\n"), "");
  EXPECT_EQ(notes(tetrahedron + "3\n1 4 2 1 1 1 2 3 4\n2 1 2 0 1 1 2\n3 1 2 5 1 2 3\n$EndElements\n"),
            "': 2 line elements.");
}

// An assembly with a reference point, whose label the instance has, too, and sets that come before their nodes.
TEST(MeshNames, reference_points_of_abaqus_are_no_nodes)
{
  const std::string text =
      "*ASSEMBLY, NAME=A\n*INSTANCE, NAME=P-1, PART=P\n*NSET, NSET=LEFT, GENERATE\n1, 4, 3\n"
      "*NODE\n1, 0, 0\n2, 1, 0\n3, 2, 0\n4, 0, 1\n5, 1, 1\n6, 2, 1\n"
      "*ELEMENT, TYPE=CPS4, ELSET=ALL\n1, 1, 2, 5, 4\n2, 2, 3, 6, 5\n*END INSTANCE\n"
      "*NODE\n1, 5, 5\n*NSET, NSET=POINT\n1\n*NSET, NSET=RIGHT, INSTANCE=P-1\n3, 6\n*END ASSEMBLY\n";
  const MeshLists mesh = read_text(".inp", text);
  EXPECT_EQ(mesh.vertices.size(), 6U);
  EXPECT_EQ(faces_in(mesh, "LEFT"), (Places{5.}));
  EXPECT_EQ(faces_in(mesh, "RIGHT"), (Places{7.}));
  ASSERT_EQ(mesh.facts.notes.size(), 1U);
  EXPECT_NE(mesh.facts.notes[0].find("': reference points and their sets"), std::string::npos) << mesh.facts.notes[0];
  EXPECT_EQ(mesh.facts.notes[0].find("POINT"), std::string::npos);
  expect_error([&] { read_text(".inp", "*NSET, NSET=N, GENERATE\n1, 4000000000\n" + text); },
               {"line 2", "generated set"});
}

TEST(MeshNames, thousands_of_groups_are_found_at_once)
{
  constexpr unsigned int n = 3000;
  MeshRegions            regions;
  for (unsigned int i = 0; i < n; ++i)
    regions.add({{i, "grain " + std::to_string(i)}, {-1, i % 2 == 0 ? "even" : "odd"}});
  const auto start = std::chrono::steady_clock::now();
  for (unsigned int i = 0; i < n; ++i)
  {
    EXPECT_EQ(regions.find("GRAIN " + std::to_string(i), "E", "material"), (Numbers{i}));
    EXPECT_EQ(regions.text(i), "grain " + std::to_string(i) + (i % 2 == 0 ? " + even" : " + odd"));
  }
  EXPECT_EQ(regions.find("odd", "E", "material").size(), n / 2);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 5.);
}

TEST(MeshNames, rules_give_names_and_say_what_they_add_to)
{
  MeshParameters parameters = from_file(case_mesh("overlapping_groups/mesh.msh"));
  parameters.boundary_rules = {{"cold", "y > 0.999"}, {"new one", "y < 0.001"}};
  Triangulation<2>  triangulation;
  const MeshSummary summary = make_triangulation(triangulation, parameters);
  EXPECT_EQ(summary.boundaries.list(), "cold, sensor + cold, new one");
  EXPECT_EQ(summary.text(), "162 triangles, materials body, boundaries cold, sensor + cold, new one");
  ASSERT_EQ(summary.notes.size(), 1U);
  EXPECT_NE(summary.notes[0].find("rule 'cold: y > 0.999'"), std::string::npos);
  EXPECT_NE(summary.notes[0].find("has 16 faces already"), std::string::npos) << summary.notes[0];
  parameters.boundary_rules = {{"cold", "x > 0.999"}, {12, "y < 0.001"}, {3, "x < 0.001"}};
  EXPECT_TRUE(make_triangulation(triangulation, parameters).notes.empty()) << "all faces that were in it are taken";
}

TEST(MeshNames, bodies_that_touch_are_counted_and_joined)
{
  {
    Boxes boxes;
    boxes.add({{4, 4}}, 0., 1.);
    expect_contact(boxes, 1, 0, 0);
    boxes.add({{3, 4}}, 1., 2.);
    expect_contact(boxes, 2, 4, 0);
    EXPECT_NE(boxes.read({"", 0.}).facts.notes.at(0).find("joined 5 nodes"), std::string::npos);
    EXPECT_EQ(boxes.read({"", 0.}).vertices.size(), 40U);
    expect_error([&] { boxes.read({"", 0.3}); }, {"Mesh/Join = 0.3", "set less"});
    boxes.add({{1, 1}}, 5., 6.);
    expect_contact(boxes, 3, 4, 0);
  }
  for (const double gap : {1e-9, -1e-5, 1e-4})
  {
    Boxes near;
    near.add({{4, 4}}, 0., 1.);
    near.add({{4, 4}}, 1. + gap, 2.);
    expect_contact(near, 2, 4, 0);
    const MeshLists joined = near.read({"", 2e-4});
    EXPECT_EQ(joined.vertices.size(), 45U);
    EXPECT_EQ(joined.facts.n_parts, 1U);
    EXPECT_EQ(joined.n_faces(), 24U);
    EXPECT_EQ(near.read({"", 0.}).vertices.size(), 50U);
  }
  {
    Boxes apart;
    apart.add({{4, 4}}, 0., 1.);
    apart.add({{4, 4}}, 1.01, 2.);
    expect_contact(apart, 2, 0, 0);
  }
  {
    Boxes other_nodes;
    other_nodes.add({{4, 4}}, 0., 1.);
    other_nodes.add({{4, 7}}, 1., 2.);
    expect_contact(other_nodes, 2, 0, 7);
    // A thin body, both of whose sides are near each other.
    Boxes thin;
    thin.add({{2, 2}}, 0., 1., 1e-4);
    expect_contact(thin, 1, 0, 0);
  }
  const MeshLists blocks = read_mesh(case_mesh("doubled_nodes/mesh.msh"), 3);
  EXPECT_EQ(blocks.facts.n_parts, 2U);
  EXPECT_EQ(blocks.facts.n_coinciding, 16U);
}
