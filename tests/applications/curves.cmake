# SPDX-License-Identifier: LGPL-2.1-or-later
# A plate with a hole from a straight-sided file. Where the hole is known to be a circle errors fall with the orders of elements
# of degree 2, and with those of triangles of degree 1; a polygon that is refined is cautioned of.
set(curved_hole ${PROJECT_SOURCE_DIR}/tests/cases/curved_hole/case.prm)
# Kirsch's displacements, with k = (3 - nu) / (1 + nu) and the shear modulus.
set(kirsch "Constants=a = 0.1, S = 1, k = 2.7/1.3, mu = 210e3/2.6" "Output/Pictures=none"
    "Exact solution/Formula=S*a/(8*mu)*(sqrt(x^2+y^2)/a*(k+1)*cos(atan2(y,x))+2*a/sqrt(x^2+y^2)*((1+k)*cos(atan2(y,x))+cos(3*atan2(y,x)))-2*a^3/(x^2+y^2)^1.5*cos(3*atan2(y,x)))| S*a/(8*mu)*(sqrt(x^2+y^2)/a*(k-3)*sin(atan2(y,x))+2*a/sqrt(x^2+y^2)*((1-k)*sin(atan2(y,x))+sin(3*atan2(y,x)))-2*a^3/(x^2+y^2)^1.5*sin(3*atan2(y,x)))")
set(circle "Mesh/Manifolds=5: circle 0, 0" "Mesh/Global refinements=1" "Refinement/Cycles=3")
set(no_cautions "report.json:\"cautions\": ..,")
set(polygon "report.json:boundary hole looks like a curve of straight sides")

patchfem_run_backends(curved_hole.circle elasticity ${curved_hole} SET ${kirsch} ${circle}
                      CHECKS 2.9 1.9 CONTAINS "${no_cautions}")
patchfem_run_case(curved_hole.triangles elasticity ${curved_hole} SET "Backend=host" ${kirsch} ${circle} "Mesh/Simplices=kuhn"
                  "Finite element/Degree=1" CHECKS 1.9 0.95 CONTAINS "${no_cautions}")
patchfem_run_case(curved_hole.adaptive elasticity ${curved_hole} SET "Backend=host" ${kirsch} ${circle} "Refinement/Strategy=adaptive"
                  CHECKS max_H1=1.2e-9 CONTAINS "${no_cautions}")
patchfem_run_case(curved_hole.2_ranks elasticity ${curved_hole} RANKS 2 SET "Backend=host" ${kirsch} ${circle} "Refinement/Cycles=2"
                  "Mesh/Global refinements=0" CHECKS 2.9 1.9 CONTAINS "${no_cautions}")
patchfem_run_case(curved_hole.triangles.3_ranks elasticity ${curved_hole} RANKS 3 SET "Backend=host" ${kirsch} ${circle} "Mesh/Simplices=kuhn"
                  "Finite element/Degree=1" CHECKS 1.9 0.95 CONTAINS "${no_cautions}")
patchfem_run_case(curved_hole.polygon elasticity ${curved_hole} SET "Backend=host" "Output/Pictures=none" CONTAINS "${polygon}")
patchfem_run_case(curved_hole.polygon.2_ranks elasticity ${curved_hole} RANKS 2 SET "Backend=host" "Output/Pictures=none" "Refinement/Cycles=2" CONTAINS "${polygon}")
patchfem_run_case(curved_hole.as_it_is elasticity ${curved_hole} SET "Backend=host" "Output/Pictures=none" "Refinement/Cycles=1" CONTAINS "${no_cautions}")
patchfem_run_case(bad.mapping_degree elasticity ${curved_hole} SET "Finite element/Mapping degree=2"
                  ERROR "Mapping degree = 2 would be without effect, since the mesh has no curved boundary; remove it, or name the curves in Mesh/Manifolds")
patchfem_run_case(bad.manifold elasticity ${curved_hole} SET "Mesh/Manifolds=5: circle 0.1, 0" ERROR "'5: circle 0.1, 0', but a face of boundary hole")
