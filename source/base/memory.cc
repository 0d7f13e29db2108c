// SPDX-License-Identifier: LGPL-2.1-or-later
#include "emulated_device.h"

#include <patchfem/base/exceptions.h>
#include <patchfem/base/memory.h>
#include <patchfem/kernels/runtime.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace PatchFEM
{
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

      void count(const BackendKind kind, const std::ptrdiff_t bytes) noexcept
      {
        Account          &a    = account(kind);
        const std::size_t sum  = a.now += bytes; // modulo 2^64
        std::size_t       seen = a.most;
        while (bytes > 0 && seen < sum && !a.most.compare_exchange_weak(seen, sum))
          ;
      }

      /**
       * Large arrays lie in pages of 2 MB if the system has them: a product that goes through many streams, and reads the
       * source here and there, otherwise waits for translations of addresses.
       */
      void *allocate_host(const std::size_t bytes)
      {
        constexpr std::size_t huge_page = std::size_t(2) << 20;
        const std::size_t     alignment = bytes >= 4 * huge_page ? huge_page : 256;
        void *const           pointer = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
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
      switch (backend.kind())
      {
      case BackendKind::host:
        pointer = allocate_host(bytes);
        break;
      case BackendKind::emulated_device:
        pointer = emulated_device::allocate(bytes);
        break;
      case BackendKind::cuda:
#ifdef PATCHFEM_WITH_CUDA
        pointer = cuda_runtime::allocate(bytes, backend.stream());
#endif
        break;
      }
      require(pointer != nullptr, [&] {
        return "Not enough memory on back end '" + backend.name() + "': " + mebibytes(bytes) + " were asked for, " +
               mebibytes(backend.free_memory()) + " are free.";
      });
      count(backend.kind(), static_cast<std::ptrdiff_t>(bytes));
      return pointer;
    }

    void deallocate(const Backend &backend, void *const pointer, const std::size_t bytes) noexcept
    {
      switch (backend.kind())
      {
      case BackendKind::host:
        std::free(pointer);
        break;
      case BackendKind::emulated_device:
        emulated_device::deallocate(pointer, bytes);
        break;
      case BackendKind::cuda:
#ifdef PATCHFEM_WITH_CUDA
        cuda_runtime::deallocate(pointer, backend.stream());
#endif
        break;
      }
      count(backend.kind(), -static_cast<std::ptrdiff_t>(bytes));
    }

    void copy(const Backend    &to,
              void *const       destination,
              const Backend    &from,
              const void *const source,
              const std::size_t bytes)
    {
#ifdef PATCHFEM_WITH_CUDA
      if (to.kind() == BackendKind::cuda || from.kind() == BackendKind::cuda)
      {
        require(to.kind() != BackendKind::emulated_device && from.kind() != BackendKind::emulated_device,
                "Nothing is copied between a GPU and the emulated device.");
        // A copy into another stream's memory follows all that the source's stream was given.
        const bool to_device = to.kind() == BackendKind::cuda, inside = to.kind() == from.kind();
        if (inside && to != from)
          from.synchronize();
        if (inside)
          cuda_runtime::copy(destination, source, bytes, to.stream());
        else
          cuda_runtime::copy_staged(destination, source, bytes, to_device, (to_device ? to : from).stream(),
                                    copy_on_host);
        return;
      }
#endif
      if (to.kind() == BackendKind::emulated_device || from.kind() == BackendKind::emulated_device)
      {
        const emulated_device::KernelScope scope;
        copy_on_host(destination, source, bytes);
      }
      else
        copy_on_host(destination, source, bytes);
    }

    void set_zero(const Backend &backend, void *const pointer, const std::size_t bytes)
    {
      if (bytes == 0)
        return;
#ifdef PATCHFEM_WITH_CUDA
      if (backend.kind() == BackendKind::cuda)
      {
        cuda_runtime::set_zero(pointer, bytes, backend.stream());
        return;
      }
#endif
      dispatch(backend, [&](auto) {
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
