// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/quote.h>
#include <patchfem/mpi/mpi_communicator.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <thread>

namespace PatchFEM
{
  namespace
  {
    constexpr int tag_of_exchange = 0, tag_of_gather = 1, first_tag = 2, last_tag = 32766;
    // MPI promises tags to there. Until there is a duplicate it is heard among messages of others, who take small ones.
    constexpr int tag_of_roll = 32767;

    using Clock = std::chrono::steady_clock;

    double seconds_since(const Clock::time_point begin)
    {
      return std::chrono::duration<double>(Clock::now() - begin).count();
    }

    using Shared = std::shared_ptr<const MPICommunicator>; // what a communicator of MPI keeps, as an attribute

    int copy_shared(MPI_Comm, int, void *, void *const own, void *const copy, int *const is_copied)
    {
      *static_cast<void **>(copy) = new Shared(*static_cast<Shared *>(own));
      *is_copied                  = 1;
      return MPI_SUCCESS;
    }

    int delete_shared(MPI_Comm, int, void *const own, void *)
    {
      delete static_cast<Shared *>(own);
      return MPI_SUCCESS;
    }

    double most_seconds_to_wait()
    {
      const char *const text = std::getenv("PATCHFEM_TIMEOUT");
      if (text == nullptr)
        return 1800.;
      char        *end     = nullptr;
      const double seconds = std::strtod(text, &end);
      require(end != text && *end == 0 && seconds > 0., "The environment variable PATCHFEM_TIMEOUT is ", quote(text),
              "; it must be a number of seconds above 0.");
      return seconds;
    }

    /** The largest piece of a message; longer ones are refused by MPI, which counts in int. */
    int checked(const std::size_t bytes)
    {
      require(bytes <= std::size_t(INT_MAX), "A message of ", bytes,
              " bytes between two ranks is more than MPI counts: use more ranks.");
      return static_cast<int>(bytes);
    }
  } // namespace

  class MPICommunicator::WaitingChannel : public Channel
  {
  public:
    explicit WaitingChannel(const MPICommunicator &communicator) : communicator(communicator) {}
    ~WaitingChannel() override
    {
      int finalized = 0;
      MPI_Finalized(&finalized);
      for (MPI_Request &request : requests)
        if (finalized == 0)
          MPI_Request_free(&request);
    }

    void start() override
    {
      if (!requests.empty()) // which MPI_Startall does not take
        MPI_Startall(static_cast<int>(requests.size()), requests.data());
    }
    void progress() override
    {
      int all_done = 0;
      MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all_done, MPI_STATUSES_IGNORE);
    }
    void finish() override { communicator.wait(static_cast<int>(requests.size()), requests.data()); }

