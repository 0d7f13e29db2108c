// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "extraction_cases.h"
#include "reference_assembly.h"

#include <patchfem/assembly/assembler.h>
#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/assembly/face_quadrature.h>

#include <deal.II/fe/fe_system.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <gtest/gtest.h>

/** @file Problems that are assembled by deal.II's loop and by ours, and the comparison of the two. */
namespace AssemblyProblems
{
  using namespace PatchFEM;

  struct Problem
  {
    const char *form; ///< laplace, diffusion, elasticity, mean_dilatation
    int         dim;
    const char *mesh;                  ///< see Cases::make_mesh()
    int         degree;                ///< 0: hp with degrees 1 to 3, -1: FE_Nothing beside them
    int         mapping      = 0;      ///< degree; 0: MappingQ1, -k: moved by MappingQEulerian(k)
    const char *constraints  = "none"; ///< none, dirichlet, one_component, normal_flux, periodic; hanging nodes always
    const char *numbering    = "natural";
    const char *coefficients = "constant"; ///< constant, material, cell, points
    bool        boundary_terms = false;

    static bool is_vector(const std::string &form) { return form == "elasticity" || form == "mean_dilatation"; }
    bool        is_vector() const { return is_vector(form); }

    std::string name() const
    {
      return std::string(form) + std::to_string(dim) + "d_" + mesh + "_" +
             (degree < 0    ? "hp_nothing"
              : degree == 0 ? "hp"
                            : "q" + std::to_string(degree)) +
             (mapping < 0 ? "_moved" : "_m") + std::to_string(std::abs(mapping)) + "_" + constraints + "_" + numbering +
             "_" + coefficients + (boundary_terms ? "_boundary" : "");
    }
  };

  /** Everything deal.II knows of a problem. */
  template <int dim>
  struct Setup
  {
    dealii::Triangulation<dim>                triangulation;
    dealii::hp::FECollection<dim>             elements;
    std::unique_ptr<Cases::Displacement<dim>> displacement;
    std::unique_ptr<dealii::Mapping<dim>>     mapping;
    dealii::DoFHandler<dim>                   dof_handler;
    dealii::AffineConstraints<double>         constraints;

    explicit Setup(const Problem &problem)
    {
      using namespace dealii;
      const bool         simplex = Cases::is_simplex_mesh(problem.mesh);
      const unsigned int n_comp  = problem.is_vector() ? dim : 1;
      Cases::make_mesh(problem.mesh, triangulation);
      if (problem.mapping < 0)
        displacement = std::make_unique<Cases::Displacement<dim>>(triangulation, -problem.mapping);
      mapping =
          displacement ? displacement->make_mapping("q_eulerian") : Cases::make_mapping<dim>(simplex, problem.mapping);
      if (std::string(problem.constraints) == "periodic")
      {
        std::vector<GridTools::PeriodicFacePair<typename Triangulation<dim>::cell_iterator>> pairs;
        GridTools::collect_periodic_faces(triangulation, 0, 1, 0, pairs);
        triangulation.add_periodicity(pairs);
      }
      if (problem.degree <= 0)
        for (unsigned int degree = 1; degree <= 3; ++degree)
          elements.push_back(*Cases::make_element<dim>(simplex, degree, n_comp));
      else
        elements.push_back(*Cases::make_element<dim>(simplex, problem.degree, n_comp));
      if (problem.degree < 0)
        elements.push_back(*Cases::make_nothing<dim>(simplex, n_comp));
      dof_handler.reinit(triangulation);
      unsigned int n = 0;
      for (const auto &cell : dof_handler.active_cell_iterators())
        cell->set_active_fe_index(n++ % elements.size());
      dof_handler.distribute_dofs(elements);
      Cases::renumber(problem.numbering, dof_handler);

      if (!simplex)
        DoFTools::make_hanging_node_constraints(dof_handler, constraints);
      const std::string kind = problem.constraints;
      const auto        ids  = triangulation.get_boundary_ids();
      if (kind == "dirichlet" || kind == "one_component")
      {
        ComponentMask mask(n_comp, kind == "dirichlet");
        mask.set(n_comp - 1, true);
        VectorTools::interpolate_boundary_values(*mapping, dof_handler, ids[0],
                                                 Functions::ConstantFunction<dim>(0.7, n_comp), constraints, mask);
      }
      else if (kind == "normal_flux")
        VectorTools::compute_no_normal_flux_constraints(dof_handler, 0, {ids.back()}, constraints, *mapping);
      else if (kind == "periodic")
        DoFTools::make_periodicity_constraints(dof_handler, 0, 1, 0, constraints);
      constraints.close();
    }
  };

