// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_assembly_cuh
#define patchfem_cuda_assembly_cuh

#include "check.cuh"

#include <patchfem/kernels/assembly_extents.h>
#include <patchfem/kernels/element_bodies.h>

/**
 * @file
 * Device definitions of the assembly kernels: one block for each patch, or for each buffered cell. Included where a
 * weak form is instantiated; see PATCHFEM_INSTANTIATE_ASSEMBLY.
 */
namespace PatchFEM
{
  namespace kernels
  {
    namespace internal
    {
      constexpr int element_threads = 128;

      /** Neighbouring lanes of a warp that share a row: one column of the cell each. */
      template <int lanes>
      struct WarpTeam
      {
        static constexpr int size = lanes;

        __device__ int lane() const { return threadIdx.x % lanes; }

        __device__ void sync() const
        {
          if constexpr (lanes > 1)
          {
            constexpr unsigned int team = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1u;
            __syncwarp(team << (threadIdx.x % 32 / lanes * lanes));
          }
        }
      };

      /** A row's team: a lane for each shape function of the small elements, a warp for others. */
      template <typename Extents>
      constexpr int team_size()
      {
        return Extents::n_shape == 0 ? 32 : (Extents::n_shape <= 4 ? 4 : 8);
      }

      /** Threads of a patch: many where rows share out quadrature points, few where a thread holds a cell's matrix. */
      template <typename Form, typename Extents>
      constexpr int patch_threads()
      {
        return !matrix_record<Form>() ? 256 : (Extents::n_shape == 8 ? 128 : 512);
      }

      template <typename Form, typename Number>
      __global__ void __launch_bounds__(element_threads)
          element_kernel(const __grid_constant__ ElementBody<Form, Number> body)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        Number                                       *scratch = reinterpret_cast<Number *>(memory);
        const BufferedCell                            cell    = body.a.buffered[blockIdx.x];
        const int                                     rank = threadIdx.x, size = blockDim.x;
        body.geometry(cell, rank, size, scratch);
        __syncthreads();
        body.integrate(cell, rank, size, scratch);
        __syncthreads();
        body.boundary(cell, rank, size);
        __syncthreads();
        body.resolve(cell, rank, size);
      }

      template <typename Form, typename Number, typename Extents>
      __global__ void __launch_bounds__(patch_threads<Form, Extents>())
          patch_kernel(const __grid_constant__ PatchBody<Form, Number, Extents> body)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        const AssemblyArguments<Number>              &a       = body.a;
        const auto                                    scratch = body.scratch(memory);
        const int patch = a.first_patch + blockIdx.x, rank = threadIdx.x, size = blockDim.x;
        const int n_cells = static_cast<int>(a.patches.cell_offsets[patch + 1] - a.patches.cell_offsets[patch]);
        const int n_rows  = a.patches.end_row(patch) - a.patches.first_row(patch);
        const int step    = a.staged ? body.capacity() : n_cells;
        using Team        = WarpTeam<team_size<Extents>()>;

        body.clear(patch, rank, size, scratch);
        __syncthreads();
        for (int begin = 0; begin < n_cells; begin += step)
        {
          const int end = begin + step < n_cells ? begin + step : n_cells;
          if (begin > 0)
            __syncthreads(); // rows have read the records that are overwritten now
          if (a.staged)
            body.stage(begin, end, rank, size, scratch);
          __syncthreads();
          if (a.rhs != nullptr)
          {
            for (int i = rank; i < n_rows * Form::n_components; i += size)
              body.add_load(i / Form::n_components, i % Form::n_components, begin, end, scratch);
            __syncthreads(); // rows move on in their lists of pairs
          }
          for (int row = rank / Team::size; row < n_rows; row += size / Team::size)
            body.add_row(row, begin, end, Team(), scratch);
        }
        __syncthreads();
        body.write(patch, rank, size, scratch);
      }
    } // namespace internal

    template <typename Form, typename Number>
    void element_matrices(Cuda where, const AssemblyArguments<Number> &arguments)
    {
      const ElementBody<Form, Number> body{arguments};
      const std::size_t               bytes  = body.scratch_size(arguments.batches) * sizeof(Number);
      const auto                      kernel = internal::element_kernel<Form, Number>;
      // More than the 48 KB that need no permission from 9^3 quadrature points on.
      PATCHFEM_CUDA_CHECK(
          cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
      kernel<<<arguments.n_buffered, internal::element_threads, bytes, stream_of(where)>>>(body);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }

    template <typename Form, typename Number>
    void patch_rows(Cuda where, const AssemblyArguments<Number> &arguments)
    {
      with_extents<Form>(arguments, [&](auto extents) {
        using Extents = decltype(extents);
        const PatchBody<Form, Number, Extents> body{arguments};
        require_room(body);
        const std::size_t bytes  = body.scratch_bytes();
        const auto        kernel = internal::patch_kernel<Form, Number, Extents>;
        PATCHFEM_CUDA_CHECK(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
        kernel<<<arguments.end_patch - arguments.first_patch, internal::patch_threads<Form, Extents>(), bytes,
                 stream_of(where)>>>(body);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      });
    }
  } // namespace kernels
} // namespace PatchFEM

/** Compiles the device kernels of a weak form. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form)                                                                     \
  template void PatchFEM::kernels::element_matrices<Form, double>(PatchFEM::Cuda,                               \
                                                                  const PatchFEM::AssemblyArguments<double> &); \
  template void PatchFEM::kernels::element_matrices<Form, float>(PatchFEM::Cuda,                                \
                                                                 const PatchFEM::AssemblyArguments<float> &);   \
  template void PatchFEM::kernels::patch_rows<Form, double>(PatchFEM::Cuda,                                     \
                                                            const PatchFEM::AssemblyArguments<double> &);       \
  template void PatchFEM::kernels::patch_rows<Form, float>(PatchFEM::Cuda, const PatchFEM::AssemblyArguments<float> &)

#endif
