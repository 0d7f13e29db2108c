# SPDX-License-Identifier: LGPL-2.1-or-later
# Inputs as people bring them, in tests/cases: boundaries and materials with names, in several groups, cells that other
# programs solve, and what of a file is passed over. Each has the value that is right, or the line that says what is not.
set(cases ${PROJECT_SOURCE_DIR}/tests/cases)
set(to_out SHELL "mkdir -p @FOLDER@ && exec > @FOLDER@/out")
set(exact "Solver/Tolerance=1e-12" "Output/Pictures=none")

# u = x (1 - x), though one of the two sides is in another group, too.
foreach(backend host emulated_device)
  patchfem_run_case(cases.overlapping_groups.${backend} laplace ${cases}/overlapping_groups/case.prm SET "Backend=${backend}" CHECKS max_L2=5e-3)
endforeach()
patchfem_run_case(cases.overlapping_groups.names laplace ${cases}/overlapping_groups/case.prm RANKS 2 SET "Boundary conditions/Dirichlet=Cold: 0"
                  CHECKS max_L2=5e-3 CONTAINS "out:^. sensor . cold *. 13 *. 8 *. 1 *. 0, 0.5 *. Dirichlet" ${to_out})
patchfem_run_case(bad.groups_disagree laplace ${cases}/overlapping_groups/case.prm SET "Boundary conditions/Dirichlet=sensor: 1, 12: 0"
                  ERROR "Dirichlet gives different values to faces that are in 'sensor' and in '12'; write them alike")
patchfem_run_case(bad.group_twice laplace ${cases}/overlapping_groups/case.prm SET "Boundary conditions/Dirichlet=cold: 0, 12: 0"
                  ERROR "Dirichlet names boundary 'cold' twice, as 'cold' and '12'")
patchfem_run_case(bad.all_is_a_name laplace ${cases}/overlapping_groups/case.prm SET "Boundary ids/Rules=all: x > 0.999" "Boundary conditions/Dirichlet=all: 0"
                  ERROR "Dirichlet says all, which stands for all boundaries not named, and the mesh has one of that name")
patchfem_run_case(bad.group_unknown laplace ${cases}/overlapping_groups/case.prm SET "Boundary conditions/Dirichlet=warm: 0"
                  ERROR "Dirichlet names boundary 'warm', but no face has it; the mesh has 0, cold, sensor . cold")

# Fluxes 1 and 2 on groups that share the left side add up: u = 3 (1 - x).
patchfem_run_case(cases.loads_add_up laplace ${cases}/overlapping_groups/case.prm CHECKS max_L2=1e-10
                  SET "Boundary ids/Rules=held: x > 0.999999" "Boundary conditions/Dirichlet=held: 0" "Boundary conditions/Flux=sensor: 1, cold: 2"
                      "Loads/Source=0" "Exact solution/Formula=3*(1-x)" ${exact})
patchfem_run_case(cases.robin_by_name laplace ${cases}/overlapping_groups/case.prm CHECKS max_L2=1e-10
                  SET "Boundary ids/Rules=\"far side\": x > 0.999999" "Boundary conditions/Dirichlet=" "Boundary conditions/Flux=sensor: 1, cold: 2"
                      "Boundary conditions/Robin=\"Far side\": 2| -3" "Loads/Source=body: 0" "Exact solution/Formula=3*(1-x)" ${exact})

# A bar of two materials: u = 1.1 at its end.
set(bar "Exact solution/Formula=x < 1 ? x : 1 + (x - 1)/10" ${exact})
foreach(names "STEEL1: 1, FOAM1: 10" "el: 1, default: 10" "EALL: 0 + (x < 1 ? 1 : 10)")
  string(REGEX MATCH "^[A-Za-z]*" first "${names}")
  patchfem_run_case(cases.materials_by_name.${first} laplace ${cases}/materials_by_name/case.prm SET "Material/Coefficient=${names}" ${bar}
                    CHECKS max_L2=1e-10)
endforeach()
patchfem_run_case(cases.degrees_by_name laplace ${cases}/materials_by_name/case.prm CHECKS max_L2=1e-10 degrees=1,2
                  SET "Material/Coefficient=STEEL1: 1, FOAM1: 10" "Finite element/Degrees=1, 2" "Finite element/Cell degree=er: 2" ${bar}
                  CONTAINS "out:^. STEEL1 = EL *. 1 *. 8 *. 1 *. 1 *. 0 " ${to_out})
patchfem_run_case(bad.materials_by_name laplace ${cases}/materials_by_name/case.prm
                  ERROR "names material id 1, but no cell has it alone: it could be 'STEEL1' or 'FOAM1'; the mesh has STEEL1, FOAM1")
patchfem_run_case(bad.materials_disagree laplace ${cases}/materials_by_name/case.prm SET "Material/Coefficient=EL: 1, STEEL1: 2, FOAM1: 10"
                  ERROR "Material/Coefficient gives different values to cells that are in 'EL' and in 'STEEL1'")
patchfem_run_case(cases.vtk_cell_data laplace ${cases}/vtk_cell_data/case.prm SET ${bar} CHECKS max_L2=1e-10)
patchfem_run_case(bad.vtk_cell_data laplace ${cases}/vtk_cell_data/case.prm SET "Mesh/Material data=stiffness"
                  ERROR "there are no cell data 'stiffness', which Mesh/Material data names; there are mat_id")
