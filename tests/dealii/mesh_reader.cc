// SPDX-License-Identifier: LGPL-2.1-or-later
// Mesh files: what deal.II writes comes back, small files by eye, and everything that is refused.
#include "mesh_cases.h"

#include <patchfem/app/mesh.h>

#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_out.h>

#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_stream.hpp>

#include <sstream>

namespace
{
  using namespace dealii;
  using namespace mesh_cases;
  using PatchFEM::CellKind;
  using PatchFEM::MeshLists;
  using PatchFEM::read_mesh;

  /** 3^dim cubes with materials and boundary ids that name their places, or their cut into simplices. */
  template <int dim>
  void make_marked(Triangulation<dim> &triangulation, const bool simplices)
  {
    Triangulation<dim> cubes;
    GridGenerator::subdivided_hyper_cube(cubes, 3, 0., 3.);
    if (simplices)
      GridGenerator::convert_hypercube_to_simplex_mesh(cubes, triangulation);
    else
      triangulation.copy_triangulation(cubes);
    for (const auto &cell : triangulation.active_cell_iterators())
    {
      cell->set_material_id(1 + static_cast<unsigned int>(cell->center()[0]));
      for (const unsigned int f : cell->face_indices())
        if (cell->at_boundary(f))
          cell->face(f)->set_boundary_id(static_cast<unsigned int>(2. + cell->face(f)->center()[1]));
    }
  }

  enum class Format
  {
    msh,
    vtk,
    ucd
  };

  /** GridOut writes version 1 of the format; this is the same mesh as version 2.2. */
  std::string gmsh_2(const std::string &gmsh_1)
  {
    std::istringstream in(gmsh_1);
    std::ostringstream out;
    std::string        line;
    bool               elements = false;
    out << "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n";
    while (std::getline(in, line))
    {
      std::istringstream words(line);
      long               number, type, physical, elementary, n_vertices;
      if (line == "$NOD")
        out << "$Nodes\n";
      else if (line == "$ENDNOD")
        out << "$EndNodes\n";
      else if (line == "$ELM")
        out << "$Elements\n";
      else if (line == "$ENDELM")
        out << "$EndElements\n";
      else if (elements && (words >> number >> type >> physical >> elementary >> n_vertices))
      {
        out << number << ' ' << type << " 2 " << physical << ' ' << elementary;
        for (long vertex; words >> vertex;)
          out << ' ' << vertex;
        out << '\n';
      }
      else
        out << line << '\n';
      elements = elements || line == "$ELM";
    }
    return out.str();
  }

  std::string compressed(const std::string &content)
  {
    namespace io = boost::iostreams;
    std::ostringstream    out;
    io::filtering_ostream filter;
    filter.push(io::gzip_compressor());
    filter.push(out);
    filter << content;
    filter.reset();
    return out.str();
  }

  template <int dim>
  void expect_round_trip(const Format format, const bool simplices)
  {
    Triangulation<dim> written;
    make_marked(written, simplices);
    std::ostringstream content;
    GridOut            grid_out;
    grid_out.set_flags(GridOutFlags::Msh(true, false));
    grid_out.set_flags(GridOutFlags::Ucd(false, true, false));
    if (format == Format::msh)
      grid_out.write_msh(written, content);
    else if (format == Format::vtk)
      grid_out.write_vtk(written, content);
    else
      grid_out.write_ucd(written, content);
    const std::string   suffix = format == Format::msh ? ".msh" : format == Format::vtk ? ".vtk" : ".inp";
    const std::string   text   = format == Format::msh ? gmsh_2(content.str()) : content.str();
    const TemporaryFile plain(suffix, text), packed(suffix + ".gz", compressed(text));
    for (const TemporaryFile *file : {&plain, &packed})
    {
      Triangulation<dim> read;
      make_triangulation(read, from_file(file->name));
      EXPECT_EQ(ids_of(read).materials, ids_of(written).materials);
      EXPECT_EQ(ids_of(read).boundaries, ids_of(written).boundaries);
      EXPECT_NEAR(measure(read), std::pow(3., dim), 1e-12);
    }
  }

