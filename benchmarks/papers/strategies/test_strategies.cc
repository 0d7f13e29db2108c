// SPDX-License-Identifier: LGPL-2.1-or-later
// What the strategies of papers have besides their tests with all others in assembly.cc; compiled if they are.
#include "../../lagrange_meshes.h"
#include "backend_names.h"

#include "strategies.h"

#include "strategies/element_groups.h"
#include "strategies/scatter.h"
#include "strategies/shared_nz.h"

#include <limits>
#include <numeric>

using namespace PatchFEM;

namespace
{
  /** Sets a switch of plans until the end of a scope. */
  template <typename T>
  struct Switched
  {
    Switched(T &variable, const T value) : variable(variable), before(variable) { variable = value; }
    ~Switched() { variable = before; }

    T      &variable;
    const T before;
  };

  template <typename Number>
  struct System
  {
    std::vector<Number> values, rhs;
    std::size_t         n_phases, plan_bytes;

    bool operator==(const System &other) const { return values == other.values && rhs == other.rhs; }
  };

  /** Into a right-hand side and, if it can, a matrix that hold NaN before. */
  template <typename Form, typename Matrix>
  System<typename Matrix::value_type> assemble(const Backend             &backend,
                                               const ElementTables       &tables,
                                               const std::string         &strategy,
                                               const std::vector<double> &coefficients)
  {
    using Number = typename Matrix::value_type;
    const Space                                      space(backend, tables, Space::AdditionalData(32));
    typename Assembler<Form, Number>::AdditionalData data;
    data.strategy = strategy;
    Assembler<Form, Number> assembler(space, data);
    assembler.set_coefficients(CoefficientField::constant(coefficients));
    assembler.set_body_load(CoefficientField::constant(std::vector<double>(Form::n_components, 2.)));
    const std::vector<Number> unknown(space.n_dofs(), std::numeric_limits<Number>::quiet_NaN());
    Vector<Number>            rhs(backend, unknown);
    Matrix                    matrix;
    space.initialize_matrix(matrix);
    if constexpr (std::is_same_v<Matrix, CSRMatrix<Number>>) // others can only be set to 0
      matrix = std::numeric_limits<Number>::quiet_NaN();
    assembler.assemble(matrix, rhs);
    return {matrix.to_csr_host().values, rhs.copy_to_host(), assembler.patches().phases().size(),
            assembler.patches().memory_consumption()};
  }

  /** Two triangles (0, 0), (1, 0), (0, 1), (1, 1). */
  ElementTables two_triangles()
  {
    ElementTables tables;
    CellTable     batch;
    tables.dim     = 2;
    tables.n_nodes = 4;
    tables.points  = {0., 0., 1., 0., 0., 1., 1., 1.};
    batch.n_cells  = 2;
    batch.nodes = batch.geometry = {0, 1, 2, 3, 2, 1};
    batch.material_ids           = {0, 0};
    batch.reference              = synthetic::lagrange_simplex(2, 1);
    tables.batches.push_back(batch);
    return tables;
  }
} // namespace

class StrategiesOfPapersTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(StrategiesOfPapersTest);

/** Blocks of two triangles: 1 on the diagonal, -1/2 along the sides of the square, 0 for the other pairs. */
TEST_P(StrategiesOfPapersTest, TwoTrianglesByEye)
{
  for (const std::string strategy : {"colour", "global_nz", "grouped_nz", "shared_nz", "local_nz"})
    for (const bool mirrors : {true, false})
    {
      SCOPED_TRACE(strategy);
      const Switched<bool> with(strategies::SharedNZ::mirrors, mirrors);
      const auto           system = assemble<Laplace<2>, CSRMatrix<double>>(backend(), two_triangles(), strategy, {1.});
      const int            n      = static_cast<int>(system.rhs.size());
      ASSERT_EQ(n, 4);
      double trace = 0., sum = 0.;
      int    halves = 0, zeros = 0, thirds = 0;
      for (const double a : system.values)
      {
        trace += a == 1. ? a : 0.;
        halves += a == -0.5;
        zeros += a == 0.;
        sum += a;
      }
      EXPECT_EQ(trace, 4.);
      EXPECT_EQ(halves, 8);
      EXPECT_EQ(zeros + halves + 4, static_cast<int>(system.values.size()));
      EXPECT_EQ(sum, 0.);
      for (const double f : system.rhs) // 2 |T| / 3 of each triangle at a node
        thirds += std::abs(f - 1. / 3.) < 1e-15 || std::abs(f - 2. / 3.) < 1e-15;
      EXPECT_EQ(thirds, 4);
    }
}

