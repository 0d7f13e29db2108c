// SPDX-License-Identifier: LGPL-2.1-or-later
// Empty: the target this file belongs to exists for its precompiled header, which the others re-use.
