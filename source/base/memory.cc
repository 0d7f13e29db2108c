// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/emulated_device.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/memory.h>
#include <patchfem/kernels/runtime.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include <sys/mman.h>

namespace PatchFEM
{
  namespace
  {
    constexpr std::size_t huge_page = std::size_t(2) << 20;

    /**
     * Memory of the emulated device: one reserved range of addresses that a KernelScope opens and closes with one
     * system call each, which takes time for every page that is there: hence 2 MB pages, if there are. Blocks are whole
     * small pages, handed out best fit; the 2 MB pages inside of a freed one go back to the system.
     */
    class Arena
    {
    public:
      Arena()
      {
        void *const address =
            mmap(nullptr, reserved + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        require(address != MAP_FAILED, "The emulated device could not reserve addresses for its memory.");
        base = reinterpret_cast<char *>(round_up(reinterpret_cast<std::size_t>(address), huge_page));
        madvise(base, reserved, MADV_HUGEPAGE); // else: small pages
      }

      void *allocate(const std::size_t n)
      {
        const std::size_t                 bytes = round_up(n, page);
        const std::lock_guard<std::mutex> lock(mutex);
        const auto                        found  = free_blocks.lower_bound(bytes);
        std::size_t                       offset = used;
        if (found != free_blocks.end())
        {
          offset                     = found->second;
          const std::size_t leftover = found->first - bytes;
          free_blocks.erase(found);
          if (leftover > 0)
            free_blocks.emplace(leftover, offset + bytes);
        }
        else
        {
          require(used + bytes <= reserved, "The emulated device is out of addresses.");
          used += bytes;
          if (depth > 0)
            make_accessible();
        }
        return base + offset;
      }

      void deallocate(void *const pointer, const std::size_t n) noexcept
      {
        const std::size_t                 bytes = round_up(n, page);
        const std::lock_guard<std::mutex> lock(mutex);
        const std::size_t                 offset = static_cast<char *>(pointer) - base;
        const std::size_t begin = round_up(offset, huge_page), end = (offset + bytes) / huge_page * huge_page;
        if (begin < end)
          madvise(base + begin, end - begin, MADV_DONTNEED);
        free_blocks.emplace(bytes, offset);
      }

      void open()
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (depth++ == 0)
          make_accessible();
      }

      void close()
      {
        const std::lock_guard<std::mutex> lock(mutex);
        if (--depth == 0)
          mprotect(base, round_up(used, huge_page), PROT_NONE);
      }

    private:
      static constexpr std::size_t page = 4096, reserved = std::size_t(1) << 38;

      char                                   *base  = nullptr;
      std::size_t                             used  = 0; ///< bytes from base that have ever been handed out
      int                                     depth = 0;
      std::mutex                              mutex;
      std::multimap<std::size_t, std::size_t> free_blocks; ///< bytes -> offset

      static std::size_t round_up(const std::size_t bytes, const std::size_t unit)
      {
        return (bytes + unit - 1) / unit * unit;
      }

      void make_accessible()
      {
        require(used == 0 || mprotect(base, round_up(used, huge_page), PROT_READ | PROT_WRITE) == 0,
                "The emulated device could not change the protection of its memory.");
      }
    };

    Arena &emulated_device()
    {
      static Arena *const object = new Arena; // outlives static arrays
      return *object;
    }
  } // namespace

  KernelScope::KernelScope(const Backend &backend) : opens(backend.kind() == BackendKind::emulated_device)
  {
    if (opens)
      emulated_device().open();
  }

  KernelScope::~KernelScope()
  {
    if (opens)
      emulated_device().close();
  }

  namespace memory
  {
    namespace
    {
      struct Account
      {
        std::atomic<std::size_t> now{0}, most{0};
      };

      Account &account(const BackendKind kind)
      {
        static Account accounts[3];
        return accounts[static_cast<int>(kind)];
      }

      std::atomic<std::size_t>  emulated_limit{SIZE_MAX};
      std::atomic<std::int64_t> until_refusal{0};

      void count(const BackendKind kind, const std::ptrdiff_t bytes) noexcept
      {
        Account          &a    = account(kind);
        const std::size_t sum  = a.now += bytes; // modulo 2^64
        std::size_t       seen = a.most;
        while (bytes > 0 && seen < sum && !a.most.compare_exchange_weak(seen, sum))
          ;
      }

      /** Large arrays get 2 MB pages if there are: products of many streams otherwise wait for address translations. */
      void *allocate_host(const std::size_t bytes)
      {
        const std::size_t alignment = bytes >= 4 * huge_page ? huge_page : 256;
        void *const       pointer   = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
        if (pointer != nullptr && alignment == huge_page)
          madvise(pointer, (bytes + alignment - 1) / alignment * alignment, MADV_HUGEPAGE); // else: ordinary pages
        return pointer;
      }