  const std::string triangles_2 = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
                                  "$PhysicalNames\n1\n2 9 \"all of it\"\n$EndPhysicalNames\n"
                                  "$Nodes\n5\n1 0 0 0\n2 1 0 0\n30 1 1 0\n4 0 1 0\n5 7 7 7\n$EndNodes\n"
                                  "$Elements\n4\n"
                                  "1 15 2 0 1 1\n"
                                  "2 1 2 6 1 2 30\n"
                                  "3 2 2 9 1 1 2 30\n"
                                  "4 2 2 9 1 1 4 30\n$EndElements\n";

  const std::string hexahedron_4 = "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n"
                                   "$Entities\n0 0 1 1\n"
                                   "5 0 0 0 1 1 0 2 -3 8 0\n"
                                   "7 0 0 0 1 1 1 1 4 0\n$EndEntities\n"
                                   "$Nodes\n2 8 1 8\n"
                                   "2 5 1 4\n1\n2\n3\n4\n"
                                   "0 0 0 0 0\n1 0 0 0 0\n1 1 0 0 0\n0 1 0 0 0\n"
                                   "3 7 0 4\n5\n6\n7\n8\n"
                                   "0 0 1\n1 0 1\n1 1 1\n0 1 1\n$EndNodes\n"
                                   "$Elements\n2 2 1 2\n"
                                   "2 5 3 1\n1 1 2 3 4\n"
                                   "3 7 5 1\n2 1 2 3 4 5 6 7 8\n$EndElements\n";

  const std::string tetrahedra_vtk_5 = "# vtk DataFile Version 5.1\nby hand\nASCII\nDATASET UNSTRUCTURED_GRID\n"
                                       "POINTS 5 double\n0 0 0 1 0 0 0 1 0\n0 0 1 1 1 1\n"
                                       "METADATA\nINFORMATION 1\nNAME L2 LOCATION x\n\n"
                                       "CELLS 4 11\nOFFSETS vtktypeint64\n0 4 8 11\n"
                                       "CONNECTIVITY vtktypeint64\n0 1 2 3\n1 2 3 4\n0 1 2\n"
                                       "CELL_TYPES 3\n10\n10\n5\n"
                                       "CELL_DATA 3\nFIELD FieldData 2\nother 2 3 double\n1 2 3 4 5 6\n"
                                       "MaterialID 1 3 int\n5 6 2\n";

  const std::string quadrilaterals_abaqus = "*HEADING\nsomething\n** a comment\n*Node, nset=all\n"
                                            "1, 0., 0.\n2, 1., 0.\n3, 2., 0.\n4, 0., 1.\n5, 1., 1.\n6, 2., 1.\n"
                                            "*Element, type=CPS4R, elset=EB3\n10, 1, 2,\n 5, 4\n20, 2, 3, 6, 5\n"
                                            "*Elset, elset=right, generate\n20, 20, 1\n"
                                            "*Elset, elset=both\nright, 10\n"
                                            "*Surface, name=SS8, type=element\nright, S2\n10, S4\n"
                                            "*Solid Section, elset=right, material=Material-7\n1.,\n";

  const std::string triangle_vtk_3 = "# vtk DataFile Version 3.0\nby hand\nASCII\nDATASET UNSTRUCTURED_GRID\n"
                                     "POINTS 3 double\n0 0 0 1 0 0 0 1 0\nCELLS 1 4\n3 0 1 2\nCELL_TYPES 1\n5\n";

  const std::string triangles_ucd = "4 2 0 0 0\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n1 0 tri 1 2 3\n2 0 tri 1 3 4\n";

  /** @p gmsh with its section of elements in front of that of nodes. */
  std::string elements_first(std::string gmsh)
  {
    const std::size_t nodes = gmsh.find("$Nodes"), elements = gmsh.find("$Elements");
    std::rotate(gmsh.begin() + nodes, gmsh.begin() + elements, gmsh.end());
    return gmsh;
  }
} // namespace