    const MPICommunicator   &communicator;
    std::vector<MPI_Request> requests;
  };

  MPICommunicator::MPICommunicator(const MPI_Comm communicator)
      : ranks(communicator), next_tag(first_tag), most_seconds(most_seconds_to_wait())
  {
    MPI_Comm_rank(ranks, &own_rank);
    MPI_Comm_size(ranks, &n_ranks);
    all_open.push_back(this);
    MPI_Comm    duplicate;
    MPI_Request request;
    MPI_Comm_idup(communicator, &duplicate, &request);
    wait(1, &request);
    ranks = duplicate;
  }

  std::shared_ptr<const MPICommunicator> MPICommunicator::of(const MPI_Comm communicator)
  {
    static const int key = [] {
      int result;
      MPI_Comm_create_keyval(copy_shared, delete_shared, &result, nullptr);
      return result;
    }();
    Shared *kept     = nullptr;
    int     is_there = 0;
    MPI_Comm_get_attr(communicator, key, &kept, &is_there);
    if (is_there == 0)
    {
      kept = new Shared(std::make_shared<const MPICommunicator>(communicator));
      MPI_Comm_set_attr(communicator, key, kept);
    }
    return *kept;
  }

  MPICommunicator::~MPICommunicator()
  {
    all_open.erase(std::find(all_open.begin(), all_open.end(), this));
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (finalized == 0)
      MPI_Comm_free(&ranks);
  }

  template <typename Done>
  void MPICommunicator::wait_until(const Done &done, const bool asleep) const
  {
    for (int i = 0; i < 200; ++i) // mostly enough
      if (done())
        return;
    using std::chrono::milliseconds, std::chrono::microseconds;
    constexpr microseconds  longest_nap(200);
    microseconds            nap(50);
    const Clock::time_point begin = Clock::now();
    for (Clock::time_point now = begin, looked = begin; !done(); now = Clock::now())
    {
      if (asleep)
      {
        std::this_thread::sleep_for(nap);
        nap = std::min(nap * 5 / 4, longest_nap);
      }
      else if (now - begin > milliseconds(1))
        std::this_thread::yield();
      if (now - looked < milliseconds(10))
        continue;
      looked = now;
      for (const MPICommunicator *open : all_open)
        if (open->roll_is_called())
          open->call_roll();
      if (!asleep && seconds_since(begin) > most_seconds)
        alike().front()->call_roll();
    }
  }

  void MPICommunicator::wait(const int n, MPI_Request *const requests) const
  {
    wait_until([&] {
      int done = 0;
      MPI_Testall(n, requests, &done, MPI_STATUSES_IGNORE);
      return done != 0;
    });
  }

  bool MPICommunicator::roll_is_called() const
  {
    int called = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, tag_of_roll, ranks, &called, MPI_STATUS_IGNORE);
    return called != 0;
  }

  std::vector<const MPICommunicator *> MPICommunicator::alike() const
  {
    std::vector<const MPICommunicator *> result;
    for (const MPICommunicator *open : all_open)
    {
      int difference = MPI_UNEQUAL;
      MPI_Comm_compare(ranks, open->ranks, &difference);
      if (difference == MPI_IDENT || difference == MPI_CONGRUENT)
        result.push_back(open);
    }
    return result;
  }

  void MPICommunicator::call_roll() const
  {
    std::int64_t place = 0;
    for (const MPICommunicator *open : alike())
      place += open->n_begun;
    // Those that wait hear the first call and come here too, so that each hears of all others how far they are.
    std::vector<std::int64_t> begun(n_ranks, -1);
    begun[own_rank]       = place;
    const auto one_second = [&] {
      for (const Clock::time_point begin = Clock::now(); seconds_since(begin) < 1.; std::this_thread::yield())
        while (roll_is_called())
        {
          MPI_Status   status;
          std::int64_t n = 0;
          MPI_Recv(&n, 1, MPI_INT64_T, MPI_ANY_SOURCE, tag_of_roll, ranks, &status);
          begun[status.MPI_SOURCE] = n;
        }
    };
    std::vector<MPI_Request> requests(n_ranks, MPI_REQUEST_NULL);
    for (int rank = 0; rank < n_ranks; ++rank)
      if (rank != own_rank)
        MPI_Isend(&place, 1, MPI_INT64_T, rank, tag_of_roll, ranks, &requests[rank]);
    one_second();
    // The first one speaks for all, and ends them.
    if (std::any_of(begun.begin(), begun.begin() + own_rank, [](const std::int64_t n) { return n >= 0; }))
      one_second();
    const auto list = [&](const std::int64_t before) {
      std::string text;
      for (int rank = 0; rank < n_ranks; ++rank)
        if (begun[rank] < before)
          text += (text.empty() ? "" : ", ") + std::to_string(rank);
      return text;
    };
    const std::string absent = list(0), behind = list(*std::max_element(begun.begin(), begun.end()));
    const std::string what = !absent.empty()   ? "rank " + absent + " of " + std::to_string(n_ranks) + " did not come"
                             : !behind.empty() ? "all are there, but at an earlier place than others rank " + behind
                                               : "all are there, and wait for each other";
    std::cerr << text_of("PatchFEM: Ranks have waited for others for ", most_seconds,
                         " s, which PATCHFEM_TIMEOUT can change: ", what, ".\n")
              << std::flush;
    MPI_Abort(ranks, 1);
    std::abort();
  }

  void MPICommunicator::barrier() const
  {
    ++n_begun;
    MPI_Request request;
    MPI_Ibarrier(ranks, &request);
    wait(1, &request);
  }

  void MPICommunicator::broadcast(void *const data, const std::size_t bytes) const
  {
    constexpr std::size_t most = 1 << 30;
    for (std::size_t begin = 0; begin < bytes; begin += most)
    {
      ++n_begun;
      MPI_Request request;
      MPI_Ibcast(static_cast<char *>(data) + begin, static_cast<int>(std::min(bytes - begin, most)), MPI_CHAR, 0, ranks,
                 &request);
      wait_until(
          [&] {
            int done = 0;
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            return done != 0;
          },
          own_rank > 0);
    }
  }

  int MPICommunicator::machine() const
  {
    if (first_of_machine >= 0)
      return first_of_machine;
    barrier(); // there is no MPI_Comm_split_type that could be waited for here, and now it does not take long
    MPI_Comm same;
    MPI_Comm_split_type(ranks, MPI_COMM_TYPE_SHARED, own_rank, MPI_INFO_NULL, &same);
    int first = own_rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, same);
    MPI_Comm_free(&same);
    return first_of_machine = first;
  }

  void MPICommunicator::gather(const void *const own, const std::size_t bytes, char *const all) const
  {
    // By Bruck: with what the next 1, 2, 4, ... ranks have, a rank has that of the next 2, 4, 8, ... These few messages
    // take no longer than MPI_Allgather, and MPI_Iallgather takes twice as long.
    ++n_begun;
    Bytes of_next(bytes * n_ranks); // from the own rank on
    std::memcpy(of_next.data(), own, bytes);
    for (int n = 1; n < n_ranks; n *= 2)
    {
      const int   size = checked(bytes * std::min(n, n_ranks - n));
      MPI_Request requests[2];
      MPI_Irecv(of_next.data() + n * bytes, size, MPI_CHAR, (own_rank + n) % n_ranks, tag_of_gather, ranks,
                &requests[0]);
      MPI_Isend(of_next.data(), size, MPI_CHAR, (own_rank + n_ranks - n) % n_ranks, tag_of_gather, ranks, &requests[1]);
      wait(2, requests);
    }
    const std::size_t before = (n_ranks - own_rank) * bytes;
    std::memcpy(all + own_rank * bytes, of_next.data(), before);
    std::memcpy(all, of_next.data() + before, own_rank * bytes);
  }

  /** The message of a rank at the beginning of a collective function: its data if they are short, or that it failed. */
  struct MPICommunicator::Word
  {
    static constexpr std::int64_t failure = -1;

    std::int64_t size; ///< in bytes, of what it has; or failure, where all that it has is an exception
    char         data[24];

    bool is_all() const { return size <= std::int64_t(sizeof(data)); }

    static bool any_failure(const std::vector<Word> &all)
    {
      return std::any_of(all.begin(), all.end(), [](const Word &word) { return word.size == failure; });
    }
  };

  std::vector<MPICommunicator::Word> MPICommunicator::words(const void *const own, const std::int64_t size) const
  {
    Word word{size, {}};
    if (size > 0 && word.is_all())
      std::memcpy(word.data, own, size);
    std::vector<Word> all(n_ranks);
    gather(&word, sizeof(Word), reinterpret_cast<char *>(all.data()));
    return all;
  }

  std::vector<MPICommunicator::Word> MPICommunicator::settled_words(const void *const own, const std::size_t size) const
  {
    std::vector<Word> all = words(own, static_cast<std::int64_t>(size));
    settle(Word::any_failure(all));
    return all;
  }

  bool MPICommunicator::any(const bool one) const
  {
    return Word::any_failure(words(nullptr, one ? Word::failure : 0));
  }

  template <typename T, typename Operation>
  void MPICommunicator::reduce(T *const values, const int n, const T first, const Operation &operation) const
  {
    // MPI_Allreduce may add in any order; a few numbers of all ranks travel as fast.
    const std::size_t       bytes = n * sizeof(T);
    const std::vector<Word> words = settled_words(values, bytes);
    std::vector<T>          all(std::size_t(n) * n_ranks);
    for (int rank = 0; rank < n_ranks && words[0].is_all(); ++rank)
      std::memcpy(all.data() + std::size_t(rank) * n, words[rank].data, bytes);
    if (!words[0].is_all())
      gather(values, bytes, reinterpret_cast<char *>(all.data()));
    for (int i = 0; i < n; ++i)
    {
      values[i] = first;
      for (int rank = 0; rank < n_ranks; ++rank)
        values[i] = operation(values[i], all[std::size_t(rank) * n + i]);
    }
  }

  void MPICommunicator::sum(double *const values, const int n) const
  {
    reduce(values, n, 0., std::plus<>());
  }

  void MPICommunicator::sum(std::int64_t *const values, const int n) const
  {
    reduce(values, n, std::int64_t(0), std::plus<>());
  }

  void MPICommunicator::maximum(std::int64_t *const values, const int n) const
  {
    reduce(values, n, INT64_MIN, [](const std::int64_t a, const std::int64_t b) { return std::max(a, b); });
  }

  std::vector<Communicator::Bytes> MPICommunicator::all_gather(const Bytes &bytes) const
  {
    const std::vector<Word> words = settled_words(bytes.data(), bytes.size());
    std::vector<Bytes>      result;
    if (std::all_of(words.begin(), words.end(), [](const Word &word) { return word.is_all(); }))
    {
      for (const Word &word : words)
        result.emplace_back(word.data, word.data + word.size);
      return result;
    }
    std::int64_t sum = 0;
    for (const Word &word : words)
      sum += word.size;
    require(sum <= INT_MAX, "What all ranks are to know has ", sum, " bytes, which is more than MPI counts.");
    std::vector<int> sizes, offsets(1, 0);
    for (const Word &word : words)
    {
      sizes.push_back(static_cast<int>(word.size));
      offsets.push_back(offsets.back() + sizes.back());
    }
    Bytes       all(offsets.back());
    MPI_Request request;
    MPI_Iallgatherv(bytes.data(), sizes[own_rank], MPI_CHAR, all.data(), sizes.data(), offsets.data(), MPI_CHAR, ranks,
                    &request);
    wait(1, &request);
    for (int rank = 0; rank < n_ranks; ++rank)
      result.emplace_back(all.begin() + offsets[rank], all.begin() + offsets[rank + 1]);
    return result;
  }

  std::map<int, Communicator::Bytes> MPICommunicator::exchange(const std::map<int, Bytes> &messages) const
  {
    // Who sends here: a bit for each rank that one sends to. One that has a message which is too long has no bits, so
    // that all refuse it.
    Bytes marks((n_ranks + 7) / 8, 0);
    for (const auto &[rank, bytes] : messages)
      marks[rank / 8] |= static_cast<char>(1 << rank % 8);
    if (std::any_of(messages.begin(), messages.end(),
                    [](const auto &message) { return message.second.size() > std::size_t(INT_MAX); }))
      marks.clear();
    const std::vector<Bytes> all_marks = all_gather(marks);
    for (const Bytes &of_rank : all_marks)
      require(!of_rank.empty(),
              "A message between two ranks has more than the 2147483647 bytes that MPI counts: use more ranks.");
    std::vector<MPI_Request> requests;
    for (const auto &[rank, bytes] : messages)
      MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, rank, tag_of_exchange, ranks,
                &requests.emplace_back());
    std::map<int, Bytes> result;
    for (int rank = 0; rank < n_ranks; ++rank)
    {
      if ((all_marks[rank][own_rank / 8] >> own_rank % 8 & 1) == 0)
        continue;
      MPI_Message message;
      MPI_Status  status;
      int         size = 0;
      wait_until([&] {
        int found = 0;
        MPI_Improbe(rank, tag_of_exchange, ranks, &found, &message, &status);
        return found != 0;
      });
      MPI_Get_count(&status, MPI_CHAR, &size);
      Bytes &bytes = result[rank];
      bytes.resize(size);
      MPI_Imrecv(bytes.data(), size, MPI_CHAR, &message, &requests.emplace_back());
    }
    wait(static_cast<int>(requests.size()), requests.data());
    return result;
  }

  std::unique_ptr<Communicator::Channel> MPICommunicator::channel(const std::vector<Link> &sends,
                                                                  const std::vector<Link> &receives) const
  {
    auto      result = std::make_unique<WaitingChannel>(*this);
    const int tag    = next_tag;
    for (const auto *links : {&receives, &sends})
      for (const Link &link : *links)
        checked(link.bytes);
    for (const Link &link : receives)
      MPI_Recv_init(link.data, static_cast<int>(link.bytes), MPI_CHAR, link.rank, tag, ranks,
                    &result->requests.emplace_back());
    for (const Link &link : sends)
      MPI_Send_init(link.data, static_cast<int>(link.bytes), MPI_CHAR, link.rank, tag, ranks,
                    &result->requests.emplace_back());
    next_tag = next_tag == last_tag ? first_tag : next_tag + 1; // where nothing was thrown
    return result;
  }
} // namespace PatchFEM
