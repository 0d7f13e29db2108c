// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "laws.h"
#include "message_of.h"
#include "quadrature_cases.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/field_summary.h>

#include <omp.h>

#include <limits>

using namespace PatchFEM;

namespace
{
  using Values = std::vector<std::vector<double>>;

  /** What Probe<3, n_comp> and integrate() have to give, by plain loops over the tables. */
  struct Expected
  {
    Values              probes; ///< [batch][cell][q][value]
    std::vector<double> rhs;    ///< with f = u and F = grad u, before constraints

    Expected(const ElementTables &tables, const std::vector<double> &u) : rhs(u.size())
    {
      const int n_comp = tables.n_components;
      for (const CellTable &cells : tables.batches)
      {
        const ReferenceElement &r = cells.reference;
        probes.emplace_back();
        for (int cell = 0; cell < cells.n_cells; ++cell)
          for (int q = 0; q < r.n_quadrature; ++q)
          {
            SmallMatrix<3, 3, double> J{};
            double                    x[3] = {};
            for (int g = 0; g < r.n_geometry; ++g)
              for (int a = 0; a < 3; ++a)
              {
                const double X = tables.points[cells.geometry[cell * r.n_geometry + g] * 3 + a];
                x[a] += X * r.geometry_values[q * r.n_geometry + g];
                for (int b = 0; b < 3; ++b)
                  J(a, b) += X * r.geometry_gradients[(q * r.n_geometry + g) * 3 + b];
              }
            const double det     = determinant(J);
            const auto   inverse = PatchFEM::inverse(J, det);
            const auto   slope   = [&](const int i, const int d) {
              double sum = 0.;
              for (int b = 0; b < 3; ++b)
                sum += inverse(b, d) * r.shape_gradients[(q * r.n_shape + i) * 3 + b];
              return sum;
            };
            std::vector<double> values(4 * n_comp);
            for (int c = 0; c < n_comp; ++c)
            {
              double at[4] = {};
              for (int i = 0; i < r.n_shape; ++i)
              {
                const double u_i = u[cells.nodes[cell * r.n_shape + i] * n_comp + c];
                at[0] += u_i * r.shape_values[q * r.n_shape + i];
                for (int d = 0; d < 3; ++d)
                  at[1 + d] += u_i * slope(i, d);
              }
              values[c] = at[0];
              std::copy(at + 1, at + 4, values.begin() + n_comp + 3 * c);
              for (int i = 0; i < r.n_shape; ++i)
              {
                double sum = at[0] * r.shape_values[q * r.n_shape + i];
                for (int d = 0; d < 3; ++d)
                  sum += at[1 + d] * slope(i, d);
                rhs[cells.nodes[cell * r.n_shape + i] * n_comp + c] += sum * det * r.weights[q];
              }
            }
            values.insert(values.end(), x, x + 3);
            probes.back().insert(probes.back().end(), values.begin(), values.end());
          }
      }
    }

    void condense(const ConstraintTable &lines)
    {
      for (std::size_t l = 0; l < lines.n_lines(); ++l)
      {
        for (auto m = lines.offsets[l]; m < lines.offsets[l + 1]; ++m)
          rhs[lines.masters[m]] += lines.weights[m] * rhs[lines.constrained[l]];
        rhs[lines.constrained[l]] = 0.;
      }
    }
  };

} // namespace

class QuadratureFieldTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(QuadratureFieldTest);

