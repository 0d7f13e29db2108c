// SPDX-License-Identifier: LGPL-2.1-or-later
#include "strategy_shared_nz.h"

#include "base/metis_graph.h"
#include "lpt_packing.h"

#include <climits>
#include <cmath>
#include <numeric>

namespace PatchFEM
{
  namespace
  {
    using Rows = std::vector<int>;

    constexpr double parts_of_stretch = 64.;

    /** The computed cells at @p rows, ascending. */
    std::vector<int> cells_of(const SharedNZMesh &mesh, const Rows &rows)
    {
      std::vector<int> cells;
      for (const int row : rows)
        mesh.visit(row, [&](const int cell, int) { cells.push_back(cell); });
      std::sort(cells.begin(), cells.end());
      cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
      return cells;
    }

    /** Rows with cells, and how the graph of their blocks is cut. */
    struct Partition
    {
      const SharedNZMesh &mesh;
      const Rows         &rows;
      std::vector<int>    here; ///< [row], its number in the part that is divided, -1 elsewhere

      Partition(const SharedNZMesh &mesh, const Rows &rows) : mesh(mesh), rows(rows), here(mesh.n_rows, -1) {}

      MetisGraph graph_of(const Rows &part)
      {
        MetisGraph result;
        for (std::size_t k = 0; k < part.size(); ++k)
          here[part[k]] = static_cast<int>(k);
        for (const int row : part)
        {
          for (std::int64_t e = mesh.row_offsets[row]; e < mesh.row_offsets[row + 1]; ++e)
            if (here[mesh.columns[e]] >= 0 && mesh.columns[e] != row)
              result.neighbours.push_back(here[mesh.columns[e]]);
          require(result.neighbours.size() <= INT_MAX,
                  "METIS partitions graphs with at most 2^31 edges; use another strategy of assembly.");
          result.offsets.push_back(static_cast<idx_t>(result.neighbours.size()));
        }
        for (const int row : part)
          here[row] = -1;
        return result;
      }

      int n_cells_of(const Rows &part) const { return static_cast<int>(cells_of(mesh, part).size()); }

      /**
       * METIS sees a stretch of the space-filling curve at a time, which is faster, and cuts it into more and more parts
       * until at most a tenth of them has too many cells; these are cut in two. The next stretch begins with as many parts
       * to a row.
       */
      std::vector<Rows> parts()
      {
        const double n = static_cast<double>(rows.size()), most = mesh.most_cells,
                     n_cells = static_cast<double>(std::count(mesh.buffered.begin(), mesh.buffered.end(), 0));
        // At first as for cubes of nodes that have one more layer of cells than of nodes, n_cells / n to a node.
        const double inner       = 1. - std::pow(std::min(n_cells / n / most, 0.25), 1. / mesh.dim);
        const double fewest      = mesh.rows_per_part > 0 ? n / mesh.rows_per_part : 1.;
        double       n_parts     = std::min(n, std::ceil(std::max(fewest, n_cells / most / std::pow(inner, mesh.dim))));
        const auto   n_stretches = static_cast<std::size_t>(std::ceil(n_parts / parts_of_stretch));
        std::vector<Rows> result, large;
        for (std::size_t s = 0; s < n_stretches; ++s)
        {
          const Rows   stretch(rows.begin() + std::ptrdiff_t(rows.size() * s / n_stretches),
                               rows.begin() + std::ptrdiff_t(rows.size() * (s + 1) / n_stretches));
          const double share = double(stretch.size()) / n;
          MetisGraph   graph = graph_of(stretch);
          for (bool fits = false; !fits;)
          {
            const double      n_here = std::min(double(stretch.size()), std::ceil(n_parts * share));
            std::vector<Rows> parts  = graph.divide(stretch, static_cast<idx_t>(n_here));
            std::vector<int>  sizes(parts.size());
            parallel_for(sizes.size(), [&](const std::int64_t p) { sizes[p] = n_cells_of(parts[p]); });
            const auto too_large =
                std::count_if(sizes.begin(), sizes.end(), [&](const int size) { return size > most; });
            fits = n_here == double(stretch.size()) || 10. * too_large <= double(sizes.size());
            for (std::size_t p = 0; fits && p < parts.size(); ++p)
              (sizes[p] > most ? large : result).push_back(std::move(parts[p]));
            // Where most parts fit they have 0.85 of the cells on average.
            const double filled = std::accumulate(sizes.begin(), sizes.end(), 0.) / double(sizes.size()) / most;
            if (!fits)
              n_parts = n_here / share * std::max(1.1, filled / 0.85);
            else if (filled < 0.75)
              n_parts = std::max(fewest, n_here / share * filled / 0.85);
          }
        }
        while (!large.empty())
        {
          const Rows whole = std::move(large.back());
          large.pop_back();
          std::vector<Rows> halves = graph_of(whole).divide(whole, 2);
          if (halves.size() < 2)
          {
            const auto middle = whole.begin() + std::ptrdiff_t(whole.size() / 2);
            halves            = {Rows(whole.begin(), middle), Rows(middle, whole.end())};
          }
          for (Rows &half : halves)
            (n_cells_of(half) > most ? large : result).push_back(std::move(half));
        }
        return result;
      }
    };

