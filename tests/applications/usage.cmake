# SPDX-License-Identifier: LGPL-2.1-or-later
# The command line of programs and of ./patchfem.
function(patchfem_says name text)
  add_test(NAME app.${name} COMMAND ${ARGN})
  set_tests_properties(app.${name} PROPERTIES LABELS quick TIMEOUT 60 PASS_REGULAR_EXPRESSION "${text}")
endfunction()
patchfem_says(usage.without_arguments "^Usage: laplace FILE.prm" $<TARGET_FILE:laplace>)
patchfem_says(usage.help "laplace --help.*set Dimension" $<TARGET_FILE:laplace> ${laplace} --help)
patchfem_says(usage.step "^Usage: step-6 .auto . host . cuda" $<TARGET_FILE:step-6> --help)
patchfem_says(usage.no_application "lies in the folder broken, which names no application; choose one with --application: elasticity helmholtz laplace pressure_poisson"
              bash ${PROJECT_SOURCE_DIR}/patchfem run ${broken}/choice.prm)
patchfem_says(usage.no_such_application "there is no application step-6 that reads parameter files" bash ${PROJECT_SOURCE_DIR}/patchfem run ${laplace} --application step-6)
set(script bash ${PROJECT_SOURCE_DIR}/patchfem)
patchfem_says(usage.version "^laplace of PatchFEM [0-9.]+, commit .*, deal.II 9" $<TARGET_FILE:laplace> --version)
patchfem_says(usage.version_of_script "^PatchFEM [0-9.]+, commit " ${script} --version)
patchfem_says(usage.help_of_section "^  subsection AMG\n.*set Sweeps.*\n  end\n$" $<TARGET_FILE:laplace> --help Solver/AMG)
patchfem_says(usage.no_such_section "^laplace: There is no section 'Solver/AGM' of parameters" $<TARGET_FILE:laplace> --help Solver/AGM)
patchfem_says(usage.of_run "--ranks N . auto.*Applications: elasticity helmholtz laplace" ${script} run --help)
# Entries stand in the order in which users ask: the domain, what acts on it, how fine, what comes out, how it is solved.
patchfem_says(usage.order "subsection Mesh.*subsection Boundary conditions.*subsection Material.*subsection Refinement.*subsection Output.*subsection Solver"
              $<TARGET_FILE:elasticity> --help)

# Threads that wait sleep, unless the environment says how they do.
patchfem_says(usage.waiting_threads_sleep "OMP_WAIT_POLICY = 'PASSIVE'"
              ${CMAKE_COMMAND} -E env --unset=OMP_WAIT_POLICY OMP_NUM_THREADS=2 OMP_DISPLAY_ENV=true $<TARGET_FILE:laplace> absent.prm)

# A file says which program it is for, wherever it lies.
file(WRITE ${broken}/named.prm "set Application = laplace\n${on_square}")
patchfem_run_case(bad.other_application elasticity ${broken}/named.prm ERROR "named.prm is for the application 'laplace', and this is elasticity")
patchfem_run_case(application_named laplace ${broken}/named.prm SET "Boundary conditions/Dirichlet=0: 0" "Output/Pictures=none")
# Several ways to solve one system: numbers of each, one of which fails, and lines that are none.
file(WRITE ${broken}/variants.txt "# with comments\njacobi: Solver/Preconditioner = jacobi # and\nshort: Solver/Maximum iterations = 1\n"
     "ml: Backend = trilinos; Solver/Tolerance = 1e-12\n")
patchfem_run_case(variants.few laplace ${laplace} SET "Refinement/Cycles=2" VARIANTS ${broken}/variants.txt
                  CONTAINS "report.json:\"error\": \"Conjugate gradients did not reach .* in 1 steps")
patchfem_check_variant(variants.ml variants.few ml 2.95 1.95 preconditioner=ml max_residual=1e-12)
patchfem_check_variant(variants.short variants.few short)
set_tests_properties(app.variants.short PROPERTIES PASS_REGULAR_EXPRESSION "no solution of the variant short: .*did not reach")
patchfem_says(variants.table "(the file). *. host *. amg .*. jacobi *. host *. jacobi *. double .*Variant short failed: Conjugate gradients did not reach"
              $<TARGET_FILE:laplace> ${laplace} --set "Backend=host" --set "Output/Pictures=none" --variants ${broken}/variants.txt
              --output ${CMAKE_CURRENT_BINARY_DIR}/out/variants.table)
