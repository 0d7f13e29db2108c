# SPDX-License-Identifier: LGPL-2.1-or-later
"""Valid inputs for mutate.py: small meshes of the unit square and cube in every format, images of voxels, parameters."""
import itertools
import struct

# In loops, as the formats have them.
SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
CUBE = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
GMSH_TYPE = {(1, 2): 1, (2, 3): 2, (2, 4): 3, (3, 4): 4, (3, 8): 5}
VTK_TYPE = {(1, 2): 3, (2, 3): 5, (2, 4): 9, (3, 4): 10, (3, 8): 12}
UCD_TYPE = {(1, 2): "line", (2, 3): "tri", (2, 4): "quad", (3, 4): "tet", (3, 8): "hex"}
ABAQUS_TYPE = {(2, 3): "CPS3", (2, 4): "CPS4", (3, 4): "C3D4", (3, 8): "C3D8"}


class Mesh:
    """The unit square or cube in n^dim cells, or these cut into simplices, inner points moved a little. Materials 1 and 2
    on the left and right; the boundary ids 1 to 2 dim name its sides."""

    def __init__(self, rng, dim, simplices, n):
        self.dim, self.simplices = dim, simplices
        self.points, number = [], {}
        for place in itertools.product(range(n + 1), repeat=dim):
            inner = all(0 < i < n for i in place)
            number[place] = len(self.points)
            self.points.append([i / n + (rng.uniform(-0.15, 0.15) / n if inner else 0) for i in place])
        self.cells = []
        for base in itertools.product(range(n), repeat=dim):
            at = lambda corner: number[tuple(b + c for b, c in zip(base, corner))]
            if simplices:
                for axes in itertools.permutations(range(dim)):
                    corner, path = [0] * dim, [at([0] * dim)]
                    for axis in axes:
                        corner[axis] = 1
                        path.append(at(corner))
                    self.cells.append(path)
            else:
                self.cells.append([at(corner) for corner in (SQUARE if dim == 2 else CUBE)])
        self.faces = []
        for cell in self.cells:
            for face in self.faces_of(cell):
                for axis, side in itertools.product(range(dim), (0, 1)):
                    if all(self.points[v][axis] == side for v in face):
                        self.faces.append((face, 1 + 2 * axis + side))

    def faces_of(self, cell):
        if self.simplices:
            return [list(face) for face in itertools.combinations(cell, self.dim)]
        if self.dim == 2:
            return [[cell[i], cell[(i + 1) % 4]] for i in range(4)]
        loops = [(0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
        return [[cell[i] for i in loop] for loop in loops]

    def material(self, cell):
        return 1 if sum(self.points[v][0] for v in cell) / len(cell) < 0.5 else 2

    def coordinates(self):
        return [" ".join(repr(x) for x in (point + [0.0])[:3]) for point in self.points]

    def total_measure(self):
        """Sum of the areas or volumes of all cells, more than 1 if they overlap; None for hexahedra."""
        total = 0
        for cell in self.cells:
            x = [self.points[v] for v in cell]
            if self.simplices:
                edges = [[a - b for a, b in zip(y, x[0])] for y in x[1:]]
                total += abs(determinant(edges)) / (2 if self.dim == 2 else 6)
            elif self.dim == 2:
                total += abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(x, x[1:] + x[:1]))) / 2
            else:
                return None
        return total


def determinant(m):
    if len(m) == 2:
        return m[0][0] * m[1][1] - m[0][1] * m[1][0]
    return sum(m[0][i] * (m[1][(i + 1) % 3] * m[2][(i + 2) % 3] - m[1][(i + 2) % 3] * m[2][(i + 1) % 3]) for i in range(3))


def numbers(values):
    return " ".join(str(v) for v in values)


def elements(mesh):
    """(dimension, id, vertices) of all faces, then of all cells, labels of vertices from 1."""
    return ([(mesh.dim - 1, i, [v + 1 for v in face]) for face, i in mesh.faces] +
            [(mesh.dim, mesh.material(cell), [v + 1 for v in cell]) for cell in mesh.cells])


