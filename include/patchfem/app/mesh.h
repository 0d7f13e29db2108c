// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/mesh_manifolds.h>
#include <patchfem/base/mesh_lists.h>

#include <deal.II/base/bounding_box.h>
#include <deal.II/base/parameter_handler.h>
#include <deal.II/base/point.h>
#include <deal.II/grid/tria.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace PatchFEM
{
  /**
   * Where a domain comes from and what is done to it before the first cycle. It reads two sections:
   * @code
   *   subsection Mesh
   *     set Generator           = hyper_cube          # a function of dealii::GridGenerator, or
   *     set Generator arguments = 0 : 1 : false
   *     set File                = meshes/bridge.msh   # a file: exactly one of Generator and File
   *     set Material data       =                     # cell data of a .vtk file that are its ids
   *     set Join                =                     # nodes of the file that are so near each other become one
   *     set Coarse refinements  = 0                   # refined on its manifolds to what becomes the coarse mesh,
   *     set Simplices           = none                # cut: none | kuhn (2 triangles, 6 tets) | dealii (8, 24),
   *     set Scale               = 1                   # scaled,
   *     set Rotation            =                     # turned about the origin, `z 30` (axis, degrees; 2D: z only),
   *     set Manifolds           =                     # its boundaries put on curves, `hole: circle 0, 0`,
   *     set Global refinements  = 0                   # and refined
   *     set Simplex refinement  = red                 # simplices only: red | dealii
   *   end
   *   subsection Boundary ids
   *     set Rules = clamp: x < 1e-9; 2: x > 9.999 && y < 1
   *   end
   * @endcode
   * Rules are muParser predicates of x, y and z at the centre of each boundary face of the coarse mesh; the first that
   * holds puts the face into the boundary of its number or name, and out of those of the file or generator. Children of
   * the face inherit that. A face that no rule matches stays where it is (in 0 if nothing says where).
   *
   * Simplices are straight: on a curved domain of a generator Coarse refinements follow the curve, Global refinements
   * only that of Manifolds.
   */
  struct MeshParameters
  {
    void declare_parameters(dealii::ParameterHandler &prm);
    void parse_parameters(dealii::ParameterHandler &prm);

    std::string           generator, generator_arguments, file, material_data;
    std::optional<double> join; ///< see MeshFileOptions

    double       scale              = 1.;
    char         rotation_axis      = 'z'; ///< x, y or z
    double       rotation_angle     = 0.;  ///< degrees counter-clockwise
    unsigned int coarse_refinements = 0;

    std::vector<CurvedBoundary> manifolds;

    enum class Simplices
    {
      none,  ///< the cells stay what they are
      kuhn,  ///< quads to 2 triangles, hexes to 6 tetrahedra around one diagonal
      dealii ///< GridGenerator::convert_hypercube_to_simplex_mesh(): 8 triangles or 24 tetrahedra
    };
    Simplices    simplices                = Simplices::none;
    unsigned int global_refinements       = 0;
    bool         dealii_refines_simplices = false;

    /** The boundary and the predicate as it was written. */
    struct Rule
    {
      std::string boundary; ///< its number or name
      std::string predicate;

      Rule(const dealii::types::boundary_id id, const std::string &predicate)
          : boundary(std::to_string(id)), predicate(predicate)
      {}
      Rule(const std::string &name, const std::string &predicate) : boundary(name), predicate(predicate) {}
    };
    std::vector<Rule> boundary_rules;

    /** Folder that a relative File starts from; the application sets it to that of the parameter file. */
    std::string directory;
  };

  /** Options of reading a mesh file. */
  struct MeshFileOptions
  {
    /// Name of the cell data of a .vtk file that hold ids; empty: the first of several common names that is there.
    std::string material_data;
    /// Nodes that are at most so far from each other become one; 0: those at the same place. Nothing: none.
    std::optional<double> join;
  };

  /**
   * Reads a mesh of linear triangles, quadrilaterals, tetrahedra or hexahedra, one kind per file, whose cells have
   * dimension @p dim. The suffix decides about the format, text in each case, compressed if `.gz` is behind it:
   * - `.msh`: Gmsh 2.2 and 4.1. Cells and faces are in their physical groups, with numbers and names. In 2.2 an element
   *   is there once for each of its groups.
   * - `.vtk`: legacy VTK, unstructured grid, to version 5.1. One array of cell data holds the materials of cells and the
   *   boundaries of faces: `MaterialID`, as dealii::GridOut writes it, `mat_id`, `material`, `material_id`, `attribute`,
   *   `MaterialIds`, `gmsh:physical`, `CellEntityIds`, `medit:ref`, or the one of @p options.
   * - `.ucd`, `.inp`: AVS UCD. The material number of a cell is its material, that of a face its boundary.
   * - `.inp` whose first line starts with `*`: Abaqus. Cells are in their element sets and the material of their
   *   `*SOLID SECTION`, faces in `*SURFACE`s, in the sets of elements that are such a face, and in sets of nodes that have
   *   all of its vertices. A number that ends just one of the names that cells have, or just one of those that faces
   *   have, of materials, of sets in `*ELEMENT` and of surfaces, is a number of that one, too: `EB2` is 2, unless there is
   *   `SIDE2`, or a set `2`. Where a cell's material and its set end in numbers, that of the material counts.
   *
   * Material and boundary ids of the lists are numbers where cells and faces are in one numbered group, see MeshRegions,
   * and 0 where they are in none. The facts of the lists have the names, and notes about what was passed over: elements
   * of lower dimension than faces, faces of groups that are not on the boundary, other data. They count parts of the mesh
   * that have no vertex in common, and faces that touch without being joined (find_contact()). The result has no unused
   * vertices and only positive cells (see orient_cells()).
   *
   * Throws Error, one sentence with the file and where possible the line: for files that are missing, malformed or of
   * another format (with the remedy), that hold other numbers of things than declared or something twice, mixed or high
   * order cells, another dimension, surfaces in space, and cells that the functions of mesh_lists.h refuse.
   */
  MeshLists read_mesh(const std::string &file_name, unsigned int dim, const MeshFileOptions &options = {});

  /** Kind and numbers of a mesh, with names and notes; equal on all ranks. */
  struct MeshSummary : MeshFacts
  {
    std::string   cell_kind; ///< `triangles`, `quadrilaterals`, `tetrahedra` or `hexahedra`
    bool          simplices      = false;
    bool          curved         = false; ///< whether new vertices follow manifolds
    std::uint64_t n_coarse_cells = 0;
    std::uint64_t n_cells        = 0; ///< after global refinement
    std::string   polygons;           ///< see find_polygons(); empty where a generator's manifolds are kept

    /**
     * For a line of the log: `576 hexahedra, materials 1, boundary ids 0, 1, 2`, or `128 hexahedra in 2 parts (16 of their
     * faces coincide without being joined), materials steel, boundaries clamp, load`.
     */
    std::string text() const;

    template <typename Archive>
    void serialize(Archive &archive, const unsigned int version)
    {
      MeshFacts::serialize(archive, version);
      archive &cell_kind &simplices &curved &n_coarse_cells &n_cells &polygons;
    }
  };

  /** What is to be done to quads and hexes, with the ids of their boundary, before they are refined: p4est's periodicity. */
  template <int dim>
  using BeforeRefinement = std::function<void(dealii::Triangulation<dim> &, const MeshSummary &)>;

  /**
   * Builds the domain in @p triangulation, replacing what it held, and refines it globally
   * `Global refinements` + @p additional_refinements times. Simplices are refined on lists before the
   * triangulation exists (see red_refine()), so a further global refinement of a simplex domain is another call
   * with more @p additional_refinements, never refine_global(). A file is read by the first rank alone.
   *
   * @p triangulation may be serial, parallel::shared (any cells), parallel::distributed (quads and hexes) or
   * parallel::fullydistributed (any straight cells). Of the last each rank gets those of its coarse cells and of their
   * neighbours, which it refines: the refined mesh is nowhere as a whole, and the coarse one on the first rank alone.
   * Only another call refines it further, and faces of ghost cells towards cells that the rank does not have get the id
   * @p cut_face_id.
   *
   * Throws Error, on every rank alike, for everything that is wrong with the description or the file.
   */
  template <int dim>
  MeshSummary make_triangulation(dealii::Triangulation<dim>  &triangulation,
                                 const MeshParameters        &parameters,
                                 unsigned int                 additional_refinements = 0,
                                 const BeforeRefinement<dim> &before_refinement      = nullptr);

  constexpr dealii::types::boundary_id cut_face_id = dealii::numbers::invalid_boundary_id - 1;

  /**
   * Builds the domain in a new @p triangulation of the class that suits @p communicator. Of one process it is serial.
   * Several share straight cells as parallel::fullydistributed, but for quads and hexes that are to be @p of_p4est or need
   * something @p before_refinement. These and curved cells are p4est's, who keeps the coarse mesh on each rank and takes
   * two to four times as long to refine it.
   */
  template <int dim>
  MeshSummary make_triangulation(std::unique_ptr<dealii::Triangulation<dim>> &triangulation,
                                 const MeshParameters                        &parameters,
                                 bool                                         of_p4est,
                                 MPI_Comm                                     communicator,
                                 const BeforeRefinement<dim>                 &before_refinement = nullptr);

  /** The box around the cells of all ranks. Collective. */
  template <int dim>
  dealii::BoundingBox<dim> bounding_box(const dealii::Triangulation<dim> &triangulation);
} // namespace PatchFEM
