# SPDX-License-Identifier: LGPL-2.1-or-later
# The pressure of a liquid on voxels: all back ends and preconditioners find what Trilinos finds, and leave no divergence.
set(pressure ${parameter_files}/pressure_poisson)
function(patchfem_pressure name file)
  cmake_parse_arguments(PRESSURE "" "" "SET;CHECKS" ${ARGN})
  foreach(backend host emulated_device cuda)
    patchfem_run_case(pressure.${name}.${backend} pressure_poisson ${pressure}/${file}.prm CHECKS ${PRESSURE_CHECKS}
                      SET "Backend=${backend}" "Output/Pictures=none" ${PRESSURE_SET})
  endforeach()
endfunction()

# Pressures are some thousand Pascal, and in the pores of the order of 1.
foreach(preconditioner none jacobi block_jacobi neumann least_squares chebyshev ssor incomplete_cholesky amg)
  patchfem_pressure(${preconditioner} dam_break CHECKS - - 1e-5 max_divergence=1e-10
                    SET "Baseline=trilinos_jacobi" "Solver/Tolerance=1e-11" "Solver/Preconditioner=${preconditioner}" "Time/Steps=2")
endforeach()
foreach(preconditioner chebyshev ssor incomplete_cholesky)
  patchfem_pressure(mixed.${preconditioner} sphere_drop CHECKS - - 1e-5 max_divergence=1e-10 precision=mixed
                    SET "Baseline=trilinos_jacobi" "Solver/Tolerance=1e-11" "Precision=mixed" "Solver/Preconditioner=${preconditioner}" "Time/Steps=2")
endforeach()
patchfem_pressure(pores pores CHECKS - - 1e-8 max_divergence=1e-10 null_space=1 SET "Baseline=trilinos_ml" "Solver/Tolerance=1e-11")
patchfem_pressure(pores_jacobi pores CHECKS - - 1e-8 max_divergence=1e-10 null_space=1
                  SET "Baseline=trilinos_jacobi" "Solver/Preconditioner=jacobi" "Solver/Tolerance=1e-11")
patchfem_pressure(single dam_break CHECKS max_divergence=1e-4 precision=single SET "Precision=single" "Solver/Tolerance=1e-5" "Time/Steps=2")
patchfem_pressure(streams sphere_drop CHECKS max_divergence=2e-8 solution_update=streams
                  SET "Solver/Solution update=streams" "Solver/Residual interval=10" "Time/Steps=3")
# A quarter of the error with half the size of cells; and the same as a plane problem between walls.
patchfem_pressure(order closed_box CHECKS max_L2=5.1e-5 null_space=1 SET "Constants=n = 64")
patchfem_pressure(order_3d closed_box CHECKS max_L2=2.1e-4 null_space=1 n_dofs=4096
                  SET "Dimension=3" "Domain/Cells=n, n, 4" "Liquid/Velocity=-pi*sin(pi*x)*cos(pi*y)| -pi*cos(pi*x)*sin(pi*y)| 0")
# A source in a corner, and a side that is open to let it out.
patchfem_pressure(source closed_box CHECKS - - 1e-7 max_divergence=1e-9
                  SET "Baseline=trilinos_ml" "Liquid/Velocity=" "Liquid/Divergence=x+y < 0.3 ? 1+t : 0" "Domain/Open sides=x+"
                      "Time/Steps=3" "Exact solution/Formula=")
# A load that has no solution: its part that is not of the null space is solved for.
patchfem_run_case(pressure.source_without_outlet pressure_poisson ${pressure}/closed_box.prm CHECKS null_space=1
                  SET "Backend=host" "Liquid/Velocity=" "Liquid/Divergence=x" "Exact solution/Formula=")

# A step starts from the pressure of the one before: where nothing moves it is the solution.
foreach(start true false)
  set(checks_true last_iterations=1)
  set(checks_false min_iterations=60)
  patchfem_run_case(pressure.warm_start_${start} pressure_poisson ${pressure}/closed_box.prm CHECKS ${checks_${start}}
                    SET "Backend=host" "Time/Steps=2" "Solver/Warm start=${start}" "Output/Pictures=none" "Solver/Preconditioner=jacobi")
