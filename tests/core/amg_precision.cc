// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/matrix/csr_matrix.h>
#include <patchfem/lac/matrix/mdia_matrix.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <array>
#include <numeric>

using namespace PatchFEM;

/** What multigrid keeps in fp32 and what it does not, and which cycle it takes. */
class AMGPrecisionTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(AMGPrecisionTest);

namespace
{
  using Data = PreconditionAMG<double>::AdditionalData;

  /**
   * A beam of 3 x 3 x length nodes, clamped at one end, in blocks of 3: springs between any two nodes of a cell, with the
   * energy (d . (u_i - u_j))^2 / |d|^2. Its softest mode has about length^-4 of the energy of the diagonal. @p bedding is
   * added to the diagonal, which makes it easy.
   */
  struct Beam
  {
    HostCSR<double>     matrix;
    std::vector<double> points;

    explicit Beam(const int length, const double bedding = 0.)
    {
      const int n_nodes = 9 * length;
      matrix.n_rows = matrix.n_columns = 3 * n_nodes;
      matrix.row_offsets.push_back(0);
      for (int i = 0; i < n_nodes; ++i)
      {
        const std::array<int, 3> p{i % 3, i / 3 % 3, i / 9};
        std::map<int, Dense3>    row;
        points.insert(points.end(), {double(p[0]), double(p[1]), double(p[2])});
        for (int a = 0; a < 3; ++a)
          row[i].values[4 * a] += bedding;
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
            {
              const int d[3] = {dx, dy, dz}, norm = dx * dx + dy * dy + dz * dz;
              const int j = i + dx + 3 * dy + 9 * dz;
              // One layer before the first is the clamp.
              if (norm == 0 || p[0] + dx < 0 || p[0] + dx > 2 || p[1] + dy < 0 || p[1] + dy > 2 || p[2] + dz >= length)
                continue;
              for (int a = 0; a < 3; ++a)
                for (int b = 0; b < 3; ++b)
                {
                  row[i].values[a * 3 + b] += double(d[a] * d[b]) / norm;
                  if (p[2] + dz >= 0)
                    row[j].values[a * 3 + b] -= double(d[a] * d[b]) / norm;
                }
            }
        for (int a = 0; a < 3; ++a)
        {
          for (const auto &[j, block] : row)
            for (int b = 0; b < 3; ++b)
            {
              matrix.columns.push_back(3 * j + b);
              matrix.values.push_back(block.values[a * 3 + b]);
            }
          matrix.row_offsets.push_back(matrix.columns.size());
        }
      }
    }

    struct Dense3
    {
      double values[9] = {};
    };
  };

  HostCSR<double> scaled(HostCSR<double> A, const int exponent)
  {
    for (double &value : A.values)
      value = std::ldexp(value, exponent);
    return A;
  }

  /** Three levels and more of a beam. */
  Data small_levels()
  {
    Data data;
    data.coarse_size = 60;
    return data;
  }

  /** Differences of an operator that is the same in all directions, on a grid narrow in x if they are large there. */
  HostCSR<double> differences(const int n, const double coupling_in_x)
  {
    const int       n_nodes = n * n * n;
    HostCSR<double> grid{n_nodes, n_nodes, {0}, {}, {}};
    for (int i = 0; i < n_nodes; ++i)
    {
      std::vector<std::pair<int, double>> row(1, {i, 1e-3});
      for (const auto &[stride, coupling] :
           std::vector<std::pair<int, double>>{{1, coupling_in_x}, {n, 1.}, {n * n, 1.}})
        for (const int step : {-1, 1})
          if (const int at = i / stride % n + step; at >= 0 && at < n)
          {
            row.emplace_back(i + step * stride, -coupling);
            row[0].second += coupling;
          }
      std::sort(row.begin(), row.end());
      grid.append_row(row);
    }
    return grid;
  }

  std::vector<double> needle_points(const int n)
  {
    std::vector<double> points = cases::grid_points(n);
    for (std::size_t i = 0; i < points.size(); i += 3)
      points[i] *= 0.1; // short in x
    return points;
  }

  NearNullSpace modes_of(const Backend &backend, const Beam &beam)
  {
    return NearNullSpace::rigid_body_modes(3, Array<double>(backend, beam.points));
  }

