// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/amg_parameters.h>
#include <patchfem/lac/multigrid/near_null_space.h>
#include <patchfem/lac/multigrid/smoothed_aggregation.h>

#include <memory>
#include <vector>

/** @file The step to degree 1 at the top of a hierarchy, of one rank or of several, which call these together. */
namespace PatchFEM::multigrid
{
  /** The embedding of @p near_null if it serves @p A, whose null space has the basis @p null_vectors; else null. */
  template <typename Number>
  std::shared_ptr<const LinearEmbedding> usable_embedding(const SlicedEllpackMatrix<Number> &A,
                                                          const NearNullSpace               &near_null,
                                                          const AMGParameters               &parameters,
                                                          const std::vector<Array<double>>  &null_vectors);

  /** @p modes become those at the vertices, and @p null_vectors an orthonormal basis there. Returns where these lie. */
  Array<double> restrict_to_vertices(const LinearEmbedding      &embedding,
                                     const NearNullSpace        &near_null,
                                     int                         n_components,
                                     Array<double>              &modes,
                                     std::vector<Array<double>> &null_vectors);
} // namespace PatchFEM::multigrid