    /** The lists of one part. */
    struct ListsOfPart
    {
      std::vector<int> cells;
      ListsInColumns   scatter, reduction;

      ListsOfPart(const SharedNZMesh &mesh, const Rows &rows, const int place_bits) : cells(cells_of(mesh, rows))
      {
        const SharedNZCell              &cell = mesh.cell;
        const int                        n = static_cast<int>(cells.size()), n_geometry = cell.n_nodal / mesh.dim;
        std::vector<std::pair<int, int>> needs; // a point, and where it goes
        for (int c = 0; c < n; ++c)
          for (int g = 0; g < n_geometry; ++g)
            needs.emplace_back(mesh.geometry[std::size_t(cells[c]) * n_geometry + g], g * mesh.dim * n + c);
        std::sort(needs.begin(), needs.end());
        ListsInARow points, targets;
        for (std::size_t k = 0; k < needs.size(); ++k)
        {
          if (k == 0 || needs[k].first != needs[k - 1].first)
            points.entries.push_back(needs[k].first + 1);
          points.entries.push_back(-needs[k].second - 1);
          if (k + 1 == needs.size() || needs[k + 1].first != needs[k].first)
            points.end_list();
        }
        scatter = points.in_columns();

        const SparsityView sparsity{mesh.n_rows, mesh.n_rows, mesh.row_offsets.data(), mesh.columns.data()};
        const auto         target = [place_bits](const std::int64_t r, const int in_row, const bool mirrored) {
          return -((static_cast<int>(r) << place_bits | in_row) << 1 | int(mirrored)) - 1;
        };
        for (std::size_t r = 0; r < rows.size(); ++r)
        {
          const int row = rows[r], length = static_cast<int>(mesh.row_offsets[row + 1] - mesh.row_offsets[row]);
          std::vector<std::vector<int>> sources(length + 1); // of blocks, then of the load
          mesh.visit(row, [&](const int k, const int i) {
            const int c = static_cast<int>(std::lower_bound(cells.begin(), cells.end(), k) - cells.begin());
            for (int j = 0; j < cell.n_shape; ++j)
              sources[place_of(sparsity, row, mesh.nodes[std::size_t(k) * cell.n_shape + j])].push_back(
                  cell.source(i, j, c, n));
            sources[length].push_back(cell.source_of_load(i, c, n));
          });
          for (int place = 0; place <= length; ++place)
          {
            int mirrored = 0;
            if (mesh.mirrors && place < length)
            {
              const int  column = mesh.columns[mesh.row_offsets[row] + place];
              const auto other  = std::lower_bound(rows.begin(), rows.end(), column);
              const bool paired = column != row && other != rows.end() && *other == column;
              if (paired && column < row)
                continue; // it is in that row's list
              if (paired)
                mirrored = target(other - rows.begin(), place_of(sparsity, column, row), true);
            }
            for (const int source : sources[place])
              targets.entries.push_back(source + 1);
            if (mirrored != 0)
              targets.entries.push_back(mirrored);
            targets.entries.push_back(target(r, place < length ? place : (1 << place_bits) - 1, false));
            targets.end_list();
          }
        }
        reduction = targets.in_columns();
      }
    };
  } // namespace

