// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/backend_names.h"
#include "../core/message_of.h"

#include <deal.II/base/function_parser.h>
#include <deal.II/base/quadrature_lib.h>
#include <deal.II/dofs/dof_renumbering.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/numerics/matrix_tools.h>
#include <deal.II/numerics/vector_tools.h>
#include <patchfem/assembly/field_summary.h>
#include <patchfem/kernels/field_laws.h>
#include <patchfem/patchfem.h>

#include <memory>
#include <numeric>

using namespace PatchFEM;

namespace
{
  /** Hanging nodes, a moving boundary value at x = 0, and unknowns in deal.II's component-wise order. */
  template <int dim>
  struct Problem
  {
    dealii::Triangulation<dim>        triangulation;
    const dealii::MappingQ1<dim>      mapping;
    const dealii::FESystem<dim>       fe;
    dealii::DoFHandler<dim>           dof_handler;
    dealii::AffineConstraints<double> constraints;

    explicit Problem(const unsigned int degree = 1, const unsigned int n_components = dim)
        : fe(dealii::FE_Q<dim>(degree), n_components), dof_handler(triangulation)
    {
      dealii::GridGenerator::hyper_cube(triangulation, 0., 1., true);
      triangulation.refine_global(dim == 2 ? 3 : 2);
      for (const auto &cell : triangulation.active_cell_iterators())
        if (cell->center().norm() < 0.6)
          cell->set_refine_flag();
      triangulation.execute_coarsening_and_refinement();
      dof_handler.distribute_dofs(fe);
      dealii::DoFRenumbering::component_wise(dof_handler);
      set_boundary_value(0.5);
    }

    void set_boundary_value(const double value)
    {
      constraints.clear();
      dealii::DoFTools::make_hanging_node_constraints(dof_handler, constraints);
      dealii::VectorTools::interpolate_boundary_values(
          mapping, dof_handler, 0, dealii::Functions::ConstantFunction<dim>(value, fe.n_components()), constraints);
      constraints.close();
    }

    FESpace<dim> space(const Backend &backend) const { return {backend, mapping, dof_handler, constraints}; }
  };

  dealii::Vector<double> some_vector(const std::size_t n)
  {
    dealii::Vector<double> result(n);
    for (std::size_t i = 0; i < n; ++i)
      result(i) = std::sin(1. + 7. * i);
    return result;
  }

  void expect_near(const dealii::Vector<double> &a, const dealii::Vector<double> &b, const double bound = 1e-13)
  {
    ASSERT_EQ(a.size(), b.size());
    double worst = 0.;
    for (unsigned int i = 0; i < a.size(); ++i)
      if (const double difference = std::abs(a(i) - b(i)); !(difference <= worst)) // true for a NaN
        worst = difference;
    EXPECT_LE(worst, bound * b.linfty_norm());
  }

  /** Matrix and right-hand side of f = 1 on @p space. */
  template <int dim>
  void assemble(const Space &space, SlicedEllpackMatrix<double> &matrix, Vector<double> &rhs)
  {
    Assembler<Elasticity<dim>> assembler(space);
    assembler.set_coefficients(CoefficientField::constant({1., 2.}));
    assembler.set_body_load(CoefficientField::constant(std::vector<double>(dim, 1.)));
    space.initialize_matrix(matrix);
    assembler.assemble(matrix, rhs);
  }
} // namespace

class FESpaceTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(FESpaceTest);

TEST_P(FESpaceTest, VectorsGoThereAndBack)
{
  const Problem<3>             problem;
  const FESpace<3>             space  = problem.space(backend());
  const dealii::Vector<double> theirs = some_vector(problem.dof_handler.n_dofs());
  Vector<double>               ours;
  dealii::Vector<double>       back;
  space.copy_from(theirs, ours);
  EXPECT_TRUE(ours.backend() == backend());
  space.copy_to(ours, back);
  EXPECT_TRUE(back == theirs);
  EXPECT_NE(ours.copy_to_host(), std::vector<double>(theirs.begin(), theirs.end()));
}

