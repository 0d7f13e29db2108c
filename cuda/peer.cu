// SPDX-License-Identifier: LGPL-2.1-or-later
#include "check.cuh"
#include "tuning.cuh"

#include <patchfem/kernels/peer.h>

#include <cuda/atomic>

#include <algorithm>

namespace PatchFEM::kernels
{
  namespace
  {
    constexpr int block_size = tuning::block_size;

    constexpr auto relaxed = cuda::memory_order_relaxed;

    template <typename T>
    using OfSystem = cuda::atomic_ref<T, cuda::thread_scope_system>;

    __device__ std::uint64_t nanoseconds()
    {
      std::uint64_t now;
      asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
      return now;
    }

    /** Until @p done(), for which @p rank is waited. */
    template <typename Done>
    __device__ void wait(const Done &done, const int rank, const PeerPatience &patience)
    {
      if (done())
        return;
      const std::uint64_t begin = nanoseconds();
      while (!done())
        if (nanoseconds() - begin > patience.nanoseconds)
        {
          *static_cast<volatile int *>(patience.late) = rank + 1;
          __threadfence_system();
          __trap();
        }
    }

    /** Until @p flag is not before @p count. */
    __device__ void
    wait_for(const std::uint64_t *flag, const std::uint64_t count, const int rank, const PeerPatience &patience)
    {
      OfSystem<std::uint64_t> raised(*const_cast<std::uint64_t *>(flag));
      wait([&] { return raised.load(cuda::memory_order_acquire) >= count; }, rank, patience);
    }

    /** What comes before it in this thread, or before a barrier of its block, is seen by who has waited for it. */
    __device__ void raise(std::uint64_t &flag, const std::uint64_t count)
    {
      OfSystem<std::uint64_t>(flag).store(count, cuda::memory_order_release);
    }

    /** What block number @p block of those of all links does. */
    template <bool puts, typename Word>
    __device__ void move(const PeerLinks    &all,
                         const unsigned int  block,
                         const unsigned int  words,
                         const int          *indices,
                         const Word         *values,
                         Word               *ghosts,
                         const PeerPatience &patience)
    {
      int l = 0;
      while (l + 1 < all.n_links && all.links[l + 1].first_block <= block)
        ++l;
      const PeerLink      link  = all.links[l];
      const unsigned int  own   = block - link.first_block;
      const std::uint64_t now   = link.count[own] + 1;
      const unsigned int  n     = static_cast<unsigned int>(link.end - link.begin) * words,
                         stride = link.n_blocks * block_size;
      unsigned int k            = own * block_size + threadIdx.x;
      const auto   value        = [&] {
        return indices == nullptr
                            ? values[static_cast<std::int64_t>(link.begin) * words + k]
                            : values[static_cast<std::int64_t>(indices[link.begin + k / words]) * words + k % words];
      };
      Word first{}; // of short messages there is no other, and it is read while the inbox is waited for
      if (puts && k < n)
        first = value();
      if (threadIdx.x == 0)
        wait_for(link.awaited + own, link.awaited_from + (!puts ? now : (now > 2 ? now - 2 : 0)), link.rank, patience);
      __syncthreads();
      Word *const inbox = reinterpret_cast<Word *>(link.inbox + now % 2 * link.half);
      if (puts && k < n)
      {
        inbox[k] = first;
        for (k += stride; k < n; k += stride)
          inbox[k] = value();
      }
      for (; !puts && k < n; k += stride) // written by others: past the first-level cache
        ghosts[static_cast<std::int64_t>(link.begin) * words + k] = __ldcg(inbox + k);
      // What the threads of a block have written is ordered by the barrier before what the first one releases then.
      __syncthreads();
      if (threadIdx.x > 0)
        return;
      link.count[own] = now;
      raise(link.raised[own], link.raised_from + now);
    }

