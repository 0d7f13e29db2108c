# SPDX-License-Identifier: LGPL-2.1-or-later
# What breaks multigrids, small, on every back end and beside another solver: it converges in a number of iterations
# that tests/iterations.txt bounds, or ends in the sentence that says why not.
set(quiet "Output/Pictures=none")

# Materials: balls, plates and a layer of a beam that are much stiffer or softer than what is around them. With them the
# rounding of A x does not let |b - A x| become as small as elsewhere, and levels want double precision.
patchfem_amg(contrast.balls_1e6 helmholtz two_materials 1e-4 ${small} ${quiet} "Baseline=trilinos_jacobi" "Mesh/Global refinements=1"
             "Constants=inside = 1e6, radius = 0.72557")
patchfem_amg(contrast.balls_1e-6 helmholtz two_materials 1e-4 ${small} ${quiet} "Baseline=trilinos_jacobi" "Mesh/Global refinements=1"
             "Constants=inside = 1e-6, radius = 0.72557" "Solver/Tolerance=1e-9")
patchfem_amg(contrast.plates laplace cylinder_plate 1e-4 ${small} ${quiet} "Baseline=trilinos_ml" "Finite element/Degree=1"
             "Material/Coefficient=1: 1e6, 2: 1, 3: 1, 4: 1e6")
set(stiff_layer "Mesh/Global refinements=1" "Material/Young's modulus=x > 0.5 && x < 1 ? 210e15 : 210e9")
patchfem_amg(contrast.stiff_layer elasticity cantilever 1e-8 ${small} ${quiet} "Baseline=trilinos_ml" ${stiff_layer})
# The displacements are of the order of 1e3.
patchfem_amg(contrast.soft_layer elasticity cantilever 1e-2 ${small} ${quiet} "Baseline=trilinos_ml" "Mesh/Global refinements=1"
             "Material/Young's modulus=x > 0.5 && x < 1 ? 210e3 : 210e9")
foreach(precision double mixed)
  patchfem_run_case(contrast.stiff_layer.${precision} elasticity ${parameter_files}/elasticity/cantilever.prm
                    CHECKS precision=${precision} stopped_at_rounding=true max_relative_difference=1e-5
                    SET "Backend=host" "Baseline=umfpack" "Precision=${precision}" ${stiff_layer} ${quiet})
endforeach()

