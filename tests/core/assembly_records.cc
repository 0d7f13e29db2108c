// SPDX-License-Identifier: LGPL-2.1-or-later
// Matrices whose entries rows form from records of cells: see kernels/recorded_cells.h.
#include "../../benchmarks/lagrange_meshes.h"
#include "../../benchmarks/synthetic_tables.h"
#include "backend_names.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/kernels/recorded_cells.h>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace PatchFEM;

namespace
{
  ElementTables triangles(const int degree, const int n_components)
  {
    ElementTables tables =
        synthetic::with_nodes(synthetic::plate_with_holes(1), synthetic::lagrange_simplex(2, degree));
    tables.n_components = n_components;
    return tables;
  }

  ElementTables tetrahedra(const int n_components)
  {
    ElementTables tables =
        synthetic::with_nodes(synthetic::cube_of_tetrahedra(3, 1, false), synthetic::lagrange_simplex(3, 2));
    tables.n_components = n_components;
    return tables;
  }

  ElementTables quadrilaterals(const int degree, const int n_components)
  {
    ElementTables tables = synthetic::grid_of_cells(2, degree < 3 ? 19 : 7, degree);
    tables.n_components  = n_components;
    return tables;
  }

  ElementTables hexahedra(const int degree, const int n_components)
  {
    ElementTables tables = synthetic::grid_of_cells(3, degree == 1 ? 7 : 3, degree);
    tables.n_components  = n_components;
    return tables;
  }

  /** Rings of @p k quadrilaterals around a node, one beside the other, or, in space, columns of them in 20 layers. */
  ElementTables rings(const int dim, const int k)
  {
    constexpr int n_rings  = 30;
    const int     n_layers = dim == 2 ? 1 : 20, a_ring = 2 * k + 1, a_layer = n_rings * a_ring;
    ElementTables tables;
    CellTable     batch;
    batch.reference = synthetic::tensor_element(dim, 1);
    for (int layer = 0; layer < n_layers + dim - 2; ++layer)
      for (int ring = 0; ring < n_rings; ++ring)
        for (int v = 0; v < a_ring; ++v)
        {
          const double angle = M_PI * v / k, radius = v == 0 ? 0. : (v % 2 == 0 ? 1.3 : 1.);
          tables.points.push_back(3. * ring + radius * std::cos(angle));
          tables.points.push_back(radius * std::sin(angle));
          if (dim == 3)
            tables.points.push_back(layer);
        }
    for (int layer = 0; layer < n_layers; ++layer)
      for (int ring = 0; ring < n_rings; ++ring)
        for (int cell = 0; cell < k; ++cell)
          for (int side = layer; side < layer + dim - 1; ++side)
            for (const int v : {0, 2 * cell + 1, (2 * cell + 2) % (2 * k) + 1, 2 * cell + 2})
              batch.nodes.push_back(side * a_layer + ring * a_ring + v);
    batch.n_cells  = n_layers * n_rings * k;
    batch.geometry = batch.nodes;
    batch.material_ids.assign(batch.n_cells, 0);
    tables.dim          = dim;
    tables.n_components = 1;
    tables.n_nodes      = (n_layers + dim - 2) * a_layer;
    tables.batches.push_back(batch);
    return tables;
  }

  /** Binds every 13th unknown to a value. */
  ElementTables bound(ElementTables tables)
  {
    ConstraintTable &lines = tables.constraints;
    lines.offsets          = {0};
    for (int i = 0; i < tables.n_nodes * tables.n_components; i += 13)
    {
      lines.constrained.push_back(i);
      lines.inhomogeneity.push_back(0.1 * (i % 7));
      lines.offsets.push_back(0);
    }
    return tables;
  }

  /** Numbers of all cells, or of their quadrature points, between @p least and 1 more. */
  CoefficientField
  field(const ElementTables &tables, const int n_values, const bool inside, const int seed, const double least = 1.)
  {
    const CellTable    &cells = tables.batches[0];
    std::vector<double> values;
    for (int i = 0; i < cells.n_cells * n_values * (inside ? cells.reference.n_quadrature : 1); ++i)
      values.push_back(least + synthetic::hashed(i + seed));
    return inside ? CoefficientField::at_quadrature_points(n_values, {values})
                  : CoefficientField::by_cell(n_values, {values});
  }

