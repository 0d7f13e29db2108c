// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/synthetic_tables.h"
#include "constrained_tables.h"
#include "kernels/hash.h"
#include "precondition_cases.h"
#include "spring_matrix.h"

#include "lac/graph/graph_tools.h"
#include <patchfem/assembly/assembler.h>
#include <patchfem/kernels/weak_forms.h>
#include <patchfem/lac/graph/aggregate_fit.h>

#include <cmath>
#include <functional>

using namespace PatchFEM;
using cases::spring_matrix;
using cases::Springs;

/** Whether aggregates fit values that come after those they were made for. */
class AggregateFitTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(AggregateFitTest);

namespace
{
  using Counts = std::vector<int>; ///< aggregates looked at, those that fall apart, and strong dependences

  template <typename Number>
  Counts counts_of(const SlicedEllpackMatrix<Number> &A, const std::vector<int> &aggregate_of_node)
  {
    const AggregateLists lists(A.backend(), aggregate_of_node);
    Array<int>           counts(A.backend(), 2);
    Counts               result{dispatch(A.backend(),
                                         [&](auto where) { return graph_tools::count_dependences(where, A, lists, counts.data()); })};
    for (const int count : counts.to_vector())
      result.push_back(count);
    return result;
  }
} // namespace

TEST_P(AggregateFitTest, PartsByEye)
{
  const auto path = [](const std::vector<double> &k) {
    Springs springs;
    for (int i = 0; i < static_cast<int>(k.size()); ++i)
      springs[{i, i + 1}] = k[i];
    return springs;
  };
  const auto check = [&](const Springs &springs, const int n, const std::vector<int> &aggregate_of_node) {
    const Counts result = counts_of(spring_matrix(backend(), n, 3, springs, 1e-3), aggregate_of_node);
    EXPECT_EQ(counts_of(spring_matrix<float>(backend(), n, 1, springs, 1e-3), aggregate_of_node), result);
    return result;
  };
  const std::vector<int> line(4, 0);
  EXPECT_EQ(check(path({1., 1., 1.}), 4, line), Counts({1, 0, 6}));
  EXPECT_EQ(check(path({1., .01, 1.}), 4, line), Counts({1, 1, 4})) << "two pairs";
  EXPECT_EQ(check(path({1., .0625, 1.}), 4, line), Counts({1, 0, 6})) << "more than 1 : 20";
  EXPECT_EQ(check(path({1., .01, .01}), 4, line), Counts({1, 0, 5})) << "soft nodes hang on a stiff pair";
  EXPECT_EQ(check(path({1., .01, .01, 1.}), 5, {0, 0, 0, 0, 0}), Counts({1, 1, 6})) << "or on any of two";
  EXPECT_EQ(check(path({1., 1., .01, 1.}), 5, {0, 0, 0, 0, 1}), Counts({2, 0, 6})) << "a node by itself";
  EXPECT_EQ(check(path({1., .01, 1., 1.}), 5, {0, 0, 0, 0, -1}), Counts({1, 1, 5})) << "what is outside counts as well";
  EXPECT_EQ(check(path({1., .01, 1., .01, 1.}), 6, {0, 0, 0, 0, 0, -1}), Counts({1, 1, 5}))
      << "two pairs, beside a node by itself";
  Springs ring = path({1., .01, 1., 1.});
  ring[{0, 4}] = 1.;
  EXPECT_EQ(check(ring, 5, {0, 0, 0, 0, -1}), Counts({1, 0, 6})) << "joined over a node outside";
  ring         = path({1., .01, 1., 1., 1.});
  ring[{0, 5}] = 1.;
  EXPECT_EQ(check(ring, 6, {0, 0, 0, 0, 1, 1}), Counts({2, 1, 10})) << "two nodes outside are too far";

  // Two halves of 32 nodes each, and 65 nodes, which are too many to be looked at.
  std::vector<double> halves(64, 1.);
  halves[31] = .01;
  std::vector<int> aggregate_of_node(65, 0);
  EXPECT_EQ(check(path(halves), 65, aggregate_of_node), Counts({1, 0, 0}));
  aggregate_of_node[64] = 1;
  EXPECT_EQ(check(path(halves), 65, aggregate_of_node), Counts({2, 1, 126}));
  EXPECT_EQ(check({}, 3, {-1, -1, -1}), Counts({0, 0, 0}));
}

/** Of 6000 chains one in three is in two parts; every twelfth chain is looked at. */
TEST_P(AggregateFitTest, SomeOfManyAreLookedAt)
{
  Springs          springs;
  std::vector<int> aggregate_of_node;
  for (int i = 0; i < 4 * 6000; i += 4)
  {
    springs.insert({{{i, i + 1}, 1.}, {{i + 1, i + 2}, i % 12 == 0 ? .01 : 1.}, {{i + 2, i + 3}, 1.}});
    aggregate_of_node.insert(aggregate_of_node.end(), 4, i / 4);
  }
  const Counts counts = counts_of(spring_matrix(backend(), 4 * 6000, 1, springs), aggregate_of_node);
  EXPECT_EQ(counts[0], 500);
  EXPECT_NEAR(counts[1], 500 / 3, 40);
  EXPECT_EQ(counts[2], 6 * 500 - 2 * counts[1]);
}

