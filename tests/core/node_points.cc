// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/synthetic_tables.h"
#include "backend_names.h"

#include <patchfem/assembly/element_batches.h>

#include <cmath>

using namespace PatchFEM;

using NodePointsTest = BackendTest;
PATCHFEM_INSTANTIATE_BACKENDS(NodePointsTest);

TEST_P(NodePointsTest, AreThoseOfTheTables)
{
  for (const bool tetrahedra : {false, true})
  {
    const ElementTables tables =
        tetrahedra ? synthetic::cube_of_tetrahedra(6, 3, true) : synthetic::cube_of_hexahedra(6, 3);
    ElementBatches batches;
    batches.reinit(backend(), tables, ElementBatches::AdditionalData(32));
    const Array<double>       on_backend = batches.node_points();
    const std::vector<double> points     = on_backend.to_vector();
    EXPECT_EQ(on_backend.backend(), backend());
    ASSERT_EQ(points.size(), tables.points.size());
    for (int v = 0; v < tables.n_nodes; ++v)
      for (int d = 0; d < 3; ++d)
        ASSERT_NEAR(points[3 * batches.new_of_old()[v] + d], tables.points[3 * v + d], 1e-14);
  }
}

TEST_P(NodePointsTest, FollowTheSupportPointsOfHigherDegrees)
{
  // A shape function more than the geometry has, at the centre of each cell.
  ElementTables     tables = synthetic::cube_of_hexahedra(2, 1);
  CellTable        &cells  = tables.batches[0];
  const int         n = cells.n_cells, n_vertices = tables.n_nodes;
  CellTable         richer = cells;
  ReferenceElement &r      = richer.reference;
  r.n_shape                = 9;
  r.degree                 = 2;
  r.support_geometry_values.resize(72, 0.125);
  r.shape_values.assign(9 * r.n_quadrature, 0.);
  r.shape_gradients.assign(27 * r.n_quadrature, 0.);
  richer.nodes.clear();
  for (int c = 0; c < n; ++c)
  {
    richer.nodes.insert(richer.nodes.end(), cells.nodes.begin() + 8 * c, cells.nodes.begin() + 8 * (c + 1));
    richer.nodes.push_back(n_vertices + c);
  }
  cells = richer;
  tables.n_nodes += n;
  ElementBatches batches;
  batches.reinit(backend(), tables, ElementBatches::AdditionalData(1));
  const std::vector<double> points = batches.node_points().to_vector();
  for (int c = 0; c < n; ++c)
    for (int d = 0; d < 3; ++d)
    {
      double centre = 0.;
      for (int v = 0; v < 8; ++v)
        centre += 0.125 * tables.points[3 * cells.geometry[8 * c + v] + d];
      EXPECT_NEAR(points[3 * batches.new_of_old()[n_vertices + c] + d], centre, 1e-14);
    }
}