  IterationResult solve(const MatrixBase<double> &A, const PreconditionBase<double> &M)
  {
    Vector<double>   x(A.backend(), A.n_rows()), b(A.backend(), cases::random_values(A.n_rows(), 8));
    IterationControl control;
    control.tolerance = 0.;
    control.reduction = 1e-8;
    ConjugateGradients<double> cg;
    const IterationResult      result = cg.solve(A, x, b, M, control);
    EXPECT_TRUE(result.success()) << result.message("amg");
    return result;
  }

  std::vector<double> apply(const Backend &backend, const PreconditionAMG<double> &M, const std::vector<double> &v)
  {
    Vector<double> x(backend, cases::not_a_number<double>(v.size()));
    M.vmult(x, Vector<double>(backend, v));
    return x.copy_to_host();
  }

  double dot(const std::vector<double> &u, const std::vector<double> &v)
  {
    double sum = 0.;
    for (std::size_t i = 0; i < u.size(); ++i)
      sum += u[i] * v[i];
    return sum;
  }

  void expect_symmetric_positive(const Backend &backend, const PreconditionAMG<double> &M, const std::size_t n)
  {
    std::vector<std::vector<double>> v, Mv;
    for (int k = 0; k < 4; ++k)
    {
      v.push_back(k == 3 ? std::vector<double>(n, 1.) : cases::random_values(n, 40 + k));
      Mv.push_back(apply(backend, M, v.back()));
      EXPECT_GT(dot(v[k], Mv[k]), 0.);
    }
    for (int k = 0; k < 4; ++k)
      for (int l = 0; l < k; ++l)
        EXPECT_LE(std::abs(dot(v[k], Mv[l]) - dot(v[l], Mv[k])), 1e-6 * std::sqrt(dot(v[k], v[k]) * dot(Mv[l], Mv[l])));
  }

  int n_single(const PreconditionAMG<double> &amg)
  {
    int result = 0;
    for (const AMGLevelStatistics &level : amg.statistics())
      result += level.single;
    return result;
  }
} // namespace

TEST_P(AMGPrecisionTest, ConditionOfTheLaplacian)
{
  // With D the diagonal, D^-1 A has the smallest eigenvalue 1 - cos(pi / (n + 1)), in 2D the mean of those.
  const double pi = std::acos(-1.);
  for (const int coarse_size : {500, 30})
    for (const auto &[nx, ny] : std::vector<std::pair<int, int>>{{100, 1}, {2000, 1}, {20, 20}, {90, 70}})
      for (const bool single : {false, true})
      {
        SCOPED_TRACE(std::to_string(nx) + " x " + std::to_string(ny) + ", coarse size " + std::to_string(coarse_size));
        const double least =
            ny == 1 ? 1. - std::cos(pi / (nx + 1)) : 1. - 0.5 * (std::cos(pi / (nx + 1)) + std::cos(pi / (ny + 1)));
        const SlicedEllpackMatrix<double> matrix(backend(), cases::laplacian<double>(nx, ny));
        Data                              data;
        data.coarse_size      = coarse_size;
        data.single_precision = single;
        PreconditionAMG<double> amg;
        amg.initialize(matrix, NearNullSpace::constants(backend(), nx * ny, 1), data);
        EXPECT_EQ(amg.fallback(), "");
        // Coarse levels see the softest mode through their prolongators, with the more energy the wider aggregates are:
        // lines of nine nodes and more are the worst.
        const double seen = std::pow(ny == 1 ? 0.18 : 0.4, amg.n_levels() - 1.);
        EXPECT_LE(amg.condition(), 1.01 / least);
        EXPECT_GE(amg.condition(), (1. - 1e-5) * seen / least); // the inverse is in fp32
        if (nx * ny <= coarse_size)
        {
          EXPECT_EQ(amg.n_levels(), 1u);
          EXPECT_NEAR(amg.condition() * least, 1., 0.01);
        }
        // Numbers of other units, and of other diagonals, do not change it.
        const SlicedEllpackMatrix<double> large(backend(), scaled(cases::laplacian<double>(nx, ny), 30));
        const double                      before = amg.condition();
        amg.update(large);
        EXPECT_NEAR(amg.condition(), before, 1e-3 * before);
      }
}

