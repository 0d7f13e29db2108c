// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/lac/multigrid/linear_embedding.h>

#include <memory>
#include <vector>

namespace PatchFEM
{
  class Communicator;

  /**
   * Modes of (nearly) no energy, which the coarse levels of smoothed aggregation must represent: B, a row of n_modes
   * entries for every unknown, [node][component][mode], and what else is known of the space that a matrix is of. Where
   * these are the positions of the nodes, aggregates follow the shape of cells (see MISAggregation), and where it is the
   * embedding of degree 1, that is the first transfer of multigrid.
   */
  class NearNullSpace
  {
  public:
    NearNullSpace() = default;

    /** One constant per component. */
    static NearNullSpace constants(const Backend &backend, int n_nodes, int n_components);

    /** The same at nodes whose positions are known: @p points is [node][dim] on their back end. */
    static NearNullSpace constants(int n_components, int dim, const Array<double> &points);

    /**
     * Translations and rotations about the centroid, 3 modes in 2D and 6 in 3D; @p points is [node][dim]. Where each of
     * several @p ranks has some of them, the centroid is that of all; collective then.
     */
    static NearNullSpace rigid_body_modes(int dim, const Array<double> &points, const Communicator *ranks = nullptr);

    /** @p n_modes modes, [node][component][mode], at nodes whose positions may be known, [node][dim]. */
    static NearNullSpace at_nodes(int n_modes, Array<double> &&modes, int dim, const Array<double> &points);

    /** Modes given by the user, each with an entry for every unknown. */
    static NearNullSpace from_vectors(const Backend &backend, const std::vector<std::vector<double>> &modes);

    int n_modes() const { return modes_per_unknown; }
    int n_unknowns() const { return modes_per_unknown > 0 ? int(values.size() / modes_per_unknown) : 0; }
    const Array<double> &array() const { return values; }
    const Backend       &backend() const { return values.backend(); }

    /** Positions of the nodes, [node][dim]; empty where they are not known. */
    const Array<double> &points() const { return node_points; }
    int                  dim() const { return n_coordinates; }

    /** Null where it is not known, or degree 1 is all there is. */
    const std::shared_ptr<const LinearEmbedding> &embedding() const { return linear; }

    void set_embedding(std::shared_ptr<const LinearEmbedding> embedding) { linear = std::move(embedding); }

  private:
    int           modes_per_unknown = 0, n_coordinates = 0;
    Array<double> values, node_points;

    std::shared_ptr<const LinearEmbedding> linear;

    void set_points(int dim, const Array<double> &points);
  };
} // namespace PatchFEM
