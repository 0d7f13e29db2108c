// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/strategies.h>
#include <patchfem/base/threads.h>
#include <patchfem/kernels/element_bodies.h>

#include <vector>

/** @file Host definitions of the assembly kernels: threads over cells and patches, one worker each. */
namespace PatchFEM::kernels
{
  /** Cells of a chunk's buffer, resolved or staged. */
  template <typename Form, typename Number>
  struct HostElements : public AnyKernel
  {
    static constexpr bool stages = true;

    static void launch(Host, const AssemblyArguments<Number> &a)
    {
      const ElementBody<Form, Number> body{a};
      for_shares(body.n_cells(), [&](const std::int64_t begin, const std::int64_t end) {
        std::vector<typename ElementBody<Form, Number>::Point> scratch(body.n_points(a.batches));
        for (std::int64_t k = begin; k < end; ++k)
        {
          const BufferedCell cell = body.cell(static_cast<int>(k));
          body.geometry(cell, 0, 1, scratch.data());
          body.integrate(cell, 0, 1, scratch.data());
          body.boundary(cell, 0, 1);
          body.resolve(cell, 0, 1);
        }
      });
    }
  };

  template <typename Form, typename Number>
  AssemblyKernel<Number> needs_patchfem_add_weak_form::assembly_kernel(const Host where, const KernelRequest &request)
  {
    return find_kernel<Form, Number, HostElements<Form, Number>>(where, request);
  }
} // namespace PatchFEM::kernels

/** Compiles the host kernels of a weak form. */
#define PATCHFEM_INSTANTIATE_ASSEMBLY(Form) PATCHFEM_INSTANTIATE_ASSEMBLY_ON(Host, Form)
