// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/host_memory.h>

#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

namespace PatchFEM
{
  namespace
  {
    constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    std::size_t difference(const std::size_t limit, const std::size_t used)
    {
      return limit > used ? limit - used : 0;
    }

    std::size_t kibibytes(const char *const file, const std::string &key, const std::size_t otherwise)
    {
      const std::string text = system_entry(file, key);
      return text.empty() ? otherwise : std::strtoull(text.c_str(), nullptr, 10) * 1024;
    }

    /** What a limit of this process leaves beside what `/proc/self/status` says about @p key. */
    std::size_t left_of(const decltype(RLIMIT_AS) resource, const char *const key)
    {
      rlimit limit;
      if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return unlimited;
      return difference(limit.rlim_cur, kibibytes("/proc/self/status", key, 0));
    }

    /** The only number in a file; @p otherwise if there is none, as in `max`. */
    std::size_t number_in(const std::string &file, const std::size_t otherwise)
    {
      std::ifstream in(file);
      std::size_t   number;
      return in >> number ? number : otherwise;
    }
  } // namespace

  std::string system_entry(const std::string &file, const std::string &key)
  {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      if (line.compare(0, key.size(), key) == 0)
      {
        const auto begin = line.find_first_not_of(" \t:", key.size());
        return begin == std::string::npos ? std::string() : line.substr(begin);
      }
    return std::string();
  }

  std::size_t free_memory_of_groups(const std::string &groups, const std::string &root)
  {
    std::size_t   result = unlimited;
    std::ifstream in(groups);
    // number:controllers:path, where version 2 of the interface has no controllers.
    for (std::string line; std::getline(in, line);)
    {
      const auto first = line.find(':'), second = line.find(':', first + 1);
      if (second == std::string::npos)
        continue;
      const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
      const bool        unified     = controllers == ",,";
      if (!unified && controllers.find(",memory,") == std::string::npos)
        continue;
      const std::string top  = root + (unified ? "" : "/memory");
      std::string       path = line.substr(second + 1);
      // A group has the limits of all that it is in. In a container the path may be that of the machine outside,
      // of which only the root is seen.
      while (true)
      {
        const std::string folder = top + path + "/";
        const std::size_t limit  = number_in(folder + (unified ? "memory.max" : "memory.limit_in_bytes"), unlimited);
        const std::size_t used   = number_in(folder + (unified ? "memory.current" : "memory.usage_in_bytes"), 0);
        std::size_t       cached = 0;
        for (const char *const files : {"inactive_file ", "active_file "})
          cached += std::strtoull(
              system_entry(folder + "memory.stat", (unified ? "" : "total_") + std::string(files)).c_str(), nullptr,
              10);
        result = std::min(result, difference(limit, difference(used, cached)));
        if (path.empty())
          break;
        path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
      }
    }
    return result;
  }

  std::size_t kept_host_memory()
  {
    return mallinfo2().fordblks;
  }

  std::size_t free_machine_memory()
  {
    return kibibytes("/proc/meminfo", "MemAvailable", 0);
  }

  std::size_t free_group_memory()
  {
    return free_memory_of_groups("/proc/self/cgroup", "/sys/fs/cgroup");
  }

  std::string memory_group()
  {
    std::ostringstream text;
    text << std::ifstream("/proc/self/cgroup").rdbuf();
    // Containers may each call their own group by the same name, but not their name space.
    std::error_code error;
    return text.str() + std::filesystem::read_symlink("/proc/self/ns/cgroup", error).string();
  }

  std::size_t free_host_memory()
  {
    return std::min(
        {free_machine_memory(), free_group_memory(), left_of(RLIMIT_AS, "VmSize"), left_of(RLIMIT_DATA, "VmData")});
  }
} // namespace PatchFEM
