// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/coarsening.h"
#include <patchfem/app/memory_forecast.h>
#include <patchfem/assembly/element_batches.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/threads.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

namespace PatchFEM
{
  namespace
  {
    /** Numbers of nodes that share a cell with a node, itself included, of a sample of the nodes. */
    struct RowLengths
    {
      double      mean    = 0.;
      std::size_t longest = 0;
      double      padding = 1.; ///< stored over present blocks, in slices

      // Of HybridMatrix, over present ones: those in ELLPACK with padding, and those in coordinates.
      double regular = 1., rest = 0.;
    };

    RowLengths sample_row_lengths(const ElementTables &tables, const int slice_height, const int sorting_window)
    {
      // A stride that has no common factor with the periods of structured numberings takes all kinds of nodes.
      constexpr int                 n_samples = 4096;
      const int                     stride    = std::max(1, tables.n_nodes / n_samples) | 1;
      const int                     n         = (tables.n_nodes + stride - 1) / stride;
      std::vector<std::vector<int>> rows(n);
      struct Sample
      {
        int         n_cells = 0;
        std::size_t length  = 0;
      };
      std::vector<Sample> samples(n);
      std::mutex          one_at_a_time;
      for (const CellTable &batch : tables.batches)
      {
        const int n_shape = batch.reference.n_shape;
        for_shares(batch.n_cells, [&](const std::int64_t begin, const std::int64_t end) {
          std::vector<std::pair<int, const int *>> found; // (sampled row, nodes of a cell that has it)
          for (std::int64_t cell = begin; cell < end; ++cell)
          {
            const int *nodes = &batch.nodes[cell * n_shape];
            for (int i = 0; i < n_shape; ++i)
              if (nodes[i] % stride == 0)
                found.emplace_back(nodes[i] / stride, nodes);
          }
          const std::lock_guard<std::mutex> lock(one_at_a_time);
          for (const auto &[row, nodes] : found)
          {
            rows[row].insert(rows[row].end(), nodes, nodes + n_shape);
            ++samples[row].n_cells;
          }
        });
      }
      const bool by_length = tables.batches.size() > 1 || !tables.constraints.masters.empty();
      RowLengths result;
      for (int row = 0; row < n; ++row)
      {
        std::sort(rows[row].begin(), rows[row].end());
        samples[row].length = std::unique(rows[row].begin(), rows[row].end()) - rows[row].begin();
        result.mean += static_cast<double>(samples[row].length) / n;
        result.longest = std::max(result.longest, samples[row].length);
      }

      // ElementBatches sorts inside of windows by the number of cells, or by length where cells differ.
      double stored = 0.;
      for (int window = 0; window < n; window += sorting_window)
      {
        const int end = std::min(n, window + sorting_window);
        std::stable_sort(samples.begin() + window, samples.begin() + end, [&](const Sample &a, const Sample &b) {
          return by_length ? a.length > b.length : a.n_cells > b.n_cells;
        });
      }
      for (int slice = 0; slice < n; slice += slice_height)
      {
        const int   end  = std::min(n, slice + slice_height);
        std::size_t most = 0;
        for (int row = slice; row < end; ++row)
          most = std::max(most, samples[row].length);
        stored += static_cast<double>(most) * (end - slice);
      }
      if (n == 0)
        return result;
      result.padding = stored / (result.mean * n);

      std::sort(samples.begin(), samples.end(), [](const Sample &a, const Sample &b) { return a.length < b.length; });
      const std::size_t fitting = samples[n - (n + 2) / 3].length;
      double            rest    = 0.;
      for (const Sample &sample : samples)
        rest += static_cast<double>(sample.length - std::min(sample.length, fitting));
      result.regular = static_cast<double>(fitting) / result.mean;
      result.rest    = rest / (result.mean * n);
      return result;
    }
  } // namespace

  std::size_t MemoryForecast::peak() const
  {
    return batches + std::max(structure, plan + matrix + std::max(conversion, solver + preconditioner));
  }

