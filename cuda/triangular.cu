// SPDX-License-Identifier: LGPL-2.1-or-later
#include "parallel_for.cuh"

#include "kernels/jacobi_steps.h"
#include "kernels/polynomial_steps.h"
#include "lac/precondition/triangular_steps.h"

// Block diagonals, polynomials and triangular factors on the device.
