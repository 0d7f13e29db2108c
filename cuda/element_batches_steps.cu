// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "assembly/element_batches_steps.h"
