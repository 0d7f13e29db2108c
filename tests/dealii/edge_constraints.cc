// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/edge_constraints_dealii.h>

#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/tria.h>
#include <deal.II/hp/fe_collection.h>
#include <deal.II/lac/vector.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

using namespace dealii;

namespace
{
  /** A cube of cubes with random degrees, refined at random or not. */
  struct RandomSpace
  {
    std::mt19937              generator;
    Triangulation<3>          triangulation;
    hp::FECollection<3>       elements;
    DoFHandler<3>             dof_handler;
    AffineConstraints<double> constraints;

    RandomSpace(const std::vector<unsigned int> &degrees,
                const bool                       refined,
                const bool                       with_edges,
                const unsigned int               n_components,
                const unsigned int               seed)
        : generator(seed)
    {
      GridGenerator::subdivided_hyper_cube(triangulation, refined ? 2 : 4);
      for (int level = 0; refined && level < 2; ++level)
      {
        for (const auto &cell : triangulation.active_cell_iterators())
          if (generator() % 3 == 0)
            cell->set_refine_flag();
        triangulation.execute_coarsening_and_refinement();
      }
      for (const unsigned int degree : degrees)
        elements.push_back(FESystem<3>(FE_Q<3>(degree), n_components));
      dof_handler.reinit(triangulation);
      for (const auto &cell : dof_handler.active_cell_iterators())
        cell->set_active_fe_index(generator() % degrees.size());
      dof_handler.distribute_dofs(elements);
      if (with_edges)
        PatchFEM::make_edge_constraints(dof_handler, constraints);
      DoFTools::make_hanging_node_constraints(dof_handler, constraints);
      constraints.close();
    }

    struct CellFunction
    {
      Point<3>                corner;
      double                  width;
      const FiniteElement<3> *element;
      std::vector<double>     values;

      bool contains(const Point<3> &p) const
      {
        for (unsigned int d = 0; d < 3; ++d)
          if (p[d] < corner[d] - 1e-9 || p[d] > corner[d] + width + 1e-9)
            return false;
        return true;
      }
      double operator()(const Point<3> &p) const
      {
        double sum = 0.;
        for (unsigned int i = 0; i < values.size(); ++i)
          if (element->system_to_component_index(i).first == 0)
            sum += values[i] * element->shape_value(i, Point<3>((p - corner) / width));
        return sum;
      }
    };

    /** The largest difference of a random function between cells, at points of their faces. */
    double largest_jump()
    {
      Vector<double>                         u(dof_handler.n_dofs());
      std::uniform_real_distribution<double> random(-1., 1.);
      for (double &value : u)
        value = random(generator);
      constraints.distribute(u);
      std::vector<CellFunction> cells;
      for (const auto &cell : dof_handler.active_cell_iterators())
      {
        Vector<double> values(cell->get_fe().n_dofs_per_cell());
        cell->get_dof_values(u, values);
        cells.push_back(
            {cell->vertex(0), cell->extent_in_direction(0), &cell->get_fe(), {values.begin(), values.end()}});
      }
      double result = 0.;
      for (const CellFunction &cell : cells)
        for (int face = 0; face < 6; ++face)
          for (const double s : {0., 0.3, 0.6, 1.})
            for (const double t : {0., 0.3, 0.6, 1.})
            {
              Point<3> point;
              point[face / 2]           = face % 2;
              point[(face / 2 + 1) % 3] = s;
              point[(face / 2 + 2) % 3] = t;
              point                     = cell.corner + cell.width * point;
              for (const CellFunction &other : cells)
                if (other.contains(point))
                  result = std::max(result, std::abs(cell(point) - other(point)));
            }
      return result;
    }
  };

  /** [with lines along edges]: how many of ten spaces have functions that jump; the counts must tell of each. */
  std::array<int, 2>
  n_jumping(const std::vector<unsigned int> &degrees, const bool refined, const unsigned int n_components = 1)
  {
    std::array<int, 2> result{};
    for (const bool with_edges : {false, true})
      for (unsigned int seed = 0; seed < 10; ++seed)
      {
        RandomSpace space(degrees, refined, with_edges, n_components, seed);
        const bool  jumps = space.largest_jump() > 1e-8;
        EXPECT_EQ(PatchFEM::count_open_edges(space.dof_handler, space.constraints) > 0, jumps)
            << degrees.size() << " degrees, seed " << seed << (refined ? ", refined" : "")
            << (with_edges ? ", with edges" : "");
        result[with_edges] += jumps;
      }
    return result;
  }

  using Counts = std::array<int, 2>;

  TEST(EdgeConstraints, JoinCellsOfEqualSize)
  {
    EXPECT_EQ(n_jumping({1, 2, 3}, false), (Counts{10, 0}));
    EXPECT_EQ(n_jumping({1, 2, 4}, false, 2), (Counts{10, 0}));
    EXPECT_EQ(n_jumping({2, 3}, false), (Counts{0, 0}));
  }

  TEST(EdgeConstraints, TellOfOthers)
  {
    EXPECT_EQ(n_jumping({1, 2, 3}, true), (Counts{10, 9}));
    EXPECT_EQ(n_jumping({2, 3}, true), (Counts{9, 5}));
    EXPECT_EQ(n_jumping({1, 3}, true), (Counts{0, 0}));
  }
} // namespace