def gmsh2(mesh, rng):
    lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat"]
    if rng.random() < 0.5:
        lines += ["$PhysicalNames", "2", f'{mesh.dim} 1 "the left half"', f'{mesh.dim} 2 "right"', "$EndPhysicalNames"]
    lines += ["$Nodes", str(len(mesh.points))] + [f"{i + 1} {x}" for i, x in enumerate(mesh.coordinates())]
    lines += ["$EndNodes", "$Elements", str(len(elements(mesh)))]
    for i, (dim, group, vertices) in enumerate(elements(mesh)):
        lines.append(f"{i + 1} {GMSH_TYPE[dim, len(vertices)]} 2 {group} {group} {numbers(vertices)}")
    return lines + ["$EndElements"]


def gmsh4(mesh, rng):
    groups = {}
    for dim, group, vertices in elements(mesh):
        groups.setdefault((dim, group), []).append(vertices)
    count = [sum(dim == d for dim, _ in groups) for d in range(4)]
    lines = ["$MeshFormat", "4.1 0 8", "$EndMeshFormat", "$Entities", numbers(count)]
    lines += [f"{group + 10} 0 0 0 1 1 1 1 {group} 0" for _, group in sorted(groups)]
    n, points = len(mesh.points), mesh.coordinates()
    blocks = [b for b in (range(n // 2), range(n // 2, n)) if b]
    lines += ["$EndEntities", "$Nodes", f"{len(blocks)} {n} 1 {n}"]
    for block in blocks:
        lines += [f"{mesh.dim} 11 0 {len(block)}"] + [str(v + 1) for v in block] + [points[v] for v in block]
    total = sum(len(block) for block in groups.values())
    lines += ["$EndNodes", "$Elements", f"{len(groups)} {total} 1 {total}"]
    label = itertools.count(1)
    for (dim, group), block in sorted(groups.items()):
        lines.append(f"{dim} {group + 10} {GMSH_TYPE[dim, len(block[0])]} {len(block)}")
        lines += [f"{next(label)} {numbers(vertices)}" for vertices in block]
    return lines + ["$EndElements"]


def ucd(mesh, rng):
    data = rng.random() < 0.3
    all_elements = elements(mesh)
    lines = ["# a comment", f"{len(mesh.points)} {len(all_elements)} {2 if data else 0} 0 0"]
    lines += [f"{i + 1} {x}" for i, x in enumerate(mesh.coordinates())]
    for i, (dim, group, vertices) in enumerate(all_elements):
        lines.append(f"{i + 1} {group} {UCD_TYPE[dim, len(vertices)]} {numbers(vertices)}")
    if data:
        lines += ["2 1 1", "heat, K", "load, N"] + [f"{i + 1} {i} 0.5" for i in range(len(mesh.points))]
    return lines


def abaqus(mesh, rng):
    lines = ["*HEADING", "by a script", "** a comment", "*NODE"]
    lines += [f"{i + 1}, {', '.join(x.split())}" for i, x in enumerate(mesh.coordinates())]
    for material in (1, 2):
        cells = [(i, cell) for i, cell in enumerate(mesh.cells) if mesh.material(cell) == material]
        lines.append(f"*ELEMENT, TYPE={ABAQUS_TYPE[mesh.dim, len(mesh.cells[0])]}, ELSET=EB{material}")
        lines += [f"{i + 1}, {', '.join(str(v + 1) for v in cell)}" for i, cell in cells]
    lines += ["*ELSET, ELSET=ALL", "EB1, EB2", "*ELSET, ELSET=SOME, GENERATE", f"1, {len(mesh.cells)}, 1"]
    if mesh.dim == 2 and not mesh.simplices:
        lines += ["*SURFACE, NAME=SS3, TYPE=ELEMENT", "1, S1"]
    return lines + ["*SOLID SECTION, ELSET=EB2, MATERIAL=Material-5"]


def vtk(mesh, rng):
    all_elements = elements(mesh)
    data = [[v - 1 for v in vertices] for _, _, vertices in all_elements]
    new = rng.random() < 0.5
    lines = [f"# vtk DataFile Version {5.1 if new else 3.0}", "by a script", "ASCII", "DATASET UNSTRUCTURED_GRID",
             f"POINTS {len(mesh.points)} double"] + mesh.coordinates()
    if new:
        offsets = list(itertools.accumulate([0] + [len(vertices) for vertices in data]))
        lines += [f"CELLS {len(offsets)} {offsets[-1]}", "OFFSETS vtktypeint64", numbers(offsets),
                  "CONNECTIVITY vtktypeint64"] + [numbers(vertices) for vertices in data]
    else:
        lines += [f"CELLS {len(data)} {sum(1 + len(vertices) for vertices in data)}"]
        lines += [f"{len(vertices)} {numbers(vertices)}" for vertices in data]
    lines += [f"CELL_TYPES {len(data)}"] + [str(VTK_TYPE[dim, len(vertices)]) for dim, _, vertices in all_elements]
    lines += [f"CELL_DATA {len(data)}"]
    ids = [str(group) for _, group, _ in all_elements]
    if new:
        return lines + ["FIELD FieldData 2", f"quality 1 {len(data)} float"] + ["0.5"] * len(data) + [
            f"MaterialID 1 {len(data)} int"] + ids
    return lines + ["SCALARS MaterialID int 1", "LOOKUP_TABLE default"] + ids


MESH_FORMATS = {"gmsh2": (gmsh2, ".msh"), "gmsh4": (gmsh4, ".msh"), "ucd": (ucd, ".inp"), "abaqus": (abaqus, ".inp"),
                "vtk": (vtk, ".vtk")}


def voxels(rng):
    """An image of 6 x 5 x 4 cells with air above, as text or binary."""
    n = (6, 5, 4)
    labels = [2 if i >= 90 else rng.choice((0, 1, 1)) for i in range(n[0] * n[1] * n[2])]
    on_cells, binary = rng.random() < 0.5, rng.random() < 0.3
    points = [m + 1 if on_cells else m for m in n]
    head = ["# vtk DataFile Version 3.0", "by a script", "BINARY" if binary else "ASCII", "DATASET STRUCTURED_POINTS",
            f"DIMENSIONS {numbers(points)}", "ORIGIN 0 0 0", "SPACING 0.1 0.1 0.1",
            f"{'CELL' if on_cells else 'POINT'}_DATA {len(labels)}", "SCALARS label int 1", "LOOKUP_TABLE default"]
    if binary:
        return "\n".join(head).encode() + b"\n" + struct.pack(f">{len(labels)}i", *labels) + b"\n"
    return ("\n".join(head + [numbers(labels[i:i + n[0]]) for i in range(0, len(labels), n[0])]) + "\n").encode()


# u = x is in every space of finite elements, on every mesh.
LAPLACE = """set Dimension = {dimension}
set Backend   = host

subsection Mesh
  set File = {file}
end

subsection Boundary conditions
  set Dirichlet = all: exact
end

subsection Exact solution
  set Formula = x
end

subsection Solver
  set Tolerance = 1e-10
end

subsection Output
  set Pictures = none
end
"""

PARAMETERS = """# Every kind of entry there is.
set Dimension = 2
set Backend   = host
set Precision = double
set Constants = a = 1.5, b = 2*a

subsection Mesh
  set Generator           = subdivided_hyper_cube
  set Generator arguments = 3 : 0 : 1 : true
  set Coarse refinements  = 0
  set Simplices           = none
  set Scale               = 1
  set Rotation            = z 0
  set Global refinements  = 1
end

subsection Boundary ids
  set Rules = 7: x < 1e-9 && y < 0.5; 8: x < 1e-9
end

subsection Finite element
  set Degree            = 2
  set Mapping degree    = 1
  set Quadrature points = 0
end

subsection Refinement
  set Cycles          = 2
  set Strategy        = adaptive
  set Refine fraction = 0.3
end

subsection Material
  set Coefficient = b/3
end

subsection Boundary conditions
  set Dirichlet = 2 3 7 8: exact
  set Flux      = 1: a - 0.5
end

subsection Loads
  set Source = 0*sin(pi*x)
end

subsection Exact solution
  set Formula = x
end

subsection Matrix
  set Format         = auto
  set Sorting window = 64
end

subsection Solver
  set Tolerance          = 1e-10
  set Maximum iterations = 1000
  set Preconditioner     = amg

  subsection AMG
    set Smoother = chebyshev
    set Sweeps   = 2
  end
end

subsection Output
  set Pictures = none
end
"""

PRESSURE = """set Dimension = 3
set Backend   = host

subsection Domain
  set Image = image.vtk
end

subsection Liquid
  set Velocity = 0; 0; -1
end

subsection Solver
  set Null space = project
end

subsection Output
  set Pictures = none
end
"""
