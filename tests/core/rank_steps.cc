// SPDX-License-Identifier: LGPL-2.1-or-later
#include "backend_names.h"
#include "kernels/launch.h"
#include "lac/graph/graph_tools.h"
#include "lac/multigrid/ghost_rows.h"
#include "lac_cases.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>

/** @file What one rank does with lists of borders. */
using namespace PatchFEM;

using RankStepsTest = BackendTest;
PATCHFEM_INSTANTIATE_BACKENDS(RankStepsTest);

namespace
{
  Array<int> integers(const Backend &place, const std::vector<int> &values)
  {
    return Array<int>(place, values);
  }

  std::vector<int> random_integers(const std::size_t n, const int below, const unsigned int seed)
  {
    std::mt19937     random(seed);
    std::vector<int> result(n);
    for (int &i : result)
      i = static_cast<int>(random() % below);
    return result;
  }

  Adjacency graph_of(const Backend &place, const std::vector<std::vector<int>> &rows, const std::vector<int> &weights)
  {
    std::vector<std::int64_t> offsets{0};
    std::vector<int>          neighbours;
    for (const std::vector<int> &row : rows)
    {
      neighbours.insert(neighbours.end(), row.begin(), row.end());
      offsets.push_back(static_cast<std::int64_t>(neighbours.size()));
    }
    Adjacency result;
    result.reinit(Array<std::int64_t>(place, offsets), integers(place, neighbours), integers(place, weights));
    return result;
  }
} // namespace

