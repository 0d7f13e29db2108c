// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/expression.h>

#include <deal.II/base/types.h>

#include <limits>

namespace PatchFEM
{
  /**
   * A coefficient of a material as a parameter file states it: one formula, or a formula per material id
   * ("1: 70e9, 2: 210e9, default: 1e9"), with one or several components. Values are checked to be finite and
   * inside an open interval.
   */
  template <int dim>
  class MaterialFunction
  {
  public:
    struct Range
    {
      double above = -std::numeric_limits<double>::infinity();
      /// Whether the lower end itself is legal.
      bool   closed_below = false;
      double below        = std::numeric_limits<double>::infinity();
    };

    /**
     * @param n_components Legal numbers of components; a formula list must have one of these lengths.
     * @param entry The parameter's name, for messages.
     */
    MaterialFunction(const std::string               &text,
                     const std::vector<unsigned int> &n_components,
                     const Range                     &range,
                     const Constants                 &constants,
                     const std::string               &entry);

    unsigned int n_components() const { return n; }

    double
    value(const dealii::Point<dim> &point, dealii::types::material_id material, unsigned int component = 0) const;

    /** True if the value is the constant 0 everywhere. */
    bool is_zero() const { return zero; }

    /** True if the value is the same on all of a material. */
    bool is_piecewise_constant() const { return piecewise_constant; }

    /**
     * Throws Error if a formula is for a material that is not @p present, or if a present material has
     * none.
     */
    void check_material_ids(const std::set<dealii::types::material_id> &present) const;

  private:
    const std::vector<Expression<dim>> &formulas(dealii::types::material_id material) const;

    std::string                                          entry;
    unsigned int                                         n = 1;
    Range                                                range;
    bool                                                 zero = true, piecewise_constant = true;
    std::vector<Expression<dim>>                         default_formulas;
    std::map<unsigned int, std::vector<Expression<dim>>> material_formulas;
  };
} // namespace PatchFEM
