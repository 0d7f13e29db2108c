// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ghost_rows.h"

#include <algorithm>
#include <numeric>

namespace PatchFEM
{
  CoarseNumbers::CoarseNumbers(const Communicator &ranks, const int n_own) : first(1, 0)
  {
    for (const int n : ranks.all_gather(int(n_own)))
      first.push_back(first.back() + n);
    begin = first[ranks.rank()];
    end   = first[ranks.rank() + 1];
  }

  int CoarseNumbers::local(const std::int64_t global) const
  {
    return global >= begin && global < end
               ? static_cast<int>(global - begin)
               : n_own() + static_cast<int>(std::lower_bound(others.begin(), others.end(), global) - others.begin());
  }

  Partitioner::Ghost CoarseNumbers::ghost(const int local) const
  {
    const std::int64_t number = global(local);
    const auto         rank   = std::upper_bound(first.begin(), first.end(), number) - first.begin() - 1;
    return {static_cast<int>(rank), static_cast<int>(number - first[rank])};
  }

  std::vector<int> CoarseNumbers::add(std::vector<std::int64_t> more)
  {
    const std::vector<std::int64_t> before = others;
    more.erase(
        std::remove_if(more.begin(), more.end(),
                       [=](const std::int64_t number) { return number < 0 || (number >= begin && number < end); }),
        more.end());
    more.insert(more.end(), others.begin(), others.end());
    std::sort(more.begin(), more.end());
    more.erase(std::unique(more.begin(), more.end()), more.end());
    others = std::move(more);
    std::vector<int> numbers(n_own() + before.size());
    std::iota(numbers.begin(), numbers.begin() + n_own(), 0);
    for (std::size_t i = 0; i < before.size(); ++i)
      numbers[n_own() + i] = local(before[i]);
    return numbers;
  }

  CompressedPattern
  renumbered(const CompressedPattern &pattern, const int n_rows, const std::vector<int> &numbers, const int n_columns)
  {
    std::vector<std::int64_t> offsets = pattern.offsets.to_vector();
    std::vector<int>          columns = pattern.columns.to_vector();
    offsets.resize(n_rows + 1);
    columns.resize(offsets.back());
    for (int &column : columns)
      column = numbers[column];
    CompressedPattern result;
    result.n_rows    = n_rows;
    result.n_columns = n_columns;
    result.width     = pattern.width;
    result.offsets.copy_from(pattern.offsets.backend(), offsets);
    result.columns.copy_from(pattern.columns.backend(), columns);
    return result;
  }

  std::vector<int> GhostRows::append(const Partitioner &nodes, CoarseNumbers &numbers, CompressedPattern &pattern)
  {
    const Backend                            place   = pattern.offsets.backend();
    std::vector<int>                         columns = pattern.columns.to_vector();
    std::map<int, std::vector<int>>          lengths;
    std::map<int, std::vector<std::int64_t>> sent;
    offsets = pattern.offsets.to_vector();
    for (const Partitioner::Destination &to : nodes.destinations())
      for (const int i : to.indices)
      {
        lengths[to.rank].push_back(static_cast<int>(offsets[i + 1] - offsets[i]));
        for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
          sent[to.rank].push_back(numbers.global(columns[e]));
      }
    lengths = nodes.communicator().exchange(lengths);
    sent    = nodes.communicator().exchange(sent);
    std::vector<std::int64_t> received; // by rank, as the ghosts
    for (const auto &[rank, list] : sent)
      received.insert(received.end(), list.begin(), list.end());

    const std::vector<int> new_numbers = numbers.add(received);
    for (int &column : columns)
      column = new_numbers[column];
    places.resize(received.size());
    std::size_t row = 0;
    for (const auto &[rank, list] : lengths)
      for (const int n : list)
      {
        std::vector<int> found(n), order(n);
        std::iota(order.begin(), order.end(), 0);
        for (int p = 0; p < n; ++p)
          found[p] = numbers.local(received[row + p]);
        std::sort(order.begin(), order.end(), [&](const int p, const int q) { return found[p] < found[q]; });
        for (int p = 0; p < n; ++p)
        {
          columns.push_back(found[order[p]]);
          places[row + order[p]] = p;
        }
        offsets.push_back(static_cast<std::int64_t>(columns.size()));
        pattern.width = std::max(pattern.width, n);
        row += n;
      }
    pattern.n_rows    = nodes.n_local();
    pattern.n_columns = numbers.n();
    pattern.offsets.copy_from(place, offsets);
    pattern.columns.copy_from(place, columns);
    return new_numbers;
  }

  template <typename Number>
  void GhostRows::update(const Partitioner &nodes,
                         const int          first,
                         const int          n_c,
                         const int          n_m,
                         const Backend     &place,
                         Number            *values) const
  {
    const Backend       host;
    const int           begin = first_sent(nodes), n = nodes.n_owned(), size = n_c * n_m;
    const auto          at = [&](const int row) { return (offsets[row] - offsets[first]) * size; };
    std::vector<Number> own(at(n) - at(begin)), here(at(nodes.n_local()) - at(n));
    const auto          copy = [](const Backend &to, Number *target, const Backend &from, const Number *source,
                         const std::size_t n_values) {
      if (n_values > 0)
        memory::copy(to, target, from, source, n_values * sizeof(Number));
    };
    copy(host, own.data(), place, values + at(begin), own.size());
    std::map<int, std::vector<Number>> messages;
    for (const Partitioner::Destination &to : nodes.destinations())
      for (const int i : to.indices)
        messages[to.rank].insert(messages[to.rank].end(), own.data() + at(i) - at(begin),
                                 own.data() + at(i + 1) - at(begin));
    std::vector<Number> received; // by rank, as the ghosts
    for (const auto &[rank, message] : nodes.communicator().exchange(messages))
      received.insert(received.end(), message.begin(), message.end());
    const Number *from     = received.data();
    const int    *place_of = places.data();
    for (int row = n; row < nodes.n_local(); ++row)
    {
      const int     n_blocks = static_cast<int>(offsets[row + 1] - offsets[row]);
      Number *const to       = here.data() + at(row) - at(n);
      for (int a = 0; a < n_c; ++a)
        for (int p = 0; p < n_blocks; ++p, from += n_m)
          std::copy(from, from + n_m, to + (a * n_blocks + place_of[p]) * n_m);
      place_of += n_blocks;
    }
    copy(place, values + at(n), host, here.data(), here.size());
  }

  int first_sent(const Partitioner &nodes)
  {
    int result = nodes.n_owned();
    for (const Partitioner::Destination &to : nodes.destinations())
      for (const int i : to.indices)
        result = std::min(result, i);
    return result;
  }

  template void GhostRows::update(const Partitioner &, int, int, int, const Backend &, float *) const;
  template void GhostRows::update(const Partitioner &, int, int, int, const Backend &, double *) const;
} // namespace PatchFEM
