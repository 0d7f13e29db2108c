// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/small_tensor.h>

#include <type_traits>
#include <utility>

/**
 * @file
 * A weak form is one struct that gives the contribution of one pair of shape functions at one quadrature
 * point. It sees numbers and our small tensors, never deal.II, and is compiled for host and device:
 * @code
 *   struct MyForm
 *   {
 *     static constexpr int dimension      = 3;
 *     static constexpr int n_components   = 1;
 *     static constexpr int n_coefficients = 2;
 *
 *     // a(trial, test) without the weight: block(i, j) couples test component i with trial component j.
 *     template <typename Number>
 *     static PATCHFEM_INLINE SmallMatrix<1, 1, Number>
 *     matrix(const Number *coefficients, const ShapeFunction<3, Number> &test, const ShapeFunction<3, Number> &trial);
 *   };
 * @endcode
 *
 * A form whose coefficients are constant on a cell may add a faster path: a `Moments<Number>` type that is summed from
 * Moments{} over the quadrature points without coefficients, and `finish()`, which turns the sum into the block:
 * @code
 *     template <typename Number> using Moments = SmallMatrix<3, 3, Number>;
 *     template <typename Number>
 *     static PATCHFEM_INLINE void
 *     add(Moments<Number> &sum, Number weight, const ShapeFunction &test, const ShapeFunction &trial);
 *     template <typename Number>
 *     static PATCHFEM_INLINE SmallMatrix<...> finish(const Number *coefficients, const Moments<Number> &sum);
 * @endcode
 * `static constexpr bool gradients_only = true` promises that shape values do not enter matrix(): linear simplices with
 * cell-wise constant data are then integrated with one point. `static constexpr bool symmetric = true` promises that
 * exchanging test and trial function transposes the block, for any coefficients: half of a cell's matrix is formed and
 * mirrored, which keeps them symmetric to the last bit but for blocks on the diagonal, which round. With one component
 * and at most four nodes to a cell, or eight, patches also sum only one half.
 * `static constexpr MomentKind moment_kind` promises that add() sums w grad(test) . grad(trial), with a 1 x 1 matrix as
 * Moments, or w grad(test) (x) grad(trial), with a dim x dim one; kernels then sum in their own way where they can, and
 * do not call add().
 *
 * A form with many coefficients that vary inside cells may split matrix() into trial(coefficients, trial), of any type, and
 * pair(test, that): kernels then do the first part once for each function in place of once for each pair.
 *
 * Where the integral over a cell is no sum over its points, as with means of gradients, a form has CellMoments in place
 * of Moments: a sum with coefficients, which may vary, and a block of it. matrix() is then the block of cells where
 * gradients are constant.
 * @code
 *     template <typename Number>
 *     static PATCHFEM_INLINE void
 *     add(CellMoments<Number> &sum, Number weight, const Number *coefficients, const ShapeFunction &test, &trial);
 *     template <typename Number> static PATCHFEM_INLINE SmallMatrix<...> finish(const CellMoments<Number> &sum);
 * @endcode
 */
namespace PatchFEM
{
  /** A scalar shape function at a quadrature point: its value and its gradient in real coordinates. */
  template <int dim, typename Number>
  struct ShapeFunction
  {
    Number                   value;
    SmallVector<dim, Number> gradient;
  };

  /** Whether @p Form has the faster path for coefficients that are constant on a cell. */
  template <typename Form, typename = void>
  constexpr bool has_moments = false;
  template <typename Form>
  constexpr bool has_moments<Form, std::void_t<typename Form::template Moments<double>>> = true;

  /** Whether @p Form is integrated over whole cells, by CellMoments. */
  template <typename Form, typename = void>
  constexpr bool has_cell_moments = false;
  template <typename Form>
  constexpr bool has_cell_moments<Form, std::void_t<typename Form::template CellMoments<double>>> = true;

  /** Whether @p Form has trial() and pair(). */
  template <typename Form, typename = void>
  constexpr bool has_trial = false;
  template <typename Form>
  constexpr bool
      has_trial<Form,
                std::void_t<decltype(Form::trial(static_cast<const double *>(nullptr),
                                                 std::declval<const ShapeFunction<Form::dimension, double> &>()))>> =
          true;

  /**
   * What Moments are, if known: w grad(test) . grad(trial), or w grad(test) (x) grad(trial), summed over points. Of
   * CellMoments, where coefficients are constant on the cell, the latter beside the sums of w grad(test), w grad(trial)
   * and w, of which finish(coefficients, product, test, trial, volume) makes the block.
   */
  enum class MomentKind
  {
    other,
    inner_product,
    outer_product,
    outer_product_and_means
  };
  template <typename Form, typename = void>
  constexpr MomentKind moment_kind_of = MomentKind::other;
  template <typename Form>
  constexpr MomentKind moment_kind_of<Form, std::void_t<decltype(Form::moment_kind)>> = Form::moment_kind;