/** The unit cube with u = x + 2 y + 4 z, Gauss points at 1/2 +- sqrt(1/12). */
TEST_P(QuadratureFieldTest, OneCubeByEye)
{
  const Space               space(backend(), synthetic::cube_of_hexahedra(1, 1));
  const std::vector<double> points = space.tables().points;
  std::vector<double>       u;
  for (int i = 0; i < 8; ++i)
    u.push_back(points[3 * i] + 2. * points[3 * i + 1] + 4. * points[3 * i + 2]);
  QuadratureField<double> field(space, 7);
  field.evaluate<Probe<3, 1>>(vector_of<double>(space, u));
  const std::vector<double> values = field.copy_to_host()[0];
  ASSERT_EQ(values.size(), 56u);
  // Sums of eight terms, whose products a device does not round before they are added: a few units in the last place.
  const double few = 8. * std::numeric_limits<double>::epsilon();
  for (int q = 0; q < 8; ++q)
  {
    const double *at = values.data() + 7 * q;
    for (int d = 0; d < 3; ++d)
    {
      EXPECT_NEAR(at[1 + d], 1 << d, 1e-14);
      EXPECT_NEAR(at[4 + d], 0.5 + ((q >> d) & 1 ? 1. : -1.) * std::sqrt(1. / 12.), few);
    }
    EXPECT_NEAR(at[0], at[4] + 2. * at[5] + 4. * at[6], 1e-14);
  }

  // int grad u . grad phi_i = sum_d +- 2^d / 4, and int u phi_i, whose sum is the mean of u.
  Vector<double> rhs;
  integrate(space, {}, field.components(1, 3), rhs);
  for (int i = 0; i < 8; ++i)
  {
    double expected = 0.;
    for (int d = 0; d < 3; ++d)
      expected += (points[3 * i + d] > 0.5 ? 0.25 : -0.25) * (1 << d);
    EXPECT_NEAR(rhs.copy_to_host()[space.batches().new_of_old()[i]], expected, few);
  }
  integrate(space, field.components(0, 1), {}, rhs);
  double sum = 0.;
  for (const double value : rhs.copy_to_host())
    sum += value;
  EXPECT_NEAR(sum, 3.5, 1e-14);
}

/** More points and unknowns than warps and blocks have threads, in two batches; what was there before is not a number. */
TEST_P(QuadratureFieldTest, AgreesWithPlainLoops)
{
  const auto check = [&](auto probe, auto number, const double bound, const int cells = 5) {
    using Number               = decltype(number);
    using Law                  = decltype(probe);
    constexpr int       n      = Law::n_components;
    const ElementTables tables = two_batches(n, cells);
    const Space         space(backend(), tables, Space::AdditionalData(32));
    const auto          u = some_values(space.n_dofs());
    Expected            expected(tables, u);

    QuadratureField<Number> field(space, Law::n_values);
    Vector<Number>          rhs(backend(), space.n_dofs()), bad(backend(), space.n_dofs());
    bad = std::numeric_limits<Number>::quiet_NaN();
    field.template evaluate<Law>(bad);
    rhs = std::numeric_limits<Number>::quiet_NaN();
    field.template evaluate<Law>(vector_of<Number>(space, u));
    const Values found = field.copy_to_host();
    ASSERT_EQ(found.size(), 2u);
    for (int b = 0; b < 2; ++b)
      expect_near(found[b], expected.probes[b], bound);

    const QuadratureField<Number> load = field.components(0, n), flux = field.components(n, 3 * n);
    integrate(space.unconstrained(), load, flux, rhs);
    expect_near(host_values(rhs), host_values(vector_of<double>(space, expected.rhs)), bound);
    rhs = std::numeric_limits<Number>::quiet_NaN();
    integrate(space, load, flux, rhs);
    expected.condense(tables.constraints);
    expect_near(host_values(rhs), host_values(vector_of<double>(space, expected.rhs)), bound);
  };
  check(Probe<3, 1>(), double(), 1e-13);
  check(Probe<3, 3>(), double(), 1e-13);
  check(Probe<3, 1>(), double(), 1e-13, 26); // more points than integrate() takes at a time
  check(Probe<3, 1>(), float(), 1e-5);
  check(Probe<3, 3>(), float(), 1e-5);
}

