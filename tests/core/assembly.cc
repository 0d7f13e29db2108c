// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/lagrange_meshes.h"
#include "../../benchmarks/synthetic_tables.h"
#include "backend_names.h"
#include "constrained_tables.h"

#include "strategies.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <limits>

using namespace PatchFEM;

namespace
{
  struct System
  {
    HostCSR<double>     matrix;
    std::vector<double> rhs;
  };

  template <typename Form>
  System assemble(const Backend             &backend,
                  const ElementTables       &tables,
                  const int                  rows_per_patch,
                  const std::vector<double> &coefficients,
                  const std::string         &strategy     = "patches",
                  const bool                 keep_entries = false)
  {
    const Space                              space(backend, tables, Space::AdditionalData(32, keep_entries));
    Assembler<Form>                          assembler;
    typename Assembler<Form>::AdditionalData data;
    data.rows_per_patch = rows_per_patch;
    data.strategy       = strategy;
    assembler.reinit(space, data);
    assembler.set_coefficients(CoefficientField::constant(coefficients));
    assembler.set_body_load(CoefficientField::constant(std::vector<double>(Form::n_components, 2.)));
    SlicedEllpackMatrix<double> matrix;
    Vector<double>              rhs;
    space.initialize_matrix(matrix);
    assembler.assemble(matrix, rhs);
    const System first{matrix.to_csr_host(), rhs.copy_to_host()};
    assembler.assemble(matrix, rhs);
    const System second{matrix.to_csr_host(), rhs.copy_to_host()};
    if (find_strategy(strategy)->repeatable)
    {
      EXPECT_EQ(first.matrix.values, second.matrix.values) << "a second assembly gives other bits";
      EXPECT_EQ(first.rhs, second.rhs);
    }
    return second;
  }

  double largest_difference(const std::vector<double> &a, const std::vector<double> &b)
  {
    double worst = a.size() == b.size() ? 0. : 1e300;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    {
      const double d = std::abs(a[i] - b[i]);
      worst          = d >= 0. ? std::max(worst, d) : 1e300;
    }
    return worst;
  }
} // namespace

/** Tests over all strategies would miss those of papers without a word. */
TEST(AssemblyStrategies, AreAllThere)
{
  if (find_strategy("colour") == nullptr)
    GTEST_SKIP() << "built without PATCHFEM_PAPERS: the strategies of papers are not tested";
  std::vector<std::string> names;
  for (const StrategyRow &row : assembly_strategies())
    names.push_back(row.name);
  EXPECT_EQ(names, (std::vector<std::string>{"edges", "patches", "gather", "colour", "global_nz", "grouped_nz",
                                             "shared_nz", "local_nz", "boundary_array", "atomics", "coo", "product"}));
}

class AssemblyTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(AssemblyTest);

/** One unit cube: the stiffness of the trilinear hexahedron, whose entries are 1/3, 0, -1/12, -1/12 by distance. */
TEST_P(AssemblyTest, OneCubeByEye)
{
  for (const StrategyRow &row : assembly_strategies())
  {
    SCOPED_TRACE(row.name);
    if (!takes<Laplace<3>>(row, synthetic::cube_of_hexahedra(1, 1)))
    {
      EXPECT_THROW(assemble<Laplace<3>>(backend(), synthetic::cube_of_hexahedra(1, 1), 8, {1.}, row.name), Error);
      continue;
    }
    const System system = assemble<Laplace<3>>(backend(), synthetic::cube_of_hexahedra(1, 1), 8, {1.}, row.name);
    ASSERT_EQ(system.matrix.values.size(), 64u);
    for (int i = 0; i < 8; ++i)
    {
      double sum   = 0.;
      int    zeros = 0, twelfths = 0;
      for (int j = 0; j < 8; ++j)
      {
        const double a = system.matrix.values[8 * i + j];
        sum += a;
        zeros += std::abs(a) < 1e-15;
        twelfths += std::abs(a + 1. / 12.) < 1e-15;
        if (i == j)
        {
          EXPECT_NEAR(a, 1. / 3., 1e-15);
        }
      }
      EXPECT_EQ(zeros, 3);
      EXPECT_EQ(twelfths, 4);
      EXPECT_NEAR(sum, 0., 1e-15);
      EXPECT_NEAR(system.rhs[i], 2. / 8., 1e-15);
    }
  }
}

