# SPDX-License-Identifier: LGPL-2.1-or-later
# PatchFEM's one-level preconditioners on all back ends, beside Trilinos: the same solution. On the beam with mixed precision
# iterations are as many as in double to 1 % or one on every back end. At 1e-8 the residuals of ssor and incomplete_cholesky stay close to the tolerance for
# four steps, of which rounding chooses one; they are counted to 1e-7.
function(patchfem_one_level name)
  patchfem_variant(variants.scalar one_level.${name}.cube CHECKS - - 1e-8 precision=double SET "Solver/Preconditioner=${name}")
  patchfem_variant(variants.beam one_level.${name}.beam CHECKS - - 1e-10 precision=mixed
                   SET "Precision=mixed" "Solver/Preconditioner=${name}" ${ARGN})
endfunction()
patchfem_one_level(jacobi)
patchfem_one_level(block_jacobi)
patchfem_one_level(neumann)
patchfem_one_level(least_squares)
patchfem_one_level(chebyshev)
patchfem_one_level(ssor Solver/Tolerance=1e-7)
patchfem_one_level(incomplete_cholesky Solver/Tolerance=1e-7)
# Memory for the triangles of scalar rows, and rows in their order on the host.
patchfem_run_case(one_level.exact_cholesky_csr laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS - - 1e-8
                  SET "Backend=emulated_device" "Baseline=trilinos_jacobi" "Mesh/Global refinements=4" "Refinement/Cycles=1" "Matrix/Format=csr"
                      "Solver/Preconditioner=incomplete_cholesky" "Solver/Incomplete Cholesky/Solution=exact" "Output/Pictures=none")
patchfem_run_case(one_level.natural_ssor laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS - - 1e-8
                  SET "Backend=host" "Baseline=trilinos_jacobi" "Refinement/Cycles=3" "Solver/Preconditioner=ssor" "Solver/SSOR/Ordering=natural"
                      "Solver/SSOR/Relaxation=1.4" "Output/Pictures=none")
patchfem_run_case(bad.natural_ssor_on_a_device laplace ${parameter_files}/laplace/convergence_2d.prm
                  SET "Backend=cuda" "Solver/Preconditioner=ssor" "Solver/SSOR/Ordering=natural" ERROR "Ordering = natural goes from row to row")

# Entries that are not at their defaults; each shows in the number of iterations of the cube.
function(patchfem_one_level_entry name)
  patchfem_variant(variants.scalar one_level.entry.${name} BACKENDS host SET ${ARGN})
endfunction()
patchfem_one_level_entry(order "Solver/Preconditioner=least_squares" "Solver/Polynomial/Order=2") # 10 with 6
patchfem_one_level_entry(lanczos_steps "Solver/Preconditioner=chebyshev" "Solver/Polynomial/Lanczos steps=3") # 11 with 20
patchfem_run_case(one_level.few_lanczos_steps laplace ${parameter_files}/laplace/l_shape_hp.prm
                  SET "Backend=host" "Output/Pictures=none" "Refinement/Cycles=4" "Solver/Preconditioner=neumann" "Solver/Polynomial/Order=5" "Solver/Polynomial/Lanczos steps=3")
patchfem_one_level_entry(eigenvalue_ratio "Solver/Preconditioner=chebyshev" "Solver/Polynomial/Eigenvalue ratio=1.5") # 11 as found
patchfem_one_level_entry(relaxation "Solver/Preconditioner=ssor" "Solver/SSOR/Relaxation=1.6") # 25 with 1
patchfem_one_level_entry(sweeps "Solver/Preconditioner=incomplete_cholesky" "Solver/Incomplete Cholesky/Sweeps=1") # 22 with 4
# The solution's update beside the preconditioner; a residual that is recomputed in every fourth step costs one here.
patchfem_variant(variants.scalar one_level.entry.update CHECKS - - 1e-8 solution_update=streams
                 SET "Solver/Preconditioner=least_squares" "Solver/Solution update=streams" "Solver/Residual interval=4")
patchfem_variant(variants.scalar one_level.entry.shift BACKENDS host CHECKS factorisation_shift=0.5
                 SET "Solver/Preconditioner=incomplete_cholesky" "Solver/Incomplete Cholesky/Shift=0.5")

patchfem_run_case(bad.shift laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/Incomplete Cholesky/Shift=2000" ERROR "Solver/Incomplete Cholesky/Shift the value '2000'")
patchfem_run_case(bad.polynomial_order laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/Polynomial/Order=13" ERROR "Solver/Polynomial/Order the value '13'")
patchfem_run_case(bad.eigenvalue_ratio laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/Polynomial/Eigenvalue ratio=0.5" ERROR "must be 0 or more than 1")
patchfem_run_case(bad.relaxation laplace ${parameter_files}/laplace/convergence_2d.prm SET "Solver/SSOR/Relaxation=2" ERROR "must be above 0 and below 2")
patchfem_run_case(bad.one_level_of_trilinos laplace ${parameter_files}/laplace/convergence_2d.prm SET "Backend=trilinos" "Solver/Preconditioner=ssor"
                  ERROR "ssor does not exist with Backend = trilinos; choose none, jacobi or ml")
