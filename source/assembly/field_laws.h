// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

/** @file The laws of field_laws.h, compiled where PATCHFEM_INSTANTIATE_LAW is defined; names keep commas out of it. */
#include <patchfem/kernels/field_laws.h>

namespace PatchFEM
{
  using PlaneStressFields      = ElasticityFields<2, true>;
  using PlaneStressMeanFields  = ElasticityFields<2, true, true>;
  using PlaneStrainMeanFields  = ElasticityFields<2, false, true>;
  using SpaceMeanFields        = ElasticityFields<3, false, true>;
  using PlainDiffusionFields2d = DiffusionFields<2, true>;
  using PlainDiffusionFields3d = DiffusionFields<3, true>;
  using DiffusionFields2d      = DiffusionFields<2, false>;
  using DiffusionFields3d      = DiffusionFields<3, false>;
  using ScalarLoads2d          = LoadMoments<2, 1>;
  using ScalarLoads3d          = LoadMoments<3, 1>;
  using VectorLoads2d          = LoadMoments<2, 2>;
  using VectorLoads3d          = LoadMoments<3, 3>;
} // namespace PatchFEM

PATCHFEM_INSTANTIATE_LAW(PatchFEM::ElasticityFields<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::ElasticityFields<3>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::PlaneStressFields);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::PlaneStressMeanFields);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::PlaneStrainMeanFields);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::SpaceMeanFields);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::PlainDiffusionFields2d);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::PlainDiffusionFields3d);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::DiffusionFields2d);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::DiffusionFields3d);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::ScalarLoads2d);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::ScalarLoads3d);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::VectorLoads2d);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::VectorLoads3d);
