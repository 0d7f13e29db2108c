// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/synthetic_tables.h"
#include "backend_names.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/assembly_strategy.h>

#include <omp.h>

#include <limits>

using namespace PatchFEM;

/** Meshes of several degrees: the cells of one after those of another. */
namespace
{
  using Data = Patches::AdditionalData;

  Data with(const std::string &strategy, const int rows = 0)
  {
    Data data;
    data.strategy       = strategy;
    data.rows_per_patch = rows;
    return data;
  }

  /** What users can name. */
  std::vector<std::string> all_strategies()
  {
    std::vector<std::string> names{"auto"};
    for (const StrategyRow &row : assembly_strategies())
      names.push_back(row.name);
    return names;
  }
  const std::vector<std::string> strategies = all_strategies();

  bool repeatable(const std::string &strategy)
  {
    const StrategyRow *row = find_strategy(strategy);
    return row == nullptr || row->repeatable;
  }

  /** An assembled system, [unknown of the tables]. */
  template <typename Form, typename Number = double, template <typename> class Matrix = SlicedEllpackMatrix>
  struct System
  {
    static constexpr int    n_comp = Form::n_components;
    Space                   space;
    Assembler<Form, Number> assembler;
    Matrix<Number>          matrix;
    Vector<Number>          rhs;

    System(const Backend &backend, const ElementTables &tables, const Data &data)
        : space(backend, tables, Space::AdditionalData(32)), assembler(space, data)
    {
      assembler.set_coefficients(
          CoefficientField::constant(n_comp == 1 ? std::vector<double>{1.} : std::vector<double>{1.5, 0.8}));
      assembler.set_body_load(CoefficientField::constant(std::vector<double>(n_comp, 2.)));
      space.initialize_matrix(matrix);
      const std::vector<Number> unknown(matrix.n_stored_elements(), std::numeric_limits<Number>::quiet_NaN());
      memory::copy(backend, matrix.view().values, Backend("host"), unknown.data(), unknown.size() * sizeof(Number));
      rhs = Vector<Number>(backend, std::vector<Number>(space.n_dofs(), std::numeric_limits<Number>::quiet_NaN()));
      assembler.assemble(matrix, rhs);
    }

    std::int64_t here(const std::int64_t i) const
    {
      return std::int64_t(space.batches().new_of_old()[i / n_comp]) * n_comp + i % n_comp;
    }

    std::vector<double> product(const std::vector<double> &x) const
    {
      const std::int64_t  n = space.n_dofs();
      std::vector<Number> permuted(n);
      for (std::int64_t i = 0; i < n; ++i)
        permuted[here(i)] = static_cast<Number>(x[i]);
      Vector<Number> result(space.backend(), n);
      matrix.vmult(result, Vector<Number>(space.backend(), permuted));
      return in_old_order(result.copy_to_host());
    }

    std::vector<double> in_old_order(const std::vector<Number> &values) const
    {
      std::vector<double> result(values.size());
      for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = values[here(i)];
      return result;
    }
  };

  double largest_difference(const std::vector<double> &a, const std::vector<double> &b)
  {
    double worst = a.size() == b.size() ? 0. : 1e300;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      worst = std::abs(a[i] - b[i]) <= worst ? worst : (a[i] - b[i] == a[i] - b[i] ? std::abs(a[i] - b[i]) : 1e300);
    return worst;
  }

  /** Binds every 11th unknown to a value and every 17th to the mean of two others. */
  void constrain(ElementTables &tables)
  {
    ConstraintTable &lines = tables.constraints;
    const int        n     = tables.n_nodes * tables.n_components;
    lines.offsets.push_back(0);
    for (int i = 0; i < n - 2 * tables.n_components; ++i)
      if (i % 11 == 0 || i % 17 == 0)
      {
        lines.constrained.push_back(i);
        lines.inhomogeneity.push_back(i % 11 == 0 ? 0.1 * (i % 7) : 0.);
        for (int k = 1, found = 0; i % 11 != 0 && found < 2; ++k)
          if (const int j = (i + k * tables.n_components) % n; j % 11 != 0 && j % 17 != 0)
          {
            lines.masters.push_back(j);
            lines.weights.push_back(0.5);
            ++found;
          }
        lines.offsets.push_back(static_cast<std::int64_t>(lines.masters.size()));
      }
  }
} // namespace

class AssemblyDegreesTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(AssemblyDegreesTest);

/**
 * Unit squares of degrees 1 and 2 side by side. The corner (1, 0) has in its row 2/3, -1/6 and -1/3 of the bilinear cell
 * and 28/45, -1/30, -1/45, -1/5, 1/9 and -16/45 of the biquadratic one.
 */
