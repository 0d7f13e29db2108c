// SPDX-License-Identifier: LGPL-2.1-or-later
// What is not supported is refused in one sentence that names the thing and the remedy.
#include "extraction_cases.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe_dgq.h>
#include <deal.II/fe/fe_q_bubbles.h>
#include <deal.II/fe/fe_simplex_p_bubbles.h>
#include <deal.II/fe/mapping_cartesian.h>
#include <deal.II/grid/tria_description.h>

#include <gtest/gtest.h>

#include <limits>

namespace
{
  using namespace dealii;

  AffineConstraints<double> none()
  {
    AffineConstraints<double> constraints;
    constraints.close();
    return constraints;
  }

  /** The extraction throws one sentence that contains all of @p parts. */
  template <int dim>
  void expect_refusal(const Mapping<dim>                  &mapping,
                      const DoFHandler<dim>               &dof_handler,
                      const std::vector<std::string>      &parts,
                      const AffineConstraints<double>     &constraints = none(),
                      const PatchFEM::ExtractionData<dim> &data        = PatchFEM::ExtractionData<dim>())
  {
    try
    {
      PatchFEM::extract_element_tables<dim>(mapping, dof_handler, constraints, data);
      FAIL() << "not refused; expected a message with: " << parts[0];
    }
    catch (const PatchFEM::Error &error)
    {
      const std::string message = error.what();
      for (const std::string &part : parts)
        EXPECT_NE(message.find(part), std::string::npos) << "'" << part << "' is not in: " << message;
      EXPECT_EQ(message.back(), '.') << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }

  template <int dim>
  void refuse_element(const FiniteElement<dim> &fe, const std::vector<std::string> &parts)
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh(fe.reference_cell().is_simplex() ? "simplices" : "cube", triangulation);
    DoFHandler<dim> dof_handler(triangulation);
    dof_handler.distribute_dofs(fe);
    expect_refusal<dim>(*Cases::make_mapping<dim>(fe.reference_cell().is_simplex(), 1), dof_handler, parts);
  }

  TEST(ExtractionRefuses, DiscontinuousElements)
  {
    refuse_element<2>(FE_DGQ<2>(1), {"FE_DGQ<2>(1)", "FE_Q<2>(1) to FE_Q<2>(4)"});
    refuse_element<3>(FE_DGQ<3>(2), {"FE_DGQ<3>(2)", "FE_Q<3>(1) to FE_Q<3>(4)"});
    refuse_element<2>(FE_SimplexDGP<2>(1), {"FE_SimplexDGP<2>(1)", "FE_SimplexP<2>(1) to FE_SimplexP<2>(2)"});
  }

  TEST(ExtractionRefuses, Bubbles)
  {
    refuse_element<2>(FE_Q_Bubbles<2>(1), {"FE_Q_Bubbles<2>(1)", "FE_Q<2>(1) to FE_Q<2>(4)"});
    refuse_element<2>(FE_SimplexP_Bubbles<2>(1), {"FE_SimplexP_Bubbles<2>(1)", "FE_SimplexP<2>(1)"});
  }

  /** Simplices of degree 3 are not among these: deal.II 9.4.1 crashes when it constructs them. */
  TEST(ExtractionRefuses, HighDegrees)
  {
    refuse_element<2>(FE_Q<2>(5), {"FE_Q<2>(5)", "degree 5", "FE_Q<2>(4)"});
    refuse_element<3>(FESystem<3>(FE_Q<3>(5), 3), {"FESystem", "degree 5", "FE_Q<3>(4)"});
  }

  TEST(ExtractionRefuses, SystemsOfDifferentElements)
  {
    refuse_element<2>(FESystem<2>(FE_Q<2>(2), 2, FE_Q<2>(1), 1), {"FE_Q<2>(2)^2-FE_Q<2>(1)", "different"});
    refuse_element<2>(FESystem<2>(FESystem<2>(FE_Q<2>(1), 2), 2), {"FESystem", "not supported", "FE_Q<2>(1)"});
  }

  TEST(ExtractionRefuses, ManyComponents)
  {
    refuse_element<2>(FESystem<2>(FE_Q<2>(1), 7), {"7 components", "at most 6"});
  }

  TEST(ExtractionRefuses, OneElementOfACollection)
  {
    Triangulation<2> triangulation;
    Cases::make_mesh("cube", triangulation);
    DoFHandler<2> dof_handler(triangulation);
    dof_handler.distribute_dofs(hp::FECollection<2>(FE_Q<2>(1), FE_DGQ<2>(1)));
    expect_refusal<2>(MappingQ<2>(1), dof_handler, {"FE_DGQ<2>", "number 1 of the collection", "FE_Q<2>(1)"});
  }

