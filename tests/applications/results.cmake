# SPDX-License-Identifier: LGPL-2.1-or-later
# Numbers that a run finds, against closed forms, on all back ends and numbers of ranks alike.

# patchfem_results(NAME APPLICATION FILE [SET entries...] [CHECKS arguments...]): on one, two and three ranks, and on ranks that share devices.
function(patchfem_results name application file)
  cmake_parse_arguments(CASE "" "" "SET;CHECKS" ${ARGN})
  foreach(backend host emulated_device cuda)
    patchfem_run_case(${name}.${backend} ${application} ${file} SET "Backend=${backend}" ${CASE_SET} CHECKS ${CASE_CHECKS})
  endforeach()
  patchfem_run_case(${name}.2_ranks ${application} ${file} RANKS 2 SET "Backend=host" ${CASE_SET} CHECKS ${CASE_CHECKS})
  patchfem_run_case(${name}.3_ranks ${application} ${file} RANKS 3 DEVICES 1 SET "Backend=emulated_device" ${CASE_SET} CHECKS ${CASE_CHECKS})
endfunction()

# Heat through a wall, u = x/2 with K = 2 and a film at x = 1 that takes 2 u and gives 2; with hanging nodes.
set(wall ${PROJECT_SOURCE_DIR}/tests/cases/wall/case.prm)
set(checks_wall value:reactions/0/flow=-1~1e-9 value:reactions/1/flow=1~1e-9 value:total_loads/flow=0~1e-9 value:energy=0.25~1e-9
    value:imbalance/flow=0~1e-9 value:extremes/solution/maximum=0.5~1e-9 value:extremes/solution/maximum_at/0=1~1e-9
    value:extremes/flux_x/minimum=-1~1e-8 value:points/middle/solution=0.25~1e-9 value:points/corner/flux_x=-1~1e-8
    value:boundaries/1/length=1~1e-12 value:boundaries/1/mean_solution=0.5~1e-9 value:boundaries/1/flow=1~1e-8
    value:materials/0/area=1~1e-12 value:materials/0/mean_solution=0.25~1e-9 value:materials/0/energy=0.25~1e-9)
patchfem_results(results.wall laplace ${wall} CHECKS ${checks_wall})
patchfem_results(results.wall_periodic laplace ${wall} SET "Boundary conditions/Periodic=2 3 y" "Material/Coefficient=2+0*x" CHECKS ${checks_wall})
patchfem_run_case(results.wall.trilinos laplace ${wall} RANKS 2 SET "Backend=trilinos" CHECKS ${checks_wall}
                  CONTAINS "results.csv:^cycle,cells,unknowns,iterations,seconds,extremes/solution/minimum,extremes/solution/minimum_at_x,.*,change of energy")
patchfem_run_case(results.wall.csv laplace ${wall} CONTAINS "results.csv:^2,[0-9]+,[0-9]+,[0-9]+,[0-9.e+-]+,0,0,")
# A source with a reaction: f = 3 over the unit square, of which r u takes the rest that the walls do not.
patchfem_run_case(results.absorbed laplace ${wall} SET "Loads/Source=3" "Material/Reaction=1" "Boundary conditions/Robin=" "Finite element/Degree=2"
                  CHECKS value:body_loads/flow=3~1e-10 value:imbalance/flow=0~1e-9 value:total_loads/flow=3~1e-10 value:total_reactions/flow=-3~1e-10)
# A sink or inertia holds what is out of balance, also where normals hold a part: all three are opposite.
patchfem_results(results.sink laplace ${PROJECT_SOURCE_DIR}/tests/cases/unbalanced_flux/case.prm
                 CHECKS value:total_loads/flow=0.04~1e-9 value:sink/flow=-0.04~1e-10 value:imbalance/flow=0~1e-10)
patchfem_results(results.inertia elasticity ${PROJECT_SOURCE_DIR}/tests/cases/slip_on_circle/case.prm
                 SET "Mesh/File=" "Mesh/Generator=hyper_shell" "Mesh/Generator arguments=0, 0 : 0.5 : 1 : 6 : true" "Mesh/Global refinements=2"
                     "Boundary conditions/No normal flux=0, 1" "Loads/Body force=x^2-y| x" "Solver/Null space=project"
                 CHECKS value:imbalance/force=0~1e-10 value:imbalance/moment=0~1e-10)
# Periodic pairs carry moments, which no number is then said of.
patchfem_run_case(results.periodic elasticity ${PROJECT_SOURCE_DIR}/tests/cases/bar/case.prm CHECKS value:imbalance/force=0~1e-8 value:reactions/0/force_x=-1~1e-8
                  SET "Backend=host" "Boundary conditions/Dirichlet=0: 0| 0" "Boundary conditions/Periodic=2 3 y" CONTAINS "results.csv:imbalance/force,points/end")