/** Sums of pairs that go to both of their blocks have the same bits as two sums, and their lists are shorter. */
TEST_P(StrategiesOfPapersTest, SharedPairsAreMirrored)
{
  const auto check = [&](auto form, const auto &matrix, const ElementTables &tables, const std::vector<double> &k) {
    using Form                    = decltype(form);
    using Matrix                  = std::decay_t<decltype(matrix)>;
    const auto           mirrored = assemble<Form, Matrix>(backend(), tables, "shared_nz", k);
    const Switched<bool> with(strategies::SharedNZ::mirrors, false);
    const auto           full = assemble<Form, Matrix>(backend(), tables, "shared_nz", k);
    EXPECT_TRUE(mirrored == full);
    if (is_symmetric<Form>)
    {
      EXPECT_LT(mirrored.plan_bytes, full.plan_bytes);
    }
  };
  const ElementTables plate = synthetic::with_nodes(synthetic::plate_with_holes(2), synthetic::lagrange_simplex(2, 2)),
                      cubes = synthetic::cube_of_hexahedra(5, 3);
  check(Laplace<2>(), CSRMatrix<double>(), plate, {1.3});
  check(Laplace<2>(), SlicedEllpackMatrix<float>(), plate, {1.3});
  check(Diffusion<2>(), CSRMatrix<double>(), plate, {2., 0.1, 3., 0.7}); // promises no symmetry
  check(Elasticity<3>(), CSRMatrix<double>(), cubes, {1.5, 0.8});
  check(Elasticity<3>(), SlicedEllpackMatrix<double>(), cubes, {1.5, 0.8});
}

/** Colours that are cut into two are added one after the other, and give the same bits. */
TEST_P(StrategiesOfPapersTest, TwiceAsManyColours)
{
  const ElementTables plate = synthetic::plate_with_holes(3);
  const auto          once  = assemble<Laplace<2>, CSRMatrix<double>>(backend(), plate, "colour", {1.3});
  const Switched<int> two(strategies::Colour::pieces, 2);
  const auto          twice = assemble<Laplace<2>, CSRMatrix<double>>(backend(), plate, "colour", {1.3});
  EXPECT_TRUE(once == twice);
  EXPECT_EQ(twice.n_phases - 1, 2 * (once.n_phases - 1));
}

/** Groups change where matrices of cells are formed; what differs is which point coordinates are relative to. */
TEST_P(StrategiesOfPapersTest, GroupsOfCells)
{
  const auto check = [&](auto form, const ElementTables &tables, const std::vector<double> &k) {
    using Form         = decltype(form);
    const auto single  = assemble<Form, CSRMatrix<double>>(backend(), tables, "global_nz", k);
    const auto grouped = assemble<Form, CSRMatrix<double>>(backend(), tables, "grouped_nz", k);
    ASSERT_EQ(single.values.size(), grouped.values.size());
    double worst = 0.;
    for (std::size_t i = 0; i < single.values.size(); ++i)
      worst = std::max(worst, !(std::abs(single.values[i] - grouped.values[i]) <= 1e-12) ? 1. : 0.);
    for (std::size_t i = 0; i < single.rhs.size(); ++i)
      worst = std::max(worst, !(std::abs(single.rhs[i] - grouped.rhs[i]) <= 1e-12) ? 1. : 0.);
    EXPECT_EQ(worst, 0.);
  };
  check(Laplace<2>(), synthetic::plate_with_holes(6), {1.3}); // 10,512 cells, ten groups and more
  check(Laplace<2>(), synthetic::with_nodes(synthetic::plate_with_holes(2), synthetic::lagrange_simplex(2, 3)), {1.3});
  check(Laplace<3>(), synthetic::cube_of_tetrahedra(8, 1, true), {1.3});
  check(Elasticity<3>(), synthetic::cube_of_hexahedra(5, 3), {1.5, 0.8});
}

