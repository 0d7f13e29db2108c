// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/assembly/group_tables.h>
#include <patchfem/kernels/jacobi.h>

#include <algorithm>
#include <climits>
#include <set>

namespace PatchFEM
{
  namespace
  {
    /** Of [batch] lists of cells, and of faces in the last one. */
    using Lists = std::vector<std::vector<int>>;

    /** Lines of unknowns, [line], with masters as unknowns. */
    struct Lines
    {
      std::vector<int>    unknowns, n_masters, masters;
      std::vector<double> weights, inhomogeneities;

      Lines gathered(const RankGroup &group) const
      {
        return {group.gather(unknowns), group.gather(n_masters), group.gather(masters), group.gather(weights),
                group.gather(inhomogeneities)};
      }

      /** Line @p l, whose masters begin at @p m, of @p other. */
      void add(const Lines &other, const std::size_t l, const std::size_t m)
      {
        const auto append = [](auto &to, const auto &from, const std::size_t begin, const std::size_t n) {
          to.insert(to.end(), from.begin() + begin, from.begin() + begin + n);
        };
        append(unknowns, other.unknowns, l, 1);
        append(n_masters, other.n_masters, l, 1);
        append(inhomogeneities, other.inhomogeneities, l, 1);
        append(masters, other.masters, m, other.n_masters[l]);
        append(weights, other.weights, m, other.n_masters[l]);
      }
    };
  } // namespace

  /** What the constructor does, in the order of its functions. */
  struct GroupTables::Merger
  {
    const RankGroup     &group;
    const ElementTables &from;
    const Communicator  &all_ranks = *from.ranks.communicator;
    const int            me        = all_ranks.rank();
    const int            n_batches = static_cast<int>(from.batches.size());
    const int            n_comp    = from.n_components;
    const bool           is_alone  = group.groups().size() == 1;
    ElementTables        result    = {};

    bool         has_points   = false; ///< of their own, other than nodes
    std::int64_t n_owned      = 0;     ///< nodes of the group
    std::int64_t n_active     = 0;     ///< cells of this rank, as active_index counts them
    std::int64_t n_all_active = 0;     ///< the same of the group

    std::vector<std::int64_t> first_node   = {}; ///< [rank of all], among those of its group
    std::vector<std::int64_t> first_active = {}; ///< the same of cells, as active_index counts them
    std::vector<int>          first_own =
        {}; ///< of this rank among the own ones of the group: cells, [batch], and behind them faces
    std::vector<int>                n_own    = {}; ///< the same, how many
    std::vector<int>                n_copies = {}; ///< the same of other groups
    std::vector<Partitioner::Ghost> outside  = {}; ///< ghosts of the group, by groups
    std::vector<int>                node     = {}; ///< [node here], in the tables of the group

    int  group_of(const int rank) const { return group.group_of()[rank]; }
    bool is_outside(const int rank) const { return group_of(rank) != group_of(me); }

    /** Of @p n things here: those of the ranks before each in its group, [rank of all]; @p total is that of this group. */
    std::vector<std::int64_t> before_in_group(const std::int64_t n, std::int64_t &total) const
    {
      std::vector<std::int64_t> of_group(group.groups().size(), 0), before;
      int                       rank = 0;
      for (const std::int64_t n_of_rank : all_ranks.all_gather(n))
      {
        std::int64_t &sum = of_group[group_of(rank++)];
        before.push_back(sum);
        sum += n_of_rank;
      }
      total = of_group[group_of(me)];
      return before;
    }

    std::shared_ptr<const ElementTables> run()
    {
      number_nodes();
      number_cells();
      collect_nodes();
      std::map<int, Lists> places;
      if (!is_alone)
        places = merge_copies();
      collect_cells(places);
      collect_faces(places);
      collect_lines();
      if (!group.is_owner())
        return std::make_shared<const ElementTables>(without_cells());
      result.ranks.communicator = group.owners();
      return std::make_shared<const ElementTables>(std::move(result));
    }

