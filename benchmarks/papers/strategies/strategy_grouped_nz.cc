// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_grouped_nz.h"

#include "base/metis_graph.h"

namespace PatchFEM
{
  namespace
  {
    using Cells = std::vector<int>;

    /** Cells and their points. */
    struct Groups
    {
      const std::vector<int> &geometry;
      int                     n_geometry, dim;

      /** The points of @p cells, ascending. */
      std::vector<int> points_of(const Cells &cells) const
      {
        std::vector<int> points;
        for (const int cell : cells)
          points.insert(points.end(), geometry.begin() + std::ptrdiff_t(cell) * n_geometry,
                        geometry.begin() + std::ptrdiff_t(cell + 1) * n_geometry);
        std::sort(points.begin(), points.end());
        points.erase(std::unique(points.begin(), points.end()), points.end());
        return points;
      }

      /** Neighbours share a side. */
      MetisGraph graph_of(const Cells &cells) const
      {
        const std::vector<int> points = points_of(cells);
        std::vector<idx_t>     offsets{0}, nodes;
        for (const int cell : cells)
        {
          for (int g = 0; g < n_geometry; ++g)
            nodes.push_back(static_cast<idx_t>(
                std::lower_bound(points.begin(), points.end(), geometry[std::size_t(cell) * n_geometry + g]) -
                points.begin()));
          offsets.push_back(static_cast<idx_t>(nodes.size()));
        }
        idx_t n_cells = static_cast<idx_t>(cells.size()), n_points = static_cast<idx_t>(points.size()), base = 0,
              of_side = n_geometry == dim + 1 ? dim : 1 << (dim - 1), *starts = nullptr, *neighbours = nullptr;
        require(METIS_MeshToDual(&n_cells, &n_points, offsets.data(), nodes.data(), &of_side, &base, &starts,
                                 &neighbours) == METIS_OK,
                "METIS could not find the neighbours of the cells of the mesh; use another strategy of assembly.");
        MetisGraph result{{starts, starts + n_cells + 1}, {neighbours, neighbours + starts[n_cells]}, {}};
        METIS_Free(starts);
        METIS_Free(neighbours);
        return result;
      }
    };
  } // namespace

  ElementGroupLists make_element_groups(const std::vector<int> &cells,
                                        const std::vector<int> &geometry,
                                        const int               n_geometry,
                                        const int               dim,
                                        const int               most_points)
  {
    using kernels::ElementGroups;
    // METIS takes a stretch of the space-filling curve at a time: its work on a whole large mesh would be far more.
    constexpr std::size_t stretch = 64 * ElementGroups::most_cells;
    const Groups          groups{geometry, n_geometry, dim};
    const int             n_words = ElementGroups::n_words(n_geometry);
    ElementGroupLists     result;
    require(most_points >= n_geometry, "The points of a cell do not fit into fast memory.");
    for (std::size_t begin = 0; begin < cells.size(); begin += stretch)
    {
      const Cells        whole(cells.begin() + std::ptrdiff_t(begin),
                               cells.begin() + std::ptrdiff_t(std::min(cells.size(), begin + stretch)));
      const double       points_of_group = 0.8 * most_points; // most groups then fit
      const double       n_parts         = std::max(double(whole.size()) / ElementGroups::most_cells,
                                                    double(groups.points_of(whole).size()) / points_of_group);
      std::vector<Cells> parts           = groups.graph_of(whole).divide(whole, std::max(1, static_cast<int>(n_parts)));
      for (std::size_t p = 0; p < parts.size(); ++p)
      {
        std::vector<int> points = groups.points_of(parts[p]);
        while (points.size() > std::size_t(most_points))
        {
          const auto middle = parts[p].begin() + std::ptrdiff_t(parts[p].size() / 2);
          parts.emplace_back(middle, parts[p].end());
          parts[p].resize(parts[p].size() / 2);
          points = groups.points_of(parts[p]);
        }
        const std::size_t n = parts[p].size(), first_word = result.words.size();
        result.words.resize(first_word + n * n_words);
        for (std::size_t k = 0; k < n; ++k)
          for (int g = 0; g < n_geometry; ++g)
          {
            const auto place =
                std::lower_bound(points.begin(), points.end(), geometry[std::size_t(parts[p][k]) * n_geometry + g]) -
                points.begin();
            result.words[first_word + g / ElementGroups::a_word * n + k] |=
                static_cast<unsigned int>(place) << ElementGroups::place_bits * (g % ElementGroups::a_word);
          }
        result.most_points = std::max(result.most_points, static_cast<int>(points.size()));
        result.cells.insert(result.cells.end(), parts[p].begin(), parts[p].end());
        result.points.insert(result.points.end(), points.begin(), points.end());
        result.cell_offsets.push_back(static_cast<int>(result.cells.size()));
        result.point_offsets.push_back(static_cast<int>(result.points.size()));
      }
    }
    return result;
  }

  StrategyRow strategies::GroupedNZ::row()
  {
    return {"grouped_nz",
            "as global_nz, but groups of cells that METIS finds read the points that they share once",
            false,
            Staging::none,
            make_plan_of<GroupedNZ>,
            [](const StructureEstimate &estimate, const Patches::AdditionalData &data) {
              // The lists of sums, words of cells, with them three points for each, and matrices and loads of cells.
              const double n = estimate.tables.n_components;
              return GlobalNZ::row().bytes(estimate, data) + 16. * double(estimate.cells.n) +
                     8. * n * n * double(estimate.cells.n_blocks) + 8. * n * double(estimate.cells.n_pairs);
            }};
  }
} // namespace PatchFEM
