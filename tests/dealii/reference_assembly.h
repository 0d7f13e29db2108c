// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/base/symmetric_tensor.h>
#include <deal.II/base/tensor.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_values.h>
#include <deal.II/hp/fe_values.h>
#include <deal.II/hp/mapping_collection.h>
#include <deal.II/lac/affine_constraints.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/full_matrix.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>

#include <functional>
#include <map>
#include <numeric>
#include <vector>

/**
 * @file
 * deal.II's own assembly loop, FEValues and distribute_local_to_global(), for every form and load: what our matrices
 * and right-hand sides are compared with, row by row.
 */
namespace Reference
{
  template <int dim>
  using CellIterator = typename dealii::DoFHandler<dim>::active_cell_iterator;

  /** A coefficient at quadrature point q of a cell, which lies at x. */
  template <int dim, typename Value = double>
  using Coefficient = std::function<Value(const CellIterator<dim> &cell, unsigned int q, const dealii::Point<dim> &x)>;

  template <int dim, typename Value>
  Coefficient<dim, Value> constant(const Value &value)
  {
    return [value](const CellIterator<dim> &, unsigned int, const dealii::Point<dim> &) { return value; };
  }

  /** Rules on cells and faces, one for all elements or one for each. Empty: degree + 1 points per direction. */
  template <int dim>
  struct Rules
  {
    dealii::hp::QCollection<dim>     cell;
    dealii::hp::QCollection<dim - 1> face;
  };

  template <int dim>
  Rules<dim> gauss_rules(const dealii::DoFHandler<dim> &dof_handler)
  {
    Rules<dim>  rules;
    const auto &elements = dof_handler.get_fe_collection();
    for (unsigned int i = 0; i < elements.size(); ++i)
    {
      const unsigned int n       = elements[i].degree + 1;
      const bool         simplex = elements[i].reference_cell().is_simplex();
      if (simplex)
        rules.cell.push_back(dealii::QGaussSimplex<dim>(n));
      else
        rules.cell.push_back(dealii::QGauss<dim>(n));
      if constexpr (dim == 3)
      {
        if (simplex)
        {
          rules.face.push_back(dealii::QGaussSimplex<2>(n));
          continue;
        }
      }
      rules.face.push_back(dealii::QGauss<dim - 1>(n));
    }
    return rules;
  }

  /** One trial or test function at a quadrature point: it is nonzero in one component only. */
  template <int dim>
  struct ShapeFunction
  {
    unsigned int           component;
    double                 value;
    dealii::Tensor<1, dim> gradient;
    dealii::Tensor<1, dim> mean; ///< of the gradient on the cell
  };

  /** The integrand of a bilinear form at one quadrature point, test function first. */
  template <int dim>
  using Integrand = std::function<double(const ShapeFunction<dim> &test, const ShapeFunction<dim> &trial)>;

  /** The integrand of a bilinear form at quadrature point q of a cell, which lies at x; coefficients are in it. */
  template <int dim>
  using Form = Coefficient<dim, Integrand<dim>>;

  /** k grad u . grad v, for each component by itself. */
  template <int dim>
  Form<dim> laplace(const Coefficient<dim> &k)
  {
    return [k](const auto &cell, const unsigned int q, const auto &x) {
      return [k = k(cell, q, x)](const auto &test, const auto &trial) {
        return test.component == trial.component ? k * (test.gradient * trial.gradient) : 0.0;
      };
    };
  }

  /** K grad u . grad v + reaction u v, for each component by itself. */
  template <int dim>
  Form<dim> diffusion(const Coefficient<dim, dealii::SymmetricTensor<2, dim>> &K, const Coefficient<dim> &reaction)
  {
    return [K, reaction](const auto &cell, const unsigned int q, const auto &x) {
      return [K = K(cell, q, x), c = reaction(cell, q, x)](const auto &test, const auto &trial) {
        return test.component == trial.component ? test.gradient * (K * trial.gradient) + c * test.value * trial.value
                                                 : 0.0;
      };
    };
  }

  /** lambda div u div v + 2 mu eps(u) : eps(v), where @p mean_dilatation with means of div u and div v on the cell. */
  template <int dim>
  Form<dim> elasticity(const Coefficient<dim> &lambda, const Coefficient<dim> &mu, const bool mean_dilatation = false)
  {
    return [=](const auto &cell, const unsigned int q, const auto &x) {
      return [=, lambda = lambda(cell, q, x), mu = mu(cell, q, x)](const auto &test, const auto &trial) {
        const unsigned int i = test.component, j = trial.component;
        const double       divergences =
            mean_dilatation ? test.mean[i] * trial.mean[j] : test.gradient[i] * trial.gradient[j];
        const double transposed = test.gradient[j] * trial.gradient[i];
        const double full       = i == j ? test.gradient * trial.gradient : 0.0;
        return lambda * divergences + mu * (transposed + full);
      };
    };
  }

  /** Loads; what is empty is zero. */
  template <int dim>
  struct Loads
  {
    /** The component of f in (f, v). */
    std::function<double(const dealii::Point<dim> &x, unsigned int component)> body;

    /** The component of g in the integral of g . v over faces with a boundary id: traction, pressure or flux. */
    using Boundary = std::function<double(
        const dealii::Point<dim> &x, const dealii::Tensor<1, dim> &normal, unsigned int component)>;
    std::map<dealii::types::boundary_id, Boundary> boundary;

    /** alpha in the integral of alpha u . v over faces with a boundary id, which goes to the matrix. */
    std::map<dealii::types::boundary_id, std::function<double(const dealii::Point<dim> &x)>> robin;
  };

