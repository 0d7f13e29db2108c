// SPDX-License-Identifier: LGPL-2.1-or-later
// Which cell gets which degree, and what smoothness decides.
#include "mesh_cases.h"

#include <patchfem/app/cell_degrees.h>

#include <deal.II/base/function_lib.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/numerics/vector_tools.h>

using namespace PatchFEM;

namespace
{
  FiniteElementParameters hp_parameters(const std::vector<unsigned int> &degrees, const std::string &cell_degree)
  {
    FiniteElementParameters parameters;
    parameters.degrees     = degrees;
    parameters.degree      = degrees.front();
    parameters.cell_degree = cell_degree;
    return parameters;
  }

  /** A row of four cells with the material ids 0, 1, 2, 3, and their degrees from left to right. */
  std::vector<unsigned int> degrees_in_a_row(const FiniteElementParameters &parameters)
  {
    dealii::Triangulation<2> triangulation;
    dealii::GridGenerator::subdivided_hyper_rectangle(triangulation, {4, 1}, dealii::Point<2>(),
                                                      dealii::Point<2>(4., 1.));
    std::set<dealii::types::material_id> materials;
    for (const auto &cell : triangulation.active_cell_iterators())
    {
      cell->set_material_id(static_cast<unsigned int>(cell->center()[0]));
      materials.insert(cell->material_id());
    }
    CellDegrees<2> degrees(parameters, parse_constants("a = 2"));
    degrees.resolve(MeshRegions(materials));
    dealii::DoFHandler<2> dof_handler(triangulation);
    degrees.assign(dof_handler);
    std::vector<unsigned int> result(4);
    for (const auto &cell : dof_handler.active_cell_iterators())
      result[cell->material_id()] = parameters.legal_degrees()[cell->active_fe_index()];
    return result;
  }

  using Degrees = std::vector<unsigned int>;
} // namespace

TEST(AppCellDegrees, FormulaAtTheCentre)
{
  EXPECT_EQ(degrees_in_a_row(hp_parameters({1, 2, 4}, "x < a ? 1 : 4")), (Degrees{1, 1, 4, 4}));
  EXPECT_EQ(degrees_in_a_row(hp_parameters({1, 2, 3, 4}, "x + 0.5")), (Degrees{1, 2, 3, 4}));
}

TEST(AppCellDegrees, FormulaPerMaterialAndDegreeForTheRest)
{
  EXPECT_EQ(degrees_in_a_row(hp_parameters({2, 3, 4}, "1: 4, 3: x > 3.4 ? 3 : 2")), (Degrees{2, 4, 2, 3}));
  EXPECT_EQ(degrees_in_a_row(hp_parameters({2, 3, 4}, "0 2: 4, default: 3")), (Degrees{4, 3, 4, 3}));
  EXPECT_EQ(degrees_in_a_row(hp_parameters({3, 4}, "")), (Degrees{3, 3, 3, 3}));
}

TEST(AppCellDegrees, RefusesWhatIsNotInTheList)
{
  const auto refused = [](const std::string &formula, const std::vector<std::string> &parts) {
    mesh_cases::expect_error([&] { degrees_in_a_row(hp_parameters({1, 3}, formula)); }, parts);
  };
  refused("2: 2", {"The degree 2 that Finite element/Cell degree", "(2.5 0.5), material id 2", "Degrees = 1, 3;"});
  refused("1.5", {"The degree 1.5"});
  refused("5: 1", {"Cell degree names material id 5, but no cell has it"});
}

