// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../benchmarks/helmholtz_system.h"
#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <omp.h>

using namespace PatchFEM;
using cases::Dense;
using Data = PreconditionAMG<double>::AdditionalData;

class PatchSmootherTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(PatchSmootherTest);

namespace
{
  /** Only patches, given by their nodes; nodes that are in none come last. */
  AggregateLists patches_of(const Backend &backend, const int n_nodes, const std::vector<std::vector<int>> &patches)
  {
    std::vector<int>  offsets{0}, nodes;
    std::vector<bool> used(n_nodes, false);
    for (const std::vector<int> &patch : patches)
    {
      for (const int node : patch)
      {
        nodes.push_back(node);
        used[node] = true;
      }
      offsets.push_back(nodes.size());
    }
    for (int i = 0; i < n_nodes; ++i)
      if (!used[i])
        nodes.push_back(i);
    AggregateLists result;
    result.set_patches(Array<int>(backend, offsets), Array<int>(backend, nodes));
    return result;
  }

  /** Patches of 1, 2, 3, ... nodes that do not follow their numbers; the last tenth of the nodes is in none. */
  std::vector<std::vector<int>> scattered_patches(const int n_nodes)
  {
    std::vector<std::vector<int>> result;
    const int                     n = n_nodes - n_nodes / 10, stride = 7;
    for (int first = 0, size = 1; first < n; first += size, size = size < 3 ? size + 1 : 2 * size + 3)
    {
      result.emplace_back();
      for (int i = first; i < std::min(n, first + size); ++i)
        result.back().push_back(n % stride != 0 ? i * stride % n : i);
    }
    return result;
  }

  /** What the smoother of a level is made of. */
  template <typename Number>
  struct Smoother
  {
    SlicedEllpackMatrix<Number>     A;
    AggregateLists                  lists;
    PreconditionBlockJacobi<Number> D;
    LargestEigenvalue<Number>       lambda;
    PatchSmoother<Number>           smoother;

    Smoother(const Backend                       &backend,
             const HostCSR<double>               &matrix,
             const int                            b,
             const std::vector<std::vector<int>> &patches,
             const int                            n_steps,
             const int                            n_sweeps,
             const PatchStorage                   storage = PatchStorage::both)
        : A(backend,
            HostCSR<Number>{matrix.n_rows, matrix.n_columns, matrix.row_offsets, matrix.columns,
                            cases::to<Number>(matrix.values)},
            b),
          lists(patches_of(backend, matrix.n_rows / b, patches)), smoother(lists, n_steps, 6., n_sweeps, 10, storage)
    {
      D.initialize(A);
      lambda.compute(A, D, 10);
      smoother.initialize(A, D, lambda);
    }

    std::vector<double> pre(const std::vector<double> &b, std::vector<double> *residual = nullptr) const
    {
      Vector<Number> x(A.backend(), cases::not_a_number<Number>(b.size())),
          r(A.backend(), cases::not_a_number<Number>(b.size()));
      smoother.pre_smooth(x, r, Vector<Number>(A.backend(), cases::to<Number>(b)));
      if (residual != nullptr)
        *residual = cases::widened(r.copy_to_host());
      return cases::widened(x.copy_to_host());
    }

    std::vector<double> post(const std::vector<double> &x_0, const std::vector<double> &b) const
    {
      Vector<Number> x(A.backend(), cases::to<Number>(x_0)), r(A.backend(), cases::not_a_number<Number>(b.size()));
      smoother.post_smooth(x, r, Vector<Number>(A.backend(), cases::to<Number>(b)));
      return cases::widened(x.copy_to_host());
    }
  };

  /** The same with dense matrices; nodes that are in no patch are patches by 256 of them. */
  struct DenseSmoother
  {
    Dense               A, inner, D_inverse;
    double              omega;
    std::vector<double> weights;
    int                 n_sweeps;