TEST_P(FESpaceTest, ConstraintsActOnVectorsAsInDealII)
{
  const Problem<3>             problem(2);
  const FESpace<3>             space = problem.space(backend());
  const dealii::Vector<double> given = some_vector(problem.dof_handler.n_dofs());
  dealii::Vector<double>       theirs, back;
  Vector<double>               ours;
  Vector<float>                single;
  const auto                   compare = [&](const auto &their_operation, const auto &our_operation) {
    theirs = given;
    their_operation();
    space.copy_from(given, ours);
    our_operation(ours);
    space.copy_to(ours, back);
    expect_near(back, theirs);
    space.copy_from(given, single);
    our_operation(single);
    space.copy_to(single, back);
    expect_near(back, theirs, 1e-6);
  };
  compare([&] { problem.constraints.distribute(theirs); }, [&](auto &x) { space.constraints().distribute(x); });
  compare([&] { problem.constraints.set_zero(theirs); }, [&](auto &x) { space.constraints().set_zero(x); });
  dealii::AffineConstraints<double> homogeneous; // condense(Vector) of deal.II refuses others
  homogeneous.copy_from(problem.constraints);
  for (const auto &line : problem.constraints.get_lines())
    homogeneous.set_inhomogeneity(line.index, 0.);
  compare([&] { homogeneous.condense(theirs); }, [&](auto &x) { space.constraints().condense(x); });
}

TEST_P(FESpaceTest, NewBoundaryValuesAreThoseOfANewSpace)
{
  Problem<2> problem;
  problem.set_boundary_value(0.);
  FESpace<2>                  space = problem.space(backend());
  Assembler<Elasticity<2>>    assembler(space);
  SlicedEllpackMatrix<double> matrix, expected_matrix;
  Vector<double>              rhs, x, expected;
  assembler.set_coefficients(CoefficientField::constant({1., 2.}));
  assembler.set_body_load(CoefficientField::constant({1., 1.}));
  space.initialize_matrix(matrix);
  for (const double value : {0., 3., -1e-3, 0.}) // k appear in cells, change and vanish again
  {
    problem.set_boundary_value(value);
    space.update_inhomogeneities(problem.constraints);
    assembler.assemble(matrix, rhs);
    assemble<2>(problem.space(backend()), expected_matrix, expected);
    EXPECT_EQ(rhs.copy_to_host(), expected.copy_to_host()) << value;
    EXPECT_EQ(matrix.to_csr_host().values, expected_matrix.to_csr_host().values) << value;

    dealii::Vector<double> theirs(problem.dof_handler.n_dofs()), back;
    space.initialize_dof_vector(x);
    space.constraints().distribute(x);
    space.copy_to(x, back);
    problem.constraints.distribute(theirs);
    EXPECT_TRUE(back == theirs) << value;
  }
}

TEST_P(FESpaceTest, UnconstrainedProductsMakeTheSameSystem)
{
  const Problem<3>            problem;
  const FESpace<3>            space = problem.space(backend());
  const Space                 free  = space.unconstrained();
  SlicedEllpackMatrix<double> matrix, free_matrix;
  Vector<double>              rhs, free_rhs;
  EXPECT_TRUE(free == space.unconstrained());
  EXPECT_EQ(free.batches().new_of_old(), space.batches().new_of_old());
  EXPECT_EQ(free.constraints().n_lines(), 0u);
  assemble<3>(space, matrix, rhs);
  assemble<3>(free, free_matrix, free_rhs);

  space.constraints().condense(free_matrix, free_rhs);
  space.constraints().set_zero(rhs); // where the assembled one has the boundary values times the diagonal
  dealii::Vector<double> a, b;
  space.copy_to(free_rhs, a);
  space.copy_to(rhs, b);
  expect_near(a, b);
}

TEST_P(FESpaceTest, ImportsComponentWiseSystems)
{
  const Problem<3>               problem;
  const FESpace<3>               space = problem.space(backend());
  dealii::DynamicSparsityPattern dynamic(problem.dof_handler.n_dofs());
  dealii::DoFTools::make_sparsity_pattern(problem.dof_handler, dynamic, problem.constraints);
  dealii::SparsityPattern pattern;
  pattern.copy_from(dynamic);
  dealii::SparseMatrix<double> laplace(pattern);
  dealii::MatrixCreator::create_laplace_matrix(problem.mapping, problem.dof_handler, dealii::QGauss<3>(2), laplace,
                                               static_cast<const dealii::Function<3> *>(nullptr), problem.constraints);

  SlicedEllpackMatrix<double> matrix;
  Vector<double>              b;
  space.import_matrix(laplace, matrix);
  EXPECT_EQ(matrix.block_rows(), 3);
  space.copy_from(some_vector(problem.dof_handler.n_dofs()), b);
  dealii::SolverControl  control(100, 1e-8 * b.l2_norm());
  SolverCG               solver(control);
  dealii::Vector<double> x, residual(b.size());
  space.copy_to(solver.solve(matrix, b, PreconditionAMG<double>(matrix, space.constants())), x);
  EXPECT_LE(control.last_step(), 20u);
  EXPECT_LE(laplace.residual(residual, x, some_vector(problem.dof_handler.n_dofs())), 1.1e-8 * b.l2_norm());

  // The same matrix in other indices is not taken for one of this space.
  dealii::DoFHandler<3> other(problem.triangulation);
  other.distribute_dofs(problem.fe);
  const FESpace<3> wrong(backend(), problem.mapping, other, dealii::AffineConstraints<double>());
  EXPECT_NE(message_of([&] { wrong.import_matrix(laplace, matrix); }).find("share no cell"), std::string::npos);
}

