// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/coefficients.h>
#include <patchfem/base/rank_group.h>

#include <functional>
#include <memory>
#include <vector>

namespace PatchFEM
{
  /**
   * The tables of the ranks of a RankGroup, and those that its owner has of all of them, as if they were one rank: cells,
   * owned nodes and faces are those of its first rank, then those of the second, and so on; ghosts and copies are of
   * other groups, once each, and ranks are groups. Members have tables without cells, of no other rank. Numbers are
   * changed by each rank in its own tables, so that the owner has nothing to do but to put them one behind the other.
   *
   * All functions are collective in the group, and the constructor on all ranks.
   */
  class GroupTables
  {
  public:
    GroupTables(const RankGroup &group, std::shared_ptr<const ElementTables> own);

    const ElementTables                        &own() const { return *tables; }
    const std::shared_ptr<const ElementTables> &merged() const { return all; }

    /** Values of the rank's own cells or faces, or of all in its tables, become those of merged()'s own ones. */
    CoefficientField gather(const CoefficientField &field) const;
    FaceTerms        gather(const FaceTerms &terms) const;

    /** [owned unknown of own()] becomes [owned unknown of merged()], and the other way round. */
    std::vector<double> gather_unknowns(const std::vector<double> &values) const { return group.gather(values); }
    std::vector<double> scatter_unknowns(const std::vector<double> &values) const
    {
      return group.scatter(values, std::size_t(tables->n_owned_nodes()) * tables->n_components);
    }

    /** [active_index of a cell of merged()] becomes that of own(). */
    std::vector<unsigned int> scatter_cells(std::vector<unsigned int> values) const;

    /** [line of own().constraints] becomes [line of merged()'s], where those of ghosts have 0, if @p check passes. */
    std::vector<double> gather_lines(const std::vector<double> &values, const std::function<void()> &check) const;

  private:
    struct Merger;

    const RankGroup                     &group;
    std::shared_ptr<const ElementTables> tables, all;
    std::int64_t n_active_cells = 0, n_all_active_cells = 0; ///< that own() counts, and merged()
  };
} // namespace PatchFEM