file(WRITE ${broken}/variants_on_ranks.txt "ssor: Solver/Preconditioner = ssor\ndevice: Backend = emulated_device\n")
patchfem_run_case(variants.on_ranks elasticity ${parameter_files}/elasticity/cantilever.prm RANKS 3 DEVICES 2 CHECKS - - 1e-12
                  SET "Backend=host" "Baseline=trilinos_ml" "Mesh/Global refinements=1" "Output/Pictures=none" VARIANTS ${broken}/variants_on_ranks.txt)
foreach(variant ssor device)
  patchfem_check_variant(variants.on_ranks.${variant} variants.on_ranks ${variant} - - 1e-12)
endforeach()
patchfem_run_case(bad.variants.on_ranks laplace ${laplace} RANKS 2 VARIANTS ${broken}/variants.txt ERROR "The variant 'short': Conjugate gradients did not reach")
patchfem_run_case(bad.variants.of_voxels pressure_poisson ${parameter_files}/pressure_poisson/closed_box.prm VARIANTS ${broken}/variants.txt
                  ERROR "Line 2 of .*variants.txt': The option --variants is for programs with finite elements, which pressure_poisson is not")
patchfem_run_case(bad.variants.missing laplace ${laplace} VARIANTS ${broken}/nowhere.txt ERROR "nowhere.txt', which --variants names, cannot be opened")
function(patchfem_bad_variant name lines error)
  file(WRITE ${broken}/variants_${name}.txt "${lines}\n")
  patchfem_run_case(bad.variants.${name} laplace ${laplace} VARIANTS ${broken}/variants_${name}.txt ERROR "${error}")
endfunction()
patchfem_bad_variant(mesh "a: Mesh/Global refinements = 2" "Line 1 of .* sets Mesh/Global refinements, which all variants share. they may set Backend, Precision")
patchfem_bad_variant(null_space "a: Solver/Null space = project" "Line 1 of .* sets Solver/Null space, which all variants share")
patchfem_bad_variant(colon "Backend host" "Line 1 of .* is no variant. write 'NAME: Section/Entry = value. ...', not 'Backend host'")
patchfem_bad_variant(equals "a: Backend" "Line 1 of .* has 'Backend' where 'Section/Entry = value' is wanted")
patchfem_bad_variant(nothing "# nothing" "variants_nothing.txt', which --variants names, has none")
patchfem_bad_variant(unknown "a: Solver/Foo = 2" "Line 1 of .*: The variant names Solver/Foo, which is not a parameter")
patchfem_bad_variant(value "a: Precision = half" "Line 1 of .*: The variant gives Precision the value 'half'")
patchfem_bad_variant(twice "a: Backend = host\na: Backend = host" "Line 2 of .* has the name 'a', which another line has")
patchfem_bad_variant(without_effect "a: Solver/SSOR/Relaxation = 1.5" "Line 1 of .*: The entry Solver/SSOR/Relaxation = 1.5 would be without effect")
patchfem_bad_variant(of_trilinos "a: Backend = host; Solver/Preconditioner = ml" "The variant 'a': Solver/Preconditioner ml is Trilinos'")

# With further ranks by the program itself.
add_test(NAME app.ranks_started WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
         COMMAND laplace ${laplace} --ranks 2 --output ${CMAKE_CURRENT_BINARY_DIR}/out/ranks_started)
set_tests_properties(app.ranks_started PROPERTIES LABELS mpi PROCESSORS 2 TIMEOUT 300 PASS_REGULAR_EXPRESSION "on 2 process")
patchfem_says(bad.ranks "^laplace: The option --ranks wants a number of processes, or auto, not 'some'" $<TARGET_FILE:laplace> ${laplace} --ranks some)
patchfem_says(bad.ranks_twice "laplace: The option --ranks starts processes of MPI, and a launcher has started this one"
              ${CMAKE_COMMAND} -E env ${PATCHFEM_MPI_ENVIRONMENT} ${DEAL_II_MPIEXEC} ${DEAL_II_MPIEXEC_NUMPROC_FLAG} 1 $<TARGET_FILE:laplace> ${laplace} --ranks 2)

# A case to begin with. Programs to begin with are built by tests/package.
patchfem_says(usage.new "wrote bracket/bracket.prm" sh -c
              "mkdir -p new && cd new && rm -rf bracket && bash ${PROJECT_SOURCE_DIR}/patchfem new bracket && $<TARGET_FILE:elasticity> bracket/bracket.prm --set 'Mesh/Global refinements=0' --output bracket/output")
