// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly/extraction_steps_dealii.h"
#include "base/byte_stream.h"

#include <patchfem/mpi/mpi_communicator.h>

#include <deal.II/base/index_set.h>

#include <unordered_map>
#include <utility>

namespace PatchFEM::internal
{
  /**
   * The degrees of freedom that a rank has to do with, by *slots*: its own ones, in the order of their indices, and
   * behind them the foreign ones, as they are met.
   */
  class RankDofs
  {
  public:
    RankDofs(std::shared_ptr<const MPICommunicator> communicator, const dealii::IndexSet &owned);

    const Communicator &communicator() const { return *ranks; }
    int                 n_owned() const { return n; }
    int                 size() const { return n + static_cast<int>(foreign.size()); }

    /** The slot of one that is owned, else -1. */
    int owned_slot(const Index dof) const
    {
      if (contiguous)
        return dof >= first && dof - first < static_cast<Index>(n) ? static_cast<int>(dof - first) : -1;
      return owned.is_element(dof) ? static_cast<int>(owned.index_within_set(dof)) : -1;
    }

    /** The slot, a new one if @p dof is foreign and was not met before. */
    int slot(Index dof);

    Index dof(const int slot) const
    {
      return slot >= n ? foreign[slot - n] : contiguous ? first + slot : owned.nth_index_in_set(slot);
    }

    /** Of a foreign one, after find_owners(). */
    int owner(const int slot) const { return owners[slot - n]; }

    /** Collective: of those that have come since the last call. */
    void find_owners();

    /**
     * Collective: for each foreign one of @p slots its owner calls @p answer(slot there, writer), and this rank then
     * @p read(slot, reader).
     */
    template <typename Answer, typename Read>
    void ask_owners(const std::vector<int> &slots, const Answer &answer, const Read &read) const
    {
      std::map<int, std::vector<Index>> questions;
      std::map<int, std::vector<int>>   slots_of_owner;
      for (const int slot : slots)
      {
        questions[owner(slot)].push_back(dof(slot));
        slots_of_owner[owner(slot)].push_back(slot);
      }
      const std::map<int, std::vector<Index>> asked = ranks->exchange(questions);

      std::map<int, Communicator::Bytes> answers;
      ranks->agree_on_errors([&] {
        for (const auto &[rank, dofs] : asked)
        {
          Writer writer;
          for (const Index dof : dofs)
            answer(owned_slot(dof), writer);
          answers[rank] = std::move(writer.bytes);
        }
      });
      const std::map<int, Communicator::Bytes> replies = ranks->exchange(answers);
      ranks->agree_on_errors([&] {
        for (const auto &[rank, bytes] : replies)
        {
          Reader reader(bytes);
          for (const int slot : slots_of_owner[rank])
            read(slot, reader);
        }
      });
    }

  private:
    std::shared_ptr<const MPICommunicator> ranks;
    dealii::IndexSet                       owned;
    bool                                   contiguous;
    Index                                  first;
    int                                    n;
    std::unordered_map<Index, int>         slot_of_foreign;
    std::vector<Index>                     foreign;
    std::vector<int>                       owners; ///< of foreign ones
  };

  /** Lines x_s = sum_m w_m x_m + k of slots. */
  struct SlotLines
  {
    using Entry = std::pair<int, double>; ///< a master's slot and its weight

    std::vector<int>          line_of; ///< [slot], -1: none; slots behind the end have none
    std::vector<std::int64_t> offsets = {0};
    std::vector<Entry>        entries;
    std::vector<double>       inhomogeneity;

    int line(const int slot) const { return std::size_t(slot) < line_of.size() ? line_of[slot] : -1; }

    /** Makes a line of the entries that were pushed since the last one. */
    int finish_line(const double k)
    {
      offsets.push_back(static_cast<std::int64_t>(entries.size()));
      inhomogeneity.push_back(k);
      return static_cast<int>(inhomogeneity.size()) - 1;
    }

    /** The same for a slot. */
    void finish_line(const double k, const int slot)
    {
      if (std::size_t(slot) >= line_of.size())
        line_of.resize(slot + 1, -1);
      line_of[slot] = finish_line(k);
    }
  };

  /**
   * Collective: the closed lines of all slots that @p dofs has when this is called; those of masters follow. A rank
   * does not know all of them: a master on a ghost cell may be prescribed on an artificial one, and deal.II's lines of
   * periodic faces and hp hanging nodes can depend on the rank. So the line of an unknown is its owner's, or, if that has
   * none, the one with masters of the first rank that has a cell of it, asked in rounds until no rank meets a new master; then masters that are constrained are replaced by their lines. Throws
   * Error, on all ranks, for a cycle, where this rank's own line of another's unknown, closed in the same way,
   * contradicts, and where it may have used a value in its lines that is none: on a parallel::fullydistributed::
   * Triangulation, the cells behind faces of ghost cells may be missing, and deal.II takes these for the boundary.
   */
  SlotLines closed_lines_of_owners(RankDofs &dofs, const dealii::AffineConstraints<double> &constraints, Index n_dofs);
} // namespace PatchFEM::internal
