# SPDX-License-Identifier: LGPL-2.1-or-later
# Multigrid on all back ends, beside Trilinos: the same solution, in a number of iterations that hardly depends on the
# mesh.
function(patchfem_amg name application file difference)
  cmake_parse_arguments(AMG "" "" "CHECKS" ${ARGN})
  patchfem_run_backends(amg.${name} ${application} ${parameter_files}/${application}/${file}.prm CHECKS - - ${difference} ${AMG_CHECKS}
                        SET "Solver/Preconditioner=amg" ${AMG_UNPARSED_ARGUMENTS})
endfunction()
set(small "Solver/AMG/Coarse size=50") # levels where there are few unknowns
set(exact "Baseline=trilinos_ml" "Solver/Tolerance=1e-11" "Output/Pictures=none")

patchfem_amg(laplace laplace convergence_3d 1e-8 ${exact} "Finite element/Degree=1" "Mesh/Global refinements=3" "Refinement/Cycles=2"
             CHECKS min_levels=2)
patchfem_amg(laplace_q2 laplace convergence_3d 1e-8 ${exact} ${small} "Refinement/Cycles=2" "Matrix/Format=csr")
patchfem_amg(tetrahedra laplace convergence_3d_tetrahedra 1e-8 ${exact} ${small} "Refinement/Cycles=2")
# Constrained unknowns have only a diagonal, and the others of their node may be free.
patchfem_amg(hanging_nodes laplace l_shape 1e-8 ${exact} ${small} "Refinement/Cycles=6")
patchfem_amg(hp laplace l_shape_hp 1e-8 ${exact} "Refinement/Cycles=6" "Matrix/Format=csr")
patchfem_amg(periodic laplace convergence_2d 1e-8 ${exact} ${small} "Refinement/Cycles=3" "Refinement/Strategy=adaptive"
             "Mesh/Generator arguments=0 : 1 : true" "Boundary conditions/Dirichlet=2: 0, 3: x" "Boundary conditions/Periodic=0 1 x")
patchfem_amg(no_normal_flux elasticity convergence_2d 1e-8 ${exact} ${small} "Refinement/Cycles=2"
             "Mesh/Generator=hyper_shell" "Mesh/Generator arguments=0, 0 : 0.5 : 1 : 8 : true"
             "Boundary conditions/Dirichlet=1: 0| free" "Boundary conditions/No normal flux=0" "Boundary conditions/Traction=")
patchfem_amg(hp_elasticity elasticity convergence_2d 1e-8 ${exact} ${small} "Refinement/Strategy=adaptive" "Refinement/Cycles=4"
             "Finite element/Degrees=1, 2, 3" "Finite element/Cell degree=x < 0.3 ? 1 : (y < 0.6 ? 3 : 2)")

# Tensors: 1e-2 and 1e-4 along one axis, turned by 45 degrees, and two halves of different strong directions. Sources that
# are not smooth excite what a constant one does not.
set(waves "Loads/Source=sin(37*x*y+11*z)*cos(41*z*x)" "Boundary conditions/Dirichlet=0: 0" "Boundary conditions/Robin="
          "Exact solution/Formula=" "Refinement/Cycles=1" "Solver/Tolerance=1e-8" "Baseline=trilinos_ml" "Output/Pictures=none")
foreach(case "weak:1|0|0|1|0|1e-2" "weaker:1|0|0|1|0|1e-4" "turned:0.505|0|0.495|1|0|0.505" "halves:z<0.5 ? 1 : 1e-3|0|0|1|0|z<0.5 ? 1e-3 : 1")
  string(REGEX MATCH "^([a-z]*):(.*)$" matched "${case}")
  patchfem_amg(tensor_${CMAKE_MATCH_1} laplace convergence_3d 1e-5 ${waves} "Finite element/Degree=1" "Mesh/Global refinements=5"
               "Material/Coefficient=${CMAKE_MATCH_2}")
endforeach()

# The cantilever, whose displacements are of the order of 1e-3: every precision, format, cycle and smoother.
set(beam "Baseline=trilinos_ml" "Output/Pictures=none")
function(patchfem_amg_variant group name)
  cmake_parse_arguments(CASE "" "" "CHECKS" ${ARGN})
  patchfem_variant(variants.${group} amg.${name} CHECKS - - 1e-12 ${CASE_CHECKS} SET "Solver/Preconditioner=amg" ${CASE_UNPARSED_ARGUMENTS})
