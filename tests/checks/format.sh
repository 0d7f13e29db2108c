#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every C++ and CUDA file is as clang-format 14 leaves it (other versions differ in details), and every source file
# names its licence. Repair: clang-format -i FILE
source "$(dirname "$0")/common.sh"

unnamed=$(sources source include cuda applications benchmarks tests cmake | grep -E '\.(h|cc|cu|cuh|cmake|sh|py)$' |
  xargs grep -L SPDX-License-Identifier || true)
[[ -z $unnamed ]] || complain "these files do not name their licence (SPDX-License-Identifier): $unnamed"
((status == 0)) || exit $status

format=$(command -v clang-format-14 || command -v clang-format || true)
[[ -n $format ]] || skip "there is no clang-format"
[[ $("$format" --version) == *"version 14."* ]] || skip "$("$format" --version) is not version 14"
sources source include cuda applications benchmarks tests | grep -E '\.(h|cc|cu|cuh)$' | xargs "$format" --dry-run -Werror || {
  echo "repair: git ls-files '*.h' '*.cc' '*.cu' '*.cuh' | xargs $format -i" >&2
  status=1
}
exit $status
