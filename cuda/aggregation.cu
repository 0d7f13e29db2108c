// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "lac/graph/aggregation_steps.h"
#include "lac/graph/fit_steps.h"
