// SPDX-License-Identifier: LGPL-2.1-or-later
#include "../grad_div.h"
#include "../newton/minimal_surface.h"

#include <patchfem/assembly/assembler.h>

int main()
{
  const PatchFEM::Space             space;
  PatchFEM::Assembler<GradDiv<2>>   assembler(space);
  PatchFEM::QuadratureField<double> field(space, MinimalSurface<2>::n_values);
  field.evaluate<MinimalSurface<2>>(PatchFEM::Vector<double>());
}
