// SPDX-License-Identifier: LGPL-2.1-or-later
#include "of_ranks.h"

#include "kernels/launch.h"

#include <type_traits>

namespace PatchFEM
{
  OfRanks::OfRanks(const Backend &place, const Partitioner &nodes, const AggregateLists &aggregates)
      : numbers(aggregates.numbers() != nullptr ? *aggregates.numbers()
                                                : CoarseNumbers(nodes.communicator(), aggregates.n_aggregates()))
  {
    if (aggregates.numbers() == nullptr)
    {
      aggregate_of_node = aggregates_with_ghosts(place, nodes, aggregates.aggregate_of_node(), numbers);
      return;
    }
    aggregate_of_node.reinit(place, nodes.n_local());
    int *to = aggregate_of_node.data();
    for (const Array<int> *part : {&aggregates.aggregate_of_node(), &aggregates.aggregate_of_ghost()})
    {
      if (!part->empty())
        memory::copy(place, to, part->backend(), part->data(), part->memory_consumption());
      to += part->size();
    }
  }

  void OfRanks::renumber(const Partitioner &nodes, const Array<int> &new_numbers)
  {
    const Backend &place     = aggregate_of_node.backend();
    int *const     of_ghosts = aggregate_of_node.data() + nodes.n_owned();
    dispatch(place, [&](auto where) {
      PatchFEM::of_ranks::renumber(where, place, nodes.n_ghosts(), numbers.n_own(), new_numbers.data(), of_ghosts,
                                   of_ghosts);
    });
  }

  std::vector<int> OfRanks::used_numbers(const CoarseNumbers             &numbers,
                                         const std::int64_t               n_blocks,
                                         const CompressedPattern         &P,
                                         const CompressedPattern         &C,
                                         std::vector<Partitioner::Ghost> &ghosts)
  {
    const int  n_own = numbers.n_own();
    Array<int> used(P.columns.backend(), numbers.n() - n_own);
    used.set_zero();
    dispatch(used.backend(), [&](auto where) {
      PatchFEM::of_ranks::mark(where, n_blocks, P.columns, n_own, used);
      PatchFEM::of_ranks::mark(where, static_cast<std::int64_t>(C.columns.size()), C.columns, n_own, used);
    });
    std::vector<int> result = used.to_vector();
    for (std::size_t k = 0; k < result.size(); ++k)
    {
      const bool is_used = result[k] != 0;
      result[k]          = is_used ? n_own + static_cast<int>(ghosts.size()) : -1;
      if (is_used)
        ghosts.push_back(numbers.ghost(n_own + static_cast<int>(k)));
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
      launch(place, [&](auto where) {
        kernels::convert(where, static_cast<std::int64_t>(Q.size()), Q.data(), result.data());
      });
    nodes.start_and_finish(place, result.data(), n_values * sizeof(Number));
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
    const Backend                       &place = aggregate_of_node.backend();
    std::unique_ptr<Transport::Exchange> fresh; // all ranks have it, or none
    if (travel == nullptr)
    {
      destinations.clear();
      for (const Destination &to : nodes.destinations())
        destinations.push_back({to.rank, {}, to.size()});
      fresh = nodes.exchange(place, destinations, nodes.sources(), nullptr, size * sizeof(double));
    }
    Array<double> received(place, nodes.n_ghosts() * size), result(place, n_numbers * size);
    const auto    sent = dispatch(place, [&](auto where) {
      return PatchFEM::of_ranks::of_aggregates(where, nodes.sent(place), aggregate_of_node, static_cast<int>(size),
                                                  own);
    });
    nodes.communicator().poll_errors();
    if (fresh != nullptr)
      travel = std::move(fresh);
    travel->run(sent.data(), received.data());
    result.set_zero(); // of those that are no ghosts'
    if (!own.empty())
      memory::copy(place, result.data(), place, own.data(), own.memory_consumption());
    dispatch(place, [&](auto where) {
      PatchFEM::of_ranks::set_rows(where, aggregate_of_node.data() + nodes.n_owned(), numbers.n_own(),
                                   static_cast<int>(size), received, result);
    });
    return result;
  }

  template Array<float>  OfRanks::with_ghosts(const Partitioner &, const Backend &, const Array<double> &, int);
  template Array<double> OfRanks::with_ghosts(const Partitioner &, const Backend &, const Array<double> &, int);
} // namespace PatchFEM
