// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/solution_values.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <algorithm>

namespace PatchFEM
{
  using dealii::Point;
  using dealii::Tensor;

  template <int dim>
  std::vector<double> SolutionValues<dim>::mean_gradient(const Cell &cell) const
  {
    if (!equation.law.needs_mean)
      return {};
    const unsigned int n_comp = dof_handler.get_fe_collection().n_components();
    at_rules.reinit(cell);
    const dealii::FEValues<dim>             &values = at_rules.get_present_fe_values();
    std::vector<std::vector<Tensor<1, dim>>> gradients(values.n_quadrature_points, std::vector<Tensor<1, dim>>(n_comp));
    values.get_function_gradients(u, gradients);
    std::vector<double> mean(n_comp * dim);
    double              volume = 0.;
    for (const unsigned int q : values.quadrature_point_indices())
    {
      volume += values.JxW(q);
      for (unsigned int k = 0; k < n_comp * dim; ++k)
        mean[k] += values.JxW(q) * gradients[q][k / dim][k % dim];
    }
    for (double &entry : mean)
      entry /= volume;
    return mean;
  }

  template <int dim>
  std::vector<std::vector<double>> SolutionValues<dim>::at(const dealii::FEValuesBase<dim> &values,
                                                           const Cell                      &cell) const
  {
    const unsigned int                       n = values.n_quadrature_points, n_comp = values.get_fe().n_components();
    std::vector<std::vector<double>>         result(n);
    std::vector<dealii::Vector<double>>      at_points(n, dealii::Vector<double>(n_comp));
    std::vector<std::vector<Tensor<1, dim>>> gradients(n, std::vector<Tensor<1, dim>>(n_comp));
    values.get_function_values(u, at_points);
    values.get_function_gradients(u, gradients);
    const std::vector<double> mean = mean_gradient(cell);
    for (unsigned int q = 0; q < n; ++q)
      result[q] = equation.values_at(values.quadrature_point(q), cell->center(), cell->material_id(), at_points[q],
                                     gradients[q], mean);
    return result;
  }

  namespace
  {
    /** A point in a cell of this rank. */
    template <int dim>
    struct Found
    {
      std::size_t                                               number; ///< of the point
      typename dealii::Triangulation<dim>::active_cell_iterator cell;
      Point<dim>                                                unit;
    };

    template <int dim>
    std::vector<Found<dim>> find_cells(const dealii::Mapping<dim>         &mapping,
                                       const dealii::Triangulation<dim>   &mesh,
                                       const std::vector<NamedPoint<dim>> &points)
    {
      constexpr double        slack = 1e-6, bulge = 0.5; // of a cell: rounding, and curved faces beyond its vertices
      std::vector<Found<dim>> result;
      for (const auto &cell : mesh.active_cell_iterators())
      {
        if (!cell->is_locally_owned() || points.empty())
          continue;
        Point<dim> least = cell->vertex(0), most = least;
        double     extent = 0.;
        for (const unsigned int v : cell->vertex_indices())
          for (unsigned int d = 0; d < dim; ++d)
          {
            least[d] = std::min(least[d], cell->vertex(v)[d]);
            most[d]  = std::max(most[d], cell->vertex(v)[d]);
            extent   = std::max(extent, most[d] - least[d]);
          }
        for (std::size_t p = 0; p < points.size(); ++p)
        {
          const Point<dim> &point = points[p].point;
          bool              near  = true;
          for (unsigned int d = 0; d < dim; ++d)
            near = near && point[d] >= least[d] - bulge * extent && point[d] <= most[d] + bulge * extent;
          if (!near)
            continue;
          try
          {
            const Point<dim> unit = mapping.transform_real_to_unit_cell(cell, point);
            if (cell->reference_cell().contains_point(unit, slack))
              result.push_back({p, cell, unit});
          }
          catch (const typename dealii::Mapping<dim>::ExcTransformationFailed &)
          {
            // It is outside.
          }
        }
      }
      return result;
    }

    void sum_over_ranks(const MPI_Comm communicator, std::vector<double> &values)
    {
      MPICommunicator::of(communicator)->sum(values.data(), static_cast<int>(values.size()));
    }

    template <int dim>
    void refuse_outside(const std::vector<NamedPoint<dim>> &points, const std::vector<double> &n_cells)
    {
      for (std::size_t p = 0; p < points.size(); ++p)
        require(n_cells[p] > 0., "The point ", quote(points[p].name), " of the entry Results/Points, (",
                points[p].point, "), lies in no cell of the body; move it inside.");
    }
  } // namespace

  template <int dim>
  void require_inside(const dealii::Mapping<dim>         &mapping,
                      const dealii::Triangulation<dim>   &mesh,
                      const std::vector<NamedPoint<dim>> &points)
  {
    std::vector<double> n_cells(points.size(), 0.);
    for (const Found<dim> &found : find_cells(mapping, mesh, points))
      ++n_cells[found.number];
    sum_over_ranks(mesh.get_communicator(), n_cells);
    refuse_outside(points, n_cells);
  }

