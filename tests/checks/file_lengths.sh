#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# No file over 800 lines, and the median under 250: long files are where ideas get mixed.
source "$(dirname "$0")/common.sh"

lengths=$(sources source include cuda applications benchmarks tests cmake patchfem |
  grep -E '(\.(h|cc|cu|cuh|in|cmake|txt|sh|py)|^patchfem)$' | xargs wc -l | awk '$2 != "total"' | sort -n)
[[ -n $lengths ]] || complain "no source files found"

long=$(echo "$lengths" | awk '$1 > 800')
[[ -z $long ]] || complain "over 800 lines: $long"
median=$(echo "$lengths" | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }')
echo "$(echo "$lengths" | wc -l) files, median $median lines, longest: $(echo "$lengths" | tail -n 1)"
((median < 250)) || complain "the median length is $median lines"
exit $status
