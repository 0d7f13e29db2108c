# SPDX-License-Identifier: LGPL-2.1-or-later
# Entries that would not be looked at, set away from their defaults, are refused with what they are for.
function(patchfem_without_effect name application file error)
  patchfem_run_case(bad.without_effect.${name} ${application} ${parameter_files}/${application}/${file}.prm ERROR "${error}" SET ${ARGN})
endfunction()

# One row for each: an entry, what it is for, and the entries that leave it without effect.
function(patchfem_needs entry value purpose)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" name "${entry}")
  list(JOIN ARGN "_" others)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" others "${others}")
  patchfem_without_effect(${name}.${others} laplace convergence_2d "The entry ${entry} = ${value} would be without effect, as it is for ${purpose}.*; remove it.$"
                          "${entry}=${value}" ${ARGN})
endfunction()
set(jacobi "Solver/Preconditioner=jacobi")
patchfem_needs("Refinement/Strategy" adaptive "Refinement/Cycles of 2 or more" "Refinement/Cycles=1")
patchfem_needs("Refinement/Refine fraction" 0.5 "Refinement/Strategy = adaptive or hp_adaptive, not global")
patchfem_needs("Refinement/Coarsen fraction" 0.1 "Refinement/Strategy = adaptive or hp_adaptive, not global")
patchfem_needs("Refinement/Smoothness threshold" 2 "Refinement/Strategy = hp_adaptive, not global")
patchfem_needs("Refinement/Smoothness threshold" 2 "Refinement/Strategy = hp_adaptive, not adaptive" "Refinement/Strategy=adaptive")
foreach(entry "Solver/Residual interval=7" "Solver/Solution update=streams" "Solver/Check=true" "Matrix/Format=csr" "Matrix/Keep constrained entries=true"
              "Matrix/Calibrate=true" "Matrix/Sorting window=64" "Matrix/Column indices=32 bit" "Assembly/Strategy=gather" "Assembly/Rows per patch=16")
  string(REGEX MATCH "^(.*)=(.*)$" all "${entry}")
  patchfem_needs("${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" "PatchFEM's own back ends, Backend = host, cuda or auto" "Backend=trilinos" ${jacobi})
endforeach()
patchfem_needs("Matrix/Column indices" "32 bit" "Matrix/Format = auto, sliced_ellpack or sell, not csr" "Matrix/Format=csr")
foreach(entry Order=3 "Lanczos steps=9" "Eigenvalue ratio=30")
  string(REGEX MATCH "^(.*)=(.*)$" all "${entry}")
  patchfem_needs("Solver/Polynomial/${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" "Solver/Preconditioner = neumann, least_squares or chebyshev, not jacobi" ${jacobi})
endforeach()
patchfem_needs("Solver/SSOR/Relaxation" 1.5 "Solver/Preconditioner = ssor, not amg" "Solver/Preconditioner=amg")
patchfem_needs("Solver/SSOR/Relaxation" 1.5 "Solver/Preconditioner = ssor, not auto")
patchfem_needs("Solver/AMG/Sweeps" 3 "Solver/Preconditioner = amg, not auto" "Backend=trilinos")
patchfem_needs("Solver/SSOR/Ordering" natural "Solver/Preconditioner = ssor, not jacobi" ${jacobi})
patchfem_needs("Solver/Incomplete Cholesky/Shift" 0.1 "Solver/Preconditioner = incomplete_cholesky, not jacobi" ${jacobi})
patchfem_needs("Solver/Incomplete Cholesky/Sweeps" 2 "Solver/Incomplete Cholesky/Solution = sweeps, not exact" "Solver/Preconditioner=incomplete_cholesky" "Solver/Incomplete Cholesky/Solution=exact")
patchfem_needs("Solver/AMG/Cycle" w "Solver/Preconditioner = amg, not jacobi" ${jacobi})
foreach(entry "Inner sweeps=4" "Patch storage=both" "Patch distance=2" "Patch bytes=30000")
  string(REGEX MATCH "^(.*)=(.*)$" all "${entry}")
  patchfem_needs("Solver/AMG/${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" "Solver/AMG/Smoother = patch" "Solver/Preconditioner=amg")
