// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/app/preconditioner_factory.h>
#include <patchfem/assembly/element_tables.h>
#include <patchfem/base/backend.h>
#include <patchfem/base/communicator.h>

#include <cstddef>
#include <string>

namespace PatchFEM
{
  /** Bytes on a back end, estimated from the tables on the host, before anything is allocated there. */
  struct MemoryForecast
  {
    std::size_t batches        = 0; ///< mesh, numbering and coefficients
    std::size_t structure      = 0; ///< most while sparsity and patches are made, besides the batches
    std::size_t plan           = 0; ///< patches and the buffer of cell matrices
    std::size_t columns        = 0; ///< the sparsity, until the matrix has it
    std::size_t matrix         = 0; ///< values and columns
    std::size_t conversion     = 0; ///< what a matrix that is not assembled is made of and with, until the solver comes
    std::size_t solver         = 0; ///< right-hand side, solution, residual and vectors of the iteration
    std::size_t preconditioner = 0; ///< most while it is made
    std::size_t fallback       = 0; ///< the same if multigrid's levels turn out to be too hard for single precision

    /** The largest sum at any time: first structure beside the batches, then what stays. */
    std::size_t peak() const;
  };

  /**
   * The sum of what StructureEstimate, FormatCase::storage_bytes() and the preconditioners' peak_bytes() say.
   *
   * @param n_coefficients_per_point Numbers of coefficients and loads that are kept per quadrature point.
   * @param n_modes Of multigrid's near-null space.
   * @param conversion Whether Format = auto may take formats that matrices are converted to.
   */
  MemoryForecast forecast_memory(const Backend            &backend,
                                 const ElementTables      &tables,
                                 const AssemblyParameters &assembly,
                                 int                       n_coefficients_per_point,
                                 const SolverChoice       &solver,
                                 int                       n_modes    = 1,
                                 bool                      conversion = true);

  /**
   * Throws Error if a mesh cannot be in the host's memory, before it is made. A bound from below: what deal.II's
   * Triangulation keeps of a cell with its share of faces, lines and vertices on regular meshes, 200 bytes of a
   * quadrilateral, 130 of a triangle, 400 of a hexahedron, 240 of a tetrahedron. To make it takes half as much again.
   *
   * @param n_cells May be any number: refinement multiplies fast.
   * @param share What this one of @p ranks has of them.
   */
  template <int dim>
  void require_memory_of_mesh(double n_cells, bool simplices, const Communicator &ranks, double share = 1.);

  /**
   * Throws Error if @p bytes are not free on the host; @p what begins the sentence: "The mesh takes". Collective: ranks
   * of one machine have its memory together, those of one control group what that leaves, beside limits of their own,
   * and if it is too little for one all throw the same.
   */
  void require_host_memory(double bytes, const std::string &what, const Communicator &ranks);

  /** Throws Error with both numbers if @p forecast exceeds what is free on @p backend, as require_host_memory(). */
  void require_memory(const MemoryForecast &forecast, const Backend &backend, const Communicator &ranks);
} // namespace PatchFEM
