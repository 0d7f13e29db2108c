// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/lanczos_scalars.h>
#include <patchfem/lac/precondition/precondition_base.h>

namespace PatchFEM
{
  /**
   * Upper bound of the spectrum of D^-1 A, D block diagonal, from some steps of Lanczos' iteration in the inner product
   * of D, that is on D^-1/2 A D^-1/2, with a fixed start vector (see LanczosScalars::find_largest()). The result stays
   * on the back end, where smoothers and prolongators read it.
   */
  template <typename Number>
  class LargestEigenvalue
  {
  public:
    /**
     * @p D_inverse must have a block_diagonal(). Each step costs one product with A; with @p jumps of the coefficient the
     * larger of two estimates counts, of which the second begins with as much in stiff as in soft material.
     */
    void compute(const Operator<Number> &A, const PreconditionBase<Number> &D_inverse, int n_steps, bool jumps = false);

    /** The bound of a matrix in another number type. */
    template <typename OtherNumber>
    void copy_from(const LargestEigenvalue<OtherNumber> &other)
    {
      memory.copy_from(other.memory.backend(), other.memory);
    }

    /** On the back end; nullptr before compute(). */
    const kernels::LanczosScalars *scalars() const { return memory.data(); }

    /** Fetched from the back end. */
    double value() const { return memory.read(0).largest; }

  private:
    template <typename OtherNumber>
    friend class LargestEigenvalue;

    Array<kernels::LanczosScalars> memory;
  };
} // namespace PatchFEM
