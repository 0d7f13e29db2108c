// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/lac/vector_memory.templates.h>
#include <deal.II/lac/vector_type_traits.h>
#include <patchfem/lac/vector.h>

/**
 * @file
 * Lets deal.II's own solvers run on our vectors, matrices and preconditioners, wherever these live: what is not
 * symmetric is solved so.
 * @code
 *   Vector<double> x(backend, n), b(backend, n);
 *   dealii::SolverGMRES<Vector<double>>(control).solve(A, x, b, preconditioner);
 * @endcode
 * A cycle of PreconditionAMG in fp32 is the same linear operator to 1e-7 only: SolverFGMRES allows for that,
 * SolverGMRES ends at a residual of that accuracy and wants AdditionalData::single_precision = false. Their work
 * vectors stay in memory until dealii::GrowingVectorMemory<Vector<double>>::release_unused_memory().
 */
namespace dealii
{
  /** All elements are of this process. */
  template <typename Number>
  struct is_serial_vector<PatchFEM::Vector<Number>> : std::true_type
  {};
} // namespace dealii
