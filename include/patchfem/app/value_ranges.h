// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/physics.h>

#include <string>

/** @file Whether a precision can hold what a system is made of. */
namespace PatchFEM
{
  /** The largest magnitude; what is not a number counts as infinite. */
  double largest_of(const std::vector<double> &values);

  /**
   * Throws Error if @p largest, the largest magnitude of what @p what names in the plural, is not finite, or is not 0
   * but beyond the normal numbers of Number.
   */
  template <typename Number>
  void check_range(const std::string &what, double largest);

  /**
   * The same for coefficients, loads and Dirichlet values of a system.
   * @return an estimate from below of the right-hand side that they lead to where nothing cancels; 0 without loads.
   */
  template <typename Number>
  double check_ranges(const ElementTables &tables, const SystemFields &fields);

  /**
   * Throws Error if @p norm, that of a right-hand side in Number, is not finite, or so small that loads which are
   * @p estimate in double have been rounded away; loads that cancel or act where the solution is given may leave 0.
   */
  template <typename Number>
  void check_rhs(double norm, double estimate);
} // namespace PatchFEM