  /** A matrix of deal.II with its pattern, and a right-hand side. */
  struct System
  {
    dealii::SparsityPattern      pattern;
    dealii::SparseMatrix<double> matrix;
    dealii::Vector<double>       rhs;
  };

  /** Calls @p distribute(matrix, right-hand side, indices) for the cells of this process. */
  template <int dim, typename Distribute>
  void for_cells(const dealii::Mapping<dim>    &mapping,
                 const dealii::DoFHandler<dim> &dof_handler,
                 const Form<dim>               &form,
                 const Loads<dim>              &loads,
                 Rules<dim>                     rules,
                 const Distribute              &distribute)
  {
    if (rules.cell.size() == 0)
      rules.cell = gauss_rules(dof_handler).cell;
    if (rules.face.size() == 0)
      rules.face = gauss_rules(dof_handler).face;

    const dealii::hp::MappingCollection<dim> mappings(mapping);
    dealii::hp::FEValues<dim>                cell_values(mappings, dof_handler.get_fe_collection(), rules.cell,
                                                         dealii::update_values | dealii::update_gradients |
                                                             dealii::update_quadrature_points | dealii::update_JxW_values);
    dealii::hp::FEFaceValues<dim>            face_values(mappings, dof_handler.get_fe_collection(), rules.face,
                                                         dealii::update_values | dealii::update_quadrature_points |
                                                             dealii::update_normal_vectors | dealii::update_JxW_values);

    dealii::FullMatrix<double>                   cell_matrix;
    dealii::Vector<double>                       cell_rhs;
    std::vector<dealii::types::global_dof_index> dofs;
    std::vector<ShapeFunction<dim>>              shapes;
    std::vector<dealii::Tensor<1, dim>>          means;
    for (const auto &cell : dof_handler.active_cell_iterators())
    {
      const dealii::FiniteElement<dim> &fe = cell->get_fe();
      const unsigned int                n  = fe.n_dofs_per_cell();
      if (n == 0 || !cell->is_locally_owned())
        continue; // FE_Nothing, or another process's
      cell_matrix.reinit(n, n);
      cell_rhs.reinit(n);
      dofs.resize(n);
      shapes.resize(n);
      cell->get_dof_indices(dofs);

      cell_values.reinit(cell);
      const dealii::FEValues<dim> &values = cell_values.get_present_fe_values();
      means.assign(n, dealii::Tensor<1, dim>());
      const double volume = std::accumulate(values.get_JxW_values().begin(), values.get_JxW_values().end(), 0.);
      for (unsigned int i = 0; i < n; ++i)
        for (const unsigned int q : values.quadrature_point_indices())
          means[i] += values.JxW(q) / volume * values.shape_grad(i, q);
      for (const unsigned int q : values.quadrature_point_indices())
      {
        const dealii::Point<dim> &x         = values.quadrature_point(q);
        const Integrand<dim>      integrand = form(cell, q, x);
        for (unsigned int i = 0; i < n; ++i)
          shapes[i] = {fe.system_to_component_index(i).first, values.shape_value(i, q), values.shape_grad(i, q),
                       means[i]};
        for (unsigned int i = 0; i < n; ++i)
        {
          for (unsigned int j = 0; j < n; ++j)
            cell_matrix(i, j) += integrand(shapes[i], shapes[j]) * values.JxW(q);
          if (loads.body)
            cell_rhs(i) += loads.body(x, shapes[i].component) * shapes[i].value * values.JxW(q);
        }
      }

      for (const unsigned int f : cell->face_indices())
      {
        if (!cell->face(f)->at_boundary())
          continue;
        const auto load  = loads.boundary.find(cell->face(f)->boundary_id());
        const auto robin = loads.robin.find(cell->face(f)->boundary_id());
        if (load == loads.boundary.end() && robin == loads.robin.end())
          continue;
        face_values.reinit(cell, f);
        const dealii::FEFaceValues<dim> &values = face_values.get_present_fe_values();
        for (const unsigned int q : values.quadrature_point_indices())
          for (unsigned int i = 0; i < n; ++i)
          {
            const dealii::Point<dim> &x = values.quadrature_point(q);
            const unsigned int        c = fe.system_to_component_index(i).first;
            const double              v = values.shape_value(i, q) * values.JxW(q);
            if (load != loads.boundary.end())
              cell_rhs(i) += load->second(x, values.normal_vector(q), c) * v;
            if (robin != loads.robin.end())
              for (unsigned int j = 0; j < n; ++j)
                if (fe.system_to_component_index(j).first == c)
                  cell_matrix(i, j) += robin->second(x) * values.shape_value(j, q) * v;
          }
      }
      distribute(cell_matrix, cell_rhs, dofs);
    }
  }

  /** Sets up @p system and fills it with @p form and @p loads under @p constraints. */
  template <int dim>
  void assemble(const dealii::Mapping<dim>              &mapping,
                const dealii::DoFHandler<dim>           &dof_handler,
                const dealii::AffineConstraints<double> &constraints,
                const Form<dim>                         &form,
                const Loads<dim>                        &loads,
                System                                  &system,
                const Rules<dim>                        &rules = Rules<dim>())
  {
    dealii::DynamicSparsityPattern pattern(dof_handler.n_dofs(), dof_handler.n_dofs());
    dealii::DoFTools::make_sparsity_pattern(dof_handler, pattern, constraints);
    system.matrix.clear();
    system.pattern.copy_from(pattern);
    system.matrix.reinit(system.pattern);
    system.rhs.reinit(dof_handler.n_dofs());
    for_cells(mapping, dof_handler, form, loads, rules, [&](const auto &matrix, const auto &rhs, const auto &dofs) {
      constraints.distribute_local_to_global(matrix, rhs, dofs, system.matrix, system.rhs);
    });
  }
} // namespace Reference
