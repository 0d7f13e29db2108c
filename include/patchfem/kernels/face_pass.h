// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/kernels/face_law.h>
#include <patchfem/kernels/laws.h>

/** @file Face laws (see face_law.h) at the quadrature points of boundary faces, a thread a point. */
namespace PatchFEM
{
  /** One law on its faces of cells of one batch. */
  struct FacePass
  {
    BatchesView   batches;
    int           b;          ///< the batch
    const double *u;          ///< [node][component]
    const double *parameters; ///< those of the law, everywhere the same
    double        time, step, load_factor;

    int                 n_faces;
    const int          *cells;  ///< [face], position in the batch
    const int          *faces;  ///< [face], number in its cell
    const std::int64_t *points; ///< [face], its first point in the arrays below

    double *traction; ///< [point][component], added to
    double *tangent;  ///< [point][component][n_inputs], added to; null: none
    int     n_inputs; ///< at least those of the law

    std::int64_t *failure; ///< the least of point * 8 + Refusal
  };

  namespace kernels
  {
    // An undefined symbol names what has to be called in CMakeLists.txt.
    inline namespace needs_patchfem_add_law
    {
      template <typename Where, typename Law>
      struct LawKernels<Where, Law, LawKind::face>
      {
        /** Tractions and, if there is room for them, tangents. */
        static void evaluate(const Where &where, const FacePass &pass);
      };
    } // namespace needs_patchfem_add_law
  }   // namespace kernels
} // namespace PatchFEM