TEST_P(AssemblyTest, SameBitsForEveryCut)
{
  const auto check = [&](const auto &assemble_with, const int most_rows) {
    const System reference = assemble_with(32);
    for (const int rows : {1, 7, 48, most_rows})
    {
      const System other = assemble_with(rows);
      EXPECT_EQ(reference.matrix.values, other.matrix.values) << rows << " rows a patch";
      EXPECT_EQ(reference.rhs, other.rhs) << rows << " rows a patch";
    }
  };
  // Of the constrained ones nearly all cells are buffered, of the others patches compute all.
  for (const bool constrained : {true, false})
  {
    ElementTables elasticity = synthetic::cube_of_hexahedra(6, 3), laplace = synthetic::cube_of_hexahedra(7, 1),
                  tetrahedra = synthetic::cube_of_tetrahedra(5, 1, true);
    for (ElementTables *tables : {&elasticity, &laplace, &tetrahedra})
      if (constrained)
        constrain(*tables);
    check([&](const int rows) { return assemble<Elasticity<3>>(backend(), elasticity, rows, {1.5, 0.8}); }, 64);
    for (const std::string strategy : {"patches", "gather", "edges"})
      for (const ElementTables *tables : {&laplace, &tetrahedra})
        if (takes<Laplace<3>>(*find_strategy(strategy), *tables))
          check([&](const int rows) { return assemble<Laplace<3>>(backend(), *tables, rows, {1.3}, strategy); }, 150);
    check(
        [&](const int rows) {
          return assemble<Diffusion<3>>(backend(), laplace, rows, {2., 0.1, 0.2, 3., 0.3, 4., 0.7});
        },
        150);
  }
}

/** Of the entries below the diagonal more are copied than the threads of a device read at once. */
TEST_P(AssemblyTest, SameBitsInLargePatches)
{
  const ElementTables tables    = synthetic::cube_of_hexahedra(14, 1);
  const System        reference = assemble<Laplace<3>>(backend(), tables, 96, {1.3});
  const System        other     = assemble<Laplace<3>>(backend(), tables, 608, {1.3});
  EXPECT_EQ(reference.matrix.values, other.matrix.values);
  EXPECT_EQ(reference.rhs, other.rhs);
}

/** Many patches at once on a multiprocessor, and the memory of the papers' devices. */
TEST_P(AssemblyTest, SameBitsWithLittleMemory)
{
  for (const ElementTables &tables : {synthetic::cube_of_tetrahedra(6, 1, true), synthetic::cube_of_hexahedra(6, 1)})
  {
    const System reference = assemble<Laplace<3>>(backend(), tables, 32, {1.3});
    for (const auto &[fast_memory, concurrent] : {std::make_pair(16384, 0), {0, 32}, {9000, 1}})
    {
      const Space                           space(backend(), tables, Space::AdditionalData(32));
      Assembler<Laplace<3>>::AdditionalData data;
      data.strategy    = "patches";
      data.fast_memory = fast_memory;
      data.concurrent  = concurrent;
      Assembler<Laplace<3>> assembler(space, data);
      assembler.set_coefficients(CoefficientField::constant({1.3}));
      assembler.set_body_load(CoefficientField::constant({2.}));
      SlicedEllpackMatrix<double> matrix;
      Vector<double>              rhs;
      space.initialize_matrix(matrix);
      assembler.assemble(matrix, rhs);
      EXPECT_EQ(matrix.to_csr_host().values, reference.matrix.values) << fast_memory << " bytes, " << concurrent;
      EXPECT_EQ(rhs.copy_to_host(), reference.rhs);
    }
  }
}

/** On devices scalars on simplices take patches, but for coefficients that vary inside cells. */
TEST_P(AssemblyTest, ChoosesForSimplices)
{
  const bool            device = backend().kind() == BackendKind::cuda;
  const ElementTables   tables = synthetic::cube_of_tetrahedra(4, 1, true);
  const Space           space(backend(), tables);
  Assembler<Laplace<3>> assembler(space);
  EXPECT_EQ(assembler.patches().strategy(), "patches");
  const int n = tables.batches[0].n_cells * tables.batches[0].reference.n_quadrature;
  assembler.set_coefficients(CoefficientField::at_quadrature_points(1, {std::vector<double>(n, 2.)}));
  EXPECT_EQ(assembler.patches().strategy(), device ? "edges" : "patches");
  const Space space_of_vectors(backend(), synthetic::cube_of_tetrahedra(4, 3, true));
  EXPECT_EQ(Assembler<Elasticity<3>>(space_of_vectors).patches().strategy(), device ? "edges" : "patches");
}