# Bending of a clamped beam under its weight and a load at its end, and torsion by a traction.
set(beam ${parameter_files}/elasticity/cantilever.prm)
patchfem_results(results.bending elasticity ${beam} SET "Mesh/Global refinements=0" "Results/Points=tip: length, width, height"
                 CHECKS value:reactions/0/force_z=129241.02~1e-10 value:reactions/0/force_x=0~1e-4 value:reactions/0/moment_x=12924.102~1e-10
                        value:reactions/0/moment_y=-249241.02~1e-10 value:body_loads/force_z=-9241.02~1e-12 value:body_loads/moment_y=9241.02~1e-12
                        value:loads/1/force_z=-120000~1e-12 value:imbalance/force=0~1e-6 value:imbalance/moment=0~1e-6)
set(torsion "Mesh/Global refinements=0" "Backend=host" "Solver/Tolerance=1e-12" "Boundary conditions/Traction=1: 0| 0.15-z| y-0.1" "Loads/Body force=0| 0| 0")
set(checks_torsion value:loads/1/moment_x=6.5e-4~1e-10 value:reactions/0/moment_x=-6.5e-4~1e-10 value:reactions/0/force_y=0~1e-10
                   value:imbalance/force=0~1e-10 value:imbalance/moment=0~1e-10)
patchfem_run_case(results.torsion elasticity ${beam} CHECKS ${checks_torsion} SET ${torsion} "Finite element/Degree=2")
patchfem_run_case(results.torsion_hanging elasticity ${beam} RANKS 3 CHECKS ${checks_torsion} SET ${torsion} "Refinement/Strategy=adaptive" "Refinement/Cycles=2")

# Stresses and flux at nodes, means of the cells of each material, in pictures that other tests write.
find_program(PATCHFEM_PYTHON python3)
foreach(picture "results.bending.host/solution-0.vtu von_mises equal" "laplace.cylinder_plate/solution-0.vtu flux"
                "solid.clamped/solution-4.vtu stress equal")
  separate_arguments(picture)
  list(GET picture 0 file)
  string(REGEX REPLACE "/.*" "" case ${file})
  list(REMOVE_AT picture 0)
  if(PATCHFEM_PYTHON)
    add_test(NAME app.nodal.${case} COMMAND ${PATCHFEM_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/check_nodal.py
             ${CMAKE_CURRENT_BINARY_DIR}/out/${file} ${picture})
    set_tests_properties(app.nodal.${case} PROPERTIES DEPENDS app.${case} LABELS quick)
  endif()
endforeach()

# A bar that is drawn by p = 1 in plane stress: E = 1000, u = (p x / E, ...), also with the mean dilatation of cells.
foreach(volumetric full reduced)
  patchfem_results(results.bar_${volumetric} elasticity ${PROJECT_SOURCE_DIR}/tests/cases/bar/case.prm SET "Finite element/Volumetric=${volumetric}"
                   CHECKS value:extremes/von_mises/minimum=1~1e-7 value:extremes/von_mises/maximum=1~1e-7 value:extremes/displacement_x/maximum=2e-3~1e-7
                          value:extremes/stress_yy/maximum=0~1e-7 value:materials/3/mean_strain_xx=1e-3~1e-7 value:materials/3/mean_strain_yy=-3e-4~1e-7
                          value:energy=1e-3~1e-7 value:reactions/0/force_x=-1~1e-10 value:reactions/0/moment_z=0.5~1e-10 value:boundaries/1/force_x=1~1e-7
                          value:boundaries/1/moment_z=-0.5~1e-7 value:boundaries/1/mean_displacement_x=2e-3~1e-7)
endforeach()

patchfem_run_case(bad.point_outside laplace ${wall} SET "Results/Points=far: 2, 0"
                  ERROR "point 'far' of the entry Results/Points, .2 0., lies in no cell of the body")
patchfem_run_case(bad.point_coordinates laplace ${wall} SET "Results/Points=far: 2" ERROR "wants a name and 2 coordinates for each point")
patchfem_run_case(bad.result_boundary laplace ${wall} SET "Results/Boundaries=9" ERROR "Results/Boundaries names boundary id 9")
patchfem_run_case(bad.result_material laplace ${wall} SET "Results/Materials=9" ERROR "Results/Materials names material id 9")

# The answer comes first, and what matters to developers when it is asked for.
foreach(option --verbose "")
  add_test(NAME app.terminal${option} COMMAND $<TARGET_FILE:elasticity> ${beam} --set "Mesh/Global refinements=0" ${option}
           --output ${CMAKE_CURRENT_BINARY_DIR}/out/terminal${option})
  set_tests_properties(app.terminal${option} PROPERTIES LABELS quick ENVIRONMENT "OMP_WAIT_POLICY=passive")
endforeach()
set_tests_properties(app.terminal--verbose PROPERTIES PASS_REGULAR_EXPRESSION "von_mises.*reactions of 0.*Times of.*Assembly: .*Levels of the preconditioner")
set_tests_properties(app.terminal PROPERTIES PASS_REGULAR_EXPRESSION "von_mises.*reactions of 0.*Times of" FAIL_REGULAR_EXPRESSION "Levels of|Assembly: ")