  template <int dim>
  std::vector<std::vector<double>> SolutionValues<dim>::at(const std::vector<NamedPoint<dim>> &points) const
  {
    const auto                      &mesh = dof_handler.get_triangulation();
    const std::size_t                n    = equation.law.n_values;
    std::vector<std::vector<double>> result;
    if (points.empty())
      return result;
    std::vector<double> sums(points.size() * n, 0.), n_cells(points.size(), 0.);
    const auto          evaluate = [&](const Found<dim> &found) {
      const Cell            cell(&mesh, found.cell->level(), found.cell->index(), &dof_handler);
      dealii::FEValues<dim> values(mapping, cell->get_fe(), dealii::Quadrature<dim>(found.unit), update_flags());
      values.reinit(cell);
      const std::vector<double> of_cell = at(values, cell)[0];
      for (std::size_t k = 0; k < n; ++k)
        sums[found.number * n + k] += of_cell[k];
      ++n_cells[found.number];
    };
    const std::vector<Found<dim>> all = find_cells(mapping, mesh, points);
    MPICommunicator::of(mesh.get_communicator())->agree_on_errors([&] {
      std::for_each(all.begin(), all.end(), evaluate);
    });
    sum_over_ranks(mesh.get_communicator(), sums);
    sum_over_ranks(mesh.get_communicator(), n_cells);
    refuse_outside(points, n_cells);
    for (std::size_t p = 0; p < points.size(); ++p)
    {
      result.emplace_back(sums.begin() + p * n, sums.begin() + (p + 1) * n);
      for (double &value : result.back())
        value /= n_cells[p];
    }
    return result;
  }

  template <int dim>
  typename SolutionValues<dim>::OnBoundary
  SolutionValues<dim>::on_boundary(const std::set<dealii::types::boundary_id> &ids,
                                   const dealii::hp::QCollection<dim - 1>     &face_rules) const
  {
    const dealii::hp::MappingCollection<dim> mappings(mapping);
    const unsigned int                       n_comp = dof_handler.get_fe_collection().n_components();
    dealii::hp::FEFaceValues<dim>            hp_values(mappings, dof_handler.get_fe_collection(), face_rules,
                                                       update_flags() | dealii::update_normal_vectors | dealii::update_JxW_values);
    OnBoundary                               result;
    result.integrals.resize(equation.law.n_values);
    result.traction = Resultant(n_comp, dim);
    std::vector<double> flux(n_comp * dim), source(n_comp), force(n_comp);
    const auto          evaluate = [&] {
      for (const auto &cell : dof_handler.active_cell_iterators())
        if (cell->is_locally_owned() && cell->at_boundary())
          for (const unsigned int f : cell->face_indices())
          {
            if (!cell->face(f)->at_boundary() || ids.count(cell->face(f)->boundary_id()) == 0)
              continue;
            hp_values.reinit(cell, f);
            const dealii::FEFaceValues<dim> &values  = hp_values.get_present_fe_values();
            const auto                       at_face = at(values, cell);
            for (const unsigned int q : values.quadrature_point_indices())
            {
              const Point<dim>     &x = values.quadrature_point(q);
              const Tensor<1, dim> &n = values.normal_vector(q);
              result.area += values.JxW(q);
              for (std::size_t k = 0; k < result.integrals.size(); ++k)
                result.integrals[k] += values.JxW(q) * at_face[q][k];
              equation.law.weak_flux(at_face[q].data(), flux.data(), source.data());
              for (unsigned int c = 0; c < n_comp; ++c)
              {
                force[c] = 0.;
                for (unsigned int d = 0; d < dim; ++d)
                  force[c] += values.JxW(q) * flux[c * dim + d] * n[d];
              }
              result.traction.add(force.data(), x.begin_raw());
            }
          }
    };
    MPICommunicator::of(dof_handler.get_communicator())->agree_on_errors(evaluate);
    std::vector<double> all = result.integrals;
    all.push_back(result.area);
    for (const auto &number : result.traction.numbers())
      all.push_back(*number.second);
    sum_over_ranks(dof_handler.get_communicator(), all);
    std::copy_n(all.begin(), result.integrals.size(), result.integrals.begin());
    std::size_t next = result.integrals.size();
    result.area      = all[next++];
    for (const auto &number : result.traction.numbers())
      *number.second = all[next++];
    return result;
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                \
  template class SolutionValues<dim>;                                                            \
  template void require_inside(const dealii::Mapping<dim> &, const dealii::Triangulation<dim> &, \
                               const std::vector<NamedPoint<dim>> &)
  PATCHFEM_INSTANTIATE(2);
  PATCHFEM_INSTANTIATE(3);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
