// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "team.cuh"

#include "lac/multigrid/multigrid_steps.h"
