// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "message_of.h"
#include "point_laws.h"
#include "quadrature_cases.h"

#include <patchfem/assembly/law_assembler.h>
#include <patchfem/kernels/materials/solids.h>

#include <omp.h>

#include <cstdio>
#include <cstring>
#include <limits>

namespace
{
  class LawAssemblerTest : public BackendTest
  {};
  PATCHFEM_INSTANTIATE_BACKENDS(LawAssemblerTest);

  Space space_of(const Backend &backend, const ElementTables &tables)
  {
    return Space(backend, tables, Space::AdditionalData(32));
  }

  /** @p factor (hashed - 0.4) where constraints leave it free. */
  Vector<double> some_vector(const Space &space, const double factor)
  {
    std::vector<double> values = some_values(space.n_dofs());
    for (double &value : values)
      value *= factor;
    Vector<double> result = vector_of<double>(space, values);
    space.constraints().distribute(result);
    return result;
  }

  Converged solved()
  {
    return Converged::by_my_own_test(0., 0.);
  }
} // namespace

/** u = (a x, 0, 0) in the unit cube: P = (lambda + 2 mu) a e1 e1 + ..., and the forces at the corners are P n / 4. */
TEST_P(LawAssemblerTest, OneCubeByEye)
{
  const Space               space  = space_of(backend(), synthetic::cube_of_hexahedra(1, 3));
  const std::vector<double> points = space.tables().points;
  std::vector<double>       u(24, 0.);
  for (int i = 0; i < 8; ++i)
    u[3 * i] = 0.5 * points[3 * i];
  LawAssembler solid(space);
  solid.add_law<Materials::LinearElasticity>(CoefficientField::constant({3., 2.}));
  Vector<double> r;
  solid.begin_step({});
  solid.residual(vector_of<double>(space, u), r);
  const std::vector<double> forces = space.by_tables(r);
  for (int i = 0; i < 8; ++i)
    for (int d = 0; d < 3; ++d)
      EXPECT_NEAR(forces[3 * i + d], (points[3 * i + d] > 0.5 ? 0.25 : -0.25) * 0.5 * (d == 0 ? 7. : 3.), 1e-14);
}

/** Equality with Assembler<Elasticity<3>>: cells to resolve in two batches, and hexahedra alone. */
TEST_P(LawAssemblerTest, LinearElasticityIsThatOfTheWeakForm)
{
  for (const ElementTables &tables : {two_batches(3), synthetic::cube_of_hexahedra(7, 3)})
  {
    const Space                 space  = space_of(backend(), tables);
    const auto                  moduli = CoefficientField::constant({3., 2.});
    LawAssembler                solid(space);
    Assembler<Elasticity<3>>    linear(space);
    SlicedEllpackMatrix<double> K, expected_K;
    Vector<double>              rhs, expected, zero;
    solid.add_law<Materials::LinearElasticity>(moduli);
    linear.set_coefficients(moduli);
    for (auto *matrix : {&K, &expected_K})
      space.initialize_matrix(*matrix);
    space.initialize_dof_vector(zero);
    solid.begin_step({});
    rhs = std::numeric_limits<double>::quiet_NaN();
    solid.linearise(zero, K, rhs);
    linear.assemble(expected_K, expected);
    expect_near(K.to_csr_host().values, expected_K.to_csr_host().values, 1e-14);
    expect_near(host_values(rhs), host_values(expected), 1e-13);
  }
}