TEST_P(AssemblyDegreesTest, TwoSquaresByEye)
{
  // Nodes of the cells: 0 1 2 3 and 1 4 5, 6 7 8, 3 9 10, line by line.
  const ElementTables       tables   = synthetic::slabs_of_degrees(2, 1, 1, {1, 2});
  const std::vector<double> expected = {-1. / 6., 2. / 3. + 28. / 45.,
                                        -1. / 3., -1. / 6. - 1. / 30.,
                                        -1. / 5., -1. / 30.,
                                        -1. / 5., -16. / 45.,
                                        1. / 9.,  1. / 9.,
                                        -1. / 45.};
  ASSERT_EQ(tables.n_nodes, 11);
  for (const std::string &strategy : strategies)
  {
    System<Laplace<2>>  system(backend(), tables, with(strategy));
    std::vector<double> row;
    for (int j = 0; j < 11; ++j)
    {
      std::vector<double> unit(11, 0.);
      unit[j] = 1.;
      row.push_back(system.product(unit)[1]);
    }
    EXPECT_LE(largest_difference(row, expected), 1e-15);
    EXPECT_NEAR(system.in_old_order(system.rhs.copy_to_host())[1], 2. / 4. + 2. / 36., 1e-15);
  }
}

/** More cells of each degree than a warp has lanes. */
TEST_P(AssemblyDegreesTest, SumsTheCellsOfAllDegrees)
{
  const auto check = [&](auto form, auto number, const int n, const std::vector<int> &degrees) {
    using Form                 = decltype(form);
    using Number               = decltype(number);
    const ElementTables tables = synthetic::slabs_of_degrees(Form::dimension, n, Form::n_components, degrees);
    std::vector<double> x(std::size_t(tables.n_nodes) * Form::n_components);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = synthetic::hashed(i) - 0.5;
    const std::vector<double> expected = synthetic::element_product(tables, x);
    for (const std::string &strategy : strategies)
    {
      System<Form, Number>            sell(backend(), tables, with(strategy));
      System<Form, Number, CSRMatrix> csr(backend(), tables, with(strategy));
      const double                    bound = sizeof(Number) == 8 ? 1e-12 : 1e-3;
      EXPECT_LE(largest_difference(sell.product(x), expected), bound);
      const std::vector<Number> in_slices = sell.matrix.to_csr_host().values, in_rows = csr.matrix.to_csr_host().values;
      EXPECT_LE(largest_difference({in_slices.begin(), in_slices.end()}, {in_rows.begin(), in_rows.end()}), bound);
      if (repeatable(strategy))
      {
        EXPECT_EQ(in_slices, in_rows);
      }
      double load = 0.;
      for (const double f : sell.rhs.copy_to_host())
        load += f;
      EXPECT_NEAR(load, 2. * Form::n_components * degrees.size() * std::pow(n, Form::dimension), 1e3 * bound);
      Vector<Number> alone;
      csr.assembler.assemble_rhs(alone);
      EXPECT_LE(largest_difference(csr.in_old_order(alone.copy_to_host()), sell.in_old_order(sell.rhs.copy_to_host())),
                bound);
      if (repeatable(strategy))
      {
        EXPECT_EQ(alone.copy_to_host(), sell.rhs.copy_to_host());
      }
    }
  };
  check(Laplace<2>(), double(), 7, {1, 2, 3});
  check(Laplace<2>(), float(), 7, {3, 1});
  check(Elasticity<2>(), float(), 7, {2, 3, 1});
  check(Laplace<3>(), double(), 4, {2, 1});
  check(Laplace<3>(), float(), 2, {1, 2, 3});
  check(Elasticity<3>(), double(), 4, {1, 2});
}

/** Cells of degree 3, more than Patches::least_cells, in several chunks of the buffer, 0.3 MB each. */
TEST_P(AssemblyDegreesTest, SumsAllChunks)
{
  const ElementTables         tables = synthetic::slabs_of_degrees(3, 6, 3, {1, 3});
  const System<Elasticity<3>> system(backend(), tables, with("gather"));
  std::vector<double>         x(std::size_t(3) * tables.n_nodes);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = synthetic::hashed(i) - 0.5;
  EXPECT_GT(system.assembler.patches().chunks().size(), 1u);
  EXPECT_LE(largest_difference(system.product(x), synthetic::element_product(tables, x)), 1e-12);
}