  template <typename Number>
  struct System
  {
    HostCSR<Number>     matrix;
    std::vector<Number> rhs;
  };

  /** Matrix and load of an assembler, over NaN. */
  template <typename Form, typename Number>
  System<Number> assemble(const Space &space, Assembler<Form, Number> &assembler)
  {
    constexpr Number            nan = std::numeric_limits<Number>::quiet_NaN();
    SlicedEllpackMatrix<Number> matrix;
    space.initialize_matrix(matrix);
    const std::vector<Number> unknown(matrix.n_stored_elements(), nan);
    memory::copy(space.backend(), matrix.view().values, Backend("host"), unknown.data(),
                 unknown.size() * sizeof(Number));
    Vector<Number> rhs(space.backend(), std::vector<Number>(space.n_dofs(), nan));
    assembler.assemble(matrix, rhs);
    return {matrix.to_csr_host(), rhs.copy_to_host()};
  }

  template <typename Number>
  void expect_near(const std::vector<Number> &a, const std::vector<Number> &b, const double bound)
  {
    ASSERT_EQ(a.size(), b.size());
    double scale = 0., worst = 0.;
    for (std::size_t i = 0; i < a.size(); ++i)
    {
      scale = std::max<double>(scale, std::abs(b[i]));
      worst = a[i] - b[i] == a[i] - b[i] ? std::max<double>(worst, std::abs(a[i] - b[i])) : 1e300;
    }
    EXPECT_LE(worst, bound * scale);
  }

  template <typename Number>
  void expect_symmetric(const HostCSR<Number> &matrix)
  {
    for (std::int64_t i = 0; i < matrix.n_rows; ++i)
      for (std::int64_t e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e)
      {
        const std::int64_t j   = matrix.columns[e];
        const auto         row = matrix.columns.begin();
        const auto found = std::lower_bound(row + matrix.row_offsets[j], row + matrix.row_offsets[j + 1], int(i)) - row;
        ASSERT_LT(found, matrix.row_offsets[j + 1]);
        ASSERT_EQ(matrix.values[e], matrix.values[found]) << i << ", " << j;
      }
  }

  /**
   * What rows gather is what patches compute, for cells with different data, with and without constraints; then with
   * data that vary inside cells, for which the same assembler plans anew; and of scalars it is symmetric to the last
   * bit. Patches of higher degree in space are those of a CPU, where they take cells of any degree.
   */
  template <typename Form, typename Number>
  void compare(const Backend &backend, const ElementTables &free, const double tolerance, const int most_rows = 200)
  {
    for (const bool constrained : {false, true})
    {
      const ElementTables tables = constrained ? bound(free) : free;
      const Space         space(backend, tables, Space::AdditionalData(32)),
          usual(tables.dim == 2 || tables.batches[0].reference.degree == 1 ? backend : Backend("host"), tables,
                Space::AdditionalData(32));
      for (const int rows : {std::min(8, most_rows), most_rows})
      {
        SCOPED_TRACE(tables.batches[0].reference.name + (constrained ? ", constrained, " : ", ") +
                     std::to_string(rows) + " rows a patch");
        typename Assembler<Form, Number>::AdditionalData data;
        data.strategy = "patches";
        Assembler<Form, Number> patches(usual, data);
        data.strategy       = "gather";
        data.rows_per_patch = rows;
        Assembler<Form, Number> gather(space, data);
        // Coefficients of scalars may have any sign.
        const double less = Form::n_components == 1 ? -0.5 : 1.;
        for (const auto &[inside, load_inside, least] :
             {std::tuple(false, false, 1.), std::tuple(false, true, less), std::tuple(true, true, 1.),
              std::tuple(true, false, less), std::tuple(false, false, 1.)})
        {
          for (Assembler<Form, Number> *assembler : {&patches, &gather})
          {
            assembler->set_coefficients(field(tables, Form::n_coefficients, inside, 1, least));
            assembler->set_body_load(field(tables, Form::n_components, load_inside, 5));
          }
          const System<Number> expected = assemble(usual, patches), found = assemble(space, gather);
          expect_near(found.matrix.values, expected.matrix.values, tolerance);
          expect_near(found.rhs, expected.rhs, tolerance);
          Vector<Number> alone;
          gather.assemble_rhs(alone);
          EXPECT_EQ(found.rhs, alone.copy_to_host());
          if (!constrained && Form::n_components == 1) // resolving constraints rounds, and blocks on the diagonal do
            expect_symmetric(found.matrix);
        }
      }
    }
  }

