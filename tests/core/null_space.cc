// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

using namespace PatchFEM;

class NullSpaceTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(NullSpaceTest);

namespace
{
  /**
   * Bodies of n^3 nodes side by side that nothing holds: a lattice with a spring between any two nodes of a cell, whose
   * energy (d . (u_i - u_j))^2 / |d|^2 only rigid motions make vanish. Positions, and the motions of each body.
   */
  struct FreeLattice
  {
    HostCSR<double>                  matrix;
    std::vector<double>              points;
    std::vector<std::vector<double>> motions;

    FreeLattice(const int n, const int n_bodies)
    {
      const int                         n_nodes = n_bodies * n * n * n;
      std::vector<std::map<int, Block>> rows(n_nodes);
      const auto x = [&](const int i) { return std::array<int, 3>{i % n, i / n % n, i / n / n % n}; };
      for (int i = 0; i < n_nodes; ++i)
      {
        const auto p = x(i);
        for (int dz = -1; dz <= 1; ++dz)
          for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx)
            {
              const int d[3]   = {dx, dy, dz};
              bool      inside = true;
              for (int a = 0; a < 3; ++a)
                inside = inside && p[a] + d[a] >= 0 && p[a] + d[a] < n;
              const int length = dx * dx + dy * dy + dz * dz, j = i + dx + n * (dy + n * dz);
              for (int a = 0; a < 3 && inside && length > 0; ++a)
                for (int b = 0; b < 3; ++b)
                {
                  rows[i][i].values[a * 3 + b] += double(d[a] * d[b]) / length;
                  rows[i][j].values[a * 3 + b] -= double(d[a] * d[b]) / length;
                }
            }
        const int body = i / (n * n * n);
        points.insert(points.end(), {p[0] + 2. * n * body, double(p[1]), double(p[2])});
      }
      matrix.n_rows = matrix.n_columns = 3 * n_nodes;
      matrix.row_offsets.push_back(0);
      for (int i = 0; i < n_nodes; ++i)
        for (int a = 0; a < 3; ++a)
        {
          for (const auto &entry : rows[i])
            for (int b = 0; b < 3; ++b)
            {
              matrix.columns.push_back(3 * entry.first + b);
              matrix.values.push_back(entry.second.values[a * 3 + b]);
            }
          matrix.row_offsets.push_back(static_cast<std::int64_t>(matrix.columns.size()));
        }
      for (int body = 0; body < n_bodies; ++body)
        for (int m = 0; m < 6; ++m)
        {
          motions.emplace_back(3 * n_nodes, 0.);
          for (int i = body * n * n * n; i < (body + 1) * n * n * n; ++i)
            if (m < 3)
              motions.back()[3 * i + m] = 1.;
            else
            {
              motions.back()[3 * i + (m + 1) % 3] = -points[3 * i + (m + 2) % 3];
              motions.back()[3 * i + (m + 2) % 3] = points[3 * i + (m + 1) % 3];
            }
        }
    }

    struct Block
    {
      double values[9] = {};
    };
  };

  double norm(const std::vector<double> &x)
  {
    double sum = 0.;
    for (const double value : x)
      sum += value * value;
    return std::sqrt(sum);
  }

  double product(const std::vector<double> &x, const std::vector<double> &y)
  {
    double sum = 0.;
    for (std::size_t i = 0; i < x.size(); ++i)
      sum += x[i] * y[i];
    return sum;
  }

  std::string message(const std::function<void()> &action)
  {
    try
    {
      action();
    }
    catch (const Error &error)
    {
      return error.what();
    }
    return "";
  }
} // namespace

