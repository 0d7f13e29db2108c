// SPDX-License-Identifier: LGPL-2.1-or-later
#include "of_ranks.h"

#include <algorithm>
#include <type_traits>

namespace PatchFEM
{
  std::vector<int>
  OfRanks::know_aggregates(const Partitioner &nodes, const AggregateLists &aggregates, CoarseNumbers &numbers)
  {
    const std::vector<int>    own = aggregates.aggregate_of_node().to_vector();
    std::vector<std::int64_t> of_all(nodes.n_local(), -1);
    for (std::size_t i = 0; i < own.size(); ++i)
      of_all[i] = own[i] < 0 ? -1 : numbers.global(own[i]);
    nodes.update_ghosts(of_all.data());
    numbers.add({of_all.begin() + nodes.n_owned(), of_all.end()});
    std::vector<int> result;
    for (const std::int64_t aggregate : of_all)
      result.push_back(aggregate < 0 ? -1 : numbers.local(aggregate));
    return result;
  }

  std::vector<int> OfRanks::used_numbers(const CoarseNumbers             &numbers,
                                         const int                        n_rows,
                                         const CompressedPattern         &P,
                                         const CompressedPattern         &C,
                                         std::vector<Partitioner::Ghost> &ghosts)
  {
    std::vector<int> used(numbers.n(), 0);
    const auto       use = [&](const CompressedPattern &pattern, const std::int64_t n_entries) {
      const std::vector<int> columns = pattern.columns.to_vector();
      for (std::int64_t e = 0; e < n_entries; ++e)
        used[columns[e]] = 1;
    };
    use(P, P.offsets.read(n_rows));
    use(C, static_cast<std::int64_t>(C.columns.size()));
    std::vector<int> result(numbers.n(), -1);
    for (int i = 0; i < numbers.n(); ++i)
      if (i < numbers.n_own())
        result[i] = i;
      else if (used[i] != 0)
      {
        result[i] = numbers.n_own() + static_cast<int>(ghosts.size());
        ghosts.push_back(numbers.ghost(i));
      }
    return result;
  }

  template <typename Number>
  Array<Number>
  OfRanks::with_ghosts(const Partitioner &nodes, const Backend &place, const Array<double> &Q, const int n_values)
  {
    Array<Number> result(place, std::size_t(nodes.n_local()) * n_values);
    if constexpr (std::is_same<Number, double>::value)
    {
      if (!Q.empty())
        memory::copy(place, result.data(), Q.backend(), Q.data(), Q.size() * sizeof(double));
    }
    else
      dispatch(place, [&](auto where) {
        kernels::convert(where, static_cast<std::int64_t>(Q.size()), Q.data(), result.data());
      });
    nodes.start(place, result.data(), n_values * sizeof(Number));
    nodes.finish(place, result.data(), n_values * sizeof(Number));
    return result;
  }

  Array<double> OfRanks::modes_of_aggregates(const Partitioner   &nodes,
                                             const Array<double> &own,
                                             const int            n_modes,
                                             const int            n_numbers,
                                             const bool           wanted) const
  {
    const std::size_t size = std::size_t(n_modes) * n_modes;
    if (nodes.communicator().maximum(std::int64_t(wanted)) == 0)
      return Array<double>();
    std::vector<double>    modes = own.to_vector(), of_nodes(nodes.n_local() * size, 0.);
    const std::vector<int> of    = aggregate_of_node.to_vector();
    for (const Partitioner::Destination &to : nodes.destinations())
      for (const int i : to.indices)
        if (of[i] >= 0)
          std::copy_n(modes.data() + of[i] * size, size, of_nodes.data() + i * size);
    nodes.update_ghosts(of_nodes.data(), static_cast<int>(size));
    modes.resize(n_numbers * size, 0.);
    for (int i = nodes.n_owned(); i < nodes.n_local(); ++i)
      if (of[i] >= 0)
        std::copy_n(of_nodes.data() + i * size, size, modes.data() + of[i] * size);
    return Array<double>(aggregate_of_node.backend(), modes);
  }

  template Array<float>  OfRanks::with_ghosts(const Partitioner &, const Backend &, const Array<double> &, int);
  template Array<double> OfRanks::with_ghosts(const Partitioner &, const Backend &, const Array<double> &, int);
} // namespace PatchFEM