    DenseSmoother(const Dense                         &A,
                  const int                            b,
                  const std::vector<std::vector<int>> &patches,
                  const double                         lambda_of_diagonal,
                  const double                         lambda,
                  const int                            n_steps,
                  const int                            n_sweeps)
        : A(A), inner(A), D_inverse(A.n_rows, A.n_rows), omega(4. / 3. / lambda_of_diagonal), n_sweeps(n_sweeps)
    {
      const int        n = A.n_rows / b;
      std::vector<int> patch(n, -1);
      for (std::size_t p = 0; p < patches.size(); ++p)
        for (const int node : patches[p])
          patch[node] = p;
      int n_others = 0;
      for (int &p : patch)
        if (p < 0)
          p = patches.size() + n_others++ / 256;
      for (int i = 0; i < A.n_rows; ++i)
      {
        for (int j = 0; j < A.n_rows; ++j)
          if (patch[i / b] != patch[j / b])
            inner(i, j) = 0.;
        D_inverse(i, i) = 1.;
      }
      D_inverse = cases::scaled_by_block_diagonal(D_inverse, A, b);
      // Inverse roots of the Chebyshev polynomial on [lambda / 6, lambda].
      for (int k = 0; k < n_steps; ++k)
        weights.push_back(1. / (lambda * (1. + 1. / 6.) / 2. -
                                lambda * (1. - 1. / 6.) / 2. * std::cos(std::acos(-1.) * (k + 0.5) / n_steps)));
    }

    std::vector<double> inverse(const std::vector<double> &r) const
    {
      std::vector<double> z(r.size(), 0.);
      for (int sweep = 0; sweep < n_sweeps; ++sweep)
        z = cases::plus(z, omega, cases::times(D_inverse, cases::plus(r, -1., cases::times(inner, z))));
      return z;
    }

    std::vector<double> smooth(std::vector<double> x, const std::vector<double> &b) const
    {
      for (const double weight : weights)
        x = cases::plus(x, weight, inverse(cases::plus(b, -1., cases::times(A, x))));
      return x;
    }
  };

  constexpr PatchStorage all_storages[] = {PatchStorage::both, PatchStorage::half, PatchStorage::half_atomic};

  template <typename Number>
  void compare_with_dense(const Backend &backend, const double tolerance, const PatchStorage storage)
  {
    for (const int b : {1, 2, 3, 4, 6})
      for (const int n_nodes : {3, 90, 420})
        for (const int n_steps : {1, 2})
          for (const int n_sweeps : {1, 3})
          {
            if (n_nodes * b > 900)
              continue;
            SCOPED_TRACE(std::to_string(n_nodes) + " nodes of " + std::to_string(b) + ", " + std::to_string(n_steps) +
                         " steps, " + std::to_string(n_sweeps) + " sweeps");
            const HostCSR<double>               matrix  = n_nodes > 3 ? cases::spd_blocks(n_nodes, b, 7 * b)
                                                                      : cases::spd_blocks(4, b, 3); // every node couples with each
            const std::vector<std::vector<int>> patches = scattered_patches(matrix.n_rows / b);
            const Smoother<Number>              s(backend, matrix, b, patches, n_steps, n_sweeps, storage);
            const Dense                         A(s.A.to_csr_host());
            const DenseSmoother expected(A, b, patches, s.lambda.value(), s.smoother.largest_eigenvalue(), n_steps,
                                         n_sweeps);
            const std::vector<double> f = cases::random_values(A.n_rows, 5), x_0 = cases::random_values(A.n_rows, 6);
            std::vector<double>       r;
            const std::vector<double> x = s.pre(f, &r), expected_x = expected.smooth(std::vector<double>(f.size()), f);
            ASSERT_LT(cases::difference(x, expected_x), tolerance);
            ASSERT_LT(cases::difference(r, cases::plus(f, -1., cases::times(A, expected_x))), 10. * tolerance);
            ASSERT_LT(cases::difference(s.post(x_0, f), expected.smooth(x_0, f)), 10. * tolerance);
          }
  }

