// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/base/commit.h>

#include "commit.h"

std::string PatchFEM::commit()
{
  return PATCHFEM_COMMIT;
}