  /** Coefficients that depend on material, cell and point in a way both sides can evaluate. */
  template <int dim>
  double variation(const Problem &problem, const int material, const int cell, const double *x)
  {
    const std::string kind = problem.coefficients;
    if (kind == "material")
      return material;
    if (kind == "cell")
      return 1. + cell % 7;
    if (kind == "points")
      return 2. + x[0] + 0.5 * x[1] * x[1];
    return 1.5;
  }

  /** The coefficients of a form from one number: (k), (K, c) or (lambda, mu). */
  template <int dim>
  std::vector<double> form_coefficients(const std::string &form, const double v)
  {
    if (form == "laplace")
      return {v};
    if (form == "elasticity" || form == "mean_dilatation")
      return {2. * v, v + 0.5};
    if (dim == 2)
      return {v, 0.2, 2. * v, 3. * v};
    return {v, 0.2, -0.1, 2. * v, 0.3, 1.5 * v, 3. * v};
  }

  template <int dim>
  Reference::Form<dim> reference_form(const Problem &problem)
  {
    const std::string form  = problem.form;
    const auto        entry = [problem, form](const int k) -> Reference::Coefficient<dim> {
      return [=](const auto &cell, const unsigned int, const dealii::Point<dim> &x) {
        double point[dim];
        for (int d = 0; d < dim; ++d)
          point[d] = x[d];
        return form_coefficients<dim>(
            form, variation<dim>(problem, cell->material_id(), cell->active_cell_index(), point))[k];
      };
    };
    if (form == "laplace")
      return Reference::laplace<dim>(entry(0));
    if (problem.is_vector())
      return Reference::elasticity<dim>(entry(0), entry(1), form == "mean_dilatation");
    std::vector<Reference::Coefficient<dim>> all;
    for (int k = 0; k < dim * (dim + 1) / 2 + 1; ++k)
      all.push_back(entry(k));
    return Reference::diffusion<dim>(
        [all](const auto &cell, const unsigned int q, const dealii::Point<dim> &x) {
          dealii::SymmetricTensor<2, dim> K;
          int                             k = 0;
          for (int i = 0; i < dim; ++i)
            for (int j = i; j < dim; ++j)
              K[i][j] = all[k++](cell, q, x);
          return K;
        },
        all.back());
  }

  template <int dim>
  CoefficientField coefficient_field(const Problem &problem, const ElementTables &tables)
  {
    const std::string kind = problem.coefficients, form = problem.form;
    const auto        values    = [&](const double v) { return form_coefficients<dim>(form, v); };
    const int         n         = static_cast<int>(values(1.).size());
    double            origin[3] = {};
    if (kind == "constant")
      return CoefficientField::constant(values(variation<dim>(problem, 0, 0, origin)));
    if (kind == "material")
      return CoefficientField::by_material({{5, values(5)}, {6, values(6)}, {7, values(7)}});
    std::vector<std::vector<double>> all;
    for (const CellTable &batch : tables.batches)
    {
      std::vector<double> out, points(batch.reference.n_quadrature * dim);
      const int           n_q = kind == "cell" ? 1 : batch.reference.n_quadrature;
      for (int c = 0; c < batch.n_cells; ++c)
      {
        cell_quadrature_points(tables, batch, c, points.data());
        for (int q = 0; q < n_q; ++q)
          for (const double v :
               values(variation<dim>(problem, batch.material_ids[c], batch.active_index[c], points.data() + q * dim)))
            out.push_back(v);
      }
      all.push_back(out);
    }
    return kind == "cell" ? CoefficientField::by_cell(n, all) : CoefficientField::at_quadrature_points(n, all);
  }

  template <int dim>
  double body_load(const double *x, const int component)
  {
    return 1. + component + x[0] - 0.3 * x[dim - 1];
  }

  /** Boundary load and Robin coefficient on the boundary id they are given on. */
  template <int dim>
  double boundary_load(const double *x, const double *normal, const int component)
  {
    return x[0] + 2. * normal[component % dim] + component;
  }
  inline double robin(const double *x)
  {
    return 1. + x[0] * x[0];
  }

