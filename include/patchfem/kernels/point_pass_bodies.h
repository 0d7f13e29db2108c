// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/law_bodies.h>
#include <patchfem/kernels/point_pass.h>

#include <cmath>
#include <cstring>

/** @file Definitions of point_pass.h. Included where a law is instantiated; see PATCHFEM_INSTANTIATE_LAW_ON. */
namespace PatchFEM::kernels
{
  /** A quadrature point as a law sees it. */
  template <typename Law>
  struct LawPoint
  {
    using Traits                = LawTraits<Law>;
    using State                 = typename Traits::State;
    static constexpr int dim    = Traits::dimension;
    static constexpr int n_comp = Traits::n_components;

    const PointPass &a;
    int              local, q;
    std::int64_t     place; ///< in arrays of the batch, by cells of the tables
    double           in[Traits::n_inputs], history[n_comp], old_gradient[n_comp * dim], old_value[n_comp];
    PointData        data;

    PATCHFEM_INLINE LawPoint(const PointPass &a, const std::int64_t i) : a(a)
    {
      const BatchView &batch = a.batches.batch[a.b];
      const int        n_q   = batch.reference.n_quadrature;
      local                  = static_cast<int>(i / n_q);
      q                      = static_cast<int>(i % n_q);
      place                  = std::int64_t(batch.source[local]) * n_q + q;
    }

    /** Whether the cell is of the law of this pass. */
    PATCHFEM_INLINE bool of_law() const
    {
      const int *material = a.batches.batch[a.b].material;
      return a.law_of_material == nullptr || a.law_of_material[material != nullptr ? material[local] : 0] == a.law;
    }

    PATCHFEM_INLINE void load()
    {
      const BatchView &batch = a.batches.batch[a.b];
      const auto       u     = interpolate<dim, n_comp>(a.batches.points, a.u, batch, local, q);
      PATCHFEM_UNROLL
      for (int c = 0; c < n_comp; ++c)
      {
        PATCHFEM_UNROLL
        for (int d = 0; d < dim; ++d)
          in[c * dim + d] = u.gradient[c][d];
        if constexpr (Traits::with_values)
          in[n_comp * dim + c] = u.value[c];
        history[c] = 0.;
      }
      PATCHFEM_UNROLL
      for (int d = 0; d < dim; ++d)
        data.position[d] = u.position[d];
      if constexpr ((Traits::reads & Reads::rate) != 0)
        if (a.history != nullptr)
        {
          const auto h = interpolate<dim, n_comp>(a.batches.points, a.history, batch, local, q);
          for (int c = 0; c < n_comp; ++c)
            history[c] = h.value[c];
        }
      if constexpr ((Traits::reads & Reads::old) != 0)
      {
        const auto v = interpolate<dim, n_comp>(a.batches.points, a.old_u, batch, local, q);
        for (int c = 0; c < n_comp; ++c)
        {
          old_value[c] = v.value[c];
          for (int d = 0; d < dim; ++d)
            old_gradient[c * dim + d] = v.gradient[c][d];
        }
        data.old_value    = old_value;
        data.old_gradient = old_gradient;
      }
      data.time        = a.time;
      data.time_step   = a.step;
      data.load_factor = a.load_factor;
      if constexpr (Traits::n_parameters > 0)
        data.parameters = a.parameters.at(a.batches, a.b, local, q);
      if constexpr (Traits::n_fields > 0)
        data.fields = a.fields.at(a.batches, a.b, local, q);
    }

    /** Word @p w of the state of this point. */
    PATCHFEM_INLINE double &word(const int w) const
    {
      const std::int64_t point = a.first_point + place;
      return a.state[(point / 32 * a.n_words + w) * 32 + point % 32];
    }

    PATCHFEM_INLINE State load_state() const
    {
      constexpr int n = Traits::n_state_words;
      State         state{};
      if constexpr (n > 0)
      {
        double words[n];
        PATCHFEM_UNROLL
        for (int w = 0; w < n; ++w)
          words[w] = word(w);
        memcpy(&state, words, sizeof(State));
      }
      return state;
    }

    PATCHFEM_INLINE void store_state(const State &state) const
    {
      constexpr int n = Traits::n_state_words;
      if constexpr (n > 0)
      {
        double words[n] = {};
        memcpy(words, &state, sizeof(State));
        PATCHFEM_UNROLL
        for (int w = 0; w < n; ++w)
          word(w) = words[w];
      }
    }

    /** Flux and source, and with them whether the law has refused the point. */
    PATCHFEM_INLINE void store_flux(const double (&out)[Traits::n_inputs]) const
    {
      bool finite = true;
      PATCHFEM_UNROLL
      for (int e = 0; e < Traits::n_inputs; ++e)
        finite = finite && std::isfinite(out[e]);
      if (!finite)
        data.refuse(Refusal::not_finite);
      if (data.refusal != 0)
        atomic_min(a.failure, (a.first_point + place) * 8 + data.refusal);
      PATCHFEM_UNROLL
      for (int e = 0; e < n_comp * dim; ++e)
        a.flux[place * n_comp * dim + e] = out[e];
      if constexpr (Traits::with_values)
        PATCHFEM_UNROLL
      for (int c = 0; c < n_comp; ++c)
        if (a.source != nullptr)
          a.source[place * n_comp + c] = out[n_comp * dim + c];
    }
  };

