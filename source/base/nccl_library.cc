// SPDX-License-Identifier: LGPL-2.1-or-later
#include "nccl_library.h"

#include <patchfem/base/exceptions.h>

#include <dlfcn.h>

#include <type_traits>

std::shared_ptr<const PatchFEM::NcclLibrary> PatchFEM::NcclLibrary::find(const std::string &file, std::string &reason)
{
  void *const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
  {
    const char *const why = dlerror(); // which begins with the name of the file
    reason                = why != nullptr ? why : file + " cannot be loaded";
    return nullptr;
  }
  const auto result = std::make_shared<NcclLibrary>();
  const auto bind   = [&](auto &function, const char *const name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr && reason.empty())
      reason = text_of(file, " has no function ", name);
  };
  bind(result->get_version, "ncclGetVersion");
  if (reason.empty() && result->get_version(&result->version) != success)
    reason = file + " does not say which version it is";
  // Before 2.9 a version was 1000 major + 100 minor + patch, which is less than all later ones.
  constexpr int next_major = 30000;
  if (reason.empty() && (result->version < oldest || result->version >= next_major))
    reason = text_of(file, " has the version number ", result->version, ", and ", oldest, " to ", next_major - 1,
                     " are known, which are 2.14 and later ones before 3");
  bind(result->get_unique_id, "ncclGetUniqueId");
  bind(result->comm_init_rank_config, "ncclCommInitRankConfig");
  bind(result->comm_get_async_error, "ncclCommGetAsyncError");
  bind(result->comm_abort, "ncclCommAbort");
  bind(result->group_start, "ncclGroupStart");
  bind(result->group_end, "ncclGroupEnd");
  bind(result->send, "ncclSend");
  bind(result->receive, "ncclRecv");
  bind(result->all_gather, "ncclAllGather");
  bind(result->get_error_string, "ncclGetErrorString");
  if (reason.empty())
    return result; // it stays for as long as the process
  dlclose(handle);
  return nullptr;
}