/** Kept entries of constrained rows and columns are zeros in the pattern of the mesh; all others are as without them. */
TEST_P(AssemblyTest, KeepsConstrainedEntries)
{
  const auto check = [&](const ElementTables &free, const auto &assemble_with) {
    ElementTables fixed = free; // whole nodes, as on a Dirichlet boundary
    fixed.constraints.offsets.push_back(0);
    for (int i = 0; i < free.n_nodes * free.n_components; ++i)
      if (i / free.n_components % 5 == 0)
      {
        fixed.constraints.constrained.push_back(i);
        fixed.constraints.inhomogeneity.push_back(0.1 * (i % 3));
        fixed.constraints.offsets.push_back(0);
      }
    const System mesh = assemble_with(free, false), dropped = assemble_with(fixed, false),
                 kept = assemble_with(fixed, true);
    EXPECT_LT(dropped.matrix.columns.size(), kept.matrix.columns.size());
    EXPECT_EQ(mesh.matrix.row_offsets, kept.matrix.row_offsets);
    EXPECT_EQ(mesh.matrix.columns, kept.matrix.columns);
    EXPECT_EQ(dropped.rhs, kept.rhs);
    int n_wrong = 0;
    for (int row = 0; row < kept.matrix.n_rows; ++row)
    {
      std::int64_t d = dropped.matrix.row_offsets[row];
      for (std::int64_t e = kept.matrix.row_offsets[row]; e < kept.matrix.row_offsets[row + 1]; ++e)
      {
        const bool there =
            d < dropped.matrix.row_offsets[row + 1] && dropped.matrix.columns[d] == kept.matrix.columns[e];
        n_wrong += kept.matrix.values[e] != (there ? dropped.matrix.values[d++] : 0.);
      }
      n_wrong += d != dropped.matrix.row_offsets[row + 1];
    }
    EXPECT_EQ(n_wrong, 0);
  };
  for (const StrategyRow &row : assembly_strategies())
  {
    if (!row.repeatable)
      continue; // entries are compared bit for bit
    SCOPED_TRACE(row.name);
    const std::string &strategy = row.name;
    for (const ElementTables &tables : {synthetic::cube_of_hexahedra(5, 1), synthetic::cube_of_tetrahedra(4, 1, true)})
      if (takes<Laplace<3>>(row, tables))
        check(tables, [&](const ElementTables &t, const bool keep) {
          return assemble<Laplace<3>>(backend(), t, 20, {1.3}, strategy, keep);
        });
    if (!takes<Elasticity<3>>(row, synthetic::cube_of_hexahedra(1, 3)))
      continue;
    check(synthetic::cube_of_hexahedra(4, 3), [&](const ElementTables &t, const bool keep) {
      return assemble<Elasticity<3>>(backend(), t, 20, {1.5, 0.8}, strategy, keep);
    });
  }
}

TEST_P(AssemblyTest, StrategiesAgree)
{
  const auto check = [&](const auto &assemble_with, const int most_rows, const auto &taken) {
    const System patches = assemble_with(32, "patches");
    for (const StrategyRow &row : assembly_strategies())
      for (const int rows : {16, most_rows})
      {
        if (!taken(row))
        {
          EXPECT_THROW(assemble_with(rows, row.name), Error);
          continue;
        }
        SCOPED_TRACE(row.name + ", " + std::to_string(rows) + " rows a patch");
        const System other = assemble_with(rows, row.name);
        EXPECT_EQ(patches.matrix.columns, other.matrix.columns);
        EXPECT_LE(largest_difference(patches.matrix.values, other.matrix.values), 1e-13);
        EXPECT_LE(largest_difference(patches.rhs, other.rhs), 1e-13);
      }
  };
  for (const bool constrained : {true, false})
  {
    ElementTables tetrahedra = synthetic::cube_of_tetrahedra(5, 1, true),
                  hexahedra = synthetic::cube_of_hexahedra(9, 1), elasticity = synthetic::cube_of_hexahedra(5, 3);
    for (ElementTables *tables : {&tetrahedra, &hexahedra, &elasticity})
      if (constrained)
        constrain(*tables);
    check(
        [&](const int rows, const std::string &strategy) {
          return assemble<Diffusion<3>>(backend(), tetrahedra, rows, {2., 0.1, 0.2, 3., 0.3, 4., 0.7}, strategy);
        },
        150, [&](const StrategyRow &row) { return takes<Diffusion<3>>(row, tetrahedra); });
    check(
        [&](const int rows, const std::string &strategy) {
          return assemble<Laplace<3>>(backend(), tetrahedra, rows, {1.3}, strategy);
        },
        150, [&](const StrategyRow &row) { return takes<Laplace<3>>(row, tetrahedra); });
    check(
        [&](const int rows, const std::string &strategy) {
          return assemble<Laplace<3>>(backend(), hexahedra, rows, {1.3}, strategy);
        },
        150, [&](const StrategyRow &row) { return takes<Laplace<3>>(row, hexahedra); });
    check(
        [&](const int rows, const std::string &strategy) {
          return assemble<Elasticity<3>>(backend(), elasticity, rows, {1.5, 0.8}, strategy);
        },
        64, [&](const StrategyRow &row) { return takes<Elasticity<3>>(row, elasticity); });
  }
}

