# SPDX-License-Identifier: LGPL-2.1-or-later
# Every parameter file runs. Those with an exact solution are held to orders a little below the theoretical ones.
file(GLOB files CONFIGURE_DEPENDS RELATIVE ${parameter_files} ${parameter_files}/*/*.prm)

set(checks_laplace.convergence_2d 2.95 1.95)
set(checks_laplace.convergence_3d 3.9 2.9)
set(checks_laplace.convergence_3d_tetrahedra 2.9 1.9)
set(checks_elasticity.convergence_2d 1.95 0.98)
set(checks_elasticity.convergence_3d_tetrahedra 1.8 0.95)
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
                  SET "Finite element/Degree=1" FILES solution-3.vtu)
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

# Jacobi and multigrid agree on one mesh with hanging nodes, and the baseline is in the report.
patchfem_run_case(laplace.baseline laplace ${parameter_files}/laplace/l_shape.prm CHECKS - - 1e-7
                  SET "Baseline=trilinos_ml" "Solver/Tolerance=1e-10" "Refinement/Cycles=5")
patchfem_run_case(elasticity.baseline elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS - - 1e-9
                  SET "Baseline=trilinos_ml" "Solver/Tolerance=1e-10" "Mesh/Global refinements=1")

# Several ranks: p4est with adaptive refinement, METIS with tetrahedra.
patchfem_run_case(laplace.l_shape.mpi laplace ${parameter_files}/laplace/l_shape.prm RANKS 2
                  SET "Backend=trilinos" "Refinement/Cycles=5" FILES solution-4.pvtu solution-4.0000.vtu solution-4.0001.vtu)
patchfem_run_case(laplace.tetrahedra.mpi laplace ${parameter_files}/laplace/convergence_3d_tetrahedra.prm RANKS 2
                  SET "Backend=trilinos" "Refinement/Cycles=3" CHECKS 2.9 1.9)
patchfem_run_case(elasticity.cantilever.mpi elasticity ${parameter_files}/elasticity/cantilever.prm RANKS 2
                  SET "Backend=trilinos" "Solver/Preconditioner=ml" "Mesh/Global refinements=1")