/** K v against differences of r in the direction C v, for laws with and without symmetry, values, rates and sources. */
template <typename Law>
void compare_with_differences(const Backend             &backend,
                              const double               size,
                              const std::vector<double> &parameters,
                              const ElementTables       &tables)
{
  Space                       space = space_of(backend, tables);
  LawAssembler                laws(space);
  SlicedEllpackMatrix<double> K;
  Vector<double>              rhs, product, plus, minus, r;
  QuadratureField<double>     field(space, 1);
  laws.add_law<Law>(CoefficientField::constant(parameters));
  laws.set_fields(field);
  EXPECT_EQ(laws.symmetric(), LawTraits<Law>::symmetric);
  space.update_inhomogeneities(std::vector<double>(tables.constraints.n_lines(), 0.));
  const Vector<double> u = some_vector(space, size);
  laws.set_old(some_vector(space, 0.7));
  laws.begin_step({2., 0.5, 0.7});
  laws.set_rate(2., some_vector(space, 0.3));
  space.initialize_matrix(K);
  laws.linearise(u, K, rhs);
  laws.residual(u, r);
  r *= -1.;
  expect_near(host_values(rhs), host_values(r), 1e-14);

  const double   h = 1e-6;
  Vector<double> v = some_vector(space, 1.), shifted = u;
  shifted.add(h, v);
  laws.residual(shifted, plus);
  shifted.add(-2. * h, v);
  laws.residual(shifted, minus);
  plus.add(-1., minus);
  plus *= 0.5 / h;
  product.reinit(v);
  K.vmult(product, v);
  space.constraints().set_zero(product);
  expect_near(host_values(product), host_values(plus), 3e-8);
}

TEST_P(LawAssemblerTest, TangentsAreDerivatives)
{
  compare_with_differences<Materials::NeoHookean>(backend(), 0.02, {3., 2.}, two_batches(3));
  compare_with_differences<Materials::NeoHookean>(backend(), 0.02, {3., 2.}, synthetic::cube_of_hexahedra(5, 3));
  compare_with_differences<Counter>(backend(), 1., {0.}, two_batches(3));
  compare_with_differences<Conduction<3>>(backend(), 1., {0.5}, two_batches(1));
}

/** States are written by commit() alone, and each point has its own. */
TEST_P(LawAssemblerTest, StatesBelongToSteps)
{
  const Space  space = space_of(backend(), two_batches(3));
  LawAssembler laws(space);
  laws.add_law<Counter>(CoefficientField::constant({7.}));
  const Vector<double>        u = some_vector(space, 1.);
  Vector<double>              r, again, rhs;
  SlicedEllpackMatrix<double> K;
  space.initialize_matrix(K);
  EXPECT_EQ(message_of([&] { laws.residual(u, r); }),
            "A residual was asked for outside of a step; call begin_step() first.");
  EXPECT_EQ(message_of([&] { laws.commit(u, solved()); }),
            "A step was committed that was not begun; call begin_step() first.");
  QuadratureField<double> gradients(space, 15);
  std::vector<double>     sums;
  const auto              states = [&] {
    std::vector<std::pair<int, double>> result;
    for (const std::vector<double> &words : laws.copy_state_to_host())
      for (std::size_t i = 0; i < words.size(); i += 2)
      {
        Counter::State state;
        std::memcpy(&state, &words[i], sizeof(state));
        result.push_back({state.steps, state.sum});
      }
    return result;
  };
  laws.begin_step({});
  for (const auto &[steps, sum] : states())
  {
    EXPECT_EQ(steps, 100);
    EXPECT_EQ(sum, 7.);
  }
  for (int step = 1; step <= 2; ++step)
  {
    laws.begin_step({});
    laws.residual(u, r);
    laws.linearise(u, K, rhs);
    laws.linearise(u, K, rhs);
    laws.residual(u, again);
    EXPECT_EQ(r.copy_to_host(), again.copy_to_host());
    laws.begin_step({}); // the step was given up
    laws.commit(u, solved());
    EXPECT_THROW(laws.commit(u, solved()), Error);
    const auto                             now      = states();
    const std::vector<std::vector<double>> expected = laws.flux().copy_to_host();
    std::size_t                            i        = 0;
    for (const std::vector<double> &fluxes : expected)
      for (std::size_t k = 0; k < fluxes.size(); k += 9, ++i)
      {
        ASSERT_EQ(now[i].first, 100 + step);
        const double gradient = fluxes[k] / (100. + step); // of the state before: 100 + step - 1 + 1
        ASSERT_NEAR(now[i].second, 7. + step * gradient, 1e-12);
      }
    ASSERT_EQ(i, now.size());
  }
  // Written back, and then the same.
  const auto   words = laws.copy_state_to_host();
  LawAssembler other(space);
  other.add_law<Counter>(CoefficientField::constant({7.}));
  other.copy_state_from_host(words);
  const auto found = other.copy_state_to_host();
  for (std::size_t b = 0; b < words.size(); ++b)
    EXPECT_EQ(std::memcmp(found[b].data(), words[b].data(), words[b].size() * sizeof(double)),
              0); // some are no numbers
}