TEST_P(NullSpaceTest, ProjectsByHand)
{
  // Without the mean of the first three and without that of the last two.
  const NullSpace<double> space(backend(), {{2, 2, 2, 0, 0}, {1, 1, 1, 1, 1}});
  ASSERT_EQ(space.n_vectors(), 2u);
  Vector<double> x(backend(), std::vector<double>{1, 2, 6, 4, 8});
  space.project(x);
  EXPECT_LT(cases::difference(x.copy_to_host(), {-2, -1, 3, -2, 2}), 1e-14);
  const NullSpace<float> single(backend(), {{1, 1, 1, 1}});
  Vector<float>          y(backend(), std::vector<float>{1, 2, 3, 6});
  single.project(y);
  EXPECT_LT(cases::difference(cases::widened(y.copy_to_host()), {-2, -1, 0, 3}), 1e-6);

  EXPECT_EQ(NullSpace<double>().n_vectors(), 0u);
  EXPECT_THROW(NullSpace<double>(backend(), {{1, 2, 3}, {2, 4, 6}}), Error);
  EXPECT_THROW(NullSpace<double>(backend(), {{0, 0, 0}}), Error);
  EXPECT_THROW(NullSpace<double>(backend(), {{1, 2}, {1, 2, 3}}), Error);
}

TEST_P(NullSpaceTest, ProjectsLongVectors)
{
  const std::size_t                n = 70001;
  std::vector<std::vector<double>> basis;
  for (int k = 0; k < 3; ++k)
    basis.push_back(cases::random_values(n, 10 + k));
  const NullSpace<double>   space(backend(), basis), host(Backend("host"), basis);
  const std::vector<double> values = cases::random_values(n, 1);
  Vector<double>            x(backend(), values), y(Backend("host"), values);
  space.project(x);
  host.project(y);
  const std::vector<double> result = x.copy_to_host();
  EXPECT_LT(cases::difference(result, y.copy_to_host()), 1e-13);
  for (const std::vector<double> &v : basis)
    EXPECT_LT(std::abs(product(v, result)), 1e-11 * norm(v));
}

TEST_P(NullSpaceTest, BalancesByTheLoadsItIsGiven)
{
  // A constant, of nodes that weigh 1, 2 and 3: a load of 12 is out of balance by 2 in each unit of weight.
  const auto with_loads = [&](const std::vector<double> &load) {
    std::vector<Vector<double>> basis, loads;
    basis.emplace_back(backend(), std::vector<double>{1, 1, 1});
    loads.emplace_back(backend(), load);
    return NullSpace<double>(std::move(basis), std::move(loads));
  };
  const NullSpace<double> space = with_loads({1, 2, 3});
  Vector<double>          b(backend(), std::vector<double>{12, 0, 0});
  EXPECT_NEAR(space.balance(b)[0], 2., 1e-14);
  EXPECT_LT(cases::difference(b.copy_to_host(), {10, -4, -6}), 1e-13);
  EXPECT_NEAR(space.balance(b)[0], 0., 1e-14);
  EXPECT_LT(cases::difference(b.copy_to_host(), {10, -4, -6}), 1e-13);

  // Without loads all nodes weigh the same.
  b.copy_from_host({12, 0, 0});
  EXPECT_TRUE(NullSpace<double>(backend(), {{1, 1, 1}}).balance(b).empty());
  EXPECT_LT(cases::difference(b.copy_to_host(), {8, -4, -4}), 1e-13);

  EXPECT_THROW(NullSpace<double>({}, std::vector<Vector<double>>(1)), Error);
  EXPECT_LT(cases::difference(solve_dense({{0, 2}, {4, 1}}, {6, 11}), {2, 3}), 1e-15);
}

TEST_P(NullSpaceTest, IsCheckedAgainstTheMatrix)
{
  const FreeLattice                 lattice(3, 1);
  const SlicedEllpackMatrix<double> matrix(backend(), lattice.matrix, 3);
  NullSpace<double>(backend(), lattice.motions).check(matrix);
  std::vector<std::vector<double>> wrong = lattice.motions;
  wrong[4][7] += 1e-3;
  EXPECT_NE(message([&] { NullSpace<double>(backend(), wrong).check(matrix); }).find("does not have the null space"),
            std::string::npos);
}

