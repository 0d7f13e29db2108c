// SPDX-License-Identifier: LGPL-2.1-or-later
// The tables against FEValues and FEFaceValues: every element, mapping, mesh and numbering.
#include "extraction_cases.h"
#include "reference_assembly.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/assembly/face_quadrature.h>

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <cmath>
#include <numeric>

namespace
{
  using namespace dealii;
  using PatchFEM::CellTable;
  using PatchFEM::ElementTables;
  using PatchFEM::ReferenceElement;

  constexpr double tolerance = 1e-12;

  /** dx/dxi at one point, from rows of geometry gradients [geometry][dim]. */
  template <int dim>
  Tensor<2, dim> jacobian(const ElementTables &tables, const CellTable &batch, const int cell, const double *gradients)
  {
    Tensor<2, dim> J;
    for (int g = 0; g < batch.reference.n_geometry; ++g)
      for (unsigned int d = 0; d < dim; ++d)
        for (unsigned int e = 0; e < dim; ++e)
          J[d][e] += tables.points[batch.points_of(cell)[g] * dim + d] * gradients[g * dim + e];
    return J;
  }

  /** Each index of deal.II occurs once, and the unknowns of a cell's nodes are those of its support points. */
  template <int dim>
  void check_nodes(const ElementTables &tables, const DoFHandler<dim> &dof_handler)
  {
    const int n_components = dof_handler.get_fe_collection().n_components();
    ASSERT_EQ(tables.dim, dim);
    ASSERT_EQ(tables.n_components, n_components);
    ASSERT_EQ(std::size_t(tables.n_nodes) * n_components, dof_handler.n_dofs());
    ASSERT_TRUE(tables.dof_indices.empty() || tables.dof_indices.size() == dof_handler.n_dofs());
    std::vector<bool> met(dof_handler.n_dofs(), false);
    for (unsigned int unknown = 0; unknown < met.size(); ++unknown)
    {
      const unsigned int dof = tables.dof_index(unknown);
      ASSERT_LT(dof, met.size());
      ASSERT_FALSE(met[dof]) << "degree of freedom " << dof << " belongs to two unknowns";
      met[dof] = true;
    }
    std::size_t n_cells = 0;
    for (const auto &cell : dof_handler.active_cell_iterators())
      n_cells += cell->get_fe().n_dofs_per_cell() > 0;
    ASSERT_EQ(tables.n_cells(), n_cells);
  }

  /** All that FEValues gives, recomputed from the tables. */
  template <int dim>
  void check_cells(const ElementTables         &tables,
                   const Mapping<dim>          &mapping,
                   const DoFHandler<dim>       &dof_handler,
                   const Reference::Rules<dim> &rules,
                   const std::vector<int>      &batch_of_element)
  {
    const hp::MappingCollection<dim>     mappings(mapping);
    hp::FEValues<dim>                    hp_values(mappings, dof_handler.get_fe_collection(), rules.cell,
                                                   update_values | update_gradients | update_quadrature_points | update_JxW_values);
    std::vector<int>                     position(tables.batches.size(), 0);
    std::vector<types::global_dof_index> dofs;
    for (const auto &cell : dof_handler.active_cell_iterators())
    {
      if (cell->get_fe().n_dofs_per_cell() == 0)
        continue;
      const int               b         = batch_of_element[cell->active_fe_index()];
      const CellTable        &batch     = tables.batches[b];
      const ReferenceElement &reference = batch.reference;
      const int               c         = position[b]++;
      ASSERT_LT(c, batch.n_cells);
      ASSERT_EQ(batch.active_index[c], int(cell->active_cell_index()));
      ASSERT_EQ(batch.material_ids[c], int(cell->material_id()));

      const FiniteElement<dim> &fe = cell->get_fe();
      hp_values.reinit(cell);
      const FEValues<dim> &values = hp_values.get_present_fe_values();
      ASSERT_EQ(reference.n_quadrature, int(values.n_quadrature_points));
      ASSERT_EQ(reference.n_shape * tables.n_components, int(fe.n_dofs_per_cell()));
      dofs.resize(fe.n_dofs_per_cell());
      cell->get_dof_indices(dofs);
      for (unsigned int i = 0; i < dofs.size(); ++i)
      {
        const auto component_and_shape = fe.system_to_component_index(i);
        const int  node                = batch.nodes[c * reference.n_shape + component_and_shape.second];
        ASSERT_EQ(tables.dof_index(node * tables.n_components + component_and_shape.first), dofs[i]);
      }

      for (int s = 0; s < reference.n_shape; ++s)
      {
        const Point<dim> x = mapping.transform_unit_to_real_cell(cell, fe.base_element(0).get_unit_support_points()[s]);
        Point<dim>       y;
        for (int g = 0; g < reference.n_geometry; ++g)
          for (unsigned int d = 0; d < dim; ++d)
            y[d] += reference.support_geometry_values[s * reference.n_geometry + g] *
                    tables.points[batch.points_of(c)[g] * dim + d];
        ASSERT_LT(x.distance(y), tolerance);
      }

      std::vector<double> points(reference.n_quadrature * dim);
      PatchFEM::cell_quadrature_points(tables, batch, c, points.data());
      for (int q = 0; q < reference.n_quadrature; ++q)
      {
        const Tensor<2, dim> J =
            jacobian<dim>(tables, batch, c, &reference.geometry_gradients[q * reference.n_geometry * dim]);
        ASSERT_NEAR(determinant(J) * reference.weights[q], values.JxW(q), tolerance * std::abs(values.JxW(q)));
        for (unsigned int d = 0; d < dim; ++d)
          ASSERT_NEAR(points[q * dim + d], values.quadrature_point(q)[d], tolerance);
        const Tensor<2, dim> J_inverse_transposed = transpose(invert(J));
        for (unsigned int i = 0; i < dofs.size(); ++i)
        {
          const int      row = q * reference.n_shape + fe.system_to_component_index(i).second;
          Tensor<1, dim> gradient;
          for (unsigned int d = 0; d < dim; ++d)
            gradient[d] = reference.shape_gradients[row * dim + d];
          gradient = J_inverse_transposed * gradient;
          ASSERT_NEAR(reference.shape_values[row], values.shape_value(i, q), tolerance);
          ASSERT_LT((gradient - values.shape_grad(i, q)).norm(), tolerance * J_inverse_transposed.norm() * 10);
        }
      }
    }
  }

