// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/dual.h>
#include <patchfem/kernels/tensor_algebra.h>

/**
 * @file
 * A material law is one struct that gives the flux F and, if it has one, the source s of a residual
 * R_i = int F : grad phi_i + s phi_i at a point. It is written once for any type of number: plain ones give the
 * residual, dual ones the consistent tangent. It sees numbers and our small tensors, never deal.II, and stands in
 * namespace PatchFEM or uses it:
 * @code
 *   struct NeoHookean
 *   {
 *     static constexpr int  n_parameters = 2;    // lambda, mu
 *     static constexpr bool symmetric    = true; // a promise: the tangent is
 *
 *     template <typename T>
 *     static PATCHFEM_INLINE auto flux(const PointInput<3, 3, T> &u, const PointData &data, const NoState &, NoState &)
 *     {
 *       const auto F = plus_identity(u.gradient);
 *       const T    J = determinant(F);
 *       if (J <= 0.)
 *         data.refuse(Refusal::inverted);
 *       const T p = data.parameters[0] * log(J) - data.parameters[1];
 *       return data.parameters[1] * F + p * transpose(inverse(F, J));
 *     }
 *   };
 * @endcode
 * A point remembers a state, any trivially copyable struct in place of NoState; of zeros at first, or as `static State
 * initial(const PointData &)` of the law makes it. A law is a pure function of (u, data, old), called any number of
 * times before a step is closed. `now` comes as a copy of `old`. A law that reads `data.fields` says how many:
 * `static constexpr int n_fields`.
 */
namespace PatchFEM
{
  /** Parts of a field that a law reads beside its gradient: the last argument of PointInput, combined by |. */
  namespace Reads
  {
    constexpr int value = 1; ///< u
    constexpr int rate  = 2; ///< du/dt as the scheme in time makes it of u
    constexpr int old   = 4; ///< u and grad u of the step before, in PointData
  }                          // namespace Reads

  template <int n_comp, typename T, bool is_read>
  struct PointValue
  {};
  template <int n_comp, typename T>
  struct PointValue<n_comp, T, true>
  {
    SmallVector<n_comp, T> value;
  };

  template <int n_comp, typename T, bool is_read>
  struct PointRate
  {};
  template <int n_comp, typename T>
  struct PointRate<n_comp, T, true>
  {
    SmallVector<n_comp, T> rate;
  };

  /** A field with @p n_comp components at a point: `gradient`, and `value` and `rate` if they are read. */
  template <int dim, int n_comp, typename T, int reads = 0>
  struct PointInput : PointValue<n_comp, T, (reads & Reads::value) != 0>,
                      PointRate<n_comp, T, (reads & Reads::rate) != 0>
  {
    SmallMatrix<n_comp, dim, T> gradient; ///< (c, d): of component c in direction d, in coordinates of the mesh
  };

  /** Result of a law with a source; one without gives the flux alone. */
  template <int dim, int n_comp, typename T>
  struct Fluxes
  {
    SmallMatrix<n_comp, dim, T> flux;
    SmallVector<n_comp, T>      source;
  };

  /** The state of a law that remembers nothing. */
  struct NoState
  {};

  /** Why a law cannot answer at a point; a shorter step may help. */
  enum class Refusal : int
  {
    none,
    inverted,       ///< det F is not positive
    no_convergence, ///< of an iteration at the point
    not_finite
  };

  /** Data of a point beside the field; plain numbers. */
  struct PointData
  {
    const double *parameters   = nullptr; ///< the law's n_parameters
    double        position[3]  = {};      ///< in the mesh as it is given
    double        time         = 0;       ///< at the end of the step
    double        time_step    = 0;
    double        load_factor  = 1;
    const double *fields       = nullptr; ///< the law's n_fields, of other spaces on the mesh
    const double *old_gradient = nullptr; ///< [component][direction], with Reads::old
    const double *old_value    = nullptr; ///< [component], with Reads::old
    mutable int   refusal      = 0;       ///< the first Refusal

    PATCHFEM_INLINE void refuse(const Refusal reason) const
    {
      if (refusal == 0)
        refusal = static_cast<int>(reason);
    }
  };

  /** The index of entry (row, column) or (column, row) of a symmetric m x m matrix: its upper triangle by rows. */
  PATCHFEM_INLINE constexpr int packed_index(const int m, const int row, const int column)
  {
    return row <= column ? row * (2 * m - row - 1) / 2 + column : column * (2 * m - column - 1) / 2 + row;
  }

  namespace law_traits
  {
    template <typename Function>
    struct OfFlux
    {
      static_assert(
          sizeof(Function) == 0,
          "flux() of a law takes (const PointInput<dim, n_comp, T, reads> &, const PointData &, const State &, "
          "State &).");
    };

