# SPDX-License-Identifier: LGPL-2.1-or-later
# Solves of other libraries end on the residual of the solution, or at rounding, and say so; and units do not matter:
# solutions, their errors and residuals relative to the loads are right where squares of them would be out of range.
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

# Loads s and coefficients k, and so solutions of the order of s / k.
set(laplace_units "Refinement/Cycles=3" "Loads/Source=s*(pi^2-1)*sin(pi*x)*exp(y)" "Material/Coefficient=k"
                  "Exact solution/Formula=s/k*sin(pi*x)*exp(y)" ${quiet})
function(patchfem_scales load coefficient)
  foreach(solver trilinos:jacobi:trilinos_ml host:jacobi:trilinos_jacobi host:amg:petsc_boomeramg emulated_device:jacobi:none cuda:amg:none)
    string(REPLACE ":" ";" names ${solver})
    list(GET names 0 backend)
    list(GET names 1 preconditioner)
    list(GET names 2 baseline)
    patchfem_run_case(scales.${load}_${coefficient}.${preconditioner}.${backend} laplace ${poisson} CHECKS 2.95 1.95 max_residual=1e-10
                      SET "Backend=${backend}" "Solver/Preconditioner=${preconditioner}" "Baseline=${baseline}" "Constants=s = ${load}, k = ${coefficient}" ${laplace_units})
  endforeach()
endfunction()
patchfem_scales(1e155 1)
patchfem_scales(1e-162 1)
patchfem_scales(1e-50 1e250)
patchfem_scales(1e300 1e300)
patchfem_scales(1e-280 1e-280)
patchfem_run_case(scales.traction elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS - - 1e145 max_residual=1e-10
                  SET "Backend=host" "Baseline=trilinos_ml" "Boundary conditions/Traction=1: 0| -1e155" "Boundary conditions/Dirichlet=0: 0| 0"
                      "Exact solution/Formula=" "Loads/Body force=")
# Pressures, and their errors, are proportional to density.
set(box ${parameter_files}/pressure_poisson/closed_box.prm)
foreach(case 1e160:e156 1e-290:e-294)
  string(REPLACE ":" ";" pair ${case})
  list(GET pair 0 density)
  list(GET pair 1 exponent)
  patchfem_run_case(scales.density_${density} pressure_poisson ${box}
                    CHECKS max_divergence=1e-8 max_residual=1e-10 null_space=1 min_L2=1${exponent} max_L2=3${exponent}
                    SET "Backend=host" "Baseline=trilinos_ml" "Liquid/Density=${density}" "Exact solution/Formula=${density}*cos(pi*x)*cos(pi*y)" ${quiet})
endforeach()

# What a precision does not hold, and what is not finite, is refused by name.
foreach(load 1e45 1e-50)
  patchfem_run_case(bad.single_load_${load} laplace ${poisson} SET "Backend=host" "Precision=single" "Loads/Source=${load}" "Boundary conditions/Dirichlet=all: 0" "Exact solution/Formula="
                    ERROR "section Loads are at most 1e.* out of the range of single precision, .* choose Precision = double")
  patchfem_run_case(bad.single_value_${load} laplace ${poisson} SET "Backend=host" "Precision=single" "Loads/Source=0" "Boundary conditions/Dirichlet=all: ${load}" "Exact solution/Formula="
                    ERROR "Boundary conditions/Dirichlet are at most 1e.* out of the range of single precision")
  patchfem_run_case(bad.single_velocity_${load} pressure_poisson ${box} SET "Backend=host" "Precision=single" "Liquid/Velocity=${load}*x| 0" "Exact solution/Formula="
                    ERROR "Liquid/Velocity .* out of the range of single precision")
endforeach()
patchfem_run_case(bad.single_flux laplace ${poisson} SET "Backend=host" "Precision=single" "Loads/Source=0" "Mesh/Generator arguments=0 : 1 : true" "Boundary conditions/Flux=1: 1e40" "Boundary conditions/Dirichlet=0: 0" "Exact solution/Formula="
                  ERROR "Boundary conditions are at most 1e.40")
patchfem_run_case(bad.single_rounded laplace ${poisson} SET "Backend=host" "Precision=single" "Loads/Source=2e-38" "Mesh/Global refinements=4" "Boundary conditions/Dirichlet=all: 0" "Exact solution/Formula="
                  ERROR "rounds to 0 in single precision, .* choose Precision = double")
patchfem_run_case(bad.coefficient_range laplace ${poisson} SET "Backend=trilinos" "Material/Coefficient=1.7e308" "Exact solution/Formula=" "Boundary conditions/Dirichlet=all: 0"
                  ERROR "The matrix has entries that are not finite")
patchfem_run_case(bad.load_range laplace ${poisson} SET "Backend=trilinos" "Loads/Source=1e300*exp(400*x)" "Exact solution/Formula=" "Boundary conditions/Dirichlet=all: 0"
                  ERROR "Loads/Source is not finite at the point")
patchfem_run_case(bad.solution_range laplace ${poisson} SET "Backend=trilinos" "Material/Coefficient=1e-200" "Loads/Source=1e200" "Exact solution/Formula=" "Boundary conditions/Dirichlet=all: 0"
                  ERROR "The solution is of the order of 1e39.*, which is beyond the range of double precision")
patchfem_run_case(bad.exact_range laplace ${poisson} SET "Backend=trilinos" "Exact solution/Formula=1e308*exp(y)" "Boundary conditions/Dirichlet=all: 0"
                  ERROR "Exact solution/Formula is not finite|The result .*errors.* is not finite")
