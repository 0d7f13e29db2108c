// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "lac/graph/aggregation_steps.h"
#include "lac/graph/graph_steps.h"

// Graphs and their partitions on the device.
namespace PatchFEM
{
  namespace graph_tools
  {
#define INSTANTIATE(Rows) \
  template void read_rows(Here, const Backend &, const Rows &, double, Array<std::int64_t> &, Array<int> &)

    INSTANTIATE(kernels::PatternRows);
    INSTANTIATE(kernels::SlicedEllpackRows<float>);
    INSTANTIATE(kernels::SlicedEllpackRows<double>);
    INSTANTIATE(kernels::CSRRows<float>);
    INSTANTIATE(kernels::CSRRows<double>);
  } // namespace graph_tools
} // namespace PatchFEM
