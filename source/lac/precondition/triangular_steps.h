// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "kernels/hash.h"
#include "lac/graph/graph_tools.h"
#include "triangular_tools.h"
#include <patchfem/kernels/atomics.h>

#include <cmath>

/** @file The steps (see launch.h) of triangular_tools.h. */
namespace PatchFEM::triangular
{
  namespace
  {
    /** Whether a row without a colour takes one before a neighbour without one. */
    PATCHFEM_INLINE bool comes_first(const int i, const int j)
    {
      const std::uint64_t a = kernels::hash(static_cast<std::uint64_t>(i)),
                          b = kernels::hash(static_cast<std::uint64_t>(j));
      return a > b || (a == b && i > j);
    }

    /** The smallest colour that no neighbour has. */
    PATCHFEM_INLINE int smallest_free(const SlicedPatternView &A, const int *colour, const int i)
    {
      for (int base = 0;; base += 64)
      {
        std::uint64_t used = 0;
        A.for_each_block(i, [&](std::int64_t, const int j) {
          const int c = j == i ? -1 : colour[j] - base;
          if (c >= 0 && c < 64)
            used |= std::uint64_t(1) << c;
        });
        for (int c = 0; c < 64; ++c)
          if ((used >> c & 1) == 0)
            return base + c;
      }
    }

    /** Entry (a, c) of block i of a packed symmetric block diagonal. */
    template <typename Number>
    PATCHFEM_INLINE double block_entry(const BlockDiagonalView<Number> &D, const int i, const int a, const int c)
    {
      const int high = a > c ? a : c, low = a > c ? c : a;
      return static_cast<double>(D.values[(high * (high + 1) / 2 + low) * D.stride + i]);
    }

    /** All of an order by the numbers in phase, those from 0 on: phases one after the other, with gaps between. */
    void sort(PhaseOrder &order, const int alignment)
    {
      const Backend &place    = order.phase.backend();
      const int      n_rows   = static_cast<int>(order.phase.size());
      const int      n_phases = n_rows > 0 ? graph_tools::maximum(order.phase) + 1 : 0;
      Array<int>     begins, rows;
      graph_tools::sort_by_group(order.phase, n_phases, begins, rows);

      const std::vector<int> begin = begins.to_vector();
      order.first.assign(1, 0);
      std::int64_t end = 0;
      for (int p = 0; p < n_phases; ++p)
      {
        end += begin[p + 1] - begin[p];
        if (p + 1 < n_phases)
          end = (end + alignment - 1) / alignment * alignment;
        order.first.push_back(static_cast<int>(end));
      }
      require(end < INT32_MAX, "The phases of a matrix need more positions than 32-bit indices can number.");

      order.position.reinit(place, n_rows);
      order.row_of_position.reinit(place, order.n_positions());
      launch(place, [&](const Here where) {
        kernels::set(where, order.row_of_position.size(), -1, order.row_of_position.data());
      });
      const Array<int> firsts(place, order.first);
      launch(place, n_rows,
             [phase = order.phase.data(), begin = begins.data(), rows = rows.data(), first = firsts.data(),
              position        = order.position.data(),
              row_of_position = order.row_of_position.data()] PATCHFEM_DEVICE(const std::int64_t i) {
               const int row = rows[i], p = phase[row], at = first[p] + static_cast<int>(i) - begin[p];
               position[row]       = at;
               row_of_position[at] = row;
             });
      place.synchronize();
    }
  } // namespace

  template <>
  void find_natural(Here, const Backend &place, const int n_rows, PhaseOrder &order)
  {
    for (Array<int> *numbers : {&order.phase, &order.position, &order.row_of_position})
    {
      numbers->reinit(place, n_rows);
      launch(place, n_rows,
             [to = numbers->data()] PATCHFEM_DEVICE(const std::int64_t i) { to[i] = static_cast<int>(i); });
    }
    order.first = {0, n_rows}; // phases are not walked through one by one
  }

