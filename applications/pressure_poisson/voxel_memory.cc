// SPDX-License-Identifier: LGPL-2.1-or-later
#include "voxel_memory.h"

#include <algorithm>

namespace PatchFEM
{
  std::size_t forecast_voxel_memory(const VoxelGrid          &grid,
                                    const std::size_t         n_fluid,
                                    const PressureParameters &parameters,
                                    const SolverChoice       &choice,
                                    const bool                with_divergence,
                                    const bool                with_errors)
  {
    const std::size_t n_cells = grid.n_cells();
    const std::size_t n_words = grid.n_words();
    const std::size_t number = choice.precision == "single" ? 4 : 8, inner = choice.precision == "double" ? 8 : 4;

    // Labels, velocities, pressure and what else cells have, for errors the exact pressure and the difference to it; words
    // with their numbers and entries.
    std::size_t cells = n_cells + 8 * n_cells * (1 + with_divergence + 2 * with_errors);
    for (int d = 0; d < 3; ++d)
      cells += 8 * static_cast<std::size_t>(grid.n_faces(d));
    cells += n_words * 32;

    // Each row: two integers for its part; columns, diagonal and its share of the slices; right-hand side, solution,
    // residual, four vectors of the iteration, and two when the step is judged.
    const std::size_t n_columns = 2 * static_cast<std::size_t>(parameters.general.dimension);
    std::size_t       row       = 8 + 4 * n_columns + number + 1 + 9 * number;

    const std::size_t entries = n_columns + 1;
    switch (preconditioner_row(choice.parameters.preconditioner).memory)
    {
    case PreconditionerForecast::Kind::diagonal:
      row += number;
      break;
    case PreconditionerForecast::Kind::polynomial:
      row += 6 * number + (inner < number ? inner : 0);
      break;
    case PreconditionerForecast::Kind::ssor:
    case PreconditionerForecast::Kind::cholesky: // made of a copy in slices
      row += entries * (number + 4) + 2 * entries * (inner + 4) + 64;
      break;
    case PreconditionerForecast::Kind::multigrid:
      row += 210 + 30 * inner;
    }
    if (parameters.solver.project_null_space) // one closed part: its constant, what finds it, and a projected vector
      row += 28;
    if (parameters.solver.check) // the known solution, its right-hand side, and what is found
      row += 3 * number;
    return cells + n_fluid * row + (std::size_t(1) << 20);
  }
} // namespace PatchFEM
