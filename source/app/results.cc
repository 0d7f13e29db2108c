// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/results.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <deal.II/base/utilities.h>

#include <boost/algorithm/string/join.hpp>
#include <boost/format.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace PatchFEM
{
  using boost::format;
  using nlohmann::json;

  namespace
  {
    json &object_of(json &root, const ResultNumber &number)
    {
      json *object = &root;
      for (const std::string &part : number.of)
        object = &(*object)[part];
      return *object;
    }

    const ResultNumber *find(const Results *results, const ResultNumber &number)
    {
      if (results == nullptr)
        return nullptr;
      const auto found = std::find_if(results->begin(), results->end(), [&](const ResultNumber &other) {
        return other.name == number.name && other.of == number.of;
      });
      return found != results->end() ? &*found : nullptr;
    }

    /** The largest of the values that have the unit of @p number: components of a vector or tensor in one place. */
    double size_beside(const Results &results, const ResultNumber &number)
    {
      const auto unit = [](const ResultNumber &other) {
        const bool        is_extreme = other.of.size() == 2 && other.of[0] == "extremes";
        const std::string name       = is_extreme ? other.of[1] : other.name;
        return std::pair(is_extreme ? std::vector{other.of[0]} : other.of, name.substr(0, name.rfind('_')));
      };
      double size = 0.;
      for (const ResultNumber &other : results)
        if (unit(other) == unit(number))
          size = std::max(size, std::abs(other.value));
      return size;
    }

    std::string digits(const double value)
    {
      return str(format("%.15g") % value);
    }
  } // namespace

  json to_json(const Results &results)
  {
    json result = json::object();
    for (const ResultNumber &number : results)
    {
      json &object        = object_of(result, number);
      object[number.name] = number.value;
      if (!number.place.empty())
        object[number.name + "_at"] = number.place;
    }
    return result;
  }

  json changes_to_json(const Results &results, const Results *const previous)
  {
    json result;
    for (const ResultNumber &number : results)
      if (const ResultNumber *before = find(previous, number))
        object_of(result, number)[number.name] = number.value - before->value;
    return result;
  }

  void print(const Results &results, const Results *const previous, std::ostream &out)
  {
    for (std::size_t i = 0; i < results.size(); ++i)
    {
      const ResultNumber &number = results[i];
      const bool          begins = i == 0 || results[i - 1].of != number.of;
      const double        size   = size_beside(results, number);
      out << (!begins ? ", "
                      : (i > 0 ? "\n  " : "  ") + boost::algorithm::join(number.of, " of ") +
                            (number.of.empty() ? "" : ": "))
          << number.name << format(" %.6g") % (std::abs(number.value) < 1e-12 * size ? 0. : number.value);
      for (std::size_t d = 0; d < number.place.size(); ++d)
        out << (d == 0 ? " at (" : ", ") << format("%.6g") % number.place[d];
      out << (number.place.empty() ? "" : ")");
      // Smaller changes are rounding, or left by the solver's tolerance.
      if (const ResultNumber *before = find(previous, number);
          before != nullptr && std::abs(number.value - before->value) > 1e-6 * std::max(size, std::abs(before->value)))
        out << format(" [%+.2g]") % (number.value - before->value);
    }
    out << std::endl;
  }

  std::vector<std::pair<std::string, std::string>> csv_row(const Results &results, const Results *const previous)
  {
    std::vector<std::pair<std::string, std::string>> row, changes;
    for (const ResultNumber &number : results)
    {
      const std::string name = boost::algorithm::join(number.of, "/") + (number.of.empty() ? "" : "/") + number.name;
      row.emplace_back(name, digits(number.value));
      for (std::size_t d = 0; d < number.place.size(); ++d)
        row.emplace_back(name + "_at_" + "xyz"[d], digits(number.place[d]));
      const ResultNumber *before = find(previous, number);
      changes.emplace_back("change of " + name, before != nullptr ? digits(number.value - before->value) : "");
    }
    row.insert(row.end(), changes.begin(), changes.end());
    return row;
  }

  void ResultParameters::declare_parameters(dealii::ParameterHandler &prm, const bool linear)
  {
    prm.enter_subsection("Results");
    prm.add_parameter(
        "Points", points,
        "Points to report all fields at, by name, separated by semicolons: 'tip: 10, 0, 0; mid: length/2, "
        "0, 0'. They have to lie in the body.");
    if (linear)
    {
      prm.add_parameter(
          "Boundaries", boundaries,
          "Boundaries, separated by commas, to report the area of, the means of all fields, and the force "
          "and moment, or the flow, of the stresses or flux there.");
      prm.add_parameter("Materials", materials,
                        "Materials, separated by commas, to report the volume of, the means of all fields and strains, "
                        "and the energy.");
    }
    prm.leave_subsection();
  }

  template <int dim>
  std::vector<NamedPoint<dim>> parse_points(const std::string &text, const Constants &constants)
  {
    const std::string            entry = "Results/Points";
    std::vector<NamedPoint<dim>> result;
    std::set<std::string>        names;
    for (const std::string &item : dealii::Utilities::split_string_list(text, ';'))
    {
      if (item.empty())
        continue;
      const std::size_t              colon = item.find(':');
      const std::vector<std::string> coordinates =
          dealii::Utilities::split_string_list(colon == std::string::npos ? item : item.substr(colon + 1), ',');
      require(colon != std::string::npos && colon > 0 && coordinates.size() == dim, "The entry ", entry,
              " wants a name and ", dim, " coordinates for each point, such as 'tip: ", dim == 2 ? "10, 0" : "10, 0, 0",
              "', but has ", quote(item), ".");
      NamedPoint<dim> &point = result.emplace_back();
      point.name             = parse_names(item.substr(0, colon)).at(0);
      require(names.insert(point.name).second, "The entry ", entry, " names two points ", quote(point.name), ".");
      for (unsigned int d = 0; d < dim; ++d)
        point.point[d] = constant_value(coordinates[d], constants, entry);
    }
    return result;
  }

  std::vector<std::string> parse_names(const std::string &text)
  {
    std::vector<std::string> result = dealii::Utilities::split_string_list(text, ',');
    for (std::string &name : result)
      if (name.size() > 1 && (name[0] == '"' || name[0] == '\'') && name.back() == name[0])
        name = name.substr(1, name.size() - 2);
    return result;
  }

  template std::vector<NamedPoint<2>> parse_points(const std::string &, const Constants &);
  template std::vector<NamedPoint<3>> parse_points(const std::string &, const Constants &);
} // namespace PatchFEM
