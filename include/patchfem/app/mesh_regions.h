// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace PatchFEM
{
  /**
   * The boundaries of a mesh, or its materials. A face or cell of deal.II has one id, while files and rules put it into
   * any number of groups, each with a number, a name, or both. Faces that are in one numbered group alone have its number
   * for an id; each other combination of groups has an id of its own.
   */
  class MeshRegions
  {
  public:
    /** A boundary or material as a user knows it. */
    struct Group
    {
      unsigned int number; ///< that of the file or rule, or one that no other group has
      std::string  name;   ///< empty if it has a number alone
    };

    /** Faces or cells with @p id belong to @p groups; those of an id that is not added to the group of that number. */
    void add(unsigned int id, const std::vector<Group> &groups);

    /** Adds an id without a name, for a group of that number. */
    void add(unsigned int id);

    /** All ids of deal.II that are there. */
    const std::set<unsigned int> &ids() const { return id_set; }

    /**
     * The ids whose faces or cells belong to the group @p word, a number or a name. Throws Error with what there is if
     * none do; @p entry is the parameter that @p word stands in, @p what `boundary` or `material`.
     */
    std::set<unsigned int> find(const std::string &word, const std::string &entry, const std::string &what) const;

    /** Names of the groups of @p id, a number where there is no name: `clamp`, `3`, `cold + sensor`. */
    std::string text(unsigned int id) const;

  private:
    std::set<unsigned int> id_set;
    std::map<unsigned int, std::vector<Group>>
        groups_of; ///< of ids that have a name, or other groups than their number
  };
} // namespace PatchFEM
