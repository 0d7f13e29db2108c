// SPDX-License-Identifier: LGPL-2.1-or-later
#include "factorized_inverse_steps.h"
