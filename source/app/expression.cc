// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/expression.h>
#include <patchfem/app/process.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <deal.II/base/function_parser.h>
#include <deal.II/base/numbers.h>
#include <deal.II/base/patterns.h>
#include <deal.II/base/utilities.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <cmath>
#include <iterator>

namespace PatchFEM
{
  namespace
  {
    /** Calls @p function(begin, length) for the identifiers in @p formula until one call returns true, and returns that. */
    template <typename Function>
    bool any_identifier(const std::string &formula, const Function &function)
    {
      for (std::size_t i = 0, end; i < formula.size(); i = std::max(end, i + 1))
      {
        // A word, or a number with the letter of its exponent.
        const bool is_number = std::isdigit(static_cast<unsigned char>(formula[i])) != 0;
        for (end = i; end < formula.size() && (std::isalnum(static_cast<unsigned char>(formula[end])) ||
                                               formula[end] == (is_number ? '.' : '_'));)
          ++end;
        if (!is_number && end > i && function(i, end - i))
          return true;
      }
      return false;
    }

    /** Whether one of @p names is an identifier in @p formula. */
    bool mentions(const std::string &formula, const std::set<std::string> &names)
    {
      return any_identifier(formula, [&](const std::size_t begin, const std::size_t length) {
        return names.count(formula.substr(begin, length)) > 0;
      });
    }

    /** @p formula with formulas in place of the names of @p amplitudes. */
    std::string replace(const std::string &formula, const std::map<std::string, std::string> &amplitudes)
    {
      std::string result;
      std::size_t done = 0;
      any_identifier(formula, [&](const std::size_t begin, const std::size_t length) {
        const auto found = amplitudes.find(formula.substr(begin, length));
        if (found != amplitudes.end())
        {
          result += formula.substr(done, begin - done) + found->second;
          done = begin + length;
        }
        return false;
      });
      return result + formula.substr(done);
    }
  } // namespace

  std::vector<std::string> split_outside(const std::string &text, const char separator)
  {
    std::vector<std::string> parts(1);
    int                      depth  = 0;
    bool                     quoted = false;
    for (const char c : text)
    {
      quoted = quoted != (c == '"');
      if (!quoted)
        depth += (c == '(') - (c == ')');
      if (c == separator && depth == 0 && !quoted)
        parts.emplace_back();
      else
        parts.back() += c;
    }
    for (std::string &part : parts)
      part = dealii::Utilities::trim(part);
    return parts;
  }

  std::pair<std::string, std::string> split_key(const std::string &item)
  {
    // A colon also separates the branches of "condition ? a : b", behind the question mark.
    bool quoted = false;
    for (std::size_t i = 0; i < item.size() && (quoted || item[i] != '?'); ++i)
    {
      quoted = quoted != (item[i] == '"');
      if (item[i] == ':' && !quoted)
        return {dealii::Utilities::trim(item.substr(0, i)), dealii::Utilities::trim(item.substr(i + 1))};
    }
    return {"", item};
  }

  std::vector<std::string> split_words(const std::string &text, const std::string &entry)
  {
    std::vector<std::string> words;
    for (std::size_t i = 0, end; (i = text.find_first_not_of(" \t", i)) != std::string::npos; i = end)
    {
      const bool quoted = text[i] == '"';
      end               = quoted ? text.find('"', i + 1) : text.find_first_of(" \t\"", i);
      require(!quoted || end != std::string::npos, "The entry ", entry,
              " opens a quotation mark that it does not close: ", quote(text), ".");
      end                    = std::min(end, text.size());
      const std::string word = text.substr(i + quoted, end - i - quoted);
      // 007 is 7.
      const bool is_number = !quoted && word.find_first_not_of("0123456789") == std::string::npos;
      words.push_back(is_number ? std::to_string(parse_id(word, entry)) : word);
      end += quoted;
    }
    return words;
  }

  Constants parse_constants(const std::string &text)
  {
    Constants constants{{"pi", dealii::numbers::PI}};
    if (dealii::Utilities::trim(text).empty())
      return constants;
    for (const std::string &item : split_outside(text, ','))
    {
      const std::size_t equals = item.find('=');
      require(equals != std::string::npos, "The entry Constants wants items such as 'a = 1.5', but has ", quote(item),
              ".");
      const std::string name = dealii::Utilities::trim(item.substr(0, equals));
      require(!name.empty() && name != "x" && name != "y" && name != "z", "The entry Constants cannot define ",
              quote(name), "; choose a name that is not a coordinate.");
      require(constants.count(name) == 0, "The entry Constants defines ", quote(name),
              name == "pi" ? ", which is there already; choose another name." : " twice.");
      const bool is_word =
          std::all_of(name.begin(), name.end(), [](const unsigned char c) { return std::isalnum(c) || c == '_'; });
      require(is_word && !std::isdigit(static_cast<unsigned char>(name[0])), "The entry Constants cannot define ",
              quote(name), "; choose a name of letters, digits and _.");
      const Expression<3> expression(dealii::Utilities::trim(item.substr(equals + 1)), constants, "Constants");
      require(expression.is_constant(), "The constant ", quote(name),
              " depends on a coordinate; write the formula where it is used.");
      constants[name] = expression.value(dealii::Point<3>());
    }
    return constants;
  }