namespace
{
  CompressedPattern pattern_of(const Backend &place, const std::vector<std::vector<int>> &rows, const int n_columns)
  {
    CompressedPattern         result;
    std::vector<std::int64_t> offsets{0};
    std::vector<int>          columns;
    for (const std::vector<int> &row : rows)
    {
      columns.insert(columns.end(), row.begin(), row.end());
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    result.n_rows    = static_cast<int>(rows.size());
    result.n_columns = n_columns;
    result.offsets.copy_from(place, offsets);
    result.columns.copy_from(place, columns);
    return result;
  }
} // namespace

TEST_P(RankStepsTest, ColumnsOfSentRowsAreNamedOnce)
{
  const std::vector<std::vector<int>> few{{0, 7}, {}, {1, 3, 5}, {3}};
  const auto sent = [&](const std::vector<std::vector<int>> &rows, const int n, const std::vector<int> &which,
                        const std::vector<int> &ends) {
    const CompressedPattern pattern = pattern_of(backend(), rows, n);
    return dispatch(backend(), [&](auto where) {
      return of_ranks::read_rows(where, pattern, integers(backend(), which), ends, n);
    });
  };
  // Rows 1, 2 and 3 go to the first rank, none to the second, 1 to the third, 0 and 3 to the last one.
  const of_ranks::SentRows result = sent(few, 8, {1, 2, 3, 1, 0, 3}, {3, 3, 4, 6});
  EXPECT_EQ(result.starts.to_vector(), (std::vector<std::int64_t>{0, 0, 3, 4, 4, 6, 7}));
  EXPECT_EQ(result.names, (std::vector<int>{1, 3, 5, 0, 3, 7}));
  EXPECT_EQ(result.places.to_vector(), (std::vector<int>{0, 1, 2, 1, 0, 2, 1}));
  ASSERT_EQ(result.ends.size(), 4u);
  const std::vector<std::vector<std::int64_t>> ends{{4, 3, 2}, {4, 3, INT_MAX}, {4, 3, INT_MAX}, {7, 6, 0}};
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(
        (std::vector<std::int64_t>{result.ends[rank].blocks, result.ends[rank].names, result.ends[rank].first_row}),
        ends[rank]);
  EXPECT_TRUE(sent(few, 8, {}, {}).names.empty());

  std::mt19937                  random(1);
  std::vector<std::vector<int>> many(3000);
  std::vector<int>              all(many.size());
  for (std::vector<int> &row : many)
    row = random_integers(random() % 70, 5000, static_cast<unsigned int>(random()));
  std::iota(all.begin(), all.end(), 0);
  const of_ranks::SentRows halves = sent(many, 5000, all, {1000, 3000});
  const std::vector<int>   places = halves.places.to_vector();
  std::size_t              e      = 0;
  for (std::size_t i = 0; i < many.size(); ++i)
    for (const int column : many[i])
      ASSERT_EQ(halves.names.at((i < 1000 ? 0 : halves.ends[0].names) + places.at(e++)), column);
  EXPECT_EQ(places.size(), e);
  for (const auto &[first, last] :
       {std::pair{std::int64_t(0), halves.ends[0].names}, {halves.ends[0].names, halves.ends[1].names}})
    EXPECT_TRUE(std::is_sorted(halves.names.begin() + first, halves.names.begin() + last, std::less_equal<>()));
}

TEST_P(RankStepsTest, NumbersOfARankBecomeThoseOfAll)
{
  const Array<int>    from = integers(backend(), {5, 0, -1, 2});
  Array<std::int64_t> to(backend(), std::vector<std::int64_t>{9, 9, 9, 9});
  dispatch(backend(), [&](auto where) {
    of_ranks::global_numbers(where, backend(), 3, from.data(), std::int64_t(1) << 32, to.data());
  });
  EXPECT_EQ(to.to_vector(), (std::vector<std::int64_t>{(std::int64_t(1) << 32) + 5, std::int64_t(1) << 32, -1, 9}));
}

TEST_P(RankStepsTest, NumbersOfOthersChange)
{
  // A rank has 3 coarse nodes and knows 3, 4 of others, which become 4, 6. By hand:
  const Array<int> from = integers(backend(), {0, 4, -1, 3, 2}), numbers = integers(backend(), {4, 6});
  Array<int>       to = integers(backend(), {9, 9, 9, 9, 9});
  dispatch(backend(),
           [&](auto where) { of_ranks::renumber(where, backend(), 4, 3, numbers.data(), from.data(), to.data()); });
  EXPECT_EQ(to.to_vector(), (std::vector<int>{0, 6, -1, 4, 9}));

  CompressedPattern pattern = pattern_of(backend(), {{0, 3}, {}, {1, 3, 4}}, 5);
  EXPECT_EQ(renumbered(pattern, 1, 2, 3, numbers, 7).columns.to_vector(), (std::vector<int>{0, 4}));
  renumber(pattern, 3, numbers, 7);
  EXPECT_EQ(pattern.columns.to_vector(), (std::vector<int>{0, 4, 1, 4, 6}));
  EXPECT_EQ(pattern.n_columns, 7);

  // Past the slices of a launch: of 1000 own ones and 4000 of others each becomes the one behind the next.
  const std::vector<int> many = random_integers(100000, 5000, 3);
  std::vector<int>       behind(4000), expected;
  std::iota(behind.begin(), behind.end(), 1002);
  for (const int number : many)
    expected.push_back(number < 1000 ? number : number + 2);
  const Array<int> of_many = integers(backend(), many), of_others = integers(backend(), behind);
  Array<int>       result(backend(), many.size());
  dispatch(backend(), [&](auto where) {
    of_ranks::renumber(where, backend(), static_cast<std::int64_t>(many.size()), 1000, of_others.data(), of_many.data(),
                       result.data());
  });
  EXPECT_EQ(result.to_vector(), expected);
}

TEST_P(RankStepsTest, ValuesOfSentRowsAreReadAndPlaced)
{
  // Of rows 1, 2, 3, of two numbers a block, 3, 2 and 1 go to others: 3 has no block.
  const CompressedPattern pattern = pattern_of(backend(), {{0, 3}, {1}, {1, 2}, {}}, 5);
  const Array<float>      values(backend(), std::vector<float>{10.f, 11.f, 20.f, 21.f, 22.f, 23.f});
  const Array<float>      sent = dispatch(backend(), [&](auto where) {
    return of_ranks::read_values(where, pattern, 1, integers(backend(), {3, 2, 1}),
                                      Array<std::int64_t>(backend(), std::vector<std::int64_t>{0, 0, 2, 3}), 3, 2,
                                      values.data());
  });
  EXPECT_EQ(sent.to_vector(), (std::vector<float>{20.f, 21.f, 22.f, 23.f, 10.f, 11.f}));

  // Ghosts are rows 1 to 3; blocks of 2 x 1 in scalar rows, of which those of row 2 come in the reverse order.
  const Array<float> received(backend(), std::vector<float>{10.f, 11.f, 20.f, 21.f, 22.f, 23.f});
  Array<float>       placed(backend(), std::vector<float>(6, -1.f));
  dispatch(backend(), [&](auto where) {
    of_ranks::place_values(where, pattern, 1, integers(backend(), {0, 1, 0}), 2, 1, received, placed.data());
  });
  EXPECT_EQ(placed.to_vector(), (std::vector<float>{10.f, 11.f, 21.f, 20.f, 23.f, 22.f}));

  // Rows of up to 69 blocks of 18 numbers, half of which go: their values are their places.
  std::mt19937                  random(2);
  std::vector<std::vector<int>> many(2000);
  std::vector<int>              going;
  std::vector<std::int64_t>     starts(1, 0), first(1, 0);
  for (std::size_t i = 0; i < many.size(); ++i)
  {
    many[i].resize(random() % 70);
    first.push_back(first.back() + static_cast<std::int64_t>(many[i].size()));
    if (i % 2 == 0)
      continue;
    going.push_back(static_cast<int>(i));
    starts.push_back(starts.back() + static_cast<std::int64_t>(many[i].size()));
  }
  std::vector<double> numbers(first.back() * 18), expected;
  std::iota(numbers.begin(), numbers.end(), 0.);
  for (const int i : going)
    expected.insert(expected.end(), numbers.begin() + first[i] * 18, numbers.begin() + first[i + 1] * 18);
  const CompressedPattern rows = pattern_of(backend(), many, 1);
  const Array<double>     all(backend(), numbers);
  const Array<double>     read = dispatch(backend(), [&](auto where) {
    return of_ranks::read_values(where, rows, 0, integers(backend(), going), Array<std::int64_t>(backend(), starts),
                                     starts.back(), 18, all.data());
  });
  EXPECT_EQ(read.to_vector(), expected);
}

TEST_P(RankStepsTest, RowsStartBehindOthers)
{
  const CompressedPattern pattern = pattern_of(backend(), {{0, 7}, {}, {1, 3, 5}}, 8);
  Array<int>              lengths(backend(), 3);
  Array<std::int64_t>     there(backend(), 4), starts(backend());
  dispatch(backend(), [&](auto where) {
    of_ranks::row_lengths(where, pattern, lengths.data());
    starts = of_ranks::row_starts(where, backend(), 3, lengths.data(), 10, there.data());
  });
  EXPECT_EQ(lengths.to_vector(), (std::vector<int>{2, 0, 3}));
  EXPECT_EQ(starts.to_vector(), (std::vector<std::int64_t>{0, 2, 2, 5}));
  EXPECT_EQ(there.to_vector(), (std::vector<std::int64_t>{10, 12, 12, 15}));
}

TEST_P(RankStepsTest, RowsAreSorted)
{
  // 4 2 9 | | 3 1
  const Array<std::int64_t> offsets(backend(), std::vector<std::int64_t>{0, 3, 3, 5});
  const Array<int>          columns = integers(backend(), {4, 2, 9, 3, 1});
  Array<int>                places(backend(), 5), sorted(backend(), 5);
  dispatch(backend(), [&](auto where) { of_ranks::sort_rows(where, offsets, columns, places, sorted.data()); });
  EXPECT_EQ(sorted.to_vector(), (std::vector<int>{2, 4, 9, 1, 3}));
  EXPECT_EQ(places.to_vector(), (std::vector<int>{1, 0, 2, 1, 0}));

  std::vector<std::int64_t> starts{0};
  std::vector<int>          all;
  std::mt19937              random(2);
  for (int row = 0; row < 3000; ++row)
  {
    std::vector<int> of_row(random() % 70);
    std::iota(of_row.begin(), of_row.end(), static_cast<int>(random() % 1000));
    std::shuffle(of_row.begin(), of_row.end(), random);
    all.insert(all.end(), of_row.begin(), of_row.end());
    starts.push_back(static_cast<std::int64_t>(all.size()));
  }
  Array<int> to(backend(), all.size()), result(backend(), all.size());
  dispatch(backend(), [&](auto where) {
    of_ranks::sort_rows(where, Array<std::int64_t>(backend(), starts), integers(backend(), all), to, result.data());
  });
  const std::vector<int> at = to.to_vector(), now = result.to_vector();
  for (std::size_t row = 0; row + 1 < starts.size(); ++row)
  {
    ASSERT_TRUE(std::is_sorted(now.begin() + starts[row], now.begin() + starts[row + 1]));
    for (std::int64_t e = starts[row]; e < starts[row + 1]; ++e)
      ASSERT_EQ(now[starts[row] + at[e]], all[e]);
  }
}

TEST_P(RankStepsTest, NumbersOfOthersAreFound)
{
  const auto distinct = [&](const std::vector<std::int64_t> &values, const std::int64_t limit) {
    const Array<std::int64_t> here(backend(), values);
    return dispatch(backend(), [&](auto where) {
      return of_ranks::distinct(where, backend(), static_cast<std::int64_t>(values.size()), here.data(), limit);
    });
  };
  const auto local = [&](const std::vector<std::int64_t> &values, const std::vector<std::int64_t> &others) {
    const Array<std::int64_t> here(backend(), values);
    Array<int>                result(backend(), values.size());
    dispatch(backend(), [&](auto where) {
      of_ranks::local_numbers(where, backend(), static_cast<std::int64_t>(values.size()), here.data(), others, 100,
                              result.data());
    });
    return result.to_vector();
  };
  EXPECT_EQ(distinct({7, -1, 3, 7, 12, 3}, 12), (std::vector<std::int64_t>{3, 7}));
  EXPECT_TRUE(distinct({}, 12).empty());
  EXPECT_TRUE(distinct({-1, -1}, 12).empty());
  EXPECT_EQ(local({7, -1, 3, 7}, {3, 7}), (std::vector<int>{101, -1, 100, 101}));

  const std::vector<int>    few = random_integers(40000, 9000, 3);
  const std::int64_t        far = std::int64_t(1) << 40;
  std::vector<std::int64_t> values;
  for (const int i : few)
    values.push_back(i % 7 == 0 ? -1 : far + i);
  const std::vector<std::int64_t> others = distinct(values, far + 9000);
  std::set<std::int64_t>          expected(values.begin(), values.end());
  expected.erase(-1);
  EXPECT_EQ(others, std::vector<std::int64_t>(expected.begin(), expected.end()));
  const std::vector<int> numbers = local(values, others);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(numbers[i] < 0, values[i] < 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] >= 0)
      ASSERT_EQ(others.at(numbers[i] - 100), values[i]);
}

