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
      static constexpr int n_threads = 256, residency = 2;

      using Body    = PatchBody<1, double>;
      using Scratch = Body::Scratch;

      const Body    &body;
      const Scratch &scratch;
      const int      patch;

      static __device__ int lane() { return threadIdx.x % 32; }
      static __device__ int warp() { return static_cast<int>(threadIdx.x) / 32; }

      static std::size_t bytes(const Body &body)
      {
        return body.row_bytes() + 16 + StagedOctet::begin(body.a.most_cells) * sizeof(double);
      }

      /** A barrier, then the matrices. */
      __device__ unsigned int barrier() const
      {
        return static_cast<unsigned int>(__cvta_generic_to_shared(scratch.workers));
      }
      __device__ double *staged() const { return static_cast<double *>(scratch.workers) + 2; }

      /** All threads of the block start the copies. */
      __device__ void bring() const
      {
        const AssemblyArguments<double> &a       = body.a;
        const std::int64_t               first   = a.patches.cell_offsets[patch];
        const int                        n_cells = static_cast<int>(a.patches.cell_offsets[patch + 1] - first);
        constexpr unsigned int           size    = StagedOctet::size * sizeof(double);
        if (threadIdx.x == 0)
        {
          asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier()) : "memory");
          asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        if (threadIdx.x < StagedOctet::zeros)
          staged()[threadIdx.x] = 0.;
        __syncthreads();
        if (threadIdx.x == 0)
          asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier()), "r"(n_cells * size)
                       : "memory");
        const unsigned int to = static_cast<unsigned int>(__cvta_generic_to_shared(staged() + StagedOctet::begin(0)));
        for (int slot = threadIdx.x; slot < n_cells; slot += n_threads)
        {
          const double *from = a.buffer_matrix + a.staged_matrix +
                               std::int64_t(a.patches.cells[first + slot]) * StagedOctet::size;
          asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                           to + slot * size),
                       "l"(__cvta_generic_to_global(from)), "r"(size), "r"(barrier())
                       : "memory");
        }
      }

      __device__ void wait() const
      {
        asm volatile("{\n"
                     ".reg .pred done;\n"
                     "again:\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
                     "@!done bra again;\n"
                     "}" ::"r"(barrier())
                     : "memory");
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
          {
            __syncthreads(); // starts of rows
            wait();
          }
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