  /** The same values at all quadrature points of a cell. */
  CoefficientField spread(const ElementTables &tables, const CoefficientField &by_cell)
  {
    std::vector<double> values;
    const auto          from = by_cell.values()[0].begin();
    for (int cell = 0; cell < tables.batches[0].n_cells; ++cell)
      for (int q = 0; q < tables.batches[0].reference.n_quadrature; ++q)
        values.insert(values.end(), from + cell * by_cell.n_values(), from + (cell + 1) * by_cell.n_values());
    return CoefficientField::at_quadrature_points(by_cell.n_values(), {values});
  }

  /** On the host, cells whose data do not vary inside them go side by side, and others one by one. */
  template <typename Form, typename Number>
  void compare_with_one_by_one(const ElementTables &free, const double tolerance)
  {
    for (const bool constrained : {false, true})
      for (const std::string strategy : {"patches", "gather"})
        for (const int rows : {1, 30})
        {
          SCOPED_TRACE(free.batches[0].reference.name + ", " + strategy + (constrained ? ", constrained" : ""));
          const ElementTables                              tables = constrained ? bound(free) : free;
          const Space                                      space(Backend("host"), tables);
          typename Assembler<Form, Number>::AdditionalData data;
          data.strategy       = strategy;
          data.rows_per_patch = rows;
          Assembler<Form, Number> assembler(space, data);
          const CoefficientField  coefficients = field(tables, Form::n_coefficients, false, 3),
                                 load          = field(tables, Form::n_components, false, 8, -0.5);
          assembler.set_coefficients(coefficients);
          assembler.set_body_load(load);
          const System<Number> side_by_side = assemble(space, assembler);
          assembler.set_coefficients(spread(tables, coefficients));
          assembler.set_body_load(spread(tables, load));
          const System<Number> one_by_one = assemble(space, assembler);
          expect_near(side_by_side.matrix.values, one_by_one.matrix.values, tolerance);
          expect_near(side_by_side.rhs, one_by_one.rhs, tolerance);
        }
  }
} // namespace

class AssemblyRecordsTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(AssemblyRecordsTest);

TEST_P(AssemblyRecordsTest, Triangles)
{
  for (const int degree : {1, 2, 3, 4, 5})
  {
    compare<Laplace<2>, double>(backend(), triangles(degree, 1), 1e-13);
    compare<Elasticity<2>, double>(backend(), triangles(degree, 2), 1e-13);
  }
  compare<Laplace<2>, float>(backend(), triangles(2, 1), 2e-6);
}

TEST_P(AssemblyRecordsTest, Tetrahedra)
{
  compare<Laplace<3>, double>(backend(), tetrahedra(1), 1e-13);
  compare<Elasticity<3>, double>(backend(), tetrahedra(3), 1e-13, 24);
  compare<Elasticity<3>, float>(backend(), tetrahedra(3), 2e-6, 24);
}

TEST_P(AssemblyRecordsTest, Quadrilaterals)
{
  compare<Laplace<2>, double>(backend(), quadrilaterals(1, 1), 1e-13);
  compare<Elasticity<2>, double>(backend(), quadrilaterals(1, 2), 1e-13);
  compare<Elasticity<2>, float>(backend(), quadrilaterals(1, 2), 2e-6);
  for (const int degree : {2, 3})
  {
    compare<Laplace<2>, double>(backend(), quadrilaterals(degree, 1), 1e-13);
    compare<Elasticity<2>, double>(backend(), quadrilaterals(degree, 2), 1e-13, 64);
  }
  compare<Laplace<2>, float>(backend(), quadrilaterals(2, 1), 2e-6);
}

TEST_P(AssemblyRecordsTest, Hexahedra)
{
  for (const int degree : {1, 2, 3})
    compare<Laplace<3>, double>(backend(), hexahedra(degree, 1), 1e-13, 24);
  for (const int degree : {1, 2})
  {
    compare<Laplace<3>, float>(backend(), hexahedra(degree, 1), 2e-6, 24);
    compare<Elasticity<3>, double>(backend(), hexahedra(degree, 3), 1e-13, 4);
  }
}

