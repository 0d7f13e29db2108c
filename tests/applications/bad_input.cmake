# SPDX-License-Identifier: LGPL-2.1-or-later
# Every kind of bad input is refused in one sentence, with an exit code that is not zero.
set(laplace ${parameter_files}/laplace/convergence_2d.prm)
set(elasticity ${parameter_files}/elasticity/convergence_2d.prm)
set(tetrahedra ${parameter_files}/laplace/convergence_3d_tetrahedra.prm)
set(broken ${CMAKE_CURRENT_BINARY_DIR}/broken)

# Parameters
file(WRITE ${broken}/unknown_entry.prm "set Dimension = 2\nsubsection Solver\n  set Tolerence = 1e-8\nend\n")
file(WRITE ${broken}/unknown_section.prm "subsection Solvers\n  set Tolerance = 1e-8\nend\n")
file(WRITE ${broken}/no_end.prm "subsection Solver\n  set Tolerance = 1e-8\n")
patchfem_run_case(bad.unknown_entry laplace ${broken}/unknown_entry.prm ERROR "Line 3 of the parameter file .* sets Tolerence, which is not a parameter")
patchfem_run_case(bad.unknown_section laplace ${broken}/unknown_section.prm ERROR "Solvers")
file(WRITE ${broken}/unknown_subsection.prm "subsection Solver\n subsection AMGG\n end\nend\n")
patchfem_run_case(bad.unknown_subsection laplace ${broken}/unknown_subsection.prm ERROR "Line 2 of the parameter file .*unknown_subsection.prm opens the section Solver.AMGG, which there is not")
patchfem_run_case(bad.unbalanced_sections laplace ${broken}/no_end.prm ERROR "subsection")
patchfem_run_case(bad.missing_file laplace ${broken}/nowhere.prm ERROR "nowhere.prm cannot be opened")
patchfem_run_case(bad.not_a_prm laplace ${parameter_files}/meshes/bridge.msh ERROR "must have a name that ends in .prm")
patchfem_run_case(bad.out_of_range laplace ${laplace} SET "Dimension=4" ERROR "Dimension the value '4', which is not legal there; it must be an integer from 2 to 3")
patchfem_run_case(bad.choice laplace ${laplace} SET "Backend=gpu" ERROR "it must be one of auto, host, cuda, emulated_device, trilinos")
file(WRITE ${broken}/choice.prm "set Backend = gpu\n")
patchfem_run_case(bad.choice_in_file laplace ${broken}/choice.prm ERROR "one of auto, host, cuda, emulated_device, trilinos")
file(MAKE_DIRECTORY ${broken}/folder.prm)
patchfem_run_case(bad.folder laplace ${broken}/folder.prm ERROR "folder.prm is a folder")
patchfem_run_case(bad.unknown_setting laplace ${laplace} SET "Solver/Tol=1" ERROR "Solver/Tol, which is not a parameter")
patchfem_run_case(bad.fractions laplace ${laplace} SET "Refinement/Refine fraction=0.9" "Refinement/Coarsen fraction=0.5"
                  ERROR "add up to more than 1")
foreach(window 0 -1 many 25x)
  patchfem_run_case(bad.sorting_window.${window} laplace ${laplace} SET "Matrix/Sorting window=${window}"
                    ERROR "Matrix/Sorting window is a number of nodes, at least 1, or auto, not '${window}'")
endforeach()
patchfem_run_case(bad.calibrate laplace ${laplace} SET "Matrix/Calibrate=true" "Matrix/Format=csr" ERROR "needs Matrix/Format = auto")

