// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/mesh_regions.h>

#include <deal.II/base/point.h>
#include <deal.II/base/types.h>

#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** The time of formulas: who steps sets it, and all formulas that share it follow. */
  struct Clock
  {
    double time   = 0.;
    double growth = 1.; ///< what formulas are multiplied with that mention neither the time nor an amplitude
  };

  /** Names that formulas may use besides the coordinates: the entry `Constants`, and `pi`. */
  struct Constants : public std::map<std::string, double>
  {
    using std::map<std::string, double>::map;

    std::shared_ptr<Clock>             clock;      ///< null: formulas may not mention the time t
    std::map<std::string, std::string> amplitudes; ///< formulas of t, by name
  };

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
   * One muParser formula in the coordinates x, y (and z), and with a clock in the time t and amplitudes, which threads
   * evaluate side by side.
   */
  template <int dim>
  class Expression
  {
  public:
    /** The constant zero. */
    Expression() = default;

    /** Throws Error, naming @p entry, if its @p formula cannot be read. */
    Expression(const std::string &formula, const Constants &constants, const std::string &entry);

    /** Whether the formula mentions the time or an amplitude. */
    bool depends_on_time() const { return timed; }

    /** Throws Error with the place if the result is not finite. */
    double value(const dealii::Point<dim> &point) const;

    /** Whether the formula mentions neither a coordinate nor the time. */
    bool is_constant() const { return function == nullptr; }

    /** Whether both are written alike, or are equal constants. */
    bool operator==(const Expression &other) const
    {
      return is_constant() && other.is_constant() ? constant == other.constant : formula == other.formula;
    }

  private:
    struct Function;

    std::string               formula = "0";
    std::string               entry;
    bool                      timed    = false;
    double                    constant = 0.0;
    std::shared_ptr<Function> function; // empty if constant
    std::shared_ptr<Clock>    clock;

    /** @p value as it has grown. */
    double grown(const double value) const { return clock && !timed ? clock->growth * value : value; }
  };

  /** The value of a formula of constants; throws Error naming @p entry if it depends on a coordinate. */
  double constant_value(const std::string &formula, const Constants &constants, const std::string &entry);

  /** Splits at @p separator where no parenthesis and no quotation mark is open, and trims the parts. */
  std::vector<std::string> split_outside(const std::string &text, char separator);

  /** The parts of `key: formula` in front of the colon, empty if there is no key, and behind it. */
  std::pair<std::string, std::string> split_key(const std::string &item);

  /** Boundaries or materials with blanks between them: numbers, and names, which quotation marks may enclose. */
  std::vector<std::string> split_words(const std::string &text, const std::string &entry);

  /**
   * One item of a parameter with formulas per boundary or material. Commas outside parentheses separate items,
   * `0 clamp "left side": f; g, 2: h; k`; before the colon stand numbers or names, `all` or `default`, and semicolons
   * separate components.
   */
  struct KeyedFormulas
  {
    bool                     all = false; ///< `all`, `default`, or no key at all
    std::vector<std::string> words;       ///< numbers or names
    std::vector<std::string> formulas;
    std::string              text; ///< the item as it is written
  };

  /** The boundary id or material id that @p text is; throws Error if it is none. */
  unsigned int parse_id(const std::string &text, const std::string &entry);

  /** @param allow_no_key Whether "f; g" without a key stands for "all: f; g". */
  std::vector<KeyedFormulas> split_keyed_formulas(const std::string &text, bool allow_no_key, const std::string &entry);

  /** Splits "f; g; h" at semicolons and trims the parts. */
  std::vector<std::string> split_components(const std::string &text);

  /**
   * A coefficient of a material as a parameter file states it: one formula, or a formula per material ("1: 70e9, steel:
   * 210e9, default: 1e9"), with one or several components. Values are checked to be finite and inside an open interval.
   * There are none before resolve().
   */
  template <int dim>
  class MaterialFunction
  {
  public:
    struct Range
    {
      double above        = -std::numeric_limits<double>::infinity();
      bool   closed_below = false; ///< whether the lower end itself is legal
      double below        = std::numeric_limits<double>::infinity();
    };

    /** @p n_components: legal numbers of them, the lengths of lists of formulas. @p entry: its name, for messages. */
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

    /** Whether a formula mentions the time. */
    bool depends_on_time() const { return timed; }

    /** True if the value is the same on all of a material. */
    bool is_piecewise_constant() const { return piecewise_constant; }

    /**
     * Finds the materials that formulas are for. Throws Error if one is not @p present, if a present one has no formula,
     * or if cells are in two materials that have different ones.
     */
    void resolve(const MeshRegions &present);

    const std::string &name() const { return entry; } ///< of its entry

    /** `material id 2` or `material 'steel'`. */
    std::string describe(const dealii::types::material_id material) const
    {
      return materials.describe(material, "material");
    }

    /** The value, or values, on all of a material, `varies` if there is none. */
    std::string text(dealii::types::material_id material) const;

  private:
    using Formulas = std::vector<Expression<dim>>;

    const Formulas &formulas(dealii::types::material_id material) const;

    std::string                                   entry;
    std::string                                   rest; ///< how the entry calls all others: `all`, `default` or nothing
    unsigned int                                  n = 1;
    Range                                         range;
    bool                                          zero = true, piecewise_constant = true, timed = false;
    std::vector<std::pair<std::string, Formulas>> items; ///< with the word that each is for, empty for all others
    std::map<unsigned int, Formulas>              by_material;
    MeshRegions                                   materials;
  };
} // namespace PatchFEM
