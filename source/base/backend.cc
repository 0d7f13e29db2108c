// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/host_memory.h>
#include <patchfem/base/quote.h>
#include <patchfem/kernels/runtime.h>

#include <unistd.h>

#include <algorithm>

namespace PatchFEM
{
  struct Backend::State
  {
    BackendKind kind;
    int         device = 0; ///< on CUDA
    void       *stream = nullptr;

    explicit State(const BackendKind kind) : kind(kind)
    {
#ifdef PATCHFEM_WITH_CUDA
      if (kind == BackendKind::cuda)
      {
        device = cuda_runtime::current_device();
        stream = cuda_runtime::create_stream();
      }
#endif
    }

    ~State()
    {
#ifdef PATCHFEM_WITH_CUDA
      if (stream != nullptr)
        cuda_runtime::destroy_stream(stream);
#endif
    }
  };

  namespace
  {
    BackendKind kind_of(const std::string &name)
    {
      if (name == "auto")
        return Backend::cuda_available() ? BackendKind::cuda : BackendKind::host;
      if (name == "host")
        return BackendKind::host;
      if (name == "emulated_device")
        return BackendKind::emulated_device;
      if (name == "cuda")
        return BackendKind::cuda;
      throw Error("There is no back end " + quote(name) + "; the choices are auto, host, cuda and emulated_device.");
    }
  } // namespace

  Backend::Backend(const std::string &name) : Backend(kind_of(name)) {}

  Backend::Backend(const BackendKind kind)
  {
    if (kind == BackendKind::cuda)
    {
#ifndef PATCHFEM_WITH_CUDA
      throw Error("The back end 'cuda' was asked for, but this build has no CUDA; install nvcc and build again, or use "
                  "'host'.");
#endif
      require(cuda_available(),
              "The back end 'cuda' was asked for, but this machine has no usable GPU; use 'host' or 'auto'.");
      // Never destroyed: arrays with static lifetime may outlive every other static object.
      static const auto *const device = new std::shared_ptr<const State>(std::make_shared<State>(kind));
      state                           = *device;
    }
    else
    {
      static const auto host     = std::make_shared<const State>(BackendKind::host);
      static const auto emulated = std::make_shared<const State>(BackendKind::emulated_device);
      state                      = kind == BackendKind::host ? host : emulated;
    }
  }

  BackendKind Backend::kind() const
  {
    return state->kind;
  }

  std::string Backend::name() const
  {
    switch (state->kind)
    {
    case BackendKind::host:
      return "host";
    case BackendKind::cuda:
      return "cuda";
    default:
      return "emulated_device";
    }
  }

  std::string Backend::device_name() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (stream() != nullptr)
      return cuda_runtime::device_name();
#endif
    const std::string model = system_entry("/proc/cpuinfo", "model name");
    return model.empty() ? "unknown processor" : model;
  }

  void Backend::synchronize() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (state->kind == BackendKind::cuda)
      cuda_runtime::synchronize(state->stream);
#endif
  }

  std::size_t Backend::free_memory() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (stream() != nullptr)
      return cuda_runtime::free_memory();
#endif
    return free_host_memory();
  }

  std::size_t Backend::patch_memory() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (stream() != nullptr)
      return cuda_runtime::shared_memory_per_block();
#endif
    // Half of the second-level cache, which other data passes through as well.
    const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return cache > 0 ? std::max<std::size_t>(cache / 2, 128 * 1024) : 256 * 1024;
  }

  bool Backend::operator==(const Backend &other) const
  {
    return state == other.state;
  }

  bool Backend::operator!=(const Backend &other) const
  {
    return !(*this == other);
  }

  void *Backend::stream() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (state->kind == BackendKind::cuda)
      cuda_runtime::use_device(state->device);
#endif
    return state->stream;
  }

  bool Backend::cuda_available()
  {
#ifdef PATCHFEM_WITH_CUDA
    static const bool works = cuda_runtime::device_works();
    return works;
#else
    return false;
#endif
  }
} // namespace PatchFEM
