// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "lac/graph/graph_tools.h"
#include <patchfem/lac/graph/adjacency.h>
#include <patchfem/lac/graph/aggregate_lists.h>

#include <omp.h>

#include <algorithm>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

/** Graphs as plain lists of neighbours, ascending, and what tests ask of them in slow, plain loops. */
namespace cases
{
  using Lists = std::vector<std::vector<int>>;

  inline void connect(Lists &graph, const int i, const int j)
  {
    for (const auto &edge : {std::make_pair(i, j), std::make_pair(j, i)})
    {
      std::vector<int> &row = graph[edge.first];
      const auto        at  = std::lower_bound(row.begin(), row.end(), edge.second);
      if (at == row.end() || *at != edge.second)
        row.insert(at, edge.second);
    }
  }

  /**
   * Nodes of a grid with neighbours at most one step away in each direction, of which at most @p most_steps are not 0:
   * 1 for 5 and 7 points, 3 for 9 and 27.
   */
  inline Lists grid(const int nx, const int ny, const int nz, const int most_steps)
  {
    Lists graph(std::size_t(nx) * ny * nz);
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x)
          for (int c = std::max(z - 1, 0); c <= std::min(z + 1, nz - 1); ++c)
            for (int b = std::max(y - 1, 0); b <= std::min(y + 1, ny - 1); ++b)
              for (int a = std::max(x - 1, 0); a <= std::min(x + 1, nx - 1); ++a)
              {
                const int steps = (a != x) + (b != y) + (c != z);
                if (steps > 0 && steps <= most_steps)
                  graph[(z * ny + y) * nx + x].push_back((c * ny + b) * nx + a);
              }
    return graph;
  }

  inline Lists path(const int n)
  {
    return grid(n, 1, 1, 1);
  }

  /** Every two of n nodes are neighbours. */
  inline Lists complete(const int n)
  {
    Lists graph(n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        if (i != j)
          graph[i].push_back(j);
    return graph;
  }

  /** The nodes of both, those of @p b after those of @p a. */
  inline Lists beside(Lists a, const Lists &b)
  {
    const int n = static_cast<int>(a.size());
    for (const std::vector<int> &row : b)
    {
      a.emplace_back(row);
      for (int &j : a.back())
        j += n;
    }
    return a;
  }

  inline Lists random_graph(const int n, const int n_edges, const unsigned int seed)
  {
    std::mt19937 engine(seed);
    Lists        graph(n);
    for (int e = 0; e < n_edges; ++e)
    {
      const int i = engine() % n, j = engine() % n;
      if (i != j)
        connect(graph, i, j);
    }
    return graph;
  }

  /** The same graph with the nodes in random order. */
  inline Lists shuffled(const Lists &graph, const unsigned int seed)
  {
    std::vector<int> number(graph.size());
    for (std::size_t i = 0; i < number.size(); ++i)
      number[i] = static_cast<int>(i);
    std::shuffle(number.begin(), number.end(), std::mt19937(seed));
    Lists result(graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i)
    {
      for (const int j : graph[i])
        result[number[i]].push_back(number[j]);
      std::sort(result[number[i]].begin(), result[number[i]].end());
    }
    return result;
  }

  /** Graphs with names: tiny, past warps and slices, disconnected, with isolated nodes, with irregular degrees. */
  inline std::vector<std::pair<std::string, Lists>> graphs()
  {
    Lists star(64);
    for (int i = 1; i < 64; ++i)
      connect(star, 0, i);
    return {{"one node", Lists(1)},
            {"two nodes", path(2)},
            {"path of 3", path(3)},
            {"path of 100", path(100)},
            {"square grid, 5 points", grid(33, 21, 1, 1)},
            {"square grid, 9 points", shuffled(grid(40, 37, 1, 3), 1)},
            {"cube, 27 points", grid(20, 20, 20, 3)},
            {"cube, 7 points, shuffled", shuffled(grid(13, 11, 12, 1), 2)},
            {"isolated nodes only", Lists(70)},
            {"star", star},
            {"clique", complete(50)},
            {"parts and isolated nodes",
             shuffled(beside(beside(grid(9, 9, 9, 3), Lists(37)), beside(path(5), complete(12))), 3)},
            {"sparse random", random_graph(3000, 4000, 4)},
            {"dense random", random_graph(700, 20000, 5)}};
  }

  inline PatchFEM::Adjacency to_adjacency(const PatchFEM::Backend &backend, const Lists &graph)
  {
    std::vector<std::int64_t> offsets(1, 0);
    std::vector<int>          neighbours;
    for (const std::vector<int> &row : graph)
    {
      neighbours.insert(neighbours.end(), row.begin(), row.end());
      offsets.push_back(neighbours.size());
    }
    PatchFEM::Adjacency result;
    result.reinit(PatchFEM::Array<std::int64_t>(backend, offsets), PatchFEM::Array<int>(backend, neighbours));
    return result;
  }

  /** What nodes count in the sizes of aggregates (graph_tools::line_weights()). */
  inline PatchFEM::Array<std::int64_t> line_weights(const PatchFEM::Adjacency     &all,
                                                    const PatchFEM::Adjacency     &shorts,
                                                    const int                      dim,
                                                    const PatchFEM::Array<double> &points,
                                                    const int                      least,
                                                    const int                      most,
                                                    const double                   share)
  {
    PatchFEM::Array<std::int64_t> weights = PatchFEM::dispatch(all.backend(), [&](auto where) {
      return PatchFEM::graph_tools::line_weights(where, all, shorts, {points.data(), dim, dim}, {least, most, share});
    });
    all.backend().synchronize();
    return weights;
  }

  /** Points with the metrics of @p A (graph_tools::with_metric()). */
  inline PatchFEM::Array<double> with_metric(const PatchFEM::SlicedEllpackMatrix<double> &A,
                                             const int                                    dim,
                                             const PatchFEM::Array<double>               &points,
                                             std::int64_t                                &n_anisotropic)
  {
    return PatchFEM::dispatch(A.backend(), [&](auto where) {
      return PatchFEM::graph_tools::with_metric(where, A, {points.data(), dim, dim}, n_anisotropic);
    });
  }

  /** Whether a look at some rows of @p A finds jumps of the coefficient. */
  inline bool may_jump(const PatchFEM::SlicedEllpackMatrix<double> &A,
                       const PatchFEM::Adjacency                   &graph,
                       const int                                    dim,
                       const PatchFEM::Array<double>               &points)
  {
    return PatchFEM::dispatch(A.backend(), [&](auto where) {
      return PatchFEM::graph_tools::may_jump(
          PatchFEM::graph_tools::rows_at_jumps(where, A, graph, {points.data(), dim, dim}));
    });
  }

  inline Lists to_lists(const PatchFEM::Adjacency &graph)
  {
    const std::vector<std::int64_t> offsets    = graph.offsets().to_vector();
    const std::vector<int>          neighbours = graph.neighbours().to_vector();
    Lists                           result;
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
      result.emplace_back(neighbours.begin() + offsets[i], neighbours.begin() + offsets[i + 1]);
    return result;
  }

  /** Edges on the shortest path from @p start to each node; -1 where there are more than @p most or no path. */
  inline std::vector<int> distances(const Lists &graph, const int start, const int most)
  {
    std::vector<int> distance(graph.size(), -1);
    std::queue<int>  queue;
    distance[start] = 0;
    queue.push(start);
    while (!queue.empty())
    {
      const int i = queue.front();
      queue.pop();
      if (distance[i] < most)
        for (const int j : graph[i])
          if (distance[j] < 0)
          {
            distance[j] = distance[i] + 1;
            queue.push(j);
          }
    }
    return distance;
  }

  /** Sets the number of OpenMP threads for the length of a scope. */
  class Threads
  {
  public:
    explicit Threads(const int n) : before(omp_get_max_threads()) { omp_set_num_threads(n); }
    ~Threads() { omp_set_num_threads(before); }
    Threads(const Threads &)            = delete;
    Threads &operator=(const Threads &) = delete;

  private:
    int before;
  };
} // namespace cases
