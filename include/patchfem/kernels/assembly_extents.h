// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_kernels_assembly_extents_h
#define patchfem_kernels_assembly_extents_h

#include <patchfem/kernels/cell_records.h>

namespace PatchFEM
{
  namespace kernels
  {
    /** Calls @p function with the extents of the computed batch, fixed for the isoparametric elements of degree 1. */
    template <typename Form, typename Number, typename Function>
    void with_extents(const AssemblyArguments<Number> &a, const Function &function)
    {
      constexpr int        dim = Form::dimension, corners = 1 << dim;
      const ReferenceView &r = a.batches.batch[a.computed_batch].reference;
      const bool fixed = a.isoparametric && (a.patches.places.diagonal != nullptr || a.patches.places.view.width == 1);
      if (fixed && a.one_point && r.barycentric)
        function(FixedExtents<dim + 1, 1, dim + 1>());
      else if (fixed && r.n_shape == corners && r.n_quadrature == corners)
        function(FixedExtents<corners, corners, corners>());
      else
        function(AnyExtents());
    }
  } // namespace kernels
} // namespace PatchFEM

#endif