/** Each material its law and parameters; both with a symmetric and one without. */
TEST_P(LawAssemblerTest, LawsByMaterial)
{
  ElementTables tables = two_batches(3);
  for (CellTable &cells : tables.batches)
    for (int cell = 0; cell < cells.n_cells; ++cell)
      cells.material_ids[cell] = cell % 3 == 0 ? 5 : 2;
  const Space                 space = space_of(backend(), tables);
  const Vector<double>        u     = some_vector(space, 0.02);
  SlicedEllpackMatrix<double> K;
  Vector<double>              rhs, r;
  space.initialize_matrix(K);

  LawAssembler both(space), one(space);
  both.add_law<Materials::LinearElasticity>(CoefficientField::by_material({{5, {3., 2.}}}), {5});
  both.add_law<Materials::NeoHookean>(CoefficientField::constant({4., 1.}));
  both.begin_step({});
  both.linearise(u, K, rhs);
  both.residual(u, r);
  const auto fluxes = both.flux().copy_to_host();
  one.add_law<Materials::NeoHookean>(CoefficientField::constant({4., 1.}));
  one.begin_step({});
  one.residual(u, r);
  const auto others = one.flux().copy_to_host();
  for (std::size_t b = 0; b < fluxes.size(); ++b)
  {
    const int n_q = tables.batches[b].reference.n_quadrature;
    for (std::size_t i = 0; i < fluxes[b].size(); ++i)
      if (i / 9 / n_q % 3 == 0)
        EXPECT_NE(fluxes[b][i], others[b][i]);
      else
        EXPECT_EQ(fluxes[b][i], others[b][i]);
  }

  LawAssembler mixed(space); // the tangent of Materials::NeoHookean in full
  mixed.add_law<Materials::NeoHookean>(CoefficientField::constant({4., 1.}), {2});
  mixed.add_law<Counter>(CoefficientField::constant({0.}), {5});
  EXPECT_FALSE(mixed.symmetric());
  mixed.begin_step({});
  mixed.linearise(u, K, rhs);
  Vector<double> v = some_vector(space, 0.), plus, minus, product;
  Vector<double> w = some_vector(space, 1.), shifted = u;
  w.add(-1., v); // without the values of constraints
  shifted.add(1e-6, w);
  mixed.residual(shifted, plus);
  shifted.add(-2e-6, w);
  mixed.residual(shifted, minus);
  plus.add(-1., minus);
  plus *= 0.5e6;
  product.reinit(w);
  K.vmult(product, w);
  space.constraints().set_zero(product);
  expect_near(host_values(product), host_values(plus), 3e-7);
}