  MemoryForecast forecast_memory(const Backend                &backend,
                                 const ElementTables          &tables,
                                 const AssemblyParameters     &assembly,
                                 const int                     n_coefficients_per_point,
                                 const std::size_t             number_size,
                                 const PreconditionerForecast &preconditioner,
                                 const bool                    conversion)
  {
    using Format                 = MatrixFormat::Kind;
    const bool         automatic = assembly.format == "auto";
    const MatrixFormat format    = automatic ? MatrixFormat() : assembly.matrix_format();
    // A window that is chosen pads no more than the default one. Of the formats that are timed slices of 64 pad most.
    using BatchesData = ElementBatches::AdditionalData;
    const int window =
        assembly.sorting_window == BatchesData::best_window ? BatchesData().sorting_window : assembly.sorting_window;
    const RowLengths lengths = sample_row_lengths(tables, assembly.calibrate ? 64 : format.slice_height, window);
    // Of which preconditioners that want slices need a copy.
    const bool        csr      = format.kind == Format::csr || format.kind == Format::mdia;
    const std::size_t n_nodes  = tables.n_nodes;
    const std::size_t n_comp   = tables.n_components;
    const std::size_t n_dofs   = n_nodes * n_comp;
    const auto        n_blocks = static_cast<std::size_t>(lengths.mean * n_nodes);

    std::size_t n_pairs = 0, n_candidates = 0, largest_cell = 0, all_cells = 0, largest_shape = 0,
                least_shape   = SIZE_MAX;
    bool           high_order = false;
    MemoryForecast result;
    result.batches = tables.points.size() * sizeof(double) + n_dofs * sizeof(int);
    for (const CellTable &batch : tables.batches)
    {
      const std::size_t n_cells = batch.n_cells, n_shape = batch.reference.n_shape;
      n_pairs += n_cells * n_shape;
      n_candidates += n_cells * n_shape * n_shape;
      const std::size_t cell_bytes = n_shape * n_shape * n_comp * n_comp * number_size;
      largest_shape                = std::max(largest_shape, n_shape);
      least_shape                  = std::min(least_shape, n_shape);
      largest_cell                 = std::max(largest_cell, cell_bytes);
      all_cells += n_cells * cell_bytes;
      high_order = high_order || batch.reference.degree > 1;
      result.batches += (batch.nodes.size() + batch.geometry.size() + 2 * n_cells) * sizeof(int) +
                        n_cells * batch.reference.n_quadrature * n_coefficients_per_point * number_size;
    }

    // Values with padding; columns of blocks or of scalars; offsets. Neighbours along the curve are less alike than
    // samples of the whole, and hanging nodes lengthen rows here and there.
    const bool        hanging  = !tables.constraints.masters.empty();
    const double      margin   = hanging ? 1.15 : 1.08;
    const double      padding  = lengths.padding * margin;
    const std::size_t n_values = n_blocks * n_comp * n_comp;
    const std::size_t rows     = n_values * (number_size + sizeof(int)) + n_dofs * sizeof(std::int64_t);
    const auto        slices   = [&](const double padding, const std::size_t n_columns, const std::size_t column) {
      return static_cast<std::size_t>(padding * (n_values * number_size + n_columns * column)) + n_nodes * sizeof(int);
    };
    const std::size_t blocks = slices(padding, n_blocks, sizeof(int));
    // Columns of 16 bits may be beside those of 32.
    const std::size_t column = sizeof(int) + (assembly.column_indices == "32 bit" || format.slice_height != 32 ? 0 : 2);
    // Symmetric: of blocks off the diagonal those between patches and half of the others, with columns and slots of 16
    // bits, made of sliced ones by codes for these and numbers and keys for rows.
    const auto symmetric = [&] {
      result.matrix     = static_cast<std::size_t>(0.85 * (n_values * number_size + n_blocks * 4)) + n_nodes * 24;
      result.conversion = blocks + static_cast<std::size_t>(padding * n_blocks) * sizeof(std::uint16_t) + n_nodes * 96;
    };
    switch (format.kind)
    {
    case Format::csr:
      result.matrix = rows;
      break;
    case Format::sliced_ellpack:
      result.matrix = n_comp == 1 ? slices(padding, n_blocks, column) : blocks;
      break;
    case Format::sliced_scalar:
      result.matrix     = slices(padding, n_values, column) + n_dofs * sizeof(int);
      result.conversion = n_comp == 1 ? 0 : rows;
      break;
    case Format::coordinate:
      result.matrix     = n_values * (number_size + 2 * sizeof(int)) + n_values / 128 + n_dofs * number_size;
      result.conversion = rows;
      break;
    case Format::hybrid: {
      const std::size_t regular = slices(lengths.regular * 1.08, n_values, sizeof(int)) + n_dofs * sizeof(int);
      result.matrix             = regular +
                      static_cast<std::size_t>((lengths.rest + 0.05) * n_values * (number_size + 2 * sizeof(int))) +
                      n_dofs * (number_size + 12);
      result.conversion = rows + regular + n_dofs * 24;
      break;
    }
    case Format::mdia:
      result.matrix     = static_cast<std::size_t>(padding * n_values) * sizeof(int) + n_dofs * number_size;
      result.conversion = rows + n_values * sizeof(int) + n_dofs * (number_size + 12);
      break;
    case Format::symmetric:
      symmetric();
      break;
    }
    if (automatic)
    {
      using Kind                 = PreconditionerForecast::Kind;
      const bool        products = preconditioner.kind == Kind::diagonal || preconditioner.kind == Kind::polynomial;
      const MemoryModel memory   = MemoryModel::of(backend);
      PatternStatistics pattern;
      pattern.n_rows = pattern.n_columns = tables.n_nodes;
      pattern.block_rows = pattern.block_columns = tables.n_components;
      pattern.n_blocks                           = static_cast<std::int64_t>(n_blocks);
      pattern.within                             = {1.};
      const std::vector<MatrixFormat> formats    = product_formats(pattern, memory);
      if (products && assembly.calibrate) // all are made
        result.matrix = std::max(result.matrix, rows);
      else if (products)
      {
        // Slices are taken where they cost less than compressed rows, which bounds the padding that they can have: the
        // cost is linear in it.
        const auto cost = [&](const MatrixFormat &candidate, const double of_padding) {
          pattern.stored.fill(static_cast<std::int64_t>(of_padding * static_cast<double>(n_blocks)));
          return predict_formats({candidate}, pattern, static_cast<int>(number_size), memory)[0].cost();
        };
        const double of_rows    = cost({Format::csr}, 1.);
        bool         slices_win = false;
        result.matrix           = 0;
        for (const MatrixFormat &candidate : formats)
          if (candidate.is_sliced() && !(candidate.short_columns && assembly.column_indices == "32 bit"))
          {
            const double none = cost(candidate, 0.), most = (of_rows - none) / (cost(candidate, 1.) - none);
            slices_win    = slices_win || padding <= most;
            result.matrix = std::max(result.matrix, slices(std::min(lengths.padding, most) * margin, n_blocks,
                                                           sizeof(int) + (candidate.short_columns ? 2 : 0)));
          }
        if (!slices_win)
          result.matrix = std::max(result.matrix, rows);
      }
      // Symmetric storage is made where it beats compressed rows, among others, with blocks that at best are all in patches.
      const double on_diagonal = lengths.mean > 0. ? 1. / lengths.mean : 1.;
      pattern.on_diagonal      = on_diagonal;
      pattern.inside           = 1. - on_diagonal;
      const bool shares        = std::any_of(formats.begin(), formats.end(), [&](const MatrixFormat &candidate) {
        return candidate.kind == Format::symmetric &&
               (assembly.calibrate ||
                best_format(predict_formats({candidate, {Format::csr}}, pattern, static_cast<int>(number_size), memory))
                        .format.kind == Format::symmetric);
      });
      if (products && conversion && shares)
      {
        const std::size_t assembled = result.matrix;
        symmetric();
        const std::size_t both = result.matrix + result.conversion;
        result.matrix          = std::max(result.matrix, assembled);
        result.conversion      = std::max(both, result.matrix) - result.matrix;
      }
    }
    result.conversion += result.conversion > 0 ? n_dofs * number_size : 0; // the right-hand side

    // Columns of the sparsity are there until the matrix has them, so they count to it.
    const std::size_t columns = n_blocks * sizeof(int) + n_nodes * sizeof(std::int64_t);

    // A place per pair of nodes of a cell; cells of patches, each in up to three, and while the plan is made their
    // order. With the gather strategy, which high degrees may take, the buffer is full; else it holds
    // cells with boundary terms or constraints, for each constrained node about one more than there are cells a node; with
    // one patch it may exceed the budget by a little. Where nodes hang between degrees, cells with constraints couple with up
    // to one and a half times as many nodes as they have.
    const std::size_t place_width = lengths.longest <= 256 ? 1 : 2;
    // Of scalar trilinear hexahedra, which a device gathers, a quarter of the matrix, of others a tenth.
    const bool octets = backend.kind() == BackendKind::cuda && number_size == sizeof(double) && tables.dim == 3 &&
                        n_comp == 1 && !high_order && !tables.batches[0].reference.simplex;
    const std::size_t share  = octets ? 4 : 10;
    const std::size_t budget = std::max<std::size_t>(n_values * number_size / share, std::size_t(16) << 20);
    const std::size_t buffered =
        std::min<std::size_t>(tables.n_cells(), tables.faces.size() + (1 + (tables.n_cells() + n_nodes - 1) / n_nodes) *
                                                                          tables.constraints.n_lines() / n_comp);
    if (high_order && hanging)
      all_cells += static_cast<std::size_t>(1.25 * all_cells * buffered / tables.n_cells());
    const bool may_gather = assembly.strategy == "gather" ||
                            (assembly.strategy == "automatic" && (high_order || octets || assembly.rows_per_patch > 0));
    // Loads are not counted to the budget.
    const std::size_t full   = may_gather ? all_cells : buffered * largest_cell;
    const std::size_t buffer = std::min(budget, full) * 11 / 10 + std::min(budget, full) / (least_shape * n_comp);
    result.plan = n_pairs * (high_order ? 8 : 4) + n_candidates * place_width + tables.n_cells() * 16 + n_nodes * 16 +
                  buffer + buffered * (40 + largest_shape * (8 + largest_shape * place_width));

    // Sorting needs a second copy of keys and of values; candidates of rows are sorted in chunks.
    const std::size_t chunk = std::min<std::size_t>(n_candidates, std::size_t(1) << 27);
    result.structure =
        std::max({n_pairs * 24, n_pairs * 8 + chunk * 8 + columns, n_pairs * 16 + columns + result.plan});

    result.plan += columns;
    result.solver = (n_dofs * 7 + n_nodes * n_comp * (n_comp + 1) / 2) * number_size;

    using Kind                   = PreconditionerForecast::Kind;
    const std::size_t inner_size = preconditioner.number_size;
    const bool        mixed      = inner_size < number_size;
    const auto        in_blocks  = [&](const std::size_t size) {
      return static_cast<std::size_t>(padding * (n_values * size + n_blocks * sizeof(int)));
    };
    const auto in_scalars = [&](const std::size_t size) {
      return static_cast<std::size_t>(padding * n_values * (size + sizeof(int)));
    };
    // The copy of a sliced matrix has values alone.
    const std::size_t copy = csr ? in_blocks(inner_size) : static_cast<std::size_t>(padding * n_values * inner_size);
    // Vectors to work with, and the copy in single precision or the two triangles, which are made of a sliced matrix.
    const std::size_t work = n_dofs * 6 * number_size;
    if (preconditioner.kind == Kind::polynomial)
    {
      // Of whatever format the copy has values alone.
      const std::size_t n_copied = format.kind == Format::mdia ? n_dofs : n_values;
      result.preconditioner =
          work + (mixed ? static_cast<std::size_t>((csr ? 1. : padding) * n_copied * inner_size) : 0);
    }
    if (preconditioner.kind == Kind::ssor)
      result.preconditioner =
          work + in_blocks(inner_size) + (csr ? in_blocks(number_size) : 0) + n_blocks * 2 * sizeof(int) + n_nodes * 64;
    // Of the lower triangle there are A and R in double and columns, while its scalar rows are taken from a copy.
    if (preconditioner.kind == Kind::cholesky)
      result.preconditioner = work + in_scalars(inner_size) + in_scalars(number_size) +
                              static_cast<std::size_t>(14 * n_values) + n_dofs * 64;
    if (preconditioner.kind == Kind::multigrid)
    {
      // Rows of the prolongator have six or seven blocks, and it is stored with its transpose; those of its product with
      // the matrix up to twenty, whose values are there in stretches, beside a second copy of the prolongator's. Before
      // that there is the graph of the nodes, then rows of the patterns before their lengths are known. Coarser levels add
      // a few per cent, or with small aggregates as much as the finest.
      const std::size_t n_modes    = preconditioner.n_modes;
      const std::size_t level_size = preconditioner.fallback ? number_size : inner_size;
      const std::size_t block      = n_comp * n_modes * level_size + sizeof(int);
      const std::size_t stretch    = std::max<std::size_t>(n_values * level_size / 3, std::size_t(64) << 20);
      const std::size_t product    = std::min(20 * n_nodes * block, stretch) + 7 * n_nodes * block;
      // Positions and the short edges of stretched cells, with weights.
      const std::size_t graph = n_blocks * (12 + 8) + n_nodes * (2 * 24 + 16), rows = 32 * n_nodes * sizeof(int);
      const std::size_t pattern = n_nodes * (27 * sizeof(int) + 2 * sizeof(std::int64_t));
      // Patches of large blocks have few nodes, so that much of their slices is padding.
      const std::size_t patches =
          static_cast<std::size_t>((n_comp > 1 ? 1.6 : 1.1) * in_blocks(inner_size)) + n_nodes * 32;
      const std::size_t levels = 14 * n_nodes * block + 2 * n_dofs * n_modes * sizeof(double) +
                                 4 * n_dofs * level_size + (preconditioner.fallback ? 4 * n_dofs * inner_size : 0) +
                                 n_nodes * 24 + pattern + std::max({product, graph, rows}) +
                                 (preconditioner.on_patches ? patches : 0) +
                                 (preconditioner.many_coarse || preconditioner.fallback ? in_blocks(level_size) : 0);
      // Where aggregates are few, the device sums their rows in parts, [part][coarse block], in double; the next level has up
      // to 10 or 27 blocks a row, and more than twice as many where aggregates are small. Aggregates have 15 to 40 nodes in
      // space.
      std::size_t parts = 0;
      dispatch(backend, [&](auto where) {
        const std::size_t n_coarse = n_nodes / (tables.dim == 3 ? 15 : 7) + 1;
        const std::size_t n        = kernels::n_coarse_parts(where, static_cast<int>(n_nodes / 40 + 1));
        const std::size_t width    = (tables.dim == 3 ? 27 : 10) * (preconditioner.many_coarse ? 9 : 4) / 4;
        const std::size_t row      = width * n_modes * n_modes * sizeof(double);
        parts                      = n == 1 ? 0 : std::min<std::size_t>(n * n_coarse, 8192) * row;
      });
      result.preconditioner = parts + (mixed ? copy : 0) +
                              (csr && mixed && !preconditioner.fallback ? std::max(in_blocks(number_size), levels)
                                                                        : (csr ? in_blocks(number_size) : 0) + levels);
    }
    return result;
  }