/**
 * The kernels read and write staged matrices 16 bytes at a time. A cell with a node that follows another cell's has nine
 * rows: 8 x 8 entries, one on the diagonal and 64 that are not resolved, an odd number.
 */
TEST_P(AssemblyTest, StagedCellsStartAtAMultipleOf16Bytes)
{
  ElementTables tables             = synthetic::cube_of_hexahedra(4, 1);
  tables.constraints.constrained   = {0};
  tables.constraints.masters       = {tables.n_nodes - 1};
  tables.constraints.weights       = {0.5};
  tables.constraints.offsets       = {0, 1};
  tables.constraints.inhomogeneity = {0.1};
  const Space                           space(backend(), tables, Space::AdditionalData(32));
  Assembler<Laplace<3>>                 assembler;
  Assembler<Laplace<3>>::AdditionalData data;
  data.strategy = "gather";
  assembler.reinit(space, data);
  const std::vector<Patches::Chunk> &chunks = assembler.patches().chunks();
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].end_buffered - chunks[0].first_buffered, 1);
  EXPECT_GE(chunks[0].n_matrix_entries, 129);
  EXPECT_EQ(chunks[0].n_matrix_entries % 2, 0);

  const System patches = assemble<Laplace<3>>(backend(), tables, 32, {1.3});
  const System gather  = assemble<Laplace<3>>(backend(), tables, 32, {1.3}, "gather");
  EXPECT_LE(largest_difference(patches.matrix.values, gather.matrix.values), 1e-13);
  EXPECT_LE(largest_difference(patches.rhs, gather.rhs), 1e-13);
}

/**
 * Rows gather from cells with different data, which vary inside them too, what patches compute: into both formats, the
 * right-hand side alone and the matrix alone.
 */
TEST_P(AssemblyTest, GatherFromHexahedraThatDiffer)
{
  for (const bool constrained : {true, false})
    for (const bool inside : {true, false})
    {
      ElementTables tables = synthetic::cube_of_hexahedra(9, 1);
      if (constrained)
        constrain(tables);
      std::vector<double> k, f;
      for (int i = 0; i < tables.batches[0].n_cells * (inside ? 8 : 1); ++i)
      {
        k.push_back(1. + synthetic::hashed(i));
        f.push_back(synthetic::hashed(i + 7));
      }
      const auto field = [&](const std::vector<double> &values) {
        return inside ? CoefficientField::at_quadrature_points(1, {values}) : CoefficientField::by_cell(1, {values});
      };
      const Space space(backend(), tables, Space::AdditionalData(32));
      const auto  run = [&](const std::string &strategy, auto matrix, std::vector<double> &rhs) {
        Assembler<Laplace<3>>                 assembler;
        Assembler<Laplace<3>>::AdditionalData data;
        data.strategy = strategy;
        assembler.reinit(space, data);
        assembler.set_coefficients(field(k));
        assembler.set_body_load(field(f));
        space.initialize_matrix(matrix);
        Vector<double> both, alone;
        assembler.assemble(matrix, both);
        const HostCSR<double> result = matrix.to_csr_host();
        assembler.assemble_rhs(alone);
        rhs = both.copy_to_host();
        EXPECT_EQ(rhs, alone.copy_to_host());
        assembler.assemble_matrix(matrix);
        EXPECT_EQ(result.values, matrix.to_csr_host().values);
        return result;
      };
      std::vector<double>   expected_rhs, rhs, other_rhs;
      const HostCSR<double> expected = run("patches", CSRMatrix<double>(), expected_rhs),
                            csr      = run("gather", CSRMatrix<double>(), rhs),
                            sell     = run("gather", SlicedEllpackMatrix<double>(), other_rhs);
      EXPECT_LE(largest_difference(expected.values, csr.values), 1e-13);
      EXPECT_LE(largest_difference(expected_rhs, rhs), 1e-13);
      EXPECT_EQ(csr.values, sell.values);
      EXPECT_EQ(rhs, other_rhs);
    }
}

