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

    /** Sends @p messages by receiver, few each, and returns those for this rank by sender. Empty ones are sent, too. */
    virtual std::map<int, Bytes> exchange(const std::map<int, Bytes> &messages) const = 0;

    /** Memory that goes to a rank, or comes from one. */
    struct Link
    {
      int         rank;
      void       *data;
      std::size_t bytes; ///< equal at both ends
    };

    /** An exchange over the same links again and again. */
    class Channel
    {
    public:
      virtual ~Channel() = default;

      virtual void start()  = 0; ///< until finish() memory to send must not change, and memory to receive not be read
      virtual void finish() = 0; ///< waits until all has been sent and received

      /** Optional between them: MPI goes on with long messages, which take several steps, only while it is called. */
      virtual void progress() {}
    };

    /** At most one of @p sends and one of @p receives for each rank; their memory must outlive the channel. */
    virtual std::unique_ptr<Channel> channel(const std::vector<Link> &sends,
                                             const std::vector<Link> &receives) const = 0;

    // Of plain data.

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

    /** The lists of all ranks one after the other. */
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

    /** concatenate() of each of @p lists, in one exchange. */
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

    /** Not a number if that of any rank is. */
    double maximum(double value) const
    {
      for (const double of_rank : all_gather(double(value)))
        value = of_rank > value || of_rank != of_rank ? of_rank : value;
      return value;
    }

    /**
     * The sentence for an exception of a library that is being handled: its what(), unless a layer that knows libraries has
     * put a function of its own here.
     */
    static std::string (*sentence_of_others)();

    /**
     * Runs @p function on all ranks. If it throws on some, all throw what the first of them says: an Error on one rank
     * alone would leave the others waiting for ever. NotPositiveDefinite and StepFailure remain what they are, and all
     * else becomes an Error, which names the rank whose memory ran out.
     * Collective functions inside of @p function begin with poll_errors(), so
     * that the others throw there. Calls nest: another one around a step that may throw on one rank makes all throw, so that
     * @p function can catch it. It then calls agree_on_errors([] {}), or the error would be taken for the cause of a later one.
     */
    template <typename Function>
    void agree_on_errors(const Function &function) const
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
     * agree_on_errors() at less cost: inside of another one it only runs @p function, and the others learn of its error at
     * the next collective function. If ranks wait for each other by other means before, poll_errors() comes first.
     */
    template <typename Function>
    void defer_errors(const Function &function) const
    {
      n_watching > 0 ? function() : agree_on_errors(function);
    }

    /**
     * Collective inside of agree_on_errors(): throws what another rank has thrown there. Elsewhere it does nothing. Call it
     * before ranks wait for each other by means other than the functions above, as their devices do.
     */
    void poll_errors() const
    {
      if (n_watching > 0)
        throw_first(nullptr);
    }

    /**
     * poll_errors() and then @p function, in which nothing polls: among many small steps each poll would take longer than
     * a step. @p function takes no memory, so that its errors are those of all ranks.
     */
    template <typename Function>
    void poll_errors(const Function &function) const
    {
      poll_errors();
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
        step_failure,
        not_positive_definite
      };
      Kind        kind = none;
      std::string message;

      void raise() const; ///< throws it, if it is one
    };

    /** @p own, which may be null, in the form for other ranks. */
    Failure failure(const std::exception_ptr &own) const;

    /** Seconds that a rank waits for others. */
    virtual double patience() const { return 1800.; }

    /** The transport between the ranks' devices, once it was asked for; see transport_of(). */
    mutable std::shared_ptr<const Transport> device_transport;

  protected:
    /** Collective: whether @p one is true on any rank. */
    virtual bool any(bool one) const { return maximum(std::int64_t(one)) != 0; }

    /** Collective: if @p failed, throws the exception of the first rank that has one; @p own is this rank's. */
    void settle(bool failed, const std::exception_ptr &own = nullptr) const;

  private:
    /** Collective: throws the exception of the first rank that has one. */
    void throw_first(const std::exception_ptr &own) const { settle(any(own != nullptr), own); }

    mutable int                n_watching = 0; ///< calls of agree_on_errors()
    mutable std::exception_ptr told;           ///< thrown last by throw_first(), on all ranks
  };

  /** Communicator::agree_on_errors() of @p ranks; null stands for one rank, which runs @p function. */
  template <typename Function>
  void agree_on_errors(const Communicator *const ranks, const Function &function)
  {
    ranks != nullptr ? ranks->agree_on_errors(function) : function();
  }
} // namespace PatchFEM