TEST_P(FESpaceTest, FormsShareWhatIsLarge)
{
  const Problem<2>         problem;
  const FESpace<2>         space = problem.space(backend());
  Assembler<Elasticity<2>> a(space), b(space);
  EXPECT_EQ(&a.patches(), &b.patches());
  const Sparsity *const sparsity = &space.sparsity();
  EXPECT_EQ(&a.space().sparsity(), sparsity);
  // A plan lives as long as a form that uses it; a new one equals it.
  const std::size_t bytes = space.memory_consumption();
  a.set_coefficients(CoefficientField::constant({1., 2.}));
  SlicedEllpackMatrix<double> first, second;
  space.initialize_matrix(first);
  space.initialize_matrix(second);
  a.assemble_matrix(first);
  a = Assembler<Elasticity<2>>();
  b = Assembler<Elasticity<2>>();
  EXPECT_LT(space.memory_consumption(), bytes);
  a.reinit(space);
  a.set_coefficients(CoefficientField::constant({1., 2.}));
  a.assemble_matrix(second);
  EXPECT_EQ(first.to_csr_host().values, second.to_csr_host().values);
  EXPECT_NO_THROW(a.reinit(a.space()));
  EXPECT_TRUE(a.space() == space);
}

TEST_P(FESpaceTest, TractionsAreThoseOfDealII)
{
  const Problem<2>  problem;
  ExtractionData<2> extraction;
  extraction.boundary_ids = {1, 3};
  const FESpace<2>         space(backend(), problem.mapping, problem.dof_handler, problem.constraints, extraction);
  Assembler<Elasticity<2>> assembler(space);
  assembler.set_coefficients(CoefficientField::constant({1., 2.}));
  dealii::FunctionParser<2> traction(2);
  traction.initialize("x,y", "1 + x*y; y - x", {});
  Vector<double> without, with;
  assembler.assemble_rhs(without);
  for (const std::set<dealii::types::boundary_id> &ids : {std::set<dealii::types::boundary_id>{}, {1, 3}, {3}})
  {
    assembler.set_face_terms(space.evaluate_on_faces(traction, ids));
    assembler.assemble_rhs(with);
    with.add(-1., without);
    dealii::Vector<double> load, expected(problem.dof_handler.n_dofs());
    space.copy_to(with, load);
    dealii::VectorTools::create_boundary_right_hand_side(problem.mapping, problem.dof_handler, dealii::QGauss<1>(2),
                                                         traction, expected,
                                                         ids.empty() ? extraction.boundary_ids : ids);
    problem.constraints.condense(expected);
    expect_near(load, expected, 1e-12);
  }
}

TEST_P(FESpaceTest, FunctionsOfCellsAreFieldsByCell)
{
  const Problem<2>         problem;
  const FESpace<2>         space = problem.space(backend());
  Assembler<Elasticity<2>> by_function(space), by_point(space);
  const auto               lambda = [](const dealii::Point<2> &centre) { return centre[0] + 2. * centre[1]; };
  by_function.set_coefficients(CoefficientField::by_cell(space, [&](const auto &cell) {
    return std::vector<double>{lambda(cell->center()), 1.};
  }));
  std::vector<double> values;
  for (const auto &cell : problem.triangulation.active_cell_iterators())
    values.insert(values.end(), {lambda(cell->center()), 1.});
  by_point.set_coefficients(CoefficientField::by_cell(2, {values}));
  SlicedEllpackMatrix<double> first, second;
  space.initialize_matrix(first);
  space.initialize_matrix(second);
  by_function.assemble_matrix(first);
  by_point.assemble_matrix(second);
  EXPECT_EQ(first.to_csr_host().values, second.to_csr_host().values);
}

