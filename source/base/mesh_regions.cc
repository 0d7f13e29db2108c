// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/base/mesh_regions.h>
#include <patchfem/base/quote.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <iterator>

namespace PatchFEM
{
  namespace
  {
    using Group = MeshRegions::Group;

    /** Whether @p word is a number that a group can have; longer ones are names. */
    bool is_number(const std::string &word)
    {
      return !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
    }

    bool contains(const std::vector<Group> &groups, const Group &group)
    {
      return std::find(groups.begin(), groups.end(), group) != groups.end();
    }

    /** Whether both are the same groups, in any order. */
    bool are_equal(const std::vector<Group> &a, const std::vector<Group> &b)
    {
      return a.size() == b.size() &&
             std::all_of(a.begin(), a.end(), [&](const Group &group) { return contains(b, group); });
    }

    std::string lower(std::string word)
    {
      std::transform(word.begin(), word.end(), word.begin(), [](const unsigned char c) { return std::tolower(c); });
      return word;
    }
  } // namespace

  /** All groups, each once, the ids of each, and the groups that a word calls so, see match(): [how][word]. */
  struct MeshRegions::Index
  {
    std::vector<Group>                              groups;
    std::vector<std::vector<unsigned int>>          ids;
    std::map<std::string, std::vector<std::size_t>> called[3];

    std::map<std::pair<std::int64_t, std::string>, std::size_t> number; ///< of a group here

    /** The groups that @p word calls so. */
    const std::vector<std::size_t> &find(const std::string &word, const int how) const
    {
      static const std::vector<std::size_t> none;
      const auto                            found = called[how].find(how == 2 ? lower(word) : word);
      return found == called[how].end() ? none : found->second;
    }

    /** Adds @p id to those of @p group. */
    void add(const Group &group, const unsigned int id)
    {
      const auto [item, is_new] = number.emplace(std::make_pair(group.number, group.name), groups.size());
      if (is_new)
      {
        groups.push_back(group);
        ids.emplace_back();
        if (!group.name.empty())
        {
          called[0][group.name].push_back(item->second);
          called[2][lower(group.name)].push_back(item->second);
        }
        if (const std::string word = std::to_string(group.number); group.number >= 0 && word != group.name)
          called[1][word].push_back(item->second);
      }
      ids[item->second].push_back(id);
    }
  };

  const MeshRegions::Index &MeshRegions::index() const
  {
    if (words == nullptr)
    {
      const auto result = std::make_shared<Index>();
      for (const Group &group : of_all)
        for (const unsigned int id : id_set)
          result->add(group, id);
      for (const unsigned int id : id_set)
        for (const Group &group : groups(id))
          result->add(group, id);
      words = result;
    }
    return *words;
  }

  unsigned int MeshRegions::add(const std::vector<Group> &groups)
  {
    if (groups.empty())
    {
      add(0U);
      return 0;
    }
    for (const auto &[id, others] : groups_of)
      if (are_equal(groups, others))
        return id;
    std::vector<std::int64_t> numbers;
    for (const Group &group : groups)
      if (group.number >= 0)
      {
        numbers.push_back(group.number);
        largest = std::max(largest, group.number);
      }
    const bool is_plain = groups.size() == 1 && groups[0].name.empty();
    if (is_plain && id_set.count(groups[0].number) > 0 && groups_of.count(groups[0].number) == 0)
      return groups[0].number;

    std::int64_t id = numbers.size() == 1 ? numbers[0] : -1;
    if (id < 0 || id_set.count(id) > 0)
    {
      id = id_set.empty() ? largest : std::max<std::int64_t>(*id_set.rbegin(), largest);
      for (id = id < INT_MAX ? id + 1 : 1; id_set.count(id) > 0;)
        ++id;
    }
    words.reset();
    id_set.insert(id);
    if (!is_plain || groups[0].number != id)
      groups_of[id] = groups;
    return id;
  }

  unsigned int MeshRegions::unite(const unsigned int a, const unsigned int b)
  {
    std::vector<Group> both = groups(a);
    for (const Group &group : groups(b))
      if (!contains(both, group))
        both.push_back(group);
    return add(both);
  }

  Group MeshRegions::group_of_rule(const std::string &word) const
  {
    for (const int how : {0, 1})
      if (const auto &found = index().find(word, how); !found.empty())
        return index().groups[found.front()];
    return is_number(word) ? Group{std::stoll(word), ""} : Group{-1, word};
  }

  void MeshRegions::add_lost_face(const unsigned int id, const bool inside)
  {
    for (const Group &group : groups(id))
    {
      auto found = std::find_if(lost.begin(), lost.end(), [&](const Lost &item) { return item.group == group; });
      if (found == lost.end())
        found = lost.insert(found, Lost{group, 0, 0});
      ++(inside ? found->n_inside : found->n_stray);
    }
  }