    ElementTables without_cells() const
    {
      ElementTables none;
      none.dim          = from.dim;
      none.n_components = n_comp;
      for (const CellTable &batch : from.batches)
        none.batches.emplace_back().reference = batch.reference;
      return none;
    }

    void number_nodes()
    {
      first_node = before_in_group(from.n_owned_nodes(), n_owned);
      all_ranks.agree_on_errors([&] {
        require((n_owned + from.ranks.ghosts.size()) * n_comp < INT_MAX, "The ranks that share a device have ",
                n_owned * n_comp,
                " unknowns together, more than 32-bit indices can count: use fewer cells, or the back end host.");
      });

      for (const Partitioner::Ghost &ghost : from.ranks.ghosts)
        if (is_outside(ghost.rank))
          outside.push_back({group_of(ghost.rank), static_cast<int>(first_node[ghost.rank]) + ghost.index});
      if (!is_alone)
        outside = group.ranks().concatenate(outside);
      std::sort(outside.begin(), outside.end());
      outside.erase(std::unique(outside.begin(), outside.end()), outside.end());

      for (int i = 0; i < from.n_owned_nodes(); ++i)
        node.push_back(static_cast<int>(first_node[me]) + i);
      for (const auto &[rank, index] : from.ranks.ghosts)
      {
        const Partitioner::Ghost ghost{group_of(rank), static_cast<int>(first_node[rank]) + index};
        node.push_back(is_outside(rank) ? static_cast<int>(n_owned + place_outside(ghost)) : ghost.index);
      }
    }

    std::int64_t place_outside(const Partitioner::Ghost &ghost) const
    {
      return std::lower_bound(outside.begin(), outside.end(), ghost) - outside.begin();
    }

    int unknown(const int here) const { return node[here / n_comp] * n_comp + here % n_comp; }

    void number_cells()
    {
      std::vector<int> here = from.ranks.n_own_cells;
      here.push_back(from.ranks.n_own_faces);
      first_own.assign(n_batches + 1, 0);
      n_own.assign(n_batches + 1, 0);
      n_copies.assign(n_batches + 1, 0);
      const auto of_ranks = group.ranks().all_gather(Communicator::pack(here));
      for (int rank = 0; rank < group.ranks().size(); ++rank)
      {
        const auto n = Communicator::unpack<int>(of_ranks[rank]);
        for (int b = 0; b <= n_batches; ++b)
        {
          first_own[b] += rank < group.ranks().rank() ? n[b] : 0;
          n_own[b] += n[b];
        }
      }
      for (int b = 0; b < n_batches; ++b)
        for (int cell = 0; cell < from.ranks.n_own_cells[b]; ++cell)
          n_active = std::max<std::int64_t>(n_active, from.batches[b].active_index[cell] + 1);
      first_active = before_in_group(n_active, n_all_active);
      for (const int rank : group.groups()[group_of(me)].ranks)
        result.ranks.parts.push_back({rank, static_cast<int>(first_active[rank])});
    }

    /** Indices and points of nodes, or points of their own. */
    void collect_nodes()
    {
      const int n_here = from.n_owned_nodes(), dim = from.dim;
      for (const CellTable &batch : from.batches)
        has_points = has_points || !batch.geometry.empty();
      std::int64_t there[2] = {has_points, !from.dof_indices.empty()};
      all_ranks.maximum(there, 2);
      has_points                  = there[0] != 0;
      const bool has_indices      = there[1] != 0;
      result.dim                  = dim;
      result.n_components         = n_comp;
      result.n_nodes              = static_cast<int>(n_owned + outside.size());
      const std::size_t n_outside = outside.size();
      result.dof_indices = group.gather(from.dof_indices.data(), has_indices ? std::size_t(n_here) * n_comp : 0,
                                        has_indices ? n_outside * n_comp : 0);
      result.points      = group.gather(from.points.data(), has_points ? from.points.size() : std::size_t(n_here) * dim,
                                   has_points ? 0 : n_outside * dim);
      result.ranks.n_owned_nodes = static_cast<int>(n_owned);
      result.ranks.ghosts        = outside;
      if (is_alone)
        return;
      struct Ghost
      {
        int          node;
        unsigned int dofs[kernels::max_block_size];
        double       point[3];
      };
      std::vector<Ghost> ghosts;
      for (int i = n_here; i < from.n_nodes; ++i)
        if (node[i] >= n_owned)
        {
          Ghost &ghost = ghosts.emplace_back(Ghost{node[i], {}, {}});
          if (has_indices)
            std::copy_n(from.dof_indices.data() + std::size_t(i) * n_comp, n_comp, ghost.dofs);
          if (!has_points)
            std::copy_n(from.points.data() + std::size_t(i) * dim, dim, ghost.point);
        }
      ghosts = group.gather(ghosts);
      if (!group.is_owner())
        return;
      for (const Ghost &ghost : ghosts)
      {
        if (has_indices)
          std::copy_n(ghost.dofs, n_comp, result.dof_indices.data() + std::size_t(ghost.node) * n_comp);
        if (!has_points)
          std::copy_n(ghost.point, dim, result.points.data() + std::size_t(ghost.node) * dim);
      }
    }