  TEST(ExtractionRefuses, NothingAlone)
  {
    refuse_element<2>(FE_Nothing<2>(), {"FE_Nothing", "degrees of freedom"});
    refuse_element<3>(FESystem<3>(FE_Nothing<3>(), 3), {"FE_Nothing", "degrees of freedom"});
  }

  TEST(ExtractionRefuses, MissingDegreesOfFreedom)
  {
    Triangulation<2> triangulation;
    Cases::make_mesh("cube", triangulation);
    const DoFHandler<2> dof_handler(triangulation);
    expect_refusal<2>(MappingQ<2>(1), dof_handler, {"no degrees of freedom", "distribute_dofs()"});
  }

  TEST(ExtractionRefuses, EmptyMesh)
  {
    const Triangulation<2> triangulation;
    const DoFHandler<2>    dof_handler(triangulation);
    expect_refusal<2>(MappingQ<2>(1), dof_handler, {"no cells"});
  }

  template <int dim>
  void refuse_mapping(const std::string &mesh, const Mapping<dim> &mapping, const std::vector<std::string> &parts)
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh(mesh, triangulation);
    DoFHandler<dim> dof_handler(triangulation);
    dof_handler.distribute_dofs(*Cases::make_element<dim>(Cases::is_simplex_mesh(mesh), 1, 1));
    expect_refusal<dim>(mapping, dof_handler, parts);
  }

  TEST(ExtractionRefuses, MappingsOfCubes)
  {
    refuse_mapping<3>("cube", MappingQ<3>(4), {"MappingQ<3>(4)", "degree 1 to 3"});
    refuse_mapping<2>("cube", MappingCartesian<2>(), {"neither MappingQ nor made of one", "degree 1 to 3"});
    refuse_mapping<2>("cube", MappingQCache<2>(2), {"MappingQCache", "initialize()"});
    refuse_mapping<2>("cube", MappingFE<2>(FE_Q<2>(1)), {"neither MappingQ nor made of one"});
  }

  TEST(ExtractionRefuses, MappingsOfSimplices)
  {
    refuse_mapping<2>("simplices", MappingQ<2>(1), {"not a MappingFE of simplices", "MappingFE<2>(FE_SimplexP<2>(1))"});
    refuse_mapping<3>("simplices", MappingFE<3>(FE_SimplexP<3>(2)),
                      {"degree 2", "straight", "MappingFE<3>(FE_SimplexP<3>(1))"});
    refuse_mapping<2>("simplices", MappingFE<2>(FE_Q<2>(1)), {"not a MappingFE of simplices"});
  }

  TEST(ExtractionRefuses, MixedMeshes)
  {
    Triangulation<2>            triangulation;
    const std::vector<Point<2>> vertices = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}};
    std::vector<CellData<2>>    cells(2);
    cells[0].vertices = {0, 1, 2, 3};
    cells[1].vertices = {1, 4, 3};
    triangulation.create_triangulation(vertices, cells, SubCellData());
    DoFHandler<2> dof_handler(triangulation);
    for (const auto &cell : dof_handler.active_cell_iterators())
      cell->set_active_fe_index(cell->reference_cell().is_simplex());
    dof_handler.distribute_dofs(hp::FECollection<2>(FE_Q<2>(1), FE_SimplexP<2>(1)));
    expect_refusal<2>(MappingQ<2>(1), dof_handler, {"mixes cells", "Quad", "Tri"});
  }

  TEST(ExtractionRefuses, Wedges)
  {
    Triangulation<3> triangulation;
    GridGenerator::reference_cell(triangulation, ReferenceCells::Wedge);
    const DoFHandler<3> dof_handler(triangulation);
    expect_refusal<3>(MappingQ<3>(1), dof_handler, {"Wedge", "hexahedra"});
  }

  TEST(ExtractionRefuses, AdaptiveSimplices)
  {
    Triangulation<2> triangulation;
    Cases::make_mesh("simplices", triangulation);
    triangulation.begin_active()->set_refine_flag();
    triangulation.execute_coarsening_and_refinement();
    const DoFHandler<2> dof_handler(triangulation);
    expect_refusal<2>(MappingFE<2>(FE_SimplexP<2>(1)), dof_handler, {"refined adaptively", "level 0", "globally"});
  }

  TEST(ExtractionRefuses, CollectionsOnSimplices)
  {
    Triangulation<2> triangulation;
    Cases::make_mesh("simplices", triangulation);
    DoFHandler<2> dof_handler(triangulation);
    dof_handler.distribute_dofs(hp::FECollection<2>(FE_SimplexP<2>(1), FE_SimplexP<2>(2)));
    expect_refusal<2>(MappingFE<2>(FE_SimplexP<2>(1)), dof_handler, {"collection of 2", "simplex"});
  }

  class RefusedConstraints : public testing::Test
  {
  protected:
    RefusedConstraints() : cube_dofs(cube), simplex_dofs(simplices)
    {
      Cases::make_mesh("cube", cube);
      cube_dofs.distribute_dofs(FE_Q<2>(1));
      Cases::make_mesh("simplices", simplices);
      simplex_dofs.distribute_dofs(FE_SimplexP<2>(1));
    }

    Triangulation<2>          cube, simplices;
    DoFHandler<2>             cube_dofs, simplex_dofs;
    AffineConstraints<double> constraints;
  };

  TEST_F(RefusedConstraints, NotClosed)
  {
    constraints.add_line(3);
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"1 lines", "not closed", "close()"}, constraints);
  }

  TEST_F(RefusedConstraints, OfAnotherDoFHandler)
  {
    constraints.add_line(1000);
    constraints.close();
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"degree of freedom 1000", "the DoFHandler has 16"}, constraints);
  }

  TEST_F(RefusedConstraints, MasterOfAnotherDoFHandler)
  {
    constraints.add_line(2);
    constraints.add_entry(2, 77, 1.0);
    constraints.close();
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"degree of freedom 77"}, constraints);
  }

  TEST_F(RefusedConstraints, ValueNotFinite)
  {
    constraints.add_line(2);
    constraints.set_inhomogeneity(2, std::numeric_limits<double>::quiet_NaN());
    constraints.close();
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"degree of freedom 2", "not finite"}, constraints);
  }

  TEST_F(RefusedConstraints, WeightNotFinite)
  {
    constraints.add_line(2);
    constraints.add_entry(2, 4, std::numeric_limits<double>::infinity());
    constraints.close();
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"degree of freedom 2", "weight of 4", "finite"}, constraints);
  }

  TEST_F(RefusedConstraints, MastersOnSimplices)
  {
    constraints.add_line(2);
    constraints.add_entry(2, 4, 1.0);
    constraints.close();
    expect_refusal<2>(MappingFE<2>(FE_SimplexP<2>(1)), simplex_dofs,
                      {"Degree of freedom 2", "simplex", "prescribed values"}, constraints);
  }

  TEST_F(RefusedConstraints, AbsentBoundaryId)
  {
    PatchFEM::ExtractionData<2> data;
    data.boundary_ids = {1, 42};
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"boundary id 42", "0, 1, 2, 3"}, none(), data);
  }

  TEST_F(RefusedConstraints, RulesForOtherCells)
  {
    PatchFEM::ExtractionData<2> data;
    data.quadrature = hp::QCollection<2>(QGaussSimplex<2>(2));
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"quadrature with 4 points", "sum 0.5", "QGauss<2>"}, none(), data);
    data.quadrature = hp::QCollection<2>(QGauss<2>(2));
    expect_refusal<2>(MappingFE<2>(FE_SimplexP<2>(1)), simplex_dofs, {"4 points", "sum 1.0", "QGaussSimplex<2>"},
                      none(), data);
  }

  TEST_F(RefusedConstraints, FaceRulesForOtherCells)
  {
    Triangulation<3> triangulation;
    Cases::make_mesh("simplices", triangulation);
    DoFHandler<3> dof_handler(triangulation);
    dof_handler.distribute_dofs(FE_SimplexP<3>(1));
    PatchFEM::ExtractionData<3> data;
    data.face_quadrature = hp::QCollection<2>(QGauss<2>(2));
    expect_refusal<3>(MappingFE<3>(FE_SimplexP<3>(1)), dof_handler, {"face quadrature", "QGaussSimplex<2>"}, none(),
                      data);
  }

  TEST_F(RefusedConstraints, WrongNumberOfRules)
  {
    PatchFEM::ExtractionData<2> data;
    data.quadrature = hp::QCollection<2>(QGauss<2>(2), QGauss<2>(3));
    expect_refusal<2>(MappingQ<2>(1), cube_dofs, {"2 quadrature rules", "1 elements"}, none(), data);
  }

  /** Refused under several processes, and only there. */
} // namespace