TEST_P(AssemblyTest, SameAsHost)
{
  for (const bool constrained : {true, false})
    for (const int n_comp : {1, 3})
      for (const bool hexahedra : {true, false})
      {
        ElementTables tables =
            hexahedra ? synthetic::cube_of_hexahedra(11, n_comp) : synthetic::cube_of_tetrahedra(9, n_comp, true);
        if (constrained)
          constrain(tables);
        const auto run = [&](const Backend &where, const int rows) {
          return n_comp == 1 ? assemble<Laplace<3>>(where, tables, rows, {1.3})
                             : assemble<Elasticity<3>>(where, tables, rows, {1.5, 0.8});
        };
        const System host = run(Backend("host"), 64), here = run(backend(), 32);
        EXPECT_EQ(host.matrix.row_offsets, here.matrix.row_offsets);
        EXPECT_EQ(host.matrix.columns, here.matrix.columns);
        EXPECT_LE(largest_difference(host.matrix.values, here.matrix.values), 1e-13);
        EXPECT_LE(largest_difference(host.rhs, here.rhs), 1e-13);
      }
}

namespace
{
  struct ElasticityCase
  {
    ElementTables    tables;
    CoefficientField moduli, load;
  };

  /** Matrix and load, which must be the same when each is assembled alone; both vectors hold NaN before. */
  template <typename Form, typename Matrix>
  System assemble_elasticity(const Backend &backend, const ElasticityCase &from, const int rows_per_patch)
  {
    using Number = typename Matrix::value_type;
    const Space                                      space(backend, from.tables, Space::AdditionalData(32));
    Assembler<Form, Number>                          assembler;
    typename Assembler<Form, Number>::AdditionalData data;
    data.strategy       = "patches";
    data.rows_per_patch = rows_per_patch;
    assembler.reinit(space, data);
    assembler.set_coefficients(from.moduli);
    assembler.set_body_load(from.load);
    const std::vector<Number> unknown(3 * from.tables.n_nodes, std::numeric_limits<Number>::quiet_NaN());
    Vector<Number>            rhs(backend, unknown), rhs_alone(backend, unknown);
    Matrix                    matrix, matrix_alone;
    space.initialize_matrix(matrix);
    space.initialize_matrix(matrix_alone);
    assembler.assemble(matrix, rhs);
    assembler.assemble_matrix(matrix_alone);
    assembler.assemble_rhs(rhs_alone);
    const auto values = matrix.to_csr_host().values;
    const auto loads  = rhs.copy_to_host();
    EXPECT_EQ(values, matrix_alone.to_csr_host().values) << rows_per_patch << " rows a patch";
    EXPECT_EQ(loads, rhs_alone.copy_to_host()) << rows_per_patch << " rows a patch";
    System result;
    result.matrix.values.assign(values.begin(), values.end());
    result.rhs.assign(loads.begin(), loads.end());
    return result;
  }