  /** Whether the matrix of @p Form depends on gradients alone (`static constexpr bool gradients_only = true`). */
  template <typename Form, typename = void>
  constexpr bool depends_on_gradients_only = false;
  template <typename Form>
  constexpr bool depends_on_gradients_only<Form, std::enable_if_t<Form::gradients_only>> = true;

  /** Whether the matrix of @p Form is promised to be symmetric (`static constexpr bool symmetric = true`). */
  template <typename Form, typename = void>
  constexpr bool is_symmetric = false;
  template <typename Form>
  constexpr bool is_symmetric<Form, std::enable_if_t<Form::symmetric>> = true;

  /** -div(k grad u): coefficient k. */
  template <int dim>
  struct Laplace
  {
    static constexpr int  dimension      = dim;
    static constexpr int  n_components   = 1;
    static constexpr int  n_coefficients = 1;
    static constexpr bool gradients_only = true;
    static constexpr bool symmetric      = true;
    static constexpr auto moment_kind    = MomentKind::inner_product;

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<1, 1, Number>
    matrix(const Number *k, const ShapeFunction<dim, Number> &test, const ShapeFunction<dim, Number> &trial)
    {
      return {{{k[0] * dot(test.gradient, trial.gradient)}}};
    }

    template <typename Number>
    using Moments = SmallMatrix<1, 1, Number>;

    template <typename Number>
    static PATCHFEM_INLINE void add(SmallMatrix<1, 1, Number>        &sum,
                                    const Number                      weight,
                                    const ShapeFunction<dim, Number> &test,
                                    const ShapeFunction<dim, Number> &trial)
    {
      sum(0, 0) += weight * dot(test.gradient, trial.gradient);
    }

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<1, 1, Number> finish(const Number *k, const SmallMatrix<1, 1, Number> &sum)
    {
      return {{{k[0] * sum(0, 0)}}};
    }
  };

  /** -div(K grad u) + c u (P3, equation 1); coefficients: upper half of K (xx, xy, yy or xx, xy, xz, yy, yz, zz), c. */
  template <int dim>
  struct Diffusion
  {
    static constexpr int dimension      = dim;
    static constexpr int n_components   = 1;
    static constexpr int n_coefficients = dim * (dim + 1) / 2 + 1;

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<1, 1, Number>
    matrix(const Number *coefficients, const ShapeFunction<dim, Number> &test, const ShapeFunction<dim, Number> &trial)
    {
      Number sum = coefficients[n_coefficients - 1] * test.value * trial.value;
      int    k   = 0;
      PATCHFEM_UNROLL
      for (int i = 0; i < dim; ++i)
      {
        sum += coefficients[k++] * test.gradient[i] * trial.gradient[i];
        PATCHFEM_UNROLL
        for (int j = i + 1; j < dim; ++j)
          sum += coefficients[k++] * (test.gradient[i] * trial.gradient[j] + test.gradient[j] * trial.gradient[i]);
      }
      return {{{sum}}};
    }
  };

  /**
   * Isotropic elasticity, -div(lambda div(u) I + 2 mu eps(u)): coefficients lambda and mu. Plane stress is the two-
   * dimensional form with lambda* = E nu / (1 - nu^2).
   */
  template <int dim>
  struct Elasticity
  {
    static constexpr int  dimension      = dim;
    static constexpr int  n_components   = dim;
    static constexpr int  n_coefficients = 2;
    static constexpr bool gradients_only = true;
    static constexpr bool symmetric      = true;
    static constexpr auto moment_kind    = MomentKind::outer_product;

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<dim, dim, Number>
    matrix(const Number *coefficients, const ShapeFunction<dim, Number> &test, const ShapeFunction<dim, Number> &trial)
    {
      SmallMatrix<dim, dim, Number> g{};
      add(g, Number(1), test, trial);
      return finish(coefficients, g);
    }

    /** G = sum_q w grad(phi_i) (x) grad(phi_j): 9 multiply-adds a pair and point in 3D. */
    template <typename Number>
    using Moments = SmallMatrix<dim, dim, Number>;

