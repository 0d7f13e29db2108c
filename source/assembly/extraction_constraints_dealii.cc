// SPDX-License-Identifier: LGPL-2.1-or-later
#include "extraction_internal_dealii.h"

#include <patchfem/base/exceptions.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace PatchFEM::internal
{
  namespace
  {
    using Line = dealii::AffineConstraints<double>::ConstraintLine;

    void check_line(const Line &line, const dealii::AffineConstraints<double> &constraints, const unsigned int n_dofs)
    {
      const auto check_index = [&](const dealii::types::global_dof_index index) {
        if (index >= n_dofs)
          throw Error("The constraints speak of degree of freedom " + std::to_string(index) +
                      ", but the DoFHandler has " + std::to_string(n_dofs) +
                      ": build the constraints after the last distribute_dofs() of this DoFHandler.");
      };
      check_index(line.index);
      if (!std::isfinite(line.inhomogeneity))
        throw Error("The value prescribed for degree of freedom " + std::to_string(line.index) +
                    " is not finite: check the function that gives it.");
      for (const auto &entry : line.entries)
      {
        check_index(entry.first);
        if (!std::isfinite(entry.second))
          throw Error("The constraint of degree of freedom " + std::to_string(line.index) + " has the weight of " +
                      std::to_string(entry.first) + " not finite: check how it was computed.");
        if (constraints.is_constrained(entry.first))
          throw Error("Degree of freedom " + std::to_string(line.index) + " is constrained to " +
                      std::to_string(entry.first) +
                      ", which is constrained itself: call AffineConstraints::close() after adding the last line.");
      }
    }
  } // namespace

  ConstraintTable make_constraint_table(const dealii::AffineConstraints<double> &constraints,
                                        const std::atomic<int>                  *unknown_of_dof,
                                        const unsigned int                       n_dofs)
  {
    const auto        lines    = constraints.get_lines();
    const std::size_t n_lines  = lines.size();
    const int         n_shares = omp_get_max_threads();

    const auto unknown = [unknown_of_dof](const dealii::types::global_dof_index dof) {
      return unknown_of_dof == nullptr ? static_cast<int>(dof) : unknown_of_dof[dof].load(std::memory_order_relaxed);
    };

    ConstraintTable table;
    table.offsets.assign(1, 0);
    if (n_lines == 0)
      return table;

    // Lines come in the order of deal.II's indices; scattered to their unknowns they are read back in ours.
    const auto line_of_unknown = uninitialized_buffer<int>(n_dofs);
    for_shares(n_dofs, [&](const std::int64_t begin, const std::int64_t end) {
      std::fill(line_of_unknown.get() + begin, line_of_unknown.get() + end, -1);
    });
    for_shares(n_lines, [&](const std::int64_t begin, const std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
      {
        check_line(lines[i], constraints, n_dofs);
        line_of_unknown[unknown(lines[i].index)] = static_cast<int>(i);
      }
    });

    // Two sweeps over the unknowns: count lines and entries of each share, then write them in place.
    std::vector<std::size_t> first_line(n_shares + 1, 0), first_entry(n_shares + 1, 0);
    for_each_share(n_dofs, n_shares, [&](const std::size_t begin, const std::size_t end, const int share) {
      std::size_t n = 0, n_entries = 0;
      for (std::size_t i = begin; i < end; ++i)
        if (line_of_unknown[i] >= 0)
        {
          ++n;
          n_entries += lines[line_of_unknown[i]].entries.size();
        }
      first_line[share + 1]  = n;
      first_entry[share + 1] = n_entries;
    });
    for (int share = 0; share < n_shares; ++share)
    {
      first_line[share + 1] += first_line[share];
      first_entry[share + 1] += first_entry[share];
    }
    ParallelResizer resizer;
    table.offsets.clear();
    resizer.add(table.constrained, n_lines);
    resizer.add(table.offsets, n_lines + 1);
    resizer.add(table.inhomogeneity, n_lines);
    resizer.add(table.masters, first_entry[n_shares]);
    resizer.add(table.weights, first_entry[n_shares]);
    resizer.run();
    for_each_share(n_dofs, n_shares, [&](const std::size_t begin, const std::size_t end, const int share) {
      std::size_t n = first_line[share], n_entries = first_entry[share];
      for (std::size_t i = begin; i < end; ++i)
        if (line_of_unknown[i] >= 0)
        {
          const Line &line       = lines[line_of_unknown[i]];
          table.constrained[n]   = static_cast<int>(i);
          table.inhomogeneity[n] = line.inhomogeneity;
          for (const auto &entry : line.entries)
          {
            table.masters[n_entries] = unknown(entry.first);
            table.weights[n_entries] = entry.second;
            ++n_entries;
          }
          ++n;
          table.offsets[n] = static_cast<std::int64_t>(n_entries);
        }
    });
    return table;
  }
} // namespace PatchFEM::internal
