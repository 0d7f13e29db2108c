// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../../../doc/tutorials/minimal_surface.h"
#include "../grad_div.h"

#include <patchfem/assembly/assembler.h>

int main()
{
  const PatchFEM::Space             space;
  PatchFEM::Assembler<GradDiv<2>>   assembler(space);
  PatchFEM::QuadratureField<double> field(space, MinimalSurface<2>::n_values);
  field.evaluate<MinimalSurface<2>>(PatchFEM::Vector<double>());
}