/** Shares are compared with those of the begin, and a few are none. */
TEST_P(AggregateFitTest, ChangesCount)
{
  const auto chains = [&](const int n_apart, const double stiffness) {
    Springs springs;
    for (int i = 0; i < 4 * 512; ++i)
      if (i % 4 < 3)
        springs[{i, i + 1}] = stiffness * (i % 4 == 1 && i / 4 < n_apart ? .01 : 1.);
    return spring_matrix(backend(), 4 * 512, 3, springs);
  };
  std::vector<int> aggregate_of_node;
  for (int i = 0; i < 4 * 512; ++i)
    aggregate_of_node.push_back(i / 4);
  AggregateLists lists(backend(), aggregate_of_node);
  const auto     fits = [&](const std::vector<std::pair<int, double>> &values) {
    AggregateFit      fit;
    std::vector<bool> result;
    for (const auto &[n_apart, stiffness] : values)
    {
      fit.look(chains(n_apart, stiffness), lists);
      result.push_back(fit.fits());
    }
    return result;
  };
  using Answers = std::vector<bool>;
  EXPECT_EQ(fits({{0, 1.}, {0, 1e6}, {4, 1.}, {5, 1.}, {0, 1.}}), Answers({true, true, true, false, true}));
  EXPECT_EQ(fits({{100, 1.}, {100, 1.}, {104, 1e-3}, {105, 1.}}), Answers({true, true, true, false}));
  // 3072 - 2 * 139 dependences are one tenth less, 3072 - 2 * 140 more than that.
  EXPECT_EQ(fits({{140, 1.}, {0, 1.}}), Answers({true, true})) << "aggregates of all couplings are no smaller for it";
  lists.set_by_couplings();
  EXPECT_EQ(fits({{139, 1.}, {0, 1.}}), Answers({true, true}));
  EXPECT_EQ(fits({{140, 1.}, {0, 1.}}), Answers({true, false}));
}

namespace
{
  /** Elasticity in a cube of n^3 cells with modulus E(x, y, z), of whole numbers, held where x is 0. */
  struct Cube
  {
    Cube(const Backend &backend, const int n) : n(n), tables(held(n)), space(backend, tables) {}

    static ElementTables held(const int n)
    {
      ElementTables tables = synthetic::cube_of_hexahedra(n, 3);
      for (double &x : tables.points)
        x = std::round(x * n) / n;
      hold(tables);
      return tables;
    }

    template <typename Modulus>
    SlicedEllpackMatrix<double> matrix(const Modulus &E) const
    {
      std::vector<double> values;
      for (int c = 0; c < n * n * n; ++c)
        values.insert(values.end(), 2, E(c % n, c / n % n, c / n / n));
      Assembler<Elasticity<3>> assembler(space);
      assembler.set_coefficients(CoefficientField::by_cell(2, {values}));
      SlicedEllpackMatrix<double> A;
      space.initialize_matrix(A);
      assembler.assemble_matrix(A);
      return A;
    }

    int           n;
    ElementTables tables;
    Space         space;
  };
} // namespace

/** Where it says no, new aggregates take two thirds of the steps at most, and where it does not they do not. */
TEST_P(AggregateFitTest, FollowsMaterial)
{
  using Modulus = std::function<double(int, int, int)>;
  const Cube cube(backend(), 14);
  const auto random = [](const int x, const int y, const int z) {
    return kernels::hash(x + 14 * y + 196 * z) % 997 / 997.;
  };
  const Modulus uniform = [](int, int, int) { return 1.; },
                layers  = [](int, int, const int z) { return z % 2 == 0 ? 1e6 : 1.; };
  struct Change
  {
    std::string name;
    Modulus     from, to;
    bool        fits;
  };
  const std::vector<Change> changes{
      {"scaled", uniform, [](int, int, int) { return 1e6; }, true},
      {"some per cent", uniform, [&](int x, int y, int z) { return 1. + 0.1 * random(x, y, z); }, true},
      {"ten times as stiff at one side", uniform, [](int x, int, int) { return std::pow(10., x / 13.); }, true},
      {"random over a factor of 20", uniform, [&](int x, int y, int z) { return std::pow(20., random(x, y, z)); },
       true},
      {"a stiff half", uniform, [](int, int y, int) { return y < 7 ? 1e3 : 1.; }, true},
      {"layers", uniform, layers, false},
      {"stiff inclusions", uniform, [](int x, int y, int z) { return x % 4 > 1 && y % 4 > 1 && z % 4 > 1 ? 1e3 : 1.; },
       false},
      {"one stiff cell in ten", uniform, [&](int x, int y, int z) { return random(x, y, z) < 0.1 ? 1e3 : 1.; }, false},
      {"damage", uniform, [](int, int y, int) { return y == 7 ? 1e-6 : 1.; }, false},
      {"layers, scaled", layers, [&](int x, int y, int z) { return 10. * layers(x, y, z); }, true},
      {"layers become one material", layers, uniform, false}};
  for (const Change &change : changes)
  {
    const SlicedEllpackMatrix<double>       from = cube.matrix(change.from), to = cube.matrix(change.to);
    PreconditionAMG<double>                 amg;
    PreconditionAMG<double>::AdditionalData data;
    data.single_precision = change.fits; // both number types of each answer are too many
    amg.initialize(from, cube.space.rigid_body_modes(), data);
    EXPECT_TRUE(amg.aggregates_fit());
    amg.update(from);
    EXPECT_TRUE(amg.aggregates_fit()) << change.name;
    amg.update(to);
    EXPECT_EQ(amg.aggregates_fit(), change.fits) << change.name;
    if (backend() == Backend("host"))
    {
      const unsigned int before = cases::solve_ones(to, amg).n_iterations;
      amg.initialize(to, cube.space.rigid_body_modes(), data);
      const unsigned int after = cases::solve_ones(to, amg).n_iterations;
      EXPECT_EQ(2 * before <= 3 * after, change.fits) << change.name << ": " << before << " and " << after << " steps";
      RecordProperty(change.name, std::to_string(before) + " " + std::to_string(after));
    }
    else
      amg.initialize(to, cube.space.rigid_body_modes(), data);
    EXPECT_TRUE(amg.aggregates_fit()) << change.name;
  }
}