    template <typename Result, int dim, int n_comp, int read, typename S>
    struct OfFlux<Result (*)(const PointInput<dim, n_comp, double, read> &, const PointData &, const S &, S &)>
    {
      using State = S;

      static constexpr int  dimension = dim, n_components = n_comp, reads = read;
      static constexpr bool has_source = std::is_same_v<Result, Fluxes<dim, n_comp, double>>;
      static_assert(has_source || std::is_same_v<Result, SmallMatrix<n_comp, dim, double>>,
                    "flux() of a law gives a SmallMatrix<n_comp, dim, T> or Fluxes<dim, n_comp, T>.");
    };

    template <typename Law, typename = void>
    constexpr bool symmetric = false;
    template <typename Law>
    constexpr bool symmetric<Law, decltype(void(Law::symmetric))> = Law::symmetric;

    template <typename Law, typename = void>
    constexpr bool axisymmetric = false;
    template <typename Law>
    constexpr bool axisymmetric<Law, decltype(void(Law::axisymmetric))> = Law::axisymmetric;

    template <typename Law, typename = void>
    constexpr int n_parameters = 0;
    template <typename Law>
    constexpr int n_parameters<Law, decltype(void(Law::n_parameters))> = Law::n_parameters;

    template <typename Law, typename = void>
    constexpr int n_fields = 0;
    template <typename Law>
    constexpr int n_fields<Law, decltype(void(Law::n_fields))> = Law::n_fields;

    template <typename Law, typename = void>
    constexpr bool has_initial = false;
    template <typename Law>
    constexpr bool has_initial<Law, decltype(void(Law::initial(PointData())))> = true;

    /** Constants that a law has or lacks. */
    template <typename Law, typename State>
    struct OfConstants
    {
      static constexpr bool symmetric    = law_traits::symmetric<Law>;
      static constexpr int  n_parameters = law_traits::n_parameters<Law>, n_fields = law_traits::n_fields<Law>;
      static constexpr int  n_state_words = std::is_empty_v<State> ? 0 : (sizeof(State) + 7) / 8; ///< of 8 bytes
      static_assert(std::is_trivially_copyable_v<State>, "The state of a law is copied byte by byte.");
    };
  } // namespace law_traits

  /** Properties of @p Law, most of them from the type of its flux(). */
  template <typename Law, typename Flux = law_traits::OfFlux<decltype(&Law::template flux<double>)>>
  struct LawTraits : Flux, law_traits::OfConstants<Law, typename Flux::State>
  {
    /** Whether values of the field or of test functions take part: at least one of input and output does. */
    static constexpr bool has_value   = (Flux::reads & (Reads::value | Reads::rate)) != 0,
                          with_values = has_value || Flux::has_source;

    /**
     * Numbers of input and, as many, of output: entry c * dim + d is the gradient or the flux of component c, entry
     * n_components * dim + c its value or source. A law that has a source without reading a value, or the reverse, has
     * columns or rows of zeros in its n_inputs x n_inputs tangent.
     */
    static constexpr int n_inputs = Flux::n_components * (Flux::dimension + with_values);
    static constexpr int n_tangent =
        LawTraits::symmetric ? n_inputs * (n_inputs + 1) / 2 : n_inputs * n_inputs; ///< stored
  };

  template <typename Law>
  using LawState = typename LawTraits<Law>::State;

  /** The state at the begin of all. */
  template <typename Law, typename State = LawState<Law>>
  PATCHFEM_INLINE State initial_state([[maybe_unused]] const PointData &data)
  {
    if constexpr (law_traits::has_initial<Law>)
      return Law::initial(data);
    else
      return State{};
  }

  /**
   * Flux and source of @p Law of the numbers @p in (see LawTraits::n_inputs), plain or dual, to @p out. The rate of a
   * component is @p shift times its value + @p history; neither is used by a law that reads no rate.
   */
  template <typename Law, typename T>
  PATCHFEM_INLINE void evaluate_flux(const T (&in)[LawTraits<Law>::n_inputs],
                                     [[maybe_unused]] const double  shift,
                                     [[maybe_unused]] const double *history,
                                     const PointData               &data,
                                     const LawState<Law>           &old,
                                     LawState<Law>                 &now,
                                     T (&out)[LawTraits<Law>::n_inputs])
  {
    using Traits      = LawTraits<Law>;
    constexpr int dim = Traits::dimension, n_comp = Traits::n_components, reads = Traits::reads;

    PointInput<dim, n_comp, T, reads> u;
    PATCHFEM_UNROLL
    for (int e = 0; e < n_comp * dim; ++e)
      u.gradient(e / dim, e % dim) = in[e];
    PATCHFEM_UNROLL
    for (int c = 0; c < n_comp; ++c)
    {
      if constexpr ((reads & Reads::value) != 0)
        u.value[c] = in[n_comp * dim + c];
      if constexpr ((reads & Reads::rate) != 0)
        u.rate[c] = shift * in[n_comp * dim + c] + history[c];
    }

    now               = old;
    const auto result = Law::flux(u, data, old, now);
    const auto to_out = [&](const auto &flux) {
      PATCHFEM_UNROLL
      for (int e = 0; e < n_comp * dim; ++e)
        out[e] = flux(e / dim, e % dim);
    };
    if constexpr (Traits::has_source)
      to_out(result.flux);
    else
      to_out(result);
    PATCHFEM_UNROLL
    for (int c = 0; c < n_comp * Traits::with_values; ++c)
      if constexpr (Traits::has_source)
        out[n_comp * dim + c] = result.source[c];
      else
        out[n_comp * dim + c] = T(0.);
  }