TEST(MeshReader, what_dealii_writes_comes_back_with_its_ids)
{
  for (const bool simplices : {false, true})
    for (const Format format : {Format::msh, Format::vtk})
    {
      expect_round_trip<2>(format, simplices);
      expect_round_trip<3>(format, simplices);
    }
  expect_round_trip<2>(Format::ucd, false);
  expect_round_trip<3>(Format::ucd, false);
}

TEST(MeshReader, triangles_of_gmsh_2_by_eye)
{
  const TemporaryFile file(".msh", triangles_2);
  const MeshLists     mesh = read_mesh(file.name, 2);
  EXPECT_EQ(mesh.kind, CellKind::triangle);
  EXPECT_EQ(mesh.vertices.size(), 4U) << "one vertex is not used";
  // The second triangle is clockwise in the file.
  EXPECT_EQ(mesh.cells, (std::vector<std::uint32_t>{0, 1, 2, 0, 2, 3}));
  EXPECT_EQ(mesh.material_ids, (std::vector<std::uint32_t>{9, 9}));
  EXPECT_EQ(mesh.cell_lines, (std::vector<std::uint32_t>{20, 21}));
  EXPECT_EQ(mesh.n_faces(), 4U);
  EXPECT_EQ(mesh.face_ids, (std::vector<std::uint32_t>{0, 6, 0, 0}));
}

TEST(MeshReader, a_hexahedron_of_gmsh_4_by_eye)
{
  const TemporaryFile file(".msh", hexahedron_4);
  const MeshLists     mesh = read_mesh(file.name, 3);
  EXPECT_EQ(mesh.kind, CellKind::hexahedron);
  EXPECT_EQ(mesh.cells, (std::vector<std::uint32_t>{0, 1, 3, 2, 4, 5, 7, 6}));
  EXPECT_EQ(mesh.material_ids[0], 4U);
  // Faces are ordered -x, +x, -y, +y, -z, +z. That at the bottom is in the groups 3 and 8.
  EXPECT_EQ(mesh.face_ids, (std::vector<std::uint32_t>{0, 0, 0, 0, 9, 0}));
  for (const char *group : {"3", "8"})
    EXPECT_EQ(mesh.facts.boundaries.find(group, "E", "boundary"), (std::set<unsigned int>{9}));
}

TEST(MeshReader, tetrahedra_of_vtk_5_by_eye)
{
  const TemporaryFile file(".vtk", tetrahedra_vtk_5);
  const MeshLists     mesh = read_mesh(file.name, 3);
  EXPECT_EQ(mesh.kind, CellKind::tetrahedron);
  EXPECT_EQ(mesh.material_ids, (std::vector<std::uint32_t>{5, 6}));
  EXPECT_EQ(std::count(mesh.face_ids.begin(), mesh.face_ids.end(), 2U), 1);
  EXPECT_GT(simplex_measure(mesh, 1), 0);
}

TEST(MeshReader, quadrilaterals_of_abaqus_by_eye)
{
  const TemporaryFile file(".inp", quadrilaterals_abaqus);
  Triangulation<2>    triangulation;
  make_triangulation(triangulation, from_file(file.name));
  const Ids ids = ids_of(triangulation);
  EXPECT_EQ(ids.materials.at({500000, 500000, 0}), 3U);
  EXPECT_EQ(ids.materials.at({1500000, 500000, 0}), 7U);
  EXPECT_EQ(ids.boundaries.at({2000000, 500000, 0}), 8U);
  EXPECT_EQ(ids.boundaries.at({0, 500000, 0}), 8U);
  EXPECT_EQ(ids.boundaries.at({500000, 0, 0}), 0U);
}

