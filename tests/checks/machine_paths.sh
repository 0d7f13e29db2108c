#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# No tracked text file names a folder of somebody's machine.
source "$(dirname "$0")/common.sh"
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || skip "not a git working tree"

if hits=$(git grep -InE '(^|[^A-Za-z0-9_.$}-])/(work|home|root|Users|tmp|scratch|mnt)/[A-Za-z0-9_.]' -- . ':!parameter_files/meshes'); then
  complain "paths of one machine: $hits"
fi
exit $status
