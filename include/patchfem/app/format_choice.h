// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/parameters.h>
#include <patchfem/lac/matrix/format_calibration.h>
#include <patchfem/lac/matrix/matrix_factory.h>

namespace PatchFEM
{
  /** Which formats `Matrix/Format = auto` chooses from. */
  struct FormatNeeds
  {
    bool rows       = false; ///< a preconditioner works on sliced rows, of which compressed ones would need a copy
    bool conversion = true;  ///< there is memory for a matrix and what it is made of
  };

  /** What choose_format() chooses from, which is not empty. */
  std::vector<MatrixFormat> candidate_formats(const AssemblyParameters &assembly,
                                              const PatternStatistics  &pattern,
                                              const MemoryModel        &memory,
                                              const FormatNeeds        &needs);

  /** In the user's cache folder: $XDG_CACHE_HOME/patchfem/format_rates, or that below ~/.cache; empty without any. */
  std::string format_rates_file();

  /** What @p file has; none if it is not there, and none after a sentence on standard error if it is broken. */
  MeasuredRates read_rates(const std::string &file);

  /** Makes its folder, too. Where it cannot be written, a sentence on standard error says why; the run goes on. */
  void write_rates(const std::string &file, const MeasuredRates &rates);

  /**
   * Before forecast and choice: for large systems on CUDA with `Matrix/Format = auto` the rate of memory is measured
   * once in a process, unless the file of rates has it; with `Matrix/Calibrate` of any system, and put there.
   */
  void prepare_choice(const Backend &backend, const AssemblyParameters &assembly, std::size_t n_unknowns);

  /**
   * The format that @p assembly names, or the one that best_format() takes of those that the model of format_model.h,
   * or a calibration, knows for @p pattern in blocks of @p block_size.
   */
  template <typename Number>
  FormatPrediction choose_format(const Backend            &backend,
                                 const AssemblyParameters &assembly,
                                 const SparsityView       &pattern,
                                 int                       block_size,
                                 const FormatNeeds        &needs);
} // namespace PatchFEM