endforeach()
patchfem_run_case(pressure.pictures pressure_poisson ${pressure}/dam_break.prm SET "Backend=host" "Time/Steps=2"
                  FILES solution-0.vtu solution-1.vtu solution.pvd CONTAINS "solution.pvd:timestep=.0.025.*file=.solution-1.vtu")
# Cells have the size 1 unless something else is said: the same box n times as large, and so is its error.
patchfem_run_case(pressure.unit_cells pressure_poisson ${pressure}/closed_box.prm CHECKS max_L2=6.6e-3 null_space=1
                  SET "Backend=host" "Domain/Cell size=" "Exact solution/Formula=cos(pi*x/n)*cos(pi*y/n)"
                      "Liquid/Velocity=-pi/n*sin(pi*x/n)*cos(pi*y/n)| -pi/n*cos(pi*x/n)*sin(pi*y/n)")
patchfem_run_case(pressure.export pressure_poisson ${pressure}/pores.prm SET "Backend=host" "Export system=system.bin" FILES system.bin)
# A run takes away what the one before has left in the folder, and is the only one in the report.
patchfem_run_case(pressure.again pressure_poisson ${pressure}/closed_box.prm SET "Backend=host" "Output/Pictures=none" "Export system=system.bin"
                  STALE report.json solution.pvd solution-0.vtu solution-7.vtu SHELL "\"$0\" \"$@\"" FILES system.bin)

# Memory of a back end, forecast and counted.
foreach(preconditioner jacobi chebyshev ssor incomplete_cholesky amg)
  patchfem_run_case(pressure.memory.${preconditioner} pressure_poisson ${pressure}/dam_break.prm
                    SET "Backend=emulated_device" "Solver/Preconditioner=${preconditioner}" "Solver/Tolerance=1e-5" "Time/Steps=2"
                        "Output/Pictures=none" "Constants=n = 48, g = 9.81, c = sqrt(g), dam = 1, dt = 0.025")
endforeach()
foreach(preconditioner chebyshev ssor incomplete_cholesky)
  patchfem_run_case(pressure.memory.mixed.${preconditioner} pressure_poisson ${pressure}/dam_break.prm
                    SET "Backend=emulated_device" "Precision=mixed" "Solver/Preconditioner=${preconditioner}" "Solver/Tolerance=1e-5" "Time/Steps=1"
                        "Output/Pictures=none" "Constants=n = 80, g = 9.81, c = sqrt(g), dam = 1, dt = 0.025")
endforeach()
# A shallow pool, whose memory is that of cells, those for the error and the layer around a plane included.
patchfem_run_case(pressure.memory.errors pressure_poisson ${pressure}/closed_box.prm CHECKS n_dofs=12096
                  SET "Backend=emulated_device" "Solver/Preconditioner=jacobi" "Solver/Tolerance=1e-5" "Output/Pictures=none"
                      "Constants=n = 448" "Domain/Fluid=y < 0.06")

# An image whose pores formulas fill.
patchfem_run_case(pressure.image_and_formula pressure_poisson ${pressure}/pores.prm CHECKS max_divergence=2e-8
                  SET "Backend=host" "Domain/Fluid=z < 0.3+0.1*t" "Domain/Solid=x < 0.1" "Time/Steps=3" "Solver/Preconditioner=jacobi")

# A second system, whose solution is known, on memory that was forecast, and of a singular matrix.
patchfem_run_case(pressure.check pressure_poisson ${pressure}/pores.prm CHECKS max_divergence=2e-8 null_space=1 solver_error=1e-6
                  SET "Backend=emulated_device" "Solver/Check=true")

# A compressed image, and one that is not whole.
file(ARCHIVE_CREATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/pores.vtk.gz PATHS ${parameter_files}/meshes/pores.vtk FORMAT raw COMPRESSION GZip)
patchfem_run_case(pressure.compressed_image pressure_poisson ${pressure}/pores.prm CHECKS max_divergence=2e-8 null_space=1
                  SET "Domain/Image=${CMAKE_CURRENT_BINARY_DIR}/pores.vtk.gz")

