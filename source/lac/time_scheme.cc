// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/lac/time_scheme.h>

#include <cmath>

namespace PatchFEM
{
  void FirstOrderScheme::initialize(const Vector<double> &u, const Vector<double> &rate)
  {
    now = before = u;
    rate_now     = rate;
    last_size    = 0.;
  }

  void FirstOrderScheme::initialize(const Vector<double> &u)
  {
    require(!needs_rate(), "This scheme in time begins with the derivative of the solution: give it to initialize().");
    Vector<double> zero;
    zero.reinit(u);
    initialize(u, zero);
  }

  void FirstOrderScheme::predict(Vector<double> &u) const
  {
    const double w = ratio();
    u.equ(1. - w * w, now);
    u.add((1. + w) * size, rate_now, w * w, before);
  }

  double FirstOrderScheme::error(const Vector<double> &u, Vector<double> &work) const
  {
    return last_size > 0. ? error_share() * from_prediction(u, work) : 0.;
  }

  void FirstOrderScheme::accept(const Vector<double> &u)
  {
    rate_now.swap(old_part);
    rate_now.add(factor, u);
    before.swap(now);
    now       = u;
    last_size = size;
  }

  ThetaScheme::ThetaScheme(const double theta) : theta(theta)
  {
    require(theta >= 0.5 && theta <= 1., "Theta must be from 0.5 to 1, not ", theta,
            ": the scheme is not stable below.");
  }

  void ThetaScheme::begin(const double step_size)
  {
    size   = step_size;
    factor = 1. / (theta * size);
    old_part.reinit(now, true);
    old_part.equ(-factor, now);
    if (theta < 1.)
      old_part.add(1. - 1. / theta, rate_now);
  }

  void BDF2::begin(const double step_size)
  {
    size           = step_size;
    const double w = ratio(); // 0: backward Euler
    factor         = (1. + 2. * w) / ((1. + w) * size);
    old_part.reinit(now, true);
    old_part.equ(-(1. + w) / size, now);
    old_part.add(w * w / ((1. + w) * size), before);
  }

  GeneralizedAlpha::GeneralizedAlpha(const double beta, const double gamma, const double alpha_m, const double alpha_f)
      : beta(beta), gamma(gamma), alpha_m(alpha_m), alpha_f(alpha_f)
  {
    require(gamma >= 0.5 && beta >= gamma / 2., "Newmark's beta = ", beta, " and gamma = ", gamma,
            " are not stable for all steps; take 2 beta >= gamma >= 1/2.");
  }

  GeneralizedAlpha::GeneralizedAlpha(const double rho)
  {
    require(rho >= 0. && rho <= 1., "The factor of what is fast must be from 0 to 1, not ", rho, ".");
    alpha_m = (2. * rho - 1.) / (rho + 1.);
    alpha_f = rho / (rho + 1.);
    gamma   = 0.5 - alpha_m + alpha_f;
    beta    = 0.25 * (1. - alpha_m + alpha_f) * (1. - alpha_m + alpha_f);
  }

  void GeneralizedAlpha::initialize(const Vector<double> &u,
                                    const Vector<double> &velocity,
                                    const Vector<double> &acceleration)
  {
    now = u;
    v   = velocity;
    a   = acceleration;
    if (has_two())
      balanced = acceleration;
    last_size = 0.;
  }

  void GeneralizedAlpha::begin(const double step_size)
  {
    size   = step_size;
    factor = (1. - alpha_m) / ((1. - alpha_f) * beta * size * size);
    old_part.reinit(now, true);
    old_part.equ(-factor, now);
    old_part.add(-factor * size, v, -factor * size * size * (0.5 - beta) + alpha_m / (1. - alpha_f), a);
    if (has_two())
      old_part.add(-alpha_f / (1. - alpha_f), balanced);
  }

  void GeneralizedAlpha::predict(Vector<double> &u) const
  {
    u = now;
    u.add(size, v, 0.5 * size * size, a);
  }

  double GeneralizedAlpha::error(const Vector<double> &u, Vector<double> &work) const
  {
    // (beta - 1/6) dt^2 (a_new - a), and u less the prediction is beta dt^2 (a_new - a).
    return std::fabs(1. - 1. / (6. * beta)) * from_prediction(u, work);
  }

  void GeneralizedAlpha::accept(const Vector<double> &u)
  {
    v.add((1. - gamma) * size, a);
    if (has_two())
    {
      a.sadd(-alpha_m / (1. - alpha_m), alpha_f / (1. - alpha_m), balanced);
      balanced.swap(old_part);
      balanced.add(factor, u);
      a.add((1. - alpha_f) / (1. - alpha_m), balanced);
    }
    else
    {
      a.swap(old_part);
      a.add(factor, u);
    }
    v.add(gamma * size, a);
    now       = u;
    last_size = size;
  }

  std::vector<Vector<double> *> GeneralizedAlpha::state()
  {
    std::vector<Vector<double> *> vectors{&now, &v, &a};
    if (has_two())
      vectors.push_back(&balanced);
    return vectors;
  }
} // namespace PatchFEM
