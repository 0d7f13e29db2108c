// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <deal.II/base/point.h>

#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** Names that formulas may use besides the coordinates: the entry `Constants`, and `pi`. */
  using Constants = std::map<std::string, double>;

  /** Reads "a = 1, b = 2*pi"; later ones may use earlier ones. */
  Constants parse_constants(const std::string &text);

  /** While one lives, what deal.II's parser of formulas writes to standard error beside its exceptions is not shown. */
  class SilentStandardError
  {
  public:
    SilentStandardError() : original(std::cerr.rdbuf(text.rdbuf())) {}
    ~SilentStandardError() { std::cerr.rdbuf(original); }

  private:
    std::ostringstream text;
    std::streambuf    *original;
  };

  /**
   * One muParser formula in the coordinates x, y (and z), and the time t if it may, which threads evaluate side by side.
   * Copies share the formula and its time.
   */
  template <int dim>
  class Expression
  {
  public:
    /** The constant zero. */
    Expression() = default;

    /**
     * Throws Error naming @p entry, the parameter the @p formula stands in, if it cannot be read.
     * @param with_time Whether it may mention the time.
     */
    Expression(const std::string &formula,
               const Constants   &constants,
               const std::string &entry,
               bool               with_time = false);

    /** The time of value(), of all copies; 0 at first. */
    void set_time(double time);

    /** Whether the formula mentions the time. */
    bool depends_on_time() const { return timed; }

    /** Throws Error with the place if the result is not finite. */
    double value(const dealii::Point<dim> &point) const;

    /** Whether the formula mentions neither a coordinate nor the time. */
    bool is_constant() const { return function == nullptr; }

  private:
    struct Function;

    std::string               formula = "0";
    std::string               entry;
    bool                      timed    = false;
    double                    constant = 0.0;
    std::shared_ptr<Function> function; // empty if constant
  };

  /** The value of a formula of constants; throws Error naming @p entry if it depends on a coordinate. */
  double constant_value(const std::string &formula, const Constants &constants, const std::string &entry);

  /**
   * One item of a parameter that gives formulas per boundary id or material id. The grammar:
   * items are separated by commas outside parentheses, "0 1: f; g, 2: h; k"; in front of the colon stand one
   * or more ids, `all` or `default`, and formulas for several components are separated by semicolons.
   */
  struct KeyedFormulas
  {
    bool                     all = false; ///< `all`, `default`, or no key at all
    std::set<unsigned int>   ids;
    std::vector<std::string> formulas;
    std::string              text; ///< the item as it is written
  };

  /** The boundary id or material id that @p text is; throws Error if it is none. */
  unsigned int parse_id(const std::string &text, const std::string &entry);

  /** @param allow_no_key Whether "f; g" without ids stands for "all: f; g". */
  std::vector<KeyedFormulas> split_keyed_formulas(const std::string &text, bool allow_no_key, const std::string &entry);

  /** Splits "f; g; h" at semicolons and trims the parts. */
  std::vector<std::string> split_components(const std::string &text);
} // namespace PatchFEM
