// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_cuda_gather_staged_cuh
#define patchfem_cuda_gather_staged_cuh

#include <patchfem/kernels/gathered_rows.h>

namespace PatchFEM
{
  namespace kernels
  {
    /**
     * A patch copies the matrices of all its cells, 352 bytes each, from the buffer to shared memory, where each entry of
     * its rows is a few numbers at any places: 32 rows to a warp, a thread reads what its entry sums. The copies of a
     * patch are under way together; other patches on the multiprocessor sum meanwhile.
     */
    struct GatherStaged
    {
      static constexpr int n_threads = 512, residency = 2;

      using Body    = PatchBody<1, double>;
      using Scratch = Body::Scratch;

      const Body    &body;
      const Scratch &scratch;
      const int      patch;

      static __device__ int lane() { return threadIdx.x % 32; }
      static __device__ int warp() { return static_cast<int>(threadIdx.x) / 32; }

      static std::size_t bytes(const Body &body)
      {
        return body.row_bytes() + StagedOctet::begin(body.a.most_cells) * sizeof(double);
      }

      __device__ double *staged() const { return static_cast<double *>(scratch.workers); }

      /**
       * All threads of the block, before a barrier: zeros for entries that have less to sum than others. Returns the slot
       * of this warp's cell number lane().
       */
      __device__ int prepare() const
      {
        if (threadIdx.x < StagedOctet::zeros)
          staged()[threadIdx.x] = 0.;
        return load_slot(0);
      }

      __device__ int n_cells() const
      {
        return static_cast<int>(body.a.patches.cell_offsets[patch + 1] - body.a.patches.cell_offsets[patch]);
      }

      /** Cells go to warps in turn. */
      __device__ int load_slot(const int begin) const
      {
        const int k = begin + warp() + lane() * (n_threads / 32);
        return k < n_cells() ? body.a.patches.cells[body.a.patches.cell_offsets[patch] + k] : 0;
      }

      /** All threads of the block start the copies, a warp those of a cell, 16 bytes to a lane. */
      __device__ void bring(int slots) const
      {
        const double *buffer  = body.a.buffer_matrix + body.a.staged_matrix + 2 * lane();
        constexpr int n_parts = StagedOctet::size / 2, n_warps = n_threads / 32;
        static_assert(n_parts <= 32, "A lane copies one part of a cell.");
        const int n = n_cells();
        for (int begin = 0; begin < n; begin += n_threads)
        {
          if (begin > 0)
            slots = load_slot(begin);
          for (int k = 0; k < 32 && begin + warp() + k * n_warps < n; ++k)
          {
            const int slot = __shfl_sync(0xffffffffu, slots, k);
            if (lane() < n_parts)
              copy(staged() + StagedOctet::begin(begin + warp() + k * n_warps) + 2 * lane(),
                   buffer + std::int64_t(slot) * StagedOctet::size);
          }
        }
      }

      /** Starts to copy 16 bytes, past the first-level cache: other patches have what they share of it. */
      static __device__ void copy(double *to, const double *from)
      {
        asm volatile(
            "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned int>(__cvta_generic_to_shared(to))),
            "l"(__cvta_generic_to_global(from))
            : "memory");
      }

      /** All threads of the block wait for the copies of all. */
      static __device__ void wait()
      {
        asm volatile("cp.async.wait_all;" ::: "memory");
        __syncthreads();
      }

      struct Work
      {
        GatherItem                    item;
        GatheredRows<double>::Fetched fetched;
      };

      static __device__ GatherItem item(const unsigned long long word)
      {
        return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16),
                static_cast<std::uint16_t>(word >> 32), static_cast<std::uint8_t>(word >> 48),
                static_cast<std::uint8_t>(word >> 56)};
      }

      /** Items go to warps in turn; what the next two need is under way while one is summed. */
      __device__ void run() const
      {
        const GatheredRows<double> rows(body, scratch, patch, staged());
        constexpr int              n_warps = n_threads / 32;
        const int                  n       = (rows.n_items - warp() + n_warps - 1) / n_warps; // of this warp
        bool                       waiting = true;
        for (int begin = 0; begin < n || waiting; begin += 32)
        {
          const int          n_now = min(n - begin, 32);
          unsigned long long mine  = 0;
          Work               now, next;
          const auto         fetch = [&](const int k) {
            Work work;
            work.item    = item(__shfl_sync(0xffffffffu, mine, min(k, n_now - 1)));
            work.fetched = rows.fetch(work.item, lane());
            return work;
          };
          if (n_now > 0)
          {
            const int k = warp() + n_warps * (begin + min(lane(), n_now - 1));
            mine        = reinterpret_cast<const unsigned long long *>(rows.items)[k];
            now         = fetch(0);
            next        = fetch(1);
          }
          if (waiting)
            wait();
          waiting = false;
          for (int k = 0; k < n_now; ++k)
          {
            const Work after = fetch(k + 2);
            rows.sum(now.item, now.fetched, lane());
            now  = next;
            next = after;
          }
        }
      }
    };
  } // namespace kernels
} // namespace PatchFEM

#endif
