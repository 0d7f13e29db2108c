# SPDX-License-Identifier: LGPL-2.1-or-later
# Nonlinear solids in steps, against closed forms: a block that is pulled, whose sides are free.
set(block ${parameter_files}/solid/rubber_block.prm)
set(quiet_steps "Output/Pictures=none")
# Force and contraction at the stretch ten.
set(checks_ten value:reactions/1/force_x=959.870203393~1e-7 value:reactions/0/force_x=-959.870203393~1e-7 value:reactions/2/force_y=0~1e-4
               value:extremes/displacement_y/minimum=-0.2917340359492~1e-7 value:points/corner/displacement_x=2.25~1e-12)
foreach(backend host emulated_device cuda)
  patchfem_run_case(solid.ten.${backend} solid ${block} CHECKS ${checks_ten} CONTAINS "steps.csv:^10,1,0.1,"
                    SET "Backend=${backend}" "Results/Points=corner: 0.25, 0.5, 0.5" ${quiet_steps})
endforeach()
patchfem_run_case(solid.ten.3_ranks solid ${block} RANKS 3 CHECKS ${checks_ten} CONTAINS "solution.pvd:timestep=.0.9. .*solution-9.pvtu"
                  SET "Backend=host" "Results/Points=corner: 0.25, 0.5, 0.5")
# Constraints that are not Dirichlet values alone are made anew in each step.
patchfem_run_case(solid.ten.normals solid ${block} CHECKS ${checks_ten}
                  SET "Backend=host" "Results/Points=corner: 0.25, 0.5, 0.5" "Boundary conditions/No normal flux=2, 4"
                      "Boundary conditions/Dirichlet=0: 0| free| free, 1: length*(10^t - 1)| free| free" ${quiet_steps})
patchfem_run_case(solid.shared solid ${block} RANKS 2 DEVICES 1 SET "Backend=emulated_device" ERROR "Several ranks share a device, which problems in steps do not")
# Steps of half of the way are too long for so few corrections, and are cut back.
patchfem_run_case(solid.cut_back solid ${block} CHECKS ${checks_ten} CONTAINS "steps.csv:^1,0.1[0-9]*,0.1[0-9]*,[0-9],[0-9]+,[0-9],1,"
                  SET "Backend=host" "Results/Points=corner: 0.25, 0.5, 0.5" "Steps/First=0.5" "Newton/Maximum iterations=4" ${quiet_steps})
patchfem_run_case(solid.no_step solid ${block} SET "Backend=host" "Newton/Maximum iterations=1" "Steps/Cut backs=2" FOLDER ${CMAKE_CURRENT_BINARY_DIR}/out/solid.no_step
                  ERROR "The step from 0 to 0.00625 fails, and is not tried shorter after 2 cut backs: ")

# Loads grow with t, or follow an amplitude. The traction stretches the block to twice its length.
set(pulled "Backend=host" "Boundary conditions/Dirichlet=0: 0| free| free, 2: free| 0| free, 4: free| free| 0" ${quiet_steps})
set(checks_two value:extremes/displacement_x/maximum=0.25~1e-7 value:extremes/displacement_y/minimum=-0.1009612277305~1e-7
               value:reactions/0/force_x=-161.686165043~1e-7 value:total_loads/force_x=161.686165043~1e-7)
patchfem_run_case(solid.traction solid ${block} CHECKS ${checks_two} SET ${pulled} "Boundary conditions/Traction=1: 646.7446601736| 0| 0"
                  CONTAINS "results.csv:^5,0.5,0,")
patchfem_run_case(solid.amplitude solid ${block} CHECKS ${checks_two} SET ${pulled} "Boundary conditions/Traction=1: 646.7446601736*(pull-1)| 0| 0"
                  "Loads/Amplitudes=pull: 0 1, 0.25 1.5, 1 2" "Steps/First=0.2" CONTAINS "steps.csv:^2,0.25,")
