# SPDX-License-Identifier: LGPL-2.1-or-later
# PatchFEM's one-level preconditioners on all back ends, beside Trilinos: the same solution, in the number of iterations
# that was counted and one or two more. Jacobi takes 48 with the cube and 161 with the beam. Single precision loses the
# symmetry of a preconditioner by rounding, which costs the slender beam iterations: least squares take 32 in double.
function(patchfem_one_level name cube beam)
  foreach(backend host emulated_device cuda)
    patchfem_run_case(one_level.${name}.cube.${backend} laplace ${parameter_files}/laplace/convergence_3d.prm
                      CHECKS - - 1e-8 max_iterations=${cube} precision=double
                      SET "Backend=${backend}" "Baseline=trilinos_jacobi" "Output/Pictures=none" "Finite element/Degree=1" "Mesh/Global refinements=4"
                          "Refinement/Cycles=1" "Solver/Preconditioner=${name}" ${ARGN})
    patchfem_run_case(one_level.${name}.beam.${backend} elasticity ${parameter_files}/elasticity/cantilever.prm
                      CHECKS - - 1e-10 max_iterations=${beam} precision=mixed
                      SET "Backend=${backend}" "Baseline=trilinos_jacobi" "Output/Pictures=none" "Mesh/Global refinements=1" "Precision=mixed"
                          "Solver/Preconditioner=${name}" ${ARGN})
  endforeach()
endfunction()
patchfem_one_level(neumann 19 120)
patchfem_one_level(least_squares 11 80)
patchfem_one_level(chebyshev 12 135)
patchfem_one_level(ssor 27 250)
patchfem_one_level(incomplete_cholesky 24 230)
# Memory for the triangles of scalar rows, and rows in their order on the host.
patchfem_run_case(one_level.exact_cholesky_csr laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS - - 1e-8 max_iterations=60
                  SET "Backend=emulated_device" "Baseline=trilinos_jacobi" "Mesh/Global refinements=4" "Refinement/Cycles=1" "Matrix/Format=csr"
                      "Solver/Preconditioner=incomplete_cholesky" "Solver/Incomplete Cholesky/Solution=exact" "Output/Pictures=none")
patchfem_run_case(one_level.natural_ssor laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS - - 1e-8 max_iterations=60
                  SET "Backend=host" "Baseline=trilinos_jacobi" "Refinement/Cycles=3" "Solver/Preconditioner=ssor" "Solver/SSOR/Ordering=natural"
                      "Solver/SSOR/Relaxation=1.4" "Output/Pictures=none")
patchfem_run_case(bad.natural_ssor_on_a_device laplace ${parameter_files}/laplace/convergence_2d.prm
                  SET "Backend=cuda" "Solver/Preconditioner=ssor" "Solver/SSOR/Ordering=natural" ERROR "Ordering = natural goes from row to row")

patchfem_run_case(bad.polynomial_order laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/Polynomial/Order=13" ERROR "Solver/Polynomial/Order the value '13'")
patchfem_run_case(bad.eigenvalue_ratio laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/Polynomial/Eigenvalue ratio=0.5" ERROR "must be 0 or more than 1")
patchfem_run_case(bad.relaxation laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/SSOR/Relaxation=2" ERROR "must be above 0 and below 2")
patchfem_run_case(bad.one_level_of_trilinos laplace ${parameter_files}/laplace/convergence_2d.prm SET "Backend=trilinos" "Solver/Preconditioner=ssor"
                  ERROR "ssor does not exist with Backend = trilinos; choose none, jacobi or ml")
