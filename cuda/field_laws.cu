// SPDX-License-Identifier: LGPL-2.1-or-later
#include "law.cuh"

// Uses what stands above.
#include "assembly/field_laws.h"
