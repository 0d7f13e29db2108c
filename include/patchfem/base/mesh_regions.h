// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace PatchFEM
{
  /** `1 face`, `2 faces`. */
  inline std::string counted(const std::size_t n, const std::string &noun)
  {
    return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
  }

  /** @p words, such as a list with @p separator ", ". */
  template <typename Words>
  std::string joined(const Words &words, const std::string &separator)
  {
    std::string result;
    for (const std::string &word : words)
      result += (result.empty() ? "" : separator) + word;
    return result;
  }

  /**
   * The boundaries of a mesh, or its materials. A face or cell of deal.II has one id, while files and rules put it into
   * any number of groups, each with a number, a name, or both. Faces whose groups have one number among them have it for
   * an id, unless another combination of groups has it already; every other combination has an id of its own. A
   * name without a number that everything has makes no difference to ids.
   */
  class MeshRegions
  {
  public:
    /** A boundary or material as a user knows it. */
    struct Group
    {
      std::int64_t number = -1; ///< of the file or rule; -1: it has a name alone
      std::string  name;        ///< empty: it has a number alone

      std::string text() const { return name.empty() ? std::to_string(number) : name; }

      bool operator==(const Group &other) const { return number == other.number && name == other.name; }

      template <typename Archive>
      void serialize(Archive &archive, const unsigned int)
      {
        archive &number &name;
      }
    };

    MeshRegions() = default;

    /** Ids without names. */
    explicit MeshRegions(const std::set<unsigned int> &ids) : id_set(ids) {}

    /** Adds an id without a name, for a group of that number, and for none if it is 0. */
    void add(const unsigned int id)
    {
      words.reset();
      id_set.insert(id);
    }

    /** The id of faces or cells that are in @p groups and no other, which is added if it is new; 0 of none. */
    unsigned int add(const std::vector<Group> &groups);

    /** The id of faces in the groups of @p a and of @p b. */
    unsigned int unite(unsigned int a, unsigned int b);

    /** The group that a rule calls @p word, one that is there or a new one. */
    Group group_of_rule(const std::string &word) const;

    /** Remembers that a face of the groups of @p id is not on the boundary, but inside the mesh or of no cell. */
    void add_lost_face(unsigned int id, bool inside);

    /** A sentence about each group with such faces. */
    std::vector<std::string> lost_faces() const;

    /**
     * Forgets all ids but @p present and chooses those of the others anew, as if the combinations with the fewest groups
     * had been added first. Groups get the @p names of their numbers; those that have a name alone and hold everything
     * are set apart.
     * @return the new id of each old one.
     */
    std::map<unsigned int, unsigned int> renumber(const std::set<unsigned int>              &present,
                                                  const std::map<std::int64_t, std::string> &names);

    /** Puts the groups that renumber() has set apart back into each id, before some faces leave them. */
    void release_groups_of_all();

    /** Forgets all ids but @p present. */
    void restrict_to(const std::set<unsigned int> &present);

    /** All ids of deal.II that are there. */
    const std::set<unsigned int> &ids() const { return id_set; }

    /** The groups of @p id, one of its number where nothing else is known. */
    std::vector<Group> groups(unsigned int id) const;

    /** Whether a group has a name, or ids stand for several. */
    bool has_names() const { return !groups_of.empty() || !of_all.empty(); }

    /**
     * The ids whose faces or cells belong to the group @p word: all groups of that name, or else that of the number, or
     * else that of the name in other capitals. Throws Error with what there is if none do, or if @p word is the name of
     * one and the number of another, or several names in other capitals; @p entry is the parameter that @p word stands
     * in, @p what `boundary` or `material`.
     */
    std::set<unsigned int> find(const std::string &word, const std::string &entry, const std::string &what) const;

    /** Throws Error if a group has the name @p word, `all` or `default`, which stands for all groups not named. */
    void require_no_name(const std::string &word, const std::string &entry, const std::string &what) const;

    /** The name of the group that find() takes @p word for, or its number if it has none. */
    std::string name_of(const std::string &word) const;

    /** The name of @p group, with its number behind it if another group has that name, too: `wall (2)`. */
    std::string text(const Group &group) const;

    /**
     * Names of the groups of @p id, a number where there is no name: `clamp`, `3`, `cold + sensor`. Groups of everything,
     * and those that are always together with one in front of them, are not mentioned beside others.
     */
    std::string text(unsigned int id) const { return words_of(id).first; }

    /** text(), and behind it groups that it leaves out although not everything is in them: `clamp = fixed`. */
    std::string title(unsigned int id) const
    {
      const auto [shown, others] = words_of(id);
      return shown + others;
    }

    /** For messages: `boundary id 3` or `boundary 'cold + sensor'`; @p what as in find(). */
    std::string describe(unsigned int id, const std::string &what) const { return described(text(id), what); }

    /** Describes the group that find() takes @p word for. */
    std::string describe(const std::string &word, const std::string &what) const
    {
      return described(name_of(word), what);
    }

    /** text() of all ids: `0, clamp, cold + sensor`. */
    std::string list() const;

    template <typename Archive>
    void serialize(Archive &archive, const unsigned int)
    {
      words.reset();
      archive &id_set &groups_of &of_all &lost &largest;
    }

  private:
    /** Faces of a group that are not on the boundary. */
    struct Lost
    {
      Group       group;
      std::size_t n_inside = 0, n_stray = 0; ///< those of no cell

      template <typename Archive>
      void serialize(Archive &archive, const unsigned int)
      {
        archive &group &n_inside &n_stray;
      }

      std::string text() const;
    };

    std::set<unsigned int> id_set;
    /// Of ids that have a name, or other groups than their number.
    std::map<unsigned int, std::vector<Group>> groups_of;
    std::vector<Group>                         of_all; ///< those that renumber() has found to hold everything
    std::vector<Lost>                          lost;
    std::int64_t                               largest = 0; ///< number of a group so far

    static std::string described(const std::string &name, const std::string &what);

    /** The words of text(), and those that title() adds. */
    std::pair<std::string, std::string> words_of(unsigned int id) const;

    struct Index;
    mutable std::shared_ptr<const Index> words; ///< see index(); null until it is asked for, and after every change

    const Index &index() const;

    /** How @p group is called by @p word: 0 as a name, 1 as a number, 2 as a name in other capitals; 3 not. */
    static int             match(const Group &group, const std::string &word);
    int                    best_match(const std::string &word) const;
    std::set<unsigned int> ids_of(const std::string &word, int how) const;
    void require_one_meaning(const std::string &word, const std::string &named, const std::string &what) const;
  };
} // namespace PatchFEM