TEST(FESpaceErrors, NameTheirCause)
{
  Problem<2>                  problem;
  const Backend               host("host");
  FESpace<2>                  space = problem.space(host);
  Assembler<Elasticity<2>>    assembler;
  SlicedEllpackMatrix<double> matrix;
  Vector<double>              rhs, x;
  dealii::Vector<double>      solution;
  const auto                  expect_error = [&](const auto &function, const std::string &part) {
    EXPECT_NE(message_of(function).find(part), std::string::npos) << message_of(function);
  };
  expect_error([&] { assembler.set_coefficients(CoefficientField::constant({1., 2.})); }, "before it was made");
  expect_error([&] { assembler.set_face_terms(FaceTerms()); }, "before it was made");
  expect_error([&] { assembler.assemble(matrix, rhs); }, "before it was made");
  expect_error([&] { assembler.patches(); }, "before it had a space");
  expect_error([&] { FESpace<2>().copy_to(x, solution); }, "before it was made");

  assembler.reinit(space);
  assembler.set_coefficients(CoefficientField::constant({1., 2.}));
  matrix.reinit(host, space.sparsity().view()); // without its blocks
  expect_error([&] { assembler.assemble(matrix, rhs); }, "initialize_matrix()");
  expect_error([&] { space.copy_to(x, solution); }, "entry for each unknown");
  expect_error([&] { space.constraints().distribute(x); }, "entry for each unknown");
  expect_error([&] { space.evaluate_on_faces(dealii::Functions::ZeroFunction<2>(3)); }, "needs 2 components");
  expect_error([&] { space.evaluate_on_faces(dealii::Functions::ZeroFunction<2>(2), {1}); },
               "no faces of boundary id 1; name it in ExtractionData::boundary_ids");
  int n = 0;
  expect_error([&] { CoefficientField::by_cell(space, [&](const auto &) { return std::vector<double>(++n); }); },
               "different numbers of values");

  const auto extremes_at = [&](const std::vector<ReferenceElement> &points) {
    field_extremes<LoadMoments<2, 2>>(space, x, CoefficientField::constant({1., 1.}), points);
  };
  expect_error([&] { extremes_at(std::vector<ReferenceElement>(2)); },
               "each of the 1 batches of the space; there are 2");
  expect_error([&] { extremes_at(std::vector<ReferenceElement>(1)); }, "its cells have 4 and 4");

  dealii::AffineConstraints<double> others;
  others.close();
  expect_error([&] { space.update_inhomogeneities(others); }, "their number differs");
  others.reinit();
  for (const auto &line : problem.constraints.get_lines()) // other weights
  {
    others.add_line(line.index);
    for (const auto &[master, weight] : line.entries)
      others.add_entry(line.index, master, 2. * weight);
  }
  others.close();
  expect_error([&] { space.update_inhomogeneities(others); }, "they differ at index");
  space.release_sparsity_columns();
  expect_error([&] { space.initialize_matrix(matrix); }, "given back");

  // Other materials, other numbers, another mesh; the first two may be taken back.
  space.initialize_dof_vector(x);
  const auto cell = problem.triangulation.begin_active();
  cell->set_material_id(7);
  expect_error([&] { space.copy_to(x, solution); }, "Material ids have changed");
  cell->set_material_id(0);
  space.copy_to(x, solution);
  std::vector<dealii::types::global_dof_index> numbers(problem.dof_handler.n_dofs());
  std::iota(numbers.rbegin(), numbers.rend(), 0);
  problem.dof_handler.renumber_dofs(numbers);
  expect_error([&] { space.copy_to(x, solution); }, "numbered anew");
  expect_error([&] { space.evaluate(dealii::Functions::ZeroFunction<2>(2)); }, "numbered anew");
  problem.dof_handler.renumber_dofs(numbers);
  space.copy_to(x, solution);
  problem.triangulation.refine_global(1);
  expect_error([&] { space.copy_to(x, solution); }, "call FESpace::reinit()");
  expect_error([&] { space.update_inhomogeneities(problem.constraints); }, "call FESpace::reinit()");
  expect_error([&] { space.evaluate(dealii::Functions::ZeroFunction<2>(2)); }, "call FESpace::reinit()");

  // A refused plan leaves an assembler without a space, not one with the plan of another.
  const Problem<2> other;
  const FESpace<2> other_space = other.space(host);
  other_space.release_sparsity_columns();
  expect_error([&] { assembler.reinit(other_space); }, "given back");
  expect_error([&] { assembler.assemble(matrix, rhs); }, "before it was made");

  // A DoFHandler without unknowns, or none.
  auto handler = std::make_unique<dealii::DoFHandler<2>>(other.triangulation);
  handler->distribute_dofs(other.fe);
  const FESpace<2> of_handler(host, other.mapping, *handler, dealii::AffineConstraints<double>());
  handler->clear();
  expect_error([&] { of_handler.owned_dofs(); }, "was cleared");
#ifndef DEBUG // where deal.II refuses that
  handler.reset();
  expect_error([&] { CoefficientField::by_cell(of_handler, [](const auto &) { return std::vector<double>(1); }); },
               "is no more");
#endif
}
