// SPDX-License-Identifier: LGPL-2.1-or-later
#include "base/parallel_resizer.h"
#include "extraction_internal_dealii.h"

#include <patchfem/base/array.h>
#include <patchfem/base/threads.h>
#include <patchfem/kernels/primitives.h>

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
    const auto         lines   = constraints.get_lines();
    const std::int64_t n_lines = static_cast<std::int64_t>(lines.size());
    const auto         unknown = [unknown_of_dof](const dealii::types::global_dof_index dof) {
      return unknown_of_dof == nullptr ? static_cast<int>(dof) : unknown_of_dof[dof].load(std::memory_order_relaxed);
    };
    ConstraintTable table;
    ParallelResizer resizer;
    resizer.add(table.constrained, n_lines);
    resizer.add(table.offsets, n_lines + 1);
    resizer.add(table.inhomogeneity, n_lines);
    resizer.run();

    // deal.II has lines in the order of its indices.
    const Backend        host;
    Array<std::uint64_t> unknowns(host, n_lines);
    Array<int>           order(host, n_lines), n_entries(host, n_lines);
    for_shares(n_lines, [&](const std::int64_t begin, const std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
      {
        check_line(lines[i], constraints, n_dofs);
        unknowns.data()[i] = static_cast<std::uint64_t>(unknown(lines[i].index));
        order.data()[i]    = static_cast<int>(i);
      }
    });
    if (!std::is_sorted(unknowns.data(), unknowns.data() + n_lines))
      kernels::stable_sort_by_key(Host(), n_lines, unknowns.data(), order.data(), 31);
    for_shares(n_lines, [&](const std::int64_t begin, const std::int64_t end) {
      for (std::int64_t l = begin; l < end; ++l)
        n_entries.data()[l] = static_cast<int>(lines[order.data()[l]].entries.size());
    });
    kernels::exclusive_scan(Host(), n_lines, n_entries.data(), table.offsets.data());
    resizer.add(table.masters, table.offsets[n_lines]);
    resizer.add(table.weights, table.offsets[n_lines]);
    resizer.run();
    for_shares(n_lines, [&](const std::int64_t begin, const std::int64_t end) {
      for (std::int64_t l = begin; l < end; ++l)
      {
        const Line &line       = lines[order.data()[l]];
        table.constrained[l]   = static_cast<int>(unknowns.data()[l]);
        table.inhomogeneity[l] = line.inhomogeneity;
        for (std::size_t e = 0; e < line.entries.size(); ++e)
        {
          table.masters[table.offsets[l] + e] = unknown(line.entries[e].first);
          table.weights[table.offsets[l] + e] = line.entries[e].second;
        }
      }
    });
    return table;
  }
} // namespace PatchFEM::internal
