// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/exceptions.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace PatchFEM
{
  class Transport;

  /**
   * Ranks that solve one problem together, as the library sees them: it knows nothing of MPI (see MPICommunicator). All
   * functions but rank() and size() are collective: every rank calls them, in the same order.
   */
  class Communicator
  {
  public:
    using Bytes = std::vector<char>;

    virtual ~Communicator() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;

    /** The first of the ranks that share this one's memory. */
    virtual int machine() const = 0;

    /** values[i] becomes its sum over all ranks, added in their order: everywhere and each time the same bits. */
    virtual void               sum(double *values, int n) const           = 0;
    virtual void               sum(std::int64_t *values, int n) const     = 0;
    virtual void               maximum(std::int64_t *values, int n) const = 0;
    virtual std::vector<Bytes> all_gather(const Bytes &) const            = 0; ///< [rank]

    /** What others sent here, by rank, for @p messages to whom they concern; of few ranks each. Empty ones count. */
    virtual std::map<int, Bytes> exchange(const std::map<int, Bytes> &messages) const = 0;

    /** Memory that goes to a rank, or comes from one. */
    struct Link
    {
      int         rank;
      void       *data;
      std::size_t bytes; ///< the same at both ends
    };

    /** An exchange over the same links again and again. */
    class Channel
    {
    public:
      virtual ~Channel() = default;

      virtual void start()  = 0; ///< what is sent may not change, and what is received not be read, until
      virtual void finish() = 0; ///< all of it has come and gone

      /** Between them: MPI goes on with long messages, which take several steps, only while it is called. */
      virtual void progress() {}
    };

    /** One of @p sends and one of @p receives at most for each rank; their memory outlives the channel. */
    virtual std::unique_ptr<Channel> channel(const std::vector<Link> &sends,
                                             const std::vector<Link> &receives) const = 0;

    // The same for plain data.

    template <typename T>
    static Bytes pack(const std::vector<T> &values)
    {
      static_assert(std::is_trivially_copyable<T>::value, "Ranks exchange plain data.");
      Bytes result(values.size() * sizeof(T));
      if (!values.empty())
        std::memcpy(result.data(), values.data(), result.size());
      return result;
    }

    template <typename T>
    static std::vector<T> unpack(const Bytes &bytes)
    {
      std::vector<T> result(bytes.size() / sizeof(T));
      if (!result.empty())
        std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
      return result;
    }

    template <typename T>
    std::map<int, std::vector<T>> exchange(const std::map<int, std::vector<T>> &messages) const
    {
      std::map<int, Bytes> packed;
      for (const auto &[rank, values] : messages)
        packed[rank] = pack(values);
      std::map<int, std::vector<T>> result;
      for (const auto &[rank, bytes] : exchange(packed))
        result[rank] = unpack<T>(bytes);
      return result;
    }

    template <typename T>
    std::vector<T> all_gather(const T &value) const
    {
      std::vector<T> result;
      for (const Bytes &bytes : all_gather(pack(std::vector<T>{value})))
        result.push_back(unpack<T>(bytes)[0]);
      return result;
    }

    /** Those of all ranks, one rank's behind the other's. */
    template <typename T>
    std::vector<T> concatenate(const std::vector<T> &values) const
    {
      std::vector<T> result;
      for (const Bytes &bytes : all_gather(pack(values)))
      {
        const std::vector<T> of_rank = unpack<T>(bytes);
        result.insert(result.end(), of_rank.begin(), of_rank.end());
      }
      return result;
    }

    /** Each of @p lists becomes those of all ranks, one rank's behind the other's; all at once. */
    template <typename... T>
    void concatenate_all(std::vector<T> &...lists) const
    {
      Bytes      own;
      const auto put = [&](const auto &list) {
        for (const Bytes &part : {pack(std::vector<std::size_t>{list.size()}), pack(list)})
          own.insert(own.end(), part.begin(), part.end());
      };
      (put(lists), ...);
      (lists.clear(), ...);
      for (const Bytes &bytes : all_gather(own))
      {
        const char *next = bytes.data();
        const auto  take = [&](auto &list) {
          std::size_t n;
          std::memcpy(&n, next, sizeof(n));
          next += sizeof(n);
          const std::size_t size = n * sizeof(list[0]), before = list.size();
          list.resize(before + n);
          if (n > 0)
            std::memcpy(list.data() + before, next, size);
          next += size;
        };
        (take(lists), ...);
      }
    }

    std::int64_t sum(std::int64_t value) const
    {
      sum(&value, 1);
      return value;
    }

    std::int64_t maximum(std::int64_t value) const
    {
      maximum(&value, 1);
      return value;
    }

    /** Not a number if one is. */
    double maximum(double value) const
    {
      for (const double of_rank : all_gather(double(value)))
        value = of_rank > value || of_rank != of_rank ? of_rank : value;
      return value;
    }

    /**
     * The sentence for an exception that is being handled and not of PatchFEM: what it says, unless a layer that knows
     * libraries has put a function of its own here.
     */
    static std::string (*sentence_of_others)();

    /**
     * Runs @p function, in which ranks do not wait for each other. If it throws on some, all throw what the first of
     * them says: an Error on one rank alone would leave the others waiting for ever. NotPositiveDefinite remains what
     * it is, and all else becomes an Error, which names the rank whose memory ran out.
     */
    template <typename Function>
    void together(const Function &function) const
    {
      std::exception_ptr own;
      try
      {
        function();
      }
      catch (...)
      {
        own = std::current_exception();
      }
      throw_first(own);
    }

    /**
     * The same for a @p function in which ranks do wait for each other: the others throw where they would wait next. Each
     * of the functions above begins by asking whether all are well there. Calls nest; who catches in @p function what
     * it may throw on one rank does so around another call.
     */
    template <typename Function>
    void as_one(const Function &function) const
    {
      std::exception_ptr own;
      ++n_watching;
      told = nullptr;
      try
      {
        function();
      }
      catch (...)
      {
        own = std::current_exception();
      }
      --n_watching;
      if (own && told)
        std::rethrow_exception(told);
      throw_first(own);
    }

    /**
     * As together(), but within as_one() it only runs @p function: of what that throws on one rank the others hear where
     * they would wait next, which is not to be for it by other means.
     */
    template <typename Function>
    void each(const Function &function) const
    {
      n_watching > 0 ? function() : together(function);
    }

    /** Collective within as_one(), else nothing: before what ranks do together by other means, as their devices do. */
    void look() const
    {
      if (n_watching > 0)
        throw_first(nullptr);
    }

    /**
     * A look() and then @p function, in which there is none: of many small steps each would take longer than the step.
     * What fails there fails on all ranks: @p function takes no memory.
     */
    template <typename Function>
    void look_once(const Function &function) const
    {
      look();
      const struct Pause
      {
        explicit Pause(int &n_watching) : n_watching(n_watching), before(std::exchange(n_watching, 0)) {}
        ~Pause() { n_watching = before; }
        int      &n_watching;
        const int before;
      } pause(n_watching);
      function();
    }

    /** An exception as it travels between ranks. */
    struct Failure
    {
      enum Kind : std::int64_t
      {
        none,
        error,
        not_positive_definite
      };
      Kind        kind = none;
      std::string message;

      void raise() const; ///< throws it, if it is one
    };

    /** What others are told of @p own, which may be null. */
    Failure failure(const std::exception_ptr &own) const;

    /** Seconds that a rank waits for others. */
    virtual double patience() const { return 1800.; }

    /** Between their devices, when it was asked for; see transport_of(). */
    mutable std::shared_ptr<const Transport> device_transport;

  protected:
    /** Collective: whether @p one on any rank, which what ranks do together may find out by the way. */
    virtual bool any(bool one) const { return maximum(std::int64_t(one)) != 0; }

    /** Once they have: throws what the first rank has, of which @p own is this one's, if @p failed. */
    void settle(bool failed, const std::exception_ptr &own = nullptr) const;

  private:
    /** Collective: throws what the first rank with an exception has. */
    void throw_first(const std::exception_ptr &own) const { settle(any(own != nullptr), own); }

    mutable int                n_watching = 0; ///< calls of as_one()
    mutable std::exception_ptr told;           ///< what throw_first() has thrown, on all ranks
  };
} // namespace PatchFEM
