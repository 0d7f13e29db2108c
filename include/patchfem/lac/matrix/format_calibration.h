// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef patchfem_lac_matrix_format_calibration_h
#define patchfem_lac_matrix_format_calibration_h

#include <patchfem/base/commit.h>
#include <patchfem/lac/matrix/format_model.h>

#include <string>
#include <vector>

namespace PatchFEM
{
  /** The file in the user's cache folder: $XDG_CACHE_HOME/patchfem/format_rates, or that below ~/.cache; empty without any. */
  std::string format_rates_file();

  /**
   * Sets the rate of each of @p predictions, which must be of product_formats(), to what a few
   * products with a matrix of zeros in it reach, and sorts them, the fastest first. @p pattern is memory of @p backend.
   *
   * A rate that @p file has for this device, @p build, format, number type, block size and about this length of rows and
   * size of matrix (both to a factor of two) is taken from there, and a new one added; without a file, where it cannot
   * be written, or with a build of changed files, whose name ends in `-dirty` and says nothing about the kernels in it,
   * all are measured each time. Each measurement takes the time of about ten products and, while it lasts, the
   * memory of the matrix, or of two where one is converted.
   *
   * @return how many were measured.
   */
  template <typename Number>
  int calibrate_formats(const Backend                 &backend,
                        const SparsityView            &pattern,
                        const PatternStatistics       &statistics,
                        std::vector<FormatPrediction> &predictions,
                        const std::string             &file,
                        const std::string             &build = commit());
} // namespace PatchFEM

#endif