endfunction()
patchfem_amg_variant(cantilever cantilever CHECKS min_levels=2 precision=mixed)
# Nearly incompressible ones, of which chebyshev takes 57 and 188 steps.
patchfem_amg(cantilever_0.49 elasticity cantilever 1e-11 ${beam} "Material/Poisson's ratio=0.49" "Solver/AMG/Smoother=factorized_inverse" CHECKS min_levels=3 precision=mixed)
patchfem_amg(cantilever_0.499 elasticity cantilever 1e-11 ${beam} "Material/Poisson's ratio=0.499" "Solver/AMG/Smoother=factorized_inverse" CHECKS min_levels=3)
patchfem_amg_variant(cantilever cantilever_double "Precision=double" CHECKS min_levels=2 precision=double)
patchfem_amg_variant(cantilever cantilever_mixed "Precision=mixed" "Matrix/Format=csr" CHECKS min_levels=2 precision=mixed)
patchfem_amg_variant(beam cantilever_w "Solver/AMG/Cycle=w" "Solver/AMG/Smoother=l1_jacobi" "Solver/AMG/Sweeps=3" "Solver/AMG/Coarse size=60"
                     CHECKS min_levels=3)
patchfem_amg_variant(beam cantilever_strong "Solver/AMG/Strength threshold=0.02" "Solver/AMG/Smoother=block_jacobi")
patchfem_amg_variant(cantilever cantilever_patch "Precision=mixed" "Solver/AMG/Smoother=patch" CHECKS min_levels=2)
patchfem_amg_variant(cantilever cantilever_patch_both "Precision=mixed" "Solver/AMG/Smoother=patch" "Solver/AMG/Patch storage=both"
                     CHECKS min_levels=2)
patchfem_amg(tetrahedra_patch laplace convergence_3d_tetrahedra 1e-8 ${exact} ${small} "Refinement/Cycles=2" "Solver/AMG/Smoother=patch"
             "Solver/AMG/Sweeps=1" "Solver/AMG/Inner sweeps=3")
patchfem_amg(hanging_nodes_patch laplace l_shape 1e-8 ${exact} ${small} "Refinement/Cycles=6" "Solver/AMG/Smoother=patch")
# What decides aggregates and patches: aggregates of one hop have half the nodes of those of two.
patchfem_amg_variant(cantilever aggregates "Solver/AMG/Smoother=patch" "Solver/AMG/Aggregate distance=1"
                     "Solver/AMG/Minimum aggregate size=3" "Solver/AMG/Patch distance=2" "Solver/AMG/Patch bytes=20000" "Solver/AMG/Eigenvalue steps=6"
                     CHECKS min_levels=3 max_ratio=12 least_aggregate=3 max_patch_bytes=20000)
# Fewer sweeps below the finest level than by default show in the count, which is 19 with these and 15 as they are.
patchfem_variant(variants.cantilever amg.coarse_sweeps BACKENDS host
                 SET "Solver/Preconditioner=amg" "Solver/AMG/Coarse sweeps=1")
patchfem_run_variants(variants.beam elasticity ${parameter_files}/elasticity/cantilever.prm "Baseline=trilinos_ml" "Mesh/Global refinements=1")
patchfem_run_variants(variants.cantilever elasticity ${parameter_files}/elasticity/cantilever.prm ${beam})
patchfem_amg(single laplace convergence_2d 2e-4 "Baseline=trilinos_ml" "Precision=single" "Solver/Tolerance=1e-5"
             CHECKS precision=single)

patchfem_run_case(bad.amg_of_trilinos laplace ${parameter_files}/laplace/convergence_2d.prm SET "Backend=trilinos" "Solver/Preconditioner=amg"
                  ERROR "amg does not exist with Backend = trilinos; choose none, jacobi or ml")