TEST_P(RankStepsTest, GroupsOfRanksTouchAcross)
{
  // Nodes 0 1 | 2 are groups 0 and 1; ghosts 3 4 5 are of groups 2, 3 and none. Edges 0-3 (2), 1-3 (1), 1-4 (5), 2-5 (1).
  const Adjacency across = graph_of(backend(), {{3}, {3, 4}, {5}}, {2, 1, 5, 1});
  const Adjacency own    = graph_of(backend(), {{1}, {0}, {}}, {1, 1});
  const Adjacency result = dispatch(backend(), [&](auto where) {
    return graph_tools::between_groups(where, across, integers(backend(), {0, 2, 3}), integers(backend(), {0, 1, 2}),
                                       integers(backend(), {0, 0, 1, 2, 3, -1}), 4);
  });
  EXPECT_EQ(result.offsets().to_vector(), (std::vector<std::int64_t>{0, 2, 2}));
  EXPECT_EQ(result.neighbours().to_vector(), (std::vector<int>{2, 3}));
  EXPECT_EQ(result.weights().to_vector(), (std::vector<int>{3, 5}));
  EXPECT_EQ(dispatch(backend(), [&](auto where) { return graph_tools::n_cut(where, own, across); }), 1);

  // Groups of 50 nodes, each with edges to 40 of 2000 ghosts, whose groups have 7.
  constexpr int                      n = 5000, n_ghosts = 2000, n_groups = n / 50, n_all = n_groups + n_ghosts / 7 + 1;
  std::vector<std::vector<int>>      rows(n);
  std::vector<int>                   weights, offsets, nodes(n), group;
  std::map<std::pair<int, int>, int> expected;
  std::mt19937                       random(4);
  for (int i = 0; i < n; ++i)
  {
    std::set<int> ghosts;
    while (ghosts.size() < 40)
      ghosts.insert(static_cast<int>(random() % n_ghosts));
    for (const int g : ghosts)
    {
      rows[i].push_back(n + g);
      weights.push_back(1 + static_cast<int>(random() % 3));
      expected[{i / 50, n_groups + g / 7}] += weights.back();
    }
    nodes[i] = i;
    group.push_back(i / 50);
    if (i % 50 == 0)
      offsets.push_back(i);
  }
  offsets.push_back(n);
  for (int g = 0; g < n_ghosts; ++g)
    group.push_back(n_groups + g / 7);
  const Adjacency                 large  = dispatch(backend(), [&](auto where) {
    return graph_tools::between_groups(where, graph_of(backend(), rows, weights), integers(backend(), offsets),
                                                        integers(backend(), nodes), integers(backend(), group), n_all);
  });
  const std::vector<std::int64_t> starts = large.offsets().to_vector();
  const std::vector<int>          to = large.neighbours().to_vector(), sums = large.weights().to_vector();
  ASSERT_EQ(to.size(), expected.size());
  auto edge = expected.begin(); // by group and neighbour, too
  for (int i = 0; i < n_groups; ++i)
    for (std::int64_t e = starts[i]; e < starts[i + 1]; ++e, ++edge)
    {
      ASSERT_EQ(edge->first, std::pair(i, to[e]));
      ASSERT_EQ(edge->second, sums[e]);
    }
}