/** 64 matrices of 295 KB are more than 16 MiB, and fit into the buffer all the same; resolved ones take twice as much. */
TEST_P(AssemblyRecordsTest, FewCellsOfHighDegreeAreStagedOnce)
{
  ElementTables tables = synthetic::grid_of_cells(3, 4, 3);
  tables.n_components  = 3;
  for (const bool constrained : {false, true})
  {
    const Space                              space(backend(), constrained ? bound(tables) : tables);
    Assembler<Elasticity<3>>                 assembler;
    Assembler<Elasticity<3>>::AdditionalData data;
    data.strategy = "gather";
    assembler.reinit(space, data);
    if (constrained)
      EXPECT_GT(assembler.patches().chunks().size(), 1u);
    else
      EXPECT_EQ(assembler.patches().redundancy(), 1.);
  }
}

/** More cells around a node than short rows are made for. */
TEST_P(AssemblyRecordsTest, ManyCellsAroundANode)
{
  for (const int k : {3, 5, 9})
  {
    compare<Laplace<2>, double>(backend(), rings(2, k), 1e-13);
    compare<Laplace<3>, double>(backend(), rings(3, k), 1e-13, 100);
  }
}

TEST(AssemblyRecords, SideBySideOnTheHost)
{
  compare_with_one_by_one<Laplace<2>, double>(triangles(3, 1), 1e-13);
  compare_with_one_by_one<Elasticity<3>, double>(tetrahedra(3), 1e-13);
  for (const int degree : {1, 2})
  {
    compare_with_one_by_one<Laplace<2>, double>(quadrilaterals(degree, 1), 1e-13);
    compare_with_one_by_one<Elasticity<2>, float>(quadrilaterals(degree, 2), 2e-6);
    compare_with_one_by_one<Laplace<3>, float>(hexahedra(degree, 1), 2e-6);
    compare_with_one_by_one<Elasticity<3>, double>(hexahedra(degree, 3), 1e-13);
  }
}

/** The triangle (0, 0), (2, 0), (0, 1): J = diag(2, 1), det J J^-1 J^-T = diag(1/2, 2), and k = 3. */
TEST(AssemblyRecords, OneTriangleByEye)
{
  ElementTables tables;
  CellTable     batch;
  batch.reference    = synthetic::lagrange_simplex(2, 1);
  batch.n_cells      = 1;
  batch.nodes        = {0, 1, 2};
  batch.material_ids = {0};
  tables.dim         = 2;
  tables.n_nodes     = 3;
  tables.points      = {0., 0., 2., 0., 0., 1.};
  tables.batches.push_back(batch);
  const Space               space(Backend("host"), tables);
  const double              k[] = {3.};
  AssemblyArguments<double> a{};
  a.batches           = space.batches().view();
  a.coefficients.kind = CoefficientView<double>::constant;
  std::fill_n(a.coefficients.values, BatchesView::max_batches, k);

  using Cells = kernels::RecordedCells<Laplace<2>, double, 1>;
  double record[Cells::n_numbers];
  // Nodes may come in another order than they were given; areas and angles tell which is which.
  const auto J = Cells::jacobian(a, 0, 0);
  EXPECT_NEAR(std::abs(determinant(J)), 2., 1e-15);
  Cells::record(a, 0, 0, J, record);
  const double *x   = a.batches.points;
  const int    *geo = a.batches.batch[0].geometry;
  // K_ij = k / (4 area) times the product of the edges opposite to i and j.
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
    {
      double R[Cells::n_integrals], edge[2][2];
      Cells::integrals(a.batches.batch[0].reference, i, j, R);
      for (int d = 0; d < 2; ++d)
      {
        edge[0][d] = x[geo[(i + 2) % 3] * 2 + d] - x[geo[(i + 1) % 3] * 2 + d];
        edge[1][d] = x[geo[(j + 2) % 3] * 2 + d] - x[geo[(j + 1) % 3] * 2 + d];
      }
      EXPECT_NEAR(Cells::block(record, R)(0, 0), 3. / 4. * (edge[0][0] * edge[1][0] + edge[0][1] * edge[1][1]), 1e-15)
          << i << ", " << j;
    }
}
