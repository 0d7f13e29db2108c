// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/vector.h>

#include <cmath>
#include <vector>

namespace PatchFEM
{
  /**
   * An implicit scheme for M u' + F(u) = 0 (first order) or M u'' + F(u) = 0 (second order) that makes the derivative at
   * the end of a step a function of u there:
   *
   *   u' or u'' = shift u + history,
   *
   * so that the equations of a step are F(u) + M (shift u + history) = 0, with the matrix dF/du + shift M. Forces,
   * boundary values and states of materials all belong to the end of the step.
   * @code
   *   scheme.initialize(u, ...);
   *   scheme.begin(dt);          // again, if the step is tried shorter
   *   scheme.predict(u);         // a guess
   *   ... solve for u
   *   if (scheme.error(u, work) <= tolerance)
   *     scheme.accept(u);
   * @endcode
   * A step reads and writes some 250 bytes an unknown, and 40 for each derivative(): less than half of what one of
   * conjugate gradients moves.
   */
  class TimeScheme
  {
  public:
    virtual ~TimeScheme() = default;

    virtual unsigned int order() const = 0; ///< of the error after many steps; that of one step is one higher

    /** A step of @p size begins. */
    virtual void begin(double size) = 0;

    double                shift() const { return factor; }
    const Vector<double> &history() const { return old_part; }

    /** rate = shift u + history */
    void derivative(const Vector<double> &u, Vector<double> &rate) const
    {
      rate = old_part;
      rate.add(factor, u);
    }

    virtual void predict(Vector<double> &u) const = 0;

    /**
     * The Euclidean norm of what the step adds to the error of u, estimated by the difference to predict(), which
     * overwrites @p work. 0 where the step before is missing that the prediction needs.
     */
    virtual double error(const Vector<double> &u, Vector<double> &work) const = 0;

    /** The step ends with @p u. */
    virtual void accept(const Vector<double> &u) = 0;

    /** With last_size all that the next step knows of earlier ones: what a checkpoint holds and a new mesh gets. */
    virtual std::vector<Vector<double> *> state() = 0;

    double last_size = 0.; ///< of the last step that was accepted; 0: there is none

  protected:
    double         factor = 0.;
    double         size   = 0.;
    Vector<double> old_part;

    /** Of error(): the norm of u less the prediction. */
    double from_prediction(const Vector<double> &u, Vector<double> &work) const
    {
      work.reinit(u, true);
      predict(work);
      return std::sqrt(work.add_and_dot(-1., u, work));
    }
  };

  /**
   * For M u' + F(u) = 0. predict() is u + (1 + w) dt u' - w^2 (u - u_before), w the ratio of this step to the one before:
   * of second order from the second step on. Four vectors.
   */
  class FirstOrderScheme : public TimeScheme
  {
  public:
    /** From @p u with its derivative @p rate; without one for backward Euler and BDF2, which need none, else Error. */
    void initialize(const Vector<double> &u, const Vector<double> &rate);
    void initialize(const Vector<double> &u);

    const Vector<double> &rate() const { return rate_now; } ///< u' at the end of the last step

    void                          predict(Vector<double> &u) const override;
    double                        error(const Vector<double> &u, Vector<double> &work) const override;
    void                          accept(const Vector<double> &u) override;
    std::vector<Vector<double> *> state() override { return {&now, &before, &rate_now}; }

  protected:
    Vector<double> now, before, rate_now;

    virtual bool needs_rate() const { return false; } ///< at the begin

    double ratio() const { return last_size > 0. ? size / last_size : 0.; }

    /** The error of a step over u less the prediction, both from the third derivative of u. */
    virtual double error_share() const = 0;
  };

  /** u_new = u + dt ((1 - theta) u' + theta u'_new): 1 is backward Euler's, 1/2 the trapezoidal rule of second order. */
  class ThetaScheme : public FirstOrderScheme
  {
  public:
    explicit ThetaScheme(double theta = 1.);

    unsigned int order() const override { return theta == 0.5 ? 2 : 1; }
    void         begin(double size) override;

  private:
    double theta;

    double error_share() const override { return theta == 0.5 ? 1. / (3. + 2. / ratio()) : 1.; }
    bool   needs_rate() const override { return theta < 1.; }
  };

  /**
   * The derivative of the parabola through the last two values and the new one, for steps of different sizes: of second
   * order, and damps what is fast. The first step is backward Euler's. None should be over twice as long as that before.
   */
  class BDF2 : public FirstOrderScheme
  {
  public:
    unsigned int order() const override { return 2; }
    void         begin(double size) override;

  private:
    double error_share() const override { return (1. + ratio()) / (2. + 3. * ratio()); }
  };

  /**
   * Generalised alpha (Chung and Hulbert 1993): of second order, without damping of what is slow, while what is far faster
   * than the steps is multiplied by @p rho in each. In the form of Arnold and Bruels (2007): the acceleration A that
   * balances forces and the a of Newmark's formulas are two vectors with
   *
   *   (1 - alpha_m) a_new + alpha_m a = (1 - alpha_f) A_new + alpha_f A,
   *
   * so that forces are needed at the ends of steps alone. derivative() gives A. Five vectors.
   */
  class GeneralizedAlpha : public TimeScheme
  {
  public:
    explicit GeneralizedAlpha(double rho = 0.8);

    /** From @p u, its velocity, and the acceleration with which M u'' + F(u) = 0. */
    void initialize(const Vector<double> &u, const Vector<double> &velocity, const Vector<double> &acceleration);

    const Vector<double> &velocity() const { return v; } ///< at the end of the last step

    unsigned int                  order() const override { return gamma == 0.5 - alpha_m + alpha_f ? 2 : 1; }
    void                          begin(double size) override;
    void                          predict(Vector<double> &u) const override;
    double                        error(const Vector<double> &u, Vector<double> &work) const override;
    void                          accept(const Vector<double> &u) override;
    std::vector<Vector<double> *> state() override;

  protected:
    GeneralizedAlpha(double beta, double gamma, double alpha_m, double alpha_f);

  private:
    double         beta, gamma, alpha_m, alpha_f;
    Vector<double> now, v, a, balanced; ///< A, which is a, and not there, if both alphas are 0

    bool has_two() const { return alpha_m != 0. || alpha_f != 0.; }
  };

  /**
   * u_new = u + dt v + dt^2 ((1/2 - beta) a + beta a_new), v_new = v + dt ((1 - gamma) a + gamma a_new). With 1/4 and 1/2
   * linear systems keep their energy to rounding. Four vectors.
   */
  class Newmark : public GeneralizedAlpha
  {
  public:
    explicit Newmark(const double beta = 0.25, const double gamma = 0.5) : GeneralizedAlpha(beta, gamma, 0., 0.) {}
  };
} // namespace PatchFEM
