// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_fe.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/hp/fe_collection.h>
#include <deal.II/numerics/vector_tools.h>
#include <patchfem/lac/multigrid/smoothed_aggregation.h>
#include <patchfem/patchfem.h>

using namespace PatchFEM;

namespace
{
  /** A space on a mesh with hanging nodes, with values 0 at x = 0, of the first component alone at x = 1. */
  template <int dim>
  struct Problem
  {
    dealii::hp::FECollection<dim>                 fe;
    dealii::DoFHandler<dim>                       dof_handler;
    dealii::AffineConstraints<double>             constraints;
    const std::shared_ptr<dealii::Mapping<dim>>   mapping;
    std::map<unsigned int, dealii::Point<dim>>    points; ///< of degrees of freedom
    static constexpr std::array<unsigned char, 2> ends{{0, 1}};

    Problem(const dealii::Triangulation<dim> &triangulation, const std::vector<int> &degrees, const int n_components)
        : dof_handler(triangulation), mapping(make_mapping(triangulation))
    {
      for (const int degree : degrees)
        if (triangulation.all_reference_cells_are_hyper_cube())
          fe.push_back(dealii::FESystem<dim>(dealii::FE_Q<dim>(degree), n_components));
        else
          fe.push_back(dealii::FESystem<dim>(dealii::FE_SimplexP<dim>(degree), n_components));
      unsigned int number = 0;
      for (const auto &cell : dof_handler.active_cell_iterators())
        cell->set_active_fe_index(number++ / 3 % fe.size());
      dof_handler.distribute_dofs(fe);
      dealii::DoFTools::make_hanging_node_constraints(dof_handler, constraints);
      for (const unsigned char end : ends)
      {
        dealii::ComponentMask mask(n_components, end == 0);
        mask.set(0, true);
        dealii::VectorTools::interpolate_boundary_values(
            *mapping, dof_handler, end, dealii::Functions::ZeroFunction<dim>(n_components), constraints, mask);
      }
      constraints.close();
      for (const auto &cell : dof_handler.active_cell_iterators())
      {
        std::vector<unsigned int> dofs(cell->get_fe().n_dofs_per_cell());
        cell->get_dof_indices(dofs);
        for (unsigned int i = 0; i < dofs.size(); ++i)
          points[dofs[i]] = mapping->transform_unit_to_real_cell(cell, cell->get_fe().unit_support_point(i));
      }
    }

    static std::shared_ptr<dealii::Mapping<dim>> make_mapping(const dealii::Triangulation<dim> &triangulation)
    {
      if (triangulation.all_reference_cells_are_hyper_cube())
        return std::make_shared<dealii::MappingQ1<dim>>();
      return std::make_shared<dealii::MappingFE<dim>>(dealii::FE_SimplexP<dim>(1));
    }

    FESpace<dim> space(const Backend &backend) const { return {backend, *mapping, dof_handler, constraints}; }
  };

  template <int dim>
  void make_mesh(dealii::Triangulation<dim> &triangulation, const bool simplices)
  {
    if (simplices)
    {
      dealii::GridGenerator::subdivided_hyper_cube_with_simplices(triangulation, 3);
      for (const auto &face : triangulation.active_face_iterators())
        if (face->at_boundary())
          face->set_boundary_id(face->center()[0] < 1e-6 ? 0 : face->center()[0] > 1 - 1e-6 ? 1 : 2);
      return;
    }
    dealii::GridGenerator::hyper_cube(triangulation, 0., 1., true);
    triangulation.refine_global(1);
    for (int step = 0; step < 2; ++step) // hanging vertices whose lines end at hanging ones
    {
      for (const auto &cell : triangulation.active_cell_iterators())
        if (cell->center()[0] < 0.6 && cell->center()[1] < 0.5 + 0.2 * step)
          cell->set_refine_flag();
      triangulation.execute_coarsening_and_refinement();
    }
  }

  template <int dim>
  std::array<long, dim> key_of(const dealii::Point<dim> &point)
  {
    std::array<long, dim> key;
    for (int d = 0; d < dim; ++d)
      key[d] = std::lround(point[d] * 1e6);
    return key;
  }