  std::string MeshRegions::Lost::text() const
  {
    return (n_inside > 0 ? counted(n_inside, "face") + " inside the mesh" : "") +
           (n_inside > 0 && n_stray > 0 ? " and " : "") +
           (n_stray > 0 ? counted(n_stray, "face") + " that no cell has" : "");
  }

  std::vector<std::string> MeshRegions::lost_faces() const
  {
    std::vector<std::string> result;
    for (const Lost &item : lost)
      result.push_back(text_of("boundary ", quote(item.group.text()), " has ", item.text()));
    return result;
  }

  std::map<unsigned int, unsigned int> MeshRegions::renumber(const std::set<unsigned int>              &present,
                                                             const std::map<std::int64_t, std::string> &names)
  {
    const auto named = [&](Group group) {
      if (const auto name = names.find(group.number); name != names.end())
        group.name = name->second;
      return group;
    };
    std::vector<std::pair<std::size_t, unsigned int>> order;
    for (const unsigned int id : present)
      order.emplace_back(groups(id).size(), id);
    std::sort(order.begin(), order.end());
    MeshRegions result;
    result.largest = largest; // ids that are no numbers of groups are above these
    for (const Lost &item : lost)
      result.lost.push_back({named(item.group), item.n_inside, item.n_stray});
    if (!present.empty())
      for (const Group &group : groups(*present.begin()))
        if (group.number < 0 && std::all_of(present.begin(), present.end(),
                                            [&](const unsigned int id) { return contains(groups(id), group); }))
          result.of_all.push_back(group);
    std::map<unsigned int, unsigned int> new_ids;
    for (const bool numbered : {true, false})
      for (const auto &item : order)
      {
        std::vector<Group> of_id;
        for (const Group &group : groups(item.second))
          if (!contains(result.of_all, group))
            of_id.push_back(named(group));
        const auto has_number = [](const Group &group) { return group.number >= 0; };
        if ((of_id.empty() || std::count_if(of_id.begin(), of_id.end(), has_number) == 1) == numbered)
          new_ids[item.second] = result.add(of_id);
      }
    *this = std::move(result);
    return new_ids;
  }

  void MeshRegions::restrict_to(const std::set<unsigned int> &present)
  {
    words.reset();
    id_set = present;
    for (auto item = groups_of.begin(); item != groups_of.end();)
      item = present.count(item->first) > 0 ? std::next(item) : groups_of.erase(item);
  }

  std::vector<Group> MeshRegions::groups(const unsigned int id) const
  {
    const auto found = groups_of.find(id);
    if (found != groups_of.end())
      return found->second;
    return id == 0 ? std::vector<Group>() : std::vector<Group>{{id, ""}};
  }

  void MeshRegions::release_groups_of_all()
  {
    words.reset();
    for (const unsigned int id : of_all.empty() ? std::set<unsigned int>() : id_set)
    {
      std::vector<Group> of_id = groups(id);
      of_id.insert(of_id.end(), of_all.begin(), of_all.end());
      groups_of[id] = of_id;
    }
    of_all.clear();
  }

  int MeshRegions::match(const Group &group, const std::string &word)
  {
    if (!group.name.empty() && group.name == word)
      return 0;
    if (group.number >= 0 && std::to_string(group.number) == word)
      return 1;
    return lower(group.name) == lower(word) ? 2 : 3;
  }

  int MeshRegions::best_match(const std::string &word) const
  {
    int best = word == "0" ? 1 : 3;
    for (const int how : {2, 1, 0})
      if (how < best && !index().find(word, how).empty())
        best = how;
    for (const Lost &item : lost)
      best = std::min(best, match(item.group, word));
    return best;
  }

  std::set<unsigned int> MeshRegions::ids_of(const std::string &word, const int how) const
  {
    std::set<unsigned int> result;
    if (how == 1 && word == "0" && id_set.count(0) > 0)
      result.insert(0);
    for (const std::size_t g : how < 3 ? index().find(word, how) : std::vector<std::size_t>())
      result.insert(index().ids[g].begin(), index().ids[g].end());
    return result;
  }

