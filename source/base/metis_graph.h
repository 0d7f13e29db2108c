// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/exceptions.h>

#include <metis.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace PatchFEM
{
  /** The neighbours of each node, in METIS's numbers, and how dear it is to part from them; no weights: all alike. */
  struct MetisGraph
  {
    std::vector<idx_t> offsets{0}, neighbours, weights;

    /**
     * The part of each node, of @p n_parts nearly equal ones with few edges between them. With few nodes to a part
     * recursive bisection has less unequal ones than METIS_PartGraphKway, so that fewer parts do, and sooner; many parts
     * of many nodes that finds in less time.
     */
    std::vector<idx_t> partition(idx_t n_parts, const bool recursive = true)
    {
      idx_t              n = static_cast<idx_t>(offsets.size()) - 1, one = 1, n_cut = 0;
      std::vector<idx_t> result(n);
      if (n_parts == 1 || n_parts >= n || neighbours.empty()) // nothing to choose, which METIS does not expect
      {
        for (std::int64_t k = 0; k < n; ++k)
          result[k] = static_cast<idx_t>(k * n_parts / n);
        return result;
      }
      const auto divide = recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway;
      require(divide(&n, &one, offsets.data(), neighbours.data(), nullptr, nullptr,
                     weights.empty() ? nullptr : weights.data(), &n_parts, nullptr, nullptr, nullptr, &n_cut,
                     result.data()) == METIS_OK,
              "METIS could not partition the mesh.");
      return result;
    }

    /** The numbers @p of_nodes by the parts of their nodes, at most @p n_parts. */
    std::vector<std::vector<int>> divide(const std::vector<int> &of_nodes, const idx_t n_parts)
    {
      std::vector<std::vector<int>> result(n_parts);
      const std::vector<idx_t>      part = partition(n_parts);
      for (std::size_t k = 0; k < of_nodes.size(); ++k)
        result[part[k]].push_back(of_nodes[k]);
      result.erase(std::remove_if(result.begin(), result.end(), [](const auto &p) { return p.empty(); }), result.end());
      return result;
    }
  };
} // namespace PatchFEM