# The weight of a short column, held below: in balance, and with its boundary values from the first step on.
patchfem_run_case(solid.weight solid ${block} CHECKS value:reactions/4/force_z=0.0625~1e-9 value:total_loads/force_z=-0.0625~1e-12 value:extremes/displacement_x/maximum=1e-3~1e-8
                  SET "Backend=host" "Steps/Variable=time" "Steps/First=1" "Loads/Body force=0| 0| -1" "Boundary conditions/Dirichlet=4: 0.001| 0| 0, 5: 1e-3| free| free, 2: 1e-3| free| free, 3: 1e-3| free| free, 0: 1e-3| free| free, 1: 1e-3| free| free" ${quiet_steps})

# In a thin sheet as in the block; and the yield stress of a bar that is pulled and pushed back to where it was.
set(sheet "Dimension=2" "Backend=host" "Mesh/Generator arguments=4, 8 : 0, 0 : 0.25, 0.5 : true")
patchfem_run_case(solid.plane_stress solid ${block} CHECKS value:reactions/1/force_x=1919.740406786~1e-7 value:extremes/displacement_y/minimum=-0.2917340359492~1e-7
                  SET ${sheet} "Boundary conditions/Dirichlet=0: 0| free, 1: length*(10^t - 1)| free, 2: free| 0" "Material/Plane state=plane stress")
patchfem_run_case(solid.j2 solid ${block} CHECKS value:reactions/1/force_x=-65.5572983~1e-8
                  SET "Backend=host" "Material/Law=j2" "Material/Young's modulus=200e3" "Material/Yield stress=250" "Material/Hardening modulus=2e3"
                      "Boundary conditions/Dirichlet=0: 0| free| free, 1: 0.005*length*pull| free| free, 2: free| 0| free, 4: free| free| 0"
                      "Loads/Amplitudes=pull: 0 0, 1 1, 2 0" "Steps/End=2" "Steps/First=0.4" ${quiet_steps})

# Where stresses vary, for app.nodal.solid.clamped.
patchfem_run_case(solid.clamped solid ${block} CONTAINS "solution.pvd:timestep=.0.25. .*solution-1.vtu"
                  SET "Backend=host" "Boundary conditions/Dirichlet=0: 0| 0| 0, 1: length*t| 0| 0" "Steps/First=0.25")

# What is wrong.
set(in_3d solid ${block} SET)
patchfem_run_case(solid.bad.law ${in_3d} "Material/Law=rubber" ERROR "Material/Law names a law that there is not: 'rubber'. there are neo_hookean, saint_venant_kirchhoff, j2")
patchfem_run_case(solid.bad.no_law ${in_3d} "Material/Law=1: j2" ERROR "Material/Law names material id 1, but no cell has it")
patchfem_run_case(solid.bad.without_effect ${in_3d} "Material/Yield stress=2" ERROR "Material/Yield stress = 2 would be without effect, as it is for Material/Law = j2")
patchfem_run_case(solid.bad.plane ${in_3d} "Material/Plane state=plane stress" ERROR "as it is for Dimension = 2")
patchfem_run_case(solid.bad.timed ${in_3d} "Material/Young's modulus=1 + t" ERROR "Material/Young's modulus has a formula that cannot be read")
patchfem_run_case(solid.bad.amplitude ${in_3d} "Loads/Amplitudes=length: 0 1" ERROR "Loads/Amplitudes cannot define 'length'")
patchfem_run_case(solid.bad.amplitudes ${in_3d} "Loads/Amplitudes=pull 0 1" ERROR "Loads/Amplitudes has 'pull 0 1' where a table")
patchfem_run_case(solid.bad.steps ${in_3d} "Steps/Least=2" ERROR "The least step, 2, must not be above the first, 0.1")
patchfem_run_case(solid.bad.end ${in_3d} "Steps/End=0" ERROR "Steps/End must be above 0")
patchfem_run_case(solid.bad.motion ${in_3d} "Boundary conditions/Dirichlet=0: 0| free| free" ERROR "no boundary condition holds translation in y, .* of the mesh. give Dirichlet conditions that do[.]$")
