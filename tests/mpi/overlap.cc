// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../core/lac_cases.h"
#include "rank_tables.h"

#include <patchfem/lac/matrix/rounded_matrix.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

using namespace PatchFEM;

namespace
{
  /** All ranks, where nothing travels before finish(): until then what is received is not a number. */
  class LateRanks : public Communicator
  {
  public:
    using Communicator::all_gather, Communicator::exchange, Communicator::sum, Communicator::maximum;

    int                  rank() const override { return ranks->rank(); }
    int                  size() const override { return ranks->size(); }
    int                  machine() const override { return ranks->machine(); }
    void                 sum(double *values, const int n) const override { ranks->sum(values, n); }
    void                 sum(std::int64_t *values, const int n) const override { ranks->sum(values, n); }
    void                 maximum(std::int64_t *values, const int n) const override { ranks->maximum(values, n); }
    std::vector<Bytes>   all_gather(const Bytes &bytes) const override { return ranks->all_gather(bytes); }
    std::map<int, Bytes> exchange(const std::map<int, Bytes> &messages) const override
    {
      return ranks->exchange(messages);
    }

    std::unique_ptr<Channel> channel(const std::vector<Link> &sends, const std::vector<Link> &receives) const override
    {
      return std::make_unique<LateChannel>(*this, ranks->channel(sends, receives), receives);
    }

    std::function<void()> before_finish = [] {};
    mutable int           n_progress    = 0;

  private:
    struct LateChannel : Channel
    {
      LateChannel(const LateRanks &of, std::unique_ptr<Channel> channel, const std::vector<Link> &receives)
          : of(of), channel(std::move(channel)), receives(receives)
      {}

      void start() override
      {
        for (const Link &link : receives)
          std::memset(link.data, 0xff, link.bytes);
      }
      void progress() override { ++of.n_progress; }
      void finish() override
      {
        of.before_finish();
        channel->start();
        channel->finish();
      }

      const LateRanks         &of;
      std::unique_ptr<Channel> channel;
      std::vector<Link>        receives;
    };

    std::shared_ptr<const Communicator> ranks = rank_tables::world();
  };

  /** Where rows read ghosts. */
  struct Boundary
  {
    const char                         *name;
    std::function<bool(int row, int n)> has;
    std::function<int(int n)>           n_interior;
    std::function<int(int rank)>        n_owned;
  };

  int some_of_each(const int rank)
  {
    return 3000 + 100 * rank;
  }

  const std::vector<Boundary> boundaries{
      {"all rows", [](int, int) { return true; }, [](int) { return 0; }, some_of_each},
      {"none", [](int, int) { return false; }, [](const int n) { return n; }, some_of_each},
      {"behind the interior", [](const int row, const int n) { return row >= n - 777; },
       [](const int n) { return n - 777; }, some_of_each},
      {"every seventh row", [](const int row, int) { return row % 7 == 6; }, [](int) { return 6; }, some_of_each},
      {"a rank without rows", [](const int row, const int n) { return row >= n - 777; },
       [](const int n) { return std::max(n - 777, 0); }, [](const int rank) { return rank == 1 ? 0 : 2500; }},
      {"from a strip of a high slice on", [](const int row, int) { return row >= 1024; },
       [](const int n) { return std::min(n, 1024); }, some_of_each},
  };

  struct Format
  {
    int  block_rows, block_columns, height;
    bool short_columns;
  };

  /**
   * Rows of irregular length and some empty ones, of which one ends a strip of a high slice. Those with ghosts have nothing else if their number is even: beside
   * them padding of an empty row reads ghosts, too. @p with_diagonal adds the row's own column.
   */
  template <typename Number>
  HostCSR<Number>
  rows_of(const Partitioner &partitioner, const Boundary &boundary, const int n_rows, const int br, const int bc)
  {
    const int       n_owned = partitioner.n_owned(), n_ghosts = partitioner.n_ghosts();
    HostCSR<double> pattern{n_rows, partitioner.n_local(), {0}, {}, {}};
    const auto      random = [](const int row, const int k) { return synthetic::hashed(100 * row + k); };
    for (int row = 0; row < n_rows; ++row)
    {
      const bool    has_ghosts = boundary.has(row, n_rows) && n_ghosts > 0;
      std::set<int> columns;
      for (int k = 0;
           k < 9 * random(row, 50) && n_owned > 0 && row % 11 != 3 && row != 1023 && !(has_ghosts && row % 2 == 0); ++k)
        columns.insert(static_cast<int>(random(row, k) * n_owned));
      for (int k = 0; k < 1 + row % 3 && has_ghosts; ++k)
        columns.insert(n_owned + static_cast<int>(random(row, 60 + k) * n_ghosts));
      pattern.columns.insert(pattern.columns.end(), columns.begin(), columns.end());
      pattern.row_offsets.push_back(static_cast<std::int64_t>(pattern.columns.size()));
    }
    HostCSR<Number> result = cases::expand<Number>(pattern, br, bc, 7);
    for (Number &value : result.values)
      value = std::abs(value); // so that p.q is positive
    return result;
  }

