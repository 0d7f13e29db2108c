// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kept_lines.h"

#include "lac/multigrid/ghost_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

namespace PatchFEM
{
  namespace
  {
    /// Lines that refer to each other, and questions of ranks, are followed so far.
    constexpr int most_steps = 100;

    /** An unknown of another rank: the number of its node in the tables there, and the component. */
    using Foreign = std::pair<Partitioner::Ghost, int>;

    /** A value as a sum. */
    struct Value
    {
      std::map<std::int64_t, double> known; ///< of vertices, number among those of all ranks * n_components + component
      std::map<Foreign, double>      open;  ///< of what only their owners know
    };

    /** Values at nodes that constraints give, as far as they are known here. Unknowns are those of the tables. */
    class ConstrainedValues
    {
    public:
      ConstrainedValues(const ElementTables    &tables,
                        const ElementBatches   &batches,
                        const std::vector<int> &vertex_of_node,
                        const CoarseNumbers    *numbers)
          : tables(tables), lines(tables.constraints), new_of_old(batches.new_of_old()), vertex_of_node(vertex_of_node),
            numbers(numbers), n_c(tables.n_components)
      {
        std::vector<char> is_master(tables.n_nodes, 0);
        for (const int unknown : lines.masters)
          is_master[unknown / n_c] = vertex(unknown / n_c) == no_vertex;
        if (!lines.masters.empty())
          for (const CellTable &batch : tables.batches)
            for (std::size_t i = 0; i < batch.nodes.size(); ++i)
              if (is_master[batch.nodes[i]])
                places.emplace(batch.nodes[i], std::pair(&batch, i));
      }

      int vertex(const int node) const { return vertex_of_node[new_of_old[node]]; }

      /** Adds @p factor times the value of @p unknown; false where lines go round in circles. */
      bool add(const int unknown, const double factor, Value &sum, const int depth = 0) const
      {
        const auto line = std::lower_bound(lines.constrained.begin(), lines.constrained.end(), unknown);
        const int  node = unknown / n_c, component = unknown % n_c;
        bool       good = depth < most_steps;
        if (!good)
          return false;
        if (line != lines.constrained.end() && *line == unknown)
        {
          const std::size_t l = line - lines.constrained.begin();
          for (std::int64_t e = lines.offsets[l]; e < lines.offsets[l + 1]; ++e)
            good = good && add(lines.masters[e], factor * lines.weights[e], sum, depth + 1);
        }
        else if (const int v = vertex(node); v >= 0)
          sum.known[(numbers != nullptr ? numbers->global(v) : v) * n_c + component] += factor;
        else if (const auto found = places.find(node); found != places.end())
        {
          const auto &[batch, place]  = found->second;
          const ReferenceElement &r   = batch->reference;
          const std::size_t       n_v = r.vertex_shapes.size(), shape = place % r.n_shape;
          for (std::size_t w = 0; w < n_v; ++w)
            if (const double value = r.linear_values[shape * n_v + w]; std::abs(value) > 1e-12)
              good = good && add(batch->nodes[place - shape + r.vertex_shapes[w]] * n_c + component, factor * value,
                                 sum, depth + 1);
        }
        else if (node >= tables.n_owned_nodes())
          sum.open[{tables.ranks.ghosts[node - tables.n_owned_nodes()], component}] += factor;
        else
          return false;
        return good;
      }

    private:
      const ElementTables    &tables;
      const ConstraintTable  &lines;
      const std::vector<int> &new_of_old, &vertex_of_node;
      const CoarseNumbers    *numbers;
      const int               n_c;

      std::unordered_map<int, std::pair<const CellTable *, std::size_t>> places; ///< of masters that are no vertices
    };

