// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "voxel_parameters.h"

#include <patchfem/app/expression.h>
#include <patchfem/assembly/voxel_poisson.h>

#include <optional>

namespace PatchFEM
{
  /** Where entry @p i of an array of @p n entries in each direction is, x fastest. */
  inline std::array<std::int64_t, 3> position(const std::int64_t i, const std::array<int, 3> &n)
  {
    return {{i % n[0], i / n[0] % n[1], i / n[0] / n[1]}};
  }

  /** The cells and what formulas and image say about them, on the host. */
  template <int dim>
  class VoxelFields
  {
  public:
    /** @param directory Where an image is looked for. Throws Error for what is wrong with cells or formulas. */
    VoxelFields(const PressureParameters &parameters, const std::string &directory);

    const VoxelGrid &grid() const { return box; }

    /** Evaluates what depends on time, and at the first call everything, at @p time. */
    void set_time(double time);

    /** @name At the time that was set */
    /** @{ */
    const std::vector<unsigned char> &labels() const { return all_labels; }
    const std::vector<double>        &velocity(const int d) const { return velocities[d]; } ///< as in FaceVelocities
    const std::vector<double>        &divergence() const { return divergences; }            ///< empty for 0
    /** @} */

    /** Whether the last set_time() changed velocities or divergence. */
    bool flow_changed() const { return changed; }

    bool has_exact_pressure() const { return exact.has_value(); }

    /** At the centres of all cells. */
    std::vector<double> exact_pressure() const { return at_centres(*exact); }

    /**
     * Writes @p file_name as VTU: one cell for each voxel with its label, @p pressure of cells and the mean of its faces'
     * @p face_velocities.
     */
    void write(const std::string         &file_name,
               const std::vector<double> &pressure,
               const std::vector<double> (&face_velocities)[3]) const;

  private:
    VoxelGrid                      box;
    dealii::Point<dim>             corner;
    std::vector<unsigned char>     image_labels; ///< empty without an image
    std::optional<Expression<dim>> fluid, solid, wanted_divergence, exact;
    std::vector<Expression<dim>>   velocity_formulas; ///< empty for 0
    std::vector<unsigned char>     all_labels;
    std::vector<double>            velocities[3], divergences;
    bool                           first = true, changed = true;

    /** The cell's centre, of the @p cell in the order of labels. */
    dealii::Point<dim>  centre(std::int64_t cell) const;
    std::vector<double> at_centres(const Expression<dim> &formula) const;
    void                evaluate_labels();
    void                evaluate_flow();
  };
} // namespace PatchFEM
