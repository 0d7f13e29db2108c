# SPDX-License-Identifier: LGPL-2.1-or-later
# Every format that Matrix/Format names, on all back ends: the same solution after as many iterations as sliced_ellpack takes,
# which are one more or less where sums have another order.
set(scalar_case laplace ${parameter_files}/laplace/convergence_3d.prm)
set(scalar_set "Finite element/Degree=1" "Mesh/Global refinements=4" "Refinement/Cycles=1")
set(vector_case elasticity ${parameter_files}/elasticity/cantilever.prm)
set(vector_set "Mesh/Global refinements=0" "Solver/Preconditioner=jacobi")

function(patchfem_format name case iterations choice)
  math(EXPR least "${iterations} - 1")
  math(EXPR most "${iterations} + 1")
  foreach(backend host emulated_device cuda)
    patchfem_run_case(format.${name}.${case}.${backend} ${${case}_case} CHECKS - - 1e-8 min_iterations=${least} max_iterations=${most}
                      CONTAINS "report.json:\"format_choice\": \"${choice}\"" SET "Backend=${backend}" "Baseline=trilinos_jacobi" "Output/Pictures=none"
                      "Assembly/Repetitions=1" ${${case}_set} ${ARGN})
  endforeach()
endfunction()

foreach(case scalar vector)
  foreach(format sliced_ellpack bell csr sell ellpack ellpack_r coo hybrid symmetric)
    set(choice ${format})
    if(format MATCHES "sliced_ellpack|sell")
      set(choice "${format}, slices of 32.*")
    endif()
    patchfem_format(${format} ${case} ${${case}_iterations} ${choice} "Matrix/Format=${format}")
  endforeach()
endforeach()
