// SPDX-License-Identifier: LGPL-2.1-or-later
#include "assembly/owner_lines_dealii.h"

#include <patchfem/base/exceptions.h>

#include <deal.II/base/mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace PatchFEM::internal
{
  RankDofs::RankDofs(std::shared_ptr<const MPICommunicator> communicator, const dealii::IndexSet &owned)
      : ranks(std::move(communicator)), owned(owned), contiguous(owned.n_elements() > 0 && owned.is_contiguous()),
        first(contiguous ? owned.nth_index_in_set(0) : 0), n(static_cast<int>(owned.n_elements()))
  {}

  int RankDofs::slot(const Index dof)
  {
    const int own = owned_slot(dof);
    if (own >= 0)
      return own;
    const auto [place, is_new] = slot_of_foreign.emplace(dof, size());
    if (is_new)
      foreign.push_back(dof);
    return place->second;
  }

  void RankDofs::find_owners()
  {
    const std::size_t  n_known = owners.size();
    std::vector<Index> unknown(foreign.begin() + n_known, foreign.end());
    std::sort(unknown.begin(), unknown.end());
    dealii::IndexSet indices(owned.size());
    indices.add_indices(unknown.begin(), unknown.end());
    const std::vector<unsigned int> found = dealii::Utilities::MPI::compute_index_owner(owned, indices, ranks->mpi());
    owners.resize(foreign.size());
    for (std::size_t i = 0; i < unknown.size(); ++i)
      owners[slot_of_foreign.at(unknown[i]) - n] = static_cast<int>(found[i]);
  }

  namespace
  {
    class LineCloser
    {
    public:
      LineCloser(const RankDofs &dofs, const SlotLines &raw, const dealii::AffineConstraints<double> &constraints)
          : dofs(dofs), raw(raw), constraints(constraints), is_on_path(dofs.size(), false)
      {
        closed.line_of.assign(dofs.size(), -1);
      }

      SlotLines closed;

      void close(const int slot)
      {
        const int line = raw.line(slot);
        if (line < 0 || closed.line_of[slot] >= 0)
          return;
        if (is_on_path[slot])
          throw_cycle(slot);
        const auto begin = raw.entries.begin() + raw.offsets[line], end = raw.entries.begin() + raw.offsets[line + 1];
        if (std::none_of(begin, end, [&](const auto &entry) { return raw.line(entry.first) >= 0; }))
        {
          closed.entries.insert(closed.entries.end(), begin, end); // deal.II has sorted them
          closed.finish_line(raw.inhomogeneity[line], slot);
          return;
        }
        is_on_path[slot] = true;
        path.push_back(slot);
        double                              k       = 0;
        const std::vector<SlotLines::Entry> entries = substituted(raw, line, k);
        closed.entries.insert(closed.entries.end(), entries.begin(), entries.end());
        closed.finish_line(k, slot);
        path.pop_back();
        is_on_path[slot] = false;
      }

      /** The line of @p lines with closed lines in place of constrained masters, in the order of indices. */
      std::vector<SlotLines::Entry> substituted(const SlotLines &lines, const int line, double &k)
      {
        std::vector<SlotLines::Entry> result;
        k = lines.inhomogeneity[line];
        for (std::int64_t e = lines.offsets[line]; e < lines.offsets[line + 1]; ++e)
        {
          const auto [master, weight] = lines.entries[e];
          close(master);
          const int of_master = closed.line_of[master];
          if (of_master < 0)
          {
            result.push_back({master, weight});
            continue;
          }
          k += weight * closed.inhomogeneity[of_master];
          for (std::int64_t m = closed.offsets[of_master]; m < closed.offsets[of_master + 1]; ++m)
            result.push_back({closed.entries[m].first, weight * closed.entries[m].second});
        }
        merge(result);
        return result;
      }

      /**
       * Throws Error unless the line of @p view and the closed one say the same of @p slot. Where close() has replaced
       * masters here, it may have known less of them than their owners.
       *
       * In hp spaces in 3D the owner's line is no better than another: at an edge where the cells of the lowest and of
       * a middle degree share no face, deal.II leaves unknowns of the middle one free, and those of a higher one follow
       * what the first face says that a rank comes to. Neither choice makes a continuous space, and they differ.
       */
      void check(const SlotLines &view, const int slot, const double largest_value)
      {
        if (any_master_replaced(slot))
          return;
        double                        k          = 0;
        std::vector<SlotLines::Entry> difference = substituted(view, view.line_of[slot], k);
        const int                     line       = closed.line_of[slot];
        if (line < 0) // x = x
          difference.push_back({slot, -1.});
        else
        {
          k -= closed.inhomogeneity[line];
          for (std::int64_t e = closed.offsets[line]; e < closed.offsets[line + 1]; ++e)
            difference.push_back({closed.entries[e].first, -closed.entries[e].second});
        }
        merge(difference);
        const bool agree = std::abs(k) <= tolerance * largest_value &&
                           std::all_of(difference.begin(), difference.end(),
                                       [](const auto &entry) { return std::abs(entry.second) <= tolerance; });
        if (!agree)
          throw Error(
              "Processes ", dofs.owner(slot), " and ", dofs.communicator().rank(), " constrain degree of freedom ",
              dofs.dof(slot),
              ", which belongs to the first, differently: build the constraints on all processes in the same "
              "way, with the locally relevant degrees of freedom, and in an hp space of hexahedra use degree 1 and one "
              "other, or no hanging nodes and make_edge_constraints().");
      }

    private:
      static constexpr double tolerance = 1e-12; ///< weights are of the order of 1

      const RankDofs                          &dofs;
      const SlotLines                         &raw;
      const dealii::AffineConstraints<double> &constraints;
      std::vector<char>                        is_on_path;
      std::vector<int>                         path;

      /** Whether this rank has a line of a master of the owner's line, or of the masters' own ones. */
      bool any_master_replaced(const int slot) const
      {
        const int line = raw.line(slot);
        return line >= 0 && std::any_of(raw.entries.begin() + raw.offsets[line],
                                        raw.entries.begin() + raw.offsets[line + 1], [&](const auto &entry) {
                                          return constraints.is_constrained(dofs.dof(entry.first)) ||
                                                 any_master_replaced(entry.first);
                                        });
      }

      void merge(std::vector<SlotLines::Entry> &entries) const
      {
        const auto less = [&](const auto &a, const auto &b) { return dofs.dof(a.first) < dofs.dof(b.first); };
        if (!std::is_sorted(entries.begin(), entries.end(), less))
          std::stable_sort(entries.begin(), entries.end(), less);
        std::size_t n = 0;
        for (const SlotLines::Entry &entry : entries)
          if (n > 0 && entries[n - 1].first == entry.first)
            entries[n - 1].second += entry.second;
          else
            entries[n++] = entry;
        entries.resize(n);
      }

      [[noreturn]] void throw_cycle(const int slot) const
      {
        std::string cycle;
        for (auto step = std::find(path.begin(), path.end(), slot); step != path.end(); ++step)
          cycle += std::to_string(dofs.dof(*step)) + " -> ";
        throw Error("The constraints of several processes close a cycle of degrees of freedom, ", cycle, dofs.dof(slot),
                    ": remove one of these lines.");
      }
    };
  } // namespace

  SlotLines
  closed_lines_of_owners(RankDofs &dofs, const dealii::AffineConstraints<double> &constraints, const Index n_dofs)
  {
    const Communicator &ranks   = dofs.communicator();
    const int           n_slots = dofs.size();
    SlotLines           raw, view; // of owners, and what this rank has of others' unknowns

    std::vector<int> prescribed; // others' unknowns, if close() may have put their values into lines
    ranks.agree_on_errors([&] {
      const auto all = constraints.get_lines();
      const bool any_entry =
          std::any_of(all.begin(), all.end(), [](const auto &line) { return !line.entries.empty(); });
      raw.line_of.assign(n_slots, -1);
      raw.offsets.reserve(all.size() + 1);
      raw.inhomogeneity.reserve(all.size());
      for (const auto &line : all)
      {
        const int own = dofs.owned_slot(line.index);
        if (own < 0 && any_entry && line.entries.empty() && line.index < n_dofs)
          prescribed.push_back(dofs.slot(line.index));
        if (own < 0)
          continue;
        check_line(line, constraints, n_dofs);
        for (const auto &[master, weight] : line.entries)
          raw.entries.push_back({dofs.slot(master), weight});
        raw.finish_line(line.inhomogeneity, own);
      }
      for (int slot = dofs.n_owned(); slot < n_slots; ++slot)
      {
        const Index dof = dofs.dof(slot);
        if (!constraints.is_constrained(dof))
          continue;
        const auto *entries = constraints.get_constraint_entries(dof);
        check_line({dof, *entries, constraints.get_inhomogeneity(dof)}, constraints, n_dofs);
        for (const auto &[master, weight] : *entries)
          view.entries.push_back({dofs.slot(master), weight});
        view.finish_line(constraints.get_inhomogeneity(dof), slot);
      }
    });

    const auto put_line = [&](const SlotLines &lines, const int slot, Writer &writer) {
      const int line = lines.line(slot);
      writer.put(line < 0 ? -1 : static_cast<int>(lines.offsets[line + 1] - lines.offsets[line]));
      if (line < 0)
        return;
      writer.put(lines.inhomogeneity[line]);
      for (std::int64_t e = lines.offsets[line]; e < lines.offsets[line + 1]; ++e)
      {
        writer.put(dofs.dof(lines.entries[e].first));
        writer.put(lines.entries[e].second);
      }
    };
    const auto read_line = [&](const int slot, Reader &reader) {
      const int n_entries = reader.get<int>();
      if (n_entries < 0)
        return;
      const bool   is_new = raw.line(slot) < 0;
      const double k      = reader.get<double>();
      for (int e = 0; e < n_entries; ++e)
      {
        const Index  master = reader.get<Index>();
        const double weight = reader.get<double>();
        if (is_new)
          raw.entries.push_back({dofs.slot(master), weight});
      }
      if (is_new)
        raw.finish_line(k, slot);
    };

    // In 3D an owner does not see all elements at an edge between cells of other ranks, and leaves unknowns free that
    // one process would constrain. It takes such a line from the first rank that has it.
    dofs.find_owners();
    std::map<int, Writer> views;
    for (int slot = dofs.n_owned(); slot < n_slots; ++slot)
      if (const int line = view.line(slot); line >= 0 && view.offsets[line] < view.offsets[line + 1])
      {
        views[dofs.owner(slot)].put(dofs.dof(slot));
        put_line(view, slot, views[dofs.owner(slot)]);
      }
    std::map<int, Communicator::Bytes> messages;
    for (auto &[rank, writer] : views)
      messages[rank] = std::move(writer.bytes);
    const std::map<int, Communicator::Bytes> received = ranks.exchange(messages);
    ranks.agree_on_errors([&] {
      for (const auto &[rank, bytes] : received)
        for (Reader reader(bytes); !reader.at_end(bytes);)
          read_line(dofs.owned_slot(reader.get<Index>()), reader);
    });

    int n_asked = dofs.n_owned();
    while (ranks.maximum(std::int64_t(dofs.size() - n_asked)) > 0)
    {
      dofs.find_owners();
      std::vector<int> slots(dofs.size() - n_asked);
      std::iota(slots.begin(), slots.end(), n_asked);
      n_asked = dofs.size();
      dofs.ask_owners(
          slots, [&](const int slot, Writer &writer) { put_line(raw, slot, writer); }, read_line);
    }

    LineCloser closer(dofs, raw, constraints);
    ranks.agree_on_errors([&] {
      for (const int slot : prescribed)
        if (raw.line(slot) < 0)
          throw Error("Process ", ranks.rank(), " prescribes degree of freedom ", dofs.dof(slot), ", which process ",
                      dofs.owner(slot),
                      " owns and leaves free, so that its lines of hanging nodes may be wrong: on a parallel::"
                      "fullydistributed::Triangulation faces of ghost cells towards cells that a process does not have "
                      "look like a boundary with id 0, so prescribe values on other ids.");
      for (int slot = 0; slot < n_slots; ++slot)
        closer.close(slot);
      double largest = 0;
      for (const double k : closer.closed.inhomogeneity)
        largest = std::max(largest, std::abs(k));
      for (int slot = dofs.n_owned(); slot < n_slots; ++slot)
        if (view.line(slot) >= 0)
          closer.check(view, slot, largest);
    });
    return std::move(closer.closed);
  }
} // namespace PatchFEM::internal
