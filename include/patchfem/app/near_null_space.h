// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>

namespace PatchFEM
{
  /** The modes of no energy at locally owned unknowns, [mode][owned unknown]; rotations about the nodes' centroid. */
  template <int dim>
  std::vector<double> near_null_space(const Discretisation<dim> &discretisation, const Equation<dim> &equation);

  /** Motions of a part of the mesh without energy, or one with next to none. */
  struct FreeModes
  {
    std::string                      part;          ///< `mesh`, or where the part is
    std::string                      names;         ///< the modes that no condition holds
    std::string                      joint;         ///< the node or the line about which it turns, or empty
    std::vector<std::vector<double>> modes    = {}; ///< [mode][locally owned unknown], 0 where nothing moves
    double                           sine     = 0.; ///< without modes: the largest angle at which it is held
    double                           rounding = 0.; ///< that the rounding of the mesh's points may lead to
    std::string                      body     = ""; ///< `mesh`, or where the part and all that it meets is
  };

  /**
   * Finds parts of the mesh that can move without energy, mechanisms among them. Parts are cells that are joined by
   * faces, for one mode, the constant, also by nodes.
   *
   * A combination c of the modes of all parts is free if it satisfies every condition: with r the value of the modes in
   * one constraint line, x_i - sum_j w_j x_j, in one component at a point of elastic support, or in the difference of two
   * parts in a node that they share, r . c = 0. So the modes restricted to the conditions must have full rank, which is
   * decided on the sparse matrix G = sum r r^T. Rotations are about the centre of a part and scaled by its size, so that
   * entries of r are of order one.
   *
   * A motion may satisfy all conditions on a part but for small angles, as when a ring slides along a polygon whose
   * vertices were rounded; those up to an angle of 0.01 are returned first, without modes.
   *
   * @param essential_lines The lines of the boundary conditions alone: hanging nodes hold nothing.
   */
  template <int dim>
  std::vector<FreeModes> find_free_modes(const Discretisation<dim>                  &discretisation,
                                         const Equation<dim>                        &equation,
                                         const dealii::AffineConstraints<double>    &essential_lines,
                                         const std::set<dealii::types::boundary_id> &essential_ids);

  /** Fills `inertia` of @p discretisation, whose free modes and parts of these are known. */
  template <int dim>
  void find_inertia(Discretisation<dim> &discretisation);

  /**
   * Fills `out_of_balance` of @p report from the amounts that the first rank has, where there are free modes; parts whose load
   * is in balance are left away. Collective: ranks whose rows another one has get the report, too.
   */
  template <int dim>
  void describe_imbalance(const Discretisation<dim> &discretisation, std::optional<NullSpaceReport> &report);

  /** The forces per volume, by nodes and with ghosts, that hold what is out of balance, - sum_m c_m R_m with its amounts c. */
  template <int dim>
  SolutionVector find_inertia_density(const Discretisation<dim> &discretisation, const NullSpaceReport &report);

  /**
   * Subtracts the combination of the free modes of @p discretisation that makes @p solution orthogonal to them in L2:
   * of all solutions of a singular problem the one that does not depend on the mesh.
   */
  template <int dim>
  void remove_free_modes(const Discretisation<dim> &discretisation, SolutionVector &solution);

  /**
   * Throws Error for what is free, unless @p project, and for what rounding alone holds, with @p remedies of
   * Equation. @return a caution about motions that are held at angles below 0.001, or nothing.
   */
  std::string refuse_singular(const std::vector<FreeModes>              &motions,
                              const std::pair<std::string, std::string> &remedies,
                              bool                                       project);
} // namespace PatchFEM
