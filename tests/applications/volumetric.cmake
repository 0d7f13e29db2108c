# SPDX-License-Identifier: LGPL-2.1-or-later
# Nearly incompressible solids with Finite element/Volumetric = full and reduced.
set(quiet "Output/Pictures=none")

# Patch test: linear displacements are found exactly on the distorted cells of a ball, also with hanging nodes.
set(ball "Mesh/Generator=hyper_ball" "Mesh/Global refinements=1" "Material/Young's modulus=1" "Material/Poisson's ratio=0.4999"
         "Boundary conditions/Dirichlet=0: exact" "Boundary conditions/Traction=" "Loads/Body force=" "Finite element/Volumetric=reduced")
patchfem_run_backends(volumetric.patch_test_2d elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS max_L2=1e-7
                      SET ${quiet} ${ball} "Mesh/Generator arguments=0, 0 : 1 : false" "Refinement/Cycles=2"
                          "Refinement/Strategy=adaptive" "Exact solution/Formula=0.2*x+0.3*y| 0.4*y-0.1*x")
patchfem_run_backends(volumetric.patch_test_3d elasticity ${parameter_files}/elasticity/convergence_3d_tetrahedra.prm CHECKS max_L2=1e-7
                      SET ${quiet} ${ball} "Mesh/Simplices=none" "Mesh/Generator arguments=0, 0, 0 : 1 : false" "Refinement/Cycles=1"
                          "Exact solution/Formula=0.2*x+0.3*y| 0.4*y-0.1*z| 0.3*x+0.2*z")

# Locking: a flow without change of volume, the curl of sin^2(r x) sin^2(r y) / r, whose load does not depend on lambda.
# Of what is full, on 16 cells a side, not half is left, and the run says so.
set(vortex ${quiet} "Constants=r = pi, la = 4999, mu = 1" "Boundary conditions/Dirichlet=all: exact"
    "Boundary conditions/Traction=" "Refinement/Cycles=2")
set(velocity "sin(r*x)^2*sin(2*r*y)| -sin(r*y)^2*sin(2*r*x)")
set(force "-2*r^2*sin(2*r*y)*(2*cos(2*r*x)-1)| 2*r^2*sin(2*r*x)*(2*cos(2*r*y)-1)")
set(vortex_2d ${vortex} "Mesh/Global refinements=3" "Exact solution/Formula=${velocity}" "Loads/Body force=${force}")
set(vortex_3d ${vortex} "Constants=r = pi, la = 499, mu = 1" "Mesh/Simplices=none" "Mesh/Coarse refinements=0" "Mesh/Global refinements=3"
    "Exact solution/Formula=${velocity}| 0" "Loads/Body force=${force}| 0")
foreach(case 2d:convergence_2d 3d:convergence_3d_tetrahedra)
  string(REPLACE ":" ";" case ${case})
  list(GET case 0 dim)
  list(GET case 1 file)
  patchfem_run_backends(volumetric.reduced_${dim} elasticity ${parameter_files}/elasticity/${file}.prm CHECKS 1.9 0.95
                        SET ${vortex_${dim}} "Finite element/Volumetric=reduced" CONTAINS "report.json:\"cautions\": ..,")
  patchfem_run_backends(volumetric.full_${dim} elasticity ${parameter_files}/elasticity/${file}.prm CHECKS min_L2=0.25
                        SET ${vortex_${dim}} CONTAINS "report.json:elements of degree 1 lock")
endforeach()
# Degree 2 loses an order with large lambda, and converges.
patchfem_run_backends(volumetric.degree_2 elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS 1.95 0.98 max_L2=0.01
                      SET ${vortex_2d} "Finite element/Degree=2" CONTAINS "report.json:\"cautions\": ..,")

# Beside deal.II's own loop over cells.
patchfem_run_backends(volumetric.cantilever elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS max_relative_difference=1e-7
                      SET ${quiet} "Baseline=trilinos_ml" "Mesh/Global refinements=1" "Solver/Tolerance=1e-10"
                          "Finite element/Volumetric=reduced" "Material/Poisson's ratio=0.4+0.04*x")
patchfem_compare_ranks(ranks.volumetric elasticity cantilever "Backend=host" "Mesh/Global refinements=1" "Solver/Tolerance=1e-10"
                       "Finite element/Volumetric=reduced" "Constants=length = 2, width = 0.2, height = 0.3, load = 120, density = 7.850, gravity = 9.81")

foreach(entry "Finite element/Degree=2" "Finite element/Degrees=1,2" "Mesh/Simplices=kuhn")
  string(REGEX REPLACE ".*[/ ]([^=]*)=.*" "\\1" name "${entry}")
  patchfem_run_case(bad.volumetric_${name} elasticity ${parameter_files}/elasticity/convergence_2d.prm SET "Finite element/Volumetric=reduced" ${entry}
                    ERROR "Volumetric = reduced is for quadrilaterals and hexahedra of degree 1")
endforeach()
