# SPDX-License-Identifier: LGPL-2.1-or-later
# Every parameter file runs. Those with an exact solution are held to orders a little below the theoretical ones.
file(GLOB files CONFIGURE_DEPENDS RELATIVE ${parameter_files} ${parameter_files}/*/*.prm)

set(checks_laplace.convergence_2d 2.95 1.95)
set(checks_laplace.convergence_3d 3.9 2.9)
set(checks_laplace.convergence_3d_tetrahedra 2.9 1.9)
set(checks_elasticity.convergence_2d 1.95 0.98)
set(checks_elasticity.convergence_3d_tetrahedra 1.8 0.95)
# With one degree such errors take 15724 unknowns (Q1) and 72531 (Q2) on adaptive meshes.
set(checks_laplace.l_shape_hp max_H1=2.4e-3 degrees=1,2,3 sorting_window=1024)
set(checks_laplace.l_shape_hp_adaptive max_H1=1e-3 max_dofs=6000 degrees=2,3,4)
set(checks_elasticity.l_bracket_hp degrees=2,3,4)
set(checks_laplace.hp_square_hole degrees=2,3,4 solver_error=2e-8)
# Tens of millions of unknowns are for a GPU.
set(set_laplace.hp_large "Refinement/Cycles=3" "Mesh/Global refinements=3")
set(checks_laplace.hp_large degrees=2,3,4 solver_error=2e-6)
set(checks_helmholtz.convergence_3d_tetrahedra 1.85 0.93)
# Two levels coarser than P3's mesh, which takes as long as all of the others.
set(set_helmholtz.regular "Mesh/Global refinements=1" "Baseline=petsc_boomeramg" "Output/Aggregates=true")
set(checks_helmholtz.regular - - 1e-4)
set(set_helmholtz.two_materials "Mesh/Global refinements=1" "Constants=inside = 100, radius = 0.72557" "Baseline=trilinos_ml")
set(checks_helmholtz.two_materials - - 1e-4)
set(checks_elasticity.wheelset min_levels=2)
set(checks_elasticity.osteon min_levels=2)
set(checks_pressure_poisson.dam_break max_divergence=2e-8)
set(checks_pressure_poisson.sphere_drop max_divergence=2e-8)
set(checks_pressure_poisson.closed_box max_divergence=2e-10 null_space=1 max_L2=2.1e-4)
set(checks_pressure_poisson.pores max_divergence=2e-8 null_space=1)
# The bridge is for a solver with a good preconditioner; here it shall only run.
set(set_elasticity.bridge "Finite element/Degree=1")

foreach(file ${files})
  get_filename_component(application ${file} DIRECTORY)
  get_filename_component(stem ${file} NAME_WE)
  set(name ${application}.${stem})
  patchfem_run_case(${name} ${application} ${parameter_files}/${file} FILES report.json parameters.prm
                    SET ${set_${name}} CHECKS ${checks_${name}})
endforeach()

# The other degrees and cells of the same problems.
patchfem_run_case(laplace.convergence_2d.q1 laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 1.95 0.95
                  SET "Finite element/Degree=1" FILES solution-3.vtu CONTAINS "solution.pvd:timestep=.3. .*file=.solution-3.vtu")
patchfem_run_case(laplace.convergence_2d.q3 laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 3.9 2.95
                  SET "Finite element/Degree=3" "Refinement/Cycles=3")
patchfem_run_case(laplace.convergence_2d.p1 laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 1.9 0.95
                  SET "Finite element/Degree=1" "Mesh/Simplices=kuhn")
patchfem_run_case(laplace.convergence_2d.p2 laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 2.9 1.9
                  SET "Mesh/Simplices=dealii" "Mesh/Global refinements=0")
patchfem_run_case(elasticity.convergence_2d.q2 elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS 2.9 1.9
                  SET "Finite element/Degree=2")
patchfem_run_case(elasticity.convergence_3d.p2 elasticity ${parameter_files}/elasticity/convergence_3d_tetrahedra.prm
                  CHECKS 2.8 1.9 SET "Finite element/Degree=2" "Refinement/Cycles=3")

# deal.II's own loop and Trilinos' solvers find the same solution: hanging nodes, tensor coefficients that vary and
# reaction, Robin conditions, pressure and elastic support, materials, tetrahedra, periodicity, no normal flux, and
# both formats and strategies. Each on all back ends.
function(patchfem_compare name application file)
  patchfem_run_backends(${name} ${application} ${parameter_files}/${application}/${file}.prm CHECKS - - 1e-8
                        SET "Solver/Tolerance=1e-11" ${ARGN})
endfunction()
patchfem_compare(compare.hanging_nodes laplace l_shape "Baseline=trilinos_ml" "Refinement/Cycles=5")
patchfem_compare(compare.kept_entries laplace l_shape "Baseline=trilinos_ml" "Refinement/Cycles=4"
                 "Matrix/Keep constrained entries=true")
patchfem_compare(compare.tensor laplace convergence_2d "Baseline=trilinos_jacobi" "Refinement/Cycles=2"
                 "Material/Coefficient=2+x| 0.5*y| 1+y" "Material/Reaction=1+x*y")
patchfem_compare(compare.robin laplace convergence_3d "Baseline=trilinos_jacobi" "Refinement/Cycles=2" "Matrix/Format=csr"
                 "Assembly/Repetitions=2")
patchfem_compare(compare.materials laplace cylinder_plate "Baseline=trilinos_jacobi" "Finite element/Degree=1")
patchfem_compare(compare.gather laplace convergence_2d "Baseline=trilinos_jacobi" "Finite element/Degree=4"
                 "Refinement/Cycles=2" "Assembly/Strategy=gather" "Finite element/Mapping degree=3"
                 "Mesh/Generator=hyper_shell" "Mesh/Generator arguments=0, 0 : 0.5 : 1 : 0 : false" "Mesh/Global refinements=0")
patchfem_compare(compare.cantilever elasticity cantilever "Baseline=trilinos_ml" "Mesh/Global refinements=1"
                 "Solver/Preconditioner=block_jacobi" "Solver/Tolerance=1e-10" "Constants=length = 2, width = 0.2, height = 0.3, load = 120, density = 7.850, gravity = 9.81")
patchfem_compare(compare.elastic_support elasticity convergence_2d "Baseline=trilinos_jacobi" "Refinement/Cycles=2"
                 "Boundary conditions/Dirichlet=" "Boundary conditions/Pressure=3: 1+x"
                 "Boundary conditions/Robin=2: 3| x| y" "Material/Poisson's ratio=0.2+0.1*x" "Material/Plane state=plane stress")
patchfem_compare(compare.no_normal_flux elasticity convergence_2d "Baseline=trilinos_jacobi" "Refinement/Cycles=2"
                 "Mesh/Generator=hyper_shell" "Mesh/Generator arguments=0, 0 : 0.5 : 1 : 8 : true"
                 "Boundary conditions/Dirichlet=1: 0| free" "Boundary conditions/No normal flux=0" "Boundary conditions/Traction=")
patchfem_compare(compare.periodic laplace convergence_2d "Baseline=trilinos_jacobi" "Refinement/Cycles=3"
                 "Refinement/Strategy=adaptive" "Mesh/Generator arguments=0 : 1 : true"
                 "Boundary conditions/Dirichlet=2: 0, 3: x" "Boundary conditions/Periodic=0 1 x")

# The steps print numbers that must not depend on the back end; FILES here are what they write.
foreach(step step-6 step-8 step-traction)
  foreach(backend host emulated_device cuda)
    add_test(NAME app.${step}.${backend} COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${step}> -DBACKEND=${backend} -DSTEP=${step}
             -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/out/${step}.${backend} -P ${CMAKE_CURRENT_SOURCE_DIR}/run_step.cmake)
    set_tests_properties(app.${step}.${backend} PROPERTIES TIMEOUT 300 SKIP_REGULAR_EXPRESSION "skipped: there is"
                         ENVIRONMENT "OMP_WAIT_POLICY=passive")
  endforeach()
  set_tests_properties(app.${step}.host app.${step}.emulated_device PROPERTIES LABELS quick)
  set_tests_properties(app.${step}.cuda PROPERTIES LABELS gpu)
endforeach()

# A system for other solvers.
patchfem_run_case(laplace.export laplace ${parameter_files}/laplace/convergence_2d.prm FILES system.bin
                  SET "Backend=host" "Export system=system.bin" "Refinement/Cycles=1")

# Several ranks: p4est with adaptive refinement, METIS with tetrahedra.
patchfem_run_case(laplace.l_shape.mpi laplace ${parameter_files}/laplace/l_shape.prm RANKS 2
                  SET "Backend=trilinos" "Refinement/Cycles=5" FILES solution-4.pvtu solution-4.0000.vtu solution-4.0001.vtu
                  CONTAINS "solution.pvd:file=.solution-4.pvtu")
patchfem_run_case(laplace.tetrahedra.mpi laplace ${parameter_files}/laplace/convergence_3d_tetrahedra.prm RANKS 2
                  SET "Backend=trilinos" "Refinement/Cycles=3" CHECKS 2.9 1.9)
patchfem_run_case(bad.several_ranks laplace ${parameter_files}/laplace/l_shape.prm RANKS 2 SET "Backend=host" "Export system=system.bin"
                  ERROR "Export system writes the matrix of one process; run one")
patchfem_run_case(bad.converted_format_ranks laplace ${parameter_files}/laplace/l_shape.prm RANKS 2 SET "Backend=host" "Matrix/Format=symmetric"
                  ERROR "converted to Matrix/Format symmetric in one process; with several MPI ranks choose sliced_ellpack, csr or bell")
patchfem_run_case(elasticity.cantilever.mpi elasticity ${parameter_files}/elasticity/cantilever.prm RANKS 2
                  SET "Backend=trilinos" "Solver/Preconditioner=ml" "Mesh/Global refinements=1")

# PatchFEM's own way on several ranks, beside Trilinos on the same ones, with defaults; the mesh is p4est's or cut by METIS.
function(patchfem_compare_ranks name application file)
  foreach(n_ranks 2 3)
    patchfem_run_case(${name}.${n_ranks}_ranks ${application} ${parameter_files}/${application}/${file}.prm RANKS ${n_ranks} CHECKS - - 1e-8
                      SET "Solver/Tolerance=1e-11" "Baseline=trilinos_ml" ${ARGN} CONTAINS "report.json:\"n_ranks\": ${n_ranks}")
  endforeach()
endfunction()
patchfem_compare_ranks(ranks.hanging_nodes laplace l_shape "Backend=host" "Refinement/Cycles=5")
patchfem_compare_ranks(ranks.emulated laplace l_shape "Backend=emulated_device" "Refinement/Cycles=4" "Solver/Preconditioner=amg")
patchfem_compare_ranks(ranks.hp laplace l_shape_hp "Backend=host" "Refinement/Cycles=4" "Baseline=trilinos_jacobi")
patchfem_compare_ranks(ranks.periodic laplace convergence_2d "Backend=host" "Refinement/Cycles=3" "Refinement/Strategy=adaptive"
                       "Mesh/Generator arguments=0 : 1 : true" "Boundary conditions/Dirichlet=2: 0, 3: x" "Boundary conditions/Periodic=0 1 x"
                       "Baseline=trilinos_jacobi")
patchfem_compare_ranks(ranks.robin laplace convergence_3d "Backend=host" "Refinement/Cycles=2" "Baseline=trilinos_jacobi")
patchfem_compare_ranks(ranks.materials laplace cylinder_plate "Backend=host" "Finite element/Degree=1" "Baseline=trilinos_jacobi")
patchfem_compare_ranks(ranks.tetrahedra laplace convergence_3d_tetrahedra "Backend=host" "Refinement/Cycles=2" "Baseline=trilinos_jacobi")
patchfem_compare_ranks(ranks.cantilever elasticity cantilever "Backend=host" "Mesh/Global refinements=1" "Solver/Tolerance=1e-10"
                       "Constants=length = 2, width = 0.2, height = 0.3, load = 120, density = 7.850, gravity = 9.81")
patchfem_compare_ranks(ranks.ssor elasticity cantilever "Backend=host" "Mesh/Global refinements=0" "Solver/Tolerance=1e-10" "Solver/Preconditioner=ssor"
                       "Constants=length = 2, width = 0.2, height = 0.3, load = 120, density = 7.850, gravity = 9.81")
patchfem_compare_ranks(ranks.csr laplace l_shape "Backend=host" "Refinement/Cycles=5" "Matrix/Format=csr" "Solver/Preconditioner=amg")
# One rank takes 15 steps with patches, and of a slender beam 17 with a W-cycle, where three take 22 with a V-cycle.
foreach(preconditioner ssor incomplete_cholesky) # what ranks take is compared with the forecast
  patchfem_run_case(ranks.large_${preconditioner} elasticity ${parameter_files}/elasticity/cantilever.prm RANKS 2
                    SET "Backend=host" "Solver/Preconditioner=${preconditioner}" "Output/Pictures=none"
                    CONTAINS "report.json:\"inside_ranks\": \"(sweeps|factors)\"")
endforeach()
foreach(n_ranks 2 3)
  patchfem_run_case(ranks.patch.${n_ranks} elasticity ${parameter_files}/elasticity/cantilever.prm RANKS ${n_ranks}
                    SET "Backend=host" "Mesh/Global refinements=1" "Solver/AMG/Smoother=patch" "Solver/Tolerance=1e-10"
                    CONTAINS "report.json:\"inside_ranks\": \"aggregates and patches\"")
  patchfem_run_case(ranks.w_cycle.${n_ranks} elasticity ${parameter_files}/elasticity/cantilever.prm RANKS ${n_ranks}
                    SET "Backend=host" "Mesh/Generator arguments=40,4,4 : 0,0,0 : 200,4,4 : true" "Mesh/Global refinements=1" "Solver/AMG/Cycle=w")
endforeach()
# Ranks that share devices.
function(patchfem_compare_on_devices name n_ranks n_devices application file)
  patchfem_run_case(devices.${name} ${application} ${parameter_files}/${application}/${file}.prm RANKS ${n_ranks} DEVICES ${n_devices}
                    CHECKS - - 1e-8 CONTAINS "report.json:\"device\": \"emulated device 0\""
                    SET "Backend=emulated_device" "Solver/Tolerance=1e-11" "Baseline=trilinos_jacobi" ${ARGN})
endfunction()
patchfem_compare_on_devices(hanging_nodes 3 1 laplace l_shape "Refinement/Cycles=5")
patchfem_compare_on_devices(hp 5 2 laplace l_shape_hp "Refinement/Cycles=4")
patchfem_compare_on_devices(periodic 3 2 laplace convergence_2d "Refinement/Cycles=3" "Refinement/Strategy=adaptive" "Mesh/Generator arguments=0 : 1 : true"
                            "Boundary conditions/Dirichlet=2: 0, 3: x" "Boundary conditions/Periodic=0 1 x")
patchfem_compare_on_devices(robin 5 2 laplace convergence_3d "Refinement/Cycles=2")
patchfem_compare_on_devices(materials 2 1 laplace cylinder_plate "Finite element/Degree=1")
# Materials that the owner of the device has no cell of.
patchfem_run_case(devices.materials_apart laplace ${PROJECT_SOURCE_DIR}/tests/cases/vtk_cell_data/case.prm RANKS 3 DEVICES 1 CHECKS max_L2=1e-8
                  SET "Backend=emulated_device" "Exact solution/Formula=x < 1 ? x : 1 + (x - 1)/10" "Solver/Tolerance=1e-12" "Output/Pictures=none")
patchfem_compare_on_devices(curved 3 1 laplace cylinder_plate "Finite element/Degree=2")
patchfem_compare_on_devices(tetrahedra 3 1 laplace convergence_3d_tetrahedra "Refinement/Cycles=2")
patchfem_compare_on_devices(helmholtz 3 2 helmholtz convergence_3d_tetrahedra "Refinement/Cycles=2")
patchfem_compare_on_devices(cantilever 5 1 elasticity cantilever "Mesh/Global refinements=1" "Solver/Tolerance=1e-10" "Baseline=trilinos_ml"
                            "Constants=length = 2, width = 0.2, height = 0.3, load = 120, density = 7.850, gravity = 9.81")
patchfem_compare_on_devices(neumann 3 1 laplace convergence_2d "Finite element/Degree=1" "Refinement/Cycles=3" "Boundary conditions/Dirichlet="
                            "Solver/Null space=project" "Solver/Preconditioner=amg" "Loads/Source=2*pi^2*cos(pi*x)*cos(pi*y)"
                            "Exact solution/Formula=cos(pi*x)*cos(pi*y)")
# What fails on an owner, and on a member alone.
patchfem_run_case(bad.owner laplace ${parameter_files}/laplace/convergence_2d.prm RANKS 3 DEVICES 1
                  SET "Backend=emulated_device" "Solver/Maximum iterations=1" ERROR "Raise Solver/Maximum iterations")
patchfem_run_case(bad.member laplace ${parameter_files}/laplace/convergence_2d.prm RANKS 3 DEVICES 1
                  SET "Backend=emulated_device" "Loads/Source=sqrt(0.9-y)" "Refinement/Cycles=1" ERROR "Loads/Source.*not finite")
# Parts of meshes: simplices of a file, and more coarse hexahedra than p4est is given, as they are and refined.
patchfem_run_case(ranks.wheelset elasticity ${parameter_files}/elasticity/wheelset.prm RANKS 3 FILES solution-0.pvtu solution-0.0002.vtu
                  SET "Backend=host" "Solver/Tolerance=1e-11" "Baseline=trilinos_ml" CHECKS n_dofs=16371 max_relative_difference=1e-9)
patchfem_run_case(ranks.many_coarse_cells laplace ${parameter_files}/laplace/convergence_3d.prm RANKS 3
                  SET "Backend=host" "Mesh/Generator=subdivided_hyper_cube" "Mesh/Generator arguments=22 : 0 : 1 : true" "Mesh/Global refinements=0"
                      "Refinement/Cycles=1" "Finite element/Degree=1" "Solver/Tolerance=1e-11" "Baseline=trilinos_ml"
                  CHECKS - - 1e-8 n_dofs=12167 min_L2=9.0995e-4 max_L2=9.0996e-4)
patchfem_run_case(ranks.many_coarse_cells_hp laplace ${parameter_files}/laplace/l_shape_hp.prm RANKS 3
                  SET "Backend=host" "Mesh/Coarse refinements=6" "Mesh/Global refinements=0" "Refinement/Strategy=global" "Refinement/Cycles=2"
                  CHECKS 1.3 0.6 n_dofs=423857 degrees=1,2,3 max_H1=1.32e-2)
# p4est's, of a pipe, which can be read once.
set(pipe ${CMAKE_CURRENT_BINARY_DIR}/bridge.msh)
patchfem_run_case(ranks.bridge elasticity ${parameter_files}/elasticity/bridge.prm RANKS 3 SET "Backend=host" "Mesh/File=${pipe}" CHECKS n_dofs=17199
                  SHELL "rm -f ${pipe} && mkfifo ${pipe} && { timeout 60 cat ${parameter_files}/meshes/bridge.msh > ${pipe} & }")
patchfem_run_case(bad.mesh_file_ranks elasticity ${parameter_files}/elasticity/wheelset.prm RANKS 3 SET "Mesh/File=nowhere.msh"
                  ERROR "nowhere.msh' cannot be opened")
patchfem_run_case(bad.adaptive_tetrahedra_ranks elasticity ${parameter_files}/elasticity/wheelset.prm RANKS 3
                  SET "Refinement/Strategy=adaptive" "Refinement/Cycles=2" ERROR "adaptive is not supported on tetrahedra; use global")
foreach(n_ranks 1 2 3)
  add_test(NAME app.step-40.${n_ranks}_ranks
           COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${DEAL_II_MPIEXEC};${DEAL_II_MPIEXEC_NUMPROC_FLAG};${n_ranks};$<TARGET_FILE:step-40>" -DBACKEND=host -DSTEP=step-40
                   -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/out/step-40.${n_ranks} -P ${CMAKE_CURRENT_SOURCE_DIR}/run_step.cmake)
  set_tests_properties(app.step-40.${n_ranks}_ranks PROPERTIES LABELS mpi PROCESSORS ${n_ranks} TIMEOUT 300 ENVIRONMENT "${PATCHFEM_MPI_ENVIRONMENT};OMP_NUM_THREADS=1")
endforeach()

add_test(NAME app.step-40.on_devices
         COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${DEAL_II_MPIEXEC};${DEAL_II_MPIEXEC_NUMPROC_FLAG};5;$<TARGET_FILE:step-40>" -DBACKEND=emulated_device -DSTEP=step-40
                 -DFOLDER=${CMAKE_CURRENT_BINARY_DIR}/out/step-40.devices -P ${CMAKE_CURRENT_SOURCE_DIR}/run_step.cmake)
set_tests_properties(app.step-40.on_devices PROPERTIES LABELS mpi PROCESSORS 5 TIMEOUT 300
                     ENVIRONMENT "${PATCHFEM_MPI_ENVIRONMENT};OMP_NUM_THREADS=1;OMP_WAIT_POLICY=passive;PATCHFEM_EMULATED_DEVICES=2")

# The comparisons of processors, small: they fail unless threads and processes find the same solution.
find_program(PATCHFEM_PYTHON python3)
if(PATCHFEM_PYTHON)
  add_test(NAME app.bench_cpu COMMAND ${PATCHFEM_PYTHON} ${PROJECT_SOURCE_DIR}/benchmarks/bench_cpu_dealii.py --build ${PROJECT_BINARY_DIR}
                                      --cores 2 --refinements 1 --rounds 1 --repetitions 2)
  add_test(NAME app.bench_multigrid COMMAND ${PATCHFEM_PYTHON} ${PROJECT_SOURCE_DIR}/benchmarks/bench_multigrid_dealii.py
                                            --build ${PROJECT_BINARY_DIR} --cores 2 --backend host --only laplace --finer -2 --rounds 1)
  add_test(NAME app.bench_robustness COMMAND ${PATCHFEM_PYTHON} ${PROJECT_SOURCE_DIR}/benchmarks/bench_robustness_dealii.py
                                             --build ${PROJECT_BINARY_DIR} --cores 2 --backend host --only stretched_10 --finer -2)
  set_tests_properties(app.bench_cpu app.bench_multigrid app.bench_robustness PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 300 ENVIRONMENT "OMP_WAIT_POLICY=passive")
endif()

# Memory of a back end is forecast from the tables, and counted; check_report compares.

set(box_of_11529 "Mesh/Generator arguments=30, 3, 4 : 0, 0, 0 : 2, 0.2, 0.3 : true" "Mesh/Global refinements=1")
patchfem_run_case(memory.hp_adaptive laplace ${parameter_files}/laplace/hp_square_hole.prm CHECKS degrees=2,3,4
                  SET "Backend=emulated_device" "Output/Pictures=none")
patchfem_run_case(memory.q2 elasticity ${parameter_files}/elasticity/cantilever.prm
                  SET "Backend=emulated_device" "Finite element/Degree=2" ${box_of_11529} "Mesh/Global refinements=0")
patchfem_run_case(memory.tetrahedra elasticity ${parameter_files}/elasticity/wheelset.prm SET "Backend=emulated_device")
# Buffers that are full, which the strategy says, or which a GPU's smaller patches of these elements lead to.
patchfem_run_case(memory.gather.q3 laplace ${parameter_files}/laplace/convergence_3d.prm
                  SET "Backend=emulated_device" "Assembly/Strategy=gather" "Output/Pictures=none")
patchfem_run_case(memory.gather.tetrahedra elasticity ${parameter_files}/elasticity/convergence_3d_tetrahedra.prm
                  SET "Backend=emulated_device" "Assembly/Strategy=gather" "Output/Pictures=none")
patchfem_run_case(memory.small_patches elasticity ${parameter_files}/elasticity/convergence_3d_tetrahedra.prm
                  SET "Backend=emulated_device" "Assembly/Strategy=patches" "Assembly/Rows per patch=16" "Output/Pictures=none")
patchfem_run_case(memory.hanging_nodes laplace ${parameter_files}/laplace/l_shape.prm SET "Backend=emulated_device")

# Formats that are chosen: from the bytes of the pattern, and by products that are timed, whose rates stay in a file.
patchfem_run_case(format.auto laplace ${parameter_files}/laplace/l_shape.prm SET "Backend=host" "Refinement/Cycles=2"
                  CONTAINS "report.json:\"format_choice\": \"csr\"" CHECKS sorting_window=256)
# The window of rows of many lengths: of more nodes, of a format that has no use for it, and as it is named.
function(patchfem_window name window)
  patchfem_run_case(format.window.${name} laplace ${parameter_files}/laplace/l_shape_hp.prm CHECKS sorting_window=${window}
                    SET "Solver/Preconditioner=jacobi" "Output/Pictures=none" "Mesh/Global refinements=5" "Refinement/Cycles=1" ${ARGN})
endfunction()
patchfem_window(auto 1024 "Backend=host" CONTAINS "report.json:\"format_choice\": \"sliced_ellpack, slices of 32")
patchfem_window(auto_device 1024 "Backend=emulated_device" "Mesh/Global refinements=6")
patchfem_window(sell 1024 "Backend=host" "Matrix/Format=sell" "Matrix/Sorting window=auto")
patchfem_window(csr 256 "Backend=host" "Matrix/Format=csr")
patchfem_window(named 64 "Backend=host" "Matrix/Sorting window=64")
foreach(backend host emulated_device cuda)
  patchfem_run_case(format.calibrated.${backend} elasticity ${parameter_files}/elasticity/cantilever.prm
                    SET "Backend=${backend}" "Matrix/Calibrate=true" CONTAINS "patchfem/format_rates:${backend} .* sliced_ellpack, slices of 32 ")
  set_property(TEST app.format.calibrated.${backend} APPEND PROPERTY ENVIRONMENT
               "XDG_CACHE_HOME=${CMAKE_CURRENT_BINARY_DIR}/out/format.calibrated.${backend}")
endforeach()