TEST_P(QuadratureFieldTest, SameBitsForAnyNumberOfThreads)
{
  const auto run = [&](const int n_threads) {
    const int before = omp_get_max_threads();
    omp_set_num_threads(n_threads);
    const Space             space(backend(), two_batches(1), Space::AdditionalData(32)); // with its lists of cells
    const auto              u = vector_of<double>(space, some_values(space.n_dofs()));
    QuadratureField<double> field(space, 7);
    Vector<double>          rhs;
    field.evaluate<Probe<3, 1>>(u);
    integrate(space, field.components(0, 1), field.components(1, 3), rhs);
    omp_set_num_threads(before);
    return std::make_pair(field.copy_to_host(), rhs.copy_to_host());
  };
  const auto one = run(1);
  EXPECT_EQ(one, run(1));
  EXPECT_EQ(one, run(3));
}

TEST_P(QuadratureFieldTest, AssemblersSeeWhatIsEvaluated)
{
  const Space                 space(backend(), two_batches(1), Space::AdditionalData(32));
  QuadratureField<double>     field(space, 7);
  SlicedEllpackMatrix<double> matrix;
  Vector<double>              rhs;
  space.initialize_matrix(matrix);
  for (const Space &domain : {space, space.unconstrained()})
  {
    Assembler<Diffusion<3>> on_device(domain), through_host(domain);
    on_device.set_coefficients(field);
    on_device.set_body_load(field.components(2, 1));
    domain.initialize_matrix(matrix);
    for (const double factor : {1., -2.})
    {
      std::vector<double> u = some_values(space.n_dofs());
      for (double &value : u)
        value *= factor;
      field.evaluate<Probe<3, 1>>(vector_of<double>(space, u));
      on_device.assemble(matrix, rhs);
      const std::vector<double> values = matrix.to_csr_host().values, loads = rhs.copy_to_host();
      through_host.set_coefficients(CoefficientField::at_quadrature_points(7, field.copy_to_host()));
      through_host.set_body_load(CoefficientField::at_quadrature_points(1, field.components(2, 1).copy_to_host()));
      through_host.assemble(matrix, rhs);
      EXPECT_EQ(values, matrix.to_csr_host().values);
      EXPECT_EQ(loads, rhs.copy_to_host());
    }
  }
}

TEST_P(QuadratureFieldTest, ParametersAreNotWhatIsWritten)
{
  const Space             space(backend(), synthetic::cube_of_hexahedra(1, 1));
  const auto              u = vector_of<double>(space, std::vector<double>(8, 10.));
  QuadratureField<double> both(space, 4), state = both.components(0, 2), next = both.components(2, 2), copy = state;
  state.evaluate<Exchange>(u, CoefficientField::constant({1., 2.}));
  const auto check = [&](const QuadratureField<double> &field, const double first, const double second) {
    const std::vector<double> values = field.copy_to_host()[0];
    for (int q = 0; q < 8; ++q)
    {
      EXPECT_NEAR(values[2 * q], first, 1e-13);
      EXPECT_NEAR(values[2 * q + 1], second, 1e-13);
    }
  };
  check(copy, 2., 11.);
  next.evaluate<Exchange>(u, state);
  check(next, 11., 12.);
  EXPECT_EQ(message_of([&] { state.evaluate<Exchange>(u, copy); }),
            "A law cannot write the values that it reads as parameters; give it another field.");
  EXPECT_THROW(both.components(1, 2).evaluate<Exchange>(u, state), Error);
}