# What is stiffer than the rest of a cube of 16^3 or 12^3 cells, in whole cells: layers of one cell, balls, fibres, and one
# in ten cells, which are hinged where they share a node or an edge; the same in blocks of eight;
# and fibres that cut cells, which are stiff at a few points then. The homogeneous cube takes 7 and 11 steps.
function(patchfem_materials application cells)
  set(scalar "Finite element/Degree=1" "Refinement/Cycles=1" "Boundary conditions/Dirichlet=all: 0" "Boundary conditions/Robin="
             "Loads/Source=sin(37*x*y+11*z)*cos(41*z*x)" "Exact solution/Formula=" "Mesh/Generator arguments=${cells}, ${cells}, ${cells} : 0, 0, 0 : 1, 1, 1 : false")
  set(vector "Boundary conditions/Traction=" "Loads/Body force=sin(37*x*y+11*z)*cos(41*z*x)| sin(41*x*y-7*z)*cos(31*z*x)| sin(29*x*z+5*y)*cos(43*z*y)"
             "Mesh/Generator arguments=${cells}, ${cells}, ${cells} : 0, 0, 0 : 1, 1, 1 : true")
  foreach(axis x y z)
    set(${axis} "(floor(${cells}*${axis})+0.5)/4")
    set(${axis} "(${${axis}}-floor(${${axis}})-0.5)^2")
  endforeach()
  set(number "sin(floor(${cells}*x)*12.9898+floor(${cells}*y)*78.233+floor(${cells}*z)*37.719)*43758.5453")
  set(number "${number}-floor(${number})")
  set(layers "${cells}/2*z-floor(${cells}/2*z) < 0.5")
  set(balls "${x}+${y}+${z} < 0.13")
  set(fibres "${y}+${z} < 0.04")
  set(few_checks "${number} < 0.1")
  string(REPLACE "(${cells}*" "(${cells}/2*" few_blocks "${few_checks}")
  foreach(axis y z)
    set(cut_${axis} "(${cells}/3.7*${axis}-floor(${cells}/3.7*${axis})-0.5)^2")
  endforeach()
  set(cut_fibres "${cut_y}+${cut_z} < 0.04")
  foreach(case ${ARGN})
    string(REPLACE ":" ";" case ${case})
    list(GET case 0 shape)
    list(GET case 1 contrast)
    set(value "${${shape}} ? ${contrast} : 1")
    set(entries ${scalar} "Material/Coefficient=${value}")
    set(file convergence_3d)
    if(application STREQUAL elasticity)
      set(entries ${vector} "Material/Young's modulus=${value}")
      set(file cantilever)
    endif()
    patchfem_run_backends(contrast.${application}_${shape}_${contrast} ${application} ${parameter_files}/${application}/${file}.prm
                          CHECKS preconditioner=amg
                          SET "Solver/Tolerance=1e-8" "Mesh/Global refinements=0" "Mesh/Generator=subdivided_hyper_rectangle" ${small} ${quiet} ${entries})
    if("2_ranks" IN_LIST case)
      patchfem_run_case(contrast.${application}_${shape}_${contrast}.2_ranks ${application} ${parameter_files}/${application}/${file}.prm
                        RANKS 2 CHECKS preconditioner=amg
                        SET "Backend=host" "Solver/Tolerance=1e-8" "Mesh/Global refinements=0" "Mesh/Generator=subdivided_hyper_rectangle" ${small} ${quiet} ${entries})
    endif()
  endforeach()
endfunction()
patchfem_materials(laplace 16 layers:1e6 balls:1e6 few_checks:1e6)
patchfem_materials(elasticity 12 layers:1e3 balls:1e6 fibres:1e3 few_checks:1e3:2_ranks few_blocks:1e3:2_ranks few_blocks:1e6 cut_fibres:1e6:2_ranks)

# Cells twenty times as long as wide, and as wide as thick: aggregates along short edges only.
set(box "Mesh/Generator=subdivided_hyper_rectangle" ${small} ${quiet} "Baseline=trilinos_ml")
set(heated "Finite element/Degree=1" "Mesh/Global refinements=2" "Refinement/Cycles=1" "Boundary conditions/Dirichlet=0: 0" "Boundary conditions/Robin="
           "Boundary conditions/Flux=" "Loads/Source=1" "Exact solution/Formula=")
set(loaded "Mesh/Global refinements=1" "Constants=length = 1, width = 1, height = 1, load = 120e3, density = 7850, gravity = 9.81")
patchfem_amg(aspect.long laplace convergence_3d 1e-9 ${box} ${heated} "Mesh/Generator arguments=3, 3, 3 : 0, 0, 0 : 1, 1, 20 : false")
patchfem_amg(aspect.flat laplace convergence_3d 1e-8 ${box} ${heated} "Mesh/Generator arguments=3, 3, 3 : 0, 0, 0 : 20, 20, 1 : false")
patchfem_amg(aspect.plate elasticity cantilever 1e-9 ${box} ${loaded} "Mesh/Generator arguments=6, 6, 6 : 0, 0, 0 : 20, 20, 1 : true")

# Slender, thin, layered and nearly incompressible bodies with nothing but defaults, in hexahedra and in tetrahedra: the
# solution is that of a direct solver, also where rounding ends the iteration above the tolerance. patchfem_hard(NAME
# CHECKS..., SET entries...)
function(patchfem_hard name)
  cmake_parse_arguments(HARD "" "" "SET;CHECKS" ${ARGN})
  foreach(cells none kuhn)
    set(full_name ${name})
    if(cells STREQUAL kuhn)
      set(full_name ${name}_tetrahedra)
    endif()
    patchfem_run_backends(amg.hard.${full_name} elasticity ${parameter_files}/elasticity/cantilever.prm
                          CHECKS max_relative_difference=1e-5 preconditioner=amg ${HARD_CHECKS}
                          SET "Baseline=umfpack" "Mesh/Simplices=${cells}" "Output/Pictures=none" ${HARD_SET})
  endforeach()