  /** Assembly gives what the host does in double precision. */
  template <typename Form>
  void check_elasticity_of_hexahedra(const Backend &backend)
  {
    for (const bool constrained : {false, true})
      for (const int n_loads : {0, 1, 8}) // of a cell
      {
        ElasticityCase from;
        from.tables = synthetic::cube_of_hexahedra(6, 3);
        if (constrained)
          constrain(from.tables);
        const int           n_cells = from.tables.batches[0].n_cells;
        std::vector<double> moduli(2 * n_cells), loads(3 * n_loads * n_cells);
        for (int i = 0; i < 2 * n_cells; ++i)
          moduli[i] = 0.5 + synthetic::hashed(i);
        for (std::size_t i = 0; i < loads.size(); ++i)
          loads[i] = synthetic::hashed(static_cast<std::int64_t>(i) + 7);
        from.moduli = CoefficientField::by_cell(2, {moduli});
        if (n_loads == 1)
          from.load = CoefficientField::by_cell(3, {loads});
        if (n_loads == 8)
          from.load = CoefficientField::at_quadrature_points(3, {loads});
        const System expected = assemble_elasticity<Form, SlicedEllpackMatrix<double>>(Backend("host"), from, 64);
        const auto   compare  = [&](const System &system, const double tolerance) {
          EXPECT_LE(largest_difference(expected.matrix.values, system.matrix.values), tolerance);
          EXPECT_LE(largest_difference(expected.rhs, system.rhs), tolerance);
        };
        for (const int rows : {48, 64})
        {
          compare(assemble_elasticity<Form, SlicedEllpackMatrix<double>>(backend, from, rows), 1e-13);
          compare(assemble_elasticity<Form, SlicedEllpackMatrix<float>>(backend, from, 2 * rows), 1e-6);
        }
        compare(assemble_elasticity<Form, CSRMatrix<double>>(backend, from, 32), 1e-13);
        compare(assemble_elasticity<Form, CSRMatrix<float>>(backend, from, 32), 1e-6);
      }
  }
} // namespace

/**
 * Elasticity on hexahedra: moduli of the cells, loads that vary between or inside cells or are not there, patches that
 * are whole slices of the matrix and such that are not.
 */
TEST_P(AssemblyTest, ElasticityOfHexahedra)
{
  check_elasticity_of_hexahedra<Elasticity<3>>(backend());
  check_elasticity_of_hexahedra<ElasticityMeanDilatation<3>>(backend());
}

namespace
{
  enum class Inside
  {
    nothing,
    loads,
    all
  };

  /** By patches into both formats, of different rows, beside rows that gather; cells differ, and what varies @p inside. */
  template <int dim, typename Number>
  void check_pairs(const Backend &backend, ElementTables tables, const Inside inside, const bool constrained)
  {
    if (constrained)
      constrain(tables);
    const int  n_cells = tables.batches[0].n_cells, n_points = n_cells * tables.batches[0].reference.n_quadrature;
    const auto field = [&](const bool varies, const double least) {
      std::vector<double> values(varies ? n_points : n_cells);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = least + synthetic::hashed(i + 7);
      return varies ? CoefficientField::at_quadrature_points(1, {values}) : CoefficientField::by_cell(1, {values});
    };
    const Space space(backend, tables, Space::AdditionalData(32));
    const auto  run = [&](const std::string &strategy, const int rows, auto matrix, Vector<Number> &rhs) {
      Assembler<Laplace<dim>, Number>                          assembler;
      typename Assembler<Laplace<dim>, Number>::AdditionalData data;
      data.strategy       = strategy;
      data.rows_per_patch = rows;
      assembler.reinit(space, data);
      assembler.set_coefficients(field(inside == Inside::all, 1.));
      assembler.set_body_load(field(inside != Inside::nothing, 0.));
      if (strategy == "patches" && tables.batches[0].reference.n_shape == 1 << dim &&
          backend.kind() == BackendKind::cuda)
      {
        EXPECT_EQ(assembler.kernel_names()[0], "patches (multilinear cubes, pairs of nodes)");
      }
      space.initialize_matrix(matrix);
      rhs = Vector<Number>(backend, std::vector<Number>(tables.n_nodes, std::numeric_limits<Number>::quiet_NaN()));
      assembler.assemble(matrix, rhs);
      Vector<Number> alone;
      assembler.assemble_rhs(alone);
      EXPECT_EQ(alone.copy_to_host(), rhs.copy_to_host());
      return matrix.to_csr_host();
    };
    const auto worst = [](const std::vector<Number> &a, const std::vector<Number> &b) {
      return largest_difference({a.begin(), a.end()}, {b.begin(), b.end()});
    };
    Vector<Number>        expected_rhs, rhs, other_rhs;
    const HostCSR<Number> expected = run("gather", 32, CSRMatrix<Number>(), expected_rhs),
                          csr      = run("patches", 48, CSRMatrix<Number>(), rhs),
                          large    = run("patches", 0, CSRMatrix<Number>(), other_rhs);
    EXPECT_EQ(csr.values, large.values);
    EXPECT_EQ(rhs.copy_to_host(), other_rhs.copy_to_host());
    const HostCSR<Number> sell      = run("patches", 9, SlicedEllpackMatrix<Number>(), other_rhs);
    const double          tolerance = sizeof(Number) == 8 ? 1e-13 : 2e-6;
    EXPECT_LE(worst(expected.values, csr.values), tolerance);
    EXPECT_LE(worst(expected_rhs.copy_to_host(), rhs.copy_to_host()), tolerance);
    EXPECT_EQ(csr.values, sell.values);
    EXPECT_EQ(rhs.copy_to_host(), other_rhs.copy_to_host());
    if (!constrained)
      for (int row = 0; row < tables.n_nodes; ++row)
        for (std::int64_t e = csr.row_offsets[row]; e < csr.row_offsets[row + 1]; ++e)
        {
          const int  column = csr.columns[e];
          const auto begin  = csr.columns.begin() + csr.row_offsets[column],
                     end    = csr.columns.begin() + csr.row_offsets[column + 1];
          EXPECT_EQ(csr.values[e], csr.values[std::lower_bound(begin, end, row) - csr.columns.begin()]);
        }
  }
} // namespace

