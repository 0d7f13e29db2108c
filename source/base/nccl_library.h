// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace PatchFEM
{
  /**
   * What is used of NCCL, a library that is looked for when it is wanted: to build PatchFEM takes none of it. Types and
   * numbers are those of its header of version 2.14, which later ones of major version 2 keep.
   */
  struct NcclLibrary
  {
    /** Null where @p reason says what is missing. @p file is what dlopen() takes. */
    static std::shared_ptr<const NcclLibrary> find(const std::string &file, std::string &reason);

    using Comm   = struct NcclComm *;
    using Stream = void *;

    enum Result : int
    {
      success     = 0,
      in_progress = 7
    };

    enum DataType : int
    {
      bytes = 0 ///< ncclChar
    };

    struct UniqueId
    {
      char bytes[128];
    };

    /** The part of ncclConfig_t that version 2.14 has; a library knows from size and version that there is no more. */
    struct Config
    {
      std::size_t  size     = sizeof(Config);
      unsigned int magic    = 0xcafebeef;
      unsigned int version  = oldest;
      int          blocking = 0;
    };

    static constexpr int oldest = 21400; ///< which the first communicators have that do not block

    int version = 0; ///< 10000 major + 100 minor + patch

    Result (*get_version)(int *);
    Result (*get_unique_id)(UniqueId *);
    Result (*comm_init_rank_config)(Comm *, int n_ranks, UniqueId, int rank, Config *);
    Result (*comm_get_async_error)(Comm, Result *);
    Result (*comm_abort)(Comm);
    Result (*group_start)();
    Result (*group_end)();
    Result (*send)(const void *, std::size_t, DataType, int to, Comm, Stream);
    Result (*receive)(void *, std::size_t, DataType, int from, Comm, Stream);
    Result (*all_gather)(const void *, void *, std::size_t, DataType, Comm, Stream);
    const char *(*get_error_string)(Result);
  };
} // namespace PatchFEM