endfunction()
set(level "Mesh/Global refinements=1")
foreach(ratio 2 5 10 20 50) # cells so many times as long as wide, 2 m of cubes
  set(rounding max_backward_error=1e-15)
  if(ratio GREATER 5)
    list(APPEND rounding stopped_at_rounding=true)
  endif()
  math(EXPR length "2 * ${ratio}")
  patchfem_hard(stretched_${ratio} CHECKS ${rounding}
                SET ${level} "Mesh/Generator arguments=20, 2, 3 : 0, 0, 0 : ${length}, 0.2, 0.3 : true")
endforeach()
patchfem_hard(plate CHECKS stopped_at_rounding=true SET ${level} "Mesh/Generator arguments=10, 10, 2 : 0, 0, 0 : 1, 1, 0.01 : true")
# A thinner plate and a shell, with forces that are not smooth.
set(shaken "Boundary conditions/Traction=" "Loads/Body force=sin(37*x*y+11*z)*cos(41*z*x)| sin(41*x*y-7*z)*cos(31*z*x)| sin(29*x*z+5*y)*cos(43*z*y)")
foreach(body thin_plate shell)
  set(thin_plate "Mesh/Generator arguments=24, 24, 3 : 0, 0, 0 : 1, 1, 0.001 : true")
  set(shell "Mesh/Generator=cylinder_shell" "Mesh/Generator arguments=1 : 0.5 : 0.51 : 64 : 20" "Boundary ids/Rules=0: z < 1e-9| 1: z > 1e-9")
  patchfem_run_backends(amg.hard.shaken_${body} elasticity ${parameter_files}/elasticity/cantilever.prm
                        CHECKS preconditioner=amg
                        SET "Solver/Tolerance=1e-8" "Mesh/Global refinements=0" ${quiet} ${shaken} ${${body}})
endforeach()
# Layers 1e6 times as stiff as what they hold, of cells 5 times as wide as high: borders of ranks do not cut through them.
foreach(n_ranks 1 3 5)
  patchfem_run_case(amg.hard.sandwich.${n_ranks} elasticity ${parameter_files}/elasticity/cantilever.prm RANKS ${n_ranks}
                    SET "Backend=host" "Solver/Tolerance=1e-8" "Mesh/Global refinements=0" ${quiet} ${shaken}
                    "Mesh/Generator arguments=40, 20, 10 : 0, 0, 0 : 1, 0.5, 0.05 : true" "Material/Young's modulus=abs(z-0.025)>0.015 ? 1e6 : 1")
endforeach()
patchfem_hard(cubes CHECKS stopped_at_rounding=true SET "Mesh/Global refinements=0" "Mesh/Generator arguments=200, 2, 3 : 0, 0, 0 : 20, 0.2, 0.3 : true")
patchfem_hard(stiff_1e3 SET ${level} "Material/Young's modulus=x<1 ? 1e9 : 1e12")
patchfem_hard(stiff_1e6 CHECKS stopped_at_rounding=true SET ${level} "Material/Young's modulus=x<1 ? 1e9 : 1e15")
patchfem_hard(incompressible CHECKS stopped_at_rounding=false SET "Mesh/Global refinements=0" "Material/Poisson's ratio=0.4999")
# Cells that grow: layers of a cube 1 : 200 in thickness, and 1 : 30 in every direction. patchfem_box(FILE XS YS ZS) writes
# hexahedra between coordinates.
function(patchfem_box file xs ys zs)
  set(points "")
  set(cells "")
  list(LENGTH xs nx)
  list(LENGTH ys ny)
  list(LENGTH zs nz)
  math(EXPR n_points "${nx} * ${ny} * ${nz}")
  math(EXPR n_cells "(${nx} - 1) * (${ny} - 1) * (${nz} - 1)")
  math(EXPR n_numbers "9 * ${n_cells}")
  string(REPEAT "12\n" ${n_cells} types)
  foreach(z ${zs})
    foreach(y ${ys})
      foreach(x ${xs})
        string(APPEND points "${x} ${y} ${z}\n")
      endforeach()
    endforeach()
  endforeach()
  math(EXPR last_x "${nx} - 2")
  math(EXPR last_y "${ny} - 2")
  math(EXPR last_z "${nz} - 2")
  foreach(k RANGE ${last_z})
    foreach(j RANGE ${last_y})
      foreach(i RANGE ${last_x})
        string(APPEND cells "8")
        foreach(corner 0 1 3 2 4 5 7 6) # bits: steps along x, y and z
          math(EXPR point "${i} + (${corner} & 1) + ${nx} * (${j} + (${corner} >> 1 & 1) + ${ny} * (${k} + (${corner} >> 2)))")
          string(APPEND cells " ${point}")
        endforeach()
        string(APPEND cells "\n")
      endforeach()
    endforeach()
  endforeach()
  file(WRITE ${file} "# vtk DataFile Version 3.0\nbox\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS ${n_points} double\n${points}"
       "CELLS ${n_cells} ${n_numbers}\n${cells}CELL_TYPES ${n_cells}\n${types}")
