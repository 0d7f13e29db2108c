// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/backend.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/host_memory.h>
#include <patchfem/base/quote.h>
#include <patchfem/kernels/runtime.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <iterator>
#include <string_view>

namespace PatchFEM
{
  namespace
  {
    constexpr std::string_view names[] = {"host", "cuda", "emulated_device"}; // by kind

    BackendKind kind_of(const std::string &name)
    {
      if (name == "auto")
        return Backend::cuda_available() ? BackendKind::cuda : BackendKind::host;
      const auto found = std::find(std::begin(names), std::end(names), name);
      require(found != std::end(names), "There is no back end ", quote(name),
              "; the choices are auto, host, cuda and emulated_device.");
      return static_cast<BackendKind>(found - std::begin(names));
    }

#ifdef PATCHFEM_WITH_CUDA
    int chosen_device = -1; ///< by Backend::choose_cuda_device()

    /**
     * What all handles on CUDA denote, made by the first. Its context takes 0.3 to 1 s, in which programs read meshes: a
     * thread makes it, and who needs it first waits, and gets the Error if there is one.
     */
    class Device
    {
    public:
      const int number = chosen_device >= 0 ? chosen_device : cuda_runtime::current_device();

      void *stream() const
      {
        void *const result = made.get();
        cuda_runtime::use_device(number);
        return result;
      }
      void wait() const { made.wait(); }

    private:
      void *make() const
      {
        try
        {
          cuda_runtime::make_context(number);
          return cuda_runtime::create_stream();
        }
        catch (const Error &error)
        {
          std::string name = text_of("GPU ", number);
          try
          {
            name = cuda_runtime::device_uuid(number);
          }
          catch (const Error &)
          {} // CUDA does not know it
          throw Error(text_of(name, ", which is to be the back end 'cuda', cannot be used. ", error.what()));
        }
      }

      std::shared_future<void *> made = std::async(std::launch::async, [this] { return make(); }).share();
    };

    const Device &device()
    {
      // Never destroyed: arrays with static lifetime may outlive every other static object. But a process does not end
      // while a context is made.
      static const Device *const object = [] {
        static const Device *const made = new Device;
        std::atexit([] { made->wait(); });
        return made;
      }();
      return *object;
    }
#endif
  } // namespace

  Backend::Backend(const std::string &name) : Backend(kind_of(name)) {}

  Backend::Backend(const BackendKind kind) : place(kind)
  {
    if (kind != BackendKind::cuda)
      return;
#ifdef PATCHFEM_WITH_CUDA
    // Who has chosen a device was told of it, and to look for it again would take CUDA a second where there are several.
    require(chosen_device >= 0 || cuda_available(),
            "The back end 'cuda' was asked for, but this machine has no usable GPU; use 'host' or 'auto'.");
    device();
#else
    throw Error(
        "The back end 'cuda' was asked for, but this build has no CUDA; install nvcc and build again, or use 'host'.");
#endif
  }

  std::string Backend::name() const
  {
    return std::string(names[static_cast<int>(place)]);
  }

  std::string Backend::device_name() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (place == BackendKind::cuda)
      return cuda_runtime::device_name(device().number);
#endif
    const std::string model = system_entry("/proc/cpuinfo", "model name");
    return model.empty() ? "unknown processor" : model;
  }

  void Backend::synchronize() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (place == BackendKind::cuda)
      cuda_runtime::synchronize(stream());
#endif
  }

  std::size_t Backend::free_memory() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (stream() != nullptr)
      return cuda_runtime::free_memory();
#endif
    return free_host_memory() + kept_host_memory();
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

  void *Backend::stream() const
  {
#ifdef PATCHFEM_WITH_CUDA
    if (place == BackendKind::cuda)
      return device().stream();
#endif
    return nullptr;
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

  std::vector<std::string> Backend::cuda_devices()
  {
    std::vector<std::string> result;
#ifdef PATCHFEM_WITH_CUDA
    for (int i = 0; cuda_available() && i < cuda_runtime::n_devices(); ++i)
      result.push_back(cuda_runtime::device_uuid(i));
#endif
    return result;
  }

  void Backend::choose_cuda_device([[maybe_unused]] const int number)
  {
#ifdef PATCHFEM_WITH_CUDA
    chosen_device = number;
#endif
  }
} // namespace PatchFEM
