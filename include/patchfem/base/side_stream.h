// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>

#include <type_traits>

namespace PatchFEM
{
  /**
   * A second line of work on a back end: on CUDA a stream of its own, elsewhere kernels run at once. It can be recorded
   * into a Graph, in which it becomes a branch.
   * @code
   *   SideStream::Branch branch(side);                              // after all that the back end was given
   *   branch.launch([&](auto where) { kernels::f(where, ...); });     // beside what the back end is given now
   *   branch.join();                                                // before all that it is given from here on
   * @endcode
   */
  class SideStream
  {
  public:
    /** @p first gives its kernels priority: their blocks of threads begin before those that also wait on the back end. */
    explicit SideStream(const Backend &backend, bool first = false);
    ~SideStream();
    SideStream(const SideStream &)            = delete;
    SideStream &operator=(const SideStream &) = delete;

    const Backend &backend() const { return place; }

    /** Work on the side. The destructor joins it, also in an exception: memory that it reads may be given back then. */
    class Branch
    {
    public:
      explicit Branch(const SideStream &side);
      ~Branch();
      Branch(const Branch &)            = delete;
      Branch &operator=(const Branch &) = delete;

      void join();

      /** Calls @p function with the tag of this line of work. */
      template <typename Function>
      void launch(Function &&function) const
      {
        PatchFEM::launch(side.place, [&](auto where) {
          if constexpr (std::is_same<decltype(where), Host>::value)
            function(where);
          else
            function(Cuda{side.stream});
        });
      }

    private:
      const SideStream &side;
      bool              joined = false;
    };

  private:
    Backend place;
    void   *stream = nullptr, *event = nullptr;
  };
} // namespace PatchFEM
