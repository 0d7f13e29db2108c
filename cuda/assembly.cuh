// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_assembly_cuh
#define patchfem_cuda_assembly_cuh

#include "assembly_cells.cuh"
#include "assembly_hexahedra.cuh"
#include "assembly_simplices.cuh"
#include "check.cuh"
#include "overlap.cuh"
#include "staged_cells.cuh"

#include <patchfem/kernels/assembly_extents.h>
#include <patchfem/kernels/element_bodies.h>

#include <algorithm>

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

      template <typename Form, typename Number>
      __global__ void __launch_bounds__(element_threads)
          element_kernel(const __grid_constant__ ElementBody<Form, Number> body)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        Number                                       *scratch = reinterpret_cast<Number *>(memory);
        const BufferedCell                            cell    = body.cell(blockIdx.x);
        const int                                     rank = threadIdx.x, size = blockDim.x;
        body.geometry(cell, rank, size, scratch);
        __syncthreads();
        body.integrate(cell, rank, size, scratch);
        __syncthreads();
        body.boundary(cell, rank, size);
        __syncthreads();
        body.resolve(cell, rank, size);
      }

      /** What follows the computed cells: @p rank of @p size threads, @p barrier() between them. */
      template <typename Body, typename Barrier>
      __device__ __forceinline__ void finish_patch(const Body                   &body,
                                                   const typename Body::Scratch &scratch,
                                                   const int                     patch,
                                                   const int                     rank,
                                                   const int                     size,
                                                   const Barrier                &barrier)
      {
        const PatchesView &p = body.a.patches;
        barrier();
        if (p.fed_offsets != nullptr)
        {
          for (std::int64_t fed = p.fed_offsets[patch] + rank / 32; fed < p.fed_offsets[patch + 1]; fed += size / 32)
            body.add_buffered(patch, fed, WarpTeam(), scratch);
          barrier();
        }
        body.write(patch, rank, size, scratch, body.a.add);
      }

      /**
       * Blocks stay and take one patch after the other, so that the first cells of the next are mapped while the rows of
       * this one are written.
       */
      template <typename Form, typename Number>
      __global__ void __launch_bounds__(Hexahedra<Form, Number>::n_threads, Hexahedra<Form, Number>::residency)
          hexahedra_kernel(const __grid_constant__ PatchBody<Form::n_components, Number> body, const int n_slots)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        const auto                                    scratch = body.scratch(memory);
        const Hexahedra<Form, Number>                 cells{body, scratch, n_slots};
        cells.clear(threadIdx.x, blockDim.x);
        if (threadIdx.x == 0)
          cells.init_barriers();
        __syncthreads();
        if (threadIdx.x / 32 < Hexahedra<Form, Number>::n_mapping)
          cells.map_patches();
        else
          cells.add_patches();
      }

      template <typename Form, typename Number, int pair_bits>
      __global__ void __launch_bounds__(SimplexCells<Form, Number, pair_bits>::n_threads,
                                        SimplexCells<Form, Number, pair_bits>::residency)
          simplex_kernel(const __grid_constant__ PatchBody<1, Number> body)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        const auto                                    scratch = body.scratch(memory);
        const int                                     patch   = body.a.first_patch + blockIdx.x;
        if (body.idle(patch))
          return body.pass_over(patch, threadIdx.x, blockDim.x);
        const SimplexCells<Form, Number, pair_bits> cells{body, scratch, patch};
        body.clear(patch, threadIdx.x, blockDim.x, scratch);
        cells.load();
        __syncthreads();
        cells.run();
        __syncthreads();
        if (body.with_matrix())
        {
          body.mirror(patch, threadIdx.x, blockDim.x, scratch);
          __syncthreads();
          cells.sum_diagonals();
        }
        finish_patch(body, scratch, patch, threadIdx.x, blockDim.x, []() { __syncthreads(); });
      }

      template <typename Form, typename Number, typename Extents>
      __global__ void __launch_bounds__(WarpCells<Form, Number, Extents>::most_warps * 32)
          cells_kernel(const __grid_constant__ PatchBody<Form::n_components, Number> body, const int cells_per_warp)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        const auto                                    scratch = body.scratch(memory);
        const int                                     patch   = body.a.first_patch + blockIdx.x;
        if (body.idle(patch))
          return body.pass_over(patch, threadIdx.x, blockDim.x);
        const CellRecords<Form, Number, Extents> records{body.a};
        const WarpCells<Form, Number, Extents>   cells{body, scratch, records, patch};
        body.clear(patch, threadIdx.x, blockDim.x, scratch);
        __syncthreads();
        cells.run(blockDim.x / 32, cells_per_warp);
        if (body.with_matrix() && body.a.patches.places.upper())
        {
          __syncthreads();
          body.mirror(patch, threadIdx.x, blockDim.x, scratch);
        }
        finish_patch(body, scratch, patch, threadIdx.x, blockDim.x, []() { __syncthreads(); });
      }

      /** Rows gather by GatherRows or GatherOctets. */
      template <typename Gather, int n_comp, typename Number>
      __global__ void __launch_bounds__(Gather::n_threads, Gather::residency)
          gather_kernel(const __grid_constant__ PatchBody<n_comp, Number> body)
      {
        extern __shared__ __align__(16) unsigned char memory[];
        const auto                                    scratch = body.scratch(memory);
        const int                                     patch   = body.a.first_patch + blockIdx.x;
        Gather                                        rows{body, scratch, patch};
        let_next_begin();
        if (body.idle(patch))
        {
          wait_for_previous();
          return body.pass_over(patch, threadIdx.x, blockDim.x);
        }
        rows.prepare();
        body.clear(patch, threadIdx.x, blockDim.x, scratch);
        wait_for_previous();
        __syncthreads();
        rows.run();
        finish_patch(body, scratch, patch, threadIdx.x, blockDim.x, []() { __syncthreads(); });
      }

      template <typename Form>
      __global__ void __launch_bounds__(StagedHexahedra<Form>::n_threads, StagedHexahedra<Form>::residency)
          stage_hexahedra_kernel(const __grid_constant__ AssemblyArguments<double> a)
      {
        __shared__ double2          constants[StagedHexahedra<Form>::n_constants];
        const StagedHexahedra<Form> cells{a, constants};
        let_next_begin();
        cells.tabulate();
        wait_for_previous();
        __syncthreads();
        cells.run();
      }

      /**
       * Whether trilinear hexahedra of @p Form are computed by matrix instructions, in double precision. For sums in
       * single precision that is worth it where a cell has much to compute.
       */
      template <typename Form, typename Number>
      constexpr bool by_matrix_instructions()
      {
        return Form::dimension == 3 &&
               (MomentsOf<Form>::kind == MomentKind::outer_product ||
                (MomentsOf<Form>::kind == MomentKind::inner_product && std::is_same<Number, double>::value));
      }

      /** Whether they are staged sixteen at a time: a cell's matrix is a product with constants. */
      template <typename Form, typename Number>
      constexpr bool staged_by_matrix_instructions()
      {
        return by_matrix_instructions<Form, Number>() && MomentsOf<Form>::kind == MomentKind::inner_product;
      }
    } // namespace internal

    template <typename Form, typename Number>
    PatchRoom needs_patchfem_add_weak_form::patch_room(
        Cuda, const ReferenceView &r, const bool one_point, const std::size_t total, const int concurrent)
    {
      // Other patches on the multiprocessor hide the barriers of one. Each takes 1 KB for the system.
      const auto available = [&](const int preferred) {
        const int n = concurrent > 0 ? concurrent : preferred;
        return total / n - (n > 1 ? 1024 : 0);
      };
      // Patches of 16 rows of trilinear elasticity, redundancy 3.3, were faster than the general gather on an H200.
      constexpr double usual = 3.5;
      // Data that vary inside cells need the general kernel, with one cell at least.
      using Cells             = WarpCells<Form, Number, AnyExtents>;
      const std::size_t least = Cells::shape(r.n_shape, r.n_quadrature, 0).bytes();
      if constexpr (internal::by_matrix_instructions<Form, Number>())
        if (r.n_shape == 8 && r.n_quadrature == 8)
        {
          PatchRoom room{available(Hexahedra<Form, Number>::residency),
                         std::max(least, Hexahedra<Form, Number>::least_slots * Hexahedra<Form, Number>::slot_bytes +
                                             Hexahedra<Form, Number>::barrier_bytes),
                         usual};
          if (internal::staged_by_matrix_instructions<Form, Number>())
          {
            // Every chunk costs about 20 us, in which the first blocks of its kernels wait for far memory and the last
            // ones run out: on an H200 10 million cells took 5.2 ms in 26 chunks, 4.9 in 13 and 4.8 in 7.
            room.most_redundant = 1.;
            room.buffer_share   = 0.25;
          }
          return room;
        }
      if constexpr (Form::n_components == 1 && IsSymmetric<Form>::value)
        if (one_point && r.n_shape == Form::dimension + 1)
        {
          using Simplices = SimplexCells<Form, Number, 5>;
          return {available(Simplices::residency), least, usual, Simplices::bytes_per_row, Simplices::bytes_per_level};
        }
      // Workers have a quarter of the memory, or half if that is too little for four warps: larger patches save fewer
      // integrations than two warps lose (H200, bicubic Laplace in fp64: 192 rows with 2 warps 28 ms, 128 with 4 20 ms).
      const std::size_t bytes = available(Cells::residency);
      const auto        shape = [&](const int part) { return Cells::shape(r.n_shape, r.n_quadrature, bytes / part); };
      return {bytes, shape(shape(4).n_warps < 4 ? 2 : 4).bytes(), usual};
    }

    namespace internal
    {
      inline int multiprocessor_count()
      {
        int device = 0, n = 0;
        PATCHFEM_CUDA_CHECK(cudaGetDevice(&device));
        PATCHFEM_CUDA_CHECK(cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device));
        return n;
      }

      template <typename Form, typename Number>
      void launch_elements(Cuda where, const AssemblyArguments<Number> &arguments)
      {
        const ElementBody<Form, Number> body{arguments};
        if (body.n_cells() == 0)
          return;
        const std::size_t bytes  = body.scratch_size(arguments.batches) * sizeof(Number);
        const auto        kernel = element_kernel<Form, Number>;
        // More than the 48 KB that need no permission from 9^3 quadrature points on.
        PATCHFEM_CUDA_CHECK(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
        kernel<<<body.n_cells(), element_threads, bytes, stream_of(where)>>>(body);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      }
    } // namespace internal

    template <typename Form, typename Number>
    void needs_patchfem_add_weak_form::element_matrices(Cuda where, const AssemblyArguments<Number> &arguments)
    {
      if constexpr (internal::staged_by_matrix_instructions<Form, Number>())
      {
        const ReferenceView &r = arguments.batches.batch[arguments.computed_batch].reference;
        if (arguments.n_staged > 0 && arguments.isoparametric && r.n_shape == 8 && r.n_quadrature == 8)
        {
          using Cells            = StagedHexahedra<Form>;
          constexpr int a_block  = Cells::n_threads / 32 * Cells::cells_a_warp;
          const int     n_blocks = std::min((arguments.n_staged + a_block - 1) / a_block,
                                            internal::multiprocessor_count() * Cells::residency);
          launch_overlapping(internal::stage_hexahedra_kernel<Form>, n_blocks, Cells::n_threads, 0, stream_of(where),
                             arguments);
          AssemblyArguments<Number> others = arguments;
          others.n_staged                  = 0;
          return internal::launch_elements<Form>(where, others);
        }
      }
      internal::launch_elements<Form>(where, arguments);
    }

    namespace internal
    {
      constexpr const char *too_many_rows =
          "The rows of a patch leave no room for its cells; choose fewer rows per patch.";

      template <typename Form, typename Number, typename Extents>
      void launch_patches(Cuda where, const AssemblyArguments<Number> &arguments)
      {
        const PatchBody<Form::n_components, Number> body{arguments};
        const int                                   n_patches = arguments.end_patch - arguments.first_patch;
        const auto launch = [&](const auto kernel, const int n_blocks, const int n_threads, const std::size_t bytes,
                                const auto... rest) {
          PATCHFEM_CUDA_CHECK(
              cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
          kernel<<<n_blocks, n_threads, bytes, stream_of(where)>>>(body, rest...);
          PATCHFEM_CUDA_CHECK_LAUNCH();
        };
        if (arguments.patches.staged_offsets != nullptr)
        {
          const auto gather = [&](const auto kernel, const int n_threads) {
            PATCHFEM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(body.row_bytes())));
            launch_overlapping(kernel, n_patches, n_threads, body.row_bytes(), stream_of(where), body);
          };
          if constexpr (Form::n_components == 1)
            if (arguments.batches.batch[arguments.computed_batch].reference.n_shape == 8 &&
                arguments.patches.places.view.width == 1)
              return gather(gather_kernel<GatherOctets<Number>, 1, Number>, GatherOctets<Number>::n_threads);
          using Rows = GatherRows<Form::n_components, Number>;
          return gather(gather_kernel<Rows, Form::n_components, Number>, Rows::n_threads);
        }
        if (arguments.most_levels == 0) // all cells are buffered
          return launch(cells_kernel<Form, Number, AnyExtents>, n_patches,
                        WarpCells<Form, Number, AnyExtents>::most_warps * 32, body.row_bytes(), 1);
        // The plan has kept room for the workers, unless somebody asked for more rows than fit with them.
        require(arguments.fast_memory >= body.row_bytes(), too_many_rows);
        const std::size_t room = arguments.fast_memory - body.row_bytes();
        if constexpr (Extents::n_shape == 8 && by_matrix_instructions<Form, Number>())
          if (!arguments.coefficients.varies_inside_cells() && arguments.patches.places.view.width == 1)
          {
            using Cells             = Hexahedra<Form, Number>;
            const std::size_t bytes = Cells::slot_bytes, extra = Cells::barrier_bytes;
            const int         n_slots = room < extra ? 0 : static_cast<int>((room - extra) / bytes);
            require(n_slots >= Cells::fewest_slots, too_many_rows);
            const int n_blocks = std::min(n_patches, multiprocessor_count() * Cells::residency);
            return launch(hexahedra_kernel<Form, Number>, n_blocks, Cells::n_threads,
                          body.row_bytes() + n_slots * bytes + extra, n_slots);
          }
        if constexpr (Extents::n_shape == Form::dimension + 1 && Form::n_components == 1 && IsSymmetric<Form>::value)
          if (const BatchView &batch = arguments.batches.batch[arguments.computed_batch];
              arguments.patches.places.upper() && batch.geometry == batch.nodes)
          {
            using Cells             = SimplexCells<Form, Number, 5>;
            const std::size_t bytes = Cells::bytes(arguments);
            require(bytes <= room, too_many_rows);
            return launch(arguments.patches.places.pair_bits == 5 ? simplex_kernel<Form, Number, 5>
                                                                  : simplex_kernel<Form, Number, 8>,
                          n_patches, Cells::n_threads, body.row_bytes() + bytes);
          }
        using Cells                = WarpCells<Form, Number, Extents>;
        const ReferenceView &r     = arguments.batches.batch[arguments.computed_batch].reference;
        const auto           shape = Cells::shape(r.n_shape, arguments.one_point ? 1 : r.n_quadrature, room);
        require(shape.bytes() <= room, too_many_rows);
        launch(cells_kernel<Form, Number, Extents>, n_patches, shape.n_warps * 32, body.row_bytes() + shape.bytes(),
               shape.cells_per_warp);
      }
    } // namespace internal

    template <typename Form, typename Number>
    void needs_patchfem_add_weak_form::patch_rows(Cuda where, const AssemblyArguments<Number> &arguments)
    {
      with_extents<Form>(arguments, [&](auto extents) {
        using Extents = decltype(extents);
        // In the kernels with fixed extents a lane has one component of a load at most.
        constexpr bool fits = Extents::n_shape == 0 || Form::n_components <= 4;
        internal::launch_patches<Form, Number, std::conditional_t<fits, Extents, AnyExtents>>(where, arguments);
      });
    }
  } // namespace kernels
} // namespace PatchFEM

/** Compiles the device kernels of a weak form. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form)                                                                     \
  template PatchFEM::kernels::PatchRoom PatchFEM::kernels::patch_room<Form, double>(                            \
      PatchFEM::Cuda, const PatchFEM::ReferenceView &, bool, std::size_t, int);                                 \
  template PatchFEM::kernels::PatchRoom PatchFEM::kernels::patch_room<Form, float>(                             \
      PatchFEM::Cuda, const PatchFEM::ReferenceView &, bool, std::size_t, int);                                 \
  template void PatchFEM::kernels::element_matrices<Form, double>(PatchFEM::Cuda,                               \
                                                                  const PatchFEM::AssemblyArguments<double> &); \
  template void PatchFEM::kernels::element_matrices<Form, float>(PatchFEM::Cuda,                                \
                                                                 const PatchFEM::AssemblyArguments<float> &);   \
  template void PatchFEM::kernels::patch_rows<Form, double>(PatchFEM::Cuda,                                     \
                                                            const PatchFEM::AssemblyArguments<double> &);       \
  template void PatchFEM::kernels::patch_rows<Form, float>(PatchFEM::Cuda, const PatchFEM::AssemblyArguments<float> &)

#endif