patchfem_run_case(cases.inner_group laplace ${cases}/inner_group/case.prm SET ${bar} CHECKS max_L2=1e-10
                  CONTAINS "report.json:\"Passed over in '.*mesh.msh': boundary 'interface' has 5 faces inside the mesh")
patchfem_run_case(bad.inner_group laplace ${cases}/inner_group/case.prm SET "Boundary conditions/Flux=interface: 1"
                  ERROR "Flux names boundary 'interface', which has 5 faces inside the mesh; only faces on the boundary can have a condition")
foreach(case inp_omitted_coordinates inp_shell_edges)
  patchfem_run_case(cases.${case} laplace ${cases}/${case}/case.prm SET "Exact solution/Formula=x" ${exact} CHECKS max_L2=1e-10)
endforeach()
# A rule takes faces out of a set of all nodes.
patchfem_run_case(cases.rule_and_set_of_all laplace ${cases}/inp_omitted_coordinates/case.prm RANKS 2 CHECKS max_L2=1e-10
                  SET "Exact solution/Formula=x" ${exact} CONTAINS "out:^. NALL *. 0 *. 32 *. 8 " ${to_out})
patchfem_run_case(cases.patch_test_of_seven elasticity ${cases}/patch_test_of_seven/case.prm SET ${exact} CHECKS max_L2=1e-15
                  CONTAINS "out:1 cell with a vertex that is turned inside out, though no Gauss point is" ${to_out})

# p4est's.
patchfem_run_case(cases.names_of_adaptive_ranks laplace ${cases}/inp_shell_edges/case.prm RANKS 2 CHECKS max_L2=1e-10
                  SET "Boundary conditions/Dirichlet=ss1: 0" "Refinement/Strategy=adaptive" "Refinement/Cycles=2" "Exact solution/Formula=x" ${exact})
patchfem_run_case(cases.periodic_names laplace ${laplace} RANKS 2 CHECKS max_L2=1.2e-3
                  SET "Boundary ids/Rules=\"left side\": x < 1e-9| right: x > 0.999999" "Boundary conditions/Periodic=\"left side\" right x"
                      "Boundary conditions/Dirichlet=0: exact" "Loads/Source=4*pi^2*sin(2*pi*x)*y" "Exact solution/Formula=sin(2*pi*x)*y"
                      "Refinement/Cycles=2" "Output/Pictures=none"
                  CONTAINS "out:^. right *. 2 *. 4 *. 1 *. 1, 0.5 *. Periodic" ${to_out})

patchfem_run_case(bad.periodic_name_itself laplace ${laplace} SET "Boundary conditions/Periodic=left left x"
                  ERROR "Periodic joins boundary 'left' to itself; each part of the boundary needs a number or name of its own")

# Two blocks that touch: apart, and joined, also with the third of a thousandth between them.
patchfem_run_case(cases.doubled_nodes elasticity ${cases}/doubled_nodes/case.prm CHECKS n_dofs=750
                  CONTAINS "out:128 hexahedra in 2 parts .16 of their faces coincide with others without being joined: Mesh/Join = 0 joins their nodes" ${to_out})
foreach(join 0 1e-6)
  patchfem_run_case(cases.doubled_nodes.join_${join} elasticity ${cases}/doubled_nodes/case.prm RANKS 2 SET "Mesh/Join=${join}" CHECKS n_dofs=675
                    CONTAINS "out:Mesh/Join = .* has joined 25 nodes to others" ${to_out})
endforeach()
patchfem_run_case(bad.join elasticity ${cases}/doubled_nodes/case.prm SET "Mesh/Join=0.3" ERROR "Mesh/Join = 0.3 joins vertices of the cell 0 .line .*; set less")
patchfem_run_case(bad.join_of_generator laplace ${laplace} SET "Mesh/Join=0" ERROR "Mesh/Join is set, which is for Mesh/File")

# Names that rules give, quoted ones too, in every entry that takes ids, on ranks.
patchfem_run_case(cases.names_of_rules elasticity ${elasticity} RANKS 2 CHECKS max_L2=1e-9
                  SET "Mesh/Generator=hyper_cube" "Mesh/Generator arguments=0 : 1 : false" "Finite element/Degree=1" "Refinement/Cycles=1"
                      "Boundary ids/Rules=\"left side\": x < 1e-9| right: x > 0.999999| floor: y < 1e-9" "Boundary conditions/Dirichlet=\"left side\": 0| free"
                      "Boundary conditions/No normal flux=floor" "Boundary conditions/Traction=right: 2| 0" "Boundary conditions/Pressure=right: 1" "Boundary conditions/Robin="
                      "Material/Young's modulus=1" "Material/Poisson's ratio=0" "Loads/Body force=" "Exact solution/Formula=x| 0" ${exact}
                  CONTAINS "out:^. left side *. [0-9]* *. 4 *. 1 *. 0, 0.5 *. Dirichlet" ${to_out})
patchfem_run_case(cases.rule_takes_an_id laplace ${laplace} SET "Boundary ids/Rules=1: y < 1e-9" "Refinement/Cycles=1" "Output/Pictures=none"
                  "Mesh/Generator arguments=0 : 1 : true"
                  CONTAINS "out:Caution: The rule '1: y < 1e-9' of Boundary ids/Rules names a boundary that has 1 face already; they stay in it" ${to_out})