  /** Products of one matrix, each compared bit by bit with that of all rows once all ghosts are there. */
  template <typename Number>
  struct Products
  {
    Products(LateRanks &ranks, std::shared_ptr<const Partitioner> partitioner, const MatrixBase<Number> &A)
        : ranks(ranks), place(A.backend()), n(A.n_rows()), x(made(partitioner, A.block_columns(), 1)),
          b(place, cases::to<Number>(cases::random_values(n, 2))), y(place, n)
    {}

    static std::vector<Number> positive(const std::size_t n, const unsigned int seed)
    {
      std::vector<Number> values = cases::to<Number>(cases::random_values(n, seed));
      for (Number &value : values)
        value = std::abs(value);
      return values;
    }

    Vector<Number> made(const std::shared_ptr<const Partitioner> &partitioner, const int block, const int seed) const
    {
      Vector<Number> vector;
      vector.reinit(place, partitioner, block);
      vector.copy_from_host(positive(vector.size(), 10 * ranks.rank() + seed));
      return vector;
    }

    void poison_ghosts()
    {
      std::vector<Number> values = x.array().to_vector();
      std::fill(values.begin() + x.size(), values.end(), std::numeric_limits<Number>::quiet_NaN());
      x.array().copy_from(place, values);
    }

    /**
     * @p in_turn is given all ghosts, @p overlapped none; both find NaN or, if @p adds, 1 in y. Returns how many rows
     * were formed when the second one began to wait for them; those behind were not.
     */
    template <typename InTurn, typename Overlapped>
    int compare(const InTurn &in_turn, const Overlapped &overlapped, const bool adds = false)
    {
      const Number before = adds ? Number(1) : std::numeric_limits<Number>::quiet_NaN();
      const auto   old    = [=](const Number value) { return adds ? value == Number(1) : std::isnan(value); };
      x.update_ghosts();
      y = before;
      in_turn();
      const std::vector<Number> expected = y.copy_to_host();
      poison_ghosts();
      y            = before;
      int n_formed = 0, n_finished = 0;
      ranks.before_finish = [&] {
        const std::vector<Number> values = y.copy_to_host();
        ++n_finished;
        for (int i = 0; i < n; ++i)
          if (!old(values[i]))
            n_formed = i + 1;
      };
      overlapped();
      ranks.before_finish = [] {};
      EXPECT_EQ(n_finished, 1);
      EXPECT_EQ(y.copy_to_host(), expected);
      return n_formed;
    }

    LateRanks     &ranks;
    Backend        place;
    int            n;
    Vector<Number> x, b, y;
  };

  template <typename Number, typename Matrix>
  void check_products(const Matrix                             &A,
                      const std::shared_ptr<const Partitioner> &partitioner,
                      LateRanks                                &ranks,
                      const int                                 n_interior)
  {
    Products<Number> products(ranks, partitioner, A);
    Vector<Number>  &x = products.x, &b = products.b, &y = products.y;
    // Rows that are formed in time are interior, and all of these are but for what is left of a strip, or of a part.
    const int  br     = A.block_rows();
    const auto timely = [&](const int n_formed) {
      EXPECT_LE(n_formed, n_interior * br);
      EXPECT_GE(n_formed, (n_interior - 800) * br);
    };
    const kernels::Overwrite<Number> overwrite{y.data()};
    timely(products.compare([&] { A.product(x.data(), overwrite); }, [&] { A.vmult(y, x); }));
    const kernels::Add<Number> add{y.data()};
    const int n_added = products.compare([&] { A.product(x.data(), add); }, [&] { A.vmult_add(y, x); }, true);
    if (partitioner->n_owned() > 0) // else there is nothing to add to interior rows
      timely(n_added);
    const kernels::Residual<Number> residual{b.data(), y.data()};
    timely(products.compare([&] { A.product(x.data(), residual); }, [&] { A.residual(y, x, b); }));
    if (A.block_rows() != A.block_columns())
      return;

    const Array<double>                   c(A.backend(), std::vector<double>{0.25, 0.5});
    const kernels::PolynomialStep<Number> step{c.data(), b.data(), b.data(), x.data(), y.data(), true};
    Vector<Number>                        room;
    timely(products.compare([&] { A.product(x.data(), step); }, [&] { A.polynomial_step(step, x, room); }));

    if constexpr (std::is_same_v<Matrix, SlicedEllpackMatrix<Number>>)
    {
      Array<CGScalars> scalars(A.backend(), 1);
      Array<double>    history(A.backend(), 1), partials(A.backend(), kernels::cg_n_partials(products.n));
      const CGView     cg{scalars.data(), history.data(), 1, partials.data(), true};
      const auto       begin = [&] {
        CGScalars start{};
        start.r_dot_z = start.scale = 1.;
        scalars.copy_from(&start, 1);
      };
      CGScalars in_turn;
      timely(products.compare(
          [&] {
            begin();
            A.product(x.data(), kernels::ConjugateGradients<Number>{x.data(), y.data(), cg});
            add_up(A.partitioner(), A.backend(), kernels::CGSums::product, cg);
            in_turn = scalars.read(0);
          },
          [&] {
            begin();
            A.cg_product(y, x, cg);
          }));
      EXPECT_GT(in_turn.p_dot_q, 0.);
      EXPECT_EQ(scalars.read(0).p_dot_q, in_turn.p_dot_q);
      EXPECT_EQ(scalars.read(0).alpha, in_turn.alpha);
    }
  }

