// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/linear_system_path.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace PatchFEM
{
  template <int dim>
  class LawPhysics;

  /** The pictures of a run as `solution.pvd`, which ParaView opens as a series. One rank writes it. */
  class PictureSeries
  {
  public:
    explicit PictureSeries(const std::string &folder) : folder(folder) {}

    /** Adds @p file, relative to the folder, at @p time, and writes the list. */
    void add(double time, const std::string &file);

  private:
    const std::string                           folder;
    std::vector<std::pair<double, std::string>> pictures;
  };

  /** Says on @p out if values of magnitude @p largest are beyond those of pictures, which are in single precision. */
  void note_range_of_pictures(double largest, std::ostream &out);

  /**
   * Writes a solution as VTU: NAME.vtu on one rank, a piece per rank and NAME.pvtu on several. Contains the solution,
   * what the physics derives from it, the material id, and on hp spaces the degree of each cell, as data of nodes
   * `aggregate_0`, `patch_0` and so on for each level of multigrid. Field data `materials` have their names. Every file is renamed when it is whole.
   *
   * @param folder Exists.
   * @param report Of the path that found the solution: its patches of cells, and aggregates of multigrid if there.
   * @return the file that shows all of it, NAME.vtu or NAME.pvtu.
   */
  template <int dim>
  std::string write_picture(const std::string         &folder,
                            const std::string         &name,
                            const Discretisation<dim> &discretisation,
                            const Physics<dim>        &physics,
                            const SolutionVector      &solution,
                            const PathReport          &report,
                            const MeshRegions         &materials);

  /**
   * write_picture() of a nonlinear problem. Derived fields are those of quadrature points, extrapolated to the nodes of their
   * cell: @p fluxes of the laws there, [active cell][q][component][dim], of this rank's cells.
   */
  template <int dim>
  std::string write_picture(const std::string                      &folder,
                            const std::string                      &name,
                            const Discretisation<dim>              &discretisation,
                            const LawPhysics<dim>                  &physics,
                            const SolutionVector                   &solution,
                            const std::vector<std::vector<double>> &fluxes,
                            const MeshRegions                      &materials);
} // namespace PatchFEM