TEST_P(AMGPrecisionTest, ConstantsKnowTheirPoints)
{
  const std::vector<double> points = cases::random_values(3 * 50, 1);
  const NearNullSpace       space  = NearNullSpace::constants(2, 3, Array<double>(backend(), points));
  EXPECT_EQ(space.points().to_vector(), points);
  EXPECT_EQ(space.dim(), 3);
  EXPECT_EQ(space.n_unknowns(), 100);
  EXPECT_EQ(space.array().to_vector(), NearNullSpace::constants(backend(), 50, 2).array().to_vector());
  EXPECT_TRUE(NearNullSpace::constants(backend(), 50, 2).points().empty());
  const NearNullSpace rigid = NearNullSpace::rigid_body_modes(3, Array<double>(backend(), points));
  EXPECT_EQ(rigid.points().to_vector(), points);
  EXPECT_EQ(rigid.dim(), 3);
  EXPECT_THROW(NearNullSpace::constants(1, 4, Array<double>(backend(), points)), Error);
}

TEST_P(AMGPrecisionTest, HierarchiesUseThePoints)
{
  // On needles aggregates are lines.
  const int                         n = 9;
  const SlicedEllpackMatrix<double> matrix(backend(), differences(n, 100.));
  const std::vector<double>         points = needle_points(n);
  MISAggregation                    aggregation;
  PreconditionAMG<double>           amg;
  Data                              data = small_levels();
  amg.initialize(matrix, NearNullSpace::constants(1, 3, Array<double>(backend(), points)), aggregation, data);
  const std::vector<int> of_node = amg.single_hierarchy().aggregates(0).aggregate_of_node().to_vector();
  std::map<int, int>     line;
  for (int i = 0; i < n * n * n; ++i)
    if (of_node[i] >= 0)
    {
      const auto at = line.emplace(of_node[i], i / n);
      ASSERT_EQ(at.first->second, i / n) << "an aggregate leaves its line";
    }
  EXPECT_GE(line.size(), std::size_t(n * n));
  solve(matrix, amg);
}

TEST_P(AMGPrecisionTest, WhatFP32CannotHoldIsInDouble)
{
  const Beam                        beam(150);
  const SlicedEllpackMatrix<double> matrix(backend(), beam.matrix, 3);
  const CSRMatrix<double>           rows(backend(), beam.matrix, 3);
  Data                              in_double = Data();
  in_double.single_precision                  = false;
  PreconditionAMG<double> fp64;
  fp64.initialize(matrix, modes_of(backend(), beam), in_double);
  EXPECT_EQ(fp64.fallback(), "") << "it was not asked for";
  EXPECT_EQ(n_single(fp64), 0);
  ASSERT_GE(fp64.n_levels(), 2u);
  const int expected = solve(matrix, fp64).n_iterations;
  for (const MatrixBase<double> *A :
       {static_cast<const MatrixBase<double> *>(&matrix), static_cast<const MatrixBase<double> *>(&rows)})
  {
    PreconditionAMG<double> amg;
    amg.initialize(*A, modes_of(backend(), beam), Data());
    EXPECT_GT(amg.condition(), Data().single_limit);
    EXPECT_LT(amg.condition(), Data().finest_limit);
    EXPECT_NEAR(amg.condition(), fp64.condition(), 1e-6 * fp64.condition());
    EXPECT_NE(amg.fallback(), "");
    EXPECT_EQ(amg.n_levels(), fp64.n_levels());
    EXPECT_EQ(n_single(amg), 1);
    EXPECT_TRUE(amg.statistics()[0].single);
    EXPECT_GT(amg.memory_consumption(), 0u);
    expect_symmetric_positive(backend(), amg, A->n_rows());
    EXPECT_NEAR(int(solve(*A, amg).n_iterations), expected, 3.);
    EXPECT_LE(expected, 18);
  }

  // Limits move what is in fp32: the finest level not either, or everything.
  Data data         = Data();
  data.finest_limit = 1e7;
  PreconditionAMG<double> none, all;
  none.initialize(matrix, modes_of(backend(), beam), data);
  EXPECT_NE(none.fallback(), "");
  EXPECT_EQ(n_single(none), 0);
  const std::vector<double> v = cases::random_values(matrix.n_rows(), 3);
  EXPECT_EQ(apply(backend(), none, v), apply(backend(), fp64, v));
  const Beam                        easy_beam(150, 0.1);
  const SlicedEllpackMatrix<double> easy(backend(), easy_beam.matrix, 3);
  all.initialize(easy, modes_of(backend(), easy_beam), Data());
  EXPECT_EQ(all.fallback(), "");
  EXPECT_EQ(n_single(all), int(all.n_levels()));
  data              = Data();
  data.single_limit = 2.;
  all.initialize(easy, modes_of(backend(), easy_beam), data);
  EXPECT_NE(all.fallback(), "");
  EXPECT_EQ(n_single(all), 1);
}

