// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/kernels/parallel_for.h>
#include <patchfem/kernels/pattern_statistics.h>
#include <patchfem/kernels/runtime.h>
#include <patchfem/lac/matrix/format_calibration.h>
#include <patchfem/lac/matrix/matrix_factory.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <sstream>

#include <omp.h>

namespace PatchFEM
{
  namespace
  {
    constexpr char separator[] = " | ";

#ifdef PATCHFEM_WITH_CUDA
    cuda_runtime::DeviceProperties properties(const Backend &backend)
    {
      backend.stream(); // makes its device the current one
      return cuda_runtime::device_properties();
    }
#endif

    /** What rates depend on before all else. */
    std::string device_key(const Backend &backend)
    {
      std::string result = backend.name() + separator + backend.device_name() + separator;
#ifdef PATCHFEM_WITH_CUDA
      if (backend.kind() == BackendKind::cuda)
        return result + properties(backend).versions + separator;
#endif
      return result + std::to_string(omp_get_max_threads()) + " threads" + separator;
    }

    int power_of_two(const double value)
    {
      return value > 0. ? static_cast<int>(std::lround(std::log2(value))) : 0;
    }

    /** The median of seven after one that does not count. */
    template <typename Work>
    double seconds_of(const Backend &backend, const Work &work)
    {
      std::vector<double> seconds;
      for (int i = 0; i < 8; ++i)
      {
        backend.synchronize();
        const auto start = std::chrono::steady_clock::now();
        work();
        backend.synchronize();
        if (i > 0)
          seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
      return std::max(seconds[3], 1e-9);
    }

    /** By the kind of back end, of which there is one device each. */
    std::array<std::optional<double>, 3> &learned_rates()
    {
      static std::array<std::optional<double>, 3> rates;
      return rates;
    }
  } // namespace

  MemoryModel MemoryModel::of(const Backend &backend)
  {
    MemoryModel result;
#ifdef PATCHFEM_WITH_CUDA
    if (backend.kind() == BackendKind::cuda)
    {
      const cuda_runtime::DeviceProperties device = properties(backend);
      result                                      = {device.cache, 64., true, device.rate, device.n_processors};
    }
#endif
    result.rate = learned_rates()[static_cast<int>(backend.kind())].value_or(result.rate);
    return result;
  }

  void use_measured_rate(const Backend &backend, MeasuredRates &known)
  {
    std::optional<double> &learned = learned_rates()[static_cast<int>(backend.kind())];
    double                &rate    = known[device_key(backend) + "reading"];
    if (!(rate > 0.) && learned)
      rate = *learned;
    else if (!(rate > 0.))
    {
      using Body                    = kernels::ReadBody;
      constexpr std::size_t most    = 256 << 20;
      const std::size_t     n       = std::max<std::size_t>(1, std::min(most, backend.free_memory() / 4) / Body::bytes);
      constexpr int         n_reads = 4; // so that launches do not count
      Array<Body::Piece>    memory(backend, n * Body::n_pieces);
      memory.set_zero();
      rate = double(n_reads * n * Body::bytes) / seconds_of(backend, [&] {
               for (int i = 0; i < n_reads; ++i)
                 launch(backend, [&](auto where) {
                   kernels::parallel_for(where, n, Body{memory.data(), static_cast<std::int64_t>(n)});
                 });
             });
    }
    learned = rate;
  }

  template <typename Number>
  int calibrate_formats(const Backend                 &backend,
                        const SparsityView            &pattern,
                        const PatternStatistics       &statistics,
                        std::vector<FormatPrediction> &predictions,
                        MeasuredRates                 &known,
                        const std::string             &build)
  {
    const std::string unnamed = "-dirty";
    const bool     is_named   = build.size() < unnamed.size() || build.substr(build.size() - unnamed.size()) != unnamed;
    MeasuredRates  none;
    MeasuredRates &rates = is_named ? known : none;
    const int      rows = statistics.block_rows, columns = statistics.block_columns;
    int            n_measured = 0;
    for (FormatPrediction &prediction : predictions)
    {
      std::ostringstream key;
      key << device_key(backend) << build << separator << prediction.format.name() << separator << rows << 'x'
          << columns << separator << "fp" << 8 * sizeof(Number) << separator << "rows of 2^"
          << power_of_two(double(statistics.n_blocks) / std::max(1, statistics.n_rows)) << separator << "2^"
          << power_of_two(prediction.bytes) << " bytes";
      double &rate = rates[key.str()];
      if (rate > 0.)
      {
        prediction.rate = rate;
        continue;
      }
      const MatrixFormat &format = prediction.format;
      MemoryModel         device;
      device.is_device = true;
      require(!format.kind->candidates(statistics, device).empty(),
              "Only formats that are chosen by themselves can be calibrated, not ", format.name(), ".");
      std::unique_ptr<MatrixBase<Number>> matrix =
          make_matrix<Number>(backend, pattern, rows, columns, assembled_format(format, rows));
      if (is_converted(format, rows * columns))
        matrix = convert(*matrix, format);
      Vector<Number> x(backend, matrix->n_columns()), y(backend, matrix->n_rows());
      rate            = prediction.bytes / seconds_of(backend, [&] { matrix->vmult(y, x); });
      prediction.rate = rate;
      ++n_measured;
    }
    std::stable_sort(predictions.begin(), predictions.end(),
                     [](const FormatPrediction &a, const FormatPrediction &b) { return a.cost() < b.cost(); });
    return n_measured;
  }

#define PATCHFEM_INSTANTIATE(Number)                                                                       \
  template int calibrate_formats<Number>(const Backend &, const SparsityView &, const PatternStatistics &, \
                                         std::vector<FormatPrediction> &, MeasuredRates &, const std::string &)
  PATCHFEM_INSTANTIATE(float);
  PATCHFEM_INSTANTIATE(double);
#undef PATCHFEM_INSTANTIATE
} // namespace PatchFEM
