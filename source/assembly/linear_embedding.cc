// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/multigrid/ghost_rows.h"
#include "linear_embedding_steps.h"

#include <algorithm>
#include <optional>

namespace PatchFEM
{
  namespace
  {
    /// Cells whose longest edge is longer than this times the shortest keep their functions: without them Laplace of
    /// degree 2 and 3 in cells of 2, 3, 4 and 100 : 1 takes 9, 14, 19 and 408 steps.
    constexpr double most_stretched = 2.5;

    /// The next level has at most this share of the nodes, or it is not worth what it takes.
    constexpr double most_kept = 0.5;

    /** Collective: @p vertex_of_node of ghosts become what their owners have, as @p numbers, which then know them. */
    void know_vertices(const Partitioner &nodes, CoarseNumbers &numbers, std::vector<int> &vertex_of_node)
    {
      std::vector<std::int64_t> of_all(vertex_of_node.begin(), vertex_of_node.end());
      for (int i = 0; i < nodes.n_owned(); ++i)
        if (of_all[i] >= 0)
          of_all[i] = numbers.global(vertex_of_node[i]);
      nodes.update_ghosts(of_all.data());
      numbers.add({of_all.begin() + nodes.n_owned(), of_all.end()});
      for (int i = nodes.n_owned(); i < nodes.n_local(); ++i)
        vertex_of_node[i] = static_cast<int>(of_all[i] < 0 ? of_all[i] : numbers.local(of_all[i]));
    }

    /**
     * Collective: whether the owner of each vertex has the nodes whose values depend on it as ghosts, which it needs for
     * the transpose. It has those whose rows couple with the vertex's. Where cells that meet in a vertex differ by two
     * levels, a value may come from further away.
     */
    bool owners_know_rows(const Partitioner &nodes, const LinearEmbedding &P)
    {
      const std::vector<std::int64_t> offsets = P.pattern.offsets.to_vector();
      const std::vector<int>          columns = P.pattern.columns.to_vector();
      std::map<int, std::vector<int>> wanted; // [rank], rows
      for (int i = 0; i < P.pattern.n_rows; ++i)
        for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e)
          if (columns[e] >= P.n_vertices())
          {
            std::vector<int> &rows = wanted[P.partitioner->ghosts()[columns[e] - P.n_vertices()].rank];
            if (rows.empty() || rows.back() != i)
              rows.push_back(i);
          }
      std::int64_t missing = 0;
      for (const auto &[rank, rows] : wanted)
      {
        const auto &all = nodes.destinations();
        const auto  to =
            std::find_if(all.begin(), all.end(), [rank = rank](const auto &other) { return other.rank == rank; });
        missing += to == all.end() || !std::includes(to->indices.begin(), to->indices.end(), rows.begin(), rows.end());
      }
      return nodes.communicator().sum(missing) == 0;
    }
  } // namespace

  std::shared_ptr<const LinearEmbedding> Space::linear_embedding() const
  {
    const ElementBatches    &all    = batches();
    const Partitioner *const nodes  = all.partitioner().get();
    int                      degree = 0;
    for (int b = 0; b < all.n_batches(); ++b)
    {
      if (all.reference(b).vertex_shapes.empty())
        return nullptr;
      degree = std::max(degree, all.reference(b).degree);
    }
    if (degree <= 1 || !get().is_constrained)
      return nullptr;
    const Array<int> &constrained = constraints().constrained_unknowns();
    auto              result      = std::make_shared<LinearEmbedding>();
    Array<int>        vertices    = dispatch(
                  backend(), [&](auto where) { return number_vertices(where, all, constrained, most_stretched, *result); });
    std::vector<int> vertex_of_node = vertices.to_vector();
    result->degree                  = degree;

    const auto   last     = vertex_of_node.begin() + all.n_rows();
    std::int64_t sizes[2] = {all.n_rows() - std::count(vertex_of_node.begin(), last, no_vertex), all.n_rows()};
    if (nodes != nullptr)
      nodes->communicator().sum(sizes, 2);
    if (static_cast<double>(sizes[0]) > most_kept * static_cast<double>(sizes[1]))
      return nullptr;

    std::optional<CoarseNumbers> numbers;
    if (nodes != nullptr)
      know_vertices(*nodes, numbers.emplace(nodes->communicator(), result->n_vertices()), vertex_of_node);
    const auto lines = lines_of_kept(tables_of_batches(), all, vertex_of_node, numbers ? &*numbers : nullptr);
    if (!lines)
      return nullptr;
    if (numbers)
    {
      std::vector<Partitioner::Ghost> ghosts;
      for (int vertex = numbers->n_own(); vertex < numbers->n(); ++vertex)
        ghosts.push_back(numbers->ghost(vertex));
      result->partitioner =
          std::make_shared<const Partitioner>(nodes->shared_communicator(), numbers->n_own(), std::move(ghosts));
      vertices.copy_from(backend(), vertex_of_node);
    }
    const int n_columns = numbers ? numbers->n() : result->n_vertices();
    dispatch(backend(),
             [&](auto where) { embed_linear(where, all, constrained, vertices, *lines, n_columns, *result); });
    if (nodes != nullptr && !owners_know_rows(*nodes, *result))
      return nullptr;
    return result;
  }
} // namespace PatchFEM
