// SPDX-License-Identifier: LGPL-2.1-or-later
// Matrices summed up from the tables alone, in the plainest way, against deal.II's loop, on every row. What is tested
// is the tables: nodes, geometry, faces and constraints together.
#include "extraction_cases.h"
#include "reference_assembly.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/assembly/face_quadrature.h>

#include <deal.II/numerics/vector_tools.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace
{
  using namespace dealii;
  using PatchFEM::CellTable;
  using PatchFEM::ConstraintTable;
  using PatchFEM::ElementTables;
  using PatchFEM::ReferenceElement;

  /** The smooth data of all cases; in deal.II's loop and in ours. */
  double coefficient(const double *x)
  {
    return 2 + std::sin(x[0]) * x[1];
  }

  double load(const double *x, const unsigned int component)
  {
    return std::cos(x[0] + component) + x[1];
  }

  double traction(const double *x, const double *normal, const unsigned int component)
  {
    return x[0] * normal[component] + 0.5 * component;
  }

  double robin(const double *x)
  {
    return 1 + x[1] * x[1];
  }

  /** Cell matrices and vectors, unknowns in the order [shape][component]. */
  struct LocalSystem
  {
    FullMatrix<double> matrix;
    Vector<double>     rhs;
  };

  /** Integrates lambda div u div v + mu (grad u + grad u^T) : grad v, with mu = k, or k grad u . grad v. */
  template <int dim>
  LocalSystem integrate_cell(
      const ElementTables &tables, const CellTable &batch, const int cell, const bool elasticity, const double lambda)
  {
    const ReferenceElement &reference = batch.reference;
    const int               n_c       = tables.n_components;
    const int               n         = reference.n_shape * n_c;
    LocalSystem             local{FullMatrix<double>(n, n), Vector<double>(n)};
    std::vector<double>     points(reference.n_quadrature * dim);
    PatchFEM::cell_quadrature_points(tables, batch, cell, points.data());
    for (int q = 0; q < reference.n_quadrature; ++q)
    {
      Tensor<2, dim> J;
      for (int g = 0; g < reference.n_geometry; ++g)
        for (unsigned int d = 0; d < dim; ++d)
          for (unsigned int e = 0; e < dim; ++e)
            J[d][e] += tables.points[batch.points_of(cell)[g] * dim + d] *
                       reference.geometry_gradients[(q * reference.n_geometry + g) * dim + e];
      const Tensor<2, dim>        to_real = transpose(invert(J));
      const double                JxW     = determinant(J) * reference.weights[q];
      const double                k       = coefficient(&points[q * dim]);
      std::vector<Tensor<1, dim>> gradients(reference.n_shape);
      for (int i = 0; i < reference.n_shape; ++i)
      {
        for (unsigned int d = 0; d < dim; ++d)
          gradients[i][d] = reference.shape_gradients[(q * reference.n_shape + i) * dim + d];
        gradients[i] = to_real * gradients[i];
      }
      for (int i = 0; i < n; ++i)
      {
        const int             c  = i % n_c;
        const Tensor<1, dim> &gi = gradients[i / n_c];
        local.rhs(i) += load(&points[q * dim], c) * reference.shape_values[q * reference.n_shape + i / n_c] * JxW;
        for (int j = 0; j < n; ++j)
        {
          const int             e  = j % n_c;
          const Tensor<1, dim> &gj = gradients[j / n_c];
          double                a  = c == e ? k * (gi * gj) : 0;
          if (elasticity)
            a += lambda * gi[c] * gj[e] + k * gi[e] * gj[c];
          local.matrix(i, j) += a * JxW;
        }
      }
    }
    return local;
  }

  /** Traction, and the Robin term, on the faces listed in the tables. */
  template <int dim>
  void integrate_face(const ElementTables            &tables,
                      const PatchFEM::FaceQuadrature &faces,
                      const std::size_t               f,
                      LocalSystem                    &local)
  {
    const PatchFEM::FaceEntry &face      = tables.faces[f];
    const ReferenceElement    &reference = tables.batches[face.batch].reference;
    const int                  n_c       = tables.n_components;
    for (int q = 0; q < reference.n_face_quadrature; ++q)
    {
      const std::size_t point = faces.offsets[f] + q;
      const double     *x     = &faces.points[point * dim];
      const double     *values =
          &reference.face_shape_values[(face.face * reference.n_face_quadrature + q) * reference.n_shape];
      for (int i = 0; i < reference.n_shape * n_c; ++i)
      {
        local.rhs(i) += traction(x, &faces.normals[point * dim], i % n_c) * values[i / n_c] * faces.weights[point];
        for (int j = i % n_c; j < reference.n_shape * n_c; j += n_c)
          local.matrix(i, j) += robin(x) * values[i / n_c] * values[j / n_c] * faces.weights[point];
      }
    }
  }

  /** A <- A + C^T A_e C, f <- f + C^T (f_e - A_e k), and |A_e,ii| on the diagonals of constrained rows. */
  void distribute(const ElementTables    &tables,
                  const std::vector<int> &unknowns,
                  const LocalSystem      &local,
                  Reference::System      &system)
  {
    const ConstraintTable &table = tables.constraints;

    struct Line
    {
      std::vector<std::pair<int, double>> masters;
      double                              k           = 0;
      bool                                constrained = false;
    };
    std::vector<Line> lines(unknowns.size());
    for (std::size_t i = 0; i < unknowns.size(); ++i)
    {
      const auto found = std::lower_bound(table.constrained.begin(), table.constrained.end(), unknowns[i]);
      if (found == table.constrained.end() || *found != unknowns[i])
      {
        lines[i].masters.emplace_back(unknowns[i], 1.0);
        continue;
      }
      const std::size_t line = found - table.constrained.begin();
      lines[i].constrained   = true;
      lines[i].k             = table.inhomogeneity[line];
      for (std::int64_t m = table.offsets[line]; m < table.offsets[line + 1]; ++m)
        lines[i].masters.emplace_back(table.masters[m], table.weights[m]);
    }
    for (std::size_t i = 0; i < unknowns.size(); ++i)
    {
      double f = local.rhs(i);
      for (std::size_t j = 0; j < unknowns.size(); ++j)
        f -= local.matrix(i, j) * lines[j].k;
      for (const auto &row : lines[i].masters)
      {
        const unsigned int dof = tables.dof_index(row.first);
        system.rhs(dof) += row.second * f;
        for (std::size_t j = 0; j < unknowns.size(); ++j)
          for (const auto &column : lines[j].masters)
            system.matrix.add(dof, tables.dof_index(column.first), row.second * column.second * local.matrix(i, j));
      }
      if (lines[i].constrained)
      {
        const unsigned int dof = tables.dof_index(unknowns[i]);
        system.matrix.add(dof, dof, std::abs(local.matrix(i, i)));
      }
    }
  }

  /** Faces with these ids carry traction and a Robin term. */
  template <int dim>
  void check_assembly(const Mapping<dim>                 &mapping,
                      const DoFHandler<dim>              &dof_handler,
                      const AffineConstraints<double>    &constraints,
                      const bool                          elasticity,
                      const std::set<types::boundary_id> &loaded_ids)
  {
    const double                  lambda = 1.7;
    PatchFEM::ExtractionData<dim> data;
    data.boundary_ids          = loaded_ids;
    const ElementTables tables = PatchFEM::extract_element_tables<dim>(mapping, dof_handler, constraints, data);

    const Reference::Coefficient<dim> k = [](const auto &, const unsigned int, const Point<dim> &x) {
      return coefficient(&x[0]);
    };
    Reference::Loads<dim> loads;
    loads.body = [](const Point<dim> &x, const unsigned int c) { return load(&x[0], c); };
    for (const types::boundary_id id : loaded_ids)
    {
      loads.boundary[id] = [](const Point<dim> &x, const Tensor<1, dim> &normal, const unsigned int c) {
        return traction(&x[0], &normal[0], c);
      };
      loads.robin[id] = [](const Point<dim> &x) { return robin(&x[0]); };
    }
    Reference::System theirs;
    Reference::assemble<dim>(mapping, dof_handler, constraints,
                             elasticity ? Reference::elasticity<dim>(Reference::constant<dim>(lambda), k)
                                        : Reference::laplace<dim>(k),
                             loads, theirs);

    Reference::System ours;
    ours.matrix.reinit(theirs.pattern);
    ours.rhs.reinit(dof_handler.n_dofs());
    const PatchFEM::FaceQuadrature faces = PatchFEM::compute_face_quadrature(tables);
    for (int b = 0; b < int(tables.batches.size()); ++b)
      for (int cell = 0; cell < tables.batches[b].n_cells; ++cell)
      {
        const CellTable &batch = tables.batches[b];
        LocalSystem      local = integrate_cell<dim>(tables, batch, cell, elasticity, lambda);
        for (std::size_t f = 0; f < tables.faces.size(); ++f)
          if (tables.faces[f].batch == b && tables.faces[f].cell == cell)
            integrate_face<dim>(tables, faces, f, local);
        std::vector<int> unknowns;
        for (int i = 0; i < batch.reference.n_shape; ++i)
          for (int c = 0; c < tables.n_components; ++c)
            unknowns.push_back(batch.nodes[cell * batch.reference.n_shape + i] * tables.n_components + c);
        distribute(tables, unknowns, local, ours);
      }

    double largest_rhs = 0;
    for (const double f : theirs.rhs)
      largest_rhs = std::max(largest_rhs, std::abs(f));
    ASSERT_GT(largest_rhs, 0);
    for (unsigned int i = 0; i < dof_handler.n_dofs(); ++i)
    {
      ASSERT_NEAR(ours.rhs(i), theirs.rhs(i), 1e-12 * largest_rhs) << "row " << i;
      auto entry = ours.matrix.begin(i);
      for (auto other = theirs.matrix.begin(i); other != theirs.matrix.end(i); ++other, ++entry)
        ASSERT_NEAR(entry->value(), other->value(),
                    1e-12 * std::sqrt(theirs.matrix.diag_element(i) * theirs.matrix.diag_element(other->column())))
            << "entry " << i << ", " << other->column();
    }
  }

  template <int dim>
  void check_elasticity_with_hanging_nodes()
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("adaptive_cube", triangulation);
    DoFHandler<dim> dof_handler(triangulation);
    for (unsigned int degree = 1; degree <= 5 - dim; ++degree)
    {
      dof_handler.distribute_dofs(FESystem<dim>(FE_Q<dim>(degree), dim));
      Cases::renumber("random", dof_handler);
      AffineConstraints<double> constraints;
      DoFTools::make_hanging_node_constraints(dof_handler, constraints);
      ComponentMask second(dim, false);
      second.set(1, true);
      VectorTools::interpolate_boundary_values(dof_handler, 0, Functions::ConstantFunction<dim>(0.25, dim), constraints,
                                               second);
      VectorTools::interpolate_boundary_values(dof_handler, 1, Functions::ZeroFunction<dim>(dim), constraints);
      constraints.close();
      check_assembly<dim>(MappingQ<dim>(1), dof_handler, constraints, true, {2, 3});
    }
  }

  TEST(ExtractionAssembly, ElasticityWithHangingNodesIn2D)
  {
    check_elasticity_with_hanging_nodes<2>();
  }

  TEST(ExtractionAssembly, ElasticityWithHangingNodesIn3D)
  {
    check_elasticity_with_hanging_nodes<3>();
  }

  template <int dim>
  void check_no_normal_flux()
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("shell", triangulation);
    const MappingQ<dim> mapping(3);
    DoFHandler<dim>     dof_handler(triangulation);
    dof_handler.distribute_dofs(FESystem<dim>(FE_Q<dim>(2), dim));
    AffineConstraints<double> constraints;
    VectorTools::compute_no_normal_flux_constraints(dof_handler, 0, {0}, constraints, mapping);
    constraints.close();
    check_assembly<dim>(mapping, dof_handler, constraints, true, {0, 1});
  }

  TEST(ExtractionAssembly, NoNormalFluxIn2D)
  {
    check_no_normal_flux<2>();
  }

  TEST(ExtractionAssembly, NoNormalFluxIn3D)
  {
    check_no_normal_flux<3>();
  }

  template <int dim>
  void check_hp(const unsigned int n_components, const bool with_nothing)
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("adaptive_cube", triangulation);
    hp::FECollection<dim> elements;
    for (unsigned int degree = 1; degree <= 3; ++degree)
      elements.push_back(*Cases::make_element<dim>(false, degree, n_components));
    if (with_nothing)
      elements.push_back(*Cases::make_nothing<dim>(false, n_components));
    DoFHandler<dim> dof_handler(triangulation);
    unsigned int    n = 0;
    for (const auto &cell : dof_handler.active_cell_iterators())
      cell->set_active_fe_index(n++ % elements.size());
    dof_handler.distribute_dofs(elements);
    AffineConstraints<double> constraints;
    DoFTools::make_hanging_node_constraints(dof_handler, constraints);
    constraints.close();
    check_assembly<dim>(MappingQ<dim>(1), dof_handler, constraints, n_components == dim, {0, 3});
  }

  TEST(ExtractionAssembly, HpIn2D)
  {
    check_hp<2>(1, false);
    check_hp<2>(2, true);
  }

  TEST(ExtractionAssembly, HpIn3D)
  {
    check_hp<3>(1, false);
    check_hp<3>(1, true);
  }

  template <int dim>
  void check_moved_mesh()
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("adaptive_cube", triangulation);
    DoFHandler<dim> dof_handler(triangulation);
    dof_handler.distribute_dofs(FESystem<dim>(FE_Q<dim>(4 - dim), dim));
    AffineConstraints<double> constraints;
    DoFTools::make_hanging_node_constraints(dof_handler, constraints);
    constraints.close();
    for (const std::string kind : {"q_eulerian", "q_cache", "q1_eulerian"})
    {
      const Cases::Displacement<dim> displacement(triangulation, kind == "q1_eulerian" ? 1 : 2);
      check_assembly<dim>(*displacement.make_mapping(kind), dof_handler, constraints, true, {0, 1});
    }
  }

  TEST(ExtractionAssembly, MovedMeshIn2D)
  {
    check_moved_mesh<2>();
  }

  TEST(ExtractionAssembly, MovedMeshIn3D)
  {
    check_moved_mesh<3>();
  }

  template <int dim>
  void check_simplices()
  {
    Triangulation<dim> triangulation;
    Cases::make_mesh("simplices", triangulation);
    const MappingFE<dim> mapping{FE_SimplexP<dim>(1)};
    for (unsigned int degree = 1; degree <= 2; ++degree)
    {
      DoFHandler<dim> dof_handler(triangulation);
      dof_handler.distribute_dofs(FESystem<dim>(FE_SimplexP<dim>(degree), dim));
      AffineConstraints<double> constraints;
      VectorTools::interpolate_boundary_values(mapping, dof_handler, 0, Functions::ConstantFunction<dim>(2., dim),
                                               constraints);
      constraints.close();
      check_assembly<dim>(mapping, dof_handler, constraints, true, {1, 2});
    }
  }

  TEST(ExtractionAssembly, SimplicesIn2D)
  {
    check_simplices<2>();
  }

  TEST(ExtractionAssembly, SimplicesIn3D)
  {
    check_simplices<3>();
  }
} // namespace
