// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/patch_relaxation.h>
#include <patchfem/lac/graph/aggregate_lists.h>
#include <patchfem/lac/multigrid/level_smoother.h>

#include <memory>

namespace PatchFEM
{
  namespace internal
  {
    /** What a PatchMatrix stores, and how kernels see it. */
    template <typename Number>
    struct PatchArrays
    {
      PatchMatrixView<Number> view{};
      Array<int>              patch_slices, nodes, patch_of_node, slot_of_node, outer_columns;
      Array<std::int64_t>     inner_offsets, mirror_offsets, outer_offsets;
      Array<std::uint16_t>    inner_columns, mirrors;
      Array<Number>           inner_values, outer_values, diagonal;

      std::size_t memory_consumption() const
      {
        return memory_consumption_of(patch_slices, nodes, patch_of_node, slot_of_node, outer_columns, inner_offsets,
                                     mirror_offsets, outer_offsets, inner_columns, mirrors, inner_values, outer_values,
                                     diagonal);
      }
    };
  } // namespace internal

  /**
   * A matrix split into what lies inside of patches and what couples them (P3's patchSPM), with the inexact inverse of
   * the inner part as a preconditioner. See kernels/patch_relaxation.h for layout and operators.
   *
   * P3 keeps the upper half of the inner part and adds to both rows by atomics: here an option, with which results do
   * not repeat bit by bit. Else one thread sums a row in a fixed order, from one half or both: see PatchMatrixView.
   */
  template <typename Number>
  class PatchMatrix : public PreconditionBase<Number>
  {
  public:
    /**
     * The pattern of @p A in the patches of @p aggregates; nodes without one share further ones. Throws Error without
     * patches, if they do not fit the matrix, or if one has more than 65536 nodes or, with half storage, kept blocks.
     */
    void reinit(const SlicedEllpackMatrix<Number> &A, const AggregateLists &aggregates, PatchStorage storage);

    /** The values of @p A, and M^-1 of @p n_sweeps sweeps with the @p weights of PatchMatrixView, which stay theirs. */
    void compute(const SlicedEllpackMatrix<Number>     &A,
                 const PreconditionBlockJacobi<Number> &D_inverse,
                 int                                    n_sweeps,
                 const double                          *weights);

    /** dst = M^-1 src; of several ranks that of each */
    void        vmult(Vector<Number> &dst, const Vector<Number> &src) const override;
    std::string name() const override { return "patch"; }
    std::size_t memory_consumption() const override { return arrays.memory_consumption(); }

    const PatchMatrixView<Number> &view() const { return arrays.view; }
    int                            n_patches() const { return arrays.view.n_patches; }

    /** Blocks stored, padding included. */
    std::int64_t n_inner_blocks() const { return arrays.inner_columns.size(); }
    std::int64_t n_mirrors() const { return arrays.mirrors.size(); }

  private:
    internal::PatchArrays<Number> arrays;
  };

  /**
   * P3's relaxation: steps x <- x + omega_b M^-1 (b - A x) with M^-1 of some inner sweeps on patches (kernels/
   * patch_relaxation.h). The weight of the sweeps is 4/3 / lambda_max(D^-1 A); those of the steps are the inverse roots
   * of the Chebyshev polynomial on [lambda_max / ratio, lambda_max] of M^-1 A, which for one step with a ratio of 6 is
   * 1.71 / lambda_max. Bounds of both spectra come from Lanczos' iteration. So steps converge in the energy norm, and
   * as polynomials in M^-1 A with symmetric M they are their own adjoint. One step of one sweep is damped Jacobi.
   *
   * A step reads A once, whatever the number of sweeps: m steps move as much as a polynomial of degree m. What is
   * stored comes on top of the level's matrix. Of several ranks each has patches of its own nodes, and columns of others
   * are in the outer part: steps exchange ghosts once, and remain what they are of one rank with these patches.
   */
  template <typename Number>
  class PatchSmoother : public LevelSmoother<Number>
  {
  public:
    /** Keeps a reference to @p aggregates, whose patches the first initialize() reads. */
    PatchSmoother(const AggregateLists &aggregates,
                  int                   n_steps,
                  double                eigenvalue_ratio,
                  int                   n_sweeps,
                  int                   eigenvalue_steps,
                  PatchStorage          storage);

    void        initialize(const SlicedEllpackMatrix<Number>     &A,
                           const PreconditionBlockJacobi<Number> &D_inverse,
                           const LargestEigenvalue<Number>       &lambda) override;
    void        pre_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const override;
    void        post_smooth(Vector<Number> &x, Vector<Number> &r, const Vector<Number> &b) const override;
    std::size_t memory_consumption() const override { return memory_consumption_of(patches, weights); }
    void        describe(AMGLevelStatistics &level) const override
    {
      level.smoother = "patch";
      level.sweeps   = n_steps;
      level.range    = eigenvalue_ratio;
    }

    const PatchMatrix<Number> &matrix() const { return patches; }

    /** Bound of the spectrum of M^-1 A. */
    double largest_eigenvalue() const { return lambda.value(); }

  private:
    const AggregateLists     *aggregates;
    int                       n_steps;
    double                    eigenvalue_ratio;
    int                       n_sweeps, eigenvalue_steps;
    PatchStorage              storage;
    PatchMatrix<Number>       patches;
    LargestEigenvalue<Number> lambda;
    Array<double>             weights; ///< see PatchMatrixView

    void outer_residual(const Vector<Number> &x, const Vector<Number> &b, Vector<Number> &r) const;
    void relax(int step, const Vector<Number> &b, const Number *r, Vector<Number> &x, Number *r_out) const;
  };

  /** Whether LevelSmoothing shall have bytes for the smoother that make_smoother() makes of the same. */
  template <typename Number>
  bool smooths_in_bytes(const AMGParameters &parameters, bool below_finest, bool stretched, int degree = 1);

  /**
   * The smoother that @p parameters ask for on the finest level or below it, of nodes in @p aggregates, to which it keeps
   * a reference; @p stretched if those of any rank are. If the next level has degree 1, @p degree is that of the space.
   */
  template <typename Number>
  std::unique_ptr<LevelSmoother<Number>> make_smoother(const AMGParameters              &parameters,
                                                       const AggregateLists             &aggregates,
                                                       bool                              below_finest,
                                                       bool                              stretched,
                                                       int                               degree = 1,
                                                       std::shared_ptr<const ByteMatrix> bytes  = nullptr);
} // namespace PatchFEM