  SharedNZLists make_shared_nz_lists(const SharedNZMesh &mesh)
  {
    constexpr int without_cells = 256; // rows of a part
    Rows          active, idle;
    for (int row = 0; row < mesh.n_rows; ++row)
    {
      bool any = false;
      mesh.visit(row, [&](int, int) { any = true; });
      (any ? active : idle).push_back(row);
    }
    std::vector<Rows> parts;
    if (!active.empty())
      parts = Partition(mesh, active).parts();
    for (std::size_t k = 0; k < idle.size(); k += without_cells)
      parts.emplace_back(idle.begin() + std::ptrdiff_t(k),
                         idle.begin() + std::ptrdiff_t(std::min(idle.size(), k + without_cells)));
    std::sort(parts.begin(), parts.end()); // by their first rows, so that neighbours in time are neighbours in space

    SharedNZLists result;
    std::size_t   most_rows = 0;
    std::int64_t  longest   = 0;
    for (const Rows &part : parts)
      most_rows = std::max(most_rows, part.size());
    for (int row = 0; row < mesh.n_rows; ++row)
      longest = std::max(longest, mesh.row_offsets[row + 1] - mesh.row_offsets[row]);
    result.place_bits = bits_for(longest + 1);
    require(most_rows << (result.place_bits + 1) <= INT_MAX,
            "The rows of the matrix are too long for 32 bits of a reduction array; use another strategy of assembly.");
    std::vector<std::unique_ptr<ListsOfPart>> lists(parts.size());
    for_pieces(parts.size(), 4, [&](const auto &next) {
      next([&](const std::int64_t p) { lists[p] = std::make_unique<ListsOfPart>(mesh, parts[p], result.place_bits); });
    });
    for (std::size_t p = 0; p < parts.size(); ++p)
    {
      const auto append = [](std::vector<int> &to, const std::vector<int> &from) {
        to.insert(to.end(), from.begin(), from.end());
        return static_cast<std::int64_t>(to.size());
      };
      const ListsOfPart &list               = *lists[p];
      result.most_cells                     = std::max(result.most_cells, static_cast<int>(list.cells.size()));
      result.parts.back().scatter_columns   = list.scatter.n_columns;
      result.parts.back().reduction_columns = list.reduction.n_columns;
      result.parts.push_back({append(result.rows, parts[p]), append(result.cells, list.cells),
                              append(result.scatter, list.scatter.entries),
                              append(result.reduction, list.reduction.entries), 0, 0});
      lists[p].reset();
    }
    return result;
  }

  StrategyRow strategies::SharedNZ::row()
  {
    return {"shared_nz",
            "nodes are cut into parts for which the matrices of all their cells fit into fast memory, where they are "
            "summed",
            false,
            Staging::none,
            make_plan_of<SharedNZ>,
            [](const StructureEstimate &estimate, const Patches::AdditionalData &) {
              // Entries of the two arrays, with a fifth of zeros, and the cells of parts, as often as they are in one.
              double entries = double(estimate.cells.n_blocks + estimate.cells.n_pairs + estimate.pattern.n_blocks);
              double halo    = 0.;
              for (const CellTable &batch : estimate.tables.batches)
              {
                const ReferenceElement &r = batch.reference;
                const double            n = std::min(2.5 * r.degree * r.degree, double(r.n_shape)) * batch.n_cells;
                halo += n;
                entries += 1.5 * n * r.n_geometry;
              }
              return 4. * (1.2 * entries + halo + 3. * estimate.n_rows_of_plans());
            }};
  }
} // namespace PatchFEM
