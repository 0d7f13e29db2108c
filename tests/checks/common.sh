#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Shared by the checks, which are called with the source folder as first argument. Exit code 77 means skipped.
# shellcheck disable=SC2034  # status is what they exit with
set -euo pipefail
cd "$1"
status=0

complain()
{
  echo "$*" >&2
  status=1
}

skip()
{
  echo "skipped: $*"
  exit 77
}

# Source files as git would commit them; in a tree without git, all that lie there.
sources()
{
  local file
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do [[ ! -f $file ]] || echo "$file"; done
  else
    for file in "$@"; do [[ ! -e $file ]] || find "$file" -type f; done
  fi
}