TEST_P(LawAssemblerTest, RefusalsSayWhere)
{
  ElementTables tables = synthetic::cube_of_hexahedra(3, 3);
  CellTable     second = tables.batches[0]; // cells 20 and on in a batch of their own
  const auto    cut    = [](CellTable &cells, const int begin, const int end) {
    for (auto *list : {&cells.nodes, &cells.geometry})
      if (!list->empty())
        *list = std::vector<int>(list->begin() + 8 * begin, list->begin() + 8 * end);
    for (auto *list : {&cells.material_ids, &cells.active_index})
      if (!list->empty())
        *list = std::vector<int>(list->begin() + begin, list->begin() + end);
    cells.n_cells = end - begin;
  };
  cut(tables.batches[0], 0, 20);
  cut(second, 20, 27);
  tables.batches.push_back(second);
  const Space  space = space_of(backend(), tables);
  LawAssembler solid(space);
  solid.add_law<Materials::NeoHookean>(CoefficientField::constant({3., 2.}));
  std::vector<double> u(space.n_dofs(), 0.);
  Vector<double>      r;
  solid.begin_step({});
  solid.residual(vector_of<double>(space, u), r);
  u[3 * second.nodes[8 * 6 + 7]] = -5.; // the last corner of the last cell goes through it
  const auto        residual     = [&] { solid.residual(vector_of<double>(space, u), r); };
  const std::string message      = message_of(residual);
  const std::string begin        = "The law Materials::NeoHookean fails at (",
                    end          = ": the material is turned inside out (det F is not positive); take shorter steps.";
  ASSERT_EQ(message.substr(0, begin.size()), begin);
  ASSERT_GT(message.size(), end.size());
  EXPECT_EQ(message.substr(message.size() - end.size()), end);
  double x[3];
  ASSERT_EQ(std::sscanf(message.c_str() + begin.size(), "%lf, %lf, %lf", x, x + 1, x + 2), 3) << message;
  const double *corner   = &tables.points[3 * second.nodes[8 * 6 + 7]],
               *opposite = &tables.points[3 * second.nodes[8 * 6]];
  for (int d = 0; d < 3; ++d)
  {
    EXPECT_GT(x[d], opposite[d] - 0.1) << message;
    EXPECT_LT(x[d], corner[d] + 1e-6) << message;
  }
  EXPECT_NE(
      message.find(second.active_index.empty() ? "in cell 6 " : "in cell " + std::to_string(second.active_index[6])),
      std::string::npos)
      << message;
  EXPECT_THROW(residual(), StepFailure);
  EXPECT_THROW(solid.commit(vector_of<double>(space, u), solved()), StepFailure);
  EXPECT_EQ(message, message_of(residual)); // each time
  u.assign(u.size(), 0.);
  residual();
  EXPECT_EQ(r.linfty_norm(), 0.);
  u[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(residual(), StepFailure);
}

TEST_P(LawAssemblerTest, BadInput)
{
  const Space  space = space_of(backend(), two_batches(3));
  LawAssembler laws(space);
  EXPECT_EQ(message_of([&] { laws.begin_step({}); }), "A LawAssembler has no laws; call add_law() first.");
  EXPECT_EQ(message_of([&] { laws.add_law<Conduction<3>>(CoefficientField::constant({1.})); }),
            "The law Conduction<3> is of 1 components, but the space has 3.");
  EXPECT_EQ(message_of([&] { laws.add_law<Conduction<2>>(CoefficientField::constant({1.})); }),
            "The law Conduction<2> is of 2D, but the mesh of 3D.");
  EXPECT_EQ(message_of([&] { laws.add_law<Materials::NeoHookean>(CoefficientField::constant({1.})); }),
            "The law Materials::NeoHookean needs 2 parameters, not 1.");
  EXPECT_EQ(message_of([&] { laws.add_law<Liar>(CoefficientField::constant({1.})); }),
            "The law Liar says that it is symmetric, but its tangent is not; take `symmetric = true` out of it.");
  laws.add_law<Materials::NeoHookean>(CoefficientField::constant({1., 1.}), {7});
  EXPECT_EQ(message_of([&] { laws.add_law<Counter>(CoefficientField::constant({1.}), {7}); }),
            "Material 7 has two laws, Materials::NeoHookean and Counter.");
  EXPECT_EQ(message_of([&] { laws.begin_step({}); }), "Material 0 has no law.");
}

TEST_P(LawAssemblerTest, DataThatLawsReadAreAskedFor)
{
  const Space          space = space_of(backend(), two_batches(1));
  LawAssembler         laws(space);
  const Vector<double> zero = some_vector(space, 0.);
  Vector<double>       r;
  const auto           begin = [&] { laws.begin_step({}); };
  laws.add_law<Conduction<3>>(CoefficientField::constant({1.}));
  EXPECT_EQ(message_of(begin),
            "The law Conduction<3> reads values of the step before; give those at the begin by set_old().");
  laws.set_old(zero);
  EXPECT_EQ(message_of(begin), "The law Conduction<3> reads 1 fields; give them by set_fields().");
  const Space other = space_of(backend(), synthetic::cube_of_hexahedra(2, 1));
  EXPECT_EQ(message_of([&] { laws.set_fields(QuadratureField<double>(other, 1)); }),
            "A law was given a field at the quadrature points of another space.");
  // Of another space of the same cells.
  laws.set_fields(QuadratureField<double>(space_of(backend(), two_batches(3)), 1));
  EXPECT_NO_THROW(begin());
  EXPECT_EQ(message_of([&] { laws.residual(zero, r); }),
            "The law Conduction<3> reads rates; call set_rate() in each step, with 0 for a steady state.");
}

/** Bits do not depend on threads. */
TEST_P(LawAssemblerTest, SameBitsForAnyNumberOfThreads)
{
  const auto run = [&](const int n_threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(n_threads);
    const Space  space = space_of(backend(), two_batches(3));
    LawAssembler solid(space);
    solid.add_law<Materials::NeoHookean>(CoefficientField::constant({3., 2.}));
    SlicedEllpackMatrix<double> K;
    Vector<double>              rhs;
    space.initialize_matrix(K);
    solid.begin_step({});
    solid.linearise(some_vector(space, 0.02), K, rhs);
    omp_set_num_threads(before);
    return std::make_pair(K.to_csr_host().values, rhs.copy_to_host());
  };
  const auto one = run(1);
  EXPECT_EQ(one, run(1));
  EXPECT_EQ(one, run(3));
}

/** Corrections bring u to the constraints, through lines with masters as well, and the space keeps its k. */
TEST_P(LawAssemblerTest, CorrectionsMeetTheConstraints)
{
  const ElementTables tables = two_batches(3);
  Space               space  = space_of(backend(), tables);
  std::vector<double> targets;
  for (std::size_t l = 0; l < tables.constraints.n_lines(); ++l)
    targets.push_back(1e-3 * l - 0.02);
  space.update_inhomogeneities(targets);
  LawAssembler laws(space);
  laws.add_law<Materials::LinearElasticity>(CoefficientField::constant({3., 2.}));
  laws.begin_step({});
  Vector<double>              u = vector_of<double>(space, some_values(space.n_dofs())), rhs, other; // meets none
  SlicedEllpackMatrix<double> K;
  space.initialize_matrix(K);
  EXPECT_TRUE(laws.linearise(u, K, rhs));
  Vector<double> du = vector_of<double>(space, std::vector<double>(space.n_dofs(), 0.25));
  laws.distribute(du);
  u.add(1., du);
  const std::vector<double> values = space.by_tables(u);
  const ConstraintTable    &lines  = tables.constraints;
  for (std::size_t l = 0; l < lines.n_lines(); ++l)
  {
    double expected = targets[l];
    for (auto m = lines.offsets[l]; m < lines.offsets[l + 1]; ++m)
      expected += lines.weights[m] * values[lines.masters[m]];
    EXPECT_NEAR(values[lines.constrained[l]], expected, 1e-13);
  }
  EXPECT_FALSE(laws.linearise(u, K, rhs));
  Vector<double> residual;
  laws.residual(u, residual);
  residual *= -1.;
  expect_near(host_values(rhs), host_values(residual), 1e-14); // no k any more
  du = 0.;
  laws.distribute(du);
  EXPECT_TRUE(du.all_zero());
  du = 0.;
  space.constraints().distribute(du);
  EXPECT_FALSE(du.all_zero());
}