  /** Aggregates of GridAggregation, two of them to a patch. */
  class GridPatches : public cases::GridAggregation
  {
  public:
    using GridAggregation::GridAggregation;

    AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<double> &A) override
    {
      return with_patches(level, A.backend());
    }
    AggregateLists aggregate(unsigned int level, const SlicedEllpackMatrix<float> &A) override
    {
      return with_patches(level, A.backend());
    }

  private:
    AggregateLists with_patches(const unsigned int level, const Backend &backend) const
    {
      AggregateLists                result  = lists(level, backend);
      const std::vector<int>        of_node = result.aggregate_of_node().to_vector();
      std::vector<std::vector<int>> patches((result.n_aggregates() + 1) / 2);
      for (std::size_t i = 0; i < of_node.size(); ++i)
        if (of_node[i] >= 0)
          patches[of_node[i] / 2].push_back(i);
      const AggregateLists made = patches_of(backend, of_node.size(), patches);
      result.set_patches(Array<int>(backend, made.patch_offsets().to_vector()),
                         Array<int>(backend, made.patch_nodes().to_vector()));
      return result;
    }
  };

  template <int n_c>
  NearNullSpace grid_modes(const Backend &backend, const int n)
  {
    return n_c == 3 ? NearNullSpace::rigid_body_modes(3, Array<double>(backend, cases::grid_points(n)))
                    : NearNullSpace::constants(backend, n * n * n, n_c);
  }

  Data on_patches(const int steps, const int inner_sweeps = 3, const AMGCycle cycle = AMGCycle::v)
  {
    Data data;
    data.smoother         = AMGSmoother::patch;
    data.smoother_sweeps  = steps;
    data.inner_sweeps     = inner_sweeps;
    data.cycle            = cycle;
    data.single_precision = false;
    return data;
  }

  /** P3's problem under AMG. */
  unsigned int helmholtz_count(const Backend &backend, const int n, const Data &data, const double inside = 1.)
  {
    const SlicedEllpackMatrix<double> A(backend, benchmark::helmholtz_matrix(n, inside));
    PreconditionAMG<double>           amg;
    MISAggregation                    aggregation;
    amg.initialize(A, NearNullSpace::constants(backend, A.n_rows(), 1), aggregation, data);
    Vector<double>   x(backend, A.n_rows()), b(backend, std::vector<double>(A.n_rows(), 1.));
    IterationControl control;
    control.tolerance = 1e-8 * b.l2_norm();
    ConjugateGradients<double> cg;
    const IterationResult      result = cg.solve(A, x, b, amg, control);
    EXPECT_EQ(result.status, IterationResult::Status::converged) << result.message("amg");
    return result.n_iterations;
  }

  std::vector<double> apply(const PreconditionAMG<double> &M, const Backend &backend, const std::vector<double> &v)
  {
    Vector<double> x(backend, cases::not_a_number<double>(v.size()));
    M.vmult(x, Vector<double>(backend, v));
    return x.copy_to_host();
  }
} // namespace

