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

  /** Of these, what all of the machine share. */
  std::size_t free_machine_memory();

  /** What all of this process's control groups share; the largest number if they have no limit. */
  std::size_t free_group_memory();

  /** Names these groups: processes of one machine that have the same share them. */
  std::string memory_group();

  /** Bytes that this process has beside what it uses, and allocates from first: freed memory that it keeps. */
  std::size_t kept_host_memory();

  /**
   * Bytes that the groups of @p groups leave, a file as `/proc/self/cgroup`, whose folders are in @p root; the largest
   * number if they have no limit. What the system holds of files that it can read again counts as free.
   */
  std::size_t free_memory_of_groups(const std::string &groups, const std::string &root);
} // namespace PatchFEM