  template <int dim>
  CoefficientField load_field(const ElementTables &tables)
  {
    std::vector<std::vector<double>> all;
    for (const CellTable &batch : tables.batches)
    {
      std::vector<double> out, points(batch.reference.n_quadrature * dim);
      for (int cell = 0; cell < batch.n_cells; ++cell)
      {
        cell_quadrature_points(tables, batch, cell, points.data());
        for (int q = 0; q < batch.reference.n_quadrature; ++q)
          for (int c = 0; c < tables.n_components; ++c)
            out.push_back(body_load<dim>(points.data() + q * dim, c));
      }
      all.push_back(out);
    }
    return CoefficientField::at_quadrature_points(tables.n_components, all);
  }

  template <int dim>
  FaceTerms face_terms(const ElementTables &tables)
  {
    const FaceQuadrature faces = compute_face_quadrature(tables);
    FaceTerms            terms;
    for (std::size_t i = 0; i < faces.n_points(); ++i)
    {
      for (int c = 0; c < tables.n_components; ++c)
        terms.load.push_back(boundary_load<dim>(&faces.points[i * dim], &faces.normals[i * dim], c));
      terms.robin.push_back(robin(&faces.points[i * dim]));
    }
    return terms;
  }

  template <int dim>
  Reference::Loads<dim> reference_loads(const Setup<dim> &setup, const Problem &problem)
  {
    Reference::Loads<dim> loads;
    const auto            plain = [](const auto &x) {
      std::array<double, 3> p{};
      for (int d = 0; d < dim; ++d)
        p[d] = x[d];
      return p;
    };
    loads.body = [plain](const auto &x, const unsigned int c) { return body_load<dim>(plain(x).data(), c); };
    if (problem.boundary_terms)
    {
      const auto id      = setup.triangulation.get_boundary_ids().front();
      loads.boundary[id] = [plain](const auto &x, const auto &n, const unsigned int c) {
        return boundary_load<dim>(plain(x).data(), plain(n).data(), c);
      };
      loads.robin[id] = [plain](const auto &x) { return robin(plain(x).data()); };
    }
    return loads;
  }

  /**
   * Largest |a - a_ref| / sqrt(A_ii A_jj) over all entries of both matrices, and of the right-hand side relative to its
   * largest entry.
   */
  template <typename Number>
  std::pair<double, double> differences(const ElementBatches     &batches,
                                        const MatrixBase<Number> &matrix,
                                        const Vector<Number>     &rhs,
                                        const Reference::System  &reference)
  {
    const auto                   dofs   = batches.dof_indices().to_vector();
    const auto                   csr    = matrix.to_csr_host();
    const auto                   values = rhs.copy_to_host();
    dealii::SparseMatrix<double> rest(reference.pattern);
    rest.copy_from(reference.matrix);
    double     worst = 0., worst_rhs = 0., largest = reference.rhs.linfty_norm();
    const auto scaled = [&](const double difference, const unsigned int i, const unsigned int j) {
      const double result = std::abs(difference) /
                            std::sqrt(std::abs(reference.matrix.diag_element(i) * reference.matrix.diag_element(j)));
      return result >= 0. ? result : 1e300; // NaN must not pass
    };
    for (std::size_t row = 0; row < dofs.size(); ++row)
    {
      for (std::int64_t k = csr.row_offsets[row]; k < csr.row_offsets[row + 1]; ++k)
      {
        const unsigned int i = dofs[row], j = dofs[csr.columns[k]];
        if (reference.pattern.exists(i, j))
          rest.add(i, j, -static_cast<double>(csr.values[k]));
        else
          worst = std::max(worst, scaled(csr.values[k], i, j));
      }
      const double d = std::abs(values[row] - reference.rhs(dofs[row])) / (largest > 0. ? largest : 1.);
      worst_rhs      = std::max(worst_rhs, d >= 0. ? d : 1e300);
    }
    for (unsigned int i = 0; i < rest.m(); ++i)
      for (auto entry = rest.begin(i); entry != rest.end(i); ++entry)
        worst = std::max(worst, scaled(entry->value(), i, entry->column()));
    return {worst, worst_rhs};
  }
} // namespace AssemblyProblems