  void require_host_memory(const double bytes, const std::string &what)
  {
    const auto available = static_cast<double>(Backend("host").free_memory());
    if (bytes <= available)
      return;
    char numbers[96];
    std::snprintf(numbers, sizeof(numbers), " at least %.3g GB of the host's memory, but %.3g GB are free",
                  bytes * 1e-9, available * 1e-9);
    throw Error(what + numbers + "; use fewer cells.");
  }

  template <int dim>
  void require_memory_of_mesh(const double n_cells, const bool simplices, const unsigned int n_parts)
  {
    const double bytes_per_cell = dim == 2 ? (simplices ? 130. : 200.) : (simplices ? 240. : 400.);
    char         number[32];
    std::snprintf(number, sizeof(number), "%.3g", n_cells);
    require_host_memory(n_cells / n_parts * bytes_per_cell, "A mesh of " + std::string(number) + " cells takes");
  }

  template void require_memory_of_mesh<2>(double, bool, unsigned int);
  template void require_memory_of_mesh<3>(double, bool, unsigned int);

  void require_memory(const MemoryForecast &forecast, const Backend &backend)
  {
    const std::size_t available = backend.free_memory();
    if (forecast.peak() <= available)
      return;
    char numbers[96];
    std::snprintf(numbers, sizeof(numbers), "about %.3g GB, but %.3g GB are free", forecast.peak() * 1e-9,
                  available * 1e-9);
    throw Error("This problem needs " + std::string(numbers) + " on the back end " + backend.name() +
                "; refine less, lower the degree, or use a back end with more memory.");
  }
} // namespace PatchFEM