endfunction()
set(equal 0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9 1)
set(layers 0 0.001679 0.004203 0.007998 0.0137 0.02227 0.03516 0.05453 0.08365 0.1274 0.1932 0.2921 0.4407 0.6642 1)
set(growing 0 0.01074 0.0264 0.04926 0.08262 0.1313 0.2023 0.306 0.4572 0.6779 1)
patchfem_box(${CMAKE_CURRENT_BINARY_DIR}/graded_layers.vtk "${equal}" "${equal}" "${layers}")
patchfem_box(${CMAKE_CURRENT_BINARY_DIR}/graded_cube.vtk "${growing}" "${growing}" "${growing}")
foreach(name layers cube)
  patchfem_hard(graded_${name}
                SET "Mesh/Generator=" "Mesh/Generator arguments=" "Mesh/File=${CMAKE_CURRENT_BINARY_DIR}/graded_${name}.vtk"
                    "Mesh/Global refinements=0" "Boundary ids/Rules=1: x > 1 - 1e-9| 2: x > 1e-9 && x < 1 - 1e-9")
endforeach()
# Hanging nodes between cells so many times as long as wide.
foreach(ratio 1 2 10 50)
  math(EXPR length "2 * ${ratio}")
  patchfem_run_backends(amg.hard.hanging_${ratio} elasticity ${parameter_files}/elasticity/cantilever.prm
                        CHECKS max_relative_difference=1e-5
                        SET "Baseline=umfpack" ${quiet} "Mesh/Global refinements=0" "Refinement/Strategy=adaptive"
                            "Refinement/Cycles=3" "Mesh/Generator arguments=20, 2, 3 : 0, 0, 0 : ${length}, 0.2, 0.3 : true")
endforeach()
# Above the limit of its arithmetic stagnation is an error.
patchfem_run_case(bad.stagnation elasticity ${parameter_files}/elasticity/cantilever.prm ERROR "cannot reach .* in this precision: after [0-9]+ steps the recomputed residual stays"
                  SET "Backend=host" "Precision=single" "Solver/Preconditioner=jacobi" ${level})

# What auto chooses: of few unknowns, formats without rows of nodes, and other back ends. The README's first command is
# the default everywhere.
patchfem_run_case(auto.readme elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS preconditioner=amg precision=mixed)
function(patchfem_auto name chosen application file)
  patchfem_run_case(auto.${name} ${application} ${parameter_files}/${application}/${file}.prm CHECKS preconditioner=${chosen}
                    SET "Output/Pictures=none" ${ARGN})
