# SPDX-License-Identifier: LGPL-2.1-or-later
# Systems whose answer is easily wrong without a word: rows of very different size, and motions that nothing holds.
set(cases ${PROJECT_SOURCE_DIR}/tests/cases)
set(quiet "Output/Pictures=none")

# One part of a system is 1e9 to 1e30 times as stiff as the rest, and so are its loads. The direct solver's L2 error is
# 7.13e-4 with every film.
set(film ${cases}/penalty_film/case.prm)
foreach(a 1e3 1e6 1e9 1e30)
  patchfem_run_case(rows.film_${a} laplace ${film} CHECKS max_L2=7.2e-4 min_L2=7.05e-4 max_iterations=13 SET "Backend=host" "Constants=a = ${a}" ${quiet})
endforeach()
foreach(backend host emulated_device cuda)
  patchfem_run_case(rows.film.${backend} laplace ${film} CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4 max_iterations=12
                    SET "Backend=${backend}" "Baseline=trilinos_ml" ${quiet})
endforeach()
patchfem_run_case(rows.film.3_ranks laplace ${film} RANKS 3 CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4 max_iterations=13
                  SET "Backend=host" "Baseline=trilinos_jacobi" ${quiet})
patchfem_run_case(rows.film.shared laplace ${film} RANKS 3 DEVICES 1 CHECKS max_L2=7.2e-4 min_L2=7.05e-4 max_iterations=13
                  SET "Backend=emulated_device" ${quiet})
foreach(preconditioner jacobi least_squares ssor)
  patchfem_run_case(rows.film.${preconditioner} laplace ${film} CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4 max_iterations=50
                    SET "Backend=host" "Baseline=umfpack" "Solver/Preconditioner=${preconditioner}" ${quiet})
endforeach()
patchfem_run_case(rows.film.varies laplace ${film} CHECKS - - 1e-6 max_L2=7.2e-4 min_L2=7.05e-4 max_iterations=14
                  SET "Backend=host" "Baseline=umfpack" "Boundary conditions/Robin=0: 1e3*10^(12*y)| 1e3*10^(12*y)" ${quiet})
# A reaction, a material and an elastic support.
patchfem_run_case(rows.reaction laplace ${film} CHECKS - - 1e-6 max_iterations=40
                  SET "Backend=host" "Baseline=umfpack" "Boundary conditions/Robin=" "Exact solution/Formula=" "Material/Reaction=x < 0.5 ? 1e10 : 0"
                      "Loads/Source=x < 0.5 ? 1e10 : 2" ${quiet})
patchfem_run_case(rows.material laplace ${film} CHECKS - - 1e-6 max_iterations=40
                  SET "Backend=host" "Baseline=umfpack" "Boundary conditions/Robin=0: 1| 1" "Exact solution/Formula=" "Material/Coefficient=y < 0.5 ? 1e8 : 1"
                      "Loads/Source=y < 0.5 ? 2e8 : 2" ${quiet})
foreach(backend host emulated_device cuda)
  patchfem_run_case(rows.support.${backend} elasticity ${parameter_files}/elasticity/convergence_2d.prm CHECKS - - 1e-5 max_iterations=40
                    SET "Backend=${backend}" "Baseline=umfpack" "Refinement/Cycles=2" "Exact solution/Formula=" "Boundary conditions/Dirichlet="
                        "Boundary conditions/Robin=0: 1e14*(1+y)| 1e12*(1+y)*y| 0" ${quiet})
endforeach()