/** (p, q) -> (q, p + u) with parameters of each cell, and with two values in the middle of five of another field. */
TEST_P(QuadratureFieldTest, ParametersByCellOrOfAWiderField)
{
  const ElementTables tables = two_batches(1);
  const Space         space(backend(), tables, Space::AdditionalData(32));
  const auto          u = vector_of<double>(space, std::vector<double>(space.n_dofs(), 10.));
  Values              by_cell, wide;
  for (const CellTable &batch : tables.batches)
  {
    by_cell.emplace_back();
    wide.emplace_back();
    for (int cell = 0; cell < batch.n_cells; ++cell)
    {
      by_cell.back().insert(by_cell.back().end(), {1. + cell, -2. * cell});
      for (int q = 0; q < batch.reference.n_quadrature; ++q)
        wide.back().insert(wide.back().end(), {10. + cell, -q - 2.});
    }
  }
  // u is 10 but for rounding.
  const auto check = [&](const QuadratureField<double> &found, const auto &first, const auto &second) {
    const Values values = found.copy_to_host();
    for (std::size_t b = 0; b < values.size(); ++b)
    {
      const int n_q = tables.batches[b].reference.n_quadrature;
      ASSERT_EQ(values[b].size(), std::size_t(tables.batches[b].n_cells) * n_q * 2);
      for (int i = 0; i < tables.batches[b].n_cells * n_q; ++i)
      {
        EXPECT_NEAR(values[b][2 * i], second(i / n_q, i % n_q), 1e-12);
        EXPECT_NEAR(values[b][2 * i + 1], first(i / n_q, i % n_q) + 10., 1e-12);
      }
    }
  };
  QuadratureField<double> result(space, 2), field(space, 5);
  result.evaluate<Exchange>(u, CoefficientField::by_cell(2, by_cell));
  check(
      result, [](int cell, int) { return 1. + cell; }, [](int cell, int) { return -2. * cell; });

  QuadratureField<double> middle = field.components(2, 2);
  middle.evaluate<Exchange>(u, CoefficientField::at_quadrature_points(2, wide)); // (-q - 2, 20 + cell)
  result.evaluate<Exchange>(u, middle);
  check(
      result, [](int, int q) { return -q - 2.; }, [](int cell, int) { return 20. + cell; });
  const Values all = field.copy_to_host();
  for (std::size_t i = 0; i < all[0].size(); i += 5)
    EXPECT_TRUE(all[0][i] == 0. && all[0][i + 1] == 0. && all[0][i + 4] == 0.) << "beside the two values";
}

/** Devices divide by steps of Newton: to the last bit or the one before it over the range of normal numbers. */
TEST_P(QuadratureFieldTest, QuotientsOfAllSizes)
{
  const ElementTables tables = synthetic::cube_of_hexahedra(5, 1);
  const Space         space(backend(), tables);
  const auto          u = vector_of<double>(space, std::vector<double>(space.n_dofs(), 1.));
  const int           n = tables.batches[0].n_cells * 8;
  std::vector<double> parameters(2 * n), expected(n);
  const auto          hashed = [](const int i) { return 1. + synthetic::hashed(i); };
  for (int i = 0; i < n; ++i)
  {
    const int size        = 2 * (i % 1000) - 1000; // of b
    parameters[2 * i]     = i < 8 ? 1. : (i % 3 == 0 ? -1. : 1.) * std::ldexp(hashed(2 * i), size / 2);
    parameters[2 * i + 1] = i < 8 ? (i < 4 ? 0. : 3. * i) : std::ldexp(hashed(2 * i + 1), size);
    expected[i]           = parameters[2 * i] / parameters[2 * i + 1];
  }
  QuadratureField<double> result(space, 1);
  result.evaluate<Quotient>(u, CoefficientField::at_quadrature_points(2, {parameters}));
  const std::vector<double> found = result.copy_to_host()[0];
  for (int i = 0; i < n; ++i)
    if (parameters[2 * i + 1] == 0.)
    {
      EXPECT_FALSE(std::isfinite(found[i])) << "1 / 0";
    }
    else
    {
      EXPECT_GE(found[i], std::nextafter(expected[i], -HUGE_VAL)) << i;
      EXPECT_LE(found[i], std::nextafter(expected[i], HUGE_VAL)) << i;
    }
}