  /**
   * Rounds of colouring: a row without a colour (-1) whose hash is larger than those of all its neighbours without one
   * takes the smallest colour that no neighbour has (Jones and Plassmann 1993). They lead to the colours that a greedy
   * walk through the rows by descending hash gives, whatever runs at the same time.
   */
  template <>
  void find_colours(Here, const Backend &place, const SlicedPatternView &A, PhaseOrder &order)
  {
    Array<int> colours(place, A.n_rows), n_left(place, 1);
    order.phase.reinit(place, A.n_rows);
    launch(place, [&](const Here where) { kernels::set(where, A.n_rows, -1, order.phase.data()); });
    do
    {
      colours.swap(order.phase);
      n_left.set_zero();
      launch(place, A.n_rows,
             [=, before = colours.data(), after = order.phase.data(),
              n_left = n_left.data()] PATCHFEM_DEVICE(const std::int64_t row) {
               const int i = static_cast<int>(row);
               int       c = before[i];
               if (c < 0)
               {
                 bool ready = true;
                 for (int k = 0; k < A.row_lengths[i] && ready; ++k)
                 {
                   const int j = A.column(i, k);
                   ready       = j == i || before[j] >= 0 || comes_first(i, j);
                 }
                 if (ready)
                   c = smallest_free(A, before, i);
                 else
                   kernels::atomic_increment(n_left);
               }
               after[i] = c;
             });
    } while (n_left.read(0) > 0);
    sort(order, PhaseOrder::colour_alignment);
  }

  /**
   * level[i] = 1 + the largest of the rows j < i that row i couples with, 0 without any. Repeated from 0 until nothing
   * changes, with whatever values other rows have at the moment: levels only grow, towards the one solution.
   */
  template <>
  void find_levels(Here, const Backend &place, const SlicedPatternView &A, PhaseOrder &order)
  {
    Array<int> changed(place, 1);
    order.phase.reinit(place, A.n_rows);
    order.phase.set_zero();
    do
    {
      changed.set_zero();
      for (int repeat = 0; repeat < 4; ++repeat)
        launch(place, A.n_rows,
               [=, level = order.phase.data(), changed = changed.data()] PATCHFEM_DEVICE(const std::int64_t row) {
                 const int i = static_cast<int>(row);
                 int       l = 0;
                 A.for_each_block(i, [&](std::int64_t, const int j) {
                   const int below = j < i ? kernels::atomic_load(level + j) + 1 : 0;
                   l               = below > l ? below : l;
                 });
                 if (l != level[i])
                 {
                   kernels::atomic_store(level + i, l);
                   kernels::atomic_store(changed, 1);
                 }
               });
    } while (changed.read(0) != 0);
    sort(order, 1);
  }

  template <>
  int find_triangle(
      Here, const SlicedPatternView &A, const PhaseOrder &order, const bool later, CompressedPattern &triangle)
  {
    const Backend &place = order.phase.backend();
    const int      n     = order.n_positions();
    Array<int>     counts(place, n), conflict(place, std::vector<int>{kernels::no_failure});
    triangle.n_rows = triangle.n_columns = n;
    triangle.offsets.reinit(place, std::size_t(n) + 1);
    counts.set_zero();
    const int *const phase = order.phase.data(), *const position = order.position.data();
    launch(place, A.n_rows,
           [=, counts = counts.data(), conflict = conflict.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             const int i = static_cast<int>(row), p = phase[i];
             int       count = 0;
             A.for_each_block(i, [&](std::int64_t, const int j) {
               if (A.find_block(j, i) < 0)
                 kernels::atomic_min(conflict, i);
               count += later ? phase[j] > p : phase[j] < p;
             });
             counts[position[i]] = count;
           });
    launch(place, [&](const Here where) { kernels::exclusive_scan(where, n, counts.data(), triangle.offsets.data()); });
    triangle.columns.reinit(place, triangle.offsets.read(n));
    launch(place, A.n_rows,
           [=, offsets = triangle.offsets.data(),
            columns = triangle.columns.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             const int i = static_cast<int>(row), p = phase[i];
             int      *out = columns + offsets[position[i]];
             A.for_each_block(i, [&](std::int64_t, const int j) {
               if (later ? phase[j] > p : phase[j] < p)
                 *out++ = position[j];
             });
           });
    return conflict.read(0);
  }