  double constant_value(const std::string &formula, const Constants &constants, const std::string &entry)
  {
    const Expression<3> expression(formula, constants, entry);
    require(expression.is_constant(), "The entry ", entry, " depends on a coordinate: ", quote(formula), ".");
    return expression.value(dealii::Point<3>());
  }

  /**
   * What a parser is made of. Each thread has parsers of its own: to find what a thread has compiled, deal.II's takes a
   * lock in every evaluation, and many threads that share a parser wait for its cache line most of the time.
   */
  template <int dim>
  struct Expression<dim>::Function
  {
    std::string formula;
    Constants   constants;

    static double value(const std::shared_ptr<Function> &function, const dealii::Point<dim> &point)
    {
      // Keys of formulas that are gone keep their address from being used again.
      const std::shared_ptr<Clock> &clock = function->constants.clock;
      thread_local std::map<std::weak_ptr<Function>, dealii::FunctionParser<dim>, std::owner_less<>> parsers;
      auto found = parsers.find(function);
      if (found == parsers.end())
      {
        for (auto item = parsers.begin(); item != parsers.end();)
          item = item->first.expired() ? parsers.erase(item) : std::next(item);
        found = parsers.try_emplace(function, 1u).first;
        found->second.initialize(function->names(), function->formula, function->constants, clock != nullptr);
      }
      if (clock)
        found->second.set_time(clock->time);
      return found->second.value(point);
    }

    std::string names() const
    {
      return dealii::FunctionParser<dim>::default_variable_names() + (constants.clock ? ",t" : "");
    }
  };

  template <int dim>
  Expression<dim>::Expression(const std::string &formula, const Constants &constants, const std::string &entry)
      : formula(formula), entry(entry), clock(constants.clock)
  {
    require(!formula.empty(), "The entry ", entry, " has an empty formula; write 0 for nothing.");
    function = std::make_shared<Function>(Function{replace(formula, constants.amplitudes), constants});
    timed    = clock && mentions(function->formula, {"t"});
    const SilentStandardError silence;
    try
    {
      // deal.II compiles a formula when it is first evaluated. No point is safe for every formula, and only
      // syntax is tested here, so the value does not matter yet.
      dealii::Point<dim> point;
      for (unsigned int d = 0; d < dim; ++d)
        point[d] = 0.3 + 0.1 * d;
      constant = Function::value(function, point);
    }
    catch (const dealii::ExceptionBase &exception)
    {
      const std::string text = exception_text(exception), introduction = "The parser said: ";
      const std::size_t said = text.find(introduction);
      throw Error("The entry ", entry, " has a formula that cannot be read: ", quote(formula),
                  said == std::string::npos ? "" : " (" + printable(text.substr(said + introduction.size()), 100) + ")",
                  "; it may use ", function->names(), ", pi and the names in Constants",
                  constants.amplitudes.empty() ? "." : " and Amplitudes.");
    }
    if (!timed && !mentions(formula, {"x", "y", "z", "rand", "rand_seed"}))
    {
      require(std::isfinite(constant), "The entry ", entry, " is not finite: ", quote(formula), ".");
      function.reset();
    }
  }

  template <int dim>
  double Expression<dim>::value(const dealii::Point<dim> &point) const
  {
    if (!function)
      return grown(constant);
    const double result = grown(Function::value(function, point));
    if (!std::isfinite(result))
      throw Error("The entry ", entry, " is not finite at the point (", point, "): ", quote(formula), ".");
    return result;
  }

  std::vector<std::string> split_components(const std::string &text)
  {
    return split_outside(text, ';');
  }

  unsigned int parse_id(const std::string &text, const std::string &entry)
  {
    const bool          is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    const unsigned long id        = is_number && text.size() < 15 ? std::stoul(text) : ULONG_MAX;
    require(id <= INT_MAX, "The entry ", entry, " names the id ", quote(text), ", but ids are integers from 0 to ",
            INT_MAX, ".");
    return static_cast<unsigned int>(id);
  }

