// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lac/matrix/sliced_copy.h"

#include "kernels/ordering.h"
#include "kernels/triangular_bodies.h"
#include <patchfem/lac/precondition/triangular_factors.h>

#include <algorithm>
#include <utility>

namespace PatchFEM
{
  void PhaseOrder::reinit_natural(const Backend &place, const int n_rows)
  {
    for (Array<int> *numbers : {&phase, &position, &row_of_position})
    {
      numbers->reinit(place, n_rows);
      run(place, n_rows, kernels::IotaBody{numbers->data()});
    }
    first = {0, n_rows}; // phases are not walked through one by one
  }

  void PhaseOrder::sort(const int alignment)
  {
    const Backend &place    = phase.backend();
    const int      n_rows   = static_cast<int>(phase.size());
    int            n_phases = 0;
    dispatch(place,
             [&](auto where) { n_phases = n_rows == 0 ? 0 : kernels::maximum(where, n_rows, phase.data()) + 1; });

    Array<std::uint64_t> keys(place, n_rows);
    Array<int>           sorted(place, n_rows), counts(place, n_phases);
    counts.set_zero();
    run(place, n_rows, kernels::PhaseKeyBody{phase.data(), keys.data(), sorted.data(), counts.data()});
    dispatch(place, [&](auto where) {
      kernels::stable_sort_by_key(where, n_rows, keys.data(), sorted.data(), bits_for(n_phases));
    });

    const std::vector<int> sizes = counts.to_vector();
    std::vector<int>       begin(n_phases);
    first.assign(std::size_t(n_phases) + 1, 0);
    std::int64_t place_of_next = 0;
    for (int p = 0, n = 0; p < n_phases; ++p)
    {
      begin[p] = n;
      first[p] = static_cast<int>(place_of_next);
      n += sizes[p];
      place_of_next += sizes[p];
      if (p + 1 < n_phases)
        place_of_next = (place_of_next + alignment - 1) / alignment * alignment;
    }
    require(place_of_next < INT32_MAX, "The phases of a matrix need more positions than 32-bit indices can number.");
    first[n_phases] = static_cast<int>(place_of_next);

    position.reinit(place, n_rows);
    row_of_position.reinit(place, n_positions());
    const Array<int> begins(place, begin), firsts(place, first);
    run(place, n_positions(), kernels::FillBody{row_of_position.data(), -1});
    run(place, n_rows,
        kernels::PositionBody{phase.data(), sorted.data(), begins.data(), firsts.data(), position.data(),
                              row_of_position.data()});
  }

  template <typename Number>
  void PhaseOrder::reinit_colours(const SlicedEllpackMatrix<Number> &A)
  {
    const Backend               &place   = A.backend();
    const kernels::SlicedPattern pattern = sliced_pattern(A);
    Array<int>                   before(place, pattern.n_rows), n_left(place, 1);
    phase.reinit(place, pattern.n_rows);
    run(place, pattern.n_rows, kernels::FillBody{phase.data(), -1});
    do
    {
      before.swap(phase);
      n_left.set_zero();
      run(place, pattern.n_rows, kernels::ColouringBody{pattern, before.data(), phase.data(), n_left.data()});
    } while (n_left.read(0) > 0);
    sort(colour_alignment);
  }

