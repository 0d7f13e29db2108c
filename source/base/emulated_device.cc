// SPDX-License-Identifier: LGPL-2.1-or-later
#include "emulated_device.h"

#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>

#include <sys/mman.h>

#include <map>
#include <mutex>

namespace PatchFEM::emulated_device
{
  namespace
  {
    constexpr std::size_t page = 4096;

    /**
     * One reserved range of addresses, so that opening and closing it is one system call each. Blocks are
     * handed out first fit and whole pages; pages behind a freed block are returned to the system.
     */
    struct Arena
    {
      static constexpr std::size_t reserved = std::size_t(1) << 38;

      char                                   *base  = nullptr;
      std::size_t                             used  = 0; ///< bytes from base that have ever been handed out
      int                                     depth = 0;
      std::mutex                              mutex;
      std::multimap<std::size_t, std::size_t> free_blocks; ///< bytes -> offset

      Arena()
      {
        void *const address = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        require(address != MAP_FAILED, "The emulated device could not reserve addresses for its memory.");
        base = static_cast<char *>(address);
      }

      void protect(const std::size_t begin, const std::size_t bytes, const int protection)
      {
        if (bytes > 0)
          require(mprotect(base + begin, bytes, protection) == 0,
                  "The emulated device could not change the protection of its memory.");
      }
    };

    Arena &arena()
    {
      static Arena *const object = new Arena; // outlives static arrays
      return *object;
    }

    std::size_t round_up(const std::size_t bytes)
    {
      return (bytes + page - 1) / page * page;
    }
  } // namespace

  void *allocate(const std::size_t n)
  {
    Arena                            &a     = arena();
    const std::size_t                 bytes = round_up(n);
    const std::lock_guard<std::mutex> lock(a.mutex);
    const auto                        found = a.free_blocks.lower_bound(bytes);
    std::size_t                       offset;
    if (found != a.free_blocks.end())
    {
      offset                     = found->second;
      const std::size_t leftover = found->first - bytes;
      a.free_blocks.erase(found);
      if (leftover > 0)
        a.free_blocks.emplace(leftover, offset + bytes);
    }
    else
    {
      require(a.used + bytes <= Arena::reserved, "The emulated device is out of addresses.");
      offset = a.used;
      a.used += bytes;
      if (a.depth > 0)
        a.protect(offset, bytes, PROT_READ | PROT_WRITE);
    }
    return a.base + offset;
  }

  void deallocate(void *const pointer, const std::size_t n) noexcept
  {
    Arena                            &a     = arena();
    const std::size_t                 bytes = round_up(n);
    const std::lock_guard<std::mutex> lock(a.mutex);
    madvise(pointer, bytes, MADV_DONTNEED);
    a.free_blocks.emplace(bytes, static_cast<char *>(pointer) - a.base);
  }

  KernelScope::KernelScope()
  {
    Arena                            &a = arena();
    const std::lock_guard<std::mutex> lock(a.mutex);
    if (a.depth++ == 0)
      a.protect(0, a.used, PROT_READ | PROT_WRITE);
  }

  KernelScope::~KernelScope()
  {
    Arena                            &a = arena();
    const std::lock_guard<std::mutex> lock(a.mutex);
    if (--a.depth == 0)
      mprotect(a.base, a.used, PROT_NONE);
  }
} // namespace PatchFEM::emulated_device
