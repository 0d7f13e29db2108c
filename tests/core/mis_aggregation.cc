// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "multigrid_cases.h"

#include <patchfem/lac/graph/mis_aggregation.h>
#include <patchfem/lac/solver/conjugate_gradients.h>

#include <omp.h>

using namespace PatchFEM;

class MISAggregationTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(MISAggregationTest);

namespace
{
  /** Q1 Laplace or elasticity on n^3 nodes under AMG with the aggregates of an independent set. */
  template <int n_c>
  struct Problem
  {
    SlicedEllpackMatrix<double> matrix;
    MISAggregation              aggregation;
    PreconditionAMG<double>     amg;
    IterationResult             result;
    std::vector<double>         solution;

    Problem(const Backend                                 &backend,
            const int                                      n,
            const Aggregation::AdditionalData             &aggregates = Aggregation::AdditionalData(),
            const PreconditionAMG<double>::AdditionalData &data       = PreconditionAMG<double>::AdditionalData())
        : matrix(backend, cases::grid_matrix<n_c>(n), n_c), aggregation(aggregates)
    {
      amg.initialize(matrix,
                     n_c == 3 ? NearNullSpace::rigid_body_modes(3, Array<double>(backend, cases::grid_points(n)))
                              : NearNullSpace::constants(backend, n * n * n, n_c),
                     aggregation, data);
      Vector<double>   x(backend, matrix.n_rows()), b(backend, std::vector<double>(matrix.n_rows(), 1.));
      IterationControl control;
      control.tolerance = 0.;
      control.reduction = 1e-8;
      ConjugateGradients<double> cg;
      result = cg.solve(matrix, x, b, amg, control);
      EXPECT_EQ(result.status, IterationResult::Status::converged) << result.message("amg");
      solution = x.copy_to_host();
    }
  };

  template <int n_c>
  std::vector<int> counts(const Backend &backend, const std::vector<int> &sizes)
  {
    std::vector<int> result;
    for (const int n : sizes)
    {
      const Problem<n_c> problem(backend, n);
      result.push_back(problem.result.n_iterations);
      EXPECT_LT(problem.amg.operator_complexity(), 1.2);
      EXPECT_LT(problem.amg.grid_complexity(), 1.15);
      EXPECT_EQ(problem.aggregation.levels().size() + 1, problem.amg.n_levels());
    }
    return result;
  }
} // namespace

TEST_P(MISAggregationTest, CountsHardlyGrowAndAreThoseOfTheHost)
{
  const std::vector<int> laplace = counts<1>(backend(), {11, 21, 41}), elasticity = counts<3>(backend(), {8, 14, 24});
  EXPECT_LE(laplace[0], 9);
  EXPECT_LE(laplace[2], laplace[0] + 2);
  EXPECT_LE(elasticity[0], 13);
  EXPECT_LE(elasticity[2], elasticity[0] + 3);
  if (GetParam() != "host")
  {
    EXPECT_NEAR(laplace[1], Problem<1>(Backend("host"), 21).result.n_iterations, GetParam() == "cuda" ? 1. : 0.);
    EXPECT_NEAR(elasticity[1], Problem<3>(Backend("host"), 14).result.n_iterations, GetParam() == "cuda" ? 1. : 0.);
  }
}

TEST_P(MISAggregationTest, RepeatsBitByBit)
{
  PreconditionAMG<double>::AdditionalData data;
  data.coarse_size           = 30;
  const int           before = omp_get_max_threads();
  std::vector<double> first;
  for (const int threads : {1, 3, 3})
  {
    omp_set_num_threads(threads);
    const Problem<3> problem(backend(), 9, Aggregation::AdditionalData(), data);
    EXPECT_GE(problem.amg.n_levels(), 3u);
    if (first.empty())
      first = problem.solution;
    EXPECT_EQ(problem.solution, first);
  }
  omp_set_num_threads(before);
}

TEST_P(MISAggregationTest, CoarseLevelsFollowTheGraphOfTheAggregates)
{
  PreconditionAMG<double>::AdditionalData data;
  data.coarse_size      = 20;
  data.single_precision = false;
  Problem<1> problem(backend(), 25, Aggregation::AdditionalData(), data);
  ASSERT_GE(problem.amg.n_levels(), 3u);
  // The pattern of the coarse matrix alone would leave far fewer aggregates than its mesh has to have.
  const SlicedEllpackMatrix<double> &coarse = problem.amg.hierarchy().matrix(1);
  Aggregation                        plain;
  plain.reinit(coarse);
  EXPECT_LT(plain.n_aggregates(), problem.aggregation.levels()[1].n_aggregates());
  EXPECT_EQ(problem.aggregation.levels()[1].n_nodes(), problem.aggregation.levels()[0].n_aggregates());
  // A level whose predecessor it does not know is an error, the finest one a new start.
  EXPECT_THROW(problem.aggregation.aggregate(9, coarse), Error);
  problem.aggregation.aggregate(0, problem.matrix);
  EXPECT_EQ(problem.aggregation.levels().size(), 1u);
}

TEST_P(MISAggregationTest, WithoutStrongEdgesThePatternDecides)
{
  // Every edge of the finest level is weaker than the threshold, but for none is it more than the diagonal.
  Aggregation::AdditionalData aggregates;
  aggregates.strength_threshold = 0.05;
  const Problem<1> problem(backend(), 15, aggregates);
  EXPECT_LE(problem.result.n_iterations, 30u);
  aggregates.strength_threshold = -1.;
  try
  {
    const Problem<1> refused(backend(), 11, aggregates);
    ADD_FAILURE() << "a negative threshold was taken";
  }
  catch (const Error &error)
  {
    EXPECT_NE(std::string(error.what()).find("Multigrid level 0 (1331 rows): "), std::string::npos) << error.what();
  }
}