TEST(QuadratureFieldErrors, NameTheirCause)
{
  const Backend host("host");
  const Space   space(host, synthetic::cube_of_hexahedra(1, 1)), other(host, synthetic::cube_of_hexahedra(2, 1));
  QuadratureField<double> field(space, 7), two(space, 2), none;
  Vector<double>          u(host, 8), rhs;
  Assembler<Laplace<3>>   assembler(space);
  const auto              expect_error = [&](const auto &function, const std::string &part) {
    try
    {
      function();
      FAIL() << "no error with " << part;
    }
    catch (const Error &error)
    {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    }
  };
  expect_error([&] { none.evaluate<Probe<3, 1>>(u); }, "before it was made");
  expect_error([&] { field.evaluate<Probe<3, 3>>(u); }, "different numbers of components");
  expect_error([&] { two.evaluate<Probe<3, 1>>(u); }, "writes 7 values at each point, but the field has 2");
  expect_error([&] { field.evaluate<Probe<3, 1>>(Vector<double>(host, 7)); }, "entry for each unknown");
  expect_error([&] { two.evaluate<Exchange>(u); }, "needs 2 parameters");
  expect_error([&] { two.evaluate<Exchange>(u, field); }, "needs 2 values, not 7");
  expect_error([&] { two.evaluate<Exchange>(u, QuadratureField<double>(other, 2)); }, "of another space");
  expect_error([&] { field.components(5, 3); }, "does not have values 5 to 7");
  expect_error([&] { QuadratureField<double>(space, 0); }, "at least one value");
  expect_error([&] { integrate(space, field, none, rhs); }, "load of integrate() needs 1 values, not 7");
  expect_error([&] { integrate(other, none, field.components(0, 3), rhs); }, "of another space");
  expect_error([&] { assembler.set_coefficients(field); }, "weak form needs 1 values, not 7");
  expect_error([&] { assembler.set_body_load(field); }, "body load needs 1 values, not 7");
}

/** Integrals of u are the sums of int u phi_i; extremes and their places those of all points; two batches, many lanes. */
TEST_P(QuadratureFieldTest, IntegralsAndExtremes)
{
  for (const int n : {2, 12}) // fewer and more cells than lanes of a group
  {
    ElementTables tables = two_batches(3, n);
    for (CellTable &batch : tables.batches)
      for (int cell = 0; cell < batch.n_cells; ++cell)
        batch.material_ids[cell] = cell % 3;
    const Space               space(backend(), tables);
    const std::vector<double> u = some_values(std::int64_t(tables.n_nodes) * 3);
    const Expected            expected(tables, u);
    const auto                vector    = vector_of<double>(space, u);
    const auto                integrals = integrate_fields<Probe<3, 3>>(space, vector);
    std::vector<double>       by_component(3), of_materials(integrals.size());
    for (std::size_t i = 0; i < expected.rhs.size(); ++i)
      by_component[i % 3] += expected.rhs[i];
    expect_near({integrals.begin(), integrals.begin() + 3}, by_component, 1e-12);
    for (const int material : {0, 1, 2, 3}) // the last one has no cells
    {
      const auto part = integrate_fields<Probe<3, 3>>(space, vector, {}, material);
      for (std::size_t k = 0; k < part.size(); ++k)
        of_materials[k] += part[k];
    }
    expect_near(of_materials, integrals, 1e-12);

    const FieldExtremes extremes = field_extremes<Probe<3, 3>>(space, vector);
    for (std::size_t k = 0; k < integrals.size(); ++k)
      for (const double sign : {-1., 1.})
      {
        const double *best = nullptr;
        for (const auto &of_batch : expected.probes)
          for (std::size_t i = 0; i < of_batch.size(); i += integrals.size())
            if (best == nullptr || sign * of_batch[i + k] > sign * best[k])
              best = &of_batch[i];
        const FieldExtreme &found = (sign < 0. ? extremes.least : extremes.most)[k];
        EXPECT_NEAR(found.value, best[k], 1e-12 * std::abs(best[k]) + 1e-13);
        if (k < 3) // gradients and positions are as large at several points
          for (int d = 0; d < 3; ++d)
            EXPECT_NEAR(found.place[d], best[integrals.size() - 3 + d], 1e-13);
      }
  }
}