  template <typename Number>
  void PhaseOrder::reinit_levels(const SlicedEllpackMatrix<Number> &A)
  {
    const Backend               &place   = A.backend();
    const kernels::SlicedPattern pattern = sliced_pattern(A);
    Array<int>                   changed(place, 1);
    phase.reinit(place, pattern.n_rows);
    phase.set_zero();
    do
    {
      changed.set_zero();
      for (int i = 0; i < 4; ++i)
        run(place, pattern.n_rows, kernels::LevelOfRowBody{pattern, phase.data(), changed.data()});
    } while (changed.read(0) != 0);
    sort(1);
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::clear()
  {
    order     = PhaseOrder();
    lower     = SlicedEllpackMatrix<Value>();
    upper     = SlicedEllpackMatrix<Value>();
    D_inverse = {0, 1, 0, nullptr};
    D_values.release();
    y = Vector<Number>();
    w = Vector<Number>();
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::reinit_triangles(const SlicedEllpackMatrix<Number> &A, const int slice_height)
  {
    const Backend               &place   = A.backend();
    const kernels::SlicedPattern pattern = sliced_pattern(A);
    const int                    n = order.n_positions(), b = A.block_rows();
    Array<int>                   counts(place, n), conflict(place, 1);
    run(place, 1, kernels::FillBody{conflict.data(), kernels::no_failure});
    for (const bool later : {false, true})
    {
      CompressedPattern triangle;
      triangle.n_rows = triangle.n_columns = n;
      triangle.offsets.reinit(place, std::size_t(n) + 1);
      counts.set_zero();
      run(place, pattern.n_rows,
          kernels::TriangleBody{pattern, order.phase.data(), order.position.data(), later, counts.data(), nullptr,
                                nullptr, conflict.data()});
      dispatch(place, [&](auto where) { kernels::exclusive_scan(where, n, counts.data(), triangle.offsets.data()); });
      triangle.columns.reinit(place, triangle.offsets.read(n));
      run(place, pattern.n_rows,
          kernels::TriangleBody{pattern, order.phase.data(), order.position.data(), later, nullptr,
                                triangle.offsets.data(), triangle.columns.data(), conflict.data()});
      dispatch(place, [&](auto where) {
        kernels::sort_segments(where, triangle.columns.size(), n, triangle.offsets.data(), triangle.columns.data());
      });
      (later ? upper : lower).reinit(place, triangle.view(), b, b, {slice_height});
    }
    const int row = conflict.read(0);
    if (row != kernels::no_failure)
      clear();
    require(row == kernels::no_failure, "The pattern of the matrix is not symmetric: row " + std::to_string(row * b) +
                                            " has an entry whose transpose is missing.");
    y.reinit(place, std::size_t(n) * b, true);
    if (n_sweeps > 1)
    {
      require(b == 1, "Jacobi sweeps are for triangles of scalars.");
      w.reinit(place, n, true);
      sweep_step.copy_from(place, std::vector<double>{-1., 1.});
    }
  }

  /** y = y - R y for the rows of one phase. */
  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::solve_phase(const SlicedEllpackMatrix<Value> &R, const int phase) const
  {
    SlicedEllpackView<Value> rows  = R.view();
    const int                first = order.first[phase];
    rows.n_rows                    = order.first[phase + 1] - first;
    rows.slice_offsets += first / rows.slice_height;
    Number *const                   y_phase = y.data() + std::int64_t(first) * rows.block_rows;
    const kernels::Residual<Number> target{y_phase, y_phase};
    dispatch(R.backend(), [&](auto where) { kernels::product(where, rows, y.data(), target); });
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::solve_by_phases(Vector<Number> &dst, const Vector<Number> &src) const
  {
    const Backend &place = src.backend();
    const int      b     = D_inverse.block_size;
    run(place, static_cast<std::int64_t>(y.size()),
        kernels::ToPositionsBody<Number>{order.row_of_position.data(), b, src.data(), y.data()});
    for (int phase = 1; phase < order.n_phases(); ++phase)
      solve_phase(lower, phase);
    dispatch(place, [&](auto where) { kernels::vmult(where, D_inverse, y.data(), y.data()); });
    for (int phase = order.n_phases() - 2; phase >= 0; --phase)
      solve_phase(upper, phase);
    run(place, static_cast<std::int64_t>(dst.size()),
        kernels::FromPositionsBody<Number>{order.position.data(), b, y.data(), dst.data()});
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::sweep(Vector<Number> &dst, const Vector<Number> &src) const
  {
    const Backend &place = src.backend();
    if (n_sweeps == 1)
    {
      dispatch(place, [&](auto where) { kernels::vmult(where, D_inverse, src.data(), dst.data()); });
      return;
    }
    // to = r - R from, n times and each time the other of two vectors; returns where the last one is.
    const auto walk = [&](const SlicedEllpackMatrix<Value> &R, const int n, const Number *r, Number *one,
                          Number *other) {
      const Number *from = r;
      for (int k = 0; k < n; ++k, std::swap(one, other))
      {
        R.product(from, kernels::Residual<Number>{r, one});
        from = one;
      }
      return from;
    };
    // The last sweep forward and D^-1 in one kernel: of a polynomial's step with c_0 = -1, c_1 = 1 and y_{k-1} = 0 there
    // is left D^-1 (r - R y).
    const Number *forward = walk(lower, n_sweeps - 2, src.data(), dst.data(), w.data());
    lower.product(forward, kernels::PolynomialStep<Number>{sweep_step.data(), D_inverse.values, src.data(), forward,
                                                           y.data(), true});
    const bool even = n_sweeps % 2 == 0;
    walk(upper, n_sweeps - 1, y.data(), even ? dst.data() : w.data(), even ? w.data() : dst.data());
  }

  template <typename Number, typename Value>
  void TriangularFactors<Number, Value>::vmult(Vector<Number> &dst, const Vector<Number> &src) const
  {
    const std::size_t size = order.position.size() * D_inverse.block_size;
    require(!order.first.empty(), "A preconditioner was applied before it was initialized.");
    require(dst.size() == size && src.size() == size, "A vector does not have the size of the preconditioner.");
    require(dst.backend() == y.backend() && src.backend() == y.backend(),
            "A preconditioner on " + y.backend().name() + " was applied to a vector on another back end.");
    if (size == 0)
      return;
    if (n_sweeps > 0)
      sweep(dst, src);
    else
      solve_by_phases(dst, src);
  }

  template <typename Number, typename Value>
  std::size_t TriangularFactors<Number, Value>::memory_consumption() const
  {
    return order.memory_consumption() + lower.memory_consumption() + upper.memory_consumption() +
           D_values.memory_consumption() + y.memory_consumption() + w.memory_consumption();
  }

  template class TriangularFactors<float>;
  template class TriangularFactors<double>;
  template class TriangularFactors<double, float>;
  template void PhaseOrder::reinit_colours(const SlicedEllpackMatrix<float> &);
  template void PhaseOrder::reinit_colours(const SlicedEllpackMatrix<double> &);
  template void PhaseOrder::reinit_levels(const SlicedEllpackMatrix<float> &);
  template void PhaseOrder::reinit_levels(const SlicedEllpackMatrix<double> &);
} // namespace PatchFEM
