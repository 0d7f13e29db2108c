// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <string>

namespace PatchFEM
{
  /**
   * Decides whether a preconditioner such as PreconditionAMG is kept for new values of its matrix, updated or made anew:
   * by counts of steps of conjugate gradients, never by the clock, so that repeated runs have equal bits. It is kept
   * until the steps lost, against the first solution after it was renewed, exceed the price of renewing it. Counts are
   * compared by the digits that a solution was asked for.
   */
  class Renewal
  {
  public:
    enum class Action
    {
      keep,
      update,
      initialize
    };

    /** Prices of PreconditionAMG's functions in steps of conjugate gradients: 4.5 and 7.4 ms beside 0.79 on an H200. */
    struct AdditionalData
    {
      double update = 6., initialize = 10.;
    };

    Renewal() = default;
    explicit Renewal(const AdditionalData &prices) : prices(prices) {}

    /**
     * Before the first solution of a step of load or time, with its matrix, which is that of a converged state. The
     * matrix of a state between may be indefinite, which no hierarchy can be made of. To be made anew where updated ones
     * take twice the steps of that one.
     */
    Action before_step() const;

    /**
     * A solution took @p n_steps to @p reduction of the residual, and was not truncated. The answer concerns the matrix
     * that has just been solved with: keep or update.
     */
    Action solved(unsigned int n_steps, double reduction);

    void done(Action action); ///< to the preconditioner
    void failed();            ///< so that there is none any more

  private:
    AdditionalData prices;
    bool           exists     = false;
    double         of_updated = 0., of_initialized = 0.; ///< steps a digit of the first solution after it; 0: none yet
    double         lost_to_update = 0., lost_to_initialize = 0.; ///< steps
  };

  std::string to_string(Renewal::Action action);
} // namespace PatchFEM
