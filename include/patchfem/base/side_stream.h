// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_base_side_stream_h
#define patchfem_base_side_stream_h

#include <patchfem/base/backend.h>

#include <type_traits>

namespace PatchFEM
{
  /**
   * A second line of work on a back end: on CUDA a stream of its own, elsewhere what it is given is done at once. Both
   * verbs can be recorded into a Graph, in which they become branches.
   *
   * @code
   *   side.fork();                                                  // after all that the back end was given
   *   side.run([&](auto where) { kernels::f(where, ...); });          // beside what the back end is given now
   *   side.join();                                                  // before all that it is given from here on
   * @endcode
   */
  class SideStream
  {
  public:
    explicit SideStream(const Backend &backend);
    ~SideStream();
    SideStream(const SideStream &)            = delete;
    SideStream &operator=(const SideStream &) = delete;

    const Backend &backend() const { return place; }

    void fork() const;
    void join() const;

    /** Calls @p function with the tag of this line of work. */
    template <typename Function>
    void run(Function &&function) const
    {
      if (stream != nullptr)
      {
#ifdef PATCHFEM_WITH_CUDA
        function(Cuda{stream});
#endif
      }
      else
        dispatch(place, [&](auto where) {
          if constexpr (std::is_same<decltype(where), Host>::value)
            function(where);
        });
    }

  private:
    Backend place;
    void   *stream = nullptr, *event = nullptr;
  };
} // namespace PatchFEM

#endif