TEST_P(RankStepsTest, BlocksAreGathered)
{
  // Of the rows 0: (0) 1 (2) 2; 1: (1) 3; 2: (0) 4 (1) 5 (2) 6 the last two, with node 0 as ghost 2, by their local columns.
  const auto check = [&](const HostCSR<double> &whole, const int b, const int first, const int last,
                         const std::vector<int> &numbers) {
    std::vector<int> local(numbers.size());
    for (std::size_t i = 0; i < numbers.size(); ++i)
      local[numbers[i]] = static_cast<int>(i);
    HostCSR<double>                     rows{(last - first) * b, whole.n_columns, {0}, {}, {}};
    std::vector<std::pair<int, double>> row;
    for (int i = first * b; i < last * b; ++i)
    {
      row.clear();
      for (std::int64_t e = whole.row_offsets[i]; e < whole.row_offsets[i + 1]; ++e)
        row.emplace_back(local[whole.columns[e] / b] * b + whole.columns[e] % b, whole.values[e]);
      rows.append_row(row);
    }
    SlicedEllpackMatrix<double> A, all;
    A.reinit(backend(), rows, b, b);
    all.reinit(backend(), whole, b, b);
    Array<std::int64_t> own_offsets, offsets;
    Array<int>          columns, unused;
    std::vector<int>    all_numbers(whole.n_rows / b);
    std::iota(all_numbers.begin(), all_numbers.end(), 0);
    dispatch(backend(), [&](auto where) {
      of_ranks::read_blocks(where, backend(), A.view(), numbers, own_offsets, columns);
      of_ranks::read_blocks(where, backend(), all.view(), all_numbers, offsets, unused);
    });
    const std::vector<std::int64_t> starts = offsets.to_vector();
    Array<int>                      places(backend(), columns.size()), sorted(backend(), columns.size());
    Array<double>                   packed(backend(), std::vector<double>(columns.size() * b * b, NAN));
    dispatch(backend(), [&](auto where) {
      of_ranks::sort_rows(where, own_offsets, columns, places, sorted.data());
      of_ranks::pack_blocks(where, A, own_offsets, places, packed);
    });
    std::vector<double> others; // blocks of the rows before and behind
    for (int i = 0; i < whole.n_rows / b; ++i)
      for (std::int64_t k = starts[i]; k < starts[i + 1] && (i < first || i >= last); ++k)
        for (int a = 0; a < b; ++a)
          for (int c = 0; c < b; ++c)
            others.push_back(whole.values[whole.row_offsets[i * b + a] + (k - starts[i]) * b + c]);
    Array<double> values(backend(), std::vector<double>(all.n_stored_elements(), NAN));
    all.swap_values(values);
    dispatch(backend(), [&](auto where) {
      of_ranks::unpack_blocks(where, offsets, starts[first], packed, Array<double>(backend(), others), all);
    });
    EXPECT_EQ(all.to_csr_host().values, whole.values);
    return std::pair(sorted.to_vector(), packed.to_vector());
  };
  const auto [columns, packed] =
      check({3, 3, {0, 2, 3, 6}, {0, 2, 1, 0, 1, 2}, {1, 2, 3, 4, 5, 6}}, 1, 1, 3, {1, 2, 0});
  EXPECT_EQ(columns, (std::vector<int>{1, 0, 1, 2}));
  EXPECT_EQ(packed, (std::vector<double>{3, 4, 5, 6}));

  for (const int b : {1, 3, 6})
  {
    std::vector<int> numbers(500);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::rotate(numbers.begin(), numbers.begin() + 170, numbers.end());
    const HostCSR<double> full = cases::spd_blocks(500, b, 7);
    HostCSR<double>       whole{full.n_rows, full.n_columns, {0}, {}, {}}; // two rows of which have no block
    for (int i = 0; i < full.n_rows; ++i)
    {
      std::vector<std::pair<int, double>> row;
      for (std::int64_t e = full.row_offsets[i]; e < full.row_offsets[i + 1] && i / b != 60 && i / b != 200; ++e)
        row.emplace_back(full.columns[e], full.values[e]);
      whole.append_row(row);
    }
    check(whole, b, 170, 330, numbers);
  }
}
