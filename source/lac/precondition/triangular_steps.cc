// SPDX-License-Identifier: LGPL-2.1-or-later
#include "triangular_steps.h"