TEST_P(PatchSmootherTest, RelaxationByEye)
{
  // Four nodes on a line, two patches; two sweeps with weight 1, a step with weight 1/2.
  const SlicedEllpackMatrix<double> A(backend(), cases::laplacian<double>(4, 1));
  PreconditionBlockJacobi<double>   D;
  D.initialize(A);
  const Array<double>  weights(backend(), std::vector<double>{1., 1., 0.5});
  const AggregateLists lists = patches_of(backend(), 4, {{0, 1}, {2, 3}});
  const Vector<double> b(backend(), std::vector<double>{1., 0., 0., 2.});
  for (const PatchStorage storage : all_storages)
  {
    PatchMatrix<double> patches;
    patches.reinit(A, lists, storage);
    patches.compute(A, D, 2, weights.data());
    EXPECT_EQ(patches.n_patches(), 2);
    Vector<double> x(backend(), cases::not_a_number<double>(4)), r(backend(), cases::not_a_number<double>(4));
    patches.vmult(x, b);
    EXPECT_LT(cases::difference(x.copy_to_host(), (std::vector<double>{0.5, 0.25, 0.5, 1.})), 1e-15);
    const PatchMatrixView<double> view    = patches.view();
    const double *const           weight  = weights.data() + 2;
    const double *const           nothing = nullptr;
    launch(backend(),
           [&](auto where) { kernels::patch_relaxation(where, view, weight, b.data(), nothing, x.data(), r.data()); });
    EXPECT_LT(cases::difference(x.copy_to_host(), (std::vector<double>{0.25, 0.125, 0.25, 0.5})), 1e-15);
    EXPECT_LT(cases::difference(r.copy_to_host(), (std::vector<double>{0.625, 0., 0., 1.25})), 1e-15);
    launch(backend(), [&](auto where) { kernels::patch_outer_residual(where, view, x.data(), r.data(), r.data()); });
    EXPECT_LT(cases::difference(r.copy_to_host(), (std::vector<double>{0.625, 0.25, 0.125, 1.25})), 1e-15);
  }
}

TEST_P(PatchSmootherTest, AgreesWithDenseAlgebra)
{
  for (const PatchStorage storage : all_storages)
    compare_with_dense<double>(backend(), 1e-12, storage);
}

TEST_P(PatchSmootherTest, AgreesWithDenseAlgebraInSinglePrecision)
{
  for (const PatchStorage storage : all_storages)
    compare_with_dense<float>(backend(), 2e-5, storage);
}

TEST_P(PatchSmootherTest, HalfStorageByEye)
{
  // Three nodes, all coupled, in one patch. Row 0 keeps the pair with 1, row 1 that with 2, row 2 that with 0.
  const SlicedEllpackMatrix<double> A(
      backend(),
      HostCSR<double>{3, 3, {0, 3, 6, 9}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {4., -1., -2., -1., 5., -3., -2., -3., 6.}}, 1);
  PreconditionBlockJacobi<double> D;
  D.initialize(A);
  const Array<double>  weights(backend(), std::vector<double>{1.});
  const AggregateLists lists = patches_of(backend(), 3, {{0, 1, 2}});
  const Vector<double> x(backend(), std::vector<double>{4., 10., 18.});
  for (const PatchStorage storage : {PatchStorage::half, PatchStorage::half_atomic})
  {
    PatchMatrix<double> patches;
    patches.reinit(A, lists, storage);
    patches.compute(A, D, 1, weights.data());
    EXPECT_EQ(patches.n_inner_blocks(), 2 * 32);
    EXPECT_EQ(patches.n_mirrors(), storage == PatchStorage::half ? 32 : 0);
    const PatchMatrixView<double> view = patches.view();
    ASSERT_EQ(view.largest_inner, 64u);
    std::vector<std::uint16_t> columns(64), mirrors(4);
    std::vector<double>        values(64);
    memory::copy(Backend("host"), columns.data(), backend(), view.inner_columns, 64 * sizeof(std::uint16_t));
    memory::copy(Backend("host"), values.data(), backend(), view.inner_values, 64 * sizeof(double));
    const std::uint16_t expected_columns[] = {0, 1, 2, 1, 2, 0};
    const double        expected_values[]  = {4., 5., 6., -1., -3., -2.};
    for (int k = 0; k < 2; ++k)
      for (int r = 0; r < 3; ++r)
      {
        EXPECT_EQ(columns[32 * k + r], expected_columns[3 * k + r]);
        EXPECT_EQ(values[32 * k + r], expected_values[3 * k + r]);
      }
    // Rows 0, 1 and 2 find what rows 2, 0 and 1 keep; padding its own diagonal.
    if (storage == PatchStorage::half)
    {
      memory::copy(Backend("host"), mirrors.data(), backend(), view.mirrors, 4 * sizeof(std::uint16_t));
      const std::uint16_t expected_mirrors[] = {32 + 2, 32 + 0, 32 + 1, 3};
      for (int r = 0; r < 4; ++r)
        EXPECT_EQ(mirrors[r], expected_mirrors[r]);
    }
    // x = D^-1 b, r = b - A x
    Vector<double>      y(backend(), cases::not_a_number<double>(3)), r(backend(), cases::not_a_number<double>(3));
    const Array<double> one(backend(), std::vector<double>{1.});
    const double *const nothing = nullptr;
    launch(backend(), [&](auto where) {
      kernels::patch_relaxation(where, view, one.data(), x.data(), nothing, y.data(), r.data());
    });
    EXPECT_LT(cases::difference(y.copy_to_host(), (std::vector<double>{1., 2., 3.})), 1e-15);
    EXPECT_LT(cases::difference(r.copy_to_host(), (std::vector<double>{8., 10., 8.})), 1e-14);
  }
}

