// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/message_of.h"
#include "rank_tables.h"

#include <patchfem/base/one_rank.h>
#include <patchfem/lac/vector.h>

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

using namespace PatchFEM;

namespace
{
  const std::shared_ptr<const Communicator> &ranks()
  {
    static const auto communicator = rank_tables::world();
    return communicator;
  }

  TEST(Communicator, SumsAndGathers)
  {
    const int n = ranks()->size(), me = ranks()->rank();
    double    values[2] = {1. + me, 0.5};
    ranks()->sum(values, 2);
    EXPECT_EQ(values[0], 0.5 * n * (n + 1));
    EXPECT_EQ(values[1], 0.5 * n);
    EXPECT_EQ(ranks()->sum(std::int64_t(me)), n * (n - 1) / 2);
    EXPECT_EQ(ranks()->maximum(std::int64_t(10 + me)), 9 + n);
    const std::vector<int> all = ranks()->all_gather(3 * me);
    for (int rank = 0; rank < n; ++rank)
      EXPECT_EQ(all[rank], 3 * rank);
  }

  TEST(Communicator, RanksOfATestShareAMachine)
  {
    EXPECT_EQ(ranks()->machine(), 0);
    EXPECT_EQ(ranks()->machine(), 0);
  }

  TEST(Communicator, IsThatOfAllDuplicates)
  {
    MPI_Comm first, second;
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &first); // which has none yet
    const std::shared_ptr<const MPICommunicator> one = MPICommunicator::of(first);
    MPI_Comm_dup(first, &second);
    MPI_Comm_free(&first);
    EXPECT_EQ(MPICommunicator::of(second), one);
    MPI_Comm_free(&second);
    one->barrier();
    EXPECT_EQ(one.use_count(), 1);
  }

  TEST(Communicator, OfOneRankSendsToItself)
  {
    const OneRank          one;
    int                    sent = 7, received = 0;
    const std::vector<int> message{1, 2};
    const auto             channel = one.channel({{0, &sent, sizeof(int)}}, {{0, &received, sizeof(int)}});
    channel->start();
    channel->finish();
    EXPECT_EQ(received, sent);
    EXPECT_EQ(one.exchange(std::map<int, std::vector<int>>{{0, message}}).at(0), message);
    EXPECT_EQ(one.all_gather(sent), std::vector<int>{sent});
  }

  // Rank r sends r numbers to each later rank; the first one gets nothing. Twice, as messages of two must not mix.
  TEST(Communicator, ExchangesOnlyWhatThereIs)
  {
    const int n = ranks()->size(), me = ranks()->rank();
    for (int round = 0; round < 2; ++round)
    {
      std::map<int, std::vector<int>> messages;
      for (int rank = me + 1; rank < n; ++rank)
        messages[rank].assign(me, 100 * round + 10 * me + rank);
      const auto received = ranks()->exchange(messages);
      EXPECT_EQ(int(received.size()), me);
      for (const auto &[rank, values] : received)
        EXPECT_EQ(values, std::vector<int>(rank, 100 * round + 10 * rank + me));
    }
  }

  TEST(Communicator, AnErrorOfOneIsAnErrorOfAll)
  {
    const int last = ranks()->size() - 1;
    try
    {
      ranks()->agree_on_errors([&] { require(ranks()->rank() < last, "The last one fails."); });
      ADD_FAILURE() << "no error";
    }
    catch (const Error &error)
    {
      EXPECT_STREQ(error.what(), "The last one fails.");
    }
    EXPECT_NO_THROW(ranks()->agree_on_errors([] {}));
  }

  // Callers catch StepFailure and NotPositiveDefinite to try something else, which all ranks must do; the first rank's error
  // is that of all.
  TEST(Communicator, ErrorsOfOneKeepTheirTypes)
  {
    const int  me = ranks()->rank(), last = ranks()->size() - 1;
    const auto step = [&] {
      if (me == last)
        throw StepFailure("The law fails.");
    };
    for (const auto &function :
         {std::function<void()>([&] { ranks()->agree_on_errors(step); }), {[&] { ranks()->defer_errors(step); }}})
      try
      {
        function();
        ADD_FAILURE() << "no error";
      }
      catch (const NotPositiveDefinite &)
      {
        ADD_FAILURE() << "wrong type";
      }
      catch (const StepFailure &error)
      {
        EXPECT_STREQ(error.what(), "The law fails.");
      }
    try
    {
      ranks()->agree_on_errors([&] {
        if (me == last)
          throw NotPositiveDefinite("A pivot is negative.");
      });
      ADD_FAILURE() << "no error";
    }
    catch (const NotPositiveDefinite &error)
    {
      EXPECT_STREQ(error.what(), "A pivot is negative.");
    }
    try
    {
      ranks()->agree_on_errors([&] {
        if (me == last)
          throw std::bad_alloc();
        throw Error(me == 0 ? "" : "A later rank.");
      });
      ADD_FAILURE() << "no error";
    }
    catch (const NotPositiveDefinite &)
    {
      ADD_FAILURE() << "wrong type";
    }
    catch (const Error &error)
    {
      EXPECT_EQ(error.what(),
                last > 0 ? std::string() : "Memory ran out on rank 0; use fewer cells or unknowns, or more machines.");
    }
    try
    {
      ranks()->agree_on_errors([&] {
        if (me == last)
          throw std::bad_alloc();
      });
      ADD_FAILURE() << "no error";
    }
    catch (const Error &error)
    {
      EXPECT_EQ(error.what(),
                text_of("Memory ran out on rank ", last, "; use fewer cells or unknowns, or more machines."));
    }
    EXPECT_THROW(ranks()->agree_on_errors([&] {
      if (me == last)
        throw 1;
    }),
                 Error);
  }

  /** Before anything that ranks do one after the other, where the others wait for the last one. */
  TEST(Communicator, AnErrorBetweenCollectiveFunctionsIsThatOfAll)
  {
    const int  me = ranks()->rank(), last = ranks()->size() - 1, n_places = 8;
    const auto series = [&](const int place) {
      int        now     = 0;
      double     x       = 1.;
      const auto perhaps = [&] { require(me < last || now++ != place, "It fails at ", place, "."); };
      perhaps();
      ranks()->sum(&x, 1);
      perhaps();
      ranks()->maximum(std::int64_t(1));
      perhaps();
      ranks()->all_gather(1);
      perhaps();
      ranks()->exchange(std::map<int, std::vector<int>>{{0, {me}}});
      perhaps();
      ranks()->agree_on_errors([] {});
      perhaps();
      ranks()->agree_on_errors([&] {
        perhaps();
        ranks()->sum(std::int64_t(1));
      });
      perhaps();
    };
    const auto message = [&](const int place) {
      return message_of([&] { ranks()->agree_on_errors([&] { series(place); }); });
    };
    for (int place = 0; place < n_places; ++place)
      EXPECT_EQ(message(place), text_of("It fails at ", place, "."));
    EXPECT_EQ(message(n_places), "");
    ranks()->agree_on_errors([&] {
      EXPECT_EQ(message(3), "It fails at 3.");
      ranks()->poll_errors();
      series(n_places);
    });
    // An error that was caught is not taken for a later one, which other ranks do not know yet.
    EXPECT_EQ(message_of([&] {
                ranks()->agree_on_errors([&] {
                  EXPECT_EQ(message(3), "It fails at 3.");
                  ranks()->agree_on_errors([] {});
                  require(me < last, "It fails later.");
                });
              }),
              "It fails later.");
    EXPECT_THROW(ranks()->agree_on_errors([] { throw Error("This is behind."); }), Error);
    EXPECT_EQ(message(0), "It fails at 0.");
  }

  TEST(Communicator, ASentenceThatCannotBeMadeIsAnErrorOfAll)
  {
    const auto before                = Communicator::sentence_of_others;
    Communicator::sentence_of_others = []() -> std::string { throw std::bad_alloc(); };
    const int last                   = ranks()->size() - 1;
    try
    {
      ranks()->agree_on_errors([&] {
        if (ranks()->rank() == last)
          throw std::runtime_error("x");
      });
      ADD_FAILURE() << "no error";
    }
    catch (const Error &error)
    {
      EXPECT_EQ(error.what(), text_of("Something went wrong inside a library on rank ", last, "."));
    }
    Communicator::sentence_of_others = before;
  }

  // Three things each, in a ring: the ghosts are the middle one of the next rank and the last one of the one before.
  std::shared_ptr<const Partitioner> ring()
  {
    const int n = ranks()->size(), me = ranks()->rank(), next = (me + 1) % n, before = (me + n - 1) % n;
    std::vector<Partitioner::Ghost> ghosts;
    if (n > 1)
      ghosts = {{next, 1}, {before, 2}};
    std::sort(ghosts.begin(), ghosts.end());
    return std::make_shared<const Partitioner>(ranks(), 3, ghosts);
  }

  TEST(Partitioner, KnowsGlobalNumbersAndUpdatesGhosts)
  {
    const auto partitioner = ring();
    const int  n = ranks()->size(), me = ranks()->rank();
    EXPECT_EQ(partitioner->n_global(), 3 * n);
    EXPECT_EQ(partitioner->first(), 3 * me);
    std::vector<std::int64_t> numbers(partitioner->n_local() * 2, -1);
    for (int i = 0; i < 3; ++i)
      for (int c = 0; c < 2; ++c)
        numbers[2 * i + c] = 2 * (3 * me + i) + c;
    partitioner->update_ghosts(numbers.data(), 2);
    for (int i = 0; i < partitioner->n_local(); ++i)
      for (int c = 0; c < 2; ++c)
        EXPECT_EQ(numbers[2 * i + c], 2 * partitioner->global(i) + c);
  }

  TEST(Partitioner, RefusesGhostsThatAreNoOnes)
  {
    EXPECT_THROW(Partitioner(ranks(), 3, {{ranks()->rank(), 0}}), Error);
    EXPECT_THROW(Partitioner(ranks(), 3, {{(ranks()->rank() + 1) % ranks()->size(), 3}}), Error);
  }

  template <typename Number>
  void check_vectors(const Backend &backend)
  {
    const auto     partitioner = ring();
    const int      n = ranks()->size(), me = ranks()->rank();
    Vector<Number> x, y;
    x.reinit(backend, partitioner, 2);
    EXPECT_EQ(x.size(), 6u);
    EXPECT_TRUE(x.all_zero());
    std::vector<Number> values(6);
    for (int i = 0; i < 6; ++i)
      values[i] = static_cast<Number>(6 * me + i);
    x.copy_from_host(values);
    y.reinit(x);
    y = Number(1);
    for (int repetition = 0; repetition < 2; ++repetition) // buffers of the first are those of the second
    {
      x.update_ghosts();
      const std::vector<Number> all = x.array().to_vector();
      for (int i = 0; i < partitioner->n_local(); ++i)
        for (int c = 0; c < 2; ++c)
          EXPECT_EQ(all[2 * i + c], static_cast<Number>((repetition + 1) * (2 * partitioner->global(i) + c)));
      if (repetition == 0)
        x *= Number(2);
    }
    EXPECT_EQ(x.dot(y), 6. * n * (6. * n - 1.));
    EXPECT_EQ(y.l2_norm(), std::sqrt(6. * n));
    EXPECT_EQ(x.linfty_norm(), 2. * (6 * n - 1));
    EXPECT_EQ(x.add_and_dot(Number(-1), y, y), 6. * n * (6. * n - 1.) - 6. * n);
    const Vector<Number> copy(x);
    EXPECT_EQ(copy.partitioner(), partitioner);
    EXPECT_EQ(copy.dot(y), x.dot(y));
    EXPECT_THROW(Vector<Number>(backend, 5).add(Number(1), x), Error);
  }

  TEST(VectorOfRanks, SumsOverAllRanks)
  {
    for (const BackendKind kind : {BackendKind::host, BackendKind::emulated_device})
    {
      check_vectors<double>(Backend(kind));
      check_vectors<float>(Backend(kind));
    }
  }

  // Norms whose squares overflow take a second sum, on all ranks or on none, also where one has no elements.
  TEST(VectorOfRanks, NormsOfHugeElementsWithAnEmptyRank)
  {
    const auto partitioner =
        std::make_shared<const Partitioner>(ranks(), ranks()->rank() == 0 ? 4 : 0, std::vector<Partitioner::Ghost>());
    Vector<double> x;
    x.reinit(Backend(), partitioner, 1);
    x = 1e200;
    EXPECT_DOUBLE_EQ(x.l2_norm(), 2e200);
  }
} // namespace
