// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac/multigrid/multigrid_pattern.h"

#include <patchfem/lac/multigrid/smoothed_aggregation.h>

#include <string>

namespace PatchFEM::kernels
{
  template <typename Number>
  struct TentativeView;
}

/**
 * @file Parts of smoothed aggregation (Vanek, Mandel, Brezina 1996) and the cycle, for both back ends (see launch.h) in
 * multigrid_steps.h. n_c is the number of unknowns of a node, n_m that of modes, the n_c of the next level.
 */
namespace PatchFEM::multigrid
{
  /** Constants, [node][component][mode]: mode m is component m. */
  template <typename Where>
  void constant_modes(Where, int n_c, Array<double> &modes);

  /**
   * Translations and rotations, [node][component][mode]: in 2D (1, 0), (0, 1), (-y, x), in 3D after three translations
   * (0, -z, y), (z, 0, -x), (-y, x, 0), coordinates relative to the centroid of @p points, [node][dim],
   * of all @p ranks if they are given.
   */
  template <typename Where>
  void rigid_body_modes(Where, int dim, const Array<double> &points, const Communicator *ranks, Array<double> &modes);

  /** Modes of unknowns with rows 0 off the diagonal (Dirichlet, padding) become 0: coarse spaces must not move them. */
  template <typename Number, typename Where>
  void mask_decoupled(Where, const SlicedEllpackMatrix<Number> &A, int n_m, Array<double> &modes);

  /**
   * What the next level sees of v, [aggregate][mode]: w = Q^T v, Q the tentative prolongator, or for @p weights the
   * diagonal of Q^T diag(v) Q. Q's columns have length one, so that w^T (Q^T D Q) w is about the D-norm of Q w.
   */
  template <typename Where>
  Vector<double> restricted(Where,
                            const AggregateLists &aggregates,
                            const Array<double>  &Q,
                            int                   n_c,
                            int                   n_m,
                            bool                  weights,
                            const Array<double>  &v);

  /** Rows nodes[k] of @p values, [node][n_values]. */
  template <typename Where>
  Array<double> at_nodes(Where, const Array<int> &nodes, int n_values, const Array<double> &values);

  /** P w - v */
  template <typename Where>
  Vector<double>
  embedded_difference(Where, const LinearEmbedding &P, int n_c, const Array<double> &w, const Array<double> &v);

  /** Whether a node with entries of @p v couples with other nodes of @p A. */
  template <typename Number, typename Where>
  bool couples(Where, const SlicedEllpackMatrix<Number> &A, const Array<double> &v);

  /** A + s v v^T in the diagonal blocks of rows that have no other. */
  template <typename Number, typename Where>
  void add_node_product(Where, double s, const Array<double> &v, SlicedEllpackMatrix<Number> &A);

  template <typename Where>
  CompressedPattern transpose(Where, const CompressedPattern &pattern);

  /** The first row that lacks the transpose of one of its entries, or its diagonal; INT_MAX if there is none. */
  template <typename Where>
  int first_unsymmetric_row(Where, const CompressedPattern &pattern);

  /** The same of one in 256 of the first @p n rows of @p A, as far as its columns are below @p n. */
  template <typename Where>
  int some_unsymmetric_row(Where, const Backend &backend, const SlicedPatternView &A, int n);

  /**
   * Gives rows of P that leave blocks out the modes of whole ones, (I - omega D^-1 A) B: with C the modes R_J of the aggregates J
   * that a row has blocks of, one above the other, and X what the other blocks would make of the modes, P_i += X (C^T C)^- C^T, the
   * least change of P_i that does; modes that C has not do not count. Each row is read once, and blocks of A to nodes of aggregates
   * that are left out once more.
   * @param P Rows have their node's own aggregate, or no block; those of ghosts, behind, are left.
   * @param coarse_modes R, upper triangles, [aggregate][mode][mode].
   * @param values Of P, in scalar rows (see kernels/coarsening.h).
   */
  template <typename Number, typename Where>
  void project_rows(Where,
                    const SlicedEllpackMatrix<Number>    &A,
                    const kernels::TentativeView<Number> &Q,
                    const CompressedPattern              &P,
                    const Array<double>                  &coarse_modes,
                    int                                   n_m,
                    Array<Number>                        &values);

  /**
   * Adds to the diagonal of each diagonal block, [(a * b + a) * n + i], the absolute values of its row outside of the
   * block: M - A is then positive semidefinite (Baker, Falgout, Kolev, Yang 2011, in blocks).
   */
  template <typename Number, typename Where>
  void add_row_sums(Where, const SlicedEllpackMatrix<Number> &A, Array<Number> &blocks);

  /** values[i] = factor / lambda_max */
  template <typename Where>
  void over_largest(Where, const kernels::LanczosScalars *lambda, double factor, Array<double> &values, int n);

  /** Coefficients of Chebyshev's polynomial smoother on [lambda_max / ratio, lambda_max], [step][2]. */
  template <typename Where>
  void chebyshev_steps(Where, const kernels::LanczosScalars *lambda, double ratio, int n_steps, Array<double> &c);

  /**
   * Weights omega_k of n_steps steps z <- z + omega_k D^-1 (r - A z) whose product is the Chebyshev polynomial on
   * [lambda_max / ratio, lambda_max]: inverses of its roots. They begin at omega[first].
   */
  template <typename Where>
  void chebyshev_weights(
      Where, const kernels::LanczosScalars *lambda, double ratio, int n_steps, int first, Array<double> &omega);

  /** to = from / |r| or, with @p multiply, to = from |r| with |r|^2 = square[0]; 0 if that is 0. */
  template <typename From, typename To, typename Where>
  void convert_scaled(Where, const Vector<From> &from, const double *square, bool multiply, Vector<To> &to);

  /** The sum over all @p ranks; null: of one. */
  template <typename T>
  T sum(const std::shared_ptr<const Partitioner> &ranks, T value)
  {
    if (ranks != nullptr)
      ranks->communicator().sum(&value, 1);
    return value;
  }

  /** The maximum likewise. */
  inline std::int64_t maximum(const std::shared_ptr<const Partitioner> &ranks, const std::int64_t value)
  {
    return ranks != nullptr ? ranks->communicator().maximum(value) : value;
  }

  /** Calls @p function; its errors name the level. */
  template <typename Function>
  void on_level(const std::size_t level, const std::int64_t n_rows, const Function &function)
  {
    const auto named = [&](const Error &error) {
      return "Multigrid level " + std::to_string(level) + " (" + std::to_string(n_rows) + " rows): " + error.what();
    };
    try
    {
      function();
    }
    catch (const NotPositiveDefinite &error)
    {
      throw NotPositiveDefinite(named(error));
    }
    catch (const Error &error)
    {
      throw Error(named(error));
    }
  }
} // namespace PatchFEM::multigrid
