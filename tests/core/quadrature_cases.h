// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "../../benchmarks/synthetic_tables.h"

#include <patchfem/assembly/space.h>

#include <gtest/gtest.h>

/** Meshes, vectors and comparisons for what is evaluated at quadrature points. */
namespace
{
  using namespace PatchFEM;

  /** A cube of n^3 hexahedra and, elsewhere, one of tetrahedra: two batches. Some unknowns are bound to others. */
  [[maybe_unused]] ElementTables two_batches(const int n_comp, const int n = 5)
  {
    ElementTables       tables = synthetic::cube_of_hexahedra(n, n_comp);
    const ElementTables others = synthetic::cube_of_tetrahedra(4, n_comp, true);
    CellTable           cells  = others.batches[0];
    for (auto *list : {&cells.nodes, &cells.geometry})
      for (int &node : *list)
        node += tables.n_nodes;
    tables.batches.push_back(cells);
    for (const double x : others.points)
      tables.points.push_back(x + 2.);
    tables.n_nodes += others.n_nodes;
    ConstraintTable &lines = tables.constraints;
    lines.offsets.push_back(0);
    for (int i = 0; i + 2 < tables.n_nodes * n_comp; i += 7)
    {
      lines.constrained.push_back(i);
      lines.masters.insert(lines.masters.end(), {i + 1, i + 2});
      lines.weights.insert(lines.weights.end(), {0.25, 0.5});
      lines.inhomogeneity.push_back(0.1);
      lines.offsets.push_back(static_cast<std::int64_t>(lines.masters.size()));
    }
    return tables;
  }

  /** @p values [unknown of the tables] in the numbering of @p space. */
  template <typename Number>
  Vector<Number> vector_of(const Space &space, const std::vector<double> &values)
  {
    std::vector<Number> result(values.size());
    const int           n = space.batches().n_components();
    for (std::size_t i = 0; i < values.size(); ++i)
      result[std::int64_t(space.batches().new_of_old()[i / n]) * n + i % n] = static_cast<Number>(values[i]);
    return Vector<Number>(space.backend(), result);
  }

  [[maybe_unused]] std::vector<double> some_values(const std::int64_t n)
  {
    std::vector<double> result(n);
    for (std::int64_t i = 0; i < n; ++i)
      result[i] = synthetic::hashed(i) - 0.4;
    return result;
  }

  /** |a - b| <= bound max |b|; what is not a number is larger than all others. */
  [[maybe_unused]] void expect_near(const std::vector<double> &a, const std::vector<double> &b, const double bound)
  {
    ASSERT_EQ(a.size(), b.size());
    double scale = 0., worst = 0.;
    for (std::size_t i = 0; i < a.size(); ++i)
    {
      scale              = std::max(scale, std::abs(b[i]));
      const double apart = std::abs(a[i] - b[i]);
      worst              = apart <= worst ? worst : (apart > worst ? apart : HUGE_VAL);
    }
    EXPECT_LE(worst, bound * scale);
  }

  template <typename Number>
  std::vector<double> host_values(const Vector<Number> &vector)
  {
    const std::vector<Number> values = vector.copy_to_host();
    return std::vector<double>(values.begin(), values.end());
  }
} // namespace
