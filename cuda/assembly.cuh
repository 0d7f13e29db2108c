// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_simplices.cuh"
#include "staged_cells.cuh"

/** @file The device kernels of a weak form, in the order in which they are asked. Included where one is instantiated. */
namespace PatchFEM::kernels
{
  template <typename Form, typename Number>
  AssemblyKernel<Number> needs_patchfem_add_weak_form::assembly_kernel(const Cuda where, const KernelRequest &request)
  {
    constexpr int dim = Form::dimension, n_comp = Form::n_components;
    using Staging = std::tuple<StagedHexahedraKernel<Form, Number>, ElementsKernel<Form, Number>>;
    using Summing = std::tuple<GatherKernel<Form, Number, GatherOctets<Number>>,
                               GatherKernel<Form, Number, GatherRows<n_comp, Number>>, HexahedraKernel<Form, Number>,
                               SimplicesKernel<Form, Number>, CellsKernel<Form, Number, LinearSimplex<dim>>,
                               CellsKernel<Form, Number, MultilinearCube<dim>>, CellsKernel<Form, Number, AnyExtents>>;
    return find_kernel<Form, Number, Staging, Summing>(where, request);
  }
} // namespace PatchFEM::kernels

#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form) PATCHFEM_INSTANTIATE_ASSEMBLY_ON(Cuda, Form)
