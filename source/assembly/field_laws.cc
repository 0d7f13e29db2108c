// SPDX-License-Identifier: LGPL-2.1-or-later
#include <patchfem/kernels/law_host.h>

// Uses what stands above.
#include "field_laws.h"
