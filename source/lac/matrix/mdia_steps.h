// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "block_pattern.h"
#include "csr_steps.h"
#include "lac/graph/graph_tools.h"

#include <patchfem/lac/matrix/mdia_matrix.h>

#include <climits>
#include <limits>

/** @file The steps (see launch.h) that make matrices of one constant off the diagonal and read them. */
namespace PatchFEM::internal
{
  /** The entries of a row off the diagonal that are not 0, beside which differences are rounding. */
  template <typename Number>
  struct OffDiagonalEntries
  {
    CSRView<Number> A;

    /** Calls use(column, value, limit), the last 1000 times the accuracy of numbers as large as any in the row. */
    template <typename Use>
    PATCHFEM_INLINE void visit(const std::int64_t row, const Use &use) const
    {
      double most = 0.;
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
      {
        const double value = static_cast<double>(A.values[e]);
        most               = value > most ? value : (-value > most ? -value : most);
      }
      const double limit = 1000. * std::numeric_limits<Number>::epsilon() * most;
      for (std::int64_t e = A.row_offsets[row]; e < A.row_offsets[row + 1]; ++e)
        if (A.columns[e] != row && !is_near(static_cast<double>(A.values[e]), 0., limit))
          use(A.columns[e], A.values[e], limit);
    }

    /** Not for what is not a number. */
    PATCHFEM_INLINE static bool is_near(const double value, const double other, const double limit)
    {
      return value - other <= limit && other - value <= limit;
    }
  };

  template <typename Number>
  int build_mdia(Cuda, const Backend &, const CSRView<Number> &, MDIAPattern &, Number &constant);

  /** Pattern and constant; returns the first row with an entry off the diagonal unlike the others, or INT_MAX. */
  template <typename Number>
  int build_mdia(Here, const Backend &place, const CSRView<Number> &A, MDIAPattern &made, Number &constant)
  {
    const int                        n = A.n_rows;
    const OffDiagonalEntries<Number> entries{A};
    Array<int>                       lengths(place, n), rows(place, std::vector<int>(2, INT_MAX));
    Array<Number>                    first_values(place, n);
    launch(place, n,
           [=, values = first_values.data(), first_row = rows.data(),
            lengths = lengths.data()] PATCHFEM_DEVICE(const std::int64_t row) {
             int n_entries = 0;
             entries.visit(row, [&](int, const Number value, double) {
               if (n_entries++ == 0)
                 values[row] = value;
             });
             lengths[row] = n_entries;
             if (n_entries > 0)
               kernels::atomic_min(first_row, static_cast<int>(row));
           });
    const int first_row = rows.read(0);
    constant            = first_row < n ? first_values.read(first_row) : Number(0);

    Array<std::int64_t> offsets;
    made.n_nonzero = n + graph_tools::scan(lengths, offsets);
    made.columns.reinit(place, slice_offsets(Here(), lengths, MDIAView<Number>::slice_height, made.slice_offsets));
    launch(place, std::int64_t(made.slice_offsets.size() - 1) * MDIAView<Number>::slice_height,
           [=, wanted = static_cast<double>(constant), offsets = made.slice_offsets.data(),
            columns = made.columns.data(), bad_row = rows.data() + 1] PATCHFEM_DEVICE(const std::int64_t row) {
             constexpr int h  = MDIAView<Number>::slice_height;
             std::int64_t  at = offsets[row / h] + row % h;
             if (row < n)
               entries.visit(row, [&](const int column, const Number value, const double limit) {
                 if (!entries.is_near(static_cast<double>(value), wanted, limit))
                   kernels::atomic_min(bad_row, static_cast<int>(row));
                 columns[at] = column;
                 at += h;
               });
             for (; at < offsets[row / h + 1]; at += h)
               columns[at] = -1;
           });
    return rows.read(1);
  }
} // namespace PatchFEM::internal
