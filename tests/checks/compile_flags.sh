#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every translation unit is optimised (the last -O counts; programs of tests may have -O1), has -DNDEBUG and C++17.
# deal.II's macros empty CMake's own release flags, so that a forgotten target would silently be built without.
# Arguments: source folder, compile_commands.json, build type
source "$(dirname "$0")/common.sh"
[[ $3 == Release ]] || skip "this is a $3 build"
[[ -e $2 ]] || skip "the generator writes no compile_commands.json"

awk '
  /"command":/ {
    n++
    optimisation = ""
    ndebug = standard = 0
    for (i = 1; i <= NF; ++i) {
      if ($i ~ /^-O[0-9sg]?(fast)?$/) optimisation = $i
      if ($i ~ /^-DNDEBUG(=1)?$/) ndebug = 1
      if ($i ~ /^-std=(c|gnu)\+\+17$/) standard = 1
    }
    file = $NF
    sub(/",?$/, "", file)
    is_test = file ~ /\/tests\/(core|dealii|mpi|CMakeFiles)\/[^\/]*|\/test_strategies/
    if (optimisation !~ (is_test ? "^-O[123]$" : "^-O[23]$")) { print file ": optimisation flag is \"" optimisation "\""; bad = 1 }
    if (!ndebug) { print file ": no -DNDEBUG"; bad = 1 }
    if (!standard) { print file ": not C++17"; bad = 1 }
  }
  END {
    print n + 0 " translation units"
    exit n == 0 || bad
  }' "$2" || status=1
exit $status