endforeach()
patchfem_needs("Solver/AMG/Stretched sweeps" 5 "Solver/AMG/Smoother = chebyshev or factorized_inverse" "Solver/Preconditioner=amg" "Solver/AMG/Smoother=patch")
patchfem_needs("Solver/AMG/Smoothing range" 5 "Solver/AMG/Smoother = chebyshev or patch or factorized_inverse" "Solver/Preconditioner=amg" "Solver/AMG/Smoother=l1_jacobi")
patchfem_needs("Output/Aggregates" true "Output/Pictures = last or all, not none" "Solver/Preconditioner=amg" "Output/Pictures=none")
patchfem_without_effect(plane_state elasticity cantilever "Plane state = plane stress .* is for Dimension = 2" "Material/Plane state=plane stress")
patchfem_without_effect(warm_start pressure_poisson closed_box "Warm start = false .* Time/Steps of 2" "Solver/Warm start=false")
patchfem_without_effect(voxel_solver pressure_poisson closed_box "Solver/SSOR/Relaxation = 1.5 would be without effect" "Solver/SSOR/Relaxation=1.5" ${jacobi})
# A default that is written otherwise is the default.
patchfem_run_case(without_effect.default laplace ${parameter_files}/laplace/convergence_2d.prm
                  SET "Refinement/Refine fraction=0.30" "Solver/SSOR/Relaxation=1.0" "Solver/AMG/Sweeps=2" "Refinement/Cycles=1" "Output/Pictures=none" ${jacobi})

# What stands in a file is refused unless there are options --set, which may have taken its effect on purpose.
set(idle "include ${parameter_files}/laplace/convergence_2d.prm\nsubsection Solver\n set Preconditioner = jacobi\n subsection SSOR\n  set Relaxation = 1.5\n end\nend\n")
file(WRITE ${broken}/idle.prm "${idle}")
patchfem_run_case(bad.without_effect.in_file laplace ${broken}/idle.prm ERROR "Solver/SSOR/Relaxation = 1.5 would be without effect")
patchfem_run_case(without_effect.in_file_beside_set laplace ${broken}/idle.prm CONTAINS "out:Solver/SSOR/Relaxation = 1.5 .without effect, as it is for Solver/Preconditioner = ssor, not jacobi"
                  SHELL "mkdir -p @FOLDER@ && exec > @FOLDER@/out" SET "Refinement/Cycles=1" "Output/Pictures=none")

# Natural conditions where all that they act on is given.
patchfem_without_effect(flux laplace convergence_3d "Flux would be without effect on boundary id 2, where .*Dirichlet gives the whole solution; take it out of one" "Boundary conditions/Flux=2: 1")
patchfem_without_effect(robin laplace convergence_3d "Robin would be without effect on boundary id 0" "Boundary conditions/Robin=0 1: 1| 1")
patchfem_without_effect(flux_beside_all laplace convergence_2d "Flux would be without effect on boundary id 0" "Boundary conditions/Flux=0: 1")
patchfem_without_effect(pressure elasticity cantilever "Pressure would be without effect on boundary id 0, where .*Dirichlet gives the whole solution" "Boundary conditions/Pressure=0 1: 1")
patchfem_without_effect(no_normal_flux elasticity cantilever "No normal flux would be without effect on boundary id 0" "Boundary conditions/No normal flux=0, 3")
# Those on all ids are for the rest of the boundary.
patchfem_run_case(without_effect.on_all laplace ${parameter_files}/laplace/convergence_3d.prm
                  SET "Boundary conditions/Flux=all: 1" "Refinement/Cycles=1" "Output/Pictures=none")
