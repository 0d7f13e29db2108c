// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/exceptions.h>
#include <patchfem/lac/matrix/format_calibration.h>
#include <patchfem/lac/matrix/matrix_factory.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <omp.h>
#include <sys/stat.h>
#include <unistd.h>

namespace PatchFEM
{
  namespace
  {
    using Rates = std::map<std::string, double>;

    /** Lines of a rate, a tab and what it is of; whatever else there is is left out. */
    Rates read_rates(const std::string &file)
    {
      Rates         result;
      std::ifstream in(file);
      for (std::string line; std::getline(in, line);)
      {
        std::istringstream text(line);
        double             rate = 0.;
        std::string        key;
        if (text >> rate && text.get() == '\t' && std::getline(text, key) && std::isfinite(rate) && rate > 0.)
          result[key] = rate;
      }
      return result;
    }

    /** Under a temporary name of this process first, so that others never see half a file; none if that fails. */
    void write_rates(const std::string &file, const Rates &rates)
    {
      for (std::size_t slash = file.find('/', 1); slash != std::string::npos; slash = file.find('/', slash + 1))
        mkdir(file.substr(0, slash).c_str(), 0755); // those that exist stay
      const std::string temporary = file + "." + std::to_string(getpid()) + ".part";
      std::ofstream     out(temporary);
      out.precision(6);
      for (const auto &entry : rates)
        out << entry.second << '\t' << entry.first << '\n';
      out.close(); // a full disk shows no earlier
      if (!out || std::rename(temporary.c_str(), file.c_str()) != 0)
        std::remove(temporary.c_str());
    }

    int power_of_two(const double value)
    {
      return value > 0. ? static_cast<int>(std::lround(std::log2(value))) : 0;
    }

    template <typename Number>
    double seconds_of_product(const MatrixBase<Number> &matrix)
    {
      const Backend &backend = matrix.backend();
      Vector<Number> x(backend, matrix.n_columns()), y(backend, matrix.n_rows());
      matrix.vmult(y, x);
      backend.synchronize();
      std::vector<double> seconds;
      for (int i = 0; i < 7; ++i)
      {
        const auto start = std::chrono::steady_clock::now();
        matrix.vmult(y, x);
        backend.synchronize();
        seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
      }
      std::nth_element(seconds.begin(), seconds.begin() + 3, seconds.end());
      return seconds[3];
    }
  } // namespace

  std::string format_rates_file()
  {
    const char *const cache = std::getenv("XDG_CACHE_HOME");
    const char *const home  = std::getenv("HOME");
    if (cache != nullptr && cache[0] == '/')
      return std::string(cache) + "/patchfem/format_rates";
    return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/patchfem/format_rates" : "";
  }

  template <typename Number>
  int calibrate_formats(const Backend                 &backend,
                        const SparsityView            &pattern,
                        const PatternStatistics       &statistics,
                        std::vector<FormatPrediction> &predictions,
                        const std::string             &file,
                        const std::string             &build)
  {
    const std::string unnamed = "-dirty";
    const bool        keeps   = !file.empty() && (build.size() < unnamed.size() ||
                                         build.compare(build.size() - unnamed.size(), unnamed.size(), unnamed) != 0);
    Rates             rates   = keeps ? read_rates(file) : Rates();
    const int         rows = statistics.block_rows, columns = statistics.block_columns;
    int               n_measured = 0;
    const char       *separator  = " | ";
    for (FormatPrediction &prediction : predictions)
    {
      std::ostringstream key;
      key << backend.name() << separator << backend.device_name() << separator;
      if (backend.kind() != BackendKind::cuda)
        key << omp_get_max_threads() << " threads" << separator;
      key << build << separator << prediction.format.name() << separator << rows << 'x' << columns << separator << "fp"
          << 8 * sizeof(Number) << separator << "rows of 2^"
          << power_of_two(double(statistics.n_blocks) / std::max(1, statistics.n_rows)) << separator << "2^"
          << power_of_two(prediction.bytes) << " bytes";
      const auto known = rates.find(key.str());
      if (known != rates.end())
      {
        prediction.rate = known->second;
        continue;
      }
      const MatrixFormat &format = prediction.format;
      require(!is_converted(format, rows * columns) || format.kind == MatrixFormat::Kind::symmetric,
              "Only formats that are chosen by themselves can be calibrated, not " + format.name() + ".");
      std::unique_ptr<MatrixBase<Number>> matrix =
          make_matrix<Number>(backend, pattern, rows, columns, assembled_format(format, rows));
      if (is_converted(format, rows * columns))
        matrix = convert(*matrix, format);
      const double seconds = seconds_of_product(*matrix);
      prediction.rate      = prediction.bytes / std::max(seconds, 1e-9);
      rates[key.str()]     = prediction.rate;
      ++n_measured;
    }
    if (n_measured > 0 && keeps)
      write_rates(file, rates);
    std::stable_sort(predictions.begin(), predictions.end(),
                     [](const FormatPrediction &a, const FormatPrediction &b) { return a.cost() < b.cost(); });
    return n_measured;
  }

  template int calibrate_formats<float>(const Backend &,
                                        const SparsityView &,
                                        const PatternStatistics &,
                                        std::vector<FormatPrediction> &,
                                        const std::string &,
                                        const std::string &);
  template int calibrate_formats<double>(const Backend &,
                                         const SparsityView &,
                                         const PatternStatistics &,
                                         std::vector<FormatPrediction> &,
                                         const std::string &,
                                         const std::string &);
} // namespace PatchFEM
