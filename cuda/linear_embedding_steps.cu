// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"
#include "unique_rows.cuh"

#include "assembly/linear_embedding_steps.h"