TEST_P(NullSpaceTest, DenseInverseIsThePseudoInverse)
{
  const FreeLattice                 lattice(2, 2);
  const SlicedEllpackMatrix<double> matrix(backend(), lattice.matrix, 3);
  const NullSpace<double>           space(backend(), lattice.motions);
  std::vector<Array<double>>        vectors;
  for (const Vector<double> &v : space.vectors())
    vectors.emplace_back(backend(), v.copy_to_host());
  DenseInverse<double> inverse;
  EXPECT_THROW(inverse.compute(matrix), Error);
  inverse.compute(matrix, vectors, 7.);
  Vector<double> b(backend(), cases::random_values(matrix.n_rows(), 3)), x(backend(), matrix.n_rows()),
      Ax(backend(), matrix.n_rows());
  space.project(b);
  inverse.vmult(x, b);
  matrix.vmult(Ax, x);
  EXPECT_LT(cases::difference(Ax.copy_to_host(), b.copy_to_host()), 1e-13);
  const std::vector<double> before = x.copy_to_host();
  space.project(x);
  EXPECT_LT(cases::difference(before, x.copy_to_host()), 1e-13);
}

TEST_P(NullSpaceTest, MultigridSolvesForFreeBodies)
{
  // With the small size the last level is a node for each body: all of it is null space, and rounding.
  for (const int n_bodies : {1, 2})
    for (const int coarse_size : {100, 6 * n_bodies})
    {
      const bool        mixed = n_bodies == 2;
      const FreeLattice lattice(8, n_bodies);
      unsigned int      steps[2];
      for (const bool here : {true, false})
      {
        const Backend                           place = here ? backend() : Backend("host");
        const SlicedEllpackMatrix<double>       matrix(place, lattice.matrix, 3);
        const NullSpace<double>                 space(place, lattice.motions);
        PreconditionAMG<double>::AdditionalData data;
        data.coarse_size      = coarse_size;
        data.single_precision = mixed;
        PreconditionAMG<double> amg;
        MISAggregation          aggregation;
        amg.initialize(matrix, NearNullSpace::rigid_body_modes(3, Array<double>(place, lattice.points)), aggregation,
                       data, space);
        ASSERT_GE(amg.n_levels(), 2u);
        amg.update(matrix);
        Vector<double> b(place, cases::random_values(matrix.n_rows(), 8)), x(place, matrix.n_rows());
        space.project(b);
        IterationControl control;
        control.tolerance = 1e-10 * b.l2_norm();
        ConjugateGradients<double> cg;
        const IterationResult      result = cg.solve(matrix, x, b, PreconditionProjected<double>(amg, space), control);
        EXPECT_TRUE(result.success()) << result.message("amg");
        EXPECT_LE(result.n_iterations, 30u);
        steps[here]                     = result.n_iterations;
        const std::vector<double> found = x.copy_to_host();
        for (const std::vector<double> &v : lattice.motions)
          EXPECT_LT(std::abs(product(v, found)), 1e-10 * norm(v) * norm(found));
      }
      EXPECT_NEAR(double(steps[0]), double(steps[1]), 1.);
    }
}