TEST_P(AMGPrecisionTest, LevelsInDoubleAreWhatTheyAreWithoutThoseInSingle)
{
  // Scalars, which the host coarsens row by row, rows that leave blocks out, and blocks.
  const Beam                        beam(150);
  const SlicedEllpackMatrix<double> matrices[] = {SlicedEllpackMatrix<double>(backend(), differences(12, 1.)),
                                                  SlicedEllpackMatrix<double>(backend(), differences(12, 100.)),
                                                  SlicedEllpackMatrix<double>(backend(), beam.matrix, 3)};
  const NearNullSpace modes[] = {NearNullSpace::constants(1, 3, Array<double>(backend(), cases::grid_points(12))),
                                 NearNullSpace::constants(1, 3, Array<double>(backend(), needle_points(12))),
                                 modes_of(backend(), beam)};
  for (const AMGSmoother smoother : {AMGSmoother::chebyshev, AMGSmoother::factorized_inverse})
    for (int i = 0; i < 3; ++i)
    {
      SCOPED_TRACE(std::to_string(static_cast<int>(smoother)) + ", matrix " + std::to_string(i));
      Data data             = Data();
      data.coarse_size      = 20;
      data.smoother         = smoother;
      data.single_precision = false;
      PreconditionAMG<double> expected, found;
      expected.initialize(matrices[i], modes[i], data);
      data.single_precision = true;
      data.single_limit = data.finest_limit = 0.;
      std::map<std::string, int> n_calls; // on the finest level
      found.monitor([&](const unsigned int level, const std::string &phase) { n_calls[phase] += level == 0; });
      found.initialize(matrices[i], modes[i], data);
      found.monitor({});
      EXPECT_EQ(n_calls["aggregates"], 1);
      EXPECT_EQ(n_calls["smoother"], 2) << "of levels in fp32 that are given up only the diagonal and its bound";
      EXPECT_EQ(n_calls["values"], 2);
      EXPECT_NE(found.fallback(), "");
      EXPECT_GE(found.n_levels(), 3u);
      EXPECT_EQ(found.hierarchy().aggregates(0).stretched(), i == 1);
      const std::vector<double> v = cases::random_values(matrices[i].n_rows(), 9), Mv = apply(backend(), expected, v);
      EXPECT_EQ(apply(backend(), found, v), Mv);
      EXPECT_EQ(found.memory_consumption(), expected.memory_consumption()) << "something is left behind";
      found.update(matrices[i]);
      EXPECT_EQ(apply(backend(), found, v), Mv);

      // The finest level in fp32 is the same whenever its bounds were found.
      data.finest_limit = Data().finest_limit;
      found.initialize(matrices[i], modes[i], data);
      EXPECT_EQ(n_single(found), 1);
      const std::vector<double> single_finest = apply(backend(), found, v);
      found.update(matrices[i]);
      EXPECT_EQ(apply(backend(), found, v), single_finest);
    }
}

