// SPDX-License-Identifier: LGPL-2.1-or-later
#include "commit.h"

/** The commit that this library is of, which the core library compares with its own when it loads it. */
extern "C" const char *patchfem_papers_commit()
{
  return PATCHFEM_COMMIT;
}
