// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/base/commit.h>
#include <patchfem/lac/matrix/format_model.h>

#include <map>
#include <string>
#include <vector>

namespace PatchFEM
{
  /** Bytes per second by what they were measured of, which begins with the back end and its device. */
  using MeasuredRates = std::map<std::string, double>;

  /**
   * Sets the rate of each of @p predictions (of product_formats()) to what a few products with a matrix of zeros reach,
   * sorts them, the fastest first, and returns how many were measured. @p pattern is memory of @p backend.
   *
   * A rate that @p known has for this device, @p build, format, number type, block size and about this length of rows
   * and size of matrix (both to a factor of two) is taken from there, and a new one added; with a build of changed
   * files, whose name ends in `-dirty` and says nothing about the kernels in it, all are measured each time. Each
   * measurement takes the time of about ten products and, while it lasts, the memory of the matrix, or of two where one
   * is converted.
   */
  template <typename Number>
  int calibrate_formats(const Backend                 &backend,
                        const SparsityView            &pattern,
                        const PatternStatistics       &statistics,
                        std::vector<FormatPrediction> &predictions,
                        MeasuredRates                 &known,
                        const std::string             &build = commit());

  /**
   * Sets the rate of MemoryModel::of(@p backend), for all that ask in this process afterwards, to that of reading 256
   * MiB, or a quarter of what is free if that is less, on this device: the one that @p known has, else one measured
   * before in this process or now, in a few milliseconds, which is added. Does not depend on the number type: reads are
   * as wide as they can be. Other threads must not ask meanwhile.
   */
  void use_measured_rate(const Backend &backend, MeasuredRates &known);
} // namespace PatchFEM