TEST_P(AMGPrecisionTest, ASingleLevelIsInvertedInDouble)
{
  const Beam                        beam(12), stiff(12, 0.1);
  const SlicedEllpackMatrix<double> matrix(backend(), beam.matrix, 3), stiff_matrix(backend(), stiff.matrix, 3);
  Data                              data;
  for (const bool by_update : {false, true})
  {
    PreconditionAMG<double> amg;
    data.single_limit = by_update ? 300. : 1.;
    amg.initialize(by_update ? stiff_matrix : matrix, modes_of(backend(), beam), data);
    ASSERT_EQ(amg.n_levels(), 1u);
    EXPECT_EQ(amg.fallback() == "", by_update);
    amg.update(matrix);
    EXPECT_NE(amg.fallback(), "");
    EXPECT_EQ(n_single(amg), 0);
    EXPECT_LE(solve(matrix, amg).n_iterations, 2u);
    EXPECT_GT(amg.memory_consumption(), 0u);
  }
}

TEST_P(AMGPrecisionTest, UpdatesThatCrossTheLimit)
{
  const Beam                        easy(150, 0.1), hard(150);
  const SlicedEllpackMatrix<double> sliced[2] = {SlicedEllpackMatrix<double>(backend(), easy.matrix, 3),
                                                 SlicedEllpackMatrix<double>(backend(), hard.matrix, 3)};
  const CSRMatrix<double>           rows[2]   = {CSRMatrix<double>(backend(), easy.matrix, 3),
                                                 CSRMatrix<double>(backend(), hard.matrix, 3)};
  const std::vector<double>         v         = cases::random_values(hard.matrix.n_rows, 4);
  for (const bool csr : {false, true})
  {
    const auto A = [&](const int i) -> const MatrixBase<double> & {
      return csr ? static_cast<const MatrixBase<double> &>(rows[i]) : sliced[i];
    };
    PreconditionAMG<double> fresh, updated;
    fresh.initialize(A(1), modes_of(backend(), hard), Data());
    ASSERT_NE(fresh.fallback(), "");
    updated.initialize(A(0), modes_of(backend(), hard), Data());
    ASSERT_EQ(updated.fallback(), "");
    const std::vector<double> before = apply(backend(), updated, v);
    updated.update(A(1));
    EXPECT_NE(updated.fallback(), "");
    EXPECT_EQ(n_single(updated), 1);
    EXPECT_EQ(updated.condition(), fresh.condition());
    EXPECT_EQ(apply(backend(), updated, v), apply(backend(), fresh, v));
    EXPECT_EQ(solve(A(1), updated).n_iterations, solve(A(1), fresh).n_iterations);
    // And again on the same side, and back: levels stay in fp64, and precondition all the same.
    updated.update(A(1));
    EXPECT_EQ(apply(backend(), updated, v), apply(backend(), fresh, v));
    updated.update(A(0));
    EXPECT_EQ(n_single(updated), 1);
    EXPECT_LT(updated.condition(), Data().single_limit);
    const std::vector<double> after = apply(backend(), updated, v);
    EXPECT_LE(cases::difference(before, after), 1e-4 * cases::difference(before, std::vector<double>(v.size(), 0.)));
    fresh.initialize(A(0), modes_of(backend(), easy), Data());
    EXPECT_EQ(fresh.fallback(), "") << "what was once too hard is forgotten";
    EXPECT_EQ(apply(backend(), fresh, v), before);
  }
}

TEST_P(AMGPrecisionTest, UpdatesThatCrossTheLimitOfTheFinestLevel)
{
  const Beam                        easy(100, 0.1), hard(100);
  const SlicedEllpackMatrix<double> matrix(backend(), easy.matrix, 3), hard_matrix(backend(), hard.matrix, 3);
  Data                              data;
  data.single_limit = 2.;
  data.finest_limit = 1e5;
  PreconditionAMG<double> amg, fresh;
  amg.initialize(matrix, modes_of(backend(), easy), data);
  ASSERT_EQ(n_single(amg), 1);
  amg.update(hard_matrix);
  EXPECT_GT(amg.condition(), data.finest_limit);
  EXPECT_EQ(n_single(amg), 0);
  fresh.initialize(hard_matrix, modes_of(backend(), hard), data);
  const std::vector<double> v = cases::random_values(matrix.n_rows(), 5);
  EXPECT_EQ(apply(backend(), amg, v), apply(backend(), fresh, v));
}