  /** The faces, in our order of points, against FEFaceValues, whose order depends on the face's orientation. */
  template <int dim>
  void check_faces(const ElementTables         &tables,
                   const Mapping<dim>          &mapping,
                   const DoFHandler<dim>       &dof_handler,
                   const Reference::Rules<dim> &rules)
  {
    const PatchFEM::FaceQuadrature   faces = PatchFEM::compute_face_quadrature(tables);
    const hp::MappingCollection<dim> mappings(mapping);
    hp::FEFaceValues<dim>            hp_values(mappings, dof_handler.get_fe_collection(), rules.face,
                                               update_values | update_quadrature_points | update_JxW_values |
                                                   update_normal_vectors);
    std::vector<typename DoFHandler<dim>::active_cell_iterator> cells;
    std::size_t                                                 n_boundary_faces = 0;
    for (const auto &cell : dof_handler.active_cell_iterators())
    {
      cells.push_back(cell);
      for (const auto &face : cell->face_iterators())
        n_boundary_faces += cell->get_fe().n_dofs_per_cell() > 0 && face->at_boundary();
    }
    ASSERT_EQ(tables.faces.size(), n_boundary_faces);
    for (std::size_t f = 0; f < tables.faces.size(); ++f)
    {
      const PatchFEM::FaceEntry &entry     = tables.faces[f];
      const CellTable           &batch     = tables.batches[entry.batch];
      const ReferenceElement    &reference = batch.reference;
      const auto                &cell      = cells[batch.active_index[entry.cell]];
      ASSERT_TRUE(cell->face(entry.face)->at_boundary());
      ASSERT_EQ(int(cell->face(entry.face)->boundary_id()), entry.boundary_id);
      const FiniteElement<dim> &fe = cell->get_fe();
      hp_values.reinit(cell, entry.face);
      const FEFaceValues<dim> &values = hp_values.get_present_fe_values();
      ASSERT_EQ(reference.n_face_quadrature, int(values.n_quadrature_points));
      ASSERT_EQ(faces.offsets[f + 1] - faces.offsets[f], values.n_quadrature_points);
      for (int q = 0; q < reference.n_face_quadrature; ++q)
      {
        const std::size_t point = faces.offsets[f] + q;
        Point<dim>        x;
        Tensor<1, dim>    normal;
        for (unsigned int d = 0; d < dim; ++d)
        {
          x[d]      = faces.points[point * dim + d];
          normal[d] = faces.normals[point * dim + d];
        }
        unsigned int twin = 0;
        for (const unsigned int p : values.quadrature_point_indices())
          if (values.quadrature_point(p).distance(x) < values.quadrature_point(twin).distance(x))
            twin = p;
        ASSERT_LT(values.quadrature_point(twin).distance(x), tolerance);
        ASSERT_LT((values.normal_vector(twin) - normal).norm(), tolerance);
        ASSERT_NEAR(faces.weights[point], values.JxW(twin), tolerance * values.JxW(twin));
        for (unsigned int i = 0; i < fe.n_dofs_per_cell(); ++i)
          ASSERT_NEAR(reference.face_shape_values[(entry.face * reference.n_face_quadrature + q) * reference.n_shape +
                                                  fe.system_to_component_index(i).second],
                      values.shape_value(i, twin), tolerance);
      }
    }
  }