TEST(MeshReader, a_hexahedron_of_abaqus_by_eye)
{
  const TemporaryFile file(".inp", "*NODE\n1,0,0,0\n2,1,0,0\n3,1,1,0\n4,0,1,0\n5,0,0,1\n6,1,0,1\n7,1,1,1\n8,0,1,1\n"
                                   "*ELEMENT, TYPE=C3D8, ELSET=EB2\n1, 1, 2, 3, 4, 5, 6, 7, 8\n"
                                   "*SURFACE, NAME=SS5\nEB2, S2\n");
  Triangulation<3>    triangulation;
  make_triangulation(triangulation, from_file(file.name));
  const Ids ids = ids_of(triangulation);
  EXPECT_EQ(ids.materials.begin()->second, 2U);
  EXPECT_EQ(ids.boundaries.at({500000, 500000, 1000000}), 5U);
  EXPECT_EQ(ids.boundaries.at({500000, 500000, 0}), 0U);
}

TEST(MeshReader, ucd_with_data_and_a_byte_order_mark)
{
  const std::size_t   end = triangles_ucd.find('\n');
  const TemporaryFile file(".inp", "\xef\xbb\xbf# a comment\n4 2 3 1 0" + triangles_ucd.substr(end) +
                                       "2 1 2\nheat, K\nwind, m/s\n1 0 1 2\n2 0 1 2\n3 0 1 2\n4 0 1 2\n"
                                       "1 1\nload, N\n1 5\n2 6\n");
  EXPECT_EQ(read_mesh(file.name, 2).n_cells(), 2U);
}

TEST(MeshReader, cracks_are_kept)
{
  // Two squares whose common edge has vertices of either, and a boundary id on one side of it.
  const TemporaryFile file(".msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n"
                                   "$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n"
                                   "5 1 0 0\n6 2 0 0\n7 2 1 0\n8 1 1 0\n$EndNodes\n"
                                   "$Elements\n3\n1 1 2 7 1 8 5\n2 3 2 0 1 1 2 3 4\n3 3 2 0 1 5 6 7 8\n$EndElements\n");
  const MeshLists     mesh = read_mesh(file.name, 2);
  EXPECT_EQ(mesh.vertices.size(), 8U);
  EXPECT_EQ(mesh.face_ids, (std::vector<std::uint32_t>{0, 0, 0, 0, 7, 0, 0, 0}));
}

