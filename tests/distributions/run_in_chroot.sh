#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs the README's commands on a bare Debian of another release, in a chroot:
#
#   tests/distributions/run_in_chroot.sh SUITE FOLDER [COMMAND [ARGUMENT...]]
#
# SUITE is a release, bookworm (12) or trixie (13); FOLDER an empty or new folder, which takes up to 10 GB, or that of
# an earlier call, whose system, build and ccache are used again. COMMAND runs in a clone of this tree's last commit;
# without one both commands of the README's quick start do. The exit status is that of the command.
#
# Needs root, debootstrap, git and unshare, and a mirror: DEBIAN_MIRROR, deb.debian.org where it says nothing. With
# CUDA_HOME the toolkit there is seen in the chroot, read-only, as /usr/local/cuda; without it there is none.
# Settings of programs go into the command: env CTEST_PARALLEL_LEVEL=2 ./patchfem test -L quick
set -euo pipefail

die()
{
  echo "run_in_chroot: $*" >&2
  exit 2
}

(($# >= 2)) || die "usage: $0 SUITE FOLDER [COMMAND [ARGUMENT...]]"
((EUID == 0)) || die "only root may change the root folder"
for program in debootstrap git unshare; do
  command -v "$program" >/dev/null || die "there is no $program (Debian: apt-get install debootstrap git util-linux)"
done
suite=$1
tree=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
shift 2
(($# > 0)) || set -- bash -ec './patchfem run parameter_files/elasticity/cantilever.prm && ./patchfem test'
cuda=${CUDA_HOME:-}
[[ -z $cuda || -x $cuda/bin/nvcc ]] || die "there is no bin/nvcc in CUDA_HOME, $cuda"

# The mark is the last thing written, so that an interrupted installation is not taken for a system.
mark=$folder/etc/patchfem-suite
if [[ ! -e $mark ]]; then
  [[ -z $(ls -A "$folder") ]] || die "$folder is neither empty nor a finished system of an earlier call"
  debootstrap --variant=minbase --include=ca-certificates,ccache "$suite" "$folder" \
    "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >&2 || die "debootstrap could not install $suite; empty $folder before the next try"
  echo "$suite" >"$mark"
fi
[[ $(<"$mark") == "$suite" ]] || die "$folder holds $(<"$mark"), not $suite"

# The commit alone: what is not committed stays behind. The build folder of an earlier call stays.
copy=$folder/srv/patchfem
[[ -d $copy/.git ]] || git clone -q --no-hardlinks "$tree" "$copy"
git -C "$copy" fetch -q "$tree" HEAD
git -C "$copy" checkout -q --force --detach FETCH_HEAD
git -C "$copy" clean -qfd
commit=$(git -C "$copy" rev-parse --short=12 HEAD)

# Mounts of our own, which end with the command. DNS is that of the host.
cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
# shellcheck disable=SC2016  # expanded in the inner shell
exec unshare --mount --pid --fork bash -ec '
  folder=$1 cuda=$2 commit=$3
  shift 3
  mount -t proc proc "$folder/proc"
  mount -t sysfs -o ro sysfs "$folder/sys"
  mount --rbind /dev "$folder/dev"
  mountpoint -q "$folder/dev/shm" || mount -t tmpfs tmpfs "$folder/dev/shm"
  if [[ -n $cuda ]]; then
    mkdir -p "$folder/usr/local/cuda"
    mount --bind -o ro "$(readlink -f "$cuda")" "$folder/usr/local/cuda"
  fi
  exec env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/var/cache/ccache PATCHFEM_COMMIT="$commit" \
    chroot "$folder" bash -c "cd /srv/patchfem && exec \"\$@\"" bash "$@"
' bash "$folder" "$cuda" "$commit" "$@"
