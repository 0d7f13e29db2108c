// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include "strategies/boundary_array.h"
#include "strategies/entry_sums.h"
#include "strategies/grouped_nz.h"
#include "strategies/local_nz.h"
#include "strategies/scatter.h"
#include "strategies/shared_nz.h"
#include <patchfem/assembly/strategies.h>

namespace PatchFEM
{
  /** The strategies of papers, which `auto` never takes. */
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
