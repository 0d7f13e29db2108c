// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/backend.h>
#include <patchfem/base/communicator.h>

#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

namespace PatchFEM
{
  /**
   * Ranks of one machine that share a device: see backend_of_ranks(). The first of them owns the back end, and objects
   * that are made there have the cells and unknowns of all of them, as if they were one rank. The others, its members,
   * call the same functions with the same back end, where they have no rows and no device, and get the owner's results.
   * While the owner works they sleep, and it has their threads and cores.
   *
   * All functions but those of one line are collective in the group, and so are functions that work on such a back end.
   * They do inside of on_owner() or on_owner_then_members() what may fail on the owner alone, such as to take memory or to
   * check rows: members, where nothing fails, would go on and wait for an owner that does not come.
   */
  class RankGroup
  {
  public:
    virtual ~RankGroup() = default;

    /** The ranks of the group; rank 0 is the owner. */
    virtual const Communicator &ranks() const = 0;
    bool                        is_owner() const { return ranks().rank() == 0; }

    /** Whether this is called inside of on_owner() or on_owner_then_members(), where no other rank of the group waits. */
    bool runs_alone() const { return alone; }

    /** On an owner: the owners of all groups, in the order of their ranks. Null if there is one group, and on members. */
    virtual std::shared_ptr<const Communicator> owners() const = 0;

    /** A group, with its ranks among all that were divided, of which the first is the owner. */
    struct Share
    {
      std::vector<int> ranks;
      std::string      device; ///< its UUID
    };

    /** All groups, by their owners, and [rank] the group of each. */
    virtual const std::vector<Share> &groups() const   = 0;
    virtual const std::vector<int>   &group_of() const = 0;

    /**
     * Runs @p function on the owner, with the threads of all, while members wait. All ranks throw what it throws; Error and its
     * kinds remain what they are. Calls nest: the inner ones only run their function.
     */
    template <typename Function>
    void on_owner(const Function &function) const
    {
      if (alone)
        return function();
      std::exception_ptr own;
      if (is_owner())
        try
        {
          const Alone here(*this);
          function();
        }
        catch (...)
        {
          own = std::current_exception();
        }
      Communicator::Failure failure = ranks().failure(own);
      failure.kind                  = broadcast(failure.kind);
      if (failure.kind == Communicator::Failure::none)
        return;
      failure.message = broadcast(std::move(failure.message));
      if (own)
        std::rethrow_exception(own);
      failure.raise();
    }

    /** on_owner(), and then @p function on each member by itself: for objects that all have, members without rows. */
    template <typename Function>
    void on_owner_then_members(const Function &function) const
    {
      const bool follows = !is_owner() && !alone;
      on_owner(function);
      if (follows)
      {
        const Alone here(*this);
        function();
      }
    }

    /** The owner's @p value, plain data or a list of them; inside of on_owner() the rank's own. */
    template <typename T>
    T broadcast(T value) const
    {
      if (alone)
        return value;
      if constexpr (std::is_trivially_copyable_v<T>)
        broadcast(&value, sizeof(T));
      else
      {
        value.resize(broadcast(value.size()));
        broadcast(value.data(), value.size() * sizeof(value[0]));
      }
      return value;
    }

    /** On the owner @p values of all ranks, in their order, and @p n_behind zeros; on members nothing. */
    template <typename T>
    std::vector<T> gather(const T *values, const std::size_t n, const std::size_t n_behind = 0) const
    {
      static_assert(std::is_trivially_copyable<T>::value, "Ranks exchange plain data.");
      const std::vector<std::size_t> bytes = ranks().all_gather(n * sizeof(T));
      std::vector<T>                 all;
      ranks().agree_on_errors([&] { // the owner may have no room for it
        if (!is_owner())
          return;
        const std::size_t n_all = std::accumulate(bytes.begin(), bytes.end(), std::size_t(0)) / sizeof(T) + n_behind;
        all.reserve(n_all);
        touch(all.data(), n_all * sizeof(T));
        all.resize(n_all);
      });
      gather(values, bytes, all.data());
      return all;
    }

