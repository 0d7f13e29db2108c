// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/material_function.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <deal.II/base/patterns.h>

#include <algorithm>
#include <cmath>

namespace PatchFEM
{
  template <int dim>
  MaterialFunction<dim>::MaterialFunction(const std::string               &text,
                                          const std::vector<unsigned int> &n_components,
                                          const Range                     &range,
                                          const Constants                 &constants,
                                          const std::string               &entry)
      : entry(entry), range(range)
  {
    const std::vector<KeyedFormulas> items = split_keyed_formulas(text, true, entry);
    require(!items.empty(), "The entry ", entry, " is empty; give a formula, or one per material id.");
    n = items.front().formulas.size();
    if (std::find(n_components.begin(), n_components.end(), n) == n_components.end())
    {
      std::string legal;
      for (const unsigned int k : n_components)
        legal += (legal.empty() ? "" : " or ") + std::to_string(k);
      throw Error("The entry ", entry, " has ", n, " components (separated by ';') where ", legal,
                  " are wanted: ", quote(items.front().text), ".");
    }
    for (const KeyedFormulas &item : items)
    {
      require(item.formulas.size() == n, "The entry ", entry, " has items with different numbers of components, ",
              quote(items.front().text), " and ", quote(item.text), ".");
      std::vector<Expression<dim>> parsed;
      for (const std::string &formula : item.formulas)
      {
        const Expression<dim> &expression = parsed.emplace_back(formula, constants, entry);
        piecewise_constant                = piecewise_constant && expression.is_constant();
        zero = zero && expression.is_constant() && expression.value(dealii::Point<dim>()) == 0.;
      }
      if (item.all)
      {
        require(default_formulas.empty(), "The entry ", entry, " has more than one default.");
        default_formulas = parsed;
      }
      for (const unsigned int id : item.ids)
        require(material_formulas.emplace(id, parsed).second, "The entry ", entry, " names material id ", id,
                " twice.");
    }
  }

  template <int dim>
  const std::vector<Expression<dim>> &MaterialFunction<dim>::formulas(const dealii::types::material_id material) const
  {
    const auto found = material_formulas.find(material);
    if (found != material_formulas.end())
      return found->second;
    require(!default_formulas.empty(), "The entry ", entry, " says nothing about material id ", material,
            ", which the mesh has; add it or 'default: ...'.");
    return default_formulas;
  }

  template <int dim>
  double MaterialFunction<dim>::value(const dealii::Point<dim>        &point,
                                      const dealii::types::material_id material,
                                      const unsigned int               component) const
  {
    const Expression<dim> &expression = formulas(material)[component];
    const double           result     = expression.value(point);
    if ((result > range.above && result < range.below) || (range.closed_below && result == range.above))
      return result;
    throw Error("The entry ", entry, " is ", result, " at the point (", point, "), material id ", material,
                "; it must be ", range.closed_below ? "at least " : "greater than ", range.above,
                std::isfinite(range.below) ? text_of(" and less than ", range.below) : "", ".");
  }

  template <int dim>
  void MaterialFunction<dim>::check_material_ids(const std::set<dealii::types::material_id> &present) const
  {
    for (const auto &item : material_formulas)
      if (present.count(item.first) == 0)
        throw Error("The entry ", entry, " names material id ", item.first, ", but no cell has it; the mesh has ",
                    dealii::Patterns::Tools::to_string(present), ".");
    for (const dealii::types::material_id id : present)
      formulas(id);
  }

  template class MaterialFunction<2>;
  template class MaterialFunction<3>;
} // namespace PatchFEM