  template <typename Number, typename Where>
  void permute(Where, const Array<int> &sources, const int block_size, const Vector<Number> &from, Vector<Number> &to)
  {
    launch(from.backend(), static_cast<std::int64_t>(sources.size()) * block_size,
           [=, sources = sources.data(), from = from.data(), to = to.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             const int source = sources[i / block_size];
             to[i]            = source < 0 ? Number(0) : from[std::int64_t(source) * block_size + i % block_size];
           });
  }

  template <typename Number, typename Value, typename Where>
  void fill_ssor(Where,
                 const SlicedEllpackMatrix<Number> &matrix,
                 const BlockDiagonalView<Number>   &D_inverse,
                 const double                       omega,
                 Triangles<Number, Value>          &result)
  {
    auto &[order, lower, upper, D_values] = result;
    const Backend                  &place = matrix.backend();
    const SlicedEllpackView<Number> A     = matrix.view();
    const SlicedEllpackView<Value>  L = lower.view(), U = upper.view();
    // R' = omega L D^-1 below and its transpose omega D^-1 U above, block by block.
    launch(place, A.n_rows,
           [=, phase = order.phase.data(), position = order.position.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             const int i = static_cast<int>(row), b = A.block_rows;
             for (int k = 0; k < A.row_lengths[i]; ++k)
             {
               const int j = A.column(i, k);
               if (j == i)
                 continue;
               const bool                      below = phase[j] < phase[i];
               const SlicedEllpackView<Value> &T     = below ? L : U;
               const int                       at    = T.find_block(position[i], position[j]);
               for (int a = 0; a < b; ++a)
                 for (int c = 0; c < b; ++c)
                 {
                   double sum = 0.;
                   for (int d = 0; d < b; ++d)
                     sum += below ? static_cast<double>(A.values[A.value_index(i, k, a, d)]) *
                                        block_entry(D_inverse, j, d, c)
                                  : block_entry(D_inverse, i, a, d) *
                                        static_cast<double>(A.values[A.value_index(i, k, d, c)]);
                   T.values[T.value_index(position[i], at, a, c)] = static_cast<Value>(omega * sum);
                 }
             }
           });
    const int    n = order.n_positions(), n_entries = A.block_rows * (A.block_rows + 1) / 2;
    const double factor = omega * (2. - omega);
    D_values.reinit(place, std::size_t(n) * n_entries);
    launch(place, n,
           [=, rows = order.row_of_position.data(), values = D_values.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             for (int e = 0; e < n_entries; ++e)
               values[std::int64_t(e) * n + i] =
                   rows[i] < 0 ? Number(0)
                               : static_cast<Number>(
                                     factor * static_cast<double>(D_inverse.values[e * D_inverse.stride + rows[i]]));
           });
  }

  template <typename Number, typename Where>
  int load(Where, const SlicedEllpackMatrix<Number> &matrix, const PhaseOrder &natural, IncompleteCholesky &factors)
  {
    const Backend                  &place = matrix.backend();
    const SlicedEllpackView<Number> A     = matrix.view();
    find_triangle(Here(), matrix.view(), natural, false, factors.pattern);
    for (Array<double> *values : {&factors.A, &factors.R})
      values->reinit(place, factors.pattern.columns.size());
    for (Array<double> *values : {&factors.diagonal, &factors.pivots})
      values->reinit(place, A.n_rows);
    Array<int> failure(place, std::vector<int>{kernels::no_failure});
    launch(place, A.n_rows,
           [=, offsets = factors.pattern.offsets.data(), values = factors.A.data(), diagonal = factors.diagonal.data(),
            failure = failure.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             const int    i = static_cast<int>(row);
             std::int64_t e = offsets[i];
             double       d = 0.;
             A.for_each_entry(i, [&](const int j, const double value) {
               if (j < i)
                 values[e++] = value;
               else if (j == i)
                 d = value;
             });
             diagonal[i] = d;
             if (!(d > 0.) || !(d < HUGE_VAL))
               kernels::atomic_min(failure, i);
           });
    return failure.read(0);
  }