patchfem_run_case(bad.smoother laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/AMG/Smoother=ilu" ERROR "Solver/AMG/Smoother the value 'ilu'")
# Few steps bound the largest eigenvalue of a smooth problem and of hp spaces, where the last one stands alone. By default
# there are 10 and 8 iterations; intervals that are too long cost some: with one step 13 and 9.
foreach(steps 1 2 3)
  patchfem_run_case(amg.eigenvalue_steps.${steps} laplace ${parameter_files}/laplace/convergence_2d.prm
                    SET "Backend=host" "Solver/Preconditioner=amg" ${small} "Solver/AMG/Eigenvalue steps=${steps}" "Output/Pictures=none")
  patchfem_run_case(amg.eigenvalue_steps_hp.${steps} laplace ${parameter_files}/laplace/l_shape_hp.prm
                    SET "Backend=host" "Solver/Preconditioner=amg" ${small} "Refinement/Cycles=5" "Solver/AMG/Eigenvalue steps=${steps}" "Output/Pictures=none")
endforeach()
patchfem_run_case(bad.smoothing_range laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/AMG/Smoothing range=1" ERROR "Smoothing range must be more than 1")
patchfem_run_case(bad.mixed_none laplace ${parameter_files}/laplace/convergence_2d.prm SET "Backend=host" "Precision=mixed" "Solver/Preconditioner=none" ERROR "mixed keeps values of the preconditioner in single precision, which there are not of none")
patchfem_run_case(bad.mixed_of_trilinos laplace ${parameter_files}/laplace/convergence_2d.prm SET "Precision=mixed" "Backend=trilinos"
                  ERROR "Precision = mixed does not exist with Backend = trilinos")
foreach(entry "Aggregate distance=0" "Patch distance=9" "Patch bytes=0" "Minimum aggregate size=0" "Eigenvalue steps=65" "Coarse size=3001")
  string(REGEX REPLACE "^(.*)=(.*)$" "Solver/AMG/\\1 the value '\\2'" sentence "${entry}")
  string(REGEX REPLACE "[ =]" "_" name "${entry}")
  patchfem_run_case(bad.amg.${name} laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/AMG/${entry}" ERROR "${sentence}")
endforeach()
patchfem_run_case(bad.inner_sweeps laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/AMG/Inner sweeps=0" ERROR "Solver/AMG/Inner sweeps the value '0'")
patchfem_run_case(bad.patch_storage laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/AMG/Patch storage=upper" ERROR "Solver/AMG/Patch storage the value 'upper'")
# Two levels whose coarser one is too large to be inverted.
patchfem_run_case(bad.amg_levels laplace ${parameter_files}/laplace/convergence_2d.prm ERROR "Multigrid level 0 .* too large to be inverted; allow more levels or larger aggregates.$"
                  SET "Backend=host" "Solver/Preconditioner=amg" "Solver/AMG/Maximum levels=1" "Mesh/Global refinements=7" "Refinement/Cycles=1")

# Memory is forecast with the levels; the cantilevers above are checked for it as well.
foreach(precision double mixed)
  patchfem_run_case(memory.amg.${precision} laplace ${parameter_files}/laplace/convergence_3d.prm
                    SET "Backend=emulated_device" "Solver/Preconditioner=amg" "Precision=${precision}" "Finite element/Degree=1"
                        "Mesh/Global refinements=5" "Refinement/Cycles=1" "Output/Pictures=none")
endforeach()
patchfem_run_case(memory.amg.patch laplace ${parameter_files}/laplace/convergence_3d.prm
                  SET "Backend=emulated_device" "Solver/Preconditioner=amg" "Solver/AMG/Smoother=patch" "Precision=mixed" "Finite element/Degree=1"
                      "Mesh/Global refinements=5" "Refinement/Cycles=1" "Output/Pictures=none")
patchfem_run_case(memory.amg.q2 laplace ${parameter_files}/laplace/convergence_3d.prm
                  SET "Backend=emulated_device" "Solver/Preconditioner=amg" "Finite element/Degree=2" "Mesh/Global refinements=4" "Refinement/Cycles=1"
                      "Output/Pictures=none")
# Rules of multigrid, and what a report says of levels with and without them.
set(layers "Material/Young's modulus=sin(20*x)>0 ? 1e15 : 1e9" "Output/Pictures=none" "Solver/Preconditioner=amg")
foreach(backend host emulated_device cuda)
  patchfem_run_case(amg.rules.${backend} elasticity ${parameter_files}/elasticity/cantilever.prm SET "Backend=${backend}" ${layers}
                    CHECKS level:0/strength=couplings level:0/aggregate_distance=2 level:0/n_modes=6 level:1/sweeps=3 level:0/visits=1)
  patchfem_run_case(amg.no_rules.${backend} elasticity ${parameter_files}/elasticity/cantilever.prm SET "Backend=${backend}" ${layers}
                    "Solver/AMG/Disabled rules=all" "Solver/AMG/Time phases=true" CHECKS level:0/strength=pattern level:0/weak_couplings=0 level:1/sweeps=2 level:0/smoother=chebyshev)
endforeach()
patchfem_run_case(amg.no_rules_ranks elasticity ${parameter_files}/elasticity/cantilever.prm RANKS 3 SET "Backend=host" ${layers} "Solver/AMG/Disabled rules=all"
                  CHECKS level:0/strength=pattern level:0/weak_couplings=0 level:1/sweeps=2 level:0/smoother=chebyshev)
patchfem_run_case(amg.flat_rules laplace ${parameter_files}/laplace/convergence_3d.prm SET "Backend=host" "Solver/Preconditioner=amg" "Output/Pictures=none" ${small}
                  "Finite element/Degree=2" "Refinement/Cycles=1" "Exact solution/Formula=" "Boundary conditions/Robin=" "Boundary conditions/Dirichlet=0: 0"
                  "Mesh/Generator=subdivided_hyper_rectangle" "Mesh/Generator arguments=4, 4, 4 : 0, 0, 0 : 1, 1, 0.1 : false" "Mesh/Global refinements=1"
                  "Solver/AMG/Disabled rules=p-coarsening, mesh distances" CHECKS level:0/embedded_degree=0 level:0/strength=pattern)
patchfem_run_case(bad.rule laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/AMG/Disabled rules=mesh distances, ilu" ERROR ".ilu.; there are: all, mesh distances, chain weights")