/** With constraints across the degrees, for every cut and number of threads. */
TEST_P(AssemblyDegreesTest, SameBitsForEveryCut)
{
  const auto check = [&](auto form, const int n) {
    using Form           = decltype(form);
    ElementTables tables = synthetic::slabs_of_degrees(Form::dimension, n, Form::n_components, {1, 2, 3});
    constrain(tables);
    std::vector<double> x(std::size_t(tables.n_nodes) * Form::n_components, 1.);
    const int           n_threads = omp_get_max_threads();
    std::vector<double> products;
    for (const std::string strategy : {"gather", "patches"})
    {
      System<Form>              reference(backend(), tables, with(strategy, 16));
      const std::vector<double> product = reference.product(x);
      EXPECT_LE(products.empty() ? 0. : largest_difference(products, product), 1e-12);
      products = product;
      for (const int rows : {1, 5, 16})
      {
        omp_set_num_threads(rows == 16 ? 5 : n_threads);
        System<Form> other(backend(), tables, with(strategy, rows));
        EXPECT_EQ(reference.matrix.to_csr_host().values, other.matrix.to_csr_host().values) << rows;
        EXPECT_EQ(reference.rhs.copy_to_host(), other.rhs.copy_to_host()) << rows;
      }
      omp_set_num_threads(n_threads);
    }
  };
  check(Laplace<2>(), 6);
  check(Elasticity<2>(), 4);
  check(Laplace<3>(), 3);
}

/** Cells of degree 3 need smaller patches than those of degree 1, and each cell shows the patch of its own plan. */
TEST_P(AssemblyDegreesTest, CellsShowThePatchesOfTheirOwnPlans)
{
  ElementTables tables = synthetic::slabs_of_degrees(3, 4, 3, {1, 3});
  int           active = 0;
  for (CellTable &batch : tables.batches)
    for (int cell = 0; cell < batch.n_cells; ++cell)
      batch.active_index.push_back(active++);
  const Space space(backend(), tables);
  bool        differ = false;
  for (const std::string &strategy : strategies)
  {
    const Assembler<Elasticity<3>>  assembler(space, with(strategy));
    const std::vector<unsigned int> shown = assembler.patch_of_cells();
    ASSERT_EQ(shown.size(), tables.n_cells());
    differ = differ || assembler.patches(0).rows_per_patch() != assembler.patches(1).rows_per_patch();
    for (int b = 0; b < 2; ++b)
      for (int cell = 0; cell < tables.batches[b].n_cells; ++cell)
      {
        const CellTable &batch = tables.batches[b];
        int              first = tables.n_nodes;
        for (int i = 0; i < batch.reference.n_shape; ++i)
          first = std::min(first, space.batches().new_of_old()[batch.nodes[cell * batch.reference.n_shape + i]]);
        EXPECT_EQ(int(shown[batch.active_index[cell]]), first / assembler.patches(b).rows_per_patch());
      }
    EXPECT_THROW(assembler.patches(2), Error);
  }
  EXPECT_TRUE(differ);
}

/** A batch without cells leaves the other's matrix as it is, and is integrated 0 times. Estimates are of no cells, too. */
TEST_P(AssemblyDegreesTest, WithoutCells)
{
  ElementTables tables = synthetic::slabs_of_degrees(2, 3, 1, {1, 2});
  tables.constraints   = {};
  CellTable &squares   = tables.batches[1];
  squares.n_cells      = 0;
  for (std::vector<int> *list : {&squares.nodes, &squares.geometry, &squares.material_ids, &squares.active_index})
    list->clear();
  for (const std::string &strategy : strategies)
  {
    const System<Laplace<2>> system(backend(), tables, with(strategy));
    EXPECT_EQ(system.assembler.patches(1).redundancy(), 0.);
    EXPECT_EQ(system.assembler.redundancy(), system.assembler.patches(0).redundancy());
    EXPECT_LE(largest_difference(system.product(std::vector<double>(tables.n_nodes, 1.)),
                                 std::vector<double>(tables.n_nodes, 0.)),
              1e-15);
  }
  tables.batches.clear();
  const StructureEstimate nothing(tables, 32, false);
  for (const StrategyRow &row : assembly_strategies())
    EXPECT_LT(nothing.peak_bytes(backend(), with(row.name), row), std::size_t(1) << 20);
}

/** Who assembles is told for each batch: the strategy, and the kernel of which the data can be others. */
TEST_P(AssemblyDegreesTest, KernelsHaveNames)
{
  using Names                  = std::vector<std::string>;
  const ElementTables   tables = synthetic::slabs_of_degrees(2, 3, 1, {1, 2});
  const Space           space(backend(), tables);
  Assembler<Laplace<2>> assembler(space, with("patches"));
  const std::string     cubes = backend().kind() == BackendKind::cuda ? "any cells" : "multilinear cubes";
  EXPECT_EQ(assembler.kernel_names(), (Names{"patches (" + cubes + ")", "patches (any cells)"}));
  EXPECT_EQ(Assembler<Laplace<2>>(space, with("gather")).kernel_names(),
            backend().kind() == BackendKind::cuda
                ? (Names{"gather (short rows, two entries to a lane)", "gather (teams of lanes a row)"})
                : Names(2, "gather (row after row)"));
  EXPECT_THROW(assembler.reinit(space, with("guess")), Error);
}