TEST_P(PatchSmootherTest, PatchesTooLargeForFastMemory)
{
  // Nodes by hundreds, each coupled with each, in patches of 300 nodes: on a device they stay in memory.
  for (const int b : {1, 3, 4})
  {
    const int       n_nodes = 900 / (b > 1 ? 2 : 1), n = n_nodes * b;
    HostCSR<double> matrix{n, n, {0}, {}, {}};
    for (int i = 0; i < n; ++i)
    {
      for (int j = i / b / 100 * 100 * b; j < std::min(n, (i / b / 100 + 1) * 100 * b); ++j)
      {
        matrix.columns.push_back(j);
        matrix.values.push_back(i == j ? 100. * b : std::cos(0.3 * i + 0.3 * j));
      }
      matrix.row_offsets.push_back(matrix.columns.size());
    }
    std::vector<std::vector<int>> patches((n_nodes + 299) / 300);
    for (int i = 0; i < n_nodes; ++i)
      patches[i % patches.size()].push_back(i);
    const std::vector<double> f    = cases::random_values(n, 5);
    const Smoother<double>    both = Smoother<double>(Backend("host"), matrix, b, patches, 2, 3);
    std::vector<double>       r, expected_r;
    const std::vector<double> expected = both.pre(f, &expected_r);
    for (const PatchStorage storage : all_storages)
    {
      const Smoother<double> s(backend(), matrix, b, patches, 2, 3, storage);
      ASSERT_LT(cases::difference(s.pre(f, &r), expected), 1e-13);
      ASSERT_LT(cases::difference(r, expected_r), 1e-12);
      ASSERT_LT(cases::difference(s.post(f, f), both.post(f, f)), 1e-12);
    }
  }
}

TEST_P(PatchSmootherTest, IsSymmetricPositiveAndConverges)
{
  // Fixed nodes, which couple with nothing, are in no patch.
  const int                     n      = 5;
  const HostCSR<double>         matrix = cases::grid_matrix<3>(n);
  std::vector<std::vector<int>> patches(4);
  for (int i = 0; i < n * n * n; ++i)
    if (i % n != 0)
      patches[(i / n % n > 2) + 2 * (i / n / n > 1)].push_back(i);
  for (const int n_steps : {1, 2, 3})
    for (const int n_sweeps : {1, 2, 3, 6})
    {
      const PatchStorage     storage = all_storages[(n_steps + n_sweeps) % 3];
      const Smoother<double> s(backend(), matrix, 3, patches, n_steps, n_sweeps, storage);
      const Dense            A(matrix);
      Dense                  S(A.n_rows, A.n_rows);
      for (int j = 0; j < A.n_rows; ++j)
      {
        std::vector<double> unit(A.n_rows, 0.);
        unit[j]                          = 1.;
        const std::vector<double> column = s.pre(unit);
        for (int i = 0; i < A.n_rows; ++i)
          S(i, j) = column[i];
      }
      EXPECT_LT(cases::difference(S.values, S.transposed().values), 1e-14 * S.magnitude());
      EXPECT_GT(cases::smallest_pivot(S), 0.);
      // |I - S A| < 1 in the energy norm if and only if 2 S - S A S is positive definite.
      Dense doubled = S * (A * S);
      for (std::size_t e = 0; e < doubled.values.size(); ++e)
        doubled.values[e] = 2. * S.values[e] - doubled.values[e];
      EXPECT_GT(cases::smallest_pivot(doubled), 0.) << n_steps << " steps, " << n_sweeps << " sweeps";
      // The post-smoother is the same operator.
      const std::vector<double> b = cases::random_values(A.n_rows, 8);
      EXPECT_LT(cases::difference(s.post(std::vector<double>(b.size(), 0.), b), cases::times(S, b)),
                1e-13 * S.magnitude());
    }
}