TEST_P(NullSpaceTest, MultigridSaysWhatIsWrong)
{
  const FreeLattice                 lattice(7, 1);
  const SlicedEllpackMatrix<double> matrix(backend(), lattice.matrix, 3);
  const NearNullSpace rigid = NearNullSpace::rigid_body_modes(3, Array<double>(backend(), lattice.points));
  PreconditionAMG<double>::AdditionalData data;
  data.coarse_size      = 150;
  data.single_precision = false; // which is too short to tell that a matrix is singular
  PreconditionAMG<double> amg;
  MISAggregation          aggregation, other;
  // The rotations are not among constants: coarser levels are regular for them, and it takes more steps.
  const NullSpace<double> motions(backend(), lattice.motions);
  amg.initialize(matrix, NearNullSpace::constants(backend(), matrix.n_rows() / 3, 3), aggregation, data, motions);
  Vector<double> load(backend(), cases::random_values(matrix.n_rows(), 8)), moved(backend(), matrix.n_rows());
  motions.project(load);
  IterationControl control;
  control.tolerance = 1e-10 * load.l2_norm();
  EXPECT_TRUE(ConjugateGradients<double>()
                  .solve(matrix, moved, load, PreconditionProjected<double>(amg, motions), control)
                  .success());
  // Without a null space the last level cannot be inverted.
  const std::string text = message([&] { amg.initialize(matrix, rigid, other, data); });
  EXPECT_NE(text.find("Multigrid level"), std::string::npos) << text;
  EXPECT_TRUE(text.find("not positive definite") != std::string::npos ||
              text.find("singular to rounding") != std::string::npos)
      << text;
  EXPECT_NE(text.find("give its NullSpace"), std::string::npos) << text;
  // Nor in double of what single precision took for soft; nothing is left to be applied then.
  data.single_precision = true;
  data.single_limit     = 0.;
  PreconditionAMG<double> mixed;
  MISAggregation          third;
  EXPECT_THROW(mixed.initialize(matrix, rigid, third, data), NotPositiveDefinite);
  EXPECT_EQ(mixed.n_levels(), 0u);
  Vector<double> x, b;
  matrix.initialize_vector(x);
  matrix.initialize_vector(b);
  EXPECT_THROW(mixed.vmult(x, b), Error);
}

namespace
{
  /** z = r + 1e14 mean(r): what a factorisation that succeeded by rounding makes of a matrix with that null space. */
  class LargeMean : public PreconditionBase<double>
  {
  public:
    LargeMean(const Backend &backend, const int n)
    {
      HostCSR<double> all;
      all.n_rows = all.n_columns = n;
      for (int i = 0; i <= n; ++i)
        all.row_offsets.push_back(std::int64_t(i) * n);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
        {
          all.columns.push_back(j);
          all.values.push_back((i == j ? 1. : 0.) + 1e14 / n);
        }
      matrix.reinit(backend, all);
    }

    void        vmult(Vector<double> &dst, const Vector<double> &src) const override { matrix.vmult(dst, src); }
    std::string name() const override { return "large mean"; }
    std::size_t memory_consumption() const override { return matrix.memory_consumption(); }

  private:
    CSRMatrix<double> matrix;
  };
} // namespace

TEST_P(NullSpaceTest, GrowthAlongItIsNoSolution)
{
  // The load moves a bar that nothing holds. x grows until rounding of A x would explain any residual.
  const int       n = 40;
  HostCSR<double> bar;
  bar.n_rows = bar.n_columns = n;
  bar.row_offsets.push_back(0);
  for (int i = 0; i < n; ++i)
  {
    for (int j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j)
    {
      bar.columns.push_back(j);
      bar.values.push_back(i == j ? (i == 0 || i == n - 1 ? 0.7 : 1.4) : -0.7);
    }
    bar.row_offsets.push_back(static_cast<std::int64_t>(bar.columns.size()));
  }
  const CSRMatrix<double> matrix(backend(), bar);
  std::vector<double>     load(n);
  for (int i = 0; i < n; ++i)
    load[i] = 1. + 0.1 * (i % 7);
  const Vector<double>       b(backend(), load);
  Vector<double>             x(backend(), n);
  ConjugateGradients<double> cg;
  IterationControl           control;
  control.tolerance            = 1e-8 * b.l2_norm();
  const IterationResult result = cg.solve(matrix, x, b, LargeMean(backend(), n), control);
  EXPECT_FALSE(result.success());
  EXPECT_EQ(result.status, IterationResult::Status::singular) << result.message("large mean") << ' ' << x.l2_norm();
  EXPECT_NE(result.message("large mean").find("give its NullSpace"), std::string::npos);
}
