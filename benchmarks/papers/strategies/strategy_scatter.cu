// SPDX-License-Identifier: LGPL-2.1-or-later
#include "unique_segments.cuh"

#include "strategies/strategy_scatter.h"