/** Two triangles that share a side in one group: four points, three places of 10 bits in each cell's word. */
TEST(ElementGroups, TwoTriangles)
{
  const ElementGroupLists found = make_element_groups({0, 1}, {10, 11, 12, 13, 12, 11}, 3, 2, 1024);
  EXPECT_EQ(found.cells, (std::vector<int>{0, 1}));
  EXPECT_EQ(found.cell_offsets, (std::vector<int>{0, 2}));
  EXPECT_EQ(found.point_offsets, (std::vector<int>{0, 4}));
  EXPECT_EQ(found.points, (std::vector<int>{10, 11, 12, 13}));
  EXPECT_EQ(found.words, (std::vector<unsigned int>{0u | 1u << 10 | 2u << 20, 3u | 2u << 10 | 1u << 20}));
  EXPECT_EQ(found.most_points, 4);
}

/** With room for three points each cell is a group; a cell of four nodes has a second word. */
TEST(ElementGroups, LittleRoom)
{
  const ElementGroupLists triangles = make_element_groups({0, 1}, {10, 11, 12, 13, 12, 11}, 3, 2, 3);
  EXPECT_EQ(triangles.cell_offsets, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(triangles.points, (std::vector<int>{10, 11, 12, 11, 12, 13}));
  const ElementGroupLists square = make_element_groups({0}, {7, 5, 6, 4}, 4, 2, 1024);
  EXPECT_EQ(square.words, (std::vector<unsigned int>{3u | 1u << 10 | 2u << 20, 0u}));
  EXPECT_THROW(make_element_groups({0}, {7, 5, 6, 4}, 4, 2, 3), Error);
}

/** Every cell is in one group, no group has too many points, and words name the right ones. */
TEST(ElementGroups, HaveAllCells)
{
  const ElementTables tables = synthetic::cube_of_tetrahedra(14, 1, true);
  const CellTable    &batch  = tables.batches[0];
  std::vector<int>    cells(batch.n_cells), seen(batch.n_cells);
  std::iota(cells.begin(), cells.end(), 0);
  const ElementGroupLists found    = make_element_groups(cells, batch.nodes, 4, 3, 300);
  int                     n_wrong  = 0;
  const int               n_groups = static_cast<int>(found.cell_offsets.size()) - 1;
  EXPECT_GT(n_groups, 10);
  EXPECT_LE(found.most_points, 300);
  for (int group = 0; group < n_groups; ++group)
  {
    const int begin = found.cell_offsets[group], n = found.cell_offsets[group + 1] - begin;
    n_wrong += found.point_offsets[group + 1] - found.point_offsets[group] > 300;
    for (int k = 0; k < n; ++k)
    {
      ++seen[found.cells[begin + k]];
      for (int g = 0; g < 4; ++g)
      {
        const unsigned int place = found.words[2 * begin + g / 3 * n + k] >> 10 * (g % 3) & 1023u;
        n_wrong += found.points[found.point_offsets[group] + place] !=
                   batch.nodes[std::size_t(found.cells[begin + k]) * 4 + g];
      }
    }
  }
  EXPECT_EQ(n_wrong, 0);
  EXPECT_EQ(seen, std::vector<int>(batch.n_cells, 1));
}
