// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/launch.h"

#include "kernels/structure_bodies.h"
#include <patchfem/assembly/element_tables.h>
#include <patchfem/kernels/blas1.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace PatchFEM
{
  /** The line of each unknown of @p tables, or -1; on the host. */
  inline Array<int> lines_of_unknowns(const ElementTables &tables)
  {
    const Backend host;
    Array<int>    result(host, std::size_t(tables.n_nodes) * tables.n_components);
    kernels::set(Host(), result.size(), -1, result.data());
    kernels::invert(Host(), tables.constraints.n_lines(), tables.constraints.constrained.data(), result.data());
    return result;
  }

  /** Whether one of the nodes of a cell, from @p nodes on, has a line of its own. */
  inline bool is_constrained(const Array<int> &line_of, const int *nodes, const int n_shape, const int n_comp)
  {
    return std::any_of(nodes, nodes + n_shape, [&](const int node) {
      const int *lines = line_of.data() + std::int64_t(node) * n_comp;
      return std::any_of(lines, lines + n_comp, [](const int line) { return line >= 0; });
    });
  }

  /** What ConstrainedCellsView describes, for one cell after another without allocation. */
  class ResolvedCell
  {
  public:
    ResolvedCell(const ConstraintTable &lines, const Array<int> &line_of, const int n_comp, const bool keep_entries)
        : lines(lines), line_of(line_of), n_comp(n_comp), keep_entries(keep_entries)
    {}

    std::vector<int> nodes; ///< of the tables: @p n_free free ones, with the masters', then the others
    int              n_free, n_entries;

    void reinit(const int *own, const int n_shape)
    {
      nodes.clear();
      fixed.clear();
      masters.clear();
      own_lines.clear();
      places.clear();
      n_entries = 0;
      for (int i = 0; i < n_shape; ++i)
      {
        bool any_free = keep_entries;
        for (int c = 0; c < n_comp; ++c)
        {
          own_lines.push_back(line_of.data()[std::int64_t(own[i]) * n_comp + c]);
          any_free |= own_lines.back() < 0;
        }
        std::vector<int> &list = any_free ? nodes : fixed;
        places.push_back(any_free ? int(list.size()) : -1 - int(list.size()));
        list.push_back(own[i]);
      }
      std::size_t first = 0, end = 0; // masters of the line before, which mostly are of the same nodes
      for (const int line : own_lines)
      {
        n_entries += line < 0;
        if (line < 0 || lines.offsets[line] == lines.offsets[line + 1])
          continue;
        const std::size_t begin = masters.size();
        for (std::int64_t m = lines.offsets[line]; m < lines.offsets[line + 1]; ++m, ++first)
        {
          const int node  = lines.masters[m] / n_comp;
          int       place = first < end ? masters[first] : 0;
          if (nodes.empty() || nodes[place] != node)
            place = static_cast<int>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
          if (place == static_cast<int>(nodes.size()))
            nodes.push_back(node);
          masters.push_back(place);
        }
        first = begin;
        end   = masters.size();
        n_entries += static_cast<int>(end - begin);
      }
      n_free = static_cast<int>(nodes.size());
      for (int &place : places)
        if (place < 0)
          place = n_free - 1 - place;
      nodes.insert(nodes.end(), fixed.begin(), fixed.end());
    }

    /** Writes the columns, of which the first one's entries start at @p first_entry. */
    void write_columns(const std::int64_t first_entry,
                       std::int64_t      *column_offsets,
                       int               *column_local,
                       double            *column_weight,
                       int               *diagonal_local)
    {
      const int n_resolved = static_cast<int>(nodes.size()) * n_comp;
      counts.assign(n_resolved, 0);
      for_entries([&](const int column, int, double) { ++counts[column]; });
      std::int64_t entry = first_entry;
      for (int r = 0; r < n_resolved; ++r)
      {
        column_offsets[r] = entry;
        entry += counts[r];
        counts[r] = 0;
      }
      for_entries([&](const int column, const int local, const double weight) {
        const std::int64_t place = column_offsets[column] + counts[column]++;
        column_local[place]      = local;
        column_weight[place]     = weight;
      });
      std::fill_n(diagonal_local, n_resolved, -1);
      for (int i = 0; i < static_cast<int>(own_lines.size()); ++i)
        if (own_lines[i] >= 0)
          diagonal_local[places[i / n_comp] * n_comp + i % n_comp] = i;
    }

  private:
    const ConstraintTable &lines;
    const Array<int>      &line_of;
    const int              n_comp;
    const bool             keep_entries;

    std::vector<int> fixed, counts;
    std::vector<int> own_lines; ///< [local unknown], or -1
    std::vector<int> places;    ///< [own node] in nodes
    std::vector<int> masters;   ///< places of the nodes of all lines' masters, one line after another

    /** Calls @p function(column, local unknown, weight) for the entries of C, row by row. */
    template <typename Function>
    void for_entries(const Function &function) const
    {
      const int *master = masters.data();
      for (int i = 0; i < static_cast<int>(own_lines.size()); ++i)
        if (own_lines[i] < 0)
          function(places[i / n_comp] * n_comp + i % n_comp, i, 1.);
        else
          for (std::int64_t m = lines.offsets[own_lines[i]]; m < lines.offsets[own_lines[i] + 1]; ++m)
            function(*master++ * n_comp + lines.masters[m] % n_comp, i, lines.weights[m]);
    }
  };
} // namespace PatchFEM
