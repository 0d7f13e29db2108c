// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/face_law.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace PatchFEM
{
  /** The findings of check_tangent(). */
  struct TangentCheck
  {
    /** Of dual numbers from plain ones and their central differences; some 1e-9 where all is well. */
    double difference = 0;
    double asymmetry  = 0;    ///< of the tangent, relative to its largest entry
    double rotation   = 0;    ///< |P(Q F) - Q P(F)| / |P|, nonzero for laws of small strains; 0 where there is no F
    double chunks     = 0;    ///< difference of tangents with other numbers of directions at a time, likewise
    bool   is_pure    = true; ///< a second call, after one elsewhere, gives equal bits
    int    refusal    = 0;    ///< of the law

    bool passes(const bool is_symmetric, const double tolerance = 1e-7) const
    {
      return refusal == 0 && is_pure && difference < tolerance && chunks < 1e-10 && (!is_symmetric || asymmetry < 1e-8);
    }
  };

  /** A material law at one point, for check_tangent(). */
  template <typename Law>
  struct LawAtPoint
  {
    static constexpr int n_inputs = LawTraits<Law>::n_inputs, n_outputs = n_inputs, dim = LawTraits<Law>::dimension,
                         n_comp = LawTraits<Law>::n_components;
    using State                 = LawState<Law>;
    using Numbers               = SmallVector<n_inputs, double>;

    const PointData                  &data;
    const State                      &old;
    const double                      shift   = 1.;
    const SmallVector<n_comp, double> history = {};

    /** One piece of code for all calls, so that equal inputs give equal bits. */
    [[gnu::noinline]] Numbers operator()(const Numbers &in, State &now) const
    {
      Numbers out;
      evaluate_flux<Law>(in.entries, shift, history.entries, data, old, now, out.entries);
      return out;
    }

    template <int n, typename Put>
    Numbers tangent(const Numbers &in, const Put &put) const
    {
      Numbers out;
      State   now;
      for_tangent<Law, n>(in.entries, shift, history.entries, data, old, now, out.entries, put);
      return out;
    }

    /** Whether inputs are of one kind: gradients or values. */
    static bool alike(const int e, const int k) { return (e < n_comp * dim) == (k < n_comp * dim); }
  };

  /** A face law at one point, for check_traction_tangent(). */
  template <typename Law>
  struct FaceLawAtPoint
  {
    static constexpr int n_inputs = FaceLawTraits<Law>::n_inputs, n_outputs = FaceLawTraits<Law>::n_outputs;
    using State   = FaceLawState<Law>;
    using Inputs  = SmallVector<n_inputs, double>;
    using Outputs = SmallVector<n_outputs, double>;

    const FaceData &data;
    const State    &old;

    [[gnu::noinline]] Outputs operator()(const Inputs &in, State &now) const
    {
      Outputs out;
      evaluate_traction<Law>(in.entries, data, old, now, out.entries);
      return out;
    }

    template <int n, typename Put>
    Outputs tangent(const Inputs &in, const Put &put) const
    {
      Outputs out;
      State   now;
      for_traction_tangent<Law, n>(in.entries, data, old, now, out.entries, put);
      return out;
    }

    static bool alike(const int e, const int k) { return (e < n_outputs) == (k < n_outputs); }
  };

  /** check_tangent() of any function of numbers and a state. */
  template <typename Function>
  TangentCheck compare_tangent(const Function &f, const SmallVector<Function::n_inputs, double> &in)
  {
    constexpr int m = Function::n_inputs, m_out = Function::n_outputs;
    using State = typename Function::State;

    TangentCheck                  found;
    State                         now{}, again{}, other;
    SmallMatrix<m_out, m, double> tangent, one, three;
    const auto into  = [](auto &matrix) { return [&](const int r, const int c, const double v) { matrix(r, c) = v; }; };
    const auto plain = f(in, now), values = f.template tangent<m>(in, into(tangent));
    f.template tangent<1>(in, into(one));
    f.template tangent<3>(in, into(three));

    double scale[m], row[m_out] = {}, largest = 0; // of inputs alike; of outputs, the change that such an input makes
    for (int c = 0; c < m; ++c)
    {
      scale[c] = 1e-3;
      for (int k = 0; k < m; ++k)
        if (f.alike(c, k))
          scale[c] = std::max(scale[c], std::fabs(in[k]));
      for (int r = 0; r < m_out; ++r)
      {
        row[r]  = std::max({row[r], std::fabs(plain[r]), std::fabs(tangent(r, c)) * scale[c]});
        largest = std::max(largest, std::fabs(tangent(r, c)));
      }
    }
    const auto keep = [](double &most, const double error, const double size) {
      const double relative = error == 0 ? 0 : std::fabs(error) / size;
      most = std::isfinite(relative) ? std::max(most, relative) : std::numeric_limits<double>::infinity();
    };
    for (int c = 0; c < m; ++c)
    {
      auto above = in, below = in;
      above[c] += 6e-6 * scale[c];
      below[c] -= 6e-6 * scale[c];
      const auto upper = f(above, other), lower = f(below, other);
      for (int r = 0; r < m_out; ++r)
      {
        const double quotient = (upper[r] - lower[r]) / (above[c] - below[c]);
        keep(found.difference, (quotient - tangent(r, c)) * scale[c], row[r]);
        keep(found.chunks, tangent(r, c) - one(r, c), largest);
        keep(found.chunks, tangent(r, c) - three(r, c), largest);
        if (c < m_out)
          keep(found.asymmetry, tangent(r, c) - tangent(c, r), largest);
      }
    }
    for (int r = 0; r < m_out; ++r)
      keep(found.difference, values[r] - plain[r], row[r]);
    const auto second = f(in, again);
    found.is_pure     = std::memcmp(&second, &plain, sizeof(plain)) == 0 &&
                    (std::is_empty_v<State> || std::memcmp(&now, &again, sizeof(now)) == 0);
    found.refusal = f.data.refusal;
    return found;
  }

  /**
   * Compares the tangent of @p Law at @p in (see LawTraits::n_inputs) with central differences, and sees that the law
   * is a pure function. A point where the law has a kink has no tangent to compare. For tests; runs on the host.
   */
  template <typename Law>
  TangentCheck check_tangent(const SmallVector<LawTraits<Law>::n_inputs, double> &in,
                             const PointData                                     &data,
                             const LawState<Law>                                 &old   = {},
                             const double                                         shift = 1.)
  {
    constexpr int         dim = LawTraits<Law>::dimension;
    const LawAtPoint<Law> law{data, old, shift};
    TangentCheck          found = compare_tangent(law, in);
    if constexpr (LawTraits<Law>::n_components == dim && !LawTraits<Law>::with_values)
    {
      const double c = std::cos(0.7), s = std::sin(0.7);
      const auto   Q      = matrix_of<dim, dim>([&](const int i, const int j) {
        return i < 2 && j < 2 ? (i == j ? c : i < j ? -s : s) : (i == j ? 1. : 0.);
      });
      const auto   matrix = [](const auto &x) {
        return matrix_of<dim, dim>([&](const int i, const int j) { return x[i * dim + j]; });
      };
      LawState<Law> now;
      const auto    turned = plus_identity(Q * plus_identity(matrix(in)), -1.);
      const auto    there  = vector_of<dim * dim>([&](const int e) { return turned(e / dim, e % dim); });
      const auto    P = matrix(law(in, now)), error = matrix(law(there, now)) - Q * P;
      found.rotation = std::sqrt(double_contraction(error, error) / double_contraction(P, P));
    }
    return found;
  }

  /** As check_tangent(), of a face law. */
  template <typename Law>
  TangentCheck check_traction_tangent(const SmallVector<FaceLawTraits<Law>::n_inputs, double> &in,
                                      const FaceData                                          &data,
                                      const FaceLawState<Law>                                 &old = {})
  {
    return compare_tangent(FaceLawAtPoint<Law>{data, old}, in);
  }
} // namespace PatchFEM