      /**
       * Calls function(first byte, bytes) for pieces of @p bytes of the host's memory. Threads touch their own share of
       * fresh pages first: the system's zeroing of them is shared out, and they lie near these threads.
       */
      template <typename Function>
      void for_pieces(const std::size_t bytes, const Function &function)
      {
        constexpr std::int64_t piece = 1 << 18;
        const std::int64_t     n     = static_cast<std::int64_t>(bytes);
#pragma omp parallel for schedule(static) if (n > piece)
        for (std::int64_t i = 0; i < n; i += piece)
          function(i, static_cast<std::size_t>(n - i < piece ? n - i : piece));
      }

      void copy_on_host(void *const destination, const void *const source, const std::size_t bytes)
      {
        for_pieces(bytes, [&](const std::int64_t i, const std::size_t n) {
          std::memcpy(static_cast<char *>(destination) + i, static_cast<const char *>(source) + i, n);
        });
      }

      std::string mebibytes(const std::size_t bytes)
      {
        return std::to_string((bytes >> 20) + 1) + " MiB";
      }
    } // namespace

    void *allocate(const Backend &backend, const std::size_t bytes)
    {
      void *pointer = nullptr;
      if (backend.kind() == BackendKind::host)
        pointer = allocate_host(bytes);
      else if (backend.kind() == BackendKind::emulated_device)
      {
        const bool refused = until_refusal > 0 && --until_refusal == 0;
        pointer =
            in_use(backend.kind()) + bytes <= emulated_limit && !refused ? emulated_device().allocate(bytes) : nullptr;
      }
#ifdef PATCHFEM_WITH_CUDA
      else
        pointer = cuda_runtime::allocate(bytes, backend.stream());
#endif
      require(pointer != nullptr, [&] {
        return "Not enough memory on back end '" + backend.name() + "': " + mebibytes(bytes) + " were asked for, " +
               mebibytes(backend.free_memory()) + " are free.";
      });
      count(backend.kind(), static_cast<std::ptrdiff_t>(bytes));
      return pointer;
    }

    void deallocate(const Backend &backend, void *const pointer, const std::size_t bytes) noexcept
    {
      if (backend.kind() == BackendKind::host)
        std::free(pointer);
      else if (backend.kind() == BackendKind::emulated_device)
        emulated_device().deallocate(pointer, bytes);
#ifdef PATCHFEM_WITH_CUDA
      else
        cuda_runtime::deallocate(pointer, backend.stream());
#endif
      count(backend.kind(), -static_cast<std::ptrdiff_t>(bytes));
    }

    void copy(const Backend    &to,
              void *const       destination,
              const Backend    &from,
              const void *const source,
              const std::size_t bytes)
    {
#ifdef PATCHFEM_WITH_CUDA
      const bool to_device = to.kind() == BackendKind::cuda;
      if (to_device || from.kind() == BackendKind::cuda)
      {
        require(to.kind() != BackendKind::emulated_device && from.kind() != BackendKind::emulated_device,
                "Nothing is copied between a GPU and the emulated device.");
        if (to == from)
          return cuda_runtime::copy(destination, source, bytes, to.stream());
        return cuda_runtime::copy_staged(destination, source, bytes, to_device, (to_device ? to : from).stream(),
                                         copy_on_host);
      }
#endif
      launch(to.kind() == BackendKind::host ? from : to, [&](auto) { copy_on_host(destination, source, bytes); });
    }

    void set_zero(const Backend &backend, void *const pointer, const std::size_t bytes)
    {
      if (bytes == 0)
        return;
#ifdef PATCHFEM_WITH_CUDA
      if (backend.kind() == BackendKind::cuda)
        return cuda_runtime::set_zero(pointer, bytes, backend.stream());
#endif
      launch(backend, [&](auto) {
        for_pieces(bytes, [&](const std::int64_t i, const std::size_t n) {
          std::memset(static_cast<char *>(pointer) + i, 0, n);
        });
      });
    }

    std::size_t in_use(const BackendKind kind)
    {
      return account(kind).now;
    }

    std::size_t peak(const BackendKind kind)
    {
      return account(kind).most;
    }

    void limit_emulated_device(const std::size_t bytes)
    {
      emulated_limit = bytes;
    }

    void refuse_on_emulated_device(const std::int64_t n)
    {
      until_refusal = n;
    }

    void reset_peak(const BackendKind kind)
    {
      account(kind).most = account(kind).now.load();
    }
  } // namespace memory

  void cuda_runtime::count_workspace(const std::ptrdiff_t bytes) noexcept
  {
    memory::count(BackendKind::cuda, bytes);
  }
} // namespace PatchFEM
