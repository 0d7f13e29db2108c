// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/expression.h>
#include <patchfem/app/linear_system_path.h>

#include <map>

namespace PatchFEM
{
  /**
   * Which cell has which polynomial degree: all the same, or on an hp space one that a formula chooses from a list. The
   * position in that list is the active FE index of deal.II.
   */
  template <int dim>
  class CellDegrees
  {
  public:
    CellDegrees(const FiniteElementParameters &parameters, const Constants &constants);

    /** Throws Error if a formula is given for a material that no cell has. */
    void resolve(const MeshRegions &present) { degree.resolve(present); }

    /**
     * Sets the active FE indices of the locally owned cells. Throws Error, naming the place, where the formula gives
     * something that is not in the list.
     */
    void assign(dealii::DoFHandler<dim> &dof_handler) const;

  private:
    const std::vector<unsigned int> degrees;
    MaterialFunction<dim>           degree;
  };

  /** How many cells there are of each degree, summed over all ranks. */
  template <int dim>
  std::map<unsigned int, std::uint64_t> count_cells_by_degree(const dealii::DoFHandler<dim> &dof_handler,
                                                              MPI_Comm                       communicator);

  /**
   * Decides between h and p on the cells that are flagged for refinement or coarsening, as step-27 does: the degree of
   * cells to be refined rises where the solution is smooth, and that of cells to be coarsened falls where it is not; on
   * all others the mesh changes. The degrees of neighbours will differ by one position in the list at most. Cells of
   * the highest degree are always cut.
   *
   * A solution is smooth in a cell if the Legendre coefficients of each component decay at least as
   * exp(-@p smoothness_threshold k), k the sum of the orders in all directions (Mavriplis 1994: 1).
   *
   * To be called once all refinement flags are set; prepares the triangulation for execution.
   */
  template <int dim>
  void choose_between_h_and_p(dealii::Triangulation<dim>    &triangulation,
                              const dealii::DoFHandler<dim> &dof_handler,
                              const SolutionVector          &solution,
                              double                         smoothness_threshold);

  /** Throws Error unless periodic neighbours have equal degrees: deal.II cannot constrain different elements there. */
  template <int dim>
  void check_degrees_of_periodic_cells(const dealii::DoFHandler<dim> &dof_handler);
} // namespace PatchFEM