  /** [unknown of vertices of the embedding], the degree of freedom of @p linear at the same place. */
  template <int dim>
  std::vector<unsigned int>
  linear_dofs(const FESpace<dim> &space, const Problem<dim> &fine, const LinearEmbedding &P, const Problem<dim> &linear)
  {
    std::map<std::pair<std::array<long, dim>, unsigned int>, unsigned int> dof_at;
    for (const auto &cell : linear.dof_handler.active_cell_iterators())
    {
      std::vector<unsigned int> dofs(cell->get_fe().n_dofs_per_cell());
      cell->get_dof_indices(dofs);
      for (unsigned int i = 0; i < dofs.size(); ++i)
        dof_at[{key_of(linear.points.at(dofs[i])), cell->get_fe().system_to_component_index(i).first}] = dofs[i];
    }
    const std::vector<unsigned int> dofs = space.batches().dof_indices().to_vector();
    const int                       n_c  = space.batches().n_components();
    std::vector<unsigned int>       result;
    for (const int node : P.nodes.to_vector())
      for (int a = 0; a < n_c; ++a)
        result.push_back(dof_at.at({key_of(fine.points.at(dofs[node * n_c + a])), a}));
    return result;
  }

  template <int dim>
  void compare_with_interpolation(const Backend          &backend,
                                  const bool              simplices,
                                  const std::vector<int> &degrees,
                                  const int               n_components)
  {
    dealii::Triangulation<dim> triangulation;
    make_mesh(triangulation, simplices);
    const Problem<dim> fine(triangulation, degrees, n_components), linear(triangulation, {1}, n_components);
    const FESpace<dim> space     = fine.space(backend);
    const auto         embedding = space.linear_embedding();
    ASSERT_NE(embedding, nullptr);
    EXPECT_EQ(embedding->degree, *std::max_element(degrees.begin(), degrees.end()));

    // deal.II's interpolation of a function of degree 1, cell by cell.
    dealii::Vector<double> u1(linear.dof_handler.n_dofs()), u(fine.dof_handler.n_dofs());
    for (unsigned int i = 0; i < u1.size(); ++i)
      u1(i) = std::sin(1. + 7. * i);
    linear.constraints.distribute(u1);
    auto other = linear.dof_handler.begin_active();
    for (const auto &cell : fine.dof_handler.active_cell_iterators())
    {
      const dealii::FiniteElement<dim> &fe = cell->get_fe(), &fe1 = linear.fe[0];
      dealii::Vector<double>            from(fe1.n_dofs_per_cell()), to(fe.n_dofs_per_cell());
      (other++)->get_dof_values(u1, from);
      for (unsigned int i = 0; i < to.size(); ++i)
        for (unsigned int j = 0; j < from.size(); ++j)
          to(i) +=
              from(j) * fe1.shape_value_component(j, fe.unit_support_point(i), fe.system_to_component_index(i).first);
      cell->set_dof_values(to, u);
    }

    const std::vector<unsigned int> dofs    = space.batches().dof_indices().to_vector();
    const std::vector<unsigned int> coarse  = linear_dofs(space, fine, *embedding, linear);
    const std::vector<std::int64_t> offsets = embedding->pattern.offsets.to_vector();
    const std::vector<int>          columns = embedding->pattern.columns.to_vector();
    const std::vector<double>       values  = embedding->values.to_vector();
    const int                       n_c     = n_components;
    double                          worst   = 0.;
    int                             n_free = 0, n_free_vertices = 0;
    for (std::size_t unknown = 0; unknown < dofs.size(); ++unknown)
    {
      const std::int64_t i = unknown / n_c, a = unknown % n_c, n = offsets[i + 1] - offsets[i];
      double             sum = 0.;
      for (std::int64_t p = 0; p < n; ++p)
        for (int b = 0; b < n_c; ++b)
          sum += values[(offsets[i] * n_c + a * n + p) * n_c + b] * u1(coarse[columns[offsets[i] + p] * n_c + b]);
      const bool constrained = fine.constraints.is_constrained(dofs[unknown]);
      n_free += !constrained;
      worst = std::max(worst, std::abs(sum - (constrained ? 0. : u(dofs[unknown]))));
    }
    for (const unsigned int dof : coarse)
      n_free_vertices += !linear.constraints.is_constrained(dof);
    EXPECT_LT(worst, 1e-13);
    EXPECT_GT(n_free, 2 * n_free_vertices);
    EXPECT_EQ(static_cast<unsigned int>(n_free_vertices),
              linear.dof_handler.n_dofs() - linear.constraints.n_constraints());
  }
} // namespace

class LinearEmbeddingTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(LinearEmbeddingTest);

TEST_P(LinearEmbeddingTest, OneCellOfDegreeTwo)
{
  dealii::Triangulation<2> triangulation;
  dealii::GridGenerator::hyper_cube(triangulation);
  dealii::DoFHandler<2> dof_handler(triangulation);
  dof_handler.distribute_dofs(dealii::FE_Q<2>(2));
  const FESpace<2> space(backend(), dealii::MappingQ1<2>(), dof_handler, dealii::AffineConstraints<double>());
  const auto       P = space.linear_embedding();
  ASSERT_NE(P, nullptr);
  EXPECT_EQ(P->n_vertices(), 4);
  const std::vector<std::int64_t>    offsets = P->pattern.offsets.to_vector();
  const std::vector<double>          values  = P->values.to_vector();
  std::map<std::vector<double>, int> rows;
  for (int i = 0; i < 9; ++i)
    ++rows[std::vector<double>(values.begin() + offsets[i], values.begin() + offsets[i + 1])];
  EXPECT_EQ(rows[std::vector<double>(1, 1.)], 4);  // vertices
  EXPECT_EQ(rows[std::vector<double>(2, .5)], 4);  // middles of edges
  EXPECT_EQ(rows[std::vector<double>(4, .25)], 1); // of the cell
}

TEST_P(LinearEmbeddingTest, IsDealIIsInterpolation)
{
  for (const std::vector<int> &degrees : {std::vector<int>{2}, {3}, {4}, {1, 2}, {2, 3, 1}})
  {
    SCOPED_TRACE(::testing::PrintToString(degrees));
    compare_with_interpolation<2>(backend(), false, degrees, 1);
    compare_with_interpolation<2>(backend(), false, degrees, 2);
    if (degrees.size() == 1)
      compare_with_interpolation<3>(backend(), false, degrees, degrees[0] == 2 ? 3 : 1);
    if (degrees == std::vector<int>{2}) // deal.II 9.4 has simplices of degree 1 and 2
    {
      compare_with_interpolation<2>(backend(), true, degrees, 2);
      compare_with_interpolation<3>(backend(), true, degrees, 1);
    }
  }
}

/** On parallelograms, where quadrature is exact, R A P is the matrix of the space of degree 1. */
TEST_P(LinearEmbeddingTest, CoarseMatrixIsThatOfDegreeOne)
{
  dealii::Triangulation<2> triangulation;
  make_mesh(triangulation, false);
  const Problem<2> fine(triangulation, {3}, 2), linear(triangulation, {1}, 2);
  const auto       assemble = [](const FESpace<2> &space, SlicedEllpackMatrix<double> &matrix) {
    Assembler<Elasticity<2>> assembler(space);
    assembler.set_coefficients(CoefficientField::constant({1., 2.}));
    space.initialize_matrix(matrix);
    Vector<double> rhs;
    assembler.assemble(matrix, rhs);
  };
  const FESpace<2>            space = fine.space(backend()), linear_space = linear.space(backend());
  SlicedEllpackMatrix<double> A, A1;
  assemble(space, A);
  assemble(linear_space, A1);
  const auto                  P = space.linear_embedding();
  SmoothedAggregation<double> coarsening;
  coarsening.reinit(A, *P);
  coarsening.compute(A, *P);

  const std::vector<unsigned int>                         coarse = linear_dofs(space, fine, *P, linear);
  const std::vector<unsigned int>                         dofs   = linear_space.batches().dof_indices().to_vector();
  std::map<std::pair<unsigned int, unsigned int>, double> expected;
  const HostCSR<double> theirs = A1.to_csr_host(), ours = coarsening.coarse_matrix().to_csr_host();
  for (int i = 0; i < theirs.n_rows; ++i)
    for (std::int64_t e = theirs.row_offsets[i]; e < theirs.row_offsets[i + 1]; ++e)
      expected[{dofs[i], dofs[theirs.columns[e]]}] = theirs.values[e];
  double worst = 0.;
  for (int i = 0; i < ours.n_rows; ++i)
    for (std::int64_t e = ours.row_offsets[i]; e < ours.row_offsets[i + 1]; ++e)
    {
      const unsigned int row = coarse[i], column = coarse[ours.columns[e]];
      const bool         constrained = linear.constraints.is_constrained(row);
      const double       value       = constrained ? double(row == column) : expected[{row, column}];
      worst                          = std::max(worst, std::abs(ours.values[e] - value));
    }
  EXPECT_GT(ours.n_rows, 40);
  EXPECT_LT(worst, 1e-12);
}

