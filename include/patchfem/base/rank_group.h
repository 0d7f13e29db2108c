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
   * Ranks of one machine that share a device: see backend_of_ranks(). The first of them owns the back end, and what is
   * made there has the cells and unknowns of all of them, as if they were one rank. The others, its members, call the same
   * functions with the same back end, where theirs has no rows and no device; what comes out is that of the owner. While
   * the owner works they sleep, and it has their threads and cores.
   *
   * All functions but these of one line are collective in the group.
   *
   * So is what works on such a back end. What may fail there, as where it takes memory or sees rows, it does within
   * lead(), led() or lead_and_follow(): members, who have nothing that fails, would go on and wait for an owner that does
   * not come.
   */
  class RankGroup
  {
  public:
    virtual ~RankGroup() = default;

    /** Those of the group; rank 0 is the owner. */
    virtual const Communicator &ranks() const = 0;
    bool                        owns() const { return ranks().rank() == 0; }

    /** Whether this is called by lead() or alone(). */
    bool leading() const { return leads; }

    /** Of an owner: the owners of all groups, in the order of their ranks. Null of one group, and of members. */
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
     * @p function on the owner, with the threads of all. What it throws all throw, Error and NotPositiveDefinite as
     * what they are. Inside of @p function the owner is as if alone. It does not wait for members, which wait for it.
     */
    template <typename Function>
    void lead(const Function &function) const
    {
      if (leads)
        return function();
      std::exception_ptr own;
      if (owns())
        try
        {
          const Leading here(*this);
          function();
        }
        catch (...)
        {
          own = std::current_exception();
        }
      Communicator::Failure failure = ranks().failure(own);
      tell(&failure.kind, sizeof(failure.kind));
      if (failure.kind == Communicator::Failure::none)
        return;
      share_list(failure.message);
      if (own)
        std::rethrow_exception(own);
      failure.raise();
    }

    /** @p function, which concerns this rank alone, as part of the above or of what members do beside it. */
    template <typename Function>
    void alone(const Function &function) const
    {
      const bool before = std::exchange(leads, true);
      try
      {
        function();
      }
      catch (...)
      {
        leads = before;
        throw;
      }
      leads = before;
    }

    /** What the owner's @p value is, unless it leads, where nobody waits for it. */
    template <typename T>
    T share(T value) const
    {
      static_assert(std::is_trivially_copyable<T>::value, "Ranks exchange plain data.");
      if (!leads)
        tell(&value, sizeof(T));
      return value;
    }

    /** The same of a std::vector of plain data or a std::string. */
    template <typename Values>
    void share_list(Values &values) const
    {
      if (leads)
        return;
      auto n = static_cast<std::uint64_t>(values.size());
      tell(&n, sizeof(n));
      values.resize(n);
      tell(values.data(), n * sizeof(values[0]));
    }

    /** On the owner @p values of all ranks, one rank's behind the other's, and @p n_behind zeros; of members nothing. */
    template <typename T>
    std::vector<T> collect(const T *values, const std::size_t n, const std::size_t n_behind = 0) const
    {
      static_assert(std::is_trivially_copyable<T>::value, "Ranks exchange plain data.");
      const std::vector<std::size_t> bytes = ranks().all_gather(n * sizeof(T));
      std::vector<T>                 all;
      ranks().agree_on_errors([&] { // the owner may have no room for it
        if (!owns())
          return;
        const std::size_t n_all = std::accumulate(bytes.begin(), bytes.end(), std::size_t(0)) / sizeof(T) + n_behind;
        all.reserve(n_all);
        touch(all.data(), n_all * sizeof(T));
        all.resize(n_all);
      });
      collect(values, bytes, all.data());
      return all;
    }

    template <typename T>
    std::vector<T> collect(const std::vector<T> &values, const std::size_t n_behind = 0) const
    {
      return collect(values.data(), values.size(), n_behind);
    }

    /** The other way: the owner's @p all, of which each rank gets @p n, in the order of ranks. */
    template <typename T>
    std::vector<T> deal(const std::vector<T> &all, const std::size_t n) const
    {
      static_assert(std::is_trivially_copyable<T>::value, "Ranks exchange plain data.");
      std::vector<T> own;
      ranks().agree_on_errors([&] { own.resize(n); });
      deal(all.data(), ranks().all_gather(n * sizeof(T)), own.data());
      return own;
    }

    /** What collect() and deal() took so far, and the memory that all groups of this machine do it through. */
    struct HandOver
    {
      double seconds = 0., bytes = 0., window_bytes = 0.;
    };
    const HandOver &hand_over() const { return handed; }

    /**
     * Of all ranks, collective: makes what owners exchange by, if that is not there yet. It waits for the contexts of
     * devices, which are made while ranks do other things, and what goes wrong there on one rank all throw.
     */
    virtual void connect() const = 0;

    /** In one line, how all ranks share which devices and, once they are connected, exchange. */
    virtual std::string description() const = 0;

  protected:
    /** From the owner to all, in the order of these calls. */
    virtual void tell(void *data, std::size_t bytes) const = 0;

    /** Moves bytes[rank] bytes of each rank to @p all of the owner, and back. */
    virtual void collect(const void *own, const std::vector<std::size_t> &bytes, void *all) const = 0;
    virtual void deal(const void *all, const std::vector<std::size_t> &bytes, void *own) const    = 0;

    /** All threads have the system zero the pages of fresh memory, which one would wait for. */
    virtual void touch(void *memory, std::size_t bytes) const = 0;

    /** The owner's threads get the cores of all, and give them back. */
    virtual void widen() const  = 0;
    virtual void narrow() const = 0;

    mutable HandOver handed;

  private:
    struct Leading
    {
      explicit Leading(const RankGroup &group) : group(group)
      {
        group.leads = true;
        group.widen();
      }
      ~Leading()
      {
        group.narrow();
        group.leads = false;
      }
      const RankGroup &group;
    };

    mutable bool leads = false;
  };

  /** RankGroup::lead() where ranks share @p backend, else @p function. */
  template <typename Function>
  void lead(const Backend &backend, const Function &function)
  {
    if (backend.group() != nullptr)
      backend.group()->lead(function);
    else
      function();
  }

  /**
   * Whether @p function was called by RankGroup::lead(): for those that begin by calling themselves so.
   * @code
   *   if (led(A.backend(), [&] { initialize(A); }))
   *     return;
   * @endcode
   */
  template <typename Function>
  bool led(const Backend &backend, const Function &function)
  {
    const bool leads_now = backend.group() == nullptr || backend.group()->leading();
    if (!leads_now)
      backend.group()->lead(function);
    return !leads_now;
  }

  /** Whether this rank owns @p backend: it is no member of others that share it. */
  inline bool owns(const Backend &backend)
  {
    return backend.group() == nullptr || backend.group()->owns();
  }

  /** lead(), and then of members, who have nothing to do it with. Returns what @p function does on this rank. */
  template <typename Function>
  auto lead_and_follow(const Backend &backend, const Function &function)
  {
    using Result = decltype(function());
    if constexpr (std::is_void_v<Result>)
    {
      const bool follows = !owns(backend) && !backend.group()->leading();
      lead(backend, function);
      if (follows)
        backend.group()->alone(function);
    }
    else
    {
      std::optional<Result> result;
      lead_and_follow(backend, [&] { result.emplace(function()); });
      return Result(std::move(*result));
    }
  }

  /** RankGroup::share() likewise. */
  template <typename T>
  T shared(const Backend &backend, const T value)
  {
    return backend.group() != nullptr ? backend.group()->share(value) : value;
  }
} // namespace PatchFEM
