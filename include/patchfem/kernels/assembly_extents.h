// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_assembly_extents_h
#define patchfem_kernels_assembly_extents_h

#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/row_bodies.h>

namespace PatchFEM
{
  namespace kernels
  {
    /** Calls @p function with the extents of the computed batch, fixed for the isoparametric elements of degree 1. */
    template <typename Form, typename Number, typename Function>
    void with_extents(const AssemblyArguments<Number> &a, const Function &function)
    {
      constexpr int        dim = Form::dimension, corners = 1 << dim;
      const ReferenceView &r     = a.batches.batch[a.computed_batch].reference;
      const bool           fixed = a.isoparametric && a.patches.pairs.width == 2 && a.patches.slots.width == 1;
      if (fixed && a.one_point && r.n_shape == dim + 1)
        function(FixedExtents<dim + 1, 1, dim + 1>());
      else if (fixed && r.n_shape == corners && r.n_quadrature == corners)
        function(FixedExtents<corners, corners, corners>());
      else
        function(AnyExtents());
    }

    /** Throws Error if fast memory does not hold the rows of the largest patch and one cell. */
    template <typename Body>
    void require_room(const Body &body)
    {
      require(body.a.staged ? body.capacity() > 0 : body.scratch_bytes() <= body.a.fast_memory,
              "The rows of a patch do not fit into fast memory; choose fewer rows per patch.");
    }
  } // namespace kernels
} // namespace PatchFEM

#endif