    /** Collective: nothing in @p values is open then; false, on all ranks, if that is so without end, or not @p good. */
    bool ask_owners(
        const Communicator &ranks, const ConstrainedValues &here, const int n_c, bool good, std::vector<Value> &values)
    {
      struct Question
      {
        int node, component;
      };
      struct Term
      {
        int          question, component;
        int          rank; ///< below 0: the number is Value::known's
        std::int64_t number;
        double       weight;
      };
      for (int step = 0; step < most_steps; ++step)
      {
        std::map<Foreign, Value>             answers;
        std::map<int, std::vector<Question>> questions;
        for (const Value &value : values)
          for (const auto &[unknown, weight] : value.open)
            answers[unknown];
        std::map<int, std::vector<Value *>> answer_to;
        for (auto &[unknown, answer] : answers)
        {
          questions[unknown.first.rank].push_back({unknown.first.index, unknown.second});
          answer_to[unknown.first.rank].push_back(&answer);
        }
        std::int64_t counts[2] = {static_cast<std::int64_t>(answers.size()), !good};
        ranks.sum(counts, 2);
        if (counts[0] == 0 || counts[1] > 0)
          return counts[1] == 0;

        std::map<int, std::vector<Term>> terms;
        for (const auto &[rank, list] : ranks.exchange(questions))
          for (std::size_t q = 0; q < list.size(); ++q)
          {
            Value     value;
            const int question = static_cast<int>(q);
            good               = here.add(list[q].node * n_c + list[q].component, 1., value) && good;
            for (const auto &[number, weight] : value.known)
              terms[rank].push_back({question, 0, -1, number, weight});
            for (const auto &[unknown, weight] : value.open)
              terms[rank].push_back({question, unknown.second, unknown.first.rank, unknown.first.index, weight});
          }
        for (const auto &[rank, list] : ranks.exchange(terms))
          for (const Term &term : list)
          {
            Value &answer = *answer_to.at(rank)[term.question];
            if (term.rank < 0)
              answer.known[term.number] += term.weight;
            else
              answer.open[{{term.rank, static_cast<int>(term.number)}, term.component}] += term.weight;
          }
        for (Value &value : values)
          for (const auto &[unknown, factor] : std::exchange(value.open, {}))
          {
            for (const auto &[number, weight] : answers[unknown].known)
              value.known[number] += factor * weight;
            for (const auto &[other, weight] : answers[unknown].open)
              value.open[other] += factor * weight;
          }
      }
      return false;
    }
  } // namespace

  std::optional<KeptLines> lines_of_kept(const ElementTables  &tables,
                                         const ElementBatches &batches,
                                         std::vector<int>     &vertex_of_node,
                                         CoarseNumbers        *numbers)
  {
    const int               n_c = tables.n_components;
    const ConstrainedValues constrained(tables, batches, vertex_of_node, numbers);
    std::vector<int>        nodes;  // of the tables
    std::vector<Value>      values; // [k * n_c + component]
    bool                    good = true;
    for (const int unknown : tables.constraints.constrained)
    {
      const int node = unknown / n_c;
      if ((!nodes.empty() && node == nodes.back()) || constrained.vertex(node) == no_vertex)
        continue;
      nodes.push_back(node);
      for (int a = 0; a < n_c; ++a)
        good = constrained.add(node * n_c + a, 1., values.emplace_back()) && good;
    }
    if (numbers != nullptr)
      good = ask_owners(batches.partitioner()->communicator(), constrained, n_c, good, values);
    if (!good)
      return {};
    if (numbers != nullptr)
    {
      std::vector<std::int64_t> met;
      for (const Value &value : values)
        for (const auto &[number, weight] : value.known)
          met.push_back(number / n_c);
      const std::vector<int> new_numbers = numbers->add(std::move(met));
      for (int &vertex : vertex_of_node)
        vertex = vertex < numbers->n_own() ? vertex : new_numbers[vertex - numbers->n_own()];
    }

    KeptLines result;
    for (std::size_t k = 0; k < nodes.size(); ++k)
    {
      std::map<int, std::vector<double>> blocks; // [master][component][its component]
      for (int a = 0; a < n_c; ++a)
        for (const auto &[number, weight] : values[k * n_c + a].known)
        {
          const int vertex = numbers != nullptr ? numbers->local(number / n_c) : static_cast<int>(number / n_c);
          std::vector<double> &block = blocks[vertex];
          block.resize(std::size_t(n_c) * n_c);
          block[a * n_c + number % n_c] += weight;
        }
      result.nodes.push_back(batches.new_of_old()[nodes[k]]);
      for (const auto &[master, block] : blocks)
      {
        result.masters.push_back(master);
        result.weights.insert(result.weights.end(), block.begin(), block.end());
      }
      result.offsets.push_back(static_cast<int>(result.masters.size()));
    }
    return result;
  }
} // namespace PatchFEM
