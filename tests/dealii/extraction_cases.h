// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/base/utilities.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_renumbering.h>
#include <deal.II/fe/fe_nothing.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/fe/fe_simplex_p.h>
#include <deal.II/fe/fe_system.h>
#include <deal.II/fe/mapping_fe.h>
#include <deal.II/fe/mapping_q.h>
#include <deal.II/fe/mapping_q1.h>
#include <deal.II/fe/mapping_q1_eulerian.h>
#include <deal.II/fe/mapping_q_cache.h>
#include <deal.II/fe/mapping_q_eulerian.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria.h>
#include <deal.II/lac/vector.h>
#include <deal.II/numerics/vector_tools_interpolate.h>

#include <cmath>
#include <memory>
#include <string>

/** @file Small meshes, elements and numberings that the tests of the extraction run through. */
namespace Cases
{
  /** Small enough to try all combinations, with no two cells alike. */
  template <int dim>
  void make_mesh(const std::string &name, dealii::Triangulation<dim> &triangulation)
  {
    using namespace dealii;
    if (name == "cube" || name == "adaptive_cube" || name == "coarsened_cube")
    {
      GridGenerator::subdivided_hyper_cube(triangulation, 3, -1, 1, true);
      if (name != "cube")
      {
        triangulation.begin_active()->set_refine_flag();
        triangulation.last_active()->set_refine_flag();
        triangulation.execute_coarsening_and_refinement();
      }
      if (name == "coarsened_cube")
      {
        // Leaves unused cells and vertices behind.
        for (const auto &cell : triangulation.active_cell_iterators_on_level(1))
          if (cell->center().norm() > 0 && cell->center()[0] < 0)
            cell->set_coarsen_flag();
        triangulation.execute_coarsening_and_refinement();
      }
      GridTools::distort_random(0.2, triangulation, true, 17);
    }
    else if (name == "shell")
      GridGenerator::hyper_shell(triangulation, Point<dim>(), 0.5, 1.0, dim == 2 ? 7 : 6, true);
    else if (name == "ball") // in 3D, faces seen from two cells differ in orientation
    {
      GridGenerator::hyper_ball(triangulation);
      triangulation.refine_global(1);
    }
    else if (name == "simplices" || name == "cut_simplices")
    {
      if (name == "simplices")
      {
        GridGenerator::subdivided_hyper_cube_with_simplices(triangulation, 2, -1, 1);
        for (const auto &face : triangulation.active_face_iterators())
          for (unsigned int d = 0; d < dim; ++d)
            if (face->at_boundary() && std::abs(face->center()[d]) > 1 - 1e-10)
              face->set_boundary_id(2 * d + (face->center()[d] > 0));
      }
      else
      {
        Triangulation<dim> cubes;
        GridGenerator::hyper_shell(cubes, Point<dim>(), 0.5, 1.0, dim == 2 ? 7 : 6, true);
        cubes.reset_all_manifolds();
        GridGenerator::convert_hypercube_to_simplex_mesh(cubes, triangulation);
        triangulation.reset_all_manifolds();
      }
      GridTools::transform(
          [](const Point<dim> &p) {
            Point<dim> moved = p;
            moved[0] += 0.1 * std::sin(3 * p[1]);
            moved[dim - 1] += 0.1 * p[0] * p[0];
            return moved;
          },
          triangulation);
    }
    else
      AssertThrow(false, ExcMessage("no mesh " + name));

    unsigned int n = 0;
    for (const auto &cell : triangulation.active_cell_iterators())
      cell->set_material_id(5 + n++ % 3);
  }

  inline bool is_simplex_mesh(const std::string &name)
  {
    return name.find("simplices") != std::string::npos;
  }

  template <int dim>
  std::unique_ptr<dealii::FiniteElement<dim>> make_scalar_element(const bool simplex, const unsigned int degree)
  {
    if (simplex)
      return std::make_unique<dealii::FE_SimplexP<dim>>(degree);
    return std::make_unique<dealii::FE_Q<dim>>(degree);
  }

  template <int dim>
  std::unique_ptr<dealii::FiniteElement<dim>>
  make_element(const bool simplex, const unsigned int degree, const unsigned int n_components)
  {
    const auto scalar = make_scalar_element<dim>(simplex, degree);
    return n_components == 1 ? scalar->clone() : std::make_unique<dealii::FESystem<dim>>(*scalar, n_components);
  }

  /** For cells that are left out: FE_Nothing, or a system of it. */
  template <int dim>
  std::unique_ptr<dealii::FiniteElement<dim>> make_nothing(const bool simplex, const unsigned int n_components)
  {
    const dealii::FE_Nothing<dim> scalar(simplex ? dealii::ReferenceCells::get_simplex<dim>()
                                                 : dealii::ReferenceCells::get_hypercube<dim>());
    return n_components == 1 ? scalar.clone() : std::make_unique<dealii::FESystem<dim>>(scalar, n_components);
  }

  /** A displacement of the cells of a mesh, and the mappings that move them by it. */
  template <int dim>
  class Displacement
  {
  public:
    Displacement(const dealii::Triangulation<dim> &triangulation, const unsigned int degree)
        : degree(degree), dof_handler(triangulation)
    {
      dof_handler.distribute_dofs(dealii::FESystem<dim>(dealii::FE_Q<dim>(degree), dim));
      values.reinit(dof_handler.n_dofs());
      dealii::VectorTools::interpolate(dof_handler, Field(), values);
    }

    /** @p kind is q_eulerian, q1_eulerian or q_cache. */
    std::unique_ptr<dealii::Mapping<dim>> make_mapping(const std::string &kind) const
    {
      using Vector = dealii::Vector<double>;
      if (kind == "q1_eulerian")
        return std::make_unique<dealii::MappingQ1Eulerian<dim, Vector>>(dof_handler, values);
      if (kind == "q_eulerian")
        return std::make_unique<dealii::MappingQEulerian<dim, Vector>>(degree, dof_handler, values);
      AssertThrow(kind == "q_cache", dealii::ExcMessage("no mapping " + kind));
      auto cache = std::make_unique<dealii::MappingQCache<dim>>(degree);
      cache->initialize(dealii::MappingQ<dim>(degree), dof_handler, values, true);
      return cache;
    }

  private:
    struct Field : public dealii::Function<dim>
    {
      Field() : dealii::Function<dim>(dim) {}

      double value(const dealii::Point<dim> &x, const unsigned int d) const override
      {
        return 0.3 * x[d] + 0.05 * std::sin(3 * x[(d + 1) % dim]);
      }
    };

    const unsigned int      degree;
    dealii::DoFHandler<dim> dof_handler;
    dealii::Vector<double>  values;
  };

  /** Degree 0 stands for MappingQ1. */
  template <int dim>
  std::unique_ptr<dealii::Mapping<dim>> make_mapping(const bool simplex, const unsigned int degree)
  {
    if (simplex)
      return std::make_unique<dealii::MappingFE<dim>>(dealii::FE_SimplexP<dim>(1));
    if (degree == 0)
      return std::make_unique<dealii::MappingQ1<dim>>();
    return std::make_unique<dealii::MappingQ<dim>>(degree);
  }

  template <int dim>
  void renumber(const std::string &name, dealii::DoFHandler<dim> &dof_handler)
  {
    if (name == "component_wise")
      dealii::DoFRenumbering::component_wise(dof_handler);
    else if (name == "random")
      dealii::DoFRenumbering::random(dof_handler);
    else
      AssertThrow(name == "natural", dealii::ExcMessage("no numbering " + name));
  }
} // namespace Cases