# Bad input
function(patchfem_bad_pressure name file error)
  patchfem_run_case(bad.pressure_${name} pressure_poisson ${pressure}/${file}.prm ERROR ${error} SET ${ARGN})
endfunction()
patchfem_bad_pressure(closed closed_box "has 1 part.s. that touch no air.*Null space = project" "Solver/Null space=refuse")
patchfem_bad_pressure(cells closed_box "Domain/Cells has 3 numbers where 2 are wanted" "Domain/Cells=4, 4, 4")
patchfem_bad_pressure(half_cells closed_box "Domain/Cells must have integers" "Domain/Cells=4.5, 4")
patchfem_bad_pressure(many_cells dam_break "A box of 8e.15 cells takes at least .* GB of the host's memory" "Domain/Cells=200000, 200000, 200000")
patchfem_bad_pressure(size closed_box "Cell size must be above 0" "Domain/Cell size=-1")
patchfem_bad_pressure(size_varies closed_box "Cell size depends on a coordinate" "Domain/Cell size=x")
patchfem_bad_pressure(nothing closed_box "Domain/Fluid is empty" "Domain/Fluid=")
patchfem_bad_pressure(dry dam_break "no fluid at the time 0.025" "Domain/Fluid=z < 0.5-40*t")
patchfem_bad_pressure(formula dam_break "Domain/Fluid has a formula that cannot be read" "Domain/Fluid=z < height")
patchfem_bad_pressure(not_finite closed_box "Liquid/Velocity is not finite at the point" "Liquid/Velocity=1/(x-x)| 0")
patchfem_bad_pressure(components closed_box "Liquid/Velocity has 1 formulas" "Liquid/Velocity=1")
patchfem_bad_pressure(time_name closed_box "cannot define 't'" "Constants=t = 1, n = 4")
patchfem_bad_pressure(side closed_box "names z. in a plane problem" "Domain/Open sides=z+")
patchfem_bad_pressure(step closed_box "Time/Step must be above 0" "Time/Step=0")
patchfem_bad_pressure(density closed_box "Density must be above 0" "Liquid/Density=0")
patchfem_bad_pressure(image_in_plane pores "several layers of cells; choose Dimension = 3" "Dimension=2" "Liquid/Velocity=")
patchfem_bad_pressure(image_and_cells pores "leave Cells, Cell size and Lower corner empty" "Domain/Cells=4, 4, 4")
patchfem_bad_pressure(image_and_cell_size pores "leave Cells, Cell size and Lower corner empty" "Domain/Cell size=0.5")
patchfem_bad_pressure(image_and_corner pores "leave Cells, Cell size and Lower corner empty" "Domain/Lower corner=0, 0, 1")
patchfem_bad_pressure(no_image pores "nowhere.vtk cannot be opened" "Domain/Image=nowhere.vtk")
configure_file(${parameter_files}/meshes/pores.vtk ${CMAKE_CURRENT_BINARY_DIR}/plain.vtk.gz COPYONLY)
patchfem_bad_pressure(no_gzip pores "The image .*plain.vtk.gz is no gzip file, or not a whole one" "Domain/Image=${CMAKE_CURRENT_BINARY_DIR}/plain.vtk.gz")
patchfem_bad_pressure(no_vtk pores "does not start with" "Domain/Image=../meshes/bridge.msh")
patchfem_bad_pressure(trilinos closed_box "Backend = trilinos does not know voxels" "Backend=trilinos")
patchfem_bad_pressure(petsc closed_box "petsc_boomeramg does not know voxels" "Baseline=petsc_boomeramg")
patchfem_bad_pressure(ml closed_box "ml is Trilinos" "Solver/Preconditioner=ml")
patchfem_bad_pressure(mixed_none closed_box "Precision = mixed keeps" "Precision=mixed" "Solver/Preconditioner=none")
patchfem_bad_pressure(natural closed_box "Ordering = natural goes from row to row" "Backend=cuda" "Solver/Preconditioner=ssor" "Solver/SSOR/Ordering=natural")
patchfem_bad_pressure(aggregates pores "pictures of voxels do not show" "Output/Aggregates=true")
patchfem_run_case(bad.pressure_ranks pressure_poisson ${pressure}/closed_box.prm RANKS 2 ERROR "runs in one process")