  template <typename Law>
  struct LawResidualBody
  {
    PointPass a;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      LawPoint<Law> point(a, i);
      if (!point.of_law())
        return;
      point.load();
      const auto old = point.load_state();
      auto       now = old;
      double     out[LawTraits<Law>::n_inputs];
      evaluate_flux<Law>(point.in, a.shift, point.history, point.data, old, now, out);
      point.store_flux(out);
    }
  };

  /** Refuses the point at @p place of the batch where an @p entry of its tangent is not finite. */
  PATCHFEM_INLINE void refuse_unless_finite(const PointPass &a, const std::int64_t place, const double entry)
  {
    if (!std::isfinite(entry))
      atomic_min(a.failure, (a.first_point + place) * 8 + static_cast<int>(Refusal::not_finite));
  }

  /** Stores flux and source of a loaded @p point, and writes its tangent, @p n_directions at a time, to @p tangent. */
  template <typename Law, int n_directions>
  PATCHFEM_INLINE void store_tangent(const LawPoint<Law> &point, double *tangent)
  {
    using Traits      = LawTraits<Law>;
    constexpr int m   = TangentLayout<Law>::m;
    const auto    old = point.load_state();
    auto          now = old;
    double        out[Traits::n_inputs];
    for_tangent<Law, n_directions>(point.in, point.a.shift, point.history, point.data, old, now, out,
                                   [&](const int row, const int column, const double value) {
                                     if constexpr (Traits::symmetric)
                                     {
                                       if (row > column)
                                         return;
                                       if (point.a.packed)
                                         tangent[packed_index(m, row, column)] = value;
                                       else
                                         tangent[row * m + column] = tangent[column * m + row] = value;
                                     }
                                     else
                                       tangent[row * m + column] = value;
                                   });
    point.store_flux(out);
  }

  template <typename Law>
  struct LawTangentBody
  {
    PointPass a;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      LawPoint<Law> point(a, i);
      if (!point.of_law())
        return;
      point.load();
      double *tangent = a.tangent + point.place * a.n_tangent;
      store_tangent<Law, LawTraits<Law>::n_inputs>(point, tangent);
      for (int e = 0; e < a.n_tangent; ++e)
        refuse_unless_finite(a, point.place, tangent[e]);
    }
  };

  template <typename Law>
  struct LawCommitBody
  {
    PointPass a;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      LawPoint<Law> point(a, i);
      if (!point.of_law())
        return;
      point.load();
      const auto old = point.load_state();
      auto       now = old;
      double     out[LawTraits<Law>::n_inputs];
      evaluate_flux<Law>(point.in, a.shift, point.history, point.data, old, now, out);
      point.store_state(now);
    }
  };

  template <typename Law>
  struct LawInitialBody
  {
    PointPass a;

    PATCHFEM_INLINE void operator()(const std::int64_t i) const
    {
      LawPoint<Law> point(a, i);
      if (!point.of_law())
        return;
      point.load();
      point.store_state(initial_state<Law>(point.data));
    }
  };

  /** Starts @p Body at all points of the batch. */
  template <typename Body, typename Where>
  void for_points(const Where &where, const PointPass &pass)
  {
    const BatchView &batch = pass.batches.batch[pass.b];
    parallel_for(where, std::int64_t(batch.n_cells) * batch.reference.n_quadrature, Body{pass});
  }

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::material>::residual(const Where     &where,
                                                                                   const PointPass &pass)
  {
    for_points<LawResidualBody<Law>>(where, pass);
  }

  /** All directions at a time: where known zeros fold, least is computed twice. */
  template <typename Law>
  void start_tangent(const Host &where, const PointPass &pass)
  {
    for_points<LawTangentBody<Law>>(where, pass);
  }

  /** As many directions at a time as registers hold. */
  template <typename Law>
  void start_tangent(const Cuda &where, const PointPass &pass);

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::material>::tangent(const Where     &where,
                                                                                  const PointPass &pass)
  {
    start_tangent<Law>(where, pass);
  }

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::material>::commit(const Where     &where,
                                                                                 const PointPass &pass)
  {
    if constexpr (LawTraits<Law>::n_state_words > 0)
      for_points<LawCommitBody<Law>>(where, pass);
  }

  template <typename Where, typename Law>
  void needs_patchfem_add_law::LawKernels<Where, Law, LawKind::material>::initialise(const Where     &where,
                                                                                     const PointPass &pass)
  {
    if constexpr (LawTraits<Law>::n_state_words > 0)
      for_points<LawInitialBody<Law>>(where, pass);
  }
} // namespace PatchFEM::kernels