  void
  MeshRegions::require_one_meaning(const std::string &word, const std::string &named, const std::string &what) const
  {
    const int                    best      = best_match(word);
    const std::set<unsigned int> by_number = best == 0 ? ids_of(word, 1) : std::set<unsigned int>();
    require(by_number.empty() || by_number == ids_of(word, 0), named, ", which is the name of one ", what,
            " and the number of another", by_number.empty() ? "" : ", " + quote(text(*by_number.begin())),
            "; rename one of them in the file.");
    std::set<std::string> spellings;
    if (best == 2)
      for (const std::size_t g : index().find(word, 2))
        spellings.insert(quote(index().groups[g].name));
    require(spellings.size() < 2, named, ", which could be ", joined(spellings, " or "),
            "; write it with the capitals of one of them.");
  }

  std::set<unsigned int>
  MeshRegions::find(const std::string &word, const std::string &entry, const std::string &what) const
  {
    const bool        of_faces = what == "boundary";
    const std::string named    = "The entry " + entry + " names " + described(word, what);
    require_one_meaning(word, named, what);
    const int                    best   = best_match(word);
    const std::set<unsigned int> result = ids_of(word, best);
    for (const Lost &item : lost)
      if (best < 3 && match(item.group, word) == best && (result.empty() || item.n_stray > 0))
        throw Error(named, ", which has ", item.text(), "; only faces on the boundary can have a condition.");
    if (!result.empty())
      return result;
    std::vector<std::string> similar;
    for (const Group &group : index().groups)
    {
      const std::size_t n = group.name.size(), m = word.size();
      if (is_number(word) && n > m && group.name.substr(n - m) == word && !std::isdigit(group.name[n - m - 1]))
        similar.push_back(quote(group.name));
    }
    throw Error(named, ", but no ", of_faces ? "face" : "cell", " has it",
                similar.empty() ? "" : " alone: it could be " + joined(similar, " or "), "; the mesh has ", list(),
                ".");
  }

  void MeshRegions::require_no_name(const std::string &word, const std::string &entry, const std::string &what) const
  {
    require(word.empty() || index().find(word, 0).empty(), "The entry ", entry, " says ", word,
            ", which stands for all ", what == "boundary" ? "boundaries" : "materials",
            " not named, and the mesh has one of that name; write \"", word, "\" in quotation marks for it, or ",
            word == "all" ? "default" : "all", " for the others.");
  }

  std::string MeshRegions::name_of(const std::string &word) const
  {
    const int                      best  = best_match(word);
    const std::vector<std::size_t> meant = best < 3 ? index().find(word, best) : std::vector<std::size_t>();
    if (meant.empty())
      return word;
    const Group &group = index().groups[meant.front()];
    return meant.size() == 1 ? text(group) : group.text();
  }

  std::string MeshRegions::text(const Group &group) const
  {
    const std::vector<std::size_t> &namesakes = index().find(group.name, 0);
    const bool                      is_alone  = std::all_of(namesakes.begin(), namesakes.end(),
                                                            [&](const std::size_t g) { return index().groups[g] == group; });
    return is_alone || group.number < 0 ? group.text() : text_of(group.name, " (", group.number, ")");
  }

  std::pair<std::string, std::string> MeshRegions::words_of(const unsigned int id) const
  {
    const auto found = groups_of.find(id);
    if (found == groups_of.end())
      return {id == 0 && id_set.size() == 1 && !of_all.empty() ? of_all.front().name : std::to_string(id), ""};
    const std::vector<Group> &of_id = found->second;
    // The ids that share a group, of those groups that say something of this one.
    std::vector<std::vector<unsigned int>> seen;
    std::vector<std::string>               words;
    std::string                            others;
    for (const Group &group : of_id)
    {
      std::vector<unsigned int> sharing = index().ids[index().number.at({group.number, group.name})];
      sharing.erase(std::remove_if(sharing.begin(), sharing.end(),
                                   [&](const unsigned int other) { return groups_of.count(other) == 0; }),
                    sharing.end());
      const bool is_new = std::find(seen.begin(), seen.end(), sharing) == seen.end();
      if (is_new && (sharing.size() < id_set.size() || of_id.size() == 1))
        words.push_back(text(group));
      else if (sharing.size() < id_set.size())
        others += " = " + text(group);
      seen.push_back(sharing);
    }
    return {words.empty() ? text(of_id.front()) : joined(words, " + "), others};
  }

  std::string MeshRegions::described(const std::string &name, const std::string &what)
  {
    return what + (is_number(name) ? " id " + printable(name) : " " + quote(name));
  }

  std::string MeshRegions::list() const
  {
    std::vector<std::string> words;
    for (const unsigned int id : id_set)
      words.push_back(printable(text(id)));
    // A list such as 1, 2, 3 of many ids is a range to a reader.
    if (words.size() > 12 && !has_names())
      return text_of(words.front(), " ... ", words.back(), " (", words.size(), ")");
    return joined(words, ", ");
  }
} // namespace PatchFEM
