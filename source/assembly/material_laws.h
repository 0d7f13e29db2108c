// SPDX-License-Identifier: LGPL-2.1-or-later

/** @file The laws of kernels/materials, compiled where PATCHFEM_INSTANTIATE_LAW is defined; names keep commas out of it. */
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::LinearElasticity);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::OrthotropicElasticity);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::SaintVenantKirchhoff);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::NeoHookean);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::MooneyRivlin);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::ThermalStrain<PatchFEM::Materials::LinearElasticity>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::J2Plasticity);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::FiniteStrainJ2Plasticity);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Heat<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Heat<3>);

PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::FollowingPressure<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::FollowingPressure<3>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Springs<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Springs<3>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::NormalSprings<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::NormalSprings<3>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Convection<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Convection<3>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Radiation<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::Radiation<3>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::ContactPlane<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::ContactPlane<3>);

PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::ContactCylinder);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::ContactSphere<2>);
PATCHFEM_INSTANTIATE_LAW(PatchFEM::Materials::ContactSphere<3>);