endfunction()
set(square laplace convergence_2d "Backend=host" "Finite element/Degree=1" "Refinement/Cycles=1")
patchfem_auto(few block_jacobi ${square} "Mesh/Global refinements=3")
patchfem_auto(more amg ${square} "Mesh/Global refinements=4")
patchfem_auto(coo least_squares ${square} "Mesh/Global refinements=4" "Matrix/Format=coo")
patchfem_auto(coo_mixed jacobi ${square} "Mesh/Global refinements=4" "Matrix/Format=coo" "Precision=mixed")
patchfem_auto(symmetric_mixed least_squares ${square} "Mesh/Global refinements=4" "Matrix/Format=symmetric" "Precision=mixed")
patchfem_auto(sell amg ${square} "Mesh/Global refinements=4" "Matrix/Format=sell")
patchfem_auto(sell_of_vectors least_squares elasticity convergence_2d "Backend=host" "Matrix/Format=sell")
patchfem_auto(trilinos ml ${square} "Mesh/Global refinements=4" "Backend=trilinos")
patchfem_auto(voxels amg pressure_poisson sphere_drop "Backend=host" "Solver/Preconditioner=auto")

# The direct solver is for one process and regular matrices of finite elements.
patchfem_run_case(umfpack laplace ${parameter_files}/laplace/l_shape.prm CHECKS max_relative_difference=1e-7 SET "Backend=host" "Baseline=umfpack" ${quiet})
patchfem_run_case(bad.umfpack_ranks laplace ${parameter_files}/laplace/l_shape.prm RANKS 2 SET "Backend=trilinos" "Baseline=umfpack"
                  ERROR "umfpack factorises in one process; with several MPI ranks choose trilinos_ml")
patchfem_run_case(bad.umfpack_singular laplace ${parameter_files}/laplace/convergence_2d.prm ERROR "umfpack factorises the matrix, which is singular here"
                  SET "Backend=host" "Baseline=umfpack" "Boundary conditions/Dirichlet=" "Solver/Null space=project" ${quiet})
patchfem_run_case(bad.umfpack_voxels pressure_poisson ${parameter_files}/pressure_poisson/pores.prm SET "Baseline=umfpack"
                  ERROR "Baseline = umfpack does not know voxels")
patchfem_run_case(bad.strength_threshold elasticity ${parameter_files}/elasticity/cantilever.prm
                  SET "Backend=host" "Solver/Preconditioner=amg" "Solver/AMG/Strength threshold=0.6"
                  ERROR "Multigrid level 0 .* no two nodes are coupled strongly enough .* lower the strength threshold")

# Nearly incompressible; hanging nodes.
patchfem_amg(incompressible elasticity cantilever 1e-11 ${small} ${quiet} "Baseline=trilinos_ml" "Mesh/Global refinements=1"
             "Material/Poisson's ratio=0.45")
patchfem_amg(adaptive elasticity cantilever 1e-11 ${small} ${quiet} "Baseline=trilinos_ml" "Mesh/Global refinements=0" "Refinement/Strategy=adaptive"
             "Refinement/Cycles=3")

# One cell with all levels there can be, and nodes that couple with none.
set(tiny "Solver/AMG/Coarse size=1" ${quiet} "Baseline=trilinos_jacobi")
patchfem_amg(one_cell.helmholtz helmholtz convergence_3d_tetrahedra 1e-8 ${tiny} "Mesh/Generator arguments=1 : 0 : 1 : false" "Mesh/Simplices=none"
             "Refinement/Cycles=1")
patchfem_amg(one_cell.elasticity elasticity cantilever 1e-12 ${tiny} "Mesh/Generator arguments=1, 1, 1 : 0, 0, 0 : 2, 0.2, 0.3 : true"
             "Mesh/Global refinements=0")
patchfem_amg(one_cell.free elasticity cantilever 1e-12 ${tiny} "Mesh/Generator arguments=1, 1, 1 : 0, 0, 0 : 2, 0.2, 0.3 : true"
             "Mesh/Global refinements=0" "Boundary conditions/Dirichlet=" "Solver/Null space=project" CHECKS null_space=6)
patchfem_amg(isolated laplace convergence_2d 1e-9 ${tiny} "Finite element/Degree=1" "Mesh/Global refinements=0")