# Parameter files that include themselves, and marks that editors leave.
set(cycle ${broken}/include)
file(WRITE ${cycle}/self.prm "set Dimension = 2\ninclude ${cycle}/self.prm\n")
file(WRITE ${cycle}/a.prm "# a\n  include\t${cycle}/b.prm # b\n")
file(WRITE ${cycle}/b.prm "include \\\n${cycle}/a.prm\n")
file(WRITE ${cycle}/twice.prm "include ${cycle}/good.prm\ninclude ${cycle}/good.prm\nsubsection Mesh\n  set Generator = hyper_cub\nend\n")
file(WRITE ${cycle}/good.prm "set Dimension = 2\n")
file(WRITE ${cycle}/missing.prm "include ${cycle}/nowhere.prm\n")
string(ASCII 239 187 191 mark)
file(WRITE ${cycle}/marked.prm "${mark}set Dimension = 2\n")
file(WRITE ${cycle}/of_marked.prm "include ${cycle}/marked.prm\n")
patchfem_run_case(bad.include.self laplace ${cycle}/self.prm ERROR "The parameter file .*self.prm includes itself; take the include out of")
patchfem_run_case(bad.include.cycle laplace ${cycle}/a.prm ERROR "The parameter file .*/a.prm includes itself by way of .*/b.prm; take")
patchfem_run_case(bad.include.twice laplace ${cycle}/twice.prm ERROR "hyper_cub ")
patchfem_run_case(bad.include.missing laplace ${cycle}/missing.prm ERROR "The file .*nowhere.prm, which .*missing.prm includes, cannot be opened")
patchfem_run_case(bad.include.mark laplace ${cycle}/marked.prm ERROR "The parameter file .*marked.prm starts with a byte order mark")
patchfem_run_case(bad.include.mark_inside laplace ${cycle}/of_marked.prm ERROR "The file .*marked.prm, which .* includes, starts with a byte order mark")

# Formulas
patchfem_run_case(bad.formula laplace ${laplace} SET "Loads/Source=sin(x" ERROR "Loads/Source.*cannot be read")
patchfem_run_case(bad.unknown_name laplace ${laplace} SET "Loads/Source=x+speed" ERROR "x.speed")
patchfem_run_case(bad.not_finite laplace ${laplace} SET "Material/Coefficient=1/(x-x)" ERROR "Coefficient is not finite at the point")
patchfem_run_case(bad.negative_coefficient laplace ${laplace} SET "Material/Coefficient=x-0.5" ERROR "not positive definite at the point")
patchfem_run_case(bad.negative_reaction laplace ${laplace} SET "Material/Reaction=-1" ERROR "at least 0")
patchfem_run_case(bad.poisson elasticity ${elasticity} SET "Material/Poisson's ratio=0.5" ERROR "Poisson's ratio is 0.5.*less than 0.5")
patchfem_run_case(bad.young elasticity ${elasticity} SET "Material/Young's modulus=0" ERROR "greater than 0")
patchfem_run_case(bad.components elasticity ${elasticity} SET "Boundary conditions/Traction=1: 0" ERROR "1 formulas.*where 2 are wanted")
patchfem_run_case(bad.constants laplace ${laplace} SET "Constants=x = 1" ERROR "not a coordinate")
patchfem_run_case(bad.constant_twice laplace ${laplace} SET "Constants=a=1, a=2" ERROR "defines 'a' twice")
foreach(name "a b" 1a)
  string(REGEX REPLACE "[^a-z0-9]" "_" case "${name}")
  patchfem_run_case(bad.constant_name.${case} laplace ${laplace} SET "Constants=${name} = 1" ERROR "Constants cannot define '${name}'")
endforeach()
patchfem_run_case(bad.exact_traction elasticity ${elasticity} SET "Boundary conditions/Traction=1: exact" ERROR "no exact solution for it; fill .*, which is for Dirichlet alone")
patchfem_run_case(bad.exact_formula laplace ${laplace} SET "Boundary conditions/Dirichlet=all: exact" "Exact solution/Formula=sin(x"
                  ERROR "Exact solution/Formula has a formula that cannot be read")
patchfem_run_case(bad.exact_components elasticity ${elasticity} SET "Exact solution/Formula=x" "Boundary conditions/Dirichlet=0: exact"
                  ERROR "Exact solution/Formula has 1 components where 2 are wanted")