    /** Blocks that put come before those that take: they wait for nothing that comes after this kernel. */
    template <typename Word>
    __global__ void __launch_bounds__(block_size) exchange_kernel(const PeerLinks    to,
                                                                  const PeerLinks    from,
                                                                  const unsigned int words,
                                                                  const int         *indices,
                                                                  const Word        *values,
                                                                  Word              *ghosts,
                                                                  const PeerPatience patience)
    {
      if (blockIdx.x < to.n_blocks)
        move<true>(to, blockIdx.x, words, indices, values, static_cast<Word *>(nullptr), patience);
      else
        move<false>(from, blockIdx.x - to.n_blocks, words, nullptr, static_cast<const Word *>(nullptr), ghosts,
                    patience);
    }

    /** As many links as a launch takes along. */
    struct SomeLinks
    {
      static constexpr int most = 32;
      PeerLink             links[most];
    };
    static_assert(sizeof(SomeLinks) <= 4000, "Arguments of a kernel have 4 kB.");

    /** A block for each link, and a thread for each of the link's blocks. */
    __global__ void __launch_bounds__(most_peer_blocks)
        open_kernel(const SomeLinks some, const int n_puts, PeerLink *const there)
    {
      const int          l    = static_cast<int>(blockIdx.x);
      const PeerLink     link = some.links[l];
      const unsigned int own  = threadIdx.x;
      if (own == 0)
        there[l] = link;
      if (own >= link.n_blocks)
        return;
      link.count[own] = 0;
      if (l >= n_puts)
        raise(link.raised[own], link.raised_from);
    }

    /** Calls @p function with the widest word that things of @p bytes consist of. */
    template <typename Function>
    void with_words(const std::size_t bytes, const Function &function)
    {
      if (bytes % 16 == 0)
        function(uint4());
      else if (bytes % 8 == 0)
        function(uint2());
      else
        function(0u);
    }

    template <typename Word>
    __global__ void __launch_bounds__(block_size) gather_kernel(const std::int64_t n,
                                                                const int          words,
                                                                const int *__restrict__ indices,
                                                                const Word *__restrict__ from,
                                                                Word *__restrict__ to)
    {
      const std::int64_t k = std::int64_t(blockIdx.x) * block_size + threadIdx.x;
      if (k < n)
        to[k] = indices == nullptr ? from[k] : from[static_cast<std::int64_t>(indices[k / words]) * words + k % words];
    }

    /** One block, of which thread most * r + i is for number i of rank r. */
    __global__ void sum_kernel(const PeerSum ranks, const int n, double *values, const PeerPatience patience)
    {
      constexpr int       most = PeerSum::most;
      __shared__ double   numbers[PeerSum::most_ranks * most];
      const int           other = static_cast<int>(threadIdx.x) / most, i = static_cast<int>(threadIdx.x) % most;
      const std::uint32_t now = *ranks.count + 1;
      // The box of the sum before last may be filled again: who takes part in the last one has read it.
      const auto word = [&](const int box, const int from, const int half) -> std::uint64_t & {
        return ranks.boxes[box][((now % 2 * ranks.n_ranks + from) * most + i) * 2 + half];
      };
      if (other < ranks.n_ranks && i < n)
      {
        const std::uint64_t count = std::uint64_t(now) << 32;
        const auto          bits  = static_cast<std::uint64_t>(__double_as_longlong(values[i]));
        OfSystem<std::uint64_t>(word(other, ranks.rank, 0)).store(count | (bits & 0xffffffffu), relaxed);
        OfSystem<std::uint64_t>(word(other, ranks.rank, 1)).store(count | bits >> 32, relaxed);
        std::uint64_t halves[2];
        for (int half = 0; half < 2; ++half)
          wait(
              [&] {
                halves[half] = OfSystem<std::uint64_t>(word(ranks.rank, other, half)).load(relaxed);
                return halves[half] >> 32 == now;
              },
              other, patience);
        numbers[threadIdx.x] =
            __longlong_as_double(static_cast<long long>((halves[0] & 0xffffffffu) | halves[1] << 32));
      }
      __syncthreads();
      if (threadIdx.x < n)
      {
        double sum = 0.;
        for (int rank = 0; rank < ranks.n_ranks; ++rank)
          sum += numbers[rank * most + i];
        values[i] = sum;
      }
      if (threadIdx.x == 0)
        *ranks.count = now;
    }

