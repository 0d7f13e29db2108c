// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "lac/multigrid/bending_steps.h"