# A square and a rectangle that do not touch, of two materials: held, held in part, and free.
set(two_parts ${CMAKE_CURRENT_BINARY_DIR}/two_parts.msh)
file(WRITE ${two_parts} "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n8\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n5 3 0 0\n6 5 0 0\n7 5 1 0\n8 3 1 0\n$EndNodes\n$Elements\n2\n1 3 2 1 1 1 2 3 4\n2 3 2 2 2 5 6 7 8\n$EndElements\n")
set(parts "Mesh/Generator=" "Mesh/Generator arguments=" "Mesh/File=${two_parts}" "Mesh/Global refinements=4" "Refinement/Cycles=1"
          "Exact solution/Formula=" ${small} ${quiet})
set(elastic ${parts} "Boundary conditions/Traction=" "Loads/Body force=x-y^2| sin(3*y)")
set(roller "Boundary ids/Rules=1: x > 2 && y < 1e-9" "Boundary conditions/Dirichlet=1: free| 0")
patchfem_amg(parts.held laplace convergence_2d 1e-7 ${parts} "Baseline=trilinos_ml" "Finite element/Degree=1" "Material/Coefficient=1: 1, 2: 1000"
             "Boundary conditions/Dirichlet=all: 0" "Loads/Source=1")
patchfem_amg(parts.neumann laplace convergence_2d 1e-8 ${parts} "Baseline=trilinos_ml" "Finite element/Degree=1" "Material/Coefficient=1: 1, 2: 1000"
             "Boundary conditions/Dirichlet=" "Solver/Null space=project" "Precision=mixed" CHECKS null_space=2)
patchfem_amg(parts.free elasticity convergence_2d 1e-9 ${elastic} "Baseline=trilinos_jacobi" "Boundary conditions/Dirichlet=" "Solver/Null space=project"
             CHECKS null_space=6)
patchfem_amg(parts.roller elasticity convergence_2d 1e-9 ${elastic} ${roller} "Baseline=trilinos_ml" "Solver/Null space=project" "Matrix/Format=csr"
             CHECKS null_space=4)
# No rank knows both parts.
patchfem_run_case(parts.roller_ranks elasticity ${parameter_files}/elasticity/convergence_2d.prm RANKS 3 CHECKS - - 1e-9 null_space=4
                  SET ${elastic} ${roller} "Backend=host" "Mesh/Simplices=kuhn" "Baseline=trilinos_jacobi" "Solver/Null space=project"
                      "Solver/Preconditioner=amg")
patchfem_amg(parts.adaptive elasticity convergence_2d 1e-9 ${elastic} "Baseline=trilinos_ml" "Boundary conditions/Dirichlet=" "Solver/Null space=project"
             "Refinement/Strategy=adaptive" "Refinement/Cycles=3" CHECKS null_space=6)
patchfem_run_case(bad.free_part laplace ${parameter_files}/laplace/convergence_2d.prm SET ${parts} "Boundary ids/Rules=1: x < 2" "Boundary conditions/Dirichlet=1: 0"
                  ERROR "holds the constant of the part of the mesh around .4 0.5.; .* Null space = project")
patchfem_run_case(bad.free_part_ranks laplace ${parameter_files}/laplace/convergence_2d.prm RANKS 3 SET ${parts} "Mesh/Simplices=kuhn" "Boundary ids/Rules=1: x < 2"
                  "Boundary conditions/Dirichlet=1: 0" ERROR "holds the constant of the part of the mesh around .3.*; .* Null space = project")
patchfem_run_case(bad.roller elasticity ${parameter_files}/elasticity/convergence_2d.prm SET ${elastic} ${roller} "Boundary ids/Rules=1: y < 1e-9"
                  ERROR "holds translation in x of the part of the mesh around .0.5 0.5.")

# Singular problems whose solution is known, with every kind of preconditioner, and the beam that nothing holds.
set(neumann "Finite element/Degree=1" "Refinement/Cycles=3" "Boundary conditions/Dirichlet=" "Solver/Null space=project" ${quiet}
            "Loads/Source=2*pi^2*cos(pi*x)*cos(pi*y)+2*pi^2*cos(2*pi*x)" "Exact solution/Formula=cos(pi*x)*cos(pi*y)+cos(2*pi*x)/2")