    __global__ void sum_of_ranks_kernel(const int n_ranks, const int n, const double *parts, double *values)
    {
      const int i   = static_cast<int>(threadIdx.x);
      double    sum = 0.;
      for (int rank = 0; rank < n_ranks; ++rank)
        sum += parts[rank * n + i];
      values[i] = sum;
    }
  } // namespace

  unsigned int peer_blocks(const std::int64_t n, const std::size_t bytes)
  {
    std::int64_t n_words = 0;
    with_words(bytes, [&](auto word) { n_words = n * static_cast<std::int64_t>(bytes / sizeof(word)); });
    return static_cast<unsigned int>(
        std::clamp<std::int64_t>((n_words + block_size - 1) / block_size, 1, most_peer_blocks));
  }

  void gather_things(
      const Cuda where, const std::int64_t n, const std::size_t bytes, const int *indices, const void *from, void *to)
  {
    if (n > 0)
      with_words(bytes, [&](auto word) {
        using Word      = decltype(word);
        const int words = static_cast<int>(bytes / sizeof(Word));
        gather_kernel<<<static_cast<unsigned int>((n * words + block_size - 1) / block_size), block_size, 0,
                        stream_of(where)>>>(n * words, words, indices, static_cast<const Word *>(from),
                                            static_cast<Word *>(to));
        PATCHFEM_CUDA_CHECK_LAUNCH();
      });
  }

  void peer_open(const Cuda where, const PeerLink *const links, const int n, const int n_puts, PeerLink *const there)
  {
    for (int begin = 0; begin < n; begin += SomeLinks::most)
    {
      const int n_some = std::min<int>(SomeLinks::most, n - begin);
      SomeLinks some{};
      std::copy_n(links + begin, n_some, some.links);
      open_kernel<<<n_some, most_peer_blocks, 0, stream_of(where)>>>(some, n_puts - begin, there + begin);
      PATCHFEM_CUDA_CHECK_LAUNCH();
    }
  }

  void peer_put(const Cuda          where,
                const PeerLinks    &links,
                const std::size_t   bytes,
                const int          *indices,
                const void         *values,
                const PeerPatience &patience)
  {
    peer_exchange(where, links, PeerLinks{}, bytes, indices, values, nullptr, patience);
  }

  void peer_take(const Cuda          where,
                 const PeerLinks    &links,
                 const std::size_t   bytes,
                 void *const         ghosts,
                 const PeerPatience &patience)
  {
    peer_exchange(where, PeerLinks{}, links, bytes, nullptr, nullptr, ghosts, patience);
  }

  void peer_exchange(const Cuda          where,
                     const PeerLinks    &to,
                     const PeerLinks    &from,
                     const std::size_t   bytes,
                     const int          *indices,
                     const void         *values,
                     void               *ghosts,
                     const PeerPatience &patience)
  {
    if (const unsigned int n_blocks = to.n_blocks + from.n_blocks; n_blocks > 0)
      with_words(bytes, [&](auto word) {
        using Word = decltype(word);
        exchange_kernel<<<n_blocks, block_size, 0, stream_of(where)>>>(
            to, from, static_cast<unsigned int>(bytes / sizeof(Word)), indices, static_cast<const Word *>(values),
            static_cast<Word *>(ghosts), patience);
        PATCHFEM_CUDA_CHECK_LAUNCH();
      });
  }

  void peer_sum(const Cuda where, const PeerSum &ranks, const int n, double *const values, const PeerPatience &patience)
  {
    sum_kernel<<<1, PeerSum::most * ranks.n_ranks, 0, stream_of(where)>>>(ranks, n, values, patience);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }

  void sum_of_ranks(const Cuda where, const int n_ranks, const int n, const double *const parts, double *const values)
  {
    sum_of_ranks_kernel<<<1, n, 0, stream_of(where)>>>(n_ranks, n, parts, values);
    PATCHFEM_CUDA_CHECK_LAUNCH();
  }
} // namespace PatchFEM::kernels
