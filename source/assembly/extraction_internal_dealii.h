// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/extraction_dealii.h>

#include <atomic>

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
} // namespace PatchFEM::internal