  template <>
  int factorise(Here, const PhaseOrder &levels, const double shift, IncompleteCholesky &factors)
  {
    const Backend &place = levels.phase.backend();
    Array<int>     failure(place, std::vector<int>{kernels::no_failure});
    factors.R.copy_from(place, factors.A);
    const SparsityView  lower    = factors.pattern.view();
    const double *const diagonal = factors.diagonal.data();
    double *const       values   = factors.R.data();
    for (int level = 0; level < levels.n_phases(); ++level)
      launch(place, levels.first[level + 1] - levels.first[level],
             [=, rows = levels.row_of_position.data() + levels.first[level], pivots = factors.pivots.data(),
              failure = failure.data()] PATCHFEM_DEVICE(const std::int64_t index) {
               const int          i     = rows[index];
               const std::int64_t begin = lower.row_offsets[i], end = lower.row_offsets[i + 1];
               double             d = (1. + shift) * diagonal[i];
               for (std::int64_t e = begin; e < end; ++e)
               {
                 const int          j     = lower.columns[e];
                 const std::int64_t end_j = lower.row_offsets[j + 1];
                 double             sum   = values[e];
                 for (std::int64_t p = begin, q = lower.row_offsets[j]; p < e && q < end_j;)
                 {
                   const int k = lower.columns[p], l = lower.columns[q];
                   if (k == l)
                     sum -= values[p] * pivots[k] * values[q];
                   p += k <= l;
                   q += l <= k;
                 }
                 const double r = sum / pivots[j];
                 values[e]      = r;
                 d -= r * r * pivots[j];
               }
               if (!(d > 1e-8 * diagonal[i]) || !(d < HUGE_VAL))
               {
                 kernels::atomic_min(failure, i);
                 d = diagonal[i];
               }
               pivots[i] = d;
             });
    return failure.read(0);
  }

  template <typename Number, typename Value, typename Where>
  void fill_factors(Where, const IncompleteCholesky &factors, Triangles<Number, Value> &result)
  {
    auto &[order, lower, upper, D_values]  = result;
    const Backend                 &place   = order.phase.backend();
    const SparsityView             pattern = factors.pattern.view();
    const SlicedEllpackView<Value> L = lower.view(), U = upper.view();
    launch(place, pattern.n_rows,
           [=, R = factors.R.data(), position = order.position.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             const int i = position[row];
             for (std::int64_t e = pattern.row_offsets[row]; e < pattern.row_offsets[row + 1]; ++e)
             {
               const int   j                                  = position[pattern.columns[e]];
               const Value value                              = static_cast<Value>(R[e]);
               L.values[L.block_index(i, L.find_block(i, j))] = value;
               U.values[U.block_index(j, U.find_block(j, i))] = value;
             }
           });
    D_values.reinit(place, order.n_positions());
    launch(place, order.n_positions(),
           [=, pivots = factors.pivots.data(), rows = order.row_of_position.data(),
            inverse = D_values.data()] PATCHFEM_DEVICE(const std::int64_t i) {
             inverse[i] = rows[i] < 0 ? Number(0) : static_cast<Number>(1. / pivots[rows[i]]);
           });
    place.synchronize();
  }

#define INSTANTIATE_NUMBER(Number)                                                                \
  template void permute(Here, const Array<int> &, int, const Vector<Number> &, Vector<Number> &); \
  template int  load(Here, const SlicedEllpackMatrix<Number> &, const PhaseOrder &, IncompleteCholesky &);

#define INSTANTIATE_VALUE(Number, Value)                                                                        \
  template void fill_ssor(Here, const SlicedEllpackMatrix<Number> &, const BlockDiagonalView<Number> &, double, \
                          Triangles<Number, Value> &);                                                          \
  template void fill_factors(Here, const IncompleteCholesky &, Triangles<Number, Value> &);

  INSTANTIATE_NUMBER(float)
  INSTANTIATE_NUMBER(double)
  INSTANTIATE_VALUE(float, float)
  INSTANTIATE_VALUE(double, double)
  INSTANTIATE_VALUE(double, float)
#undef INSTANTIATE_NUMBER
#undef INSTANTIATE_VALUE
} // namespace PatchFEM::triangular
