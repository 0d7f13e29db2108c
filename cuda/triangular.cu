// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

// Block diagonals and triangular factors on the device.
#include "kernels/jacobi_steps.h"
#include "lac/precondition/triangular_steps.h"