# Ids
patchfem_run_case(bad.boundary_id laplace ${laplace} SET "Boundary conditions/Dirichlet=0 7: 0" ERROR "boundary id 7, but no face has it")
patchfem_run_case(bad.flux_id laplace ${laplace} SET "Boundary conditions/Flux=9: 1" ERROR "Flux names boundary id 9")
patchfem_run_case(bad.large_id laplace ${laplace} SET "Boundary conditions/Dirichlet=99999999999999999999: 0" ERROR "Dirichlet names the id '9+', but ids are integers from 0 to 2147483647")
patchfem_run_case(bad.large_rule_id laplace ${laplace} SET "Boundary ids/Rules=4294967297: x < 1" ERROR "Boundary ids/Rules names the id '4294967297', but ids are")
patchfem_run_case(bad.large_normal_id elasticity ${elasticity} SET "Boundary conditions/No normal flux=4294967297" ERROR "No normal flux names the id '4294967297', but ids are")
patchfem_run_case(bad.periodic_negative laplace ${laplace} SET "Boundary conditions/Periodic=-1 0 x" ERROR "Periodic names boundary '-1', but no face has it")
patchfem_run_case(bad.periodic_itself laplace ${laplace} SET "Boundary conditions/Periodic=2 2 x" ERROR "Periodic joins boundary id 2 to itself")
patchfem_run_case(bad.boundary_id_twice laplace ${laplace} SET "Boundary conditions/Dirichlet=0: 0, 0: 1" ERROR "boundary id 0 twice")
patchfem_run_case(bad.material_id laplace ${laplace} SET "Material/Coefficient=0: 1, 3: 2" ERROR "material id 3, but no cell has it")
patchfem_run_case(bad.material_missing laplace ${parameter_files}/laplace/cylinder_plate.prm
                  SET "Material/Coefficient=1: 1, 2: 1, 3: 1" ERROR "says nothing about material id 4")
patchfem_run_case(bad.no_exact laplace ${laplace} SET "Exact solution/Formula=" ERROR "there is no exact solution")

# Elements that deal.II does not support, refused before it is asked
patchfem_run_case(bad.p3 laplace ${tetrahedra} SET "Finite element/Degree=3" ERROR "Degree 3 is not supported on tetrahedra")
patchfem_run_case(bad.curved_tetrahedra laplace ${tetrahedra} SET "Finite element/Mapping degree=2" ERROR "Mapping degree must be 1 on tetrahedra")
patchfem_run_case(bad.adaptive_tetrahedra laplace ${tetrahedra} SET "Refinement/Strategy=adaptive" ERROR "adaptive is not supported on tetrahedra")
patchfem_run_case(bad.periodic_triangles laplace ${laplace} ERROR "Periodic is not supported on triangles"
                  SET "Mesh/Simplices=kuhn" "Mesh/Generator arguments=0 : 1 : true" "Boundary conditions/Dirichlet=2 3: 0" "Boundary conditions/Periodic=0 1 x")

# Too few quadrature points: functions without energy. As many as the degree do for scalar equations.
patchfem_run_case(bad.quadrature laplace ${laplace} SET "Finite element/Quadrature points=1" ERROR "singular matrix with degree 2 .*at least 2 are needed")
patchfem_run_case(bad.quadrature_of_vectors elasticity ${elasticity} SET "Finite element/Quadrature points=1"
                  ERROR "singular matrix with degree 1 .*at least 2 are needed")
patchfem_run_case(laplace.reduced_quadrature laplace ${laplace} SET "Finite element/Quadrature points=2" "Refinement/Cycles=2" "Output/Pictures=none")

# More than any memory holds
foreach(cells none kuhn)
  patchfem_run_case(bad.refinements.${cells} elasticity ${parameter_files}/elasticity/cantilever.prm ERROR "cells takes at least .* GB of the host's memory"
                    SET "Mesh/Global refinements=14" "Mesh/Simplices=${cells}")
endforeach()
# The mesh of ranks is cut into parts, an adaptive one is p4est's.
foreach(strategy global adaptive)
  patchfem_run_case(bad.refinements_on_ranks.${strategy} elasticity ${parameter_files}/elasticity/cantilever.prm RANKS 3
                    ERROR "A mesh of .* cells takes at least .* GB of the host's memory for 3 ranks, but" SET "Mesh/Global refinements=6"
                    "Mesh/Generator arguments=24, 24, 24 : 0, 0, 0 : 2, 0.2, 0.3 : true" "Refinement/Strategy=${strategy}" "Refinement/Cycles=2")
endforeach()
patchfem_run_case(bad.coarse_refinements laplace ${laplace} SET "Mesh/Coarse refinements=20" ERROR "A mesh of 1.1e.12 cells takes at least")

