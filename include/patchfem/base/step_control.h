// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/exceptions.h>

#include <map>
#include <string>
#include <vector>

namespace PatchFEM
{
  /**
   * Sizes of steps of load or time. A step that ends with a StepFailure is tried again with a quarter of its size; one that
   * was easy makes the next larger, one that was hard makes it smaller, and so does the error of a TimeScheme.
   * @code
   *   StepControl steps({0.1});
   *   for (dealii::DiscreteTime time(0., 1.); !time.is_at_end(); time.advance_time())
   *     steps.advance(time.get_current_time(), time.get_end_time(), [&](const double size) {
   *       time.set_desired_next_step_size(size);
   *       ... // solve for time.get_next_time(), and commit
   *       return newton.n_corrections();
   *     });
   * @endcode
   */
  class StepControl
  {
  public:
    struct AdditionalData
    {
      double       first         = 1.;
      double       largest       = 0.;         ///< 0: the first, so that steps are equal unless one fails
      double       least         = 0.;         ///< shorter ones are not tried
      unsigned int max_cut_backs = 8;          ///< of one step
      unsigned int few = 4, many = 8;          ///< corrections up to which a step grows, and above which it shrinks
      double       growth = 1.5, shrink = 0.5; ///< by which it does
    };

    /** Of an attempt that did not fail. */
    struct Outcome
    {
      Outcome(const unsigned int n_corrections, const double error = 0., const unsigned int order = 1)
          : n_corrections(n_corrections), error(error), order(order)
      {}

      unsigned int n_corrections; ///< of Newton's method
      double       error; ///< estimated, over its tolerance: above 1 the step is tried again, so it commits nothing
      unsigned int order; ///< of the scheme, whose error in a step is of this and one more
    };

    StepControl() : StepControl(AdditionalData()) {}
    explicit StepControl(const AdditionalData &data);

    /**
     * A step from @p time on, not beyond @p end, which it meets if it comes near: attempt(size), again with shorter sizes
     * as long as it fails. Returns the time that is reached. Throws Error with the last failure when there were
     * too many.
     */
    template <typename Attempt>
    double advance(const double time, const double end, const Attempt &attempt)
    {
      for (unsigned int n_cut_backs = 1;; ++n_cut_backs)
      {
        const double size = next_size(time, end);
        try
        {
          const Outcome outcome = attempt(size);
          if (outcome.error <= 1.)
          {
            succeed(size, outcome);
            return size > (1. - rounding) * (end - time) ? end : time + size;
          }
          cut(time, size, factor_of(outcome), n_cut_backs,
              text_of("The error in time is ", outcome.error, " times its tolerance."));
        }
        catch (const StepFailure &failure)
        {
          cut(time, size, 0.25, n_cut_backs, failure.what());
        }
      }
    }

    /** Of the step from @p time on that is tried first. */
    double next_size(double time, double end) const;

    double step_size; ///< of the next step, which an end may make shorter; a checkpoint holds it

    unsigned int n_cut_backs() const { return n_cuts; } ///< of all steps

  private:
    static constexpr double rounding = 1e-9; ///< up to which equal steps have equal sizes, and sums of them miss an end

    AdditionalData data;
    unsigned int   n_cuts = 0;

    double factor_of(const Outcome &outcome) const;
    void   succeed(double tried, const Outcome &outcome);
    void   cut(double time, double tried, double factor, unsigned int number, const std::string &failure);
  };

  /**
   * Factors of loads and boundary values as functions of time, linear between the points of tables and constant outside:
   * `ramp: 0 0, 1 1; cycle: 0 0, 1 1, 3 -1` has at time 2 the values 1 and 0.
   */
  class Amplitudes
  {
  public:
    Amplitudes() = default;

    /** @p entry is where @p text stands, for errors. */
    Amplitudes(const std::string &text, const std::string &entry);

    bool   has(const std::string &name) const { return tables.count(name) > 0; }
    double value(const std::string &name, double time) const; ///< Error for a name that no table has

    /** The tables as formulas of t, such as muParser reads. */
    std::map<std::string, std::string> formulas() const;

    /** The first point of a table after @p time, which a step should meet; infinity behind the last. */
    double next_point(double time) const;

  private:
    using Table = std::map<double, double>;
    std::map<std::string, Table> tables;
    std::string                  entry;
  };
} // namespace PatchFEM