    template <typename T>
    std::vector<T> gather(const std::vector<T> &values, const std::size_t n_behind = 0) const
    {
      return gather(values.data(), values.size(), n_behind);
    }

    /** Divides the owner's @p all among the ranks, in their order; this one gets @p n. */
    template <typename T>
    std::vector<T> scatter(const std::vector<T> &all, const std::size_t n) const
    {
      static_assert(std::is_trivially_copyable<T>::value, "Ranks exchange plain data.");
      std::vector<T> own;
      ranks().agree_on_errors([&] { own.resize(n); });
      scatter(all.data(), ranks().all_gather(n * sizeof(T)), own.data());
      return own;
    }

    /** Of gather() and scatter() so far, and the shared memory of all groups of this machine that they go through. */
    struct Statistics
    {
      double seconds = 0., bytes = 0., window_bytes = 0.;
    };
    const Statistics &statistics() const { return gathered; }

    /**
     * Collective on all ranks: makes the transport between owners, if it is not there yet. It waits for the contexts of
     * devices, which are made while ranks do other things; all throw what goes wrong there on one rank.
     */
    virtual void connect() const = 0;

    /** A line on how all ranks share devices and, once they are connected, exchange. */
    virtual std::string description() const = 0;

  protected:
    /** From the owner to all, in the order of these calls. */
    virtual void broadcast(void *data, std::size_t bytes) const = 0;

    /** Moves bytes[rank] bytes of each rank to @p all of the owner, and back. */
    virtual void gather(const void *own, const std::vector<std::size_t> &bytes, void *all) const  = 0;
    virtual void scatter(const void *all, const std::vector<std::size_t> &bytes, void *own) const = 0;

    /** Writes to each page of fresh memory by all threads, so that the system zeroes pages concurrently. */
    virtual void touch(void *memory, std::size_t bytes) const = 0;

    /** The owner's threads run on the cores of all ranks, until it gives them back. */
    virtual void take_cores() const      = 0;
    virtual void give_back_cores() const = 0;

    mutable Statistics gathered;

  private:
    struct Alone
    {
      explicit Alone(const RankGroup &group) : group(group)
      {
        group.alone = true;
        if (group.is_owner())
          group.take_cores();
      }
      ~Alone()
      {
        if (group.is_owner())
          group.give_back_cores();
        group.alone = false;
      }
      const RankGroup &group;
    };

    mutable bool alone = false;
  };

  /** RankGroup::on_owner() where ranks share @p backend, else @p function. */
  template <typename Function>
  void on_owner(const Backend &backend, const Function &function)
  {
    if (backend.group() != nullptr)
      backend.group()->on_owner(function);
    else
      function();
  }

  /** RankGroup::on_owner_then_members() where ranks share @p backend, else @p function; returns its result here. */
  template <typename Function>
  auto on_owner_then_members(const Backend &backend, const Function &function)
  {
    using Result = decltype(function());
    if constexpr (std::is_void_v<Result>)
    {
      if (backend.group() != nullptr)
        backend.group()->on_owner_then_members(function);
      else
        function();
    }
    else
    {
      std::optional<Result> result;
      on_owner_then_members(backend, [&] { result.emplace(function()); });
      return Result(std::move(*result));
    }
  }

  /** Whether this rank owns @p backend: alone, or as the first of a RankGroup. */
  inline bool is_owner(const Backend &backend)
  {
    return backend.group() == nullptr || backend.group()->is_owner();
  }

  /** RankGroup::broadcast() where ranks share @p backend, else @p value. */
  template <typename T>
  T broadcast(const Backend &backend, const T value)
  {
    return backend.group() != nullptr ? backend.group()->broadcast(value) : value;
  }
} // namespace PatchFEM