  template <int dim>
  void check_all(const Mapping<dim> &mapping, const DoFHandler<dim> &dof_handler)
  {
    AffineConstraints<double> constraints;
    constraints.close();
    PatchFEM::ExtractionData<dim> data;
    data.all_boundary_faces    = true;
    const ElementTables tables = PatchFEM::extract_element_tables(mapping, dof_handler, constraints, data);

    std::vector<int> n_cells(dof_handler.get_fe_collection().size(), 0), batch_of_element;
    for (const auto &cell : dof_handler.active_cell_iterators())
      n_cells[cell->active_fe_index()] += cell->get_fe().n_dofs_per_cell() > 0;
    int n_batches = 0;
    for (const int n : n_cells)
      batch_of_element.push_back(n > 0 ? n_batches++ : -1);
    ASSERT_EQ(int(tables.batches.size()), n_batches);

    const Reference::Rules<dim> rules = Reference::gauss_rules(dof_handler);
    check_nodes(tables, dof_handler);
    check_cells(tables, mapping, dof_handler, rules, batch_of_element);
    check_faces(tables, mapping, dof_handler, rules);
    ASSERT_EQ(tables.constraints.n_lines(), 0u);
  }

  /** All degrees and all mappings that the kind of mesh allows. */
  template <int dim>
  void check_mesh(const std::string &mesh, const unsigned int n_components, const std::string &numbering)
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh(mesh, triangulation);
    const bool simplex = Cases::is_simplex_mesh(mesh);
    for (unsigned int degree = 1; degree <= (simplex ? 2 : dim == 2 || n_components == 1 ? 4 : 3); ++degree)
    {
      DoFHandler<dim> dof_handler(triangulation);
      dof_handler.distribute_dofs(*Cases::make_element<dim>(simplex, degree, n_components));
      Cases::renumber(numbering, dof_handler);
      for (unsigned int mapping_degree = 0; mapping_degree <= (simplex ? 0 : 3); ++mapping_degree)
      {
        SCOPED_TRACE("degree " + std::to_string(degree) + ", mapping " + std::to_string(mapping_degree));
        check_all(*Cases::make_mapping<dim>(simplex, mapping_degree), dof_handler);
      }
    }
  }

  struct MeshCase
  {
    std::string  mesh;
    unsigned int n_components;
    std::string  numbering;
  };

  std::ostream &operator<<(std::ostream &out, const MeshCase &c)
  {
    return out << c.mesh << ", " << c.n_components << " components, " << c.numbering << " numbering";
  }

  class Extraction : public testing::TestWithParam<MeshCase>
  {};

  TEST_P(Extraction, EqualsFEValuesIn2D)
  {
    check_mesh<2>(GetParam().mesh, GetParam().n_components, GetParam().numbering);
  }

  TEST_P(Extraction, EqualsFEValuesIn3D)
  {
    check_mesh<3>(GetParam().mesh, GetParam().n_components, GetParam().numbering);
  }

  INSTANTIATE_TEST_SUITE_P(,
                           Extraction,
                           testing::Values(MeshCase{"cube", 1, "natural"},
                                           MeshCase{"cube", 2, "random"},
                                           MeshCase{"adaptive_cube", 3, "component_wise"},
                                           MeshCase{"coarsened_cube", 1, "natural"},
                                           MeshCase{"shell", 2, "natural"},
                                           MeshCase{"ball", 1, "random"},
                                           MeshCase{"simplices", 1, "natural"},
                                           MeshCase{"simplices", 3, "random"},
                                           MeshCase{"cut_simplices", 2, "component_wise"}),
                           [](const auto &info) {
                             return info.param.mesh + "_" + std::to_string(info.param.n_components) + "_" +
                                    info.param.numbering;
                           });

  template <int dim>
  void check_moved_mesh(const unsigned int n_components)
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("adaptive_cube", triangulation);
    for (unsigned int mapping_degree = 1; mapping_degree <= 3; ++mapping_degree)
    {
      const Cases::Displacement<dim> displacement(triangulation, mapping_degree);
      for (const std::string kind : {"q_eulerian", "q_cache", "q1_eulerian"})
        for (unsigned int degree = 1; degree <= (kind == "q1_eulerian" && mapping_degree > 1 ? 0 : 2); ++degree)
        {
          SCOPED_TRACE(kind + " " + std::to_string(mapping_degree) + ", degree " + std::to_string(degree));
          DoFHandler<dim> dof_handler(triangulation);
          dof_handler.distribute_dofs(*Cases::make_element<dim>(false, degree, n_components));
          check_all(*displacement.make_mapping(kind), dof_handler);
        }
    }
  }

  TEST(ExtractionMappings, MoveCellsIn2D)
  {
    check_moved_mesh<2>(2);
  }

  TEST(ExtractionMappings, MoveCellsIn3D)
  {
    check_moved_mesh<3>(1);
  }

  /** Cells without unknowns are left out, in every position of the collection. */
  template <int dim>
  void check_nothing(const std::string &mesh, const unsigned int n_components)
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh(mesh, triangulation);
    const bool simplex = Cases::is_simplex_mesh(mesh);
    const auto nothing = Cases::make_nothing<dim>(simplex, n_components);
    const auto q1      = Cases::make_element<dim>(simplex, 1, n_components);
    const auto q2      = Cases::make_element<dim>(simplex, 2, n_components);
    using Elements     = hp::FECollection<dim>;
    for (const Elements &elements : simplex ? std::vector<Elements>{Elements(*nothing, *q2), Elements(*q1, *nothing)}
                                            : std::vector<Elements>{Elements(*nothing, *q1, *q2)})
    {
      DoFHandler<dim> dof_handler(triangulation);
      unsigned int    n = 0;
      for (const auto &cell : dof_handler.active_cell_iterators())
        cell->set_active_fe_index(n++ % elements.size());
      dof_handler.distribute_dofs(elements);
      check_all(*Cases::make_mapping<dim>(simplex, 1), dof_handler);
    }
  }

  TEST(ExtractionNothing, LeavesCellsOutIn2D)
  {
    check_nothing<2>("adaptive_cube", 2);
    check_nothing<2>("simplices", 1);
  }

  TEST(ExtractionNothing, LeavesCellsOutIn3D)
  {
    check_nothing<3>("adaptive_cube", 1);
    check_nothing<3>("simplices", 3);
  }

  /** Neighbours of different degree share the unknowns that deal.II identifies. */
  template <int dim>
  void check_hp(const unsigned int n_components)
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("adaptive_cube", triangulation);
    hp::FECollection<dim> elements;
    for (unsigned int degree = 1; degree <= 4; ++degree)
      elements.push_back(*Cases::make_element<dim>(false, degree, n_components));
    DoFHandler<dim> dof_handler(triangulation);
    unsigned int    n = 0;
    for (const auto &cell : dof_handler.active_cell_iterators())
      cell->set_active_fe_index(std::array<int, 3>{{0, 1, 3}}[n++ % 3]); // element 2 stays without cells
    dof_handler.distribute_dofs(elements);
    for (const std::string numbering : {"natural", "random"})
    {
      Cases::renumber(numbering, dof_handler);
      check_all<dim>(MappingQ<dim>(1), dof_handler);
      check_all<dim>(MappingQ<dim>(2), dof_handler);
    }
  }

  TEST(ExtractionHp, EqualsFEValuesIn2D)
  {
    check_hp<2>(2);
  }

  TEST(ExtractionHp, EqualsFEValuesIn3D)
  {
    check_hp<3>(1);
  }

  /** Rules given by the caller, one for all elements, and a choice of boundary ids. */
  TEST(ExtractionOptions, UsesRulesAndBoundaryIdsOfTheCaller)
  {
    Triangulation<3> triangulation;
    Cases::make_mesh("cube", triangulation);
    DoFHandler<3> dof_handler(triangulation);
    dof_handler.distribute_dofs(FE_Q<3>(2));
    AffineConstraints<double> constraints;
    constraints.close();

    PatchFEM::ExtractionData<3> data;
    data.quadrature            = hp::QCollection<3>(QGauss<3>(5));
    data.face_quadrature       = hp::QCollection<2>(QGauss<2>(1));
    data.boundary_ids          = {2, 5};
    const ElementTables tables = PatchFEM::extract_element_tables<3>(MappingQ<3>(1), dof_handler, constraints, data);
    EXPECT_EQ(tables.batches[0].reference.n_quadrature, 125);
    EXPECT_EQ(tables.batches[0].reference.n_face_quadrature, 1);
    EXPECT_EQ(tables.faces.size(), 18u);
    for (const PatchFEM::FaceEntry &face : tables.faces)
      EXPECT_TRUE(face.boundary_id == face.face && (face.face == 2 || face.face == 5));
    EXPECT_EQ(PatchFEM::compute_face_quadrature(tables).n_points(), 18u);

    const ElementTables without = PatchFEM::extract_element_tables<3>(MappingQ<3>(1), dof_handler, constraints);
    EXPECT_TRUE(without.faces.empty());
  }

  /** A single node, of the last cell, whose unknowns stand the other way round than all others'. */
  TEST(ExtractionNumbering, OneNodeIsTurnedRound)
  {
    Triangulation<2> triangulation;
    GridGenerator::subdivided_hyper_cube(triangulation, 64);
    DoFHandler<2> dof_handler(triangulation);
    dof_handler.distribute_dofs(FESystem<2>(FE_Q<2>(1), 2));
    std::vector<types::global_dof_index> numbers(dof_handler.n_dofs());
    std::iota(numbers.begin(), numbers.end(), 0u);
    std::swap(numbers[numbers.size() - 2], numbers.back());
    AffineConstraints<double> constraints;
    constraints.close();
    const auto n_listed = [&] {
      return PatchFEM::extract_element_tables<2>(MappingQ<2>(1), dof_handler, constraints).dof_indices.size();
    };
    EXPECT_EQ(n_listed(), 0u);
    dof_handler.renumber_dofs(numbers);
    EXPECT_EQ(n_listed(), numbers.size());
    check_all<2>(MappingQ<2>(1), dof_handler);
  }

  /** The tables do not depend on the number of threads. */
  TEST(ExtractionThreads, GiveTheSameTables)
  {
    Triangulation<3> triangulation;
    GridGenerator::subdivided_hyper_cube(triangulation, 20, 0, 1, true);
    for (const auto &cell : triangulation.active_cell_iterators())
      if (cell->center()[0] < 0.3)
        cell->set_refine_flag();
    triangulation.execute_coarsening_and_refinement();
    hp::FECollection<3> elements(FESystem<3>(FE_Q<3>(1), 2), FESystem<3>(FE_Q<3>(2), 2));
    DoFHandler<3>       dof_handler(triangulation);
    for (const auto &cell : dof_handler.active_cell_iterators())
      cell->set_active_fe_index(cell->center()[1] > 0.8);
    dof_handler.distribute_dofs(elements);
    AffineConstraints<double>   constraints;
    PatchFEM::ExtractionData<3> data;
    data.all_boundary_faces = true;

    const int     n_threads = omp_get_max_threads();
    ElementTables first;
    for (const auto &[numbering, n] : std::vector<std::pair<std::string, int>>{
             {"natural", 1}, {"natural", 2}, {"natural", 7}, {"random", 1}, {"random", 2}, {"random", 7}})
    {
      if (n == 1)
      {
        Cases::renumber(numbering, dof_handler);
        constraints.clear();
        DoFTools::make_hanging_node_constraints(dof_handler, constraints);
        constraints.close();
      }
      omp_set_num_threads(n);
      ElementTables tables = PatchFEM::extract_element_tables<3>(MappingQ<3>(1), dof_handler, constraints, data);
      if (n == 1)
      {
        first = std::move(tables);
        continue;
      }
      ASSERT_EQ(tables.dof_indices, first.dof_indices);
      ASSERT_EQ(tables.points, first.points);
      ASSERT_EQ(tables.batches.size(), 2u);
      for (unsigned int b = 0; b < 2; ++b)
      {
        ASSERT_EQ(tables.batches[b].nodes, first.batches[b].nodes);
        ASSERT_EQ(tables.batches[b].geometry, first.batches[b].geometry);
        ASSERT_EQ(tables.batches[b].active_index, first.batches[b].active_index);
      }
      ASSERT_EQ(tables.faces.size(), first.faces.size());
      for (std::size_t f = 0; f < first.faces.size(); ++f)
        ASSERT_TRUE(tables.faces[f].batch == first.faces[f].batch && tables.faces[f].cell == first.faces[f].cell &&
                    tables.faces[f].face == first.faces[f].face);
      ASSERT_EQ(tables.constraints.constrained, first.constraints.constrained);
      ASSERT_EQ(tables.constraints.offsets, first.constraints.offsets);
      ASSERT_EQ(tables.constraints.masters, first.constraints.masters);
      ASSERT_EQ(tables.constraints.weights, first.constraints.weights);
    }
    omp_set_num_threads(n_threads);
  }
} // namespace
