# SPDX-License-Identifier: LGPL-2.1-or-later
# Results in their folder: what a run may replace and when, and ends in one sentence where nothing can be written.
set(small_laplace laplace ${laplace} SET "Backend=host" "Refinement/Cycles=1")
set(small_pressure pressure_poisson ${pressure}/closed_box.prm SET "Backend=host")
set(earlier_report "printf '{\"finished\": true, \"cycles\": [7]}' > @FOLDER@/report.json")
set(missing_mesh "Mesh/Generator=" "Mesh/Generator arguments=" "Mesh/File=nowhere.msh")

# Before there is a result those of an earlier run stay, and the report says of whom it is and keeps theirs.
patchfem_run_case(folder.missing_mesh ${small_laplace} ${missing_mesh} KEPT solution.pvd solution-0.vtu parameters.prm
                  SHELL "${earlier_report}" CONTAINS "report.json:\"earlier\": {" ERROR "nowhere.msh")
patchfem_run_case(folder.bad_entry ${small_laplace} "Mesh/Global refinements=many" KEPT solution.pvd solution-0.vtu parameters.prm
                  SHELL "${earlier_report}" CONTAINS "report.json:\"earlier\": {" ERROR "Global refinements")
patchfem_run_case(folder.bad_entry_twice ${small_laplace} "Mesh/Global refinements=many" KEPT solution.pvd
                  SHELL "${earlier_report} && ! \"$0\" \"$@\" 2> @FOLDER@/first" CONTAINS "report.json:^ *7" ERROR "Global refinements")
patchfem_run_case(folder.missing_image ${small_pressure} "Domain/Image=nowhere.vtk" "Domain/Cells=" "Domain/Cell size=" KEPT solution.pvd solution-0.vtu
                  SHELL "${earlier_report}" CONTAINS "report.json:\"earlier\": {" ERROR "nowhere.vtk")
patchfem_run_case(folder.replaced ${small_laplace} STALE solution-3.vtu solution-12.pvtu solution-12.0003.vtu solution-1.vtu.part parameters.prm
                  SHELL "${earlier_report}" CONTAINS "report.json:\"earlier\": null" FILES solution-0.vtu solution.pvd)

# One run at a time, and no file that the run reads.
patchfem_run_case(folder.locked ${small_laplace} KEPT report.json solution.pvd solution-0.vtu SHELL "exec 9< @FOLDER@ && flock 9"
                  ERROR "Another run is writing into the output folder .*folder.locked")
set(own ${CMAKE_CURRENT_BINARY_DIR}/out/folder.own_input)
patchfem_run_case(folder.own_input laplace ${own}/parameters.prm SHELL "mkdir -p @FOLDER@ && cp ${laplace} @FOLDER@/parameters.prm"
                  ERROR "folder.own_input/parameters.prm is read by this run, which would replace it")
patchfem_run_case(folder.own_image ${small_pressure} "Domain/Cells=" "Domain/Cell size=" "Domain/Image=${CMAKE_CURRENT_BINARY_DIR}/out/folder.own_image/solution-0.vtu"
                  KEPT solution-0.vtu ERROR "solution-0.vtu is read by this run, which would replace it")

# An exported system replaces nothing but an exported system.
foreach(name ../in.prm ${CMAKE_CURRENT_BINARY_DIR}/system.bin . folder/)
  string(MAKE_C_IDENTIFIER "${name}" id)
  patchfem_run_case(folder.export.${id} ${small_laplace} "Export system=${name}" ERROR "is not the name of a file in the output folder")
endforeach()
foreach(name report.json parameters.prm solution.pvd solution-0.vtu system.bin.part)
  patchfem_run_case(folder.export.${name} ${small_laplace} "Export system=${name}" ERROR "is a name of the run's own files")
endforeach()
patchfem_run_case(folder.export.of_somebody ${small_laplace} "Export system=mesh.msh" KEPT mesh.msh ERROR "no earlier run exported")
patchfem_run_case(folder.export.of_somebody_voxels ${small_pressure} "Export system=mesh.msh" KEPT mesh.msh ERROR "no earlier run exported")

# No room, no folder, no output.
foreach(application laplace pressure)
  patchfem_run_case(folder.unwritable.${application} ${small_${application}} SHELL "mkdir -p @FOLDER@/solution-0.vtu.part/x"
                    ERROR "solution-0.vtu cannot be written: Is a directory")
  # 9 is a pipe whose reader has gone.
  foreach(output "/dev/full" "&-" "&9")
    string(MAKE_C_IDENTIFIER "${output}" id)
    patchfem_run_case(folder.output.${application}.${id} ${small_${application}}
                      SHELL "mkfifo @FOLDER@.pipe && { true < @FOLDER@.pipe & } && exec 9> @FOLDER@.pipe && wait && rm @FOLDER@.pipe && exec >${output}"
                      CONTAINS "report.json:\"finished\": true" ERROR "results in .* are complete, but standard output could not be written")
  endforeach()
endforeach()
patchfem_run_case(folder.link ${small_laplace} SHELL "ln -s nowhere @FOLDER@" ERROR "cannot be made .it is a symbolic link to nowhere, which does not exist")

# The limit of the process, and not the memory of the machine, is what a forecast sees.
patchfem_run_case(bad.address_space laplace ${laplace} SET "Backend=host" "Mesh/Global refinements=14" SHELL "ulimit -v 8000000"
                  ERROR "takes at least 53.7 GB of the host's memory, but [0-7]\\.[0-9]* GB are free")
