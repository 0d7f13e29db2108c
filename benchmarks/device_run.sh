#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Builds the layer below deal.II on a machine with a GPU, which needs neither deal.II nor MPI, runs its tests, and the
# benchmarks whose names are given (all: every one); JSON and logs go to the folder OUT.
#
#   benchmarks/device_run.sh OUT [--sanitize] [--profile] [NAME...]
#
# Environment: GTEST_SOURCE, the sources of GoogleTest where it is not installed; PATCHFEM_COMMIT, where there is no git;
# PATCHFEM_PAPERS, ON for the strategies of assembly that papers have.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:?usage: device_run.sh OUT [--sanitize] [--profile] [NAME...]}
shift
sanitize=no profile=no names=()
for argument in "$@"; do
  case $argument in
    --sanitize) sanitize=yes ;;
    --profile) profile=yes ;;
    *) names+=("$argument") ;;
  esac
done
mkdir -p "$out"
build=${PATCHFEM_DEVICE_BUILD:-$root/build-device}
options=(-S "$root" -B "$build" -DPATCHFEM_WITH_DEALII=OFF -DCMAKE_BUILD_TYPE=Release
         -DPATCHFEM_PAPERS="${PATCHFEM_PAPERS:-OFF}")
command -v ninja >/dev/null && options+=(-G Ninja)
if [[ -n ${GTEST_SOURCE:-} ]]; then
  if [[ ! -d $build-gtest/install ]]; then
    cmake -S "$GTEST_SOURCE" -B "$build-gtest" -DCMAKE_INSTALL_PREFIX="$build-gtest/install" -DCMAKE_BUILD_TYPE=Release >/dev/null
    cmake --build "$build-gtest" --target install -j >/dev/null
  fi
  options+=(-DGTest_ROOT="$build-gtest/install")
fi
cmake "${options[@]}" >"$out/configure.log" 2>&1 || { cat "$out/configure.log"; exit 1; }
cmake --build "$build" -j >"$out/build.log" 2>&1 || { grep -E "error|FAILED" "$out/build.log" | head -30; exit 1; }
"$build/tests/test_core" >"$out/test_core.log" 2>&1 || { grep -E "Failure|FAILED" "$out/test_core.log" | head -40; }
tail -n 3 "$out/test_core.log"
(cd "$build" && ctest -R '^package/' --output-on-failure) >"$out/package.log" 2>&1 || true
grep -E "tests passed|Failed" "$out/package.log"
if [[ $sanitize == yes ]]; then
  for tool in memcheck racecheck initcheck; do
    echo "compute-sanitizer $tool"
    timeout 240 compute-sanitizer --tool $tool "$build/tests/test_core" --gtest_filter='*AssemblyTest.OneCube*cuda:*AssemblyTest.SameBits*cuda:*Matrix*cuda*:*Cg*cuda*' \
      >"$out/sanitizer_$tool.log" 2>&1 || true
    grep -E "ERROR SUMMARY|RACECHECK SUMMARY" "$out/sanitizer_$tool.log" || tail -n 3 "$out/sanitizer_$tool.log"
  done
fi
for name in "${names[@]}"; do
  timeout 300 "$build/benchmarks/bench_$name" --json "$out/$name.json" 2>&1 | tee "$out/$name.log" || echo "bench_$name failed"
done
if [[ $profile == yes ]]; then
  timeout 200 ncu --clock-control none --set full -k regex:patch_kernel --launch-count 3 -o "$out/assembly" \
    "$build/benchmarks/bench_assembly" --only main --elasticity 80 --laplace 100 --tetrahedra 80 >"$out/ncu.log" 2>&1 || tail -n 3 "$out/ncu.log"
fi