/** Aggregates are those of the level of degree 1, and so are the values that they have to fit. */
TEST_P(LinearEmbeddingTest, AggregatesFitTheLevelOfDegreeOne)
{
  dealii::Triangulation<2> triangulation;
  dealii::GridGenerator::subdivided_hyper_rectangle(triangulation, {40, 20}, dealii::Point<2>(),
                                                    dealii::Point<2>(2., 1.), true);
  const Problem<2>            problem(triangulation, {2}, 1);
  const FESpace<2>            space = problem.space(backend());
  Assembler<Laplace<2>>       assembler(space);
  SlicedEllpackMatrix<double> A;
  space.initialize_matrix(A);
  const auto assemble = [&](const double even, const double odd) {
    assembler.set_coefficients(CoefficientField::by_cell(space, [&](const auto &cell) {
      return std::vector<double>{cell->active_cell_index() / 40 % 2 == 0 ? even : odd};
    }));
    assembler.assemble_matrix(A);
  };
  PreconditionAMG<double> amg;
  assemble(1., 1.);
  amg.initialize(A, space.constants());
  ASSERT_EQ(amg.statistics()[0].embedded_degree, 2);
  for (const auto &[even, odd] : {std::make_pair(1e6, 1e6), {1e6, 1.}, {1., 3.}, {1., 1e6}})
  {
    assemble(even, odd);
    amg.update(A);
    EXPECT_EQ(amg.aggregates_fit(), even + odd < 10. || even == odd) << even << ", " << odd;
  }
}

/** A strip of cells 10 : 1 keeps all its nodes beside cells that keep their vertices; linear functions stay what they are. */
TEST_P(LinearEmbeddingTest, StretchedCellsKeepTheirNodes)
{
  dealii::Triangulation<2>  triangulation;
  const std::vector<double> even(4, .5);
  dealii::GridGenerator::subdivided_hyper_rectangle(triangulation,
                                                    std::vector<std::vector<double>>{{.05, .5, .5, .5}, even},
                                                    dealii::Point<2>(), dealii::Point<2>(1.55, 2.));
  const dealii::MappingQ1<2> mapping;
  dealii::DoFHandler<2>      dof_handler(triangulation);
  dof_handler.distribute_dofs(dealii::FE_Q<2>(3));
  const FESpace<2> space(backend(), mapping, dof_handler, dealii::AffineConstraints<double>());
  const auto       P = space.linear_embedding();
  ASSERT_NE(P, nullptr);
  EXPECT_EQ(P->n_vertices(), 4 * 13 + 3 * 5); // the strip's, and the vertices right of it
  const std::vector<double>       points = space.batches().node_points().to_vector();
  const std::vector<int>          nodes = P->nodes.to_vector(), columns = P->pattern.columns.to_vector();
  const std::vector<std::int64_t> offsets = P->pattern.offsets.to_vector();
  const std::vector<double>       values  = P->values.to_vector();
  for (std::size_t i = 0; i < points.size(); ++i)
  {
    double sum = 0.;
    for (std::int64_t e = offsets[i / 2]; e < offsets[i / 2 + 1]; ++e)
      sum += values[e] * points[nodes[columns[e]] * 2 + i % 2];
    EXPECT_NEAR(sum, points[i], 1e-14);
  }
}

TEST_P(LinearEmbeddingTest, IsNoneOfDegreeOneAndWhereAllCellsAreStretched)
{
  dealii::Triangulation<2> triangulation, stretched;
  make_mesh(triangulation, false);
  EXPECT_EQ(Problem<2>(triangulation, {1}, 1).space(backend()).linear_embedding(), nullptr);
  dealii::GridGenerator::subdivided_hyper_rectangle(stretched, {2, 2}, dealii::Point<2>(), dealii::Point<2>(1., .1),
                                                    true);
  EXPECT_EQ(Problem<2>(stretched, {2}, 1).space(backend()).linear_embedding(), nullptr);
}