TEST(MeshReader, what_cannot_be_read_is_refused_with_file_and_line)
{
  const auto replaced = [](std::string text, const std::string &from, const std::string &to) {
    const std::size_t position = text.find(from);
    EXPECT_NE(position, std::string::npos) << from;
    return text.replace(position, from.size(), to);
  };
  struct Case
  {
    std::string              suffix, content;
    unsigned int             dim;
    std::vector<std::string> parts;
  };
  const std::vector<Case> cases = {
      {".stl", "solid", 3, {"no known format", "convert"}},
      {".msh", "", 2, {"empty"}},
      {".msh", "hello", 2, {"line 1", "$MeshFormat"}},
      {".msh", replaced(triangles_2, "2.2 0", "1.0 0"), 2, {"line 2", "version 1.0", "2.2 or 4.1"}},
      {".msh", replaced(triangles_2, "2.2 0", "2.2 1"), 2, {"line 2", "binary", "ASCII"}},
      {".msh", triangles_2.substr(0, triangles_2.size() - 40), 2, {"line", "ends"}},
      {".msh", replaced(triangles_2, "$Nodes\n5", "$Nodes\n99999999"), 2, {"line 9", "99999999"}},
      {".msh", replaced(triangles_2, "30 1 1 0", "30 1 nan 0"), 2, {"line 12", "nan"}},
      {".msh", replaced(triangles_2, "30 1 1 0", "30 1 oops 0"), 2, {"line 12", "oops", "coordinate"}},
      {".msh", replaced(triangles_2, "30 1 1 0", "2 1 1 0"), 2, {"line 12", "second time"}},
      {".msh", replaced(triangles_2, "1 2 30\n4", "1 2 77\n4"), 2, {"line 20", "vertex 77"}},
      {".msh", replaced(triangles_2, "4 2 2 9 1", "4 9 2 9 1"), 2, {"line 21", "type 9", "ElementOrder"}},
      {".msh", replaced(triangles_2, "1 2 30\n4 2", "1 2 30 4\n4 2"), 2, {"line 21"}},
      {".msh", replaced(triangles_2, "3 2 2 9 1 1 2 30", "3 3 2 9 1 1 2 30 4"), 2, {"line 21", "mixes"}},
      {".msh", replaced(triangles_2, "1 4 30", "1 4 4"), 2, {"cell 1", "line 21", "vertex twice"}},
      {".msh", replaced(triangles_2, "4 0 1 0", "4 2 2 0"), 2, {"cell 1", "line 21", "flat"}},
      {".msh", replaced(triangles_2, "4 0 1 0", "4 0 1 3"), 2, {"surface in space"}},
      {".msh", triangles_2, 3, {"no cells of dimension 3"}},
      {".msh", hexahedron_4, 2, {"line 35", "hexahedra", "Dimension = 3"}},
      {".msh", replaced(hexahedron_4, "0 0 1\n1 0 1\n1 1 1\n0 1 1", "0 0 1\n1 0 -1\n1 1 1\n0 1 1"), 3, {"tangled"}},
      {".msh", replaced(hexahedron_4, "3 7 5 1\n2 1 2 3 4 5 6 7 8", "3 7 6 1\n2 1 2 3 4 5 6"), 3, {"prisms"}},
      {".vtk", "solid", 3, {"line 1", "# vtk"}},
      {".vtk", replaced(tetrahedra_vtk_5, "ASCII", "BINARY"), 3, {"line 3", "binary"}},
      {".vtk", replaced(tetrahedra_vtk_5, "UNSTRUCTURED_GRID", "POLYDATA"), 3, {"line 4", "POLYDATA"}},
      {".vtk", replaced(tetrahedra_vtk_5, "10\n10\n5", "10\n24\n5"), 3, {"line 21", "cell type 24"}},
      {".vtk", replaced(tetrahedra_vtk_5, "10\n10\n5", "10\n12\n5"), 3, {"line 17", "vertices"}},
      {".vtk", replaced(tetrahedra_vtk_5, "0 4 8 11", "0 4 99 11"), 3, {"line 14", "offsets"}},
      {".vtk", replaced(tetrahedra_vtk_5, "5 6 2", "5 -6 2"), 3, {"-6", "material"}},
      {".inp", "1 2", 2, {"ends"}},
      {".ucd", "2 1 0 0 0\n1 0 0 0\n2 1 0 0\n1 0 quax 1 2\n", 2, {"line 4", "quax"}},
      {".inp", replaced(quadrilaterals_abaqus, "CPS4R", "CPS8"), 2, {"line 11", "CPS8"}},
      {".inp", replaced(quadrilaterals_abaqus, "20, 2, 3, 6, 5", "20, 2, 3, 6, 5, 9"), 2, {"line 14", "5 vertices"}},
      {".inp", replaced(quadrilaterals_abaqus, "right, S2", "right, S5"), 2, {"S5"}},

      // What files declare, held against what follows.
      {".msh", replaced(triangles_2, "$Nodes\n5", "$Nodes\n4"), 2, {"line 14", "'5' stands where $EndNodes"}},
      {".msh", replaced(triangles_2, "$Elements\n4", "$Elements\n3"), 2, {"line 21", "$EndElements"}},
      {".msh", triangles_2 + triangles_2, 2, {"line 23", "$MeshFormat is there for the second time"}},
      {".msh", triangles_2 + "$Nodes\n0\n$EndNodes\n", 2, {"line 23", "$Nodes is there for the second time"}},
      {".msh", triangles_2 + "garbage", 2, {"line 23", "garbage"}},
      {".msh", replaced(triangles_2, "Names\n1", "Names\n2"), 2, {"line 7", "the dimension of an entity"}},
      {".msh", replaced(triangles_2, "\"all of it\"", ""), 2, {"line 6", "quotation marks"}},
      {".msh", elements_first(triangles_2), 2, {"line 8", "Elements stands before $Nodes"}},
      {".msh", replaced(triangles_2, "2 1 2 6 1 2 30", "2 1 2 6 1 2 30\n9 1 2 7 1 30 2"), 2, {"line 22"}},
      {".msh", replaced(hexahedron_4, "$Nodes\n2 8", "$Nodes\n2 9"), 3, {"line 28", "together 8", "declared as 9"}},
      {".msh", replaced(hexahedron_4, "$Nodes\n2 8", "$Nodes\n1 8"), 3, {"together 4", "declared as 8"}},
      {".msh", replaced(hexahedron_4, "2 8 1 8", "2 8 1 9"), 3, {"from 1 to 8", "declares 1 to 9"}},
      {".msh", replaced(hexahedron_4, "2 8 1 8", "2 8 0 8"), 3, {"from 1 to 8", "declares 0 to 8"}},
      {".msh", replaced(hexahedron_4, "2 2 1 2\n", "2 3 1 2\n"), 3, {"together 2", "elements is declared as 3"}},
      {".msh", replaced(hexahedron_4, "2 2 1 2\n", "1 2 1 2\n"), 3, {"together 1", "declared as 2"}},
      {".msh", replaced(hexahedron_4, "2 2 1 2\n", "2 2 1 7\n"), 3, {"declares 1 to 7"}},
      {".msh", replaced(hexahedron_4, "3 7 5 1", "3 9 5 1"), 3, {"line 34", "entity 9 of dimension 3"}},
      {".msh", replaced(hexahedron_4, "3 7 5 1", "2 5 5 1"), 3, {"line 34", "dimension 2", "hexahedra"}},
      {".msh", replaced(hexahedron_4, "2 5 1 4", "2 5 2 4"), 3, {"line 11", "0 or 1"}},
      {".msh", replaced(hexahedron_4, "0 0 1 1\n5", "0 0 2 0\n5"), 3, {"line 34", "entity 7 of dimension 3"}},
      {".msh", replaced(hexahedron_4, "$Nodes", "$PartitionedEntities\n1\n$Nodes"), 3, {"line 9", "partitioned"}},
      {".vtk", replaced(tetrahedra_vtk_5, "CELLS 4 11", "CELLS 4 12"), 3, {"line 14", "offsets", "0 to", "12"}},
      {".vtk", replaced(tetrahedra_vtk_5, "0 4 8 11", "1 4 8 11"), 3, {"line 14", "offsets"}},
      {".vtk", tetrahedra_vtk_5 + "CELL_TYPES 3\n10 10 5\n", 3, {"CELL_TYPES is there for the second time"}},
      {".vtk", tetrahedra_vtk_5 + tetrahedra_vtk_5, 3, {"line 29", "no keyword"}},
      {".vtk", replaced(tetrahedra_vtk_5, "other 2 3", "other 3 2"), 3, {"line 25", "2 tuples where 3 should be"}},
      {".vtk",
       replaced(tetrahedra_vtk_5, "other 2", "MaterialID 2"),
       3,
       {"line 25", "MaterialID should be there once"}},
      {".vtk", replaced(tetrahedra_vtk_5, "CELL_DATA 3\n", ""), 3, {"MaterialID stands before CELL_DATA"}},
      {".vtk", replaced(tetrahedra_vtk_5, "x\n\nCELLS", "x\nCELLS"), 3, {"METADATA should end with an empty line"}},
      {".vtk", replaced(triangle_vtk_3, "CELLS 1 4", "CELLS 1 5"), 2, {"line 8", "4 numbers where CELLS declares 5"}},
      {".inp", triangles_ucd + "3 0 tri 1 2 3\n", 2, {"line 8", "stands after the end", "4 vertices", "2 elements"}},
      {".inp", triangles_ucd + triangles_ucd, 2, {"line 8", "stands after the end"}},
      {".inp", replaced(triangles_ucd, "4 2 0", "4 3 0"), 2, {"ends where the number of an element"}},
      {".inp", replaced(triangles_ucd, "2 0 0 0", "2 0 0 1"), 2, {"line 1", "data of the model"}},
      {".inp", replaced(triangles_ucd, "2 0 0 0", "2 1 0 0"), 2, {"ends where the number of components"}},
      {".inp", replaced(triangles_ucd, "2 0 0 0", "2 2 0 0") + "1 1\n", 2, {"line 8", "1 numbers where", "declares 2"}},
      {".inp", quadrilaterals_abaqus + quadrilaterals_abaqus, 2, {"second time"}},
      {".inp", replaced(quadrilaterals_abaqus, "20, 20, 1", "20, 21, 1"), 2, {"line 16", "generated set"}},
      {".inp", replaced(quadrilaterals_abaqus, "*Elset, elset=both", "*Elset, set=both"), 2, {"line 17", "ELSET=NAME"}},
      {".inp", replaced(quadrilaterals_abaqus, "nset=all", "system=C"), 2, {"line 4", "SYSTEM=C"}},
      {".inp", replaced(quadrilaterals_abaqus, "*Elset, elset=both", "*Elgen\n10, 5"), 2, {"line 17", "*ELGEN"}},
      {".inp",
       quadrilaterals_abaqus + "*Solid section, elset=both, material=M-4\n",
       2,
       {"line 24", "material 'Material-7'"}},
      {".inp", quadrilaterals_abaqus + "*Instance, name=A\n*Instance, name=B\n", 2, {"line 25", "instances"}},
      {".inp", quadrilaterals_abaqus + "*Instance, name=A\n1, 0, 0\n", 2, {"line 25", "moved"}},

      // A cell whose type is that of a face.
      {".vtk",
       replaced(replaced(tetrahedra_vtk_5, "10\n10\n5", "10\n9\n5"), "5 6 2", "5 0 2"),
       3,
       {"line 18", "mixes", "quadrilaterals"}},

      // Meshes that overlap themselves, in files without an error.
      {".inp",
       replaced(triangles_ucd, "2 0 tri 1 3 4", "2 0 tri 3 1 2"),
       2,
       {"cell 0", "line 6", "cell 1", "line 7", "same side"}},
      {".inp",
       replaced(triangles_ucd, "4 0 1 0", "4 0.9 0.2 0"),
       2,
       {"cell 0", "cell 1", "the face centred at (0.5, 0.5)"}},
      {".msh", "\xef\xbb\xbf" + replaced(triangles_2, "30 1 1 0", "30 1 oops 0"), 2, {"line 12", "oops"}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i)
  {
    SCOPED_TRACE("case " + std::to_string(i) + ", " + cases[i].parts[0]);
    const TemporaryFile      file(cases[i].suffix, cases[i].content);
    std::vector<std::string> parts = cases[i].parts;
    parts.push_back(file.name);
    expect_error([&] { read_mesh(file.name, cases[i].dim); }, parts);
  }
  expect_error([] { read_mesh("missing.msh", 2); }, {"missing.msh", "cannot be opened"});
}

TEST(MeshReader, compressed_files_are_whole_or_refused)
{
  const std::string whole = compressed(triangles_ucd), refusal = "is no gzip file, or not a whole one";
  const auto        read = [](const std::string &content) {
    const TemporaryFile file(".ucd.GZ", content);
    return read_mesh(file.name, 2).vertices.size();
  };
  EXPECT_EQ(read(whole), 4U);
  for (std::size_t n = 1; n < whole.size(); ++n)
    expect_error([&] { read(whole.substr(0, n)); }, {refusal});
  for (const std::size_t damaged : {std::size_t(0), whole.size() / 2, whole.size() - 6})
  {
    std::string content = whole;
    content[damaged] ^= 1;
    expect_error([&] { read(content); }, {refusal});
  }
  expect_error([&] { read(triangles_ucd); }, {refusal, "take .gz from the name"});
  expect_error([&] { read(""); }, {"is empty or not a file"});
  expect_error([&] { read(compressed("")); }, {"is empty"});
}