namespace
{
  /** All cells ask for refinement; the solution is smooth but, if so wished, for the column of cells on the right. */
  template <int dim>
  void check_choice(const unsigned int n_components, const bool rough_on_the_right)
  {
    using namespace dealii;
    Triangulation<dim> triangulation;
    GridGenerator::subdivided_hyper_cube(triangulation, 4, -1., 1.);
    DoFHandler<dim>       dof_handler(triangulation);
    hp::FECollection<dim> elements;
    for (const unsigned int degree : {3, 4})
      elements.push_back(FESystem<dim>(FE_Q<dim>(degree), n_components));
    dof_handler.distribute_dofs(elements);

    // The Legendre coefficients of exp((x + y)/2) decay fast; those of waves that cells are too large for do not.
    SolutionVector solution(dof_handler.n_dofs());
    const auto     function = [&](const Point<dim> &x) {
      const double waves = rough_on_the_right && x[0] > 0.5
                                   ? std::sin(12. * numbers::PI * (x[0] - 0.5)) * std::sin(12. * numbers::PI * x[1])
                                   : 0.;
      return 1e-6 * (std::exp(0.5 * (x[0] + x[1])) + 4. * waves);
    };
    VectorTools::interpolate(
        dof_handler, VectorFunctionFromScalarFunctionObject<dim>(function, n_components - 1, n_components), solution);

    for (const auto &cell : triangulation.active_cell_iterators())
      cell->set_refine_flag();
    choose_between_h_and_p(triangulation, dof_handler, solution, 1.);
    unsigned int n_h = 0, n_p = 0;
    for (const auto &cell : dof_handler.active_cell_iterators())
    {
      const bool rough = rough_on_the_right && cell->center()[0] > 0.5;
      EXPECT_EQ(bool(cell->refine_flag_set()), rough) << cell->center();
      EXPECT_EQ(cell->future_fe_index(), rough ? 0u : 1u) << cell->center();
      ++(cell->refine_flag_set() ? n_h : n_p);
    }
    EXPECT_EQ(n_h > 0, rough_on_the_right);
    EXPECT_GT(n_p, 0u);

    // The choice comes through refinement, and cells of the highest degree can only be cut.
    triangulation.execute_coarsening_and_refinement();
    dof_handler.distribute_dofs(elements);
    const auto counts = count_cells_by_degree(dof_handler, MPI_COMM_SELF);
    EXPECT_EQ(counts.at(4), n_p);
    EXPECT_EQ(counts.at(3), n_h << dim);
    solution.reinit(dof_handler.n_dofs());
    for (const auto &cell : triangulation.active_cell_iterators())
      cell->set_refine_flag();
    choose_between_h_and_p(triangulation, dof_handler, solution, 0.);
    for (const auto &cell : dof_handler.active_cell_iterators())
      EXPECT_TRUE(cell->active_fe_index() == 0 || cell->refine_flag_set()) << cell->center();
  }
} // namespace

TEST(AppHPAdaptivity, RaisesDegreesWhereTheSolutionIsSmooth)
{
  check_choice<2>(1, false);
  check_choice<3>(1, false);
}

TEST(AppHPAdaptivity, CutsCellsWhereItIsNot)
{
  check_choice<2>(1, true);
}

TEST(AppHPAdaptivity, OneRoughComponentIsEnough)
{
  check_choice<2>(2, true);
  check_choice<3>(3, true);
}

TEST(AppHPAdaptivity, PeriodicNeighboursNeedEqualDegrees)
{
  using namespace dealii;
  const auto run = [](const std::string &formula, const unsigned int n_refinements) {
    Triangulation<2> triangulation;
    GridGenerator::hyper_cube(triangulation, 0., 1., true);
    std::vector<GridTools::PeriodicFacePair<Triangulation<2>::cell_iterator>> faces;
    GridTools::collect_periodic_faces(triangulation, 0, 1, 0, faces);
    triangulation.add_periodicity(faces);
    triangulation.refine_global(n_refinements);
    triangulation.begin_active()->set_refine_flag(); // at the left, so that its neighbour is coarser
    triangulation.execute_coarsening_and_refinement();
    DoFHandler<2>  dof_handler(triangulation);
    CellDegrees<2> degrees(hp_parameters({1, 2}, formula), {});
    degrees.resolve(MeshRegions(std::set<unsigned int>{0}));
    degrees.assign(dof_handler);
    dof_handler.distribute_dofs(hp::FECollection<2>(FE_Q<2>(1), FE_Q<2>(2)));
    check_degrees_of_periodic_cells(dof_handler);
  };
  EXPECT_NO_THROW(run("y < 0.5 ? 1 : 2", 2));
  EXPECT_NO_THROW(run("abs(x-0.5) < 0.25 ? 2 : 1", 3));
  mesh_cases::expect_error([&] { run("x < 0.5 ? 1 : 2", 2); }, {"Periodic joins, have the degrees", "and"});
  mesh_cases::expect_error([&] { run("x < 0.15 && y < 0.15 ? 2 : 1", 2); }, {"have the degrees 2 and 1"});
}
