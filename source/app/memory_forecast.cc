// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/format_choice.h>
#include <patchfem/app/memory_forecast.h>
#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/assembly/assembly_strategy.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/host_memory.h>

#include <boost/format.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace PatchFEM
{
  using boost::format;

  std::size_t MemoryForecast::peak() const
  {
    return batches + std::max({structure, plan + columns + std::max(matrix, conversion),
                               plan + matrix + std::max(conversion, solver + preconditioner)});
  }

  MemoryForecast forecast_memory(const Backend            &backend,
                                 const ElementTables      &tables,
                                 const AssemblyParameters &assembly,
                                 const int                 n_coefficients_per_point,
                                 const SolverChoice       &solver,
                                 const int                 n_modes,
                                 const bool                conversion)
  {
    using BatchesData        = ElementBatches::AdditionalData;
    const int         size   = solver.precision == "single" ? sizeof(float) : sizeof(double);
    const std::size_t n_dofs = std::size_t(tables.n_nodes) * tables.n_components;
    // A window that is chosen pads no more than the default one.
    const StructureEstimate  structure(tables,
                                      assembly.sorting_window == BatchesData::best_window ? BatchesData().sorting_window
                                                                                           : assembly.sorting_window,
                                       assembly.keep_constrained_entries);
    const PreconditionerRow &row = preconditioner_row(solver.parameters.preconditioner);

    MemoryForecast result;
    result.batches  = structure.batches_bytes();
    bool high_order = false;
    for (const CellTable &batch : tables.batches)
    {
      result.batches += std::size_t(batch.n_cells) * batch.reference.n_quadrature * n_coefficients_per_point * size;
      high_order = high_order || batch.reference.degree > 1;
    }

    // High degrees may gather, and on a device all but linear simplices and vectors on trilinear hexahedra, and these too
    // if data vary inside cells, with a buffer of a quarter of the matrix or more.
    const bool simplices = !tables.batches.empty() && tables.batches[0].reference.simplex,
               staged    = backend.kind() == BackendKind::cuda &&
                        (high_order || n_coefficients_per_point > 0 ||
                         !(simplices || (tables.dim == 3 && tables.n_components > 1)));
    const double                   share   = !staged                                       ? 0.1
                                             : tables.dim == 2 && tables.n_components == 1 ? kernels::PatchRoom::planar_share
                                                                                           : 0.25;
    const Patches::AdditionalData &patches = assembly.patches;
    const bool                     sure    = !high_order && !staged && patches.rows_per_patch == 0;
    result.columns                         = structure.sparsity_bytes();
    for (const StrategyRow *row : likely_strategies(tables, patches, sure))
    {
      result.plan =
          std::max(result.plan, structure.plan_bytes(patches, *row) + structure.buffer_bytes(size, share, *row));
      result.structure = std::max(result.structure, structure.peak_bytes(backend, patches, *row));
    }

    // Every format that may turn out to be the cheapest when rows are counted: of symmetric storage it is not known how much
    // patches cut, so it takes part as if they cut nothing, and is counted as if they cut most.
    const MemoryModel memory = MemoryModel::of(backend);
    PatternStatistics uncut = structure.pattern, cut = structure.pattern;
    uncut.inside = 1. - uncut.on_diagonal;
    cut.inside   = 0.3 * uncut.inside;
    cut.cut_rows = 1.;
    const FormatNeeds                   needs{row.is(PreconditionerRow::rows), conversion};
    const std::vector<FormatPrediction> predictions =
        predict_formats(candidate_formats(assembly, uncut, memory, needs), uncut, size, memory);
    for (const FormatPrediction &prediction : predictions)
      if (assembly.format != "auto" || assembly.calibrate || prediction.cost() <= 1.15 * predictions[0].cost())
      {
        const FormatCase needed{prediction.format, cut, size};
        result.matrix     = std::max(result.matrix, static_cast<std::size_t>(needed.storage_bytes()));
        result.conversion = std::max(result.conversion, static_cast<std::size_t>(needed.conversion_bytes()));
      }
    result.conversion += result.conversion > 0 ? n_dofs * size : 0; // the right-hand side

    result.solver = 7 * n_dofs * size;
    for (const bool fallback : {false, true})
      (fallback ? result.fallback : result.preconditioner) = static_cast<std::size_t>(
          row.peak_bytes({backend, cut, assembly.format == "auto" ? MatrixFormat() : assembly.matrix_format(), solver,
                          n_modes, fallback, tables.ranks.several()}));
    return result;
  }

  namespace
  {
    /** Bytes that ranks want together, and that are free for them. */
    struct Balance
    {
      double wanted = 0., available = 0.;
      int    n_ranks = 0;

      bool suffices() const { return wanted <= available; }

      /** What a sentence says behind the bytes that are wanted. */
      std::string of_ranks() const { return n_ranks > 1 ? str(format(" for %d ranks") % n_ranks) : ""; }
    };

    /** Of the host, of which each rank wants @p bytes: that of ranks that share it which does not suffice, if any. */
    Balance balance(const double bytes, const Communicator &ranks)
    {
      using Place = std::pair<int, std::size_t>; // machine and group of processes there, 0 for all
      struct Rank
      {
        int         machine;
        double      wanted;
        std::size_t group, available, of_machine, of_group, kept;
      };
      const int         machine = ranks.machine();
      const std::size_t group   = std::hash<std::string>()(memory_group()) | 1;
      ranks.maximum(std::int64_t(0)); // all have what they had before, and none has more yet
      std::map<Place, Balance> shared;
      Balance                  worst;
      for (const Rank &rank : ranks.all_gather(Rank{machine, bytes, group, free_host_memory(), free_machine_memory(),
                                                    free_group_memory(), kept_host_memory()}))
      {
        const auto kept = static_cast<double>(rank.kept);
        if (const Balance own{rank.wanted, static_cast<double>(rank.available) + kept, 1}; !own.suffices())
          worst = own;
        for (const auto &[of, available] : {std::make_pair(Place(rank.machine, 0), rank.of_machine),
                                            std::make_pair(Place(rank.machine, rank.group), rank.of_group)})
        {
          Balance &all = shared.emplace(of, Balance{0., static_cast<double>(available), 0}).first->second;
          all.wanted += rank.wanted;
          all.available += kept;
          ++all.n_ranks;
        }
      }
      for (const auto &[of, all] : shared)
        if (all.n_ranks > 1 && !all.suffices())
          worst = all;
      return worst;
    }
  } // namespace

  void require_host_memory(const double bytes, const std::string &what, const Communicator &ranks)
  {
    const Balance host = balance(bytes, ranks);
    if (host.suffices())
      return;
    throw Error(str(format("%s at least %.3g GB of the host's memory%s, but %.3g GB are free; use fewer cells.") %
                    what % (host.wanted * 1e-9) % host.of_ranks() % (host.available * 1e-9)));
  }

  template <int dim>
  void require_memory_of_mesh(const double n_cells, const bool simplices, const Communicator &ranks, const double share)
  {
    const double bytes_per_cell = dim == 2 ? (simplices ? 130. : 200.) : (simplices ? 240. : 400.);
    require_host_memory(n_cells * share * bytes_per_cell, str(format("A mesh of %.3g cells takes") % n_cells), ranks);
  }

  template void require_memory_of_mesh<2>(double, bool, const Communicator &, double);
  template void require_memory_of_mesh<3>(double, bool, const Communicator &, double);

  void require_memory(const MemoryForecast &forecast, const Backend &backend, const Communicator &ranks)
  {
    const auto    peak   = static_cast<double>(forecast.peak());
    const Balance result = backend.kind() == BackendKind::cuda
                               ? Balance{peak, static_cast<double>(backend.free_memory()), 1}
                               : balance(peak, ranks);
    if (result.suffices())
      return;
    throw Error(str(format("This problem needs about %.3g GB%s, but %.3g GB are free on the back end %s; refine less, "
                           "lower the degree, or use a back end with more memory.") %
                    (result.wanted * 1e-9) % result.of_ranks() % (result.available * 1e-9) % backend.name()));
  }
} // namespace PatchFEM
