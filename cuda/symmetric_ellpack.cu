// SPDX-License-Identifier: LGPL-2.1-or-later
#include "loads.cuh"
#include "parallel_for.cuh"
#include "product.cuh"
#include "tuning.cuh"

namespace PatchFEM::product
{
  namespace
  {
    /**
     * How a block of threads works on a patch in blocks of b x b, each thread on rows_per_thread neighbouring positions; the
     * numbers of Tuning are those of tuning.cuh. Shared memory holds slots for products of transposes, and behind them the
     * source of the patch and of as many rows of its halo, whose place the sums take in the end.
     */
    template <int b, typename Number, typename Sum, typename Tuning = tuning::SymmetricEllpack<Number, b>>
    struct SymmetricTraits : Tuning
    {
      static constexpr int chunk = kernels::symmetric_chunk(b), patch_rows = kernels::symmetric_patch_rows(b);
      static constexpr int n_threads     = patch_rows / Tuning::rows_per_thread;
      static constexpr int n_slots       = chunk * patch_rows + Tuning::rows_per_thread; ///< the last ones are 0
      static constexpr int stride        = 2 * patch_rows + 16 / b; ///< components of a row lie in different banks
      static constexpr int result_stride = patch_rows + 8 / b;
      static constexpr int n_bytes       = b * (n_slots * sizeof(Sum) + stride * sizeof(Number));

      static_assert(result_stride * sizeof(Sum) <= stride * sizeof(Number), "sums have room in place of the source");
      static_assert(chunk % Tuning::unroll == 0, "steps do not reach into the next chunk");
    };

