#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Which layer may include what. Everything but *_dealii.*, mpi/, bench_ranks.cc, bench_scaling.cc, patchfem.h and app/ is
# the core, which nvcc and machines without deal.II see: it includes neither deal.II nor MPI nor Trilinos nor a header of the layer above,
# so that no header reachable from cuda/ does. CUDA's own headers stay in cuda/ and in benchmarks of vendor libraries.
source "$(dirname "$0")/common.sh"

core=$(sources cuda include source benchmarks tests/core | grep -E '\.(h|cc|cu|cuh|in)$' | grep -vE '_dealii\.|/app/|/mpi/|/bench_(ranks|scaling)\.|/patchfem\.h$' || true)
[[ -n $core ]] || complain "no source files found"

include='^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]'
for file in $core; do
  if hits=$(grep -nE "$include(deal\.II|mpi\.h|mpi/|patchfem/mpi/|Epetra|ml_|Teuchos|Ifpack|patchfem/app/|[^>\"]*_dealii\.h)" "$file"); then
    complain "$file is below the deal.II layer but includes: $hits"
  fi
done
# A strategy's header brings its kernels to nvcc.
for file in $(echo "$core" | grep -E '^(include|source|tests)/' | grep -v '^include/patchfem/strategies/' || true); do
  if hits=$(grep -nE "$include(cuda|cub/|thrust/|cusparse|cublas|[^>\"]*\.cuh)" "$file"); then
    complain "$file is above the kernels but includes: $hits"
  fi
done
for file in $(sources include source applications tests | grep -E '(_dealii\.|/app/|^applications/|^tests/dealii/).*\.?(h|cc)$' || true); do
  if hits=$(grep -nE "$include(cuda|cub/|thrust/|cusparse|cublas|[^>\"]*\.cuh)" "$file"); then
    complain "$file is above the kernels but includes: $hits"
  fi
done
exit $status