  std::vector<KeyedFormulas>
  split_keyed_formulas(const std::string &text, const bool allow_no_key, const std::string &entry)
  {
    std::vector<KeyedFormulas> result;
    if (dealii::Utilities::trim(text).empty())
      return result;
    for (const std::string &item : split_outside(text, ','))
    {
      KeyedFormulas keyed;
      const auto [key, formulas] = split_key(item);
      require(!key.empty() || allow_no_key, "The entry ", entry,
              " wants ids or names in front of each formula, such as '0: 1, clamp 3: x', but has ", quote(item), ".");
      keyed.all = key.empty() || key == "all" || key == "default";
      if (!keyed.all)
        keyed.words = split_words(key, entry);
      keyed.formulas = split_components(formulas);
      keyed.text     = item;
      result.push_back(keyed);
    }
    return result;
  }

  template <int dim>
  MaterialFunction<dim>::MaterialFunction(const std::string               &text,
                                          const std::vector<unsigned int> &n_components,
                                          const Range                     &range,
                                          const Constants                 &constants,
                                          const std::string               &entry)
      : entry(entry), range(range)
  {
    const std::vector<KeyedFormulas> keyed = split_keyed_formulas(text, true, entry);
    require(!keyed.empty(), "The entry ", entry, " is empty; give a formula, or one per material.");
    n = keyed.front().formulas.size();
    if (std::find(n_components.begin(), n_components.end(), n) == n_components.end())
    {
      std::string legal;
      for (const unsigned int k : n_components)
        legal += (legal.empty() ? "" : " or ") + std::to_string(k);
      throw Error("The entry ", entry, " has ", n, " components (separated by ';') where ", legal,
                  " are wanted: ", quote(keyed.front().text), ".");
    }
    for (const KeyedFormulas &item : keyed)
    {
      require(item.formulas.size() == n, "The entry ", entry, " has items with different numbers of components, ",
              quote(keyed.front().text), " and ", quote(item.text), ".");
      Formulas parsed;
      for (const std::string &formula : item.formulas)
      {
        const Expression<dim> &expression = parsed.emplace_back(formula, constants, entry);
        piecewise_constant                = piecewise_constant && expression.is_constant();
        timed                             = timed || expression.depends_on_time();
        zero = zero && expression.is_constant() && expression.value(dealii::Point<dim>()) == 0.;
      }
      const auto add = [&](const std::string &word) {
        const bool is_new = std::none_of(this->items.begin(), this->items.end(),
                                         [&](const auto &other) { return other.first == word; });
        require(is_new, "The entry ", entry,
                word.empty() ? " has more than one default." : " names material " + quote(word) + " twice.");
        this->items.emplace_back(word, parsed);
      };
      if (item.all)
      {
        rest = split_key(item.text).first;
        add("");
      }
      for (const std::string &word : item.words)
        add(word);
    }
  }

  template <int dim>
  void MaterialFunction<dim>::resolve(const MeshRegions &present)
  {
    materials = present;
    present.require_no_name(rest, entry, "material");
    by_material.clear();
    std::map<unsigned int, std::string> words;
    for (const auto &[word, formulas] : items)
      if (!word.empty())
        for (const unsigned int id : present.find(word, entry, "material"))
        {
          const auto [found, is_new] = by_material.emplace(id, formulas);
          if (is_new)
            words[id] = word;
          require(is_new || found->second == formulas, "The entry ", entry,
                  " gives different values to cells that are in ", quote(words[id]), " and in ", quote(word),
                  "; take one of them out, or write them alike.");
        }
    const auto others = std::find_if(items.begin(), items.end(), [](const auto &item) { return item.first.empty(); });
    for (const unsigned int id : present.ids())
      if (by_material.count(id) == 0)
      {
        require(others != items.end(), "The entry ", entry, " says nothing about ", present.describe(id, "material"),
                ", which the mesh has; add it or 'default: ...'.");
        by_material.emplace(id, others->second);
      }
  }

  template <int dim>
  std::string MaterialFunction<dim>::text(const dealii::types::material_id material) const
  {
    std::string result;
    for (const Expression<dim> &expression : formulas(material))
      result += (result.empty() ? "" : "; ") +
                (expression.is_constant() ? text_of(expression.value(dealii::Point<dim>())) : std::string("varies"));
    return result;
  }

  template <int dim>
  const std::vector<Expression<dim>> &MaterialFunction<dim>::formulas(const dealii::types::material_id material) const
  {
    const auto found = by_material.find(material);
    require(found != by_material.end(), "The entry ", entry, " is not resolved for material id ", material, ".");
    return found->second;
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
    throw Error("The entry ", entry, " is ", result, " at the point (", point, "), ", describe(material),
                "; it must be ", range.closed_below ? "at least " : "greater than ", range.above,
                std::isfinite(range.below) ? text_of(" and less than ", range.below) : "", ".");
  }

  template class Expression<2>;
  template class Expression<3>;
  template class MaterialFunction<2>;
  template class MaterialFunction<3>;
} // namespace PatchFEM
