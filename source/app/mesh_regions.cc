// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/mesh_regions.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/quote.h>

#include <algorithm>

namespace PatchFEM
{
  void MeshRegions::add(const unsigned int id, const std::vector<Group> &groups)
  {
    id_set.insert(id);
    groups_of[id] = groups;
  }

  void MeshRegions::add(const unsigned int id)
  {
    id_set.insert(id);
  }

  std::set<unsigned int>
  MeshRegions::find(const std::string &word, const std::string &entry, const std::string &what) const
  {
    std::set<unsigned int> result;
    for (const unsigned int id : id_set)
    {
      const auto found = groups_of.find(id);
      if (found == groups_of.end() ? std::to_string(id) == word
                                   : std::any_of(found->second.begin(), found->second.end(), [&](const Group &group) {
                                       return group.name == word || std::to_string(group.number) == word;
                                     }))
        result.insert(id);
    }
    std::string known;
    for (const unsigned int id : id_set)
      known += (known.empty() ? "" : ", ") + text(id);
    require(!result.empty(), "The entry ", entry, " names ", what, " ", quote(word),
            ", which nothing of the mesh has; it has ", known, ".");
    return result;
  }

  std::string MeshRegions::text(const unsigned int id) const
  {
    const auto found = groups_of.find(id);
    if (found == groups_of.end())
      return std::to_string(id);
    std::string result;
    for (const Group &group : found->second)
      result += (result.empty() ? "" : " + ") + (group.name.empty() ? std::to_string(group.number) : group.name);
    return result;
  }
} // namespace PatchFEM
