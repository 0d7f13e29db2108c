# SPDX-License-Identifier: LGPL-2.1-or-later
# Bodies of the size that users have, a tenth of a million unknowns and more: multigrid takes few iterations more than for the small
# cases of its kind, and finds what a baseline does.
set(only_thorough TRUE)
set(once "Refinement/Cycles=1" ${quiet})
patchfem_run_backends(thorough.cantilever elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS max_relative_difference=1e-6 min_levels=3
                      SET "Mesh/Global refinements=3" "Baseline=trilinos_ml" ${quiet})
patchfem_run_backends(thorough.cube laplace ${parameter_files}/laplace/convergence_3d.prm CHECKS max_relative_difference=1e-6 min_levels=3
                      SET "Finite element/Degree=1" "Mesh/Global refinements=6" "Baseline=trilinos_ml" ${once})
patchfem_run_backends(thorough.cube_of_degree_2 laplace ${parameter_files}/laplace/convergence_3d.prm CHECKS max_relative_difference=1e-6
                      SET "Finite element/Degree=2" "Mesh/Global refinements=5" "Baseline=trilinos_ml" ${once})
patchfem_run_backends(thorough.plate elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS min_levels=3
                      SET "Mesh/Global refinements=2" "Mesh/Generator arguments=24, 24, 2 : 0, 0, 0 : 1, 1, 0.01 : true" ${quiet})
patchfem_run_backends(thorough.stretched elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS min_levels=3
                      SET "Mesh/Global refinements=3" "Mesh/Generator arguments=20, 2, 3 : 0, 0, 0 : 20, 0.2, 0.3 : true" ${quiet})
patchfem_run_backends(thorough.stiff elasticity ${parameter_files}/elasticity/cantilever.prm CHECKS min_levels=3
                      SET "Mesh/Global refinements=3" "Material/Young's modulus=x<1 ? 1e9 : 1e15" ${quiet})
patchfem_run_backends(thorough.two_materials helmholtz ${parameter_files}/helmholtz/two_materials.prm CHECKS min_levels=3
                      SET "Mesh/Global refinements=3" "Constants=inside = 1000, radius = 0.72557" ${quiet})
foreach(n_ranks 2 3)
  patchfem_run_case(thorough.cantilever.${n_ranks}_ranks elasticity ${parameter_files}/elasticity/cantilever.prm RANKS ${n_ranks}
                    CHECKS max_relative_difference=1e-6 SET "Backend=host" "Mesh/Global refinements=3" "Baseline=trilinos_ml" ${quiet})
endforeach()
set(only_thorough FALSE)
