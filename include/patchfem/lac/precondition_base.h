// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_precondition_base_h
#define patchfem_lac_precondition_base_h

#include <patchfem/kernels/jacobi.h>
#include <patchfem/lac/matrix_base.h>

#include <string>

namespace PatchFEM
{
  /**
   * A fixed symmetric positive definite operator M^-1. Derived classes have an AdditionalData and initialize(matrix,
   * additional_data); vmult() only launches kernels on backend(), so that it can be recorded in a Graph: no allocation,
   * no copies to the host, no synchronisation.
   */
  template <typename Number>
  class PreconditionBase
  {
  public:
    virtual ~PreconditionBase() = default;

    /** dst = M^-1 src; dst and src are different vectors. */
    virtual void vmult(Vector<Number> &dst, const Vector<Number> &src) const = 0;

    /**
     * Block diagonal operators may give M^-1 itself; a solver then applies it inside its own kernels and never calls
     * vmult(). nullptr: there is no such form. A view with block_size 0 is the identity.
     */
    virtual const BlockDiagonalView<Number> *block_diagonal() const { return nullptr; }

    /**
     * Iterations after which a solver should see whether it is done. Those it launched after the last one do nothing
     * but apply the preconditioner once more each, so an expensive one wants to be looked at often.
     */
    virtual unsigned int look_interval() const { return block_diagonal() != nullptr ? 32 : 4; }

    /** The name in messages and reports, such as `jacobi`. */
    virtual std::string name() const = 0;

    virtual std::size_t memory_consumption() const = 0;
  };
} // namespace PatchFEM

#endif