/**
 * Pairs of nodes that are summed once give what rows that gather give, and a symmetric matrix: cells that differ, data
 * that vary inside them, rows of up to 32 blocks and longer ones, more cells than a block has threads, both formats.
 */
TEST_P(AssemblyTest, PairsOfNodesSummedOnce)
{
  for (const bool constrained : {true, false})
    for (const Inside inside : {Inside::nothing, Inside::loads, Inside::all})
    {
      check_pairs<3, double>(backend(), synthetic::fan_of_tetrahedra(70), inside, constrained);
      check_pairs<3, double>(backend(), synthetic::cube_of_tetrahedra(7, 1, true), inside, constrained);
      check_pairs<3, double>(backend(), synthetic::cube_of_hexahedra(9, 1), inside, constrained);
      check_pairs<3, float>(backend(), synthetic::cube_of_hexahedra(6, 1), inside, constrained);
      check_pairs<2, double>(backend(), synthetic::grid_of_cells(2, 23, 1), inside, constrained);
      check_pairs<2, float>(backend(), synthetic::grid_of_cells(2, 23, 1), inside, constrained);
    }
}

TEST(Assembly, SameBitsForEveryNumberOfThreads)
{
  ElementTables tables = synthetic::cube_of_tetrahedra(6, 3, true);
  constrain(tables);
  const int    n_threads = omp_get_max_threads();
  const System reference = assemble<Elasticity<3>>(Backend("host"), tables, 16, {1.5, 0.8});
  for (const int n : {1, 2, 5})
  {
    omp_set_num_threads(n);
    const System other = assemble<Elasticity<3>>(Backend("host"), tables, 16, {1.5, 0.8});
    EXPECT_EQ(reference.matrix.columns, other.matrix.columns);
    EXPECT_EQ(reference.matrix.values, other.matrix.values) << n << " threads";
    EXPECT_EQ(reference.rhs, other.rhs) << n << " threads";
  }
  omp_set_num_threads(n_threads);
}

TEST(Assembly, RigidBodyModesAreInTheKernel)
{
  const ElementTables      tables = synthetic::cube_of_hexahedra(5, 3);
  const Space              space(Backend("host"), tables);
  Assembler<Elasticity<3>> assembler;
  assembler.reinit(space);
  assembler.set_coefficients(CoefficientField::constant({1.5, 0.8}));
  CSRMatrix<double> matrix;
  space.initialize_matrix(matrix);
  assembler.assemble_matrix(matrix);
  const int n = tables.n_nodes;
  for (int mode = 0; mode < 6; ++mode)
  {
    std::vector<double> x(3 * n, 0.);
    for (int v = 0; v < n; ++v)
    {
      double   *u = &x[3 * space.batches().new_of_old()[v]];
      const int a = (mode + 1) % 3, b = (mode + 2) % 3;
      if (mode < 3)
        u[mode] = 1.;
      else
      {
        u[a] = -tables.points[3 * v + b];
        u[b] = tables.points[3 * v + a];
      }
    }
    Vector<double> source(space.backend(), x), product(space.backend(), 3 * n);
    matrix.vmult(product, source);
    EXPECT_LE(product.l2_norm(), 1e-13) << "mode " << mode;
  }
}