# hp spaces
set(l_shape ${parameter_files}/laplace/l_shape_hp.prm)
set(hp_adaptive ${parameter_files}/laplace/l_shape_hp_adaptive.prm)
patchfem_run_case(bad.degrees laplace ${l_shape} SET "Finite element/Degrees=1, 5" ERROR "Degrees the value '1, 5'")
patchfem_run_case(bad.degrees_twice laplace ${l_shape} SET "Finite element/Degrees=1, 2, 3, 2" ERROR "degree 2 twice")
patchfem_run_case(bad.degree_not_listed laplace ${hp_adaptive} SET "Finite element/Degree=1" ERROR "Degree is 1, which is not in the list")
patchfem_run_case(bad.cell_degree laplace ${l_shape} SET "Finite element/Cell degree=2+x" ERROR
                  "degree 1.125 that Finite element/Cell degree gives to the cell around .*, is not in the list Finite element/Degrees = 1, 2, 3")
patchfem_run_case(bad.cell_degree_formula laplace ${l_shape} SET "Finite element/Cell degree=z" ERROR "Cell degree has a formula that cannot be read")
patchfem_run_case(bad.cell_degree_material laplace ${l_shape} SET "Finite element/Cell degree=3: 2" ERROR "Cell degree names material id 3, but no cell has it")
patchfem_run_case(bad.cell_degree_alone laplace ${l_shape} SET "Finite element/Degrees=" ERROR "chooses among Finite element/Degrees, which is empty")
patchfem_run_case(bad.hp_adaptive_one_degree laplace ${hp_adaptive} SET "Finite element/Degrees=2" ERROR "hp_adaptive needs several Finite element/Degrees")
patchfem_run_case(bad.hp_triangles laplace ${l_shape} SET "Mesh/Simplices=kuhn" ERROR "Degrees .an hp space. is not supported on triangles")
patchfem_run_case(bad.hp_tetrahedra laplace ${tetrahedra} SET "Finite element/Degrees=1, 2" ERROR "Degrees .an hp space. is not supported on tetrahedra")
patchfem_run_case(bad.hp_adaptive_periodic laplace ${hp_adaptive} SET "Boundary conditions/Periodic=0 1 x"
                  ERROR "hp_adaptive is not supported with Boundary conditions/Periodic")
patchfem_run_case(bad.hp_periodic laplace ${laplace} ERROR "which Boundary conditions/Periodic joins, have the degrees 1 and 2"
                  SET "Mesh/Generator arguments=0 : 1 : true" "Boundary conditions/Dirichlet=2 3: 0" "Boundary conditions/Periodic=0 1 x"
                      "Finite element/Degrees=1, 2" "Finite element/Cell degree=x < 0.5 ? 1 : 2")

# Singular problems
patchfem_run_case(bad.pure_neumann laplace ${laplace} SET "Boundary conditions/Dirichlet=" ERROR "singular.*the constant")
patchfem_run_case(bad.free_body elasticity ${elasticity} SET "Boundary conditions/Dirichlet="
                  ERROR "holds translation in x, translation in y, rotation of the mesh")
patchfem_run_case(bad.free_translation elasticity ${elasticity} SET "Boundary conditions/Dirichlet=0: 0| free"
                  ERROR "holds translation in y of the mesh")
patchfem_run_case(bad.free_rotation elasticity ${elasticity} ERROR "holds rotation of the mesh"
                  SET "Mesh/Generator=hyper_ball" "Mesh/Generator arguments=0, 0 : 1 : false" "Boundary conditions/Dirichlet="
                      "Boundary conditions/Traction=" "Boundary conditions/No normal flux=0")

# Solver
patchfem_run_case(bad.no_convergence laplace ${laplace} SET "Solver/Maximum iterations=3" ERROR "Conjugate gradients did not reach .* in 3 steps"
                  STALE report.json solution-1.vtu.part KEPT solution.pvd solution-2.vtu)

# Single precision says so where it is too short: a tolerance below its rounding, and a matrix that is ill conditioned.
patchfem_run_case(bad.single_tolerance laplace ${laplace} SET "Precision=single"
                  ERROR "cannot reach .* in this precision: .* choose Precision = double, or raise Solver/Tolerance")
