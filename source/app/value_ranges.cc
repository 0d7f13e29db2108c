// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/value_ranges.h>
#include <patchfem/base/exceptions.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

namespace PatchFEM
{
  double largest_of(const std::vector<double> &values)
  {
    double            result = 0.;
    const std::size_t n      = values.size();
#pragma omp parallel for schedule(static) reduction(max : result)
    for (std::size_t i = 0; i < n; ++i)
      result = std::isnan(values[i]) ? std::numeric_limits<double>::infinity() : std::max(result, std::abs(values[i]));
    return result;
  }

  namespace
  {
    double largest_coefficient(const CoefficientField &field)
    {
      double result = 0.;
      for (const auto &item : field.material_values())
        result = std::max(result, largest_of(item.second));
      for (const std::vector<double> &values : field.values())
        result = std::max(result, largest_of(values));
      return result;
    }

    /** The smallest distance between the first two geometry nodes of a cell. */
    double smallest_edge(const ElementTables &tables)
    {
      double result = std::numeric_limits<double>::infinity();
      for (const CellTable &batch : tables.batches)
#pragma omp parallel for schedule(static) reduction(min : result)
        for (int cell = 0; cell < batch.n_cells; ++cell)
        {
          const int *nodes  = batch.points_of(cell);
          double     square = 0.;
          for (int d = 0; d < tables.dim; ++d)
            square += std::pow(tables.points[std::size_t(nodes[0]) * tables.dim + d] -
                                   tables.points[std::size_t(nodes[1]) * tables.dim + d],
                               2);
          result = std::min(result, square);
        }
      return std::sqrt(result);
    }

    template <typename Number>
    std::string limits_and_remedy()
    {
      constexpr bool     single = std::is_same_v<Number, float>;
      std::ostringstream text;
      text.precision(2);
      text << (single ? "single" : "double") << " precision, which has magnitudes from "
           << std::numeric_limits<Number>::min() << " to " << std::numeric_limits<Number>::max() << "; choose "
           << (single ? "Precision = double or " : "") << "other units.";
      return text.str();
    }
  } // namespace

  template <typename Number>
  void check_range(const std::string &what, const double largest)
  {
    require(std::isfinite(largest), what, " are not finite; correct the formulas, or choose other units.");
    using Limits = std::numeric_limits<Number>;
    require(largest == 0. || (largest >= double(Limits::min()) && largest <= double(Limits::max())), what,
            " are at most ", largest, " in magnitude, out of the range of ", limits_and_remedy<Number>());
  }

  template <typename Number>
  double check_ranges(const ElementTables &tables, const SystemFields &fields)
  {
    const double coefficients = largest_coefficient(fields.coefficients), body = largest_coefficient(fields.body_load),
                 faces = largest_of(fields.face_terms.load), robin = largest_of(fields.face_terms.robin),
                 values = largest_of(tables.constraints.inhomogeneity);
    check_range<Number>("The coefficients of section Material", coefficients);
    check_range<Number>("The loads of section Loads", body);
    check_range<Number>("The loads on the boundary of section Boundary conditions", faces);
    check_range<Number>("The coefficients of Boundary conditions/Robin", robin);
    check_range<Number>("The values of Boundary conditions/Dirichlet", values);
    const double load = std::max({body, faces, values * coefficients});
    if (load == 0.)
      return 0.;
    return std::max(load * std::pow(std::min(1., smallest_edge(tables)), tables.dim),
                    std::numeric_limits<double>::denorm_min());
  }

  template <typename Number>
  void check_rhs(const double norm, const double estimate)
  {
    const double smallest = std::numeric_limits<Number>::min();
    const bool   rounded  = norm < smallest && estimate != 0. && estimate <= 1e3 * smallest;
    require(std::isfinite(norm) && !rounded, "The right-hand side, loads and what Dirichlet values lead to, ",
            rounded ? "rounds to 0 in " : "is out of the range of ", limits_and_remedy<Number>());
  }

#define INSTANTIATE(Number)                                                          \
  template void   check_range<Number>(const std::string &, double);                  \
  template double check_ranges<Number>(const ElementTables &, const SystemFields &); \
  template void   check_rhs<Number>(double, double);
  INSTANTIATE(float)
  INSTANTIATE(double)
#undef INSTANTIATE
} // namespace PatchFEM