set(levels_amg ${small})
foreach(preconditioner none jacobi amg)
  patchfem_run_case(neumann.${preconditioner} laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 1.95 0.95 1e-8 null_space=1
                    SET ${neumann} ${levels_${preconditioner}} "Backend=host" "Baseline=petsc_boomeramg" "Solver/Preconditioner=${preconditioner}")
endforeach()
patchfem_run_case(neumann.hanging_nodes laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS - - 1e-8 null_space=1
                  SET ${neumann} ${small} "Refinement/Strategy=adaptive" "Baseline=trilinos_jacobi" "Solver/Preconditioner=amg")
patchfem_run_case(neumann.mpi laplace ${parameter_files}/laplace/convergence_2d.prm RANKS 2 CHECKS - - 1e-8 null_space=1
                  SET ${neumann} "Backend=trilinos" "Solver/Preconditioner=ml" "Baseline=petsc_boomeramg")
foreach(precision double mixed)
  patchfem_amg(free_beam.${precision} elasticity cantilever 1e-11 ${quiet} "Baseline=trilinos_ml" "Boundary conditions/Dirichlet=" "Solver/Null space=project"
               "Precision=${precision}" CHECKS null_space=6)
endforeach()
foreach(n_ranks 2 3 5)
  patchfem_run_case(free_beam.${n_ranks}_ranks elasticity ${parameter_files}/elasticity/cantilever.prm RANKS ${n_ranks} CHECKS null_space=6
                    SET "Backend=host" "Boundary conditions/Dirichlet=" "Solver/Null space=project" "Output/Pictures=none")
  patchfem_run_case(neumann.${n_ranks}_ranks laplace ${parameter_files}/laplace/convergence_2d.prm RANKS ${n_ranks} CHECKS - - 1e-8 null_space=1
                    SET ${neumann} ${small} "Backend=host" "Refinement/Strategy=adaptive" "Baseline=trilinos_jacobi" "Solver/Preconditioner=amg")
endforeach()
# A quadratic mapping of linear elements does not contain the rotation.
patchfem_run_case(bad.null_space elasticity ${parameter_files}/elasticity/convergence_2d.prm ERROR "does not have the null space that is to be projected away"
                  SET "Boundary conditions/Dirichlet=" "Solver/Null space=project" "Boundary conditions/Traction=" "Mesh/Generator=hyper_shell" "Exact solution/Formula="
                      "Mesh/Generator arguments=0, 0 : 0.5 : 1 : 8 : true" "Finite element/Mapping degree=2" "Backend=host")

# Pictures of the levels.
patchfem_run_case(aggregates elasticity ${parameter_files}/elasticity/l_bracket_hp.prm FILES solution-0.vtu CONTAINS "solution-0.vtu:aggregate_1"
                  SET "Solver/Preconditioner=amg" "Output/Aggregates=true" "Solver/AMG/Coarse size=20" "Refinement/Cycles=1" "Backend=host")
patchfem_run_case(bad.aggregates laplace ${parameter_files}/laplace/convergence_2d.prm SET "Output/Aggregates=true" ERROR "Aggregates shows those of Solver/Preconditioner = amg")

# What the application helmholtz asks for.
patchfem_run_case(bad.lambda helmholtz ${parameter_files}/helmholtz/convergence_3d_tetrahedra.prm SET "Constants=lambda = 0" ERROR "Material/Lambda is 0 .* greater than 0")
patchfem_run_case(bad.ones_and_source helmholtz ${parameter_files}/helmholtz/convergence_3d_tetrahedra.prm SET "Loads/Right-hand side=ones" ERROR "ones leaves no place for Loads/Source")
patchfem_run_case(bad.ones_and_dirichlet helmholtz ${parameter_files}/helmholtz/regular.prm SET "Mesh/Global refinements=0" "Boundary conditions/Dirichlet=all: 0"
                  ERROR "ones is for problems without Dirichlet values")