  /** Returns how often messages could make progress between start and finish. */
  template <typename Number>
  int check_matrix(const Backend &place, const Boundary &boundary, const Format &format)
  {
    const auto ranks   = std::make_shared<LateRanks>();
    const int  n_ranks = ranks->size(), me = ranks->rank(), n_owned = boundary.n_owned(me);

    std::vector<Partitioner::Ghost> ghosts;
    for (int rank = 0; rank < n_ranks; ++rank)
      for (int i = me; i < boundary.n_owned(rank) && rank != me; i += 97)
        ghosts.push_back({rank, i});
    const auto partitioner = std::make_shared<const Partitioner>(ranks, n_owned, ghosts);

    // Square matrices have the rows that they own; others, as between levels, any number.
    const int                   n_rows = format.block_rows == format.block_columns ? n_owned : 2000;
    SlicedEllpackMatrix<Number> A;
    A.reinit(place, rows_of<Number>(*partitioner, boundary, n_rows, format.block_rows, format.block_columns),
             format.block_rows, format.block_columns, {format.height, format.short_columns});
    A.set_partitioner(partitioner);
    // Padding of empty rows before the first with ghosts may read what that one does.
    const int n_interior = ghosts.empty() ? n_rows : boundary.n_interior(n_rows);
    EXPECT_LE(A.extents().n_interior, n_interior);
    EXPECT_GE(A.extents().n_interior, n_interior - (n_owned > 0 ? 2 : format.height));
    check_products<Number>(A, partitioner, *ranks, A.extents().n_interior);
    if constexpr (std::is_same_v<Number, double>)
    {
      const RoundedMatrix rounded(A);
      EXPECT_EQ(rounded.extents().n_interior, A.extents().n_interior);
      check_products<double>(rounded, partitioner, *ranks, A.extents().n_interior);
    }
    return ranks->n_progress;
  }

  TEST(Overlap, ProductsHaveTheBitsOfThoseInTurn)
  {
    const Format formats[] = {{1, 1, 32, false}, {1, 1, 32, true},    {3, 3, 32, false},   {4, 4, 32, false},
                              {3, 3, 8, false},  {1, 1, 4000, false}, {3, 3, 4000, false}, {3, 6, 32, false},
                              {6, 3, 32, false}, {1, 3, 100, false}};
    for (const Boundary &boundary : boundaries)
      for (const Format &format : formats)
      {
        SCOPED_TRACE(std::string("ghosts: ") + boundary.name + "; blocks of " + std::to_string(format.block_rows) +
                     " x " + std::to_string(format.block_columns) + " in slices of " + std::to_string(format.height));
        check_matrix<double>(Backend(), boundary, format);
        check_matrix<float>(Backend(), boundary, format);
        if (format.block_rows == 3)
          check_matrix<double>(Backend(BackendKind::emulated_device), boundary, format);
      }
  }

  // Three times in each, of which there are nine; short ones do without.
  TEST(Overlap, LongProductsLetMessagesProgress)
  {
    const Boundary &boundary = boundaries[2];
    Boundary        longer   = boundary;
    longer.n_owned           = [](int) { return 25000; };
    EXPECT_EQ(check_matrix<double>(Backend(), boundary, {3, 3, 32, false}), 0);
    EXPECT_EQ(check_matrix<double>(Backend(), longer, {3, 3, 32, false}), 27);
  }

  // Compressed rows wait, and are right as well.
  TEST(Overlap, CompressedRowsWaitForGhosts)
  {
    const auto ranks       = std::make_shared<LateRanks>();
    const int  next        = (ranks->rank() + 1) % ranks->size();
    const auto partitioner = std::make_shared<const Partitioner>(
        ranks, 500,
        ranks->size() == 1 ? std::vector<Partitioner::Ghost>() : std::vector<Partitioner::Ghost>{{next, 3}});
    CSRMatrix<double> A(Backend(), rows_of<double>(*partitioner, boundaries[3], 500, 1, 1));
    A.set_partitioner(partitioner);
    check_products<double>(A, partitioner, *ranks, 0);
  }
} // namespace
