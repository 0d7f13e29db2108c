// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/jacobi_steps.h"
#include "kernels/polynomial_steps.h"