    template <typename Number>
    static PATCHFEM_INLINE void add(SmallMatrix<dim, dim, Number>    &g,
                                    const Number                      weight,
                                    const ShapeFunction<dim, Number> &test,
                                    const ShapeFunction<dim, Number> &trial)
    {
      PATCHFEM_UNROLL
      for (int a = 0; a < dim; ++a)
      {
        const Number t = weight * test.gradient[a];
        PATCHFEM_UNROLL
        for (int b = 0; b < dim; ++b)
          g(a, b) += t * trial.gradient[b];
      }
    }

    /** K = lambda G + mu G^T + mu tr(G) I. */
    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<dim, dim, Number> finish(const Number                        *coefficients,
                                                                const SmallMatrix<dim, dim, Number> &g)
    {
      const Number                  lambda = coefficients[0];
      const Number                  mu     = coefficients[1];
      SmallMatrix<dim, dim, Number> block;
      Number                        trace = g(0, 0);
      PATCHFEM_UNROLL
      for (int a = 1; a < dim; ++a)
        trace += g(a, a);
      PATCHFEM_UNROLL
      for (int a = 0; a < dim; ++a)
        PATCHFEM_UNROLL
      for (int b = 0; b < dim; ++b)
        block(a, b) = a == b ? (lambda + mu) * g(a, a) + mu * trace : lambda * g(a, b) + mu * g(b, a);
      return block;
    }
  };

  /**
   * Elasticity in which the divergence on a cell K is its mean there, as in the B-bar method (T. J. R. Hughes,
   * Int. J. Numer. Meth. Eng. 15, 1980):
   *   int_K 2 mu eps(u) : eps(v) + lambda mean(div u) mean(div v),
   * which is symmetric and positive where Elasticity is. On quadrilaterals and hexahedra of degree 1 it does not lock as
   * lambda / mu grows. Linear displacements have the energy that they have in Elasticity, on cells of any shape, and the
   * means are exact, so that they pass the patch test. Where lambda varies in a cell its mean counts.
   */
  template <int dim>
  struct ElasticityMeanDilatation
  {
    static constexpr int  dimension      = dim;
    static constexpr int  n_components   = dim;
    static constexpr int  n_coefficients = 2;
    static constexpr bool gradients_only = true;
    static constexpr bool symmetric      = true;
    static constexpr auto moment_kind    = MomentKind::outer_product_and_means;

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<dim, dim, Number>
    matrix(const Number *coefficients, const ShapeFunction<dim, Number> &test, const ShapeFunction<dim, Number> &trial)
    {
      return Elasticity<dim>::matrix(coefficients, test, trial);
    }

    template <typename Number>
    struct CellMoments
    {
      SmallMatrix<dim, dim, Number> product;        ///< sum of w mu grad(test) (x) grad(trial)
      SmallVector<dim, Number>      test, trial;    ///< of w grad
      Number                        volume, lambda; ///< of w and of w lambda
    };

    template <typename Number>
    static PATCHFEM_INLINE void add(CellMoments<Number>              &sum,
                                    const Number                      weight,
                                    const Number                     *coefficients,
                                    const ShapeFunction<dim, Number> &test,
                                    const ShapeFunction<dim, Number> &trial)
    {
      Elasticity<dim>::add(sum.product, weight * coefficients[1], test, trial);
      PATCHFEM_UNROLL
      for (int a = 0; a < dim; ++a)
      {
        sum.test[a] += weight * test.gradient[a];
        sum.trial[a] += weight * trial.gradient[a];
      }
      sum.volume += weight;
      sum.lambda += weight * coefficients[0];
    }

    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<dim, dim, Number> finish(const CellMoments<Number> &sum)
    {
      const Number moduli[] = {sum.lambda / sum.volume, Number(1)};
      return finish(moduli, sum.product, sum.test, sum.trial, sum.volume);
    }

    /** K = mu G^T + mu tr(G) I + lambda (int grad(test)) (x) (int grad(trial)) / |K|. */
    template <typename Number>
    static PATCHFEM_INLINE SmallMatrix<dim, dim, Number> finish(const Number                        *coefficients,
                                                                const SmallMatrix<dim, dim, Number> &product,
                                                                const SmallVector<dim, Number>      &test,
                                                                const SmallVector<dim, Number>      &trial,
                                                                const Number                         volume)
    {
      const Number                  shear[] = {Number(0), coefficients[1]};
      SmallMatrix<dim, dim, Number> block   = Elasticity<dim>::finish(shear, product);
      const Number                  factor  = coefficients[0] / volume;
      PATCHFEM_UNROLL
      for (int a = 0; a < dim; ++a)
        PATCHFEM_UNROLL
      for (int b = 0; b < dim; ++b)
        block(a, b) += factor * test[a] * trial[b];
      return block;
    }
  };
} // namespace PatchFEM
