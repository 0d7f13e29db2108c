// SPDX-License-Identifier: LGPL-2.1-or-later
// The memory of matrices in formats that are chosen, forecast from the tables.
#include "../../benchmarks/synthetic_tables.h"
#include "../core/backend_names.h"

#include <patchfem/app/format_choice.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/assembly/sparsity.h>

#include <algorithm>

using namespace PatchFEM;

class MemoryForecastTest : public BackendTest
{};
PATCHFEM_INSTANTIATE_BACKENDS(MemoryForecastTest);

namespace
{
  struct Chosen
  {
    MatrixFormat format;
    double       matrix   = 0.; ///< bytes of it and of what it is made of
    double       forecast = 0.;
    double       rows     = 0.;    ///< of CSR
    bool         prepared = false; ///< whether memory for a conversion was forecast
  };

  template <typename Number>
  Chosen choose(const Backend &backend, const ElementTables &tables, const int sorting_window)
  {
    AssemblyParameters assembly;
    assembly.format         = "auto";
    assembly.column_indices = "auto";
    assembly.sorting_window = sorting_window;
    SolverChoice solver;
    solver.parameters.preconditioner = "jacobi";
    solver.precision                 = sizeof(Number) == sizeof(float) ? "single" : "double";
    const MemoryForecast forecast    = forecast_memory(backend, tables, assembly, 0, solver);

    ElementBatches batches;
    batches.reinit(backend, tables, ElementBatches::AdditionalData(sorting_window));
    RowCells cells;
    cells.reinit(batches);
    Sparsity sparsity;
    sparsity.reinit(batches, cells);
    const int  b    = tables.n_components;
    const auto make = [&](const MatrixFormat &format) {
      return make_matrix<Number>(backend, sparsity.view(), b, b, format);
    };
    Chosen result;
    result.format   = choose_format<Number>(backend, assembly, sparsity.view(), b, FormatNeeds()).format;
    result.rows     = make({formats::csr})->memory_consumption();
    result.forecast = forecast.matrix;
    result.prepared = forecast.conversion > 0;
    auto matrix     = make(assembled_format(result.format, b));
    result.matrix   = matrix->memory_consumption();
    if (is_converted(result.format, b))
    {
      result.matrix += convert(*matrix, result.format)->memory_consumption();
      result.forecast += forecast.conversion;
    }
    return result;
  }

  /** Returns the largest that was chosen, in multiples of CSR. */
  template <typename Number>
  double check(const Backend &backend)
  {
    double    largest     = 0.;
    const int best_window = ElementBatches::AdditionalData::best_window;
    for (const int n_components : {1, 3})
      for (const int window : {1, best_window})
        for (const bool simplices : {false, true})
        {
          SCOPED_TRACE(std::to_string(n_components) + " components, window of " + std::to_string(window) +
                       (simplices ? ", tetrahedra" : ", hexahedra"));
          const ElementTables tables = simplices ? synthetic::cube_of_tetrahedra(20, n_components, true)
                                                 : synthetic::cube_of_hexahedra(20, n_components);
          const Chosen        chosen = choose<Number>(backend, tables, window);
          EXPECT_LE(chosen.matrix, chosen.forecast) << chosen.format.name();
          EXPECT_LE(chosen.forecast, 2. * chosen.matrix) << chosen.format.name();
          EXPECT_FALSE(chosen.prepared) << "these are too small for a format that matrices are converted to";
          largest = std::max(largest, chosen.matrix / chosen.rows);
        }
    return largest;
  }
} // namespace

TEST_P(MemoryForecastTest, CoversWhatAutoChoosesInDouble)
{
  EXPECT_GT(check<double>(backend()), 1.2);
}

TEST_P(MemoryForecastTest, CoversWhatAutoChoosesInSingle)
{
  // Columns of 16 bits beside those of 32 win with much padding.
  EXPECT_GT(check<float>(backend()), 1.3);
}