  /**
   * Calls @p function(Dual<n> seeded[m], Dual<n> result[m_out]), @p n of all m directions at a time, and @p put(row,
   * column, derivative) for each entry of the m_out x m tangent; values of the function go to @p out. Seeds are known
   * to the compiler (but for one direction at a time, a loop), so that zeros and entries that are not put cost nothing.
   */
  template <int n, int m, int m_out, typename Function, typename Put>
  PATCHFEM_INLINE void
  for_directions(const double (&in)[m], double (&out)[m_out], const Function &function, const Put &put)
  {
    const auto chunk = [&](const int first) {
      Dual<n> seeded[m], result[m_out];
      PATCHFEM_UNROLL
      for (int e = 0; e < m; ++e)
        seeded[e] = Dual<n>(in[e], e - first);
      function(seeded, result);
      PATCHFEM_UNROLL
      for (int e = 0; e < m_out; ++e)
      {
        out[e] = value_of(result[e]);
        PATCHFEM_UNROLL
        for (int k = 0; k < n; ++k)
          if (first + k < m)
            put(e, first + k, result[e].d[k]);
      }
    };
    if constexpr (n == 1)
    {
#if defined(__CUDA_ARCH__)
#pragma unroll 1
#endif
      for (int first = 0; first < m; ++first)
        chunk(first);
    }
    else
    {
      PATCHFEM_UNROLL
      for (int first = 0; first < m; first += n)
        chunk(first);
    }
  }

  /** As evaluate_flux(), and the tangent, @p n directions at a time: @p put(row, column, d out[row] / d in[column]). */
  template <typename Law, int n, typename Put>
  PATCHFEM_INLINE void for_tangent(const double (&in)[LawTraits<Law>::n_inputs],
                                   const double         shift,
                                   const double        *history,
                                   const PointData     &data,
                                   const LawState<Law> &old,
                                   LawState<Law>       &now,
                                   double (&out)[LawTraits<Law>::n_inputs],
                                   const Put &put)
  {
    using Numbers = Dual<n>[LawTraits<Law>::n_inputs];
    for_directions<n>(
        in, out,
        [&](const Numbers &seeded, Numbers &result) {
          evaluate_flux<Law>(seeded, shift, history, data, old, now, result);
        },
        put);
  }

  /** Entries without their derivatives. */
  template <int n, typename T>
  PATCHFEM_INLINE SmallVector<n, double> value_of(const SmallVector<n, T> &a)
  {
    return vector_of<n>([&](const int i) { return value_of(a[i]); });
  }
  template <int m, int n, typename T>
  PATCHFEM_INLINE SmallMatrix<m, n, double> value_of(const SmallMatrix<m, n, T> &a)
  {
    return matrix_of<m, n>([&](const int i, const int j) { return value_of(a(i, j)); });
  }

  /**
   * x with @p f(x, a) = 0, with the derivatives of that implicit function of @p a, a number, a SmallVector or a
   * SmallMatrix. Makes Newton steps from @p guess on plain numbers until one is at most @p tolerance, halved where f is
   * not finite; at most 25, else Refusal::no_convergence; refusals on the way do not count. One more step in a's
   * numbers has the derivatives exactly. f takes any types of number.
   */
  template <typename F, typename A>
  PATCHFEM_INLINE auto
  implicit_root(const F &f, const double guess, const A &a, const double tolerance, const PointData &data)
  {
    const int  refusal = data.refusal;
    const auto plain   = value_of(a);
    double     x = guess, slope = 1., step = 1.;
    bool       found = false;
    for (int n = 0; n < 25 && !found; ++n)
    {
      const Dual<1> residual = f(Dual<1>(x, 0), plain);
      if (::fabs(residual.x) < HUGE_VAL)
      {
        slope = residual.d[0];
        step  = residual.x / slope;
        found = ::fabs(step) <= tolerance;
      }
      else
      {
        x += step;
        step *= 0.5;
      }
      x -= step;
    }
    data.refusal = refusal;
    if (!found)
      data.refuse(Refusal::no_convergence);
    return x - f(x, a) * (1. / slope);
  }
} // namespace PatchFEM
