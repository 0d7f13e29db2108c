// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <string>

namespace PatchFEM
{
  /** `key: value` or `key value` of the first line of @p file that starts with @p key; empty if there is none. */
  std::string system_entry(const std::string &file, const std::string &key);

  /**
   * Bytes that this process can still allocate: the least of what the machine has, what its limits of address space and
   * data leave (`ulimit -v` and `-d`), and what its control groups leave, as containers and batch systems set them.
   */
  std::size_t free_host_memory();

  /** The same without limits that are this process's own: what all of its machine, or of its groups, share. */
  std::size_t free_machine_memory();

  /** Bytes that this process has beside what it uses, and allocates from first: freed memory that it keeps. */
  std::size_t kept_host_memory();

  /**
   * Bytes that the groups of @p groups leave, a file as `/proc/self/cgroup`, whose folders are in @p root; the largest
   * number if they have no limit. What the system holds of files that it can read again counts as free.
   */
  std::size_t free_memory_of_groups(const std::string &groups, const std::string &root);
} // namespace PatchFEM
