# SPDX-License-Identifier: LGPL-2.1-or-later
# Solves of other libraries end on the residual of the solution, or at rounding, and say so.
set(quiet "Output/Pictures=none")
set(poisson ${parameter_files}/laplace/convergence_2d.prm)
set(cantilever ${parameter_files}/elasticity/cantilever.prm)
set(ml "Backend=trilinos" "Solver/Preconditioner=ml" ${quiet})
set(slender "Mesh/Generator arguments=20, 2, 3 : 0, 0, 0 : 20, 0.2, 0.3 : true" "Mesh/Global refinements=1")
set(stiff_layer "Mesh/Global refinements=0" "Material/Young's modulus=x > 0.5 && x < 1 ? 210e15 : 210e9")
patchfem_run_case(rounding.slender elasticity ${cantilever} SET ${ml} ${slender} CHECKS stopped_at_rounding=true max_backward_error=1e-15)
patchfem_run_case(rounding.stiff_layer elasticity ${cantilever} SET ${ml} ${stiff_layer} "Baseline=petsc_boomeramg"
                  CHECKS stopped_at_rounding=true baseline_stopped_at_rounding=true max_backward_error=1e-15)
patchfem_run_case(rounding.stiff_layer_mpi elasticity ${cantilever} RANKS 2 SET ${ml} ${stiff_layer} "Baseline=petsc_boomeramg"
                  CHECKS stopped_at_rounding=true baseline_stopped_at_rounding=true max_backward_error=1e-15)
patchfem_run_case(rounding.not_above elasticity ${cantilever} SET ${ml} "Mesh/Global refinements=0" "Baseline=trilinos_jacobi"
                  CHECKS stopped_at_rounding=false baseline_stopped_at_rounding=false max_residual=1e-8)
patchfem_run_case(bad.no_convergence_of_trilinos laplace ${poisson} SET "Backend=trilinos" "Solver/Maximum iterations=3"
                  ERROR "with Trilinos did not converge in 3 iterations; the relative residual is .* Raise Solver/Maximum iterations")
patchfem_says(rounding.says "The solution is as accurate as double precision allows: residual [0-9.]+e-0[67] of the load" $<TARGET_FILE:elasticity> ${cantilever}
              --output ${CMAKE_CURRENT_BINARY_DIR}/out/rounding.says --set "Backend=trilinos" --set "Solver/Preconditioner=ml" --set ${quiet}
              --set "Mesh/Global refinements=0" --set "Material/Young's modulus=x > 0.5 && x < 1 ? 210e15 : 210e9")
