// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/expression.h>
#include <patchfem/app/solution_values.h>

#include <deal.II/base/parameter_handler.h>

#include <nlohmann/json.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** A number that a run found. Declared once, it is in the terminal, `report.json` and `results.csv`. */
  struct ResultNumber
  {
    std::vector<std::string> of;   ///< such as {"reactions", "clamp"}
    std::string              name; ///< there, such as `force_x`
    double                   value;
    std::vector<double>      place; ///< where, [dim]; of most numbers empty
  };

  /** All of a cycle, in the order in which they are shown. */
  using Results = std::vector<ResultNumber>;

  /** Objects in objects by what the numbers are of; a place is `NAME_at`. */
  nlohmann::json to_json(const Results &results);

  /** By how much each number differs from that of @p previous, under the keys of to_json(); null without one. */
  nlohmann::json changes_to_json(const Results &results, const Results *previous);

  /** A line for all numbers of one thing, with changes since @p previous, which may be null. */
  void print(const Results &results, const Results *previous, std::ostream &out);

  /** One row of `results.csv`: column names and values; numbers, their places, their changes. */
  std::vector<std::pair<std::string, std::string>> csv_row(const Results &results, const Results *previous);

  /** Section `Results`. */
  struct ResultParameters
  {
    std::string points, boundaries, materials;

    /** Without Boundaries and Materials unless @p linear. */
    void declare_parameters(dealii::ParameterHandler &prm, bool linear = true);
  };

  /** Reads `tip: 10, 0, 0; mid: length/2, 0, 0`. Throws Error for what is no point of that dimension. */
  template <int dim>
  std::vector<NamedPoint<dim>> parse_points(const std::string &text, const Constants &constants);

  /** The names of a list with commas, without quotation marks around them. */
  std::vector<std::string> parse_names(const std::string &text);
} // namespace PatchFEM