    /**
     * A thread adds the products of its rows' blocks to sums in registers; those of the transposes of blocks inside the
     * patch it leaves in slots, where the threads of the mirrored rows collect them in the order of their lists:
     *
     *     gather     source of the patch and of the first rows of its halo -> shared memory
     *     --------------------------------------------------------------------------------- barrier
     *     diagonal   own and sums
     *     chunk 0    blocks 0 .. chunk - 1 of each row -> sums, their transposes -> slots
     *     --------------------------------------------------------------------------------- barrier
     *     collect    slots that the lists of the own rows name -> sums
     *     --------------------------------------------------------------------------------- barrier
     *     chunk 1    and so on; then blocks outside of the patch, which have no mirror image in it
     *     --------------------------------------------------------------------------------- barrier
     *     results    sums -> shared memory, in the order of rows
     *     --------------------------------------------------------------------------------- barrier
     *     target     rows side by side
     */
    template <int b, typename Traits, typename Value, typename Number, typename Target>
    __global__ void __launch_bounds__(Traits::n_threads, Traits::residency)
        symmetric_ellpack(const SymmetricEllpackView<Value> A, const Number *__restrict__ x, const Target target)
    {
      using Sum = typename Target::Sum;
      if (skip(target))
        return;
      constexpr int     h = SymmetricEllpackView<Value>::slice_height, patch_rows = Traits::patch_rows;
      constexpr int     chunk = Traits::chunk, rows_per_thread = Traits::rows_per_thread, n_threads = Traits::n_threads;
      constexpr int     n_slots = Traits::n_slots, stride = Traits::stride, result_stride = Traits::result_stride;
      constexpr int     unroll = Traits::unroll, n_collected = Traits::n_collected, distance = Traits::distance;
      constexpr bool    ahead = Traits::ahead;
      extern __shared__ __align__(16) unsigned char memory[];
      Sum *const                                    slots  = reinterpret_cast<Sum *>(memory);    // [b][n_slots]
      Sum *const                                    result = slots + b * n_slots;                // [b][result_stride]
      Number *const                                 source = reinterpret_cast<Number *>(result); // [b][stride]

      const int          patch     = blockIdx.x;
      const int          n         = A.n_rows_of(patch);
      const std::int64_t first_row = std::int64_t(patch) * patch_rows;
      const int          position  = threadIdx.x * rows_per_thread;
      const int          r_0       = position % h;
      const std::int64_t slice     = (first_row + position) / h;

      // Gather. Loads that others wait for come first, and none is used before those that need not wait for it are on their
      // way: offsets, rows and the patch's own source, then the numbers of the halo, then its source. Meanwhile a row's
      // first blocks and the numbers of its first slots come into the second-level cache.
      std::int64_t       at         = A.offsets[slice]; // of the block that is read next
      const std::int64_t end        = A.offsets[slice + 1];
      const std::int64_t halo_begin = A.halo_offsets[patch], halo_end = A.halo_offsets[patch + 1];
      const std::int64_t chunk_begin = A.chunk_offsets[patch], chunk_end = A.chunk_offsets[patch + 1];
      std::uint32_t      words[rows_per_thread];
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
        words[r] = __ldg(A.rows + first_row + position + r);
      Number gathered[2][b * rows_per_thread]; // of the patch and of its halo
#pragma unroll
      for (int j = 0; j < b * rows_per_thread; ++j)
      {
        const int i = j * n_threads + threadIdx.x;
        if (i < n * b)
          gathered[0][j] = __ldg(x + first_row * b + i);
      }

      const int *const halo   = A.halo + halo_begin;
      const int        n_halo = static_cast<int>(halo_end - halo_begin);
      const int        n_near = min(n_halo, patch_rows); // whose source is in shared memory
      int              near[b * rows_per_thread];
#pragma unroll
      for (int j = 0; j < b * rows_per_thread; ++j)
      {
        const int i = j * n_threads + threadIdx.x;
        if (i < n_near * b)
          near[j] = __ldg(halo + i / b);
      }
      const int           n_chunks       = static_cast<int>(chunk_end - chunk_begin);
      const std::int64_t *mirror_offsets = A.mirror_offsets + chunk_begin * (patch_rows / h) + position / h;
      std::int64_t        mirror_begin = 0, mirror_end = 0;
      if (n_chunks > 0)
      {
        mirror_begin = mirror_offsets[0];
        mirror_end   = mirror_offsets[1];
      }

      const int  width = static_cast<int>((end - at) / h);
      const auto ask   = [&](const int k, const int further, const int m) { // `further` blocks behind the next one
        if (distance > 0 && r_0 == 0 && k < width)
        {
            const int          n_ahead = min(m, width - k);
            const std::int64_t first   = at + further * h;
            loads::prefetch(A.columns + first, n_ahead * h * sizeof(std::uint16_t));
            loads::prefetch(A.values + first * (b * b), n_ahead * h * b * b * sizeof(Value));
        }
      };
      ask(0, 0, distance);
      constexpr int                n_diagonal = b * (b + 1) / 2;
      Pack<Value, rows_per_thread> diagonal[n_diagonal];
#pragma unroll
      for (int e = 0; e < n_diagonal; ++e)
        loads::stream(diagonal[e], A.diagonal + slice * (h * n_diagonal) + e * h + r_0);
#pragma unroll
      for (int j = 0; j < b * rows_per_thread; ++j)
      {
        const int i = j * n_threads + threadIdx.x;
        if (i < n_near * b)
          gathered[1][j] = __ldg(x + std::int64_t(near[j]) * b + i % b);
      }
      if (distance > 0 && r_0 == 0 && mirror_begin < mirror_end)
        loads::prefetch(A.mirrors + mirror_begin, (mirror_end - mirror_begin) * sizeof(std::uint16_t));
#pragma unroll
      for (int j = 0; j < b * rows_per_thread; ++j)
      {
        const int  i    = j * n_threads + threadIdx.x;
        const auto keep = [&](const int k, const Number value) { source[k % b * stride + k / b] = value; };
        if (i < n * b)
          keep(i, gathered[0][j]);
        if (i < n_near * b)
          keep(patch_rows * b + i, gathered[1][j]);
      }
      if (threadIdx.x < b)
        slots[threadIdx.x * n_slots + chunk * patch_rows] = 0;
      int row[rows_per_thread], n_blocks = 0;
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
      {
        row[r]   = SymmetricRow::row(words[r]);
        n_blocks = max(n_blocks, SymmetricRow::n_blocks(words[r]));
      }

      // What chunks are made of: the blocks of one step of a row, loaded and then used.
      Sum own[rows_per_thread][b], sums[rows_per_thread][b];
      struct Step
      {
        Pack<std::uint16_t, rows_per_thread> column[unroll];
        Pack<Value, rows_per_thread>         value[unroll][b * b];
      };
      // Loads come first, so that they are on their way together.
      const auto load = [&](Step &step, const int k) {
        ask(k + distance, distance, unroll);
#pragma unroll
        for (int u = 0; u < unroll; ++u)
          if (k + u < n_blocks)
          {
            loads::stream(step.column[u], A.columns + at + (u * h + r_0));
#pragma unroll
            for (int e = 0; e < b * b; ++e)
              loads::stream(step.value[u][e], A.values + at * (b * b) + ((u * b * b + e) * h + r_0));
          }
          else
#pragma unroll
            for (int r = 0; r < rows_per_thread; ++r)
            {
              step.column[u][r] = static_cast<std::uint16_t>(row[r]);
#pragma unroll
              for (int e = 0; e < b * b; ++e)
                step.value[u][e][r] = 0;
            }
        at += unroll * h;
      };
      // Transposes leave their products from slot @p slot on, unless it is negative.
      const auto use = [&](const Step &step, const int slot) {
#pragma unroll
        for (int u = 0; u < unroll; ++u)
        {
          bool is_inside = false;
#pragma unroll
          for (int r = 0; r < rows_per_thread; ++r)
          {
            const int local = step.column[u][r];
            is_inside       = is_inside || local < patch_rows;
#pragma unroll
            for (int c = 0; c < b; ++c)
            {
              const Sum other =
                  static_cast<Sum>(local < 2 * patch_rows ? source[c * stride + local]
                                                          : __ldg(x + std::int64_t(halo[local - patch_rows]) * b + c));
#pragma unroll
              for (int a = 0; a < b; ++a)
                sums[r][a] += static_cast<Sum>(step.value[u][a * b + c][r]) * other;
            }
          }
          if (slot >= 0 && is_inside)
#pragma unroll
            for (int c = 0; c < b; ++c)
            {
              Pack<Sum, rows_per_thread> mirrored;
#pragma unroll
              for (int r = 0; r < rows_per_thread; ++r)
              {
                mirrored[r] = 0;
#pragma unroll
                for (int a = 0; a < b; ++a)
                  mirrored[r] += static_cast<Sum>(step.value[u][a * b + c][r]) * own[r][a];
              }
              *reinterpret_cast<Pack<Sum, rows_per_thread> *>(slots + c * n_slots + slot + u * patch_rows + position) =
                  mirrored;
            }
        }
      };
      Step       next;
      const auto range = [&](const int begin, const int end, const bool exchange) {
        for (int k = begin; k < end; k += unroll)
        {
          const int slot = exchange ? (k - begin) * patch_rows : -1;
          if (ahead)
          {
            const Step step = next;
            load(next, k + unroll);
            use(step, slot);
          }
          else
          {
            load(next, k);
            use(next, slot);
          }
        }
      };
      if (ahead)
        load(next, 0);
      __syncthreads();

      // Diagonal.
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
      {
#pragma unroll
        for (int a = 0; a < b; ++a)
          own[r][a] = static_cast<Sum>(source[a * stride + row[r]]);
#pragma unroll
        for (int a = 0; a < b; ++a)
        {
          sums[r][a] = 0;
#pragma unroll
          for (int c = 0; c < b; ++c)
          {
            const int low = a < c ? a : c, high = a < c ? c : a;
            sums[r][a] += static_cast<Sum>(diagonal[low * b - low * (low - 1) / 2 + high - low][r]) * own[r][c];
          }
        }
      }

      // Chunks, each collected before the next.
      for (int c = 0; c < n_chunks; ++c)
      {
        const std::uint16_t                 *mirrors = A.mirrors + mirror_begin + r_0;
        const int                            n_there = static_cast<int>((mirror_end - mirror_begin) / h);
        Pack<std::uint16_t, rows_per_thread> slot[n_collected];
#pragma unroll
        for (int u = 0; u < n_collected; ++u)
          if (u < n_there)
            loads::stream(slot[u], mirrors + u * h);
        if (c + 1 < n_chunks)
        {
          mirror_offsets += patch_rows / h;
          mirror_begin = mirror_offsets[0];
          mirror_end   = mirror_offsets[1];
        }
        range(min(c * chunk, width), min((c + 1) * chunk, width), true);
        __syncthreads();
        const auto collect = [&](const Pack<std::uint16_t, rows_per_thread> &from) {
#pragma unroll
          for (int r = 0; r < rows_per_thread; ++r)
#pragma unroll
            for (int a = 0; a < b; ++a)
              sums[r][a] += slots[a * n_slots + from[r]];
        };
#pragma unroll
        for (int u = 0; u < n_collected; ++u)
          if (u < n_there)
            collect(slot[u]);
        for (int u = n_collected; u < n_there; ++u)
        {
          loads::stream(slot[0], mirrors + u * h);
          collect(slot[0]);
        }
        if (c + 1 < n_chunks)
          __syncthreads();
      }
      range(min(n_chunks * chunk, width), width, false);
      __syncthreads();

      // Results: the source is not needed any more. Sums leave in the order of rows, side by side.
#pragma unroll
      for (int r = 0; r < rows_per_thread; ++r)
        if (position + r < n)
#pragma unroll
          for (int a = 0; a < b; ++a)
            result[a * result_stride + row[r]] = sums[r][a];
      __syncthreads();
      double total = 0.;
#pragma unroll
      for (int j = 0; j < b * rows_per_thread; ++j)
      {
        const int i = j * n_threads + threadIdx.x;
        if (i < n * b)
          total += target.use(first_row * b + i, result[i % b * result_stride + i / b]);
      }
      finish<n_threads>(target, total);
    }

    template <int b, typename Value, typename Number, typename Target>
    void launch(const Cuda &where, const SymmetricEllpackView<Value> &A, const Number *x, const Target &target)
    {
      using Traits      = SymmetricTraits<b, Number, typename Target::Sum>;
      const auto kernel = symmetric_ellpack<b, Traits, Value, Number, Target>;
      PATCHFEM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Traits::n_bytes));
      kernel<<<A.n_patches(), Traits::n_threads, Traits::n_bytes, stream_of(where)>>>(A, x, target);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }
  } // namespace
} // namespace PatchFEM::product

namespace PatchFEM::kernels
{
  template <typename Value, typename Number, typename Target, typename Where>
  void product(Where where, const SymmetricEllpackView<Value> &A, const Number *x, const Target &target)
  {
    if (A.n_rows > 0)
      with_block_size<0x11, 0x22, 0x33, 0x66>(A.block_size, A.block_size,
                                              [&](auto b, auto) { product::launch<b>(where, A, x, target); });
  }

  PATCHFEM_INSTANTIATE_PRODUCTS(Cuda, SymmetricEllpackView)
} // namespace PatchFEM::kernels
