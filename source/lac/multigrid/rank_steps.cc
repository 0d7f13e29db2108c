// SPDX-License-Identifier: LGPL-2.1-or-later
#include "rank_steps.h"
