#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every C++ and CUDA file is as clang-format 14 leaves it (other versions differ in details), and every source file
# names its licence. Repair: clang-format -i FILE
source "$(dirname "$0")/common.sh"

for file in $(sources source include cuda applications benchmarks tests cmake | grep -E '\.(h|cc|cu|cuh|cmake|sh|py)$'); do
  head -n 3 "$file" | grep -q 'SPDX-License-Identifier' || complain "$file does not name its licence (SPDX-License-Identifier)"
done
((status == 0)) || exit $status

format=$(command -v clang-format-14 || command -v clang-format || true)
[[ -n $format ]] || skip "there is no clang-format"
[[ $("$format" --version) == *"version 14."* ]] || skip "$("$format" --version) is not version 14"
sources source include cuda applications benchmarks tests | grep -E '\.(h|cc|cu|cuh)$' | xargs "$format" --dry-run -Werror || status=1
exit $status
