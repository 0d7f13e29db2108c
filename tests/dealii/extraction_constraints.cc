// SPDX-License-Identifier: LGPL-2.1-or-later
// Constraints of every kind keep their lines, masters and values; cycles are found before close().
#include "extraction_cases.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/base/function.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace
{
  using namespace dealii;
  using PatchFEM::ConstraintTable;
  using PatchFEM::ElementTables;

  /** Every line of @p constraints is in the table with the same entries, and nothing else is. */
  template <int dim>
  void check_round_trip(const Mapping<dim>              &mapping,
                        const DoFHandler<dim>           &dof_handler,
                        const AffineConstraints<double> &constraints)
  {
    const ElementTables    tables = PatchFEM::extract_element_tables<dim>(mapping, dof_handler, constraints);
    const ConstraintTable &table  = tables.constraints;
    ASSERT_EQ(table.n_lines(), constraints.n_constraints());
    ASSERT_EQ(table.offsets.size(), table.n_lines() + 1);
    ASSERT_EQ(table.inhomogeneity.size(), table.n_lines());
    ASSERT_EQ(table.offsets[0], 0);
    ASSERT_EQ(table.offsets.back(), std::int64_t(table.masters.size()));
    ASSERT_EQ(table.weights.size(), table.masters.size());
    for (std::size_t line = 0; line < table.n_lines(); ++line)
    {
      ASSERT_TRUE(line == 0 || table.constrained[line - 1] < table.constrained[line]);
      const unsigned int dof = tables.dof_index(table.constrained[line]);
      ASSERT_TRUE(constraints.is_constrained(dof));
      ASSERT_EQ(table.inhomogeneity[line], constraints.get_inhomogeneity(dof));
      std::map<types::global_dof_index, double> ours, theirs;
      for (std::int64_t k = table.offsets[line]; k < table.offsets[line + 1]; ++k)
      {
        ASSERT_FALSE(std::binary_search(table.constrained.begin(), table.constrained.end(), table.masters[k]));
        ours[tables.dof_index(table.masters[k])] += table.weights[k];
      }
      for (const auto &entry : *constraints.get_constraint_entries(dof))
        theirs[entry.first] += entry.second;
      ASSERT_EQ(ours, theirs);
    }
  }

  /** A line whose entries are not empty; else the case does not test what its name says. */
  bool has_masters(const AffineConstraints<double> &constraints)
  {
    const auto lines = constraints.get_lines();
    return std::any_of(lines.begin(), lines.end(), [](const auto &line) { return line.entries.size() > 0; });
  }

  template <int dim>
  void check_hanging_nodes_and_dirichlet()
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("adaptive_cube", triangulation);
    for (const std::string numbering : {"natural", "component_wise", "random"})
      for (unsigned int degree = 1; degree <= 3; ++degree)
      {
        DoFHandler<dim> dof_handler(triangulation);
        dof_handler.distribute_dofs(FESystem<dim>(FE_Q<dim>(degree), dim));
        Cases::renumber(numbering, dof_handler);
        AffineConstraints<double> constraints;
        DoFTools::make_hanging_node_constraints(dof_handler, constraints);
        ComponentMask second(dim, false);
        second.set(1, true);
        VectorTools::interpolate_boundary_values(dof_handler, 0, Functions::ConstantFunction<dim>(0.25, dim),
                                                 constraints, second);
        VectorTools::interpolate_boundary_values(dof_handler, 1, Functions::ZeroFunction<dim>(dim), constraints);
        PatchFEM::check_for_cycles(constraints);
        constraints.close();
        ASSERT_TRUE(has_masters(constraints));
        ASSERT_TRUE(constraints.has_inhomogeneities());
        check_round_trip<dim>(MappingQ<dim>(1), dof_handler, constraints);
      }
  }

  TEST(ExtractionConstraints, HangingNodesAndDirichletIn2D)
  {
    check_hanging_nodes_and_dirichlet<2>();
  }
  TEST(ExtractionConstraints, HangingNodesAndDirichletIn3D)
  {
    check_hanging_nodes_and_dirichlet<3>();
  }

  template <int dim>
  void check_periodicity()
  {
    Triangulation<dim> triangulation;
    GridGenerator::subdivided_hyper_cube(triangulation, 2, 0, 1, true);
    std::vector<GridTools::PeriodicFacePair<typename Triangulation<dim>::cell_iterator>> pairs;
    GridTools::collect_periodic_faces(triangulation, 0, 1, 0, pairs);
    triangulation.add_periodicity(pairs);
    triangulation.begin_active()->set_refine_flag();
    triangulation.execute_coarsening_and_refinement();

    DoFHandler<dim> dof_handler(triangulation);
    dof_handler.distribute_dofs(FESystem<dim>(FE_Q<dim>(2), 2));
    AffineConstraints<double> constraints;
    DoFTools::make_hanging_node_constraints(dof_handler, constraints);
    DoFTools::make_periodicity_constraints(dof_handler, 0, 1, 0, constraints);
    PatchFEM::check_for_cycles(constraints);
    constraints.close();
    ASSERT_TRUE(has_masters(constraints));
    check_round_trip<dim>(MappingQ<dim>(1), dof_handler, constraints);
  }

  TEST(ExtractionConstraints, PeriodicityIn2D)
  {
    check_periodicity<2>();
  }
  TEST(ExtractionConstraints, PeriodicityIn3D)
  {
    check_periodicity<3>();
  }

  template <int dim>
  void check_no_normal_flux()
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("shell", triangulation);
    DoFHandler<dim> dof_handler(triangulation);
    dof_handler.distribute_dofs(FESystem<dim>(FE_Q<dim>(2), dim));
    const MappingQ<dim>       mapping(2);
    AffineConstraints<double> constraints;
    VectorTools::compute_no_normal_flux_constraints(dof_handler, 0, {1}, constraints, mapping);
    PatchFEM::check_for_cycles(constraints);
    constraints.close();
    ASSERT_TRUE(has_masters(constraints));
    check_round_trip<dim>(mapping, dof_handler, constraints);
  }

  TEST(ExtractionConstraints, NoNormalFluxIn2D)
  {
    check_no_normal_flux<2>();
  }
  TEST(ExtractionConstraints, NoNormalFluxIn3D)
  {
    check_no_normal_flux<3>();
  }

  template <int dim>
  void check_hp()
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("adaptive_cube", triangulation);
    hp::FECollection<dim> elements;
    for (unsigned int degree = 1; degree <= 3; ++degree)
      elements.push_back(FESystem<dim>(FE_Q<dim>(degree), 2));
    DoFHandler<dim> dof_handler(triangulation);
    unsigned int    n = 0;
    for (const auto &cell : dof_handler.active_cell_iterators())
      cell->set_active_fe_index(n++ % 3);
    dof_handler.distribute_dofs(elements);
    Cases::renumber("random", dof_handler);
    AffineConstraints<double> constraints;
    DoFTools::make_hanging_node_constraints(dof_handler, constraints);
    constraints.close();
    ASSERT_TRUE(has_masters(constraints));
    check_round_trip<dim>(MappingQ<dim>(1), dof_handler, constraints);
  }

  TEST(ExtractionConstraints, HpIn2D)
  {
    check_hp<2>();
  }
  TEST(ExtractionConstraints, HpIn3D)
  {
    check_hp<3>();
  }

  TEST(ExtractionConstraints, DirichletOnSimplices)
  {
    Triangulation<3> triangulation;
    Cases::make_mesh("simplices", triangulation);
    const MappingFE<3> mapping{FE_SimplexP<3>(1)};
    DoFHandler<3>      dof_handler(triangulation);
    dof_handler.distribute_dofs(FESystem<3>(FE_SimplexP<3>(2), 3));
    AffineConstraints<double> constraints;
    VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, Functions::ConstantFunction<3>(2., 3),
                                             constraints);
    constraints.close();
    ASSERT_GT(constraints.n_constraints(), 0u);
    check_round_trip<3>(mapping, dof_handler, constraints);
  }

  /** x_2 = x_5, x_5 = x_9 / 2, and so on: a chain, which close() resolves. */
  AffineConstraints<double> chain()
  {
    AffineConstraints<double> constraints;
    for (const unsigned int i : {2, 5, 9})
      constraints.add_line(i);
    constraints.add_entry(2, 5, 1.0);
    constraints.add_entry(2, 9, 0.5);
    constraints.add_entry(5, 9, 0.5);
    constraints.add_entry(5, 11, 0.5);
    return constraints;
  }

  TEST(ExtractionConstraints, ChainIsNoCycle)
  {
    EXPECT_NO_THROW(PatchFEM::check_for_cycles(chain()));
  }

  TEST(ExtractionConstraints, CycleIsNamed)
  {
    AffineConstraints<double> constraints = chain();
    constraints.add_entry(9, 2, 0.25);
    try
    {
      PatchFEM::check_for_cycles(constraints);
      FAIL() << "the cycle was not found";
    }
    catch (const PatchFEM::Error &error)
    {
      const std::string message = error.what();
      EXPECT_NE(message.find("2 -> 5 -> 9 -> 2"), std::string::npos) << message;
      EXPECT_NE(message.find("before AffineConstraints::close()"), std::string::npos) << message;
    }
  }

  TEST(ExtractionConstraints, CycleBehindAChainIsNamed)
  {
    AffineConstraints<double> constraints;
    for (const unsigned int i : {1, 3, 4})
      constraints.add_line(i);
    constraints.add_entry(1, 3, 1.0);
    constraints.add_entry(3, 4, 1.0);
    constraints.add_entry(4, 3, 1.0);
    try
    {
      PatchFEM::check_for_cycles(constraints);
      FAIL() << "the cycle was not found";
    }
    catch (const PatchFEM::Error &error)
    {
      const std::string message = error.what();
      EXPECT_NE(message.find(" 3 -> 4 -> 3:"), std::string::npos) << message;
    }
  }
} // namespace
