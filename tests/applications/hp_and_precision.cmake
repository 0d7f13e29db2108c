# SPDX-License-Identifier: LGPL-2.1-or-later
# hp spaces and single precision, on all back ends, beside deal.II's loop and Trilinos.

# Where the lower degree of two covers a fixed part of the domain, it decides on the order.
set(two_degrees "Finite element/Degrees=2, 3" "Finite element/Cell degree=x+y < 1 ? 2 : 3")
patchfem_run_case(laplace.convergence_2d.hp laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 2.95 1.95 degrees=2,3
                  SET ${two_degrees} CONTAINS "solution-3.vtu:Name=.degree.")
patchfem_run_case(laplace.convergence_3d.hp laplace ${parameter_files}/laplace/convergence_3d.prm CHECKS 2.8 1.85 degrees=2,3
                  SET ${two_degrees})
patchfem_run_case(elasticity.convergence_2d.hp elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS 2.95 1.95 degrees=2,3
                  SET "Finite element/Degrees=3, 2" "Finite element/Degree=3" "Finite element/Cell degree=0: x < 0.5 ? 2 : 3")
# A list of one degree is the space of that degree, and Degree is the default of Cell degree.
patchfem_run_case(laplace.convergence_2d.hp_one laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 3.9 2.95 degrees=3
                  SET "Finite element/Degrees=3" "Finite element/Degree=3" "Refinement/Cycles=3")

# Hanging nodes between cells of different degrees, in the plane and in space, with loads, Robin conditions, coefficients
# that vary, periodicity and no normal flux.
patchfem_compare(compare.hp laplace l_shape_hp "Baseline=trilinos_ml" "Refinement/Cycles=6")
patchfem_compare(compare.hp_adaptive laplace l_shape_hp_adaptive "Baseline=trilinos_ml" "Refinement/Cycles=6" "Matrix/Format=csr")
patchfem_compare(compare.hp_hexahedra laplace convergence_3d "Baseline=trilinos_jacobi" "Refinement/Strategy=adaptive" "Refinement/Cycles=4"
                 "Finite element/Degrees=1, 2, 3, 4" "Finite element/Cell degree=1 + 2*(x>0.5) + (y>0.5)*(x>0.5) + (z>0.5)*(x<0.5)")
# Hexahedra of three degrees: lines along edges make the functions continuous, on any number of ranks, but for edges at
# hanging nodes, which are counted. The error is that of continuous ones.
set(three_degrees "Finite element/Degrees=1, 2, 3" "Finite element/Degree=1" "Refinement/Cycles=3" "Solver/Tolerance=1e-11"
                  "Finite element/Cell degree=floor(1 + 2.9997*abs(sin(37*x + 91*y + 53*z)))" "Baseline=trilinos_jacobi" "Output/Pictures=none")
foreach(n_ranks 1 2 3)
  patchfem_run_case(compare.three_degrees.${n_ranks}_ranks laplace ${parameter_files}/laplace/convergence_3d.prm RANKS ${n_ranks}
                    CHECKS - - 1e-8 open_edges=0 min_L2=2.8124e-3 max_L2=2.8125e-3 SET ${three_degrees} "Backend=host")
  patchfem_run_case(compare.three_degrees_adaptive.${n_ranks}_ranks laplace ${parameter_files}/laplace/convergence_3d.prm RANKS ${n_ranks}
                    CHECKS - - 1e-8 open_edges=4 min_L2=1.7869e-2 max_L2=1.7870e-2 SET ${three_degrees} "Backend=host" "Refinement/Strategy=adaptive")
endforeach()
patchfem_compare(compare.hp_gather laplace convergence_2d "Baseline=trilinos_jacobi" "Refinement/Cycles=2" "Assembly/Strategy=gather"
                 "Finite element/Degrees=1, 4" "Finite element/Cell degree=y < 0.5 ? 1 : 4" "Finite element/Quadrature points=6"
                 "Material/Coefficient=2+x| 0.5*y| 1+y" "Material/Reaction=1+x*y")
patchfem_compare(compare.hp_periodic laplace convergence_2d "Baseline=trilinos_jacobi" "Refinement/Strategy=adaptive"
                 "Mesh/Generator arguments=0 : 1 : true" "Boundary conditions/Dirichlet=2: 0, 3: x" "Boundary conditions/Periodic=0 1 x"
                 "Finite element/Degrees=1, 2, 3" "Finite element/Cell degree=y < 0.3 ? 1 : (y < 0.6 ? 3 : 2)" "Refinement/Cycles=3")
patchfem_compare(compare.hp_elasticity elasticity convergence_2d "Baseline=trilinos_jacobi" "Refinement/Strategy=adaptive" "Refinement/Cycles=4"
                 "Finite element/Degrees=1, 2, 3" "Finite element/Cell degree=x < 0.3 ? 1 : (y < 0.6 ? 3 : 2)"
                 "Boundary conditions/Dirichlet=0: exact" "Boundary conditions/Pressure=3: 1+x" "Boundary conditions/Robin=2: 3| x| y")