TEST_P(PatchSmootherTest, OneSweepIsDampedJacobi)
{
  const int                           n      = 6;
  const HostCSR<double>               matrix = cases::grid_matrix<1>(n);
  const std::vector<std::vector<int>> patches{{1, 2, 3, 7, 8, 9}};
  const Smoother<double>              s(backend(), matrix, 1, patches, 1, 1);
  EXPECT_NEAR(s.smoother.largest_eigenvalue(), 4. / 3., 1e-12);
  const std::vector<double> b = cases::random_values(matrix.n_rows, 2);
  std::vector<double>       expected(b.size());
  for (int i = 0; i < matrix.n_rows; ++i)
    for (std::int64_t e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e)
      if (matrix.columns[e] == i)
        expected[i] = 12. / 7. / s.lambda.value() * b[i] / matrix.values[e];
  EXPECT_LT(cases::difference(s.pre(b), expected), 1e-12);
}

TEST_P(PatchSmootherTest, RepeatsBitByBit)
{
  const HostCSR<double>     matrix = cases::grid_matrix<3>(9);
  const std::vector<double> b      = cases::random_values(matrix.n_rows, 3);
  const int                 before = omp_get_max_threads();
  for (const PatchStorage storage : {PatchStorage::both, PatchStorage::half})
  {
    std::vector<double> first;
    for (const int threads : {1, 2, 5})
    {
      omp_set_num_threads(threads);
      const Smoother<float>     s(backend(), matrix, 3, scattered_patches(9 * 9 * 9), 2, 3, storage);
      const std::vector<double> x = s.post(s.pre(b), b);
      if (first.empty())
        first = x;
      EXPECT_EQ(x, first);
      EXPECT_EQ(s.post(s.pre(b), b), first);
    }
  }
  omp_set_num_threads(before);
}

