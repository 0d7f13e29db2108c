# SPDX-License-Identifier: LGPL-2.1-or-later
# Every format that Matrix/Format names, on all back ends, with a second assembly, as variants of one run each: the solution
# of Trilinos after as many iterations as sliced_ellpack takes. Their number may differ by one where sums have another order.
set(format_case_scalar laplace ${parameter_files}/laplace/convergence_3d.prm)
set(format_set_scalar "Solver/Preconditioner=jacobi" "Finite element/Degree=1" "Mesh/Global refinements=4" "Refinement/Cycles=1"
    "Boundary conditions/Dirichlet=0 2 3 4 5: sin(2*x)*exp(y)*cos(z)" "Exact solution/Formula=")
set(format_case_vector elasticity ${parameter_files}/elasticity/cantilever.prm)
set(format_set_vector "Mesh/Global refinements=0" "Solver/Preconditioner=jacobi")
# Linear triangles with right angles, whose matrix has -1 and 0 off the diagonal, to rounding.
set(format_case_grid laplace ${parameter_files}/laplace/convergence_2d.prm)
set(format_set_grid "Solver/Preconditioner=jacobi" "Finite element/Degree=1" "Mesh/Simplices=kuhn" "Mesh/Global refinements=4" "Refinement/Cycles=1")

function(patchfem_format name case choice)
  patchfem_variant(variants.${case} format.${name}.${case} CHECKS - - 1e-8 "format_choice=${choice}"
                   SET ${ARGN})
endfunction()

foreach(format sliced_ellpack symmetric csr sell bell ellpack ellpack_r coo hybrid)
  set(choice ${format})
  if(format MATCHES "sliced_ellpack|sell")
    set(choice "${format}, slices of 32.*")
  endif()
  patchfem_format(${format} scalar ${choice} "Matrix/Format=${format}")
  patchfem_format(${format} vector ${choice} "Matrix/Format=${format}")
endforeach()
patchfem_format(mdia grid mdia "Matrix/Format=mdia")

# What can be chosen about them.
patchfem_format(slices vector "sliced_ellpack, slices of 8" "Matrix/Format=sliced_ellpack" "Matrix/Slice height=8")
patchfem_format(short scalar "sliced_ellpack, slices of 32, 16-bit columns" "Matrix/Format=sliced_ellpack" "Matrix/Column indices=16 bit")
patchfem_format(long scalar "sliced_ellpack, slices of 32" "Matrix/Format=sliced_ellpack" "Matrix/Column indices=32 bit")
patchfem_format(auto_long scalar "(csr|sliced_ellpack, slices of [0-9]+)" "Matrix/Column indices=32 bit")
patchfem_format(short_scalars vector "sell, slices of 32, 16-bit columns" "Matrix/Format=sell" "Matrix/Column indices=16 bit")
patchfem_format(csr_scalar vector "csr, a thread a row" "Matrix/Format=csr" "Matrix/CSR kernel=scalar")
patchfem_format(csr_vector vector "csr, a warp a row" "Matrix/Format=csr" "Matrix/CSR kernel=vector")

# With preconditioners that take more from a matrix than products, and in other precisions.
patchfem_format(symmetric_block_jacobi vector symmetric "Matrix/Format=symmetric" "Solver/Preconditioner=block_jacobi")
patchfem_format(symmetric_mixed scalar symmetric "Matrix/Format=symmetric" "Precision=mixed" "Solver/Preconditioner=chebyshev")
patchfem_format(coo_block_jacobi vector coo "Matrix/Format=coo" "Solver/Preconditioner=block_jacobi")
patchfem_format(coo_mixed vector coo "Matrix/Format=coo" "Precision=mixed" "Solver/Preconditioner=block_jacobi")
patchfem_format(hybrid_polynomial scalar hybrid "Matrix/Format=hybrid" "Solver/Preconditioner=least_squares")
patchfem_format(ellpack_r_ssor scalar ellpack_r "Matrix/Format=ellpack_r" "Solver/Preconditioner=ssor")
patchfem_format(sell_cholesky vector "sell, slices of 32.*" "Matrix/Format=sell" "Solver/Preconditioner=incomplete_cholesky")
patchfem_format(bell_amg vector bell "Matrix/Format=bell" "Solver/Preconditioner=amg" "Precision=double")
patchfem_format(mdia_cholesky grid mdia "Matrix/Format=mdia" "Solver/Preconditioner=incomplete_cholesky")