TEST_P(AMGPrecisionTest, NumbersOutOfTheRangeOfFP32)
{
  const Beam                        beam(60, 0.1);
  const SlicedEllpackMatrix<double> matrix(backend(), beam.matrix, 3);
  Data                              in_double = Data();
  in_double.single_precision                  = false;
  PreconditionAMG<double> fp64, mixed;
  fp64.initialize(matrix, modes_of(backend(), beam), in_double);
  mixed.initialize(matrix, modes_of(backend(), beam), Data());
  EXPECT_EQ(mixed.fallback(), "");
  const unsigned int expected = solve(matrix, fp64).n_iterations;
  EXPECT_NEAR(int(solve(matrix, mixed).n_iterations), int(expected), 1.);
  const std::vector<double> v = cases::random_values(matrix.n_rows(), 4);
  for (const int exponent : {200, -200, 900, -900})
  {
    SCOPED_TRACE("2^" + std::to_string(exponent));
    const SlicedEllpackMatrix<double> scaled_matrix(backend(), scaled(beam.matrix, exponent), 3);
    PreconditionAMG<double>           amg;
    amg.initialize(scaled_matrix, modes_of(backend(), beam), Data());
    EXPECT_NE(amg.fallback(), "");
    EXPECT_EQ(n_single(amg), 0);
    EXPECT_EQ(solve(scaled_matrix, amg).n_iterations, expected);
    const std::vector<double> unscaled = apply(backend(), fp64, v), result = apply(backend(), amg, v);
    for (std::size_t i = 0; i < v.size(); ++i)
      ASSERT_NEAR(std::ldexp(result[i], exponent), unscaled[i], 1e-9 * std::abs(unscaled[i]) + 1e-12);

    // By an update, from levels in fp32 and from those of which only the finest is.
    for (const double limit : {Data().single_limit, 2.})
    {
      Data data         = Data();
      data.single_limit = limit;
      PreconditionAMG<double> updated;
      updated.initialize(matrix, modes_of(backend(), beam), data);
      ASSERT_EQ(n_single(updated), limit == 2. ? 1 : int(updated.n_levels()));
      updated.update(scaled_matrix);
      EXPECT_NE(updated.fallback(), "");
      EXPECT_EQ(n_single(updated), 0);
      EXPECT_EQ(apply(backend(), updated, v), result);
    }
  }
}

TEST_P(AMGPrecisionTest, CyclesVisitLevelsAsOftenAsTheyAreToldTo)
{
  for (const bool single_precision : {false, true})
  {
    const Beam                        beam(150, 0.1);
    const SlicedEllpackMatrix<double> matrix(backend(), beam.matrix, 3);
    const std::vector<double>         v = cases::random_values(matrix.n_rows(), 6);
    std::vector<double>               result[3];
    int                               visits[3] = {};
    for (const AMGCycle cycle : {AMGCycle::automatic, AMGCycle::v, AMGCycle::w})
    {
      const int i             = static_cast<int>(cycle);
      Data      data          = small_levels();
      data.cycle              = cycle;
      data.single_precision   = single_precision;
      data.second_visit_share = 0.;
      PreconditionAMG<double> amg;
      amg.initialize(matrix, modes_of(backend(), beam), data);
      ASSERT_GE(amg.n_levels(), 3u);
      amg.monitor([&](const unsigned int level, const std::string &phase) {
        visits[i] += level == 1 && phase == "pre-smoothing";
      });
      result[i] = apply(backend(), amg, v);
    }
    const auto at = [](const AMGCycle cycle) { return static_cast<int>(cycle); };
    EXPECT_EQ(visits[at(AMGCycle::v)], 1);
    EXPECT_EQ(visits[at(AMGCycle::w)], 2);
    EXPECT_NE(result[at(AMGCycle::v)], result[at(AMGCycle::w)]);
    EXPECT_EQ(result[at(AMGCycle::automatic)], result[at(AMGCycle::v)]) << "no share for second visits";
  }
}

