// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "base/parallel_resizer.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/threads.h>

#include <deal.II/base/quadrature_lib.h>
#include <deal.II/fe/fe.h>

#include <omp.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

/** @file The steps of extract_element_tables(), each in a file of its own. */
namespace PatchFEM::internal
{
  /** Throws Error unless mesh, elements, mapping and constraints are among the supported ones. */
  template <int dim>
  void check_extraction(const dealii::Mapping<dim>              &mapping,
                        const dealii::DoFHandler<dim>           &dof_handler,
                        const dealii::AffineConstraints<double> &constraints,
                        const ExtractionData<dim>               &data);

  /**
   * Tables of @p fe, whose scalar base element counts, with the Lagrange functions of a mapping of degree
   * @p mapping_degree as geometry.
   */
  template <int dim>
  ReferenceElement make_reference_element(const dealii::FiniteElement<dim>  &fe,
                                          const unsigned int                 mapping_degree,
                                          const dealii::Quadrature<dim>     &quadrature,
                                          const dealii::Quadrature<dim - 1> &face_quadrature);

  /** The rule of @p rules for element @p fe_index, or the Gauss rule with degree + 1 points per direction. */
  template <int dim_of_rule, int dim>
  dealii::Quadrature<dim_of_rule> choose_rule(const dealii::hp::QCollection<dim_of_rule> &rules,
                                              const dealii::FiniteElement<dim>           &fe,
                                              const unsigned int                          fe_index)
  {
    if (rules.size() > 0)
      return rules[rules.size() == 1 ? 0 : fe_index];
    if constexpr (dim_of_rule > 1)
      if (fe.reference_cell().is_simplex())
        return dealii::QGaussSimplex<dim_of_rule>(fe.degree + 1);
    return dealii::QGauss<dim_of_rule>(fe.degree + 1);
  }

  /** Constraints in the numbering of the tables; unknown_of_dof maps each of @p n_dofs indices to it, null: the same. */
  ConstraintTable make_constraint_table(const dealii::AffineConstraints<double> &constraints,
                                        const std::atomic<int>                  *unknown_of_dof,
                                        const unsigned int                       n_dofs);

  /** Memory that is not initialised, so that the threads that fill it also touch it first. */
  template <typename T>
  std::unique_ptr<T[]> uninitialized_buffer(const std::size_t n)
  {
    return std::unique_ptr<T[]>(new T[n]);
  }

  /** Calls @p function(begin, end, block) for equal shares of [0, n), one per thread. */
  template <typename Function>
  void for_each_share(const std::size_t n, const int n_shares, Function &&function)
  {
#pragma omp parallel for schedule(static, 1) num_threads(n_shares)
    for (int share = 0; share < n_shares; ++share)
      function(n * share / n_shares, n * (share + 1) / n_shares, share);
  }
} // namespace PatchFEM::internal
