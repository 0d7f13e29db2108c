// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/cell_degrees.h>
#include <patchfem/base/exceptions.h>

#include <deal.II/fe/fe_series.h>
#include <deal.II/hp/refinement.h>
#include <deal.II/numerics/smoothness_estimator.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  namespace
  {
    const char *const entry = "Finite element/Cell degree";

    /** The formulas of @p parameters, completed by its Degree for materials that have none. */
    std::string complete_formulas(const FiniteElementParameters &parameters)
    {
      const std::string degree = std::to_string(parameters.degree);
      if (parameters.cell_degree.empty())
        return degree;
      const std::vector<KeyedFormulas> items = split_keyed_formulas(parameters.cell_degree, true, entry);
      const bool has_default = std::any_of(items.begin(), items.end(), [](const auto &item) { return item.all; });
      return has_default ? parameters.cell_degree : parameters.cell_degree + ", default: " + degree;
    }
  } // namespace

  template <int dim>
  CellDegrees<dim>::CellDegrees(const FiniteElementParameters &parameters, const Constants &constants)
      : degrees(parameters.legal_degrees()), degree(complete_formulas(parameters), {1}, {}, constants, entry)
  {}

  template <int dim>
  void CellDegrees<dim>::assign(dealii::DoFHandler<dim> &dof_handler) const
  {
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
      {
        const double value = degree.value(cell->center(), cell->material_id());
        const auto   found =
            std::find_if(degrees.begin(), degrees.end(), [&](const double p) { return std::abs(value - p) < 1e-6; });
        if (found == degrees.end()) // the centre is computed only then
          throw Error("The degree ", value, " that ", entry, " gives to the cell around (", cell->center(), "), ",
                      degree.describe(cell->material_id()),
                      ", is not in the list Finite element/Degrees = ", dealii::Patterns::Tools::to_string(degrees),
                      "; correct one of them.");
        cell->set_active_fe_index(found - degrees.begin());
      }
  }

  template <int dim>
  std::map<unsigned int, std::uint64_t> count_cells_by_degree(const dealii::DoFHandler<dim> &dof_handler,
                                                              const MPI_Comm                 communicator)
  {
    const auto                &elements = dof_handler.get_fe_collection();
    std::vector<std::uint64_t> counts(elements.size(), 0);
    for (const auto &cell : dof_handler.active_cell_iterators())
      if (cell->is_locally_owned())
        ++counts[cell->active_fe_index()];
    dealii::Utilities::MPI::sum(counts, communicator, counts);
    std::map<unsigned int, std::uint64_t> result;
    for (unsigned int i = 0; i < elements.size(); ++i)
      result[elements[i].degree] = counts[i];
    return result;
  }

  template <int dim>
  void choose_between_h_and_p(dealii::Triangulation<dim>    &triangulation,
                              const dealii::DoFHandler<dim> &dof_handler,
                              const SolutionVector          &solution,
                              const double                   smoothness_threshold)
  {
    using namespace dealii;
    const auto        &elements     = dof_handler.get_fe_collection();
    const unsigned int n_components = elements.n_components();

    // Coefficients that are rounding say nothing about the decay.
    const double negligible = 1e-10 * solution.linfty_norm();

    dealii::Vector<float> decay(triangulation.n_active_cells()), decay_of_component(triangulation.n_active_cells());
    for (unsigned int c = 0; c < n_components; ++c)
    {
      FESeries::Legendre<dim> series = SmoothnessEstimator::Legendre::default_fe_series(
          elements, n_components == 1 ? numbers::invalid_unsigned_int : c);
      SmoothnessEstimator::Legendre::coefficient_decay(series, dof_handler, solution, decay_of_component,
                                                       VectorTools::Linfty_norm, negligible);
      for (unsigned int i = 0; i < decay.size(); ++i)
        decay[i] = c == 0 ? decay_of_component[i] : std::min(decay[i], decay_of_component[i]);
    }

    const auto threshold = static_cast<float>(smoothness_threshold);
    hp::Refinement::p_adaptivity_from_absolute_threshold(dof_handler, decay, threshold, threshold);
    hp::Refinement::choose_p_over_h(dof_handler);
    triangulation.prepare_coarsening_and_refinement();
    hp::Refinement::limit_p_level_difference(dof_handler);
  }

  template <int dim>
  void check_degrees_of_periodic_cells(const dealii::DoFHandler<dim> &dof_handler)
  {
    if (dof_handler.get_triangulation().get_periodic_face_map().empty())
      return;
    for (const auto &cell : dof_handler.active_cell_iterators())
      for (const unsigned int f : cell->face_indices())
        if (cell->has_periodic_neighbor(f))
        {
          // A finer neighbour finds this cell in its turn.
          const auto neighbor = cell->periodic_neighbor(f);
          if (!neighbor->is_active() || neighbor->active_fe_index() == cell->active_fe_index())
            continue;
          throw Error("The cells around (", cell->center(), ") and (", neighbor->center(),
                      "), which Boundary conditions/Periodic joins, have the degrees ", cell->get_fe().degree, " and ",
                      neighbor->get_fe().degree, "; let Finite element/Cell degree give equal degrees to both.");
        }
  }

#define PATCHFEM_INSTANTIATE(dim)                                                                                  \
  template class CellDegrees<dim>;                                                                                 \
  template std::map<unsigned int, std::uint64_t> count_cells_by_degree(const dealii::DoFHandler<dim> &, MPI_Comm); \
  template void choose_between_h_and_p(dealii::Triangulation<dim> &, const dealii::DoFHandler<dim> &,              \
                                       const SolutionVector &, double);                                            \
  template void check_degrees_of_periodic_cells(const dealii::DoFHandler<dim> &);
  PATCHFEM_INSTANTIATE(2)
  PATCHFEM_INSTANTIATE(3)
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