TEST_P(AMGPrecisionTest, ThinBodiesVisitLevelsTwiceThatCostLittle)
{
  const Beam                        beam(400);
  const SlicedEllpackMatrix<double> matrix(backend(), beam.matrix, 3);
  const std::vector<double>         v      = cases::random_values(matrix.n_rows(), 6);
  const auto                        visits = [&](const Data &data, std::vector<double> &entries) {
    PreconditionAMG<double> amg;
    amg.initialize(matrix, modes_of(backend(), beam), data);
    EXPECT_GT(amg.condition(), 1e7);
    const std::vector<AMGLevelStatistics> levels = amg.statistics();
    EXPECT_EQ(levels[0].relative_cost, 1.);
    std::vector<int> result(levels.size());
    amg.monitor([&](const unsigned int level, const std::string &phase) {
      result[level] += phase == "pre-smoothing" || phase == "inverse";
    });
    apply(backend(), amg, v);
    entries.clear();
    for (const AMGLevelStatistics &level : levels) // a small level of a device is a matter of latency
      entries.push_back((level.lambda_max > 0. ? level.relative_cost * double(level.n_nonzeros)
                                                                      : level.n_rows * double(level.n_rows) / 6.) +
                                               (backend().kind() == BackendKind::cuda ? 1e7 : 0.));
    return result;
  };
  Data data               = small_levels();
  data.second_visit_share = 0.;
  std::vector<double> entries;
  const auto          once = visits(data, entries);
  ASSERT_GE(once.size(), 4u);
  EXPECT_EQ(once, std::vector<int>(once.size(), 1));

  // The inverse is visited as often as the level above it.
  data.second_visit_share = 1000.;
  std::vector<int> expected(once.size(), 1);
  for (std::size_t level = 1; level < expected.size(); ++level)
    expected[level] = level + 1 < expected.size() ? 2 * expected[level - 1] : expected[level - 1];
  EXPECT_EQ(visits(data, entries), expected);
  data.thin_limit = 1e100;
  EXPECT_EQ(visits(data, entries), once);

  // As much as all levels from level 2 on take, and a little more.
  data.thin_limit         = 1e4; // of 3600 nodes 2.3e6
  const double all        = std::accumulate(entries.begin(), entries.end(), 0.);
  data.second_visit_share = 1.001 * std::accumulate(entries.begin() + 2, entries.end(), 0.) / all;
  expected.assign(once.size(), 2);
  expected[0] = expected[1] = 1;
  EXPECT_EQ(visits(data, entries), expected);
}

TEST_P(AMGPrecisionTest, UpdatesOfOtherFormatsMakeNoPattern)
{
  const auto                        host = cases::laplacian<double>(150, 150);
  const SlicedEllpackMatrix<double> sliced(backend(), host);
  const CSRMatrix<double>           csr(backend(), host);
  const MDIAMatrix<double>          mdia(backend(), host);
  const std::vector<double>         v = cases::random_values(host.n_rows, 8);

  // Bytes that an update needs for a while, and the result of the preconditioner after it.
  std::vector<double> result;
  const auto          bytes = [&](const MatrixBase<double> &matrix) {
    PreconditionAMG<double> amg;
    amg.initialize(matrix, NearNullSpace::constants(backend(), host.n_rows, 1), Data());
    EXPECT_EQ(n_single(amg), int(amg.n_levels()));
    const std::vector<double> before = apply(backend(), amg, v);
    memory::reset_peak(backend().kind());
    const std::size_t in_use = memory::in_use(backend().kind());
    amg.update(matrix);
    const std::size_t most = memory::peak(backend().kind()) - in_use;
    EXPECT_EQ(memory::in_use(backend().kind()), in_use);
    result = apply(backend(), amg, v);
    EXPECT_EQ(result, before);
    return most;
  };
  const std::size_t         in_place = bytes(sliced), values = sliced.n_stored_elements() * sizeof(double);
  const std::vector<double> expected = result;
  for (const MatrixBase<double> *matrix :
       {static_cast<const MatrixBase<double> *>(&csr), static_cast<const MatrixBase<double> *>(&mdia)})
  {
    EXPECT_LE(bytes(*matrix), in_place + values) << matrix->format();
    EXPECT_EQ(result, expected) << matrix->format();
  }

  // And what does not fit is refused.
  PreconditionAMG<double> amg;
  amg.initialize(csr, NearNullSpace::constants(backend(), host.n_rows, 1), Data());
  EXPECT_THROW(amg.update(CSRMatrix<double>(backend(), cases::laplacian<double>(10, 10))), Error);
}
