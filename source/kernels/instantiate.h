// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/** @file Number types of the functions of kernels, the same on host and device: PATCHFEM_INSTANTIATE_CG(Host). */
#define PATCHFEM_INSTANTIATE_CG(Where)                                                                      \
  PATCHFEM_INSTANTIATE_CG_OF(Where, float)                                                                  \
  PATCHFEM_INSTANTIATE_CG_OF(Where, double)                                                                 \
  template void cg_residual(Where, CGResidual, const BlockDiagonalView<float> &, const CGVectors<double> &, \
                            const CGView &);

#define PATCHFEM_INSTANTIATE_CG_OF(Where, Number)                                                            \
  template void cg_step_length(Where, std::int64_t, const Number *, const Number *, const CGView &);         \
  template void cg_residual(Where, CGResidual, const BlockDiagonalView<Number> &, const CGVectors<Number> &, \
                            const CGView &);                                                                 \
  template void cg_preconditioned(Where, CGResidual, const CGVectors<Number> &, const CGView &);             \
  template void cg_direction(Where, std::int64_t, const Number *, Number *, Number *, const CGView &);

#define PATCHFEM_INSTANTIATE_DENSE_VMULT(Where)                                           \
  template void dense_symmetric_vmult(Where, int, const float *, const float *, float *); \
  template void dense_symmetric_vmult(Where, int, const double *, const double *, double *);

#define PATCHFEM_INSTANTIATE_PATCH_RELAXATION(Where)     \
  PATCHFEM_INSTANTIATE_PATCH_RELAXATION_OF(Where, float) \
  PATCHFEM_INSTANTIATE_PATCH_RELAXATION_OF(Where, double)

#define PATCHFEM_INSTANTIATE_PATCH_RELAXATION_OF(Where, Number)                                          \
  template void patch_relaxation(Where, const PatchMatrixView<Number> &, const double *, const Number *, \
                                 const Number *, Number *, Number *);                                    \
  template void patch_outer_residual(Where, const PatchMatrixView<Number> &, const Number *, const Number *, Number *);

#define PATCHFEM_INSTANTIATE_COARSENING(Where)     \
  PATCHFEM_INSTANTIATE_COARSENING_OF(Where, float) \
  PATCHFEM_INSTANTIATE_COARSENING_OF(Where, double)

#define PATCHFEM_INSTANTIATE_COARSENING_OF(Where, Number)                                                  \
  template void prolongator(Where, const CoarseningView<Number> &, const TentativeView<Number> &);         \
  template void matrix_prolongator(Where, const CoarseningView<Number> &, const ProductStretch<Number> &); \
  template void coarse_matrix(Where, const CoarseningView<Number> &, const ProductStretch<Number> &);
