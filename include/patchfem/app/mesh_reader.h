// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_lists.h>

#include <string>

namespace PatchFEM
{
  /**
   * Reads a mesh of linear triangles, quadrilaterals, tetrahedra or hexahedra, one kind per file, whose cells have
   * dimension @p dim. The suffix decides about the format, text in each case, which may be compressed, with `.gz` behind it:
   * - `.msh`: Gmsh 2.2 and 4.1. The first physical group of a cell is its material id, that of a face its boundary id.
   * - `.vtk`: legacy VTK, unstructured grid, to version 5.1. Cell data `MaterialID`, as dealii::GridOut writes
   *   it, holds material ids of cells and boundary ids of faces; other data are passed over.
   * - `.ucd`, `.inp`: AVS UCD. The material number of a cell is its material id, that of a face its boundary id.
   * - `.inp` whose first line starts with `*`: Abaqus. A number at the end of an element set's name (`ELSET=EB2` of
   *   `*ELEMENT`) or of a material's (`*SOLID SECTION, ELSET=..., MATERIAL=Material-2`, which goes first) is the
   *   material id, one at the end of the name of a `*SURFACE` its boundary id.
   *
   * Ids are 0 where a file gives none. Elements of lower dimension than faces carry nothing that is used and are passed
   * over. The result has no unused vertices and only positive cells (see orient_cells()).
   *
   * Throws Error, one sentence with the file and where possible the line: for files that are missing, malformed or of
   * another format (with the remedy), that hold other numbers of things than they declare or something twice, mixed or higher order cells, another dimension, curved surfaces (dim = 2), and
   * cells that delete_unused_vertices(), orient_cells() or complete_boundary_faces() refuse.
   */
  MeshLists read_mesh(const std::string &file_name, unsigned int dim);
} // namespace PatchFEM