/** Refused coefficients and loads leave those that were set: the unit cube by eye, entries of K = 3 and f = 2. */
TEST_P(AssemblyTest, RefusedFieldsChangeNothing)
{
  const Space           space(backend(), synthetic::cube_of_hexahedra(1, 1));
  Assembler<Laplace<3>> assembler;
  assembler.reinit(space);
  assembler.set_coefficients(CoefficientField::by_cell(1, {{3.}}));
  assembler.set_body_load(CoefficientField::at_quadrature_points(1, {std::vector<double>(8, 2.)}));
  SlicedEllpackMatrix<double> matrix;
  Vector<double>              rhs;
  space.initialize_matrix(matrix);
  const std::vector<CoefficientField> refused = {
      CoefficientField::constant({5., 6.}), CoefficientField::by_material({{7, {5.}}}),
      CoefficientField::by_cell(1, {{5., 6.}}), CoefficientField::by_cell(1, {{5.}, {6.}}),
      CoefficientField::at_quadrature_points(1, {{5.}})};
  for (const CoefficientField &field : refused)
  {
    EXPECT_THROW(assembler.set_coefficients(field), Error);
    EXPECT_THROW(assembler.set_body_load(field), Error);
    assembler.assemble(matrix, rhs);
    const std::vector<double> values = matrix.to_csr_host().values, loads = rhs.copy_to_host();
    for (int i = 0; i < 8; ++i)
    {
      EXPECT_NEAR(values[9 * i], 1., 1e-14);
      EXPECT_NEAR(loads[i], 0.25, 1e-15);
    }
  }
  // A field without values is not refused: it takes the load away, and the coefficients, which the form needs.
  assembler.set_body_load(CoefficientField());
  assembler.assemble(matrix, rhs);
  EXPECT_EQ(rhs.l2_norm(), 0.);
  assembler.set_coefficients(CoefficientField());
  EXPECT_THROW(assembler.assemble(matrix, rhs), Error);
}

TEST(Assembly, RefusesWhatDoesNotFit)
{
  const Space              space(Backend("host"), synthetic::cube_of_hexahedra(2, 1));
  Assembler<Elasticity<3>> wrong_components;
  EXPECT_THROW(wrong_components.reinit(space), Error);
  Assembler<Laplace<2>> wrong_dimension;
  EXPECT_THROW(wrong_dimension.reinit(space), Error);

  Assembler<Laplace<3>> assembler;
  assembler.reinit(space);
  SlicedEllpackMatrix<double> matrix;
  Vector<double>              rhs;
  space.initialize_matrix(matrix);
  EXPECT_THROW(assembler.assemble(matrix, rhs), Error) << "no coefficients";
  EXPECT_THROW(assembler.set_coefficients(CoefficientField::constant({1., 2.})), Error);
  EXPECT_THROW(assembler.set_coefficients(CoefficientField::by_material({{7, {1.}}})), Error);
  EXPECT_THROW(assembler.assemble(matrix, rhs), Error) << "no coefficients yet";
  assembler.set_coefficients(CoefficientField());
  EXPECT_THROW(assembler.assemble(matrix, rhs), Error) << "coefficients without values";
  EXPECT_THROW(CoefficientField::constant({std::nan("")}), Error);

  // One unknown is the mean of all others: its cell's matrix would have more entries than 32 bits can count.
  ElementTables    mean  = synthetic::cube_of_hexahedra(22, 3);
  ConstraintTable &lines = mean.constraints;
  for (int node = 1; node < mean.n_nodes; ++node)
    lines.masters.push_back(3 * node);
  lines.weights.assign(lines.masters.size(), 1. / lines.masters.size());
  lines.constrained   = {0};
  lines.inhomogeneity = {0.};
  lines.offsets       = {0, static_cast<std::int64_t>(lines.masters.size())};
  EXPECT_THROW(Space(Backend("host"), mean), Error);

  ElementTables flat = synthetic::cube_of_hexahedra(2, 1);
  for (std::size_t i = 2; i < flat.points.size(); i += 3)
    flat.points[i] = 0.;
  ElementBatches refused;
  EXPECT_THROW(refused.reinit(Backend("host"), flat), Error);
}