    /**
     * What ranks of other groups sent to those of this one is here once, in the order of what each of them sent to any:
     * its group, its own number, and there the cell's. Returns where the copies here come, by the rank that sent them,
     * [batch] and faces in the last list; and fills RankTables.
     */
    std::map<int, Lists> merge_copies()
    {
      // What each group gets of this rank; ranks there are told where in it theirs are, and how long it is.
      std::map<int, std::vector<std::set<int>>> sent;
      for (const RankTables::Copies &copies : from.ranks.sent)
        if (is_outside(copies.rank))
        {
          std::vector<std::set<int>> &sets = sent[group_of(copies.rank)];
          sets.resize(n_batches + 1);
          for (int b = 0; b < n_batches; ++b)
            sets[b].insert(copies.cells[b].begin(), copies.cells[b].end());
          sets[n_batches].insert(copies.faces.begin(), copies.faces.end());
        }
      std::map<int, Lists> lists;
      for (const auto &[to, sets] : sent)
        for (const std::set<int> &set : sets)
          lists[to].emplace_back(set.begin(), set.end());
      std::map<int, std::vector<int>> messages;
      for (const RankTables::Copies &copies : from.ranks.sent)
        if (is_outside(copies.rank))
          for (int b = 0; b <= n_batches; ++b)
          {
            const std::vector<int> &list    = lists[group_of(copies.rank)][b];
            std::vector<int>       &message = messages[copies.rank];
            message.push_back(static_cast<int>(list.size()));
            for (const int cell : b < n_batches ? copies.cells[b] : copies.faces)
              message.push_back(static_cast<int>(std::lower_bound(list.begin(), list.end(), cell) - list.begin()));
          }

      // How much came from each rank, known to all of this group.
      messages = all_ranks.exchange(messages);
      std::map<int, Lists> places;
      std::vector<int>     lengths; // rank, of each list
      for (const RankTables::Received &received : from.ranks.received)
        if (is_outside(received.rank))
        {
          auto next = messages.at(received.rank).begin();
          lengths.push_back(received.rank);
          for (int b = 0; b <= n_batches; ++b)
          {
            const int n = b < n_batches ? received.n_cells[b] : received.n_faces;
            lengths.push_back(*next++);
            places[received.rank].emplace_back(next, next + n);
            next += n;
          }
        }
      lengths = group.ranks().concatenate(lengths);
      std::map<int, std::vector<int>> length_of;
      for (std::size_t i = 0; i < lengths.size(); i += n_batches + 2)
        length_of[lengths[i]].assign(lengths.begin() + i + 1, lengths.begin() + i + 2 + n_batches);

      // By groups, and there by ranks.
      std::map<std::pair<int, int>, int> order; // (group, rank)
      for (const auto &[rank, of_rank] : length_of)
        order[{group_of(rank), rank}] = rank;
      std::vector<int> next = n_own;
      for (const auto &[key, rank] : order)
      {
        std::vector<RankTables::Received> &received = result.ranks.received;
        if (received.empty() || received.back().rank != key.first)
          received.push_back({key.first, std::vector<int>(n_batches, 0), 0});
        for (int b = 0; b <= n_batches; ++b)
        {
          const int n = length_of[rank][b];
          (b < n_batches ? received.back().n_cells[b] : received.back().n_faces) += n;
          if (const auto here = places.find(rank); here != places.end())
            for (int &place : here->second[b])
              place += next[b];
          next[b] += n;
        }
      }
      for (int b = 0; b <= n_batches; ++b)
        n_copies[b] = next[b] - n_own[b];

      // What goes out, by the numbers of the group.
      std::vector<int> stream; // group, and for each list its length and it
      for (const auto &[to, of_group] : lists)
      {
        stream.push_back(to);
        for (int b = 0; b <= n_batches; ++b)
        {
          stream.push_back(static_cast<int>(of_group[b].size()));
          for (const int i : of_group[b])
            stream.push_back(first_own[b] + i);
        }
      }
      stream = group.gather(stream);
      std::map<int, RankTables::Copies> out;
      for (auto i = stream.begin(); i != stream.end();)
      {
        RankTables::Copies &copies = out[*i];
        copies.rank                = *i++;
        copies.cells.resize(n_batches);
        for (int b = 0; b <= n_batches; ++b)
        {
          const int         n  = *i++;
          std::vector<int> &to = b < n_batches ? copies.cells[b] : copies.faces;
          to.insert(to.end(), i, i + n);
          i += n;
        }
      }
      for (auto &[to, copies] : out)
        result.ranks.sent.push_back(std::move(copies));
      return places;
    }

