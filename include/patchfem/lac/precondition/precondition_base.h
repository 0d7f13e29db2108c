// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/jacobi.h>
#include <patchfem/lac/matrix/matrix_base.h>

#include <string>
#include <type_traits>

namespace PatchFEM
{
  /** Types that preconditioners have for vectors and for values: the same, or fp32 values under vectors in fp64. */
  template <typename Number, typename Value>
  constexpr bool are_precisions = std::is_same_v<Number, Value> ||
                                  (std::is_same_v<Number, double> && std::is_same_v<Value, float>);

  /**
   * A fixed symmetric positive definite operator M^-1 on vectors of @p Number. Preconditioners in mixed precision (P0,
   * section 4) have a second type, such as PreconditionIC<double, float>, that of most values they keep: entries of the
   * matrix, of triangles, of a block diagonal. These are rounded once, and everything that is computed is computed in
   * Number, so that an application to a matrix that is symmetric bit by bit is symmetric to rounding in Number. With
   * vectors in fp32 as well it is symmetric to 1e-7 only, which costs conjugate gradients their orthogonality once the
   * residual is that small: on a slender beam three times as many iterations to a reduction of 1e-8. PreconditionAMG,
   * with which iterations are few, keeps vectors of its levels in fp32, too.
   *
   * Derived classes have an AdditionalData and initialize(matrix, additional_data).
   */
  template <typename Number>
  class PreconditionBase
  {
  public:
    virtual ~PreconditionBase() = default;

    /** dst = M^-1 src; dst and src are different vectors. */
    virtual void vmult(Vector<Number> &dst, const Vector<Number> &src) const = 0;

    /** M^-1 if block diagonal: solvers apply it in kernels, never by vmult(); else nullptr. Block size 0: identity. */
    virtual const BlockDiagonalView<Number> *block_diagonal() const { return nullptr; }

    /** The same of one whose values are kept in fp32; block_diagonal() is nullptr then. */
    virtual const BlockDiagonalView<float> *single_block_diagonal() const { return nullptr; }

    /** Iterations between a solver's looks: few if it is expensive, as steps past the end still apply it. */
    virtual unsigned int look_interval() const
    {
      return block_diagonal() != nullptr || single_block_diagonal() != nullptr ? 32 : 4;
    }

    /** Whether vmult() is work in stream order alone: no allocation, no copies to the host, no synchronisation. */
    virtual bool can_be_recorded() const { return true; }

    /** The name in messages and reports, such as `jacobi`. */
    virtual std::string name() const = 0;

    virtual std::size_t memory_consumption() const = 0;

  protected:
    /** @p name, and that values are rounded where they are. */
    template <typename Value>
    static std::string with_precision(const std::string &name)
    {
      return std::is_same_v<Value, Number> ? name : name + " with values in single precision";
    }
  };
} // namespace PatchFEM