TEST_P(PatchSmootherTest, AutomaticStorageAndWhatPatchesTake)
{
  // A block of 3 in fp32 with its column takes 38 bytes. A half adds 12 for the product and 2 for the other row's place.
  EXPECT_EQ(kernels::patch_block_bytes(PatchStorage::both, 3, 4), 38);
  EXPECT_EQ(kernels::patch_pair_bytes(PatchStorage::both, 3, 4), 76);
  EXPECT_EQ(kernels::patch_block_bytes(PatchStorage::half, 3, 4), 50);
  EXPECT_EQ(kernels::patch_pair_bytes(PatchStorage::automatic, 3, 4), 52);
  EXPECT_EQ(kernels::patch_pair_bytes(PatchStorage::automatic, 1, 4), 12);
  const int n = 13;
  for (const int b : {1, 3})
  {
    const SlicedEllpackMatrix<double> A(backend(), b == 1 ? cases::grid_matrix<1>(n) : cases::grid_matrix<3>(n), b);
    std::vector<double>               nodes;
    for (const PatchStorage storage : {PatchStorage::both, PatchStorage::half, PatchStorage::automatic})
    {
      Aggregation                 aggregation;
      Aggregation::AdditionalData data;
      data.patch_storage = storage;
      aggregation.reinit(A, data);
      EXPECT_LE(aggregation.statistics().largest_patch_bytes, int(data.patch_bytes));
      nodes.push_back(aggregation.statistics().nodes_per_patch.mean);
      AggregateLists lists;
      lists.set_patches(Array<int>(backend(), aggregation.patch_offsets().to_vector()),
                        Array<int>(backend(), aggregation.permutation().to_vector()));
      PatchMatrix<double> patches;
      patches.reinit(A, lists, storage);
      EXPECT_EQ(patches.n_mirrors() > 0, storage == PatchStorage::half || (b == 3 && storage != PatchStorage::both));
    }
    if (b == 3)
    {
      EXPECT_GT(nodes[1], 1.2 * nodes[0]);
    }
    EXPECT_EQ(nodes[2], nodes[b == 3 ? 1 : 0]);
  }
  EXPECT_EQ(patch_storage("half_atomic"), PatchStorage::half_atomic);
  EXPECT_THROW(patch_storage("upper"), Error);
}

TEST_P(PatchSmootherTest, CyclesAreSymmetricAndPositiveDefinite)
{
  for (const AMGCycle cycle : {AMGCycle::v, AMGCycle::w})
  {
    const int n      = 6;
    Data      data   = on_patches(1, 3, cycle);
    data.coarse_size = 6;
    GridPatches                       aggregation(n);
    const SlicedEllpackMatrix<double> matrix(backend(), cases::grid_matrix<1>(n));
    PreconditionAMG<double>           amg;
    amg.initialize(matrix, grid_modes<1>(backend(), n), aggregation, data);
    ASSERT_EQ(amg.n_levels(), 3u);
    Dense M(matrix.n_rows(), matrix.n_rows());
    for (int j = 0; j < M.n_rows; ++j)
    {
      std::vector<double> unit(M.n_rows, 0.);
      unit[j]                          = 1.;
      const std::vector<double> column = apply(amg, backend(), unit);
      for (int i = 0; i < M.n_rows; ++i)
        M(i, j) = column[i];
    }
    EXPECT_LT(cases::difference(M.values, M.transposed().values), 1e-14 * M.magnitude());
    EXPECT_GT(cases::smallest_pivot(M), 0.);
  }
}

TEST_P(PatchSmootherTest, HelmholtzTakesFewSteps)
{
  const unsigned int one = helmholtz_count(backend(), 20, on_patches(1)),
                     two = helmholtz_count(backend(), 20, on_patches(2));
  EXPECT_LE(one, 14u);
  EXPECT_LE(two, 11u);
  EXPECT_LE(helmholtz_count(backend(), 20, on_patches(1, 3, AMGCycle::w)), one);
  EXPECT_GT(helmholtz_count(backend(), 20, on_patches(1, 1)), one + 2);
  EXPECT_LE(helmholtz_count(backend(), 20, on_patches(1), 10.), 1.35 * one);
  Data mixed             = on_patches(1);
  mixed.single_precision = true;
  EXPECT_NEAR(helmholtz_count(backend(), 20, mixed), one, 1.);
  if (GetParam() != "host")
  {
    EXPECT_NEAR(helmholtz_count(Backend("host"), 20, on_patches(1)), one, GetParam() == "cuda" ? 1. : 0.);
  }
}