    void collect_cells(const std::map<int, Lists> &places)
    {
      std::int64_t       n_points = 0;
      const std::int64_t first_point =
          before_in_group(static_cast<std::int64_t>(from.points.size() / from.dim), n_points)[me];
      all_ranks.agree_on_errors([&] {
        require(
            !has_points || n_points < INT_MAX,
            "The ranks that share a device have more geometry nodes than 32-bit indices can count: use a mapping of "
            "degree 1, fewer cells, or the back end host.");
      });
      for (int b = 0; b < n_batches; ++b)
      {
        const CellTable &batch = from.batches[b];
        CellTable       &to    = result.batches.emplace_back();
        to.reference           = batch.reference;
        to.n_cells             = n_own[b] + n_copies[b];
        std::vector<int> here, target; // copies of other groups, and where they come
        std::vector<int> active = batch.active_index;
        int              next   = from.ranks.n_own_cells[b];
        for (int cell = 0; cell < next; ++cell)
          active[cell] += static_cast<int>(first_active[me]);
        for (const RankTables::Received &received : from.ranks.received)
        {
          if (is_outside(received.rank))
            for (int i = 0; i < received.n_cells[b]; ++i)
            {
              here.push_back(next + i);
              target.push_back(places.at(received.rank)[b][i]);
              active[next + i] += static_cast<int>(first_active[received.rank]);
            }
          next += received.n_cells[b];
        }
        if (!is_alone)
          target = group.gather(target);
        // [cell][width], of which @p number makes those of the group.
        const auto merge = [&](const std::vector<int> &values, const int width, const auto &number) {
          std::vector<int> own(std::size_t(from.ranks.n_own_cells[b]) * width), copies;
          std::transform(values.begin(), values.begin() + own.size(), own.begin(), number);
          std::vector<int> merged = group.gather(own, std::size_t(n_copies[b]) * width);
          if (is_alone)
            return merged;
          for (const int cell : here)
            std::transform(values.begin() + std::size_t(cell) * width, values.begin() + std::size_t(cell + 1) * width,
                           std::back_inserter(copies), number);
          copies = group.gather(copies);
          for (std::size_t i = 0; i < target.size() && group.is_owner(); ++i)
            std::copy_n(copies.data() + i * width, width, merged.data() + std::size_t(target[i]) * width);
          return merged;
        };
        const auto same = [](const int value) { return value; };
        to.nodes        = merge(batch.nodes, batch.reference.n_shape, [&](const int i) { return node[i]; });
        to.material_ids = merge(batch.material_ids, 1, same);
        to.active_index = merge(active, 1, same);
        if (has_points)
          to.geometry = merge(batch.geometry, batch.reference.n_geometry,
                              [&](const int i) { return static_cast<int>(first_point) + i; });
        result.ranks.n_own_cells.push_back(n_own[b]);
      }
    }

