// SPDX-License-Identifier: LGPL-2.1-or-later
#include "linear_embedding_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>

namespace PatchFEM
{
  namespace
  {
    /// Cells whose longest edge is longer than this times the shortest keep their functions: without them Laplace of
    /// degree 2 and 3 in cells of 2, 3, 4 and 100 : 1 takes 9, 14, 19 and 408 steps.
    constexpr double most_stretched = 2.5;

    /// The next level has at most this share of the nodes, or it is not worth what it takes.
    constexpr double most_kept = 0.5;

    /**
     * Values at nodes that constraints give: lines of a vertex that hangs are of unknowns on a coarser cell, whose
     * values come from the vertices of that cell, which may hang again. Unknowns are those of the tables.
     */
    class ConstrainedValues
    {
    public:
      /** @p is_kept [node of the tables]: their values are unknowns of the next level. */
      ConstrainedValues(const ElementTables &tables, const std::vector<char> &is_kept)
          : tables(tables), lines(tables.constraints), is_kept(is_kept), n_c(tables.n_components)
      {
        std::vector<char> is_master(tables.n_nodes, 0);
        for (const int unknown : lines.masters)
          is_master[unknown / n_c] = !is_kept[unknown / n_c];
        if (!lines.masters.empty())
          for (const CellTable &batch : tables.batches)
            for (std::size_t i = 0; i < batch.nodes.size(); ++i)
              if (is_master[batch.nodes[i]])
                places.emplace(batch.nodes[i], std::pair(&batch, i));
      }

      /** Adds @p factor times the value of @p unknown, by unknowns of kept nodes; false where lines go round in circles. */
      bool add(const int unknown, const double factor, std::map<int, double> &sum, const int depth = 0) const
      {
        const auto line = std::lower_bound(lines.constrained.begin(), lines.constrained.end(), unknown);
        const int  node = unknown / n_c, component = unknown % n_c;
        bool       good = depth < 100;
        if (!good)
          return false;
        if (line != lines.constrained.end() && *line == unknown)
        {
          const std::size_t l = line - lines.constrained.begin();
          for (std::int64_t e = lines.offsets[l]; e < lines.offsets[l + 1]; ++e)
            good = good && add(lines.masters[e], factor * lines.weights[e], sum, depth + 1);
        }
        else if (is_kept[node])
          sum[unknown] += factor;
        else
        {
          const auto &[batch, place]  = places.at(node);
          const ReferenceElement &r   = batch->reference;
          const std::size_t       n_v = r.vertex_shapes.size(), shape = place % r.n_shape;
          for (std::size_t v = 0; v < n_v; ++v)
            if (const double value = r.linear_values[shape * n_v + v]; std::abs(value) > 1e-12)
              good = good && add(batch->nodes[place - shape + r.vertex_shapes[v]] * n_c + component, factor * value,
                                 sum, depth + 1);
        }
        return good;
      }

    private:
      const ElementTables     &tables;
      const ConstraintTable   &lines;
      const std::vector<char> &is_kept;
      const int                n_c;

      std::unordered_map<int, std::pair<const CellTable *, std::size_t>> places; ///< of masters that are not kept
    };

    /** Empty where lines go round in circles. */
    std::optional<KeptLines>
    lines_of_kept(const ElementTables &tables, const std::vector<int> &new_of_old, const std::vector<int> &marks)
    {
      const int         n_c = tables.n_components;
      std::vector<char> is_kept(tables.n_nodes);
      for (int i = 0; i < tables.n_nodes; ++i)
        is_kept[i] = static_cast<char>(marks[new_of_old[i]]);
      const ConstrainedValues values(tables, is_kept);
      KeptLines               result;
      int                     last = -1;
      for (const int unknown : tables.constraints.constrained)
      {
        const int node = unknown / n_c;
        if (node == last || !is_kept[node])
          continue;
        last = node;
        std::map<int, std::vector<double>> blocks; // [master here][component][its component]
        for (int a = 0; a < n_c; ++a)
        {
          std::map<int, double> sum;
          if (!values.add(node * n_c + a, 1., sum))
            return {};
          for (const auto &[of, weight] : sum)
          {
            std::vector<double> &block = blocks[new_of_old[of / n_c]];
            block.resize(std::size_t(n_c) * n_c);
            block[a * n_c + of % n_c] += weight;
          }
        }
        result.nodes.push_back(new_of_old[node]);
        for (const auto &[master, block] : blocks)
        {
          result.masters.push_back(master);
          result.weights.insert(result.weights.end(), block.begin(), block.end());
        }
        result.offsets.push_back(static_cast<int>(result.masters.size()));
      }
      return result;
    }
  } // namespace

  std::shared_ptr<const LinearEmbedding> Space::linear_embedding() const
  {
    const ElementBatches &all    = batches();
    int                   degree = 0;
    for (int b = 0; b < all.n_batches(); ++b)
    {
      if (all.reference(b).vertex_shapes.empty())
        return nullptr;
      degree = std::max(degree, all.reference(b).degree);
    }
    if (degree <= 1 || all.partitioner() != nullptr || !get().is_constrained)
      return nullptr;
    const Array<int> is_kept     = choose(backend(), [&](auto where) { return mark_kept(where, all, most_stretched); });
    const std::vector<int> marks = is_kept.to_vector();
    if (std::count(marks.begin(), marks.end(), 1) > most_kept * all.n_nodes())
      return nullptr;
    const auto lines = lines_of_kept(tables_of_batches(), all.new_of_old(), marks);
    if (!lines)
      return nullptr;
    auto result    = std::make_shared<LinearEmbedding>();
    result->degree = degree;
    choose(backend(), [&](auto where) {
      embed_linear(where, all, constraints().constrained_unknowns(), is_kept, *lines, *result);
    });
    return result;
  }
} // namespace PatchFEM
