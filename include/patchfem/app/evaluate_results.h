// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>
#include <patchfem/app/results.h>

namespace PatchFEM
{
  /** Points, boundaries and materials that section `Results` names, on a mesh. */
  template <int dim>
  struct RequestedResults
  {
    std::vector<NamedPoint<dim>>                                points;
    std::vector<std::pair<std::string, std::set<unsigned int>>> boundaries, materials; ///< with their ids

    RequestedResults() = default;

    /** Throws Error for names that the mesh does not have, and for points outside. Collective. */
    RequestedResults(const ResultParameters           &parameters,
                     const Constants                  &constants,
                     const MeshSummary                &mesh,
                     const dealii::Mapping<dim>       &mapping,
                     const dealii::Triangulation<dim> &triangulation);
  };

  /** A solution and all that fixes its problem. */
  template <int dim>
  struct SolvedProblem
  {
    const Discretisation<dim>               &discretisation;
    const Physics<dim>                      &physics;
    const EssentialConditions<dim>          &essential;
    const dealii::AffineConstraints<double> &continuity; ///< constraints that are no supports, closed
    const MeshSummary                       &mesh;
    const SolutionVector                    &solution;
    const std::optional<NullSpaceReport>    &null_space; ///< of a singular system, with what was out of balance
    double                                   tolerance;  ///< of its residual, relative to the loads
  };

  /**
   * All numbers of a solution but its errors. Extremes are at the points of pictures, and those of the whole body are
   * found on the back end of @p solved; without one, as of a reference, on the host. The sums of loads and reactions
   * differ by what the tolerance leaves, which is reported as `imbalance` and shared among the reactions; of moments there is
   * none where boundaries are periodic. Loads that a null space leaves out of balance are held by a `sink`, or by
   * `inertia`. Collective.
   */
  template <int dim>
  Results evaluate_results(const SolvedProblem<dim>    &problem,
                           const RequestedResults<dim> &requested,
                           std::shared_ptr<SolvedSpace> solved);

  /** The points of a cell that pictures have: @p n_subdivisions an edge. The weights are equal, for no integrals. */
  template <int dim>
  dealii::Quadrature<dim> picture_points(const dealii::ReferenceCell &cell, unsigned int n_subdivisions);
} // namespace PatchFEM