    void collect_faces(const std::map<int, Lists> &places)
    {
      std::vector<FaceEntry> own(from.faces.begin(), from.faces.begin() + from.ranks.n_own_faces);
      for (FaceEntry &face : own)
        face.cell += first_own[face.batch];
      result.faces             = group.gather(own, n_copies[n_batches]);
      result.ranks.n_own_faces = n_own[n_batches];
      if (is_alone)
        return;
      // Copies of cells come in the order of the ranks that sent them, as those of faces do.
      std::vector<FaceEntry> copies;
      std::vector<int>       target;
      std::vector<int>       first = from.ranks.n_own_cells;
      int                    next  = from.ranks.n_own_faces;
      for (const RankTables::Received &received : from.ranks.received)
      {
        for (int i = 0; i < received.n_faces && is_outside(received.rank); ++i)
        {
          FaceEntry    face = from.faces[next + i];
          const Lists &of   = places.at(received.rank);
          face.cell         = of[face.batch][face.cell - first[face.batch]];
          copies.push_back(face);
          target.push_back(of[n_batches][i]);
        }
        next += received.n_faces;
        for (int b = 0; b < n_batches; ++b)
          first[b] += received.n_cells[b];
      }
      copies = group.gather(copies);
      target = group.gather(target);
      for (std::size_t i = 0; i < target.size(); ++i)
        result.faces[target[i]] = copies[i];
    }

    /** Each of an own unknown is its owner's; of one of another group several ranks may have the same. */
    void collect_lines()
    {
      const ConstraintTable &table = from.constraints;
      Lines                  own, foreign;
      for (std::size_t l = 0; l < table.n_lines(); ++l)
      {
        const int here = table.constrained[l] / n_comp;
        if (here >= from.n_owned_nodes() && node[here] < n_owned)
          continue;
        Lines &to = here < from.n_owned_nodes() ? own : foreign;
        to.unknowns.push_back(unknown(table.constrained[l]));
        to.n_masters.push_back(static_cast<int>(table.offsets[l + 1] - table.offsets[l]));
        to.inhomogeneities.push_back(table.inhomogeneity[l]);
        for (std::int64_t m = table.offsets[l]; m < table.offsets[l + 1]; ++m)
        {
          to.masters.push_back(unknown(table.masters[m]));
          to.weights.push_back(table.weights[m]);
        }
      }
      Lines lines = own.gathered(group);
      if (!is_alone)
      {
        const Lines                                        others = foreign.gathered(group);
        std::map<int, std::pair<std::size_t, std::size_t>> first; // by unknown, a line and its first master
        std::size_t                                        m = 0;
        for (std::size_t l = 0; l < others.unknowns.size(); m += others.n_masters[l++])
          first.emplace(others.unknowns[l], std::make_pair(l, m));
        for (const auto &[unknown, place] : first)
          lines.add(others, place.first, place.second);
      }
      ConstraintTable &to = result.constraints;
      to.constrained      = std::move(lines.unknowns);
      to.masters          = std::move(lines.masters);
      to.weights          = std::move(lines.weights);
      to.inhomogeneity    = std::move(lines.inhomogeneities);
      to.offsets.assign(1, 0);
      for (const int n : lines.n_masters)
        to.offsets.push_back(to.offsets.back() + n);
    }
  };

