// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "assembly_elements.cuh"

#include <patchfem/assembly/strategies.h>

/** @file The device kernels of a weak form. Included where one is instantiated. */
namespace PatchFEM::kernels
{
  template <typename Form, typename Number>
  AssemblyKernel<Number> needs_patchfem_add_weak_form::assembly_kernel(const Cuda where, const KernelRequest &request)
  {
    return find_kernel<Form, Number, ElementsKernel<Form, Number>>(where, request);
  }
} // namespace PatchFEM::kernels

#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form) PATCHFEM_INSTANTIATE_ASSEMBLY_ON(Cuda, Form)
#define PATCHFEM_INSTANTIATE_ASSEMBLY_IN_DOUBLE(Form) PATCHFEM_INSTANTIATE_ASSEMBLY_OF_NUMBER_ON(Cuda, Form, double)