patchfem_run_case(bad.single_cantilever elasticity ${parameter_files}/elasticity/cantilever.prm
                  SET "Solver/Preconditioner=jacobi" "Precision=single" "Solver/Tolerance=1e-4" "Solver/Maximum iterations=1500" "Mesh/Global refinements=1"
                  ERROR "(did not reach .* in 1500 steps|cannot reach .* in this precision).* choose Precision = double, or raise Solver/Tolerance")
patchfem_run_case(bad.single_of_trilinos laplace ${laplace} SET "Precision=single" "Backend=trilinos"
                  ERROR "Precision = single does not exist with Backend = trilinos")
patchfem_run_case(bad.precision laplace ${laplace} SET "Precision=half" ERROR "Precision the value 'half'")

patchfem_run_case(bad.ml_on_host laplace ${laplace} SET "Backend=host" "Solver/Preconditioner=ml" ERROR "ml is Trilinos'")
patchfem_run_case(bad.block_jacobi_of_trilinos laplace ${laplace} SET "Backend=trilinos" "Solver/Preconditioner=block_jacobi"
                  ERROR "block_jacobi does not exist with Backend = trilinos")
# Reports itself as skipped where there is a GPU to run on.
patchfem_run_case(bad.no_gpu laplace ${laplace} SET "Backend=cuda" ERROR "'cuda' was asked for, but this")

# Several ranks give the sentence once.
patchfem_run_case(bad.mpi laplace ${laplace} RANKS 2 SET "Backend=trilinos" "Loads/Source=sin(x" ERROR "cannot be read")
set(other_input "Rank 1 has read another parameter file, or other options, than rank 0")
patchfem_run_case(bad.other_file_on_a_rank laplace ${laplace} FIRST ${tetrahedra} ERROR ${other_input})
patchfem_run_case(bad.other_option_on_a_rank laplace ${laplace} FIRST ${laplace} SET "Refinement/Cycles=1" ERROR ${other_input})
file(COPY_FILE ${laplace} ${broken}/copy.prm)
patchfem_run_case(same_file_on_ranks laplace ${laplace} FIRST ${broken}/copy.prm --set "Refinement/Cycles=1" SET "Refinement/Cycles=1")

# Meshes
file(WRITE ${broken}/tangled.msh "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n6\n1 0 0 0\n2 1 0 0\n3 2 0 0\n4 0 1 0\n5 0.9 -1 0\n6 2 1 0\n$EndNodes\n$Elements\n2\n1 3 2 1 1 1 2 5 4\n2 3 2 1 1 2 3 6 5\n$EndElements\n")
file(WRITE ${broken}/short.msh "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n")
file(WRITE ${broken}/mesh.stl "solid\n")
foreach(backend host trilinos)
  patchfem_run_case(bad.tangled_cell.${backend} laplace ${laplace} ERROR "cell 0 .*tangled.msh.* is tangled"
                    SET "Backend=${backend}" "Mesh/Generator=" "Mesh/Generator arguments=" "Mesh/File=${broken}/tangled.msh"
                        "Boundary conditions/Dirichlet=all: 0" "Mesh/Global refinements=0")
endforeach()
# A square of four triangles around a vertex that is outside of it.
file(WRITE ${broken}/folded.msh "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 1.7 0.5 0\n$EndNodes\n$Elements\n4\n1 2 2 0 0 1 2 5\n2 2 2 0 0 2 3 5\n3 2 2 0 0 3 4 5\n4 2 2 0 0 4 1 5\n$EndElements\n")
patchfem_run_case(bad.folded_mesh laplace ${laplace} SET "Mesh/Generator=" "Mesh/Generator arguments=" "Mesh/File=${broken}/folded.msh"
                  ERROR "The cell 0 .line 14 of .*folded.msh.. and the cell 1 .line 15 .* lie on the same side of the face centred at .1.35, 0.25., .*remove cells that are there twice, and move back")
foreach(mesh nowhere.msh short.msh mesh.stl)
  patchfem_run_case(bad.mesh_${mesh} laplace ${laplace} ERROR "${mesh}"
                    SET "Mesh/Generator=" "Mesh/Generator arguments=" "Mesh/File=${broken}/${mesh}")