foreach(case scalar vector grid)
  patchfem_run_variants(variants.${case} ${format_case_${case}} "Baseline=trilinos_jacobi" "Assembly/Repetitions=1" ${format_set_${case}})
endforeach()

# The memory of a matrix and of what it is made of is forecast, from 10,000 unknowns on within a factor of 2.
function(patchfem_memory name)
  patchfem_variant(variants.memory memory.cantilever.${name} BACKENDS emulated_device SET ${ARGN})
endfunction()
foreach(format csr sliced_ellpack auto)
  patchfem_memory(${format} "Matrix/Format=${format}")
endforeach()
foreach(format sell ellpack ellpack_r bell coo hybrid symmetric)
  patchfem_memory(${format} "Matrix/Format=${format}" "Solver/Preconditioner=jacobi")
endforeach()
foreach(preconditioner none block_jacobi least_squares ssor incomplete_cholesky)
  patchfem_memory(${preconditioner} "Precision=double" "Solver/Preconditioner=${preconditioner}")
endforeach()
foreach(preconditioner chebyshev ssor incomplete_cholesky)
  foreach(format sliced_ellpack csr)
    patchfem_memory(mixed.${preconditioner}.${format} "Precision=mixed" "Matrix/Format=${format}" "Solver/Preconditioner=${preconditioner}"
                    "Solver/Tolerance=1e-5")
  endforeach()
endforeach()
patchfem_run_variants(variants.memory elasticity ${parameter_files}/elasticity/cantilever.prm ${box_of_11529})
patchfem_run_case(memory.mdia laplace ${parameter_files}/laplace/convergence_2d.prm
                  SET "Backend=emulated_device" "Matrix/Format=mdia" ${format_set_grid} "Mesh/Global refinements=7" "Output/Pictures=none")
foreach(format symmetric coo)
  patchfem_run_case(memory.hanging_nodes.${format} laplace ${parameter_files}/laplace/l_shape.prm
                    SET "Backend=emulated_device" "Matrix/Format=${format}" "Solver/Preconditioner=jacobi" "Output/Pictures=none")
endforeach()

# What a format cannot serve.
function(patchfem_bad_format name case error)
  patchfem_run_case(bad.format.${name} ${format_case_${case}} ERROR ${error} SET ${format_set_${case}} ${ARGN})
endfunction()
patchfem_bad_format(symmetric_amg vector "Preconditioner = amg works on the rows of a matrix, which Matrix/Format = symmetric does not have"
                    "Matrix/Format=symmetric" "Solver/Preconditioner=amg")
patchfem_bad_format(coo_ssor scalar "ssor works on the rows of a matrix" "Matrix/Format=coo" "Solver/Preconditioner=ssor")
patchfem_bad_format(hybrid_cholesky scalar "incomplete_cholesky works on the rows" "Matrix/Format=hybrid" "Solver/Preconditioner=incomplete_cholesky")
patchfem_bad_format(sell_block_jacobi vector "block_jacobi works on the blocks of a node's unknowns, which Matrix/Format = sell does not keep"
                    "Matrix/Format=sell" "Solver/Preconditioner=block_jacobi")
patchfem_bad_format(hybrid_mixed scalar "needs a copy of the matrix in single precision, which there is not of Matrix/Format = hybrid"
                    "Matrix/Format=hybrid" "Precision=mixed" "Solver/Preconditioner=chebyshev")
patchfem_bad_format(short_blocks vector "16 bit is for scalar entries, but Matrix/Format = sliced_ellpack has blocks" "Matrix/Format=sliced_ellpack"
                    "Matrix/Column indices=16 bit")
patchfem_bad_format(slices_of_auto scalar "Matrix/Slice height needs Matrix/Format = sliced_ellpack or sell, not auto" "Matrix/Slice height=8")
patchfem_bad_format(short_slices scalar "16 bit needs Matrix/Format = sliced_ellpack or sell with slices of 32" "Matrix/Format=sell" "Matrix/Slice height=8"
                    "Matrix/Column indices=16 bit")
patchfem_bad_format(short_auto scalar "16 bit needs Matrix/Format = sliced_ellpack or sell" "Matrix/Column indices=16 bit")
patchfem_bad_format(csr_kernel scalar "CSR kernel = vector needs Matrix/Format = csr, not auto" "Matrix/CSR kernel=vector")
patchfem_bad_format(mdia scalar "holds one constant off the diagonal, but row 0 has an entry that differs" "Matrix/Format=mdia")
patchfem_bad_format(unknown scalar "Matrix/Format the value 'dense'" "Matrix/Format=dense")
