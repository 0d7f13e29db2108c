// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "base/parallel_resizer.h"

#include <patchfem/assembly/extraction_dealii.h>
#include <patchfem/base/threads.h>

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

  /** Calls @p function(begin, end, share) for equal shares of [0, n), one per thread; it may throw. */
  template <typename Function>
  void for_each_share(const std::size_t n, const int n_shares, Function &&function)
  {
    ExceptionKeeper keeper;
#pragma omp parallel for schedule(static, 1) num_threads(n_shares)
    for (int share = 0; share < n_shares; ++share)
      keeper.run([&] { function(n * share / n_shares, n * (share + 1) / n_shares, share); });
    keeper.rethrow();
  }
} // namespace PatchFEM::internal