TEST_P(PatchSmootherTest, ElasticityTakesFewSteps)
{
  const int                         n = 13;
  const SlicedEllpackMatrix<double> matrix(backend(), cases::grid_matrix<3>(n), 3);
  const auto                        count = [&](const Data &data) {
    PreconditionAMG<double> amg;
    MISAggregation          aggregation;
    amg.initialize(matrix, grid_modes<3>(backend(), n), aggregation, data);
    EXPECT_EQ(amg.n_levels(), 2u);
    Vector<double>   x(backend(), matrix.n_rows()), b(backend(), std::vector<double>(matrix.n_rows(), 1.));
    IterationControl control;
    control.tolerance = 0.;
    control.reduction = 1e-8;
    ConjugateGradients<double> cg;
    const IterationResult      result = cg.solve(matrix, x, b, amg, control);
    EXPECT_EQ(result.status, IterationResult::Status::converged) << result.message("amg");
    return static_cast<int>(result.n_iterations);
  };
  EXPECT_LE(count(on_patches(2)), count(Data()));
}

TEST_P(PatchSmootherTest, UpdateIsWhatANewHierarchyWouldBe)
{
  const int             n = 10;
  GridPatches           aggregation(n);
  const HostCSR<double> A = cases::grid_matrix<3>(n);
  HostCSR<double>       B = A;
  for (int row = 0; row < B.n_rows; ++row)
    for (std::int64_t e = B.row_offsets[row]; e < B.row_offsets[row + 1]; ++e)
      B.values[e] *= B.columns[e] == row ? 1.5 : 1.;
  const SlicedEllpackMatrix<double> first(backend(), A, 3), second(backend(), B, 3);
  const std::vector<double>         v = cases::random_values(A.n_rows, 71);
  for (const bool single_precision : {false, true})
  {
    Data data             = on_patches(2);
    data.coarse_size      = 20;
    data.single_precision = single_precision;
    PreconditionAMG<double> updated, fresh;
    updated.initialize(first, grid_modes<3>(backend(), n), aggregation, data);
    fresh.initialize(second, grid_modes<3>(backend(), n), aggregation, data);
    const std::vector<double> before = apply(updated, backend(), v), expected = apply(fresh, backend(), v);
    EXPECT_NE(before, expected);
    updated.update(second);
    EXPECT_EQ(apply(updated, backend(), v), expected);
    updated.update(first);
    EXPECT_EQ(apply(updated, backend(), v), before);
  }
}

TEST_P(PatchSmootherTest, WithoutPatchesItIsRefused)
{
  const int                         n = 10;
  const SlicedEllpackMatrix<double> matrix(backend(), cases::grid_matrix<1>(n));
  const auto                        message = [&](AMGAggregation &aggregation, const Data &data) {
    PreconditionAMG<double> amg;
    try
    {
      amg.initialize(matrix, grid_modes<1>(backend(), n), aggregation, data);
    }
    catch (const Error &error)
    {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  cases::GridAggregation none(n);
  EXPECT_EQ(message(none, on_patches(1)),
            "Multigrid level 0 (1000 rows): The smoother works on patches, but the aggregation makes none.");
  GridPatches some(n);
  EXPECT_NE(message(some, on_patches(1, 0)).find("at least one inner sweep, not 0"), std::string::npos);
  EXPECT_NE(message(some, on_patches(0)).find("at least one sweep, not 0"), std::string::npos);
}

TEST_P(PatchSmootherTest, OtherSmoothersGetNoPatches)
{
  const int                         n = 20;
  const SlicedEllpackMatrix<double> matrix(backend(), cases::grid_matrix<1>(n));
  MISAggregation                    aggregation;
  PreconditionAMG<double>           amg;
  amg.initialize(matrix, grid_modes<1>(backend(), n), aggregation, Data());
  for (const Aggregation &level : aggregation.levels())
  {
    EXPECT_EQ(level.n_patches(), 0);
    EXPECT_TRUE(level.patch_offsets().empty());
  }
  const int n_aggregates = aggregation.levels()[0].n_aggregates();
  amg.initialize(matrix, grid_modes<1>(backend(), n), aggregation, on_patches(1));
  EXPECT_EQ(aggregation.levels()[0].n_aggregates(), n_aggregates);
  EXPECT_GT(aggregation.levels()[0].n_patches(), 0);
}
