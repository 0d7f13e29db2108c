// SPDX-License-Identifier: LGPL-2.1-or-later
#include "ghost_rows.h"
#include "kernels/launch.h"

#include <patchfem/lac/multigrid/gathered_matrix.h>

#include <climits>
#include <numeric>

namespace PatchFEM
{
  template <typename Number>
  void GatheredMatrix<Number>::reinit(const SlicedEllpackMatrix<Number> &A)
  {
    const Partitioner  &nodes = *A.partitioner();
    const Communicator &ranks = nodes.communicator();
    const Backend      &place = A.backend();
    const int           b     = A.block_rows();
    require(nodes.n_global() * b <= INT_MAX, "A level of ", nodes.n_global() * b, " rows is too large to be gathered.");

    // Own rows by the numbers that all know, in their order.
    std::vector<int> numbers(nodes.n_local());
    for (int i = 0; i < nodes.n_local(); ++i)
      numbers[i] = static_cast<int>(nodes.global(i));
    Array<int> columns, sorted;
    dispatch(place, [&](auto where) {
      of_ranks::read_blocks(where, place, A.view(), numbers, own_offsets, columns);
      sorted.reinit(place, columns.size());
      places.reinit(place, columns.size());
      of_ranks::sort_rows(where, own_offsets, columns, places, sorted.data());
    });
    const std::vector<std::int64_t> own = own_offsets.to_vector();
    std::vector<int>                lengths(own.size() - 1);
    for (std::size_t i = 0; i < lengths.size(); ++i)
      lengths[i] = static_cast<int>(own[i + 1] - own[i]);
    std::vector<int> all_columns = sorted.to_vector();
    ranks.concatenate_all(lengths, all_columns);
    std::vector<std::int64_t> all(1, 0);
    for (const int length : lengths)
      all.push_back(all.back() + length);
    offsets.copy_from(place, all);
    const Array<int> columns_there(place, all_columns);
    const int        n = static_cast<int>(all.size()) - 1;
    whole.reinit(place, SparsityView{n, n, offsets.data(), columns_there.data()}, b, b);

    destinations.clear();
    sources.clear();
    first                                  = all[nodes.first()];
    int                             before = 0; // blocks of other ranks
    std::vector<Partitioner::Ghost> others;
    for (int rank = 0; rank < ranks.size(); ++rank)
    {
      if (rank == ranks.rank())
        continue;
      if (!places.empty())
      {
        destinations.push_back({rank, std::vector<int>(places.size())});
        std::iota(destinations.back().indices.begin(), destinations.back().indices.end(), 0);
      }
      const std::int64_t begin = nodes.first(rank), end = nodes.first(rank + 1);
      const auto         size = static_cast<int>(all[end] - all[begin]);
      if (size > 0)
        sources.push_back({rank, before, before + size});
      before += size;
      for (int i = 0; i < end - begin; ++i)
        others.push_back({rank, i});
    }
    sent.copy_from(place, list_of(destinations));
    travel.reset();

    everything = std::make_shared<const Partitioner>(nodes.shared_communicator(), nodes.n_owned(), std::move(others));
    own_and_others.reinit(place, everything, b);
  }

  template <typename Number>
  template <typename OtherNumber>
  void GatheredMatrix<Number>::reinit(GatheredMatrix<OtherNumber> &&other)
  {
    static_cast<internal::GatheredPattern &>(*this) = std::move(other);
    whole.share_pattern(other.whole);
    travel.reset();
    own_and_others.reinit(whole.backend(), everything, whole.block_rows());
  }

  template <typename Number>
  void GatheredMatrix<Number>::copy(Number *to, const Number *from, const std::int64_t n) const
  {
    if (n > 0)
      memory::copy(whole.backend(), to, whole.backend(), from, n * whole.block_rows() * sizeof(Number));
  }

  template <typename Number>
  void GatheredMatrix<Number>::gather(Vector<Number> &all, const Vector<Number> &own) const
  {
    // Nodes of ranks before this one, its own, and those of ranks behind it are three stretches of all.
    const int          b      = whole.block_rows();
    const std::int64_t before = everything->first(), n = everything->n_owned();
    copy(own_and_others.data(), own.data(), n);
    own_and_others.update_ghosts();
    const Number *const from = own_and_others.data();
    copy(all.data(), from + n * b, before);
    copy(all.data() + before * b, from, n);
    copy(all.data() + (before + n) * b, from + (n + before) * b, everything->n_global() - before - n);
  }

  template <typename Number>
  void GatheredMatrix<Number>::own_part(Vector<Number> &own, const Vector<Number> &all) const
  {
    copy(own.data(), all.data() + everything->first() * whole.block_rows(), everything->n_owned());
  }

  template <typename Number>
  void GatheredMatrix<Number>::update(const SlicedEllpackMatrix<Number> &A)
  {
    const Backend    &place = whole.backend();
    const std::size_t size  = std::size_t(whole.block_rows()) * whole.block_rows();
    Array<Number>     own(place, places.size() * size);
    Array<Number>     of_others(place, sources.empty() ? 0 : sources.back().end * size);
    dispatch(place, [&](auto where) { of_ranks::pack_blocks(where, A, own_offsets, places, own); });
    std::unique_ptr<Transport::Exchange> fresh; // all ranks have it, or none
    if (travel == nullptr)
      fresh = everything->exchange(place, destinations, sources, sent.data(), sizeof(Number) * size);
    everything->communicator().poll_errors();
    if (fresh != nullptr)
      travel = std::move(fresh);
    travel->run(own.data(), of_others.data());
    dispatch(place, [&](auto where) { of_ranks::unpack_blocks(where, offsets, first, own, of_others, whole); });
  }

  template class GatheredMatrix<float>;
  template class GatheredMatrix<double>;
  template void GatheredMatrix<double>::reinit(GatheredMatrix<float> &&);
} // namespace PatchFEM
