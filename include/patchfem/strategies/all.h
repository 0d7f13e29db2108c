// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <patchfem/assembly/strategies.h>
#include <patchfem/strategies/boundary_array.h>
#include <patchfem/strategies/entry_sums.h>
#include <patchfem/strategies/grouped_nz.h>
#include <patchfem/strategies/local_nz.h>
#include <patchfem/strategies/scatter.h>
#include <patchfem/strategies/shared_nz.h>

namespace PatchFEM
{
  /** The strategies that are linked where PATCHFEM_ALL_STRATEGIES is on; `auto` takes none of them. */
  using LinkedStrategies = std::tuple<strategies::Colour,
                                      strategies::GlobalNZ,
                                      strategies::GroupedNZ,
                                      strategies::SharedNZ,
                                      strategies::LocalNZ,
                                      strategies::BoundaryArray,
                                      strategies::Atomics,
                                      strategies::COO,
                                      strategies::Product>;

  namespace kernels
  {
    /** Makes the kernels of LinkedStrategies for a form known. */
    template <typename Form, typename Where>
    struct LinkKernels
    {
      LinkKernels()
      {
        append_kernels<Form, double>(LinkedStrategies(), Where(), linked_kernels<Form, double, Where>());
        append_kernels<Form, float>(LinkedStrategies(), Where(), linked_kernels<Form, float, Where>());
      }
    };

    template <typename Form, typename Where>
    const LinkKernels<Form, Where> linked;
  } // namespace kernels
} // namespace PatchFEM

/** Compiles the kernels of LinkedStrategies for a weak form on the back end Where of the file. */
#define PATCHFEM_LINK_STRATEGIES(Where, Form)                                                                  \
  template <>                                                                                                  \
  const PatchFEM::kernels::LinkKernels<Form, PatchFEM::Where> PatchFEM::kernels::linked<Form, PatchFEM::Where> \
  {}
