// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/app/format_choice.h>
#include <patchfem/base/exceptions.h>
#include <patchfem/base/write_file.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace PatchFEM
{
  std::vector<MatrixFormat> candidate_formats(const AssemblyParameters &assembly,
                                              const PatternStatistics  &pattern,
                                              const MemoryModel        &memory,
                                              const FormatNeeds        &needs)
  {
    const bool                automatic = assembly.format == "auto";
    std::vector<MatrixFormat> formats;
    if (automatic)
      formats = needs.rows || !needs.conversion ? assembled_formats(pattern) : product_formats(pattern, memory);
    else
    {
      formats.push_back(assembly.matrix_format());
      const MatrixFormat &named = formats[0];
      if (assembly.column_indices == "auto" && named.slice_height == 32 && named.is_sliced() &&
          (pattern.block_rows == 1 || !format_row(named).is(FormatRow::blocks)))
      {
        formats.push_back(named);
        formats.back().short_columns = true;
      }
    }
    formats.erase(std::remove_if(formats.begin(), formats.end(),
                                 [&](const MatrixFormat &format) {
                                   return (automatic && needs.rows && !format.is_sliced()) ||
                                          (assembly.column_indices == "32 bit" && format.short_columns);
                                 }),
                  formats.end());
    return formats;
  }

  std::string format_rates_file()
  {
    const char *const cache = std::getenv("XDG_CACHE_HOME");
    const char *const home  = std::getenv("HOME");
    if (cache != nullptr && cache[0] == '/')
      return std::string(cache) + "/patchfem/format_rates";
    return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/patchfem/format_rates" : "";
  }

  MeasuredRates read_rates(const std::string &file)
  {
    std::ifstream in(file);
    if (!in)
      return {};
    try
    {
      const auto rates = nlohmann::json::parse(in).get<MeasuredRates>();
      if (std::all_of(rates.begin(), rates.end(), [](const auto &rate) { return rate.second > 0.; }))
        return rates;
    }
    catch (const nlohmann::json::exception &)
    {}
    std::cerr << "The file " + file + " has no rates that can be read; they are measured anew.\n";
    return {};
  }

  void write_rates(const std::string &file, const MeasuredRates &rates)
  {
    if (file.empty())
      return;
    try
    {
      std::filesystem::create_directories(std::filesystem::path(file).parent_path());
      write_file(file, [&](std::ostream &out) { out << nlohmann::json(rates).dump(2) << '\n'; });
    }
    catch (const std::exception &error)
    {
      std::cerr << "Measured rates are not kept. " << error.what() << '\n';
    }
  }

  void prepare_choice(const Backend &backend, const AssemblyParameters &assembly, const std::size_t n_unknowns)
  {
    constexpr std::size_t large = 1000000; // unknowns, whose solution takes far longer than a measurement
    if (assembly.format != "auto" || backend.kind() != BackendKind::cuda || (n_unknowns < large && !assembly.calibrate))
      return;
    MeasuredRates     rates   = read_rates(format_rates_file());
    const std::size_t n_known = rates.size();
    use_measured_rate(backend, rates);
    if (assembly.calibrate && rates.size() > n_known)
      write_rates(format_rates_file(), rates);
  }

  template <typename Number>
  FormatPrediction choose_format(const Backend            &backend,
                                 const AssemblyParameters &assembly,
                                 const SparsityView       &pattern,
                                 const int                 block_size,
                                 const FormatNeeds        &needs)
  {
    const MemoryModel             memory    = MemoryModel::of(backend);
    const PatternStatistics       counted   = pattern_statistics(backend, pattern, block_size, block_size);
    const bool                    automatic = assembly.format == "auto";
    std::vector<FormatPrediction> predictions =
        predict_formats(candidate_formats(assembly, counted, memory, needs), counted, sizeof(Number), memory);
    if (automatic && assembly.calibrate)
    {
      MeasuredRates rates = read_rates(format_rates_file());
      if (calibrate_formats<Number>(backend, pattern, counted, predictions, rates) > 0)
        write_rates(format_rates_file(), rates);
    }
    return automatic ? best_format(predictions) : predictions[0];
  }

  template FormatPrediction
  choose_format<float>(const Backend &, const AssemblyParameters &, const SparsityView &, int, const FormatNeeds &);
  template FormatPrediction
  choose_format<double>(const Backend &, const AssemblyParameters &, const SparsityView &, int, const FormatNeeds &);
} // namespace PatchFEM
