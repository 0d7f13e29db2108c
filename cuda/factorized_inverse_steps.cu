// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "team.cuh"
#include "unique_rows.cuh"

#include "lac/multigrid/factorized_inverse_steps.h"
