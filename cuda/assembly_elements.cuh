// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "patch_launch.cuh"

#include <patchfem/kernels/element_bodies.h>

namespace PatchFEM::kernels
{
  namespace internal
  {
    constexpr int element_threads = 128;

    template <typename Form, typename Number>
    __global__ void __launch_bounds__(element_threads)
        element_kernel(const __grid_constant__ ElementBody<Form, Number> body)
    {
      extern __shared__ __align__(16) unsigned char memory[];
      auto              *scratch = reinterpret_cast<typename ElementBody<Form, Number>::Point *>(memory);
      const BufferedCell cell    = body.cell(blockIdx.x);
      const int          rank = threadIdx.x, size = blockDim.x;
      body.geometry(cell, rank, size, scratch);
      __syncthreads();
      body.integrate(cell, rank, size, scratch);
      __syncthreads();
      body.boundary(cell, rank, size);
      __syncthreads();
      body.resolve(cell, rank, size);
    }
  } // namespace internal

  /** A block for each cell of a chunk's buffer, resolved or staged. */
  template <typename Form, typename Number>
  struct ElementsKernel : public AnyKernel
  {
    static constexpr bool stages = true;

    static void launch(Cuda where, const AssemblyArguments<Number> &a)
    {
      const ElementBody<Form, Number> body{a};
      if (body.n_cells() == 0)
        return;
      // More than the 48 KB that need no permission from 9^3 quadrature points on.
      internal::launch(where, internal::element_kernel<Form, Number>, body.n_cells(), internal::element_threads,
                       body.n_points(a.batches) * sizeof(typename ElementBody<Form, Number>::Point), body);
    }
  };
} // namespace PatchFEM::kernels