endforeach()
patchfem_run_case(bad.generator laplace ${laplace} SET "Mesh/Generator=hyper_cub" ERROR "hyper_cub")
patchfem_run_case(bad.generator_arguments laplace ${laplace} SET "Mesh/Generator arguments=0 : a : false" ERROR "with arguments '0 : a : false' gives no mesh.* a number[^_]*$")
patchfem_run_case(bad.boundary_rule laplace ${laplace} SET "Boundary ids/Rules=5: x > 3" ERROR "5")
patchfem_run_case(bad.export_of_trilinos laplace ${laplace} SET "Backend=trilinos" "Export system=a.bin" ERROR "Export system")
patchfem_run_case(bad.output_folder laplace ${laplace} SET "Output/Pictures=none" FOLDER ${broken}/unknown_entry.prm/out
                  ERROR "output folder .* cannot be made")
patchfem_run_case(bad.check_of_trilinos laplace ${parameter_files}/laplace/convergence_2d.prm SET "Backend=trilinos" "Solver/Check=true"
                  ERROR "Solver/Check = true would be without effect, as it is for PatchFEM.s own back ends")

# What users wrote is shown in part, without what no terminal should get, whoever speaks of it.
string(REPEAT "x+" 100000 long)
string(ASCII 27 escape)
function(patchfem_shows name application text error)
  file(WRITE ${broken}/shows_${name}.prm "${text}\n")
  patchfem_run_case(bad.shows.${name} ${application} ${broken}/shows_${name}.prm ERROR "${error}")
endfunction()
set(on_square "subsection Mesh\n set Generator = hyper_cube\n set Generator arguments = 0 : 1 : false\nend\n")
patchfem_shows(value laplace "set Dimension = ${long}" "Line 1 of the parameter file .* gives Dimension the value '(x.)+[.][.][.]', which is not legal there; it must be an integer from 2 to 3")
patchfem_shows(number laplace "subsection Solver\n set Tolerance = 1e-6\n subsection AMG\n  set Sweeps = 0\n end\nend"
               "Line 4 of the parameter file .* gives Sweeps the value '0', .* an integer from 1 to 20")
patchfem_shows(control laplace "set Backend = ${escape}[31m" "Backend the value '.x1b.31m'")
patchfem_shows(entry laplace "subsection Solver\n set ${long} = 1\nend" "Line 2 of the parameter file .* sets (x.)+[.][.][.], which is not a parameter")
patchfem_shows(line laplace "${escape}${long}" "Line 1 of the parameter file")
patchfem_shows(constants laplace "${on_square} set Constants = ${long}" "Constants wants items .* but has '")
patchfem_shows(formula laplace "${on_square} subsection Loads\n set Source = ${escape}${long}\nend" "Loads/Source has a formula that cannot be read: '.x1bx")
patchfem_shows(generator laplace "subsection Mesh\n set Generator = ${long}\nend" "Mesh/Generator = x")
patchfem_shows(arguments laplace "subsection Mesh\n set Generator = hyper_cube\n set Generator arguments = ${long}\nend" "with arguments 'x")
patchfem_shows(file laplace "subsection Mesh\n set File = ${long}.msh\nend" "The mesh file '.*cannot be opened")
patchfem_shows(rules laplace "${on_square} subsection Boundary ids\n set Rules = 1: ${long}\nend" "The rule '1: x")
patchfem_shows(rotation laplace "${on_square} subsection Mesh\n set Rotation = ${long}\nend" "Mesh/Rotation = 'x")
patchfem_shows(ids laplace "${on_square} subsection Boundary conditions\n set Dirichlet = ${long}: 0\nend" "Dirichlet names boundary 'x.*but no face has it; the mesh has 0")
string(SUBSTRING "${long}" 0 1000 shorter)
patchfem_run_case(bad.shows.set laplace ${laplace} SET "Solver/Preconditioner=${shorter}" ERROR "Preconditioner the value '(x.)+[.][.][.]', which is not legal there; it must be one of auto, none")
patchfem_shows(image pressure_poisson "subsection Domain\n set Image = ${long}\nend" "The image .* cannot be opened")
