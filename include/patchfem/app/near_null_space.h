// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>

namespace PatchFEM
{
  /** The modes of no energy at locally owned unknowns, [mode][owned unknown]; rotations about the nodes' centroid. */
  template <int dim>
  std::vector<double> near_null_space(const Discretisation<dim> &discretisation, const Physics<dim> &physics);

  /** What a connected part of the mesh can do without energy. */
  struct FreeModes
  {
    std::string                      part;  ///< `mesh`, or where the part is
    std::string                      names; ///< the modes that no condition holds
    std::vector<std::vector<double>> modes; ///< [mode][locally owned unknown], 0 outside of the part
  };

  /**
   * Finds the connected parts of the mesh that can move without energy.
   *
   * A combination c of the modes is free if it satisfies every condition: with r the value of the modes in one
   * constraint line, x_i - sum_j w_j x_j, or in one component at a point of elastic support, r . c = 0. So the
   * modes restricted to the conditions must have full rank, which is decided on the small matrix
   * G = sum r r^T of each connected part. Rotations are about the centre of the mesh and scaled by its size, so that
   * entries of r are of order one.
   *
   * @param essential_lines The lines of the boundary conditions alone: hanging nodes hold nothing.
   */
  template <int dim>
  std::vector<FreeModes> find_free_modes(const Discretisation<dim>                  &discretisation,
                                         const Physics<dim>                         &physics,
                                         const dealii::AffineConstraints<double>    &essential_lines,
                                         const std::set<dealii::types::boundary_id> &essential_ids);

  /**
   * Subtracts the combination of the free modes of @p discretisation that makes @p solution orthogonal to them in L2:
   * of all solutions of a singular problem the one that does not depend on the mesh.
   */
  template <int dim>
  void remove_free_modes(const Discretisation<dim> &discretisation, SolutionVector &solution);

  /** Throws Error if there are any. @p n_components is that of the physics. */
  void refuse_singular(const std::vector<FreeModes> &free, unsigned int n_components);
} // namespace PatchFEM