  GroupTables::GroupTables(const RankGroup &group, std::shared_ptr<const ElementTables> own)
      : group(group), tables(std::move(own))
  {
    require(tables->ranks.communicator != nullptr &&
                tables->ranks.communicator->size() == static_cast<int>(group.group_of().size()),
            "Ranks that share a device need one mesh that is distributed to all of them, and this one is not.");
    group.connect();
    if (group.groups().size() == group.group_of().size()) // each rank has a device
    {
      all = tables;
      return;
    }
    Merger merger{group, *tables};
    tables->ranks.communicator->agree_on_errors([&] { all = merger.run(); }); // errors of a group are those of all
    n_active_cells     = merger.n_active;
    n_all_active_cells = group.is_owner() ? merger.n_all_active : 0;
  }

  CoefficientField GroupTables::gather(const CoefficientField &field) const
  {
    using View = CoefficientView<double>;
    if (field.kind() != View::cell && field.kind() != View::quadrature_point)
      return field;
    std::vector<std::size_t> n_own;
    tables->ranks.communicator->agree_on_errors([&] {
      const std::vector<std::vector<double>> &values = field.values();
      require(values.size() == tables->batches.size(), "A field needs values for every batch of cells.");
      for (std::size_t b = 0; b < values.size(); ++b)
      {
        const CellTable  &batch = tables->batches[b];
        const std::size_t width =
            std::size_t(field.n_values()) * (field.kind() == View::cell ? 1 : batch.reference.n_quadrature);
        n_own.push_back(width * tables->ranks.n_own_cells[b]);
        require(values[b].size() == n_own[b] || values[b].size() == width * batch.n_cells,
                "A field has another number of values than this rank's own cells of batch ", b, " need.");
      }
    });
    std::vector<std::vector<double>> values;
    for (std::size_t b = 0; b < n_own.size(); ++b)
      values.push_back(group.gather(field.values()[b].data(), n_own[b]));
    return field.kind() == View::cell ? CoefficientField::by_cell(field.n_values(), std::move(values))
                                      : CoefficientField::at_quadrature_points(field.n_values(), std::move(values));
  }

  FaceTerms GroupTables::gather(const FaceTerms &terms) const
  {
    std::size_t n_own = 0, n_all = 0;
    for (std::size_t face = 0; face < tables->faces.size(); ++face)
    {
      const int n = tables->batches[tables->faces[face].batch].reference.n_face_quadrature;
      n_all += n;
      n_own += face < std::size_t(tables->ranks.n_own_faces) ? n : 0;
    }
    std::int64_t there[2] = {terms.load.empty() ? 0 : 1, terms.robin.empty() ? 0 : 1};
    group.ranks().maximum(there, 2);
    const std::size_t n_comp = tables->n_components;
    tables->ranks.communicator->agree_on_errors([&] {
      const auto fits = [&](const std::vector<double> &values, const std::size_t n) {
        return values.empty() || values.size() == n_own * n || values.size() == n_all * n;
      };
      require(fits(terms.load, n_comp) && fits(terms.robin, 1),
              "Boundary terms need a value at every quadrature point of every face of the element tables.");
    });
    const auto of_group = [&](std::vector<double> values, const std::size_t n) {
      values.resize(n, 0.);
      return group.gather(values);
    };
    FaceTerms result;
    if (there[0] != 0)
      result.load = of_group(terms.load, n_own * n_comp);
    if (there[1] != 0)
      result.robin = of_group(terms.robin, n_own);
    return result;
  }

  std::vector<unsigned int> GroupTables::scatter_cells(std::vector<unsigned int> values) const
  {
    if (all == tables)
      return values;
    values.resize(n_all_active_cells);
    return group.scatter(values, n_active_cells);
  }

  std::vector<double> GroupTables::gather_lines(const std::vector<double>   &values,
                                                const std::function<void()> &check) const
  {
    tables->ranks.communicator->agree_on_errors(check);
    const std::vector<int> &lines = tables->constraints.constrained;
    const auto              n_own =
        std::lower_bound(lines.begin(), lines.end(), tables->n_owned_nodes() * tables->n_components) - lines.begin();
    std::vector<double> result = group.gather(values.data(), n_own);
    result.resize(all->constraints.n_lines(), 0.);
    return result;
  }
} // namespace PatchFEM