patchfem_compare(compare.hp_cantilever elasticity cantilever "Baseline=trilinos_jacobi" "Refinement/Strategy=adaptive" "Refinement/Cycles=2"
                 "Finite element/Degrees=1, 2, 3" "Finite element/Cell degree=x < 0.3 ? 3 : (x < 1 ? 2 : 1)" "Mesh/Global refinements=0"
                 "Solver/Preconditioner=block_jacobi" "Material/Young's modulus=1e9")
patchfem_compare(compare.hp_no_normal_flux elasticity convergence_2d "Baseline=trilinos_jacobi" "Refinement/Cycles=2"
                 "Finite element/Degrees=1, 2, 3" "Finite element/Cell degree=x < -0.3 ? 1 : (y < 0 ? 2 : 3)" "Finite element/Mapping degree=2"
                 "Mesh/Generator=hyper_shell" "Mesh/Generator arguments=0, 0 : 0.5 : 1 : 8 : true"
                 "Boundary conditions/Dirichlet=1: 0| free" "Boundary conditions/No normal flux=0" "Boundary conditions/Traction=")

# Several ranks: degrees of ghost cells, and those that refinement carries along.
patchfem_run_case(laplace.l_shape_hp.mpi laplace ${parameter_files}/laplace/l_shape_hp.prm RANKS 2 CHECKS max_H1=2.4e-3 degrees=1,2,3
                  SET "Backend=trilinos" CONTAINS "solution-9.pvtu:Name=.degree.")
patchfem_run_case(laplace.l_shape_hp_adaptive.mpi laplace ${parameter_files}/laplace/l_shape_hp_adaptive.prm RANKS 3
                  CHECKS max_H1=1e-3 max_dofs=6000 degrees=2,3,4 SET "Backend=trilinos")
patchfem_run_case(elasticity.l_bracket_hp.mpi elasticity ${parameter_files}/elasticity/l_bracket_hp.prm RANKS 2
                  SET "Backend=trilinos" "Solver/Preconditioner=ml" CHECKS degrees=2,3,4)

# Single precision finds the same solution to what it can, and the same orders while the error of the mesh is above it: a
# matrix rounded to it moves the solution by 1.4e-5 of its largest value on a square of side 1.1 whoever computes it, and on
# the unit square where it is computed in double precision and rounded, as cells of degree 2 are on a GPU.
patchfem_run_backends(single.laplace laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS 2.95 1.95 2e-5 precision=single
                      SET "Precision=single" "Solver/Tolerance=1e-5" "Baseline=trilinos_jacobi" "Solver/Preconditioner=jacobi"
                          "Refinement/Cycles=3")
patchfem_run_backends(single.hanging_nodes laplace ${parameter_files}/laplace/l_shape_hp.prm CHECKS - - 1e-4 precision=single
                      SET "Precision=single" "Solver/Tolerance=1e-5" "Baseline=trilinos_jacobi" "Refinement/Cycles=6" "Matrix/Format=csr" "Solver/Preconditioner=jacobi")
patchfem_run_backends(single.elasticity elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS 1.95 0.98 1e-4 precision=single
                      SET "Precision=single" "Solver/Tolerance=1e-5" "Baseline=trilinos_jacobi" "Solver/Preconditioner=block_jacobi")
patchfem_run_case(double.laplace laplace ${parameter_files}/laplace/convergence_2d.prm CHECKS precision=double SET "Backend=host" "Refinement/Cycles=1")

# Memory is forecast for both.
foreach(format auto sliced_ellpack)
  patchfem_run_case(memory.hp.${format} laplace ${parameter_files}/laplace/l_shape_hp.prm
                    SET "Backend=emulated_device" "Matrix/Format=${format}" "Solver/Preconditioner=jacobi")
endforeach()
patchfem_run_case(memory.single.hp laplace ${parameter_files}/laplace/l_shape_hp.prm
                  SET "Backend=emulated_device" "Precision=single" "Solver/Tolerance=1e-5" "Solver/Preconditioner=jacobi")
patchfem_run_case(memory.hp_cantilever elasticity ${parameter_files}/elasticity/cantilever.prm
                  SET "Backend=emulated_device" "Mesh/Global refinements=1" "Finite element/Degrees=1, 2" "Finite element/Cell degree=x < 1 ? 1 : 2")
foreach(format csr sliced_ellpack)
  patchfem_run_case(memory.single.${format} laplace ${parameter_files}/laplace/convergence_3d.prm
                    SET "Backend=emulated_device" "Precision=single" "Solver/Tolerance=1e-5" "Matrix/Format=${format}" "Solver/Preconditioner=jacobi"
                        "Finite element/Degree=1" "Mesh/Global refinements=3")
endforeach()
