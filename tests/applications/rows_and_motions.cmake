# SPDX-License-Identifier: LGPL-2.1-or-later
# Systems whose answer is easily wrong without a word: rows of very different size, and motions that nothing holds.
set(cases ${PROJECT_SOURCE_DIR}/tests/cases)
set(quiet "Output/Pictures=none")

# One part of a system is 1e9 to 1e30 times as stiff as the rest, and so are its loads. The direct solver's L2 error is
# 7.13e-4 with every film.
set(film ${cases}/penalty_film/case.prm)
foreach(a 1e3 1e6 1e9 1e30)
  patchfem_run_case(rows.film_${a} laplace ${film} CHECKS max_L2=7.2e-4 min_L2=7.05e-4 SET "Backend=host" "Constants=a = ${a}" ${quiet})
endforeach()
patchfem_run_backends(rows.film laplace ${film} CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4
                      SET "Baseline=trilinos_ml" ${quiet})
patchfem_run_case(rows.film.3_ranks laplace ${film} RANKS 3 CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4
                  SET "Backend=host" "Baseline=trilinos_jacobi" ${quiet})
patchfem_run_case(rows.film.shared laplace ${film} RANKS 3 DEVICES 1 CHECKS max_L2=7.2e-4 min_L2=7.05e-4
                  SET "Backend=emulated_device" ${quiet})
foreach(preconditioner jacobi least_squares ssor)
  patchfem_run_case(rows.film.${preconditioner} laplace ${film} CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4
                    SET "Backend=host" "Baseline=umfpack" "Solver/Preconditioner=${preconditioner}" ${quiet})
endforeach()
patchfem_run_case(rows.film.varies laplace ${film} CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4
                  SET "Backend=host" "Baseline=umfpack" "Boundary conditions/Robin=0: 1e3*10^(12*y)| 1e3*10^(12*y)" ${quiet})
# A reaction, a material and an elastic support.
patchfem_run_case(rows.reaction laplace ${film} CHECKS - - 1e-6
                  SET "Backend=host" "Baseline=umfpack" "Boundary conditions/Robin=" "Exact solution/Formula=" "Material/Reaction=x < 0.5 ? 1e10 : 0"
                      "Loads/Source=x < 0.5 ? 1e10 : 2" ${quiet})
patchfem_run_case(rows.material laplace ${film} CHECKS - - 1e-6
                  SET "Backend=host" "Baseline=umfpack" "Boundary conditions/Robin=0: 1| 1" "Exact solution/Formula=" "Material/Coefficient=y < 0.5 ? 1e8 : 1"
                      "Loads/Source=y < 0.5 ? 2e8 : 2" ${quiet})
patchfem_run_backends(rows.support elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS - - 1e-5
                      SET "Baseline=umfpack" "Refinement/Cycles=2" "Exact solution/Formula=" "Boundary conditions/Dirichlet="
                          "Boundary conditions/Robin=0: 1e14*(1+y)| 1e12*(1+y)*y| 0" ${quiet})

# Parts that turn about an edge or a node that they share with others: refused by place and motion, or solved but for
# what would turn them.
set(hinge elasticity ${cases}/hinge_at_edge/case.prm)
set(edge "holds rotation about y of the part of the mesh around .1.125 0.125 1.125., which meets the rest along the line from .1 0 1. to .1 1 1. alone")
set(chain "Mesh/File=chain.msh" "Boundary ids/Rules=1: z < 1e-6| 2: z > 2.999999")
set(corner "Dimension=2" "Mesh/File=corner_2d.msh" "Boundary ids/Rules=1: y < 1e-6| 2: y > 1.999999" "Boundary conditions/Dirichlet=1: 0| 0"
           "Boundary conditions/Traction=2: 1| 0")
set(project "Solver/Null space=project" ${quiet})
patchfem_run_case(motions.edge ${hinge} ERROR "${edge}")
patchfem_run_case(motions.edge.3_ranks ${hinge} RANKS 3 SET "Backend=host" ERROR "${edge}")
patchfem_run_case(motions.chain ${hinge} SET ${chain}
                  ERROR "holds rotation about x, rotation about y, rotation about z of the part .* around .2.25 1.25 2.25., which meets the rest at the node .2 1 2. alone")
patchfem_run_case(motions.corner ${hinge} SET ${corner}
                  ERROR "holds rotation of the part of the mesh around .1.25 1.25., which meets the rest at the node .1 1. alone")
patchfem_run_backends(motions.edge.project ${hinge} CHECKS - - 1e-6 null_space=1 SET "Baseline=trilinos_ml" ${project})
patchfem_run_backends(motions.chain.project ${hinge} CHECKS - - 1e-6 null_space=4
                      SET "Baseline=trilinos_jacobi" "Mesh/Global refinements=1" "Solver/Preconditioner=amg" ${chain} ${project})
patchfem_run_case(motions.corner.project ${hinge} CHECKS - - 1e-6 null_space=1 SET "Backend=host" "Baseline=trilinos_jacobi" ${corner} ${project})
patchfem_run_case(motions.large.project ${hinge} CHECKS null_space=1 SET "Backend=host" "Mesh/Global refinements=2" ${project})
patchfem_run_case(motions.free.3_ranks ${hinge} RANKS 3 CHECKS - - 1e-6 null_space=7
                  SET "Backend=host" "Baseline=trilinos_jacobi" "Boundary conditions/Dirichlet=" "Mesh/Global refinements=1" ${project})

# What is out of balance is taken out by mass: u' = x, whatever the mesh. Its L2 error is that of interpolation.
set(flux laplace ${cases}/unbalanced_flux/case.prm)
set(flux_solution "Exact solution/Formula=x^2/2-1/6" ${quiet})
patchfem_run_backends(motions.flux ${flux} CHECKS - - 1e-7 null_space=1 max_L2=2.3e-4
                      SET "Baseline=trilinos_jacobi" ${flux_solution})
patchfem_run_case(motions.flux.2_ranks ${flux} RANKS 2 CHECKS null_space=1 max_L2=2.3e-4 SET "Backend=host" ${flux_solution})
patchfem_run_case(motions.flux.shared ${flux} RANKS 3 DEVICES 1 CHECKS null_space=1 max_L2=2.3e-4 SET "Backend=emulated_device" ${flux_solution})
patchfem_run_case(motions.flux.trilinos ${flux} CHECKS null_space=1 max_L2=2.3e-4 SET "Backend=trilinos" "Solver/Preconditioner=jacobi" ${flux_solution})
patchfem_run_case(motions.inertia elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS null_space=6 CONTAINS "report.json:-129241.0[12]"
                  SET "Backend=host" "Boundary conditions/Dirichlet=" "Constants=length = 2, width = 0.2, height = 0.3, load = 120e3, density = 7850, gravity = 9.81" ${project})

# Sliding that conditions hold at small angles alone.
set(slip elasticity ${cases}/slip_on_circle/case.prm)
patchfem_run_case(motions.slip ${slip} ERROR "nothing holds rotation of the mesh but normals that are off by 0.0007.*rounding of the points")
patchfem_run_case(motions.slip.2_ranks ${slip} RANKS 2 SET "Backend=host" ERROR "nothing holds rotation of the mesh but normals")
patchfem_run_case(motions.slip.cylinder ${slip} SET "Dimension=3" "Mesh/File=cylinder.msh" "Loads/Body force=-y| x| 0"
                  ERROR "nothing holds rotation about z of the mesh but normals")
patchfem_run_case(motions.slip.caution ${slip} SET "Mesh/File=nearly_circle.msh" ${quiet}
                  CONTAINS "report.json:nothing holds rotation of the mesh but conditions at an angle of 0.000589")
# Ordinary ones are silent: an ellipse, a sector of a ring between planes of symmetry, a ring that one face holds, bodies.
function(patchfem_silent name application file)
  patchfem_run_case(motions.silent.${name} ${application} ${file} SET ${ARGN} ${quiet} CONTAINS "report.json:.cautions.: ..,")
endfunction()
patchfem_silent(ellipse ${slip} "Mesh/File=ellipse.msh")
patchfem_silent(sector ${slip} "Mesh/File=sector.msh")
patchfem_silent(held ${slip} "Boundary ids/Rules=1: x > 0.9" "Boundary conditions/Dirichlet=1: 0| 0")
